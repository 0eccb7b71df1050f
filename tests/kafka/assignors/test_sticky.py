"""The sticky assignors give the answers of the released classes."""

from functools import cache

import pytest

from tests.support.batches import Batch
from tests.support.cases import STICKY_RULES, answer_of, golden_sample, group_of
from tests.support.model import Cluster, Group, Member, Partition

ENDLESS = "TimeoutException"
every_rule = pytest.mark.parametrize(("strategy", "version"), STICKY_RULES)


@cache
def groups() -> list[Group]:
    return [group_of(case) for case in golden_sample("cases-sticky")]


@every_rule
def test_assignments_are_kafkas(strategy: str, version: str) -> None:
    """The same partitions in the same order, member by member; or the same exception."""
    answers = [answer_of(answer) for answer in golden_sample(f"{strategy}-{version}")]
    ours = Batch(groups()).answers(version, strategy)
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
