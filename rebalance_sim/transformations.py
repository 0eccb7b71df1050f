"""Elections and assignments as transformations, each for ``DataFrame.transform``.

The tables and their columns are those of ``rebalance_sim.tables``. Rows that cannot be used are left out;
``rejects`` returns them.
"""

from collections.abc import Callable, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from rebalance_sim.engine.comparison import BEST, COMPARED_OUTPUTS, compare_strategies
from rebalance_sim.engine.custom_assignors import check_travels
from rebalance_sim.engine.inputs import fit, fit_topics, rejected, union, usable
from rebalance_sim.engine.prediction import ELECTED, OFFSETS_PARTITIONS, Prediction, asks_topic_ids, outcome
from rebalance_sim.engine.subscriptions import read_subscriptions
from rebalance_sim.engine.topic_metadata import TopicMetadata
from rebalance_sim.kafka.assignors import assignors_of, check_strategy
from rebalance_sim.kafka.assignors.consumer_partition_assignor import ConsumerPartitionAssignor
from rebalance_sim.kafka.assignors.custom import by_name, check_assignor
from rebalance_sim.tables import (
    ASSIGNMENTS,
    BALANCE,
    COOPERATIVE_REBALANCES,
    ELECTIONS,
    LAST_ASSIGNMENTS,
    MEMBERS,
    OPTIMUM,
    REJECTS,
    TOPICS,
)
from rebalance_sim.versions import NEWEST, KafkaVersion
from rebalance_sim.versions import kafka_version as rules_of

Transformation = Callable[[DataFrame], DataFrame]


def elect(kafka_version: str = NEWEST, offsets_partitions: int = OFFSETS_PARTITIONS) -> Transformation:
    """From members to elections: the protocol that each group elects, and its leader.

    Groups of KIP-848 elect nothing: there it is the assignor that the coordinator runs, and nobody leads.

    Raises UserError for a version that is not known, and for members without a required column.

    >>> members.transform(elect(kafka_version="2.3")).select("protocol", "votes", "tie").show()
    +--------+--------------------+----+
    |protocol|               votes| tie|
    +--------+--------------------+----+
    |   range|{range -> 1, roun...|true|
    +--------+--------------------+----+
    <BLANKLINE>
    """
    predict = Prediction((ELECTIONS.name,), rules_of(kafka_version), offsets_partitions=offsets_partitions)
    return lambda members: predict(usable(fit(members, MEMBERS)))


def assign(
    strategy: str,
    topics: DataFrame,
    kafka_version: str = NEWEST,
    assignors: Sequence[ConsumerPartitionAssignor] = (),
) -> Transformation:
    """From members to assignments, by one assignor or, with ``elected``, by the one that each group elects.

    Where cooperative members hand over partitions it is the first answer: see ``cooperative_rebalances``.

    ``assignors``: a user's own, which can then be the strategy, by name, and be elected. A group for which one fails
    has no assignments; ``balance`` says why.

    Raises UserError for a strategy or a version that is not known, for an assignor that cannot be used, and for topics
    or members without a required column.

    >>> members.transform(assign("range", topics)).transform(partitions_long).orderBy("partition").show()
    +-------+--------+--------+---------+------+---------+
    |cluster|group_id|strategy|member_id| topic|partition|
    +-------+--------+--------+---------+------+---------+
    |default|   group|   range|       c1|orders|        0|
    |default|   group|   range|       c1|orders|        1|
    |default|   group|   range|       c2|orders|        2|
    +-------+--------+--------+---------+------+---------+
    <BLANKLINE>
    """
    return _predict(ASSIGNMENTS.name, (strategy,), topics, kafka_version, assignors)


def cooperative_rebalances(
    strategy: str,
    topics: DataFrame,
    kafka_version: str = NEWEST,
    assignors: Sequence[ConsumerPartitionAssignor] = (),
) -> Transformation:
    """From members to what each gives up and takes, rebalance by rebalance, where the assignor is cooperative.

    Parameters and errors are those of ``assign``. Of other assignors there are no rows: members give up everything,
    join once, and get their ``assignments``.

    >>> rebalances = members.transform(cooperative_rebalances("cooperative-sticky", topics))
    >>> rebalances.select("rebalance", "last", "member_id", "revoked", "added").show()
    +---------+----+---------+-------+--------------------+
    |rebalance|last|member_id|revoked|               added|
    +---------+----+---------+-------+--------------------+
    |        1|true|       c1|     []|[{orders, 0}, {or...|
    |        1|true|       c2|     []|       [{orders, 1}]|
    +---------+----+---------+-------+--------------------+
    <BLANKLINE>
    """
    return _predict(COOPERATIVE_REBALANCES.name, (strategy,), topics, kafka_version, assignors)


def balance(
    strategy: str,
    topics: DataFrame,
    kafka_version: str = NEWEST,
    assignors: Sequence[ConsumerPartitionAssignor] = (),
) -> Transformation:
    """From members to the balance of each group's assignment, and what it moves against the owned partitions.

    Parameters and errors are those of ``assign``.

    >>> members.transform(balance("roundrobin", topics)).select("members", "partitions", "min", "max").show()
    +-------+----------+---+---+
    |members|partitions|min|max|
    +-------+----------+---+---+
    |      2|         3|  1|  2|
    +-------+----------+---+---+
    <BLANKLINE>
    """
    return _predict(BALANCE.name, (strategy,), topics, kafka_version, assignors)


def optimum(topics: DataFrame) -> Transformation:
    """From members to the most even assignment that each group's subscriptions allow, and the fewest moves to it.

    All members take part, whatever they offer, as with named strategies.

    >>> members.transform(optimum(topics)).select("partitions", "min", "max", "moved", "balance_exact").show()
    +----------+---+---+-----+-------------+
    |partitions|min|max|moved|balance_exact|
    +----------+---+---+-----+-------------+
    |         3|  1|  2|    0|         true|
    +----------+---+---+-----+-------------+
    <BLANKLINE>
    """
    metadata = TopicMetadata.of(usable(fit_topics(topics)), ids=False)
    predict = Prediction((OPTIMUM.name,), rules_of(NEWEST), metadata=metadata)
    return lambda members: predict(usable(fit(members, MEMBERS)))


def compare(
    topics: DataFrame,
    strategies: Sequence[str] = (),
    kafka_version: str = NEWEST,
    assignors: Sequence[ConsumerPartitionAssignor] = (),
) -> Transformation:
    """From members to every group under each of the strategies, beside the best that any could do.

    Without ``strategies`` they are all that the version has, and the user's own ``assignors``. ``elected`` among them
    adds, to groups that elect none of the others, what they elect; members that the coordinator refuses are left out
    then.

    >>> compared = members.transform(compare(topics, ["range", "roundrobin"]))
    >>> compared.select("elected", "optimum.stddev", "strategies.range.excess_stddev").show()
    +-------+------+-------------+
    |elected|stddev|excess_stddev|
    +-------+------+-------------+
    |  range|   0.5|          0.0|
    +-------+------+-------------+
    <BLANKLINE>
    """
    version = rules_of(kafka_version)
    custom = custom_names(assignors, version)
    named = tuple(dict.fromkeys(strategies)) or (*assignors_of(version), *custom)
    for strategy in named:
        check_strategy("strategies", strategy, version, [*custom, ELECTED])
    metadata = TopicMetadata.of(usable(fit_topics(topics)), asks_topic_ids(named))
    predict = Prediction(COMPARED_OUTPUTS, version, named, metadata, assignors=tuple(assignors))
    return lambda members: predict(usable(fit(members, MEMBERS))).transform(compare_strategies)


def rejects(topics: DataFrame, kafka_version: str = NEWEST) -> Transformation:
    """From members to the rows of members and topics that elections and assignments cannot use, each with a reason.

    >>> members.transform(rejects(topics)).count()
    0
    """
    checked = fit_topics(topics)

    def transform(members: DataFrame) -> DataFrame:
        fitted = fit(members, MEMBERS)
        outputs = (ASSIGNMENTS.name, REJECTS.name)
        predict = Prediction(outputs, rules_of(kafka_version), (ELECTED,), TopicMetadata.of(usable(checked)))
        from_groups = predict(usable(fitted)).transform(outcome(REJECTS.name))
        return union([rejected(checked, TOPICS), rejected(fitted, MEMBERS), from_groups])

    return transform


def decode_subscriptions(column: str = "metadata", protocol: str | Column | None = None) -> Transformation:
    """From members to members: fill subscription, owned, generation, user_data and rack from the bytes of JoinGroup.

    The bytes are those of ``ConsumerProtocolSubscription``, of any version, as a JoinGroup request and the records of
    ``__consumer_offsets`` hold them. Values that are given stay; null ones and missing columns are filled. What cannot
    be read is told in ``metadata_error``, and fills nothing: members that are left without a subscription are rejects.

    ``protocol`` names the assignor that the bytes are for; a column does so row by row (``F.col("protocol")``). Members
    of sticky give everything back before they join, and tell in the user data what they had: there ``owned`` and
    ``generation`` are taken from it, as the leader takes them, and ``metadata_error`` tells if it cannot be read. For
    other assignors the subscription itself tells. Where the protocol is null, user data that is sticky's from the first
    to the last byte counts, if the subscription owns nothing (``rebalance_sim.kafka.consumer_protocol.member_data``).

    Raises UserError where the column is missing or not binary, where a column to be filled has another type than in the
    members table, and where there is a ``metadata_error`` already.

    >>> from rebalance_sim.kafka.consumer_protocol import *
    >>> last = StickyUserData((TopicPartition("orders", 2),), generation=7)
    >>> metadata = encode_subscription(Subscription(("orders",), encode_sticky_user_data(last)))
    >>> joined = spark.createDataFrame([("c1", metadata)], "member_id string, metadata binary")
    >>> joined.transform(decode_subscriptions()).drop("metadata", "user_data").show()
    +---------+------------+-------------+----------+----+--------------+
    |member_id|subscription|        owned|generation|rack|metadata_error|
    +---------+------------+-------------+----------+----+--------------+
    |       c1|    [orders]|[{orders, 2}]|         7|NULL|          NULL|
    +---------+------------+-------------+----------+----+--------------+
    <BLANKLINE>
    """
    return lambda members: read_subscriptions(members, column, F.lit(protocol))


def last_rebalance(cooperative_rebalances: DataFrame) -> DataFrame:
    """From the rebalances of cooperative groups to their last; groups with an error in ``balance`` have none.

    >>> cooperative = cooperative_rebalances("cooperative-sticky", topics)
    >>> members.transform(cooperative).transform(last_rebalance).select("member_id", "rebalance", "partitions").show()
    +---------+---------+--------------------+
    |member_id|rebalance|          partitions|
    +---------+---------+--------------------+
    |       c1|        1|[{orders, 0}, {or...|
    |       c2|        1|       [{orders, 1}]|
    +---------+---------+--------------------+
    <BLANKLINE>
    """
    return cooperative_rebalances.where("last")


def last_assignments(
    strategies: Sequence[str],
    topics: DataFrame,
    kafka_version: str = NEWEST,
    assignors: Sequence[ConsumerPartitionAssignor] = (),
) -> Transformation:
    """From members to what each has after the last rebalance, by each of the strategies.

    That is what ``assign`` returns, but where cooperative members hand over partitions in more than one rebalance.
    With ``elected`` among other strategies, groups that elect none of them are assigned by what they elect. Errors are
    those of ``assign``.

    >>> last = members.transform(last_assignments(["range", "cooperative-sticky"], topics))
    >>> last.orderBy("member_id", "strategy").select("member_id", "strategy", "partitions").show(truncate=False)
    +---------+------------------+--------------------------+
    |member_id|strategy          |partitions                |
    +---------+------------------+--------------------------+
    |c1       |cooperative-sticky|[{orders, 0}, {orders, 2}]|
    |c1       |range             |[{orders, 0}, {orders, 1}]|
    |c2       |cooperative-sticky|[{orders, 1}]             |
    |c2       |range             |[{orders, 2}]             |
    +---------+------------------+--------------------------+
    <BLANKLINE>
    """
    return _predict(LAST_ASSIGNMENTS.name, tuple(dict.fromkeys(strategies)), topics, kafka_version, assignors)


def partitions_long(assignments: DataFrame) -> DataFrame:
    """From assignments, or a last rebalance, to long rows: cluster, group_id, strategy, member_id, topic, partition."""
    return assignments.select("cluster", "group_id", "strategy", "member_id", F.inline("partitions"))


def _predict(
    output: str,
    strategies: tuple[str, ...],
    topics: DataFrame,
    kafka_version: str,
    assignors: Sequence[ConsumerPartitionAssignor],
) -> Transformation:
    version = rules_of(kafka_version)
    known = [*custom_names(assignors, version), ELECTED]
    for strategy in strategies:
        check_strategy("strategy", strategy, version, known)
    metadata = TopicMetadata.of(usable(fit_topics(topics)), asks_topic_ids(strategies))
    predict = Prediction((output,), version, strategies, metadata, assignors=tuple(assignors))
    return lambda members: predict(usable(fit(members, MEMBERS)))


def custom_names(assignors: Sequence[ConsumerPartitionAssignor], version: KafkaVersion) -> tuple[str, ...]:
    """Names of a user's own assignors. Raises UserError for one that cannot be used, and for two of one name."""
    for assignor in assignors:
        check_assignor("assignors", assignor, version, [ELECTED, BEST])
        check_travels("assignors", assignor)
    return tuple(by_name("assignors", assignors))
