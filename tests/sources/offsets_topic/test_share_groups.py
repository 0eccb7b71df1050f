"""Share groups (KIP-932) of the records in which their coordinator stores them, and what is predicted of them."""

import pytest
from pyspark.sql import DataFrame, SparkSession

from rebalance_sim.api.groups import assign
from rebalance_sim.kafka.wire.offsets_topic import RecordType
from rebalance_sim.sources.offsets_topic.fleet import OffsetsTopic, read_offsets_topic
from rebalance_sim.tables import TOPICS
from tests.support.offsets_records import CLICKS, GONE, ORDERS, share_current, share_member, share_target, tombstone
from tests.support.rows import given_rows, table

RECORDS = "key binary, value binary, partition int, offset bigint"
WRITTEN = [
    (tombstone(RecordType.SHARE_GROUP_METADATA, "queue")[0], b"\0\0"),
    (tombstone(RecordType.SHARE_GROUP_METADATA, "left")[0], b"\0\0"),
    share_member("s1", "orders", "clicks"),
    share_member("s2", "orders", "clicks"),
    share_member("s3", "orders", "clicks"),
    tombstone(RecordType.SHARE_GROUP_MEMBER_METADATA, "queue", "s3"),
    share_member("s4", "orders", "clicks"),
    share_target("s1", {ORDERS: [2, 0], CLICKS: [1]}),
    share_target("s2", {GONE: [7], ORDERS: [1]}),
    share_current("s1", {ORDERS: [0]}),
]


@pytest.fixture(scope="module")
def known(spark: SparkSession) -> DataFrame:
    rows = [("orders", 3, ORDERS), ("clicks", 2, CLICKS)]
    return table(spark, TOPICS, [{"topic": t, "partitions": n, "topic_id": i} for t, n, i in rows])


@pytest.fixture(scope="module")
def read(spark: SparkSession, known: DataFrame) -> OffsetsTopic:
    records = [(key, value, 0, offset) for offset, (key, value) in enumerate(WRITTEN)]
    return read_offsets_topic(given_rows(spark, records, RECORDS), topics=known)


def test_members_have_their_target_in_the_order_of_its_record(read: OffsetsTopic) -> None:
    rows = {row["member_id"]: row for row in read.members.collect()}
    assert rows.keys() == {"s1", "s2", "s4"}
    shown = ("group_id", "client_id", "host", "rack", "protocol_type", "protocols", "subscription", "join_order")
    found = [rows["s1"][name] for name in shown]
    assert found == [*("queue", "c", "/h", "r1", "share"), *(["share-simple"], ["orders", "clicks"], None)]
    owned = {name: [(each["topic"], each["partition"]) for each in row["owned"]] for name, row in rows.items()}
    assert owned == {"s1": [("orders", 2), ("orders", 0), ("clicks", 1)], "s2": [("orders", 1)], "s4": []}
    assert {name: row["generation"] for name, row in rows.items()} == {"s1": 5, "s2": None, "s4": None}


def test_groups_are_listed_and_a_topic_without_a_name_is_rejected(read: OffsetsTopic) -> None:
    found = {tuple(row) for row in read.listed_groups.select("group_id", "type").collect()}
    assert found == {("queue", "share"), ("left", "share")}
    (reject,) = read.rejects.collect()
    assert (reject["table"], reject["group_id"]) == ("assigned_partitions", "queue")
    assert reject["reason"] == f"topic id {GONE} has no name; --topics with a topic_id gives it one"
    assert read.assumptions[:2] == [
        "join order is unknown for 3 members in 1 group of share groups: that of their ids is used, and predicted ties "
        "may differ. All partitions of their topics are taken to have share state",
        "1 group (left) of type share or streams: no assignment is predicted for them",
    ]
    assert read.records["share group member metadata"] == {"used": 3, "tombstone": 1, "superseded": 1}


def test_the_next_target_is_predicted(read: OffsetsTopic, known: DataFrame) -> None:
    """The member that has joined gets the partitions that nobody has; the others keep theirs."""
    rows = read.members.transform(assign("elected", known)).collect()
    has = {row["member_id"]: {(each["topic"], each["partition"]) for each in row["partitions"]} for row in rows}
    found = sorted(partition for partitions in has.values() for partition in partitions)
    assert found == [*(("clicks", 0), ("clicks", 1)), *(("orders", 0), ("orders", 1), ("orders", 2))]
    assert max(map(len, has.values())) <= 2
    assert ("orders", 1) in has["s2"]
