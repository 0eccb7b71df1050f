"""Groups that migrate between the classic and the consumer protocol: Kafka's answers, and invariants."""

from collections.abc import Callable, Iterator

import pytest

from tests.oracle.consumer_group_cases import consumer_group_cases
from tests.oracle.migration_cases import migration_cases
from tests.support.cases import JsonObject, golden_sample
from tests.support.conversations.mixed_player import group_answer, in_words
from tests.support.coordinator_scenarios.expectations import check
from tests.support.coordinator_scenarios.migration import SCENARIOS
from tests.support.coordinator_scenarios.scenario import Scenario
from tests.support.examples import scaled


def test_golden_conversations_get_kafkas_answers() -> None:
    cases, answers = golden_sample("cases-migration-4.3"), golden_sample("migration-4.3")
    pairs = [(group_answer(case, theirs["made"]), theirs) for case, theirs in zip(cases, answers, strict=True)]
    compared = [(in_words(ours), in_words(theirs)) for ours, theirs in pairs if "left_out" not in ours]
    assert [pair for pair in compared if pair[0] != pair[1]] == []
    assert len(pairs) - len(compared) < len(cases) / 20


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_a_scenario_goes_as_in_kafkas_tests(scenario: Scenario) -> None:
    check(scenario, "4.3", in_words(group_answer(scenario.case(), [])))


def test_scenarios_have_unique_names_and_mirrors() -> None:
    assert len({scenario.name for scenario in SCENARIOS}) == len(SCENARIOS)
    assert all(scenario.mirrored for scenario in SCENARIOS)


@pytest.mark.parametrize("cases", [consumer_group_cases, migration_cases])
def test_no_partition_has_two_members(cases: Callable[[int, int], Iterator[JsonObject]], seed: int) -> None:
    for case in cases(seed, scaled(80)):
        for group in group_answer(case, [])["groups"]:
            held = [tuple(partition) for member in _modern_members(group) for partition in _held(member)]
            assert len(held) == len(set(held)), case["id"]


def test_a_consumer_group_answers_classic_requests_at_once(seed: int) -> None:
    """No member of a consumer-protocol group waits for others."""
    for case in migration_cases(seed, scaled(40)):
        played = group_answer(case, [])
        answered = {answer["step"] for answer in played["answers"]}
        for number, (step, group) in enumerate(zip(case["steps"], played["groups"], strict=True)):
            if group is not None and "group_epoch" in group and step["request"] in ("join", "sync", "heartbeat"):
                assert number in answered, (case["id"], number)


def _modern_members(group: JsonObject | None) -> list[JsonObject]:
    return group["members"] if group is not None and "group_epoch" in group else []


def _held(member: JsonObject) -> list[list[object]]:
    return [*member["assigned"], *member.get("pending_revocation", [])]
