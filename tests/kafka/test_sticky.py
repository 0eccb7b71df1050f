"""The sticky assignors: their twins give Kafka's own answers to the committed cases, and what holds for these."""

from functools import cache

import pytest

from tests.kafka.batches import Batch
from tests.kafka.cases import STICKY_TWINS, JsonObject, Outcome, golden, group_of, outcome_of, twins_outcome
from tests.kafka.examples import scaled
from tests.kafka.invariants import Wishes, faults, sticky_quirks
from tests.naive.model import VERSIONS, Cluster, Group
from tests.oracle.random_cases import sticky_cases

CASES = 1801
ENDLESS = "TimeoutException"
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


def test_a_partition_that_another_claims_but_does_not_want_any_more() -> None:
    """1.0 takes the last claim for the owner, and lists the partition with whoever wants it."""
    members: list[JsonObject] = [
        {"member_id": "consumer-0", "topics": ["u"], "owned": [["t", 4]]},
        {"member_id": "consumer-1", "topics": ["u", "v"], "owned": []},
        {"member_id": "consumer-2", "topics": ["t"], "owned": []},
        {"member_id": "consumer-3", "topics": ["t"], "owned": [["t", 4]]},
    ]
    told = [member | {"instance_id": None, "generation": 1, "rack": None} for member in members]
    group = group_of({"topics": {"t": 6, "u": 5, "v": 5}, "members": told})
    assert Batch([group]).answers("1.0", "sticky") == [twins_outcome("sticky", "1.0", group)]


# ---- invariants


@pytest.mark.parametrize("version", VERSIONS)
def test_what_holds_for_kafkas_answers(version: str) -> None:
    """What the rules answer themselves, and how cooperative members end, is looked at in ``test_invariants``."""
    checked = [(group, answer) for group, answer in plain("sticky", version) if isinstance(answer, dict)]
    assert len(checked) == len(plain("sticky", version)) > 0.6 * CASES
    batch = Batch([group for group, _ in checked])
    found = faults("sticky", version, Wishes(batch), batch.as_arrays([answer for _, answer in checked]))
    assert {name: int(counts.sum()) for name, counts in found.items()} == dict.fromkeys(found, 0)
