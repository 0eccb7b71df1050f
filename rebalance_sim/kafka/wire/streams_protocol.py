"""The user data of Kafka Streams' members as bytes: what they send to their leader, and what it sends to them.

That is ``SubscriptionInfo`` and ``AssignmentInfo``, versions 1 to 11, of the members' subscriptions and assignments
(``consumer_protocol``). Numbers are big endian. Names of topologies (``NamedTopology``, an internal feature) are read
and written, but tasks with such names are not assigned by any rule here.
"""

import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from rebalance_sim.kafka.wire.consumer_protocol import TopicPartition
from rebalance_sim.kafka.wire.readable import INT16, INT32, LONGEST_STRING, Readable, SchemaError

NEWEST_STREAMS_VERSION = 11
"""The newest version of both formats: 8 in 2.6 and 2.7, 9 in 2.8, 10 in 3.0, 11 since 3.2."""
LATEST_OFFSET = -2
"""The offset sum of a task that runs on the member (``Task.LATEST_OFFSET``)."""
UNKNOWN_OFFSET_SUM = -3
"""The offset sum of a standby task of a member that does not send offsets (``SubscriptionInfo.UNKNOWN_OFFSET_SUM``)."""
NO_REBALANCE = 2**63 - 1
"""The time of the next rebalance if none is scheduled."""

_UNKNOWN_VERSION = -1
_LATEST_SUPPORTED, _USER_END_POINT, _OFFSET_SUMS, _UNIQUE_FIELD, _ERROR_CODE = 3, 2, 7, 8, 9
_NAMED_TOPOLOGIES, _CLIENT_TAGS = 10, 11
_PARTITIONS_BY_HOST, _COMMONLY_SUPPORTED, _ASSIGNMENT_ERROR, _DICTIONARY, _STANDBY_HOSTS = 2, 3, 4, 5, 6
_NEXT_REBALANCE = 7
_TASK_BYTES, _HOST_BYTES = 8, 10
_INT8, _INT64 = struct.Struct(">b"), struct.Struct(">q")


class TaskId(NamedTuple):
    """A task: a partition of a subtopology.

    >>> str(TaskId(1, 5))
    '1_5'
    """

    subtopology: int
    partition: int
    topology: str = ""
    """The name of the topology; empty in applications with one topology, as nearly all are."""

    def __str__(self) -> str:
        task = f"{self.subtopology}_{self.partition}"
        return f"{self.topology}__{task}" if self.topology else task


class Host(NamedTuple):
    """An end point for interactive queries (``application.server``)."""

    host: str
    port: int


@dataclass(frozen=True)
class SubscriptionInfo:
    """What a member sends: its process, and how much of each task's state is on its disk."""

    version: int
    process: UUID
    latest_supported_version: int = _UNKNOWN_VERSION
    """The newest version that the member can read; -1 in versions 1 and 2, which lack it."""
    offset_sums: Mapping[TaskId, int] = field(default_factory=dict)
    """By task, the sum of its changelogs' offsets. Up to version 6, LATEST_OFFSET for active and UNKNOWN_OFFSET_SUM for
    standby tasks."""
    user_end_point: str | None = None
    unique_field: int = 0
    """A counter that makes the bytes differ, so that the coordinator starts a rebalance."""
    error_code: int = 0
    client_tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class AssignmentInfo:
    """What a member receives: its tasks, and who has which partitions."""

    version: int
    commonly_supported_version: int = _UNKNOWN_VERSION
    active_tasks: tuple[TaskId, ...] = ()
    """The task of each assigned partition, in the order of the partitions."""
    standby_tasks: Mapping[TaskId, frozenset[TopicPartition]] = field(default_factory=dict)
    partitions_by_host: Mapping[Host, frozenset[TopicPartition]] = field(default_factory=dict)
    standby_partitions_by_host: Mapping[Host, frozenset[TopicPartition]] = field(default_factory=dict)
    error_code: int = 0
    next_rebalance_ms: int = NO_REBALANCE
    """When the member joins again: 0 for at once, NO_REBALANCE for not until something else happens."""


# ---- decoding


def decode_subscription_info(data: bytes, newest: int = NEWEST_STREAMS_VERSION) -> SubscriptionInfo:
    """Decode the user data of a subscription, as a leader does that supports versions up to ``newest``.

    A newer version is not read further than its two version numbers, by which members probe for the version that all
    support. Raises SchemaError for malformed bytes.

    >>> info = SubscriptionInfo(8, UUID(int=1), 8, {TaskId(0, 1): LATEST_OFFSET}, "host:80")
    >>> decode_subscription_info(encode_subscription_info(info)) == info
    True
    """
    reader = Readable(data, "subscription info")
    version = reader.int32("version")
    latest = reader.int32("latest_supported_version") if version >= _LATEST_SUPPORTED else _UNKNOWN_VERSION
    if version < 1 or (version >= _LATEST_SUPPORTED and version > latest):
        raise reader.error("version", f"{version} is not supported", 0)
    if version > newest:
        return SubscriptionInfo(version, UUID(int=0), latest)
    process = UUID(bytes=reader.raw(16, "process_id"))
    sums: dict[TaskId, int] = {}
    if version < _OFFSET_SUMS:
        for offset in (LATEST_OFFSET, UNKNOWN_OFFSET_SUM):
            for _ in range(reader.size("tasks", _TASK_BYTES)):
                sums[TaskId(reader.int32("task"), reader.int32("task"))] = offset
    end_point = reader.sized_bytes("user_end_point") if version >= _USER_END_POINT else b""
    if version >= _OFFSET_SUMS:
        sums = _read_offset_sums(reader, version)
    return SubscriptionInfo(
        version,
        process,
        latest,
        sums,
        _text(reader, end_point, "user_end_point") or None,
        reader.int8("unique_field") if version >= _UNIQUE_FIELD else 0,
        reader.int32("error_code") if version >= _ERROR_CODE else 0,
        _read_client_tags(reader) if version >= _CLIENT_TAGS else {},
    )


def _read_offset_sums(reader: Readable, version: int) -> dict[TaskId, int]:
    sums: dict[TaskId, int] = {}
    for _ in range(reader.size("task_offset_sums", _TASK_BYTES)):
        subtopology = reader.int32("task")
        if version >= _NAMED_TOPOLOGIES:
            partition, offset = reader.int32("task"), reader.int64("offset_sum")
            sums[TaskId(subtopology, partition, reader.nullable_string("named_topology") or "")] = offset
            continue
        for _ in range(reader.size("partition_to_offset_sum", _TASK_BYTES)):
            partition = reader.int32("task")
            sums[TaskId(subtopology, partition)] = reader.int64("offset_sum")
    return sums


def _read_client_tags(reader: Readable) -> dict[str, str]:
    tags: dict[str, str] = {}
    for _ in range(reader.size("client_tags", _TASK_BYTES)):
        key = _text(reader, reader.sized_bytes("key"), "key")
        if key in tags:
            raise reader.error("client_tags", f"key {key} occurs twice", 0)
        tags[key] = _text(reader, reader.sized_bytes("value"), "value")
    return tags


def _text(reader: Readable, data: bytes, name: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as problem:
        raise reader.error(name, "string that is not UTF-8", problem.start) from problem


def decode_assignment_info(data: bytes, newest: int = NEWEST_STREAMS_VERSION) -> AssignmentInfo:
    """Decode the user data of an assignment, as a member does that supports versions up to ``newest``.

    Raises SchemaError for malformed bytes and other versions.

    >>> decode_assignment_info(bytes.fromhex("00000001" "00000001" "00000000" "00000007" "00000000")).active_tasks
    (TaskId(subtopology=0, partition=7, topology=''),)
    """
    reader = Readable(data, "assignment info")
    version = reader.int32("version")
    if not 1 <= version <= newest:
        raise reader.error("version", f"{version} is not supported", 0)
    common = reader.int32("commonly_supported_version") if version >= _COMMONLY_SUPPORTED else _UNKNOWN_VERSION
    active = tuple(_read_task(reader, version) for _ in range(reader.size("active_tasks", _TASK_BYTES)))
    standby = {}
    for _ in range(reader.size("standby_tasks", _TASK_BYTES + INT32.size)):
        task = _read_task(reader, version)
        standby[task] = _read_partitions(reader, lambda: _read_utf(reader, "topic"))
    hosts, standby_hosts = _read_hosts(reader, version)
    return AssignmentInfo(
        version,
        common,
        active,
        standby,
        hosts,
        standby_hosts,
        reader.int32("error_code") if version >= _ASSIGNMENT_ERROR else 0,
        reader.int64("next_rebalance_ms") if version >= _NEXT_REBALANCE else NO_REBALANCE,
    )


_Hosts = dict[Host, frozenset[TopicPartition]]


def _read_hosts(reader: Readable, version: int) -> tuple[_Hosts, _Hosts]:
    """Read the partitions of each host; since version 5, topics are numbered by a dictionary before them."""
    if version < _PARTITIONS_BY_HOST:
        return {}, {}
    topics: dict[int, str] = {}
    if version >= _DICTIONARY:
        for _ in range(reader.size("topics", INT32.size + INT16.size)):
            number = reader.int32("topic")
            topics[number] = _read_utf(reader, "topic")

    def topic() -> str:
        return topics[reader.int32("topic")] if version >= _DICTIONARY else _read_utf(reader, "topic")

    def hosts() -> _Hosts:
        partitions: _Hosts = {}
        for _ in range(reader.size("hosts", _HOST_BYTES)):
            host = Host(_read_utf(reader, "host"), reader.int32("port"))
            partitions[host] = _read_partitions(reader, topic)
        return partitions

    try:
        active = hosts()
        return active, hosts() if version >= _STANDBY_HOSTS else {}
    except KeyError as unknown:
        raise SchemaError(f"assignment info: topic {unknown} is not in the dictionary") from unknown


def _read_partitions(reader: Readable, topic: Callable[[], str]) -> frozenset[TopicPartition]:
    count = reader.size("partitions", INT32.size + INT16.size)
    return frozenset(TopicPartition(topic(), reader.int32("partition")) for _ in range(count))


def _read_task(reader: Readable, version: int) -> TaskId:
    subtopology, partition = reader.int32("task"), reader.int32("task")
    if version < _NAMED_TOPOLOGIES:
        return TaskId(subtopology, partition)
    length = reader.int32("named_topology")
    name = reader.raw(2 * max(length, 0), "named_topology").decode("utf-16-be", "surrogatepass")
    return TaskId(subtopology, partition, name)


def _read_utf(reader: Readable, name: str) -> str:
    """Read a string of ``DataOutputStream.writeUTF``: Java's modified UTF-8."""
    length = reader.int16(name) & 0xFFFF
    data = reader.raw(length, name).replace(b"\xc0\x80", b"\0")
    try:
        units = data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as problem:
        raise reader.error(name, "string that is not modified UTF-8", problem.start) from problem
    return units.encode("utf-16-be", "surrogatepass").decode("utf-16-be", "surrogatepass")


# ---- encoding


def encode_subscription_info(info: SubscriptionInfo) -> bytes:
    """Encode the user data of a subscription; fields that the version does not have are left out.

    Tasks are in the order of ``offset_sums``. Raises SchemaError for versions and values that do not fit.
    """
    if not 1 <= info.version <= NEWEST_STREAMS_VERSION:
        raise SchemaError(f"version {info.version} is not supported")
    parts = [_int32(info.version)]
    if info.version >= _LATEST_SUPPORTED:
        parts.append(_int32(info.latest_supported_version))
    parts.append(info.process.bytes)
    if info.version < _OFFSET_SUMS:
        active = [task for task, offset in info.offset_sums.items() if offset == LATEST_OFFSET]
        standby = [task for task, offset in info.offset_sums.items() if offset != LATEST_OFFSET]
        parts += [*_tasks_of_subscription(active), *_tasks_of_subscription(standby)]
    if info.version >= _USER_END_POINT:
        parts.append(_sized((info.user_end_point or "").encode()))
    if info.version >= _OFFSET_SUMS:
        parts += _offset_sums(info)
    if info.version >= _UNIQUE_FIELD:
        parts.append(_number(_INT8, info.unique_field))
    if info.version >= _ERROR_CODE:
        parts.append(_int32(info.error_code))
    if info.version >= _CLIENT_TAGS:
        parts.append(_int32(len(info.client_tags)))
        parts += [_sized(text.encode()) for tag in info.client_tags.items() for text in tag]
    return b"".join(parts)


def encode_assignment_info(info: AssignmentInfo) -> bytes:
    """Encode the user data of an assignment; fields that the version does not have are left out.

    Partitions are sorted, where Kafka writes them in the order of hash maps. Raises SchemaError for versions and values
    that do not fit.
    """
    if not 1 <= info.version <= NEWEST_STREAMS_VERSION:
        raise SchemaError(f"version {info.version} is not supported")
    parts = [_int32(info.version)]
    if info.version >= _COMMONLY_SUPPORTED:
        parts.append(_int32(info.commonly_supported_version))
    parts.append(_int32(len(info.active_tasks)))
    parts += [_task(task, info.version) for task in info.active_tasks]
    parts.append(_int32(len(info.standby_tasks)))
    for task, partitions in info.standby_tasks.items():
        parts += [_task(task, info.version), *_partitions(partitions, _utf)]
    parts += _hosts_of(info)
    if info.version >= _ASSIGNMENT_ERROR:
        parts.append(_int32(info.error_code))
    if info.version >= _NEXT_REBALANCE:
        parts.append(_number(_INT64, info.next_rebalance_ms))
    return b"".join(parts)


def _hosts_of(info: AssignmentInfo) -> list[bytes]:
    if info.version < _PARTITIONS_BY_HOST:
        return []
    maps = [info.partitions_by_host]
    if info.version >= _STANDBY_HOSTS:
        maps.append(info.standby_partitions_by_host)
    if info.version < _DICTIONARY:
        return _host_map(info.partitions_by_host, _utf)
    topics = sorted({part.topic for hosts in maps for partitions in hosts.values() for part in partitions})
    numbers = {topic: number for number, topic in enumerate(topics)}
    parts = [_int32(len(topics))]
    for topic, number in numbers.items():
        parts += [_int32(number), _utf(topic)]
    for hosts in maps:
        parts += _host_map(hosts, lambda topic: _int32(numbers[topic]))
    return parts


def _host_map(hosts: Mapping[Host, frozenset[TopicPartition]], written: Callable[[str], bytes]) -> list[bytes]:
    parts = [_int32(len(hosts))]
    for host, partitions in hosts.items():
        parts += [_utf(host.host), _int32(host.port), *_partitions(partitions, written)]
    return parts


def _partitions(partitions: Iterable[TopicPartition], written: Callable[[str], bytes]) -> list[bytes]:
    in_order = sorted(partitions)
    parts = [_int32(len(in_order))]
    for topic, partition in in_order:
        parts += [written(topic), _int32(partition)]
    return parts


def _tasks_of_subscription(tasks: list[TaskId]) -> list[bytes]:
    return [_int32(len(tasks)), *(_int32(task.subtopology) + _int32(task.partition) for task in map(_unnamed, tasks))]


def _offset_sums(info: SubscriptionInfo) -> list[bytes]:
    if info.version >= _NAMED_TOPOLOGIES:
        parts = [_int32(len(info.offset_sums))]
        for (subtopology, partition, topology), offset in info.offset_sums.items():
            name = _sized_string(topology) if topology else INT16.pack(-1)
            parts += [_int32(subtopology), _int32(partition), _number(_INT64, offset), name]
        return parts
    by_subtopology: dict[int, list[tuple[int, int]]] = {}
    for task, offset in info.offset_sums.items():
        by_subtopology.setdefault(_unnamed(task).subtopology, []).append((task.partition, offset))
    parts = [_int32(len(by_subtopology))]
    for subtopology, partitions in by_subtopology.items():
        parts += [_int32(subtopology), _int32(len(partitions))]
        parts += [_int32(partition) + _number(_INT64, offset) for partition, offset in partitions]
    return parts


def _task(task: TaskId, version: int) -> bytes:
    if version < _NAMED_TOPOLOGIES:
        task = _unnamed(task)
        return _int32(task.subtopology) + _int32(task.partition)
    name = task.topology.encode("utf-16-be", "surrogatepass")
    return _int32(task.subtopology) + _int32(task.partition) + _int32(len(name) // 2) + name


def _unnamed(task: TaskId) -> TaskId:
    if task.topology:
        raise SchemaError(f"task {task}: named topologies need version {_NAMED_TOPOLOGIES}")
    return task


def _utf(text: str) -> bytes:
    """Return a string as ``DataOutputStream.writeUTF`` writes it: UTF-8 of each UTF-16 unit, and two bytes for NUL."""
    units = text.encode("utf-16-be", "surrogatepass")
    characters = (chr(int.from_bytes(units[k : k + 2])) for k in range(0, len(units), 2))
    data = "".join(characters).encode("utf-8", "surrogatepass").replace(b"\0", b"\xc0\x80")
    if len(data) > 0xFFFF:
        raise SchemaError(f"string of {len(data)} bytes")
    return struct.pack(">H", len(data)) + data


def _sized(data: bytes) -> bytes:
    return _int32(len(data)) + data


def _sized_string(text: str) -> bytes:
    data = text.encode()
    if len(data) > LONGEST_STRING:
        raise SchemaError(f"string of {len(data)} bytes")
    return INT16.pack(len(data)) + data


def _int32(number: int) -> bytes:
    return _number(INT32, number)


def _number(layout: struct.Struct, number: int) -> bytes:
    try:
        return layout.pack(number)
    except struct.error as problem:
        raise SchemaError(f"{number} is out of range") from problem
