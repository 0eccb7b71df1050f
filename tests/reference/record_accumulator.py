"""
A producer's ``RecordAccumulator`` and what its ``Sender`` takes from it, on a clock that only records move.

Records are not compressed and have no headers; their timestamps are the times at which they are sent. The sender takes
a batch as soon as it sees that it may: every broker is ready and answers at once. ``tests/oracle/README.md`` describes
when it runs.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from tests.reference.partitioners import (
    RULE_OF_AGE,
    BuiltInPartitioner,
    Partitioner,
    RoundRobin,
    StickyPartition,
    StickyPartitioner,
    ThreadLocalRandom,
    Topic,
    topics_of,
)
from tests.support.model import Partition

RECORD_BATCH_OVERHEAD = 61
MAX_RECORD_OVERHEAD = 21
_NO_HEADERS_BYTES = 1
_ATTRIBUTES_BYTES = 1


@dataclass(frozen=True)
class Record:
    """A record given to a producer; without a partition it is one without a key, for the partitioner to place."""

    at_ms: int
    topic: str
    partition: int | None
    key_bytes: int | None
    value_bytes: int | None


@dataclass(frozen=True)
class Drained:
    """A batch as it was sent, or as it is left at the end where its partition has no leader."""

    topic: str
    partition: int
    records: int
    bytes: int
    created_ms: int
    drained_ms: int | None


def varint_bytes(value: int) -> int:
    """``ByteUtils.sizeOfVarint`` and ``sizeOfVarlong``: zigzag, seven bits a byte."""
    zigzag = 2 * value if value >= 0 else -2 * value - 1
    return max(1, -(-zigzag.bit_length() // 7))


def _field_bytes(length: int | None) -> int:
    return varint_bytes(-1) if length is None else varint_bytes(length) + length


def record_bytes(offset_delta: int, timestamp_delta: int, key_bytes: int | None, value_bytes: int | None) -> int:
    """``DefaultRecord.sizeInBytes``."""
    body = _ATTRIBUTES_BYTES + varint_bytes(timestamp_delta) + varint_bytes(offset_delta)
    body += _field_bytes(key_bytes) + _field_bytes(value_bytes) + _NO_HEADERS_BYTES
    return varint_bytes(body) + body


def batch_bytes_upper_bound(key_bytes: int | None, value_bytes: int | None) -> int:
    """``AbstractRecords.estimateSizeInBytesUpperBound``: the buffer that a batch of one record may need."""
    fields = _field_bytes(key_bytes) + _field_bytes(value_bytes) + _NO_HEADERS_BYTES
    return RECORD_BATCH_OVERHEAD + MAX_RECORD_OVERHEAD + fields


@dataclass
class Batch:
    """``ProducerBatch`` with its ``MemoryRecordsBuilder``."""

    partition: Partition
    created_ms: int
    write_limit: int
    base_timestamp: int
    records: int = 0
    bytes: int = RECORD_BATCH_OVERHEAD
    closed_for_appends: bool = False

    @property
    def is_full(self) -> bool:
        return self.closed_for_appends or (self.records > 0 and self.write_limit <= self.bytes)

    def try_append(self, record: Record) -> bool:
        size = record_bytes(self.records, record.at_ms - self.base_timestamp, record.key_bytes, record.value_bytes)
        if self.is_full or (self.records > 0 and self.write_limit < self.bytes + size):
            return False
        self.records += 1
        self.bytes += size
        return True

    def drained(self, at_ms: int | None) -> Drained:
        return Drained(*self.partition, self.records, self.bytes, self.created_ms, at_ms)


Queue = deque[Batch]


@dataclass
class RecordAccumulator:
    """The queues of batches, one a partition, and the rule by which batches are opened and ready."""

    topics: dict[str, Topic]
    batch_size: int
    linger_ms: int
    queues: dict[Partition, Queue] = field(default_factory=dict)

    def queue(self, partition: Partition) -> Queue:
        return self.queues.setdefault(partition, deque())

    def try_append(self, record: Record, queue: Queue) -> int | None:
        """The bytes by which the last batch grew; one without room takes no more records from then on."""
        if not queue:
            return None
        last = queue[-1]
        before = last.bytes
        if last.try_append(record):
            return last.bytes - before
        last.closed_for_appends = True
        return None

    def append_new_batch(self, record: Record, partition: Partition) -> int:
        """The bytes of a new batch, its overhead included."""
        limit = max(self.batch_size, batch_bytes_upper_bound(record.key_bytes, record.value_bytes))
        batch = Batch(partition, record.at_ms, limit, record.at_ms)
        batch.try_append(record)
        self.queue(partition).append(batch)
        return batch.bytes

    def with_leader(self) -> list[Partition]:
        """In the order of the topics of the case, then by number: so the sender goes through them."""
        return [Partition(topic.name, number) for topic in self.topics.values() for number in topic.available]

    def ready(self, now_ms: int) -> list[Partition]:
        """Partitions with a leader whose first batch is full, or followed by another, or has waited long enough."""
        return [
            partition
            for partition in self.with_leader()
            if (queue := self.queues.get(partition))
            and (len(queue) > 1 or queue[0].is_full or now_ms - queue[0].created_ms >= self.linger_ms)
        ]

    def next_expiry_ms(self) -> int | None:
        """When the first batch that waits will have waited long enough."""
        first = (queue[0] for partition in self.with_leader() if (queue := self.queues.get(partition)))
        return min((batch.created_ms + self.linger_ms for batch in first), default=None)


class Producer(Protocol):
    """``KafkaProducer.doSend`` of one age."""

    accumulator: RecordAccumulator

    def send(self, record: Record) -> int:
        """The partition into which a record went."""
        ...

    def on_ready(self) -> None:
        """What the producer learns whenever the sender asks for what is ready."""


@dataclass
class RoundRobinProducer:
    """Before 2.4: the partitioner is asked once, whatever batches there are."""

    accumulator: RecordAccumulator
    partitioner: RoundRobin

    def send(self, record: Record) -> int:
        number = _partition(self.partitioner, record, self.accumulator.topics[record.topic])
        partition = Partition(record.topic, number)
        if self.accumulator.try_append(record, self.accumulator.queue(partition)) is None:
            self.accumulator.append_new_batch(record, partition)
        return number

    def on_ready(self) -> None:
        """Queues change nothing for this partitioner."""


@dataclass
class StickyProducer:
    """2.4 to 3.2: before a batch is opened, ``onNewBatch`` is called, then ``partition`` again; also if keyed."""

    accumulator: RecordAccumulator
    partitioner: StickyPartitioner

    def send(self, record: Record) -> int:
        topic = self.accumulator.topics[record.topic]
        number = _partition(self.partitioner, record, topic)
        if self._try_append(record, number):
            return number
        self.partitioner.on_new_batch(topic, number)
        number = _partition(self.partitioner, record, topic)
        if not self._try_append(record, number):
            self.accumulator.append_new_batch(record, Partition(record.topic, number))
        return number

    def on_ready(self) -> None:
        """Queues change nothing for this partitioner."""

    def _try_append(self, record: Record, number: int) -> bool:
        queue = self.accumulator.queue(Partition(record.topic, number))
        return self.accumulator.try_append(record, queue) is not None


@dataclass
class BuiltInProducer:
    """3.3 and later (KIP-794): the accumulator itself places records that have no partition."""

    accumulator: RecordAccumulator
    random: ThreadLocalRandom
    adaptive: bool
    partitioners: dict[str, BuiltInPartitioner] = field(default_factory=dict)

    def send(self, record: Record) -> int:
        topic = self.accumulator.topics[record.topic]
        partitioner = self.partitioners.setdefault(
            topic.name, BuiltInPartitioner(self.random, self.accumulator.batch_size)
        )
        while True:
            sticky = partitioner.peek(topic) if record.partition is None else None
            number = record.partition if sticky is None else sticky.partition
            assert number is not None
            if self._append(record, Partition(topic.name, number), partitioner, sticky, topic):
                return number

    def _append(
        self,
        record: Record,
        partition: Partition,
        partitioner: BuiltInPartitioner,
        sticky: StickyPartition | None,
        topic: Topic,
    ) -> bool:
        """Whether a record was appended; if not, the partition has changed and the next one is to be tried."""
        queue = self.accumulator.queue(partition)
        if _changed(partitioner, sticky, queue, topic):
            return False
        appended_bytes = self.accumulator.try_append(record, queue)
        if appended_bytes is None:
            # The last batch has just been closed, so that a switch that had to wait for it may be due.
            if _changed(partitioner, sticky, queue, topic):
                return False
            appended_bytes = self.accumulator.append_new_batch(record, partition)
        partitioner.update(sticky, appended_bytes, topic, enable_switch=_all_batches_full(queue))
        return True

    def on_ready(self) -> None:
        """Queue sizes become load stats once every partition of a topic has a queue (``partitionReady``)."""
        for name, partitioner in self.partitioners.items():
            topic = self.accumulator.topics[name]
            queues = {p.number: len(queue) for p, queue in self.accumulator.queues.items() if p.topic == name}
            if not self.adaptive or len(queues) < topic.partitions:
                partitioner.update_load_stats(None, [], 0)
                continue
            of_leaders = [number for number in sorted(queues) if number in topic.available]
            # Partitions without a leader leave room at the end, so the length shows that some are missing.
            padding = [0] * (len(queues) - len(of_leaders))
            sizes = [queues[number] for number in of_leaders]
            partitioner.update_load_stats(sizes + padding, of_leaders + padding, len(of_leaders))


def _partition(partitioner: Partitioner, record: Record, topic: Topic) -> int:
    return partitioner.partition(topic, None) if record.partition is None else record.partition


def _all_batches_full(queue: Queue) -> bool:
    return not queue or queue[-1].is_full


def _changed(partitioner: BuiltInPartitioner, sticky: StickyPartition | None, queue: Queue, topic: Topic) -> bool:
    """``RecordAccumulator.partitionChanged``, which also makes a deferred switch."""
    if _all_batches_full(queue):
        partitioner.update(sticky, 0, topic, enable_switch=True)
    return partitioner.is_changed(sticky)


def _producer(version: str, accumulator: RecordAccumulator, seed: int, adaptive: bool) -> Producer:
    random = ThreadLocalRandom(seed)
    match RULE_OF_AGE[version]:
        case "round-robin":
            return RoundRobinProducer(accumulator, RoundRobin(random))
        case "sticky":
            return StickyProducer(accumulator, StickyPartitioner(random))
        case _:
            return BuiltInProducer(accumulator, random, adaptive)


@dataclass
class Sender:
    """``Sender.sendProducerData``, run again and again until nothing is ready, at each time at which it looks."""

    producer: Producer
    last_ms: int
    batches: list[Drained] = field(default_factory=list)

    def advance(self, now_ms: int) -> None:
        """Looks after the last record of a moment, and then at each time at which a batch has waited long enough."""
        if now_ms > self.last_ms:
            self.look(self.last_ms)
            accumulator = self.producer.accumulator
            while (expiry := accumulator.next_expiry_ms()) is not None and expiry <= now_ms:
                self.look(expiry)
            self.last_ms = now_ms

    def flush(self) -> None:
        self.look(self.last_ms)
        while (expiry := self.producer.accumulator.next_expiry_ms()) is not None:
            self.look(expiry)

    def look(self, now_ms: int) -> None:
        accumulator = self.producer.accumulator
        while True:
            ready = accumulator.ready(now_ms)
            self.producer.on_ready()
            if not ready:
                return
            for partition in ready:
                self.batches.append(accumulator.queues[partition].popleft().drained(now_ms))


def produce(producer: Producer, records: Iterable[Record]) -> tuple[list[int], list[Drained]]:
    """The partition of each record, and the batches as they were sent; those that cannot be sent come last."""
    accumulator = producer.accumulator
    sender = None
    partitions = []
    for record in records:
        sender = sender or Sender(producer, record.at_ms)
        sender.advance(record.at_ms)
        partitions.append(producer.send(record))
    if sender is None:
        return [], []
    sender.flush()
    left = [batch.drained(None) for topic in accumulator.topics.values() for batch in _left(accumulator, topic)]
    return partitions, sender.batches + left


def _left(accumulator: RecordAccumulator, topic: Topic) -> list[Batch]:
    return [
        batch
        for number in range(topic.partitions)
        for batch in accumulator.queues.get(Partition(topic.name, number), ())
    ]


def accumulator_of(case: Mapping[str, Any]) -> RecordAccumulator:
    """The empty accumulator of a case of the rule "producer"."""
    topics = topics_of(case["topics"], case["unavailable"])
    return RecordAccumulator(topics, case["batch_size"], case["linger_ms"])


def producer_answer(version: str, case: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer to a case of the rule "producer" (see ``tests/oracle/README.md``)."""
    return answer_of(_producer(version, accumulator_of(case), case["seed"], case["adaptive"]), case)


def answer_of(producer: Producer, case: Mapping[str, Any]) -> dict[str, Any]:
    partitions, batches = produce(producer, [Record(**record) for record in case["records"]])
    return {"partitions": partitions, "batches": [vars(batch) for batch in batches]}
