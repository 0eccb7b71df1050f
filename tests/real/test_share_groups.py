"""A share group (KIP-932) of a real broker: read from all sources, and predicted when a member joins."""

import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pytest
from confluent_kafka.admin import ResourceType
from pyspark.sql import DataFrame, Row, SparkSession

from rebalance_sim.api.groups import assign
from rebalance_sim.api.simulation import simulate
from rebalance_sim.kafka.simulation.scenario import Scenario
from rebalance_sim.kafka.wire.offsets_topic import (
    RecordType,
    ShareGroupTargetAssignmentMember,
    decode_key,
    decode_value,
)
from rebalance_sim.sources.kafka_tools.capture import read_capture
from rebalance_sim.sources.live_cluster.client_properties import read_client_properties
from rebalance_sim.sources.live_cluster.cluster import read_cluster
from rebalance_sim.sources.offsets_topic.fleet import read_offsets_topic
from rebalance_sim.tables import EVENTS, TOPICS
from tests.real.conftest import ALICE, VERSIONS, alices_properties, allow
from tests.support.cluster.broker import Broker, running
from tests.support.cluster.capture import until, write_reports
from tests.support.cluster.live_set_ups import share_a_bucket
from tests.support.cluster.programs import console_consumer
from tests.support.cluster.share_capture import REPORTS, SETTINGS
from tests.support.cluster.topic_reader import OFFSETS_RECORD, OffsetsRecord, read_rows
from tests.support.rows import table

pytestmark = pytest.mark.cluster

GROUP, TOPIC, PARTITIONS = "workers", "jobs", 7
_MEMBERS, _MOST_STARTS = 3, 30
Targets = dict[str, frozenset[int]]


class Moment(NamedTuple):
    """The records of the coordinator at one time, and the target assignments in them."""

    records: list[OffsetsRecord]
    targets: Targets


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    # The coordinator assigns partitions whose share state is initialized, and one broker holds the topic of that state.
    with running(VERSIONS[0], tmp_path_factory.mktemp("share"), settings=SETTINGS, users=ALICE) as started:
        started.create_topics({TOPIC: PARTITIONS})
        yield started


def targets_in(records: list[OffsetsRecord]) -> Targets:
    """Return the target of each member, by the last record of its key."""
    last: dict[bytes, bytes | None] = {key: value for key, value, *_ in records if key is not None}
    targets: Targets = {}
    for key, value in last.items():
        name = decode_key(key)
        if name.type is RecordType.SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER and value is not None:
            target = decode_value(name.type, value)
            assert isinstance(target, ShareGroupTargetAssignmentMember)
            assert name.member_id is not None
            targets[name.member_id] = frozenset(p for _, numbers in target.partitions for p in numbers)
    return targets


def member(broker: Broker, directory: Path, number: int) -> AbstractContextManager[subprocess.Popen[bytes]]:
    """Return a consumer of the console that is a member of the group."""
    options = ("--topic", TOPIC, "--group", GROUP, "--command-property", f"client.id=worker-{number}")
    return console_consumer(broker, "kafka-console-share-consumer", options, directory / f"{number}.log")


def current(spark: SparkSession, broker: Broker) -> Targets:
    """Return what the members of the group have now, as its coordinator describes them."""
    return owned_in(read_cluster(spark, broker.bootstrap_servers).members)


def settled(broker: Broker, members: int) -> Moment:
    """Wait until the group has this many members, which have all partitions, and return what is stored."""
    seen: list[Moment] = []

    def has_settled() -> bool:
        records = read_rows(broker.bootstrap_servers)
        seen.append(Moment(records, targets_in(records)))
        targets = seen[-1].targets
        has_all = len(targets) == members and frozenset().union(*targets.values()) == frozenset(range(PARTITIONS))
        return has_all and len(seen) > 1 and seen[-2].targets == targets

    until(f"the share group has {members} members", has_settled)
    return seen[-1]


def predicted(spark: SparkSession, broker: Broker, moment: Moment, joining: Mapping[str, object]) -> Targets:
    """Return the target that is predicted if a member joins the group that the records show."""
    topic_id = broker.tools("kafka-topics", "--describe", "--topic", TOPIC).split("TopicId: ")[1].split()[0]
    topics = table(spark, TOPICS, [{"topic": TOPIC, "partitions": PARTITIONS, "topic_id": topic_id}])
    read = read_offsets_topic(spark.createDataFrame(moment.records, OFFSETS_RECORD), topics=topics)
    assert read.rejects.isEmpty()
    members = read.members.where(f"group_id = '{GROUP}'")
    rows = [row.asDict() for row in members.collect()]
    assert {row["member_id"]: frozenset(p["partition"] for p in row["owned"]) for row in rows} == moment.targets
    with_newcomer = spark.createDataFrame([*rows, rows[0] | {"owned": [], **joining}], members.schema)
    found = with_newcomer.transform(assign("elected", topics, broker.version)).collect()
    return {row["member_id"]: frozenset(p["partition"] for p in row["partitions"]) for row in found}


def owned_in(members: DataFrame) -> Targets:
    """Return what the members of the group have, who all read the topic by its rules."""
    rows = members.where(f"group_id = '{GROUP}'").collect()
    described = {(row["protocol_type"], *row["protocols"], *row["subscription"], row["host"][-9:]) for row in rows}
    assert described <= {("share", "share-simple", TOPIC, "127.0.0.1")}
    return {row["member_id"]: frozenset(each["partition"] for each in row["owned"]) for row in rows}


def captured(broker: Broker, folder: Path) -> str:
    """Write what the tools print."""
    folder.mkdir()
    write_reports(broker, REPORTS, folder)
    return str(folder)


def has_read(spark: SparkSession, broker: Broker, properties: Mapping[str, str], targets: Targets) -> bool:
    """Return whether the live cluster shows the targets, to a user who may see the group."""
    live = read_cluster(spark, broker.sasl_bootstrap_servers, properties=properties)
    assert live.rejects.isEmpty()
    return owned_in(live.members) == targets if not live.members.isEmpty() else False


def test_live_clusters_and_tools_show_what_the_records_do(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    """Also to a user who authenticates, and may see the group; others do not see it."""
    with ExitStack() as stack:
        for number in range(3):
            stack.enter_context(member(broker, tmp_path, number))
        targets = settled(broker, 3).targets
        until("all members have their targets", lambda: targets == current(spark, broker))
        live = read_cluster(spark, broker.bootstrap_servers)
        assert owned_in(live.members) == targets
        assert live.rejects.isEmpty()
        assert live.listed_groups is not None
        listed = {(row["group_id"], row["type"], row["members"]) for row in live.listed_groups.collect()}
        assert listed == {(GROUP, "share", 3)}
        tools = read_capture(spark, captured(broker, tmp_path / "capture"))
        assert owned_in(tools.members) == targets
        assert not [each for each in (*live.assumptions, *tools.assumptions) if "target assignment" in each]
        properties = read_client_properties(alices_properties(tmp_path))
        assert read_cluster(spark, broker.sasl_bootstrap_servers, properties=properties).members.isEmpty()
        allow(broker.admin(), ResourceType.TOPIC, "*")
        allow(broker.admin(), ResourceType.GROUP, GROUP)
        until("alice is allowed", lambda: has_read(spark, broker, properties, targets))
    until("all members have left", lambda: not targets_in(read_rows(broker.bootstrap_servers)))


def test_the_target_is_as_predicted_when_a_member_joins(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    """Three members have seven partitions; then a fourth joins, then a fifth."""
    with ExitStack() as stack:

        def start(number: int) -> None:
            stack.enter_context(member(broker, tmp_path, number))

        for number in range(3):
            start(number)
        before = settled(broker, 3)
        for count in (4, 5):
            start(count)
            after = settled(broker, count)
            (newcomer,) = after.targets.keys() - before.targets.keys()
            if share_a_bucket(after.targets):
                pytest.skip("the random ids of two members share a bucket, where the join order matters")
            assert predicted(spark, broker, before, {"member_id": newcomer}) == after.targets
            before = after


@dataclass(frozen=True)
class Settled:
    """A group whose members all have the target of its last epoch."""

    epoch: int
    owned: Targets
    clients: Mapping[str, str]
    """Member ids by client id."""
    members: DataFrame


def at_rest(spark: SparkSession, broker: Broker, members: int) -> Settled:
    """Wait until the group has this many members, all of its last epoch, and they have all partitions."""
    seen: list[Settled] = []

    def rests() -> bool:
        live = read_cluster(spark, broker.bootstrap_servers)
        owned = owned_in(live.members)
        epochs = {row["generation"] for row in live.members.collect()}
        state = broker.tools("kafka-share-groups", "--describe", "--group", GROUP, "--state", "--verbose")
        line = next((line.split() for line in state.splitlines() if line.startswith(f"{GROUP} ")), [])
        has_all = frozenset().union(*owned.values()) == frozenset(range(PARTITIONS))
        if len(owned) != members or not has_all or {*map(str, epochs)} != {*line[4:6]}:
            return False
        clients = {row["client_id"]: row["member_id"] for row in live.members.collect()}
        seen.append(Settled(epochs.pop(), owned, clients, live.members))
        return True

    until(f"the share group is at rest with {members} members", rests)
    return seen[-1]


def formed(
    stack: ExitStack, spark: SparkSession, broker: Broker, directory: Path
) -> tuple[dict[str, subprocess.Popen[bytes]], Settled]:
    """Form a group of three members, by client id, whose random ids share no bucket: there the join order matters."""
    processes: dict[str, subprocess.Popen[bytes]] = {}
    for number in range(_MOST_STARTS):
        client = f"worker-{number}"
        processes[client] = stack.enter_context(member(broker, directory, number))
        now = at_rest(spark, broker, len(processes))
        if share_a_bucket(now.owned):
            processes.pop(client).terminate()
            at_rest(spark, broker, len(processes))
        elif len(processes) == _MEMBERS:
            return processes, now
    pytest.fail(f"{_MOST_STARTS} random ids share buckets")


def foretold(spark: SparkSession, broker: Broker, before: Settled, event: str, client: str) -> tuple[Targets, Row, Row]:
    """Return what members have after an event that happens to one of them, and the rows of costs and rebalances."""
    topics = read_cluster(spark, broker.bootstrap_servers).topics
    happens = [{"group_id": GROUP, "at_ms": 10_000, "event": event, "member_id": before.clients[client]}]
    run = simulate(
        before.members, topics, Scenario("nothing"), events=table(spark, EVENTS, happens), kafka_version=broker.version
    )
    owned = {row["member_id"]: row["partitions"] for row in run.owned_partitions.collect()}
    (costs,), (epoch,) = run.costs.collect(), run.rebalances.collect()
    return {name: frozenset(each["partition"] for each in given) for name, given in owned.items()}, costs, epoch


def test_simulated_is_what_happens_when_members_leave_and_are_killed(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    """One of three members leaves, then one is killed: epochs, assignments and the time until then are as simulated."""
    with ExitStack() as stack:
        processes, before = formed(stack, spark, broker, tmp_path)
        for event, client in zip(("leave", "crash"), list(processes)[1:], strict=True):
            owned, costs, epoch = foretold(spark, broker, before, event, client)
            ended, began = processes[client], time.monotonic()
            (ended.terminate if event == "leave" else ended.kill)()
            after = at_rest(spark, broker, len(before.owned) - 1)
            seconds = time.monotonic() - began
            assert after.owned == owned
            assert after.epoch == epoch["generation"] == before.epoch + 1
            assert (epoch["reason"], epoch["evicted"]) == (
                ("MEMBER_LEFT", 0) if event == "leave" else ("SESSION_EXPIRED", 1)
            )
            # The phases of heartbeats are random, at most 5 s on either side, and the group is looked at now and then.
            assert abs(seconds - costs["stable_ms"] / 1000) < 15
            before = after
