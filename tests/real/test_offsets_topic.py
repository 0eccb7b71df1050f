"""__consumer_offsets of real brokers, read with Spark's source for Kafka; no password is printed."""

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AclOperation, AdminClient, NewTopic, ResourceType
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tests.real.conftest import ALICE, VERSIONS, alices_properties, allow
from tests.real.test_topic_records import run_job
from tests.support.cluster.broker import Broker

pytestmark = pytest.mark.cluster

SECONDS = 60
TOPIC = "decoded"
"""The topic of these tests. The broker is shared with other tests, whose groups are ignored."""


@pytest.fixture(scope="module")
def assigned(live_broker: Broker) -> Iterator[dict[tuple[str, str], list[int]]]:
    """Start two classic members and, since 4.0, one of a consumer-protocol group; return their partitions."""
    servers = live_broker.bootstrap_servers
    admin = AdminClient({"bootstrap.servers": servers})
    allow(admin, ResourceType.TOPIC, "*", AclOperation.READ)
    allow(admin, ResourceType.GROUP, "*", AclOperation.READ)
    allow(admin, ResourceType.BROKER, "kafka-cluster")
    admin.create_topics([NewTopic(TOPIC, 4, 1)])[TOPIC].result(SECONDS)
    protocols = {"classic": ("range", 2)} | ({"new": ("consumer", 1)} if live_broker.version.startswith("4") else {})
    consumers: list[tuple[str, Any]] = []
    with ExitStack() as stack:
        for group, (protocol, count) in protocols.items():
            for number in range(count):
                settings = {"bootstrap.servers": servers, "group.id": group, "client.id": f"{group}-{number}"}
                name = "partition.assignment.strategy" if group == "classic" else "group.protocol"
                consumer = Consumer(settings | {name: protocol, "enable.auto.commit": False})
                stack.callback(consumer.close)
                consumer.subscribe([TOPIC])
                consumers.append((group, consumer))
        wanted = {"classic": 2, "new": 4}
        deadline = time.monotonic() + SECONDS
        while any(len(consumer.assignment()) != wanted[group] for group, consumer in consumers):
            assert time.monotonic() < deadline
            for _, consumer in consumers:
                consumer.poll(0.1)
        for _, consumer in consumers:
            consumer.commit(
                offsets=[TopicPartition(TOPIC, each.partition, 7) for each in consumer.assignment()], asynchronous=False
            )
        yield {
            (group, consumer.memberid()): sorted(each.partition for each in consumer.assignment())
            for group, consumer in consumers
        }


def test_groups_and_offsets_are_read_from_the_topic(
    spark: SparkSession, live_broker: Broker, assigned: dict[tuple[str, str], list[int]], tmp_path: Path
) -> None:
    topics: list[tuple[str, int, str | None]] = [(TOPIC, 4, None)]
    if live_broker.version.startswith("4"):
        described = live_broker.tools("kafka-topics", "--describe", "--topic", TOPIC)
        topics = [(TOPIC, 4, described.split("TopicId: ")[1].split()[0])]
    spark.createDataFrame(topics, "topic string, partitions int, topic_id string").write.parquet(f"{tmp_path}/topics")
    arguments = ["--offsets-topic", f"kafka:{live_broker.sasl_bootstrap_servers}", "--topics", f"{tmp_path}/topics"]
    arguments += ["--command-config", alices_properties(tmp_path), "--out", f"{tmp_path}/out"]
    done = run_job("fleet", arguments)
    assert done.returncode == 0, done.stderr[-3000:]
    assert ALICE["alice"] not in done.stdout + done.stderr
    of_groups = F.col("group_id").isin([group for group, _ in assigned])
    members = spark.read.parquet(f"{tmp_path}/out/members").where(of_groups).collect()
    owned = {(row.group_id, row.member_id): sorted(each.partition for each in row.owned) for row in members}
    assert owned == assigned
    assert {(row.group_id, *row.protocols, *row.subscription) for row in members} <= {
        # The records show the elected protocol alone; of librdkafka, its default is assumed.
        ("classic", "range", "roundrobin", TOPIC),
        ("new", "server-uniform", TOPIC),
    }
    offsets = spark.read.parquet(f"{tmp_path}/out/offsets").where(of_groups).collect()
    assert {(row.group_id, row.topic, row.committed) for row in offsets} == {(g, TOPIC, 7) for g, _ in assigned}
    assert len(offsets) == 4 * len({group for group, _ in assigned})
    record = (tmp_path / "out/_run.json").read_text()
    assert json.loads(record)["rows"]["rejected"] == {"offsets_topic": 0, "members": 0}
    assert ALICE["alice"] not in record


def test_a_copy_grows_with_each_history(
    spark: SparkSession, live_broker: Broker, assigned: dict[tuple[str, str], list[int]], tmp_path: Path
) -> None:
    """The second run adds what was committed since, and reads all that the first one has copied."""
    if live_broker.version != VERSIONS[0]:
        pytest.skip("the copy is the same for every release")
    brokers = f"kafka:{live_broker.sasl_bootstrap_servers}"
    given = ["--offsets-topic", brokers, "--command-config", alices_properties(tmp_path), "--keep", f"{tmp_path}/copy"]
    copied = []
    for out in ("first", "second"):
        done = run_job("history", [*given, "--out", f"{tmp_path}/{out}"])
        assert done.returncode == 0, done.stderr[-3000:]
        assert f" to {tmp_path}/copy\n" in done.stdout
        copied.append(json.loads((tmp_path / out / "_run.json").read_text())["rows"]["copied"])
        late = Consumer({"bootstrap.servers": live_broker.bootstrap_servers, "group.id": f"late-{out}"})
        late.commit(offsets=[TopicPartition(TOPIC, 0, 1)], asynchronous=False)
        late.close()
    copy = spark.read.parquet(f"{tmp_path}/copy")
    assert copy.count() == copy.select("partition", "offset").distinct().count() == sum(copied)
    assert copied[0] > copied[1] > 0
    generations = [spark.read.parquet(f"{tmp_path}/{out}/generations") for out in ("first", "second")]
    of_test = F.col("group_id").isin([group for group, _ in assigned])
    first, second = (sorted(map(str, rows.where(of_test).collect())) for rows in generations)
    assert first == second
    assert {row.group_id for row in generations[0].where(of_test).collect()} == {group for group, _ in assigned}
