"""franz-go 1.22, of Go.

Sources: ``pkg/kgo/config.go``, ``group_balancer.go``, ``consumer_group_848.go``; of 1.20, ``partitioner.go``.
"""

from typing import TYPE_CHECKING

from rebalance_sim.kafka.clients.library import (
    GO_SECONDS,
    ClientLibrary,
    Earlier,
    LibraryAssignor,
    Rules,
    Since,
    Subscriptions,
)
from rebalance_sim.kafka.guarantees import Guarantee
from rebalance_sim.kafka.partitioners.partitioner import Client, KeyHash, Unkeyed

if TYPE_CHECKING:
    from rebalance_sim.kafka.wire.consumer_protocol import SentSubscription

_BYTE_ORDER = "rebalance_sim.kafka.assignors.steps.byte_order"
_STICKY = "rebalance_sim.kafka.assignors.franz_go.sticky_balancer"
_SINCE_1_0 = Since((1, 0), "no earlier release was compared")
_NO_PARTITIONS = bytes(4)
"""The start of sticky user data without partitions."""


def _could_be(protocol: str, sent: "SentSubscription") -> bool:
    """Return whether the user data are franz-go's: null unless the balancer has some, which are not empty.

    Under cooperative-sticky they are partitions and, if there is one, the generation. Under sticky a member revokes
    everything before it joins.
    """
    user_data = sent.content.user_data
    if sent.rack_is_empty or user_data == b"":
        return False
    if protocol == "sticky":
        return (user_data or b"").startswith(_NO_PARTITIONS)
    if protocol == "cooperative-sticky" and user_data:
        return len(user_data) > len(_NO_PARTITIONS) or user_data == _NO_PARTITIONS
    return True


LIBRARY = ClientLibrary(
    "franz-go",
    client_ids="kgo",
    default_protocols=(((0,), ("cooperative-sticky",)),),
    subscriptions=Subscriptions((3,), _could_be),
    settings={
        "partition.assignment.strategy": "kgo.Balancers",
        "group.instance.id": "kgo.InstanceID",
        # Before 1.22, a value of the client's context.
        "group.protocol": "kgo.ServerSideBalancer",
        "session.timeout.ms": "kgo.SessionTimeout",
        "heartbeat.interval.ms": "kgo.HeartbeatInterval",
        "rebalance.timeout.ms": "kgo.RebalanceTimeout",
    },
    durations=GO_SECONDS,
    # CooperativeStickyBalancer: "once a group is entirely on cooperative rebalancing, it cannot go back".
    returns_to_eager=False,
    assignors=(
        # Java's, without racks, which count only for a leader with BalanceRacks: no source shows that.
        LibraryAssignor(
            "range",
            "franz-go-range",
            Rules(_BYTE_ORDER, "assign_ranges_static_first"),
            since=_SINCE_1_0,
            configured_as="kgo.RangeBalancer()",
        ),
        LibraryAssignor(
            "roundrobin",
            "franz-go-roundrobin",
            Rules(_BYTE_ORDER, "assign_in_turn_static_first"),
            since=_SINCE_1_0,
            configured_as="kgo.RoundRobinBalancer()",
        ),
        LibraryAssignor(
            "sticky",
            "franz-go-sticky",
            Rules(_STICKY, "assign_sticky"),
            guarantee=Guarantee.MOST_BALANCED,
            earlier=(
                Earlier(
                    (1, 21, 4),
                    "franz-go-1.21.3-sticky",
                    Rules(_STICKY, "assign_sticky_before_1_21_4"),
                    guarantee=Guarantee.MOST_BALANCED,
                ),
            ),
            since=_SINCE_1_0,
            remembers=True,
            # A member revokes everything before it joins.
            reports_owned=False,
            configured_as="kgo.StickyBalancer()",
        ),
        LibraryAssignor(
            "cooperative-sticky",
            "franz-go-cooperative-sticky",
            Rules(_STICKY, "assign_cooperative_sticky"),
            guarantee=Guarantee.MOST_BALANCED,
            earlier=(
                Earlier(
                    (1, 21, 4),
                    "franz-go-1.21.3-cooperative-sticky",
                    Rules(_STICKY, "assign_cooperative_sticky_before_1_21_4"),
                    guarantee=Guarantee.MOST_BALANCED,
                ),
            ),
            since=_SINCE_1_0,
            remembers=True,
            configured_as="kgo.CooperativeStickyBalancer()",
        ),
    ),
    # Only if the client opts in, and only with range and the sticky balancers.
    consumer_protocol_since=(1, 19),
    protocol_value="enabled",
    remote_assignors={"uniform": "cooperative-sticky", "range": "range"},
    partitioners=(Client("franz-go", KeyHash.MURMUR2, Unkeyed.STICKY_BY_OWN_BYTES),),
)
