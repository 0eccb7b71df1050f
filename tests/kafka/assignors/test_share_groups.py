"""The assignor of share groups: the answers of the released classes to sequences of changes, and invariants."""

import random
from collections import Counter
from dataclasses import replace
from functools import cache

import pytest

from rebalance_sim.releases import ShareRules, kafka_version
from tests.oracle.oracle import SHARE_RELEASES
from tests.support.batches import Batch
from tests.support.cases import golden_sample
from tests.support.examples import scaled
from tests.support.model import Assignment, Cluster, Group, Member, Partition
from tests.support.share_groups import SharePlayer

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")


@pytest.mark.parametrize("release", SHARE_RELEASES)
def test_every_change_of_a_group_is_answered_as_by_kafka(release: str) -> None:
    """Members join, leave and subscribe, topics are created, grow and are deleted: one target after the other."""
    cases, rules = golden_sample("cases-share"), kafka_version(release).share
    theirs = golden_sample(f"share-{release}")
    players = [SharePlayer(case) for case in cases]
    for step in range(max(len(case["steps"]) for case in cases)):
        SharePlayer.play_all([player for player in players if player.goes_on(step)], step, rules)
    different = [
        (case, answer["a"], player.answers)
        for case, answer, player in zip(cases, theirs, players, strict=True)
        if answer["a"] != player.answers
    ]
    assert different == []


def test_every_rule_has_answers() -> None:
    assert {kafka_version(release).share for release in SHARE_RELEASES} == set(ShareRules)
    answers = {release: [answer["a"] for answer in golden_sample(f"share-{release}")] for release in SHARE_RELEASES}
    by_rule = {kafka_version(release).share: given for release, given in answers.items()}
    assert len({str(given) for given in by_rule.values()}) == len(ShareRules)
    assert all(by_rule[kafka_version(release).share] == given for release, given in answers.items())


# ---- invariants


def random_group(rng: random.Random) -> Group:
    """Return a group of new members."""
    topics = {f"topic-{i}": rng.randint(1, 12) for i in range(rng.randint(1, 5))}
    same = rng.random() < 0.5
    members = [
        Member(
            f"{rng.getrandbits(64):x}", tuple(topics if same else rng.sample(list(topics), rng.randint(0, len(topics))))
        )
        for _ in range(rng.randint(1, rng.choice((4, 40))))
    ]
    return Group(tuple(members), Cluster(topics, {}, {t: (rng.getrandbits(64), rng.getrandbits(64)) for t in topics}))


@cache
def random_groups(seed: int) -> Batch:
    rng = random.Random(seed)
    return Batch([random_group(rng) for _ in range(scaled(1500))])


def loads(group: Group, assignment: Assignment) -> list[int]:
    """Return the number of partitions of the members that subscribe to a topic."""
    return [len(assignment[member.member_id]) for member in group.members if member.topics]


@pytest.mark.parametrize("version", ["4.0", "4.1", "4.3"])
def test_members_get_partitions_that_exist_of_topics_to_which_they_subscribe(version: str, seed: int) -> None:
    batch = random_groups(seed)
    for group, assignment in zip(batch.groups, batch.assign(version, "share-simple"), strict=True):
        for member in group.members:
            partitions = assignment[member.member_id]
            assert partitions == sorted(set(partitions))
            assert {partition.topic for partition in partitions} <= set(member.topics)
            assert all(partition.number < group.cluster.partitions[partition.topic] for partition in partitions)


@pytest.mark.parametrize("version", ["4.0", "4.1", "4.3"])
def test_every_partition_with_a_subscriber_has_a_member(version: str, seed: int) -> None:
    batch = random_groups(seed)
    for group, assignment in zip(batch.groups, batch.assign(version, "share-simple"), strict=True):
        has_member = {partition for partitions in assignment.values() for partition in partitions}
        subscribed = {topic for member in group.members for topic in member.topics}
        assert has_member == {Partition(t, p) for t in subscribed for p in range(group.cluster.partitions[t])}


def test_members_and_partitions_get_equal_shares(seed: int) -> None:
    """Since 4.2, with equal subscriptions, members differ by one partition, and partitions by one member."""
    batch = random_groups(seed)
    for group, assignment in zip(batch.groups, batch.assign("4.3", "share-simple"), strict=True):
        if len({frozenset(member.topics) for member in group.members}) == 1 and group.members[0].topics:
            shared = Counter(partition for partitions in assignment.values() for partition in partitions)
            assert max(loads(group, assignment)) <= min(loads(group, assignment)) + 1
            assert max(shared.values()) <= min(shared.values()) + 1


def test_members_keep_a_balanced_target(seed: int) -> None:
    """Since 4.2 an assignment that nothing has changed is assigned again."""
    batch = random_groups(seed)
    assignments = batch.assign("4.3", "share-simple")
    after = [
        Group(tuple(replace(m, owned=tuple(given[m.member_id])) for m in group.members), group.cluster)
        for group, given in zip(batch.groups, assignments, strict=True)
    ]
    assert Batch(after).assign("4.3", "share-simple") == assignments
