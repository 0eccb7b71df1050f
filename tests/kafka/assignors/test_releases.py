"""The assignors of consumers and coordinators give the answers of every release at which their rules change."""

from functools import cache

import pytest

from rebalance_sim.kafka.assignors.steps.join_response import listed_members
from rebalance_sim.releases import RULE_CHANGES, ServerRangeRules, ServerUniformRules, StickyRules, kafka_version
from tests.oracle.oracle import CLIENT_RULES, SERVER_RULES
from tests.support.batches import Batch
from tests.support.cases import answer_of, golden_sample, group_of
from tests.support.model import Cluster, Group, Member, Partition

RULES = CLIENT_RULES | SERVER_RULES
ANSWERS = [(strategy, release) for strategy, releases in RULES.items() for release in releases]


@cache
def batch(cases: str) -> Batch:
    return Batch([group_of(case) for case in golden_sample(cases)])


@pytest.mark.parametrize(("strategy", "release"), ANSWERS)
def test_assignments_are_kafkas(strategy: str, release: str) -> None:
    """The same partitions in the same order, member by member; or the same exception."""
    asked = batch("cases-releases" if strategy in CLIENT_RULES else "cases-server-releases")
    theirs = [answer_of(answer) for answer in golden_sample(f"{strategy}-{release}")]
    ours = asked.answers(release, strategy)
    assert [pair for pair in zip(theirs, ours, strict=True) if pair[0] != pair[1]] == []


def test_every_change_has_answers() -> None:
    rules = [change.rules for change in RULE_CHANGES]
    assert {kafka_version(release).sticky for release in CLIENT_RULES["sticky"]} == set(StickyRules)
    walks = {rule["range_walk"] for rule in rules if "range_walk" in rule}
    assert {kafka_version(release).range_walk for release in CLIENT_RULES["range"]} == walks
    assert {kafka_version(release).server_range for release in SERVER_RULES["server-range"]} == set(ServerRangeRules)
    assert {kafka_version(release).server_uniform for release in SERVER_RULES["server-uniform"]} == {
        *ServerUniformRules
    }


@pytest.mark.parametrize(
    ("release", "order"), [("2.2.2", [0, 1]), ("2.3.0", [1, 0]), ("3.9.2", [0, 1]), ("4.0.0", [0, 1])]
)
def test_the_order_of_two_members_with_one_hash_code_in_the_join_response(release: str, order: list[int]) -> None:
    """Scala 2.11 puts a key at the head of its bucket; up to 2.2 the members are copied, which reverses the bucket."""
    group = Group((Member("Aa", ("t",)), Member("BB", ("t",))), Cluster({"t": 1}))
    assert listed_members(Batch([group]).arrays, kafka_version(release))[1].tolist() == order


@pytest.mark.parametrize(
    ("release", "first", "kept"),
    [("2.0.1", "t00", "t11"), ("2.0.1", "t11", "t00"), ("3.9.2", "t00", "t00"), ("3.9.2", "t11", "t00")],
)
def test_owned_partitions_are_encoded_once_on_their_way_to_the_leader(release: str, first: str, kept: str) -> None:
    """Each encoding may turn these topics round, as they share a bucket."""
    topics = (first, "t11" if first == "t00" else "t00")
    owned = tuple(Partition(topic, 0) for topic in topics)
    group = Group((Member("c1", topics, owned=owned), Member("c2", topics)), Cluster({"t00": 1, "t11": 1}))
    ((assignment,),) = [Batch([group]).assign(release, "sticky")]
    assert assignment["c1"] == [Partition(kept, 0)]


@pytest.mark.parametrize(("release", "kept", "moved"), [("2.0.1", "BB", "Aa"), ("2.1.0", "Aa", "BB")])
def test_consumers_before_2_1_group_user_data_by_put(release: str, kept: str, moved: str) -> None:
    """Two topics share a bucket: the order of the user data decides which partition the new member gets."""
    owned = (Partition("Aa", 0), Partition("BB", 0))
    group = Group((Member("c1", ("Aa", "BB"), owned=owned), Member("c2", ("Aa", "BB"))), Cluster({"Aa": 1, "BB": 1}))
    assert Batch([group]).assign(release, "sticky") == [{"c1": [Partition(kept, 0)], "c2": [Partition(moved, 0)]}]
