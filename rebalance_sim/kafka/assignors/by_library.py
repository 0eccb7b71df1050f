"""The assignor that the leader of a group runs: the elected protocol as the leader's client library implements it.

Members of all libraries list assignors under the names of Java's, but the libraries assign differently. A table of the
user's own assignors takes precedence: it states what the leader runs under a name.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from rebalance_sim.errors import UserError
from rebalance_sim.kafka.clients import JAVA, LIBRARIES, library_named
from rebalance_sim.kafka.clients.library import LibraryAssignor, Release
from rebalance_sim.kafka.guarantees import Guarantee

SEPARATOR = ";"
"""Separates the libraries that a member may use, the most likely first."""

GUARANTEES: Mapping[str, Guarantee] = {
    strategy: guarantee
    for library in LIBRARIES.values()
    for each in library.assignors
    for strategy, guarantee in each.guarantees.items()
}
"""By strategy, what it guarantees for groups whose assignment cannot be predicted."""
ASSIGN_LEADERS_TOPICS = frozenset(name for name, library in LIBRARIES.items() if library.assigns_leaders_topics)

_UNREADABLE = [name for name, library in LIBRARIES.items() if library.subscriptions.end_early]
_NOT_READ = (
    f"java: cannot read the subscription of a member of {' or '.join(_UNREADABLE)}, so that the leader's consumer "
    "fails with a SchemaException"
)


class Leader(NamedTuple):
    """The client of a leader, as the members table names it."""

    library: str
    """Java, if it is empty."""
    release: str
    """Release of the library; empty if unknown. Then the newest release is assumed, or for Java that of the run."""

    @property
    def candidates(self) -> list["Leader"]:
        """Return one leader per possible library, the most likely first.

        >>> Leader("kafka-go;platformatic-kafka", "").candidates
        [Leader(library='kafka-go', release=''), Leader(library='platformatic-kafka', release='')]
        """
        return [Leader(library.strip(), self.release) for library in self.library.split(SEPARATOR)]


def is_readable_for_java(library: str) -> bool:
    """Return whether Java's consumer can read the subscriptions of all libraries that a member may use.

    >>> is_readable_for_java("sarama"), is_readable_for_java("kafka-go;platformatic-kafka")
    (True, False)
    """
    return not all(each.library in _UNREADABLE for each in Leader(library, "").candidates)


def tells_owned(library: str, protocol: str) -> bool:
    """Return whether a member sends the leader the partitions it owns, in a form that makes the assignment predictable.

    >>> tells_owned("franz-go", "sticky"), tells_owned("franz-go", "cooperative-sticky"), tells_owned("", "sticky")
    (False, True, True)
    """
    assignor = _assignor(library, protocol)
    return assignor is None or assignor.reports_owned


def adds_user_data(leader: Leader, protocol: str) -> bool:
    """Return whether the assignments that a leader sends have user data, which the coordinator cannot convert.

    >>> adds_user_data(Leader("librdkafka", ""), "cooperative-sticky"), adds_user_data(Leader("", ""), "sticky")
    (True, False)
    """
    assignor = _assignor(leader.candidates[0].library, protocol)
    return assignor is not None and assignor.adds_user_data


class LeadersAssignor(NamedTuple):
    """The assignor that a leader runs under a protocol name."""

    name: str
    """A name in ``KNOWN_ASSIGNORS``, or the name of an assignor that cannot be predicted."""
    problem: str | None = None
    """Why its assignment cannot be predicted."""


def leaders_assignor(protocol: str, leader: Leader, readable: bool = True) -> LeadersAssignor:
    """Return what a leader runs under a protocol name; ``readable`` says whether Java could read all members.

    >>> leaders_assignor("range", Leader("sarama", "1.30.0")).name
    'sarama-1.27-range'
    >>> leaders_assignor("sticky", Leader("sarama", "")).problem
    'sarama: sticky cannot be predicted: it visits a map of Go in a random order'
    >>> leaders_assignor("RoundRobinAssigner", Leader("kafkajs", "1.12.0")).name
    'kafkajs-1.12-roundrobin'
    """
    library = leader.library or JAVA
    if library == JAVA:
        return LeadersAssignor(protocol, None if readable else _NOT_READ)
    assignor = _assignor(library, protocol)
    name = assignor.strategy if assignor else f"{library}-{protocol}"
    try:
        library_named(library)
        release = release_numbers(leader.release)
    except UserError as problem:
        return LeadersAssignor(name, str(problem))
    if assignor is None:
        return LeadersAssignor(name, f"{library}: no assignor for protocol {protocol!r}")
    if assignor.rules is None:
        return LeadersAssignor(name, f"{library}: {protocol} cannot be predicted: {assignor.unpredictable}")
    if release is None:
        return LeadersAssignor(name)
    since = assignor.since
    if since is not None and release < since.release:
        first = ".".join(map(str, since.release))
        return LeadersAssignor(
            f"{library}-{leader.release}-{protocol}",
            f"{library}: {protocol} before {first} cannot be predicted: {since.reason}",
        )
    return LeadersAssignor(assignor.strategy_of(release))


def predictable_protocols(library: str) -> list[str]:
    """Return the protocol names of a library other than Java for which it has an assignor that can be predicted.

    >>> predictable_protocols("sarama"), predictable_protocols("kafkajs")
    (['range', 'roundrobin'], ['RoundRobinAssigner'])
    """
    assignors = LIBRARIES[library].assignors if library in LIBRARIES else ()
    return [each.protocol for each in assignors if each.rules]


def library_of(strategy: str) -> str:
    """Return the library of an assignor: Java for Java's own, for the coordinator's and for the user's assignors.

    >>> library_of("kafka-python-range"), library_of("range")
    ('kafka-python', 'java')
    """
    return next((library for library in LIBRARIES if strategy.startswith(f"{library}-")), JAVA)


def offers(library: str, protocol: str) -> bool:
    """Return whether a library has an assignor for a protocol name; Java may have one of the user's own."""
    return library == JAVA or _assignor(library, protocol) is not None


def _assignor(library: str, protocol: str) -> LibraryAssignor | None:
    return LIBRARIES[library].assignor(protocol) if library in LIBRARIES else None


def release_numbers(release: str) -> Release | None:
    """Return the numbers of a release; None if it is unknown. Raises UserError for a text that is not a release.

    >>> release_numbers("1.43.0"), release_numbers("")
    ((1, 43, 0), None)
    """
    if not release:
        return None
    found = re.match(r"v?(\d+(?:\.\d+)*)", release)
    if not found:
        raise UserError(f"client_version: {release!r} is not a release; allowed: numbers such as '1.43.0'")
    return tuple(map(int, found[1].split(".")))
