"""A streams group (KIP-1071) of a real broker: read from __consumer_offsets, and predicted as processes come and go."""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from rebalance_sim.api.streams import assign_streams
from rebalance_sim.sources.kafka_tools.capture import read_capture
from rebalance_sim.sources.live_cluster.cluster import read_cluster
from rebalance_sim.sources.streams.stored_groups import read_streams_groups
from rebalance_sim.tables import TOPICS
from tests.real.conftest import VERSIONS, running
from tests.support.cluster.broker import Broker
from tests.support.cluster.capture import until
from tests.support.cluster.live_set_ups import OFFSETS_RECORD, share_a_bucket
from tests.support.cluster.programs import streams_application
from tests.support.cluster.topic_reader import read_topic
from tests.support.rows import table

pytestmark = pytest.mark.cluster

APPLICATION, TOPIC, PARTITIONS = "totals", "orders", 7
_MOST_STARTS = 30
_ROLES = ("active", "standby")
Tasks = dict[tuple[str, str], frozenset[tuple[str, int]]]
"""By member and role."""


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with running(VERSIONS[0], tmp_path_factory.mktemp("streams")) as started:
        admin = AdminClient({"bootstrap.servers": started.bootstrap_servers, "log_level": 0})
        admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result()
        options = ["--alter", "--entity-type", "groups", "--entity-name", APPLICATION]
        started.tools("kafka-configs", *options, "--add-config", "streams.num.standby.replicas=1")
        yield started


class Stored(NamedTuple):
    """What the coordinator's records have of the group."""

    members: DataFrame
    subtopologies: DataFrame
    targets: Tasks
    is_reconciled: bool
    """Whether all members have their targets."""


def stored(spark: SparkSession, broker: Broker) -> Stored:
    messages = read_topic(broker.bootstrap_servers, "__consumer_offsets")
    records = [(each.key(), each.value(), each.partition(), each.offset()) for each in messages]
    members, subtopologies, rejects = read_streams_groups(spark.createDataFrame(records, OFFSETS_RECORD), "default")
    assert rejects.isEmpty()
    rows = members.collect()
    targets, current = (
        {(row["member_id"], role): frozenset(map(tuple, row[f"{of}{role}"] or ())) for row in rows for role in _ROLES}
        for of in ("", "current_")
    )
    return Stored(members, subtopologies, targets, targets == current)


def check_description(spark: SparkSession, broker: Broker, before: Stored) -> None:
    """Compare what the coordinator describes with its records, and the ends of changelogs with their topics."""
    read = read_cluster(spark, broker.bootstrap_servers)
    assert read.rejects.isEmpty()
    assert read.streams_members is not None, read.assumptions
    assert read.subtopologies is not None
    names = [
        "group_id",
        "member_id",
        "process_id",
        "client_id",
        "host",
        "active",
        "standby",
        "current_active",
        "current_standby",
    ]
    parts = ["group_id", "subtopology", "topics", "stateful", "standby_replicas", "changelogs"]
    for described, records, columns in (
        (read.streams_members, before.members, names),
        (read.subtopologies, before.subtopologies, parts),
    ):
        assert sorted(map(str, described.select(columns).collect())) == sorted(
            map(str, records.select(columns).collect())
        )
    ends = {row["topic"]: row["end_offsets"] for row in read.topics.collect()}
    changelogs = [topic for row in before.subtopologies.collect() for topic in row["changelogs"]]
    assert changelogs
    assert all(len(ends[topic]) == PARTITIONS and None not in ends[topic] for topic in changelogs)


def predicted(spark: SparkSession, broker: Broker, before: Stored, after: Stored) -> Tasks:
    """Return the target of the members that the group has afterwards, from what they had before."""
    had = before.members.drop("cluster", "group_id", "process_id", "client_id", "host")
    members = after.members.select("cluster", "group_id", "member_id", "process_id").join(had, "member_id", "left")
    repartition = f"{APPLICATION}-by-value-repartition"
    topics = table(spark, TOPICS, [{"topic": name, "partitions": PARTITIONS} for name in (TOPIC, repartition)])
    run = assign_streams(members, after.subtopologies, topics, kafka_version=broker.version)
    assert [row["error"] for row in run.streams_balance.collect()] == [None]
    tasks = F.collect_set(F.struct("subtopology", "partition"))
    rows = run.streams_tasks.groupBy("member_id", "role").agg(tasks).collect()
    run.unpersist()
    return {(member, role): frozenset(map(tuple, tasks)) for member, role, tasks in rows}


def check_text(spark: SparkSession, broker: Broker, before: Stored, directory: Path) -> None:
    """Compare what kafka-streams-groups prints with the coordinator's records; hosts are missing."""
    options = ["--describe", "--all-groups", "--members", "--verbose"]
    (directory / "members.txt").write_text(broker.tools("kafka-streams-groups", *options, merge_stderr=True))
    read = read_capture(spark, str(directory))
    assert read.rejects.isEmpty()
    assert read.streams_members is not None, read.assumptions
    roles = ("active", "standby", "current_active", "current_standby")
    names = ("group_id", "member_id", "process_id", "client_id")
    printed, records = (
        rows.select(*names, *(F.array_sort(role).alias(role) for role in roles)).orderBy("member_id").collect()
        for rows in (read.streams_members, before.members)
    )
    assert printed == records


class Processes:
    """The processes of the application, with a thread each, whose random member ids share no bucket.

    In a bucket the join order matters, which no record has.
    """

    def __init__(self, spark: SparkSession, broker: Broker, directory: Path) -> None:
        self._spark, self._broker, self._directory = spark, broker, directory
        self._running: list[ExitStack] = []

    def __enter__(self) -> "Processes":
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._running:
            process.close()

    def join(self) -> tuple[Stored | None, Stored]:
        """Start a process, and another if its member id is in a bucket of others; return the group before and after."""
        before = self.settled() if self._running else None
        for _ in range(_MOST_STARTS):
            folder = Path(tempfile.mkdtemp(dir=self._directory))
            self._running.append(ExitStack())
            self._running[-1].enter_context(streams_application(self._broker, APPLICATION, TOPIC, folder, "streams"))
            after = self.settled()
            if not share_a_bucket({member for member, _ in after.targets}):
                return before, after
            before = self.leave(-1)
        pytest.fail(f"{_MOST_STARTS} random ids share buckets")

    def leave(self, place: int) -> Stored:
        """End a process, and return the group after it."""
        self._running.pop(place).close()
        return self.settled()

    def settled(self) -> Stored:
        """Wait until the group has these processes, with all tasks, and their targets do not change any longer."""
        seen: list[Stored] = []

        def has_settled() -> bool:
            seen.append(stored(self._spark, self._broker))
            members = {member for member, _ in seen[-1].targets}
            active = [task for (_, role), tasks in seen[-1].targets.items() if role == "active" for task in tasks]
            is_complete = len(members) == len(self._running) and len(active) == (2 * PARTITIONS if members else 0)
            is_stable = seen[-1].is_reconciled and len(seen) > 1 and seen[-2].targets == seen[-1].targets
            return is_complete and is_stable

        until(f"the streams group has {len(self._running)} processes", has_settled)
        return seen[-1]


def test_the_target_is_as_predicted_when_processes_come_and_go(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    """Three processes have fourteen tasks, half of them with a store; two join, and one leaves."""
    with Processes(spark, broker, tmp_path) as processes:
        for _ in range(3):
            _, formed = processes.join()
        assert {row["standby_replicas"] for row in formed.subtopologies.collect()} == {1}
        check_description(spark, broker, formed)
        (tmp_path / "text").mkdir()
        check_text(spark, broker, formed, tmp_path / "text")
        steps = [processes.join(), processes.join()]
        steps.append((steps[-1][1], processes.leave(0)))
        for before, after in steps:
            assert before is not None
            actual = {key: tasks for key, tasks in after.targets.items() if tasks}
            assert actual == predicted(spark, broker, before, after)
