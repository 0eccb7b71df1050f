"""Which Kafka version follows which rules."""

import re
from dataclasses import dataclass
from enum import IntEnum

from rebalance_sim.errors import UserError


class MapRule(IntEnum):
    """The hash map in which a version of the group coordinator keeps members and votes.

    Its iteration order decides ties (see ``rebalance_sim.kafka.hash_order``).
    """

    JAVA = 0
    SCALA_2_11 = 1
    SCALA_2_13 = 2


class CoordinatorRules(IntEnum):
    """Rules by which a group coordinator of the classic protocol goes; each line has some that the one before lacks."""

    SCALA_1_0 = 0
    SCALA_2_3 = 1
    """Static members (KIP-345), ids that a member must know before it joins (KIP-394), a largest size (KIP-389)."""
    SCALA_3_9 = 2
    """Leaving in batches (2.4), deadline for SyncGroup (2.8.1), timeouts that change (3.3)."""
    JAVA = 3
    """The coordinator of KIP-848, for its classic groups."""


class RangeWalk(IntEnum):
    """The hash map whose order ``RangeAssignor`` walks the topics in."""

    NAMED_BY_PUT = 0
    """Topics that members name, added by ``put`` (1.0)."""
    NAMED_BY_COMPUTE_IF_ABSENT = 1
    """The same, added by ``computeIfAbsent`` (2.3)."""
    KNOWN = 2
    """Topics that the metadata knows."""


class ConsumerWriter(IntEnum):
    """The order in which consumers write topics into the bytes of subscriptions and assignments."""

    HASHED_BY_PUT = 0
    """As given; of an assignment and of sticky user data in the order of a hash map filled by ``put`` (1.0)."""
    HASHED_BY_COMPUTE_IF_ABSENT = 1
    """The same, filled by ``computeIfAbsent`` (2.1)."""
    SORTED = 2
    """Sorted in a subscription (2.8), as first named in an assignment (3.0); sticky user data as before."""


class StickyRules(IntEnum):
    """How ``StickyAssignor`` takes what members say of the partitions that they owned."""

    CLAIMS = 0
    """Every member's word counts (1.0)."""
    GENERATIONS = 1
    """The latest generation counts (2.3)."""
    SINCE_2_4 = 2
    """``AbstractStickyAssignor``."""


@dataclass(frozen=True)
class KafkaVersion:
    """The rules of one line of Kafka releases."""

    name: str
    coordinator_map: MapRule
    """Map of the group coordinator."""
    coordinator: CoordinatorRules
    static_members_first: bool
    """range and roundrobin sort static members first, by instance id (KIP-345, since 2.4)."""
    range_walk: RangeWalk
    rack_aware: bool
    """Assignors match the racks of members and replicas (KIP-881, since 3.5)."""
    sticky: StickyRules
    consumer_writer: ConsumerWriter
    assignors: tuple[str, ...]
    """Assignors that it has: those of its consumers, and of its coordinator."""
    cooperative: bool = True
    """Members may keep what they own while they rebalance, and tell the leader of it (KIP-429, since 2.4)."""
    linger_ms: int = 0
    """linger.ms of a producer that is not told another (KIP-1030: 5 since 4.0)."""
    uniform_keeps_extra_partitions: bool = False
    """server-uniform leaves one partition more to members that own it already (since 4.0.1)."""


SERVER_SIDE = ("server-range", "server-uniform")
"""Assignors of the coordinator (KIP-848, for production since 4.0), by names that tell them from the consumers' own.

A member whose ``protocols`` are one of them alone follows ``group.protocol=consumer``."""
_EAGER = ("range", "roundrobin", "sticky")
_CLIENT_SIDE = (*_EAGER, "cooperative-sticky")  # Since 2.4.

# Each line is proven against the released classes of that line (tests/oracle). Kafka 3.9 is the last line with
# the Scala coordinator, then built with Scala 2.13; 4.0 brought the Java coordinator (KIP-848). The first line that
# fits counts.
_LINES = (
    KafkaVersion(
        "1.0",
        MapRule.SCALA_2_11,
        CoordinatorRules.SCALA_1_0,
        static_members_first=False,
        range_walk=RangeWalk.NAMED_BY_PUT,
        rack_aware=False,
        sticky=StickyRules.CLAIMS,
        consumer_writer=ConsumerWriter.HASHED_BY_PUT,
        assignors=_EAGER,
        cooperative=False,
    ),
    KafkaVersion(
        "2.3",
        MapRule.SCALA_2_11,
        CoordinatorRules.SCALA_2_3,
        static_members_first=False,
        range_walk=RangeWalk.NAMED_BY_COMPUTE_IF_ABSENT,
        rack_aware=False,
        sticky=StickyRules.GENERATIONS,
        consumer_writer=ConsumerWriter.HASHED_BY_COMPUTE_IF_ABSENT,
        assignors=_EAGER,
        cooperative=False,
    ),
    KafkaVersion(
        "3.9",
        MapRule.SCALA_2_13,
        CoordinatorRules.SCALA_3_9,
        static_members_first=True,
        range_walk=RangeWalk.KNOWN,
        rack_aware=True,
        sticky=StickyRules.SINCE_2_4,
        consumer_writer=ConsumerWriter.SORTED,
        assignors=_CLIENT_SIDE,
    ),
    KafkaVersion(
        "4.0.0",
        MapRule.JAVA,
        CoordinatorRules.JAVA,
        static_members_first=True,
        range_walk=RangeWalk.KNOWN,
        rack_aware=True,
        sticky=StickyRules.SINCE_2_4,
        consumer_writer=ConsumerWriter.SORTED,
        assignors=(*_CLIENT_SIDE, *SERVER_SIDE),
        linger_ms=5,
    ),
    KafkaVersion(
        "4",
        MapRule.JAVA,
        CoordinatorRules.JAVA,
        static_members_first=True,
        range_walk=RangeWalk.KNOWN,
        rack_aware=True,
        sticky=StickyRules.SINCE_2_4,
        consumer_writer=ConsumerWriter.SORTED,
        assignors=(*_CLIENT_SIDE, *SERVER_SIDE),
        linger_ms=5,
        uniform_keeps_extra_partitions=True,
    ),
)
NEWEST = "4.3"
_ALLOWED = "1.0, 2.3, 3.9 and 4.x, with or without a patch level"


def kafka_version(name: str) -> KafkaVersion:
    """Find the rules of a Kafka version, given as ``4.3`` or ``4.3.1``; without a patch level it is the first one.

    >>> kafka_version("2.3.1").coordinator_map.name
    'SCALA_2_11'
    >>> kafka_version("0.8")
    Traceback (most recent call last):
    ...
    rebalance_sim.errors.UserError: kafka version '0.8' is not known; allowed: 1.0, 2.3, 3.9 and 4.x, with or \
without a patch level
    """
    if re.fullmatch(r"\d+(\.\d+){1,2}", name):
        released = name if name.count(".") == 2 else f"{name}.0"
        for line in _LINES:
            if f"{released}.".startswith(f"{line.name}."):
                return line
    raise UserError(f"kafka version {name!r} is not known; allowed: {_ALLOWED}")
