"""A streams group (KIP-1071) of a real broker: read from __consumer_offsets, and predicted as processes come and go."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest
from confluent_kafka import Message
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from rebalance_sim.api.streams import assign_streams, simulate_streams
from rebalance_sim.kafka.coordinator.streams.streams_group import Tasks
from rebalance_sim.kafka.coordinator.streams.topology import Subtopology, Topology
from rebalance_sim.kafka.simulation.group_events import GroupEvent
from rebalance_sim.kafka.simulation.model import ScenarioKind
from rebalance_sim.kafka.simulation.scenario import Scenario, ScenarioStep, Selection
from rebalance_sim.kafka.simulation.settings import SimulationSettings
from rebalance_sim.kafka.simulation.streams_rollouts import StreamsSetUp, StreamsThread, simulate_streams_group
from rebalance_sim.kafka.wire.offsets_topic import RecordType, decode_key, decode_value
from rebalance_sim.kafka.wire.streams_records import StreamsGroupCurrentMemberAssignment, StreamsGroupMetadata
from rebalance_sim.releases import kafka_version
from rebalance_sim.sources.kafka_tools.capture import read_capture
from rebalance_sim.sources.live_cluster.cluster import read_cluster
from rebalance_sim.sources.streams.stored_groups import read_streams_groups
from rebalance_sim.tables import TOPICS
from tests.real.conftest import VERSIONS
from tests.support.cluster.broker import Broker, running
from tests.support.cluster.capture import until
from tests.support.cluster.live_set_ups import share_a_bucket
from tests.support.cluster.programs import streams_application
from tests.support.cluster.topic_reader import OFFSETS_RECORD, OFFSETS_TOPIC, read_topic, rows_of
from tests.support.rows import table

pytestmark = pytest.mark.cluster

APPLICATION, TOPIC, PARTITIONS = "totals", "orders", 7
ROLLED_OUT = "rollouts"
"""Another application, whose rollouts are timed."""
STATIC_SINCE = "4.4.0"
"""The release since which members may be static."""
SEEDS, SLACK_MS = 200, 500
_MOST_STARTS = 30
_ROLES = ("active", "standby")
Task = tuple[str, int]
Targets = dict[tuple[str, str], frozenset[tuple[str, int]]]
"""By member and role."""


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with running(VERSIONS[0], tmp_path_factory.mktemp("streams")) as started:
        started.create_topics({TOPIC: PARTITIONS})
        for name in (APPLICATION, ROLLED_OUT):
            options = ["--alter", "--entity-type", "groups", "--entity-name", name]
            started.tools("kafka-configs", *options, "--add-config", "streams.num.standby.replicas=1")
        yield started


class Stored(NamedTuple):
    """What the coordinator's records have of the group."""

    members: DataFrame
    subtopologies: DataFrame
    targets: Targets
    is_reconciled: bool
    """Whether all members have their targets."""


def records_of(broker: Broker, application: str) -> list[Message]:
    """Return the records of an application's group."""
    messages = read_topic(broker.bootstrap_servers, OFFSETS_TOPIC)
    return [each for each in messages if application.encode() in (each.key() or b"")]


def stored(spark: SparkSession, broker: Broker, application: str) -> Stored:
    records = rows_of(records_of(broker, application))
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
        "instance_id",
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


def predicted(spark: SparkSession, broker: Broker, before: Stored, after: Stored) -> Targets:
    """Return the target of the members that the group has afterwards, from what they had before."""
    had = before.members.drop("cluster", "group_id", "process_id", "instance_id", "client_id", "host")
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
    """The processes of an application, with a thread each, whose random member ids share no bucket.

    In a bucket the join order matters, which no record has.
    """

    def __init__(self, spark: SparkSession, broker: Broker, directory: Path, application: str) -> None:
        self._spark, self._broker, self._directory, self._application = spark, broker, directory, application
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
            after = self.start()
            if not share_a_bucket({member for member, _ in after.targets}):
                return before, after
            before = self.leave(-1)
        pytest.fail(f"{_MOST_STARTS} random ids share buckets")

    def start(self) -> Stored:
        """Start a process, and return the group after it."""
        self._run(Path(tempfile.mkdtemp(dir=self._directory)))
        return self.settled()

    def start_static(self, instance: str) -> Stored:
        """Start a process whose only thread is static, and return the group after it."""
        folder = self._directory / instance
        folder.mkdir()
        self._run(folder, "0", instance)
        return self.settled()

    def restart_static(self, instance: str) -> Stored:
        """End the process that was started last, start it again, and return the group once it is back."""
        before = {member for member, _ in self.settled().targets}
        self._running.pop().close()
        self._run(self._directory / instance, "0", instance)
        until(f"{instance} is back", lambda: {member for member, _ in self.settled().targets} != before)
        return self.settled()

    def _run(self, folder: Path, *more: str) -> None:
        self._running.append(ExitStack())
        application = streams_application(self._broker, self._application, TOPIC, folder, "streams", *more)
        process = self._running[-1].enter_context(application)
        # At the end of its input it closes Kafka Streams; a signal would end it without.
        self._running[-1].callback(process.communicate)

    def leave(self, place: int) -> Stored:
        """End a process, and return the group after it."""
        self._running.pop(place).close()
        return self.settled()

    def settled(self) -> Stored:
        """Wait until the group has these processes, with all tasks, and their targets do not change any longer."""
        seen: list[Stored] = []

        def has_settled() -> bool:
            seen.append(stored(self._spark, self._broker, self._application))
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
    with Processes(spark, broker, tmp_path, APPLICATION) as processes:
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


class Replayed(NamedTuple):
    """What the records from one on show."""

    epochs: int
    """How often the epoch rises."""
    unowned: dict[Task, int]
    """By task that was without a member: for how many ms."""
    holders: dict[Task, str]
    """The member of each task at the end."""


def replayed(messages: Sequence[Message], first: int) -> Replayed:
    """Return what the records from ``first`` on show."""
    holders: dict[Task, str] = {}
    lost_ms: dict[Task, int] = {}
    unowned: dict[Task, int] = {}
    epochs = 0
    for number, message in enumerate(messages):
        key, data, at_ms = decode_key(message.key()), message.value(), message.timestamp()[1]
        if key.type not in (RecordType.STREAMS_GROUP_METADATA, RecordType.STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT):
            continue
        value = None if data is None else decode_value(key.type, data)
        if isinstance(value, StreamsGroupMetadata):
            epochs += number >= first
            continue
        assert value is None or isinstance(value, StreamsGroupCurrentMemberAssignment)
        listed = () if value is None else value.active
        active = {(each.subtopology_id, partition) for each in listed for partition in each.partitions}
        for task in [task for task, member in holders.items() if member == key.member_id and task not in active]:
            del holders[task]
            lost_ms[task] = at_ms
        for task in active - holders.keys():
            holders[task] = key.member_id or ""
            if number >= first and task in lost_ms:
                unowned[task] = at_ms - lost_ms[task]
    return Replayed(epochs, unowned, holders)


def check_times(broker: Broker, before: Stored, after: Stored, first: int, event: GroupEvent) -> None:
    """Compare the records since ``first`` with simulations, whose heartbeats come at other times with every seed."""
    targets = {task: member for (member, role), tasks in after.targets.items() if role == "active" for task in tasks}
    seen: list[Replayed] = []

    def is_over() -> bool:
        seen.append(replayed(records_of(broker, ROLLED_OUT), first))
        return seen[-1].holders == targets

    until("all members have their tasks", is_over)
    epochs, unowned, _ = seen[-1]
    names = sorted({member for member, _ in before.targets})
    threads = [
        StreamsThread(name, place, name, Tasks(before.targets[name, "active"], before.targets[name, "standby"]))
        for place, name in enumerate(names)
    ]
    if event.kind is ScenarioKind.JOIN:
        threads.append(StreamsThread("new", len(names), "new", is_member=False))
    repartition, changelog = f"{ROLLED_OUT}-by-value-repartition", "changelog"
    topology = Topology(0, {"0": Subtopology((TOPIC,)), "1": Subtopology((repartition,), (changelog,), True)})
    topics = dict.fromkeys((TOPIC, repartition, changelog), PARTITIONS)
    version, settings = kafka_version(broker.version), SimulationSettings()
    outcomes = [
        simulate_streams_group(StreamsSetUp(threads, topology, topics, [event], version, settings, 1, seed))
        for seed in range(SEEDS)
    ]
    assert {len(outcome.epochs) for outcome in outcomes} == {epochs}
    longest = [max(shares.unowned_ms for shares in outcome.sharing.partitions.values()) for outcome in outcomes]
    # A busy machine adds to what it really takes.
    assert min(longest) - SLACK_MS <= max(unowned.values()) <= max(longest) + 4 * SLACK_MS, (unowned, longest)


def test_tasks_are_unavailable_for_as_long_as_simulated(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    """One of three processes is closed, and another one joins."""
    with Processes(spark, broker, tmp_path, ROLLED_OUT) as processes:
        for _ in range(3):
            _, before = processes.join()
        first = len(records_of(broker, ROLLED_OUT))
        after = processes.leave(0)
        (left,) = {member for member, _ in before.targets} - {member for member, _ in after.targets}
        place = sorted({member for member, _ in before.targets}).index(left)
        check_times(broker, before, after, first, GroupEvent(0, 10_000, ScenarioKind.LEAVE, place))
        first = len(records_of(broker, ROLLED_OUT))
        joined = processes.start()
        check_times(broker, after, joined, first, GroupEvent(0, 10_000, ScenarioKind.JOIN, 2))


def test_a_static_member_that_restarts_raises_no_epoch(spark: SparkSession, tmp_path: Path) -> None:
    """Its tasks wait for it, as simulated."""
    (tmp_path / "broker").mkdir()
    with running(STATIC_SINCE, tmp_path / "broker") as broker:
        broker.create_topics({TOPIC: PARTITIONS})
        with Processes(spark, broker, tmp_path, APPLICATION) as processes:
            processes.start_static("first")
            before = processes.start_static("second")
            written = len(records_of(broker, APPLICATION))
            after = processes.restart_static("second")
            epochs = replayed(records_of(broker, APPLICATION), written).epochs
    assert epochs == 0
    assert tasks_by_instance(before) == tasks_by_instance(after)
    assert {row["instance_id"] for row in before.members.collect()} == {"first-1", "second-1"}
    repartition = f"{APPLICATION}-by-value-repartition"
    topics = table(spark, TOPICS, [{"topic": name, "partitions": PARTITIONS} for name in (TOPIC, repartition)])
    restart = Scenario("restart", steps=(ScenarioStep("restart", at_ms=10_000, members=Selection(first=1)),))
    run = simulate_streams(before.members, before.subtopologies, topics, restart, kafka_version=STATIC_SINCE)
    costs = run.costs.select("error", "rebalances", "moved", "stable").collect()
    assert list(map(tuple, costs)) == [(None, 0, 0, True)]


def tasks_by_instance(group: Stored) -> dict[tuple[str, str], frozenset[Task]]:
    """Return the target of each static member, by its instance id and the role of the tasks."""
    names = {row["member_id"]: row["instance_id"] for row in group.members.collect()}
    return {(names[member], role): tasks for (member, role), tasks in group.targets.items()}
