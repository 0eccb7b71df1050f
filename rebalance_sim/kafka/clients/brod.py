"""brod 4.6, of Erlang, which Elixir's Broadway uses, too.

Sources: ``brod_group_coordinator.erl``; ``brod_utils:make_part_fun``.
"""

from rebalance_sim.kafka.clients.library import (
    SECONDS,
    ClientLibrary,
    Earlier,
    LibraryAssignor,
    Rules,
    Since,
    Subscriptions,
    has_empty_user_data,
)
from rebalance_sim.kafka.partitioners.partitioner import Client, KeyHash, ToPartition, Unkeyed

_RULES = "rebalance_sim.kafka.assignors.brod.roundrobin_v2"

LIBRARY = ClientLibrary(
    "brod",
    # The node and the coordinator's process, of every member (``coordinator_id``): it cannot be configured.
    client_ids=r"(?:'[^']+@[^']+'|[a-z]\w*@\w+)/<\d+\.\d+\.\d+>",
    default_protocols=(((0,), ("roundrobin",)), ((3, 3, 3), ("roundrobin_v2",))),
    subscriptions=Subscriptions((0,), has_empty_user_data),
    # Under callback_implemented, the only other value of the first, a function of the user's own assigns.
    settings={
        "partition.assignment.strategy": "partition_assignment_strategy",
        "group.instance.id": "group_instance_id",
        "session.timeout.ms": "session_timeout_seconds",
        "heartbeat.interval.ms": "heartbeat_rate_seconds",
        "rebalance.timeout.ms": "rebalance_timeout_seconds",
    },
    durations=SECONDS,
    static_members_since=(4, 6),
    assignors=(
        LibraryAssignor(
            "roundrobin_v2",
            "brod-roundrobin",
            Rules(_RULES),
            earlier=(Earlier((3, 7, 1), "brod-3.7.0-roundrobin", Rules(_RULES, "assign_before_3_7_1")),),
            since=Since((3, 3, 3), "earlier releases offer roundrobin"),
        ),
    ),
    # No key is an empty one.
    partitioners=(Client("brod-hash", KeyHash.PHASH2, Unkeyed.RANDOM, ToPartition.LOW_27_BITS, hashes_null=True),),
)
