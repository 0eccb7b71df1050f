"""What a simulation assumes of brokers, network and applications."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """Times in milliseconds. Those with a name of Kafka's have Kafka's default."""

    group_initial_rebalance_delay_ms: int = 3000
    group_max_size: int = 2**31 - 1
    group_min_session_timeout_ms: int = 6000
    group_max_session_timeout_ms: int = 1_800_000
    heartbeat_interval_ms: int = 3000
    retry_backoff_ms: int = 100
    metadata_max_age_ms: int = 300_000
    group_consumer_heartbeat_interval_ms: int = 5000
    """How often members of KIP-848 send a heartbeat; the broker says so."""
    group_consumer_session_timeout_ms: int = 45_000
    group_consumer_max_size: int = 2**31 - 1
    group_consumer_assignment_interval_ms: int = 1000
    """The least time between two target assignments of KIP-848 (4.3; before, there was none)."""
    enable_auto_commit: bool = True
    """Whether consumers commit before they give partitions up."""
    network_ms: int = 1
    """From a consumer to the coordinator, or back."""
    network_jitter_ms: int = 1
    """What a message takes longer at most; drawn evenly."""
    store_ms: int = 5
    """Until a write to the offsets topic is acknowledged by all replicas."""
    assignor_ms: int = 2
    """For the leader to run the assignor."""
    revoke_ms: int = 0
    """In ``onPartitionsRevoked`` and ``onPartitionsLost``."""
    poll_interval_ms: int = 100
    """From one poll to the next, with the work on a batch between them."""
    start_ms: int = 1000
    """From the start of a process to its first poll."""
    duration_ms: int = 0
    """Length of the simulation. 0: until nothing has happened for ``quiet_ms`` after the last event, at most
    ``longest_ms`` after it."""
    quiet_ms: int = 0
    """0: the longest session timeout in the group and two heartbeats."""
    longest_ms: int = 900_000
