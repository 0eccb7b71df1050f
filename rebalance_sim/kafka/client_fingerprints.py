"""The client libraries that a classic member may use, from its client id and the bytes of its subscription.

The facts were read off the libraries: Java 0.11 to 4.4, librdkafka 2.16, Sarama 1.61, franz-go 1.22, kafka-go 0.4.51,
KafkaJS 2.2, @platformatic/kafka 1.35, kafka-python 3.0 and aiokafka 0.14.
"""

import re

from rebalance_sim.kafka.assignors.by_library import JAVA, SEPARATOR, Leader, offers
from rebalance_sim.kafka.wire.consumer_protocol import SentSubscription

_OF_CLIENT_IDS = {
    "librdkafka": "rdkafka",
    "sarama": "sarama",
    "franz-go": "kgo",
    "kafkajs": "kafkajs",
    "kafka-go": r".*@.* \(github\.com/segmentio/kafka-go\)",
    "kafka-python": r"kafka-python-(?P<release>[\d.]+)",
    "aiokafka": r"aiokafka-(?P<release>[\d.]+)",
    # ConsumerConfig.maybeOverrideClientId: with the group id since 2.3.
    JAVA: r"consumer-(.*-)?\d+",
}
"""By library, a pattern of the client ids that it uses unless one is configured."""
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


def possible_clients(client_id: str, protocol: str, subscription: SentSubscription) -> Leader:
    """Return the library of a member that offers a protocol, or several, and its release if the client id tells.

    >>> from rebalance_sim.kafka.wire.consumer_protocol import decode_sent_subscription
    >>> sent = decode_sent_subscription(bytes.fromhex("0001" "00000001" "00066f7264657273" "ffffffff"))
    >>> possible_clients("billing", "range", sent)
    Leader(library='kafka-go', release='')
    >>> possible_clients("billing", "roundrobin", sent).library
    'kafka-go;platformatic-kafka'
    >>> possible_clients("aiokafka-0.14.0", "roundrobin", sent)
    Leader(library='aiokafka', release='0.14.0')
    """
    for library, pattern in _OF_CLIENT_IDS.items():
        found = re.fullmatch(pattern, client_id)
        if found:
            return Leader(library, found.groupdict().get("release", ""))
    writers = _writers(protocol, subscription)
    # An assignor of a user's own: whoever wrote these bytes.
    return Leader(SEPARATOR.join([each for each in writers if offers(each, protocol)] or writers), "")


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
