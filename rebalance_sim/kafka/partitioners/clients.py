"""Clients by name: those of the client libraries' records, and those of which only a partitioner is known.

Sources of the latter: pykafka 2.8 ``partitioners.py``; klife ``default_partitioner.ex``; kafka-rust ``producer.rs``;
Beats ``outputs/kafka/partition.go``; Pulsar 4.0 ``MessageRouterBase``.
"""

from rebalance_sim.errors import check_choice
from rebalance_sim.kafka.clients import LIBRARIES
from rebalance_sim.kafka.partitioners.partitioner import Client, KeyHash, ToPartition, Unkeyed

_OTHERS = (
    Client("beats", KeyHash.FNV1A, Unkeyed.RANDOM),
    # pykafka refuses records without a key.
    Client("pykafka-hash", KeyHash.SHA1, Unkeyed.RANDOM),
    Client("klife", KeyHash.PHASH2, Unkeyed.RANDOM, ToPartition.UNSIGNED),
    Client("kafka-rust", KeyHash.XXHASH32, Unkeyed.KAFKA_RUST_ROUND_ROBIN, ToPartition.UNSIGNED),
    Client("pulsar", KeyHash.JAVA_STRING, Unkeyed.PULSAR_ROUND_ROBIN),
    Client("pulsar-murmur3", KeyHash.MURMUR3, Unkeyed.PULSAR_ROUND_ROBIN),
)

CLIENTS = {
    client.name: client
    for client in (*(each for library in LIBRARIES.values() for each in library.partitioners), *_OTHERS)
}
"""Clients by the names that options and the column ``client`` use."""


def client_named(what: str, name: str) -> Client:
    """Return a client by name; raise UserError, beginning with ``what``, for an unknown name.

    >>> client_named("--client", "sarama").to_partition.name
    'ABSOLUTE'
    """
    check_choice(what, name, list(CLIENTS))
    return CLIENTS[name]
