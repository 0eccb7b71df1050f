"""Groups of every client library and kind of program on a live broker, by their bytes and by the text of its tools."""

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from pyspark.sql import Row, SparkSession

from rebalance_sim.cli import main
from rebalance_sim.kafka.assignors.by_library import SEPARATOR
from rebalance_sim.kafka.clients import JAVA, LIBRARIES
from rebalance_sim.kafka.group_kinds import GroupKind
from tests.real.conftest import VERSIONS
from tests.support.cluster.aiokafka_consumers import AiokafkaConsumers
from tests.support.cluster.broker import Broker, running
from tests.support.cluster.capture import GROUP_REPORTS, until
from tests.support.cluster.clients import Runner
from tests.support.cluster.fleet import Client
from tests.support.cluster.group_requests import described
from tests.support.cluster.library_clients import library_clients
from tests.support.cluster.programs import connect_worker, console_consumer, streams_application
from tests.support.cluster.topic_reader import OFFSETS_RECORD, read_rows

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.alone,
    pytest.mark.filterwarnings("ignore:(read|open)_text is deprecated"),
]

TOPIC, PARTITIONS = "orders", 6
COORDINATOR_ASSIGNS = ("java", "librdkafka")
"""Libraries with consumers of the consumer protocol (KIP-848)."""
NEEDS_A_CLIENT_ID = "platformatic-kafka"
OWN_IDS = "-own-ids"
"""The end of the names of groups whose members have a client id of the user's own."""
CONNECT, SINK, OFFSETS_ONLY, SHARING = "connect-cluster", "connect-files", "backfill", "sharing"
CONSOLE = "console-consumer-77210"
NOT_PRINTED = {CONNECT}
"""kafka-consumer-groups describes consumers only."""
WITHOUT_RUNNER = ("brod", "kafka-node", "ruby-kafka")
"""Libraries that need a runtime of their own, or requests that brokers have no more since 4.0."""


SHARE_REPORTS = {"members": ("--verbose",), "state": ("--verbose",), "offsets": ()}
"""What the tool of share groups describes, with further options."""


@dataclass(frozen=True)
class RealGroup:
    """A group on the broker: what it is, and how many members it has."""

    kind: str
    library: str = JAVA
    members: int = 2


def clients() -> Iterator[Client]:
    """Return two consumers for each group: with the default client ids of their library, and with the user's own."""
    for library, record in LIBRARIES.items():
        protocols = record.protocols_of()
        if library in WITHOUT_RUNNER:
            continue
        for number in (1, 2):
            if library != NEEDS_A_CLIENT_ID:
                yield Client(f"{library}-default", "", protocols, (TOPIC,), library=library)
            yield Client(f"{library}{OWN_IDS}", f"app-{number}", protocols, (TOPIC,), library=library)
            if library in COORDINATOR_ASSIGNS:
                yield Client(f"{library}-consumer", "", (), (TOPIC,), library=library)


PROGRAMS = {
    CONNECT: RealGroup(GroupKind.CONNECT, members=1),
    SINK: RealGroup(GroupKind.CONNECT_SINK),
    "totals": RealGroup(GroupKind.STREAMS),
    CONSOLE: RealGroup(GroupKind.CONSOLE, members=1),
    OFFSETS_ONLY: RealGroup(GroupKind.OFFSETS_ONLY, members=0),
}
GROUPS = {each.group: RealGroup(GroupKind.CONSUMERS, each.library) for each in clients()} | PROGRAMS


@dataclass(frozen=True)
class Seen:
    """The outputs of audits, by source."""

    outputs: Mapping[str, Path]


@contextmanager
def consumers(broker: Broker, directory: Path) -> Iterator[None]:
    """Run the consumers of all libraries."""
    with ExitStack() as stack:
        runners: dict[str, Runner] = stack.enter_context(library_clients(broker, directory))
        runners["aiokafka"] = stack.enter_context(AiokafkaConsumers(broker.bootstrap_servers))
        for number, client in enumerate(clients()):
            runners[client.library].start(f"{client.group}#{number}", client)
        yield


@contextmanager
def programs(broker: Broker, directory: Path) -> Iterator[None]:
    """Run Connect, Streams and the consumers of the console."""
    sink = {
        "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
        "topics": TOPIC,
        "file": str(directory / "sink.txt"),
        "tasks.max": "2",
    }
    options = ("--topic", TOPIC, "--group")
    with ExitStack() as stack:
        for program in (
            connect_worker(broker, CONNECT, {SINK.removeprefix("connect-"): sink}, directory),
            streams_application(broker, "totals", TOPIC, directory),
            console_consumer(broker, "kafka-console-consumer", (*options, CONSOLE), directory / "console.log"),
            console_consumer(broker, "kafka-console-share-consumer", (*options, SHARING), directory / "share.log"),
        ):
            stack.enter_context(program)
        yield


def commit_only(servers: str) -> None:
    """Commit offsets of partitions that a consumer assigned itself, as a job of Flink or a backfill does."""
    consumer = Consumer({"bootstrap.servers": servers, "group.id": OFFSETS_ONLY, "log_level": 0})
    offsets = [TopicPartition(TOPIC, number, 0) for number in range(PARTITIONS)]
    consumer.assign(offsets)

    def has_committed() -> bool:
        try:
            return all(each.error is None for each in consumer.commit(offsets=offsets, asynchronous=False) or ())
        except KafkaException:
            # The coordinator of the broker's first group is still being created.
            return False

    try:
        until("offsets are committed", has_committed)
    finally:
        consumer.close()


def have_formed(admin: AdminClient) -> bool:
    """Return whether all groups of consumers have their members, and these own all partitions."""
    wanted = {name: group.members for name, group in GROUPS.items() if name != CONNECT}
    for name, found in described(admin, wanted).items():
        if found is None:
            return False
        owned = sum(len(member.assignment.topic_partitions) for member in found.members)
        if len(found.members) != wanted[name] or (owned != PARTITIONS and wanted[name]):
            return False
    return True


def has_formed_connect(admin: AdminClient) -> bool:
    """Return whether the Connect cluster is stable; the tools and newer requests describe groups of consumers only."""
    with warnings.catch_warnings(category=DeprecationWarning, action="ignore"):
        return any(group.state == "Stable" for group in admin.list_groups(CONNECT, timeout=10))


def share_groups(broker: Broker, *options: str) -> str:
    """Return what the tool of share groups prints about all of them."""
    return broker.tools("kafka-share-groups", "--describe", "--all-groups", *options)


@pytest.fixture(scope="module")
def seen(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    directory = tmp_path_factory.mktemp("recognized")
    with running(VERSIONS[0], directory) as broker:
        servers = broker.bootstrap_servers
        admin = broker.admin()
        broker.create_topics({TOPIC: PARTITIONS})
        commit_only(servers)
        with consumers(broker, directory), programs(broker, directory):
            until("the groups have formed", lambda: have_formed(admin))
            until("the share group has formed", lambda: "console-share-consumer" in share_groups(broker, "--members"))
            until("the Connect cluster has formed", lambda: has_formed_connect(admin))
            outputs = {"live": audit(directory / "live", "--bootstrap-servers", servers)}
            capture = captured(broker, directory / "capture")
            records = read_rows(servers)
    spark.createDataFrame(records, OFFSETS_RECORD).write.parquet(f"{directory}/records")
    topics = f"{outputs['live']}/fleet/topics"
    outputs["offsets topic"] = audit(directory / "topic", "--offsets-topic", f"{directory}/records", "--topics", topics)
    outputs["tools"] = audit(directory / "tools", "--kafka-tools", str(capture))
    return Seen(outputs)


def audit(out: Path, *source: str) -> Path:
    """Audit a source, and return the output."""
    assert main(["audit", *source, "--out", str(out)]) == 0
    return out


def captured(broker: Broker, folder: Path) -> Path:
    """Write what the tools print about topics and groups."""
    folder.mkdir()
    (folder / "topics.txt").write_text(broker.tools("kafka-topics", "--describe"))
    for name, options in GROUP_REPORTS.items():
        text = broker.tools("kafka-consumer-groups", "--describe", "--all-groups", *options, merge_stderr=True)
        (folder / name).write_text(text)
    (folder / "groups.txt").write_text(broker.tools("kafka-consumer-groups", "--list", "--type"))
    (folder / "all-groups.txt").write_text(broker.tools("kafka-groups", "--list"))
    for name, options in SHARE_REPORTS.items():
        (folder / f"share-{name}.txt").write_text(share_groups(broker, f"--{name}", *options))
    return folder


def members_of(spark: SparkSession, out: Path) -> list[Row]:
    """Return the members that an audit has read, which are all that the groups have, without those of a share group."""
    members = spark.read.parquet(f"{out}/fleet/members").where(f"group_id <> '{SHARING}'").collect()
    assert {row["group_id"] for row in members} <= GROUPS.keys()
    return members


def kinds_of(spark: SparkSession, out: Path) -> dict[str, str]:
    """Return the kinds of the groups of an audit."""
    return {row["group_id"]: row["group_kind"] for row in spark.read.parquet(f"{out}/verdicts").collect()}


@pytest.mark.parametrize("source", ["live", "offsets topic"])
def test_every_library_and_kind_is_right_where_bytes_are_available(
    spark: SparkSession, seen: Seen, source: str
) -> None:
    """A member with a client id of the user's own may send what several libraries send: all of them are named."""
    out = seen.outputs[source]
    members = members_of(spark, out)
    assert Counter(row["group_id"] for row in members) == {
        name: group.members for name, group in GROUPS.items() if group.members
    }
    with_own_ids = [row for row in members if row["group_id"].endswith(OWN_IDS)]
    wrong = [row for row in members if row not in with_own_ids and row["client_library"] != library_of(row)]
    assert wrong == []
    assert [row for row in with_own_ids if library_of(row) not in row["client_library"].split(SEPARATOR)] == []
    kinds = {name: group.kind for name, group in GROUPS.items()} | {SHARING: GroupKind.SHARE}
    assert kinds_of(spark, out) == kinds
    assert spark.read.parquet(f"{out}/fleet/rejects").isEmpty()


def test_the_text_of_the_tools_shows_nearly_every_library_and_none_that_is_wrong(
    spark: SparkSession, seen: Seen
) -> None:
    out = seen.outputs["tools"]
    listed = GROUPS.keys() - NOT_PRINTED
    members = members_of(spark, out)
    assert Counter(row["group_id"] for row in members) == {
        name: GROUPS[name].members for name in listed if GROUPS[name].members
    }
    assert [row for row in members if row["client_library"] not in (None, library_of(row))] == []
    by_default = [row for row in members if not row["group_id"].endswith(OWN_IDS)]
    named = [row for row in by_default if row["client_library"]]
    assert len(named) >= 0.95 * len(by_default)
    kinds = {name: group.kind for name, group in GROUPS.items()} | {SHARING: GroupKind.SHARE}
    assert kinds_of(spark, out) == kinds
    assert spark.read.parquet(f"{out}/fleet/rejects").isEmpty()


def library_of(member: Row) -> str:
    """Return the library that a member really uses."""
    return GROUPS[member["group_id"]].library
