"""Partition assignors by name: Kafka's by that under which members offer them, other libraries' by one of their own."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rebalance_sim.errors import UserError, check_choice
from rebalance_sim.kafka.assignors import (
    cooperative_sticky,
    kafka_python_range,
    kafka_python_roundrobin,
    librdkafka_range,
    librdkafka_roundrobin,
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
    """An assignor of Kafka's, or of another client library."""

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

CLIENTS_ASSIGNORS = {
    "librdkafka-range": Assignor(librdkafka_range.assign),
    "librdkafka-roundrobin": Assignor(librdkafka_roundrobin.assign),
    "kafka-python-range": Assignor(kafka_python_range.assign),
    "kafka-python-roundrobin": Assignor(kafka_python_roundrobin.assign),
}
"""Assignors of other client libraries: what they do where a member of theirs leads.

Members offer them under the names of Java's, which need not do the same. So nobody elects them: they are strategies
for those who know who leads."""

KNOWN_ASSIGNORS = {**ASSIGNORS, **CLIENTS_ASSIGNORS}

FORGETFUL = tuple(
    name
    for name, assignor in KNOWN_ASSIGNORS.items()
    if assignor.protocol is RebalanceProtocol.EAGER and not assignor.remembers
)
"""Assignors whose members do not tell, when they join again, what they were assigned last."""


def assignors_of(version: KafkaVersion) -> tuple[str, ...]:
    """Names of the assignors that a version of Kafka has."""
    return tuple(name for name in ASSIGNORS if name in version.assignors)


def find_assignor(name: str, version: KafkaVersion) -> Assignor | None:
    """Find an assignor of a version of Kafka, or of another client library, which works with every version."""
    return KNOWN_ASSIGNORS[name] if name in (*version.assignors, *CLIENTS_ASSIGNORS) else None


def check_strategy(what: str, name: str, version: KafkaVersion, others: Sequence[str]) -> None:
    """Raise UserError for a name that is neither an assignor to be found for the version nor one of the others."""
    check_choice(what, name, [*KNOWN_ASSIGNORS, *others])
    allowed = [*assignors_of(version), *CLIENTS_ASSIGNORS, *others]
    if name not in allowed:
        raise UserError(f"{what}: Kafka {version.name} has no {name!r}; allowed: {', '.join(allowed)}")
