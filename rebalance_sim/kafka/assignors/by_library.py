"""Which assignor the leader of a group runs: the elected protocol as the leader's client library implements it.

Members of all libraries list assignors under the names of Java's, but the libraries assign differently. A table of the
user's own assignors comes before the libraries': it says what the leader runs under a name.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from rebalance_sim.errors import UserError, check_choice
from rebalance_sim.kafka.assignors import CLIENTS_ASSIGNORS
from rebalance_sim.kafka.assignors.default_protocols import DEFAULT_PROTOCOLS
from rebalance_sim.kafka.balance_bounds import Guarantee

JAVA = "java"
SEPARATOR = ";"
"""Between the libraries that a member may use, the most likely one first."""

_NAMED_OTHERWISE = {("kafkajs", "RoundRobinAssigner"): "kafkajs-roundrobin"}
_CHANGED: Mapping[str, tuple[tuple[tuple[int, ...], str], ...]] = {
    "sarama-range": (((1, 34, 1), "sarama-1.27-range"),),
    "sarama-roundrobin": (((1, 28), "sarama-1.27-roundrobin"),),
    "librdkafka-range": (((1, 3), "librdkafka-1.2-range"), ((2, 2), "librdkafka-2.1-range")),
    "librdkafka-roundrobin": (
        ((1, 3), "librdkafka-1.2-roundrobin"),
        ((1, 5), "librdkafka-1.4-roundrobin"),
        ((1, 5, 2), "librdkafka-1.5.0-roundrobin"),
        ((1, 5, 3), "librdkafka-1.5.2-roundrobin"),
    ),
    "kafkajs-roundrobin": (((1, 13), "kafkajs-1.12-roundrobin"),),
    "kafka-python-range": (((2, 3), "kafka-python-2.2-range"),),
    "kafka-python-roundrobin": (((2, 3), "kafka-python-2.2-roundrobin"),),
    "franz-go-sticky": (((1, 21, 4), "franz-go-1.21.3-sticky"),),
    "franz-go-cooperative-sticky": (((1, 21, 4), "franz-go-1.21.3-cooperative-sticky"),),
}
"""By assignor, releases that changed it, the oldest first, each with the assignor of earlier releases."""
_NOT_REPRODUCED: Mapping[tuple[str, str], tuple[tuple[int, ...], str]] = {
    ("librdkafka", "cooperative-sticky"): ((2, 6, 1), "earlier releases skip members while they balance"),
    ("kafkajs", "RoundRobinAssigner"): ((1, 5), "earlier leaders assign the topics of their own last assignment"),
    ("platformatic-kafka", "roundrobin"): ((1, 7), "earlier leaders assign the topics of all members"),
    ("franz-go", "range"): ((1, 0), "no earlier release was compared"),
    ("franz-go", "roundrobin"): ((1, 0), "no earlier release was compared"),
    ("franz-go", "sticky"): ((1, 0), "no earlier release was compared"),
    ("franz-go", "cooperative-sticky"): ((1, 0), "no earlier release was compared"),
}
"""By library and protocol, the first release that is predicted, and why earlier ones are not."""
_GO_MAP = "it visits a map of Go in a random order"
_PYTHON_SET = "it visits a set of Python, whose order differs from process to process"
_UNPREDICTABLE = {
    ("sarama", "sticky"): _GO_MAP,
    ("sarama", "cooperative-sticky"): _GO_MAP,
    ("kafka-go", "rack-affinity"): _GO_MAP,
    ("kafka-python", "sticky"): _PYTHON_SET,
    ("kafka-python", "cooperative-sticky"): _PYTHON_SET,
    ("aiokafka", "sticky"): _PYTHON_SET,
}
GUARANTEES: Mapping[str, Guarantee] = {
    "sarama-sticky": Guarantee.BALANCED_OR_LOST,
    "sarama-cooperative-sticky": Guarantee.BALANCED_OR_LOST,
    "franz-go-sticky": Guarantee.MOST_BALANCED,
    "franz-go-cooperative-sticky": Guarantee.MOST_BALANCED,
    "franz-go-1.21.3-sticky": Guarantee.MOST_BALANCED,
    "franz-go-1.21.3-cooperative-sticky": Guarantee.MOST_BALANCED,
    "kafka-go-rack-affinity": Guarantee.BALANCED_TOPICS,
    "kafka-go-range": Guarantee.BALANCED_TOPICS,
    "kafka-go-roundrobin": Guarantee.BALANCED_TOPICS,
    "kafka-python-sticky": Guarantee.LEAST_LOADED,
    "kafka-python-cooperative-sticky": Guarantee.LEAST_LOADED,
    "aiokafka-sticky": Guarantee.LEAST_LOADED,
    "librdkafka-cooperative-sticky": Guarantee.LEAST_LOADED_IN_RACKS,
}
"""By assignor, what it guarantees of the groups for which it has no assignment that can be predicted."""


_NOT_READ = (
    "java: cannot read the subscription of a member of kafka-go or platformatic-kafka, so that the leader's consumer "
    "fails with a SchemaException"
)


class Leader(NamedTuple):
    """The client of a leader, as the members table names it."""

    library: str
    """Java, if it is empty."""
    release: str
    """Of the library; empty if it is unknown, which counts as the newest, or for Java as that of the run."""

    @property
    def candidates(self) -> list["Leader"]:
        """The leaders that this may be, if several libraries are possible; the most likely one first.

        >>> Leader("kafka-go;platformatic-kafka", "").candidates
        [Leader(library='kafka-go', release=''), Leader(library='platformatic-kafka', release='')]
        """
        return [Leader(library.strip(), self.release) for library in self.library.split(SEPARATOR)]


_UNREADABLE_FOR_JAVA = {"kafka-go", "platformatic-kafka"}
"""Libraries whose subscriptions end before the owned partitions that their version has."""


def is_readable_for_java(library: str) -> bool:
    """Return whether Java's consumer can read the subscription of a member, whose library may be one of several.

    >>> is_readable_for_java("sarama"), is_readable_for_java("kafka-go;platformatic-kafka")
    (True, False)
    """
    return not {each.library for each in Leader(library, "").candidates} <= _UNREADABLE_FOR_JAVA


_SILENT = {"franz-go", "sarama", "kafka-python"}
"""Under ``sticky``, franz-go revokes everything before it joins. Sarama sends back what the leader put beside the last
assignment, where Java and franz-go put nothing. kafka-python sends a version that other libraries cannot read."""


def tells_owned(library: str, protocol: str) -> bool:
    """Return whether a member tells the leader what it owns, as far as the leader's assignment can be predicted.

    >>> tells_owned("franz-go", "sticky"), tells_owned("franz-go", "cooperative-sticky"), tells_owned("", "sticky")
    (False, True, True)
    """
    return protocol != "sticky" or library not in _SILENT


_WITH_USER_DATA = {("librdkafka", "cooperative-sticky"), ("sarama", "sticky")}
"""Assignors that put user data beside the assigned partitions, where those of Java and other libraries put nothing."""


def adds_user_data(leader: Leader, protocol: str) -> bool:
    """Return whether the assignments that a leader sends have user data, which the coordinator cannot convert.

    >>> adds_user_data(Leader("librdkafka", ""), "cooperative-sticky"), adds_user_data(Leader("", ""), "sticky")
    (True, False)
    """
    return (leader.candidates[0].library, protocol) in _WITH_USER_DATA


class LeadersAssignor(NamedTuple):
    """What a leader runs under a protocol name."""

    name: str
    """The assignor's name among ``KNOWN_ASSIGNORS``, or one for what cannot be predicted."""
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
    name = _name(library, protocol)
    try:
        check_choice("client_library", library, list(DEFAULT_PROTOCOLS))
        release = release_numbers(leader.release)
    except UserError as problem:
        return LeadersAssignor(name, str(problem))
    if (library, protocol) in _UNPREDICTABLE:
        return LeadersAssignor(name, f"{library}: {protocol} cannot be predicted: {_UNPREDICTABLE[library, protocol]}")
    if not offers(library, protocol):
        return LeadersAssignor(name, f"{library}: no assignor for protocol {protocol!r}")
    if release is None:
        return LeadersAssignor(name)
    since, reason = _NOT_REPRODUCED.get((library, protocol), ((), ""))
    if release < since:
        first = ".".join(map(str, since))
        return LeadersAssignor(
            f"{library}-{leader.release}-{protocol}",
            f"{library}: {protocol} before {first} cannot be predicted: {reason}",
        )
    return LeadersAssignor(next((before for changed, before in _CHANGED.get(name, ()) if release < changed), name))


def predictable_protocols(library: str) -> list[str]:
    """Return the protocol names of a library other than Java for which it has an assignor that can be predicted.

    >>> predictable_protocols("sarama"), predictable_protocols("kafkajs")
    (['range', 'roundrobin'], ['RoundRobinAssigner'])
    """
    named = {name: protocol for (_, protocol), name in _NAMED_OTHERWISE.items()}
    earlier = {name for changes in _CHANGED.values() for _, name in changes}
    return [
        named.get(name, name.removeprefix(f"{library}-"))
        for name in CLIENTS_ASSIGNORS
        if name.startswith(f"{library}-") and name not in earlier
    ]


ASSIGN_LEADERS_TOPICS = frozenset({"kafkajs", "platformatic-kafka"})
"""Libraries whose leader assigns only the topics to which it subscribes itself, and those to all members."""


def library_of(strategy: str) -> str:
    """Return the library of an assignor's name; that of Java, of the coordinator or of the user's own is Java.

    >>> library_of("kafka-python-range"), library_of("range")
    ('kafka-python', 'java')
    """
    return next((library for library in DEFAULT_PROTOCOLS if strategy.startswith(f"{library}-")), JAVA)


def offers(library: str, protocol: str) -> bool:
    """Return whether a library has an assignor for a protocol name; Java may have one of the user's own."""
    return library == JAVA or (library, protocol) in _UNPREDICTABLE or _name(library, protocol) in CLIENTS_ASSIGNORS


def _name(library: str, protocol: str) -> str:
    return _NAMED_OTHERWISE.get((library, protocol), f"{library}-{protocol}")


def release_numbers(release: str) -> tuple[int, ...] | None:
    """Return the numbers of a release; None if it is unknown. Raises UserError for a text that is no release.

    >>> release_numbers("1.43.0"), release_numbers("")
    ((1, 43, 0), None)
    """
    if not release:
        return None
    found = re.match(r"v?(\d+(?:\.\d+)*)", release)
    if not found:
        raise UserError(f"client_version: {release!r} is no release; allowed: numbers such as '1.43.0'")
    return tuple(map(int, found[1].split(".")))
