"""Partition assignors by the name under which members offer them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rebalance_sim.errors import UserError, check_choice
from rebalance_sim.kafka.assignors import (
    cooperative_sticky,
    range,
    roundrobin,
    server_range,
    server_uniform,
    sticky,
)
from rebalance_sim.kafka.groups import Groups, Outcome, Topics
from rebalance_sim.kafka.rebalances import RebalanceProtocol
from rebalance_sim.versions import KafkaVersion


@dataclass(frozen=True)
class Assignor:
    """An assignor of Kafka's."""

    assign: Callable[[Groups, Topics, KafkaVersion], Outcome]
    """Assigns the partitions of every group of a batch."""
    remembers: bool = False
    """Whether the answer depends on what the members own."""
    asks_topic_ids: bool = False
    """Whether the answer depends on the topics' Uuids."""
    protocol: RebalanceProtocol = RebalanceProtocol.EAGER
    """How the members hand over what is theirs no more."""


ASSIGNORS = {
    "range": Assignor(range.assign),
    "roundrobin": Assignor(roundrobin.assign),
    "sticky": Assignor(sticky.assign, remembers=True),
    "cooperative-sticky": Assignor(cooperative_sticky.assign, remembers=True, protocol=RebalanceProtocol.COOPERATIVE),
    "server-range": Assignor(server_range.assign, protocol=RebalanceProtocol.RECONCILIATION),
    "server-uniform": Assignor(
        server_uniform.assign, remembers=True, asks_topic_ids=True, protocol=RebalanceProtocol.RECONCILIATION
    ),
}


def assignors_of(version: KafkaVersion) -> tuple[str, ...]:
    """Names of the assignors that a version of Kafka has."""
    return tuple(name for name in ASSIGNORS if name in version.assignors)


def check_strategy(what: str, name: str, version: KafkaVersion, others: Sequence[str]) -> None:
    """Raise UserError for a name that is neither an assignor of the version nor one of the others."""
    check_choice(what, name, [*ASSIGNORS, *others])
    allowed = [*assignors_of(version), *others]
    if name not in allowed:
        raise UserError(f"{what}: Kafka {version.name} has no {name!r}; allowed: {', '.join(allowed)}")
