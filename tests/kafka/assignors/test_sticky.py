"""The sticky assignors: reference implementations and kernels give the answers of the released classes."""

from functools import cache

import pytest

from tests.oracle.random_cases import sticky_cases
from tests.reference.model import VERSIONS, Cluster, Group
from tests.support.batches import Batch
from tests.support.cases import STICKY_REFERENCES, Answer, JsonObject, answer_of, golden, group_of, reference_answer
from tests.support.examples import scaled
from tests.support.invariants import NumberedBatch, faults, sticky_quirks

CASES = 1801
ENDLESS = "TimeoutException"
every_rule = pytest.mark.parametrize(("strategy", "version"), STICKY_REFERENCES)


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
def test_reference_gives_kafkas_answers(strategy: str, version: str) -> None:
    """The same partitions in the same order, member by member; or the same exception."""
    answers = kafkas_answers(strategy, version)
    ours = [reference_answer(strategy, version, group) for group in groups()]
    assert len(answers) == CASES
    assert answers[-1] == ENDLESS
    assert [pair for pair in zip(answers, ours, strict=True) if pair[0] != pair[1]] == []


@every_rule
def test_kernels_give_kafkas_answers(strategy: str, version: str) -> None:
    ours = Batch(groups()).answers(version, strategy)
    answers = kafkas_answers(strategy, version)
    assert [pair for pair in zip(answers, ours, strict=True) if pair[0] != pair[1]] == []


@every_rule
def test_kernels_equal_the_reference(strategy: str, version: str) -> None:
    others = [group_of(case) for case in sticky_cases(31, scaled(600))]
    ours = Batch(others).answers(version, strategy)
    expected = [reference_answer(strategy, version, group) for group in others]
    assert [pair for pair in zip(expected, ours, strict=True) if pair[0] != pair[1]] == []


@pytest.mark.parametrize(
    ("version", "error"),
    [("1.0", "NoSuchElementException"), ("2.3", "NoSuchElementException"), ("4.3", "ArithmeticException")],
)
def test_a_group_without_members_fails(version: str, error: str) -> None:
    assert reference_answer("sticky", version, Group((), Cluster({"t": 1}))) == error


def test_a_claim_without_subscription_still_makes_an_owner_in_1_0() -> None:
    """1.0 takes the last claim for the owner, and lists the partition with the member that subscribes to the topic."""
    members: list[JsonObject] = [
        {"member_id": "consumer-0", "topics": ["u"], "owned": [["t", 4]]},
        {"member_id": "consumer-1", "topics": ["u", "v"], "owned": []},
        {"member_id": "consumer-2", "topics": ["t"], "owned": []},
        {"member_id": "consumer-3", "topics": ["t"], "owned": [["t", 4]]},
    ]
    told = [member | {"instance_id": None, "generation": 1, "rack": None} for member in members]
    group = group_of({"topics": {"t": 6, "u": 5, "v": 5}, "members": told})
    assert Batch([group]).answers("1.0", "sticky") == [reference_answer("sticky", "1.0", group)]


# ---- invariants


@pytest.mark.parametrize("version", VERSIONS)
def test_invariants_hold_for_kafkas_answers(version: str) -> None:
    """The kernels' own answers, and the end of cooperative rebalances, are checked in ``test_invariants``."""
    checked = [(group, answer) for group, answer in plain("sticky", version) if isinstance(answer, dict)]
    assert len(checked) == len(plain("sticky", version)) > 0.6 * CASES
    batch = Batch([group for group, _ in checked])
    found = faults("sticky", version, NumberedBatch(batch), batch.as_arrays([answer for _, answer in checked]))
    assert {name: int(counts.sum()) for name, counts in found.items()} == dict.fromkeys(found, 0)
