"""The bytes in which consumers tell the group leader what they want and have, and in which it tells them what they get.

The embedded protocol of type ``consumer`` (``ConsumerProtocol``, versions 0 to 3) and the user data that the sticky
assignors put into it (``StickyAssignor``, ``CooperativeStickyAssignor``). Numbers are big endian.

Read as Kafka reads: bytes of a newer version as the newest known one, and what follows the last field is left alone.
One thing is stricter: names that are not UTF-8 are an error here, where Kafka puts replacement characters into them.
"""

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.hash_order import java_compute_if_absent_order, java_order, java_table_size
from rebalance_sim.kafka.readable import INT16, INT32, LONGEST_STRING, Readable, SchemaError
from rebalance_sim.kafka.strings import Strings, java_hashes
from rebalance_sim.versions import NEWEST, ConsumerWriter, KafkaVersion, kafka_version

NEWEST_VERSION = 3
"""Of subscription and assignment. Consumers write 0 before Kafka 2.4, 1 before 3.4, and then 3."""
STICKY = "sticky"
COOPERATIVE_STICKY = "cooperative-sticky"

_NEWEST_KAFKA = kafka_version(NEWEST)
_SMALLEST_TOPIC = 6
"""Bytes of a topic without a name and partitions."""


class TopicPartition(NamedTuple):
    """A partition of a topic."""

    topic: str
    partition: int


@dataclass(frozen=True)
class Subscription:
    """What a member tells when it joins (``ConsumerPartitionAssignor.Subscription``)."""

    topics: tuple[str, ...]
    user_data: bytes | None = None
    """What the member's assignor adds for its own use."""
    owned: tuple[TopicPartition, ...] | None = None
    """Partitions that the member has not given back; None where the bytes cannot tell (version 0)."""
    generation: int | None = None
    """Generation that ``owned`` comes from; None where the bytes do not tell."""
    rack: str | None = None
    group_instance_id: str | None = None
    """Of a static member. The bytes do not tell it: the coordinator names it to the leader beside them."""


@dataclass(frozen=True)
class Assignment:
    """What the leader gives to a member (``ConsumerPartitionAssignor.Assignment``)."""

    partitions: tuple[TopicPartition, ...]
    user_data: bytes | None = None


@dataclass(frozen=True)
class StickyUserData:
    """What a member tells the sticky assignor: the assignment that it had last."""

    partitions: tuple[TopicPartition, ...]
    generation: int | None = None
    """Told since Kafka 2.3."""


@dataclass(frozen=True)
class MemberData:
    """What a leader takes for a member's earlier assignment (``AbstractStickyAssignor.MemberData``)."""

    owned: tuple[TopicPartition, ...] | None
    """None where the bytes do not tell."""
    generation: int | None
    error: str | None = None
    """Why the user data could not be read."""


# ---- reading


def decode_subscription(data: bytes) -> Subscription:
    """Read a subscription of any version (``ConsumerProtocol.deserializeSubscription``).

    As in Kafka, a negative generation and an empty rack are none. Raises SchemaError for broken bytes.

    >>> decode_subscription(bytes.fromhex("0000" "00000001" "00066f7264657273" "ffffffff")).topics
    ('orders',)
    >>> decode_subscription(bytes.fromhex("0000" "00000001" "00066f72"))
    Traceback (most recent call last):
    ...
    rebalance_sim.kafka.readable.SchemaError: subscription: topics: 6 bytes expected at byte 8, 2 are left
    """
    reader = Readable(data, "subscription")
    version = _version(reader)
    topics = reader.strings("topics")
    user_data = reader.nullable_bytes("user_data")
    owned = _read_partitions(reader, "owned_partitions") if version >= 1 else None
    generation = reader.int32("generation_id") if version >= 2 else -1
    rack = reader.nullable_string("rack_id") if version >= 3 else None
    return Subscription(topics, user_data, owned, None if generation < 0 else generation, rack or None)


def decode_assignment(data: bytes) -> Assignment:
    """Read an assignment of any version (``ConsumerProtocol.deserializeAssignment``).

    Raises SchemaError for broken bytes.
    """
    reader = Readable(data, "assignment")
    _version(reader)
    return Assignment(_read_partitions(reader, "assigned_partitions"), reader.nullable_bytes("user_data"))


def _version(reader: Readable) -> int:
    """Read the version that the bytes are to be read as."""
    version = reader.int16("version")
    if version < 0:
        raise reader.error("version", f"{version} is not supported", 0)
    return min(version, NEWEST_VERSION)


def decode_sticky_user_data(data: bytes) -> StickyUserData:
    """Read what ``StickyAssignor`` puts into the user data: with a generation or, as before Kafka 2.3, without.

    Raises SchemaError for broken bytes, which Kafka takes for no assignment since 2.3 and fails on before.
    """
    reader = Readable(data, "sticky user data")
    partitions = _read_partitions(reader, "previous_assignment")
    return StickyUserData(partitions, reader.int32("generation") if reader.left >= INT32.size else None)


def decode_cooperative_user_data(data: bytes) -> int:
    """Read the generation, all that ``CooperativeStickyAssignor`` (since Kafka 2.4) puts into the user data.

    Raises SchemaError for broken bytes, from which Kafka takes the generation -1.
    """
    return Readable(data, "cooperative-sticky user data").int32("generation")


def member_data(subscription: Subscription, protocol: str | None) -> MemberData:
    """Tell what a member owned and in which generation, as the leader of a group of a protocol sees it.

    Sticky takes both from the user data: its members give everything back before they join, so that the subscription
    owns nothing. Cooperative-sticky takes the owned partitions from the subscription, and the generation from the user
    data where the subscription tells none. All others know the subscription alone. User data that cannot be read tells
    nothing, as in Kafka since 2.3.

    Where the protocol is not known: user data of four bytes is a generation, as cooperative-sticky writes it, but for
    version 0, which is older. Else the subscription tells, if it owns something. Else the user data does, if sticky may
    have written it from the first to the last byte: every topic named, once, and with partitions.
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
        told = decode_sticky_user_data(user_data)
    except SchemaError as problem:
        return MemberData((), None, str(problem))
    return MemberData(told.partitions, told.generation)


def _of_cooperative(subscription: Subscription) -> MemberData:
    if subscription.user_data is None:
        return MemberData(subscription.owned, None)
    try:
        return MemberData(subscription.owned, decode_cooperative_user_data(subscription.user_data))
    except SchemaError as problem:
        return MemberData(subscription.owned, None, str(problem))


def _of_unknown(subscription: Subscription) -> MemberData:
    user_data = subscription.user_data
    # Members of version 0 are older than cooperative-sticky: four bytes of theirs are an empty list.
    if user_data and len(user_data) == INT32.size and subscription.owned is not None:
        return member_data(subscription, COOPERATIVE_STICKY)
    told = _wholly_sticky(user_data) if user_data and not subscription.owned else None
    if told:
        return MemberData(told.partitions, told.generation)
    return MemberData(subscription.owned, subscription.generation)


def _wholly_sticky(user_data: bytes) -> StickyUserData | None:
    """Read user data that sticky may have written from the first to the last byte."""
    try:
        told = decode_sticky_user_data(user_data)
    except SchemaError:
        return None
    names = {topic for topic, _ in told.partitions}
    size = sum(_SMALLEST_TOPIC + len(name.encode()) for name in names)
    size += INT32.size * (1 + len(told.partitions) + (told.generation is not None))
    return told if size == len(user_data) and "" not in names else None


def _read_partitions(reader: Readable, field: str) -> tuple[TopicPartition, ...]:
    """Read ``[topic, [partition]]``."""
    partitions: list[TopicPartition] = []
    for _ in range(reader.size(field, _SMALLEST_TOPIC)):
        topic = reader.string(field)
        partitions += [TopicPartition(topic, number) for number in reader.int32s(field)]
    return tuple(partitions)


# ---- writing


def encode_subscription(
    subscription: Subscription, version: int = NEWEST_VERSION, kafka: KafkaVersion = _NEWEST_KAFKA
) -> bytes:
    """Write a subscription as a consumer of a Kafka version does (``ConsumerProtocol.serializeSubscription``).

    What the protocol's version cannot tell is left out; a newer version is written as the newest known. Since
    Kafka 2.8 the topics are sorted. Raises SchemaError for a negative version and for values that do not fit.

    >>> encode_subscription(Subscription(("b", "a")), version=0).hex(" ", 2)
    '0000 0000 0002 0001 6100 0162 ffff ffff'
    """
    version = _written_version(version)
    topics: Iterable[str] = subscription.topics
    if kafka.consumer_writer == ConsumerWriter.SORTED:
        topics = sorted(topics, key=_java_order)
    parts = [_int16(version), _int32(len(subscription.topics)), *map(_string, topics), _bytes(subscription.user_data)]
    if version >= 1:
        owned = sorted(subscription.owned or (), key=lambda owned: (_java_order(owned.topic), owned.partition))
        parts += _partitions(_by_topic_as_named(owned))
    if version >= 2:
        parts.append(_int32(-1 if subscription.generation is None else subscription.generation))
    if version >= 3:
        parts.append(_int16(-1) if subscription.rack is None else _string(subscription.rack))
    return b"".join(parts)


def encode_assignment(
    assignment: Assignment, version: int = NEWEST_VERSION, kafka: KafkaVersion = _NEWEST_KAFKA
) -> bytes:
    """Write an assignment as a leader of a Kafka version does (``ConsumerProtocol.serializeAssignment``).

    Topics stand in the order in which the assignment names them, or before Kafka 3.0 in that of a hash map. Raises
    SchemaError for a negative version and for values that do not fit.
    """
    if kafka.consumer_writer == ConsumerWriter.SORTED:
        by_topic = _by_topic_as_named(assignment.partitions)
    else:
        by_topic = _by_topic_hashed(assignment.partitions, kafka)
    parts = [_int16(_written_version(version)), *_partitions(by_topic), _bytes(assignment.user_data)]
    return b"".join(parts)


def encode_sticky_user_data(told: StickyUserData, kafka: KafkaVersion = _NEWEST_KAFKA) -> bytes:
    """Write what ``StickyAssignor.serializeTopicPartitionAssignment`` does: topics in the order of a hash map.

    Without a generation it is the format before Kafka 2.3. Raises SchemaError for values that do not fit.

    >>> encode_sticky_user_data(StickyUserData((TopicPartition("t", 5),), generation=2)).hex(" ", 4)
    '000000 01000174 00000001 00000005 00000002'
    """
    parts = _partitions(_by_topic_hashed(told.partitions, kafka))
    if told.generation is not None:
        parts.append(_int32(told.generation))
    return b"".join(parts)


def encode_cooperative_user_data(generation: int) -> bytes:
    """Write the generation, as ``CooperativeStickyAssignor.subscriptionUserData`` does; -1 before the first."""
    return _int32(generation)


def _written_version(version: int) -> int:
    if version < 0:
        raise SchemaError(f"version {version} is not supported")
    return min(version, NEWEST_VERSION)


def _java_order(name: str) -> bytes:
    """Order as ``String.compareTo``: by UTF-16 code units."""
    return name.encode("utf-16-be", "surrogatepass")


def _by_topic_as_named(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    by_topic: dict[str, list[int]] = {}
    for topic, partition in partitions:
        by_topic.setdefault(topic, []).append(partition)
    return by_topic


def _by_topic_hashed(partitions: tuple[TopicPartition, ...], kafka: KafkaVersion) -> dict[str, list[int]]:
    """Group as ``CollectionUtils.groupPartitionsByTopic`` does, and return the topics in the order of its map."""
    by_topic = _by_topic_as_named(partitions)
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
