"""The coordinator's assignors: the answers of the released classes, and invariants."""

import random
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from rebalance_sim.kafka.assignors import ASSIGNORS
from rebalance_sim.kafka.assignors.server import uniform as server_uniform
from rebalance_sim.releases import kafka_version
from tests.oracle.oracle import SERVER_RULES, SERVER_VERSIONS
from tests.support.batches import Batch
from tests.support.cases import answer_of, golden_sample, group_of
from tests.support.examples import scaled
from tests.support.invariants import NumberedBatch, faults
from tests.support.model import Cluster, Group, Member, Partition

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")

EVERYWHERE = pytest.mark.parametrize(("version", "strategy"), [(v, s) for v in SERVER_VERSIONS for s in SERVER_RULES])


# ---- Kafka's own answers


@cache
def batch() -> Batch:
    """Return all cases as one batch."""
    return Batch([group_of(case) for case in golden_sample("cases-server")])


@EVERYWHERE
def test_assignments_are_kafkas(version: str, strategy: str) -> None:
    expected = [answer_of(answer) for answer in golden_sample(f"{strategy}-{version}")]
    ours = batch().answers(version, strategy)
    assert [pair for pair in zip(expected, ours, strict=True) if pair[0] != pair[1]] == []


# ---- invariants


def random_group(rng: random.Random, most_members: int, most_topics: int, most_partitions: int) -> Group:
    """Return an assigned group in which some members, topics and partitions are new."""
    topics = {f"topic-{i}": rng.randint(1, most_partitions) for i in range(rng.randint(1, most_topics))}
    ids = {topic: (rng.getrandbits(64), rng.getrandbits(64)) for topic in topics}
    same = rng.random() < 0.5
    members = [
        Member(
            f"consumer-{rng.randrange(10**9)}-{i}",
            tuple(topics if same else rng.sample(list(topics), rng.randint(0, len(topics)))),
            f"instance-{i}" if rng.random() < 0.2 else None,
        )
        for i in range(rng.randint(1, most_members))
    ]
    owned: list[list[Partition]] = [[] for _ in members]
    old = rng.randint(1, len(members))
    for topic, count in topics.items():
        for number in range(rng.randint(0, count)):
            owned[rng.randrange(old)].append(Partition(topic, number))
    pairs = zip(members, owned, strict=True)
    return Group(tuple(replace(member, owned=tuple(has)) for member, has in pairs), Cluster(topics, {}, ids))


@cache
def random_batch(seed: int) -> Batch:
    rng = random.Random(seed)
    small = [random_group(rng, 9, 5, 12) for _ in range(scaled(1500))]
    return Batch(small + [random_group(rng, 80, 30, 40) for _ in range(scaled(10))])


@EVERYWHERE
def test_invariants_hold(version: str, strategy: str, seed: int) -> None:
    """Partitions are assigned once: consecutive, or in shares that differ by at most one, without needless moves."""
    batch = random_batch(seed)
    outcome = ASSIGNORS[strategy].assign(batch.arrays, batch.topics, kafka_version(version))
    found = faults(strategy, version, NumberedBatch(batch), outcome.assignments)
    assert {name: int(counts.sum()) for name, counts in found.items()} == dict.fromkeys(found, 0)


@EVERYWHERE
def test_groups_of_a_batch_are_independent(version: str, strategy: str, seed: int) -> None:
    """Groups do not influence each other, and an assignment that already is the target stays as it is."""
    some = list(random_batch(seed).groups[:40])
    together = Batch(some).assign(version, strategy)
    assert [Batch([group]).assign(version, strategy)[0] for group in some] == together
    assert Batch(some[::-1]).assign(version, strategy) == together[::-1]
    stable = [
        replace(g, members=tuple(replace(m, owned=tuple(a[m.member_id])) for m in g.members))
        for g, a in zip(some, together, strict=True)
        if len({frozenset(member.topics) for member in g.members}) == 1
    ]
    again = Batch(stable).assign("4.3", strategy)
    assert again == [{m.member_id: list(m.owned) for m in group.members} for group in stable]


def test_the_order_of_members_decides_who_gets_extra_partitions() -> None:
    """With the same members in another order, other members get the extra partition."""
    cluster = Cluster({"t": 3}, {}, {"t": (1, 2)})
    batch = Batch([Group((Member("a", ("t",)), Member("b", ("t",))), cluster)])
    rules = kafka_version("4.3").server_uniform
    loads = []
    for order in ([0, 1], [1, 0]):
        outcome = server_uniform.assign_in_order(batch.arrays, batch.topics, np.array(order, np.int32), rules)
        loads.append([len(partitions) for partitions in batch.lists(outcome.assignments)[0].values()])
    assert sorted(loads) == [[1, 2], [2, 1]]


def test_kafka_3_7_does_not_count_names_without_a_topic() -> None:
    """The answer is that of 3.7.2's ``TargetAssignmentBuilder``, which passes no ids of them to ``UniformAssignor``.

    So the members subscribe alike and take turns, in whatever order their subscriptions list the names.
    """
    case = {
        "topics": {"gd7": 4, "Z_c80ZX7-82": 4, "e96-b.77c5": 4},
        "topic_ids": {
            "gd7": "7XcbzDddnsJTcXkbnAxIdQ",
            "Z_c80ZX7-82": "SQHtAJWJokbrbvarM05QRA",
            "e96-b.77c5": "z7FAdszADLEBBiAmL-0E4w",
        },
        "members": [
            {"member_id": member_id, "topics": topics, "instance_id": None, "rack": None, "owned": [], "generation": -1}
            for member_id, topics in (
                ("9805bfdb-df6f-6778-6c40-d3555ded5b64", ["e96-b.77c5", "gone0", "gd7", "Z_c80ZX7-82"]),
                ("eb468829-b0dd-e7fe-2029-5dea4b1fd0fa", ["e96-b.77c5", "gone0", "gd7", "Z_c80ZX7-82"]),
                ("9da8ee90-f787-ef4d-d41f-0d16e8b10c12", ["Z_c80ZX7-82", "e96-b.77c5", "gone0", "gd7"]),
            )
        ],
    }
    (given,) = Batch([group_of(case)]).assign("3.7.2", "server-uniform")
    assert {
        name[:4]: " ".join(sorted(f"{topic[0]}{number}" for topic, number in has)) for name, has in given.items()
    } == {"9805": "Z2 e1 g0 g3", "eb46": "Z0 Z3 e2 g1", "9da8": "Z1 e0 e3 g2"}
