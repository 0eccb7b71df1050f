"""aiokafka 0.14, of Python.

Sources: ``coordinator/assignors``, ``client.py``, ``partitioner.py``.
"""

from rebalance_sim.kafka.clients.library import (
    RELEASE_PATTERN,
    ClientLibrary,
    LibraryAssignor,
    Rules,
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
    # It takes classes, such as RoundRobinPartitionAssignor, instead of names.
    assignor_setting="partition_assignment_strategy",
    assignors=(
        LibraryAssignor(
            "range", "aiokafka-range", Rules("rebalance_sim.kafka.assignors.aiokafka.range_partition_assignor")
        ),
        LibraryAssignor(
            "roundrobin",
            "aiokafka-roundrobin",
            Rules("rebalance_sim.kafka.assignors.aiokafka.round_robin_partition_assignor"),
        ),
        LibraryAssignor(
            "sticky",
            "aiokafka-sticky",
            unpredictable="it visits a set of Python, whose order differs from process to process",
            guarantee=Guarantee.LEAST_LOADED,
            remembers=True,
        ),
    ),
    partitioners=(Client("aiokafka", KeyHash.MURMUR2, Unkeyed.RANDOM_AVAILABLE),),
)
