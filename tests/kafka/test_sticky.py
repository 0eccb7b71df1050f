"""The twins of the sticky assignors give Kafka's own answers to the committed cases."""

from functools import cache

import pytest

from tests.kafka.cases import STICKY_TWINS, golden, group_of, outcome_of, twins_outcome
from tests.naive.model import Group

CASES = 1801


@cache
def groups() -> list[Group]:
    return [group_of(case) for case in golden("cases-sticky")]


@pytest.mark.parametrize(("strategy", "version"), STICKY_TWINS)
def test_golden_answers(strategy: str, version: str) -> None:
    """The same partitions in the same order, member by member; or the same exception."""
    answers = [outcome_of(answer) for answer in golden(f"{strategy}-{version}")]
    ours = [twins_outcome(strategy, version, group) for group in groups()]
    assert len(answers) == CASES
    assert [pair for pair in zip(answers, ours, strict=True) if pair[0] != pair[1]] == []
