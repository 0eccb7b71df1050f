"""Records by topic: which can be sent, and where those with a partition or a key go."""

from collections.abc import Sequence
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from rebalance_sim.engine.records.key_partitions import partition_of_key
from rebalance_sim.engine.records.record_partitions import clients_of, fit_records, fixed_partitions, sent_by
from rebalance_sim.engine.tables.inputs import rejected, usable
from rebalance_sim.kafka.partitioners.clients import CLIENTS
from rebalance_sim.tables import RECORDS
from tests.support.keys import partition_of
from tests.support.rows import contents, given_rows, record, records, topics

KEYS = [None, b"", b"TT0124", b"caf\xc3\xa9", b"\xff\xfe\x00", b"1468509572224"]
"""Null, empty, text, bytes that are no text, and one that hashes to the smallest number."""
LONG_KEY = bytes(range(256)) * 4096
IN_THE_JVM = ["java-2.4", "librdkafka", "librdkafka-consistent", "librdkafka-murmur2", "kafka-go", "sarama-crc32"]


def placed(given: DataFrame, among: DataFrame, clients: Sequence[str] = ()) -> DataFrame:
    sending = [CLIENTS[name] for name in clients]
    sent = usable(fit_records(given, among)).transform(sent_by(sending))
    return sent.transform(fixed_partitions(sending or tuple(CLIENTS.values())))


@pytest.mark.parametrize("clients", [list(CLIENTS), IN_THE_JVM, ["java-3.3"], ["librdkafka-fnv1a"]])
def test_the_partition_of_a_key(spark: SparkSession, clients: list[str]) -> None:
    """Some by Spark's own expressions, some in Python's workers."""
    sizes = {"wide": 50, "narrow": 3}
    keys = KEYS if len(clients) > 1 else [*KEYS, LONG_KEY]
    given = records(spark, *[record(key, name) for key in keys for name in sizes])
    rows = placed(given, topics(spark, **sizes), clients).select("client", "topic", "key", "partition").collect()
    assert len(rows) == len(clients) * len(keys) * len(sizes)
    for row in rows:
        key = None if row["key"] is None else bytes(row["key"])
        assert row["partition"] == partition_of(row["client"], key, sizes[row["topic"]]), (row["client"], key)


def test_where_spark_has_an_expression(spark: SparkSession) -> None:
    """Keys of the clients that most records come from need not travel to Python."""
    rows = given_rows(spark, [("java-3.3", bytearray(1), 7)], "client string, key binary, partitions int")

    def travels(*names: str) -> bool:
        planned = rows.select(partition_of_key([CLIENTS[name] for name in names]))
        return "ArrowEvalPython" in planned._jdf.queryExecution().executedPlan().toString()

    assert not travels(*IN_THE_JVM)
    assert travels("java-3.3", "sarama")


def test_an_explicit_partition_wins(spark: SparkSession) -> None:
    given = records(spark, record(b"TT0124", explicit_partition=3), record(None, explicit_partition=0), record(None))
    rows = placed(given, topics(spark, t=15)).collect()
    assert {(row["explicit_partition"], row["partition"]) for row in rows} == {(3, 3), (0, 0), (None, None)}


def test_each_record_goes_by_the_rules_of_its_own_client(spark: SparkSession) -> None:
    given = records(spark, *[record(b"TT0124", client=client) for client in (None, "librdkafka", "sarama")])
    rows = placed(given, topics(spark, t=15)).collect()
    found = {(row["client"], row["partition"]) for row in rows}
    assert found == {("java-3.3", 10), ("librdkafka", 9), ("sarama", partition_of("sarama", b"TT0124", 15))}
    shown = [client.name for client in clients_of(fit_records(given, topics(spark, t=15)))]
    assert shown == ["java-3.3", "librdkafka", "sarama"]


REASONS: list[tuple[dict[str, Any], str]] = [
    ({"topic": "nowhere"}, "topic 'nowhere' is not in the topics table"),
    ({"topic": "t", "cluster": "other"}, "topic 't' is not in the topics table"),
    ({"topic": "empty"}, "topic 'empty' has no partitions"),
    ({"topic": None}, "topic is null or empty"),
    ({"explicit_partition": 15}, "explicit_partition is 15; allowed: 0 to 14"),
    ({"explicit_partition": -1}, "explicit_partition is -1; allowed: 0 to 14"),
    ({"value_bytes": -1}, "value_bytes is -1; allowed: 0 or more"),
    ({"client": "jvaa"}, f"client 'jvaa' is not known; allowed: {', '.join(CLIENTS)}"),
]


def test_a_record_that_cannot_be_sent(spark: SparkSession) -> None:
    given = records(spark, record(b"good"), *(record(b"bad") | broken for broken, _ in REASONS))
    fitted = fit_records(given, topics(spark, t=15, empty=0))
    assert [bytes(row["key"]) for row in usable(fitted).collect()] == [b"good"]
    reasons = sorted(row["reason"] for row in rejected(fitted, RECORDS).collect())
    assert reasons == sorted(reason for _, reason in REASONS)


def test_keys_in_text(spark: SparkSession) -> None:
    """As JSON and CSV have them; of the columns only the topic must be there."""
    given = spark.sql("SELECT * FROM VALUES ('t', 'TT0124'), ('t', '') AS r(topic, key)")
    rows = placed(given, topics(spark, t=15)).select("key", "partition", "producer_id", "cluster").collect()
    found = sorted(map(tuple, rows))
    assert found == [(bytearray(), 6, "default", "default"), (bytearray(b"TT0124"), 10, "default", "default")]


@pytest.mark.parametrize("clients", [[], ["java-3.3"], ["sarama", "librdkafka"]])
def test_the_way_rows_lie_changes_nothing(spark: SparkSession, clients: list[str]) -> None:
    given = spark.range(500).select(
        F.lit("t").alias("topic"),
        F.when(F.col("id") % 7 > 0, (F.col("id") % 90).cast("string")).alias("key"),
        F.col("id").alias("seq"),
    )
    among = topics(spark, t=12)
    first = contents(placed(given.coalesce(1), among, clients))
    assert contents(placed(given.orderBy(F.xxhash64("seq")).repartition(7), among, clients)) == first
    assert len(first) == 500 * max(len(clients), 1)
