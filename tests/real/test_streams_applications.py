"""Classic applications of Kafka Streams, read from __consumer_offsets: predicted as a process joins or is killed."""

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from rebalance_sim.api.streams import assign_streams
from rebalance_sim.sources.streams.stored_applications import read_applications
from rebalance_sim.tables import TOPICS
from tests.real.conftest import VERSIONS
from tests.support.cluster.broker import Broker, running
from tests.support.cluster.capture import until
from tests.support.cluster.programs import streams_application
from tests.support.cluster.topic_reader import OFFSETS_RECORD, read_rows
from tests.support.rows import table

pytestmark = pytest.mark.cluster

PARTITIONS = 7
RECORDS = 120_000
"""More than acceptable.recovery.lag, 10,000, in each partition of the changelog topic."""
Tasks = dict[tuple[str, str], frozenset[tuple[str, int]]]
"""By member and role."""


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with running(VERSIONS[0], tmp_path_factory.mktemp("applications")) as started:
        yield started


class Application(NamedTuple):
    """An application that counts the records of its topic."""

    name: str
    standby_replicas: int

    @property
    def topic(self) -> str:
        return f"{self.name}-input"

    @property
    def repartition_topic(self) -> str:
        return f"{self.name}-by-value-repartition"


def produce(broker: Broker, topic: str) -> None:
    """Write as many records as make a task without state lack too many."""
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "queue.buffering.max.messages": RECORDS})
    for number in range(RECORDS):
        producer.produce(topic, value=str(number))
    producer.flush()


class Stored(NamedTuple):
    """What the coordinator's record has of an application."""

    members: DataFrame
    subtopologies: DataFrame
    tasks: Tasks


def stored(spark: SparkSession, broker: Broker, application: Application) -> Stored:
    records = read_rows(broker.bootstrap_servers)
    members, parts, rejects = read_applications(spark.createDataFrame(records, OFFSETS_RECORD), "default")
    assert rejects.isEmpty()
    members, parts = (rows.where(F.col("group_id") == application.name) for rows in (members, parts))
    rows = members.collect()
    listed = [(row["member_id"], role, row[role] or ()) for row in rows for role in ("active", "standby")]
    return Stored(members, parts, {(member, role): frozenset(map(tuple, of)) for member, role, of in listed})


def settled(spark: SparkSession, broker: Broker, application: Application, processes: int) -> Stored:
    """Wait until an application has this many processes, which have all tasks and keep them."""
    seen: list[Stored] = []

    def has_settled() -> bool:
        seen.append(stored(spark, broker, application))
        members = {member for member, _ in seen[-1].tasks}
        standbys = 0 if processes == 1 else application.standby_replicas * PARTITIONS
        # Tasks that warm up count as standby tasks, too.
        has_all = count(seen[-1], "active") == 2 * PARTITIONS and count(seen[-1], "standby") >= standbys
        is_complete = len(members) == processes and has_all
        return is_complete and len(seen) > 1 and seen[-2].tasks == seen[-1].tasks

    until(f"the application has {processes} processes", has_settled)
    return seen[-1]


def count(found: Stored, role: str) -> int:
    """Return the number of tasks that processes have in a role."""
    return sum(len(tasks) for (_, its_role), tasks in found.tasks.items() if its_role == role)


def wait_for_state(broker: Broker, application: Application) -> None:
    """Wait until the changelog topic has all records."""
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "watch"})

    def has_all() -> bool:
        topics = consumer.list_topics(timeout=10).topics
        changelogs = [name for name in topics if name.startswith(application.name) and name.endswith("-changelog")]
        ends = [
            consumer.get_watermark_offsets(TopicPartition(name, partition), timeout=10)[1]
            for name in changelogs
            for partition in range(PARTITIONS)
        ]
        return sum(ends) >= RECORDS

    until("the changelog topic has all records", has_all)
    consumer.close()


def lacks_nothing(log: Path) -> bool:
    """Return whether a process said last that all copies of the store are complete."""
    said = [line for line in log.read_text().splitlines() if line.startswith("lacks ")]
    return bool(said) and said[-1] == "lacks 0"


def predicted(spark: SparkSession, broker: Broker, application: Application, before: Stored, after: Stored) -> Tasks:
    """Return the tasks of the members that an application has afterwards, from what they had before."""
    had = before.members.select("member_id", "active", "standby")
    remaining = after.members.drop("active", "standby").join(had, "member_id", "left")
    read = (application.topic, application.repartition_topic)
    columns = ("subtopology", "topics", "stateful", "standby_replicas", "inferred")
    assert sorted(map(tuple, before.subtopologies.select(*columns).collect())) == [
        (str(number), [topic], number == 1, application.standby_replicas, True) for number, topic in enumerate(read)
    ]
    topics = table(spark, TOPICS, [{"topic": name, "partitions": PARTITIONS} for name in read])
    run = assign_streams(remaining, before.subtopologies, topics, kafka_version=broker.version)
    assert [row["error"] for row in run.streams_balance.collect()] == [None]
    tasks = F.collect_set(F.struct("subtopology", "partition"))
    rows = run.streams_tasks.groupBy("member_id", "role").agg(tasks).collect()
    run.unpersist()
    return {(member, role): frozenset(map(tuple, tasks)) for member, role, tasks in rows}


class Processes:
    """The processes of an application, which end with a stack of contexts."""

    def __init__(self, stack: ExitStack, broker: Broker, application: Application, folder: Path) -> None:
        self._stack, self._broker, self._application, self._folder = stack, broker, application, folder
        self.logs: list[Path] = []

    def start(self) -> subprocess.Popen[bytes]:
        application, folder = self._application, self._folder / str(len(self.logs))
        folder.mkdir()
        self.logs.append(folder / "streams.log")
        more = ("classic", str(application.standby_replicas))
        return self._stack.enter_context(
            streams_application(self._broker, application.name, application.topic, folder, *more)
        )


def wait_for_copies(processes: Processes) -> None:
    """Wait until all copies of the store are complete."""
    until("all copies of the store are complete", lambda: all(map(lacks_nothing, processes.logs)))


def test_tasks_are_as_predicted_when_a_process_joins(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    """Two processes have fourteen tasks, half of them with a store. A third joins.

    When a process leaves, it matters how far warm-up tasks have come, which no record has. So that is not compared.
    """
    application = Application("counts", 0)
    broker.create_topics({application.topic: PARTITIONS})
    produce(broker, application.topic)
    with ExitStack() as stack:
        processes = Processes(stack, broker, application, tmp_path)
        processes.start()
        settled(spark, broker, application, 1)
        # Tasks that moved before would leave state on the disk of the first process, of which no record has the end.
        wait_for_state(broker, application)
        processes.start()
        settled(spark, broker, application, 2)
        # The prediction takes warm-up tasks for complete.
        wait_for_copies(processes)
        before = settled(spark, broker, application, 2)
        processes.start()
        after = settled(spark, broker, application, 3)
        actual = {key: tasks for key, tasks in after.tasks.items() if tasks}
        assert actual == predicted(spark, broker, application, before, after)


def test_tasks_are_as_predicted_when_a_process_with_standbys_is_killed(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    """Three processes have fourteen tasks, and a standby replica of each with a store. They begin without records."""
    application = Application("kept", 1)
    broker.create_topics({application.topic: PARTITIONS})
    with ExitStack() as stack:
        processes = Processes(stack, broker, application, tmp_path)
        killed, *_ = [processes.start() for _ in range(3)]
        settled(spark, broker, application, 3)
        produce(broker, application.topic)
        wait_for_state(broker, application)
        wait_for_copies(processes)
        before = settled(spark, broker, application, 3)
        killed.kill()
        after = settled(spark, broker, application, 2)
        actual = {key: tasks for key, tasks in after.tasks.items() if tasks}
        assert actual == predicted(spark, broker, application, before, after)
