"""Fresh random records of __consumer_offsets, written by Kafka's released classes and read by the program."""

import pytest

from rebalance_sim.kafka.wire.offsets_topic import decode_key, decode_value
from tests.oracle import answers
from tests.oracle.offsets_topic_cases import offsets_topic_cases
from tests.oracle.oracle import STREAMS_RECORD_RELEASES, VERSIONS, coordinator_answers
from tests.oracle.streams_record_cases import streams_record_cases
from tests.support.offsets_topic import expected_key, expected_value, in_any_order
from tests.support.shares import Draws
from tests.support.streams_records import expected_streams_value

pytestmark = pytest.mark.oracle

CASES = 1000


@pytest.mark.parametrize("version", VERSIONS)
def test_reading(version: str, seed: int, draws: Draws) -> None:
    cases = list(offsets_topic_cases(version, seed, draws(CASES)))
    different = []
    for case, answer in zip(cases, answers(version, cases), strict=True):
        for step, record in zip(case["steps"], answer["records"], strict=True):
            key = decode_key(bytes.fromhex(record["key"]))
            same = key == expected_key(step)
            if "value" in step:
                read = decode_value(key.type, bytes.fromhex(record["value"]))
                same = same and in_any_order(read) == in_any_order(expected_value(step, version))
            if not same:
                different.append((step, record))
    assert different == [], f"seed {seed}"


@pytest.mark.parametrize("release", STREAMS_RECORD_RELEASES)
def test_reading_streams_groups(release: str, seed: int, draws: Draws) -> None:
    cases = list(streams_record_cases(seed, draws(CASES)))
    different = []
    for case, answer in zip(cases, coordinator_answers(release, cases), strict=True):
        for step, record in zip(case["steps"], answer["records"], strict=True):
            key = decode_key(bytes.fromhex(record["key"]))
            same = key == expected_key(step)
            if "value" in step:
                read = decode_value(key.type, bytes.fromhex(record["value"]))
                same = same and read == expected_streams_value(step, release)
            if not same:
                different.append((step, record))
    assert different == [], f"seed {seed}"
