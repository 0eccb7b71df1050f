"""The sticky assignors: their twins give Kafka's own answers to the committed cases, and what holds for these."""

from functools import cache

import pytest

from tests.kafka.batches import Batch
from tests.kafka.cases import STICKY_TWINS, Outcome, golden, group_of, outcome_of, twins_outcome
from tests.kafka.examples import scaled
from tests.kafka.invariants import check_sticky, next_rebalance, sticky_quirks
from tests.naive.model import Assignment, Cluster, Group, Member, Partition
from tests.oracle.random_cases import sticky_cases

CASES = 1801
ENDLESS = "TimeoutException"
MOST_REBALANCES = 5
"""In the committed cases all groups settle by then; two are enough for 19 of 20."""

every_rule = pytest.mark.parametrize(("strategy", "version"), STICKY_TWINS)


@cache
def groups() -> list[Group]:
    return [group_of(case) for case in golden("cases-sticky")]


@cache
def kafkas_answers(strategy: str, version: str) -> list[Outcome]:
    return [outcome_of(answer) for answer in golden(f"{strategy}-{version}")]


def plain(strategy: str, version: str) -> list[tuple[Group, Outcome]]:
    """Groups of which the checks must hold, all but the one that has no end, and Kafka's answers."""
    pairs = list(zip(groups(), kafkas_answers(strategy, version), strict=True))[:-1]
    return [(group, answer) for group, answer in pairs if not sticky_quirks(version, group)]


@every_rule
def test_twins(strategy: str, version: str) -> None:
    """The same partitions in the same order, member by member; or the same exception."""
    answers = kafkas_answers(strategy, version)
    ours = [twins_outcome(strategy, version, group) for group in groups()]
    assert len(answers) == CASES
    assert answers[-1] == ENDLESS
    assert [pair for pair in zip(answers, ours, strict=True) if pair[0] != pair[1]] == []


@every_rule
def test_kernels(strategy: str, version: str) -> None:
    ours = Batch(groups()).answers(version, strategy)
    answers = kafkas_answers(strategy, version)
    assert [pair for pair in zip(answers, ours, strict=True) if pair[0] != pair[1]] == []


@every_rule
def test_kernels_and_twins(strategy: str, version: str) -> None:
    others = [group_of(case) for case in sticky_cases(31, scaled(600))]
    ours = Batch(others).answers(version, strategy)
    twins = [twins_outcome(strategy, version, group) for group in others]
    assert [pair for pair in zip(twins, ours, strict=True) if pair[0] != pair[1]] == []


@pytest.mark.parametrize(
    ("version", "error"),
    [("1.0", "NoSuchElementException"), ("2.3", "NoSuchElementException"), ("4.3", "ArithmeticException")],
)
def test_nobody(version: str, error: str) -> None:
    assert twins_outcome("sticky", version, Group((), Cluster({"t": 1}))) == error


# ---- invariants


@every_rule
def test_what_holds_for_kafkas_answers(strategy: str, version: str) -> None:
    checked = plain(strategy, version)
    assert len(checked) > 0.6 * CASES
    for group, answer in checked:
        assert not isinstance(answer, str), f"{answer} for {group}"
        check_sticky(strategy, group, answer)


def test_cooperative_rebalances_settle() -> None:
    unsettled = plain("cooperative-sticky", "4.3")
    for _ in range(MOST_REBALANCES - 1):
        unsettled = [rebalanced(group, answer) for group, answer in unsettled if not is_complete(group, answer)]
    assert [pair for pair in unsettled if not is_complete(*pair)] == []


def rebalanced(group: Group, answer: Outcome) -> tuple[Group, Outcome]:
    assert not isinstance(answer, str)
    after = next_rebalance(group, answer)
    return after, twins_outcome("cooperative-sticky", "4.3", after)


def is_complete(group: Group, answer: Outcome) -> bool:
    assert not isinstance(answer, str)
    try:
        check_sticky("sticky", group, answer)
    except AssertionError:
        return False
    return True


T0, T1, T2, U0 = Partition("t", 0), Partition("t", 1), Partition("t", 2), Partition("u", 0)
GROUP = Group(
    (Member("m1", ("t", "u"), owned=(T0, T1), generation=3), Member("m2", ("t",), owned=(T1,), generation=2)),
    Cluster({"t": 3, "u": 1}),
)


def test_good_assignments_pass() -> None:
    check_sticky("sticky", GROUP, {"m1": [T0, U0], "m2": [T1, T2]})
    check_sticky("cooperative-sticky", GROUP, {"m1": [T0, U0], "m2": [T1, T2]})
    check_sticky("cooperative-sticky", GROUP, {"m1": [T0, U0], "m2": [T2]})


@pytest.mark.parametrize(
    "bad",
    [
        {"m1": [T0, U0], "m2": [T2]},
        {"m1": [T0, T1, U0], "m2": [T1, T2]},
        {"m1": [T0, T1], "m2": [T2, U0]},
        {"m1": [T0, T1, U0], "m2": [T2]},
    ],
    ids=["missing", "twice", "not wanted", "uneven"],
)
def test_bad_assignments_do_not(bad: Assignment) -> None:
    with pytest.raises(AssertionError):
        check_sticky("sticky", GROUP, bad)


@pytest.mark.parametrize(
    "bad",
    [
        {"m1": [T0, U0], "m2": [T1]},
        {"m1": [T0, T1, U0], "m2": [T1, T2]},
        {"m1": [T0], "m2": [T2, U0]},
    ],
    ids=["withheld, but of nobody", "twice", "not wanted"],
)
def test_bad_cooperative_assignments_do_not(bad: Assignment) -> None:
    with pytest.raises(AssertionError):
        check_sticky("cooperative-sticky", GROUP, bad)
