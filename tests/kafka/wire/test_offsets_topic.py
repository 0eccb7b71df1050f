"""Decoding of __consumer_offsets: Kafka's own bytes, and malformed ones."""

import random
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_sim.kafka.wire.offsets_topic import (
    Key,
    RecordType,
    ShareGroupCurrentMemberAssignment,
    ShareGroupMemberMetadata,
    ShareGroupTargetAssignmentMember,
    TopicIdPartitions,
    Value,
    decode_key,
    decode_value,
)
from rebalance_sim.kafka.wire.readable import SchemaError
from tests.oracle.protocol_cases import spoilt
from tests.support.cases import JsonObject, golden
from tests.support.model import VERSIONS
from tests.support.offsets_records import CLICKS, ORDERS
from tests.support.offsets_topic import expected_key, expected_value, in_any_order

MUTATIONS = 10_000


def records(version: str) -> Iterator[tuple[JsonObject, bytes, bytes | None]]:
    """Return the steps of the golden cases, with the bytes that Kafka wrote."""
    cases, answers = golden(f"cases-offsets-topic-{version}"), golden(f"offsets-topic-{version}")
    for case, answer in zip(cases, answers, strict=True):
        for step, record in zip(case["steps"], answer["records"], strict=True):
            value = record["value"]
            yield step, bytes.fromhex(record["key"]), None if value is None else bytes.fromhex(value)


# ---- Kafka's own bytes


@pytest.mark.parametrize("version", VERSIONS)
def test_kafkas_bytes_are_decoded(version: str) -> None:
    for step, key, value in records(version):
        assert decode_key(key) == expected_key(step)
        assert (value is None) == ("value" not in step)
        if value is not None:
            assert in_any_order(decode_value(decode_key(key).type, value)) == in_any_order(
                expected_value(step, version)
            )


SHARE_RECORDS = (
    (
        "000a0005717565756500027331",
        "00000372310263032f6803076f726465727307636c69636b7300",
        ShareGroupMemberMetadata("r1", "c", "/h", ("orders", "clicks")),
    ),
    (
        "000d0005717565756500027331",
        "0000036f72646572732d6f72646572732d6f7203000000020000000000636c69636b732d636c69636b732d636c02000000010000",
        ShareGroupTargetAssignmentMember((TopicIdPartitions(ORDERS, (2, 0)), TopicIdPartitions(CLICKS, (1,)))),
    ),
    (
        "000e0005717565756500027331",
        "0000000000050000000400026f72646572732d6f72646572732d6f7202000000000000",
        ShareGroupCurrentMemberAssignment(5, 4, 0, (TopicIdPartitions(ORDERS, (0,)),)),
    ),
)
"""Keys and values that the classes of Kafka 4.3.1 write (``MessageUtil.toVersionPrefixedBytes``)."""


@pytest.mark.parametrize(("key", "value", "expected"), SHARE_RECORDS)
def test_records_of_share_groups_are_decoded(key: str, value: str, expected: Value) -> None:
    decoded = decode_key(bytes.fromhex(key))
    assert (decoded.group_id, decoded.member_id) == ("queue", "s1")
    assert decode_value(decoded.type, bytes.fromhex(value)) == expected


# ---- malformed bytes


def test_changed_bytes_give_a_value_or_a_schema_error(seed: int) -> None:
    rng = random.Random(seed)
    whole = [(key, value) for version in VERSIONS for _, key, value in records(version) if value is not None]
    outcomes: Counter[str] = Counter()
    for _ in range(MUTATIONS):
        key, value = rng.choice(whole)
        outcomes["key" if isinstance(read_key(spoilt(rng, key)), Key) else "bad key"] += 1
        read = read_value(decode_key(key).type, spoilt(rng, value))
        outcomes["bad value" if isinstance(read, str) else "value"] += 1
    assert outcomes["key"] + outcomes["bad key"] == MUTATIONS
    assert outcomes["value"] + outcomes["bad value"] == MUTATIONS
    assert min(outcomes.values()) > MUTATIONS / 20


@given(st.sampled_from(list(RecordType)), st.binary(max_size=80))
def test_any_bytes_give_a_value_or_a_schema_error(kind: RecordType, data: bytes) -> None:
    assert read_key(kind.to_bytes(2) + data) != ""
    assert read_value(kind, b"\0" + data) != ""


def test_truncated_bytes_are_an_error() -> None:
    for version in VERSIONS:
        for step, key, value in list(records(version))[:100]:
            ends = range(len(key))
            assert all(isinstance(read_key(key[:end]), str) for end in ends)
            if value is not None and len(value) < 1000:
                kind = RecordType(step["key_version"])
                assert all(isinstance(read_value(kind, value[:end]), str) for end in range(len(value)))


def read_key(data: bytes) -> Key | str:
    try:
        return decode_key(data)
    except SchemaError as problem:
        return str(problem)


def read_value(kind: RecordType, data: bytes) -> Value | str:
    try:
        return decode_value(kind, data)
    except SchemaError as problem:
        return str(problem)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("", "record key: type: 2 bytes expected at byte 0, 0 are left"),
        ("0018", "record key: type: 24 is unknown at byte 0"),
        ("ffff", "record key: type: -1 is unknown at byte 0"),
        ("00020003", "group metadata key: group: 3 bytes expected at byte 4, 0 are left"),
        ("0001000167ffff", "offset commit key: topic: string without a length at byte 5"),
        ("0001000167000174", "offset commit key: partition: 4 bytes expected at byte 8, 0 are left"),
        (
            "0008000167",
            "consumer group current member assignment key: member_id: 2 bytes expected at byte 5, 0 are left",
        ),
    ],
)
def test_errors_of_keys_name_the_field_the_value_and_the_position(data: str, message: str) -> None:
    assert read_key(bytes.fromhex(data)) == message


@pytest.mark.parametrize(
    ("kind", "data", "message"),
    [
        (RecordType.OFFSET_COMMIT, "0005", "offset commit value: version: 5 is unknown at byte 0"),
        (RecordType.OFFSET_COMMIT, "ffff", "offset commit value: version: -1 is unknown at byte 0"),
        (RecordType.OFFSET_COMMIT, "000000", "offset commit value: offset: 8 bytes expected at byte 2, 1 are left"),
        (RecordType.GROUP_METADATA, "0004ffffffffff01", "protocol_type: varint of more than 5 bytes at byte 2"),
        (RecordType.GROUP_METADATA, "000400", "protocol_type: string without a length at byte 2"),
        (RecordType.GROUP_METADATA, "0004818002", "protocol_type: string of 32768 bytes at byte 2"),
        (RecordType.CONSUMER_GROUP_METADATA, "0000000000010100ff", "tag 0: 1 bytes expected at byte 9, 0 are left"),
        (RecordType.CONSUMER_GROUP_METADATA, "00000000000101007f", "tag 0: 127 bytes expected at byte 9, 0 are left"),
        (RecordType.SHARE_GROUP_METADATA, "000000", "share group metadata value: belongs to no consumer group"),
        (
            RecordType.CONSUMER_GROUP_MEMBER_METADATA,
            "0000000002630268010000000001000100020000",
            "classic_member_metadata: 1 bytes in a field of 2 at byte",
        ),
    ],
)
def test_errors_of_values_name_the_field_the_value_and_the_position(kind: RecordType, data: str, message: str) -> None:
    read = read_value(kind, bytes.fromhex(data))
    assert isinstance(read, str)
    assert message in read


def test_fields_added_in_later_releases_are_ignored() -> None:
    data = bytes.fromhex("00000000000702000800000000000000010501ffabcd")
    assert decode_value(RecordType.CONSUMER_GROUP_METADATA, data) == decode_value(
        RecordType.CONSUMER_GROUP_METADATA, bytes.fromhex("00000000000700")
    )
