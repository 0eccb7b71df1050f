"""The columns of the members table that the signs of a client library and the subscription of a member fill."""

from typing import Any

from rebalance_sim.kafka.clients.recognition import Signs, recognize
from rebalance_sim.kafka.wire.consumer_protocol import decode_sent_subscription


def client_columns(signs: Signs) -> dict[str, Any]:
    """Return the columns of the members table about the client library, null if it is unknown.

    >>> client_columns(Signs("orders", "rdkafka-4d4391e5-b529-4c02-bb6f-bef6ebc1bf38", "rdkafka"))
    {'client_library': 'librdkafka', 'client_version': None, 'client_evidence': 'client id'}
    """
    client = recognize(signs)
    return {
        "client_library": client.library or None,
        "client_version": client.release or None,
        "client_evidence": client.evidence or None,
    }


def sent_columns(signs: Signs, subscription: bytes) -> dict[str, Any]:
    """Return the columns of the members table that a subscription fills; raise SchemaError for malformed bytes.

    The member sent it for the first of its protocols.

    >>> sent = bytes.fromhex("0001" "00000001" "000174" "ffffffff")
    >>> sent_columns(Signs("orders", "m1", "app", protocols=("range",)), sent)["client_library"]
    'kafka-go'
    """
    sent = decode_sent_subscription(subscription)
    return {
        "rack": sent.content.rack,
        "subscription": sent.content.topics,
        "user_data": sent.content.user_data,
        **client_columns(signs._replace(subscription=sent)),
    }
