"""Libraries are recognized by what they send."""

import pytest

from rebalance_sim.kafka.clients.recognition import Signs, recognize
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


UUID = "626467ba-04a1-4547-b401-ba8570c1dca1"
KAFKA_GO = "search-indexer@search-indexer-7d9f1 (github.com/segmentio/kafka-go)"


def written(version: int) -> bytes:
    return encode_subscription(Subscription(("t7",), None, (TopicPartition("t7", 0),), 3, "a"), version)


def with_user_data(user_data: str, rack: str = "ffff") -> bytes:
    """Return a version 3, as consumers of each library have sent it to a broker of 4.3."""
    return bytes.fromhex("00030000000100027437" + user_data + "00000000ffffffff" + rack)


def dynamic(client_id: str, protocol: str, data: bytes) -> Signs:
    return Signs(
        "orders", f"{client_id}-{UUID}", client_id, protocols=(protocol,), subscription=decode_sent_subscription(data)
    )


@pytest.mark.parametrize(
    ("client_id", "protocol", "data", "library"),
    [
        ("app", "range", written(0), "java;sarama;kafka-node"),
        ("app", "roundrobin", written(0), "java;sarama;kafka-node;ruby-kafka"),
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
        ("consumer-1", "range", written(0), "java;sarama;kafka-node"),
        ("app", "range", EMPTY_USER_DATA, "kafka-python;aiokafka"),
        ("app", "my-own", EMPTY_USER_DATA, "kafkajs;kafka-python;aiokafka;brod"),
        # KafkaJS has it under another name.
        ("app", "roundrobin", EMPTY_USER_DATA, "kafka-python;aiokafka"),
    ],
)
def test_subscriptions_show_their_writers(client_id: str, protocol: str, data: bytes, library: str) -> None:
    found = recognize(dynamic(client_id, protocol, data))
    assert (found.library, found.release, found.evidence.split(",")[0]) == (library, "", "subscription bytes")


def test_the_protocol_may_exclude_writers() -> None:
    assert recognize(dynamic("app", "range", EMPTY_USER_DATA)).evidence == "subscription bytes, protocol range"
    assert recognize(dynamic("app", "roundrobin", SHORT)).evidence == "subscription bytes"


CONFIGURED = (
    *("", "order-service-1", "sarama-loader", "my-sarama", "Sarama", "rdkafka-1", "kgo.billing"),
    *("kafkajs-consumer", "kafka-node", "nonode@nohost", "orders/<0.123.0>", "aiokafka"),
    *("aiokafka-worker", "aiokafka-0", "kafka-python-2.0.2-billing"),
    *("fork (github.com/segmentio/kafka-go)", "consumer-1", "consumer-orders-1"),
    *("consumer-orders-2-one", "connector-consumer-orders-2-0"),
)
"""Client ids that are no library's default, however they look."""


@pytest.mark.parametrize(
    ("client_id", "library", "release"),
    [
        ("sarama", "sarama", ""),
        ("rdkafka", "librdkafka", ""),
        ("kgo", "franz-go", ""),
        ("kafkajs", "kafkajs", ""),
        (KAFKA_GO, "kafka-go", ""),
        ("kafka-node-client", "kafka-node", ""),
        ("ruby-kafka", "ruby-kafka", ""),
        ("nonode@nohost/<0.123.0>", "brod", ""),
        ("'orders@10.0.3.7'/<0.2042.0>", "brod", ""),
        ("aiokafka-0.12.0", "aiokafka", "0.12.0"),
        ("kafka-python-2.0.2", "kafka-python", "2.0.2"),
        ("kafka-python-2.1.0.dev0", "kafka-python", "2.1.0.dev0"),
        ("consumer-orders-2-1", "java", ""),
        ("orders-9a0c1f4e-StreamThread-1-consumer", "java", ""),
        ("console-consumer", "java", ""),
        *((client_id, "", "") for client_id in CONFIGURED),
    ],
)
def test_default_client_ids(client_id: str, library: str, release: str) -> None:
    member_id = f"{client_id}-{UUID}"
    assert recognize(Signs("orders-2", member_id, client_id)) == (library, release, "client id" if library else "")
    assert recognize(Signs("orders-2", member_id, None)) == (library, release, "member id" if library else "")


@pytest.mark.parametrize(
    ("protocol_type", "client_id", "library"),
    [
        ("connect", "connect-10.0.0.7:8083", "java"),
        ("connect", "rdkafka", "java"),
        # Karapace has it too.
        ("sr", "sr-1", ""),
        ("mine", "sarama", ""),
    ],
)
def test_the_protocol_type_of_members_that_are_no_consumers(protocol_type: str, client_id: str, library: str) -> None:
    found = recognize(Signs("workers", f"{client_id}-{UUID}", client_id, protocol_type=protocol_type))
    assert found == (library, "", f"protocol type {protocol_type}" if library else "")


def test_the_member_id_of_a_static_member_has_its_instance_id() -> None:
    assert not recognize(Signs("orders", f"sarama-{UUID}", None, "sarama")).library
    assert not recognize(Signs("orders", f"sarama-{UUID}", "app", "sarama")).library
    assert recognize(Signs("orders", f"till-1-{UUID}", "rdkafka", "till-1")) == ("librdkafka", "", "client id")
    assert recognize(Signs("orders", f"till-1-{UUID}", "consumer-orders-till-1", "till-1")).library == "java"
    assert not recognize(Signs("orders", f"till-1-{UUID}", "consumer-orders-till-2", "till-1")).library


def test_the_member_id_of_a_consumer_protocol_member_says_nothing() -> None:
    assert not recognize(Signs("orders", "8XYk0V8BRZCMtoYgMwwEoA", None)).library
    assert recognize(Signs("orders", "8XYk0V8BRZCMtoYgMwwEoA", "rdkafka")).library == "librdkafka"


def test_tasks_of_sink_connectors() -> None:
    assert recognize(Signs("connect-s3", f"m-{UUID}", "connector-consumer-s3-0")).library == "java"
    assert not recognize(Signs("connect-jdbc", f"m-{UUID}", "connector-consumer-s3-0")).library


def test_protocols_of_one_library() -> None:
    for protocol, library in (
        *(("RoundRobinAssigner", "kafkajs"), ("rack-affinity", "kafka-go")),
        *(("standard", "ruby-kafka"), ("roundrobin_v2", "brod")),
    ):
        signs = Signs("orders", f"app-{UUID}", "app", protocols=("mine", protocol))
        assert recognize(signs) == (library, "", f"protocol {protocol}")
    assert not recognize(Signs("orders", f"app-{UUID}", "app", protocols=("roundrobin",))).library


@pytest.mark.parametrize(
    ("client_id", "protocol", "data", "expected"),
    [
        # Another release may write other bytes.
        ("rdkafka", "range", written(3), ("librdkafka", "client id")),
        ("aiokafka-0.12.0", "roundrobin", written(0), ("aiokafka", "client id")),
        # Anyone may configure an id like Java's.
        ("consumer-orders-1", "range", written(3), ("java", "client id")),
        ("consumer-orders-1", "range", SHORT, ("kafka-go", "subscription bytes, protocol range")),
        ("consumer-orders-1", "RoundRobinAssigner", EMPTY_USER_DATA, ("kafkajs", "protocol RoundRobinAssigner")),
        ("kafkajs", "RoundRobinAssigner", EMPTY_USER_DATA, ("kafkajs", "client id")),
        # A strategy of a user's own under the name of KafkaJS's, or an id that someone configured.
        ("sarama", "RoundRobinAssigner", written(0), ("", "")),
    ],
)
def test_signs_that_contradict_each_other(
    client_id: str, protocol: str, data: bytes, expected: tuple[str, str]
) -> None:
    found = recognize(dynamic(client_id, protocol, data))
    assert (found.library, found.evidence) == expected


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
