"""ruby-kafka 1.5, of Ruby.

Sources: ``lib/kafka/consumer_group.rb``, ``consumer_group/assignor.rb``, ``round_robin_assignment_strategy.rb``,
``protocol/join_group_request.rb``, ``client.rb``, ``partitioner.rb``.
"""

from rebalance_sim.kafka.clients.library import (
    SECONDS,
    ClientLibrary,
    Earlier,
    LibraryAssignor,
    Rules,
    Since,
    Subscriptions,
    has_no_user_data,
)
from rebalance_sim.kafka.guarantees import Guarantee
from rebalance_sim.kafka.partitioners.partitioner import Client, KeyHash, ToPartition, Unkeyed

_RULES = "rebalance_sim.kafka.assignors.ruby_kafka.round_robin_assignment_strategy"

LIBRARY = ClientLibrary(
    "ruby-kafka",
    client_ids="ruby-kafka",
    default_protocols=(((0,), ("standard",)), ((1, 0), ("roundrobin",))),
    subscriptions=Subscriptions((0,), has_no_user_data),
    # The first since 1.3; it takes an object, whose method protocol_name names the protocol.
    settings={
        "partition.assignment.strategy": "assignment_strategy",
        "session.timeout.ms": "session_timeout",
        "heartbeat.interval.ms": "heartbeat_interval",
        "rebalance.timeout.ms": "rebalance_timeout",
    },
    durations=SECONDS,
    assignors=(
        LibraryAssignor(
            "roundrobin",
            "ruby-kafka-roundrobin",
            Rules(_RULES),
            guarantee=Guarantee.BALANCED_TOPICS,
            earlier=(Earlier((1, 4), "ruby-kafka-1.3-roundrobin", Rules(_RULES, "assign_before_1_4")),),
            in_brokers_order=True,
            since=Since((1, 0), "earlier releases offer standard"),
            configured_as="Kafka::RoundRobinAssignmentStrategy.new",
            added=(1, 0),
        ),
        LibraryAssignor(
            "standard", "ruby-kafka-standard", unpredictable="members send the topic test-messages instead of their own"
        ),
    ),
    assigns_leaders_topics=True,
    assigns_all_topics_since=(1, 4),
    partitioners=(Client("ruby-kafka", KeyHash.CRC32, Unkeyed.RANDOM, ToPartition.UNSIGNED),),
)
