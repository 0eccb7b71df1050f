"""The topics, clients and groups of a capture."""

from __future__ import annotations

from dataclasses import dataclass, replace

TOPICS = {
    "orders": 12,
    "metrics": 9,
    "clicks": 8,
    "sessions": 7,
    "payments": 6,
    "shipments": 6,
    "stock-levels": 5,
    "page.views": 4,
    "returns": 3,
    "prices": 2,
    "audit_log": 1,
    "alerts": 1,
}

RANGE = "range"
ROBIN = "roundrobin"
STICKY = "sticky"
COOPERATIVE = "cooperative-sticky"
# Prefix of the coordinator's assignors (KIP-848).
SERVER = "server-"
# Defaults of Java consumers and of librdkafka consumers.
JAVA_DEFAULT = (RANGE, COOPERATIVE)
RDKAFKA_DEFAULT = (RANGE, ROBIN)


@dataclass(frozen=True)
class Client:
    """The configuration of a consumer; protocols are in order of preference."""

    group: str
    # Empty for the default of the library
    client_id: str
    protocols: tuple[str, ...]
    topics: tuple[str, ...]
    rack: str = ""
    instance_id: str = ""
    library: str = "java"
    # "never", "once" (the first batch only, which leaves a lag) or "always"
    commit: str = "once"
    # session.timeout.ms; 0 for the default of the library
    session_ms: int = 0

    @property
    def next_generation(self) -> bool:
        """KIP-848: the broker assigns, with the preferred server assignor or else its first one."""
        return not self.protocols or self.protocols[0].startswith(SERVER)


@dataclass(frozen=True)
class Group:
    """A group whose clients join in this order: `first` in one rebalance, then each of `later`."""

    group_id: str
    first: tuple[Client, ...]
    later: tuple[Client, ...] = ()

    @property
    def clients(self) -> tuple[Client, ...]:
        return self.first + self.later


def _clients(group: str, topics: str, *protocols: tuple[str, ...]) -> tuple[Client, ...]:
    """Return a client for each list of protocols, named GROUP-1, GROUP-2, ..."""
    return tuple(
        Client(group, f"{group}-{number}", each, tuple(topics.split()))
        for number, each in enumerate(protocols, start=1)
    )


def _alike(group: str, topics: str, count: int, *protocols: str) -> tuple[Client, ...]:
    return _clients(group, topics, *([protocols] * count))


def _rdkafka(clients: tuple[Client, ...]) -> tuple[Client, ...]:
    return tuple(replace(client, library="librdkafka") for client in clients)


def _racked(clients: tuple[Client, ...]) -> tuple[Client, ...]:
    return tuple(replace(c, rack=f"rack-{'abc'[i % 3]}") for i, c in enumerate(clients))


def _committing(commit: str, clients: tuple[Client, ...]) -> tuple[Client, ...]:
    return tuple(replace(client, commit=commit) for client in clients)


def _subscribed(clients: tuple[Client, ...], *topics: str) -> tuple[Client, ...]:
    return tuple(replace(c, topics=tuple(t.split())) for c, t in zip(clients, topics, strict=True))


def _orders_range() -> Group:
    return Group("orders-range", _racked(_alike("orders-range", "orders stock-levels", 3, RANGE)))


def _payments_roundrobin() -> Group:
    name = "payments-roundrobin"
    return Group(name, _alike(name, "payments shipments prices", 3, ROBIN))


def _clicks_sticky() -> Group:
    clients = _alike("clicks-sticky", "clicks page.views", 3, STICKY)
    return Group("clicks-sticky", _committing("always", clients))


def _sessions_cooperative() -> Group:
    name = "sessions-cooperative"
    return Group(name, _racked(_alike(name, "sessions metrics", 3, COOPERATIVE)))


def _billing() -> Group:
    """Return clients as on three hosts, where Java consumers without a client.id have the same one."""
    clients = _alike("billing", "orders returns", 3, *JAVA_DEFAULT)
    return Group("billing", tuple(replace(c, client_id="consumer-billing-1") for c in clients))


def _tie_of_two() -> Group:
    return Group("tie-two", _clients("tie-two", "payments returns", (RANGE, ROBIN), (ROBIN, RANGE)))


def _tie_of_three() -> Group:
    lists = (STICKY, RANGE, ROBIN), (ROBIN, RANGE, STICKY), (RANGE, STICKY, ROBIN)
    return Group("tie-three", _clients("tie-three", "stock-levels sessions", *lists))


def _tie_of_four() -> Group:
    lists = (STICKY, RANGE), (RANGE, STICKY), (RANGE, STICKY), (STICKY, RANGE)
    return Group("tie-four", _clients("tie-four", "shipments alerts", *lists))


def _vote_majority() -> Group:
    lists = (RANGE, ROBIN, COOPERATIVE), (RANGE, ROBIN, STICKY), (ROBIN, RANGE, STICKY)
    return Group("vote-majority", _clients("vote-majority", "clicks returns", *lists))


def _vote_second_choice() -> Group:
    """Return clients whose only common protocol, roundrobin, is not preferred by any of them."""
    lists = (STICKY, ROBIN), (RANGE, ROBIN), (STICKY, RANGE, ROBIN)
    return Group("vote-second-choice", _clients("vote-second-choice", "metrics prices", *lists))


def _static_tills() -> Group:
    """Return static members whose instance ids, by which range sorts, are not in join order."""
    clients = _alike("static-tills", "clicks stock-levels", 3, RANGE)
    tills = "till-2", "till-10", "till-1"
    return Group("static-tills", tuple(replace(c, instance_id=till) for c, till in zip(clients, tills, strict=True)))


def _own_topics(group: str, protocol: str) -> Group:
    """Return members that each subscribe to other topics."""
    topics = "orders payments", "payments returns", "returns orders metrics", "metrics"
    return Group(group, _subscribed(_alike(group, "orders", 4, protocol), *topics))


def _idle() -> Group:
    return Group("idle", _committing("never", _alike("idle", "prices audit_log", 5, RANGE)))


def _rdkafka_eager() -> Group:
    clients = _alike("rdkafka-eager", "payments returns", 3, *RDKAFKA_DEFAULT)
    return Group("rdkafka-eager", _rdkafka(clients))


def _rdkafka_cooperative() -> Group:
    name = "rdkafka-cooperative"
    return Group(name, _racked(_rdkafka(_alike(name, "sessions stock-levels", 3, COOPERATIVE))))


def _mixed_java_leads() -> Group:
    name = "mixed-java-leads"
    java, c, python = _clients(name, "orders prices", (RANGE,), RDKAFKA_DEFAULT, RDKAFKA_DEFAULT)
    return Group(name, (java, *_rdkafka((c, python))))


def _mixed_rdkafka_leads() -> Group:
    name = "mixed-rdkafka-leads"
    rdkafka, *java = _clients(name, "metrics returns", (ROBIN, RANGE), (ROBIN,), (ROBIN,))
    return Group(name, (*_rdkafka((rdkafka,)), *java))


def _web_shop() -> Group:
    """Return names with every kind of character but a tab."""
    name = "web shop (blue/green)"
    one, two = _racked(_alike(name, "page.views alerts", 2, *JAVA_DEFAULT))
    return Group(name, (replace(one, client_id="shop worker 1"), replace(two, client_id="wörker: 2, spare")))


def _late(group: str, topics: str, protocol: str) -> Group:
    """Return a group whose last member joins after the partitions are assigned, so that some must move."""
    *first, last = _alike(group, topics, 3, protocol)
    return Group(group, tuple(first), (last,))


def _mid_rebalance() -> Group:
    """Return a group whose second member is stalled, so that the rebalance of the third cannot complete."""
    *first, last = _alike("mid-rebalance", "shipments returns", 3, *JAVA_DEFAULT)
    return Group("mid-rebalance", tuple(first), (last,))


def _next_generation() -> Group:
    return Group("next-generation", _racked(_alike("next-generation", "orders alerts", 3)))


STALLED = "mid-rebalance"
NEVER_JOINED = "backfill"
# Groups whose clients leave before the capture: one with committed offsets, one without.
LEFT = (
    Group("nightly-export", _alike("nightly-export", "payments prices", 1, *JAVA_DEFAULT)),
    Group("visitors", _committing("never", _alike("visitors", "alerts", 1, *JAVA_DEFAULT))),
)


def groups(kafka_version: str) -> list[Group]:
    """Return the groups with members, in the order of starting them."""
    classic = [
        _orders_range(),
        _payments_roundrobin(),
        _clicks_sticky(),
        _sessions_cooperative(),
        _billing(),
        _tie_of_two(),
        _tie_of_three(),
        _tie_of_four(),
        _vote_majority(),
        _vote_second_choice(),
        _static_tills(),
        _own_topics("own-topics-roundrobin", ROBIN),
        _own_topics("own-topics-sticky", STICKY),
        _idle(),
        _rdkafka_eager(),
        _rdkafka_cooperative(),
        _mixed_java_leads(),
        _mixed_rdkafka_leads(),
        _web_shop(),
        _late("late-sticky", "clicks returns", STICKY),
        _late("late-cooperative", "sessions prices", COOPERATIVE),
        _mid_rebalance(),
    ]
    # Production-ready since 4.0.
    return classic if kafka_version.startswith("3.") else [*classic, _next_generation()]
