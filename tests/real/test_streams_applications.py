"""A classic application of Kafka Streams: read from __consumer_offsets, and predicted as a process joins."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from rebalance_sim.api.streams import assign_streams
from rebalance_sim.sources.streams.stored_applications import read_applications
from rebalance_sim.tables import SUBTOPOLOGIES, TOPICS
from tests.real.conftest import VERSIONS, running
from tests.support.cluster.broker import Broker
from tests.support.cluster.capture import until
from tests.support.cluster.live_set_ups import OFFSETS_RECORD
from tests.support.cluster.programs import streams_application
from tests.support.cluster.topic_reader import read_topic
from tests.support.rows import table

pytestmark = pytest.mark.cluster

APPLICATION, TOPIC, PARTITIONS = "counts", "orders", 7
REPARTITION, CHANGELOG = f"{APPLICATION}-by-value-repartition", "-changelog"
RECORDS = 120_000
"""More than acceptable.recovery.lag, 10,000, in each partition of the changelog topic."""
Tasks = dict[tuple[str, str], frozenset[tuple[str, int]]]
"""By member and role."""


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with running(VERSIONS[0], tmp_path_factory.mktemp("applications")) as started:
        admin = AdminClient({"bootstrap.servers": started.bootstrap_servers, "log_level": 0})
        admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result()
        producer = Producer({"bootstrap.servers": started.bootstrap_servers, "queue.buffering.max.messages": RECORDS})
        for number in range(RECORDS):
            producer.produce(TOPIC, value=str(number))
        producer.flush()
        yield started


class Stored(NamedTuple):
    """What the coordinator's record has of the application."""

    members: DataFrame
    tasks: Tasks


def stored(spark: SparkSession, broker: Broker) -> Stored:
    messages = read_topic(broker.bootstrap_servers, "__consumer_offsets")
    records = [(each.key(), each.value(), each.partition(), each.offset()) for each in messages]
    members, rejects = read_applications(spark.createDataFrame(records, OFFSETS_RECORD), "default")
    assert rejects.isEmpty()
    rows = members.collect()
    listed = [(row["member_id"], role, row[role] or ()) for row in rows for role in ("active", "standby")]
    return Stored(members, {(member, role): frozenset(map(tuple, of)) for member, role, of in listed})


def settled(spark: SparkSession, broker: Broker, processes: int) -> Stored:
    """Wait until the application has this many processes, which have all tasks and keep them."""
    seen: list[Stored] = []

    def has_settled() -> bool:
        seen.append(stored(spark, broker))
        members = {member for member, _ in seen[-1].tasks}
        active = [task for (_, role), tasks in seen[-1].tasks.items() if role == "active" for task in tasks]
        is_complete = len(members) == processes and len(active) == 2 * PARTITIONS
        return is_complete and len(seen) > 1 and seen[-2].tasks == seen[-1].tasks

    until(f"the application has {processes} processes", has_settled)
    return seen[-1]


def wait_for_state(broker: Broker) -> None:
    """Wait until the changelog topic has all records."""
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "watch"})

    def has_all() -> bool:
        topics = consumer.list_topics(timeout=10).topics
        changelogs = [name for name in topics if name.startswith(APPLICATION) and name.endswith(CHANGELOG)]
        ends = [
            consumer.get_watermark_offsets(TopicPartition(name, partition), timeout=10)[1]
            for name in changelogs
            for partition in range(PARTITIONS)
        ]
        return sum(ends) >= RECORDS

    until("the changelog topic has all records", has_all)
    consumer.close()


def predicted(spark: SparkSession, broker: Broker, before: Stored, after: Stored) -> Tasks:
    """Return the tasks of the members that the application has afterwards, from what they had before."""
    had = before.members.select("member_id", "active", "standby")
    joined = after.members.drop("active", "standby").join(had, "member_id", "left")
    parts = [
        {"group_id": APPLICATION, "subtopology": str(number), "topics": [topic], "stateful": number == 1}
        for number, topic in enumerate((TOPIC, REPARTITION))
    ]
    topics = table(spark, TOPICS, [{"topic": name, "partitions": PARTITIONS} for name in (TOPIC, REPARTITION)])
    run = assign_streams(joined, table(spark, SUBTOPOLOGIES, parts), topics, kafka_version=broker.version)
    assert [row["error"] for row in run.streams_balance.collect()] == [None]
    tasks = F.collect_set(F.struct("subtopology", "partition"))
    rows = run.streams_tasks.groupBy("member_id", "role").agg(tasks).collect()
    run.unpersist()
    return {(member, role): frozenset(map(tuple, tasks)) for member, role, tasks in rows}


def test_tasks_are_as_predicted_when_a_process_joins(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    """Two processes have fourteen tasks, half of them with a store. A third joins.

    When a process leaves, it matters how far warm-up tasks have come, which no record has. So that is not compared.
    """
    with ExitStack() as stack:

        def start(name: str) -> None:
            folder = tmp_path / name
            folder.mkdir()
            stack.enter_context(streams_application(broker, APPLICATION, TOPIC, folder, "classic"))

        start("first")
        settled(spark, broker, 1)
        # Tasks that moved before would leave state on the disk of the first process, of which no record has the end.
        wait_for_state(broker)
        start("second")
        before = settled(spark, broker, 2)
        start("third")
        after = settled(spark, broker, 3)
        actual = {key: tasks for key, tasks in after.tasks.items() if tasks}
        assert actual == predicted(spark, broker, before, after)
