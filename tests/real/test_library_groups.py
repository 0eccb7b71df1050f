"""Groups of every client library on a live broker, alone and mixed: what is predicted is what they do."""

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import reduce

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from rebalance_sim import last_assignments, predict, read_clusters
from rebalance_sim.kafka.brokers import Clusters
from rebalance_sim.sources.live_cluster.cluster import read_cluster
from rebalance_sim.sources.offsets_topic.fleet import read_offsets_topic
from rebalance_sim.tables import DEFAULT_CLUSTER, MEMBERS
from tests.real.conftest import VERSIONS
from tests.support.cluster import truth
from tests.support.cluster.broker import running
from tests.support.cluster.clients import Partitions
from tests.support.cluster.fleet import Client
from tests.support.cluster.library_clients import library_clients
from tests.support.cluster.library_groups import library_groups
from tests.support.cluster.live_set_ups import LiveSetUps, share_a_bucket
from tests.support.cluster.set_ups import Join
from tests.support.cluster.topic_reader import OFFSETS_RECORD

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.alone,
    pytest.mark.filterwarnings("ignore:(read|open)_text is deprecated"),
]

GROUPS = {each.group: each for each in library_groups()}
CLIENTS = {(each.group, client_id): client for each in GROUPS.values() for client_id, client in each.clients().items()}
JOINED = ("z", "y", "x", "a")
"""The clients of every group, in the order in which they joined."""
SOURCES = ("live", "offsets topic")
Assigned = dict[str, Partitions]
"""The partitions of each client of a group."""


@dataclass(frozen=True)
class Seen:
    """What the groups had, and the tables that were read while they were at rest."""

    topics: DataFrame
    clusters: Clusters
    members: dict[str, DataFrame]
    """By source."""
    joined: DataFrame
    """The members that joined then."""
    at_rest: dict[str, Assigned]
    after: dict[str, Assigned]
    lacking: set[str]
    """Groups whose leader assigned before it knew all topics, and once more when it did."""


@dataclass(frozen=True)
class Predictions:
    """What is predicted of each group."""

    assigned: dict[str, Assigned]
    errors: dict[str, str]
    uncertain: set[str]
    """Groups for which there are alternatives."""
    bounds: dict[str, Row]
    """Column ``bounds`` of groups that cannot be predicted."""


@pytest.fixture(scope="module")
def seen(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    directory = tmp_path_factory.mktemp("libraries")
    with ExitStack() as stack:
        broker = stack.enter_context(running(VERSIONS[0], directory))
        servers = broker.bootstrap_servers
        runners = stack.enter_context(library_clients(broker, directory))
        live = LiveSetUps(broker, runners, list(GROUPS.values()))
        live.form()
        capture, records = read_cluster(spark, servers), live.offsets_topic()
        topics, at_rest, before = capture.topics.persist(), live.assigned(), live.member_ids()
        members = {"live": capture.members.persist()}
        topics.count(), members["live"].count()
        assert capture.clusters is not None
        clusters = read_clusters(capture.clusters)
        resting = truth.records(broker)
        live.go_on()
        after = live.assigned()
        lacking = truth.lacking_topics(resting, truth.records(broker))
        new_ids = {group: ids - before[group] for group, ids in live.member_ids().items()}
    read = read_offsets_topic(spark.createDataFrame(records, OFFSETS_RECORD), topics=topics)
    members["offsets topic"] = read.members.persist()
    assert read.rejects.isEmpty()
    assert capture.rejects.isEmpty()
    return Seen(topics, clusters, members, joined(spark, new_ids), at_rest, after, lacking)


def joined(spark: SparkSession, new_ids: Mapping[str, set[str]]) -> DataFrame:
    """Return the rows of the members that join later."""
    rows = []
    for group, ids in new_ids.items():
        ((change,),) = GROUPS[group].rounds
        assert isinstance(change, Join)
        (member_id,) = ids
        client = change.client
        given = {
            "cluster": DEFAULT_CLUSTER,
            "group_id": group,
            "member_id": member_id,
            "client_id": client.client_id,
            "protocols": list(client.protocols),
            "subscription": list(client.topics),
            "client_library": client.library,
        }
        rows.append(tuple(map(given.get, MEMBERS.schema.names)))
    return spark.createDataFrame(rows, MEMBERS.schema)


def named(members: DataFrame) -> DataFrame:
    """Return members with their real libraries, and in the order in which they joined, as their owner knows them."""
    key = F.concat_ws("/", "group_id", "client_id")
    of_clients = {"/".join(of): client.library for of, client in CLIENTS.items()}
    libraries = F.create_map(*(F.lit(text) for pair in of_clients.items() for text in pair))
    order = F.array_position(F.array(*map(F.lit, JOINED)), F.col("client_id"))
    return members.withColumn("client_library", F.try_element_at(libraries, key)).withColumn("join_order", order)


def predictions(members: DataFrame, seen: Seen) -> Predictions:
    clients = {(row["group_id"], row["member_id"]): row["client_id"] for row in members.collect()}
    assigned: dict[str, Assigned] = {group: {} for group, _ in clients}
    last = members.transform(last_assignments(["elected"], seen.topics, seen.clusters))
    for row in last.collect():
        client_id = clients[row["group_id"], row["member_id"]]
        assigned[row["group_id"]][client_id] = {(each["topic"], each["partition"]) for each in row["partitions"]}
    balance = predict(members, seen.topics, kafka_version=seen.clusters, tables=["balance"]).balance.collect()
    errors = {row["group_id"]: row["error"] for row in balance if row["error"]}
    bounds = {row["group_id"]: row["bounds"] for row in balance if row["bounds"]}
    return Predictions(assigned, errors, {row["group_id"] for row in balance if row["alternatives"]}, bounds)


def leads(group: str) -> Client:
    return GROUPS[group].members[0]


def is_predictable(group: str) -> bool:
    """Return whether the leader's assignment is a function of what can be observed."""
    leader = leads(group)
    (protocol,) = leader.protocols
    if (leader.library, protocol) == ("librdkafka", "cooperative-sticky"):
        return len({client.topics for client in GROUPS[group].clients().values()}) == 1
    return protocol not in {
        "sarama": ("sticky",),
        # The groups have several topics.
        "franz-go": ("sticky", "cooperative-sticky"),
        "kafka-python": ("sticky",),
    }.get(leader.library, ())


def differing(groups: Iterable[str], predicted: Predictions, actual: dict[str, Assigned]) -> list[str]:
    """Return the groups whose assignment differs from the prediction, unless it is uncertain."""
    unsure = predicted.uncertain | set(predicted.errors)
    return [group for group in groups if group not in unsure and predicted.assigned[group] != actual[group]]


@pytest.mark.parametrize("joins", [False, True], ids=["at rest", "after a member joined"])
@pytest.mark.parametrize("source", SOURCES)
def test_every_group_is_predicted_or_uncertain(seen: Seen, source: str, joins: bool) -> None:
    members = seen.members[source]
    if joins:
        later = seen.joined.withColumn("join_order", F.lit(1000 if source == "offsets topic" else None).cast("long"))
        members = members.unionByName(later)
    actual = seen.after if joins else seen.at_rest
    groups = GROUPS.keys() - (seen.lacking if joins else set())
    predicted = predictions(members, seen)
    ids = members.groupBy("group_id").agg(F.collect_list("member_id").alias("ids")).collect()
    # The order in which members joined, which the sources do not tell, matters to members in one bucket of a HashMap.
    ordered = [row["group_id"] for row in ids if not share_a_bucket(row["ids"])]
    ordered = [group for group in ordered if group in groups]
    assert differing(ordered, predicted, actual) == []
    assert len(GROUPS) - len(predicted.errors) - len(predicted.uncertain) >= len(GROUPS) // 3
    # With libraries and the order of joining, only what no data tell is left.
    told = predictions(named(members), seen)
    assert differing(groups, told, actual) == []
    assert told.uncertain == set()
    assert set(told.errors) == {group for group in GROUPS if not is_predictable(group)}
    assert told.bounds.keys() == told.errors.keys()
    loads = {group: [len(partitions) for partitions in actual[group].values()] for group in told.bounds}
    outside = [
        group
        for group, bounds in told.bounds.items()
        if min(loads[group]) < bounds["min"] or max(loads[group]) > bounds["max"]
    ]
    assert outside == []


def test_enough_groups_are_compared(seen: Seen) -> None:
    libraries = [{client.library for client in each.clients().values()} for each in GROUPS.values()]
    assert len(GROUPS) - len(seen.lacking) >= 66
    assert len(reduce(set.union, libraries)) == 8
    assert sum(len(each) > 1 for each in libraries) >= 15
