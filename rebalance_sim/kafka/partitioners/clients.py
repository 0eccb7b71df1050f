"""What the clients of Kafka do with a record: which hash, from it to a partition, and what with a record without key.

Sources: ``DefaultPartitioner`` of Kafka 2.3.1 and 2.4.1, ``BuiltInPartitioner`` of 4.3.1; librdkafka 2.16
``rdkafka_msg.c``; Sarama 1.46 ``partitioner.go``; franz-go 1.20 ``partitioner.go``; kafka-go 0.4 ``balancer.go``;
KafkaJS 2.2.4 ``producer/partitioners``; kafka-python 3.0 ``partitioner/default.py`` (aiokafka has the same); Pulsar 4.0
``MessageRouterBase``.
"""

from dataclasses import dataclass
from enum import IntEnum

from rebalance_sim.errors import check_choice


class KeyHash(IntEnum):
    """A hash function of ``rebalance_sim.kafka.key_hashes``."""

    NONE = 0
    """Keys are not looked at."""
    MURMUR2 = 1
    LEGACY_KAFKAJS_MURMUR2 = 2
    FNV1A = 3
    CRC32 = 4
    MURMUR3 = 5
    JAVA_STRING = 6


class ToPartition(IntEnum):
    """How a hash of 32 bits becomes one of n partitions."""

    POSITIVE = 0
    """Without its sign bit, modulo n (``Utils.toPositive``)."""
    UNSIGNED = 1
    """As an unsigned number, modulo n."""
    ABSOLUTE = 2
    """As a signed number, modulo n, without the sign of the remainder."""


class Unkeyed(IntEnum):
    """How the records of a producer that have no key to go by are spread over the partitions of a topic."""

    JAVA_ROUND_ROBIN = 0
    """In turn over the available partitions, from a random start (Java before 2.4)."""
    KAFKAJS_ROUND_ROBIN = 1
    """The same, one ahead (KafkaJS)."""
    KAFKA_GO_ROUND_ROBIN = 2
    """In turn over all partitions, from the first (kafka-go)."""
    RANDOM = 3
    """At random over all partitions, record by record (kafka-go)."""
    RANDOM_AVAILABLE = 4
    """At random over the available partitions if there are any (kafka-python, Sarama)."""
    STICKY_UNTIL_NEW_BATCH = 5
    """One partition until an append would open a new batch (Java 2.4, KIP-480)."""
    STICKY_BY_BYTES = 6
    """One partition for batch.size bytes, the next drawn by how long the queues are (Java 3.3, KIP-794)."""
    STICKY_BY_TIME = 7
    """One partition for sticky.partitioning.linger.ms (librdkafka)."""
    STICKY_BY_OWN_BYTES = 8
    """One partition for 64 KiB, as franz-go counts them, the next drawn by how many records wait."""
    RANDOM_LIBRDKAFKA = 9
    """At random, record by record; where the partition has no leader, drawn once more (librdkafka)."""
    PULSAR_ROUND_ROBIN = 10
    """Another partition every so many milliseconds, in turn (Pulsar)."""


@dataclass(frozen=True)
class Client:
    """A client library, or one of its partitioners."""

    name: str
    hash: KeyHash
    unkeyed: Unkeyed
    to_partition: ToPartition = ToPartition.POSITIVE
    hashes_empty: bool = True
    """Whether a key without bytes is hashed; else the record counts as unkeyed."""
    hashes_null: bool = False
    """Whether a record without key is hashed, as if its key were empty."""


_CLIENTS = (
    Client("java-2.3", KeyHash.MURMUR2, Unkeyed.JAVA_ROUND_ROBIN),
    Client("java-2.4", KeyHash.MURMUR2, Unkeyed.STICKY_UNTIL_NEW_BATCH),
    Client("java-3.3", KeyHash.MURMUR2, Unkeyed.STICKY_BY_BYTES),
    Client("librdkafka", KeyHash.CRC32, Unkeyed.STICKY_BY_TIME, ToPartition.UNSIGNED, hashes_empty=False),
    Client("librdkafka-random", KeyHash.NONE, Unkeyed.RANDOM_LIBRDKAFKA),
    Client("librdkafka-consistent", KeyHash.CRC32, Unkeyed.STICKY_BY_TIME, ToPartition.UNSIGNED, hashes_null=True),
    Client("librdkafka-murmur2", KeyHash.MURMUR2, Unkeyed.STICKY_BY_TIME, hashes_null=True),
    Client("librdkafka-murmur2-random", KeyHash.MURMUR2, Unkeyed.STICKY_BY_TIME),
    Client("librdkafka-fnv1a", KeyHash.FNV1A, Unkeyed.STICKY_BY_TIME, ToPartition.ABSOLUTE, hashes_null=True),
    Client("librdkafka-fnv1a-random", KeyHash.FNV1A, Unkeyed.STICKY_BY_TIME, ToPartition.ABSOLUTE),
    Client("sarama", KeyHash.FNV1A, Unkeyed.RANDOM_AVAILABLE, ToPartition.ABSOLUTE),
    Client("sarama-reference", KeyHash.FNV1A, Unkeyed.RANDOM_AVAILABLE),
    Client("sarama-crc32", KeyHash.CRC32, Unkeyed.RANDOM_AVAILABLE, ToPartition.UNSIGNED),
    Client("sarama-murmur2", KeyHash.MURMUR2, Unkeyed.RANDOM_AVAILABLE),
    Client("franz-go", KeyHash.MURMUR2, Unkeyed.STICKY_BY_OWN_BYTES),
    Client("kafka-python", KeyHash.MURMUR2, Unkeyed.RANDOM_AVAILABLE),
    Client("aiokafka", KeyHash.MURMUR2, Unkeyed.RANDOM_AVAILABLE),
    Client("kafkajs", KeyHash.MURMUR2, Unkeyed.KAFKAJS_ROUND_ROBIN),
    Client("kafkajs-legacy", KeyHash.LEGACY_KAFKAJS_MURMUR2, Unkeyed.KAFKAJS_ROUND_ROBIN),
    Client("kafka-go", KeyHash.NONE, Unkeyed.KAFKA_GO_ROUND_ROBIN),
    Client("kafka-go-hash", KeyHash.FNV1A, Unkeyed.KAFKA_GO_ROUND_ROBIN, ToPartition.ABSOLUTE),
    Client("kafka-go-reference-hash", KeyHash.FNV1A, Unkeyed.RANDOM),
    Client("kafka-go-crc32", KeyHash.CRC32, Unkeyed.RANDOM, ToPartition.UNSIGNED, hashes_empty=False),
    Client("kafka-go-murmur2", KeyHash.MURMUR2, Unkeyed.RANDOM),
    Client("pulsar", KeyHash.JAVA_STRING, Unkeyed.PULSAR_ROUND_ROBIN),
    Client("pulsar-murmur3", KeyHash.MURMUR3, Unkeyed.PULSAR_ROUND_ROBIN),
)

CLIENTS = {client.name: client for client in _CLIENTS}
"""Clients by the name under which they are asked for."""


def client_named(what: str, name: str) -> Client:
    """Return a client; raise UserError, which begins with ``what``, for a name that is not known.

    >>> client_named("--client", "sarama").to_partition.name
    'ABSOLUTE'
    """
    check_choice(what, name, list(CLIENTS))
    return CLIENTS[name]
