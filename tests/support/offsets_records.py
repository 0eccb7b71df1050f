"""Records of __consumer_offsets by hand, as keys and values in the formats of Kafka's message definitions."""

import struct
from base64 import urlsafe_b64decode
from collections.abc import Sequence

from rebalance_sim.kafka.wire.consumer_protocol import (
    Assignment,
    Subscription,
    TopicPartition,
    encode_assignment,
    encode_subscription,
)
from rebalance_sim.kafka.wire.offsets_topic import RecordType
from tests.support.wire_fields import int16, int32, sized, string

Written = tuple[bytes, bytes | None]
ORDERS, CLICKS, GONE = "b3JkZXJzLW9yZGVycy1vcg", "Y2xpY2tzLWNsaWNrcy1jbA", "Z29uZS1nb25lLWdvbmUtZw"
"""Ids of topics."""
_NO_TAGS = b"\0"


def tombstone(record_type: RecordType, *names: str) -> Written:
    """Return a record without a value; its key is a type and names."""
    return int16(record_type) + b"".join(map(string, names)), None


def commit(topic: str, offset: int, group: str = "classic", version: int = 3) -> Written:
    """Return a commit of an offset; with its own retention in version 1, and the id of a topic in version 4."""
    written, value = string if version < 4 else _compact, struct.pack(">hq", version, offset)
    if version >= 3:
        value += int32(1)
    value += written("m") + struct.pack(">q", 5)
    if version == 1:
        value += struct.pack(">q", 9)
    if version == 4:
        value += _tagged(_uuid(CLICKS))
    return commit_tombstone(topic, group)[0], value


def commit_tombstone(topic: str, group: str = "classic") -> Written:
    key, _ = tombstone(RecordType.OFFSET_COMMIT, group, topic)
    return key + int32(0), None


def member(
    member_id: str,
    topics: tuple[str, ...] = (),
    owned: tuple[TopicPartition, ...] = (),
    subscription: bytes | None = None,
    client: tuple[str | None, str] = ("i", "c"),
    sent: tuple[TopicPartition, ...] = (),
) -> bytes:
    """Return a member of a classic group, with a subscription that is made of the topics unless it is given.

    ``client`` is its group.instance.id, null for a dynamic member, and its client.id. ``owned`` is assigned to it;
    ``sent`` are the partitions that it owned when it joined.
    """
    if subscription is None:
        subscription = encode_subscription(Subscription(topics, b"u", sent, 1, "r1"))
    return stored_member(member_id, client, subscription, encode_assignment(Assignment(owned)))


def stored_member(member_id: str, client: tuple[str | None, str], subscription: bytes, assignment: bytes) -> bytes:
    """Return a member of a classic group, with what it sent to the leader and what the leader answered."""
    names = b"".join(map(string, (member_id, *client, "/h")))
    return names + struct.pack(">ii", 300_000, 45_000) + sized(subscription) + sized(assignment)


def group(
    name: str,
    members: Sequence[bytes],
    protocol_type: str = "consumer",
    protocol: str | None = "range",
    leader: str | None = "b",
    at: tuple[int, int] = (4, 1),
) -> Written:
    """Return a classic group after a rebalance to a generation at a time."""
    key, _ = tombstone(RecordType.GROUP_METADATA, name)
    generation, at_ms = at
    value = int16(3) + string(protocol_type) + int32(generation)
    value += string(protocol) + string(leader)
    return key, value + struct.pack(">qi", at_ms, len(members)) + b"".join(members)


def consumer_group() -> Written:
    return consumer_epoch(8)


def consumer_epoch(epoch: int) -> Written:
    """Return the epoch of a consumer-protocol group."""
    key, _ = tombstone(RecordType.CONSUMER_GROUP_METADATA, "new")
    return key, struct.pack(">hi", 0, epoch) + _NO_TAGS


def target_epoch(epoch: int) -> Written:
    """Return the epoch of the last target assignment."""
    key, _ = tombstone(RecordType.CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA, "new")
    return key, struct.pack(">hi", 0, epoch) + _NO_TAGS


def target(member_id: str, partitions: dict[str, list[int]]) -> Written:
    """Return the target assignment of a member, by the ids of topics."""
    key, _ = tombstone(RecordType.CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER, "new", member_id)
    return key, int16(0) + _topic_partitions(partitions) + _NO_TAGS


def topics_of_consumer_group() -> Written:
    """Return the topic "orders" of three partitions, whose racks are unknown."""
    key, _ = tombstone(RecordType.CONSUMER_GROUP_PARTITION_METADATA, "new")
    topic = _uuid(ORDERS) + _compact("orders") + int32(3) + _list([]) + _NO_TAGS
    return key, int16(0) + _list([topic]) + _NO_TAGS


def consumer(
    member_id: str,
    server_assignor: str | None = None,
    regex: str | None = None,
    classic: Sequence[str] = (),
    client: str = "k",
) -> Written:
    """Return a member of a consumer-protocol group; one that offers protocols follows the classic protocol."""
    key, _ = tombstone(RecordType.CONSUMER_GROUP_MEMBER_METADATA, "new", member_id)
    metadata = encode_subscription(Subscription(("orders",)))
    protocols = [_compact(name) + _compact(metadata) + _NO_TAGS for name in classic]
    of_classic = b"\1" + int32(45_000) + _list(protocols) + _NO_TAGS if classic else b"\0"
    value = b"".join(map(_compact, (None, "r2", client, f"/{client}"))) + _list([_compact("orders")]) + _compact(regex)
    value += int32(60_000) + _compact(server_assignor) + _tagged(of_classic)
    return key, int16(0) + value


def current(
    member_id: str,
    partitions: dict[str, list[int]],
    pending: dict[str, list[int]] | None = None,
    epoch: int = 7,
    state: int = 0,
) -> Written:
    """Return the current assignment of a member of a consumer-protocol group, by the ids of topics.

    ``pending`` are partitions that it has to revoke.
    """
    key, _ = tombstone(RecordType.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT, "new", member_id)
    value = struct.pack(">hiib", 0, epoch, epoch - 1, state) + _topic_partitions(partitions)
    return key, value + _topic_partitions(pending or {}) + _NO_TAGS


def share_member(member_id: str, *topics: str) -> Written:
    """Return a member of share group "queue"."""
    key, _ = tombstone(RecordType.SHARE_GROUP_MEMBER_METADATA, "queue", member_id)
    value = b"".join(map(_compact, ("r1", "c", "/h"))) + _list([*map(_compact, topics)]) + _NO_TAGS
    return key, int16(0) + value


def share_target(member_id: str, partitions: dict[str, list[int]]) -> Written:
    """Return the target assignment of a member of share group "queue", by the ids of topics."""
    key, _ = tombstone(RecordType.SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER, "queue", member_id)
    return key, int16(0) + _topic_partitions(partitions) + _NO_TAGS


def share_current(member_id: str, partitions: dict[str, list[int]]) -> Written:
    """Return the current assignment of a member of share group "queue", at epoch 5."""
    key, _ = tombstone(RecordType.SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT, "queue", member_id)
    return key, struct.pack(">hiib", 0, 5, 4, 0) + _topic_partitions(partitions) + _NO_TAGS


def regular_expression(regex: str, topic: str) -> Written:
    """Return the topic that matches a regular expression."""
    key, _ = tombstone(RecordType.CONSUMER_GROUP_REGULAR_EXPRESSION, "new", regex)
    return key, int16(0) + _list([_compact(topic)]) + struct.pack(">qq", 1, 1) + _NO_TAGS


def _topic_partitions(partitions: dict[str, list[int]]) -> bytes:
    return _list(
        [
            _uuid(topic_id) + _list([int32(number) for number in numbers]) + _NO_TAGS
            for topic_id, numbers in partitions.items()
        ]
    )


def _compact(value: str | bytes | None) -> bytes:
    """Return a string or bytes of a flexible version, whose length is a varint: here of one byte."""
    data = value.encode() if isinstance(value, str) else value or b""
    return struct.pack("b", 0 if value is None else len(data) + 1) + data


def _list(items: Sequence[bytes]) -> bytes:
    return struct.pack("b", len(items) + 1) + b"".join(items)


def _tagged(content: bytes) -> bytes:
    """Return the tagged fields of a structure that has the first of them only."""
    return b"\1\0" + struct.pack("b", len(content)) + content


def _uuid(text: str) -> bytes:
    return urlsafe_b64decode(text + "==")
