"""kafka-python 3.0.

Sources: ``coordinator/assignors``, ``consumer/group.py``, ``partitioner/default.py``.
"""

from rebalance_sim.kafka.clients.library import (
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

_SET = "it visits a set of Python, whose order differs from process to process"

LIBRARY = ClientLibrary(
    "kafka-python",
    client_ids=f"kafka-python-{RELEASE_PATTERN}",
    default_protocols=(((0,), ("range", "roundrobin")),),
    subscriptions=Subscriptions((0,), has_empty_user_data),
    # It takes classes, such as RoundRobinPartitionAssignor, instead of names.
    assignor_setting="partition_assignment_strategy",
    assignors=(
        # aiokafka's are copies of kafka-python's before 2.3, which knew no static members.
        LibraryAssignor(
            "range",
            "kafka-python-range",
            Rules("rebalance_sim.kafka.assignors.kafka_python.range_partition_assignor"),
            earlier=(
                Earlier(
                    (2, 3),
                    "kafka-python-2.2-range",
                    Rules("rebalance_sim.kafka.assignors.aiokafka.range_partition_assignor"),
                ),
            ),
        ),
        LibraryAssignor(
            "roundrobin",
            "kafka-python-roundrobin",
            Rules("rebalance_sim.kafka.assignors.kafka_python.round_robin_partition_assignor"),
            earlier=(
                Earlier(
                    (2, 3),
                    "kafka-python-2.2-roundrobin",
                    Rules("rebalance_sim.kafka.assignors.aiokafka.round_robin_partition_assignor"),
                ),
            ),
        ),
        LibraryAssignor(
            "sticky",
            "kafka-python-sticky",
            unpredictable=_SET,
            guarantee=Guarantee.LEAST_LOADED,
            remembers=True,
            # Its user data begin with a version that other libraries cannot read.
            reports_owned=False,
        ),
        LibraryAssignor(
            "cooperative-sticky",
            "kafka-python-cooperative-sticky",
            unpredictable=_SET,
            guarantee=Guarantee.LEAST_LOADED,
            remembers=True,
        ),
    ),
    partitioners=(Client("kafka-python", KeyHash.MURMUR2, Unkeyed.RANDOM_AVAILABLE),),
)
