"""What moves when topics get other numbers of partitions."""

from collections import Counter
from typing import Any, NamedTuple

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from rebalance_sim.engine.records.partition_growth import (
    grown_keys,
    grown_topics,
    moved_keys,
    partition_growth,
    partition_load_after,
)
from rebalance_sim.engine.records.partition_load import partition_load
from rebalance_sim.engine.records.record_keys import record_keys
from rebalance_sim.engine.records.record_partitions import fit_records, fixed_partitions
from rebalance_sim.engine.tables.inputs import usable
from rebalance_sim.kafka.partitioners.clients import CLIENTS
from rebalance_sim.tables import MOVED_KEYS, PARTITION_GROWTH, PARTITION_LOAD_AFTER, RECORDS
from tests.support.keys import partition_of
from tests.support.rows import contents, record, records, topics

pytestmark = pytest.mark.scale

BEFORE = {"by_hand": 4, "stays": 3, "fewer": 3, "clients": 3, "ten": 10, "twelve": 12, "eight": 8}
AFTER = {"by_hand": 7, "fewer": 2, "clients": 5, "ten": 20, "twelve": 18, "eight": 9, "unknown": 9}
KEYS = [b"a", b"b", b"c", b"d", b"", b"\xff\xfe", b"TT0124"]
COUNTED = {key: i + 1 for i, key in enumerate(KEYS)}
"""Every key has as many records as its place in the list, of 10 bytes and the key."""
CLIENTS_KEYS = [None, None, b"", *(f"k{i}".encode() for i in range(30))]
CLIENTS_TRIED = ("librdkafka-consistent", "librdkafka", "sarama", "kafka-go")
MANY = ("ten", "twelve", "eight")


def given(spark: SparkSession) -> DataFrame:
    rows = [record(key, "by_hand") for key, count in COUNTED.items() for _ in range(count)]
    rows += [record(None, "by_hand")] * 50 + [record(None, "by_hand", explicit_partition=1)]
    rows += [record(b"a", "by_hand", explicit_partition=2)] * 3
    rows += [record(f"k{i}".encode(), "stays") for i in range(20)]
    rows += [record(b"k", "fewer", explicit_partition=2), record(b"k", "fewer", explicit_partition=0)]
    rows += [record(key, "clients", client=client) for client in CLIENTS_TRIED for key in CLIENTS_KEYS]
    by_hand = usable(fit_records(records(spark, *rows), topics(spark, **BEFORE))).select(*RECORDS.names)
    many = spark.range(20_000).select(
        F.explode(F.array(*map(F.lit, MANY))).alias("topic"),
        F.sha2(F.col("id").cast("string"), 256).cast("binary").alias("key"),
        F.lit("default").alias("cluster"),
        F.lit("java-3.3").alias("client"),
    )
    return by_hand.unionByName(many, allowMissingColumns=True)


class Growth(NamedTuple):
    moves: dict[tuple[str, str], Row]
    """By topic and client."""
    loads: dict[tuple[str, str], list[Row]]
    keys: list[Row]
    """The moved keys of topics with few keys."""


def growth(spark: SparkSession, rows: DataFrame) -> Growth:
    grown = grown_topics(topics(spark, **BEFORE), topics(spark, **AFTER))
    clients = [CLIENTS[name] for name in ("java-3.3", *CLIENTS_TRIED)]
    keys = rows.transform(record_keys).transform(grown_keys(grown, clients)).localCheckpoint()
    moves, loads = keys.transform(partition_growth(grown)), keys.transform(partition_load_after(grown))
    assert moves.columns == PARTITION_GROWTH.names
    assert loads.columns == PARTITION_LOAD_AFTER.names
    by_topic: dict[tuple[str, str], list[Row]] = {}
    for row in sorted(loads.collect(), key=lambda row: row["partition"]):
        by_topic.setdefault((row["topic"], row["client"]), []).append(row)
    moved = keys.transform(moved_keys)
    assert moved.columns == MOVED_KEYS.names
    few = moved.where(~F.col("topic").isin(*MANY)).orderBy("client", "topic", "key").collect()
    return Growth({(row["topic"], row["client"]): row for row in moves.collect()}, by_topic, few)


@pytest.fixture(scope="module")
def found(spark: SparkSession) -> Growth:
    return growth(spark, given(spark))


def java(key: bytes, partitions: int) -> int | None:
    return partition_of("java-3.3", key, partitions)


def test_by_hand(found: Growth) -> None:
    row, loads = found.moves["by_hand", "java-3.3"], found.loads["by_hand", "java-3.3"]
    moving = [key for key in KEYS if java(key, 4) != java(key, 7)]
    assert 0 < len(moving) < len(KEYS)
    total, moved = sum(COUNTED.values()), sum(COUNTED[key] for key in moving)
    assert (row["partitions"], row["partitions_after"], row["records_out_of_range"]) == (4, 7, 0)
    assert (row["keys"], row["keys_moved"], row["keys_moved_share"]) == (7, len(moving), len(moving) / 7)
    assert (row["records"], row["records_moved"], row["records_moved_share"]) == (total, moved, moved / total)
    size = sum(count * (10 + len(key)) for key, count in COUNTED.items())
    assert (row["bytes"], row["bytes_moved"]) == (size, sum(COUNTED[key] * (10 + len(key)) for key in moving))
    assert row["bytes_moved_share"] == row["bytes_moved"] / size

    for n, imbalance in ((4, row["imbalance"]), (7, row["imbalance_after"])):
        by_partition = [sum(c * (10 + len(key)) for key, c in COUNTED.items() if java(key, n) == p) for p in range(n)]
        by_partition[2] += 33
        by_partition[1] += 10
        assert imbalance == pytest.approx(max(by_partition) * n / sum(by_partition))
    assert [load["partition"] for load in loads] == list(range(7))
    assert [load["bytes"] for load in loads] == by_partition
    assert max(load["imbalance"] for load in loads) == row["imbalance_after"]
    (of_a,) = (entry for entry in loads[2]["heaviest_keys"] if entry["key"] == b"a")
    assert of_a["records"] == 3 + (java(b"a", 7) == 2)


def test_the_keys_that_move_are_listed_with_both_partitions(found: Growth) -> None:
    """Not those of records with an explicit partition, which stay."""
    by_hand = {row["key"]: tuple(row)[4:] for row in found.keys if row["topic"] == "by_hand"}
    assert by_hand == {
        key: (count, count * (10 + len(key)), java(key, 4), java(key, 7))
        for key, count in COUNTED.items()
        if java(key, 4) != java(key, 7)
    }
    listed = Counter((row["topic"], row["client"]) for row in found.keys)
    null_keys = {of: sum(row["key"] is None for row in found.keys if row["client"] == of[1]) for of in listed}
    assert {of: listed[of] - null_keys[of] for of in listed} == {of: found.moves[of]["keys_moved"] for of in listed}


def test_a_topic_that_the_new_table_does_not_name_stays(found: Growth) -> None:
    row = found.moves["stays", "java-3.3"]
    assert (row["partitions_after"], row["keys"], row["keys_moved"]) == (3, 20, 0)
    assert row["imbalance"] == row["imbalance_after"]


def test_fewer_partitions(found: Growth) -> None:
    """Kafka has no way to that but a new topic; what asks for a partition that is gone is counted."""
    row = found.moves["fewer", "java-3.3"]
    assert (row["records_out_of_range"], row["keys"], row["keys_moved_share"], row["records"]) == (1, 0, None, 0)
    loads = found.loads["fewer", "java-3.3"]
    assert [(load["partition"], load["records"]) for load in loads] == [(0, 1), (1, 0)]


@pytest.mark.parametrize(
    ("client", "expected"),
    [
        # A null key may be hashed but is none; an empty one need not be hashed.
        ("librdkafka-consistent", {"keys": 31, "records": 33}),
        ("librdkafka", {"keys": 30, "records": 30}),
        ("sarama", {"keys": 31, "records": 31}),
        ("kafka-go", {"keys": 0, "records": 0, "imbalance": None, "imbalance_after": None, "keys_moved_share": None}),
    ],
)
def test_what_each_client_places_by_key(found: Growth, client: str, expected: dict[str, Any]) -> None:
    row = found.moves["clients", client]
    assert {name: row[name] for name in expected} == expected
    assert row["records_moved"] == sum(
        partition_of(client, key, 3) != partition_of(client, key, 5) for key in CLIENTS_KEYS
    )


def test_the_share_of_many_keys_that_move(found: Growth) -> None:
    """By murmur2, of 20,000 keys."""
    shares = {topic: found.moves[topic, "java-3.3"]["keys_moved_share"] for topic in MANY}
    assert shares == pytest.approx({"ten": 0.51, "twelve": 0.67, "eight": 0.89}, abs=0.02)


def test_the_way_rows_lie_changes_nothing(spark: SparkSession, found: Growth) -> None:
    assert growth(spark, given(spark).orderBy(F.xxhash64("topic", "key")).repartition(5)) == found


def test_a_number_for_all_topics(spark: SparkSession) -> None:
    """If it is the one that a topic has, the load is that of its partitions now."""
    before, java_clients = topics(spark, t=5, u=3), [CLIENTS["java-3.3"]]
    assert {tuple(row)[1:] for row in grown_topics(before, 5).collect()} == {("t", 5, 5), ("u", 3, 5)}
    rows = [record(f"k{i % 9}".encode(), explicit_partition=4 if i % 6 == 0 else None) for i in range(60)]
    sent = usable(fit_records(records(spark, *rows), before))
    grown = grown_topics(before, 5)
    now = sent.transform(fixed_partitions(java_clients)).transform(partition_load(before, exact=True))
    keys = sent.transform(record_keys).transform(grown_keys(grown, java_clients))
    assert contents(keys.transform(partition_load_after(grown))) == contents(now)
