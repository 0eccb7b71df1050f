"""kafka-python 3.0.

Sources: ``coordinator/assignors``, ``consumer/group.py``, ``partitioner/default.py``.
"""

from rebalance_sim.kafka.clients.library import (
    IN_TURN_BY_MEMBER_ID,
    RANGES_BY_MEMBER_ID,
    RELEASE_PATTERN,
    ClientLibrary,
    Earlier,
    LibraryAssignor,
    Rules,
    Subscriptions,
    has_empty_user_data,
)
from rebalance_sim.kafka.guarantees import Guarantee
from rebalance_sim.kafka.partitioners.partitioner import Client, KeyHash, Unkeyed

_RULES = "rebalance_sim.kafka.assignors.kafka_python.partition_assignors"
_SET = "it visits a set of Python, whose order differs from process to process"

LIBRARY = ClientLibrary(
    "kafka-python",
    client_ids=f"kafka-python-{RELEASE_PATTERN}",
    default_protocols=(((0,), ("range", "roundrobin")),),
    subscriptions=Subscriptions((0,), has_empty_user_data),
    # The first takes classes, instead of names.
    settings={
        "partition.assignment.strategy": "partition_assignment_strategy",
        "group.instance.id": "group_instance_id",
        "session.timeout.ms": "session_timeout_ms",
        "heartbeat.interval.ms": "heartbeat_interval_ms",
        "max.poll.interval.ms": "max_poll_interval_ms",
        "max.poll.records": "max_poll_records",
    },
    static_members_since=(2, 3),
    # It refuses such a list: "Mixing EAGER and COOPERATIVE assignors in a single consumer is not supported".
    mixes_assignors=False,
    assignors=(
        # aiokafka's are copies of kafka-python's before 2.3, which knew no static members.
        LibraryAssignor(
            "range",
            "kafka-python-range",
            Rules(_RULES, "assign_range"),
            earlier=(Earlier((2, 3), "kafka-python-2.2-range", RANGES_BY_MEMBER_ID),),
            configured_as="RangePartitionAssignor",
        ),
        LibraryAssignor(
            "roundrobin",
            "kafka-python-roundrobin",
            Rules(_RULES, "assign_roundrobin"),
            earlier=(Earlier((2, 3), "kafka-python-2.2-roundrobin", IN_TURN_BY_MEMBER_ID),),
            configured_as="RoundRobinPartitionAssignor",
        ),
        LibraryAssignor(
            "sticky",
            "kafka-python-sticky",
            unpredictable=_SET,
            guarantee=Guarantee.LEAST_LOADED,
            remembers=True,
            # Its user data begin with a version that other libraries cannot read.
            reports_owned=False,
            configured_as="StickyPartitionAssignor",
        ),
        LibraryAssignor(
            "cooperative-sticky",
            "kafka-python-cooperative-sticky",
            unpredictable=_SET,
            guarantee=Guarantee.LEAST_LOADED,
            remembers=True,
            configured_as="CooperativeStickyAssignor",
            added=(3, 0),
        ),
    ),
    partitioners=(Client("kafka-python", KeyHash.MURMUR2, Unkeyed.RANDOM_AVAILABLE),),
)
