"""The translation of a Java client's configuration for librdkafka, and errors that show no secrets."""

import re

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from rebalance_sim.errors import UserError
from rebalance_sim.sources.live_cluster.librdkafka_properties import (
    config_problem,
    java_properties,
    librdkafka_properties,
    without_secrets,
)

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
ALICE = {"sasl.username": "alice", "sasl.password": "s3 cret"}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, {}),
        ({"security.protocol": "SASL_SSL", "client.id": "c"}, {"security.protocol": "SASL_SSL", "client.id": "c"}),
        ({"sasl.mechanism": "SCRAM-SHA-512"}, {"sasl.mechanism": "SCRAM-SHA-512"}),
        ({"sasl.jaas.config": f'{PLAIN} required username="alice" password="s3 cret";'}, ALICE),
        ({"sasl.jaas.config": f"  {SCRAM}\n REQUIRED password='s3 cret' \n username=alice ; "}, ALICE),
        (
            {"sasl.jaas.config": rf'{PLAIN} required serviceName="x" username="a\"b" password="c\\=d;e";'},
            {"sasl.username": 'a"b', "sasl.password": "c\\=d;e"},
        ),
        (
            {"ssl.truststore.type": "pem", "ssl.truststore.location": "ca", "ssl.truststore.password": "x"},
            {"ssl.ca.location": "ca"},
        ),
        ({"ssl.truststore.type": "PEM", "ssl.truststore.certificates": "---"}, {"ssl.ca.pem": "---"}),
        (
            {"ssl.keystore.type": "PEM", "ssl.keystore.location": "k", "ssl.key.password": "x"},
            {"ssl.certificate.location": "k", "ssl.key.location": "k", "ssl.key.password": "x"},
        ),
        (
            {"ssl.keystore.type": "PEM", "ssl.keystore.key": "k", "ssl.keystore.certificate.chain": "c"},
            {"ssl.key.pem": "k", "ssl.certificate.pem": "c"},
        ),
        (
            {"ssl.keystore.type": "PKCS12", "ssl.keystore.location": "k", "ssl.keystore.password": "x"},
            {"ssl.keystore.location": "k", "ssl.keystore.password": "x"},
        ),
        ({"ssl.endpoint.identification.algorithm": ""}, {"ssl.endpoint.identification.algorithm": "none"}),
        ({"request.timeout.ms": "5000"}, {"socket.timeout.ms": "5000"}),
        ({"sasl.username": "a", "ssl.ca.location": "c"}, {"sasl.username": "a", "ssl.ca.location": "c"}),
    ],
)
def test_java_properties_are_translated(given: dict[str, str], expected: dict[str, str]) -> None:
    assert librdkafka_properties(given) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"sasl.jaas.config": "s3cret"}, "sasl.jaas.config: expected 'MODULE required username"),
        ({"sasl.jaas.config": f'{PLAIN} required username="s3cret";'}, "sasl.jaas.config: password is missing"),
        (
            {"sasl.jaas.config": 'org.example.Login required password="s3cret";'},
            "sasl.jaas.config: module org.example.Login is not supported; allowed: org.apache",
        ),
        (
            {"ssl.truststore.location": "f", "ssl.truststore.password": "s3cret"},
            "ssl.truststore.location: librdkafka reads no truststore of type JKS; allowed: a file of",
        ),
        (
            {"ssl.keystore.location": "f", "ssl.keystore.type": "jks", "ssl.keystore.password": "s3cret"},
            "ssl.keystore.location: librdkafka reads no keystore of type JKS; allowed: PKCS12, PEM",
        ),
    ],
)
def test_properties_without_a_translation_are_an_error(given: dict[str, str], expected: str) -> None:
    with pytest.raises(UserError, match=re.escape(f"--command-config: {expected}")) as message:
        librdkafka_properties(given)
    assert "s3cret" not in str(message.value)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"ssl.enabled.protocols": "s3cret"}, "'ssl.enabled.protocols' is unknown to librdkafka, which"),
        ({"security.protocol": "s3cret"}, "librdkafka rejects the value of 'security.protocol'"),
        ({"security.protocol": "ssl", "ssl.key.pem": "s3cret"}, "librdkafka rejects the value of 'ssl.key.pem'"),
        ({"socket.timeout.ms": "-7"}, "librdkafka rejects the value of 'socket.timeout.ms'"),
        (
            {"security.protocol": "sasl_plaintext", "sasl.mechanism": "s3cret"},
            "librdkafka rejects the configuration: Unsupported SASL mechanism",
        ),
    ],
)
def test_properties_that_librdkafka_rejects_are_named_without_values(given: dict[str, str], expected: str) -> None:
    properties = librdkafka_properties(given)
    with pytest.raises(KafkaException) as rejected:
        AdminClient({"bootstrap.servers": "127.0.0.1:1", **properties})
    message = str(config_problem(rejected.value.args[0].str(), properties))
    assert message.startswith(f"--command-config: {expected}")
    assert "s3cret" not in message


def test_secrets_are_removed_from_texts() -> None:
    properties = {"sasl.password": "abc", "ssl.key.pem": "k-e-y", "client.id": "c1", "ssl.key.password": ""}
    assert without_secrets("abc of c1: k-e-y", properties) == "… of c1: …"


def test_the_java_client_gets_no_properties_of_librdkafka() -> None:
    given = {"security.protocol": "SASL_SSL", "sasl.jaas.config": "...", "ssl.truststore.location": "f"}
    assert java_properties(given) == given
    with pytest.raises(UserError, match=r"'sasl\.username' is a property of librdkafka"):
        java_properties({"sasl.username": "a"})
