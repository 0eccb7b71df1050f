"""A consumer without an application, in a process of its own.

    python bare_consumer.py LIBRARY SERVERS GROUP TOPIC REQUESTS

Prints, as JSON, when it began to poll and when it had partitions (milliseconds of ``time.monotonic_ns``), and how long
each of some requests to the coordinator took (milliseconds).
"""

import json
import sys
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

_POLL_SECONDS = 0.2
Assigned = Callable[..., None]
"""Called when the consumer has partitions."""
Opened = tuple[Any, Callable[[], object], Callable[[], object]]
"""A consumer that has subscribed, a call that polls once, and a request to the coordinator."""


def main(library: str, servers: str, group: str, topic: str, requests: int) -> None:
    """Run the consumer until it is measured."""
    times: dict[str, float] = {}

    def assigned(*_: object) -> None:
        times.setdefault("assigned", _now_ms())

    consumer, poll, committed = _OPENED[library](servers, group, topic, assigned)
    with closing(consumer):
        times["started"] = _now_ms()
        while "assigned" not in times:
            poll()
        print(json.dumps(times | {"requests": [_timed(committed) for _ in range(requests)]}))


def _librdkafka(servers: str, group: str, topic: str, assigned: Assigned) -> Opened:
    from confluent_kafka import Consumer, TopicPartition  # noqa: PLC0415

    settings = {"bootstrap.servers": servers, "group.id": group, "enable.auto.commit": False, "log_level": 0}
    consumer = Consumer(settings)
    consumer.subscribe([topic], on_assign=assigned)
    partition = TopicPartition(topic, 0)
    return consumer, lambda: consumer.poll(_POLL_SECONDS), lambda: consumer.committed([partition])


def _kafka_python(servers: str, group: str, topic: str, assigned: Assigned) -> Opened:
    from kafka import ConsumerRebalanceListener, KafkaConsumer, TopicPartition  # noqa: PLC0415

    class Listener(ConsumerRebalanceListener):  # type: ignore[misc]
        def on_partitions_revoked(self, revoked: object) -> None:
            pass

        def on_partitions_assigned(self, partitions: object) -> None:
            assigned()

    consumer = KafkaConsumer(bootstrap_servers=servers, group_id=group, enable_auto_commit=False)
    consumer.subscribe([topic], listener=Listener())
    partition = TopicPartition(topic, 0)
    return consumer, lambda: consumer.poll(timeout_ms=1000 * _POLL_SECONDS), lambda: consumer.committed(partition)


_OPENED: dict[str, Callable[[str, str, str, Assigned], Opened]] = {
    "librdkafka": _librdkafka,
    "kafka-python": _kafka_python,
}


def _now_ms() -> float:
    return time.monotonic_ns() / 1e6


def _timed(request: Callable[[], object]) -> float:
    began = _now_ms()
    request()
    return _now_ms() - began


if __name__ == "__main__":
    _, *names, number = sys.argv
    main(names[0], names[1], names[2], names[3], int(number))
