"""The batches of producers: Java's ``RecordAccumulator``, and the ``Sender`` that takes them from it (1.0 to 4.3).

They are not compressed, without headers, and sent by a sender that finds every broker ready. It runs after the last
record of a millisecond, and whenever a batch has waited for linger.ms; it takes what is full, followed by another
batch, or has waited so long. Time is that of the records, as far as it does not go back.
"""

from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.kernel import kernel_in_place
from rebalance_sim.kafka.partitioners.thread_local_random import states
from rebalance_sim.kafka.strings import Ints, Ints32

NONE = -1
"""Stands for no partition, no key, no value, no batch and no time."""
BATCH_SIZE = 16_384
"""Java's default of batch.size, in bytes."""

_BATCH_OVERHEAD = 61
"""``DefaultRecordBatch.RECORD_BATCH_OVERHEAD``."""
_MAX_RECORD_OVERHEAD = 21
"""``DefaultRecord.MAX_RECORD_OVERHEAD``."""

# Columns of what is remembered. Of a producer the first two are the state of its random numbers.
CLOCK, RUNS, _APPENDED, _OLDEST, _NEWEST, _FULL = range(2, 8)
_PRODUCER_COLUMNS = 8
OWNER, FIRST, COUNT, AVAILABLE = range(4)
TOPIC_COLUMNS = 4
"""Partitioners add their own, from here on, and to partitions as well."""
HAS_LEADER, RECORDS_WAITING, _LAST, _WAITED_RUN = range(4)
PARTITION_COLUMNS = 4
_PLACE, _RECORDS, _BYTES, _LIMIT, _BASE_MS, _OPENED, _OPENED_RUN, _OPENER, _OLDER, _NEWER = range(10)
_BATCH_COLUMNS = 10
_USED, _FREE = range(2)
_LONG_AGO = -(2**62)


class Settings(NamedTuple):
    """What producers are configured with."""

    batch_size: int = BATCH_SIZE
    """batch.size, in bytes."""
    linger_ms: int = 0
    """linger.ms."""
    adaptive: bool = True
    """partitioner.adaptive.partitioning.enable, and the same in franz-go."""


class Record(NamedTuple):
    """A record that is to be appended."""

    row: int
    """Where it was given."""
    partition: int
    """NONE for one that goes where the partitioner says."""
    key_bytes: int
    value_bytes: int
    at_ms: int


class Sent(NamedTuple):
    """What became of each record, and of the batches, each told with the record that opened it."""

    partitions: Ints32
    batch_records: Ints32
    """Records of the batch; 0, as the following, with a record that opened none."""
    batch_bytes: Ints32
    opened_ms: Ints
    closed_ms: Ints
    """When it was sent; NONE where the partition has no leader: such a batch is never sent."""


class Fleet(NamedTuple):
    """All that producers remember."""

    producers: Ints
    topics: Ints
    """A row a topic of a producer."""
    partitions: Ints
    """A row a partition of a topic of a producer."""
    batches: Ints
    """A row a batch that is not sent; it is used again for another, since what is small stays near the processor."""
    rows: Ints
    """How many rows of batches have been used, and the first of those that are free again."""
    sent: Sent


def new_fleet(seeds: Ints, topics: Ints, partitions: Ints, records: int) -> Fleet:
    """Make producers, each with the seed of its random numbers, that have not yet sent any of so many records."""
    producers = np.full((len(seeds), _PRODUCER_COLUMNS), NONE, np.int64)
    producers[:, :2] = states(seeds)
    producers[:, [RUNS, _APPENDED]] = 0
    producers[:, CLOCK] = _LONG_AGO
    partitions[:, [_LAST, _WAITED_RUN]] = NONE
    partitions[:, RECORDS_WAITING] = 0
    batches = np.empty((records, _BATCH_COLUMNS), np.int64)
    numbers, counts, sizes = (np.zeros(records, np.int32) for _ in range(3))
    sent = Sent(numbers, counts, sizes, np.zeros(records, np.int64), np.zeros(records, np.int64))
    return Fleet(producers, topics, partitions, batches, np.array([0, NONE]), sent)


@kernel_in_place
def clock(fleet: Fleet, producer: int) -> int:
    """Return the latest time of a producer's records so far."""
    return fleet.producers[producer, CLOCK]


# ---- batches


@kernel_in_place
def is_last_full(fleet: Fleet, topic: int, number: int) -> bool:
    """Tell whether a queue has no batch that takes more records (``allBatchesFull``)."""
    return fleet.partitions[fleet.topics[topic, FIRST] + number, _LAST] == NONE


@kernel_in_place
def try_append(fleet: Fleet, topic: int, number: int, record: Record) -> int:
    """Append to the last batch of a queue, and return the bytes that adds; without room there it is done, and 0."""
    last = fleet.partitions[fleet.topics[topic, FIRST] + number, _LAST]
    if last == NONE:
        return 0
    grown = _record_bytes(fleet.batches[last, _RECORDS], record.at_ms - fleet.batches[last, _BASE_MS], record)
    if fleet.batches[last, _LIMIT] < fleet.batches[last, _BYTES] + grown:
        _close(fleet, fleet.topics[topic, OWNER], last)
        return 0
    _grow(fleet, fleet.topics[topic, OWNER], last, grown)
    return grown


@kernel_in_place
def append_new_batch(fleet: Fleet, settings: Settings, topic: int, number: int, record: Record) -> int:
    """Open a batch, and return its bytes."""
    place = fleet.topics[topic, FIRST] + number
    producer = fleet.topics[topic, OWNER]
    fields = field_bytes(record.key_bytes) + field_bytes(record.value_bytes)
    index = _free_row(fleet)
    fleet.batches[index, _PLACE] = place
    fleet.batches[index, _RECORDS] = 0
    fleet.batches[index, _BYTES] = _BATCH_OVERHEAD
    fleet.batches[index, _LIMIT] = max(settings.batch_size, _BATCH_OVERHEAD + _MAX_RECORD_OVERHEAD + 1 + fields)
    fleet.batches[index, _BASE_MS] = record.at_ms
    fleet.batches[index, _OPENED] = fleet.producers[producer, CLOCK]
    fleet.batches[index, _OPENED_RUN] = fleet.producers[producer, RUNS]
    fleet.batches[index, _OPENER] = record.row
    fleet.partitions[place, _LAST] = index
    if fleet.partitions[place, HAS_LEADER]:
        _join(fleet, producer, index)
    grown = _record_bytes(0, 0, record)
    _grow(fleet, producer, index, grown)
    return _BATCH_OVERHEAD + grown


@kernel_in_place
def _free_row(fleet: Fleet) -> int:
    index = fleet.rows[_FREE]
    if index == NONE:
        fleet.rows[_USED] += 1
        return fleet.rows[_USED] - 1
    fleet.rows[_FREE] = fleet.batches[index, _NEWER]
    return index


@kernel_in_place
def _grow(fleet: Fleet, producer: int, index: int, grown: int) -> None:
    fleet.batches[index, _RECORDS] += 1
    fleet.batches[index, _BYTES] += grown
    fleet.partitions[fleet.batches[index, _PLACE], RECORDS_WAITING] += 1
    fleet.producers[producer, _APPENDED] = 1
    if fleet.batches[index, _LIMIT] <= fleet.batches[index, _BYTES]:
        _close(fleet, producer, index)


@kernel_in_place
def _close(fleet: Fleet, producer: int, index: int) -> None:
    """Take a batch from those that wait to those that the sender takes at its next run, or never."""
    fleet.partitions[fleet.batches[index, _PLACE], _LAST] = NONE
    if not fleet.partitions[fleet.batches[index, _PLACE], HAS_LEADER]:
        _drain(fleet, index, NONE)
        return
    _leave(fleet, producer, index)
    fleet.batches[index, _NEWER], fleet.producers[producer, _FULL] = fleet.producers[producer, _FULL], index
    if fleet.batches[index, _OPENED_RUN] < fleet.producers[producer, RUNS]:
        fleet.partitions[fleet.batches[index, _PLACE], _WAITED_RUN] = fleet.producers[producer, RUNS]


@kernel_in_place
def _join(fleet: Fleet, producer: int, index: int) -> None:
    """Put a batch at the end of the list of its producer's waiting ones."""
    fleet.batches[index, _OLDER], fleet.batches[index, _NEWER] = fleet.producers[producer, _NEWEST], NONE
    if fleet.producers[producer, _NEWEST] == NONE:
        fleet.producers[producer, _OLDEST] = index
    else:
        fleet.batches[fleet.producers[producer, _NEWEST], _NEWER] = index
    fleet.producers[producer, _NEWEST] = index


@kernel_in_place
def _leave(fleet: Fleet, producer: int, index: int) -> None:
    """Take a batch out of the list of its producer's waiting ones."""
    older, newer = fleet.batches[index, _OLDER], fleet.batches[index, _NEWER]
    if older == NONE:
        fleet.producers[producer, _OLDEST] = newer
    else:
        fleet.batches[older, _NEWER] = newer
    if newer == NONE:
        fleet.producers[producer, _NEWEST] = older
    else:
        fleet.batches[newer, _OLDER] = older


@kernel_in_place
def _drain(fleet: Fleet, index: int, at_ms: int) -> None:
    """Tell what became of a batch, whose row is free then."""
    opener = fleet.batches[index, _OPENER]
    fleet.sent.batch_records[opener] = fleet.batches[index, _RECORDS]
    fleet.sent.batch_bytes[opener] = fleet.batches[index, _BYTES]
    fleet.sent.opened_ms[opener] = fleet.batches[index, _OPENED]
    fleet.sent.closed_ms[opener] = at_ms
    fleet.partitions[fleet.batches[index, _PLACE], RECORDS_WAITING] -= fleet.batches[index, _RECORDS]
    fleet.batches[index, _NEWER], fleet.rows[_FREE] = fleet.rows[_FREE], index


@kernel_in_place
def _record_bytes(offset_delta: int, timestamp_delta: int, record: Record) -> int:
    """``DefaultRecord.sizeInBytes``: attributes, no headers, and the rest as varints."""
    body = 2 + _varint_bytes(offset_delta) + _varint_bytes(timestamp_delta)
    body += field_bytes(record.key_bytes) + field_bytes(record.value_bytes)
    return _varint_bytes(body) + body


@kernel_in_place
def field_bytes(length: int) -> int:
    """Return the bytes of a key or a value behind its length."""
    return 1 if length == NONE else _varint_bytes(length) + length


@kernel_in_place
def _varint_bytes(value: int) -> int:
    """``ByteUtils.sizeOfVarlong``: zigzag, seven bits a byte."""
    zigzag = 2 * value if value >= 0 else -2 * value - 1
    count = 1
    while zigzag >= 0x80:
        zigzag >>= 7
        count += 1
    return count


@kernel_in_place
def waited_at_run(fleet: Fleet, topic: int, number: int, run: int) -> int:
    """Return how many batches of a queue the sender's last run left, one or none; what has no leader does not count."""
    place = fleet.topics[topic, FIRST] + number
    if not fleet.partitions[place, HAS_LEADER]:
        return 0
    last = fleet.partitions[place, _LAST]
    waits = last != NONE and fleet.batches[last, _OPENED_RUN] < run
    return 1 if waits or fleet.partitions[place, _WAITED_RUN] == run else 0


# ---- what the sender does


@kernel_in_place
def advance(fleet: Fleet, settings: Settings, producer: int, now_ms: int) -> None:
    """Let the sender run until the time of the next record."""
    if fleet.producers[producer, _APPENDED] == 1:
        _run_once(fleet, settings, producer, fleet.producers[producer, CLOCK])
    while fleet.producers[producer, _OLDEST] != NONE:
        expiry = fleet.batches[fleet.producers[producer, _OLDEST], _OPENED] + settings.linger_ms
        if expiry > now_ms:
            break
        _run_once(fleet, settings, producer, expiry)
    fleet.producers[producer, CLOCK] = now_ms


@kernel_in_place
def _run_once(fleet: Fleet, settings: Settings, producer: int, now_ms: int) -> None:
    """Send what is full or has waited long enough."""
    while fleet.producers[producer, _FULL] != NONE:
        index = fleet.producers[producer, _FULL]
        fleet.producers[producer, _FULL] = fleet.batches[index, _NEWER]
        _drain(fleet, index, now_ms)
    while (
        fleet.producers[producer, _OLDEST] != NONE
        and fleet.batches[fleet.producers[producer, _OLDEST], _OPENED] + settings.linger_ms <= now_ms
    ):
        index = fleet.producers[producer, _OLDEST]
        _leave(fleet, producer, index)
        fleet.partitions[fleet.batches[index, _PLACE], _LAST] = NONE
        _drain(fleet, index, now_ms)
    fleet.producers[producer, RUNS] += 1
    fleet.producers[producer, _APPENDED] = 0


@kernel_in_place
def finish(fleet: Fleet, settings: Settings) -> None:
    """Let time go on until all that can be sent is sent."""
    for producer in range(len(fleet.producers)):
        if fleet.producers[producer, _APPENDED] == 1:
            _run_once(fleet, settings, producer, fleet.producers[producer, CLOCK])
        while fleet.producers[producer, _OLDEST] != NONE:
            expiry = fleet.batches[fleet.producers[producer, _OLDEST], _OPENED] + settings.linger_ms
            _run_once(fleet, settings, producer, expiry)
    for place in range(len(fleet.partitions)):
        if fleet.partitions[place, _LAST] != NONE:
            _drain(fleet, fleet.partitions[place, _LAST], NONE)
