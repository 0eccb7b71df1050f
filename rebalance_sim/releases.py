"""Which Kafka release follows which rules."""

import re
from dataclasses import dataclass, replace
from enum import IntEnum

from rebalance_sim.errors import UserError


class MapRule(IntEnum):
    """The hash map in which a release of the group coordinator keeps members and votes.

    Its iteration order decides ties (see ``rebalance_sim.kafka.runtime.hash_order``).
    """

    JAVA = 0
    SCALA_2_11 = 1
    SCALA_2_13 = 2


class CoordinatorRules(IntEnum):
    """Rules of the group coordinator for classic groups; each release line adds some to those of the line before."""

    SCALA_1_0 = 0
    SCALA_2_3 = 1
    """Static members (KIP-345), member ids required before joining (KIP-394), ``group.max.size`` (KIP-389)."""
    SCALA_3_9 = 2
    """LeaveGroup in batches (2.4), a timeout for pending SyncGroup requests (2.8.1), timeouts that can change (3.3)."""
    JAVA = 3
    """The Java coordinator (KIP-848), with its rules for classic groups."""


class RangeWalk(IntEnum):
    """The hash map in whose order ``RangeAssignor`` visits topics."""

    NAMED_BY_PUT = 0
    """Topics that members name, added with ``put`` (1.0)."""
    NAMED_BY_COMPUTE_IF_ABSENT = 1
    """The same, added with ``computeIfAbsent`` (2.3)."""
    KNOWN = 2
    """Topics that exist in the metadata."""


class ConsumerWriter(IntEnum):
    """The order in which consumers write topics to the bytes of subscriptions and assignments."""

    HASHED_BY_PUT = 0
    """Subscriptions as given; assignments and sticky user data in the order of a hash map filled with ``put`` (1.0)."""
    HASHED_BY_COMPUTE_IF_ABSENT = 1
    """The same, filled with ``computeIfAbsent`` (2.1)."""
    SORTED = 2
    """Subscriptions sorted (2.8), assignments in the order of first occurrence (3.0); user data as before."""


class StickyRules(IntEnum):
    """Which of the members' claims to owned partitions ``StickyAssignor`` accepts."""

    CLAIMS = 0
    """Every claim (1.0)."""
    GENERATIONS = 1
    """The claim of the latest generation (2.3, KIP-341)."""
    SINCE_2_4 = 2
    """``AbstractStickyAssignor``."""


@dataclass(frozen=True)
class KafkaVersion:
    """The rules of one line of Kafka releases."""

    name: str
    coordinator_map: MapRule
    """The hash map of the group coordinator."""
    coordinator: CoordinatorRules
    static_members_first: bool
    """Whether range and roundrobin sort static members first, by instance id (KIP-345, since 2.4)."""
    range_walk: RangeWalk
    rack_aware: bool
    """Whether assignors match the racks of members and replicas (KIP-881, since 3.5)."""
    sticky: StickyRules
    consumer_writer: ConsumerWriter
    assignors: tuple[str, ...]
    """Names of the assignors of its consumers and of its coordinator."""
    cooperative: bool
    """Whether members may keep their partitions in a rebalance, and send them to the leader (KIP-429, since 2.4)."""
    linger_ms: int
    """Default of the producer's ``linger.ms`` (KIP-1030: 5 since 4.0)."""
    uniform_keeps_extra_partitions: bool
    """Whether server-uniform lets members keep an extra partition that they already own (since 4.0.1)."""


SERVER_ASSIGNORS = ("server-uniform", "server-range")
"""Assignors of the coordinator (KIP-848, for production since 4.0), by names that distinguish them from the
consumers' own. In the order of ``group.consumer.assignors``: the first is the default.

A member whose only protocol is one of them uses ``group.protocol=consumer``."""
OFFSETS_PARTITIONS = 50
"""Kafka's default of offsets.topic.num.partitions."""
BATCH_SIZE = 16_384
"""Java's default of batch.size, in bytes."""
_EAGER = ("range", "roundrobin", "sticky")
_CLIENT_SIDE = (*_EAGER, "cooperative-sticky")  # Since 2.4.

# Each line is tested against its released classes (tests/oracle), and states only what differs from the line before.
_KAFKA_1_0 = KafkaVersion(
    "1.0",
    coordinator_map=MapRule.SCALA_2_11,
    coordinator=CoordinatorRules.SCALA_1_0,
    static_members_first=False,
    range_walk=RangeWalk.NAMED_BY_PUT,
    rack_aware=False,
    sticky=StickyRules.CLAIMS,
    consumer_writer=ConsumerWriter.HASHED_BY_PUT,
    assignors=_EAGER,
    cooperative=False,
    linger_ms=0,
    uniform_keeps_extra_partitions=False,
)
_KAFKA_2_3 = replace(
    _KAFKA_1_0,
    name="2.3",
    coordinator=CoordinatorRules.SCALA_2_3,
    range_walk=RangeWalk.NAMED_BY_COMPUTE_IF_ABSENT,
    sticky=StickyRules.GENERATIONS,
    consumer_writer=ConsumerWriter.HASHED_BY_COMPUTE_IF_ABSENT,
)
# The last line with the Scala coordinator, by then built with Scala 2.13.
_KAFKA_3_9 = replace(
    _KAFKA_2_3,
    name="3.9",
    coordinator_map=MapRule.SCALA_2_13,
    coordinator=CoordinatorRules.SCALA_3_9,
    static_members_first=True,
    range_walk=RangeWalk.KNOWN,
    rack_aware=True,
    sticky=StickyRules.SINCE_2_4,
    consumer_writer=ConsumerWriter.SORTED,
    assignors=_CLIENT_SIDE,
    cooperative=True,
)
# The Java coordinator (KIP-848).
_KAFKA_4_0_0 = replace(
    _KAFKA_3_9,
    name="4.0.0",
    coordinator_map=MapRule.JAVA,
    coordinator=CoordinatorRules.JAVA,
    assignors=(*_CLIENT_SIDE, *SERVER_ASSIGNORS),
    linger_ms=5,
)
_KAFKA_4 = replace(_KAFKA_4_0_0, name="4", uniform_keeps_extra_partitions=True)
_LINES = (_KAFKA_1_0, _KAFKA_2_3, _KAFKA_3_9, _KAFKA_4_0_0, _KAFKA_4)
"""The first line that matches is used."""
NEWEST = "4.3"
_ALLOWED = "1.0, 2.3, 3.9 and 4.x, with or without a patch level"


def kafka_version(name: str) -> KafkaVersion:
    """Return the rules of a Kafka release, given as ``4.3`` or ``4.3.1``; without a patch level it is ``.0``.

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
