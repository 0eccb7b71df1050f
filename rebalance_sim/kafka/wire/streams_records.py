"""The values of the records of streams groups (KIP-1071) in ``__consumer_offsets``, of Kafka 4.1 to 4.4.

All have version 0; later releases add tagged fields. A tagged field that is null means what an absent one does: it is
empty here. Not decoded are the hash of the topics' metadata, and which topology a plug-in describes (since 4.4).
"""

from dataclasses import dataclass
from typing import Annotated, NamedTuple

from rebalance_sim.kafka.wire.readable import (
    INT32,
    Int8,
    Int32,
    NullableText,
    Readable,
    Text,
    Texts,
    array_of,
    structure,
)

_INT16_BYTES = 2
_NO_EPOCH = -1


class KeyValue(NamedTuple):
    """A setting or tag."""

    key: str
    value: str


def _pair(reader: Readable, field: str) -> KeyValue:
    pair = KeyValue(reader.string(field), reader.string(field))
    reader.tagged_fields()
    return pair


_pairs = array_of(_pair)


class Endpoint(NamedTuple):
    """Where a member answers interactive queries (``application.server``)."""

    host: str
    port: int


def _endpoint(reader: Readable, field: str) -> Endpoint | None:
    """Read a structure that is null if the byte before it is negative."""
    if reader.int8(field) < 0:
        return None
    endpoint = Endpoint(reader.string(field), reader.int16(field) & 0xFFFF)
    reader.tagged_fields()
    return endpoint


class TaskIds(NamedTuple):
    """Tasks of a subtopology."""

    subtopology_id: str
    partitions: tuple[int, ...]
    assignment_epochs: tuple[int, ...] = ()
    """By partition: the epoch at which the member got it. Of active tasks, since 4.2."""


def _task_ids(reader: Readable, field: str) -> TaskIds:
    subtopology_id, partitions = reader.string(field), reader.int32s(field)
    return TaskIds(subtopology_id, partitions, **reader.tagged_fields(_EPOCHS))


_EPOCHS = {0: ("assignment_epochs", array_of(Readable.int32, INT32.size, nullable=True))}
_Tasks = Annotated[tuple[TaskIds, ...], array_of(_task_ids)]


class TopicInfo(NamedTuple):
    """An internal topic of a topology."""

    name: str
    partitions: int
    """0 if the coordinator decides it: always of a changelog topic."""
    replication_factor: int
    """0: the broker's default."""
    configs: tuple[KeyValue, ...]


def _topic(reader: Readable, field: str) -> TopicInfo:
    topic = TopicInfo(reader.string(field), reader.int32(field), reader.int16(field), _pairs(reader, field))
    reader.tagged_fields()
    return topic


_Topics = Annotated[tuple[TopicInfo, ...], array_of(_topic, INT32.size)]
_Places = Annotated[tuple[int, ...], array_of(Readable.int16, _INT16_BYTES)]


class CopartitionGroup(NamedTuple):
    """Topics that need equal numbers of partitions, by their places in the lists of the subtopology."""

    source_topics: _Places
    source_topic_regex: _Places
    repartition_source_topics: _Places


class Subtopology(NamedTuple):
    """A part of a topology. It is stateful if it has changelog topics."""

    subtopology_id: Text
    source_topics: Texts
    source_topic_regex: Texts
    state_changelog_topics: _Topics
    repartition_sink_topics: Texts
    repartition_source_topics: _Topics
    copartition_groups: Annotated[tuple[CopartitionGroup, ...], array_of(structure(CopartitionGroup))]


@dataclass(frozen=True)
class StreamsGroupMetadata:
    """The epoch of a streams group."""

    epoch: int
    validated_topology_epoch: int | None = None
    """The topology whose topics are all there, since 4.2; None if there is none."""
    assignment_configs: tuple[KeyValue, ...] = ()
    """The settings of the last assignment, ``num.standby.replicas`` among them; since 4.2."""


def group_metadata(reader: Readable, version: int) -> StreamsGroupMetadata:
    """Read StreamsGroupMetadataValue."""
    epoch = reader.int32("epoch")
    reader.int64("metadata_hash")
    tagged = reader.tagged_fields(
        {
            0: ("validated_topology_epoch", Readable.int32),
            1: ("last_assignment_configs", array_of(_pair, nullable=True)),
        }
    )
    validated = tagged.get("validated_topology_epoch", _NO_EPOCH)
    configs = tagged.get("last_assignment_configs", ())
    return StreamsGroupMetadata(epoch, None if validated == _NO_EPOCH else validated, configs)


@dataclass(frozen=True)
class StreamsGroupMemberMetadata:
    """A member of a streams group: a thread of a process of Kafka Streams."""

    instance_id: NullableText
    rack_id: NullableText
    client_id: Text
    client_host: Text
    rebalance_timeout_ms: Int32
    topology_epoch: Int32
    process_id: Text
    user_endpoint: Annotated[Endpoint | None, _endpoint]
    client_tags: Annotated[tuple[KeyValue, ...], _pairs]


@dataclass(frozen=True)
class StreamsGroupTargetAssignmentMetadata:
    """The group epoch for which the target assignment was computed."""

    epoch: Int32


@dataclass(frozen=True)
class StreamsGroupTargetAssignmentMember:
    """The target assignment of a member of a streams group."""

    active: _Tasks
    standby: _Tasks
    warmup: _Tasks


@dataclass(frozen=True)
class StreamsGroupCurrentMemberAssignment:
    """The current assignment of a member of a streams group, and the tasks that it was asked to revoke."""

    member_epoch: Int32
    previous_member_epoch: Int32
    state: Int8
    active: _Tasks
    standby: _Tasks
    warmup: _Tasks
    active_pending_revocation: _Tasks
    standby_pending_revocation: _Tasks
    warmup_pending_revocation: _Tasks


@dataclass(frozen=True)
class StreamsGroupTopology:
    """The topology of a streams group, as its members have sent it."""

    epoch: Int32
    subtopologies: Annotated[tuple[Subtopology, ...], array_of(structure(Subtopology))]


StreamsGroupValue = (
    StreamsGroupMetadata
    | StreamsGroupMemberMetadata
    | StreamsGroupTargetAssignmentMetadata
    | StreamsGroupTargetAssignmentMember
    | StreamsGroupCurrentMemberAssignment
    | StreamsGroupTopology
)

_ROLES = {role: f"{role}_tasks" for role in ("active", "standby", "warmup")}
member_metadata = structure(StreamsGroupMemberMetadata)
target_metadata = structure(StreamsGroupTargetAssignmentMetadata, epoch="assignment_epoch")
target_member = structure(StreamsGroupTargetAssignmentMember, **_ROLES)
current_assignment = structure(
    StreamsGroupCurrentMemberAssignment,
    **_ROLES,
    **{f"{role}_pending_revocation": f"{tasks}_pending_revocation" for role, tasks in _ROLES.items()},
)
topology = structure(StreamsGroupTopology)
