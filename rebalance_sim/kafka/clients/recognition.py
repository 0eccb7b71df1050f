"""The client libraries that a member may use, from its ids, its protocols and the bytes of its subscription."""

import re
from collections import Counter
from typing import NamedTuple

from rebalance_sim.kafka.assignors.by_library import SEPARATOR, offers
from rebalance_sim.kafka.clients import JAVA, LIBRARIES
from rebalance_sim.kafka.group_kinds import CONSUMER_TYPE
from rebalance_sim.kafka.member_ids import named_after
from rebalance_sim.kafka.wire.consumer_protocol import SentSubscription
from rebalance_sim.releases import NEWEST, kafka_version


class Signs(NamedTuple):
    """The facts about a member from which its client library may be recognized."""

    group_id: str
    member_id: str
    client_id: str | None
    instance_id: str | None = None
    protocols: tuple[str, ...] = ()
    """Protocols that it is known to offer, such as the elected one."""
    subscription: SentSubscription | None = None
    """The subscription that it sent for the first of ``protocols``."""
    protocol_type: str = CONSUMER_TYPE


class RecognizedClient(NamedTuple):
    """The client of a member, and the evidence for it."""

    library: str
    """Possible libraries, the most likely first, as in the members table; empty if unknown."""
    release: str
    """Empty if unknown."""
    evidence: str
    """In words, such as ``client id``; empty if the library is unknown."""


_UNKNOWN = RecognizedClient("", "", "")
_CLIENT_IDS = {name: re.compile(library.client_ids) for name, library in LIBRARIES.items() if library.client_ids}
_OFFERED_BY = Counter(each.protocol for library in LIBRARIES.values() for each in library.assignors)
_PROTOCOLS = {
    each.protocol: name
    for name, library in LIBRARIES.items()
    for each in library.assignors
    if _OFFERED_BY[each.protocol] == 1 and each.protocol not in kafka_version(NEWEST).assignors
}
"""By protocol name, the only library that has it."""


def recognize(signs: Signs) -> RecognizedClient:
    """Return the possible libraries of a member, its release if a default client id contains it, and the evidence.

    A default client id is stronger evidence than the bytes of a subscription, which other releases may write
    differently. An id that only contains the name of a library is no evidence.

    >>> uuid = "4d4391e5-b529-4c02-bb6f-bef6ebc1bf38"
    >>> recognize(Signs("search", f"aiokafka-0.12.0-{uuid}", "aiokafka-0.12.0"))
    RecognizedClient(library='aiokafka', release='0.12.0', evidence='client id')
    >>> recognize(Signs("search", f"sarama-{uuid}", client_id=None))
    RecognizedClient(library='sarama', release='', evidence='member id')
    >>> recognize(Signs("search", f"sarama-loader-{uuid}", "sarama-loader"))
    RecognizedClient(library='', release='', evidence='')
    >>> recognize(Signs("search", f"app-{uuid}", "app", protocols=("RoundRobinAssigner",)))
    RecognizedClient(library='kafkajs', release='', evidence='protocol RoundRobinAssigner')
    >>> from rebalance_sim.kafka.wire.consumer_protocol import decode_sent_subscription
    >>> sent = decode_sent_subscription(bytes.fromhex("0001" "00000001" "00066f7264657273" "ffffffff"))
    >>> recognize(Signs("search", f"app-{uuid}", "app", protocols=("roundrobin",), subscription=sent)).library
    'kafka-go;platformatic-kafka'
    >>> recognize(Signs("connect-cluster", f"connect-{uuid}", "connect-10.0.0.7:8083", protocol_type="connect"))
    RecognizedClient(library='java', release='', evidence='protocol type connect')
    """
    if signs.protocol_type != CONSUMER_TYPE:
        return _by_protocol_type(signs.protocol_type)
    written = _by_subscription(signs)
    only = _by_protocol(signs)
    named = _by_name(signs)
    # Java's default ids are such as people configure for other libraries, too. All its releases were looked at.
    if named.library == JAVA and (only.library or JAVA not in (written.library or JAVA).split(SEPARATOR)):
        named = _UNKNOWN
    if named.library and only.library and named.library != only.library:
        return _UNKNOWN
    return next((each for each in (named, only, written) if each.library), _UNKNOWN)


def _by_protocol_type(protocol_type: str) -> RecognizedClient:
    library = next((name for name, record in LIBRARIES.items() if protocol_type in record.protocol_types), "")
    return RecognizedClient(library, "", f"protocol type {protocol_type}") if library else _UNKNOWN


def _by_name(signs: Signs) -> RecognizedClient:
    evidence, name = "client id", signs.client_id
    if name is None and signs.instance_id is None:
        evidence, name = "member id", named_after(signs.member_id)
    if not name:
        return _UNKNOWN
    for library, record in LIBRARIES.items():
        if record.names_its_group(name, signs.group_id, signs.instance_id):
            return RecognizedClient(library, "", evidence)
    for library, pattern in _CLIENT_IDS.items():
        match = pattern.fullmatch(name)
        if match:
            return RecognizedClient(library, match.groupdict().get("release", ""), evidence)
    return _UNKNOWN


def _by_protocol(signs: Signs) -> RecognizedClient:
    name = next((protocol for protocol in signs.protocols if protocol in _PROTOCOLS), None)
    return RecognizedClient(_PROTOCOLS[name], "", f"protocol {name}") if name else _UNKNOWN


def _by_subscription(signs: Signs) -> RecognizedClient:
    if signs.subscription is None:
        return _UNKNOWN
    protocol = signs.protocols[0]
    writers = _writers(protocol, signs.subscription)
    # A user's own assignor: its subscriptions may come from any library.
    able = [library for library in writers if offers(library, protocol)] or writers
    narrowed = f", protocol {protocol}" if len(able) < len(writers) else ""
    return RecognizedClient(SEPARATOR.join(able), "", f"subscription bytes{narrowed}")


def _writers(protocol: str, sent: SentSubscription) -> list[str]:
    """Return the libraries that may have written a subscription, the most likely one first."""
    writers = [
        library
        for library in LIBRARIES.values()
        if sent.version in library.subscriptions.versions
        and sent.ends_early == library.subscriptions.end_early
        and library.subscriptions.could_be(protocol, sent)
    ]
    return [
        library.name for library in sorted(writers, key=lambda record: record.subscriptions.is_rare(protocol, sent))
    ]
