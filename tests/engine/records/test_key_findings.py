"""Findings about keys."""

import zlib
from collections import Counter

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from rebalance_sim.engine.records.key_findings import key_findings
from rebalance_sim.engine.records.partition_load import partition_load
from rebalance_sim.engine.records.record_partitions import fit_records, fixed_partitions
from rebalance_sim.engine.tables.inputs import usable
from rebalance_sim.kafka.partitioners.clients import CLIENTS
from rebalance_sim.tables import KEY_FINDINGS
from tests.support.keys import partition_of
from tests.support.rows import contents, record, records, topics

SIZES = {"fine": 2, "empty": 3, "null": 3, "ignored": 3, "dominant": 4, "few": 12, "two": 2, "explicit": 2}


def java(key: bytes, partitions: int) -> int:
    partition = partition_of("java-3.3", key, partitions)
    assert partition is not None
    return partition


def keys_in(partition: int, partitions: int, count: int) -> list[bytes]:
    """Return keys that Java sends to a partition."""
    found = (f"k{i}".encode() for i in range(1000))
    return [key for key in found if java(key, partitions) == partition][:count]


def given(spark: SparkSession) -> DataFrame:
    rows = [record(key, "fine") for partition in (0, 1) for key in keys_in(partition, 2, 5)]
    every = [key for partition in range(3) for key in keys_in(partition, 3, 4)]
    rows += [record(key, "empty", client=client) for client in ("java-3.3", "librdkafka") for key in (*every, b"", b"")]
    rows += [record(None, "null", client=client) for client in ("java-3.3", "librdkafka-murmur2")]
    rows += [record(key, "ignored", client="kafka-go") for key in (b"", b"k", b"k", None)]
    rows += [record(key, "dominant") for partition in range(4) for key in keys_in(partition, 4, 3)]
    rows += [record(keys_in(1, 4, 1)[0], "dominant")] * 9 + [record(keys_in(2, 4, 1)[0], "dominant")] * 6
    rows += [record(f"k{i % 5}".encode(), "few") for i in range(10)]
    rows += [record(key, "two", client="librdkafka") for key in (b"", b"k")]
    rows += [record(b"", "explicit", explicit_partition=0), record(b"k", "explicit", explicit_partition=0)]
    return records(spark, *rows)


def findings(spark: SparkSession, rows: DataFrame) -> DataFrame:
    among = topics(spark, **SIZES)
    clients = [CLIENTS[name] for name in ("java-3.3", "librdkafka", "librdkafka-murmur2", "kafka-go")]
    placed = usable(fit_records(rows, among)).transform(fixed_partitions(clients))
    return placed.transform(key_findings(placed.transform(partition_load(among))))


@pytest.fixture(scope="module")
def found(spark: SparkSession) -> DataFrame:
    return findings(spark, given(spark).coalesce(1)).localCheckpoint()


@pytest.mark.scale
def test_findings_by_hand(found: DataFrame) -> None:
    """Records with an explicit partition cause no findings."""
    assert [(field.name, field.dataType) for field in found.schema] == [
        (field.name, field.dataType) for field in KEY_FINDINGS.schema
    ]
    rows: dict[tuple[str, str, str], Row] = {
        (row["topic"], row["client"], row["finding"]): row for row in found.collect()
    }
    of_empty = java(b"", 3)
    few = Counter(java(f"k{i}".encode(), 12) for i in range(5))
    idle, (with_one,) = 12 - len(few), [partition for partition, keys in few.items() if keys == 1]
    assert {" ".join(which): row["description"] for which, row in rows.items()} == {
        "empty java-3.3 empty_keys": f"2 records have an empty key: java-3.3 hashes them all to partition {of_empty}",
        "empty librdkafka empty_keys": "2 records have an empty key: librdkafka treats it as no key",
        "null librdkafka-murmur2 null_keys_hashed": (
            f"1 record has no key: librdkafka-murmur2 hashes it to partition {of_empty}"
        ),
        "ignored kafka-go empty_keys": "1 record has an empty key: kafka-go treats it as no key",
        "ignored kafka-go keys_ignored": "kafka-go ignores keys, but 3 records have one",
        "dominant java-3.3 dominant_key": (
            "a single key has 10 of the 12 records in partition 1; 2 partitions have such a key"
        ),
        "few java-3.3 dominant_key": f"a single key has 2 of the 2 records in partition {with_one}",
        "two librdkafka empty_keys": "1 record has an empty key: librdkafka treats it as no key",
        "two librdkafka dominant_key": f"a single key has 1 of the 1 records in partition {zlib.crc32(b'k') % 2}",
        "two librdkafka idle_partitions": "1 of 2 partitions gets no records; the topic has 1 distinct key",
        "few java-3.3 idle_partitions": f"{idle} of 12 partitions get no records; the topic has 5 distinct keys",
    }
    empty = rows["empty", "java-3.3", "empty_keys"]
    assert (empty["records"], empty["share"], empty["partition"], empty["key"]) == (2, 2 / 14, of_empty, None)
    assert rows["empty", "librdkafka", "empty_keys"]["partition"] is None
    dominant = rows["dominant", "java-3.3", "dominant_key"]
    assert (dominant["partition"], dominant["partitions"], dominant["records"]) == (1, 2, 10)
    assert (bytes(dominant["key"]), dominant["share"]) == (keys_in(1, 4, 1)[0], 10 / 12)
    assert rows["few", "java-3.3", "idle_partitions"]["partitions"] == idle


@pytest.mark.scale
def test_the_way_rows_lie_changes_nothing(spark: SparkSession, found: DataFrame) -> None:
    again = findings(spark, given(spark).orderBy(F.xxhash64("key", "topic")).repartition(3))
    assert contents(again) == contents(found)
