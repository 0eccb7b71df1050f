"""aiokafka 0.14, of Python.

Sources: ``coordinator/assignors``, ``client.py``, ``partitioner.py``.
"""

from rebalance_sim.kafka.clients.library import (
    IN_TURN_BY_MEMBER_ID,
    RANGES_BY_MEMBER_ID,
    RELEASE_PATTERN,
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
        "partition.assignment.strategy": "partition_assignment_strategy",
        "group.instance.id": "group_instance_id",
        "session.timeout.ms": "session_timeout_ms",
        "heartbeat.interval.ms": "heartbeat_interval_ms",
        "max.poll.interval.ms": "max_poll_interval_ms",
        "max.poll.records": "max_poll_records",
        "rebalance.timeout.ms": "rebalance_timeout_ms",
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
