"""The clusters table: the brokers of each cluster."""

from pyspark.sql import DataFrame

from rebalance_sim.engine.tables.inputs import REASON, fit
from rebalance_sim.errors import UserError
from rebalance_sim.kafka.brokers import Brokers, Clusters
from rebalance_sim.tables import CLUSTERS


def read_clusters(rows: DataFrame, others: Brokers | None = None) -> Clusters:
    """Return the brokers of each cluster of a clusters table.

    ``others`` are those of clusters that the table does not have, and fill nulls. Raises UserError for a row that
    cannot be used: an unknown release, a build that does not exist, or a repeated cluster.

    >>> table = spark.createDataFrame([("old", "2.8"), ("new", "4.3")], ["cluster", "broker_version"])
    >>> read_clusters(table).of("old").version
    '2.8'
    """
    usual = others or Brokers()
    named: dict[str, Brokers] = {}
    for row in fit(rows, CLUSTERS).collect():
        where = f"clusters: cluster {row['cluster']!r}"
        if row[REASON] is not None:
            raise UserError(f"{where}: {row[REASON]}")
        if row["cluster"] in named:
            raise UserError(f"{where} is given more than once; allowed: one row per cluster")
        try:
            named[row["cluster"]] = Brokers(
                row["broker_version"] or usual.version,
                row["scala_version"] or (None if row["broker_version"] else usual.scala),
                row["client_version"] or usual.clients,
                row["offsets_partitions"] or usual.offsets_partitions,
                row["migration_policy"] or usual.migration_policy,
            )
        except UserError as problem:
            raise UserError(f"{where}: {problem}") from problem
    return Clusters(usual, named)
