"""Sarama 1.61, of Go.

Sources: ``config.go``, ``balance_strategy.go``, ``rebalance_protocol.go``, ``consumer_group.go``; of 1.46,
``partitioner.go``.
"""

from typing import TYPE_CHECKING

from rebalance_sim.kafka.clients.library import (
    GO_SECONDS,
    RANGES_BY_MEMBER_ID,
    ClientLibrary,
    Earlier,
    LibraryAssignor,
    Rules,
    Subscriptions,
)
from rebalance_sim.kafka.guarantees import Guarantee
from rebalance_sim.kafka.partitioners.partitioner import Client, KeyHash, ToPartition, Unkeyed

if TYPE_CHECKING:
    from rebalance_sim.kafka.wire.consumer_protocol import SentSubscription

_RULES = "rebalance_sim.kafka.assignors.sarama.balance_strategies"
_GO_MAP = "it visits a map of Go in a random order"


def _could_be(_: str, sent: "SentSubscription") -> bool:
    """Return whether the user data are Sarama's: null if the strategy has none."""
    return sent.version != 0 or sent.content.user_data != b""


LIBRARY = ClientLibrary(
    "sarama",
    client_ids="sarama",
    default_protocols=(((0,), ("range",)),),
    # By the configured version of Kafka.
    subscriptions=Subscriptions((0, 1, 2), _could_be),
    settings={
        "partition.assignment.strategy": "Consumer.Group.Rebalance.GroupStrategies",
        "group.instance.id": "Consumer.Group.InstanceId",
        "session.timeout.ms": "Consumer.Group.Session.Timeout",
        "heartbeat.interval.ms": "Consumer.Group.Heartbeat.Interval",
        "rebalance.timeout.ms": "Consumer.Group.Rebalance.Timeout",
    },
    single_assignor=((1, 37), "Consumer.Group.Rebalance.Strategy"),
    durations=GO_SECONDS,
    # It refuses such a list: "do not have a commonly supported rebalance protocol".
    mixes_assignors=False,
    assignors=(
        # Java's before 2.4, with sorted topics.
        LibraryAssignor(
            "range",
            "sarama-range",
            RANGES_BY_MEMBER_ID,
            earlier=(Earlier((1, 34, 1), "sarama-1.27-range", Rules(_RULES, "assign_range_before_1_34_1")),),
            configured_as="sarama.NewBalanceStrategyRange()",
        ),
        LibraryAssignor(
            "roundrobin",
            "sarama-roundrobin",
            Rules(_RULES, "assign_roundrobin"),
            earlier=(Earlier((1, 28), "sarama-1.27-roundrobin", Rules(_RULES, "assign_roundrobin_before_1_28")),),
            configured_as="sarama.NewBalanceStrategyRoundRobin()",
        ),
        LibraryAssignor(
            "sticky",
            "sarama-sticky",
            unpredictable=_GO_MAP,
            guarantee=Guarantee.BALANCED_OR_LOST,
            remembers=True,
            # A member sends back what the leader put beside the last assignment, where Java and franz-go put nothing.
            reports_owned=False,
            adds_user_data=True,
            configured_as="sarama.NewBalanceStrategySticky()",
        ),
        LibraryAssignor(
            "cooperative-sticky",
            "sarama-cooperative-sticky",
            unpredictable=_GO_MAP,
            guarantee=Guarantee.BALANCED_OR_LOST,
            remembers=True,
            configured_as="sarama.NewBalanceStrategyCooperativeSticky()",
            added=(1, 60, 1),
        ),
    ),
    # ConsumerGroupDescribe only, for administration.
    consumer_protocol_since=None,
    partitioners=(
        Client("sarama", KeyHash.FNV1A, Unkeyed.RANDOM_AVAILABLE, ToPartition.ABSOLUTE),
        Client("sarama-reference", KeyHash.FNV1A, Unkeyed.RANDOM_AVAILABLE),
        Client("sarama-crc32", KeyHash.CRC32, Unkeyed.RANDOM_AVAILABLE, ToPartition.UNSIGNED),
        Client("sarama-murmur2", KeyHash.MURMUR2, Unkeyed.RANDOM_AVAILABLE),
    ),
)
