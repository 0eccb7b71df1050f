"""Partition assignors by the name under which members offer them."""

from collections.abc import Callable
from dataclasses import dataclass

from rebalance_sim.kafka.assignors import cooperative_sticky, range, roundrobin, sticky
from rebalance_sim.kafka.groups import Groups, Outcome, Topics
from rebalance_sim.versions import KafkaVersion


@dataclass(frozen=True)
class Assignor:
    """An assignor of Kafka's."""

    assign: Callable[[Groups, Topics, KafkaVersion], Outcome]
    """Assigns the partitions of every group of a batch."""
    remembers: bool = False
    """Whether the answer depends on what the members own."""


ASSIGNORS = {
    "range": Assignor(range.assign),
    "roundrobin": Assignor(roundrobin.assign),
    "sticky": Assignor(sticky.assign, remembers=True),
    "cooperative-sticky": Assignor(cooperative_sticky.assign, remembers=True),
}
