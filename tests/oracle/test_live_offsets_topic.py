"""Fresh random records of __consumer_offsets, written by Kafka's released classes and read by the program."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from rebalance_sim.kafka.wire.offsets_topic import decode_key, decode_value
from tests.oracle import answers
from tests.oracle.offsets_topic_cases import offsets_topic_cases
from tests.oracle.oracle import STREAMS_RECORD_RELEASES, VERSIONS, JsonObject, coordinator_answers
from tests.oracle.streams_record_cases import streams_record_cases
from tests.support.offsets_topic import expected_key, expected_value, in_any_order
from tests.support.shares import Draws
from tests.support.streams_records import expected_streams_value

pytestmark = pytest.mark.oracle

CASES = 1000


@pytest.mark.parametrize("version", VERSIONS)
def test_reading(version: str, seed: int, draws: Draws) -> None:
    cases = list(offsets_topic_cases(version, seed, draws(CASES)))
    misread = _misread(cases, answers(version, cases), lambda step: in_any_order(expected_value(step, version)))
    assert misread == [], f"seed {seed}"


@pytest.mark.parametrize("release", STREAMS_RECORD_RELEASES)
def test_reading_streams_groups(release: str, seed: int, draws: Draws) -> None:
    cases = list(streams_record_cases(seed, draws(CASES)))
    theirs = coordinator_answers(release, cases)
    assert _misread(cases, theirs, lambda step: expected_streams_value(step, release)) == [], f"seed {seed}"


def _misread(
    cases: Sequence[JsonObject], theirs: Sequence[JsonObject], expected: Callable[[JsonObject], Any]
) -> list[tuple[JsonObject, JsonObject]]:
    """Return the records that are not read as the fields of which Kafka wrote them."""
    found = []
    for case, answer in zip(cases, theirs, strict=True):
        for step, record in zip(case["steps"], answer["records"], strict=True):
            key = decode_key(bytes.fromhex(record["key"]))
            same = key == expected_key(step)
            if "value" in step:
                same = same and in_any_order(decode_value(key.type, bytes.fromhex(record["value"]))) == expected(step)
            if not same:
                found.append((step, record))
    return found
