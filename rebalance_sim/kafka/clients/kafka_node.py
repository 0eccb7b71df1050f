"""kafka-node 5.0, of JavaScript.

Sources: ``lib/consumerGroup.js``, ``lib/assignment``, ``lib/kafkaClient.js``, ``lib/protocol/protocol.js``.
"""

from rebalance_sim.kafka.clients.library import ClientLibrary, LibraryAssignor, Rules, Subscriptions, has_no_user_data
from rebalance_sim.kafka.guarantees import Guarantee

_RULES = "rebalance_sim.kafka.assignors.kafka_node.protocols"

LIBRARY = ClientLibrary(
    "kafka-node",
    client_ids="kafka-node-client",
    default_protocols=(((0,), ("roundrobin",)),),
    subscriptions=Subscriptions((0,), has_no_user_data),
    # It takes names, or objects with a name, a version and a function.
    settings={
        "partition.assignment.strategy": "protocol",
        "session.timeout.ms": "sessionTimeout",
        "heartbeat.interval.ms": "heartbeatInterval",
        # JoinGroup of version 0 has no other timeout.
        "rebalance.timeout.ms": "sessionTimeout",
    },
    assignors=(
        LibraryAssignor("range", "kafka-node-range", Rules(_RULES, "assign_range")),
        LibraryAssignor(
            "roundrobin",
            "kafka-node-roundrobin",
            Rules(_RULES, "assign_roundrobin"),
            guarantee=Guarantee.BALANCED_TOPICS,
        ),
    ),
)
