"""Read a topic of a broker from its beginning to its current end."""

from __future__ import annotations

import time

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

_SECONDS = 60


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
