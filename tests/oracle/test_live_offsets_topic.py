"""Fresh random records of __consumer_offsets, written by Kafka's released classes and read by the program."""

import pytest

from rebalance_sim.kafka.wire.offsets_topic import decode_key, decode_value
from tests.oracle import answers
from tests.oracle.offsets_topic_cases import offsets_topic_cases
from tests.oracle.oracle import VERSIONS
from tests.support.offsets_topic import expected_key, expected_value, in_any_order
from tests.support.shares import Draws

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
