"""Bounds of what cannot be predicted, by hand, and around the assignments of algorithms that can.

``tests/real/test_client_assignors.py`` asks the libraries themselves.
"""

from random import Random

import numpy as np
import pytest

from rebalance_sim.kafka.guarantees import Guarantee
from tests.kafka.test_optimum import random_medium_group, random_small_group
from tests.oracle.random_cases import sticky_cases
from tests.support.batches import Batch
from tests.support.bounds import outside
from tests.support.cases import group_of
from tests.support.examples import scaled
from tests.support.model import Cluster, Group, Member, Partition

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")


def group(members: dict[str, tuple[str, str]], **partitions: int) -> Group:
    """Return members with their topics, and the partitions that they own, such as ``t0 u1``."""
    joined = []
    for name, (topics, owned) in members.items():
        had = tuple(Partition(partition[0], int(partition[1:])) for partition in owned.split())
        joined.append(Member(name, tuple(topics), owned=had, generation=3))
    return Group(tuple(joined), Cluster(partitions))


def bounds(guarantee: Guarantee, of: Group, silent: bool = False) -> dict[str, tuple[int, int]]:
    """Return the lowest and the highest figure."""
    found = {name: int(bound[0]) for name, bound in Batch([of]).bounds(guarantee, silent)._asdict().items()}
    return {
        "partitions": (found["min"], found["max"]),
        "idle": (found["idle_members_min"], found["idle_members_max"]),
        "moved": (found["moved_min"], found["moved_max"]),
    }


STICKY = [each for each in Guarantee if each not in (Guarantee.BALANCED_TOPICS, Guarantee.LEADERS_TOPICS_IN_TURN)]


@pytest.mark.parametrize("guarantee", STICKY)
def test_loads_are_exact_if_subscriptions_are_equal(guarantee: Guarantee) -> None:
    """The fullest member gives two partitions: to have one more than b would take one, to have three two."""
    of = group({"a": ("tu", "t0 t1 t2 t3 u0"), "b": ("tu", "u1 u2"), "c": ("tu", "")}, t=4, u=4)
    assert bounds(guarantee, of) == {"partitions": (2, 3), "idle": (0, 0), "moved": (2, 3)}
    assert bounds(guarantee, of, silent=True)["moved"] == (2, 7)


def test_free_partitions_raise_the_lowest_load_before_any_moves() -> None:
    of = group({"a": ("t", "t0 t1 t2 t3"), "b": ("t", "t4"), "c": ("t", "")}, t=9)
    assert bounds(Guarantee.LEAST_LOADED, of) == {"partitions": (3, 3), "idle": (0, 0), "moved": (1, 1)}


def test_unknown_generations_and_partitions_claimed_twice_may_move_more() -> None:
    twice = group({"a": ("t", "t0 t1 t2"), "b": ("t", "t2")}, t=3)
    assert bounds(Guarantee.LEAST_LOADED, twice)["moved"] == (1, 3)
    # librdkafka may assign such a partition twice.
    assert bounds(Guarantee.LEAST_LOADED_IN_RACKS, twice)["partitions"] == (0, 3)


def test_of_different_subscriptions_only_franz_gos_loads_are_exact() -> None:
    """Only a can get the four partitions of u. b and c share t."""
    of = group({"a": ("tu", ""), "b": ("t", "t0 t1 t2"), "c": ("t", "")}, t=4, u=4)
    exact = {"partitions": (2, 4), "idle": (0, 0), "moved": (1, 3)}
    assert bounds(Guarantee.MOST_BALANCED, of) == exact
    assert bounds(Guarantee.LEAST_LOADED, of) == {"partitions": (0, 7), "idle": (0, 1), "moved": (0, 3)}
    assert bounds(Guarantee.BALANCED_OR_LOST, of) == {"partitions": (1, 4), "idle": (0, 0), "moved": (0, 3)}


def test_saramas_members_that_share_no_topic_may_get_nothing() -> None:
    of = group({"a": ("u", ""), "b": ("t", ""), "c": ("t", "")}, t=4, u=4)
    assert bounds(Guarantee.LEAST_LOADED, of)["idle"] == (0, 1)
    assert bounds(Guarantee.BALANCED_OR_LOST, of) == {"partitions": (0, 4), "idle": (0, 1), "moved": (0, 0)}


def test_rack_affinity_balances_every_topic() -> None:
    of = group({"a": ("tu", "t0 t1 t2"), "b": ("tu", "")}, t=3, u=1)
    assert bounds(Guarantee.BALANCED_TOPICS, of) == {"partitions": (1, 3), "idle": (0, 0), "moved": (0, 3)}


def test_partitions_of_members_that_no_longer_subscribe_have_to_move() -> None:
    of = group({"a": ("u", "t0 t1"), "b": ("tu", "u0")}, t=2, u=1)
    assert bounds(Guarantee.LEAST_LOADED, of)["moved"][0] == 2


def test_librdkafka_returns_what_is_not_to_be_assigned() -> None:
    of = group({"a": ("t", "x0 x1"), "b": ("t", ""), "c": ("t", "")}, t=2)
    assert bounds(Guarantee.LEAST_LOADED_IN_RACKS, of) == {"partitions": (0, 3), "idle": (0, 1), "moved": (0, 0)}


@pytest.mark.parametrize(
    ("strategy", "version", "guarantee"),
    [("sticky", "2.3", Guarantee.LEAST_LOADED), ("franz-go-sticky", "4.3", Guarantee.MOST_BALANCED)],
)
def test_predicted_assignments_are_within_the_bounds(
    strategy: str, version: str, guarantee: Guarantee, seed: int
) -> None:
    """Java's sticky assignor of 2.3 is the algorithm that other libraries copied."""
    rng = Random(seed)
    groups = [
        *(random_small_group(rng) for _ in range(scaled(1500))),
        *(random_medium_group(rng) for _ in range(scaled(100))),
        *(group_of(case) for case in sticky_cases(seed, scaled(500))),
    ]
    answered = [
        (group, answer)
        for group, answer in zip(groups, Batch(groups).answers(version, strategy), strict=True)
        if isinstance(answer, dict)
    ]
    batch = Batch([group for group, _ in answered])
    bad = outside(batch, batch.bounds(guarantee, silent=False), [answer for _, answer in answered])
    assert [answered[g] for g in np.flatnonzero(bad)] == []
    assert len(answered) > len(groups) // 20


def test_kafkajs_gives_the_same_numbers_in_every_order(seed: int) -> None:
    """From 4.3 on brokers list partitions in ascending order, so that its assignments are predicted."""
    rng = Random(seed)
    groups = [*(random_small_group(rng) for _ in range(scaled(1500))), *(random_medium_group(rng) for _ in range(100))]
    batch = Batch(groups)
    answers = batch.answers("4.3", "kafkajs-roundrobin")
    figures = batch.measure([answer for answer in answers if isinstance(answer, dict)])
    found = batch.bounds(Guarantee.LEADERS_TOPICS_IN_TURN, silent=False)
    assert np.array_equal(found.unconsumed_min, figures.unconsumed)
    assert figures.unconsumed.any()
    assert np.array_equal(found.idle_members_min, figures.idle_members)
    assert np.array_equal(found.idle_members_max, figures.idle_members)
    assert np.array_equal(found.min, figures.min)
    assert np.array_equal(found.max, figures.max)
    assert (figures.moved <= found.moved_max).all()
