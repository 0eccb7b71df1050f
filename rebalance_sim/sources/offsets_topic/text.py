"""Parse the console consumer's output of ``__consumer_offsets`` into keys and values of records.

The formatters for offsets and for groups print one line per record, in one format from 1.0 to 2.0 and another from 2.1
to 3.8. Since 3.9 they print JSON objects without line breaks between them. Up to 3.8 they print neither subscriptions
nor assignments of members.
"""

import base64
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rebalance_sim.kafka.wire.offsets_topic import (
    ZERO_UUID,
    GroupMember,
    GroupMetadata,
    Key,
    OffsetCommit,
    RecordType,
    Value,
)

BETWEEN_OBJECTS = '}{"key":'
"""Separates two JSON objects on a line. It cannot occur in a string, where quotation marks are escaped."""
_TAIL, _HEAD = BETWEEN_OBJECTS[:1], BETWEEN_OBJECTS[1:]
_HEADLESS = ('{"version":', '{"type":')
"""The beginnings of an object whose first characters were taken as the line separator."""
_UNKNOWN = "unknown"
"""Printed by 3.9 for records that the formatter does not support."""
_TOMBSTONE = "NULL"
_NULL = "null"
"""Printed by 2.3 for a member without group.instance.id."""
_NO_METADATA = "NO_METADATA"
"""Printed up to 2.0 for an offset without metadata."""
_NONE = -1
_INT16, _INT32, _INT64 = 2**15, 2**31, 2**63
_MOST_DIGITS = 20
_NOT_A_RECORD = "not a record as printed by Kafka's formatters"
_NAMES = {int: "a number", str: "a text", dict: "an object", list: "a list"}
_TYPES: dict[int, RecordType] = {record_type.value: record_type for record_type in RecordType}
_PRINTED_TYPES = (RecordType.LEGACY_OFFSET_COMMIT, RecordType.OFFSET_COMMIT, RecordType.GROUP_METADATA)
_DECODER = json.JSONDecoder()
_BLANK = re.compile(r"\s*")

_OFFSET = re.compile(
    r"\[(?P<group>.*?),(?P<topic>[a-zA-Z0-9._-]+),(?P<partition>-?\d+)\]::"
    r"(?P<value>\[OffsetMetadata\[.*|OffsetAndMetadata\(.*|NULL)",
    re.DOTALL,
)
_OFFSET_UNTIL_2_0 = re.compile(
    r"\[OffsetMetadata\[(?P<offset>-?\d+),(?P<metadata>.*)\],CommitTime (?P<committed>-?\d+),"
    r"ExpirationTime (?P<expires>-?\d+)\]",
    re.DOTALL,
)
_OFFSET_SINCE_2_1 = re.compile(
    r"OffsetAndMetadata\(offset=(?P<offset>-?\d+), leaderEpoch=Optional(?:\.empty|\[(?P<epoch>-?\d+)\]), "
    r"metadata=(?P<metadata>.*), commitTimestamp=(?P<committed>-?\d+), "
    r"expireTimestamp=(?:None|Some\((?P<expires>-?\d+)\))\)",
    re.DOTALL,
)
# Names are not escaped. A name that is printed twice ends where its repetition begins.
_GROUP = re.compile(
    r"(?P<group>.*)::GroupMetadata\(groupId=(?P=group), generation=(?P<generation>-?\d+), "
    r"protocolType=(?:None|Some\((?P<type>.*?)\)), currentState=\w+, members=(?:Hash)?Map\((?P<members>.*)\)\)",
    re.DOTALL,
)
_MEMBER = re.compile(
    r"(?P<member>.*?) -> MemberMetadata\(memberId=(?P=member), "
    r"(?:groupInstanceId=(?:None|Some\((?P<instance>.*?)\)), )?clientId=(?P<client>.*?), clientHost=(?P<host>\S*), "
    r"sessionTimeoutMs=(?P<session>-?\d+), rebalanceTimeoutMs=(?P<rebalance>-?\d+), "
    r"supportedProtocols=List\((?P<protocol>.*?)\)(?:, )?\)(?:, |$)",
    re.DOTALL,
)


@dataclass(frozen=True)
class Printed:
    """A record."""

    key: Key
    value: Value | None
    """None for a tombstone."""


@dataclass(frozen=True)
class NotPrinted:
    """A record that the formatter does not support: it prints only the type."""

    type: int


@dataclass(frozen=True)
class BadText:
    """Text that cannot be parsed."""

    text: str
    reason: str


class _MalformedError(ValueError):
    """The reason why text cannot be parsed."""


def read_printed(text: str) -> Iterator[Printed | NotPrinted | BadText]:
    """Parse a line, or the text between two ``BETWEEN_OBJECTS``.

    >>> [record.value.offset for record in read_printed("[g,t,0]::OffsetAndMetadata(offset=7, "
    ...     "leaderEpoch=Optional.empty, metadata=, commitTimestamp=1, expireTimestamp=None)")]
    [7]
    """
    line = text.strip("\r\n")
    if line.startswith(_HEAD):
        yield from _read_objects(line, line)
    elif line.startswith(_HEADLESS):
        yield from _read_objects(_HEAD + line, line)
    elif line.strip():
        try:
            yield _read_line(line)
        except _MalformedError as problem:
            yield BadText(line, str(problem))


# ---- JSON


def _read_objects(objects: str, given: str) -> Iterator[Printed | NotPrinted | BadText]:
    """Parse consecutive objects; the last may lack its closing brace, which is part of the separator."""
    at = 0
    while at < len(objects):
        try:
            decoded, end = _decoded(objects, at)
        except ValueError:
            yield BadText(objects[at:] if at else given, f"truncated or malformed JSON; {_NOT_A_RECORD}")
            return
        try:
            yield _record(decoded)
        except _MalformedError as problem:
            yield BadText(objects[at:end], str(problem))
        at = _BLANK.match(objects, end).end()  # type: ignore[union-attr]


def _decoded(objects: str, at: int) -> tuple[Any, int]:
    """Decode an object; raise ValueError if there is none."""
    try:
        try:
            return _DECODER.raw_decode(objects, at)
        except ValueError:
            return _DECODER.raw_decode(objects + _TAIL, at)
    except RecursionError as problem:
        raise ValueError("nested too deeply") from problem


def _record(printed: Any) -> Printed | NotPrinted:
    key, value = _field(printed, "key", dict), _field(printed, "value", dict, None)
    number = _number(key, "type" if "type" in key else "version", _INT16)
    record_type = _TYPES.get(number)
    if record_type is None:
        raise _MalformedError(f"key: type: {number} is unknown")
    if _field(key, "data", dict, _UNKNOWN) == _UNKNOWN or record_type not in _PRINTED_TYPES:
        return NotPrinted(number)
    data = _field(key, "data", dict)
    if record_type is RecordType.GROUP_METADATA:
        name = Key(record_type, _text(data, "group"))
    else:
        name = Key(record_type, _text(data, "group"), _text(data, "topic"), _number(data, "partition", _INT32))
    if value is None:
        return Printed(name, None)
    if _field(value, "data", dict, _UNKNOWN) == _UNKNOWN:
        raise _MalformedError(f"value: version: {value.get('version')!r:.40} is unknown to the formatter")
    content = _field(value, "data", dict)
    return Printed(name, _group(content) if record_type is RecordType.GROUP_METADATA else _offset(content))


def _offset(data: dict[str, Any]) -> OffsetCommit:
    epoch = _number(data, "leaderEpoch", _INT32, _NONE)
    expires = _number(data, "expireTimestamp", _INT64, _NONE)
    topic_id = _text(data, "topicId", ZERO_UUID)
    return OffsetCommit(
        _number(data, "offset", _INT64),
        _text(data, "metadata"),
        _number(data, "commitTimestamp", _INT64),
        None if expires == _NONE else expires,
        None if epoch == _NONE else epoch,
        None if topic_id == ZERO_UUID else topic_id,
    )


def _group(data: dict[str, Any]) -> GroupMetadata:
    members = tuple(_member(member) for member in _field(data, "members", list))
    timestamp = _number(data, "currentStateTimestamp", _INT64, _NONE)
    return GroupMetadata(
        _text(data, "protocolType"),
        _number(data, "generation", _INT32),
        _text(data, "protocol", None),
        _text(data, "leader", None),
        members,
        None if timestamp == _NONE else timestamp,
    )


def _member(data: Any) -> GroupMember:
    session_timeout = _number(data, "sessionTimeout", _INT32)
    rebalance_timeout = _number(data, "rebalanceTimeout", _INT32, _NONE)
    return GroupMember(
        _text(data, "memberId"),
        _text(data, "groupInstanceId", None),
        _text(data, "clientId"),
        _text(data, "clientHost"),
        session_timeout if rebalance_timeout == _NONE else rebalance_timeout,
        session_timeout,
        _bytes(data, "subscription"),
        _bytes(data, "assignment"),
    )


_MISSING = object()


def _field(holder: Any, name: str, of: type, instead: Any = _MISSING) -> Any:
    """Return a field of an object; ``instead`` is its default, and accepted as its value."""
    if not isinstance(holder, dict):
        raise _MalformedError(f"expected an object with {name!r}, found {holder!r:.40}")
    value = holder.get(name, instead)
    if value is _MISSING:
        raise _MalformedError(f"{name} is missing")
    if value == instead and type(value) is type(instead):
        return value
    if type(value) is not of:
        raise _MalformedError(f"{name}: expected {_NAMES[of]}, found {value!r:.40}")
    return value


def _number(holder: Any, name: str, end: int, instead: Any = _MISSING) -> int:
    number: int = _field(holder, name, int, instead)
    if not -end <= number < end:
        raise _MalformedError(f"{name}: {number!r:.40} is out of range")
    return number


def _text(holder: Any, name: str, instead: Any = _MISSING) -> Any:
    """Return a text, or what is accepted instead."""
    text = _field(holder, name, str, instead)
    try:
        (text or "").encode()
    except UnicodeEncodeError as problem:
        raise _MalformedError(f"{name}: {text!r:.40} cannot be encoded as UTF-8") from problem
    return text


def _bytes(holder: Any, name: str) -> bytes:
    text = _text(holder, name)
    try:
        return base64.b64decode(text, validate=True)
    except ValueError as problem:
        raise _MalformedError(f"{name}: not base64: {problem}") from problem


# ---- lines up to 3.8


def _read_line(line: str) -> Printed:
    offset = _OFFSET.fullmatch(line)
    if offset:
        number = _integer("partition", offset["partition"], _INT32)
        key = Key(RecordType.OFFSET_COMMIT, offset["group"], offset["topic"], number)
        return Printed(key, _printed_offset(offset["value"]))
    group = _GROUP.fullmatch(line)
    if group:
        members = tuple(_printed_members(group["members"]))
        protocol = members[0][1] if members else None
        metadata = GroupMetadata(
            group["type"] or "",
            _integer("generation", group["generation"], _INT32),
            protocol,
            None,
            tuple(member for member, _ in members),
        )
        return Printed(Key(RecordType.GROUP_METADATA, group["group"]), metadata)
    if line.endswith(f"::{_TOMBSTONE}"):
        return Printed(Key(RecordType.GROUP_METADATA, line.removesuffix(f"::{_TOMBSTONE}")), None)
    raise _MalformedError(_NOT_A_RECORD)


def _printed_offset(value: str) -> OffsetCommit | None:
    if value == _TOMBSTONE:
        return None
    found = _OFFSET_UNTIL_2_0.fullmatch(value) or _OFFSET_SINCE_2_1.fullmatch(value)
    if found is None:
        raise _MalformedError(f"value of an offset: {_NOT_A_RECORD}")
    fields = found.groupdict()
    expires = _integer("expire timestamp", fields["expires"] or str(_NONE), _INT64)
    epoch = fields.get("epoch")
    metadata = fields["metadata"]
    until_2_0 = found.re is _OFFSET_UNTIL_2_0
    return OffsetCommit(
        _integer("offset", fields["offset"], _INT64),
        "" if until_2_0 and metadata == _NO_METADATA else metadata,
        _integer("commit timestamp", fields["committed"], _INT64),
        None if expires == _NONE else expires,
        None if epoch is None else _integer("leader epoch", epoch, _INT32),
    )


def _printed_members(members: str) -> Iterator[tuple[GroupMember, str]]:
    """Parse members one after the other, each with the protocol that the group elected."""
    at = 0
    while at < len(members):
        found = _MEMBER.match(members, at)
        if found is None:
            raise _MalformedError(f"member at character {at} of the members: {_NOT_A_RECORD}")
        session_timeout = _integer("session timeout", found["session"], _INT32)
        rebalance_timeout = _integer("rebalance timeout", found["rebalance"], _INT32)
        yield (
            GroupMember(
                found["member"],
                None if found["instance"] == _NULL else found["instance"],
                found["client"],
                found["host"],
                session_timeout if rebalance_timeout == _NONE else rebalance_timeout,
                session_timeout,
                None,
                None,
            ),
            found["protocol"],
        )
        at = found.end()


def _integer(name: str, digits: str, end: int) -> int:
    # int() raises ValueError for numbers of thousands of digits.
    if len(digits) > _MOST_DIGITS or not -end <= int(digits) < end:
        raise _MalformedError(f"{name}: {digits:.40} is out of range")
    return int(digits)
