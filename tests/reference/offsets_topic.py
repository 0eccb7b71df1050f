"""Encode records of __consumer_offsets, field by field in the order of Kafka's message definitions.

Fields have the names of the definitions, so that a case of the oracle can be encoded unchanged.
"""

import base64
import struct
from typing import Any, NamedTuple

JsonObject = dict[str, Any]


class Field(NamedTuple):
    """A field of a message definition."""

    name: str
    type: str
    """A number, string, bytes or uuid. A leading [] makes it a list; a structure has ``fields`` instead."""
    since: int = 0
    until: int = 9
    nullable: bool = False
    tag: int | None = None
    fields: tuple["Field", ...] = ()


_TOPIC_PARTITIONS = (Field("topicId", "uuid"), Field("partitions", "[]int32"))
_EPOCHS = Field("assignmentEpochs", "[]int32", nullable=True, tag=0)
_RACKS = (Field("partition", "int32"), Field("racks", "[]string"))
_TOPIC = (
    Field("topicId", "uuid"),
    Field("topicName", "string"),
    Field("numPartitions", "int32"),
    Field("partitionMetadata", "[]", fields=_RACKS),
)
_MEMBER = (
    Field("memberId", "string"),
    Field("groupInstanceId", "string", since=3, nullable=True),
    Field("clientId", "string"),
    Field("clientHost", "string"),
    Field("rebalanceTimeout", "int32", since=1),
    Field("sessionTimeout", "int32"),
    Field("subscription", "bytes"),
    Field("assignment", "bytes"),
)
_PROTOCOL = (Field("name", "string"), Field("metadata", "bytes"))
_CLASSIC = (Field("sessionTimeoutMs", "int32"), Field("supportedProtocols", "[]", fields=_PROTOCOL))

VALUES = {
    "OffsetCommit": (
        Field("offset", "int64"),
        Field("leaderEpoch", "int32", since=3),
        Field("metadata", "string"),
        Field("commitTimestamp", "int64"),
        Field("expireTimestamp", "int64", since=1, until=1),
        Field("topicId", "uuid", since=4, tag=0),
    ),
    "GroupMetadata": (
        Field("protocolType", "string"),
        Field("generation", "int32"),
        Field("protocol", "string", nullable=True),
        Field("leader", "string", nullable=True),
        Field("currentStateTimestamp", "int64", since=2),
        Field("members", "[]", fields=_MEMBER),
    ),
    "ConsumerGroupMetadata": (Field("epoch", "int32"), Field("metadataHash", "int64", tag=0)),
    "ConsumerGroupPartitionMetadata": (Field("topics", "[]", fields=_TOPIC),),
    "ConsumerGroupMemberMetadata": (
        Field("instanceId", "string", nullable=True),
        Field("rackId", "string", nullable=True),
        Field("clientId", "string"),
        Field("clientHost", "string"),
        Field("subscribedTopicNames", "[]string"),
        Field("subscribedTopicRegex", "string", nullable=True),
        Field("rebalanceTimeoutMs", "int32"),
        Field("serverAssignor", "string", nullable=True),
        Field("classicMemberMetadata", "", nullable=True, tag=0, fields=_CLASSIC),
    ),
    "ConsumerGroupTargetAssignmentMetadata": (
        Field("assignmentEpoch", "int32"),
        Field("assignmentTimestamp", "int64", tag=0),
    ),
    "ConsumerGroupTargetAssignmentMember": (Field("topicPartitions", "[]", fields=_TOPIC_PARTITIONS),),
    "ConsumerGroupCurrentMemberAssignment": (
        Field("memberEpoch", "int32"),
        Field("previousMemberEpoch", "int32"),
        Field("state", "int8"),
        Field("assignedPartitions", "[]", fields=(*_TOPIC_PARTITIONS, _EPOCHS)),
        Field("partitionsPendingRevocation", "[]", fields=(*_TOPIC_PARTITIONS, _EPOCHS)),
    ),
    "ConsumerGroupRegularExpression": (
        Field("topics", "[]string"),
        Field("version", "int64"),
        Field("timestamp", "int64"),
    ),
}
NEW_TAGS = ("metadataHash", "assignmentTimestamp", "assignmentEpochs", "topicId")
"""Tagged fields that 3.9 does not have."""
_FORMATS = {"int8": ">b", "int16": ">h", "int32": ">i", "int64": ">q"}
_DEFAULTS: dict[str, Any] = {
    "topicId": "AAAAAAAAAAAAAAAAAAAAAA",
    "metadataHash": 0,
    "assignmentTimestamp": 0,
    "assignmentEpochs": [],
    "classicMemberMetadata": {"sessionTimeoutMs": 0, "supportedProtocols": []},
}
"""Return the default of a tagged field, which is not written."""
_NO_TAGS: tuple[str, ...] = ()


def written_key(step: JsonObject) -> bytes:
    """Return the key of a record, whose version is its type."""
    texts = {"group", "groupId", "topic", "memberId", "regularExpression"}
    parts = [struct.pack(">h", step["key_version"])]
    for name, value in step["key"].items():
        parts.append(_string(value, False) if name in texts else struct.pack(">i", value))
    return b"".join(parts)


def written_value(step: JsonObject, unknown_tags: tuple[str, ...] = _NO_TAGS) -> bytes | None:
    """Return the value of a record; None for a tombstone."""
    if "value" not in step:
        return None
    version = step["value_version"]
    flexible = version >= 4 or step["type"].startswith("Consumer")
    return struct.pack(">h", version) + _structure(VALUES[step["type"]], step["value"], version, flexible, unknown_tags)


def _structure(
    fields: tuple[Field, ...], given: JsonObject, version: int, flexible: bool, unknown_tags: tuple[str, ...]
) -> bytes:
    parts, tagged = [], []
    for field in fields:
        if not field.since <= version <= field.until:
            continue
        value = given.get(field.name, _DEFAULTS.get(field.name))
        if field.tag is None:
            parts.append(_field(field, value, version, flexible, unknown_tags))
        elif value != _DEFAULTS[field.name] and field.name not in unknown_tags:
            content = _field(field, value, version, flexible, unknown_tags)
            tagged.append(_varint(field.tag) + _varint(len(content)) + content)
    if flexible:
        parts += [_varint(len(tagged)), *tagged]
    return b"".join(parts)


def _field(field: Field, value: Any, version: int, flexible: bool, unknown_tags: tuple[str, ...]) -> bytes:
    if value is None and field.tag is not None:
        return _varint(0)
    if field.type.startswith("[]"):
        length = _varint(len(value) + 1) if flexible else struct.pack(">i", len(value))
        item = field._replace(type=field.type[2:], nullable=False, tag=None)
        return length + b"".join(_field(item, each, version, flexible, unknown_tags) for each in value)
    if field.fields:
        if value is None:
            return _varint(0)
        return (_varint(1) if field.nullable else b"") + _structure(
            field.fields, value, version, flexible, unknown_tags
        )
    if field.type == "string":
        return _string(value, flexible)
    if field.type == "bytes":
        data = base64.b64decode(value)
        return (_varint(len(data) + 1) if flexible else struct.pack(">i", len(data))) + data
    if field.type == "uuid":
        return base64.urlsafe_b64decode(value + "==")
    return struct.pack(_FORMATS[field.type], value)


def _string(value: str | None, flexible: bool) -> bytes:
    data = None if value is None else value.encode()
    length = -1 if data is None else len(data)
    return (_varint(length + 1) if flexible else struct.pack(">h", length)) + (data or b"")


def _varint(value: int) -> bytes:
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)
