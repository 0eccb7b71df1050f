"""Consumer groups and changes to them, which are predicted from the state before and then made on a broker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tests.support.cluster.fleet import COOPERATIVE, JAVA_DEFAULT, RANGE, RDKAFKA_DEFAULT, ROBIN, STICKY, Client

UNIFORM, SERVER_RANGE = "server-uniform", "server-range"

BY_CHANCE = "kafka-python's sticky compares lists of topics that lie in the order of a set, which each process draws"
_BY_MEMBER_ID = "librdkafka sorts static members among the others, Java before them"
_OWN_STICKY = "librdkafka's cooperative-sticky is Java's sticky of before 2.4, with an order of its own"
_USER_DATA = "kafka-python writes two bytes before the user data of sticky, so that Java cannot read them"


@dataclass(frozen=True)
class Join:
    client: Client


@dataclass(frozen=True)
class Leave:
    """A client is closed; a static one remains a member."""

    client_id: str


@dataclass(frozen=True)
class Subscribe:
    """A running client subscribes to other topics."""

    client_id: str
    topics: tuple[str, ...]


@dataclass(frozen=True)
class Restart:
    """A static member is closed and restarts at once, possibly with another configuration."""

    client: Client


@dataclass(frozen=True)
class Grow:
    topic: str
    partitions: int


Change = Join | Leave | Subscribe | Restart | Grow
Round = tuple[Change, ...]
"""Simultaneous changes."""


@dataclass(frozen=True)
class SetUp:
    """A group whose members joined one after the other, and rounds of changes to it."""

    group: str
    topics: Mapping[str, int]
    members: tuple[Client, ...]
    rounds: tuple[Round, ...]
    differs: str = ""
    """Why the assignment differs from that of Java's assignor."""
    strategy: str = ""
    """The strategy of the leader's library, if its assignor differs and has its own name."""

    def clients(self) -> dict[str, Client]:
        """All clients, with their initial configuration."""
        joining = (change.client for changes in self.rounds for change in changes if isinstance(change, Join))
        return {client.client_id: client for client in (*self.members, *joining)}


def _client(name: str, *protocols: str, library: str = "java", instance: str = "") -> Client:
    """Return a client of the set-up's group and topics; its own name determines its place in sorted order."""
    return Client("", name, protocols, (), instance_id=instance, library=library, commit="never")


def _clients(names: str, *protocols: str, library: str = "java") -> tuple[Client, ...]:
    return tuple(_client(name, *protocols, library=library) for name in names.split())


def _static(names: str, *protocols: str, library: str = "java") -> tuple[Client, ...]:
    """Return members whose instance ids sort in the reverse order of their client ids."""
    clients = _clients(names, *protocols, library=library)
    instances = (f"{chr(ord('z') - place)}-till" for place in range(len(clients)))
    return tuple(replace(c, instance_id=i) for c, i in zip(clients, instances, strict=True))


def _reading(topics: str, *clients: Client) -> tuple[Client, ...]:
    """Return clients with different subscriptions; ``topics`` are those of the first, the second, ..."""
    listed = topics.split("/")
    return tuple(replace(c, topics=tuple(t.split())) for c, t in zip(clients, listed, strict=True))


def _set_up(
    name: str, topics: str, members: tuple[Client, ...], *rounds: Change | Round, differs: str = "", strategy: str = ""
) -> SetUp:
    """Return a set-up; ``topics`` lists them with their partitions, as ``a:5 b:3``."""
    partitions = {f"{name}.{topic}": int(count) for topic, count in (each.split(":") for each in topics.split())}

    def named(topic: str) -> str:
        return f"{name}.{topic}"

    def of_group(client: Client) -> Client:
        listed = tuple(map(named, client.topics)) or tuple(partitions)
        return replace(client, group=name, topics=listed)

    def of_set_up(change: Change) -> Change:
        match change:
            case Join(client) | Restart(client):
                return type(change)(of_group(client))
            case Subscribe(client_id, wanted):
                return Subscribe(client_id, tuple(map(named, wanted)))
            case Grow(topic, count):
                return Grow(named(topic), count)
        return change

    of_rounds = tuple(tuple(map(of_set_up, each if isinstance(each, tuple) else (each,))) for each in rounds)
    return SetUp(name, partitions, tuple(map(of_group, members)), of_rounds, differs, strategy)


def _joins(*clients: Client) -> tuple[Join, ...]:
    """Return a group that forms from nothing, one member after the other."""
    return tuple(map(Join, clients))


def _of_range() -> list[SetUp]:
    return [
        _set_up("range-forms", "a:7 b:4", (), *_joins(*_clients("c b a", RANGE))),
        _set_up("range-joined", "a:7 b:5", _clients("b c d", RANGE), Join(_client("a", RANGE))),
        _set_up("range-leader-leaves", "a:8 b:3", _clients("c a b", RANGE), Leave("c")),
        _set_up("range-two-leave", "a:9 b:4", _clients("a b c d", RANGE), (Leave("b"), Leave("d"))),
        _set_up("range-grows", "a:4 b:3", _clients("b a", RANGE), Grow("a", 11)),
        _set_up(
            "range-own-topics",
            "a:5 b:4 c:3",
            _reading("a b/b c", *_clients("b a", RANGE)),
            Join(*_reading("a c", _client("c", RANGE))),
        ),
        _set_up("range-static", "a:7 b:4", _static("a b c", RANGE), Join(_client("d", RANGE, instance="till"))),
        _set_up(
            "range-some-static", "a:7 b:4", (*_clients("a b", RANGE), *_static("c d", RANGE)), Join(_client("e", RANGE))
        ),
    ]


def _of_roundrobin() -> list[SetUp]:
    return [
        _set_up("roundrobin-forms", "a:7 b:4", (), *_joins(*_clients("c b a", ROBIN))),
        _set_up("roundrobin-joined", "a:7 b:5", _clients("b c d", ROBIN), Join(_client("a", ROBIN))),
        _set_up("roundrobin-leader-leaves", "a:8 b:3", _clients("c a b d", ROBIN), Leave("c")),
        _set_up("roundrobin-grows", "a:4 b:3", _clients("b a", ROBIN), Grow("a", 11)),
        _set_up(
            "roundrobin-own-topics", "a:5 b:4 c:3", _reading("a b/b c/a c/c", *_clients("b a d c", ROBIN)), Leave("a")
        ),
        _set_up(
            "roundrobin-some-static",
            "a:7 b:4",
            (*_clients("a b", ROBIN), *_static("c d", ROBIN)),
            Join(_client("e", ROBIN, instance="e-till")),
        ),
    ]


def _of_sticky(protocol: str) -> list[SetUp]:
    return [
        _set_up(f"{protocol}-forms", "a:7 b:4", (), *_joins(*_clients("c b a", protocol))),
        _set_up(f"{protocol}-joined", "a:7 b:6", _clients("b c", protocol), Join(_client("a", protocol))),
        _set_up(f"{protocol}-leader-leaves", "a:8 b:3", _clients("c a b d", protocol), Leave("c")),
        _set_up(f"{protocol}-grows", "a:4 b:3", _clients("b a c", protocol), Grow("a", 11)),
        _set_up(
            f"{protocol}-own-topics",
            "a:5 b:4 c:3",
            _reading("a b/b c/a c", *_clients("b a c", protocol)),
            Join(*_reading("a b c", _client("d", protocol))),
        ),
        _set_up(
            f"{protocol}-subscribes",
            "a:6 b:5 c:4",
            _reading("a b/a b/a b", *_clients("b a c", protocol)),
            Subscribe("a", ("a", "b", "c")),
        ),
        _set_up(
            f"{protocol}-comes-and-goes",
            "a:9 b:6",
            _clients("a b c", protocol),
            Leave("b"),
            Join(_client("d", protocol)),
            Leave("c"),
        ),
    ]


def _elections() -> list[SetUp]:
    by_range, by_robin, by_sticky = (RANGE, ROBIN), (ROBIN, RANGE), (STICKY, RANGE)
    return [
        _set_up("default-joined", "a:7 b:5", _clients("b c", *JAVA_DEFAULT), Join(_client("a", *JAVA_DEFAULT))),
        _set_up("tie-joined", "a:7 b:4", (_client("a", *by_robin),), Join(_client("b", *by_range))),
        _set_up(
            "tie-leader-leaves",
            "a:7 b:4",
            (_client("a", *by_range), _client("b", *by_robin), _client("c", *by_range)),
            Leave("a"),
        ),
        _set_up(
            "tie-of-four",
            "a:7 b:4",
            (_client("b", *by_sticky), _client("a", RANGE, STICKY), _client("c", *by_sticky)),
            Join(_client("d", RANGE, STICKY)),
        ),
        _set_up(
            "majority-turns",
            "a:7 b:4",
            (*_clients("a b c", *by_range), *_clients("d e", *by_robin)),
            (Leave("a"), Leave("c")),
        ),
        _set_up(
            "nobodys-first-choice",
            "a:7 b:4",
            (_client("a", RANGE, ROBIN), _client("b", RANGE, STICKY, ROBIN)),
            Join(_client("c", STICKY, ROBIN)),
        ),
        _set_up("turns-sticky", "a:7 b:6", _clients("a b", RANGE, STICKY), Join(_client("c", STICKY))),
        _set_up("turns-sticky-again", "a:7 b:6", _clients("b c", STICKY, RANGE), Join(_client("a", RANGE)), Leave("a")),
        _set_up("turns-cooperative", "a:7 b:6", _clients("a b", RANGE, COOPERATIVE), Join(_client("c", COOPERATIVE))),
        _set_up(
            "upgrade-to-cooperative",
            "a:7 b:4",
            _static("a b", *JAVA_DEFAULT),
            Restart(_static("a b", COOPERATIVE)[0]),
            Restart(_static("a b", COOPERATIVE)[1]),
        ),
    ]


def _restarts() -> list[SetUp]:
    of_range, of_sticky = _static("a b c", RANGE), _static("a b c", STICKY)
    both = _static("a b c", RANGE, ROBIN)
    return [
        _set_up("static-restarts", "a:7 b:4", of_range, Restart(of_range[0])),
        _set_up("static-sticky-restarts", "a:7 b:4", of_sticky, Restart(of_sticky[1]), Join(_client("d", STICKY))),
        _set_up("static-leader-prefers", "a:7 b:4", both[:2], Restart(_static("a b", ROBIN, RANGE)[0])),
        _set_up(
            "static-prefers", "a:7 b:4", both, Restart(replace(both[1], protocols=(ROBIN,))), Join(_client("d", ROBIN))
        ),
        _set_up(
            "static-reads-more",
            "a:6 b:5",
            _reading("a/a/a", *of_range),
            Restart(*_reading("a b", of_range[2])),
            Join(*_reading("b", _client("d", RANGE))),
        ),
    ]


def _of_librdkafka() -> list[SetUp]:
    """The library has no eager sticky assignor."""
    lib = "librdkafka"
    alike = _clients("c a b", *RDKAFKA_DEFAULT, library=lib)
    robin = _clients("c a b", ROBIN, library=lib)
    return [
        _set_up("rdkafka-joined", "a:7 b:4", alike, Join(_client("d", *RDKAFKA_DEFAULT, library=lib))),
        _set_up("rdkafka-leader-leaves", "a:7 b:4", robin, Leave("c")),
        _set_up("rdkafka-grows", "a:4 b:3", alike[:2], Grow("a", 11)),
        _set_up(
            "rdkafka-own-topics",
            "a:5 b:4 c:3",
            _reading("a b/b c/a c", *robin),
            Join(*_reading("a b c", _client("d", ROBIN, library=lib))),
        ),
        _set_up(
            "rdkafka-some-static",
            "a:7 b:4",
            (*_clients("a b", RANGE, library=lib), *_static("c d", RANGE, library=lib)),
            Join(_client("e", RANGE, library=lib)),
            differs=_BY_MEMBER_ID,
            strategy="librdkafka-range",
        ),
        _set_up(
            "rdkafka-some-static-roundrobin",
            "a:7 b:4",
            (*_clients("a b", ROBIN, library=lib), *_static("c d", ROBIN, library=lib)),
            Join(_client("e", ROBIN, library=lib)),
            differs=_BY_MEMBER_ID,
            strategy="librdkafka-roundrobin",
        ),
        _set_up(
            "rdkafka-cooperative-forms",
            "a:7 b:4",
            (),
            *_joins(*_clients("c b a", COOPERATIVE, library=lib)),
            differs=_OWN_STICKY,
        ),
        _set_up(
            "rdkafka-cooperative-joined",
            "a:7 b:6",
            _clients("b c", COOPERATIVE, library=lib),
            Join(_client("a", COOPERATIVE, library=lib)),
            differs=_OWN_STICKY,
        ),
    ]


def _of_kafka_python() -> list[SetUp]:
    python = "kafka-python"
    alike, robin = _clients("c a b", RANGE, ROBIN, library=python), _clients("c a b", ROBIN, library=python)
    return [
        _set_up("python-joined", "a:7 b:4", alike, Join(_client("d", RANGE, ROBIN, library=python))),
        _set_up("python-leader-leaves", "a:7 b:4", robin, Leave("c")),
        _set_up("python-grows", "a:4 b:3", robin[:2], Grow("a", 11)),
        *(
            each
            for protocol in (STICKY, COOPERATIVE)
            for each in (
                _set_up(
                    f"python-{protocol}-joined",
                    "a:7 b:6",
                    _clients("b c", protocol, library=python),
                    Join(_client("a", protocol, library=python)),
                    differs=BY_CHANCE,
                ),
                _set_up(
                    f"python-{protocol}-leader-leaves",
                    "a:8 b:3",
                    _clients("c a b d", protocol, library=python),
                    Leave("c"),
                    differs=BY_CHANCE,
                ),
            )
        ),
    ]


def _mixed() -> list[SetUp]:
    lib, python = "librdkafka", "kafka-python"
    return [
        _set_up(
            "mixed-java-leads",
            "a:8 b:5",
            (_client("b", *JAVA_DEFAULT), _client("a", *RDKAFKA_DEFAULT, library=lib)),
            Join(_client("c", RANGE, ROBIN, library=python)),
        ),
        _set_up(
            "mixed-rdkafka-leads",
            "a:8 b:5",
            (_client("b", ROBIN, library=lib), _client("a", ROBIN)),
            Join(_client("c", ROBIN)),
        ),
        _set_up(
            "mixed-python-leads",
            "a:8 b:5",
            (_client("b", RANGE, library=python), _client("a", RANGE, library=lib)),
            Join(_client("c", RANGE)),
        ),
        _set_up(
            "mixed-java-leader-leaves",
            "a:8 b:5",
            (_client("b", ROBIN), _client("a", ROBIN, library=lib), _client("c", ROBIN)),
            Leave("b"),
        ),
        _set_up(
            "mixed-cooperative-java-leads",
            "a:8 b:5",
            (_client("b", COOPERATIVE), _client("a", COOPERATIVE, library=lib)),
            Join(_client("c", COOPERATIVE, library=lib)),
        ),
        _set_up(
            "mixed-sticky-java-leads",
            "a:8 b:5",
            (_client("b", STICKY), _client("a", STICKY, library=python)),
            Join(_client("c", STICKY)),
            differs=_USER_DATA,
        ),
    ]


def _of_kip_848() -> list[SetUp]:
    lib = "librdkafka"
    return [
        _set_up("uniform-forms", "a:7 b:4", (), *_joins(*_clients("c b a", UNIFORM))),
        _set_up("uniform-joined", "a:7 b:6", _clients("b c", UNIFORM), Join(_client("a", UNIFORM))),
        _set_up("uniform-leaves", "a:8 b:3", _clients("c a b d", UNIFORM), Leave("c")),
        _set_up("uniform-grows", "a:4 b:3", _clients("b a c", UNIFORM), Grow("a", 11)),
        _set_up("uniform-own-topics", "a:5 b:4 c:3", _reading("a b/b c/a c", *_clients("b a c", UNIFORM)), Leave("b")),
        _set_up("server-range-leaves", "a:9 b:4", _clients("a b c d", SERVER_RANGE), (Leave("b"), Leave("d"))),
        _set_up("server-range-grows", "a:4 b:3", _clients("b a", SERVER_RANGE), Grow("a", 11)),
        _set_up(
            "server-range-subscribes",
            "a:6 b:5 c:4",
            _reading("a b/a b/a b", *_clients("b a c", SERVER_RANGE)),
            Subscribe("a", ("a", "b", "c")),
        ),
        _set_up(
            "server-range-static",
            "a:7 b:4",
            _static("a b c", SERVER_RANGE),
            Join(_client("d", SERVER_RANGE, instance="till")),
        ),
        _set_up("rdkafka-uniform-leaves", "a:8 b:3", _clients("c a b", UNIFORM, library=lib), Leave("a")),
        _set_up(
            "mixed-uniform",
            "a:8 b:5",
            (_client("a", UNIFORM), _client("b", UNIFORM, library=lib), _client("c", UNIFORM)),
            Leave("c"),
        ),
    ]


SET_UPS = (
    *_of_range(),
    *_of_roundrobin(),
    *_of_sticky(STICKY),
    *_of_sticky(COOPERATIVE),
    *_elections(),
    *_restarts(),
    *_of_librdkafka(),
    *_of_kafka_python(),
    *_mixed(),
    *_of_kip_848(),
)
