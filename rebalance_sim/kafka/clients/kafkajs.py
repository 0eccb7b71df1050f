"""KafkaJS 2.2.4, of JavaScript.

Sources: ``consumer/assignerProtocol.js``, ``consumer/assigners/roundRobinAssigner``, ``producer/partitioners``.
"""

from rebalance_sim.kafka.clients.library import (
    ClientLibrary,
    Earlier,
    LibraryAssignor,
    Rules,
    Since,
    Subscriptions,
    has_empty_user_data,
)
from rebalance_sim.kafka.guarantees import Guarantee
from rebalance_sim.kafka.partitioners.partitioner import Client, KeyHash, Unkeyed

_RULES = "rebalance_sim.kafka.assignors.kafkajs.round_robin_assigner"

LIBRARY = ClientLibrary(
    "kafkajs",
    client_ids="kafkajs",
    default_protocols=(((0,), ("RoundRobinAssigner",)),),
    subscriptions=Subscriptions((0,), has_empty_user_data),
    settings={
        "partition.assignment.strategy": "partitionAssigners",
        "session.timeout.ms": "sessionTimeout",
        "heartbeat.interval.ms": "heartbeatInterval",
        "rebalance.timeout.ms": "rebalanceTimeout",
    },
    assignors=(
        LibraryAssignor(
            "RoundRobinAssigner",
            "kafkajs-roundrobin",
            Rules(_RULES),
            earlier=(
                Earlier((1, 13), "kafkajs-1.12-roundrobin", Rules(_RULES, "assign_before_1_13"), deals_each_topic=True),
            ),
            in_brokers_order=True,
            guarantee=Guarantee.LEADERS_TOPICS_IN_TURN,
            since=Since((1, 5), "earlier leaders assign the topics of their own last assignment"),
            configured_as="PartitionAssigners.roundRobin",
        ),
    ),
    assigns_leaders_topics=True,
    partitioners=(
        Client("kafkajs", KeyHash.MURMUR2, Unkeyed.KAFKAJS_ROUND_ROBIN),
        Client("kafkajs-legacy", KeyHash.LEGACY_KAFKAJS_MURMUR2, Unkeyed.KAFKAJS_ROUND_ROBIN),
    ),
)
