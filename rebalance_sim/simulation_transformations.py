"""Simulations as transformations, each for ``DataFrame.transform``, and one group to be followed.

A scenario is given by its name (``conf/scenarios``), by the path of a file, or as a ``Scenario``. The columns of the
tables are those of ``rebalance_sim.tables``.
"""

from collections.abc import Callable, Iterator, Sequence

from pyspark.sql import DataFrame

from rebalance_sim.engine import followed_group
from rebalance_sim.engine.inputs import fit, fit_offsets, fit_topics, usable
from rebalance_sim.engine.lag import partition_lag
from rebalance_sim.engine.lag_costs import lag_costs as costs_with_lag
from rebalance_sim.engine.prediction import ELECTED, outcome
from rebalance_sim.engine.simulation import Simulations
from rebalance_sim.engine.topic_metadata import TopicMetadata
from rebalance_sim.errors import UserError
from rebalance_sim.kafka.assignors import check_strategy
from rebalance_sim.kafka.assignors.consumer_partition_assignor import ConsumerPartitionAssignor
from rebalance_sim.kafka.simulation.scenario import Scenario
from rebalance_sim.sources.scenarios import read_scenario
from rebalance_sim.tables import COSTS, MEMBERS, OWNED_PARTITIONS, PARTITION_COSTS, REBALANCES, TIMELINE
from rebalance_sim.transformations import custom_names
from rebalance_sim.versions import NEWEST
from rebalance_sim.versions import kafka_version as rules_of

Transformation = Callable[[DataFrame], DataFrame]


def costs(
    scenario: str | Scenario,
    topics: DataFrame,
    strategy: str = ELECTED,
    kafka_version: str = NEWEST,
    seed: int = 0,
    assignors: Sequence[ConsumerPartitionAssignor] = (),
) -> Transformation:
    """From members to what a scenario costs each group.

    ``assignors``: a user's own, which can then be the strategy, by name, and be elected.

    Raises UserError for a scenario, a strategy or a version that is not known, and for an assignor that cannot be used.

    >>> members.transform(costs("leave", topics)).select("rebalances", "moved", "settled").show()
    +----------+-----+-------+
    |rebalances|moved|settled|
    +----------+-----+-------+
    |         1|    2|   true|
    +----------+-----+-------+
    <BLANKLINE>
    """
    return _told_by(_simulations(COSTS.name, scenario, topics, strategy, kafka_version, seed, assignors))


def simulated_rebalances(
    scenario: str | Scenario,
    topics: DataFrame,
    strategy: str = ELECTED,
    kafka_version: str = NEWEST,
    seed: int = 0,
    assignors: Sequence[ConsumerPartitionAssignor] = (),
) -> Transformation:
    """From members to the rebalances of a scenario.

    >>> rebalances = members.transform(simulated_rebalances("leave", topics))
    >>> rebalances.select("rebalance", "reason", "member_id", "generation", "joined").show()
    +---------+-----------+---------+----------+------+
    |rebalance|     reason|member_id|generation|joined|
    +---------+-----------+---------+----------+------+
    |        1|MEMBER_LEFT|       c1|         2|     1|
    +---------+-----------+---------+----------+------+
    <BLANKLINE>
    """
    return _told_by(_simulations(REBALANCES.name, scenario, topics, strategy, kafka_version, seed, assignors))


def owned_partitions(
    scenario: str | Scenario,
    topics: DataFrame,
    strategy: str = ELECTED,
    kafka_version: str = NEWEST,
    seed: int = 0,
    assignors: Sequence[ConsumerPartitionAssignor] = (),
) -> Transformation:
    """From members to what each consumer has when a scenario has happened.

    >>> members.transform(owned_partitions("leave", topics)).select("member_id", "partitions").show(truncate=False)
    +---------+---------------------------------------+
    |member_id|partitions                             |
    +---------+---------------------------------------+
    |c2       |[{orders, 0}, {orders, 1}, {orders, 2}]|
    +---------+---------------------------------------+
    <BLANKLINE>
    """
    return _told_by(_simulations(OWNED_PARTITIONS.name, scenario, topics, strategy, kafka_version, seed, assignors))


def lag_costs(
    scenario: str | Scenario,
    topics: DataFrame,
    offsets: DataFrame,
    strategy: str = ELECTED,
    kafka_version: str = NEWEST,
    seed: int = 0,
    assignors: Sequence[ConsumerPartitionAssignor] = (),
) -> Transformation:
    """From members to what a scenario costs the groups with lag, in the partitions where it sits.

    >>> late = members.transform(lag_costs("leave", topics, offsets))
    >>> late.select("lag", "paused_lag", "moved_lag", "max_paused_ms", "paused_record_ms").show()
    +---+----------+---------+-------------+----------------+
    |lag|paused_lag|moved_lag|max_paused_ms|paused_record_ms|
    +---+----------+---------+-------------+----------------+
    | 40|        40|       30|         2644|           79460|
    +---+----------+---------+-------------+----------------+
    <BLANKLINE>
    """
    partition_costs = _simulations(PARTITION_COSTS.name, scenario, topics, strategy, kafka_version, seed, assignors)
    where_lag_sits = costs_with_lag(partition_lag(usable(fit_offsets(offsets))))
    return lambda members: members.transform(_told_by(partition_costs)).transform(where_lag_sits)


def timeline(
    scenario: str | Scenario,
    topics: DataFrame,
    strategy: str = ELECTED,
    kafka_version: str = NEWEST,
    seed: int = 0,
    assignors: Sequence[ConsumerPartitionAssignor] = (),
) -> Transformation:
    """From members to everything that happens in a scenario.

    >>> members.transform(timeline("leave", topics)).where("what = 'STATE'").select("detail", "state").show()
    +-----------+-------------------+
    |     detail|              state|
    +-----------+-------------------+
    |MEMBER_LEFT| PreparingRebalance|
    |MEMBER_LEFT|CompletingRebalance|
    |MEMBER_LEFT|             Stable|
    +-----------+-------------------+
    <BLANKLINE>
    """
    return _told_by(_simulations(TIMELINE.name, scenario, topics, strategy, kafka_version, seed, assignors))


def follow(
    members: DataFrame,
    topics: DataFrame,
    scenario: str | Scenario,
    strategy: str = ELECTED,
    kafka_version: str = NEWEST,
    seed: int = 0,
    assignors: Sequence[ConsumerPartitionAssignor] = (),
) -> Iterator[str]:
    """Follow one group: each line is told when it is asked for, and only then the group goes on so far.

    Raises UserError where the members are not of one group.

    >>> log = follow(members, topics, "leave")
    >>> for _ in range(3):
    ...     print(next(log))
         0.000 s  1 Stable               c1: works on 2 partitions
         0.000 s  1 Stable               c2: works on 1 partitions
        10.000 s  1 Stable               c1: event: leave
    """
    simulations = _simulations(TIMELINE.name, scenario, topics, strategy, kafka_version, seed, assignors)
    return followed_group.follow(simulations, usable(fit(members, MEMBERS)))


def _told_by(simulations: Simulations) -> Transformation:
    (output,) = simulations.outputs
    return lambda members: simulations(usable(fit(members, MEMBERS))).transform(outcome(output))


def _simulations(
    output: str,
    scenario: str | Scenario,
    topics: DataFrame,
    strategy: str,
    kafka_version: str,
    seed: int,
    assignors: Sequence[ConsumerPartitionAssignor],
) -> Simulations:
    version = rules_of(kafka_version)
    check_strategy("strategy", strategy, version, [*custom_names(assignors, version), ELECTED])
    metadata = TopicMetadata.of(usable(fit_topics(topics)))
    followed = None if output == TIMELINE.name else ()
    return Simulations(
        (output,), version, (strategy,), metadata, _scenario(scenario), seed, followed, assignors=tuple(assignors)
    )


def _scenario(given: str | Scenario) -> Scenario:
    if isinstance(given, Scenario):
        return given
    scenario, rejected = read_scenario(given)
    if rejected:
        raise UserError(f"scenario {given!r}: {rejected[0].reason}")
    return scenario
