"""The topics, clients and groups of a capture."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import cycle
from typing import Any

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


def _each(clients: tuple[Client, ...], field: str, *values: Any) -> tuple[Client, ...]:
    """Return the clients with these values of a field, in turn."""
    return tuple(replace(client, **{field: value}) for client, value in zip(clients, cycle(values), strict=False))


def _rdkafka(clients: tuple[Client, ...]) -> tuple[Client, ...]:
    return _each(clients, "library", "librdkafka")


def _racked(clients: tuple[Client, ...]) -> tuple[Client, ...]:
    return _each(clients, "rack", "rack-a", "rack-b", "rack-c")


def _formed(clients: tuple[Client, ...]) -> Group:
    """Return a group whose clients join in one rebalance."""
    return Group(clients[0].group, clients)


def _late(clients: tuple[Client, ...]) -> Group:
    """Return a group whose last member joins after the partitions are assigned, so that some must move."""
    return Group(clients[0].group, clients[:-1], clients[-1:])


def _own_topics(group: str, protocol: str) -> Group:
    """Return members that each subscribe to other topics."""
    topics = ("orders", "payments"), ("payments", "returns"), ("returns", "orders", "metrics"), ("metrics",)
    return _formed(_each(_alike(group, "orders", 4, protocol), "topics", *topics))


STALLED = "mid-rebalance"
NEVER_JOINED = "backfill"
# Groups whose clients leave before the capture: one with committed offsets, one without.
LEFT = (
    _formed(_alike("nightly-export", "payments prices", 1, *JAVA_DEFAULT)),
    _formed(_each(_alike("visitors", "alerts", 1, *JAVA_DEFAULT), "commit", "never")),
)
_TIE_OF_THREE = (STICKY, RANGE, ROBIN), (ROBIN, RANGE, STICKY), (RANGE, STICKY, ROBIN)
_TIE_OF_FOUR = (STICKY, RANGE), (RANGE, STICKY), (RANGE, STICKY), (STICKY, RANGE)
_MAJORITY = (RANGE, ROBIN, COOPERATIVE), (RANGE, ROBIN, STICKY), (ROBIN, RANGE, STICKY)
_SECOND_CHOICE = (STICKY, ROBIN), (RANGE, ROBIN), (STICKY, RANGE, ROBIN)
"""The only common protocol, roundrobin, is not preferred by any client."""
_JAVA_LEADS = _clients("mixed-java-leads", "orders prices", (RANGE,), RDKAFKA_DEFAULT, RDKAFKA_DEFAULT)
_RDKAFKA_LEADS = _clients("mixed-rdkafka-leads", "metrics returns", (ROBIN, RANGE), (ROBIN,), (ROBIN,))
_WEB_SHOP = _racked(_alike("web shop (blue/green)", "page.views alerts", 2, *JAVA_DEFAULT))
_TILLS = _alike("static-tills", "clicks stock-levels", 3, RANGE)
_CLASSIC = (
    _formed(_racked(_alike("orders-range", "orders stock-levels", 3, RANGE))),
    _formed(_alike("payments-roundrobin", "payments shipments prices", 3, ROBIN)),
    _formed(_each(_alike("clicks-sticky", "clicks page.views", 3, STICKY), "commit", "always")),
    _formed(_racked(_alike("sessions-cooperative", "sessions metrics", 3, COOPERATIVE))),
    # As on three hosts, where Java consumers without a client.id have the same one.
    _formed(_each(_alike("billing", "orders returns", 3, *JAVA_DEFAULT), "client_id", "consumer-billing-1")),
    _formed(_clients("tie-two", "payments returns", (RANGE, ROBIN), (ROBIN, RANGE))),
    _formed(_clients("tie-three", "stock-levels sessions", *_TIE_OF_THREE)),
    _formed(_clients("tie-four", "shipments alerts", *_TIE_OF_FOUR)),
    _formed(_clients("vote-majority", "clicks returns", *_MAJORITY)),
    _formed(_clients("vote-second-choice", "metrics prices", *_SECOND_CHOICE)),
    # The instance ids, by which range sorts, are not in join order.
    _formed(_each(_TILLS, "instance_id", "till-2", "till-10", "till-1")),
    _own_topics("own-topics-roundrobin", ROBIN),
    _own_topics("own-topics-sticky", STICKY),
    _formed(_each(_alike("idle", "prices audit_log", 5, RANGE), "commit", "never")),
    _formed(_rdkafka(_alike("rdkafka-eager", "payments returns", 3, *RDKAFKA_DEFAULT))),
    _formed(_racked(_rdkafka(_alike("rdkafka-cooperative", "sessions stock-levels", 3, COOPERATIVE)))),
    _formed((*_JAVA_LEADS[:1], *_rdkafka(_JAVA_LEADS[1:]))),
    _formed((*_rdkafka(_RDKAFKA_LEADS[:1]), *_RDKAFKA_LEADS[1:])),
    # Names with every kind of character but a tab.
    _formed(_each(_WEB_SHOP, "client_id", "shop worker 1", "wörker: 2, spare")),
    _late(_alike("late-sticky", "clicks returns", 3, STICKY)),
    _late(_alike("late-cooperative", "sessions prices", 3, COOPERATIVE)),
    # The second member is stalled, so that the rebalance of the third cannot complete.
    _late(_alike(STALLED, "shipments returns", 3, *JAVA_DEFAULT)),
)
"""The groups with members, in the order of starting them."""


def groups(kafka_version: str) -> list[Group]:
    """Return the groups with members; that of the consumer protocol, which is production-ready since 4.0, last."""
    of_consumers = _formed(_racked(_alike("next-generation", "orders alerts", 3)))
    return list(_CLASSIC) if kafka_version.startswith("3.") else [*_CLASSIC, of_consumers]
