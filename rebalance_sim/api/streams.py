"""Streams groups (KIP-1071) and classic applications: where the tasks of Kafka Streams run next, and in a rollout."""

from collections.abc import Mapping, Sequence
from typing import TypedDict, Unpack

from pyspark.sql import DataFrame

from rebalance_sim.api.groups import clusters_of
from rebalance_sim.defaults import ACCEPTABLE_RECOVERY_LAG, PROBING_INTERVAL_MS, WARMUP_REPLICAS
from rebalance_sim.engine.simulation.rollout_rows import SIMULATED
from rebalance_sim.engine.simulation.streams_groups import StreamsRollouts
from rebalance_sim.engine.streams.groups import StreamsPlan
from rebalance_sim.engine.streams.restoration import RestoreSettings
from rebalance_sim.engine.tables.inputs import fit, fit_topics, rejected, union, usable
from rebalance_sim.engine.tables.outcomes import Outcomes, outcome
from rebalance_sim.kafka.brokers import Clusters
from rebalance_sim.kafka.simulation.scenario import Scenario
from rebalance_sim.releases import NEWEST
from rebalance_sim.sources.scenarios import scenario_of
from rebalance_sim.tables import (
    REJECTS,
    STREAMS_BALANCE,
    STREAMS_MEMBERS,
    STREAMS_MOVES,
    STREAMS_TASKS,
    SUBTOPOLOGIES,
    TOPICS,
    Table,
)


class StreamsOptions(TypedDict, total=False):
    """What changes in every group before it is assigned, and the brokers."""

    leaving: Sequence[str]
    """Members, processes or client ids that leave."""
    joining: int
    """New processes that join, with one member each."""
    standby_replicas: int | None
    """num.standby.replicas, in place of each group's own."""
    warmup_replicas: int
    """max.warmup.replicas of classic applications; 2 by default."""
    restore_rate: int | None
    """Records per second that a thread restores; None if it is unknown."""
    acceptable_recovery_lag: int
    """acceptable.recovery.lag of classic applications; 10,000 by default."""
    probing_interval_ms: int
    """probing.rebalance.interval.ms of classic applications; 600,000 by default."""
    kafka_version: str | Clusters
    """Release of the brokers; the newest by default."""


def assign_streams(
    members: DataFrame, subtopologies: DataFrame, topics: DataFrame, **options: Unpack[StreamsOptions]
) -> Outcomes:
    """Predict the next assignment of every streams group and classic application; return all tables of the run.

    Members of classic applications have ``protocol`` ``classic``. Their assignment is the one after the rebalances that
    follow at once, if members have to revoke tasks first.

    How long state is restored is known with a restore rate, ``changelogs`` of subtopologies and ``end_offsets`` of
    these topics. Classic applications are then followed until no task moves any more.

    The tables are ``streams_balance``, ``streams_tasks``, ``streams_moves`` and ``rejects``. All are computed once,
    when the first of them is used. Raises UserError for an unknown version, and for a table without a required column.

    >>> members = spark.createDataFrame(
    ...     [("app", "m1", "p1"), ("app", "m2", "p2")], "group_id string, member_id string, process_id string"
    ... )
    >>> subtopologies = spark.createDataFrame(
    ...     [("app", "0", ["orders"], True)],
    ...     "group_id string, subtopology string, topics array<string>, stateful boolean",
    ... )
    >>> topics = spark.createDataFrame([("orders", 3)], "topic string, partitions int")
    >>> run = assign_streams(members, subtopologies, topics, standby_replicas=1)
    >>> run.streams_balance.select("tasks", "restored", "standbys_started", "min_active", "max_active").show()
    +-----+--------+----------------+----------+----------+
    |tasks|restored|standbys_started|min_active|max_active|
    +-----+--------+----------------+----------+----------+
    |    3|       3|               3|         1|         2|
    +-----+--------+----------------+----------+----------+
    <BLANKLINE>
    """
    plan = StreamsPlan(
        clusters_of(options.get("kafka_version", NEWEST)),
        options.get("leaving", ()),
        options.get("joining", 0),
        options.get("standby_replicas"),
        RestoreSettings(
            options.get("restore_rate"),
            options.get("warmup_replicas", WARMUP_REPLICAS),
            options.get("acceptable_recovery_lag", ACCEPTABLE_RECOVERY_LAG),
            options.get("probing_interval_ms", PROBING_INTERVAL_MS),
        ),
    )
    fitted = _fitted(members, subtopologies, topics)
    return _outcomes(plan.rows(*fitted.values()), (STREAMS_BALANCE, STREAMS_TASKS, STREAMS_MOVES), fitted)


class RolloutOptions(TypedDict, total=False):
    """The brokers, and what is recorded."""

    standby_replicas: int | None
    """num.standby.replicas, in place of each group's own."""
    seed: int
    """Of the random numbers: member ids, the jitter of the network, the times of heartbeats; 0 by default."""
    followed: Sequence[str] | None
    """Groups whose timeline is recorded; None, the default: all."""
    kafka_version: str | Clusters
    """Release of the brokers; the newest by default."""


def simulate_streams(
    members: DataFrame,
    subtopologies: DataFrame,
    topics: DataFrame,
    scenario: str | Scenario,
    **options: Unpack[RolloutOptions],
) -> Outcomes:
    """Simulate a scenario for every streams group, by the rules of brokers since 4.2; return all tables of the run.

    An event happens to a process, with all its threads. The tables are those of ``simulate``: ``costs``, ``bounces``,
    ``rebalances``, ``timeline``, ``owned_partitions``, ``partition_costs`` and ``rejects``; tasks are partitions of
    their subtopology. Raises UserError for an unknown scenario or version, and for a table without a required column.

    >>> members = spark.createDataFrame(
    ...     [("app", "m1", "p1"), ("app", "m2", "p2")], "group_id string, member_id string, process_id string"
    ... )
    >>> subtopologies = spark.createDataFrame(
    ...     [("app", "0", ["orders"], True)],
    ...     "group_id string, subtopology string, topics array<string>, stateful boolean",
    ... )
    >>> topics = spark.createDataFrame([("orders", 3)], "topic string, partitions int")
    >>> run = simulate_streams(members, subtopologies, topics, "leave")
    >>> run.costs.select("consumers", "partitions", "rebalances", "moved", "stable").show()
    +---------+----------+----------+-----+------+
    |consumers|partitions|rebalances|moved|stable|
    +---------+----------+----------+-----+------+
    |        2|         3|         1|    2|  true|
    +---------+----------+----------+-----+------+
    <BLANKLINE>
    """
    followed = options.get("followed")
    rollouts = StreamsRollouts(
        clusters_of(options.get("kafka_version", NEWEST)),
        scenario_of(scenario),
        options.get("seed", 0),
        None if followed is None else tuple(followed),
        options.get("standby_replicas"),
    )
    fitted = _fitted(members, subtopologies, topics)
    rows = rollouts.rows(fitted[STREAMS_MEMBERS], *(usable(fitted[table]) for table in (SUBTOPOLOGIES, TOPICS)))
    return _outcomes(rows, SIMULATED, fitted)


def _fitted(members: DataFrame, subtopologies: DataFrame, topics: DataFrame) -> dict[Table, DataFrame]:
    return {
        STREAMS_MEMBERS: fit(members, STREAMS_MEMBERS),
        SUBTOPOLOGIES: fit(subtopologies, SUBTOPOLOGIES),
        TOPICS: fit_topics(topics),
    }


def _outcomes(rows: DataFrame, tables: Sequence[Table], fitted: Mapping[Table, DataFrame]) -> Outcomes:
    unusable = union([rejected(given, table) for table, given in fitted.items()])
    return Outcomes(rows, {**{table.name: outcome(table.name) for table in tables}, REJECTS.name: lambda _: unusable})
