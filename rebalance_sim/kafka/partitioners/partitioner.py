"""The parts of a partitioner: the hash of a key, the partition of a hash, and the rule for records without a key."""

from dataclasses import dataclass
from enum import IntEnum


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
    """The mapping of a 32-bit hash to one of n partitions."""

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
