"""The rules of other client libraries for records without a key, with the random numbers of ``ThreadLocalRandom``.

These libraries have their own generators, whose numbers are unpredictable; only the distributions are theirs.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from tests.reference.partitioners import ThreadLocalRandom, Topic, to_positive
from tests.reference.record_accumulator import Record, RecordAccumulator, accumulator_of, answer_of, varint_bytes
from tests.support.model import Partition


@dataclass
class OtherProducer:
    """A producer of one of these libraries, with Java's batches."""

    client: str
    accumulator: RecordAccumulator
    random: ThreadLocalRandom
    adaptive: bool
    counters: Counter[str] = field(default_factory=Counter)
    sticky: dict[str, int] = field(default_factory=dict)
    since: dict[str, int] = field(default_factory=dict)
    """When, or after how many bytes, a topic's sticky partition was drawn."""

    def send(self, record: Record) -> int:
        topic = self.accumulator.topics[record.topic]
        number = self.place(record, topic) if record.partition is None else record.partition
        partition = Partition(topic.name, number)
        if self.accumulator.try_append(record, self.accumulator.queue(partition)) is None:
            self.accumulator.append_new_batch(record, partition)
        return number

    def on_ready(self) -> None:
        """These partitioners ignore queue sizes as seen by the sender."""

    def place(self, record: Record, topic: Topic) -> int:
        match self.client:
            case "kafkajs":
                return self.in_turn(topic, topic.available or [*range(topic.partitions)])
            case "kafka-go-hash":
                self.counters[topic.name] += 1
                return (self.counters[topic.name] - 1) % topic.partitions
            case "kafka-go-murmur2":
                return self.random.next_positive() % topic.partitions
            case "kafka-python":
                return self.draw(topic)
            case "librdkafka-random":
                return self.draw_twice(topic)
            case "librdkafka":
                return self.for_some_time(record, topic)
            case "franz-go":
                return self.for_some_bytes(record, topic)
            case "pulsar":
                if topic.name not in self.counters:
                    self.counters[topic.name] = self.random.next_positive()
                return (record.at_ms // 10 + self.counters[topic.name]) % topic.partitions
        raise AssertionError(self.client)

    def in_turn(self, topic: Topic, partitions: list[int]) -> int:
        if topic.name not in self.counters:
            self.counters[topic.name] = self.random.next_int()
        self.counters[topic.name] += 1
        return partitions[to_positive(self.counters[topic.name]) % len(partitions)]

    def draw(self, topic: Topic) -> int:
        partitions = topic.available or [*range(topic.partitions)]
        return partitions[self.random.next_positive() % len(partitions)]

    def draw_twice(self, topic: Topic) -> int:
        number = self.random.next_positive() % topic.partitions
        return number if number in topic.available else self.random.next_positive() % topic.partitions

    def for_some_time(self, record: Record, topic: Topic) -> int:
        kept = self.sticky.get(topic.name)
        if kept is None or kept not in topic.available or record.at_ms - self.since[topic.name] > 10:
            self.sticky[topic.name], self.since[topic.name] = self.draw_twice(topic), record.at_ms
        return self.sticky[topic.name]

    def for_some_bytes(self, record: Record, topic: Topic) -> int:
        size = 4
        for length in (record.key_bytes, record.value_bytes):
            size += 1 if length is None else varint_bytes(length) + length
        self.counters[topic.name] += size
        if self.counters[topic.name] >= 65_536 or topic.name not in self.sticky:
            if topic.name in self.sticky or self.counters[topic.name] >= 65_536:
                self.counters[topic.name] = size
            self.sticky[topic.name] = self.by_backup(topic) if self.adaptive else self.draw(topic)
        return self.sticky[topic.name]

    def by_backup(self, topic: Topic) -> int:
        """Prefer partitions with fewer buffered records."""
        if not topic.available:
            return self.draw(topic)
        queues = self.accumulator.queues
        weights = [
            1 / (1 + sum(batch.records for batch in queues.get(Partition(topic.name, n), ()))) for n in topic.available
        ]
        total = 0.0
        for weight in weights:
            total += weight
        pick = self.random.next_positive() / 2**31 * total
        for number, weight in zip(topic.available[:-1], weights, strict=False):
            pick -= weight
            if pick <= 0:
                return number
        return topic.available[-1]


def other_producer_answer(client: str, case: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to a case of the rule "producer" for a client."""
    producer = OtherProducer(client, accumulator_of(case), ThreadLocalRandom(case["seed"]), case["adaptive"])
    return answer_of(producer, case)
