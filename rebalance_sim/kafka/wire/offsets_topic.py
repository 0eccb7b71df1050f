"""The records of ``__consumer_offsets``, in which a group coordinator stores its groups, as bytes.

A key begins with the record's type, a value with the version of its format. Decoded are offset commits, classic groups
and consumer-protocol groups (KIP-848) of Kafka 0.9 to 4.3, the members of share groups (KIP-932) since 4.0, and streams
groups (KIP-1071) since 4.1; of other records only the keys. The formats are Kafka's message definitions
(``OffsetCommitValue``, ``GroupMetadataValue``, ``ConsumerGroup*``, ``ShareGroup*``, ``StreamsGroup*``), and before 3.0
the schemas in ``GroupMetadataManager``.

As in Kafka, bytes after the last field are ignored. Stricter than Kafka: a name that is not UTF-8 is an error.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Annotated, NamedTuple

from rebalance_sim.kafka.wire import streams_records
from rebalance_sim.kafka.wire.readable import (
    INT32,
    Int8,
    Int32,
    NullableText,
    Readable,
    SchemaError,
    Text,
    Texts,
    array_of,
    structure,
)
from rebalance_sim.kafka.wire.streams_records import StreamsGroupValue

_NEWEST_VERSION_OF_CLASSIC_GROUPS = 4
"""Of offset commits and classic groups, and their first flexible version; all other values have version 0, which is."""
_NONE = -1
ZERO_UUID = "AAAAAAAAAAAAAAAAAAAAAA"
"""``Uuid.ZERO_UUID``."""
_UUID_BYTES = 16


class RecordType(IntEnum):
    """The type of a record (``CoordinatorRecordType`` of 4.3; 9 and 18 exist in earlier releases only)."""

    LEGACY_OFFSET_COMMIT = 0
    OFFSET_COMMIT = 1
    GROUP_METADATA = 2
    CONSUMER_GROUP_METADATA = 3
    CONSUMER_GROUP_PARTITION_METADATA = 4
    CONSUMER_GROUP_MEMBER_METADATA = 5
    CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA = 6
    CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER = 7
    CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT = 8
    SHARE_GROUP_PARTITION_METADATA = 9
    SHARE_GROUP_MEMBER_METADATA = 10
    SHARE_GROUP_METADATA = 11
    SHARE_GROUP_TARGET_ASSIGNMENT_METADATA = 12
    SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER = 13
    SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT = 14
    SHARE_GROUP_STATE_PARTITION_METADATA = 15
    CONSUMER_GROUP_REGULAR_EXPRESSION = 16
    STREAMS_GROUP_METADATA = 17
    STREAMS_GROUP_PARTITION_METADATA = 18
    STREAMS_GROUP_MEMBER_METADATA = 19
    STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA = 20
    STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER = 21
    STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT = 22
    STREAMS_GROUP_TOPOLOGY = 23

    @property
    def is_offset_commit(self) -> bool:
        """Return whether it is an offset commit, with either version of the key."""
        return self <= RecordType.OFFSET_COMMIT

    @property
    def is_of_kip848(self) -> bool:
        """Return whether it belongs to a consumer-protocol group (KIP-848)."""
        return self.name.startswith("CONSUMER_GROUP_")

    @property
    def is_of_share_group(self) -> bool:
        """Return whether it belongs to a share group (KIP-932)."""
        return self.name.startswith("SHARE_GROUP_")

    @property
    def is_of_streams_group(self) -> bool:
        """Return whether it belongs to a streams group (KIP-1071)."""
        return self.name.startswith("STREAMS_GROUP_")

    @property
    def is_of_consumers(self) -> bool:
        """Return whether it belongs to a consumer group, and not to a share or streams group."""
        return self <= RecordType.GROUP_METADATA or self.is_of_kip848

    @property
    def is_decoded(self) -> bool:
        """Return whether its values are decoded.

        They are if it belongs to a consumer group, a member of a share group, or a streams group since 4.1.
        """
        return self in _VALUES


@dataclass(frozen=True)
class Key:
    """The key of a record. The log is compacted by it: the last record of a key counts."""

    type: RecordType
    group_id: str
    topic: str | None = None
    partition: int | None = None
    member_id: str | None = None
    regular_expression: str | None = None


@dataclass(frozen=True)
class OffsetCommit:
    """The offset that a group committed for a partition."""

    offset: int
    metadata: str
    commit_timestamp_ms: int
    expire_timestamp_ms: int | None = None
    """In version 1 only, where a commit could set its own retention."""
    leader_epoch: int | None = None
    """Since version 3."""
    topic_id: str | None = None
    """Since Kafka 4.1, if the request named the topic by its id (version 10 of OffsetCommit)."""


class GroupMember(NamedTuple):
    """A member of a classic group."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    subscription: bytes | None
    """Its metadata for the elected protocol; None if a dump does not contain it."""
    assignment: bytes | None


class GroupMetadata(NamedTuple):
    """A classic group after its last rebalance."""

    protocol_type: str
    generation: int
    protocol: str | None
    leader: str | None
    members: tuple[GroupMember, ...]
    state_timestamp_ms: int | None = None
    """When its members had joined; since version 2, but not printed by Kafka's formatters up to 3.8."""


@dataclass(frozen=True)
class ConsumerGroupMetadata:
    """The epoch of a consumer-protocol group."""

    epoch: Int32


@dataclass(frozen=True)
class TopicMetadata:
    """A topic that a consumer-protocol group subscribes to."""

    topic_id: str
    topic: str
    partitions: int


def _topic_metadata(reader: Readable, _: str) -> TopicMetadata:
    topic = TopicMetadata(reader.uuid("topic_id"), reader.string("topic_name"), reader.int32("num_partitions"))
    array_of(_skip_racks, INT32.size)(reader, "partition_metadata")
    reader.tagged_fields()
    return topic


def _skip_racks(reader: Readable, _: str) -> None:
    reader.int32("partition")
    reader.strings("racks")
    reader.tagged_fields()


@dataclass(frozen=True)
class ConsumerGroupPartitionMetadata:
    """The topics of a consumer-protocol group (before Kafka 4.1)."""

    topics: Annotated[tuple[TopicMetadata, ...], array_of(_topic_metadata, _UUID_BYTES)]


class ClassicProtocol(NamedTuple):
    """A protocol that a classic member of a consumer-protocol group supports."""

    name: Text
    metadata: Annotated[bytes, Readable.sized_bytes]


@dataclass(frozen=True)
class ClassicMemberMetadata:
    """The JoinGroup fields of a member that uses the classic protocol in a consumer-protocol group."""

    session_timeout_ms: Int32
    protocols: Annotated[tuple[ClassicProtocol, ...], array_of(structure(ClassicProtocol))]


@dataclass(frozen=True)
class ConsumerGroupMemberMetadata:
    """A member of a consumer-protocol group, and its subscription."""

    instance_id: str | None
    rack_id: str | None
    client_id: str
    client_host: str
    subscribed_topics: tuple[str, ...]
    subscribed_regex: str | None
    rebalance_timeout_ms: int
    server_assignor: str | None
    """None: the member has no preference, and the coordinator chooses."""
    classic: ClassicMemberMetadata | None
    """None, or without protocols, for members that use the consumer protocol."""


@dataclass(frozen=True)
class ConsumerGroupTargetAssignmentMetadata:
    """The group epoch for which the target assignment was computed."""

    epoch: Int32


class TopicIdPartitions(NamedTuple):
    """Partitions of a topic, which is identified by its id."""

    topic_id: str
    partitions: tuple[int, ...]


def _topic_id_partitions(reader: Readable, field: str) -> TopicIdPartitions:
    partitions = TopicIdPartitions(reader.uuid(field), reader.int32s(field))
    reader.tagged_fields()
    return partitions


_Partitions = Annotated[tuple[TopicIdPartitions, ...], array_of(_topic_id_partitions, _UUID_BYTES)]


@dataclass(frozen=True)
class ConsumerGroupTargetAssignmentMember:
    """The target assignment of a member of a consumer-protocol group."""

    partitions: _Partitions


@dataclass(frozen=True)
class ConsumerGroupCurrentMemberAssignment:
    """The current assignment of a member of a consumer-protocol group."""

    member_epoch: Int32
    previous_member_epoch: Int32
    state: Int8
    assigned: _Partitions
    pending_revocation: _Partitions
    """Partitions that the member was asked to revoke and has not revoked yet."""


@dataclass(frozen=True)
class ConsumerGroupRegularExpression:
    """The topics that match a regular expression to which members subscribe."""

    topics: tuple[str, ...]
    version: int


@dataclass(frozen=True)
class ShareGroupMemberMetadata:
    """A member of a share group, and its subscription."""

    rack_id: NullableText
    client_id: Text
    client_host: Text
    subscribed_topics: Texts


@dataclass(frozen=True)
class ShareGroupTargetAssignmentMember:
    """The target assignment of a member of a share group."""

    partitions: _Partitions


@dataclass(frozen=True)
class ShareGroupCurrentMemberAssignment:
    """The current assignment of a member of a share group."""

    member_epoch: Int32
    previous_member_epoch: Int32
    state: Int8
    assigned: _Partitions


Value = (
    OffsetCommit
    | GroupMetadata
    | ConsumerGroupMetadata
    | ConsumerGroupPartitionMetadata
    | ConsumerGroupMemberMetadata
    | ConsumerGroupTargetAssignmentMetadata
    | ConsumerGroupTargetAssignmentMember
    | ConsumerGroupCurrentMemberAssignment
    | ConsumerGroupRegularExpression
    | ShareGroupMemberMetadata
    | ShareGroupTargetAssignmentMember
    | ShareGroupCurrentMemberAssignment
    | StreamsGroupValue
)


def decode_key(data: bytes) -> Key:
    """Decode the key of a record. Raises SchemaError for malformed bytes and unknown types.

    >>> key = decode_key(bytes.fromhex("0001" "000167" "000174" "00000003"))
    >>> key.type.name, key.group_id, key.topic, key.partition
    ('OFFSET_COMMIT', 'g', 't', 3)
    """
    reader = Readable(data, "record key")
    number = reader.int16("type")
    record_type = _TYPES.get(number)
    if record_type is None:
        raise reader.error("type", f"{number} is unknown", 0)
    reader.what = f"{_name(record_type)} key"
    group_id = reader.string("group")
    if record_type.is_offset_commit:
        return Key(record_type, group_id, topic=reader.string("topic"), partition=reader.int32("partition"))
    if record_type in _OF_A_MEMBER:
        return Key(record_type, group_id, member_id=reader.string("member_id"))
    if record_type is RecordType.CONSUMER_GROUP_REGULAR_EXPRESSION:
        return Key(record_type, group_id, regular_expression=reader.string("regular_expression"))
    return Key(record_type, group_id)


def decode_value(record_type: RecordType, data: bytes) -> Value:
    """Decode the value of a record of a consumer group, a member of a share group, or a streams group.

    Raises SchemaError for malformed bytes, unknown versions and other records.

    >>> decode_value(RecordType.OFFSET_COMMIT, bytes.fromhex("0002" "000000000000002a" "0000" "0000000000000001"))
    ... # doctest: +ELLIPSIS
    OffsetCommit(offset=42, metadata='', commit_timestamp_ms=1, ...)
    >>> decode_value(RecordType.GROUP_METADATA, bytes.fromhex("0009"))
    Traceback (most recent call last):
    ...
    rebalance_sim.kafka.wire.readable.SchemaError: group metadata value: version: 9 is unknown at byte 0
    """
    reader, version = _value_reader(record_type, data)
    return _VALUES[record_type](reader, version)


def decode_generation(data: bytes) -> GroupMetadata:
    """Decode the beginning of a classic group's value, which may be cut off before its members.

    Raises SchemaError like ``decode_value``.

    >>> value = bytes.fromhex("0003" "0008" "636f6e73756d6572" "00000007" "ffff" "ffff" "00000000000003e8")
    >>> group = decode_generation(value)
    >>> group.generation, group.state_timestamp_ms
    (7, 1000)
    """
    reader, version = _value_reader(RecordType.GROUP_METADATA, data)
    return _group_without_members(reader, version)


def _value_reader(record_type: RecordType, data: bytes) -> tuple[Readable, int]:
    """Return a reader behind the version of a value, and the version."""
    reader = Readable(data, f"{_name(record_type)} value")
    version = reader.int16("version")
    if record_type not in _VALUES:
        raise SchemaError(f"{reader.what}: belongs to no consumer group")
    newest = _NEWEST_VERSION_OF_CLASSIC_GROUPS if record_type <= RecordType.GROUP_METADATA else 0
    if not 0 <= version <= newest:
        raise reader.error("version", f"{version} is unknown", 0)
    reader.flexible = version == newest
    return reader, version


def _name(record_type: RecordType) -> str:
    return record_type.name.lower().replace("_", " ")


_TYPES: dict[int, RecordType] = {record_type.value: record_type for record_type in RecordType}
_OF_A_MEMBER = [record_type for record_type in RecordType if "_MEMBER" in record_type.name]


# ---- values


def _offset_commit(reader: Readable, version: int) -> OffsetCommit:
    offset = reader.int64("offset")
    leader_epoch = reader.int32("leader_epoch") if version >= 3 else _NONE
    metadata = reader.string("metadata")
    committed = reader.int64("commit_timestamp")
    expires = reader.int64("expire_timestamp") if version == 1 else _NONE
    topic_id = reader.tagged_fields({0: ("topic_id", Readable.uuid)}).get("topic_id", ZERO_UUID)
    return OffsetCommit(
        offset,
        metadata,
        committed,
        None if expires == _NONE else expires,
        None if leader_epoch == _NONE else leader_epoch,
        None if topic_id == ZERO_UUID else topic_id,
    )


def _group_metadata(reader: Readable, version: int) -> GroupMetadata:
    group = _group_without_members(reader, version)
    members = tuple(_group_member(reader, version) for _ in range(reader.size("members", 1)))
    reader.tagged_fields()
    return group._replace(members=members)


def _group_without_members(reader: Readable, version: int) -> GroupMetadata:
    protocol_type = reader.string("protocol_type")
    generation = reader.int32("generation")
    protocol = reader.nullable_string("protocol")
    leader = reader.nullable_string("leader")
    timestamp = reader.int64("current_state_timestamp") if version >= 2 else _NONE
    return GroupMetadata(protocol_type, generation, protocol, leader, (), None if timestamp == _NONE else timestamp)


def _group_member(reader: Readable, version: int) -> GroupMember:
    member_id = reader.string("member_id")
    instance_id = reader.nullable_string("group_instance_id") if version >= 3 else None
    client_id = reader.string("client_id")
    client_host = reader.string("client_host")
    rebalance_timeout = reader.int32("rebalance_timeout") if version >= 1 else _NONE
    session_timeout = reader.int32("session_timeout")
    subscription = reader.sized_bytes("subscription")
    assignment = reader.sized_bytes("assignment")
    reader.tagged_fields()
    # As when a coordinator loads the group (GroupMetadataManager.readGroupMessageValue, ClassicGroupMember): version 0
    # had no rebalance timeout, and consumers used session.timeout.ms for both.
    rebalance_timeout = session_timeout if rebalance_timeout == _NONE else rebalance_timeout
    return GroupMember(
        member_id, instance_id, client_id, client_host, rebalance_timeout, session_timeout, subscription, assignment
    )


def _member_metadata(reader: Readable, version: int) -> ConsumerGroupMemberMetadata:
    instance_id, rack_id = reader.nullable_string("instance_id"), reader.nullable_string("rack_id")
    client_id, client_host = reader.string("client_id"), reader.string("client_host")
    topics = reader.strings("subscribed_topic_names")
    regex = reader.nullable_string("subscribed_topic_regex")
    rebalance_timeout = reader.int32("rebalance_timeout_ms")
    server_assignor = reader.nullable_string("server_assignor")
    tagged = reader.tagged_fields({0: ("classic_member_metadata", _classic_member)})
    return ConsumerGroupMemberMetadata(
        instance_id,
        rack_id,
        client_id,
        client_host,
        topics,
        regex or None,
        rebalance_timeout,
        server_assignor,
        # A missing tagged field is an empty structure, not null: the generated class has that default.
        tagged.get("classic_member_metadata", ClassicMemberMetadata(0, ())),
    )


def _classic_member(reader: Readable, field: str) -> ClassicMemberMetadata | None:
    """Read a structure that is null if the number before it is 0."""
    return None if reader.unsigned_varint(field) == 0 else _read_classic_member(reader, field)


_read_classic_member = structure(ClassicMemberMetadata, protocols="supported_protocols")


def _regular_expression(reader: Readable, version: int) -> ConsumerGroupRegularExpression:
    topics = reader.strings("topics")
    resolved = reader.int64("version")
    reader.int64("timestamp")
    reader.tagged_fields()
    return ConsumerGroupRegularExpression(topics, resolved)


_VALUES: dict[RecordType, Callable[[Readable, int], Value]] = {
    # Any version of the value may follow either version of the key: they changed in different releases.
    RecordType.LEGACY_OFFSET_COMMIT: _offset_commit,
    RecordType.OFFSET_COMMIT: _offset_commit,
    RecordType.GROUP_METADATA: _group_metadata,
    RecordType.CONSUMER_GROUP_METADATA: structure(ConsumerGroupMetadata),
    RecordType.CONSUMER_GROUP_PARTITION_METADATA: structure(ConsumerGroupPartitionMetadata),
    RecordType.CONSUMER_GROUP_MEMBER_METADATA: _member_metadata,
    RecordType.CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA: structure(
        ConsumerGroupTargetAssignmentMetadata, epoch="assignment_epoch"
    ),
    RecordType.CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER: structure(
        ConsumerGroupTargetAssignmentMember, partitions="topic_partitions"
    ),
    RecordType.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT: structure(
        ConsumerGroupCurrentMemberAssignment,
        assigned="assigned_partitions",
        pending_revocation="partitions_pending_revocation",
    ),
    RecordType.CONSUMER_GROUP_REGULAR_EXPRESSION: _regular_expression,
    RecordType.SHARE_GROUP_MEMBER_METADATA: structure(
        ShareGroupMemberMetadata, subscribed_topics="subscribed_topic_names"
    ),
    RecordType.SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER: structure(
        ShareGroupTargetAssignmentMember, partitions="topic_partitions"
    ),
    RecordType.SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT: structure(
        ShareGroupCurrentMemberAssignment, assigned="assigned_partitions"
    ),
    RecordType.STREAMS_GROUP_METADATA: streams_records.group_metadata,
    RecordType.STREAMS_GROUP_MEMBER_METADATA: streams_records.member_metadata,
    RecordType.STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA: streams_records.target_metadata,
    RecordType.STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER: streams_records.target_member,
    RecordType.STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT: streams_records.current_assignment,
    RecordType.STREAMS_GROUP_TOPOLOGY: streams_records.topology,
}
