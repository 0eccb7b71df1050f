"""Fresh random cases about producers, answered by Kafka's released classes and by the rules."""

from collections.abc import Callable, Iterator

import pytest

from tests.oracle import PRODUCER_VERSIONS, answers
from tests.oracle.oracle import BUILT_IN_PARTITIONER_VERSIONS, DEFAULT_PARTITIONER_VERSIONS
from tests.oracle.partitioner_cases import (
    built_in_partitioner_cases,
    default_partitioner_cases,
    murmur2_cases,
    producer_cases,
    round_robin_partitioner_cases,
    uniform_sticky_partitioner_cases,
)
from tests.support.cases import JsonObject
from tests.support.producer_answers import differences
from tests.support.shares import Draws

pytestmark = pytest.mark.oracle

CASES = 3000
RULES: dict[Callable[[int, int], Iterator[JsonObject]], tuple[str, ...]] = {
    murmur2_cases: PRODUCER_VERSIONS,
    default_partitioner_cases: DEFAULT_PARTITIONER_VERSIONS,
    built_in_partitioner_cases: BUILT_IN_PARTITIONER_VERSIONS,
    producer_cases: PRODUCER_VERSIONS,
    round_robin_partitioner_cases: ("2.8", "4.3"),
    uniform_sticky_partitioner_cases: ("2.8",),
}


@pytest.mark.parametrize(
    ("cases", "version"),
    [
        pytest.param(cases, version, id=f"{cases.__name__}-{version}")
        for cases, versions in RULES.items()
        for version in versions
    ],
)
def test_answers_are_those_of_kafkas_classes(
    cases: Callable[[int, int], Iterator[JsonObject]], version: str, seed: int, draws: Draws
) -> None:
    asked = list(cases(seed, draws(CASES)))
    assert differences(version, asked, answers(version, asked)) == [], f"seed {seed}"
