"""Consumer groups and changes to them, which are predicted from the state before and then made on a broker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

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


def _clients(names: str, *protocols: str, library: str = "java", topics: str = "") -> tuple[Client, ...]:
    """
    Return clients of the set-up's group; their own names determine their places in sorted order.

    ``topics`` are those of the first, the second, ..., as ``a b/b c``; without any, clients read all of the set-up's.
    """
    clients = (Client("", name, protocols, (), library=library, commit="never") for name in names.split())
    if not topics:
        return tuple(clients)
    return tuple(replace(c, topics=tuple(t.split())) for c, t in zip(clients, topics.split("/"), strict=True))


def _static(names: str, *protocols: str, library: str = "java", topics: str = "") -> tuple[Client, ...]:
    """Return members whose instance ids sort in the reverse order of their client ids."""
    clients = _clients(names, *protocols, library=library, topics=topics)
    instances = (f"{chr(ord('z') - place)}-till" for place in range(len(clients)))
    return tuple(replace(c, instance_id=i) for c, i in zip(clients, instances, strict=True))


def _join(name: str, *protocols: str, library: str = "java", topics: str = "", instance: str = "") -> Join:
    (client,) = _clients(name, *protocols, library=library, topics=topics)
    return Join(replace(client, instance_id=instance))


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


def _forms(names: str, *protocols: str, library: str = "java") -> tuple[Join, ...]:
    """Return a group that forms from nothing, one member after the other."""
    return tuple(map(Join, _clients(names, *protocols, library=library)))


def _of_range() -> list[SetUp]:
    some_static = (*_clients("a b", RANGE), *_static("c d", RANGE))
    own_topics = _clients("b a", RANGE, topics="a b/b c")
    return [
        _set_up("range-forms", "a:7 b:4", (), *_forms("c b a", RANGE)),
        _set_up("range-joined", "a:7 b:5", _clients("b c d", RANGE), _join("a", RANGE)),
        _set_up("range-leader-leaves", "a:8 b:3", _clients("c a b", RANGE), Leave("c")),
        _set_up("range-two-leave", "a:9 b:4", _clients("a b c d", RANGE), (Leave("b"), Leave("d"))),
        _set_up("range-grows", "a:4 b:3", _clients("b a", RANGE), Grow("a", 11)),
        _set_up("range-own-topics", "a:5 b:4 c:3", own_topics, _join("c", RANGE, topics="a c")),
        _set_up("range-static", "a:7 b:4", _static("a b c", RANGE), _join("d", RANGE, instance="till")),
        _set_up("range-some-static", "a:7 b:4", some_static, _join("e", RANGE)),
    ]


def _of_roundrobin() -> list[SetUp]:
    some_static = (*_clients("a b", ROBIN), *_static("c d", ROBIN))
    own_topics = _clients("b a d c", ROBIN, topics="a b/b c/a c/c")
    return [
        _set_up("roundrobin-forms", "a:7 b:4", (), *_forms("c b a", ROBIN)),
        _set_up("roundrobin-joined", "a:7 b:5", _clients("b c d", ROBIN), _join("a", ROBIN)),
        _set_up("roundrobin-leader-leaves", "a:8 b:3", _clients("c a b d", ROBIN), Leave("c")),
        _set_up("roundrobin-grows", "a:4 b:3", _clients("b a", ROBIN), Grow("a", 11)),
        _set_up("roundrobin-own-topics", "a:5 b:4 c:3", own_topics, Leave("a")),
        _set_up("roundrobin-some-static", "a:7 b:4", some_static, _join("e", ROBIN, instance="e-till")),
    ]


def _of_sticky(protocol: str) -> list[SetUp]:
    own_topics = _clients("b a c", protocol, topics="a b/b c/a c")
    alike = _clients("b a c", protocol, topics="a b/a b/a b")
    comes_and_goes = Leave("b"), _join("d", protocol), Leave("c")
    return [
        _set_up(f"{protocol}-forms", "a:7 b:4", (), *_forms("c b a", protocol)),
        _set_up(f"{protocol}-joined", "a:7 b:6", _clients("b c", protocol), _join("a", protocol)),
        _set_up(f"{protocol}-leader-leaves", "a:8 b:3", _clients("c a b d", protocol), Leave("c")),
        _set_up(f"{protocol}-grows", "a:4 b:3", _clients("b a c", protocol), Grow("a", 11)),
        _set_up(f"{protocol}-own-topics", "a:5 b:4 c:3", own_topics, _join("d", protocol, topics="a b c")),
        _set_up(f"{protocol}-subscribes", "a:6 b:5 c:4", alike, Subscribe("a", ("a", "b", "c"))),
        _set_up(f"{protocol}-comes-and-goes", "a:9 b:6", _clients("a b c", protocol), *comes_and_goes),
    ]


def _elections() -> list[SetUp]:
    by_range, by_robin, by_sticky = (RANGE, ROBIN), (ROBIN, RANGE), (STICKY, RANGE)
    three = (*_clients("a", *by_range), *_clients("b", *by_robin), *_clients("c", *by_range))
    sticky_first = (*_clients("b", *by_sticky), *_clients("a", RANGE, STICKY), *_clients("c", *by_sticky))
    five = (*_clients("a b c", *by_range), *_clients("d e", *by_robin))
    two = (*_clients("a", RANGE, ROBIN), *_clients("b", RANGE, STICKY, ROBIN))
    upgrades = map(Restart, _static("a b", COOPERATIVE))
    return [
        _set_up("default-joined", "a:7 b:5", _clients("b c", *JAVA_DEFAULT), _join("a", *JAVA_DEFAULT)),
        _set_up("tie-joined", "a:7 b:4", _clients("a", *by_robin), _join("b", *by_range)),
        _set_up("tie-leader-leaves", "a:7 b:4", three, Leave("a")),
        _set_up("tie-of-four", "a:7 b:4", sticky_first, _join("d", RANGE, STICKY)),
        _set_up("majority-turns", "a:7 b:4", five, (Leave("a"), Leave("c"))),
        _set_up("nobodys-first-choice", "a:7 b:4", two, _join("c", STICKY, ROBIN)),
        _set_up("turns-sticky", "a:7 b:6", _clients("a b", RANGE, STICKY), _join("c", STICKY)),
        _set_up("turns-sticky-again", "a:7 b:6", _clients("b c", STICKY, RANGE), _join("a", RANGE), Leave("a")),
        _set_up("turns-cooperative", "a:7 b:6", _clients("a b", RANGE, COOPERATIVE), _join("c", COOPERATIVE)),
        _set_up("upgrade-to-cooperative", "a:7 b:4", _static("a b", *JAVA_DEFAULT), *upgrades),
    ]


def _restarts() -> list[SetUp]:
    of_range, of_sticky = _static("a b c", RANGE), _static("a b c", STICKY)
    both = _static("a b c", RANGE, ROBIN)
    alike = _static("a b c", RANGE, topics="a/a/a")
    prefers, reads_more = replace(both[1], protocols=(ROBIN,)), replace(alike[2], topics=("a", "b"))
    return [
        _set_up("static-restarts", "a:7 b:4", of_range, Restart(of_range[0])),
        _set_up("static-sticky-restarts", "a:7 b:4", of_sticky, Restart(of_sticky[1]), _join("d", STICKY)),
        _set_up("static-leader-prefers", "a:7 b:4", both[:2], Restart(_static("a b", ROBIN, RANGE)[0])),
        _set_up("static-prefers", "a:7 b:4", both, Restart(prefers), _join("d", ROBIN)),
        _set_up("static-reads-more", "a:6 b:5", alike, Restart(reads_more), _join("d", RANGE, topics="b")),
    ]


def _of_librdkafka() -> list[SetUp]:
    """The library has no eager sticky assignor."""
    clients, join = partial(_clients, library="librdkafka"), partial(_join, library="librdkafka")
    forms = _forms("c b a", COOPERATIVE, library="librdkafka")
    alike, robin = clients("c a b", *RDKAFKA_DEFAULT), clients("c a b", ROBIN)
    own_topics = clients("c a b", ROBIN, topics="a b/b c/a c")
    return [
        _set_up("rdkafka-joined", "a:7 b:4", alike, join("d", *RDKAFKA_DEFAULT)),
        _set_up("rdkafka-leader-leaves", "a:7 b:4", robin, Leave("c")),
        _set_up("rdkafka-grows", "a:4 b:3", alike[:2], Grow("a", 11)),
        _set_up("rdkafka-own-topics", "a:5 b:4 c:3", own_topics, join("d", ROBIN, topics="a b c")),
        *(
            _set_up(
                f"rdkafka-some-static{suffix}",
                "a:7 b:4",
                (*clients("a b", protocol), *_static("c d", protocol, library="librdkafka")),
                join("e", protocol),
                differs=_BY_MEMBER_ID,
                strategy=f"librdkafka-{protocol}",
            )
            for suffix, protocol in (("", RANGE), ("-roundrobin", ROBIN))
        ),
        _set_up("rdkafka-cooperative-forms", "a:7 b:4", (), *forms, differs=_OWN_STICKY),
        _set_up(
            "rdkafka-cooperative-joined",
            "a:7 b:6",
            clients("b c", COOPERATIVE),
            join("a", COOPERATIVE),
            differs=_OWN_STICKY,
        ),
    ]


def _of_kafka_python() -> list[SetUp]:
    clients, join = partial(_clients, library="kafka-python"), partial(_join, library="kafka-python")
    alike, robin = clients("c a b", RANGE, ROBIN), clients("c a b", ROBIN)
    of_sticky = []
    for protocol in (STICKY, COOPERATIVE):
        name, four = f"python-{protocol}", clients("c a b d", protocol)
        of_sticky += [
            _set_up(f"{name}-joined", "a:7 b:6", clients("b c", protocol), join("a", protocol), differs=BY_CHANCE),
            _set_up(f"{name}-leader-leaves", "a:8 b:3", four, Leave("c"), differs=BY_CHANCE),
        ]
    return [
        _set_up("python-joined", "a:7 b:4", alike, join("d", RANGE, ROBIN)),
        _set_up("python-leader-leaves", "a:7 b:4", robin, Leave("c")),
        _set_up("python-grows", "a:4 b:3", robin[:2], Grow("a", 11)),
        *of_sticky,
    ]


def _mixed() -> list[SetUp]:
    rdkafka, python = partial(_clients, library="librdkafka"), partial(_clients, library="kafka-python")
    defaults = (*_clients("b", *JAVA_DEFAULT), *rdkafka("a", *RDKAFKA_DEFAULT))
    robin_leads = (*rdkafka("b", ROBIN), *_clients("a", ROBIN))
    python_leads = (*python("b", RANGE), *rdkafka("a", RANGE))
    robin = (*_clients("b", ROBIN), *rdkafka("a", ROBIN), *_clients("c", ROBIN))
    cooperative = (*_clients("b", COOPERATIVE), *rdkafka("a", COOPERATIVE))
    cooperative_joins = _join("c", COOPERATIVE, library="librdkafka")
    sticky = (*_clients("b", STICKY), *python("a", STICKY))
    return [
        _set_up("mixed-java-leads", "a:8 b:5", defaults, _join("c", RANGE, ROBIN, library="kafka-python")),
        _set_up("mixed-rdkafka-leads", "a:8 b:5", robin_leads, _join("c", ROBIN)),
        _set_up("mixed-python-leads", "a:8 b:5", python_leads, _join("c", RANGE)),
        _set_up("mixed-java-leader-leaves", "a:8 b:5", robin, Leave("b")),
        _set_up("mixed-cooperative-java-leads", "a:8 b:5", cooperative, cooperative_joins),
        _set_up("mixed-sticky-java-leads", "a:8 b:5", sticky, _join("c", STICKY), differs=_USER_DATA),
    ]


def _of_kip_848() -> list[SetUp]:
    rdkafka = partial(_clients, library="librdkafka")
    own_topics = _clients("b a c", UNIFORM, topics="a b/b c/a c")
    alike = _clients("b a c", SERVER_RANGE, topics="a b/a b/a b")
    static = _static("a b c", SERVER_RANGE)
    mixed = (*_clients("a", UNIFORM), *rdkafka("b", UNIFORM), *_clients("c", UNIFORM))
    return [
        _set_up("uniform-forms", "a:7 b:4", (), *_forms("c b a", UNIFORM)),
        _set_up("uniform-joined", "a:7 b:6", _clients("b c", UNIFORM), _join("a", UNIFORM)),
        _set_up("uniform-leaves", "a:8 b:3", _clients("c a b d", UNIFORM), Leave("c")),
        _set_up("uniform-grows", "a:4 b:3", _clients("b a c", UNIFORM), Grow("a", 11)),
        _set_up("uniform-own-topics", "a:5 b:4 c:3", own_topics, Leave("b")),
        _set_up("server-range-leaves", "a:9 b:4", _clients("a b c d", SERVER_RANGE), (Leave("b"), Leave("d"))),
        _set_up("server-range-grows", "a:4 b:3", _clients("b a", SERVER_RANGE), Grow("a", 11)),
        _set_up("server-range-subscribes", "a:6 b:5 c:4", alike, Subscribe("a", ("a", "b", "c"))),
        _set_up("server-range-static", "a:7 b:4", static, _join("d", SERVER_RANGE, instance="till")),
        _set_up("rdkafka-uniform-leaves", "a:8 b:3", rdkafka("c a b", UNIFORM), Leave("a")),
        _set_up("mixed-uniform", "a:8 b:5", mixed, Leave("c")),
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
