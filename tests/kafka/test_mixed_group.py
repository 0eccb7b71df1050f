"""Groups that go from the classic protocol to that of KIP-848, and back: what Kafka's coordinator answered."""

import pytest

from tests.kafka.cases import JsonObject, golden
from tests.kafka.coordinator.expectations import check
from tests.kafka.coordinator.scenario import Scenario
from tests.kafka.coordinator.scenarios_migration import SCENARIOS
from tests.kafka.examples import some
from tests.kafka.mixed_group_player import in_words, mixed_group_answer
from tests.oracle.migration_cases import migration_cases

_CASES = 300


def test_answers_are_kafkas() -> None:
    cases, answers = golden("cases-migration-4.3"), golden("migration-4.3")
    assert len(cases) == _CASES
    different, left_out = [], 0
    for case, answer in some([*zip(cases, answers, strict=True)]):
        ours = mixed_group_answer(case, answer["made"])
        if "left_out" in ours:
            left_out += 1
        elif in_words(ours) != in_words(answer):
            different.append((case["id"], in_words(ours), in_words(answer)))
    assert different == []
    assert left_out < _CASES // 20


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_scenarios(scenario: Scenario) -> None:
    check(scenario, "4.3", in_words(mixed_group_answer(scenario.case(), [])))


def test_scenarios_have_names_of_their_own_and_mirrors() -> None:
    assert len({scenario.name for scenario in SCENARIOS}) == len(SCENARIOS)
    assert all(scenario.mirrors for scenario in SCENARIOS)


@pytest.mark.parametrize("seed", [1, 2])
def test_nobody_shares_a_partition(seed: int) -> None:
    for case in migration_cases(seed, 40):
        for group in mixed_group_answer(case, [])["groups"]:
            held = [tuple(partition) for member in _modern_members(group) for partition in _held(member)]
            assert len(held) == len(set(held)), case["id"]


@pytest.mark.parametrize("seed", [3])
def test_every_request_is_answered_or_waits(seed: int) -> None:
    """Nobody who syncs or beats in a group of KIP-848 waits for others."""
    for case in migration_cases(seed, 40):
        played = mixed_group_answer(case, [])
        answered = {answer["step"] for answer in played["answers"]}
        for number, (step, group) in enumerate(zip(case["steps"], played["groups"], strict=True)):
            if group is not None and "group_epoch" in group and step["request"] in ("join", "sync", "heartbeat"):
                assert number in answered, (case["id"], number)


def _modern_members(group: JsonObject | None) -> list[JsonObject]:
    return group["members"] if group is not None and "group_epoch" in group else []


def _held(member: JsonObject) -> list[list[object]]:
    return [*member["assigned"], *member.get("pending_revocation", [])]
