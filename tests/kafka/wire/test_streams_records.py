"""Records of streams groups as Kafka's released coordinators write them."""

import random
from collections.abc import Iterator

import pytest

from rebalance_sim.kafka.wire.offsets_topic import RecordType, decode_key, decode_value
from rebalance_sim.kafka.wire.readable import SchemaError
from rebalance_sim.kafka.wire.streams_records import StreamsGroupMetadata
from tests.oracle.oracle import STREAMS_RECORD_RELEASES
from tests.oracle.streams_record_cases import TYPES
from tests.support.cases import JsonObject, golden
from tests.support.examples import scaled
from tests.support.offsets_topic import expected_key
from tests.support.streams_records import expected_streams_value


def records(release: str) -> Iterator[tuple[JsonObject, bytes, bytes | None]]:
    """Return the steps of the golden cases, with the bytes that Kafka wrote."""
    cases, answers = golden("cases-streams-records"), golden(f"streams-records-{release}")
    for case, answer in zip(cases, answers, strict=True):
        for step, record in zip(case["steps"], answer["records"], strict=True):
            value = record["value"]
            yield step, bytes.fromhex(record["key"]), None if value is None else bytes.fromhex(value)


@pytest.mark.parametrize("release", STREAMS_RECORD_RELEASES)
def test_kafkas_bytes_are_decoded(release: str) -> None:
    seen = set()
    for step, key, value in records(release):
        assert decode_key(key) == expected_key(step)
        assert (value is None) == ("value" not in step)
        if value is not None:
            assert decode_value(decode_key(key).type, value) == expected_streams_value(step, release)
            seen.add(step["type"])
    assert seen == set(TYPES)


def test_all_types_are_of_streams_groups_and_decoded() -> None:
    types = {RecordType(number) for number in TYPES.values()}
    assert all(each.is_of_streams_group and each.is_decoded and not each.is_of_consumers for each in types)
    assert {each for each in RecordType if each.is_of_streams_group and not each.is_decoded} == {
        RecordType.STREAMS_GROUP_PARTITION_METADATA
    }


def test_fields_of_4_4_are_ignored() -> None:
    """The epochs of the described topology have tags 2 and 3."""
    data = bytes.fromhex("0000000000070000000000000000030004000000050204000000050304fffffffe")
    assert decode_value(RecordType.STREAMS_GROUP_METADATA, data) == StreamsGroupMetadata(7, 5)


def test_changed_bytes_give_a_value_or_a_schema_error(seed: int) -> None:
    rng = random.Random(seed)
    whole = [(key, value) for _, key, value in records("4.4.0") if value is not None]
    errors = 0
    for _ in range(scaled(5000)):
        key, value = rng.choice(whole)
        spoilt = bytearray(value[: rng.randint(2, len(value))])
        spoilt[rng.randrange(2, len(spoilt) + 1) - 1] = rng.randrange(256)
        try:
            decode_value(decode_key(key).type, bytes(spoilt))
        except SchemaError:
            errors += 1
    assert 0 < errors < scaled(5000)
