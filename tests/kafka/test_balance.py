"""Balance figures: kernels against the reference implementation."""

from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given

from rebalance_sim.kafka.balance import Balance
from tests.reference.balance import measure
from tests.support.batches import Batch
from tests.support.examples import examples
from tests.support.model import Assignment, Cluster, Group, Member, Partition
from tests.support.strategies import groups, owned_and_assigned

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")


def figures(balance: Balance, g: int) -> dict[str, Any]:
    return {name: column[g] for name, column in balance._asdict().items()}


def expect_reference_figures(batch: list[tuple[Group, Assignment]]) -> None:
    found = Batch([group for group, _ in batch]).measure([assignment for _, assignment in batch])
    for g, (group, assignment) in enumerate(batch):
        assert figures(found, g) == pytest.approx(asdict(measure(group, assignment)), rel=1e-12, abs=0)


@examples(100)
@given(owned_and_assigned())
def test_kernel_equals_the_reference_for_any_assignment(batch: list[tuple[Group, Assignment]]) -> None:
    expect_reference_figures(batch)


@examples(50)
@given(groups())
def test_kernel_equals_the_reference_for_range(batch: list[Group]) -> None:
    expect_reference_figures(list(zip(batch, Batch(batch).assign("4.3", "range"), strict=True)))


def test_topics_of_earlier_groups_do_not_count() -> None:
    cluster = Cluster({"t": 2, "u": 2})
    t, u = ([Partition(topic, 0), Partition(topic, 1)] for topic in "tu")
    first = Group((Member("m1", ("t", "u")),), cluster)
    second = Group((Member("m1", ("u",)), Member("m2", ("u",), owned=(t[0],))), cluster)
    expect_reference_figures([(first, {"m1": t + u}), (second, {"m1": u[:1], "m2": u[1:]})])


def test_large_groups_do_not_overflow() -> None:
    """The squares of the loads and their sum do not fit in 32 bits."""
    cluster = Cluster({"t": 60_000})
    group = Group(tuple(Member(f"m{i}", ("t",)) for i in range(5)), cluster)
    partitions = [Partition("t", n) for n in range(60_000)]
    starts = (0, 50_000, 50_001, 50_003, 59_000, 60_000)
    assignment = {f"m{i}": partitions[starts[i] : starts[i + 1]] for i in range(5)}
    expect_reference_figures([(group, assignment)])


def test_figures_worked_out_by_hand() -> None:
    cluster = Cluster({"t": 4, "u": 2})
    group = Group(
        (
            Member("m1", ("t",), owned=(Partition("t", 0), Partition("t", 3)), generation=3),
            Member("m2", ("t",), owned=(Partition("t", 0), Partition("t", 1), Partition("t", 9)), generation=4),
            Member("m3", ("t", "u"), owned=(Partition("t", 1),), generation=4),
        ),
        cluster,
    )
    assignment = {"m1": [Partition("t", 0), Partition("t", 1), Partition("t", 3)], "m2": [], "m3": [Partition("u", 0)]}
    found = figures(Batch([group]).measure([assignment]), 0)
    expected = {
        "partitions": 6,
        "min": 0,
        "max": 3,
        "stddev": (14 / 9) ** 0.5,
        "topic_spread": 3,
        "idle_members": 1,
        "kept": 1,
        "moved": 2,
        "unassigned": 2,
        "assigned_twice": 0,
        "not_subscribed": 0,
        "nonexistent": 0,
        "unconsumed": 2,
    }
    assert found == pytest.approx(expected)
    assert asdict(measure(group, assignment)) == pytest.approx(expected)


def test_faulty_assignments_are_counted() -> None:
    """Partitions assigned twice, unsubscribed or nonexistent; topics without subscribers do not count."""
    cluster = Cluster({"t": 2, "u": 1, "no-subscriber": 1})
    t0, t1, t9, u0 = Partition("t", 0), Partition("t", 1), Partition("t", 9), Partition("u", 0)
    others = (Partition("no-subscriber", 0), Partition("gone", 0))
    group = Group((Member("m1", ("t",)), Member("m2", ("t", "u")), Member("m3", ("u",), owned=others)), cluster)
    assignment = {"m1": [t0, t0, u0, t9], "m2": [t0, u0], "m3": [t1, u0, *others]}
    found = figures(Batch([group]).measure([assignment]), 0)
    assert (found["assigned_twice"], found["not_subscribed"], found["nonexistent"]) == (2, 3, 2)
    assert found == pytest.approx(asdict(measure(group, assignment)))


def test_partitions_without_a_subscriber_are_unconsumed() -> None:
    """KafkaJS deals out the leader's topics to all members: it assigns t-0 to m2, which subscribes to u only."""
    cluster = Cluster({"t": 2, "u": 2})
    group = Group((Member("m1", ("t",)), Member("m2", ("u",))), cluster)
    assignment = {"m1": [Partition("t", 1)], "m2": [Partition("t", 0)]}
    found = figures(Batch([group]).measure([assignment]), 0)
    assert (found["unassigned"], found["not_subscribed"], found["unconsumed"]) == (2, 1, 3)
    assert found == pytest.approx(asdict(measure(group, assignment)))
