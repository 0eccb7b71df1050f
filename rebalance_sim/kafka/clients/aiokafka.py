"""aiokafka 0.14, of Python.

Sources: ``coordinator/assignors``, ``client.py``, ``partitioner.py``.
"""

from rebalance_sim.kafka.clients.library import (
    ASSIGNORS,
    HEARTBEAT_INTERVAL,
    IN_TURN_BY_MEMBER_ID,
    INSTANCE_ID,
    POLL_INTERVAL,
    POLL_RECORDS,
    RANGES_BY_MEMBER_ID,
    REBALANCE_TIMEOUT,
    RELEASE_PATTERN,
    SESSION_TIMEOUT,
    ClientLibrary,
    LibraryAssignor,
    Subscriptions,
    has_empty_user_data,
)
from rebalance_sim.kafka.guarantees import Guarantee
from rebalance_sim.kafka.partitioners.partitioner import Client, KeyHash, Unkeyed

LIBRARY = ClientLibrary(
    "aiokafka",
    client_ids=f"aiokafka-{RELEASE_PATTERN}",
    default_protocols=(((0,), ("roundrobin",)),),
    subscriptions=Subscriptions((0,), has_empty_user_data),
    # The first takes classes, instead of names.
    settings={
        ASSIGNORS: "partition_assignment_strategy",
        INSTANCE_ID: "group_instance_id",
        SESSION_TIMEOUT: "session_timeout_ms",
        HEARTBEAT_INTERVAL: "heartbeat_interval_ms",
        POLL_INTERVAL: "max_poll_interval_ms",
        POLL_RECORDS: "max_poll_records",
        REBALANCE_TIMEOUT: "rebalance_timeout_ms",
    },
    assignors=(
        LibraryAssignor("range", "aiokafka-range", RANGES_BY_MEMBER_ID, configured_as="RangePartitionAssignor"),
        LibraryAssignor(
            "roundrobin", "aiokafka-roundrobin", IN_TURN_BY_MEMBER_ID, configured_as="RoundRobinPartitionAssignor"
        ),
        LibraryAssignor(
            "sticky",
            "aiokafka-sticky",
            unpredictable="it visits a set of Python, whose order differs from process to process",
            guarantee=Guarantee.LEAST_LOADED,
            remembers=True,
            configured_as="StickyPartitionAssignor",
        ),
    ),
    partitioners=(Client("aiokafka", KeyHash.MURMUR2, Unkeyed.RANDOM_AVAILABLE),),
)
