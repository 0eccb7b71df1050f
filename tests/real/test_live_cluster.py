"""Live clusters are read completely, and the predictions from their state are what their groups have."""

import json
import re
import shlex
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, ResourceType
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from rebalance_sim import UserError, elect, predict
from rebalance_sim.cli import main
from rebalance_sim.releases import NEWEST, PartitionOrder, kafka_version
from rebalance_sim.sources.assumptions import JAVA_DEFAULT_PROTOCOLS
from rebalance_sim.sources.kafka_tools.capture import Capture
from rebalance_sim.sources.live_cluster.cluster import read_cluster
from rebalance_sim.sources.live_cluster.group_offsets import CommittedOffsets, OffsetReader
from tests.real.conftest import ALICE, RACK, VERSIONS, alices_properties, allow
from tests.support.cluster.broker import Broker, running
from tests.support.cluster.capture import is_stable, named, until
from tests.support.cluster.clients import JavaConsumers, KafkaPythonConsumers, Partitions, RdkafkaConsumers, Runner
from tests.support.cluster.fleet import RANGE, ROBIN, TOPICS, Client, Group, groups
from tests.support.cluster.group_requests import commit, described
from tests.support.cluster.jars import needs_zookeeper
from tests.support.cluster.metadata_order import listed_partitions

pytestmark = [pytest.mark.cluster, pytest.mark.filterwarnings("ignore:(read|open)_text is deprecated")]

README = Path(__file__).parents[2] / "README.md"
PAGE = README.parent / "docs" / "live-clusters.md"
NEXT_GENERATION = "next-generation"
OF_JAVA = ("payments-roundrobin", "clicks-sticky", "sessions-cooperative", "static-tills")
OF_LIBRDKAFKA = ("rdkafka-eager", "rdkafka-cooperative")
BACKFILL = "backfill"
"""A group with committed offsets and no members."""
_ADMINS: list[AdminClient] = []
"""The clients of stopped brokers. librdkafka once waited for ever when it destroyed one: they end with the process."""


@dataclass
class Busy:
    """A broker with groups, and the clients of their members."""

    broker: Broker
    admin: AdminClient
    groups: list[Group]
    runners: dict[str, Runner]

    @property
    def servers(self) -> str:
        return self.broker.bootstrap_servers

    def assigned(self) -> dict[str, Partitions]:
        """Return the partitions that the clients report once all groups are stable: they may have rebalanced again."""
        until("all groups are stable", lambda: all(map(self._is_stable, self.groups)))
        return self._by_clients()

    def _by_clients(self) -> dict[str, Partitions]:
        return {id_: has for runner in self.runners.values() for id_, has in runner.assignments().items()}

    def _is_stable(self, group: Group) -> bool:
        found = described(self.admin, [group.group_id])[group.group_id]
        return found is not None and is_stable(found, group, self._by_clients())


@pytest.fixture(scope="module")
def busy(live_broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Busy]:
    """Start consumers of all libraries that work with the broker, and wait until their groups are stable."""
    servers = live_broker.bootstrap_servers
    admin = live_broker.admin()
    _ADMINS.append(admin)
    live_broker.create_topics(TOPICS)
    produce(servers)
    with ExitStack() as stack:
        runners: dict[str, Runner] = {}
        if not needs_zookeeper(live_broker.version):
            log = tmp_path_factory.mktemp("consumers") / "consumers.log"
            runners["java"] = stack.enter_context(JavaConsumers(live_broker.version, servers, log))
        runners["librdkafka"] = stack.enter_context(RdkafkaConsumers(servers))
        runners["kafka-python"] = stack.enter_context(KafkaPythonConsumers(servers))
        fleet = [group for group in some_groups(live_broker.version) if group.clients[0].library in runners]
        for group in fleet:
            for name, client in named(group.clients, already=0):
                runners[client.library].start(name, client)
        started = Busy(live_broker, admin, fleet, runners)
        started.assigned()
        until(f"{BACKFILL} committed", lambda: commit(admin, BACKFILL, "orders", {0: 3, 1: 0}))
        yield started


def some_groups(version: str) -> list[Group]:
    """Return groups without racks: brokers do not report those of members, and all brokers have the same one."""
    known = {group.group_id: group for group in groups(version)}
    chosen = [known[name] for name in (*OF_JAVA, *OF_LIBRDKAFKA, NEXT_GENERATION) if name in known]
    alike = tuple(
        Client("kafka-python", f"python-{n}", (RANGE, ROBIN), ("orders", "prices"), library="kafka-python")
        for n in range(3)
    )
    without_racks = [replace(g, first=tuple(replace(c, rack="") for c in g.first)) for g in chosen]
    return [*without_racks, Group("kafka-python", alike)]


def produce(servers: str) -> None:
    producer = Producer({"bootstrap.servers": servers, "log_level": 0})
    for topic, count in TOPICS.items():
        for partition in range(count):
            for _ in range(5 + partition):
                producer.produce(topic, b"record", partition=partition)
    assert producer.flush(30) == 0


def read_at_rest(spark: SparkSession, busy: Busy) -> tuple[Capture, dict[str, Partitions]]:
    """Read the cluster while no group rebalances: one may begin to after all were stable."""
    capture = read_cluster(spark, busy.servers)
    while not capture.members.where("owned IS NULL").isEmpty():
        busy.assigned()
        capture = read_cluster(spark, busy.servers)
    return capture, busy.assigned()


def by_member(rows: DataFrame, column: str) -> dict[str, Partitions]:
    return {row["member_id"]: {(p["topic"], p["partition"]) for p in row[column]} for row in rows.collect()}


def test_predicted_assignments_are_those_of_the_groups(spark: SparkSession, busy: Busy) -> None:
    capture, assigned = read_at_rest(spark, busy)
    listed = {group.group_id for group in busy.groups}
    assert {row["group_id"] for row in capture.members.select("group_id").distinct().collect()} == listed
    owned = by_member(capture.members, "owned")
    assert owned == {member_id: assigned[member_id] for member_id in owned}
    # Assignors run in the clients, which are the newest with each broker.
    version = NEWEST if needs_zookeeper(busy.broker.version) else busy.broker.version
    predicted = predict(capture.members, capture.topics, kafka_version=version)
    assert predicted.balance.where("error IS NOT NULL").isEmpty()
    assert by_member(predicted.assignments, "partitions") == owned
    assert sum(map(len, owned.values())) > 30
    assert len(listed - {NEXT_GENERATION}) == (3 if needs_zookeeper(busy.broker.version) else 7)
    elections = {row["group_id"]: row for row in capture.members.transform(elect(version)).collect()}
    assert {group for group, row in elections.items() if row["type"] == "consumer"} == listed & {NEXT_GENERATION}
    if NEXT_GENERATION in listed:
        row = elections[NEXT_GENERATION]
        assert (row["protocol"], row["votes"], row["leader_id"]) == ("server-uniform", {"server-uniform": 3}, None)


def test_the_commands_of_the_readme_run(spark: SparkSession, busy: Busy, tmp_path: Path) -> None:
    """Run the commands for a user's own cluster on this one."""
    if needs_zookeeper(busy.broker.version):
        pytest.skip("its kafka-consumer-groups.sh has no --all-groups")
    section = README.read_text().partition("## Your own cluster\n")[2].partition("\n## ")[0]
    here = section.replace("HOST:9092", busy.servers).replace(" out/", f" {tmp_path}/out/")
    has, done = busy.assigned(), []
    for line in re.findall("^    (.*)$", here.replace(" capture", f" {tmp_path}/capture"), re.MULTILINE):
        command, *arguments = shlex.split(line)
        if command == "mkdir":
            Path(*arguments).mkdir()
        elif command.startswith("kafka-"):
            *options, _, file = arguments
            Path(file).write_text(busy.broker.tools(command.removesuffix(".sh"), *options[2:]))
        else:
            assert command == ".venv/bin/rebalance-sim"
            assert main(arguments) == 0
        done.append(command)
        if arguments[0] == "assign":
            assignments = by_member(spark.read.parquet(f"{tmp_path}/out/assign/assignments"), "partitions")
            assert {member_id: assignments[member_id] for member_id in has} == has
    assert len(done) >= 8


def test_the_commands_of_the_live_clusters_page_run(spark: SparkSession, busy: Busy, tmp_path: Path) -> None:
    text = PAGE.read_text().partition("## Read records too")[0]
    shown = re.findall(r"^    rebalance-sim ((?:fleet|assign) [^\\\n]*(?:\\\n[^\\\n]*)*)$", text, re.MULTILINE)
    assert [command.split()[0] for command in shown] == ["fleet", "assign"]
    for command in shown:
        here = command.replace("HOST:9092", busy.broker.sasl_bootstrap_servers).replace(" out/", f" {tmp_path}/out/")
        here = here.replace("client.properties", alices_properties(tmp_path)).replace("\\\n", " ")
        assert main(shlex.split(here.replace("HOST:9092", busy.servers))) == 0
    (brokers,) = spark.read.parquet(f"{tmp_path}/out/fleet/clusters").collect()
    assert brokers["cluster"] == "production"


def test_the_tables_are_complete(spark: SparkSession, busy: Busy) -> None:
    read_at_rest(spark, busy)
    heard: list[str] = []
    capture = read_cluster(spark, busy.servers, cluster="c", on_progress=heard.append)
    topics = {row["topic"]: row for row in capture.topics.collect()}
    assert {topic: topics[topic]["partitions"] for topic in TOPICS} == TOPICS
    assert {(row["cluster"], row["unavailable"] == []) for row in topics.values()} == {("c", True)}
    assert topics["prices"]["racks"] == [[RACK], [RACK]]
    ids = {topic: topics[topic]["topic_id"] for topic in TOPICS}
    if needs_zookeeper(busy.broker.version):
        assert set(ids.values()) == {None}
    else:
        printed = busy.broker.tools("kafka-topics", "--describe")
        assert ids.items() <= dict(re.findall(r"Topic: (\S+)\tTopicId: (\S+)", printed)).items()

    offsets = {(row["group_id"], row["topic"], row["partition"]): row for row in capture.offsets.collect()}
    backfilled = {key[1:]: (row["committed"], row["end"]) for key, row in offsets.items() if key[0] == BACKFILL}
    assert backfilled == {("orders", 0): (3, 5), ("orders", 1): (0, 6)}
    assert all(row["end"] == 5 + row["partition"] for row in offsets.values())
    described = {key for key in offsets if key[0] == "kafka-python"}
    assert described == {("kafka-python", topic, n) for topic in ("orders", "prices") for n in range(TOPICS[topic])}

    assert capture.clusters is not None
    (brokers,) = capture.clusters.collect()
    assert busy.broker.version.startswith(f"{brokers['broker_version']}.")
    assert brokers["migration_policy"] == ("bidirectional" if busy.broker.version.startswith("4.") else None)
    assert (brokers["cluster"], brokers["offsets_partitions"]) == ("c", topics["__consumer_offsets"]["partitions"])

    assert capture.rejects.isEmpty()
    classic = capture.members.where(F.col("group_id") != NEXT_GENERATION)
    assert {row["group_state"] for row in classic.select("group_state").distinct().collect()} == {"Stable"}
    told = capture.members.where("group_id = 'rdkafka-eager'").select("client_library", "subscription").distinct()
    if needs_zookeeper(busy.broker.version):
        assert {row["client_library"] for row in told.collect()} == {None}
    else:
        assert {row["client_library"] for row in told.collect()} == {"librdkafka"}
    of_kip848 = capture.members.where(F.col("group_id") == NEXT_GENERATION).orderBy("client_id").collect()
    has_next_generation = any(group.group_id == NEXT_GENERATION for group in busy.groups)
    assert [(row["client_id"], row["protocols"]) for row in of_kip848] == (
        [(f"{NEXT_GENERATION}-{n}", ["server-uniform"]) for n in (1, 2, 3)] if has_next_generation else []
    )
    assert any("the group's current assignor is used" in each for each in capture.assumptions) == has_next_generation
    assert capture.groups_without_members == [BACKFILL]
    assert any("the protocol that their group elected is used" in each for each in capture.assumptions)
    assert f"1 group ({BACKFILL}) without members: nothing is predicted for them" in capture.assumptions
    assert heard[0] == f"reading the cluster at {busy.servers}"
    assert f"groups listed: {len(busy.groups) + 1}" in heard


def test_partitions_are_listed_in_order_since_4_3(busy: Busy) -> None:
    """Leaders of kafka-go, KafkaJS and ruby-kafka assign them in this order."""
    topic, count = next(item for item in TOPICS.items() if item[1] > 2)
    listed = listed_partitions(busy.servers, topic)
    rules = kafka_version(busy.broker.version)
    assert sorted(listed) == list(range(count))
    # Scala's LongMap of these brokers may list them in order or not.
    if rules.partition_order is not PartitionOrder.LONG_MAP:
        assert (listed == sorted(listed)) == (rules.partition_order is PartitionOrder.ASCENDING)


def test_a_share_group_without_members_is_listed(spark: SparkSession, busy: Busy) -> None:
    if busy.broker.version != VERSIONS[0]:
        pytest.skip("its brokers have no share groups")
    busy.broker.tools("kafka-console-share-consumer", "--topic", "orders", "--group", "sharing", "--timeout-ms", "1000")
    capture = read_cluster(spark, busy.servers)
    assert "1 group (sharing) of type share or streams: no assignment is predicted for them" in capture.assumptions
    assert capture.members.where("group_id = 'sharing'").isEmpty()
    assert capture.listed_groups is not None
    (listed,) = capture.listed_groups.where("group_id = 'sharing'").collect()
    assert (listed["type"], listed["state"], listed["members"]) == ("share", "Empty", 0)


def test_given_protocols_replace_the_elected_one(spark: SparkSession, busy: Busy) -> None:
    capture = read_cluster(spark, busy.servers, protocols=JAVA_DEFAULT_PROTOCOLS)
    classic = capture.members.where(F.col("group_id") != NEXT_GENERATION)
    assert {tuple(row["protocols"]) for row in classic.collect()} == {JAVA_DEFAULT_PROTOCOLS}
    assert any(each.endswith("those of the option protocols are used") for each in capture.assumptions)


def test_a_group_that_is_deleted_while_it_is_read_is_rejected(spark: SparkSession, busy: Busy) -> None:
    until("passing committed", lambda: commit(busy.admin, "passing", "orders", {0: 1}))

    def on_progress(message: str) -> None:
        if message.startswith("groups listed"):
            busy.admin.delete_consumer_groups(["passing"])["passing"].result()

    capture = read_cluster(spark, busy.servers, on_progress=on_progress)
    (row,) = capture.rejects.where("group_id = 'passing'").collect()
    assert (row["table"], row["reason"]) == ("groups", "GROUP_ID_NOT_FOUND: the group was deleted after it was listed")
    assert capture.offsets.where(f"group_id = '{BACKFILL}'").count() == 2
    assert capture.offsets.where("group_id = 'passing'").count() == 0


def test_what_acls_deny_is_rejected(
    spark: SparkSession, busy: Busy, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Alice may see all topics but one group; her password is printed nowhere."""
    allow(busy.admin, ResourceType.TOPIC, "*")
    allow(busy.admin, ResourceType.BROKER, "kafka-cluster")
    allow(busy.admin, ResourceType.GROUP, "kafka-python")
    arguments = ["--bootstrap-servers", busy.broker.sasl_bootstrap_servers, "--out", f"{tmp_path}/out"]
    config = ["--command-config", alices_properties(tmp_path)]
    listed = len(busy.groups) + 1

    def is_allowed() -> bool:
        """Wait until the broker applies the ACLs."""
        assert main(["fleet", *arguments, *config]) == 0
        return spark.read.parquet(f"{tmp_path}/out/offsets").count() > 0

    until("alice is allowed", is_allowed)
    members = spark.read.parquet(f"{tmp_path}/out/members")
    assert {row["group_id"] for row in members.collect()} == {"kafka-python"}
    rejected = spark.read.parquet(f"{tmp_path}/out/rejects").collect()
    denied = [row for row in rejected if row["table"] == "groups"]
    assert {row["reason"].partition(":")[0] for row in denied} == {"GROUP_AUTHORIZATION_FAILED"}
    requests = Counter(json.loads(row["row"])["request"] for row in denied)
    assert requests["DescribeConsumerGroups"] == listed - 1
    # The share group of another test, if it has run.
    assert {row["group_id"] for row in denied if "ShareGroupDescribe" in row["row"]} <= {"sharing"}
    outputs = [file.read_text(errors="replace") for file in (tmp_path / "out").rglob("*") if file.is_file()]
    assert len(outputs) > 4
    printed = capfd.readouterr()
    assert not [text for text in (*outputs, printed.out, printed.err) if ALICE["alice"] in text]


def test_a_wrong_password_is_an_error(busy: Busy, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    arguments = ["--bootstrap-servers", busy.broker.sasl_bootstrap_servers, "--out", f"{tmp_path}/out"]
    assert main(["fleet", *arguments, "--command-config", alices_properties(tmp_path, "wr0ng")]) == 2
    printed = capfd.readouterr().err
    assert "--bootstrap-servers: cannot read 127.0.0.1:" in printed
    assert ": _AUTHENTICATION: " in printed
    assert "wr0ng" not in printed
    assert not (tmp_path / "out").exists()


def test_an_unreachable_broker_is_an_error(spark: SparkSession) -> None:
    with pytest.raises(UserError, match=r"^--bootstrap-servers: cannot read 127\.0\.0\.1:1: _TRANSPORT: .*refused"):
        read_cluster(spark, "127.0.0.1:1")


def test_offsets_are_read_after_the_coordinator_has_started(tmp_path: Path) -> None:
    """A new broker answers NOT_COORDINATOR until __consumer_offsets exists, which crashes librdkafka's process."""
    with (
        running(VERSIONS[0], tmp_path) as started,
        OffsetReader({"bootstrap.servers": started.bootstrap_servers, "log_level": "0"}) as reader,
    ):
        assert list(reader.read(["a", "b"])) == [("a", CommittedOffsets()), ("b", CommittedOffsets())]
