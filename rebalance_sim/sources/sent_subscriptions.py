"""What the subscription that a classic member sent to its coordinator says about the member."""

from typing import Any

from rebalance_sim.kafka.assignors.by_library import JAVA
from rebalance_sim.kafka.client_fingerprints import possible_clients
from rebalance_sim.kafka.wire.consumer_protocol import decode_sent_subscription


def sent_columns(client_id: str, protocol: str, subscription: bytes) -> dict[str, Any]:
    """Return the columns of the members table that a subscription fills; raise SchemaError for malformed bytes.

    ``protocol`` is the one for which the member sent it.

    >>> sent_columns("sarama", "range", bytes.fromhex("0000" "00000001" "000174" "ffffffff"))["client_library"]
    'sarama'
    """
    sent = decode_sent_subscription(subscription)
    client = possible_clients(client_id, protocol, sent)
    return {
        "rack": sent.content.rack,
        "subscription": sent.content.topics,
        "user_data": sent.content.user_data,
        "client_library": None if client.library == JAVA else client.library,
        "client_version": client.release or None,
    }
