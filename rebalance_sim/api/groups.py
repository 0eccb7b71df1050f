"""Elections and assignments: transformations, each for ``DataFrame.transform``.

The tables and their columns are those of ``rebalance_sim.tables``. Rows that cannot be used are left out; ``rejects``
returns them. ``predict`` returns all tables of one run.
"""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from rebalance_sim.engine.groups.comparison import BEST
from rebalance_sim.engine.groups.custom_assignors import check_travels
from rebalance_sim.engine.groups.group_outcomes import GroupOutcomes
from rebalance_sim.engine.groups.prediction import ELECTED, OF_LIBRARY, Prediction, asks_topic_ids
from rebalance_sim.engine.tables.inputs import fit, fit_topics, usable
from rebalance_sim.engine.tables.outcomes import Transformation
from rebalance_sim.engine.tables.subscriptions import read_subscriptions
from rebalance_sim.engine.tables.topic_metadata import TopicMetadata
from rebalance_sim.kafka.assignors import assignors_of, check_strategy
from rebalance_sim.kafka.assignors.consumer_partition_assignor import ConsumerPartitionAssignor
from rebalance_sim.kafka.assignors.custom import by_name, check_assignor
from rebalance_sim.kafka.brokers import Brokers, Clusters
from rebalance_sim.releases import NEWEST, KafkaVersion
from rebalance_sim.tables import (
    ASSIGNMENTS,
    BALANCE,
    COMPARISON,
    COOPERATIVE_REBALANCES,
    ELECTIONS,
    LAST_ASSIGNMENTS,
    MEMBERS,
    OPTIMUM,
    REJECTS,
    TOPICS,
)

_WITHOUT_TOPICS = (ELECTIONS.name, REJECTS.name)
_ALL_TABLES = (
    *(ELECTIONS.name, ASSIGNMENTS.name, COOPERATIVE_REBALANCES.name, LAST_ASSIGNMENTS.name, BALANCE.name),
    *(OPTIMUM.name, COMPARISON.name, REJECTS.name),
)


def predict(
    members: DataFrame,
    topics: DataFrame | None = None,
    strategies: Sequence[str] = (ELECTED,),
    kafka_version: str | Clusters = NEWEST,
    assignors: Sequence[ConsumerPartitionAssignor] = (),
    tables: Sequence[str] = (),
) -> GroupOutcomes:
    """Predict elections, assignments and balance of every group in one run, and return all tables of it.

    The tables are ``elections``, ``assignments``, ``cooperative_rebalances``, ``last_assignments``, ``balance``,
    ``optimum``, ``comparison`` and ``rejects``; ``tables`` limits them to some. Without ``topics`` there are only
    elections and rejects. With ``elected`` among other strategies, groups that elect none of the others are also
    assigned by what they elect.

    ``assignors`` are a user's own: they may be elected, and named as a strategy. A group for which one fails has no
    assignments; ``balance`` has its error.

    Raises UserError for an unknown strategy or version, for an assignor that cannot be used, and for topics or members
    without a required column.

    >>> predicted = predict(members, topics, ["range", "roundrobin"])
    >>> predicted.elections.select("protocol", "leader_id").show()
    +--------+---------+
    |protocol|leader_id|
    +--------+---------+
    |   range|       c1|
    +--------+---------+
    <BLANKLINE>
    >>> predicted.balance.orderBy("strategy").select("strategy", "min", "max").show()
    +----------+---+---+
    |  strategy|min|max|
    +----------+---+---+
    |     range|  1|  2|
    |roundrobin|  1|  2|
    +----------+---+---+
    <BLANKLINE>
    """
    wanted = tuple(tables) or (_WITHOUT_TOPICS if topics is None else _ALL_TABLES)
    # At least two tables: the rows of a prediction of one table are the table itself, without a struct column for it.
    computed = [REJECTS.name, *((ELECTIONS.name,) if topics is None else (ASSIGNMENTS.name, *wanted))]
    rules = prediction(computed, topics, () if topics is None else strategies, kafka_version, assignors)
    fitted = {MEMBERS: fit(members, MEMBERS)} | ({} if topics is None else {TOPICS: fit_topics(topics)})
    plan = rules.plan(fitted[MEMBERS])
    used_topics = None if rules.metadata is None else rules.metadata.topics.num_rows
    return GroupOutcomes(plan, wanted, {}, fitted, used_topics)


def elect(kafka_version: str | Clusters = NEWEST) -> Transformation:
    """From members to elections: the protocol that each group elects, and its leader.

    A consumer-protocol group (KIP-848) has no election and no leader: its row has the assignor that the coordinator
    runs.

    Raises UserError for an unknown version, and for members without a required column.

    >>> members.transform(elect(kafka_version="2.3")).select("protocol", "votes", "tie").show()
    +--------+--------------------+----+
    |protocol|               votes| tie|
    +--------+--------------------+----+
    |   range|{range -> 1, roun...|true|
    +--------+--------------------+----+
    <BLANKLINE>
    """
    return _applied(prediction([ELECTIONS.name], None, (), kafka_version))


def assign(
    strategy: str,
    topics: DataFrame,
    kafka_version: str | Clusters = NEWEST,
    assignors: Sequence[ConsumerPartitionAssignor] = (),
) -> Transformation:
    """From members to assignments, by one assignor or, with ``elected``, by the one that each group elects.

    A cooperative group may need further rebalances before every partition has its new owner; this is its first
    assignment (see ``cooperative_rebalances``).

    ``assignors`` and errors are those of ``predict``.

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
    return _applied(prediction([ASSIGNMENTS.name], topics, (strategy,), kafka_version, assignors))


def cooperative_rebalances(
    strategy: str,
    topics: DataFrame,
    kafka_version: str | Clusters = NEWEST,
    assignors: Sequence[ConsumerPartitionAssignor] = (),
) -> Transformation:
    """From members to the partitions that each revokes and is assigned, rebalance by rebalance.

    Only cooperative assignors have rows. With the others, members revoke everything and rejoin once; their result is
    in ``assignments``. Parameters and errors are those of ``assign``.

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
    return _applied(prediction([COOPERATIVE_REBALANCES.name], topics, (strategy,), kafka_version, assignors))


def balance(
    strategy: str,
    topics: DataFrame,
    kafka_version: str | Clusters = NEWEST,
    assignors: Sequence[ConsumerPartitionAssignor] = (),
) -> Transformation:
    """From members to the balance of each group's assignment, and the partitions that move from their present owners.

    Parameters and errors are those of ``assign``.

    >>> members.transform(balance("roundrobin", topics)).select("members", "partitions", "min", "max").show()
    +-------+----------+---+---+
    |members|partitions|min|max|
    +-------+----------+---+---+
    |      2|         3|  1|  2|
    +-------+----------+---+---+
    <BLANKLINE>
    """
    return _applied(prediction([BALANCE.name], topics, (strategy,), kafka_version, assignors))


def optimum(topics: DataFrame) -> Transformation:
    """From members to the best balance that each group's subscriptions allow, and the fewest moves that reach it.

    All members take part, whichever protocols they support, as with named strategies.

    >>> members.transform(optimum(topics)).select("partitions", "min", "max", "moved", "balance_exact").show()
    +----------+---+---+-----+-------------+
    |partitions|min|max|moved|balance_exact|
    +----------+---+---+-----+-------------+
    |         3|  1|  2|    0|         true|
    +----------+---+---+-----+-------------+
    <BLANKLINE>
    """
    return _applied(prediction([OPTIMUM.name], topics, (), NEWEST))


def compare(
    topics: DataFrame,
    strategies: Sequence[str] = (),
    kafka_version: str | Clusters = NEWEST,
    assignors: Sequence[ConsumerPartitionAssignor] = (),
) -> Transformation:
    """From members to every group under each of the strategies, beside the optimum.

    Without ``strategies``, all assignors of the version and the user's own ``assignors`` are compared. If ``elected``
    is among them, groups that elect none of the others are also assigned by what they elect, and members that the
    coordinator refuses are left out.

    >>> compared = members.transform(compare(topics, ["range", "roundrobin"]))
    >>> compared.select("elected", "optimum.stddev", "strategies.range.excess_stddev").show()
    +-------+------+-------------+
    |elected|stddev|excess_stddev|
    +-------+------+-------------+
    |  range|   0.5|          0.0|
    +-------+------+-------------+
    <BLANKLINE>
    """
    named = tuple(dict.fromkeys(strategies))
    if not named:
        version = clusters_of(kafka_version).others.rules()
        named = (*assignors_of(version), *custom_names(assignors, version))
    return _applied(prediction([COMPARISON.name], topics, named, kafka_version, assignors))


def rejects(topics: DataFrame, kafka_version: str | Clusters = NEWEST) -> Transformation:
    """From members to the rows of members and topics that elections and assignments cannot use, each with a reason.

    >>> members.transform(rejects(topics)).count()
    0
    """
    outputs = (ASSIGNMENTS.name, REJECTS.name)
    return lambda members: predict(members, topics, kafka_version=kafka_version, tables=outputs).rejects


def decode_subscriptions(column: str = "metadata", protocol: str | Column | None = None) -> Transformation:
    """From members to members: fill subscription, owned, generation, user_data and rack from JoinGroup metadata.

    The column holds ``ConsumerProtocolSubscription`` bytes of any version, as in a JoinGroup request and in the records
    of ``__consumer_offsets``. Given values stay; null ones and missing columns are filled. Bytes that cannot be read
    fill nothing, and ``metadata_error`` has the reason; a member left without a subscription becomes a reject.

    ``protocol`` is the assignor that the bytes are for; a column gives it row by row (``F.col("protocol")``). With
    sticky, members revoke everything before they join and send their previous partitions in the user data: ``owned``
    and ``generation`` are read from there, as the leader does. With other assignors they are read from the subscription
    itself. If the protocol is null, user data that parses as sticky's from the first to the last byte is used, provided
    that the subscription has no owned partitions (``kafka.wire.consumer_protocol.member_data``).

    Raises UserError if the column is missing or not binary, if a column to be filled has another type than in the
    members table, and if there is already a ``metadata_error`` column.

    >>> from rebalance_sim.kafka.wire.consumer_protocol import *
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
    """From cooperative rebalances to the last of each group; a group with an error in ``balance`` has none.

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
    kafka_version: str | Clusters = NEWEST,
    assignors: Sequence[ConsumerPartitionAssignor] = (),
) -> Transformation:
    """From members to the partitions that each owns after the last rebalance, by each of the strategies.

    This differs from ``assign`` only where a cooperative group needs more than one rebalance. With ``elected`` among
    other strategies, groups that elect none of the others are also assigned by what they elect. Errors are those of
    ``assign``.

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
    return _applied(prediction([LAST_ASSIGNMENTS.name], topics, strategies, kafka_version, assignors))


def partitions_long(assignments: DataFrame) -> DataFrame:
    """From assignments, or a last rebalance, to long rows: cluster, group_id, strategy, member_id, topic, partition."""
    return assignments.select("cluster", "group_id", "strategy", "member_id", F.inline("partitions"))


def prediction(
    outputs: Sequence[str],
    topics: DataFrame | None,
    strategies: Sequence[str],
    kafka_version: str | Clusters,
    assignors: Sequence[ConsumerPartitionAssignor] = (),
) -> Prediction:
    """Return the prediction of some tables. Raises UserError for options that are not allowed."""
    clusters = clusters_of(kafka_version)
    version = clusters.others.rules()
    known = [*custom_names(assignors, version), ELECTED]
    for strategy in strategies:
        if strategy != OF_LIBRARY:
            check_strategy("strategy", strategy, version, known)
    metadata = None if topics is None else TopicMetadata.of(usable(fit_topics(topics)), asks_topic_ids(strategies))
    return Prediction(
        tuple(dict.fromkeys(outputs)), clusters, tuple(dict.fromkeys(strategies)), metadata, tuple(assignors)
    )


def clusters_of(kafka_version: str | Clusters) -> Clusters:
    """Return the brokers of all clusters; a release stands for the same brokers everywhere."""
    return Clusters(Brokers(kafka_version)) if isinstance(kafka_version, str) else kafka_version


def _applied(rules: Prediction) -> Transformation:
    return lambda members: rules(fit(members, MEMBERS))


def custom_names(assignors: Sequence[ConsumerPartitionAssignor], version: KafkaVersion) -> tuple[str, ...]:
    """Return the names of a user's own assignors. Raises UserError for one that cannot be used or a repeated name."""
    for assignor in assignors:
        check_assignor("assignors", assignor, version, [ELECTED, BEST])
        check_travels("assignors", assignor)
    return tuple(by_name("assignors", assignors))
