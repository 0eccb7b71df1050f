"""The assumptions of a simulation about brokers, network and applications."""

from dataclasses import dataclass

from rebalance_sim.kafka.coordinator.broker_config import BrokerConfig
from rebalance_sim.kafka.coordinator.share.share_group import ShareConfig
from rebalance_sim.kafka.coordinator.streams.streams_group import StreamsConfig

_BROKER, _SHARES, _STREAMS = BrokerConfig(), ShareConfig(), StreamsConfig()
MAX_POLL_INTERVAL_MS = 300_000
"""Default of max.poll.interval.ms."""


@dataclass(frozen=True)
class SimulationSettings:
    """Settings of a simulation; times are in milliseconds. Those named like Kafka's have Kafka's defaults."""

    group_initial_rebalance_delay_ms: int = _BROKER.group_initial_rebalance_delay_ms
    group_max_size: int = _BROKER.group_max_size
    group_min_session_timeout_ms: int = _BROKER.group_min_session_timeout_ms
    group_max_session_timeout_ms: int = _BROKER.group_max_session_timeout_ms
    heartbeat_interval_ms: int = 3000
    retry_backoff_ms: int = 100
    metadata_max_age_ms: int = 300_000
    group_consumer_heartbeat_interval_ms: int = _BROKER.group_consumer_heartbeat_interval_ms
    """How often members of a consumer-protocol group send heartbeats; the coordinator sets it (KIP-848)."""
    group_consumer_session_timeout_ms: int = _BROKER.group_consumer_session_timeout_ms
    group_consumer_max_size: int = _BROKER.group_consumer_max_size
    group_consumer_assignment_interval_ms: int = _BROKER.group_consumer_assignment_interval_ms
    """The shortest time between two target assignments of a consumer-protocol group (since 4.3)."""
    group_share_heartbeat_interval_ms: int = _SHARES.group_share_heartbeat_interval_ms
    """How often members of a share group send heartbeats; the coordinator sets it (KIP-932)."""
    group_share_session_timeout_ms: int = _SHARES.group_share_session_timeout_ms
    group_streams_heartbeat_interval_ms: int = _STREAMS.group_streams_heartbeat_interval_ms
    """How often members of a streams group send heartbeats; the coordinator sets it (KIP-1071)."""
    group_streams_session_timeout_ms: int = _STREAMS.group_streams_session_timeout_ms
    group_streams_initial_rebalance_delay_ms: int = _STREAMS.group_streams_initial_rebalance_delay_ms
    """From the first member of an empty streams group to its target assignment."""
    group_streams_assignment_interval_ms: int = _STREAMS.group_streams_assignment_interval_ms
    """The shortest time between two target assignments of a streams group (since 4.3)."""
    enable_auto_commit: bool = True
    """Whether consumers commit their offsets before they revoke partitions."""
    network_ms: int = 1
    """Latency from a consumer to the coordinator, and back."""
    network_jitter_ms: int = 1
    """The most that is added to the latency of a message, drawn from a uniform distribution."""
    store_ms: int = 5
    """Until all replicas have acknowledged a write to the offsets topic."""
    assignor_ms: int = 2
    """How long the leader runs the assignor."""
    revoke_ms: int = 0
    """How long ``onPartitionsRevoked`` and ``onPartitionsLost`` take."""
    poll_interval_ms: int = 100
    """From one poll to the next, including the processing of the batch in between."""
    start_ms: int = 1000
    """From the start of a process to its first poll."""
    ready_ms: int = 0
    """How long a new pod of a rollout runs, or has partitions, until it is available."""
    ready_when_assigned: bool = False
    """Whether the readiness probe of a pod succeeds only when its consumer has partitions."""
    duration_ms: int = 0
    """Length of the simulation. 0: until nothing has changed for ``quiet_ms`` after the last event, but no longer than
    ``longest_ms`` after it."""
    quiet_ms: int = 0
    """0: the longest session timeout in the group plus two heartbeat intervals."""
    longest_ms: int = 900_000
