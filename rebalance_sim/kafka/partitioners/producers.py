"""Producers that send records one after the other: where records without a key go, and the batches that result.

Unkeyed records are placed by one of the rules of ``Unkeyed``, of which ``clients`` lists the sources. Java's rules are
``DefaultPartitioner`` (2.3.1), ``StickyPartitionCache`` with ``KafkaProducer.doSend`` (2.8.2, KIP-480), and
``BuiltInPartitioner`` with ``RecordAccumulator`` (4.3.1, KIP-794).
"""

from typing import Any, NamedTuple

import numpy as np

from rebalance_sim.kafka.partitioners.partitioner import Unkeyed
from rebalance_sim.kafka.partitioners.record_accumulator import (
    NONE,
    Accumulator,
    Partition,
    Producer,
    ProducerRecord,
    ProducerSettings,
    SendResults,
    TopicInfo,
    advance,
    append_new_batch,
    batches_left_by_run,
    field_bytes,
    finish,
    is_last_full,
    new_accumulator,
    try_append,
)
from rebalance_sim.kafka.runtime.kernel import kernel_in_place
from rebalance_sim.kafka.runtime.records import new_records
from rebalance_sim.kafka.runtime.strings import Ints
from rebalance_sim.kafka.runtime.thread_local_random import next_int, next_positive

STICKY_LINGER_MS = 10
"""Default of librdkafka's sticky.partitioning.linger.ms; Pulsar stays with a partition for the same time."""
FRANZ_GO_BYTES = 64 << 10
"""Bytes after which franz-go's default partitioner, ``UniformBytesPartitioner(64 << 10, ...)``, switches."""

_JAVA_ROUND_ROBIN, _KAFKAJS_ROUND_ROBIN = int(Unkeyed.JAVA_ROUND_ROBIN), int(Unkeyed.KAFKAJS_ROUND_ROBIN)
_KAFKA_GO_ROUND_ROBIN, _RANDOM = int(Unkeyed.KAFKA_GO_ROUND_ROBIN), int(Unkeyed.RANDOM)
_RANDOM_AVAILABLE, _RANDOM_LIBRDKAFKA = int(Unkeyed.RANDOM_AVAILABLE), int(Unkeyed.RANDOM_LIBRDKAFKA)
_UNTIL_NEW_BATCH, _BY_BYTES = int(Unkeyed.STICKY_UNTIL_NEW_BATCH), int(Unkeyed.STICKY_BY_BYTES)
_BY_TIME, _BY_OWN_BYTES = int(Unkeyed.STICKY_BY_TIME), int(Unkeyed.STICKY_BY_OWN_BYTES)
_KAFKA_RUST_ROUND_ROBIN, _LEAST_BYTES = int(Unkeyed.KAFKA_RUST_ROUND_ROBIN), int(Unkeyed.LEAST_BYTES)
_PLATFORMATIC_ROUND_ROBIN = int(Unkeyed.PLATFORMATIC_ROUND_ROBIN)
_ROUND_ROBIN_PARTITIONER, _ROUND_ROBIN_TWICE = int(Unkeyed.ROUND_ROBIN_PARTITIONER), int(Unkeyed.ROUND_ROBIN_TWICE)


class ProducerTopics(NamedTuple):
    """The topics to which producers send, a row per producer and topic."""

    producers: Ints
    """Indices of the producers."""
    rules: Ints
    """Members of ``Unkeyed``."""
    partitions: Ints
    """Number of partitions."""
    has_leader: Ints
    """1 for each available partition, else 0; topic after topic."""


class RecordsToSend(NamedTuple):
    """Records, in any order."""

    order: Ints
    """Row numbers in the order of sending; producers may alternate."""
    topics: Ints
    """Indices of ``ProducerTopics``."""
    partitions: Ints
    """Partition by key or explicit partition, else NONE."""
    key_bytes: Ints
    """NONE for a null key."""
    value_bytes: Ints
    """NONE for a null value."""
    at_ms: Ints


def send(settings: ProducerSettings, seeds: Ints, topics: ProducerTopics, records: RecordsToSend) -> SendResults:
    """Send all records, each producer with its own seed for its random numbers.

    >>> topics = ProducerTopics(np.array([0]), np.array([Unkeyed.STICKY_BY_BYTES]), np.array([3]), np.array([1, 0, 1]))
    >>> nothing = np.full(3, NONE)
    >>> sizes, at_ms = np.array([10, 20, 30]), np.array([100, 103, 120])
    >>> records = RecordsToSend(np.arange(3), np.zeros(3, np.int64), nothing, nothing, sizes, at_ms)
    >>> results = send(ProducerSettings(linger_ms=5), np.array([42]), topics, records)
    >>> results.partitions.tolist(), results.batch_records.tolist(), results.closed_ms.tolist()
    ([0, 0, 0], [2, 0, 1], [105, 0, 125])
    """
    accumulator = new_producers(seeds, topics, len(records.order))
    _send(accumulator, settings, records)
    finish(accumulator, settings, len(seeds), len(topics.has_leader))
    return accumulator.results


def new_producers(seeds: Ints, topics: ProducerTopics, records: int) -> Accumulator:
    """Return the state of producers before they send this number of records in total."""
    partitions: Any = new_records(Partition, len(topics.has_leader))
    partitions.has_leader = topics.has_leader
    return new_accumulator(seeds, _new_topics(topics), partitions, records)


def _new_topics(topics: ProducerTopics) -> Any:
    rows: Any = new_records(TopicInfo, len(topics.partitions))
    ends = np.cumsum(topics.partitions)
    leaders_before = np.concatenate([[0], np.cumsum(topics.has_leader)])
    rows.producer, rows.rule, rows.partitions = topics.producers, topics.rules, topics.partitions
    rows.first_partition = ends - topics.partitions
    rows.available = leaders_before[ends] - leaders_before[ends - topics.partitions]
    rows.queues_run = rows.sticky = rows.counter = rows.switched_ms = NONE
    return rows


# ---- KafkaProducer.send, and the rules that do not depend on batches


@kernel_in_place
def _send(accumulator: Accumulator, settings: ProducerSettings, records: RecordsToSend) -> None:
    for i in records.order:
        topic = accumulator.topics[records.topics[i]]
        producer = accumulator.producers[topic.producer]
        if records.at_ms[i] > producer.clock_ms:
            advance(accumulator, settings, producer, records.at_ms[i])
        record = ProducerRecord(
            i, records.partitions[i], records.key_bytes[i], records.value_bytes[i], records.at_ms[i]
        )
        accumulator.results.partitions[i] = _append(accumulator, settings, topic, record)


@kernel_in_place
def _append(accumulator: Accumulator, settings: ProducerSettings, topic: TopicInfo, record: ProducerRecord) -> int:
    """Append a record and return its partition."""
    if topic.rule == _BY_BYTES:
        return _append_by_bytes(accumulator, settings, topic, record)
    if topic.rule == _UNTIL_NEW_BATCH:
        return _append_until_new_batch(accumulator, settings, topic, record)
    number = record.partition
    if number == NONE:
        number = next_partition(accumulator, settings, topic, record)
    appended = try_append(accumulator, topic, number, record)
    if appended == 0 and topic.rule == _ROUND_ROBIN_TWICE and record.partition == NONE:
        # KafkaProducer.doSend asks the partitioner again after onNewBatch (KAFKA-9965).
        number = next_partition(accumulator, settings, topic, record)
        appended = try_append(accumulator, topic, number, record)
    if appended == 0:
        append_new_batch(accumulator, settings, topic, number, record)
    return number


@kernel_in_place
def next_partition(
    accumulator: Accumulator, settings: ProducerSettings, topic: TopicInfo, record: ProducerRecord
) -> int:
    """Return the partition of a record without a key by a rule that takes no batches into account."""
    random, producer = accumulator.random, topic.producer
    if topic.rule == _KAFKA_GO_ROUND_ROBIN:
        return _next_of_producer(accumulator.producers[producer]) % topic.partitions
    if topic.rule == _KAFKA_RUST_ROUND_ROBIN:
        return _next_of_kafka_rust(accumulator, topic)
    if topic.rule == _PLATFORMATIC_ROUND_ROBIN:
        # The counter begins as NONE, one below the first partition.
        topic.counter += 1
        return topic.counter % topic.partitions
    if topic.rule == _LEAST_BYTES:
        return _least_bytes(accumulator, topic, record)
    if topic.rule in (_JAVA_ROUND_ROBIN, _KAFKAJS_ROUND_ROBIN, _ROUND_ROBIN_PARTITIONER, _ROUND_ROBIN_TWICE):
        count = _next_count(accumulator, topic)
        if topic.available:
            return _nth_available(accumulator, topic, count % topic.available)
        # Without any leader: "no partitions are available, give a non-available partition".
        return count % topic.partitions
    if topic.rule == _RANDOM:
        return next_positive(random, producer) % topic.partitions
    if topic.rule == _RANDOM_AVAILABLE:
        return _draw_available(accumulator, topic)
    if topic.rule == _RANDOM_LIBRDKAFKA:
        return _draw_twice(accumulator, topic)
    if topic.rule == _BY_TIME:
        return _by_time(accumulator, topic)
    if topic.rule == _BY_OWN_BYTES:
        return _by_own_bytes(accumulator, settings, topic, record)
    # Pulsar's RoundRobinPartitionMessageRouterImpl with batching: clock / batching delay + random start.
    if topic.counter == NONE:
        topic.counter = next_positive(random, producer)
    return (accumulator.producers[producer].clock_ms // STICKY_LINGER_MS + topic.counter) % topic.partitions


@kernel_in_place
def _next_of_producer(producer: Producer) -> int:
    """Return the next number, from 0, of the counter that all topics of a producer share."""
    producer.counter += 1
    return producer.counter - 1


@kernel_in_place
def _next_of_kafka_rust(accumulator: Accumulator, topic: TopicInfo) -> int:
    """Return the next available partition (kafka-rust's ``DefaultPartitioner``).

    Records of a topic without any leader are not counted: kafka-rust sends them to no partition and fails, here they
    go to partition 0.
    """
    if topic.available == 0:
        return 0
    count = _next_of_producer(accumulator.producers[topic.producer])
    return _nth_available(accumulator, topic, count % topic.available)


@kernel_in_place
def _next_count(accumulator: Accumulator, topic: TopicInfo) -> int:
    """Return the next number of a topic's counter, which by default has a random start.

    Java's ``DefaultPartitioner.nextValue`` returns the start first (``getAndIncrement``), KafkaJS the number after it.
    ``RoundRobinPartitioner`` starts at 0; the counter begins as NONE, one below.
    """
    if not topic.counting and topic.rule in (_JAVA_ROUND_ROBIN, _KAFKAJS_ROUND_ROBIN):
        topic.counting = True
        topic.counter = next_int(accumulator.random, topic.producer) - (topic.rule == _JAVA_ROUND_ROBIN)
    topic.counter += 1
    return topic.counter & 0x7FFFFFFF


@kernel_in_place
def _nth_available(accumulator: Accumulator, topic: TopicInfo, nth: int) -> int:
    """Return the nth available partition, from 0 (``Cluster.availablePartitionsForTopic``)."""
    if topic.available == topic.partitions:
        return nth
    number = 0
    while nth > 0 or not accumulator.partitions[topic.first_partition + number].has_leader:
        nth -= accumulator.partitions[topic.first_partition + number].has_leader
        number += 1
    return number


@kernel_in_place
def _least_bytes(accumulator: Accumulator, topic: TopicInfo, record: ProducerRecord) -> int:
    """Return the first partition for which the fewest bytes were chosen, and count the record there.

    A Writer has one ``LeastBytes`` for all its topics: a topic goes on with the counts of the topic before it if both
    have the same number of partitions; otherwise ``makeCounters`` starts again from 0.
    """
    producer = accumulator.producers[topic.producer]
    if producer.counted_first != topic.first_partition:
        goes_on = producer.counted_partitions == topic.partitions
        for number in range(topic.partitions):
            count = accumulator.partitions[producer.counted_first + number].chosen_bytes if goes_on else 0
            accumulator.partitions[topic.first_partition + number].chosen_bytes = count
        producer.counted_first, producer.counted_partitions = topic.first_partition, topic.partitions
    chosen = 0
    for number in range(1, topic.partitions):
        fewest = accumulator.partitions[topic.first_partition + chosen].chosen_bytes
        if accumulator.partitions[topic.first_partition + number].chosen_bytes < fewest:
            chosen = number
    size = max(record.key_bytes, 0) + max(record.value_bytes, 0)
    accumulator.partitions[topic.first_partition + chosen].chosen_bytes += size
    return chosen


@kernel_in_place
def _draw_available(accumulator: Accumulator, topic: TopicInfo) -> int:
    drawn = next_positive(accumulator.random, topic.producer)
    if topic.available:
        return _nth_available(accumulator, topic, drawn % topic.available)
    return drawn % topic.partitions


@kernel_in_place
def _draw_twice(accumulator: Accumulator, topic: TopicInfo) -> int:
    """Draw from all partitions, and once more if the first has no leader (``rd_kafka_msg_partitioner_random``)."""
    number = next_positive(accumulator.random, topic.producer) % topic.partitions
    if accumulator.partitions[topic.first_partition + number].has_leader:
        return number
    return next_positive(accumulator.random, topic.producer) % topic.partitions


@kernel_in_place
def _by_time(accumulator: Accumulator, topic: TopicInfo) -> int:
    """Return librdkafka's sticky partition, kept for sticky.partitioning.linger.ms while it has a leader.

    ``rd_interval`` fires only after the interval, not at its very end, and always on its first call.
    """
    now = accumulator.producers[topic.producer].clock_ms
    has_leader = topic.sticky != NONE and accumulator.partitions[topic.first_partition + topic.sticky].has_leader
    if not has_leader or now > topic.switched_ms + STICKY_LINGER_MS:
        topic.sticky, topic.switched_ms = _draw_twice(accumulator, topic), now
    return topic.sticky


@kernel_in_place
def _by_own_bytes(
    accumulator: Accumulator, settings: ProducerSettings, topic: TopicInfo, record: ProducerRecord
) -> int:
    """Return the partition of franz-go's ``UniformBytesPartitioner``.

    It counts the bytes of keys and values by an estimate of its own, without the overhead of batches, and switches
    before the record that reaches the limit.
    """
    size = 4 + field_bytes(record.key_bytes) + field_bytes(record.value_bytes)
    topic.produced_bytes += size
    if topic.produced_bytes >= FRANZ_GO_BYTES:
        topic.produced_bytes, topic.sticky = size, NONE
    if topic.sticky == NONE:
        topic.sticky = _draw_by_backup(accumulator, topic) if settings.adaptive else _draw_available(accumulator, topic)
    return topic.sticky


@kernel_in_place
def _draw_by_backup(accumulator: Accumulator, topic: TopicInfo) -> int:
    """Draw an available partition with weights 1 / (1 + buffered records): the adaptive mode of franz-go.

    The sums are added and subtracted in franz-go's order, because floating-point sums depend on it.
    """
    if topic.available == 0:
        return _draw_available(accumulator, topic)
    total, last = 0.0, 0
    for number in range(topic.partitions):
        partition = accumulator.partitions[topic.first_partition + number]
        if partition.has_leader:
            total += 1 / (1 + partition.records_waiting)
            last = number
    pick = next_positive(accumulator.random, topic.producer) / 2**31 * total
    for number in range(last):
        partition = accumulator.partitions[topic.first_partition + number]
        if partition.has_leader:
            pick -= 1 / (1 + partition.records_waiting)
            if pick <= 0:
                return number
    return last


# ---- Java 2.4 to 3.2 (KIP-480): a partition until an append opens a batch


@kernel_in_place
def _append_until_new_batch(
    accumulator: Accumulator, settings: ProducerSettings, topic: TopicInfo, record: ProducerRecord
) -> int:
    """Append as ``KafkaProducer.doSend``: if a new batch is needed, ``onNewBatch``, then ``partition`` again.

    It does so for keyed records too: one that opens a batch in the sticky partition changes the sticky partition.
    """
    number = record.partition
    if number == NONE:
        if topic.sticky == NONE:
            change_sticky(accumulator, topic, NONE)
        number = topic.sticky
    if try_append(accumulator, topic, number, record):
        return number
    change_sticky(accumulator, topic, number)
    if record.partition == NONE:
        number = topic.sticky
    if try_append(accumulator, topic, number, record) == 0:
        append_new_batch(accumulator, settings, topic, number, record)
    return number


@kernel_in_place
def change_sticky(accumulator: Accumulator, topic: TopicInfo, previous: int) -> None:
    """Draw another sticky partition, unless it has changed already (``StickyPartitionCache.nextPartition``)."""
    old = topic.sticky
    if old not in (NONE, previous):
        return
    if topic.available == 0:
        topic.sticky = next_positive(accumulator.random, topic.producer) % topic.partitions
    elif topic.available == 1:
        topic.sticky = _nth_available(accumulator, topic, 0)
    else:
        while topic.sticky == old:
            topic.sticky = _draw_available(accumulator, topic)


# ---- Java since 3.3 (KIP-794): a partition for batch.size bytes


@kernel_in_place
def _append_by_bytes(
    accumulator: Accumulator, settings: ProducerSettings, topic: TopicInfo, record: ProducerRecord
) -> int:
    """Append as ``RecordAccumulator.append``, which starts over when the sticky partition has changed meanwhile."""
    keyed = record.partition != NONE
    while True:
        if not keyed and topic.sticky == NONE:
            topic.sticky, topic.produced_bytes = draw_by_queues(accumulator, settings, topic), 0
        number = record.partition if keyed else topic.sticky
        _note_queue(accumulator, topic, number)
        if not keyed and _switches_late(accumulator, settings, topic, number):
            continue
        size = try_append(accumulator, topic, number, record)
        if size == 0:
            if not keyed and _switches_late(accumulator, settings, topic, number):
                continue
            size = append_new_batch(accumulator, settings, topic, number, record)
        # Keyed records do not count: their StickyPartitionInfo is null.
        if not keyed:
            count_bytes(accumulator, settings, topic, size, is_last_full(accumulator, topic, number))
        return number


@kernel_in_place
def _switches_late(accumulator: Accumulator, settings: ProducerSettings, topic: TopicInfo, number: int) -> bool:
    """Switch partitions now if an earlier switch was postponed because the batch was not full; return whether it was.

    ``RecordAccumulator.partitionChanged`` (KAFKA-14156): switching in the middle of a batch would leave it half empty.
    """
    return is_last_full(accumulator, topic, number) and count_bytes(accumulator, settings, topic, 0, True)


@kernel_in_place
def count_bytes(
    accumulator: Accumulator, settings: ProducerSettings, topic: TopicInfo, size: int, may_switch: bool
) -> bool:
    """Count bytes for the sticky partition and return whether it changes (``updatePartitionInfo``).

    It changes after batch.size bytes if no batch is left incomplete, in any case after twice as many.
    """
    topic.produced_bytes += size
    enough = max(1, settings.batch_size)
    if (topic.produced_bytes >= enough and may_switch) or topic.produced_bytes >= 2 * enough:
        topic.sticky, topic.produced_bytes = draw_by_queues(accumulator, settings, topic), 0
        return True
    return False


@kernel_in_place
def _note_queue(accumulator: Accumulator, topic: TopicInfo, number: int) -> None:
    """Count the partitions that have a queue, now and before the sender's last run."""
    partition = accumulator.partitions[topic.first_partition + number]
    if partition.has_queue:
        return
    run = accumulator.producers[topic.producer].sender_runs
    if topic.queues_run != run:
        topic.queues_run, topic.queues_before_run = run, topic.queues
    partition.has_queue = True
    topic.queues += 1


@kernel_in_place
def draw_by_queues(accumulator: Accumulator, settings: ProducerSettings, topic: TopicInfo) -> int:
    """Draw a partition, weighted by the queue sizes at the sender's last run (``BuiltInPartitioner.nextPartition``).

    A weight is the longest queue + 1 - the partition's queue. A queue had one batch or none then: the run had drained
    the others.
    """
    run = accumulator.producers[topic.producer].sender_runs
    queues = topic.queues_before_run if topic.queues_run == run else topic.queues
    # RecordAccumulator.partitionReady collects queue sizes only once all partitions of the topic have a queue.
    if not settings.adaptive or queues < topic.partitions or topic.partitions < 2 or topic.available == 0:
        return _draw_available(accumulator, topic)
    waiting = 0
    for number in range(topic.partitions):
        waiting += batches_left_by_run(accumulator, topic, number, run)
    longest = min(waiting, 1)
    total = topic.available * (longest + 1) - waiting
    drawn = next_positive(accumulator.random, topic.producer) % total
    for number in range(topic.partitions):
        if accumulator.partitions[topic.first_partition + number].has_leader:
            drawn -= longest + 1 - batches_left_by_run(accumulator, topic, number, run)
            if drawn < 0:
                return number
    return NONE
