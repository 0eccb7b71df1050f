"""What each partition gets, and the keys that it gets most of."""

import random

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from rebalance_sim.engine.records.partition_load import partition_load
from rebalance_sim.tables import PARTITION_LOAD, RECORD_PARTITIONS
from tests.support.rows import contents, given_rows, record, table, topics


def in_partition(partition: int | None, key: bytes | None, count: int = 1, **more: object) -> list[dict[str, object]]:
    return [record(key, client="java-3.3", partition=partition) | more] * count


def record_partitions(spark: SparkSession, *rows: list[dict[str, object]]) -> DataFrame:
    return table(spark, RECORD_PARTITIONS, [row for some in rows for row in some])


@pytest.mark.parametrize("exact", [False, True])
def test_by_hand(spark: SparkSession, exact: bool) -> None:
    """Values have 10 bytes; partitions 1 and 4 get nothing; a record that goes nowhere yet is no load."""
    given = record_partitions(
        spark,
        in_partition(0, b"ab", 3) + in_partition(0, b"c", 1, value_bytes=None) + in_partition(0, None, 1),
        in_partition(2, b"", 2, value_bytes=0),
        in_partition(3, b"\xff\xfe", 2) + in_partition(3, b"zz", 2) + in_partition(3, b"y", 1, value_bytes=31),
        in_partition(None, None, 9),
        in_partition(None, b"k", 9, topic="elsewhere"),
    )
    loads = given.transform(partition_load(topics(spark, t=5, elsewhere=2), exact)).orderBy("partition").collect()
    assert {(row["client"], row["cluster"], row["topic"]) for row in loads} == {("java-3.3", "default", "t")}
    found = [(row["partition"], row["records"], row["bytes"]) for row in loads]
    assert found == [(0, 5, 3 * 12 + 1 + 10), (1, 0, 0), (2, 2, 0), (3, 5, 4 * 12 + 32), (4, 0, 0)]
    assert [row["share"] for row in loads] == pytest.approx([47 / 127, 0, 0, 80 / 127, 0])
    assert [row["imbalance"] for row in loads] == pytest.approx([5 * 47 / 127, 0, 0, 400 / 127, 0])
    heaviest = [[(bytes(key), records, size) for key, records, size in row["heaviest_keys"]] for row in loads]
    assert heaviest == [
        [(b"ab", 3, 36), (b"c", 1, 1)],
        [],
        [(b"", 2, 0)],
        [(b"zz", 2, 24), (b"\xff\xfe", 2, 24), (b"y", 1, 32)],
        [],
    ]


def test_a_topic_without_bytes_has_shares_of_records(spark: SparkSession) -> None:
    given = record_partitions(spark, in_partition(0, None, 3, value_bytes=None), in_partition(2, b"", 1, value_bytes=0))
    loads = given.transform(partition_load(topics(spark, t=3))).orderBy("partition").collect()
    assert [(row["share"], row["imbalance"]) for row in loads] == [(0.75, 2.25), (0.0, 0.0), (0.25, 0.75)]


def test_clients_are_counted_apart(spark: SparkSession) -> None:
    given = record_partitions(spark, in_partition(0, b"a", 2), in_partition(1, b"a", 1, client="sarama"))
    loads = given.transform(partition_load(topics(spark, t=2))).orderBy("client", "partition").collect()
    found = [(row["client"], row["records"], row["share"]) for row in loads]
    assert found == [("java-3.3", 2, 1.0), ("java-3.3", 0, 0.0), ("sarama", 0, 0.0), ("sarama", 1, 1.0)]


def zipf(spark: SparkSession, rows: int, keys: int) -> DataFrame:
    """Records of ever rarer keys over 3 partitions."""
    draw = random.Random(7)
    weights = [1 / (rank + 1) for rank in range(keys)]
    drawn = [(i, key) for i, key in enumerate(draw.choices(range(keys), weights, k=rows))]
    return given_rows(spark, drawn, "seq long, id int").select(
        F.lit("java-3.3").alias("client"),
        F.lit("default").alias("cluster"),
        F.lit("t").alias("topic"),
        F.concat(F.lit("key-"), F.col("id")).cast("binary").alias("key"),
        (F.col("id") % 5 * 100).alias("value_bytes"),
        (F.col("id") % 3).alias("partition"),
        "seq",
    )


@pytest.mark.scale
def test_the_sketch_finds_what_an_exact_count_does(spark: SparkSession) -> None:
    """Of thousands of keys, several to a bucket, whose heaviest stand out."""
    given = zipf(spark, 20_000, 12_000).cache()
    among = topics(spark, t=3)
    sketched, exact = (contents(given.transform(partition_load(among, exact))) for exact in (False, True))
    assert sketched == exact
    assert given.select("key").distinct().count() > 4096
    again = given.orderBy(F.xxhash64("seq")).repartition(5).transform(partition_load(among))
    assert contents(again) == sketched
    given.unpersist()


def test_the_columns(spark: SparkSession) -> None:
    given = record_partitions(spark, in_partition(0, b"a"))
    schema = given.transform(partition_load(topics(spark, t=1))).schema
    assert [(field.name, field.dataType) for field in schema] == [(f.name, f.dataType) for f in PARTITION_LOAD.schema]
