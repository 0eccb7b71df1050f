"""The coordinator scenarios are consistent, and their expectations fail where they should."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from tests.support.coordinator_scenarios import SCENARIOS, STATE_REQUESTS, Scenario, check
from tests.support.coordinator_scenarios.scenario import ALL, STABLE, answer, gone, group, parked, scenario
from tests.support.coordinator_scenarios.state_requests import TABLE
from tests.support.coordinator_scenarios.steps import heartbeat, join, leave

EVERY = (*SCENARIOS, *STATE_REQUESTS)
STATES = 6


def test_names_are_unique() -> None:
    assert [name for name, count in Counter(scenario.name for scenario in EVERY).items() if count > 1] == []


@pytest.mark.parametrize("scenario", EVERY, ids=lambda scenario: scenario.name)
def test_a_scenario_is_consistent(scenario: Scenario) -> None:
    times = [step["at_ms"] for step in scenario.steps]
    assert times == sorted(times), "time never goes back"
    assert scenario.expected
    for expectation in scenario.expected:
        assert -len(times) <= expectation.step < len(times), expectation
        assert set(expectation.versions) & set(scenario.versions), f"{expectation} is of no version of the scenario"


def test_every_request_is_in_the_table_in_every_state_and_version() -> None:
    pairs = Counter(version for scenario in STATE_REQUESTS for version in scenario.versions)
    static_or_pending = sum(request.since == "2.3" for request in TABLE)
    assert pairs == dict.fromkeys(ALL, len(TABLE) * STATES) | {"1.0": (len(TABLE) - static_or_pending) * STATES}


def test_scenarios_name_the_tests_of_kafka_that_they_mirror() -> None:
    of_tests = [scenario for scenario in SCENARIOS if any("Test." in name for name in scenario.mirrored)]
    assert all(scenario.mirrored for scenario in SCENARIOS)
    assert len(of_tests) >= 90


PLAYED: dict[str, Any] = {
    "answers": [
        {"step": 0, "at_ms": 3000, "error": "NONE", "member": 0, "leader": 0, "members": [[0, None, "one"]]},
        {"step": 2, "at_ms": 4000, "error": "NONE", "members": [[0, "NONE"]]},
    ],
    "groups": [None, {"state": STABLE, "generation": 1}, None],
}
SHOWN = (
    scenario("shown")
    .plays(join(0), heartbeat(3000, 0, 1), leave(4000, 0))
    .expects(
        answer(0, at_ms=3000, leader={0, 1}, members=[0], metadata={0: "one"}),
        parked(1),
        answer(-1, left=["NONE"]),
        group(1, STABLE, generation=1),
        gone(-1),
    )
)


def test_a_matching_answer_passes() -> None:
    check(SHOWN, "4.3", PLAYED)


@pytest.mark.parametrize(
    "wrong",
    [
        answer(0, at_ms=2999),
        answer(0, "UNKNOWN_MEMBER_ID"),
        answer(0, leader={1, 2}),
        answer(0, leader=None),
        answer(0, metadata={0: "two"}),
        answer(0, no_such_field=1),
        answer(1),
        answer(-1, left=["UNKNOWN_MEMBER_ID"]),
        parked(0),
        group(1, STABLE, generation=2),
        group(0, STABLE),
        gone(1),
    ],
    ids=str,
)
def test_a_mismatch_fails(wrong: Any) -> None:
    with pytest.raises(AssertionError, match="shown"):
        check(replace(SHOWN, expected=(wrong,)), "4.3", PLAYED)
