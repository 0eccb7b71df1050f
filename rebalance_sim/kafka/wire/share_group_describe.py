"""The requests that describe share groups (KIP-932), which client libraries for Python do not send.

The formats are those of ``FindCoordinatorRequest`` of version 4 and ``ShareGroupDescribeRequest`` of version 1, which
brokers have since Kafka 4.1.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from rebalance_sim.kafka.wire.readable import Readable

FIND_COORDINATOR, FIND_COORDINATOR_VERSION = 10, 4
SHARE_GROUP_DESCRIBE, SHARE_GROUP_DESCRIBE_VERSION = 77, 1
_OF_GROUPS = b"\0"
"""The type of a coordinator of groups (``FindCoordinatorRequest.CoordinatorType``)."""
_NO_TAGS = b"\0"
_NO_AUTHORIZED_OPERATIONS = b"\0"


@dataclass(frozen=True, slots=True)
class Coordinator:
    """The broker that coordinates a group, or the error that says why there is none."""

    group_id: str
    error: int
    message: str
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class ShareMember:
    """A member of a share group."""

    member_id: str
    rack_id: str | None
    epoch: int
    client_id: str
    client_host: str
    subscribed_topics: tuple[str, ...]
    assigned: tuple[tuple[str, int], ...]
    """Topics and partitions of its current assignment, in the order of the answer."""


@dataclass(frozen=True, slots=True)
class ShareGroup:
    """A share group, or the error of the request for it."""

    group_id: str
    error: int
    message: str
    state: str
    assignment_epoch: int
    members: tuple[ShareMember, ...]


def find_coordinator_request(group_ids: Sequence[str]) -> bytes:
    """Return the body of a request for the coordinators of groups."""
    return _OF_GROUPS + _strings(group_ids) + _NO_TAGS


def find_coordinator_response(body: bytes) -> list[Coordinator]:
    """Read the coordinators of groups. Raises SchemaError."""
    reader = Readable(body, "FindCoordinator response", flexible=True)
    reader.int32("throttle_time_ms")
    found = []
    for _ in range(reader.size("coordinators", 1)):
        group_id = reader.string("key")
        reader.int32("node_id")
        host, port = reader.string("host"), reader.int32("port")
        error, message = reader.int16("error_code"), reader.nullable_string("error_message") or ""
        reader.tagged_fields()
        found.append(Coordinator(group_id, error, message, host, port))
    reader.tagged_fields()
    return found


def group_describe_request(group_ids: Sequence[str]) -> bytes:
    """Return the body of a request that describes groups, share groups or streams groups."""
    return _strings(group_ids) + _NO_AUTHORIZED_OPERATIONS + _NO_TAGS


def share_group_describe_response(body: bytes) -> list[ShareGroup]:
    """Read described groups. Raises SchemaError."""
    reader = Readable(body, "ShareGroupDescribe response", flexible=True)
    reader.int32("throttle_time_ms")
    groups = [_group(reader) for _ in range(reader.size("groups", 1))]
    reader.tagged_fields()
    return groups


def _group(reader: Readable) -> ShareGroup:
    error, message = reader.int16("error_code"), reader.nullable_string("error_message") or ""
    group_id, state = reader.string("group_id"), reader.string("group_state")
    reader.int32("group_epoch")
    assignment_epoch = reader.int32("assignment_epoch")
    reader.string("assignor_name")
    members = tuple(_member(reader) for _ in range(reader.size("members", 1)))
    reader.int32("authorized_operations")
    reader.tagged_fields()
    return ShareGroup(group_id, error, message, state, assignment_epoch, members)


def _member(reader: Readable) -> ShareMember:
    member_id, rack_id = reader.string("member_id"), reader.nullable_string("rack_id")
    epoch = reader.int32("member_epoch")
    client_id, client_host = reader.string("client_id"), reader.string("client_host")
    topics = reader.strings("subscribed_topic_names")
    assigned = [each for _ in range(reader.size("topic_partitions", 1)) for each in _topic_partitions(reader)]
    # The ends of the assignment, and of the member.
    reader.tagged_fields()
    reader.tagged_fields()
    return ShareMember(member_id, rack_id, epoch, client_id, client_host, topics, tuple(assigned))


def _topic_partitions(reader: Readable) -> list[tuple[str, int]]:
    reader.uuid("topic_id")
    topic, partitions = reader.string("topic_name"), reader.int32s("partitions")
    reader.tagged_fields()
    return [(topic, number) for number in partitions]


def request(api_key: int, version: int, body: bytes, client_id: str, *, flexible: bool = True) -> bytes:
    """Return a request with its size and header, as it is sent.

    >>> request(36, 1, b"", "me", flexible=False).hex(" ", 2)
    '0000 000c 0024 0001 0000 0000 0002 6d65'
    """
    name = client_id.encode()
    header = struct.pack(">hhih", api_key, version, 0, len(name)) + name + (_NO_TAGS if flexible else b"")
    return struct.pack(">i", len(header) + len(body)) + header + body


def response_body(answer: bytes, *, flexible: bool = True) -> bytes:
    """Return what follows the header of an answer, whose size has been read. Raises SchemaError."""
    reader = Readable(answer, "response header", flexible=flexible)
    reader.int32("correlation_id")
    reader.tagged_fields()
    return reader.raw(reader.left, "body")


def _strings(values: Sequence[str]) -> bytes:
    """Return a compact array of compact strings."""
    encoded = [value.encode() for value in values]
    return _varint(len(encoded) + 1) + b"".join(_varint(len(each) + 1) + each for each in encoded)


def _varint(value: int) -> bytes:
    """Return a number with seven bits in each byte, the lowest first.

    >>> _varint(300).hex()
    'ac02'
    """
    written = bytearray()
    while value >= 0x80:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*written, value])
