"""kafka-node 5.0, of JavaScript.

Sources: ``lib/consumerGroup.js``, ``lib/assignment``, ``lib/kafkaClient.js``, ``lib/protocol/protocol.js``.
"""

from rebalance_sim.kafka.clients.library import ClientLibrary, LibraryAssignor, Rules, Subscriptions, has_no_user_data
from rebalance_sim.kafka.guarantees import Guarantee

LIBRARY = ClientLibrary(
    "kafka-node",
    client_ids="kafka-node-client",
    default_protocols=(((0,), ("roundrobin",)),),
    subscriptions=Subscriptions((0,), has_no_user_data),
    # It takes names, or objects with a name, a version and a function.
    assignor_setting="protocol",
    assignors=(
        LibraryAssignor("range", "kafka-node-range", Rules("rebalance_sim.kafka.assignors.kafka_node.range_protocol")),
        LibraryAssignor(
            "roundrobin",
            "kafka-node-roundrobin",
            Rules("rebalance_sim.kafka.assignors.kafka_node.roundrobin_protocol"),
            guarantee=Guarantee.BALANCED_TOPICS,
        ),
    ),
    has_static_members=False,
)
