"""What Kafka's console consumer prints of ``__consumer_offsets``; text in, the records' keys and values out.

Its formatters for offsets and for groups print a line a record: those of 1.0 to 2.0, those of 2.1 to 3.8, and since 3.9
JSON objects. The objects follow one another without a line's end. Up to 3.8 a group's lines tell of its members neither
subscriptions nor assignments.
"""

import base64
import binascii
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rebalance_sim.kafka.offsets_topic import (
    ZERO_UUID,
    GroupMember,
    GroupMetadata,
    Key,
    OffsetCommit,
    RecordType,
    Value,
)

BETWEEN_OBJECTS = '}{"key":'
"""Between two JSON objects on a line; within a string the quotation marks would stand behind a backslash."""
_TAIL, _HEAD = BETWEEN_OBJECTS[:1], BETWEEN_OBJECTS[1:]
_HEADLESS = ('{"version":', '{"type":')
"""How an object goes on whose head was taken for the end of a line."""
_UNKNOWN = "unknown"
"""Printed by 3.9 instead of what a formatter is not for."""
_TOMBSTONE = "NULL"
_NULL = "null"
"""Printed by 2.3 for a member without group.instance.id."""
_NO_METADATA = "NO_METADATA"
"""Printed up to 2.0 for an offset without metadata."""
_NONE = -1
_INT16, _INT32, _INT64 = 2**15, 2**31, 2**63
_MOST_DIGITS = 20
_NOT_A_RECORD = "no record as Kafka's formatters print them"
_NAMES = {int: "a number", str: "a text", dict: "an object", list: "a list"}
_TYPES: dict[int, RecordType] = {kind.value: kind for kind in RecordType}
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
# Names are not escaped: what is printed twice tells where it ends.
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
    """A record that the formatter is not for: it prints only the type."""

    type: int


@dataclass(frozen=True)
class BadText:
    """Text that cannot be used."""

    text: str
    reason: str


class _MalformedError(ValueError):
    """Why text cannot be used."""


def read_printed(text: str) -> Iterator[Printed | NotPrinted | BadText]:
    """Read a line, or what stands between two ``BETWEEN_OBJECTS``.

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
    """Read objects that follow one another; the last may lack its end, which stood in what parts two."""
    at = 0
    while at < len(objects):
        try:
            told, end = _decoded(objects, at)
        except ValueError:
            yield BadText(objects[at:] if at else given, f"JSON that is cut off or broken; {_NOT_A_RECORD}")
            return
        try:
            yield _record(told)
        except _MalformedError as problem:
            yield BadText(objects[at:end], str(problem))
        at = _BLANK.match(objects, end).end()  # type: ignore[union-attr]


def _decoded(objects: str, at: int) -> tuple[Any, int]:
    """Decode an object; raise ValueError where there is none."""
    try:
        try:
            return _DECODER.raw_decode(objects, at)
        except ValueError:
            return _DECODER.raw_decode(objects + _TAIL, at)
    except RecursionError as problem:
        raise ValueError("nested too deeply") from problem


def _record(told: Any) -> Printed | NotPrinted:
    key, value = _field(told, "key", dict), _field(told, "value", dict, None)
    number = _number(key, "type" if "type" in key else "version", _INT16)
    kind = _TYPES.get(number)
    if kind is None:
        raise _MalformedError(f"key: type: {number} is not known")
    if _field(key, "data", dict, _UNKNOWN) == _UNKNOWN or kind not in _PRINTED_TYPES:
        return NotPrinted(number)
    data = _field(key, "data", dict)
    if kind is RecordType.GROUP_METADATA:
        name = Key(kind, _text(data, "group"))
    else:
        name = Key(kind, _text(data, "group"), _text(data, "topic"), _number(data, "partition", _INT32))
    if value is None:
        return Printed(name, None)
    if _field(value, "data", dict, _UNKNOWN) == _UNKNOWN:
        raise _MalformedError(f"value of a version that the formatter does not know: {value.get('version')!r:.40}")
    content = _field(value, "data", dict)
    return Printed(name, _group(content) if kind is RecordType.GROUP_METADATA else _offset(content))


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
    return GroupMetadata(
        _text(data, "protocolType"),
        _number(data, "generation", _INT32),
        _nullable_text(data, "protocol"),
        _nullable_text(data, "leader"),
        members,
    )


def _member(data: Any) -> GroupMember:
    session_timeout = _number(data, "sessionTimeout", _INT32)
    rebalance_timeout = _number(data, "rebalanceTimeout", _INT32, _NONE)
    return GroupMember(
        _text(data, "memberId"),
        _nullable_text(data, "groupInstanceId"),
        _text(data, "clientId"),
        _text(data, "clientHost"),
        session_timeout if rebalance_timeout == _NONE else rebalance_timeout,
        session_timeout,
        _bytes(data, "subscription"),
        _bytes(data, "assignment"),
    )


_MISSING = object()


def _field(told: Any, name: str, of: type, instead: Any = _MISSING) -> Any:
    """Return a field of an object; ``instead`` may stand there too."""
    if not isinstance(told, dict):
        raise _MalformedError(f"{told!r:.40} where an object with {name!r} is expected")
    value = told.get(name, instead)
    if value is _MISSING:
        raise _MalformedError(f"{name} is missing")
    if value == instead and type(value) is type(instead):
        return value
    if type(value) is not of:
        raise _MalformedError(f"{name} is {value!r:.40}, expected {_NAMES[of]}")
    return value


def _number(told: Any, name: str, end: int, instead: Any = _MISSING) -> int:
    number: int = _field(told, name, int, instead)
    if not -end <= number < end:
        raise _MalformedError(f"{name} is {number!r:.40}, beyond its range")
    return number


def _text(told: Any, name: str, instead: Any = _MISSING) -> str:
    text: str = _field(told, name, str, instead)
    return _encodable(name, text)


def _nullable_text(told: Any, name: str) -> str | None:
    text: str | None = _field(told, name, str, None)
    return None if text is None else _encodable(name, text)


def _encodable(name: str, text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as problem:
        raise _MalformedError(f"{name} is {text!r:.40}, which has no UTF-8 form") from problem
    return text


def _bytes(told: Any, name: str) -> bytes:
    try:
        return base64.b64decode(_text(told, name), validate=True)
    except (binascii.Error, ValueError) as problem:
        if isinstance(problem, _MalformedError):
            raise
        raise _MalformedError(f"{name} is no base64: {problem}") from problem


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
        told = GroupMetadata(
            group["type"] or "",
            _integer("generation", group["generation"], _INT32),
            protocol,
            None,
            tuple(member for member, _ in members),
        )
        return Printed(Key(RecordType.GROUP_METADATA, group["group"]), told)
    if line.endswith(f"::{_TOMBSTONE}"):
        return Printed(Key(RecordType.GROUP_METADATA, line.removesuffix(f"::{_TOMBSTONE}")), None)
    raise _MalformedError(_NOT_A_RECORD)


def _printed_offset(value: str) -> OffsetCommit | None:
    if value == _TOMBSTONE:
        return None
    told = _OFFSET_UNTIL_2_0.fullmatch(value) or _OFFSET_SINCE_2_1.fullmatch(value)
    if told is None:
        raise _MalformedError(f"offset of a key: {_NOT_A_RECORD}")
    fields = told.groupdict()
    expires = _integer("expire timestamp", fields["expires"] or str(_NONE), _INT64)
    epoch = fields.get("epoch")
    metadata = fields["metadata"]
    until_2_0 = told.re is _OFFSET_UNTIL_2_0
    return OffsetCommit(
        _integer("offset", fields["offset"], _INT64),
        "" if until_2_0 and metadata == _NO_METADATA else metadata,
        _integer("commit timestamp", fields["committed"], _INT64),
        None if expires == _NONE else expires,
        None if epoch is None else _integer("leader epoch", epoch, _INT32),
    )


def _printed_members(members: str) -> Iterator[tuple[GroupMember, str]]:
    """Read members one after the other, each with the protocol that its group has elected."""
    at = 0
    while at < len(members):
        told = _MEMBER.match(members, at)
        if told is None:
            raise _MalformedError(f"member at character {at} of the members: {_NOT_A_RECORD}")
        session_timeout = _integer("session timeout", told["session"], _INT32)
        rebalance_timeout = _integer("rebalance timeout", told["rebalance"], _INT32)
        yield (
            GroupMember(
                told["member"],
                None if told["instance"] == _NULL else told["instance"],
                told["client"],
                told["host"],
                session_timeout if rebalance_timeout == _NONE else rebalance_timeout,
                session_timeout,
                None,
                None,
            ),
            told["protocol"],
        )
        at = told.end()


def _integer(name: str, digits: str, end: int) -> int:
    # Python refuses to read numbers of thousands of digits.
    if len(digits) > _MOST_DIGITS or not -end <= int(digits) < end:
        raise _MalformedError(f"{name} is {digits:.40}, beyond its range")
    return int(digits)
