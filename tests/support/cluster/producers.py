"""Send records with real producers and their default partitioners."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from confluent_kafka import Producer

from tests.support.cluster.jars import java_command
from tests.support.maven import java_environment
from tests.support.wire_fields import sized

_SECONDS = 120

Record = tuple[bytes, bytes | None]
"""A key, and a value or null."""


def send_by_java(version: str, servers: str, topic: str, records: Sequence[Record]) -> None:
    """Send with the Java client of this version of Kafka (class rebalancesim.cluster.RecordProducer)."""
    command = java_command(version, "-Xmx256m", log_level="error")
    done = subprocess.run(
        [*command, "rebalancesim.cluster.RecordProducer", servers, topic, str(len(records))],
        check=False,
        capture_output=True,
        input=b"".join(sized(each) for record in records for each in record),
        env=java_environment(),
        timeout=_SECONDS,
    )
    assert done.stdout.split() == [str(len(records)).encode()], done.stderr.decode()


def send_by_librdkafka(servers: str, topic: str, records: Sequence[Record], partitioner: str) -> None:
    """Send with confluent-kafka and one of librdkafka's partitioners."""
    settings = {"bootstrap.servers": servers, "partitioner": partitioner, "log_level": 0}
    # Nothing polls while records are produced, so the queue must hold all of them.
    producer = Producer(settings | {"queue.buffering.max.messages": len(records)})
    for key, value in records:
        producer.produce(topic, value, key)
    assert producer.flush(_SECONDS) == 0


def send_by_kafka_python(servers: str, topic: str, records: Sequence[Record]) -> None:
    """Send with kafka-python."""
    from kafka import KafkaProducer  # noqa: PLC0415 - the whole package, which warns

    producer = KafkaProducer(bootstrap_servers=servers)
    sent = [producer.send(topic, value, key) for key, value in records]
    producer.flush(_SECONDS)
    producer.close()
    assert all(each.succeeded() for each in sent)
