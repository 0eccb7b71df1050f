"""Broker settings that the group coordinator reads, with Kafka's defaults."""

from typing import NamedTuple


class BrokerConfig(NamedTuple):
    """Settings by the names that brokers give them (``GroupConfig``, ``GroupCoordinatorConfig``)."""

    group_initial_rebalance_delay_ms: int = 3000
    group_max_size: int = 2**31 - 1
    group_min_session_timeout_ms: int = 6000
    group_max_session_timeout_ms: int = 1_800_000
    group_consumer_session_timeout_ms: int = 45_000
    """Session timeout of consumer-protocol members: the broker decides, not the client."""
    group_consumer_heartbeat_interval_ms: int = 5000
    group_consumer_max_size: int = 2**31 - 1
    group_consumer_assignment_interval_ms: int = 1000
    """Shortest time between two target assignments of a consumer-protocol group (4.3)."""
