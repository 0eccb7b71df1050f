"""The lag affected by a simulation: records in partitions that become unowned or move to another consumer."""

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from rebalance_sim.engine.simulation.rows import SimulationResult
from rebalance_sim.engine.tables.arrow import list_offsets, lists, numbers, rows_of, topic_partitions
from rebalance_sim.engine.tables.percentiles import above_p99
from rebalance_sim.kafka.runtime.strings import Flags, Ints, Ints32
from rebalance_sim.kafka.simulation.batch_state import field
from rebalance_sim.tables import LAG_COSTS

LAGS = "lags"
"""Column of the partitions of a group that have lag."""
_GROUP = ("cluster", "group_id")
_TOO_LARGE = 2.0**63


def collect_lag(lags: DataFrame) -> DataFrame:
    """Nest the partitions with lag of each group: ``cluster, group_id, lags array<struct<topic, partition, lag>>``."""
    partition = F.struct("topic", "partition", "lag")
    return lags.where("lag > 0").groupBy(*_GROUP).agg(F.collect_list(partition).alias(LAGS))


def partitions_with_lag(offsets: pa.ListArray) -> pa.ListArray:
    """Return the partitions with lag of each group, as ``collect_lag`` nests them, of ``lag.partition_lag``."""
    flat, of_lists = offsets.flatten(), list_offsets(offsets)
    has_lag = pc.greater(flat.field("lag"), 0).fill_null(False)
    kept = np.concatenate([[0], np.cumsum(numbers(has_lag))])[of_lists].astype(np.int32)
    columns = [flat.field(name).filter(has_lag) for name in ("topic", "partition", "lag")]
    return lists(kept, pa.StructArray.from_arrays(columns, names=["topic", "partition", "lag"]))


def affected(rows: pa.StructArray) -> pa.StructArray:
    """Return the rows of groups with lag that waits or moves."""
    moves = pc.not_equal(rows.field("moved_lag"), 0).fill_null(True)
    return rows.filter(pc.or_(moves, pc.greater(rows.field("unowned_lag_partitions"), 0)))


def ranked(costs: DataFrame) -> DataFrame:
    """Set the rank of each group."""
    order = (F.desc_nulls_first("unowned_record_ms"), F.desc_nulls_first("moved_lag"), *_GROUP)
    return costs.withColumn("rank", F.row_number().over(Window.partitionBy("strategy").orderBy(*order)))


def lag_cost_rows(result: SimulationResult, strategy: str) -> pa.StructArray:
    """Return a row of ``lag_costs`` for each group of a batch with lags, without its rank, also if nothing waits."""
    batch, count = result.batch, len(result.errors)
    entries, of_entries = batch.partitions_with_lag, batch.group_of_lag
    lag = _sums(of_entries, numbers(entries.field("lag")), count)
    found = _partitions_with_lag(result)
    waiting, moving = found.where(found.unowned_ms > 0), found.where(found.moved > 0)
    record_ms, worst = _sums(waiting.groups, waiting.lag, count, waiting.unowned_ms), waiting.worst()
    known_lag = pc.if_else(pc.equal(lag, 0), None, lag)
    return rows_of(
        LAG_COSTS.schema,
        result.group_columns(np.arange(count), strategy)
        | {
            "lag_partitions": pa.array(np.bincount(of_entries, minlength=count)),
            "lag": lag,
            "unowned_lag_partitions": pa.array(np.diff(waiting.offsets)),
            "unowned_lag": _sums(waiting.groups, waiting.lag, count),
            "moved_lag": _sums(moving.groups, moving.lag, count),
            "max_unowned_ms": pa.array(waiting.time_at(waiting.offsets[:-1])),
            "unowned_record_ms": record_ms,
            "delay_ms": pc.divide(record_ms.cast(pa.float64()), known_lag.cast(pa.float64())),
            "p99_delay_ms": pc.if_else(lag.is_null(), None, pa.array(waiting.p99_ms(numbers(lag.fill_null(0))))),
            "delays": waiting.delays(),
            "worst_partition": topic_partitions(batch.topics.names, waiting.topics, waiting.partitions).take(worst),
            "worst_lag": pa.array(waiting.lag).take(worst),
            "worst_unowned_ms": pa.array(waiting.unowned_ms).take(worst),
        },
    )


@dataclass(frozen=True)
class _Partitions:
    """Partitions with lag: by group, those that are unowned longest first."""

    count: int
    """Number of groups."""
    groups: Ints
    topics: Ints32
    ranks: Ints
    """Order of the topics by name."""
    partitions: Ints32
    lag: Ints
    unowned_ms: Ints
    moved: Ints

    def where(self, chosen: Flags | Ints) -> "_Partitions":
        """Return some of them."""
        count, *columns = (getattr(self, column.name) for column in fields(self))
        return _Partitions(count, *[column[chosen] for column in columns])

    @cached_property
    def offsets(self) -> Ints:
        """The first partition of each group, and the number of all."""
        return np.searchsorted(self.groups, np.arange(self.count + 1))

    def time_at(self, places: Ints) -> Ints:
        """Return how long the partition at a place of each group is unowned; 0 if that is not one of the group's."""
        return np.where(places < self.offsets[1:], np.append(self.unowned_ms, 0)[places], 0)

    def p99_ms(self, lag: Ints) -> Ints:
        """Return the 99th percentile of the times that the records of each group wait."""
        sums = np.cumsum(self.lag)
        before = np.append(0, sums)[self.offsets[:-1]]
        is_above = sums - before[self.groups] <= above_p99(lag)[self.groups]
        return self.time_at(self.offsets[:-1] + np.bincount(self.groups[is_above], minlength=self.count))

    def worst(self) -> pa.Array:
        """Return the place of the partition with most record-milliseconds of each group; null if it has none."""
        record_ms = self.lag * self.unowned_ms
        keys = (self.partitions, self.ranks, -record_ms, -(self.lag.astype(float) * self.unowned_ms), self.groups)
        return pa.array(np.append(np.lexsort(keys), 0)[self.offsets[:-1]], mask=np.diff(self.offsets) == 0)

    def delays(self) -> pa.ListArray:
        """Return the column ``delays``."""
        columns = [pa.array(self.unowned_ms), pa.array(self.lag)]
        return lists(self.offsets.astype(np.int32), pa.StructArray.from_arrays(columns, ["unowned_ms", "records"]))


def _partitions_with_lag(result: SimulationResult) -> _Partitions:
    """Return the partitions with lag of the groups that have been simulated to the end."""
    batch, topics = result.batch, result.prepared.groups.group_topics
    entries, size = batch.partitions_with_lag, len(batch.topics.names)
    partitions = numbers(entries.field("partition")).astype(np.int32)
    count = len(result.errors)
    keys = np.repeat(np.arange(count), np.diff(topics.offsets)) * size + topics.topics
    order = np.append(np.argsort(keys), len(keys))
    wanted = batch.group_of_lag * size + batch.topics_of_lag
    places = order[np.searchsorted(keys, wanted, sorter=order[:-1])]
    exists = (np.append(keys, -1)[places] == wanted) & (partitions < np.append(topics.partitions, 0)[places])
    kept = np.flatnonzero(exists & result.succeeded[batch.group_of_lag])
    simulated = (np.cumsum(topics.partitions) - topics.partitions)[places[kept]] + partitions[kept]
    found = _Partitions(
        count,
        batch.group_of_lag[kept],
        batch.topics_of_lag[kept],
        batch.topics.topics.ranks[batch.topics_of_lag[kept]],
        partitions[kept],
        numbers(entries.field("lag"))[kept],
        field(result.simulated.partitions, "unowned_ms")[simulated],
        field(result.simulated.partitions, "moved")[simulated],
    )
    return found.where(np.lexsort((-found.lag, -found.unowned_ms, found.groups)))


def _sums(groups: Ints, values: Ints, count: int, times: Ints | int = 1) -> pa.Array:
    """Return the sum of each group; null if it does not fit into 64 bits."""
    sums = np.zeros(count, np.int64)
    np.add.at(sums, groups, values * times)
    return pa.array(sums, mask=np.bincount(groups, values.astype(float) * times, count) >= _TOO_LARGE)
