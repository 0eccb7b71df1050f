"""The columns of the members table that the subscription of a member fills."""

from typing import Any

from rebalance_sim.kafka.clients.recognition import Signs
from rebalance_sim.kafka.clients.stated import StatedClient
from rebalance_sim.kafka.wire.consumer_protocol import SentSubscription, decode_sent_subscription
from rebalance_sim.sources.client_columns import client_columns


def sent_columns(signs: Signs, subscription: bytes, stated: StatedClient) -> dict[str, Any]:
    """Return the columns of the members table that a subscription fills; raise SchemaError for malformed bytes.

    The member sent it for the first of its protocols.

    >>> sent = bytes.fromhex("0001" "00000001" "000174" "ffffffff")
    >>> sent_columns(Signs("orders", "m1", "app", protocols=("range",)), sent, StatedClient())["client_library"]
    'kafka-go'
    """
    return columns_of_sent(signs, decode_sent_subscription(subscription), stated)


def columns_of_sent(signs: Signs, sent: SentSubscription, stated: StatedClient) -> dict[str, Any]:
    """Return the same columns for a subscription that is decoded."""
    return {
        "rack": sent.content.rack,
        "subscription": sent.content.topics,
        "user_data": sent.content.user_data,
        **client_columns(signs._replace(subscription=sent), stated),
    }
