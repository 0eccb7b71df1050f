"""The values of the records of streams groups (KIP-1071) in ``__consumer_offsets``, of Kafka 4.1 to 4.4.

All have version 0; later releases add tagged fields. A tagged field that is null means what an absent one does: it is
empty here. Not decoded are the hash of the topics' metadata, and which topology a plug-in describes (since 4.4).
"""

from dataclasses import dataclass
from typing import NamedTuple

from rebalance_sim.kafka.wire.readable import INT32, Readable, structure

_INT16_BYTES = 2
_NO_EPOCH = -1


class KeyValue(NamedTuple):
    """A setting or tag."""

    key: str
    value: str


class Endpoint(NamedTuple):
    """Where a member answers interactive queries (``application.server``)."""

    host: str
    port: int


class TaskIds(NamedTuple):
    """Tasks of a subtopology."""

    subtopology_id: str
    partitions: tuple[int, ...]
    assignment_epochs: tuple[int, ...] = ()
    """By partition: the epoch at which the member got it. Of active tasks, since 4.2."""


class TopicInfo(NamedTuple):
    """An internal topic of a topology."""

    name: str
    partitions: int
    """0 if the coordinator decides it: always of a changelog topic."""
    replication_factor: int
    """0: the broker's default."""
    configs: tuple[KeyValue, ...]


class CopartitionGroup(NamedTuple):
    """Topics that need equal numbers of partitions, by their places in the lists of the subtopology."""

    source_topics: tuple[int, ...]
    source_topic_regex: tuple[int, ...]
    repartition_source_topics: tuple[int, ...]


class Subtopology(NamedTuple):
    """A part of a topology. It is stateful if it has changelog topics."""

    subtopology_id: str
    source_topics: tuple[str, ...]
    source_topic_regex: tuple[str, ...]
    state_changelog_topics: tuple[TopicInfo, ...]
    repartition_sink_topics: tuple[str, ...]
    repartition_source_topics: tuple[TopicInfo, ...]
    copartition_groups: tuple[CopartitionGroup, ...]


@dataclass(frozen=True)
class StreamsGroupMetadata:
    """The epoch of a streams group."""

    epoch: int
    validated_topology_epoch: int | None = None
    """The topology whose topics are all there, since 4.2; None if there is none."""
    assignment_configs: tuple[KeyValue, ...] = ()
    """The settings of the last assignment, ``num.standby.replicas`` among them; since 4.2."""


@dataclass(frozen=True)
class StreamsGroupMemberMetadata:
    """A member of a streams group: a thread of a process of Kafka Streams."""

    instance_id: str | None
    rack_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    topology_epoch: int
    process_id: str
    user_endpoint: Endpoint | None
    client_tags: tuple[KeyValue, ...]


@dataclass(frozen=True)
class StreamsGroupTargetAssignmentMetadata:
    """The group epoch for which the target assignment was computed."""

    epoch: int


@dataclass(frozen=True)
class StreamsGroupTargetAssignmentMember:
    """The target assignment of a member of a streams group."""

    active: tuple[TaskIds, ...]
    standby: tuple[TaskIds, ...]
    warmup: tuple[TaskIds, ...]


@dataclass(frozen=True)
class StreamsGroupCurrentMemberAssignment:
    """The current assignment of a member of a streams group, and the tasks that it was asked to revoke."""

    member_epoch: int
    previous_member_epoch: int
    state: int
    active: tuple[TaskIds, ...]
    standby: tuple[TaskIds, ...]
    warmup: tuple[TaskIds, ...]
    active_pending_revocation: tuple[TaskIds, ...]
    standby_pending_revocation: tuple[TaskIds, ...]
    warmup_pending_revocation: tuple[TaskIds, ...]


@dataclass(frozen=True)
class StreamsGroupTopology:
    """The topology of a streams group, as its members have sent it."""

    epoch: int
    subtopologies: tuple[Subtopology, ...]


StreamsGroupValue = (
    StreamsGroupMetadata
    | StreamsGroupMemberMetadata
    | StreamsGroupTargetAssignmentMetadata
    | StreamsGroupTargetAssignmentMember
    | StreamsGroupCurrentMemberAssignment
    | StreamsGroupTopology
)


def group_metadata(reader: Readable, version: int) -> StreamsGroupMetadata:
    """Read StreamsGroupMetadataValue."""
    epoch = reader.int32("epoch")
    reader.int64("metadata_hash")
    validated: list[int] = [_NO_EPOCH]
    configs: list[tuple[KeyValue, ...]] = [()]
    reader.tagged_fields(
        {
            0: ("validated_topology_epoch", lambda: validated.append(reader.int32("validated_topology_epoch"))),
            1: ("last_assignment_configs", lambda: configs.append(_nullable_pairs(reader, "last_assignment_configs"))),
        }
    )
    return StreamsGroupMetadata(epoch, None if validated[-1] == _NO_EPOCH else validated[-1], configs[-1])


def _subtopologies(reader: Readable, field: str) -> tuple[Subtopology, ...]:
    return tuple(_subtopology(reader, 0) for _ in range(reader.size(field, 1)))


def _topics(reader: Readable, field: str) -> tuple[TopicInfo, ...]:
    return tuple(_topic(reader, field) for _ in range(reader.size(field, INT32.size)))


def _topic(reader: Readable, field: str) -> TopicInfo:
    topic = TopicInfo(reader.string(field), reader.int32(field), reader.int16(field), _pairs(reader, field))
    reader.tagged_fields()
    return topic


def _int16s(reader: Readable, field: str) -> tuple[int, ...]:
    return tuple(reader.int16(field) for _ in range(reader.size(field, _INT16_BYTES)))


def _copartition_groups(reader: Readable, field: str) -> tuple[CopartitionGroup, ...]:
    return tuple(_copartition_group(reader, 0) for _ in range(reader.size(field, 1)))


def _tasks(reader: Readable, field: str) -> tuple[TaskIds, ...]:
    return tuple(_task_ids(reader, field) for _ in range(reader.size(field, 1)))


def _task_ids(reader: Readable, field: str) -> TaskIds:
    subtopology_id, partitions = reader.string(field), reader.int32s(field)
    epochs: list[tuple[int, ...]] = [()]
    reader.tagged_fields({0: ("assignment_epochs", lambda: epochs.append(_nullable_int32s(reader)))})
    return TaskIds(subtopology_id, partitions, epochs[-1])


def _nullable_int32s(reader: Readable) -> tuple[int, ...]:
    count = reader.size("assignment_epochs", INT32.size, nullable=True)
    return tuple(reader.int32("assignment_epochs") for _ in range(count))


def _endpoint(reader: Readable, field: str) -> Endpoint | None:
    """Read a structure that is null if the byte before it is negative."""
    if reader.int8(field) < 0:
        return None
    endpoint = Endpoint(reader.string(field), reader.int16(field) & 0xFFFF)
    reader.tagged_fields()
    return endpoint


def _pairs(reader: Readable, field: str) -> tuple[KeyValue, ...]:
    return tuple(_pair(reader, field) for _ in range(reader.size(field, 1)))


def _nullable_pairs(reader: Readable, field: str) -> tuple[KeyValue, ...]:
    return tuple(_pair(reader, field) for _ in range(reader.size(field, 1, nullable=True)))


def _pair(reader: Readable, field: str) -> KeyValue:
    pair = KeyValue(reader.string(field), reader.string(field))
    reader.tagged_fields()
    return pair


member_metadata = structure(
    StreamsGroupMemberMetadata,
    instance_id=Readable.nullable_string,
    rack_id=Readable.nullable_string,
    client_id=Readable.string,
    client_host=Readable.string,
    rebalance_timeout_ms=Readable.int32,
    topology_epoch=Readable.int32,
    process_id=Readable.string,
    user_endpoint=_endpoint,
    client_tags=_pairs,
)
target_metadata = structure(StreamsGroupTargetAssignmentMetadata, assignment_epoch=Readable.int32)
target_member = structure(
    StreamsGroupTargetAssignmentMember, active_tasks=_tasks, standby_tasks=_tasks, warmup_tasks=_tasks
)
current_assignment = structure(
    StreamsGroupCurrentMemberAssignment,
    member_epoch=Readable.int32,
    previous_member_epoch=Readable.int32,
    state=Readable.int8,
    active_tasks=_tasks,
    standby_tasks=_tasks,
    warmup_tasks=_tasks,
    active_tasks_pending_revocation=_tasks,
    standby_tasks_pending_revocation=_tasks,
    warmup_tasks_pending_revocation=_tasks,
)
_copartition_group = structure(
    CopartitionGroup, source_topics=_int16s, source_topic_regex=_int16s, repartition_source_topics=_int16s
)
_subtopology = structure(
    Subtopology,
    subtopology_id=Readable.string,
    source_topics=Readable.strings,
    source_topic_regex=Readable.strings,
    state_changelog_topics=_topics,
    repartition_sink_topics=Readable.strings,
    repartition_source_topics=_topics,
    copartition_groups=_copartition_groups,
)
topology = structure(StreamsGroupTopology, epoch=Readable.int32, subtopologies=_subtopologies)
