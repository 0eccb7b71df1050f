"""The sticky assignors give the answers of the released classes."""

from functools import cache

import pytest

from tests.support.batches import Batch
from tests.support.cases import STICKY_RULES, Answer, answer_of, golden, group_of
from tests.support.invariants import NumberedBatch, faults, sticky_quirks
from tests.support.model import VERSIONS, Cluster, Group, Member, Partition

CASES = 1861
ENDLESS = "TimeoutException"
every_rule = pytest.mark.parametrize(("strategy", "version"), STICKY_RULES)


@cache
def groups() -> list[Group]:
    return [group_of(case) for case in golden("cases-sticky")]


@cache
def kafkas_answers(strategy: str, version: str) -> list[Answer]:
    return [answer_of(answer) for answer in golden(f"{strategy}-{version}")]


def plain(strategy: str, version: str) -> list[tuple[Group, Answer]]:
    """Return the groups without quirks or an endless loop, with Kafka's answers."""
    pairs = list(zip(groups(), kafkas_answers(strategy, version), strict=True))[:-1]
    return [(group, answer) for group, answer in pairs if not sticky_quirks(version, group)]


@every_rule
def test_assignments_are_kafkas(strategy: str, version: str) -> None:
    """The same partitions in the same order, member by member; or the same exception."""
    answers = kafkas_answers(strategy, version)
    ours = Batch(groups()).answers(version, strategy)
    assert len(answers) == CASES
    assert answers[-1] == ENDLESS
    assert [pair for pair in zip(answers, ours, strict=True) if pair[0] != pair[1]] == []


def test_a_claim_without_subscription_still_makes_an_owner_in_1_0() -> None:
    """1.0 takes the last claim for the owner, and lists the partition with the member that subscribes to the topic."""
    t, u, v = ([Partition(topic, number) for number in range(6)] for topic in "tuv")
    members = (
        Member("consumer-0", ("u",), owned=(t[4],), generation=1),
        Member("consumer-1", ("u", "v"), generation=1),
        Member("consumer-2", ("t",), generation=1),
        Member("consumer-3", ("t",), owned=(t[4],), generation=1),
    )
    assert Batch([Group(members, Cluster({"t": 6, "u": 5, "v": 5}))]).assign("1.0", "sticky") == [
        {"consumer-0": u[:5], "consumer-1": v[:5], "consumer-2": [t[0], t[1], t[3]], "consumer-3": [t[4], t[2], t[5]]}
    ]


# ---- invariants


@pytest.mark.parametrize("version", VERSIONS)
def test_invariants_hold_for_kafkas_answers(version: str) -> None:
    """The kernels' own answers, and the end of cooperative rebalances, are checked in ``test_invariants``."""
    checked = [(group, answer) for group, answer in plain("sticky", version) if isinstance(answer, dict)]
    assert len(checked) == len(plain("sticky", version)) > 0.6 * CASES
    batch = Batch([group for group, _ in checked])
    found = faults("sticky", version, NumberedBatch(batch), batch.as_arrays([answer for _, answer in checked]))
    assert {name: int(counts.sum()) for name, counts in found.items()} == dict.fromkeys(found, 0)
