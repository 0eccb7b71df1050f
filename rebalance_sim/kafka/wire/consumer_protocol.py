"""Subscriptions and assignments as bytes: the embedded protocol of type ``consumer``.

That is ``ConsumerProtocol``, versions 0 to 3, and the user data of ``StickyAssignor`` and
``CooperativeStickyAssignor``. Numbers are big endian.

As in Kafka, a version newer than the newest known one is read as the latter, and bytes after the last field are
ignored. One thing is stricter: a name that is not UTF-8 is an error, where Kafka inserts replacement characters.
"""

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.runtime.hash_order import java_compute_if_absent_order, java_order, java_table_size
from rebalance_sim.kafka.runtime.strings import Strings, java_hashes, java_key
from rebalance_sim.kafka.wire.readable import INT16, INT32, LONGEST_STRING, Readable, SchemaError
from rebalance_sim.releases import NEWEST, ConsumerWriter, KafkaVersion, kafka_version

NEWEST_VERSION = 3
"""The newest version of both formats. Consumers write 0 before Kafka 2.4, 1 before 3.4, and 3 since then."""
STICKY = "sticky"
COOPERATIVE_STICKY = "cooperative-sticky"

_NEWEST_KAFKA = kafka_version(NEWEST)
_SMALLEST_TOPIC = 6
"""Bytes of a topic with an empty name and no partitions."""


class TopicPartition(NamedTuple):
    """A partition of a topic."""

    topic: str
    partition: int


@dataclass(frozen=True)
class Subscription:
    """The metadata that a member sends when it joins (``ConsumerPartitionAssignor.Subscription``)."""

    topics: tuple[str, ...]
    user_data: bytes | None = None
    """Data that the member's assignor adds for its own use."""
    owned: tuple[TopicPartition, ...] | None = None
    """Partitions that the member still owns; None in version 0, which has no such field."""
    generation: int | None = None
    """Generation in which ``owned`` was assigned; None if the bytes do not contain it."""
    rack: str | None = None
    group_instance_id: str | None = None
    """Set for static members. It is not part of the bytes: the coordinator sends it to the leader beside them."""


class SentSubscription(NamedTuple):
    """A subscription, and the traits of its bytes that show which library wrote them."""

    content: Subscription
    version: int
    """At most NEWEST_VERSION."""
    ends_early: bool
    """Whether version 1 ends after the user data: Kafka's protocol has the owned partitions there."""
    rack_is_empty: bool
    """Whether the rack is an empty text; Java sends null instead."""


@dataclass(frozen=True)
class Assignment:
    """The assignment that the leader sends to a member (``ConsumerPartitionAssignor.Assignment``)."""

    partitions: tuple[TopicPartition, ...]
    user_data: bytes | None = None


@dataclass(frozen=True)
class StickyUserData:
    """A member's last assignment, which it sends to the sticky assignor."""

    partitions: tuple[TopicPartition, ...]
    generation: int | None = None
    """Sent since Kafka 2.3 (KIP-341), so that assignments of an older generation can be ignored."""


@dataclass(frozen=True)
class MemberData:
    """A member's earlier assignment as the leader sees it (``AbstractStickyAssignor.MemberData``)."""

    owned: tuple[TopicPartition, ...] | None
    """None if the bytes do not contain them."""
    generation: int | None
    error: str | None = None
    """Why the user data could not be decoded."""


# ---- decoding


def decode_subscription(data: bytes) -> Subscription:
    """Decode a subscription of any version (``ConsumerProtocol.deserializeSubscription``).

    As in Kafka, a negative generation and an empty rack mean none. Raises SchemaError for malformed bytes.

    >>> decode_subscription(bytes.fromhex("0000" "00000001" "00066f7264657273" "ffffffff")).topics
    ('orders',)
    >>> decode_subscription(bytes.fromhex("0000" "00000001" "00066f72"))
    Traceback (most recent call last):
    ...
    rebalance_sim.kafka.wire.readable.SchemaError: subscription: topics: 6 bytes expected at byte 8, 2 are left
    """
    return _read_subscription(data, may_end_early=False).content


def decode_sent_subscription(data: bytes) -> SentSubscription:
    """Decode a subscription as Sarama and franz-go do: version 1 may end after the user data.

    Java does not accept that. Raises SchemaError for malformed bytes.

    >>> decode_sent_subscription(bytes.fromhex("0001" "00000001" "00066f7264657273" "ffffffff")).ends_early
    True
    """
    return _read_subscription(data, may_end_early=True)


def _read_subscription(data: bytes, *, may_end_early: bool) -> SentSubscription:
    reader = Readable(data, "subscription")
    version = _version(reader)
    topics = reader.strings("topics")
    user_data = reader.nullable_bytes("user_data")
    if may_end_early and version == 1 and reader.left == 0:
        return SentSubscription(Subscription(topics, user_data), version, ends_early=True, rack_is_empty=False)
    owned = _read_partitions(reader, "owned_partitions") if version >= 1 else None
    generation = reader.int32("generation_id") if version >= 2 else -1
    rack = reader.nullable_string("rack_id") if version >= 3 else None
    subscription = Subscription(topics, user_data, owned, None if generation < 0 else generation, rack or None)
    return SentSubscription(subscription, version, ends_early=False, rack_is_empty=rack == "")


def decode_assignment(data: bytes) -> Assignment:
    """Decode an assignment of any version (``ConsumerProtocol.deserializeAssignment``).

    Raises SchemaError for malformed bytes.
    """
    reader = Readable(data, "assignment")
    _version(reader)
    return Assignment(_read_partitions(reader, "assigned_partitions"), reader.nullable_bytes("user_data"))


def _version(reader: Readable) -> int:
    """Read the version, and return the known version to decode the bytes as."""
    version = reader.int16("version")
    if version < 0:
        raise reader.error("version", f"{version} is not supported", 0)
    return min(version, NEWEST_VERSION)


def decode_sticky_user_data(data: bytes) -> StickyUserData:
    """Decode the user data of ``StickyAssignor``, which contains a generation since Kafka 2.3.

    Raises SchemaError for malformed bytes: since 2.3 Kafka treats them as no assignment, before it fails.
    """
    reader = Readable(data, "sticky user data")
    partitions = _read_partitions(reader, "previous_assignment")
    return StickyUserData(partitions, reader.int32("generation") if reader.left >= INT32.size else None)


def decode_cooperative_user_data(data: bytes) -> int:
    """Decode the user data of ``CooperativeStickyAssignor`` (since Kafka 2.4): a generation.

    Raises SchemaError for malformed bytes, for which Kafka uses the generation -1.
    """
    return Readable(data, "cooperative-sticky user data").int32("generation")


def member_data(subscription: Subscription, protocol: str | None) -> MemberData:
    """Return the partitions a member owned, and their generation, as the leader sees them under this protocol.

    - ``sticky`` takes both from the user data: its members revoke everything before they join, so the subscription owns
      nothing. User data that cannot be decoded counts as no assignment, as in Kafka since 2.3.
    - ``cooperative-sticky`` takes the partitions from the subscription, and the generation from the user data if the
      subscription (before version 2) has none.
    - Other assignors see the subscription only.

    If the protocol is unknown (None), user data of four bytes is taken as the generation of cooperative-sticky, except
    in version 0, which is older than that assignor. Otherwise a subscription with owned partitions is used, and last
    the user data, if sticky may have written all of it: each topic has a name, occurs once and has partitions.
    """
    if protocol is None:
        return _of_unknown(subscription)
    if protocol == STICKY:
        return _of_sticky(subscription.user_data)
    if protocol == COOPERATIVE_STICKY and subscription.generation is None:
        return _of_cooperative(subscription)
    return MemberData(subscription.owned, subscription.generation)


def _of_sticky(user_data: bytes | None) -> MemberData:
    if not user_data:
        return MemberData((), None)
    try:
        decoded = decode_sticky_user_data(user_data)
    except SchemaError as problem:
        return MemberData((), None, str(problem))
    return MemberData(decoded.partitions, decoded.generation)


def _of_cooperative(subscription: Subscription) -> MemberData:
    if subscription.user_data is None:
        return MemberData(subscription.owned, None)
    try:
        return MemberData(subscription.owned, decode_cooperative_user_data(subscription.user_data))
    except SchemaError as problem:
        return MemberData(subscription.owned, None, str(problem))


def _of_unknown(subscription: Subscription) -> MemberData:
    user_data = subscription.user_data
    # A member with version 0 is older than cooperative-sticky: its four bytes are sticky's empty list.
    if user_data and len(user_data) == INT32.size and subscription.owned is not None:
        return member_data(subscription, COOPERATIVE_STICKY)
    decoded = _wholly_sticky(user_data) if user_data and not subscription.owned else None
    if decoded:
        return MemberData(decoded.partitions, decoded.generation)
    return MemberData(subscription.owned, subscription.generation)


def _wholly_sticky(user_data: bytes) -> StickyUserData | None:
    """Decode user data; return None unless sticky may have written all of it."""
    try:
        decoded = decode_sticky_user_data(user_data)
    except SchemaError:
        return None
    names = {topic for topic, _ in decoded.partitions}
    size = sum(_SMALLEST_TOPIC + len(name.encode()) for name in names)
    size += INT32.size * (1 + len(decoded.partitions) + (decoded.generation is not None))
    return decoded if size == len(user_data) and "" not in names else None


def _read_partitions(reader: Readable, field: str) -> tuple[TopicPartition, ...]:
    """Read ``[topic, [partition]]``."""
    partitions: list[TopicPartition] = []
    for _ in range(reader.size(field, _SMALLEST_TOPIC)):
        topic = reader.string(field)
        partitions += [TopicPartition(topic, number) for number in reader.int32s(field)]
    return tuple(partitions)


# ---- encoding


def encode_subscription(
    subscription: Subscription, version: int = NEWEST_VERSION, kafka: KafkaVersion = _NEWEST_KAFKA
) -> bytes:
    """Encode a subscription like a consumer of this Kafka release (``ConsumerProtocol.serializeSubscription``).

    Fields that the version does not have are left out; a version newer than the newest known is written as the latter.
    Since Kafka 2.8.1 topics and owned partitions are sorted. Raises SchemaError for a negative version and for values
    out of range.

    >>> encode_subscription(Subscription(("b", "a")), version=0).hex(" ", 2)
    '0000 0000 0002 0001 6100 0162 ffff ffff'
    """
    version = _written_version(version)
    topics, owned = list(subscription.topics), tuple(subscription.owned or ())
    if kafka.consumer_writer >= ConsumerWriter.SORTED_SUBSCRIPTIONS:
        topics.sort(key=java_key)
        by_topic = _by_topic_in_order(sorted(owned, key=lambda part: (java_key(part.topic), part.partition)))
    else:
        by_topic = _by_topic_hashed(owned, kafka)
    parts = [_int16(version), _int32(len(subscription.topics)), *map(_string, topics), _bytes(subscription.user_data)]
    if version >= 1:
        parts += _partitions(by_topic)
    if version >= 2:
        parts.append(_int32(-1 if subscription.generation is None else subscription.generation))
    if version >= 3:
        parts.append(_int16(-1) if subscription.rack is None else _string(subscription.rack))
    return b"".join(parts)


def encode_assignment(
    assignment: Assignment, version: int = NEWEST_VERSION, kafka: KafkaVersion = _NEWEST_KAFKA
) -> bytes:
    """Encode an assignment like a leader of this Kafka release (``ConsumerProtocol.serializeAssignment``).

    Topics are in the order of the assignment; before Kafka 3.0 in the iteration order of a hash map. Raises SchemaError
    for a negative version and for values out of range.
    """
    if kafka.consumer_writer == ConsumerWriter.SORTED:
        by_topic = _by_topic_in_order(assignment.partitions)
    else:
        by_topic = _by_topic_hashed(assignment.partitions, kafka)
    parts = [_int16(_written_version(version)), *_partitions(by_topic), _bytes(assignment.user_data)]
    return b"".join(parts)


def encode_sticky_user_data(user_data: StickyUserData, kafka: KafkaVersion = _NEWEST_KAFKA) -> bytes:
    """Encode sticky user data like ``StickyAssignor.serializeTopicPartitionAssignment``.

    Topics are in the iteration order of a hash map. Without a generation this is the format before Kafka 2.3. Raises
    SchemaError for values out of range.

    >>> encode_sticky_user_data(StickyUserData((TopicPartition("t", 5),), generation=2)).hex(" ", 4)
    '000000 01000174 00000001 00000005 00000002'
    """
    parts = _partitions(_by_topic_hashed(user_data.partitions, kafka))
    if user_data.generation is not None:
        parts.append(_int32(user_data.generation))
    return b"".join(parts)


def encode_cooperative_user_data(generation: int) -> bytes:
    """Encode a generation like ``CooperativeStickyAssignor.subscriptionUserData``; a new member's is -1."""
    return _int32(generation)


def _written_version(version: int) -> int:
    if version < 0:
        raise SchemaError(f"version {version} is not supported")
    return min(version, NEWEST_VERSION)


def _by_topic_in_order(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    by_topic: dict[str, list[int]] = {}
    for topic, partition in partitions:
        by_topic.setdefault(topic, []).append(partition)
    return by_topic


def _by_topic_hashed(partitions: tuple[TopicPartition, ...], kafka: KafkaVersion) -> dict[str, list[int]]:
    """Group like ``CollectionUtils.groupPartitionsByTopic``, with the topics in the order of its hash map."""
    by_topic = _by_topic_in_order(partitions)
    names = list(by_topic)
    hashes = java_hashes(Strings.of(names))
    keys = np.arange(len(names), dtype=np.int32)
    if kafka.consumer_writer == ConsumerWriter.HASHED_BY_PUT:
        order = java_order(hashes, keys, java_table_size(len(keys)))
    else:
        last_call_inserts = len(names) > 0 and len(by_topic[partitions[-1].topic]) == 1
        order = java_compute_if_absent_order(hashes, keys, last_call_inserts)
    return {names[key]: by_topic[names[key]] for key in order}


def _partitions(by_topic: dict[str, list[int]]) -> list[bytes]:
    parts = [_int32(len(by_topic))]
    for topic, numbers in by_topic.items():
        parts += [_string(topic), _int32(len(numbers)), *map(_int32, numbers)]
    return parts


def _string(value: str) -> bytes:
    try:
        encoded = value.encode()
    except UnicodeEncodeError as problem:
        raise SchemaError(f"{value!r} has no UTF-8 form") from problem
    if len(encoded) > LONGEST_STRING:
        raise SchemaError(f"a name of {len(encoded)} bytes is too long; at most {LONGEST_STRING} fit")
    return _int16(len(encoded)) + encoded


def _bytes(value: bytes | None) -> bytes:
    return _int32(-1) if value is None else _int32(len(value)) + value


def _int16(value: int) -> bytes:
    return INT16.pack(value)


def _int32(value: int) -> bytes:
    try:
        return INT32.pack(value)
    except struct.error as problem:
        raise SchemaError(f"{value} does not fit into 32 bits") from problem
