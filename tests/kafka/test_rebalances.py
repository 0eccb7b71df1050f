"""Rebalance after rebalance: what members do with the answers, by hand, and the invariants in between."""

import random
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from rebalance_sim.kafka.election import PreferenceLists
from rebalance_sim.kafka.rebalances import MOST_REBALANCES, eager_members
from tests.oracle.random_cases import sticky_cases
from tests.reference.balance import measure
from tests.reference.rebalances import Rebalance, rebalances
from tests.support.arrays import hashes, ints, offsets
from tests.support.batches import Batch
from tests.support.cases import Answer, group_of
from tests.support.examples import COMPILED
from tests.support.model import Cluster, Group, Member, Partition

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")

COOPERATIVE = "cooperative-sticky"


@cache
def batch() -> Batch:
    """Return random groups, some of which rebalance for ever, and some without members."""
    some = [group_of(case) for case in sticky_cases(429, 1000 if COMPILED else 125)]
    return Batch([Group((), Cluster({"t": 1})), *some, Group((), Cluster({"t": 1}))])


@pytest.mark.parametrize(("version", "share"), [("4.3", 0.0), ("3.9", 0.2), ("4.3", 1.0)])
def test_members_do_what_the_answers_ask_of_them(version: str, share: float) -> None:
    """Every assignment, and what each member revokes and adds; the live tests ask Kafka's class for the answers."""
    rng = random.Random(429)
    eager = [{m.member_id for m in group.members if rng.random() < share} for group in batch().groups]
    flags = [m.member_id in names for group, names in zip(batch().groups, eager, strict=True) for m in group.members]

    def assign(_: Sequence[int], seen: Sequence[Group]) -> list[Answer]:
        return Batch(seen).answers(version, COOPERATIVE)

    ours = batch().by_group(batch().play(version, COOPERATIVE, np.array(flags, np.bool_)))
    expected = rebalances(batch().groups, eager, assign)
    assert [pair for pair in zip(expected, ours, strict=True) if pair[0] != pair[1]] == []


def test_random_groups_cover_all_kinds_of_rebalances() -> None:
    """Groups end at once, after two and after more rebalances, rebalance for ever, and fail at once and later."""
    summary = batch().summary(COOPERATIVE, batch().play("4.3", COOPERATIVE))
    counts = summary.rebalances
    for some in (
        counts == 1,
        counts == 2,
        counts == 3,
        ~summary.ended & (counts == MOST_REBALANCES),
        summary.errors > 0,
    ):
        assert some.sum() >= 2
    assert (summary.revoked > 0).sum() > len(counts) / 4


def test_withheld_partitions_are_assigned_in_the_next_rebalance() -> None:
    """No partition stays unassigned at the end, and no member gets a partition that another has not revoked."""
    played = batch().by_group(batch().play("4.3", COOPERATIVE))
    for group, found in zip(batch().groups, played, strict=True):
        has = {m.member_id: set(m.owned) for m in group.members}
        for rebalance in found:
            if isinstance(rebalance.answer, str):
                break
            for member_id, partitions in rebalance.answer.items():
                others = set().union(
                    *(has[other] - set(rebalance.answer[other]) for other in has if other != member_id)
                )
                assert others.isdisjoint(set(partitions) - has[member_id])
            has = {m: has[m] - set(rebalance.revoked[m]) | set(rebalance.added[m]) for m in has}
        if len(found) == 1 and not found[0].joins_again and isinstance(found[0].answer, dict):
            assert measure(group, found[0].answer).unassigned == 0


def test_groups_of_a_batch_are_independent() -> None:
    some = Batch(batch().groups[1:40])
    together = some.by_group(some.play("4.3", COOPERATIVE))
    alone = [Batch([group]) for group in some.groups]
    assert [one.by_group(one.play("4.3", COOPERATIVE))[0] for one in alone] == together


def test_the_summary_adds_up_the_rebalances() -> None:
    """The last assignment of each group, the number of its rebalances, and what was revoked in all of them."""
    played = batch().play("4.3", COOPERATIVE)
    summary = batch().summary(COOPERATIVE, played)
    found = batch().by_group(played)
    assert summary.rebalances.tolist() == [len(some) for some in found]
    assert summary.revoked.tolist() == [sum(len(p) for r in some for p in r.revoked.values()) for some in found]
    assert summary.ended.tolist() == [not some[-1].joins_again and isinstance(some[-1].answer, dict) for some in found]
    for given, some in zip(batch().lists(summary.assignments), found, strict=True):
        assert isinstance(some[-1].answer, str) or some[-1].answer == given


# ---- by hand


T = [Partition("t", number) for number in range(6)]
CLUSTER = Cluster({"t": 6, "u": 1})
A = Member("a", ("t",), owned=(T[0], T[1], T[2]), generation=4)
B = Member("b", ("t",), owned=(T[3], T[4], T[5]), generation=4)
NEW = Member("c", ("t",))


def play(*members: Member, eager: tuple[bool, ...] = ()) -> list[Rebalance]:
    one = Batch([Group(members, CLUSTER)])
    (found,) = one.by_group(one.play("4.3", COOPERATIVE, np.array(eager or [False] * len(members), np.bool_)))
    return found


def test_a_new_member_takes_two_rebalances() -> None:
    assert play(A, B, NEW) == [
        Rebalance(
            {"a": T[0:2], "b": T[3:5], "c": []}, {"a": [T[2]], "b": [T[5]], "c": []}, {"a": [], "b": [], "c": []}, True
        ),
        Rebalance(
            {"a": T[0:2], "b": T[3:5], "c": [T[2], T[5]]},
            {"a": [], "b": [], "c": []},
            {"a": [], "b": [], "c": [T[2], T[5]]},
            False,
        ),
    ]


def test_a_departed_member_takes_one_rebalance() -> None:
    """Partitions without an owner are assigned at once."""
    (only,) = play(A, NEW)
    assert only.answer == {"a": T[0:3], "c": T[3:6]}
    assert only.revoked == {"a": [], "c": []}


def test_claims_without_a_subscription_are_withheld() -> None:
    """Kafka's consumer revokes such partitions before it joins; here the leader still sees them."""
    first, second = play(replace(A, topics=("u",)), B)
    assert first.answer == {"a": [Partition("u", 0)], "b": T[3:6]}
    assert first.revoked == {"a": T[0:3], "b": []}
    assert second.answer == {"a": [Partition("u", 0)], "b": T[3:6] + T[0:3]}
    assert second.revoked == {"a": [], "b": []}


def test_a_member_that_ignores_its_assignment_revokes_unsubscribed_topics() -> None:
    first, second, *_ = play(Member("0", (), owned=(T[0],)), replace(B, owned=(T[3], T[4])))
    assert (first.answer["0"], first.revoked["0"]) == ([T[0], T[1], T[5]], [T[0]])  # type: ignore[index]
    assert second.revoked["0"] == []


def test_partitions_of_a_deleted_topic_are_revoked() -> None:
    """Another rebalance follows, though it changes nothing."""
    gone = Partition("gone", 0)
    first, second = play(replace(A, topics=("t", "gone"), owned=(*A.owned, gone)), replace(B, topics=("t", "gone")))
    assert first.revoked == {"a": [gone], "b": []}
    assert first.answer == second.answer


def test_the_latest_claim_keeps_a_partition() -> None:
    """In the same generation neither keeps it, though one of them gets it back; else the later claim counts."""
    both = replace(B, owned=(T[2], T[3], T[4]))
    first, second = play(A, both)
    assert first.revoked == {"a": [T[2]], "b": [T[2]]}
    assert second.added == {"a": [T[2]], "b": []}
    first, second = play(A, replace(both, generation=3))
    assert first.revoked == {"a": [], "b": [T[2]]}
    assert first.added == {"a": [], "b": [T[5]]}
    assert first.answer == second.answer


def test_members_that_also_offer_an_eager_assignor_revoke_everything() -> None:
    first, second = play(A, B, NEW, eager=(False, True, True))
    assert first.revoked["b"] == list(B.owned)
    assert first.answer == {"a": T[0:2], "b": [T[4]], "c": [T[3], T[5]]}
    assert second.revoked["b"] == [T[4]]


def test_a_member_that_ignores_its_assignment_rebalances_for_ever() -> None:
    """The assignor treats a member without topics as equally subscribed if it comes first."""
    idle = Member("0", ())
    found = play(idle, A, B)
    assert len(found) == MOST_REBALANCES
    # Its partitions are withheld in the first rebalance.
    assert all(rebalance.answer["0"] and rebalance.joins_again for rebalance in found[1:])  # type: ignore[index]


def test_eager_and_coordinator_assignors_take_one_rebalance() -> None:
    some = Batch([Group((A, B, NEW), CLUSTER), Group((), CLUSTER), Group((replace(A, topics=("u",)), B), CLUSTER)])
    for strategy, revoked in (("range", [6, 0, 6]), ("sticky", [6, 0, 6]), ("server-range", [3, 0, 3])):
        played = some.play("4.3", strategy)
        summary = some.summary(strategy, played)
        assert len(played) == 1
        assert summary.rebalances.tolist() == [1, 1, 1]
        assert summary.ended.all()
        assert summary.revoked.tolist() == revoked
        assert some.lists(summary.assignments) == some.assign("4.3", strategy)


def test_one_eager_assignor_makes_a_member_eager() -> None:
    names = ["cooperative-sticky", "range", "mine"]
    lists = [[0], [0, 1], [2, 0], [1]]
    preferences = PreferenceLists(offsets(map(len, lists)), ints(p for some in lists for p in some), hashes(names))
    assert eager_members(preferences, np.array([True, False, False])).tolist() == [False, True, True, True]


def test_an_empty_batch_is_empty() -> None:
    nothing = Batch([])
    assert nothing.by_group(nothing.play("4.3", COOPERATIVE)) == []
