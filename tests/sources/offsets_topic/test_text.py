"""The output of Kafka's console consumers for __consumer_offsets, and malformed text."""

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

from rebalance_sim.kafka.wire.offsets_topic import GroupMetadata, OffsetCommit, RecordType, Value
from rebalance_sim.sources.offsets_topic.text import BETWEEN_OBJECTS, BadText, NotPrinted, Printed, read_printed
from tests.support.cases import JsonObject, golden
from tests.support.model import VERSIONS
from tests.support.offsets_topic import expected_key, expected_value, in_any_order

MUTATIONS = 10_000
OFFSETS, GROUPS = 0, 1
JSON = {"1.0": (), "2.3": (), "3.9": (2, 3), "4.3": (0, 1)}
"""Indices of the formatters that print JSON; the others print text."""


def printed(version: str) -> Iterator[tuple[JsonObject, int, str]]:
    """Return the steps of the golden cases, the index of the formatter, and its output."""
    cases, answers = golden(f"cases-offsets-topic-{version}"), golden(f"offsets-topic-{version}")
    for case, answer in zip(cases, answers, strict=True):
        for step, record in zip(case["steps"], answer["records"], strict=True):
            for formatter, text in enumerate(record["printed"]):
                if text:
                    yield step, formatter, text


def seen_in_text(value: Value | None, version: str) -> Value | None:
    """Return the fields of a value that a formatter up to 3.8 prints."""
    if isinstance(value, OffsetCommit):
        # Up to 2.0 "NO_METADATA" is printed for empty metadata.
        metadata = "" if version == "1.0" and value.metadata == "NO_METADATA" else value.metadata
        return OffsetCommit(
            value.offset, metadata, value.commit_timestamp_ms, value.expire_timestamp_ms, value.leader_epoch
        )
    if isinstance(value, GroupMetadata):
        members = tuple(member._replace(subscription=None, assignment=None) for member in value.members)
        return GroupMetadata(value.protocol_type, value.generation, value.protocol, None, members)
    return value


@pytest.mark.parametrize("version", VERSIONS)
def test_kafkas_output_is_parsed(version: str) -> None:
    seen: Counter[tuple[bool, str]] = Counter()
    for step, formatter, text in printed(version):
        (record,) = read_printed(text)
        is_json = formatter in JSON[version]
        wanted = expected_value(step, version) if "value" in step else None
        if isinstance(record, NotPrinted):
            assert is_json
            assert record.type == step["key_version"]
            seen[is_json, "not printed"] += 1
            continue
        assert isinstance(record, Printed), text
        key = expected_key(step)
        if not is_json:
            wanted = seen_in_text(wanted, version)
            key = replace(key, type=max(key.type, RecordType.OFFSET_COMMIT))
        assert record.key == key, text
        assert (record.value and in_any_order(record.value)) == (wanted and in_any_order(wanted)), text
        seen[is_json, step["type"] if "value" in step else "tombstone"] += 1
    for is_json in {"1.0": (False,), "2.3": (False,), "3.9": (False, True), "4.3": (True,)}[version]:
        assert min(seen[is_json, kind] for kind in ("OffsetCommit", "GroupMetadata", "tombstone")) > 10


def test_objects_on_one_line_are_parsed() -> None:
    """The console consumer of 3.9 and 4.3 prints them without a separator."""
    texts = [text for _, formatter, text in printed("4.3") if formatter == OFFSETS]
    one_by_one = [record for text in texts for record in read_printed(text)]
    assert len(one_by_one) > 100
    assert list(read_printed("".join(texts))) == one_by_one
    pieces = "".join(texts).split(BETWEEN_OBJECTS)
    assert len(pieces) == len(texts)
    assert [record for piece in pieces for record in read_printed(piece)] == one_by_one
    assert list(read_printed("\n".join(texts))) == one_by_one


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Processed a total of 4 messages", "not a record as printed by Kafka's formatters"),
        ("[g,t,0]::OffsetAndMetadata(offset=x)", "value of an offset: not a record as"),
        ("[g,t,9999999999]::NULL", "partition: 9999999999 is out of range"),
        ('{"key":{"version":1,"data":{"group":"g","topic":"t"}},"value":null}', "partition is missing"),
        ('{"key":{"version":1,"data":{"group":"g","topic":1}},"value":null}', "topic: expected a text, found 1"),
        ('{"key":{"version":1,"data":{"group":"\\ud800","topic":"t"}},"value":null}', "cannot be encoded as UTF-8"),
        ('{"key":{"version":99,"data":{}},"value":null}', "key: type: 99 is unknown"),
        ('{"key":{"version":true,"data":{}},"value":null}', "version: expected a number, found True"),
        ('{"key":{"version":1,"data":' + '{"a":' * 100_000, "truncated or malformed JSON"),
        (
            '{"key":{"type":1,"data":{"group":"g","topic":"t","partition":0}},"value":7}',
            "value: expected an object, found 7",
        ),
    ],
)
def test_text_that_cannot_be_parsed_is_reported_with_a_reason(text: str, reason: str) -> None:
    (bad,) = read_printed(text)
    assert isinstance(bad, BadText)
    assert reason in bad.reason


def test_objects_before_a_malformed_one_are_parsed() -> None:
    whole = next(text for _, formatter, text in printed("4.3") if formatter == OFFSETS)
    first, bad = read_printed(whole + whole[:-5])
    assert isinstance(first, Printed)
    assert isinstance(bad, BadText)


def test_blank_lines_are_skipped() -> None:
    assert list(read_printed("")) == list(read_printed(" \r")) == []


def test_changed_text_gives_records_or_a_reason() -> None:
    rng = random.Random(9)
    whole = [text for version in VERSIONS for _, _, text in printed(version) if len(text) < 3000]
    outcomes: Counter[type] = Counter()
    for _ in range(MUTATIONS):
        records = list(read_printed(_spoilt(rng, rng.choice(whole))))
        outcomes.update(type(record) for record in records)
        for record in records:
            if isinstance(record, Printed):
                record.key.group_id.encode()
    assert outcomes[Printed] > MUTATIONS / 20
    assert outcomes[BadText] > MUTATIONS / 20


def _spoilt(rng: random.Random, text: str) -> str:
    at = rng.randrange(len(text))
    end = at + rng.choice((0, 1, 1, 3, 20, len(text)))
    inserted = rng.choice(("", "", "}", "{", '"', ",", "-", "9", "null", "\\", "]::", "\ufffd", "9" * 5000))
    return text[:at] + inserted + text[end:]
