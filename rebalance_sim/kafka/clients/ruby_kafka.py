"""ruby-kafka 1.5, of Ruby.

Sources: ``lib/kafka/consumer_group.rb``, ``consumer_group/assignor.rb``, ``round_robin_assignment_strategy.rb``,
``protocol/join_group_request.rb``, ``client.rb``, ``partitioner.rb``.
"""

from rebalance_sim.kafka.clients.library import (
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

LIBRARY = ClientLibrary(
    "ruby-kafka",
    client_ids="ruby-kafka",
    default_protocols=(((0,), ("standard",)), ((1, 0), ("roundrobin",))),
    subscriptions=Subscriptions((0,), has_no_user_data),
    # Since 1.3; it takes an object, whose method protocol_name names the protocol.
    assignor_setting="assignment_strategy",
    assignors=(
        LibraryAssignor(
            "roundrobin",
            "ruby-kafka-roundrobin",
            Rules("rebalance_sim.kafka.assignors.ruby_kafka.round_robin_assignment_strategy"),
            guarantee=Guarantee.BALANCED_TOPICS,
            earlier=(
                Earlier(
                    (1, 4),
                    "ruby-kafka-1.3-roundrobin",
                    Rules("rebalance_sim.kafka.assignors.ruby_kafka.round_robin_assignment_strategy_before_1_4"),
                    in_brokers_order=True,
                ),
            ),
            in_brokers_order=True,
            since=Since((1, 0), "earlier releases offer standard"),
        ),
        LibraryAssignor(
            "standard", "ruby-kafka-standard", unpredictable="members send the topic test-messages instead of their own"
        ),
    ),
    has_static_members=False,
    # Before 1.4.
    assigns_leaders_topics=True,
    partitioners=(Client("ruby-kafka", KeyHash.CRC32, Unkeyed.RANDOM, ToPartition.UNSIGNED),),
)
