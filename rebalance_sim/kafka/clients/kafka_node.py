"""kafka-node 5.0, of JavaScript.

Sources: ``lib/consumerGroup.js``, ``lib/assignment``, ``lib/kafkaClient.js``, ``lib/protocol/protocol.js``.
"""

from typing import TYPE_CHECKING

from rebalance_sim.kafka.clients.library import ClientLibrary, LibraryAssignor, Rules, Subscriptions
from rebalance_sim.kafka.guarantees import Guarantee

if TYPE_CHECKING:
    from rebalance_sim.kafka.wire.consumer_protocol import SentSubscription


def _could_be(_: str, sent: "SentSubscription") -> bool:
    """Return whether there are no user data: only a protocol of the user's own may have some."""
    return sent.content.user_data is None


LIBRARY = ClientLibrary(
    "kafka-node",
    client_ids="kafka-node-client",
    default_protocols=(((0,), ("roundrobin",)),),
    subscriptions=Subscriptions((0,), _could_be),
    # It takes names, or objects with a name, a version and a function.
    assignor_setting="protocol",
    assignors=(
        LibraryAssignor("range", "kafka-node-range", Rules("rebalance_sim.kafka.assignors.kafka_node.range")),
        LibraryAssignor(
            "roundrobin",
            "kafka-node-roundrobin",
            Rules("rebalance_sim.kafka.assignors.kafka_node.roundrobin"),
            guarantee=Guarantee.BALANCED_TOPICS,
        ),
    ),
    has_static_members=False,
)
