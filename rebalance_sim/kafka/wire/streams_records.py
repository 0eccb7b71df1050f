"""The values of the records of streams groups (KIP-1071) in ``__consumer_offsets``, of Kafka 4.1 to 4.4.

All have version 0; later releases add tagged fields. A tagged field that is null means what an absent one does: it is
empty here. Not decoded are the hash of the topics' metadata, and which topology a plug-in describes (since 4.4).
"""

from dataclasses import dataclass
from typing import NamedTuple

from rebalance_sim.kafka.wire.readable import INT32, Readable

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


def member_metadata(reader: Readable, version: int) -> StreamsGroupMemberMetadata:
    """Read StreamsGroupMemberMetadataValue."""
    member = StreamsGroupMemberMetadata(
        reader.nullable_string("instance_id"),
        reader.nullable_string("rack_id"),
        reader.string("client_id"),
        reader.string("client_host"),
        reader.int32("rebalance_timeout_ms"),
        reader.int32("topology_epoch"),
        reader.string("process_id"),
        _endpoint(reader),
        _pairs(reader, "client_tags"),
    )
    reader.tagged_fields()
    return member


def target_metadata(reader: Readable, version: int) -> StreamsGroupTargetAssignmentMetadata:
    """Read StreamsGroupTargetAssignmentMetadataValue."""
    epoch = reader.int32("assignment_epoch")
    reader.tagged_fields()
    return StreamsGroupTargetAssignmentMetadata(epoch)


def target_member(reader: Readable, version: int) -> StreamsGroupTargetAssignmentMember:
    """Read StreamsGroupTargetAssignmentMemberValue."""
    tasks = (_tasks(reader, f"{kind}_tasks") for kind in ("active", "standby", "warmup"))
    member = StreamsGroupTargetAssignmentMember(*tasks)
    reader.tagged_fields()
    return member


def current_assignment(reader: Readable, version: int) -> StreamsGroupCurrentMemberAssignment:
    """Read StreamsGroupCurrentMemberAssignmentValue."""
    epochs = reader.int32("member_epoch"), reader.int32("previous_member_epoch")
    state = reader.int8("state")
    kinds = ("active", "standby", "warmup")
    assigned = [_tasks(reader, f"{kind}_tasks") for kind in kinds]
    pending = [_tasks(reader, f"{kind}_tasks_pending_revocation") for kind in kinds]
    reader.tagged_fields()
    return StreamsGroupCurrentMemberAssignment(*epochs, state, *assigned, *pending)


def topology(reader: Readable, version: int) -> StreamsGroupTopology:
    """Read StreamsGroupTopologyValue."""
    epoch = reader.int32("epoch")
    subtopologies = tuple(_subtopology(reader) for _ in range(reader.size("subtopologies", 1)))
    reader.tagged_fields()
    return StreamsGroupTopology(epoch, subtopologies)


def _subtopology(reader: Readable) -> Subtopology:
    subtopology = Subtopology(
        reader.string("subtopology_id"),
        reader.strings("source_topics"),
        reader.strings("source_topic_regex"),
        _topics(reader, "state_changelog_topics"),
        reader.strings("repartition_sink_topics"),
        _topics(reader, "repartition_source_topics"),
        tuple(_copartition_group(reader) for _ in range(reader.size("copartition_groups", 1))),
    )
    reader.tagged_fields()
    return subtopology


def _topics(reader: Readable, field: str) -> tuple[TopicInfo, ...]:
    return tuple(_topic(reader, field) for _ in range(reader.size(field, INT32.size)))


def _topic(reader: Readable, field: str) -> TopicInfo:
    topic = TopicInfo(reader.string(field), reader.int32(field), reader.int16(field), _pairs(reader, field))
    reader.tagged_fields()
    return topic


def _copartition_group(reader: Readable) -> CopartitionGroup:
    fields = ("source_topics", "source_topic_regex", "repartition_source_topics")
    group = CopartitionGroup(*(_int16s(reader, field) for field in fields))
    reader.tagged_fields()
    return group


def _int16s(reader: Readable, field: str) -> tuple[int, ...]:
    return tuple(reader.int16(field) for _ in range(reader.size(field, _INT16_BYTES)))


def _tasks(reader: Readable, field: str) -> tuple[TaskIds, ...]:
    return tuple(_task_ids(reader, field) for _ in range(reader.size(field, 1)))


def _task_ids(reader: Readable, field: str) -> TaskIds:
    subtopology_id, partitions = reader.string(field), reader.int32s(field)
    epochs: list[tuple[int, ...]] = [()]
    reader.tagged_fields({0: ("assignment_epochs", lambda: epochs.append(_nullable_int32s(reader)))})
    return TaskIds(subtopology_id, partitions, epochs[-1])


def _nullable_int32s(reader: Readable) -> tuple[int, ...]:
    count = reader.nullable_size("assignment_epochs", INT32.size)
    return tuple(reader.int32("assignment_epochs") for _ in range(count))


def _endpoint(reader: Readable) -> Endpoint | None:
    """Read a structure that is null if the byte before it is negative."""
    if reader.int8("user_endpoint") < 0:
        return None
    endpoint = Endpoint(reader.string("user_endpoint"), reader.int16("user_endpoint") & 0xFFFF)
    reader.tagged_fields()
    return endpoint


def _pairs(reader: Readable, field: str) -> tuple[KeyValue, ...]:
    return tuple(_pair(reader, field) for _ in range(reader.size(field, 1)))


def _nullable_pairs(reader: Readable, field: str) -> tuple[KeyValue, ...]:
    return tuple(_pair(reader, field) for _ in range(reader.nullable_size(field, 1)))


def _pair(reader: Readable, field: str) -> KeyValue:
    pair = KeyValue(reader.string(field), reader.string(field))
    reader.tagged_fields()
    return pair
