"""kafka-go 0.4.51 of Segment, of Go.

Sources: ``consumergroup.go``, ``dialer.go``, ``groupbalancer.go``, ``balancer.go``.
"""

from rebalance_sim.kafka.clients.library import GO_SECONDS, ClientLibrary, LibraryAssignor, Rules, Subscriptions
from rebalance_sim.kafka.guarantees import Guarantee
from rebalance_sim.kafka.partitioners.partitioner import Client, KeyHash, ToPartition, Unkeyed

_RULES = "rebalance_sim.kafka.assignors.kafka_go.group_balancers"

LIBRARY = ClientLibrary(
    "kafka-go",
    # The program's name and the host's.
    client_ids=r".*@.* \(github\.com/segmentio/kafka-go\)",
    default_protocols=(((0,), ("range", "roundrobin")),),
    subscriptions=Subscriptions((1,), end_early=True),
    settings={
        "partition.assignment.strategy": "GroupBalancers",
        "session.timeout.ms": "SessionTimeout",
        "heartbeat.interval.ms": "HeartbeatInterval",
        "rebalance.timeout.ms": "RebalanceTimeout",
    },
    durations=GO_SECONDS,
    assignors=(
        LibraryAssignor(
            "range",
            "kafka-go-range",
            Rules(_RULES, "assign_range"),
            guarantee=Guarantee.BALANCED_TOPICS,
            in_brokers_order=True,
            configured_as="kafka.RangeGroupBalancer{}",
        ),
        LibraryAssignor(
            "roundrobin",
            "kafka-go-roundrobin",
            Rules(_RULES, "assign_roundrobin"),
            guarantee=Guarantee.BALANCED_TOPICS,
            in_brokers_order=True,
            configured_as="kafka.RoundRobinGroupBalancer{}",
        ),
        LibraryAssignor(
            "rack-affinity",
            "kafka-go-rack-affinity",
            unpredictable="it visits a map of Go in a random order",
            guarantee=Guarantee.BALANCED_TOPICS,
            configured_as="kafka.RackAffinityGroupBalancer{}",
        ),
    ),
    partitioners=(
        Client("kafka-go", KeyHash.NONE, Unkeyed.KAFKA_GO_ROUND_ROBIN),
        Client("kafka-go-least-bytes", KeyHash.NONE, Unkeyed.LEAST_BYTES),
        Client("kafka-go-hash", KeyHash.FNV1A, Unkeyed.KAFKA_GO_ROUND_ROBIN, ToPartition.ABSOLUTE),
        Client("kafka-go-reference-hash", KeyHash.FNV1A, Unkeyed.RANDOM),
        Client("kafka-go-crc32", KeyHash.CRC32, Unkeyed.RANDOM, ToPartition.UNSIGNED, hashes_empty=False),
        Client("kafka-go-crc32-consistent", KeyHash.CRC32, Unkeyed.RANDOM, ToPartition.UNSIGNED, hashes_null=True),
        Client("kafka-go-murmur2", KeyHash.MURMUR2, Unkeyed.RANDOM),
        Client("kafka-go-murmur2-consistent", KeyHash.MURMUR2, Unkeyed.RANDOM, hashes_null=True),
    ),
)
