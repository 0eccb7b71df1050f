"""What Kafka's own console consumers printed of __consumer_offsets, and broken text."""

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

from rebalance_sim.kafka.offsets_topic import GroupMetadata, OffsetCommit, RecordType, Value
from rebalance_sim.sources.offsets_topic_text import BETWEEN_OBJECTS, BadText, NotPrinted, Printed, read_printed
from tests.kafka.cases import JsonObject, golden
from tests.kafka.offsets_topic import expected_key, expected_value, in_any_order
from tests.naive.model import VERSIONS

MUTATIONS = 10_000
OFFSETS, GROUPS = 0, 1
JSON = {"1.0": (), "2.3": (), "3.9": (2, 3), "4.3": (0, 1)}
"""Places of the formatters that print JSON; those before them print text."""


def printed(version: str) -> Iterator[tuple[JsonObject, int, str]]:
    """Steps of the golden cases, the formatter's place, and what it printed."""
    cases, answers = golden(f"cases-offsets-topic-{version}"), golden(f"offsets-topic-{version}")
    for case, answer in zip(cases, answers, strict=True):
        for step, record in zip(case["steps"], answer["records"], strict=True):
            for formatter, text in enumerate(record["printed"]):
                if text:
                    yield step, formatter, text


def seen_in_text(value: Value | None, version: str) -> Value | None:
    """What a line of a formatter up to 3.8 tells of a value."""
    if isinstance(value, OffsetCommit):
        # It has been "NO_METADATA" for none, up to 2.0.
        metadata = "" if version == "1.0" and value.metadata == "NO_METADATA" else value.metadata
        return OffsetCommit(
            value.offset, metadata, value.commit_timestamp_ms, value.expire_timestamp_ms, value.leader_epoch
        )
    if isinstance(value, GroupMetadata):
        members = tuple(replace(member, subscription=None, assignment=None) for member in value.members)
        return GroupMetadata(value.protocol_type, value.generation, value.protocol, None, members)
    return value


@pytest.mark.parametrize("version", VERSIONS)
def test_reads_what_kafka_printed(version: str) -> None:
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


def test_objects_on_one_line() -> None:
    """As the console consumer of 3.9 and 4.3 leaves them: nothing parts one from the next."""
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
        ("Processed a total of 4 messages", "no record as Kafka's formatters print them"),
        ("[g,t,0]::OffsetAndMetadata(offset=x)", "offset of a key: no record as"),
        ("[g,t,9999999999]::NULL", "partition is 9999999999, beyond its range"),
        ('{"key":{"version":1,"data":{"group":"g","topic":"t"}},"value":null}', "partition is missing"),
        ('{"key":{"version":1,"data":{"group":"g","topic":1}},"value":null}', "topic is 1, expected a text"),
        ('{"key":{"version":1,"data":{"group":"\\ud800","topic":"t"}},"value":null}', "which has no UTF-8 form"),
        ('{"key":{"version":99,"data":{}},"value":null}', "key: type: 99 is not known"),
        ('{"key":{"version":true,"data":{}},"value":null}', "version is True, expected a number"),
        ('{"key":{"version":1,"data":' + '{"a":' * 100_000, "JSON that is cut off or broken"),
        (
            '{"key":{"type":1,"data":{"group":"g","topic":"t","partition":0}},"value":7}',
            "value is 7, expected an object",
        ),
    ],
)
def test_what_cannot_be_used(text: str, reason: str) -> None:
    (bad,) = read_printed(text)
    assert isinstance(bad, BadText)
    assert reason in bad.reason


def test_a_broken_object_leaves_those_before_it() -> None:
    whole = next(text for _, formatter, text in printed("4.3") if formatter == OFFSETS)
    first, bad = read_printed(whole + whole[:-5])
    assert isinstance(first, Printed)
    assert isinstance(bad, BadText)


def test_nothing_is_read_from_blank_lines() -> None:
    assert list(read_printed("")) == list(read_printed(" \r")) == []


def test_spoilt_text_gives_records_or_the_reason_why_not() -> None:
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
