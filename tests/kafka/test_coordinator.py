"""The coordinator's rules: Kafka's own tests told anew, its answers to committed conversations, what always holds."""

from functools import cache
from typing import Any

import pytest

from tests.kafka.cases import JsonObject, golden
from tests.kafka.coordinator import SCENARIOS, STATE_REQUESTS, Scenario, check
from tests.kafka.coordinator.steps import fail_store, finish_store, hold_store, load, tick
from tests.kafka.coordinator_player import coordinator_kernels_answer, in_order
from tests.kafka.examples import some
from tests.naive.model import VERSIONS

CASES = 400
THROWN = {"1.0": 0, "2.3": 3, "3.9": 1, "4.3": 0}
"""Cases in which Kafka throws what it does not expect itself."""
HOUR_MS = 3_600_000
FORGOTTEN = {
    ("join", "repeated"),  # A member joins again before it was answered: the later request takes the place.
    ("sync", "repeated"),
    ("sync", "removed"),  # A member leaves, or is thrown out, that waits for its assignment.
}
"""Requests that Kafka's coordinator never answers."""
FORGOTTEN_BY_1_0 = FORGOTTEN | {("join", "removed")}  # Since 2.1.1 a parked join of who leaves is answered.


@cache
def cases(version: str) -> list[tuple[JsonObject, JsonObject]]:
    """The committed cases with Kafka's answers, but for those in which it throws."""
    pairs = [*zip(golden(f"cases-coordinator-{version}"), golden(f"coordinator-{version}"), strict=True)]
    expected = [pair for pair in pairs if "thrown" not in pair[1]]
    assert (len(pairs), len(pairs) - len(expected)) == (CASES, THROWN[version])
    return expected


@pytest.mark.parametrize(
    ("scenario", "version"),
    [(scenario, version) for scenario in (*SCENARIOS, *STATE_REQUESTS) for version in scenario.versions],
    ids=lambda value: value.name if isinstance(value, Scenario) else value,
)
def test_scenarios(scenario: Scenario, version: str) -> None:
    check(scenario, version, coordinator_kernels_answer(version, scenario.case()))


@pytest.mark.parametrize("version", VERSIONS)
def test_golden(version: str) -> None:
    different = []
    for case, answer in some(cases(version)):
        ours = coordinator_kernels_answer(version, case, answer["made"])
        if (ours["answers"], ours["groups"]) != (in_order(answer["answers"]), answer["groups"]):
            different.append(case["id"])
    assert different == []


@pytest.mark.parametrize("version", VERSIONS)
def test_every_request_is_answered_once(version: str) -> None:
    """If time goes on and the log works; the player itself checks that nothing is answered twice.

    It also checks that the generation never falls; a change of state that is not legal is an exception.
    """
    allowed = FORGOTTEN_BY_1_0 if version == "1.0" else FORGOTTEN
    for case, answer in cases(version)[::3]:
        ours = coordinator_kernels_answer(version, case | {"steps": _run_on(case["steps"])}, answer["made"])
        assert ours["parked"] == {}, case["id"]
        asked = {number: step["request"] for number, step in enumerate(case["steps"]) if _is_asked(step)}
        answered = [told["step"] for told in ours["answers"]]
        assert len(answered) == len(set(answered))
        unanswered = {number: request for number, request in asked.items() if number not in answered}
        assert {(request, ours["forgotten"].get(number)) for number, request in unanswered.items()} <= allowed, case[
            "id"
        ]


def _is_asked(step: JsonObject) -> bool:
    return step["request"] in ("join", "sync", "heartbeat", "leave", "commit", "fetch")


def _run_on(steps: list[JsonObject]) -> list[Any]:
    now = steps[-1]["at_ms"]
    mended = [hold_store(now, held=False), fail_store(now, "NONE"), finish_store(now), load(now)]
    return [*steps, *mended, *(tick(now + hours * HOUR_MS) for hours in range(1, 4))]
