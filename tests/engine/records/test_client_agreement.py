"""Where clients place the same keys differently, and topics whose producers already do."""

from itertools import combinations

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from rebalance_sim.engine.records.client_agreement import client_agreement, conflicting_keys, topics_at_risk
from rebalance_sim.engine.records.record_keys import record_keys
from rebalance_sim.engine.records.record_partitions import fit_records
from rebalance_sim.engine.tables.inputs import usable
from rebalance_sim.kafka.partitioners.clients import CLIENTS
from rebalance_sim.tables import CLIENT_AGREEMENT, CONFLICTING_KEYS, TOPICS_AT_RISK
from tests.support.keys import partition_of
from tests.support.rows import contents, record, records, topics

pytestmark = pytest.mark.scale

NAMES = ("java-3.3", "librdkafka", "sarama", "kafka-python", "kafka-go")
KEYS = [b"TT0124", b"", b"\xff\xfe", *(f"k{i}".encode() for i in range(40))]
SIZES = {"t": 15, "many": 32, "one": 1}
UUID = b"fd7af248-ce5c-46a5-93d7-1c0c9005b99d"


def place(client: str, key: bytes, partitions: int) -> int | None:
    return partition_of(client, key, partitions)


@pytest.fixture(scope="module")
def compared(spark: SparkSession) -> dict[tuple[str, str, str], Row]:
    """Key i has i + 1 records; what has no key, or asks for a partition, does not count."""
    rows = [record(key) for i, key in enumerate(KEYS) for _ in range(i + 1)]
    rows += [record(None)] * 9 + [record(b"explicit", explicit_partition=3)] * 99
    rows += [record(UUID, "many")] * 5 + [record(b"k", "one", client="sarama"), record(b"k", "one")]
    many = spark.range(5000).select(
        F.lit("many").alias("topic"), F.sha2(F.col("id").cast("string"), 256).cast("binary").alias("key")
    )
    among = topics(spark, **SIZES)
    given = records(spark, *rows).unionByName(many, allowMissingColumns=True).fillna("default", ["cluster"])
    keys = usable(fit_records(given, among)).transform(record_keys)
    found = keys.transform(client_agreement(among, [CLIENTS[name] for name in NAMES]))
    assert found.columns == CLIENT_AGREEMENT.names
    return {(row["topic"], row["client"], row["other_client"]): row for row in found.collect()}


def test_every_two_clients_by_hand(compared: dict[tuple[str, str, str], Row]) -> None:
    for one, other in combinations(NAMES, 2):
        row = compared["t", one, other]
        placed = [(place(one, key, 15), place(other, key, 15)) for key in KEYS]
        agreed = [i for i, (a, b) in enumerate(placed) if a == b is not None]
        total = len(KEYS) * (len(KEYS) + 1) // 2
        assert (row["keys"], row["keys_agreed"], row["records"]) == (len(KEYS), len(agreed), total)
        assert row["records_agreed"] == sum(i + 1 for i in agreed)
        assert row["keys_agreed_share"] == len(agreed) / len(KEYS)
        assert row["records_agreed_share"] == row["records_agreed"] / total
        placed_apart = sorted(set(range(len(KEYS))) - set(agreed), reverse=True)[:3]
        assert row["examples"] == [(KEYS[i], i + 1, *placed[i]) for i in placed_apart]


def test_clients_that_hash_alike_and_one_that_does_not_hash(compared: dict[tuple[str, str, str], Row]) -> None:
    for topic in SIZES:
        alike = compared[topic, "java-3.3", "kafka-python"]
        assert (alike["keys_agreed_share"], alike["examples"]) == (1.0, [])
        assert compared[topic, "java-3.3", "kafka-go"]["keys_agreed"] == 0
    assert compared["one", "java-3.3", "sarama"]["keys_agreed_share"] == 1.0
    assert compared["one", "java-3.3", "sarama"]["records"] == 2


def test_java_and_librdkafka_agree_on_one_key_in_as_many_as_there_are_partitions(
    compared: dict[tuple[str, str, str], Row],
) -> None:
    row = compared["many", "java-3.3", "librdkafka"]
    assert row["keys"] == 5001
    assert row["keys_agreed_share"] == pytest.approx(1 / 32, abs=0.01)
    assert row["examples"][0] == (UUID, 5, 26, 23)
    assert (place("java-3.3", b"TT0124", 15), place("librdkafka", b"TT0124", 15)) == (10, 9)


def test_every_key_that_two_clients_place_differently_is_listed(spark: SparkSession) -> None:
    among, names = topics(spark, t=15), ("java-3.3", "librdkafka", "kafka-go")
    sent = records(spark, *[record(key) for key in (*KEYS, *KEYS)], record(b"explicit", explicit_partition=3))
    keys = usable(fit_records(sent, among)).transform(record_keys)
    found = keys.transform(conflicting_keys(among, [CLIENTS[name] for name in names]))
    assert found.columns == CONFLICTING_KEYS.names
    placed = [
        (key, *pair, place(pair[0], key, 15), place(pair[1], key, 15))
        for key in KEYS
        for pair in combinations(names, 2)
    ]
    expected = {(key, one, other): (2, a, b) for key, one, other, a, b in placed if a != b or a is None}
    rows = found.collect()
    assert {(row["key"], row["client"], row["other_client"]): tuple(row)[5:] for row in rows} == expected
    assert len(rows) == len(expected)


RISKY: dict[str, list[tuple[bytes | None, str]]] = {
    "split": [(b"TT0124", "java-3.3"), (b"TT0124", "librdkafka"), (b"TT0124", "librdkafka"), (b"k1", "java-3.3")],
    "not_yet": [(b"TT0124", "java-3.3"), (b"k1", "librdkafka")],
    "alike": [(b"TT0124", "java-3.3"), (b"TT0124", "kafka-python")],
    "alone": [(b"TT0124", "sarama"), (b"TT0124", "sarama")],
    "spread": [(b"TT0124", "kafka-go"), (b"TT0124", "java-3.3")],
    "no_keys": [(None, "kafka-go"), (None, "java-3.3"), (b"TT0124", "java-3.3")],
}


def at_risk(spark: SparkSession) -> DataFrame:
    rows = [record(key, topic, client=client) for topic, sent in RISKY.items() for key, client in sent]
    rows += [record(b"TT0124", "alone", client="java-3.3", explicit_partition=1)]
    among = topics(spark, **dict.fromkeys(RISKY, 15))
    return usable(fit_records(records(spark, *rows), among)).transform(topics_at_risk(among))


def test_topics_whose_writers_place_keys_differently_are_at_risk(spark: SparkSession) -> None:
    """A topic is not at risk if its clients place all keys alike, or if only one of them sends keys."""
    found = at_risk(spark)
    assert found.columns == TOPICS_AT_RISK.names
    by_topic = {row["topic"]: row for row in found.collect()}
    assert by_topic.keys() == {"split", "not_yet", "spread"}
    figures = {
        topic: tuple(row[name] for name in ("keys", "keys_conflicting", "keys_shared", "keys_split", "records_split"))
        for topic, row in by_topic.items()
    }
    k1_conflicts = place("java-3.3", b"k1", 15) != place("librdkafka", b"k1", 15)
    assert figures == {
        "split": (2, 1 + k1_conflicts, 1, 1, 3),
        "not_yet": (2, 1 + k1_conflicts, 0, 0, 0),
        "spread": (1, 1, 1, 1, 2),
    }
    assert by_topic["split"]["clients"] == ["java-3.3", "librdkafka"]
    first = by_topic["split"]["examples"][0]
    assert (first["key"], first["records"]) == (b"TT0124", 3)
    assert first["partitions"] == [("java-3.3", 10), ("librdkafka", 9)]
    assert by_topic["spread"]["examples"][0]["partitions"] == [("java-3.3", 10), ("kafka-go", None)]


def test_the_order_of_rows_changes_nothing(spark: SparkSession) -> None:
    names = [CLIENTS[name] for name in ("java-3.3", "librdkafka")]
    rows = [record(f"k{i % 60}".encode(), client=("java-3.3", "librdkafka")[i % 2]) for i in range(150)]
    given, among = records(spark, *rows), topics(spark, t=4)

    def tables(rows: DataFrame) -> list[list[str]]:
        sent = usable(fit_records(rows, among))
        agreement = sent.transform(record_keys).transform(client_agreement(among, names))
        return [contents(agreement), contents(sent.transform(topics_at_risk(among, names)))]

    first = tables(given.coalesce(1))
    assert tables(given.orderBy(F.xxhash64("key", "client")).repartition(3)) == first
    assert all(first)
