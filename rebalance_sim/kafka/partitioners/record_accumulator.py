"""The batches of producers: Java's ``RecordAccumulator`` and the ``Sender`` that drains it (Kafka 1.0 to 4.3).

Records are not compressed and have no headers, and every broker is ready at all times. The sender runs after the last
record of a millisecond and whenever a batch has waited for linger.ms. It drains the batches that are full, that are
followed by another batch of their partition, or that have waited for linger.ms. The clock is that of the records'
timestamps and never goes back.
"""

from typing import Any, NamedTuple

import numpy as np

from rebalance_sim.kafka.runtime.kernel import kernel_in_place
from rebalance_sim.kafka.runtime.records import Records, new_records, rows
from rebalance_sim.kafka.runtime.strings import Ints, Ints32
from rebalance_sim.kafka.runtime.thread_local_random import states
from rebalance_sim.releases import BATCH_SIZE

NONE = -1
"""Stands for no partition, no key, no value, no batch and no time."""

_BATCH_OVERHEAD = 61
"""``DefaultRecordBatch.RECORD_BATCH_OVERHEAD``."""
_MAX_RECORD_OVERHEAD = 21
"""``DefaultRecord.MAX_RECORD_OVERHEAD``."""
_LONG_AGO = -(2**62)


class ProducerSettings(NamedTuple):
    """The configuration of producers."""

    batch_size: int = BATCH_SIZE
    """batch.size, in bytes."""
    linger_ms: int = 0
    """linger.ms."""
    adaptive: bool = True
    """partitioner.adaptive.partitioning.enable, and its counterpart in franz-go."""


class ProducerRecord(NamedTuple):
    """A record to append."""

    row: int
    """Its row in the input."""
    partition: int
    """NONE if the partitioner chooses the partition."""
    key_bytes: int
    value_bytes: int
    at_ms: int


class SendResults(NamedTuple):
    """For each record its partition and, if it opened a batch, that batch."""

    partitions: Ints32
    batch_records: Ints32
    """Records of the batch; 0, as in the following columns, for a record that opened none."""
    batch_bytes: Ints32
    opened_ms: Ints
    closed_ms: Ints
    """When the batch was sent; NONE if its partition has no leader: such a batch is never sent."""


class Producer:
    """A producer with its ``Sender``."""

    clock_ms: int
    """Latest timestamp of its records so far."""
    sender_runs: int
    appended: bool
    """Whether a record was appended since the sender's last run: an append wakes the sender."""
    oldest_batch: int
    """First of the list of open batches, by the time at which linger.ms ends."""
    newest_batch: int
    full_batch: int
    """First of the list of batches that the sender's next run drains whatever linger.ms is."""
    counter: int
    """Records without a key so far, where one counter serves all topics (kafka-go, kafka-rust)."""
    counted_first: int
    """First partition of the topic with the current counts of ``Unkeyed.LEAST_BYTES``; NONE before its first record."""
    counted_partitions: int
    """Number of partitions of this topic."""


class TopicInfo:
    """A topic of a producer: its metadata, its queues, and its partitioner (``RecordAccumulator.TopicInfo``)."""

    producer: int
    first_partition: int
    """Index of its partition 0 among all partitions."""
    partitions: int
    available: int
    """How many of its partitions have a leader."""
    queues: int
    """Partitions to which records were ever appended (``TopicInfo.batches``)."""
    queues_before_run: int
    """``queues`` before the sender's run ``queues_run``, which computed the load statistics from them."""
    queues_run: int
    rule: int
    """A member of ``Unkeyed``."""
    sticky: int
    """Current sticky partition."""
    produced_bytes: int
    """Bytes produced to the sticky partition (``StickyPartitionInfo.producedBytes``)."""
    switched_ms: int
    counter: int
    counting: bool
    """Whether a round-robin rule has drawn the start of its counter."""


class Partition:
    """A partition of a topic of a producer."""

    has_leader: bool
    has_queue: bool
    """Whether any record was ever appended to it."""
    records_waiting: int
    chosen_bytes: int
    """Bytes of the keys and values for which ``Unkeyed.LEAST_BYTES`` chose it."""
    last_batch: int
    """The batch that takes more records (``Deque.peekLast``); NONE if there is none or it is full."""
    full_at_run: int
    """The sender's last run that left a batch in the queue which has become full since."""


class Batch:
    """A batch that has not been sent (``ProducerBatch``)."""

    partition: int
    records: int
    bytes: int
    write_limit: int
    base_timestamp_ms: int
    opened_ms: int
    opened_run: int
    """Runs of the sender before the batch was opened."""
    opener: int
    """Row of the record that opened the batch."""
    older: int
    newer: int
    """Neighbours in a list of batches."""


class BatchPool:
    """The batches in use. Places are used again: a small pool stays in the processor's cache."""

    used: int
    free: int
    """First of the list of free places."""


class Accumulator(NamedTuple):
    """The state of all producers."""

    random: Ints
    """State of each producer's ``ThreadLocalRandom``."""
    producers: Records[Producer]
    topics: Records[TopicInfo]
    partitions: Records[Partition]
    batches: Records[Batch]
    pool: Records[BatchPool]
    results: SendResults


def new_accumulator(seeds: Ints, topics: Any, partitions: Any, records: int) -> Accumulator:
    """Return the state of producers, each with its random seed, before they send this number of records in total."""
    producers: Any = new_records(Producer, len(seeds))
    producers.clock_ms = _LONG_AGO
    producers.oldest_batch = producers.newest_batch = producers.full_batch = producers.counted_first = NONE
    partitions.last_batch = partitions.full_at_run = NONE
    pool: Any = new_records(BatchPool, 1)
    pool.free = NONE
    partition_of, batch_records, batch_bytes = (np.zeros(records, np.int32) for _ in range(3))
    opened_ms, closed_ms = (np.zeros(records, np.int64) for _ in range(2))
    results = SendResults(partition_of, batch_records, batch_bytes, opened_ms, closed_ms)
    batches = rows(new_records(Batch, records))
    return Accumulator(states(seeds), rows(producers), rows(topics), rows(partitions), batches, rows(pool), results)


# ---- RecordAccumulator: the batches


@kernel_in_place
def is_last_full(accumulator: Accumulator, topic: TopicInfo, number: int) -> bool:
    """Return whether a queue has no batch that takes more records (``RecordAccumulator.allBatchesFull``)."""
    return accumulator.partitions[topic.first_partition + number].last_batch == NONE


@kernel_in_place
def try_append(accumulator: Accumulator, topic: TopicInfo, number: int, record: ProducerRecord) -> int:
    """Append to the last batch of a queue and return the bytes added; if there is no room, close it and return 0."""
    index = accumulator.partitions[topic.first_partition + number].last_batch
    if index == NONE:
        return 0
    batch = accumulator.batches[index]
    size = _record_bytes(batch.records, record.at_ms - batch.base_timestamp_ms, record)
    # MemoryRecordsBuilder.hasRoomFor: the batch takes no more records from then on, not even smaller ones.
    if batch.write_limit < batch.bytes + size:
        _close(accumulator, topic.producer, index)
        return 0
    _grow(accumulator, topic.producer, index, size)
    return size


@kernel_in_place
def append_new_batch(
    accumulator: Accumulator, settings: ProducerSettings, topic: TopicInfo, number: int, record: ProducerRecord
) -> int:
    """Open a batch with the record and return its bytes (``RecordAccumulator.appendNewBatch``)."""
    place = topic.first_partition + number
    producer = accumulator.producers[topic.producer]
    index = _take_from_pool(accumulator)
    batch = accumulator.batches[index]
    batch.partition = place
    batch.records = 0
    batch.bytes = _BATCH_OVERHEAD
    # A record larger than batch.size gets a batch of its own (AbstractRecords.estimateSizeInBytesUpperBound).
    fields = field_bytes(record.key_bytes) + field_bytes(record.value_bytes)
    batch.write_limit = max(settings.batch_size, _BATCH_OVERHEAD + _MAX_RECORD_OVERHEAD + 1 + fields)
    batch.base_timestamp_ms = record.at_ms
    batch.opened_ms = producer.clock_ms
    batch.opened_run = producer.sender_runs
    batch.opener = record.row
    partition = accumulator.partitions[place]
    partition.last_batch = index
    # Without a leader the sender never looks at the queue (RecordAccumulator.ready: unknownLeaderTopics).
    if partition.has_leader:
        _add_to_open(accumulator, producer, index)
    size = _record_bytes(0, 0, record)
    _grow(accumulator, topic.producer, index, size)
    return _BATCH_OVERHEAD + size


@kernel_in_place
def _take_from_pool(accumulator: Accumulator) -> int:
    pool = accumulator.pool[0]
    index = pool.free
    if index == NONE:
        pool.used += 1
        return pool.used - 1
    pool.free = accumulator.batches[index].newer
    return index


@kernel_in_place
def _grow(accumulator: Accumulator, producer: int, index: int, size: int) -> None:
    batch = accumulator.batches[index]
    batch.records += 1
    batch.bytes += size
    accumulator.partitions[batch.partition].records_waiting += 1
    accumulator.producers[producer].appended = True
    # MemoryRecordsBuilder.isFull.
    if batch.write_limit <= batch.bytes:
        _close(accumulator, producer, index)


@kernel_in_place
def _close(accumulator: Accumulator, producer_index: int, index: int) -> None:
    """Move a full batch to those that the sender's next run drains; without a leader it is never sent."""
    batch, producer = accumulator.batches[index], accumulator.producers[producer_index]
    partition = accumulator.partitions[batch.partition]
    partition.last_batch = NONE
    if not partition.has_leader:
        _drain(accumulator, index, NONE)
        return
    _remove_from_open(accumulator, producer, index)
    batch.newer = producer.full_batch
    producer.full_batch = index
    if batch.opened_run < producer.sender_runs:
        partition.full_at_run = producer.sender_runs


@kernel_in_place
def _add_to_open(accumulator: Accumulator, producer: Producer, index: int) -> None:
    """Append a batch to the list of its producer's open batches."""
    batches = accumulator.batches
    batches[index].older, batches[index].newer = producer.newest_batch, NONE
    if producer.newest_batch == NONE:
        producer.oldest_batch = index
    else:
        batches[producer.newest_batch].newer = index
    producer.newest_batch = index


@kernel_in_place
def _remove_from_open(accumulator: Accumulator, producer: Producer, index: int) -> None:
    """Remove a batch from the list of its producer's open batches."""
    batches = accumulator.batches
    older, newer = batches[index].older, batches[index].newer
    if older == NONE:
        producer.oldest_batch = newer
    else:
        batches[older].newer = newer
    if newer == NONE:
        producer.newest_batch = older
    else:
        batches[newer].older = older


@kernel_in_place
def _drain(accumulator: Accumulator, index: int, at_ms: int) -> None:
    """Write a batch to the results and free its place."""
    batch, results, pool = accumulator.batches[index], accumulator.results, accumulator.pool[0]
    results.batch_records[batch.opener] = batch.records
    results.batch_bytes[batch.opener] = batch.bytes
    results.opened_ms[batch.opener] = batch.opened_ms
    results.closed_ms[batch.opener] = at_ms
    accumulator.partitions[batch.partition].records_waiting -= batch.records
    batch.newer = pool.free
    pool.free = index


@kernel_in_place
def _record_bytes(offset_delta: int, timestamp_delta: int, record: ProducerRecord) -> int:
    """Return the size of a record in its batch (``DefaultRecord.sizeInBytes``).

    It has attributes and a header count of one byte each; the rest are varints and the fields.
    """
    body = 2 + _varint_bytes(offset_delta) + _varint_bytes(timestamp_delta)
    body += field_bytes(record.key_bytes) + field_bytes(record.value_bytes)
    return _varint_bytes(body) + body


@kernel_in_place
def field_bytes(length: int) -> int:
    """Return the bytes of a key or a value with its length, which is -1 for null."""
    return 1 if length == NONE else _varint_bytes(length) + length


@kernel_in_place
def _varint_bytes(value: int) -> int:
    """Return the bytes of a zigzag varint (``ByteUtils.sizeOfVarlong``)."""
    zigzag = 2 * value if value >= 0 else -2 * value - 1
    count = 1
    while zigzag >= 0x80:
        zigzag >>= 7
        count += 1
    return count


@kernel_in_place
def batches_left_by_run(accumulator: Accumulator, topic: TopicInfo, number: int, run: int) -> int:
    """Return the size of a queue as the sender's run computed it for the load statistics, 0 or 1.

    A run drains all but the last batch of a queue. Partitions without a leader are left out (KIP-794,
    ``RecordAccumulator.updatePartitionLoadStats``).
    """
    partition = accumulator.partitions[topic.first_partition + number]
    if not partition.has_leader:
        return 0
    index = partition.last_batch
    waits = index != NONE and accumulator.batches[index].opened_run < run
    return 1 if waits or partition.full_at_run == run else 0


# ---- Sender


@kernel_in_place
def advance(accumulator: Accumulator, settings: ProducerSettings, producer: Producer, now_ms: int) -> None:
    """Run the sender until the time of the next record."""
    if producer.appended:
        _run_once(accumulator, settings, producer, producer.clock_ms)
    while producer.oldest_batch != NONE:
        expiry = accumulator.batches[producer.oldest_batch].opened_ms + settings.linger_ms
        if expiry > now_ms:
            break
        _run_once(accumulator, settings, producer, expiry)
    producer.clock_ms = now_ms


@kernel_in_place
def _run_once(accumulator: Accumulator, settings: ProducerSettings, producer: Producer, now_ms: int) -> None:
    """Drain the batches that are full or have waited for linger.ms (``RecordAccumulator.batchReady``)."""
    while producer.full_batch != NONE:
        index = producer.full_batch
        producer.full_batch = accumulator.batches[index].newer
        _drain(accumulator, index, now_ms)
    while (
        producer.oldest_batch != NONE
        and accumulator.batches[producer.oldest_batch].opened_ms + settings.linger_ms <= now_ms
    ):
        index = producer.oldest_batch
        _remove_from_open(accumulator, producer, index)
        accumulator.partitions[accumulator.batches[index].partition].last_batch = NONE
        _drain(accumulator, index, now_ms)
    producer.sender_runs += 1
    producer.appended = False


@kernel_in_place
def finish(accumulator: Accumulator, settings: ProducerSettings, producers: int, partitions: int) -> None:
    """Run the senders until every batch is sent, except those of partitions without a leader."""
    for producer_index in range(producers):
        producer = accumulator.producers[producer_index]
        if producer.appended:
            _run_once(accumulator, settings, producer, producer.clock_ms)
        while producer.oldest_batch != NONE:
            expiry = accumulator.batches[producer.oldest_batch].opened_ms + settings.linger_ms
            _run_once(accumulator, settings, producer, expiry)
    for place in range(partitions):
        if accumulator.partitions[place].last_batch != NONE:
            _drain(accumulator, accumulator.partitions[place].last_batch, NONE)
