"""Fresh random conversations, with Kafka's released coordinators, with the rules and with their twin."""

import pytest

from tests.kafka.coordinator_player import coordinator_kernels_answer, in_order
from tests.naive.coordinator import coordinator_answer
from tests.oracle import answers
from tests.oracle.coordinator_cases import coordinator_cases
from tests.oracle.oracle import VERSIONS

pytestmark = [pytest.mark.oracle, pytest.mark.parametrize("version", VERSIONS)]

CASES = 500


def test_rules(version: str, seed: int) -> None:
    different = []
    cases = list(coordinator_cases(version, seed, CASES))
    for case, answer in zip(cases, answers(version, cases), strict=True):
        if "thrown" in answer:
            continue
        ours = coordinator_kernels_answer(version, case, answer["made"])
        same = (ours["answers"], ours["groups"]) == (in_order(answer["answers"]), answer["groups"])
        if not same and not ours["left_out"]:
            different.append((case, answer, ours))
    assert different == [], f"seed {seed}"


def test_twin(version: str, seed: int) -> None:
    different = []
    cases = list(coordinator_cases(version, seed, CASES))
    for case, answer in zip(cases, answers(version, cases), strict=True):
        # Where the end of a write throws that was held back, what becomes of the others is not the twin's to know.
        if any(case["steps"][step]["request"] == "finish_store" for step, _ in answer.get("thrown", [])):
            continue
        theirs = {name: answer[name] for name in ("id", "made", "answers", "groups")}
        twins = coordinator_answer(version, case | {"made": answer["made"]})
        if twins != theirs:
            different.append((case, theirs, twins))
    assert different == [], f"seed {seed}"
