"""Thousands of random groups, larger than the twins' ones, and what must hold for them."""

import random
from functools import cache

import pytest

from rebalance_sim.versions import kafka_version
from tests.kafka.batches import Batch
from tests.kafka.examples import scaled
from tests.kafka.invariants import check, check_range, check_roundrobin
from tests.naive.model import VERSIONS, Assignment, Cluster, Group, Member, Partition

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")

SMALL, LARGE = 3000, 12
RACKS = ("a", "b", "c")


def random_cluster(rng: random.Random, most_topics: int, most_partitions: int) -> Cluster:
    topics = {
        f"topic-{rng.randrange(10**6)}": rng.randint(0, most_partitions) for _ in range(rng.randint(1, most_topics))
    }
    if rng.random() < 0.6:
        return Cluster(topics)
    racks = {t: [rng.sample(RACKS, rng.randint(1, 3)) for _ in range(count)] for t, count in topics.items()}
    return Cluster(topics, racks)


def random_group(rng: random.Random, cluster: Cluster, most_members: int) -> Group:
    topics = [*cluster.partitions, "nowhere"]
    same = rng.random() < 0.5
    static = rng.choice((0.0, 0.5, 1.0))
    members = [
        Member(
            f"consumer-{rng.randrange(10**9)}-{i}",
            tuple(rng.sample(topics, len(topics) if same else rng.randint(0, len(topics)))),
            f"instance-{rng.randrange(10**6)}-{i}" if rng.random() < static else None,
            rng.choice((*RACKS, "elsewhere", None)) if cluster.racks else None,
        )
        for i in range(rng.randint(0, most_members))
    ]
    return Group(tuple(members), cluster)


@cache
def random_batch() -> Batch:
    rng = random.Random(2024)
    groups = []
    for _ in range(scaled(SMALL) // 3):
        cluster = random_cluster(rng, 6, 12)
        groups += [random_group(rng, cluster, 9) for _ in range(3)]
    for _ in range(scaled(LARGE)):
        groups.append(random_group(rng, random_cluster(rng, 30, 40), 150))
    return Batch(groups)


@pytest.mark.parametrize("version", VERSIONS)
def test_range(version: str) -> None:
    batch = random_batch()
    rack_aware = kafka_version(version).rack_aware
    for group, assignment in zip(batch.groups, batch.assign(version, "range"), strict=True):
        check_range(version, group, assignment, rack_aware and bool(group.cluster.racks))


@pytest.mark.parametrize("version", VERSIONS)
def test_roundrobin(version: str) -> None:
    batch = random_batch()
    for group, assignment in zip(batch.groups, batch.assign(version, "roundrobin"), strict=True):
        check_roundrobin(group, assignment)


# ---- the checker itself


GROUP = Group((Member("m1", ("t", "u")), Member("m2", ("t",))), Cluster({"t": 4, "u": 1, "unwanted": 1}))
T0, T1, T2, T3, U0 = (Partition("t", 0), Partition("t", 1), Partition("t", 2), Partition("t", 3), Partition("u", 0))


def test_good_assignments_pass() -> None:
    check_range("4.3", GROUP, {"m1": [T0, T1, U0], "m2": [T2, T3]}, racks_matter=False)
    check_range("4.3", GROUP, {"m1": [T0, T2, U0], "m2": [T1, T3]}, racks_matter=True)
    check_roundrobin(GROUP, {"m1": [T0, U0], "m2": [T1, T2, T3]})


@pytest.mark.parametrize(
    "bad",
    [
        {"m1": [T0, T1, U0], "m2": [T2]},
        {"m1": [T0, T1, U0], "m2": [T1, T2, T3]},
        {"m1": [T0, T1, U0, U0], "m2": [T2, T3]},
        {"m1": [T0, T1], "m2": [T2, T3, U0]},
        {"m1": [T0, T1, U0, Partition("t", 4)], "m2": [T2, T3]},
        {"m1": [T0, T1, U0, Partition("unwanted", 0)], "m2": [T2, T3]},
        {"m1": [T0, T1, T2, T3, U0]},
    ],
    ids=["missing", "twice", "twice by one", "not wanted", "no such partition", "topic of nobody", "no member"],
)
def test_bad_assignments_do_not(bad: Assignment) -> None:
    with pytest.raises(AssertionError):
        check(GROUP, bad)


@pytest.mark.parametrize(
    "bad",
    [
        {"m1": [T0, T1, T2, U0], "m2": [T3]},
        {"m1": [T0, T2, U0], "m2": [T1, T3]},
        {"m1": [T2, T3, U0], "m2": [T0, T1]},
    ],
    ids=["uneven", "no blocks", "blocks in another order"],
)
def test_bad_ranges_do_not_pass(bad: Assignment) -> None:
    check(GROUP, bad)
    with pytest.raises(AssertionError):
        check_range("4.3", GROUP, bad, racks_matter=False)


def test_the_last_members_must_not_have_more() -> None:
    group = Group((Member("m1", ("t",)), Member("m2", ("t",))), Cluster({"t": 3}))
    with pytest.raises(AssertionError):
        check_range("4.3", group, {"m1": [T0], "m2": [T1, T2]}, racks_matter=False)


def test_uneven_roundrobin_does_not_pass() -> None:
    group = Group((Member("m1", ("t",)), Member("m2", ("t",))), Cluster({"t": 4}))
    with pytest.raises(AssertionError):
        check_roundrobin(group, {"m1": [T0, T1, T2], "m2": [T3]})


def test_checks_are_not_in_vain() -> None:
    """The random groups have members, partitions, racks and idle members in plenty."""
    batch = random_batch()
    assignments = batch.assign("4.3", "range")
    with_racks = sum(bool(group.cluster.racks) and len(group.members) > 1 for group in batch.groups)
    with_idle_members = sum(not all(lists.values()) for lists in assignments)
    with_many_partitions = sum(sum(map(len, lists.values())) > 10 for lists in assignments)
    assert min(with_racks, with_idle_members, with_many_partitions) > len(batch.groups) // 10
