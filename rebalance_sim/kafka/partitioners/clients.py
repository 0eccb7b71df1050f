"""Client libraries and their partitioners: the hash of a key, the partition of a hash, and the rule without a key.

Sources: ``DefaultPartitioner`` of Kafka 2.3.1 and 2.4.1, ``BuiltInPartitioner`` of 4.3.1, ``RoundRobinPartitioner`` and
``UniformStickyPartitioner`` of 2.4.1 to 4.3.1; librdkafka 2.16
``rdkafka_msg.c``; Sarama 1.46 ``partitioner.go``; franz-go 1.20 ``partitioner.go``; kafka-go 0.4 ``balancer.go``;
KafkaJS 2.2.4 ``producer/partitioners``; @platformatic/kafka 1.35 ``producer/partitioners.js``; kafka-python 3.0
``partitioner/default.py`` (aiokafka has the same); pykafka 2.8 ``partitioners.py``; brod ``brod_utils:make_part_fun``;
klife ``default_partitioner.ex``; kafka-rust ``producer.rs``; ruby-kafka ``partitioner.rb``; Beats
``outputs/kafka/partition.go``; Kafka Streams ``WindowedStreamPartitioner``; Pulsar 4.0 ``MessageRouterBase``.
"""

from dataclasses import dataclass
from enum import IntEnum

from rebalance_sim.errors import check_choice


class KeyHash(IntEnum):
    """A hash function of ``rebalance_sim.kafka.partitioners.key_hashes``."""

    NONE = 0
    """Keys are ignored."""
    MURMUR2 = 1
    LEGACY_KAFKAJS_MURMUR2 = 2
    FNV1A = 3
    CRC32 = 4
    MURMUR3 = 5
    JAVA_STRING = 6
    XXHASH32 = 7
    PHASH2 = 8
    SHA1 = 9


class ToPartition(IntEnum):
    """How a 32-bit hash is mapped to one of n partitions."""

    POSITIVE = 0
    """The sign bit is cleared, then modulo n (``Utils.toPositive``)."""
    UNSIGNED = 1
    """Unsigned, modulo n (librdkafka's ``rd_kafka_msg_partitioner_consistent``)."""
    ABSOLUTE = 2
    """Signed, modulo n, and the absolute value of the remainder (Sarama's ``hashPartitioner``: "if p < 0, p = -p")."""
    LOW_27_BITS = 3
    """The lowest 27 bits, modulo n (``erlang:phash2/1``, the hash that brod divides)."""


class Unkeyed(IntEnum):
    """The rule that spreads a producer's records without a usable key over the partitions of a topic."""

    JAVA_ROUND_ROBIN = 0
    """Round robin over the available partitions, from a random start (Java before 2.4, ``DefaultPartitioner``)."""
    KAFKAJS_ROUND_ROBIN = 1
    """The same, but the counter is incremented before its first use (KafkaJS)."""
    KAFKA_GO_ROUND_ROBIN = 2
    """Round robin over all partitions, by one counter for all topics of a producer (kafka-go's ``RoundRobin``)."""
    RANDOM = 3
    """A random partition per record, of all partitions (kafka-go, ruby-kafka, klife, Beats)."""
    RANDOM_AVAILABLE = 4
    """A random partition per record, of the available ones if there are any (kafka-python, Sarama)."""
    STICKY_UNTIL_NEW_BATCH = 5
    """One partition until an append needs a new batch (Java 2.4, KIP-480, ``StickyPartitionCache``)."""
    STICKY_BY_BYTES = 6
    """One partition for batch.size bytes; the next is weighted by queue size (Java 3.3, KIP-794)."""
    STICKY_BY_TIME = 7
    """One partition for sticky.partitioning.linger.ms (librdkafka, ``rd_kafka_msg_sticky_partition``)."""
    STICKY_BY_OWN_BYTES = 8
    """One partition for 64 KiB as franz-go counts them; the next is weighted by buffered records (franz-go)."""
    RANDOM_LIBRDKAFKA = 9
    """A random partition per record, redrawn once if it has no leader (``rd_kafka_msg_partitioner_random``)."""
    PULSAR_ROUND_ROBIN = 10
    """Round robin by time: the next partition every 10 ms (Pulsar's router with batching)."""
    KAFKA_RUST_ROUND_ROBIN = 11
    """Round robin over the available partitions, by one counter for all topics (kafka-rust)."""
    LEAST_BYTES = 12
    """The first of the partitions to which the fewest bytes of keys and values went (kafka-go's ``LeastBytes``).

    Topics with the same number of partitions share the counts."""
    PLATFORMATIC_ROUND_ROBIN = 13
    """Round robin over all partitions of each topic, from the first (@platformatic/kafka)."""
    ROUND_ROBIN_PARTITIONER = 14
    """Round robin over the available partitions of each topic, from the first (Java's ``RoundRobinPartitioner``)."""
    ROUND_ROBIN_TWICE = 15
    """The same, but a record that needs a new batch takes a second turn, and the first is lost (2.4 to 3.9.1)."""


@dataclass(frozen=True)
class Client:
    """A client library with one of its partitioners."""

    name: str
    hash: KeyHash
    unkeyed: Unkeyed
    to_partition: ToPartition = ToPartition.POSITIVE
    hashes_empty: bool = True
    """Whether an empty key is hashed; if not, the record counts as unkeyed."""
    hashes_null: bool = False
    """Whether a null key is hashed like an empty one."""
    window_bytes: int = 0
    """Bytes at the end of a key that are not hashed: the window of a key of Kafka Streams."""


_CLIENTS = (
    Client("java-2.3", KeyHash.MURMUR2, Unkeyed.JAVA_ROUND_ROBIN),
    Client("java-2.4", KeyHash.MURMUR2, Unkeyed.STICKY_UNTIL_NEW_BATCH),
    Client("java-3.3", KeyHash.MURMUR2, Unkeyed.STICKY_BY_BYTES),
    Client("java-2.4-round-robin", KeyHash.NONE, Unkeyed.ROUND_ROBIN_TWICE),
    Client("java-4.0-round-robin", KeyHash.NONE, Unkeyed.ROUND_ROBIN_PARTITIONER),
    Client("java-uniform-sticky", KeyHash.NONE, Unkeyed.STICKY_UNTIL_NEW_BATCH),
    # TimeWindowedSerializer appends the start of the window, SessionWindowedSerializer its end and its start.
    Client("streams-time-windowed", KeyHash.MURMUR2, Unkeyed.STICKY_BY_BYTES, window_bytes=8),
    Client("streams-session-windowed", KeyHash.MURMUR2, Unkeyed.STICKY_BY_BYTES, window_bytes=16),
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
    Client("beats", KeyHash.FNV1A, Unkeyed.RANDOM),
    Client("franz-go", KeyHash.MURMUR2, Unkeyed.STICKY_BY_OWN_BYTES),
    Client("kafka-python", KeyHash.MURMUR2, Unkeyed.RANDOM_AVAILABLE),
    Client("aiokafka", KeyHash.MURMUR2, Unkeyed.RANDOM_AVAILABLE),
    # pykafka refuses records without a key.
    Client("pykafka-hash", KeyHash.SHA1, Unkeyed.RANDOM),
    Client("ruby-kafka", KeyHash.CRC32, Unkeyed.RANDOM, ToPartition.UNSIGNED),
    # In brod no key is an empty one.
    Client("brod-hash", KeyHash.PHASH2, Unkeyed.RANDOM, ToPartition.LOW_27_BITS, hashes_null=True),
    Client("klife", KeyHash.PHASH2, Unkeyed.RANDOM, ToPartition.UNSIGNED),
    Client("kafka-rust", KeyHash.XXHASH32, Unkeyed.KAFKA_RUST_ROUND_ROBIN, ToPartition.UNSIGNED),
    Client("platformatic-kafka", KeyHash.MURMUR2, Unkeyed.PLATFORMATIC_ROUND_ROBIN, ToPartition.UNSIGNED),
    Client("kafkajs", KeyHash.MURMUR2, Unkeyed.KAFKAJS_ROUND_ROBIN),
    Client("kafkajs-legacy", KeyHash.LEGACY_KAFKAJS_MURMUR2, Unkeyed.KAFKAJS_ROUND_ROBIN),
    Client("kafka-go", KeyHash.NONE, Unkeyed.KAFKA_GO_ROUND_ROBIN),
    Client("kafka-go-least-bytes", KeyHash.NONE, Unkeyed.LEAST_BYTES),
    Client("kafka-go-hash", KeyHash.FNV1A, Unkeyed.KAFKA_GO_ROUND_ROBIN, ToPartition.ABSOLUTE),
    Client("kafka-go-reference-hash", KeyHash.FNV1A, Unkeyed.RANDOM),
    Client("kafka-go-crc32", KeyHash.CRC32, Unkeyed.RANDOM, ToPartition.UNSIGNED, hashes_empty=False),
    Client("kafka-go-crc32-consistent", KeyHash.CRC32, Unkeyed.RANDOM, ToPartition.UNSIGNED, hashes_null=True),
    Client("kafka-go-murmur2", KeyHash.MURMUR2, Unkeyed.RANDOM),
    Client("kafka-go-murmur2-consistent", KeyHash.MURMUR2, Unkeyed.RANDOM, hashes_null=True),
    Client("pulsar", KeyHash.JAVA_STRING, Unkeyed.PULSAR_ROUND_ROBIN),
    Client("pulsar-murmur3", KeyHash.MURMUR3, Unkeyed.PULSAR_ROUND_ROBIN),
)

CLIENTS = {client.name: client for client in _CLIENTS}
"""Clients by the names that options and the column ``client`` use."""


def client_named(what: str, name: str) -> Client:
    """Return a client by name; raise UserError, beginning with ``what``, for an unknown name.

    >>> client_named("--client", "sarama").to_partition.name
    'ABSOLUTE'
    """
    check_choice(what, name, list(CLIENTS))
    return CLIENTS[name]
