"""What is predicted from the state of groups before a change is what they have after it, on a live broker."""

from collections.abc import Collection
from contextlib import ExitStack
from dataclasses import dataclass

import pytest
from pyspark.sql import SparkSession

from rebalance_sim.kafka.strings import Strings, java_hashes
from rebalance_sim.sources.live_cluster import read_cluster
from tests.cluster import truth
from tests.cluster.clients import JavaConsumers, KafkaPythonConsumers, Partitions, RdkafkaConsumers, Runner
from tests.cluster.conftest import VERSIONS, running
from tests.cluster.live_set_ups import LiveSetUps
from tests.cluster.predicted_set_ups import Predicted, members_before, predict
from tests.cluster.set_ups import BY_CHANCE, SET_UPS, SetUp

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.alone,
    pytest.mark.filterwarnings("ignore:(read|open)_text is deprecated"),
]

HEARTBEATS = {f"group.consumer.{of}heartbeat.interval.ms": "1000" for of in ("", "min.")}
"""Members of KIP-848 are to hear of changes sooner than every 5 seconds."""


@dataclass(frozen=True)
class Seen:
    """What was predicted of each group, by the ids that newcomers may draw, and what it had then."""

    predicted: list[dict[str, Predicted]]
    by_library: list[dict[str, Predicted]]
    """What is predicted of groups whose leader's assignor has a name of its own, by name and draw."""
    assigned: dict[str, dict[str, Partitions]]
    """By the clients' own word."""
    generations: truth.Records
    member_ids: dict[str, set[str]]
    """Those before and after."""


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
        topics.count()
        records, before = live.offsets_topic(), live.member_ids()
        live.go_on()
        member_ids = {group: ids | before.get(group, set()) for group, ids in live.member_ids().items()}
        assigned, generations = live.assigned(), truth.records(broker)
    members = members_before(spark, records, topics, SET_UPS)
    predicted = predict(members, topics, SET_UPS, VERSIONS[0])
    by_library = [
        by_draw
        for strategy, led in OF_LIBRARIES.items()
        for by_draw in predict(members, topics, led, VERSIONS[0], strategy)
    ]
    return Seen(predicted, by_library, assigned, generations, member_ids)


def named(set_up: SetUp) -> str:
    return set_up.group


ALIKE = [each for each in SET_UPS if not each.differs]
OF_LIBRARIES = {
    strategy: [each for each in SET_UPS if each.strategy == strategy]
    for strategy in sorted({each.strategy for each in SET_UPS if each.strategy})
}
CLASSIC = [each for each in ALIKE if not any(client.next_generation for client in each.clients().values())]


def share_a_bucket(member_ids: Collection[str]) -> bool:
    """Tell whether two of a few members lie in one bucket of a HashMap: there the order of joining counts."""
    hashes = java_hashes(Strings.of(list(member_ids)))
    return len({int(h ^ h >> 16) & 15 for h in hashes}) < len(member_ids)


@pytest.mark.parametrize("set_up", ALIKE, ids=named)
def test_who_has_what(seen: Seen, set_up: SetUp) -> None:
    if set_up not in CLASSIC and share_a_bucket(seen.member_ids[set_up.group]):
        pytest.skip("drawn ids of two members share a bucket, and no record tells the order in which they joined")
    assert [each[set_up.group].assigned for each in seen.predicted] == [seen.assigned[set_up.group]] * 3


@pytest.mark.parametrize("set_up", CLASSIC, ids=named)
def test_protocol_and_leader(seen: Seen, set_up: SetUp) -> None:
    last = seen.generations[set_up.group][-1]
    clients = {member["memberId"]: member["clientId"] for member in last["members"]}
    led = {(each[set_up.group].protocol, each[set_up.group].leader) for each in seen.predicted}
    assert led == {(last["protocol"], clients[last["leader"]])}
    # The record and the clients agree.
    by_record = {clients[member["memberId"]]: set(truth.read_assignment(member)) for member in last["members"]}
    assert by_record == seen.assigned[set_up.group]


@pytest.mark.parametrize("set_up", [each for each in SET_UPS if each.differs], ids=named)
def test_other_clients_that_differ(seen: Seen, set_up: SetUp) -> None:
    """They elect as predicted; who has what is by rules of their own, as even but not the same."""
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
def test_by_the_assignor_of_the_leaders_library(seen: Seen, set_up: SetUp) -> None:
    predicted = [each[set_up.group].assigned for each in seen.by_library if set_up.group in each]
    assert predicted == [seen.assigned[set_up.group]] * 3


def test_there_are_enough() -> None:
    assert len(ALIKE) >= 60
    assert len(CLASSIC) >= 50
