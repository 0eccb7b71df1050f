"""@platformatic/kafka 1.35, of JavaScript.

Sources: ``clients/consumer``, ``producer/partitioners.js``.
"""

from typing import TYPE_CHECKING

from rebalance_sim.kafka.clients.library import ClientLibrary, LibraryAssignor, Rules, Since, Subscriptions
from rebalance_sim.kafka.partitioners.partitioner import Client, KeyHash, ToPartition, Unkeyed

if TYPE_CHECKING:
    from rebalance_sim.kafka.wire.consumer_protocol import SentSubscription


def _could_be(_: str, sent: "SentSubscription") -> bool:
    """Return whether the topics are sorted."""
    return list(sent.content.topics) == sorted(sent.content.topics)


LIBRARY = ClientLibrary(
    "platformatic-kafka",
    # It has no default.
    client_ids=None,
    default_protocols=(((0,), ("roundrobin",)),),
    subscriptions=Subscriptions((1,), _could_be, end_early=True),
    settings={
        "partition.assignment.strategy": "protocols",
        "group.instance.id": "groupInstanceId",
        "group.protocol": "groupProtocol",
        "group.remote.assignor": "groupRemoteAssignor",
        "session.timeout.ms": "sessionTimeout",
        "heartbeat.interval.ms": "heartbeatInterval",
        "rebalance.timeout.ms": "rebalanceTimeout",
    },
    assignors=(
        # partitions-assigners.js.
        LibraryAssignor(
            "roundrobin",
            "platformatic-kafka-roundrobin",
            Rules("rebalance_sim.kafka.assignors.steps.leaders_topics", "assign_in_response_order"),
            since=Since((1, 7), "earlier leaders assign the topics of all members"),
        ),
    ),
    # The oldest release that was tried.
    consumer_protocol_since=(1, 35),
    assigns_leaders_topics=True,
    partitioners=(
        Client("platformatic-kafka", KeyHash.MURMUR2, Unkeyed.PLATFORMATIC_ROUND_ROBIN, ToPartition.UNSIGNED),
    ),
)
