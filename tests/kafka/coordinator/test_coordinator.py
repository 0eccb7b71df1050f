"""The coordinator's rules: scenarios of Kafka's own tests, Kafka's answers to golden conversations, invariants."""

import random
from functools import cache, cmp_to_key
from typing import Any

import numpy as np
import pytest

from rebalance_sim.kafka.coordinator.classic.classic_group import comes_before
from rebalance_sim.kafka.runtime.hash_order import coordinator_order
from rebalance_sim.releases import kafka_version
from tests.oracle.coordinator_cases import as_known_to
from tests.oracle.oracle import CLASSIC_GROUP_RELEASES
from tests.support.arrays import hashes
from tests.support.cases import JsonObject, golden_sample, golden_share
from tests.support.conversations.classic_player import classic_group_answer, in_order, player_of
from tests.support.coordinator_scenarios import SCENARIOS, STATE_REQUESTS, Scenario, check
from tests.support.coordinator_scenarios.steps import fail_store, finish_store, hold_store, join, load, tick
from tests.support.model import VERSIONS

HOUR_MS = 3_600_000
FORGOTTEN = {
    ("join", "repeated"),  # A member rejoins before it was answered: the later request replaces the first.
    ("sync", "repeated"),
    ("sync", "removed"),  # A member that waits for its assignment leaves or is removed.
}
"""Requests that Kafka's coordinator never answers."""
FORGOTTEN_BY_1_0 = FORGOTTEN | {("join", "removed")}  # Since 2.1.1 the parked join of a leaving member is answered.


@cache
def cases(version: str) -> list[tuple[JsonObject, JsonObject]]:
    """Return the golden cases with Kafka's answers, except those in which it throws."""
    asked, answers = golden_sample(f"cases-coordinator-{version}"), golden_sample(f"coordinator-{version}")
    return [pair for pair in zip(asked, answers, strict=True) if "thrown" not in pair[1]]


@pytest.mark.parametrize("scenario", [*SCENARIOS, *STATE_REQUESTS], ids=lambda scenario: scenario.name)
def test_a_scenario_goes_as_in_kafkas_tests(scenario: Scenario) -> None:
    for version in scenario.versions:
        check(scenario, version, classic_group_answer(version, scenario.case()))


@pytest.mark.parametrize("version", VERSIONS)
def test_golden_conversations_get_kafkas_answers(version: str) -> None:
    pairs = ((classic_group_answer(version, case, theirs["made"]), theirs) for case, theirs in cases(version))
    assert [ours["id"] for ours, theirs in pairs if differ(ours, theirs)] == []


def differ(ours: JsonObject, theirs: JsonObject) -> bool:
    """Return whether the coordinator answers otherwise, or keeps another group."""
    return bool((ours["answers"], ours["groups"]) != (in_order(theirs["answers"]), theirs["groups"]))


@pytest.mark.parametrize("release", CLASSIC_GROUP_RELEASES)
def test_each_release_between_2_4_and_3_9_is_answered_as_by_its_classes(release: str, seed: int) -> None:
    answers = golden_share(f"classic-groups-{release}", seed)
    asked = zip(golden_share("cases-classic-groups", seed), answers, strict=True)
    pairs = ((classic_group_answer(release, as_known_to(release, case), of["made"]), of) for case, of in asked)
    assert [ours["id"] for ours, theirs in pairs if differ(ours, theirs) and not ours["left_out"]] == []


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("count", [12, 13, 24, 25, 49, 100])
def test_members_are_in_the_order_of_the_map_that_elections_use(version: str, count: int) -> None:
    """Elections are compared with Kafka's for maps of these sizes (tests/kafka/test_golden.py)."""
    rng = random.Random(count)
    ids = [f"{rng.getrandbits(64):x}" for _ in range(count)]
    player = player_of(version, {"id": "joins", "steps": [join(0) for _ in ids]}, ids)
    player.play()

    def compare(one: int, other: int) -> int:
        return -1 if comes_before(player.classic, one, other) else 1

    rule = int(kafka_version(version).coordinator_map)
    expected = coordinator_order(hashes(ids), np.arange(count, dtype=np.int32), rule)
    assert sorted(range(count), key=cmp_to_key(compare)) == expected.tolist()


@pytest.mark.parametrize("version", VERSIONS)
def test_every_request_is_answered_once(version: str) -> None:
    """Provided that time goes on and the log accepts writes.

    The player itself checks that no request is answered twice and that the generation never falls; an illegal change
    of state is an exception.
    """
    allowed = FORGOTTEN_BY_1_0 if version == "1.0" else FORGOTTEN
    for case, answer in cases(version)[::3]:
        ours = classic_group_answer(version, case | {"steps": _run_on(case["steps"])}, answer["made"])
        assert ours["parked"] == {}, case["id"]
        asked = {number: step["request"] for number, step in enumerate(case["steps"]) if _is_asked(step)}
        answered = [each["step"] for each in ours["answers"]]
        assert len(answered) == len(set(answered))
        unanswered = {number: request for number, request in asked.items() if number not in answered}
        forgotten = {(request, ours["forgotten"].get(number)) for number, request in unanswered.items()}
        assert forgotten <= allowed, case["id"]


def _is_asked(step: JsonObject) -> bool:
    return step["request"] in ("join", "sync", "heartbeat", "leave", "commit", "fetch")


def _run_on(steps: list[JsonObject]) -> list[Any]:
    now = steps[-1]["at_ms"]
    mended = [hold_store(now, held=False), fail_store(now, "NONE"), finish_store(now), load(now)]
    return [*steps, *mended, *(tick(now + hours * HOUR_MS) for hours in range(1, 4))]
