"""Simulations: all tables of one run (``simulate``), single tables as transformations, and one group to follow.

A scenario is the name of a file in ``conf/scenarios``, the path of another file, or a ``Scenario``. The tables and
their columns are described in ``rebalance_sim.tables``.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypedDict, Unpack

from pyspark.sql import DataFrame

from rebalance_sim.api.groups import clusters_of, custom_names
from rebalance_sim.engine.groups.group_outcomes import GroupOutcomes
from rebalance_sim.engine.groups.lag import partition_lag
from rebalance_sim.engine.groups.prediction import ELECTED
from rebalance_sim.engine.simulation import followed_group
from rebalance_sim.engine.simulation.group_timings import GroupTimings
from rebalance_sim.engine.simulation.lag_costs import ranked
from rebalance_sim.engine.simulation.migrations import of_own_protocols
from rebalance_sim.engine.simulation.simulations import Simulations
from rebalance_sim.engine.simulation.streams_groups import StreamsRollouts, without_classic
from rebalance_sim.engine.simulation.variations import variations
from rebalance_sim.engine.spark.caching import cached
from rebalance_sim.engine.spark.driver_rows import no_rows
from rebalance_sim.engine.tables.inputs import fit, fit_offsets, fit_topics, usable
from rebalance_sim.engine.tables.outcomes import Transformation, outcome, with_rows
from rebalance_sim.engine.tables.topic_metadata import TopicMetadata
from rebalance_sim.kafka.assignors import check_strategy
from rebalance_sim.kafka.assignors.consumer_partition_assignor import ConsumerPartitionAssignor
from rebalance_sim.kafka.brokers import Clusters
from rebalance_sim.kafka.simulation.scenario import Scenario
from rebalance_sim.kafka.simulation.storms import Storms
from rebalance_sim.releases import NEWEST
from rebalance_sim.sources.scenarios import scenario_of
from rebalance_sim.tables import (
    ADVICE,
    BOUNCES,
    COSTS,
    EVENTS,
    LAG_COSTS,
    MEMBERS,
    MIGRATION_COSTS,
    OWNED_PARTITIONS,
    PARTITION_COSTS,
    REBALANCES,
    REJECTS,
    STREAMS_MEMBERS,
    SUBTOPOLOGIES,
    TIMELINE,
    TIMINGS,
    TOPICS,
    Table,
)

MIGRATION = "migration"
"""The scenario of ``migration_costs``."""
_SIMULATED = tuple(table.name for table in (COSTS, BOUNCES, TIMELINE, REBALANCES, OWNED_PARTITIONS, PARTITION_COSTS))


class SimulationOptions(TypedDict, total=False):
    """Options of every simulation."""

    kafka_version: str | Clusters
    """Release of the brokers and of the Java clients, or those of each cluster; the newest by default."""
    seed: int
    """Of the random numbers: member ids, the jitter of the network, the times of heartbeats; 0 by default."""
    assignors: Sequence[ConsumerPartitionAssignor]
    """The user's own assignors: strategies may name them and groups may elect them."""
    timings: DataFrame
    """How long past rebalances took (``timings``): what they show of a group is used in place of what is assumed."""


class RunOptions(SimulationOptions, total=False):
    """Options of a run that returns several tables."""

    tables: Sequence[str]
    """The tables to return; by default all but ``migration_costs``, for which a migration is simulated as well."""
    followed: Sequence[str] | None
    """Groups whose timeline is recorded; None, the default: all. Name a few in a large fleet."""
    storms: Storms
    """What counts as a rebalance storm."""
    offsets: DataFrame | None
    """Adds ``lag_costs``, and to ``advice`` the records that wait."""
    streams_members: DataFrame | None
    """Members of streams groups: adds their rows under the strategy ``elected``."""
    subtopologies: DataFrame | None
    """The subtopologies of these groups."""


def simulate(
    members: DataFrame,
    topics: DataFrame,
    scenario: str | Scenario,
    strategies: Sequence[str] = (ELECTED,),
    events: DataFrame | None = None,
    advice: bool = False,
    **options: Unpack[RunOptions],
) -> GroupOutcomes:
    """Simulate a scenario and the events of an events table for every group, and return all tables of the run.

    The tables are ``costs``, ``bounces``, ``timeline``, ``rebalances``, ``owned_partitions``, ``partition_costs`` and
    ``rejects``; with ``advice`` also ``advice``, for which the scenario is simulated again under other settings, and
    with ``offsets`` (an option) also ``lag_costs``. All are computed once, when the first of them is used. Options: see
    ``RunOptions`` and ``SimulationOptions``.

    Raises UserError for an unknown scenario, strategy or version, for an assignor that cannot be used, and for a table
    without a required column.

    >>> run = simulate(members, topics, "leave")
    >>> run.costs.select("rebalances", "moved", "stable").show()
    +----------+-----+------+
    |rebalances|moved|stable|
    +----------+-----+------+
    |         1|    2|  true|
    +----------+-----+------+
    <BLANKLINE>
    >>> run.rebalances.select("rebalance", "reason", "member_id", "generation", "joined").show()
    +---------+-----------+---------+----------+------+
    |rebalance|     reason|member_id|generation|joined|
    +---------+-----------+---------+----------+------+
    |        1|MEMBER_LEFT|       c1|         2|     1|
    +---------+-----------+---------+----------+------+
    <BLANKLINE>
    """
    followed, storms = options.pop("followed", None), options.pop("storms", Storms())
    offsets = options.pop("offsets", None)
    streams, subtopologies = options.pop("streams_members", None), options.pop("subtopologies", None)
    added = [*([ADVICE.name] if advice else []), *([] if offsets is None else [LAG_COSTS.name])]
    names = tuple(options.pop("tables", ())) or (*_SIMULATED, *added, REJECTS.name)
    simulations = simulations_of(names, scenario, topics, strategies, options)
    recorded = () if TIMELINE.name not in names else None if followed is None else tuple(followed)
    simulations = replace(simulations, followed=recorded, storms=storms)
    given = {TOPICS: fit_topics(topics), MEMBERS: fit(members, MEMBERS)}
    given |= {} if events is None else {EVENTS: fit(events, EVENTS)}
    given |= {TIMINGS: fit(timings, TIMINGS)} if (timings := options.get("timings")) is not None else {}
    derived: dict[str, Transformation] = {LAG_COSTS.name: lag_costs_in_order}
    if streams is not None:
        parts = no_rows(streams.sparkSession, SUBTOPOLOGIES.schema) if subtopologies is None else subtopologies
        given |= {STREAMS_MEMBERS: fit(streams, STREAMS_MEMBERS), SUBTOPOLOGIES: fit(parts, SUBTOPOLOGIES)}
        derived |= _of_streams(simulations, given) if ELECTED in strategies else {}
    lags = None if offsets is None else partition_lag(usable(fit_offsets(offsets)))
    plan = simulations.plan(given[MEMBERS], None if events is None else usable(given[EVENTS]), lags)
    return GroupOutcomes(plan, names, derived, given, simulations.metadata.topics.num_rows)


def _of_streams(simulations: Simulations, given: Mapping[Table, DataFrame]) -> dict[str, Transformation]:
    """Return, by table, what adds the rows of streams groups to those of the other groups."""
    tables = tuple(name for name in simulations.outputs if name in (*_SIMULATED, ADVICE.name))
    rollouts = StreamsRollouts(
        simulations.clusters, simulations.scenario, simulations.seed, simulations.followed, outputs=tables
    )
    members, others = without_classic(given[STREAMS_MEMBERS]), (usable(given[of]) for of in (SUBTOPOLOGIES, TOPICS))
    rows = cached(rollouts.rows(members, *others))
    return {name: with_rows(name, rows.transform(outcome(name))) for name in tables}


def lag_costs_in_order(rows: DataFrame) -> DataFrame:
    """Take ``lag_costs`` out of the rows of simulations, with the rank of each group."""
    return rows.transform(outcome(LAG_COSTS.name)).transform(ranked)


def costs(
    scenario: str | Scenario, topics: DataFrame, strategy: str = ELECTED, **options: Unpack[SimulationOptions]
) -> Transformation:
    """From members to the costs of a scenario for each group: ``simulate(...).costs``.

    >>> members.transform(costs("leave", topics)).select("rebalances", "moved", "stable").show()
    +----------+-----+------+
    |rebalances|moved|stable|
    +----------+-----+------+
    |         1|    2|  true|
    +----------+-----+------+
    <BLANKLINE>
    """
    return _table(COSTS.name, scenario, topics, strategy, options)


def simulated_rebalances(
    scenario: str | Scenario, topics: DataFrame, strategy: str = ELECTED, **options: Unpack[SimulationOptions]
) -> Transformation:
    """From members to the rebalances in a scenario: ``simulate(...).rebalances``.

    >>> rebalances = members.transform(simulated_rebalances("leave", topics))
    >>> rebalances.select("rebalance", "reason", "member_id", "generation", "joined").show()
    +---------+-----------+---------+----------+------+
    |rebalance|     reason|member_id|generation|joined|
    +---------+-----------+---------+----------+------+
    |        1|MEMBER_LEFT|       c1|         2|     1|
    +---------+-----------+---------+----------+------+
    <BLANKLINE>
    """
    return _table(REBALANCES.name, scenario, topics, strategy, options)


def owned_partitions(
    scenario: str | Scenario, topics: DataFrame, strategy: str = ELECTED, **options: Unpack[SimulationOptions]
) -> Transformation:
    """From members to the partitions that each consumer owns after a scenario: ``simulate(...).owned_partitions``.

    >>> members.transform(owned_partitions("leave", topics)).select("member_id", "partitions").show(truncate=False)
    +---------+---------------------------------------+
    |member_id|partitions                             |
    +---------+---------------------------------------+
    |c2       |[{orders, 0}, {orders, 1}, {orders, 2}]|
    +---------+---------------------------------------+
    <BLANKLINE>
    """
    return _table(OWNED_PARTITIONS.name, scenario, topics, strategy, options)


def timeline(
    scenario: str | Scenario, topics: DataFrame, strategy: str = ELECTED, **options: Unpack[SimulationOptions]
) -> Transformation:
    """From members to everything that happens in a scenario: ``simulate(...).timeline``.

    >>> members.transform(timeline("leave", topics)).where("kind = 'STATE'").select("detail", "state").show()
    +-----------+-------------------+
    |     detail|              state|
    +-----------+-------------------+
    |MEMBER_LEFT| PreparingRebalance|
    |MEMBER_LEFT|CompletingRebalance|
    |MEMBER_LEFT|             Stable|
    +-----------+-------------------+
    <BLANKLINE>
    """
    return _table(TIMELINE.name, scenario, topics, strategy, options)


def lag_costs(
    scenario: str | Scenario,
    topics: DataFrame,
    offsets: DataFrame,
    strategy: str = ELECTED,
    **options: Unpack[SimulationOptions],
) -> Transformation:
    """From members to the lag that waits in unowned partitions or moves with them, for each group that has lag.

    >>> delayed = members.transform(lag_costs("leave", topics, offsets))
    >>> delayed.select("lag", "unowned_lag", "moved_lag", "max_unowned_ms", "unowned_record_ms").show()
    +---+-----------+---------+--------------+-----------------+
    |lag|unowned_lag|moved_lag|max_unowned_ms|unowned_record_ms|
    +---+-----------+---------+--------------+-----------------+
    | 40|         40|       30|          2644|            79460|
    +---+-----------+---------+--------------+-----------------+
    <BLANKLINE>
    """
    simulations = simulations_of((LAG_COSTS.name,), scenario, topics, (strategy,), options)
    lags = partition_lag(usable(fit_offsets(offsets)))
    return lambda members: simulations.plan(fit(members, MEMBERS), lags=lags).rows().transform(lag_costs_in_order)


def follow(
    members: DataFrame,
    topics: DataFrame,
    scenario: str | Scenario,
    strategy: str = ELECTED,
    **options: Unpack[SimulationOptions],
) -> Iterator[str]:
    """Follow one group: return the lines of its timeline. The simulation goes only as far as lines are asked for.

    Raises UserError if the members are not those of exactly one group.

    >>> log = follow(members, topics, "leave")
    >>> for _ in range(3):
    ...     print(next(log))
         0.000 s  1 Stable               c1: is assigned 2 partitions
         0.000 s  1 Stable               c2: is assigned 1 partition
        10.000 s  1 Stable               c1: event: leave
    """
    simulations = replace(simulations_of((TIMELINE.name,), scenario, topics, (strategy,), options), followed=None)
    return followed_group.follow(simulations, usable(fit(members, MEMBERS)))


def _table(
    name: str, scenario: str | Scenario, topics: DataFrame, strategy: str, options: SimulationOptions
) -> Transformation:
    simulations = simulations_of((name,), scenario, topics, (strategy,), options)
    simulations = replace(simulations, followed=None if name == TIMELINE.name else ())
    return lambda members: simulations(fit(members, MEMBERS)).transform(outcome(name))


def simulations_of(
    outputs: tuple[str, ...],
    scenario: str | Scenario,
    topics: DataFrame | TopicMetadata,
    strategies: Sequence[str],
    options: SimulationOptions,
) -> Simulations:
    """Return the simulations that fill some tables. Raises UserError for options that are not allowed."""
    clusters, own = clusters_of(options.get("kafka_version", NEWEST)), tuple(options.get("assignors", ()))
    version, played, timings = clusters.others.rules().simulated, scenario_of(scenario), options.get("timings")
    for strategy in strategies:
        check_strategy("strategy", strategy, version, [*custom_names(own, version), ELECTED])
    return Simulations(
        outputs,
        clusters,
        tuple(strategies),
        topics if isinstance(topics, TopicMetadata) else TopicMetadata.of(usable(fit_topics(topics))),
        played,
        options.get("seed", 0),
        variations=variations(played, version) if ADVICE.name in outputs else (),
        migration=of_own_protocols(scenario_of(MIGRATION)) if MIGRATION_COSTS.name in outputs else None,
        assignors=own,
        timings=None if timings is None else GroupTimings.of(usable(fit(timings, TIMINGS)), played),
    )
