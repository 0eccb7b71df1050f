"""Elections and assignments as transformations, each for ``DataFrame.transform``.

The tables and their columns are those of ``rebalance_sim.tables``. Rows that cannot be used are left out;
``rejects`` returns them.
"""

from collections.abc import Callable

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rebalance_sim.engine.inputs import fit, fit_topics, rejected, union, usable
from rebalance_sim.engine.prediction import ELECTED, OFFSETS_PARTITIONS, Prediction, outcome
from rebalance_sim.engine.topic_metadata import TopicMetadata
from rebalance_sim.errors import check_choice
from rebalance_sim.kafka.assignors import ASSIGNORS
from rebalance_sim.tables import ASSIGNMENTS, BALANCE, ELECTIONS, MEMBERS, REJECTS, TOPICS
from rebalance_sim.versions import NEWEST
from rebalance_sim.versions import kafka_version as rules_of

Transformation = Callable[[DataFrame], DataFrame]


def elect(kafka_version: str = NEWEST, offsets_partitions: int = OFFSETS_PARTITIONS) -> Transformation:
    """From members to elections: the protocol that each group elects, and its leader.

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


def assign(strategy: str, topics: DataFrame, kafka_version: str = NEWEST) -> Transformation:
    """From members to assignments, by one assignor or, with ``elected``, by the one that each group elects.

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
    return _predict(ASSIGNMENTS.name, strategy, topics, kafka_version)


def balance(strategy: str, topics: DataFrame, kafka_version: str = NEWEST) -> Transformation:
    """From members to the balance of each group's assignment, and what it moves against the owned partitions.

    >>> members.transform(balance("roundrobin", topics)).select("members", "partitions", "min", "max").show()
    +-------+----------+---+---+
    |members|partitions|min|max|
    +-------+----------+---+---+
    |      2|         3|  1|  2|
    +-------+----------+---+---+
    <BLANKLINE>
    """
    return _predict(BALANCE.name, strategy, topics, kafka_version)


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


def partitions_long(assignments: DataFrame) -> DataFrame:
    """From assignments to long rows: cluster, group_id, strategy, member_id, topic, partition."""
    keys = ("cluster", "group_id", "strategy", "member_id")
    return assignments.select(*keys, F.inline("partitions"))


def _predict(output: str, strategy: str, topics: DataFrame, kafka_version: str) -> Transformation:
    check_choice("strategy", strategy, [*ASSIGNORS, ELECTED])
    metadata = TopicMetadata.of(usable(fit_topics(topics)))
    predict = Prediction((output,), rules_of(kafka_version), (strategy,), metadata)
    return lambda members: predict(usable(fit(members, MEMBERS)))
