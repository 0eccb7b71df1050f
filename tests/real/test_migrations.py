"""Classic groups of several client libraries are audited on a live broker, and then really migrated (KIP-848)."""

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass

import pytest
from confluent_kafka import ConsumerGroupType
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from rebalance_sim import assign, audit, read_clusters
from rebalance_sim.engine.tables.outcomes import Transformation
from rebalance_sim.kafka.brokers import Clusters
from rebalance_sim.sources.live_cluster.cluster import read_cluster
from rebalance_sim.sources.offsets_topic.fleet import read_offsets_topic
from rebalance_sim.tables import DEFAULT_CLUSTER
from tests.real.conftest import VERSIONS
from tests.real.test_predicted_groups import HEARTBEATS
from tests.support.cluster.broker import running
from tests.support.cluster.clients import JavaConsumers, Partitions
from tests.support.cluster.library_clients import library_clients
from tests.support.cluster.live_set_ups import LiveSetUps, share_a_bucket
from tests.support.cluster.migrating_groups import migrated, migrating_groups, offline
from tests.support.cluster.set_ups import SetUp
from tests.support.cluster.topic_reader import OFFSETS_RECORD

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.alone,
    pytest.mark.filterwarnings("ignore:(read|open)_text is deprecated"),
]

GROUPS = {each.group: each for each in migrating_groups()}
USER_DATA = {"librdkafka-cooperative-sticky": "offline", "sarama-sticky": "no", "sarama-java-java-sticky": "no"}
"""Groups whose leader's assignments have user data, and their verdicts."""
WITHOUT_PROTOCOL = ("sarama", "kafkajs", "kafka-python")
"""Libraries without the consumer protocol: their clients are replaced by Java's."""


@dataclass(frozen=True)
class Seen:
    """What the audit said of the groups, and what happened to them."""

    verdicts: Mapping[str, Row]
    refusals: Mapping[str, str]
    """How the consumer failed that was the first to join with the consumer protocol, by group."""
    most_partitions: Mapping[str, float | None]
    """What the audit said of groups that migrate online: the partitions of the member with the most of them."""
    predicted: Mapping[str, Mapping[str, Partitions]]
    """The assignment of each client after the last restart, by group."""
    assigned: Mapping[str, Mapping[str, Partitions]]
    types: Mapping[str, ConsumerGroupType]
    member_ids: dict[str, set[str]]


@pytest.fixture(scope="module")
def seen(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    directory = tmp_path_factory.mktemp("migrations")
    with ExitStack() as stack:
        broker = stack.enter_context(running(VERSIONS[0], directory, settings=HEARTBEATS))
        servers = broker.bootstrap_servers
        runners = stack.enter_context(library_clients(broker, directory))
        refused = stack.enter_context(JavaConsumers(broker.version, servers, directory / "refused.log"))
        live = LiveSetUps(broker, runners, list(GROUPS.values()))
        live.form()
        capture = read_cluster(spark, servers)
        assert capture.clusters is not None
        clusters, topics = read_clusters(capture.clusters), capture.topics.persist()
        audited = audit(capture.members.transform(with_names(GROUPS.values())), topics, kafka_version=clusters)
        verdicts = {row["group_id"]: row for row in audited.verdicts.collect()}
        possible = audited.findings.where("kind = 'migration-possible'").collect()
        refusals = {group: refused.failure(group, migrated(GROUPS[group].members[-1])) for group in USER_DATA}
        rounds = {each.group: offline(each) if each.group in refusals else each.rounds for each in GROUPS.values()}
        live.play({group: of_group[:-1] for group, of_group in rounds.items()})
        records, before = live.offsets_topic(), live.member_ids()
        live.play({group: of_group[-1:] for group, of_group in rounds.items()})
        new_ids = {group: ids - before[group] for group, ids in live.member_ids().items()}
        assigned, types = live.assigned(), live.types()
    read = read_offsets_topic(spark.createDataFrame(records, OFFSETS_RECORD), topics=topics)
    after = read.members.transform(after_the_last_restart(new_ids))
    most = {row["group_id"]: row["figures"].get("max_after") for row in possible}
    member_ids = {group: before[group] | ids for group, ids in new_ids.items()}
    return Seen(verdicts, refusals, most, predicted_from(after, topics, clusters), assigned, types, member_ids)


def after_the_last_restart(new_ids: Mapping[str, set[str]]) -> Transformation:
    """Add the member that joins last, which takes the place of the static member with its instance id."""
    rows = []
    for group, (member_id,) in new_ids.items():
        client = migrated(GROUPS[group].members[0])
        rows.append((group, member_id, client.client_id, [*client.protocols], [*client.topics], client.instance_id))
    ids, lists = (
        "group_id string, member_id string, client_id string",
        "protocols array<string>, subscription array<string>",
    )

    def join(members: DataFrame) -> DataFrame:
        new = members.sparkSession.createDataFrame(rows, f"{ids}, {lists}, instance_id string")
        new = new.withColumns({"cluster": F.lit(DEFAULT_CLUSTER), "instance_id": F.nullif("instance_id", F.lit(""))})
        replaced = members.join(new, ["group_id", "instance_id"], "left_semi").select(members.columns)
        new = new.join(replaced.select("group_id", "instance_id", "owned"), ["group_id", "instance_id"], "left")
        return members.exceptAll(replaced).unionByName(new, allowMissingColumns=True)

    return join


def predicted_from(members: DataFrame, topics: DataFrame, clusters: Clusters) -> dict[str, dict[str, Partitions]]:
    clients = {row["member_id"]: row["client_id"] for row in members.collect()}
    predicted: dict[str, dict[str, Partitions]] = {group: {} for group in GROUPS}
    for row in members.transform(assign("elected", topics, clusters)).collect():
        partitions = {(each["topic"], each["partition"]) for each in row["partitions"]}
        predicted[row["group_id"]][clients[row["member_id"]]] = partitions
    return predicted


def with_names(groups: Iterable[SetUp]) -> Transformation:
    """Add the libraries of members and the order in which they joined, as their owner knows them."""
    rows = [
        (group.group, client.client_id, client.library, place)
        for group in groups
        for place, client in enumerate(group.members)
    ]
    known = "group_id string, client_id string, client_library string, join_order long"

    def name(members: DataFrame) -> DataFrame:
        owners = members.sparkSession.createDataFrame(rows, known)
        return members.drop("client_library", "join_order").join(owners, ["group_id", "client_id"])

    return name


def named(set_up: SetUp) -> str:
    return set_up.group


def verdict(group: SetUp) -> str:
    if group.group in USER_DATA:
        return USER_DATA[group.group]
    return "no" if any(client.library in WITHOUT_PROTOCOL for client in group.members) else "online"


@pytest.mark.parametrize("group", GROUPS.values(), ids=named)
def test_the_audit_says_how_a_group_migrates(seen: Seen, group: SetUp) -> None:
    found = seen.verdicts[group.group]
    assert found["migration"] == verdict(group), found["migration_reason"]


def test_the_coordinator_refuses_to_convert_assignments_with_user_data(seen: Seen) -> None:
    for group, failure in seen.refusals.items():
        assert failure.startswith("org.apache.kafka.common.errors.GroupIdNotFoundException"), group
    assert "user data" in seen.verdicts["librdkafka-cooperative-sticky"]["migration_reason"]


def test_every_group_uses_the_consumer_protocol_in_the_end(seen: Seen) -> None:
    assert {seen.types[group] for group in GROUPS} == {ConsumerGroupType.CONSUMER}


def test_the_assignments_after_the_migration_are_the_predicted_ones(seen: Seen) -> None:
    """With uniform, partitions of a few groups may be exchanged.

    Members and topics in one bucket of the coordinator's maps are in an order that depends on its history
    (docs/limits.md), and their ids are random.
    """
    missed = [group for group in GROUPS if seen.predicted[group] != seen.assigned[group]]
    certain = [group for group in missed if not share_a_bucket(seen.member_ids[group])]
    assert all(migrated(GROUPS[group].members[0]).protocols == ("server-uniform",) for group in certain), certain
    assert len(certain) <= 4, certain
    loads = [[sorted(map(len, of[group].values())) for group in certain] for of in (seen.predicted, seen.assigned)]
    assert loads[0] == loads[1]


def test_the_audit_says_how_balanced_groups_are_after_the_migration(seen: Seen) -> None:
    """If subscriptions differ, the random ids of the new members decide who has most."""
    assert seen.most_partitions.keys() == {group for group, each in GROUPS.items() if verdict(each) == "online"}
    alike = [group for group in seen.most_partitions if not group.endswith("own-topics")]
    assert {group: max(map(len, seen.assigned[group].values())) for group in alike} == {
        group: seen.most_partitions[group] for group in alike
    }


def test_enough_groups_migrate() -> None:
    assert len(GROUPS) >= 30
    libraries = {client.library for group in GROUPS.values() for client in group.members}
    assert libraries == {"java", "librdkafka", "franz-go", "sarama", "kafkajs", "kafka-python"}
