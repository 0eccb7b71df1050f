"""The answer to the request that describes streams groups (KIP-1071), ``StreamsGroupDescribeResponse`` of version 0.

Brokers have it since Kafka 4.1. The request has the form of that for share groups (``share_group_describe``).
"""

from dataclasses import dataclass

from rebalance_sim.kafka.wire.readable import Readable

STREAMS_GROUP_DESCRIBE, STREAMS_GROUP_DESCRIBE_VERSION = 89, 0
_NULL = -1
"""The byte before a structure that is missing."""

Tasks = tuple[tuple[str, int], ...]
"""Subtopologies' ids and partitions."""


@dataclass(frozen=True, slots=True)
class DescribedSubtopology:
    """A subtopology, whose regular expressions the coordinator has replaced by topics."""

    subtopology_id: str
    source_topics: tuple[str, ...]
    changelog_topics: tuple[str, ...]
    repartition_source_topics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TaskAssignment:
    """The tasks of a member."""

    active: Tasks
    standby: Tasks
    warmup: Tasks


@dataclass(frozen=True, slots=True)
class DescribedStreamsMember:
    """A member of a streams group: a thread of a process."""

    member_id: str
    epoch: int
    instance_id: str | None
    client_id: str
    client_host: str
    process_id: str
    current: TaskAssignment
    target: TaskAssignment


@dataclass(frozen=True, slots=True)
class DescribedStreamsGroup:
    """A streams group, or the error of the request for it."""

    group_id: str
    error: int
    message: str
    state: str
    topology_epoch: int | None
    subtopologies: tuple[DescribedSubtopology, ...]
    """Empty as long as the topology is not ready, as without a source topic."""
    members: tuple[DescribedStreamsMember, ...]


def streams_group_describe_response(body: bytes) -> list[DescribedStreamsGroup]:
    """Read described groups. Raises SchemaError."""
    reader = Readable(body, "StreamsGroupDescribe response", flexible=True)
    reader.int32("throttle_time_ms")
    groups = [_group(reader) for _ in range(reader.size("groups", 1))]
    reader.tagged_fields()
    return groups


def _group(reader: Readable) -> DescribedStreamsGroup:
    error, message = reader.int16("error_code"), reader.nullable_string("error_message") or ""
    group_id, state = reader.string("group_id"), reader.string("group_state")
    reader.int32("group_epoch")
    reader.int32("assignment_epoch")
    epoch, subtopologies = None, list[DescribedSubtopology]()
    if reader.int8("topology") != _NULL:
        epoch = reader.int32("topology_epoch")
        subtopologies = [_subtopology(reader) for _ in range(reader.size("subtopologies", 1, nullable=True))]
        reader.tagged_fields()
    members = tuple(_member(reader) for _ in range(reader.size("members", 1)))
    reader.int32("authorized_operations")
    reader.tagged_fields()
    return DescribedStreamsGroup(group_id, error, message, state, epoch, tuple(subtopologies), members)


def _subtopology(reader: Readable) -> DescribedSubtopology:
    subtopology_id, sources = reader.string("subtopology_id"), reader.strings("source_topics")
    reader.strings("repartition_sink_topics")
    changelogs, repartitioned = _topics(reader, "state_changelog_topics"), _topics(reader, "repartition_source_topics")
    reader.tagged_fields()
    return DescribedSubtopology(subtopology_id, sources, changelogs, repartitioned)


def _topics(reader: Readable, field: str) -> tuple[str, ...]:
    """Read the names of topics, and skip their settings."""
    names = []
    for _ in range(reader.size(field, 1)):
        names.append(reader.string("name"))
        reader.int32("partitions")
        reader.int16("replication_factor")
        _skip_pairs(reader, "topic_configs")
        reader.tagged_fields()
    return tuple(names)


def _member(reader: Readable) -> DescribedStreamsMember:
    member_id, epoch = reader.string("member_id"), reader.int32("member_epoch")
    instance_id = reader.nullable_string("instance_id")
    reader.nullable_string("rack_id")
    client_id, host = reader.string("client_id"), reader.string("client_host")
    reader.int32("topology_epoch")
    process_id = reader.string("process_id")
    if reader.int8("user_endpoint") != _NULL:
        reader.string("host")
        reader.int16("port")
        reader.tagged_fields()
    _skip_pairs(reader, "client_tags")
    for field in ("task_offsets", "task_end_offsets"):
        for _ in range(reader.size(field, 1)):
            reader.string("subtopology_id")
            reader.int32("partition")
            reader.int64("offset")
            reader.tagged_fields()
    current, target = _assignment(reader), _assignment(reader)
    reader.int8("is_classic")
    reader.tagged_fields()
    return DescribedStreamsMember(member_id, epoch, instance_id, client_id, host, process_id, current, target)


def _assignment(reader: Readable) -> TaskAssignment:
    active, standby, warmup = (_tasks(reader, f"{role}_tasks") for role in ("active", "standby", "warmup"))
    reader.tagged_fields()
    return TaskAssignment(active, standby, warmup)


def _tasks(reader: Readable, field: str) -> Tasks:
    tasks = []
    for _ in range(reader.size(field, 1)):
        subtopology, partitions = reader.string("subtopology_id"), reader.int32s("partitions")
        reader.tagged_fields()
        tasks += [(subtopology, partition) for partition in partitions]
    return tuple(tasks)


def _skip_pairs(reader: Readable, field: str) -> None:
    for _ in range(reader.size(field, 1)):
        reader.string("key")
        reader.string("value")
        reader.tagged_fields()
