"""The history of groups: past generations explained, predicted, compared with what was assigned, and scored.

``generation_members`` is the table of that name in ``rebalance_sim.tables``.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

import pyarrow as pa
from pyspark.sql import DataFrame

from rebalance_sim.api.groups import clusters_of
from rebalance_sim.api.simulation import SimulationOptions, simulations_of
from rebalance_sim.engine.groups.prediction import ELECTED
from rebalance_sim.engine.history import backtest as backtests
from rebalance_sim.engine.history.backtest import AS_JOINED
from rebalance_sim.engine.history.log_reasons import with_log_reasons
from rebalance_sim.engine.history.past_predictions import BASES, PastPredictions
from rebalance_sim.engine.history.prevention import Prevention
from rebalance_sim.engine.history.timings import Timings
from rebalance_sim.engine.tables.inputs import fit_topics, usable
from rebalance_sim.engine.tables.outcomes import Outcomes, Transformation
from rebalance_sim.engine.tables.topic_metadata import TopicMetadata
from rebalance_sim.errors import check_choice
from rebalance_sim.kafka.assignors.consumer_partition_assignor import ConsumerPartitionAssignor
from rebalance_sim.kafka.brokers import Clusters
from rebalance_sim.kafka.simulation.scenario import Scenario
from rebalance_sim.releases import NEWEST
from rebalance_sim.sources.broker_logs import read_broker_logs
from rebalance_sim.sources.offsets_topic.history import History, read_history
from rebalance_sim.tables import ADVICE, COSTS

REPLAY = Scenario("history")
"""The settings with which the past is simulated again; its events are those of the past."""
_NO_TOPICS = TopicMetadata(pa.schema([]).empty_table())
"""Each part of the past has its own topics."""


def history(
    *dumps: DataFrame,
    topics: DataFrame | None = None,
    groups: Collection[str] = (),
    broker_logs: DataFrame | None = None,
) -> History:
    """Read every generation of the groups in dumps of ``__consumer_offsets``, and explain each.

    A dump has ``key``, ``value``, ``partition``, ``offset`` and perhaps ``timestamp``, as Spark's source for Kafka
    returns them; several dumps of one topic are merged. ``topics`` names the topics of consumer-protocol groups by
    their ids. Only ``groups`` are read, unless there are none. ``broker_logs`` are lines as for ``timings``, which have
    the reasons for rebalances. The tables are ``generations``, ``generation_members``, ``episodes`` and ``rejects``.

    Raises UserError for columns that are missing or have another type.

    >>> dump = spark.read.parquet("docs/examples/history/consumer-offsets.parquet")
    >>> past = history(dump, groups=["crashing"])
    >>> past.generations.where("generation = 4").select("cause", "cause_member").show()
    +----------------+------------+
    |           cause|cause_member|
    +----------------+------------+
    |member restarted|  crashing-2|
    +----------------+------------+
    <BLANKLINE>
    """
    past = read_history(dumps, topics=topics, groups=groups)
    if broker_logs is None:
        return past
    return replace(past, generations=with_log_reasons(past.generations, read_broker_logs(broker_logs).steps))


def backtest(
    topics: DataFrame | None = None,
    kafka_version: str | Clusters = NEWEST,
    assignors: Sequence[ConsumerPartitionAssignor] = (),
    basis: str = AS_JOINED,
) -> Transformation:
    """From generation members to one row per generation: what would have been predicted, and whether it was right.

    ``topics`` are those of today; without it, the numbers of partitions are those that the generations show. With
    ``basis="generation before"`` members own what the generation before assigned them, as a simulation has it, instead
    of what they sent when they joined.

    Raises UserError for an unknown version or basis, and for topics without a required column.

    >>> past = history(spark.read.parquet("docs/examples/history/consumer-offsets.parquet"), groups=["cooperative"])
    >>> tested = past.generation_members.transform(backtest())
    >>> tested.orderBy("generation").select("generation", "strategy", "result", "partition_counts").show(3)
    +----------+------------------+------+----------------+
    |generation|          strategy|result|partition_counts|
    +----------+------------------+------+----------------+
    |         1|cooperative-sticky| equal| from the answer|
    |         2|cooperative-sticky| equal|           known|
    |         3|cooperative-sticky| equal|           known|
    +----------+------------------+------+----------------+
    only showing top 3 rows
    <BLANKLINE>
    """
    check_choice("basis", basis, list(BASES))
    predictions = past_predictions(topics, kafka_version, assignors)
    return lambda generation_members: predictions(generation_members).backtest(basis)


def past_predictions(
    topics: DataFrame | None, kafka_version: str | Clusters, assignors: Sequence[ConsumerPartitionAssignor]
) -> Callable[[DataFrame], PastPredictions]:
    """From generation members to all that is predicted of them; the parameters are those of ``backtest``."""
    clusters, today = clusters_of(kafka_version), None if topics is None else usable(fit_topics(topics))
    return lambda generation_members: PastPredictions.of(generation_members, today, clusters, assignors)


def misses(
    backtest: DataFrame,
    topics: DataFrame | None = None,
    kafka_version: str | Clusters = NEWEST,
    assignors: Sequence[ConsumerPartitionAssignor] = (),
) -> Callable[[DataFrame], Outcomes]:
    """From generation members to the tables with which each wrong prediction of ``backtest`` is made again.

    The tables are ``miss_topics``, ``miss_members`` and ``miss_clusters``: inputs of ``explain_assignment`` and
    ``assign``, in which each miss is a cluster of its own. The parameters are those with which ``backtest`` predicted.

    >>> past = history(spark.read.parquet("docs/examples/history/consumer-offsets.parquet"), groups=["cooperative"])
    >>> tested = past.generation_members.transform(backtest())
    >>> wrong = misses(tested)(past.generation_members)
    >>> wrong.miss_members.count()
    0
    """
    predictions = past_predictions(topics, kafka_version, assignors)
    return lambda generation_members: predictions(generation_members).misses(backtest)


def score(backtest: DataFrame) -> DataFrame:
    """From ``backtest`` to how many generations were predicted, by basis, client library, release and rules.

    >>> past = history(spark.read.parquet("docs/examples/history/consumer-offsets.parquet"), groups=["cooperative"])
    >>> past.generation_members.transform(backtest()).transform(score).agg({"equal": "sum"}).show()
    +----------+
    |sum(equal)|
    +----------+
    |         5|
    +----------+
    <BLANKLINE>
    """
    return backtests.score(backtest)


def prevention(generations: DataFrame, kafka_version: str | Clusters = NEWEST, seed: int = 0) -> Transformation:
    """From generation members to the rebalances that other settings would have prevented, by group and setting.

    The episodes of ``generations`` are simulated again with the members that joined, left and restarted at their times.
    Left out are groups in which nothing can be prevented: each episode is a single rebalance, for which no member came
    back.

    Raises UserError for an unknown version.

    >>> past = history(spark.read.parquet("docs/examples/history/consumer-offsets.parquet"), groups=["crashing"])
    >>> prevented = past.generation_members.transform(prevention(past.generations))
    >>> static = prevented.where("setting = 'group.instance.id'")
    >>> static.select("generations", "rebalances", "rebalances_saved").show()
    +-----------+----------+----------------+
    |generations|rebalances|rebalances_saved|
    +-----------+----------+----------------+
    |         10|        10|               8|
    +-----------+----------+----------------+
    <BLANKLINE>
    """
    options: SimulationOptions = {"kafka_version": kafka_version, "seed": seed}
    simulations = simulations_of((COSTS.name, ADVICE.name), REPLAY, _NO_TOPICS, (ELECTED,), options)
    return lambda generation_members: Prevention(simulations)(generations, generation_members)


def timings(generations: DataFrame, episodes: DataFrame, broker_logs: DataFrame | None = None) -> Transformation:
    """From generation members to how long members, leaders and groups took, by group, workload and timing.

    ``generations`` and ``episodes`` are the other tables of ``history``. Times that are no more than upper bounds have
    the ``bound`` ``upper bound``. ``broker_logs`` are the lines of the logs of the brokers, in a column ``value`` as
    ``spark.read.text`` returns them.

    >>> past = history(spark.read.parquet("docs/examples/history/consumer-offsets.parquet"), groups=["crashing"])
    >>> taken = past.generation_members.transform(timings(past.generations, past.episodes))
    >>> taken.where("workload IS NULL").select("timing", "bound", "count", "median_ms").orderBy("timing").show()
    +------+-----------+-----+---------+
    |timing|      bound|count|median_ms|
    +------+-----------+-----+---------+
    |assign|   measured|   10|        7|
    |return|upper bound|    4|     7075|
    +------+-----------+-----+---------+
    <BLANKLINE>
    """
    steps = None if broker_logs is None else read_broker_logs(broker_logs).steps
    return Timings(generations, episodes, steps)
