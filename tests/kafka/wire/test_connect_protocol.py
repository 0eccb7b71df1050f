"""Encoding and decoding of Connect's protocol: Kafka's own bytes, and malformed bytes."""

import random
from base64 import b64decode
from contextlib import suppress

import pytest

from rebalance_sim.kafka.wire.connect_protocol import (
    EAGER,
    ConnectAssignment,
    WorkerMetadata,
    decode_connect_assignment,
    decode_worker_metadata,
    encode_connect_assignment,
    encode_worker_metadata,
)
from rebalance_sim.kafka.wire.readable import SchemaError
from tests.oracle.protocol_cases import spoilt
from tests.support.cases import golden

_RELEASE = "4.3.1"


def _answered() -> list[tuple[str, bytes, bytes]]:
    """Return protocols, with what workers sent and what the leader answered."""
    cases, answers = golden("cases-connect"), golden(f"connect-{_RELEASE}")
    return [
        (step["protocol"], b64decode(answer["sent"]), b64decode(answer["answer"]))
        for case, answered in zip(cases, answers, strict=True)
        for step, rebalance in zip(case["steps"], answered["rebalances"], strict=True)
        for answer in rebalance.values()
    ]


def test_kafkas_bytes_are_read_and_written_again() -> None:
    for protocol, sent, answer in _answered():
        assert encode_worker_metadata(decode_worker_metadata(sent), protocol) == sent
        assert encode_connect_assignment(decode_connect_assignment(answer), protocol) == answer


def test_a_new_worker_runs_nothing() -> None:
    sent = encode_worker_metadata(WorkerMetadata("http://a:8083/", 7), "sessioned")
    assert decode_worker_metadata(sent) == WorkerMetadata("http://a:8083/", 7, None)
    assert decode_worker_metadata(encode_worker_metadata(WorkerMetadata("a", 7), EAGER)).config_offset == 7


def test_versions_newer_than_known_are_read() -> None:
    answer = encode_connect_assignment(ConnectAssignment("a", "url", 3, ("sink",), delay_ms=5), "sessioned")
    newer = b"\x00\x07" + answer[2:] + b"more"
    assert decode_connect_assignment(newer) == decode_connect_assignment(answer)
    with pytest.raises(SchemaError, match=r"worker assignment: version: -1 at byte 0; versions begin with 0"):
        decode_connect_assignment(b"\xff\xff")


def test_malformed_bytes_are_errors(seed: int) -> None:
    rng = random.Random(seed)
    for _, sent, answer in rng.sample(_answered(), 100):
        for _ in range(5):
            with suppress(SchemaError):
                decode_worker_metadata(spoilt(rng, sent))
            with suppress(SchemaError):
                decode_connect_assignment(spoilt(rng, answer))
    with pytest.raises(SchemaError, match=r"worker metadata: url: 40 bytes expected at byte 4, 1 are left"):
        decode_worker_metadata(bytes.fromhex("0001002861"))
