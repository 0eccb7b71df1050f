"""Read a topic of a broker from its beginning to its current end."""

from __future__ import annotations

import time
from collections.abc import Iterable

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

_SECONDS = 60

OFFSETS_TOPIC = "__consumer_offsets"
OffsetsRecord = tuple[bytes | None, bytes | None, int, int]
"""A record: key, value, partition and offset."""
OFFSETS_RECORD = "key binary, value binary, partition int, offset long"
"""The schema of these records."""


def read_rows(servers: str, topic: str = OFFSETS_TOPIC) -> list[OffsetsRecord]:
    """Return all records of a topic as rows of ``OFFSETS_RECORD``."""
    return rows_of(read_topic(servers, topic))


def rows_of(messages: Iterable[Message]) -> list[OffsetsRecord]:
    """Return records as rows of ``OFFSETS_RECORD``."""
    return [(each.key(), each.value(), each.partition(), each.offset()) for each in messages]


def read_topic(servers: str, topic: str) -> list[Message]:
    """Return all records of a topic."""
    settings = {"bootstrap.servers": servers, "group.id": "reader", "enable.auto.commit": False, "log_level": 0}
    consumer = Consumer(settings | {"auto.offset.reset": "earliest", "enable.partition.eof": True})
    try:
        partitions = list(consumer.list_topics(topic, timeout=_SECONDS).topics[topic].partitions)
        consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
        reading, messages = set(partitions), list[Message]()
        deadline = time.monotonic() + _SECONDS
        while reading:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{topic}: partitions {sorted(reading)} were not read")
            for message in consumer.consume(num_messages=1000, timeout=1):
                error = message.error()
                if error is None:
                    messages.append(message)
                elif error.code() == KafkaError._PARTITION_EOF:
                    reading.discard(message.partition())
                else:
                    raise KafkaException(error)
        return messages
    finally:
        consumer.close()
