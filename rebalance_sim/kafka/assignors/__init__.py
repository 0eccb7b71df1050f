"""All partition assignors, by name.

``java`` and ``sticky`` have the Java client's, ``server`` the coordinator's (KIP-848, KIP-932), and other client
libraries have folders of their own, with modules named after the library's classes or files; rules that several of them
follow are in ``steps``. To add an assignor of another library, add its rules to the library's folder and name them in
its record (``rebalance_sim.kafka.clients``).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rebalance_sim.errors import UserError, check_choice
from rebalance_sim.kafka.assignors.java import range_assignor, round_robin_assignor
from rebalance_sim.kafka.assignors.server import server_range, simple
from rebalance_sim.kafka.assignors.server import uniform as server_uniform
from rebalance_sim.kafka.assignors.sticky.sticky_assignors import assign_cooperative_sticky, assign_sticky
from rebalance_sim.kafka.clients import LIBRARIES
from rebalance_sim.kafka.groups import AssignmentOutcome, Groups, TopicArrays
from rebalance_sim.kafka.rebalances import RebalanceProtocol
from rebalance_sim.releases import KafkaVersion


def _never(_: KafkaVersion) -> bool:
    return False


def _always(_: KafkaVersion) -> bool:
    return True


@dataclass(frozen=True)
class Assignor:
    """An assignor of Kafka or of another client library."""

    assign: Callable[[Groups, TopicArrays, KafkaVersion], AssignmentOutcome]
    """Assigns the partitions of every group of a batch."""
    remembers: Callable[[KafkaVersion], bool] = _never
    """Returns whether the result depends on the partitions that members own, by release."""
    asks_topic_ids: bool = False
    """Whether the result depends on the topic ids."""
    protocol: RebalanceProtocol = RebalanceProtocol.EAGER
    """The protocol by which members hand over partitions that change their owner."""


ASSIGNORS = {
    "range": Assignor(range_assignor.assign),
    "roundrobin": Assignor(round_robin_assignor.assign),
    "sticky": Assignor(assign_sticky, remembers=_always),
    "cooperative-sticky": Assignor(
        assign_cooperative_sticky, remembers=_always, protocol=RebalanceProtocol.COOPERATIVE
    ),
    "server-range": Assignor(
        server_range.assign, remembers=server_range.remembers, protocol=RebalanceProtocol.RECONCILIATION
    ),
    "server-uniform": Assignor(
        server_uniform.assign, remembers=_always, asks_topic_ids=True, protocol=RebalanceProtocol.RECONCILIATION
    ),
    "share-simple": Assignor(
        simple.assign, remembers=simple.remembers, asks_topic_ids=True, protocol=RebalanceProtocol.RECONCILIATION
    ),
}

CLIENTS_ASSIGNORS = {
    strategy: Assignor(
        rules,
        remembers=_always if each.remembers else _never,
        protocol=RebalanceProtocol.COOPERATIVE if each.is_cooperative else RebalanceProtocol.EAGER,
    )
    for library in LIBRARIES.values()
    for each in library.assignors
    for strategy, rules in each.strategies.items()
}
"""Assignors of other client libraries: what a leader of that library computes.

Members list them under the same names as Java's assignors, which may behave differently. So they are never elected by
these names: they are strategies for groups whose leader's library is known."""

KNOWN_ASSIGNORS = {**ASSIGNORS, **CLIENTS_ASSIGNORS}

FORGETFUL = tuple(
    name
    for name, assignor in KNOWN_ASSIGNORS.items()
    if assignor.protocol is RebalanceProtocol.EAGER and assignor.remembers is _never
)
"""Assignors whose members do not send their last assignment when they rejoin."""


def assignors_of(version: KafkaVersion) -> tuple[str, ...]:
    """Return the names of the assignors of a Kafka release for consumer groups."""
    return tuple(name for name in ASSIGNORS if name in version.assignors)


def find_assignor(name: str, version: KafkaVersion) -> Assignor | None:
    """Return an assignor of a Kafka release, or one of another client library, which works with every release."""
    found = (*version.assignors, *version.share_assignors, *CLIENTS_ASSIGNORS)
    return KNOWN_ASSIGNORS[name] if name in found else None


def check_strategy(what: str, name: str, version: KafkaVersion, others: Sequence[str]) -> None:
    """Raise UserError for a name that is neither an assignor of the release nor one of ``others``."""
    check_choice(what, name, [*KNOWN_ASSIGNORS, *others])
    allowed = [*assignors_of(version), *version.share_assignors, *CLIENTS_ASSIGNORS, *others]
    if name not in allowed:
        raise UserError(f"{what}: Kafka {version.name} has no {name!r}; allowed: {', '.join(allowed)}")
