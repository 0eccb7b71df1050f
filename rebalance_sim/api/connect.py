"""Kafka Connect: what happens to the connectors and tasks of clusters of workers."""

from typing import TypedDict, Unpack

from pyspark.sql import DataFrame

from rebalance_sim.api.groups import clusters_of
from rebalance_sim.engine.connect.clusters import ConnectPlan
from rebalance_sim.engine.connect.mirror_tasks import SourceClusters
from rebalance_sim.engine.tables.inputs import fit, fit_offsets, fit_topics, rejected, union
from rebalance_sim.engine.tables.outcomes import Outcomes, outcome
from rebalance_sim.errors import UserError
from rebalance_sim.kafka.brokers import Clusters
from rebalance_sim.kafka.simulation.scenario import Scenario
from rebalance_sim.releases import NEWEST
from rebalance_sim.sources.scenarios import CONNECT_EVENTS, read_scenario
from rebalance_sim.tables import (
    CONNECT_ADVICE,
    CONNECT_COSTS,
    CONNECT_REBALANCES,
    CONNECTORS,
    MIRROR_TASKS,
    OFFSETS,
    REJECTS,
    TASK_ASSIGNMENTS,
    TOPICS,
    WORKERS,
)


class ConnectOptions(TypedDict, total=False):
    """Options of ``simulate_connect``."""

    kafka_version: str | Clusters
    """Release of the brokers, and of the workers that name none; the newest by default."""
    seed: int
    """Of the member ids that restarted workers get; 0 by default."""
    source_topics: DataFrame | None
    """All topics of the clusters from which MirrorMaker 2 replicates: adds ``mirror_tasks``.

    The name of a cluster is the ``source.cluster.alias`` of the connectors."""
    source_offsets: DataFrame | None
    """The committed offsets of all groups of these clusters: adds the tasks of connectors for checkpoints."""


def simulate_connect(
    workers: DataFrame,
    connectors: DataFrame,
    scenario: str | Scenario | None = None,
    advice: bool = False,
    **options: Unpack[ConnectOptions],
) -> Outcomes:
    """Play a scenario in every Connect cluster, or without one a rebalance now; return all tables of the run.

    The tables are ``connect_costs``, ``connect_rebalances``, ``task_assignments`` and ``rejects``; with ``advice`` also
    ``connect_advice``, for which the scenario is played again with other values of
    ``scheduled.rebalance.max.delay.ms``. All are computed once, when the first of them is used. With ``source_topics``
    or ``source_offsets``, ``mirror_tasks`` has what each task of MirrorMaker 2's connectors replicates.

    Raises UserError for an unknown scenario or version, and for a table without a required column.

    >>> workers = spark.createDataFrame(
    ...     [("copy", "a-1", ["orders"], [("orders", 0)]), ("copy", "b-1", [], [])],
    ...     "group_id string, member_id string, connectors array<string>, "
    ...     "tasks array<struct<connector: string, task: int>>",
    ... )
    >>> connectors = spark.createDataFrame([("copy", "orders", 3)], "group_id string, connector string, tasks int")
    >>> run = simulate_connect(workers, connectors)
    >>> run.task_assignments.select("connector", "task", "previous_worker", "worker").show()
    +---------+----+---------------+------+
    |connector|task|previous_worker|worker|
    +---------+----+---------------+------+
    |   orders|NULL|            a-1|   a-1|
    |   orders|   0|            a-1|   a-1|
    |   orders|   1|           NULL|   b-1|
    |   orders|   2|           NULL|   b-1|
    +---------+----+---------------+------+
    <BLANKLINE>
    """
    clusters = clusters_of(options.get("kafka_version", NEWEST))
    fitted = {WORKERS: fit(workers, WORKERS), CONNECTORS: fit(connectors, CONNECTORS)}
    read = {}
    if (topics := options.get("source_topics")) is not None:
        read[TOPICS] = fit_topics(topics)
    if (offsets := options.get("source_offsets")) is not None:
        read[OFFSETS] = fit_offsets(offsets)
    given = fitted[CONNECTORS], read.get(TOPICS), read.get(OFFSETS)
    source = SourceClusters.of_connectors(*given, clusters) if read else None
    plan = ConnectPlan(_scenario(scenario), clusters, advice, options.get("seed", 0), source)
    unusable = union([rejected(rows, table) for table, rows in (fitted | read).items()])
    names = [CONNECT_COSTS.name, CONNECT_REBALANCES.name, TASK_ASSIGNMENTS.name]
    names += [MIRROR_TASKS.name] if read else []
    names += [CONNECT_ADVICE.name] if advice else []
    tables = {name: outcome(name) for name in names}
    return Outcomes(plan.rows(*fitted.values()), {**tables, REJECTS.name: lambda _: unusable})


def _scenario(asked: str | Scenario | None) -> Scenario | None:
    if not isinstance(asked, str):
        return asked
    scenario, rejects = read_scenario(asked, CONNECT_EVENTS)
    if rejects or scenario.rollout is not None:
        reason = rejects[0].reason if rejects else "workers of Connect clusters are restarted by steps alone"
        raise UserError(f"scenario {asked!r}: {reason}")
    return scenario
