"""Libraries are recognized by what they send."""

import pytest

from rebalance_sim.kafka.client_fingerprints import possible_clients
from rebalance_sim.kafka.wire.consumer_protocol import (
    Subscription,
    TopicPartition,
    decode_sent_subscription,
    decode_subscription,
    encode_subscription,
)
from rebalance_sim.kafka.wire.readable import SchemaError

SHORT = bytes.fromhex("00010000000100027437ffffffff")
"""As kafka-go and @platformatic/kafka send it."""
EMPTY_USER_DATA = bytes.fromhex("0000000000010002743700000000")
"""As KafkaJS, kafka-python and aiokafka send it."""


def written(version: int) -> bytes:
    return encode_subscription(Subscription(("t7",), None, (TopicPartition("t7", 0),), 3, "a"), version)


def with_user_data(user_data: str, rack: str = "ffff") -> bytes:
    """Return a version 3, as consumers of each library have sent it to a broker of 4.3."""
    return bytes.fromhex("00030000000100027437" + user_data + "00000000ffffffff" + rack)


@pytest.mark.parametrize(
    ("client_id", "protocol", "data", "library"),
    [
        ("app", "range", written(0), "java;sarama"),
        ("app", "range", written(1), "java;sarama"),
        ("app", "range", written(2), "java;sarama"),
        ("app", "range", written(3), "java;franz-go"),
        ("app", "sticky", written(3), "java"),
        ("app", "range", with_user_data("00000000"), "librdkafka"),
        ("app", "range", with_user_data("ffffffff", rack="0000"), "librdkafka"),
        ("app", "cooperative-sticky", with_user_data("00000004ffffffff"), "java"),
        ("app", "cooperative-sticky", with_user_data("0000000400000002"), "java"),
        ("app", "cooperative-sticky", with_user_data("0000000400000000"), "franz-go"),
        ("app", "cooperative-sticky", with_user_data("000000080000000000000002"), "franz-go"),
        (
            "app",
            "cooperative-sticky",
            with_user_data("000000080000000000000002", rack="00027231"),
            "franz-go;librdkafka",
        ),
        ("app", "cooperative-sticky", with_user_data("000000080000000000000002", rack="0000"), "librdkafka"),
        ("app", "sticky", with_user_data("000000080000000000000001"), "franz-go;java"),
        ("app", "sticky", with_user_data("000000080000000100000001"), "java"),
        ("app", "my-own", written(3), "java"),
        ("app", "range", SHORT, "kafka-go"),
        ("app", "roundrobin", SHORT, "kafka-go;platformatic-kafka"),
        ("app", "my-own", SHORT, "kafka-go;platformatic-kafka"),
        ("app", "roundrobin", bytes.fromhex("0001000000020002743800027437ffffffff"), "kafka-go"),
        ("app", "RoundRobinAssigner", EMPTY_USER_DATA, "kafkajs"),
        ("app", "range", EMPTY_USER_DATA, "kafka-python;aiokafka"),
        ("consumer-orders-2-1", "range", written(3), "java"),
        ("consumer-7", "range", written(0), "java"),
        ("rdkafka", "range", written(3), "librdkafka"),
        ("sarama", "range", written(2), "sarama"),
        ("kgo", "cooperative-sticky", written(3), "franz-go"),
        ("kafkajs", "RoundRobinAssigner", EMPTY_USER_DATA, "kafkajs"),
        ("app@host (github.com/segmentio/kafka-go)", "roundrobin", SHORT, "kafka-go"),
    ],
)
def test_libraries_are_recognized(client_id: str, protocol: str, data: bytes, library: str) -> None:
    assert possible_clients(client_id, protocol, decode_sent_subscription(data)) == (library, "")


def test_some_client_ids_tell_the_release() -> None:
    sent = decode_sent_subscription(EMPTY_USER_DATA)
    assert possible_clients("kafka-python-3.0.12", "range", sent) == ("kafka-python", "3.0.12")
    assert possible_clients("aiokafka-0.14.0", "range", sent) == ("aiokafka", "0.14.0")


def test_a_short_subscription_is_read_as_tolerant_clients_do() -> None:
    """Only version 1, and only if nothing follows the user data."""
    sent = decode_sent_subscription(SHORT)
    assert (sent.content, sent.ends_early) == (Subscription(("t7",)), True)
    for data in (SHORT + b"\0", b"\0\2" + SHORT[2:]):
        with pytest.raises(SchemaError):
            decode_sent_subscription(data)
    with pytest.raises(SchemaError):
        decode_subscription(SHORT)


@pytest.mark.parametrize("version", range(4))
def test_whole_subscriptions_are_those_that_java_reads(version: int) -> None:
    sent = decode_sent_subscription(written(version))
    assert (sent.content, sent.version, sent.ends_early) == (decode_subscription(written(version)), version, False)
