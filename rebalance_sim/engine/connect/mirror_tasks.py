"""Brings what MirrorMaker 2 replicates to the connectors of a Connect cluster, and returns rows of ``mirror_tasks``."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rebalance_sim.engine.spark.driver_rows import where_in
from rebalance_sim.engine.tables.inputs import usable
from rebalance_sim.errors import UserError
from rebalance_sim.kafka.brokers import Clusters
from rebalance_sim.kafka.connect.mirror_connectors import SOURCE_ALIAS, TASKS_MAX, MirrorConnector, MirrorKind
from rebalance_sim.kafka.connect.mirror_tasks import MirrorShare, shares_of_groups, shares_of_topics
from rebalance_sim.kafka.connect.simulation import ConnectCluster
from rebalance_sim.kafka.wire.connect_protocol import ConnectorTaskId
from rebalance_sim.releases import CoordinatorRules, MirrorRules

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class SourceClusters:
    """The clusters from which MirrorMaker 2's connectors replicate, by the names that these have for them."""

    topics: Mapping[str, Mapping[str, int]]
    """By cluster: the number of partitions of each topic."""
    consumed: Mapping[str, Mapping[str, set[str]]]
    """By cluster, and group: topics with committed offsets."""
    brokers: Clusters

    @classmethod
    def of_connectors(
        cls, connectors: DataFrame, topics: DataFrame | None, offsets: DataFrame | None, brokers: Clusters
    ) -> "SourceClusters":
        """Bring the clusters of some connectors into the driver, from fitted tables."""
        alias = F.col("config")[SOURCE_ALIAS].alias("cluster")
        aliases = [row["cluster"] for row in usable(connectors).select(alias).distinct().collect() if row["cluster"]]
        partitions: dict[str, dict[str, int]] = defaultdict(dict)
        if topics is not None:
            for row in where_in(usable(topics).select("cluster", "topic", "partitions"), "cluster", aliases).collect():
                partitions[row["cluster"]][row["topic"]] = row["partitions"]
        consumed: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        if offsets is not None:
            committed = usable(offsets).where("committed >= 0").select("cluster", "group_id", "topic").distinct()
            for row in where_in(committed, "cluster", aliases).collect():
                consumed[row["cluster"]][row["group_id"]].add(row["topic"])
        return cls(dict(partitions), {cluster: dict(groups) for cluster, groups in consumed.items()}, brokers)

    def task_rows(self, configured: Sequence[Mapping[str, Any]], played: ConnectCluster, rules: MirrorRules) -> Rows:
        """Return the rows of a cluster's connectors after a scenario, without the cluster's name.

        A connector to which the scenario gives other tasks has their number for ``tasks.max``.
        """
        rows: Rows = []
        for row in configured:
            name, tasks = row["connector"], played.connectors.get(row["connector"])
            config = {entry["key"]: entry["value"] for entry in row["config"] or () if entry["value"] is not None}
            connector = MirrorConnector(config, rules)
            if connector.kind is None or tasks is None:
                continue
            if tasks != row["tasks"]:
                connector = replace(connector, config=config | {TASKS_MAX: str(tasks)})
            rows += [{"connector": name} | of for of in self._rows(connector, name, played)]
        return rows

    def _rows(self, connector: MirrorConnector, name: str, played: ConnectCluster) -> Rows:
        owners = played.owners()
        try:
            shares, of_topics = self._shares(connector), connector.kind is MirrorKind.SOURCE
            if not shares:
                raise UserError(f"it replicates nothing of its source.cluster.alias {connector.source!r}")
            return [
                {
                    "tasks_max": connector.tasks_max,
                    "task": share.task,
                    "topic" if of_topics else "consumer_group": share.name,
                    "partition": share.partition,
                    "worker": owners.get(ConnectorTaskId(name, share.task)),
                    "certain": share.is_certain,
                }
                for share in shares
            ]
        except UserError as problem:
            return [{"error": str(problem)}]

    def _shares(self, connector: MirrorConnector) -> list[MirrorShare]:
        cluster = connector.source
        if connector.kind is MirrorKind.CHECKPOINT:
            if cluster not in self.consumed:
                raise UserError(f"the committed offsets of its source.cluster.alias {cluster!r} are not given")
            return shares_of_groups(connector, self.consumed[cluster])
        if cluster not in self.topics:
            raise UserError(f"the topics of its source.cluster.alias {cluster!r} are not given")
        # All brokers use KRaft since 4.0.
        is_kraft = self.brokers.of(cluster).rules().coordinator >= CoordinatorRules.JAVA
        return shares_of_topics(connector, self.topics[cluster], is_kraft)
