"""Fresh random conversations about groups of KIP-848, and about their migration, with Kafka and with the rules."""

import pytest

from tests.kafka.consumer_group_player import consumer_group_answer
from tests.kafka.coordinator import scenarios_migration
from tests.kafka.coordinator.expectations import check
from tests.kafka.mixed_group_player import in_words, mixed_group_answer
from tests.oracle import answers
from tests.oracle.consumer_group_cases import consumer_group_cases
from tests.oracle.migration_cases import migration_cases

pytestmark = pytest.mark.oracle

CASES = 300


def test_consumer_groups(seed: int) -> None:
    """The log does not fail here: of what it refuses, Kafka's coordinator takes all back except timers."""
    cases = [case for case in consumer_group_cases(seed, CASES) if not _fails(case["steps"])]
    different = []
    for case, answer in zip(cases, answers("4.3", cases), strict=True):
        told = {name: answer[name] for name in ("id", "answers", "groups")}
        ours = consumer_group_answer(case)
        if ours != told:
            different.append((case, told, ours))
    assert different == [], f"seed {seed}"


def test_migrations(seed: int) -> None:
    """Left out is what the oracle cannot answer: a JoinGroup with an id that it does not know."""
    cases = list(migration_cases(seed, CASES))
    different, left_out = [], 0
    for case, answer in zip(cases, answers("4.3", cases), strict=True):
        ours = {} if "answers" not in answer else mixed_group_answer(case, answer["made"])
        if "answers" not in ours or "left_out" in ours:
            left_out += 1
        elif in_words(ours) != in_words(answer):
            different.append((case, in_words(answer), in_words(ours)))
    assert different == [], f"seed {seed}"
    assert left_out < CASES // 10


def test_scenarios_of_migrations() -> None:
    scenarios = scenarios_migration.SCENARIOS
    cases = [scenario.case() for scenario in scenarios]
    for scenario, case, answer in zip(scenarios, cases, answers("4.3", cases), strict=True):
        check(scenario, "4.3", in_words(answer))
        assert in_words(mixed_group_answer(case, answer["made"])) == in_words(answer), scenario.name


def _fails(steps: list[dict[str, object]]) -> bool:
    return any(step["request"] == "fail_store" for step in steps)
