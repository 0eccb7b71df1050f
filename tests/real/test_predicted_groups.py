"""The assignments predicted from the state of groups before a change are those after it, on a live broker."""

from contextlib import ExitStack
from dataclasses import dataclass

import pytest
from pyspark.sql import SparkSession

from rebalance_sim.sources.live_cluster.cluster import read_cluster
from tests.real.conftest import VERSIONS
from tests.support.cluster import truth
from tests.support.cluster.broker import running
from tests.support.cluster.clients import JavaConsumers, KafkaPythonConsumers, Partitions, RdkafkaConsumers, Runner
from tests.support.cluster.live_set_ups import LiveSetUps, share_a_bucket, topics_share_a_bucket
from tests.support.cluster.predicted_set_ups import Predicted, members_before, predict
from tests.support.cluster.set_ups import BY_CHANCE, SET_UPS, SetUp

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.alone,
    pytest.mark.filterwarnings("ignore:(read|open)_text is deprecated"),
]

HEARTBEATS = {f"group.consumer.{of}heartbeat.interval.ms": "1000" for of in ("", "min.")}
"""Consumer-protocol members learn of changes by heartbeats: more often than every 5 seconds."""


@dataclass(frozen=True)
class Seen:
    """Predictions for each group, one per draw of new member ids, and the actual assignments."""

    predicted: list[dict[str, Predicted]]
    by_library: list[dict[str, Predicted]]
    """Predictions for groups whose leader's assignor has its own name, by name and draw."""
    assigned: dict[str, dict[str, Partitions]]
    """As the clients report them."""
    generations: truth.Records
    lacking: set[str]
    """Groups whose leader assigned before it knew all topics, and once more when it did."""
    member_ids: dict[str, set[str]]
    """Ids before and after the change."""
    topic_ids: dict[str, str]


@pytest.fixture(scope="module")
def seen(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    directory = tmp_path_factory.mktemp("set-ups")
    with ExitStack() as stack:
        broker = stack.enter_context(running(VERSIONS[0], directory, settings=HEARTBEATS))
        servers = broker.bootstrap_servers
        runners: dict[str, Runner] = {
            "java": stack.enter_context(JavaConsumers(broker.version, servers, directory / "consumers.log")),
            "librdkafka": stack.enter_context(RdkafkaConsumers(servers)),
            "kafka-python": stack.enter_context(KafkaPythonConsumers(servers)),
        }
        live = LiveSetUps(broker, runners, SET_UPS)
        live.form()
        topics = read_cluster(spark, servers).topics.persist()
        topic_ids = {row["topic"]: row["topic_id"] for row in topics.collect()}
        records, before, resting = live.offsets_topic(), live.member_ids(), truth.records(broker)
        live.go_on()
        member_ids = {group: ids | before.get(group, set()) for group, ids in live.member_ids().items()}
        assigned, generations = live.assigned(), truth.records(broker)
        lacking = truth.lacking_topics(resting, generations)
    members = members_before(spark, records, topics, SET_UPS)
    predicted = predict(members, topics, SET_UPS, VERSIONS[0])
    by_library = [
        by_draw
        for strategy, led in OF_LIBRARIES.items()
        for by_draw in predict(members, topics, led, VERSIONS[0], strategy)
    ]
    return Seen(predicted, by_library, assigned, generations, lacking, member_ids, topic_ids)


def named(set_up: SetUp) -> str:
    return set_up.group


ALIKE = [each for each in SET_UPS if not each.differs]
OF_LIBRARIES = {
    strategy: [each for each in SET_UPS if each.strategy == strategy]
    for strategy in sorted({each.strategy for each in SET_UPS if each.strategy})
}
CLASSIC = [each for each in ALIKE if not any(client.next_generation for client in each.clients().values())]


@pytest.mark.parametrize("set_up", ALIKE, ids=named)
def test_assignments_are_as_predicted(seen: Seen, set_up: SetUp) -> None:
    if set_up not in CLASSIC and share_a_bucket(seen.member_ids[set_up.group]):
        pytest.skip("the random ids of two members share a bucket, and no record contains their join order")
    if set_up not in CLASSIC and topics_share_a_bucket({name: seen.topic_ids[name] for name in set_up.topics}):
        pytest.skip("the random ids of two topics share a bucket, and no table has the order of a target assignment")
    if set_up.group in seen.lacking:
        pytest.skip("the leader assigned before it knew all topics, and once more when it did")
    assert [each[set_up.group].assigned for each in seen.predicted] == [seen.assigned[set_up.group]] * 3


@pytest.mark.parametrize("set_up", CLASSIC, ids=named)
def test_protocol_and_leader_are_as_predicted(seen: Seen, set_up: SetUp) -> None:
    last = seen.generations[set_up.group][-1]
    clients = {member["memberId"]: member["clientId"] for member in last["members"]}
    led = {(each[set_up.group].protocol, each[set_up.group].leader) for each in seen.predicted}
    assert led == {(last["protocol"], clients[last["leader"]])}
    # The coordinator's record and the clients agree.
    by_record = {clients[member["memberId"]]: set(truth.read_assignment(member)) for member in last["members"]}
    assert by_record == seen.assigned[set_up.group]


@pytest.mark.parametrize("set_up", [each for each in SET_UPS if each.differs], ids=named)
def test_assignments_of_other_libraries_differ_where_expected(seen: Seen, set_up: SetUp) -> None:
    """They elect as predicted; their libraries' assignors give other assignments, with the same balance."""
    last = seen.generations[set_up.group][-1]
    clients = {member["memberId"]: member["clientId"] for member in last["members"]}
    led = {(each[set_up.group].protocol, each[set_up.group].leader) for each in seen.predicted}
    assert led == {(last["protocol"], clients[last["leader"]])}
    assigned = seen.assigned[set_up.group]
    if set_up.differs != BY_CHANCE:
        assert assigned not in [each[set_up.group].assigned for each in seen.predicted]
    partitions = sorted(partition for has in assigned.values() for partition in has)
    assert partitions == [(topic, number) for topic, count in set_up.topics.items() for number in range(count)]


@pytest.mark.parametrize("set_up", [each for each in SET_UPS if each.strategy], ids=named)
def test_assignments_of_other_libraries_are_as_predicted_under_their_names(seen: Seen, set_up: SetUp) -> None:
    predicted = [each[set_up.group].assigned for each in seen.by_library if set_up.group in each]
    assert predicted == [seen.assigned[set_up.group]] * 3


def test_enough_groups_are_compared() -> None:
    assert len(ALIKE) >= 60
    assert len(CLASSIC) >= 50
