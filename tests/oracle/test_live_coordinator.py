"""Fresh random conversations: Kafka's released coordinators and the rules give the same answers."""

import pytest

from tests.oracle import answers
from tests.oracle.coordinator_cases import as_known_to, coordinator_cases
from tests.oracle.oracle import CLASSIC_GROUP_RELEASES, VERSIONS, JsonObject, coordinator_answers
from tests.support.conversations.classic_player import classic_group_answer, in_order
from tests.support.shares import Draws

pytestmark = pytest.mark.oracle

CASES = 500


@pytest.mark.parametrize("version", VERSIONS)
def test_the_rules_answer_as_kafka_does(version: str, seed: int, draws: Draws) -> None:
    cases = list(coordinator_cases(version, seed, draws(CASES)))
    assert _different(version, cases, answers(version, cases)) == [], f"seed {seed}"


def test_a_release_is_answered_as_by_its_classes(seed: int, draws: Draws) -> None:
    """Each seed asks another release between 2.4.0 and 3.3.2."""
    release = CLASSIC_GROUP_RELEASES[seed % len(CLASSIC_GROUP_RELEASES)]
    cases = [as_known_to(release, case) for case in coordinator_cases("3.9", seed, draws(CASES))]
    assert _different(release, cases, coordinator_answers(release, cases)) == [], f"seed {seed}, {release}"


def _different(
    version: str, cases: list[JsonObject], answered: list[JsonObject]
) -> list[tuple[JsonObject, JsonObject, JsonObject]]:
    """Return the cases that the rules answer in another way, without those in which Kafka throws."""
    different = []
    for case, answer in zip(cases, answered, strict=True):
        if "thrown" in answer:
            continue
        ours = classic_group_answer(version, case, answer["made"])
        same = (ours["answers"], ours["groups"]) == (in_order(answer["answers"]), answer["groups"])
        if not same and not ours["left_out"]:
            different.append((case, answer, ours))
    return different
