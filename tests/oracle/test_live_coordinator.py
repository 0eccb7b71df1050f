"""Fresh random conversations: Kafka's released coordinators and the rules give the same answers."""

import pytest

from tests.oracle import answers
from tests.oracle.coordinator_cases import coordinator_cases
from tests.oracle.oracle import VERSIONS
from tests.support.conversations.classic_player import classic_group_answer, in_order

pytestmark = [pytest.mark.oracle, pytest.mark.parametrize("version", VERSIONS)]

CASES = 500


def test_the_rules_answer_as_kafka_does(version: str, seed: int) -> None:
    different = []
    cases = list(coordinator_cases(version, seed, CASES))
    for case, answer in zip(cases, answers(version, cases), strict=True):
        if "thrown" in answer:
            continue
        ours = classic_group_answer(version, case, answer["made"])
        same = (ours["answers"], ours["groups"]) == (in_order(answer["answers"]), answer["groups"])
        if not same and not ours["left_out"]:
            different.append((case, answer, ours))
    assert different == [], f"seed {seed}"
