"""librdkafka 2.16, and the clients that are built on it, such as confluent-kafka for Python, Go, .NET and JavaScript.

Sources: ``rdkafka_conf.c``, ``rdkafka_assignor.c``, ``rdkafka_msg.c``.
"""

from typing import TYPE_CHECKING

from rebalance_sim.kafka.clients.library import (
    OF_CLASSIC_PROTOCOL,
    RANGES_BY_MEMBER_ID,
    SETTINGS,
    ClientLibrary,
    Earlier,
    LibraryAssignor,
    Rules,
    Since,
    Subscriptions,
)
from rebalance_sim.kafka.guarantees import Guarantee
from rebalance_sim.kafka.partitioners.partitioner import Client, KeyHash, ToPartition, Unkeyed

if TYPE_CHECKING:
    from rebalance_sim.kafka.wire.consumer_protocol import SentSubscription

_RANGE = "rebalance_sim.kafka.assignors.librdkafka.rdkafka_range_assignor"
_ROUNDROBIN = "rebalance_sim.kafka.assignors.librdkafka.rdkafka_roundrobin_assignor"
_GENERATION_BYTES = 4


def _could_be(protocol: str, sent: "SentSubscription") -> bool:
    """Return whether it is librdkafka's: user data that are empty, not null; a rack that is empty, not null.

    Under cooperative-sticky the user data are the owned partitions and the generation.
    """
    user_data = sent.content.user_data
    if sent.rack_is_empty or user_data == b"":
        return True
    if protocol != "cooperative-sticky" or not user_data:
        return False
    return len(user_data) != _GENERATION_BYTES and sent.content.rack is not None


def _is_rare(protocol: str, _: "SentSubscription") -> bool:
    """Return whether only configured members offer the protocol: franz-go's offer cooperative-sticky by default."""
    return protocol == "cooperative-sticky"


LIBRARY = ClientLibrary(
    "librdkafka",
    client_ids="rdkafka",
    default_protocols=(((0,), ("range", "roundrobin")),),
    subscriptions=Subscriptions((3,), _could_be, _is_rare),
    settings={name: name for name in SETTINGS},
    assignors=(
        LibraryAssignor(
            "range",
            "librdkafka-range",
            Rules(_RANGE),
            earlier=(
                # It has known static members since 1.3.
                Earlier((1, 3), "librdkafka-1.2-range", RANGES_BY_MEMBER_ID),
                Earlier((2, 2), "librdkafka-2.1-range", Rules(_RANGE, "assign_before_2_2")),
            ),
        ),
        LibraryAssignor(
            "roundrobin",
            "librdkafka-roundrobin",
            Rules(_ROUNDROBIN),
            earlier=(
                Earlier((1, 3), "librdkafka-1.2-roundrobin", Rules(_ROUNDROBIN, "assign_1_2")),
                Earlier((1, 5), "librdkafka-1.4-roundrobin", Rules(_ROUNDROBIN, "assign_1_4")),
                Earlier((1, 5, 2), "librdkafka-1.5.0-roundrobin", Rules(_ROUNDROBIN, "assign_1_5_0")),
                Earlier((1, 5, 3), "librdkafka-1.5.2-roundrobin", Rules(_ROUNDROBIN, "assign_1_5_2")),
            ),
        ),
        LibraryAssignor(
            "cooperative-sticky",
            "librdkafka-cooperative-sticky",
            Rules("rebalance_sim.kafka.assignors.librdkafka.rdkafka_sticky_assignor"),
            guarantee=Guarantee.LEAST_LOADED_IN_RACKS,
            since=Since((2, 6, 1), "earlier releases skip members while they balance"),
            remembers=True,
            adds_user_data=True,
            added=(1, 6),
        ),
    ),
    # Early access since 2.4.
    consumer_protocol_since=(2, 12),
    rejected_beside_protocol=OF_CLASSIC_PROTOCOL,
    # It refuses such a list: "online migration between assignors with different protocol types is not supported".
    mixes_assignors=False,
    partitioners=(
        Client("librdkafka", KeyHash.CRC32, Unkeyed.STICKY_BY_TIME, ToPartition.UNSIGNED, hashes_empty=False),
        Client("librdkafka-random", KeyHash.NONE, Unkeyed.RANDOM_LIBRDKAFKA),
        Client("librdkafka-consistent", KeyHash.CRC32, Unkeyed.STICKY_BY_TIME, ToPartition.UNSIGNED, hashes_null=True),
        Client("librdkafka-murmur2", KeyHash.MURMUR2, Unkeyed.STICKY_BY_TIME, hashes_null=True),
        Client("librdkafka-murmur2-random", KeyHash.MURMUR2, Unkeyed.STICKY_BY_TIME),
        Client("librdkafka-fnv1a", KeyHash.FNV1A, Unkeyed.STICKY_BY_TIME, ToPartition.ABSOLUTE, hashes_null=True),
        Client("librdkafka-fnv1a-random", KeyHash.FNV1A, Unkeyed.STICKY_BY_TIME, ToPartition.ABSOLUTE),
    ),
)
