"""Predictions of the past that were wrong, each with the tables of its one group, from which it is predicted again."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame

from rebalance_sim.engine.groups.by_brokers import by_brokers
from rebalance_sim.engine.groups.group_plan import GroupPlan
from rebalance_sim.engine.history.backtest import Backtest
from rebalance_sim.engine.history.generations import Generations
from rebalance_sim.engine.history.partition_counts import topic_counts
from rebalance_sim.engine.tables.arrow import as_outcome, rows_of
from rebalance_sim.tables import MISS_CLUSTERS, MISS_MEMBERS, MISS_TOPICS, Table, struct

MISS_TABLES = (MISS_TOPICS, MISS_MEMBERS, MISS_CLUSTERS)
_OUTCOMES = struct({table.name: table.schema for table in MISS_TABLES})


@dataclass(frozen=True)
class Misses:
    """How generations that were predicted wrongly become tables: each is a cluster of its own, under its name."""

    test: Backtest

    def __call__(self, members: DataFrame) -> DataFrame:
        """From members of such generations, as the back-test takes them, to the rows of ``MISS_TABLES``."""
        names = [name for name in dict.fromkeys((*MISS_MEMBERS.names, *self.test.columns)) if name in members.columns]
        columns = [name for name in names if name not in ("cluster", "group_id")]
        return GroupPlan.of_members(members, columns, self._batches, _OUTCOMES).rows()

    def _batches(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _, batch in by_brokers(batches, self.test.clusters):
            if len(batch):
                generations = Generations(batch)
                names = self.test.names(generations)
                yield self._outcome(MISS_TOPICS, self._topics(batch, generations, names))
                yield self._outcome(MISS_MEMBERS, self._members(generations, names))
                yield self._outcome(MISS_CLUSTERS, self._clusters(generations, names))

    def _topics(self, batch: pa.RecordBatch, generations: Generations, names: pa.Array) -> dict[str, pa.Array]:
        counts = topic_counts(batch, self.test.spans)
        topics = self.test.topics(generations, counts).combine_chunks()
        columns = {name: pa.concat_arrays(topics[name].chunks) for name in topics.column_names}
        return {"cluster": names.take(pa.array(counts.groups)), **columns}

    def _members(self, generations: Generations, names: pa.Array) -> dict[str, pa.Array]:
        members = generations.members
        columns = {name: members.field(name) for name in MISS_MEMBERS.names if members.type.get_field_index(name) >= 0}
        of_groups = {
            "cluster": names.take(pa.array(generations.of_members)),
            "group_id": members.field("history_group_id"),
        }
        return columns | of_groups

    def _clusters(self, generations: Generations, names: pa.Array) -> dict[str, pa.Array]:
        brokers = [self.test.clusters.of(cluster) for cluster in generations.clusters.to_pylist()]
        columns: dict[str, list[str | int | None]] = {
            "broker_version": [each.version for each in brokers],
            "scala_version": [each.scala for each in brokers],
            "client_version": [each.clients for each in brokers],
            "offsets_partitions": [each.offsets_partitions for each in brokers],
            "migration_policy": [each.migration_policy for each in brokers],
        }
        return {"cluster": names} | {name: pa.array(values) for name, values in columns.items()}

    @staticmethod
    def _outcome(table: Table, columns: dict[str, pa.Array]) -> pa.RecordBatch:
        return as_outcome(table.name, rows_of(table.schema, columns), _OUTCOMES)
