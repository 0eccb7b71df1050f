"""The client libraries that a member may use, from its ids, its protocols and the bytes of its subscription.

The facts were read off the libraries: Java 0.11 to 4.4, librdkafka 2.16, Sarama 1.61, franz-go 1.22, kafka-go 0.4.51,
KafkaJS 2.2, @platformatic/kafka 1.35, kafka-python 3.0 and aiokafka 0.14.
"""

import re
from typing import NamedTuple

from rebalance_sim.kafka.assignors.by_library import JAVA, SEPARATOR, offers
from rebalance_sim.kafka.member_ids import named_after
from rebalance_sim.kafka.wire.consumer_protocol import SentSubscription


class Signs(NamedTuple):
    """What is known of a member that may show its client library."""

    group_id: str
    member_id: str
    client_id: str | None
    instance_id: str | None = None
    protocols: tuple[str, ...] = ()
    """Those that it is known to offer, such as the elected protocol."""
    subscription: SentSubscription | None = None
    """As it sent it for the first of ``protocols``."""


class RecognizedClient(NamedTuple):
    """The client of a member, and what it was recognized by."""

    library: str
    """Several that are possible, the most likely one first, as in the members table; empty if it is unknown."""
    release: str
    """Empty if it is unknown."""
    evidence: str
    """In words, such as ``client id``; empty if the library is unknown."""


_UNKNOWN = RecognizedClient("", "", "")
_RELEASE = r"(?P<release>\d+(?:\.\d+)+(?:[.-]?(?:a|b|rc|dev|post)\d*)*)"
_CLIENT_IDS = {
    library: re.compile(pattern)
    for library, pattern in {
        "librdkafka": "rdkafka",
        "sarama": "sarama",
        "franz-go": "kgo",
        "kafkajs": "kafkajs",
        "kafka-go": r".*@.* \(github\.com/segmentio/kafka-go\)",
        "kafka-python": f"kafka-python-{_RELEASE}",
        "aiokafka": f"aiokafka-{_RELEASE}",
        # StreamThread.getConsumerClientId. _is_javas has those with the name of the group.
        JAVA: r".*-StreamThread-\d+-consumer",
    }.items()
}
"""By library, a pattern of the whole client ids that it uses unless one is configured."""
_PROTOCOLS = {"RoundRobinAssigner": "kafkajs", "rack-affinity": "kafka-go"}
"""By protocol name, the only library that has it."""
_OF_VERSIONS = {
    0: (JAVA, "sarama"),
    # KIP-429: Java 2.4 to 3.3.
    1: (JAVA, "sarama"),
    # KIP-792: Java 3.4.
    2: (JAVA, "sarama"),
    # KIP-881: Java since 3.5.
    3: (JAVA, "franz-go"),
}
"""By version of the subscription, the libraries that write it, the most likely one first."""
_WITHOUT_OWNED = ("kafka-go", "platformatic-kafka")
"""They end version 1 before the owned partitions."""
_EMPTY_USER_DATA = ("kafkajs", "kafka-python", "aiokafka")
"""They write version 0 with user data that are empty, not null."""
_NO_PARTITIONS = bytes(4)
"""The start of sticky user data without partitions."""


def recognize(signs: Signs) -> RecognizedClient:
    """Return the library of a member, or several, its release if a default client id has it, and the evidence.

    A default client id is stronger evidence than the bytes of a subscription, which other releases may write
    otherwise. An id that only contains such a name is none.

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
    """
    written = _by_subscription(signs)
    only = _by_protocol(signs)
    named = _by_name(signs)
    # Java's default ids are such as people configure for other libraries, too. All its releases were looked at.
    if named.library == JAVA and (only.library or JAVA not in (written.library or JAVA).split(SEPARATOR)):
        named = _UNKNOWN
    if named.library and only.library and named.library != only.library:
        return _UNKNOWN
    return next((each for each in (named, only, written) if each.library), _UNKNOWN)


def _by_name(signs: Signs) -> RecognizedClient:
    evidence, name = "client id", signs.client_id
    if name is None and signs.instance_id is None:
        evidence, name = "member id", named_after(signs.member_id)
    if not name:
        return _UNKNOWN
    if _is_javas(name, signs):
        return RecognizedClient(JAVA, "", evidence)
    for library, pattern in _CLIENT_IDS.items():
        found = pattern.fullmatch(name)
        if found:
            return RecognizedClient(library, found.groupdict().get("release", ""), evidence)
    return _UNKNOWN


def _is_javas(client_id: str, signs: Signs) -> bool:
    """Return whether a client id is a default of Java's with the name of the member's group.

    ``ConsumerConfig.maybeOverrideClientId`` makes ``consumer-GROUP-N`` since 2.3, with the group.instance.id instead of
    the number for a static member, and a task of a sink connector in group ``connect-NAME`` is
    ``connector-consumer-NAME-N`` (KIP-411). Before 2.3, ``consumer-N`` is no evidence: consumers of other libraries are
    configured so, too.
    """
    own = client_id.removeprefix(f"consumer-{signs.group_id}-")
    if own != client_id:
        return own == signs.instance_id or _is_number(own)
    connector = signs.group_id.removeprefix("connect-")
    task = client_id.removeprefix(f"connector-consumer-{connector}-")
    return connector != signs.group_id and task != client_id and _is_number(task)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _by_protocol(signs: Signs) -> RecognizedClient:
    name = next((each for each in signs.protocols if each in _PROTOCOLS), None)
    return RecognizedClient(_PROTOCOLS[name], "", f"protocol {name}") if name else _UNKNOWN


def _by_subscription(signs: Signs) -> RecognizedClient:
    if signs.subscription is None:
        return _UNKNOWN
    protocol = signs.protocols[0]
    writers = _writers(protocol, signs.subscription)
    # An assignor of a user's own: whoever wrote these bytes.
    able = tuple(each for each in writers if offers(each, protocol)) or writers
    narrowed = f", protocol {protocol}" if len(able) < len(writers) else ""
    return RecognizedClient(SEPARATOR.join(able), "", f"subscription bytes{narrowed}")


def _writers(protocol: str, subscription: SentSubscription) -> tuple[str, ...]:
    if subscription.ends_early:
        # @platformatic/kafka sorts topics.
        is_sorted = list(subscription.content.topics) == sorted(subscription.content.topics)
        return _WITHOUT_OWNED if is_sorted else ("kafka-go",)
    user_data = subscription.content.user_data
    if subscription.version == 0 and user_data == b"":
        return _EMPTY_USER_DATA
    if subscription.rack_is_empty or (subscription.version == 3 and user_data == b""):
        return ("librdkafka",)
    if subscription.version == 3 and protocol == "cooperative-sticky" and user_data:
        return _cooperative_sticky_writers(user_data, has_rack=subscription.content.rack is not None)
    if subscription.version == 3 and protocol == "sticky":
        # franz-go revokes everything before it joins. A member of Java that has not joined before sends null.
        return ("franz-go", JAVA) if user_data and user_data.startswith(_NO_PARTITIONS) else (JAVA,)
    return _OF_VERSIONS[subscription.version]


def _cooperative_sticky_writers(user_data: bytes, *, has_rack: bool) -> tuple[str, ...]:
    """Java sends its generation, franz-go partitions and, if it has one, the generation; librdkafka both."""
    if len(user_data) == len(_NO_PARTITIONS):
        return ("franz-go",) if user_data == _NO_PARTITIONS else (JAVA,)
    # Without a rack, librdkafka sends an empty one.
    return ("franz-go", "librdkafka") if has_rack else ("franz-go",)
