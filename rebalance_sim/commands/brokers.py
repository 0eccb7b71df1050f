"""The brokers whose rules apply: from the options of a run, and from its table of clusters."""

from argparse import Namespace
from collections.abc import Callable, Sequence

from pyspark.sql import DataFrame

from rebalance_sim.commands.options import brokers_of
from rebalance_sim.engine.tables.clusters import read_clusters
from rebalance_sim.kafka.brokers import Clusters
from rebalance_sim.releases import SERVER_ASSIGNORS, untested
from rebalance_sim.tables import CLUSTERS, Table


def clusters_of(options: Namespace, read: Callable[[Table, str, str], DataFrame]) -> Clusters:
    """Return the brokers of all clusters; ``read`` reads an input table."""
    brokers = brokers_of(options)
    if not options.clusters:
        return Clusters(brokers)
    return read_clusters(read(CLUSTERS, options.clusters, options.format), brokers)


def untested_releases(clusters: Clusters) -> list[str]:
    """Return a warning for each release of brokers that is later than the newest tested one."""
    releases = sorted({brokers.version for brokers in clusters.kinds})
    return [warning for release in releases if (warning := untested(release))]


def broker_assumptions(clusters: Clusters, strategies: Sequence[str], elections: DataFrame | None) -> list[str]:
    """Return what is assumed about brokers: rules of releases that are not tested, and ``early_access``."""
    return [*untested_releases(clusters), *early_access(clusters, strategies, elections)]


def early_access(clusters: Clusters, strategies: Sequence[str], elections: DataFrame | None) -> list[str]:
    """Return the assumption about brokers on which the consumer protocol (KIP-848) is early access.

    There is none unless a strategy or the type of a group in ``elections`` needs it.
    """
    early = [brokers for brokers in clusters.kinds if brokers.rules().is_early_access]
    if not early:
        return []
    if set(strategies).isdisjoint(SERVER_ASSIGNORS):
        used = [] if elections is None else elections.where("type = 'consumer'").select("cluster").distinct().collect()
        early = [brokers for brokers in early if brokers in {clusters.of(row["cluster"]) for row in used}]
    releases = sorted({brokers.version for brokers in early})
    return [
        f"brokers of Kafka {release} have the consumer protocol (KIP-848) enabled, which is early access before 4.0"
        for release in releases
    ]
