"""Members decoded from their JoinGroup metadata."""

import random
from datetime import datetime
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from rebalance_sim import UserError, assign, balance, decode_subscriptions, rejects
from rebalance_sim.kafka.wire.consumer_protocol import (
    NEWEST_VERSION,
    StickyUserData,
    Subscription,
    TopicPartition,
    decode_subscription,
    encode_cooperative_user_data,
    encode_sticky_user_data,
    encode_subscription,
    member_data,
)
from rebalance_sim.kafka.wire.readable import SchemaError
from tests.oracle.protocol_cases import spoilt, write_cases
from tests.support.cases import golden
from tests.support.protocol_bytes import read, subscription_of
from tests.support.rows import contents, given_rows, topics

P0, P1, P2 = (TopicPartition("t", partition) for partition in range(3))
STICKY = encode_sticky_user_data(StickyUserData((P2, P0), 4))
COLUMNS = ("subscription", "owned", "generation", "rack", "metadata_error")
FILLED = ("subscription", "owned", "generation", "user_data", "rack", "metadata_error")


def joined(spark: SparkSession, *values: tuple[str | None, bytes | None]) -> DataFrame:
    """Return members with these protocols and bytes, named by their position."""
    rows = [(i, protocol, data) for i, (protocol, data) in enumerate(values)]
    return given_rows(spark, rows, "place int, protocol string, metadata binary")


def read_by(spark: SparkSession, *values: tuple[str | None, bytes | None], **options: Any) -> list[tuple[Any, ...]]:
    rows = joined(spark, *values).transform(decode_subscriptions(**options)).orderBy("place")
    assert rows.columns == ["place", "protocol", "metadata", *FILLED]
    return [tuple(row[name] for name in COLUMNS) for row in rows.collect()]


def one_by_one(protocol: str | None, data: bytes) -> tuple[Any, ...]:
    """Return the columns of a value, with lists as tuples."""
    try:
        sent = decode_subscription(data)
    except SchemaError as problem:
        return None, None, None, None, str(problem)
    found = member_data(sent, protocol)
    return sent.topics, found.owned, found.generation, sent.rack, found.error


def test_many_are_decoded_as_one_by_one(spark: SparkSession, seed: int) -> None:
    rng = random.Random(seed)
    members = [case["members"][0] for case in write_cases(seed, 100)]
    user_data = (None, None, None, b"", STICKY, encode_cooperative_user_data(5))
    sent = [encode_subscription(subscription_of(of, rng.choice(user_data)), rng.randrange(4)) for of in members * 2]
    sent += [spoilt(rng, data) for data in sent]
    sent += [bytes(rng.choice((0, 0, 0, 1, 255)) for _ in range(rng.randint(0, 30))) for _ in range(200)]
    protocols = (None, "range", "sticky", "cooperative-sticky")
    values = [(rng.choice(protocols), data) for data in sent]
    found = read_by(spark, *values, protocol=F.col("protocol"))
    as_tuples = [tuple(tuple(each) if isinstance(each, list) else each for each in row) for row in found]
    assert as_tuples == [one_by_one(*value) for value in values]


def test_every_version_is_decoded(spark: SparkSession) -> None:
    sent = Subscription(("t", "a"), None, (P1, P0), 3, "r1")
    values = [(None, encode_subscription(sent, version)) for version in range(NEWEST_VERSION + 1)]
    owned = [Row(topic="t", partition=0), Row(topic="t", partition=1)]
    assert read_by(spark, *values) == [
        (["a", "t"], None, None, None, None),
        (["a", "t"], owned, None, None, None),
        (["a", "t"], owned, 3, None, None),
        (["a", "t"], owned, 3, "r1", None),
    ]


def test_the_protocol_decides_where_owned_partitions_are_read(spark: SparkSession) -> None:
    sticky = encode_subscription(Subscription(("t",), STICKY, (P1,), 9))
    cooperative = encode_subscription(Subscription(("t",), encode_cooperative_user_data(5), (P1,)), 1)
    told_last, told_now = [Row(topic="t", partition=2), Row(topic="t", partition=0)], [Row(topic="t", partition=1)]
    values = [("sticky", sticky), ("range", sticky), (None, sticky), ("cooperative-sticky", cooperative)]
    by_row = read_by(spark, *values, protocol=F.col("protocol"))
    assert [row[1:3] for row in by_row] == [(told_last, 4), (told_now, 9), (told_now, 9), (told_now, 5)]
    assert [row[1:3] for row in read_by(spark, *values[:3], protocol="sticky")] == [(told_last, 4)] * 3
    eager = encode_subscription(Subscription(("t",), STICKY, (), 9))
    assert [row[1:3] for row in read_by(spark, (None, eager))] == [(told_last, 4)]


def test_broken_bytes_are_reported_and_no_row_is_dropped(spark: SparkSession) -> None:
    whole = encode_subscription(Subscription(("t",), b"\x00", (), 9))
    rows = read_by(spark, ("sticky", whole[:9]), ("sticky", b""), ("sticky", whole), (None, None), protocol="sticky")
    assert rows == [
        (None, None, None, None, "subscription: user_data: 4 bytes expected at byte 9, 0 are left"),
        (None, None, None, None, "subscription: version: 2 bytes expected at byte 0, 0 are left"),
        (["t"], [], None, None, "sticky user data: previous_assignment: 4 bytes expected at byte 0, 1 are left"),
        (None, None, None, None, None),
    ]


def test_given_values_stay(spark: SparkSession) -> None:
    metadata = encode_subscription(Subscription(("t",), None, (P0,), 3, "r1"))
    given = given_rows(
        spark,
        [
            (metadata, None, [P1], "r2", None, ["u"]),
            (metadata, 7, None, None, "x", None),
            (metadata, 7, [], None, "x", []),
        ],
        "metadata binary, generation int, owned array<struct<topic:string,partition:int>>, rack string, host string, "
        "subscription array<string>",
    )
    filled = given.transform(decode_subscriptions())
    assert filled.columns == [*given.columns, "user_data", "metadata_error"]
    assert [tuple(row)[1:] for row in filled.drop("user_data").collect()] == [
        (None, [Row(topic="t", partition=1)], "r2", None, ["u"], None),
        (7, [Row(topic="t", partition=0)], "r1", "x", ["t"], None),
        (7, [], "r1", "x", [], None),
    ]
    without = given.drop("generation").transform(decode_subscriptions())
    assert [row.generation for row in without.collect()] == [None, 3, None]


def test_user_data_is_decoded(spark: SparkSession) -> None:
    metadata = [encode_subscription(Subscription(("t",), user_data)) for user_data in (b"mine", b"", None)]
    read = joined(spark, *[("by-lag", data) for data in (*metadata, b"", None)]).transform(decode_subscriptions())
    assert [row.user_data for row in read.orderBy("place").collect()] == [b"mine", b"", None, None, None]
    given = given_rows(spark, [(metadata[0], None), (metadata[0], b"given")], "metadata binary, user_data binary")
    assert [row.user_data for row in given.transform(decode_subscriptions()).collect()] == [b"mine", b"given"]


def test_other_columns_are_unchanged(spark: SparkSession) -> None:
    metadata = encode_subscription(Subscription(("t",))).hex()
    given = spark.sql(
        f"SELECT X'{metadata}' `the metadata`, 1 one, TIMESTAMP '2024-01-02 03:04:05' at, map('a', array(1.5BD)) m, "
        "struct('x' AS s, DATE '2024-01-02' AS d) of, true yes, X'00ff' bytes, 'a.b' `c.d`"
    )
    filled = given.transform(decode_subscriptions("the metadata"))
    assert contents(filled.select([F.col(f"`{name}`") for name in given.columns])) == contents(given)
    assert filled.dtypes[: len(given.columns)] == given.dtypes
    assert filled.first()["at"] == datetime(2024, 1, 2, 3, 4, 5)  # type: ignore[index]


def test_mistakes_in_columns_are_named(spark: SparkSession) -> None:
    rows = joined(spark, (None, b""))
    with pytest.raises(UserError, match=r"^column 'bytes' is missing; available: place, protocol, metadata$"):
        decode_subscriptions("bytes")(rows)
    with pytest.raises(UserError, match=r"^column 'protocol' is string, expected binary$"):
        decode_subscriptions("protocol")(rows)
    with pytest.raises(
        UserError, match=r"^column 'owned' is string, expected array<struct<topic:string,partition:int>>"
    ):
        decode_subscriptions()(rows.withColumn("owned", F.lit("t:0")))
    with pytest.raises(UserError, match=r"^column 'metadata_error' already exists; drop or rename it$"):
        decode_subscriptions()(rows.transform(decode_subscriptions()))


def test_bytes_decode_as_in_kafka(spark: SparkSession) -> None:
    """Spark decodes complete and broken bytes as Kafka did."""
    cases = [case for case in golden("cases-read-bytes") if case["rule"] in ("read-sticky", "read-cooperative-sticky")]
    values = [(case["rule"].removeprefix("read-"), bytes.fromhex(case["bytes"])) for case in cases]
    rows = read_by(spark, *values, protocol=F.col("protocol"))
    errors = 0
    for case, (subscription, owned, generation, rack, error) in zip(cases, rows, strict=True):
        expected = read(case)
        if isinstance(expected, str):
            assert (subscription, owned, generation, rack, error) == (None, None, None, None, expected)
            errors += 1
        else:
            assert [list(entry) for entry in owned or ()] == expected["owned"]
            assert (generation, error) == (expected["generation"], expected["error"])
    assert 100 < errors < len(cases) - 100


@pytest.mark.scale
def test_members_from_bytes_are_assigned_and_rejected(spark: SparkSession) -> None:
    first = encode_subscription(Subscription(("t",), STICKY, ()))
    second = encode_subscription(Subscription(("t",), encode_sticky_user_data(StickyUserData((P1,), 4)), ()))
    rows = joined(spark, ("range", first), ("range", second), ("range", b"\x00\x00")).withColumns(
        {
            "group_id": F.lit("g"),
            "member_id": F.concat(F.lit("c"), F.col("place")),
            "protocols": F.array("protocol"),
            "join_order": F.col("place"),
        }
    )
    members, table = rows.transform(decode_subscriptions(protocol="sticky")), topics(spark, t=3)
    assigned = members.transform(assign("range", table)).orderBy("member_id").collect()
    assert [(row.member_id, len(row.partitions)) for row in assigned] == [("c0", 2), ("c1", 1)]
    moved = members.transform(balance("range", table)).first()
    assert moved is not None
    assert (moved.moved, moved.kept) == (2, 1)
    rejected = members.transform(rejects(table)).collect()
    assert [row.reason for row in rejected] == ["subscription is null"]
    assert "subscription: topics: 4 bytes expected at byte 2, 0 are left" in rejected[0].row
