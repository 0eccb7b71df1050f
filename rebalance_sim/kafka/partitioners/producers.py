"""Producers that send records, one after the other: where those without a key go, and the batches that come of it.

The batches are those of Java's ``RecordAccumulator`` (1.0 to 4.3): not compressed, without headers, and sent by a
sender that finds every broker ready. It looks after the last record of a millisecond, and whenever a batch has waited
for linger.ms; it takes what is full, followed by another batch, or has waited so long. Time is that of the records, as
far as it does not go back.

What places a record is one of the rules of ``Unkeyed``. The sources are those of ``clients``; the rules of Java are
``DefaultPartitioner`` (2.3.1), ``StickyPartitionCache`` with ``KafkaProducer.doSend`` (2.8.2), and
``BuiltInPartitioner`` with ``RecordAccumulator`` (4.3.1).
"""

from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.kernel import kernel_in_place
from rebalance_sim.kafka.partitioners.clients import Unkeyed
from rebalance_sim.kafka.partitioners.thread_local_random import next_int, next_positive, states
from rebalance_sim.kafka.strings import Ints, Ints32

NONE = -1
"""Stands for no partition, no key, no value, no batch and no time."""
BATCH_SIZE = 16_384
"""Java's default of batch.size, in bytes."""
STICKY_LINGER_MS = 10
"""librdkafka's default of sticky.partitioning.linger.ms, and Pulsar's of the time to stay with a partition."""
FRANZ_GO_BYTES = 64 << 10
"""franz-go's default of the bytes to stay with a partition."""

_BATCH_OVERHEAD = 61
"""``DefaultRecordBatch.RECORD_BATCH_OVERHEAD``."""
_MAX_RECORD_OVERHEAD = 21
"""``DefaultRecord.MAX_RECORD_OVERHEAD``."""

_JAVA_ROUND_ROBIN, _KAFKAJS_ROUND_ROBIN = int(Unkeyed.JAVA_ROUND_ROBIN), int(Unkeyed.KAFKAJS_ROUND_ROBIN)
_KAFKA_GO_ROUND_ROBIN, _RANDOM = int(Unkeyed.KAFKA_GO_ROUND_ROBIN), int(Unkeyed.RANDOM)
_RANDOM_AVAILABLE, _RANDOM_LIBRDKAFKA = int(Unkeyed.RANDOM_AVAILABLE), int(Unkeyed.RANDOM_LIBRDKAFKA)
_UNTIL_NEW_BATCH, _BY_BYTES = int(Unkeyed.STICKY_UNTIL_NEW_BATCH), int(Unkeyed.STICKY_BY_BYTES)
_BY_TIME, _BY_OWN_BYTES = int(Unkeyed.STICKY_BY_TIME), int(Unkeyed.STICKY_BY_OWN_BYTES)

# Columns of the arrays below. Of a producer the first two are the state of its random numbers.
_CLOCK, _LOOK, _APPENDED, _OLDEST, _NEWEST, _FULL = range(2, 8)
_PRODUCER_COLUMNS = 8
_OWNER, _RULE, _FIRST, _COUNT, _AVAILABLE = range(5)
_STICKY, _PRODUCED, _COUNTER, _SWITCHED, _QUEUES, _QUEUES_LOOK, _QUEUES_BEFORE = range(5, 12)
_TOPIC_COLUMNS = 12
_HAS_LEADER, _HAS_QUEUE, _LAST, _WAITED_LOOK, _RECORDS_WAITING = range(5)
_PARTITION_COLUMNS = 5
_PLACE, _RECORDS, _BYTES, _LIMIT, _BASE_MS, _OPENED, _OPENED_LOOK, _OPENER, _OLDER, _NEWER = range(10)
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


class ProducerTopics(NamedTuple):
    """The topics that producers send to, producer by producer."""

    producers: Ints
    """Indices of the producers."""
    rules: Ints
    """Of ``Unkeyed``."""
    partitions: Ints
    """How many each topic has."""
    has_leader: Ints
    """Which of these are available, topic after topic."""


class Records(NamedTuple):
    """Records, in any order."""

    order: Ints
    """Indices of the records as they are sent, one after the other; producers may take turns."""
    topics: Ints
    """Indices of ``ProducerTopics``."""
    partitions: Ints
    """Of records that have one by their key or explicitly, else NONE."""
    key_bytes: Ints
    """NONE where there is no key."""
    value_bytes: Ints
    """NONE where there is no value."""
    at_ms: Ints


class Sent(NamedTuple):
    """What became of each record, and of the batches, each told with the record that opened it."""

    partitions: Ints32
    batch_records: Ints32
    """Records of the batch; 0, as the following, with a record that opened none."""
    batch_bytes: Ints32
    opened_ms: Ints
    closed_ms: Ints
    """When it was sent; NONE where the partition has no leader: such a batch is never sent."""


class _Fleet(NamedTuple):
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


def send(settings: Settings, seeds: Ints, topics: ProducerTopics, records: Records) -> Sent:
    """Let producers, each with the seed of its random numbers, send all their records.

    >>> topics = ProducerTopics(np.array([0]), np.array([Unkeyed.STICKY_BY_BYTES]), np.array([3]), np.array([1, 0, 1]))
    >>> nothing = np.full(3, NONE)
    >>> sizes, at_ms = np.array([10, 20, 30]), np.array([100, 103, 120])
    >>> records = Records(np.arange(3), np.zeros(3, np.int64), nothing, nothing, sizes, at_ms)
    >>> sent = send(Settings(linger_ms=5), np.array([42]), topics, records)
    >>> sent.partitions.tolist(), sent.batch_records.tolist(), sent.closed_ms.tolist()
    ([0, 0, 0], [2, 0, 1], [105, 0, 125])
    """
    count = len(records.order)
    partitions, batch_records, batch_bytes = (np.zeros(count, np.int32) for _ in range(3))
    sent = Sent(partitions, batch_records, batch_bytes, np.zeros(count, np.int64), np.zeros(count, np.int64))
    fleet = _Fleet(
        _new_producers(seeds),
        _new_topics(topics),
        _new_partitions(topics.has_leader),
        np.empty((count, _BATCH_COLUMNS), np.int64),
        np.array([0, NONE]),
        sent,
    )
    _send(fleet, settings, records)
    _finish(fleet, settings)
    return sent


def _new_producers(seeds: Ints) -> Ints:
    rows = np.full((len(seeds), _PRODUCER_COLUMNS), NONE, np.int64)
    rows[:, :2] = states(seeds)
    rows[:, [_LOOK, _APPENDED]] = 0
    rows[:, _CLOCK] = _LONG_AGO
    return rows


def _new_topics(topics: ProducerTopics) -> Ints:
    ends = np.cumsum(topics.partitions)
    leaders_before = np.concatenate([[0], np.cumsum(topics.has_leader)])
    rows = np.full((len(ends), _TOPIC_COLUMNS), NONE, np.int64)
    rows[:, _OWNER], rows[:, _RULE], rows[:, _COUNT] = topics.producers, topics.rules, topics.partitions
    rows[:, _FIRST] = ends - topics.partitions
    rows[:, _AVAILABLE] = leaders_before[ends] - leaders_before[ends - topics.partitions]
    rows[:, [_PRODUCED, _QUEUES]] = 0
    return rows


def _new_partitions(has_leader: Ints) -> Ints:
    rows = np.full((len(has_leader), _PARTITION_COLUMNS), NONE, np.int64)
    rows[:, [_HAS_QUEUE, _RECORDS_WAITING]] = 0
    rows[:, _HAS_LEADER] = has_leader
    return rows


# ---- what the application does


@kernel_in_place
def _send(fleet: _Fleet, settings: Settings, records: Records) -> None:
    for i in records.order:
        topic = records.topics[i]
        producer = fleet.topics[topic, _OWNER]
        if records.at_ms[i] > fleet.producers[producer, _CLOCK]:
            _advance(fleet, settings, producer, records.at_ms[i])
        record = _Record(i, records.partitions[i], records.key_bytes[i], records.value_bytes[i], records.at_ms[i])
        fleet.sent.partitions[i] = _place(fleet, settings, topic, record)
        fleet.producers[producer, _APPENDED] = 1


class _Record(NamedTuple):
    row: int
    partition: int
    """NONE for one that goes where the partitioner says."""
    key_bytes: int
    value_bytes: int
    at_ms: int


@kernel_in_place
def _place(fleet: _Fleet, settings: Settings, topic: int, record: _Record) -> int:
    """Append a record, and return its partition."""
    rule = fleet.topics[topic, _RULE]
    if rule == _BY_BYTES:
        return _append_by_bytes(fleet, settings, topic, record)
    if rule == _UNTIL_NEW_BATCH:
        return _append_until_new_batch(fleet, settings, topic, record)
    number = record.partition
    if number == NONE:
        number = _next_partition(fleet, settings, topic, rule, record)
    if _try_append(fleet, topic, number, record) == 0:
        _append_new_batch(fleet, settings, topic, number, record)
    return number


@kernel_in_place
def _next_partition(fleet: _Fleet, settings: Settings, topic: int, rule: int, record: _Record) -> int:
    """Apply those rules that no batches have a part in, though franz-go's asks how many records wait."""
    producer = fleet.topics[topic, _OWNER]
    if rule == _KAFKA_GO_ROUND_ROBIN:
        fleet.topics[topic, _COUNTER] += 1  # From NONE.
        return fleet.topics[topic, _COUNTER] % fleet.topics[topic, _COUNT]
    if rule in (_JAVA_ROUND_ROBIN, _KAFKAJS_ROUND_ROBIN):
        turn = _next_turn(fleet, topic)
        if fleet.topics[topic, _AVAILABLE]:
            return _available(fleet, topic, turn % fleet.topics[topic, _AVAILABLE])
        return turn % fleet.topics[topic, _COUNT]
    if rule == _RANDOM:
        return next_positive(fleet.producers, producer) % fleet.topics[topic, _COUNT]
    if rule == _RANDOM_AVAILABLE:
        return _draw_available(fleet, topic)
    if rule == _RANDOM_LIBRDKAFKA:
        return _draw_twice(fleet, topic)
    if rule == _BY_TIME:
        # rd_interval: an interval that is just over does not count, and time begins long before the first record.
        has_leader = (
            fleet.topics[topic, _STICKY] != NONE
            and fleet.partitions[fleet.topics[topic, _FIRST] + fleet.topics[topic, _STICKY], _HAS_LEADER]
        )
        if not has_leader or _now(fleet, producer) > fleet.topics[topic, _SWITCHED] + STICKY_LINGER_MS:
            fleet.topics[topic, _STICKY], fleet.topics[topic, _SWITCHED] = (
                _draw_twice(fleet, topic),
                _now(fleet, producer),
            )
        return fleet.topics[topic, _STICKY]
    if rule == _BY_OWN_BYTES:
        return _by_own_bytes(fleet, settings, topic, record)
    if fleet.topics[topic, _COUNTER] == NONE:
        fleet.topics[topic, _COUNTER] = next_positive(fleet.producers, producer)
    return (_now(fleet, producer) // STICKY_LINGER_MS + fleet.topics[topic, _COUNTER]) % fleet.topics[topic, _COUNT]


@kernel_in_place
def _now(fleet: _Fleet, producer: int) -> int:
    return fleet.producers[producer, _CLOCK]


@kernel_in_place
def _next_turn(fleet: _Fleet, topic: int) -> int:
    """Count from a random number: Java takes the number itself first, KafkaJS the one after it."""
    if fleet.topics[topic, _STICKY] == NONE:
        fleet.topics[topic, _STICKY] = 0  # Only says that the count has begun.
        fleet.topics[topic, _COUNTER] = next_int(fleet.producers, fleet.topics[topic, _OWNER]) - (
            fleet.topics[topic, _RULE] == _JAVA_ROUND_ROBIN
        )
    fleet.topics[topic, _COUNTER] += 1
    return fleet.topics[topic, _COUNTER] & 0x7FFFFFFF


@kernel_in_place
def _available(fleet: _Fleet, topic: int, place: int) -> int:
    """Return the available partition that has this place among them."""
    if fleet.topics[topic, _AVAILABLE] == fleet.topics[topic, _COUNT]:
        return place
    number = 0
    while place > 0 or not fleet.partitions[fleet.topics[topic, _FIRST] + number, _HAS_LEADER]:
        place -= fleet.partitions[fleet.topics[topic, _FIRST] + number, _HAS_LEADER]
        number += 1
    return number


@kernel_in_place
def _draw_available(fleet: _Fleet, topic: int) -> int:
    drawn = next_positive(fleet.producers, fleet.topics[topic, _OWNER])
    if fleet.topics[topic, _AVAILABLE]:
        return _available(fleet, topic, drawn % fleet.topics[topic, _AVAILABLE])
    return drawn % fleet.topics[topic, _COUNT]


@kernel_in_place
def _draw_twice(fleet: _Fleet, topic: int) -> int:
    """Draw one of all partitions, and once more if that has no leader (``rd_kafka_msg_partitioner_random``)."""
    number = next_positive(fleet.producers, fleet.topics[topic, _OWNER]) % fleet.topics[topic, _COUNT]
    if fleet.partitions[fleet.topics[topic, _FIRST] + number, _HAS_LEADER]:
        return number
    return next_positive(fleet.producers, fleet.topics[topic, _OWNER]) % fleet.topics[topic, _COUNT]


@kernel_in_place
def _by_own_bytes(fleet: _Fleet, settings: Settings, topic: int, record: _Record) -> int:
    """Do as franz-go's ``UniformBytesPartitioner``: a partition for so many bytes, without those of batches."""
    size = 4 + _field_bytes(record.key_bytes) + _field_bytes(record.value_bytes)
    fleet.topics[topic, _PRODUCED] += size
    if fleet.topics[topic, _PRODUCED] >= FRANZ_GO_BYTES:
        fleet.topics[topic, _PRODUCED], fleet.topics[topic, _STICKY] = size, NONE
    if fleet.topics[topic, _STICKY] == NONE:
        fleet.topics[topic, _STICKY] = (
            _draw_by_records(fleet, topic) if settings.adaptive else _draw_available(fleet, topic)
        )
    return fleet.topics[topic, _STICKY]


@kernel_in_place
def _draw_by_records(fleet: _Fleet, topic: int) -> int:
    """Draw an available partition; one weighs the less the more records wait in it."""
    if fleet.topics[topic, _AVAILABLE] == 0:
        return _draw_available(fleet, topic)
    total, last = 0.0, 0
    for number in range(fleet.topics[topic, _COUNT]):
        if fleet.partitions[fleet.topics[topic, _FIRST] + number, _HAS_LEADER]:
            total, last = (
                total + 1 / (1 + fleet.partitions[fleet.topics[topic, _FIRST] + number, _RECORDS_WAITING]),
                number,
            )
    pick = next_positive(fleet.producers, fleet.topics[topic, _OWNER]) / 2**31 * total
    for number in range(last):
        if fleet.partitions[fleet.topics[topic, _FIRST] + number, _HAS_LEADER]:
            pick -= 1 / (1 + fleet.partitions[fleet.topics[topic, _FIRST] + number, _RECORDS_WAITING])
            if pick <= 0:
                return number
    return last


# ---- Java 2.4 to 3.2: a partition until an append would open a batch


@kernel_in_place
def _append_until_new_batch(fleet: _Fleet, settings: Settings, topic: int, record: _Record) -> int:
    """Do as ``KafkaProducer.doSend``: before any record opens a batch, the cache is told, and asked again."""
    number = record.partition
    if number == NONE:
        if fleet.topics[topic, _STICKY] == NONE:
            _change_sticky(fleet, topic, NONE)
        number = fleet.topics[topic, _STICKY]
    if _try_append(fleet, topic, number, record):
        return number
    _change_sticky(fleet, topic, number)
    if record.partition == NONE:
        number = fleet.topics[topic, _STICKY]
    if _try_append(fleet, topic, number, record) == 0:
        _append_new_batch(fleet, settings, topic, number, record)
    return number


@kernel_in_place
def _change_sticky(fleet: _Fleet, topic: int, previous: int) -> None:
    """``StickyPartitionCache.nextPartition``: nothing changes if the batch is not of the partition that is cached."""
    old = fleet.topics[topic, _STICKY]
    if old not in (NONE, previous):
        return
    if fleet.topics[topic, _AVAILABLE] == 0:
        fleet.topics[topic, _STICKY] = (
            next_positive(fleet.producers, fleet.topics[topic, _OWNER]) % fleet.topics[topic, _COUNT]
        )
    elif fleet.topics[topic, _AVAILABLE] == 1:
        fleet.topics[topic, _STICKY] = _available(fleet, topic, 0)
    else:
        while fleet.topics[topic, _STICKY] == old:
            fleet.topics[topic, _STICKY] = _draw_available(fleet, topic)


# ---- Java since 3.3 (KIP-794): a partition for batch.size bytes


@kernel_in_place
def _append_by_bytes(fleet: _Fleet, settings: Settings, topic: int, record: _Record) -> int:
    """Do as ``RecordAccumulator.append``: whenever it finds another partition cached, it begins anew."""
    keyed = record.partition != NONE
    while True:
        if not keyed and fleet.topics[topic, _STICKY] == NONE:
            fleet.topics[topic, _STICKY], fleet.topics[topic, _PRODUCED] = _draw_by_queues(fleet, settings, topic), 0
        number = record.partition if keyed else fleet.topics[topic, _STICKY]
        _note_queue(fleet, topic, number)
        if not keyed and _makes_up_for_switch(fleet, settings, topic, number):
            continue
        grown = _try_append(fleet, topic, number, record)
        if grown == 0:
            if not keyed and _makes_up_for_switch(fleet, settings, topic, number):
                continue
            grown = _append_new_batch(fleet, settings, topic, number, record)
        if not keyed:
            _count_bytes(fleet, settings, topic, grown, _is_last_full(fleet, topic, number))
        return number


@kernel_in_place
def _makes_up_for_switch(fleet: _Fleet, settings: Settings, topic: int, number: int) -> bool:
    """``partitionChanged``: a switch that was put off since the batch was not full is due when it is."""
    return _is_last_full(fleet, topic, number) and _count_bytes(fleet, settings, topic, 0, True)


@kernel_in_place
def _count_bytes(fleet: _Fleet, settings: Settings, topic: int, grown: int, may_switch: bool) -> bool:
    """``updatePartitionInfo``: tell whether that was enough for the partition."""
    fleet.topics[topic, _PRODUCED] += grown
    enough = max(1, settings.batch_size)
    if (fleet.topics[topic, _PRODUCED] >= enough and may_switch) or fleet.topics[topic, _PRODUCED] >= 2 * enough:
        fleet.topics[topic, _STICKY], fleet.topics[topic, _PRODUCED] = _draw_by_queues(fleet, settings, topic), 0
        return True
    return False


@kernel_in_place
def _note_queue(fleet: _Fleet, topic: int, number: int) -> None:
    """Count the partitions that have had a queue, now and before the sender's last look."""
    place = fleet.topics[topic, _FIRST] + number
    if fleet.partitions[place, _HAS_QUEUE]:
        return
    look = fleet.producers[fleet.topics[topic, _OWNER], _LOOK]
    if fleet.topics[topic, _QUEUES_LOOK] != look:
        fleet.topics[topic, _QUEUES_LOOK], fleet.topics[topic, _QUEUES_BEFORE] = look, fleet.topics[topic, _QUEUES]
    fleet.partitions[place, _HAS_QUEUE] = 1
    fleet.topics[topic, _QUEUES] += 1


@kernel_in_place
def _draw_by_queues(fleet: _Fleet, settings: Settings, topic: int) -> int:
    """``BuiltInPartitioner.nextPartition``, with the sizes of the queues at the sender's last look.

    Then it had taken all but the last batch of each queue, if that had room and time left: one batch or none. They
    count as soon as every partition has had a queue.
    """
    look = fleet.producers[fleet.topics[topic, _OWNER], _LOOK]
    queues = (
        fleet.topics[topic, _QUEUES_BEFORE]
        if fleet.topics[topic, _QUEUES_LOOK] == look
        else fleet.topics[topic, _QUEUES]
    )
    if (
        not settings.adaptive
        or queues < fleet.topics[topic, _COUNT]
        or fleet.topics[topic, _COUNT] < 2
        or fleet.topics[topic, _AVAILABLE] == 0
    ):
        return _draw_available(fleet, topic)
    waiting = 0
    for number in range(fleet.topics[topic, _COUNT]):
        waiting += _size_at_look(fleet, topic, number, look)
    longest = min(waiting, 1)
    total = fleet.topics[topic, _AVAILABLE] * (longest + 1) - waiting
    drawn = next_positive(fleet.producers, fleet.topics[topic, _OWNER]) % total
    for number in range(fleet.topics[topic, _COUNT]):
        if fleet.partitions[fleet.topics[topic, _FIRST] + number, _HAS_LEADER]:
            drawn -= longest + 1 - _size_at_look(fleet, topic, number, look)
            if drawn < 0:
                return number
    return NONE


@kernel_in_place
def _size_at_look(fleet: _Fleet, topic: int, number: int, look: int) -> int:
    """Return how many batches waited after the look; what has no leader does not count."""
    if not fleet.partitions[fleet.topics[topic, _FIRST] + number, _HAS_LEADER]:
        return 0
    waits = (
        fleet.partitions[fleet.topics[topic, _FIRST] + number, _LAST] != NONE
        and fleet.batches[fleet.partitions[fleet.topics[topic, _FIRST] + number, _LAST], _OPENED_LOOK] < look
    )
    return 1 if waits or fleet.partitions[fleet.topics[topic, _FIRST] + number, _WAITED_LOOK] == look else 0


# ---- batches


@kernel_in_place
def _is_last_full(fleet: _Fleet, topic: int, number: int) -> bool:
    """Tell whether a queue has no batch that takes more records (``allBatchesFull``)."""
    return fleet.partitions[fleet.topics[topic, _FIRST] + number, _LAST] == NONE


@kernel_in_place
def _try_append(fleet: _Fleet, topic: int, number: int, record: _Record) -> int:
    """Append to the last batch of a queue, and return the bytes that adds; without room there it is done, and 0."""
    last = fleet.partitions[fleet.topics[topic, _FIRST] + number, _LAST]
    if last == NONE:
        return 0
    grown = _record_bytes(fleet.batches[last, _RECORDS], record.at_ms - fleet.batches[last, _BASE_MS], record)
    if fleet.batches[last, _LIMIT] < fleet.batches[last, _BYTES] + grown:
        _close(fleet, fleet.topics[topic, _OWNER], last)
        return 0
    _grow(fleet, fleet.topics[topic, _OWNER], last, grown)
    return grown


@kernel_in_place
def _append_new_batch(fleet: _Fleet, settings: Settings, topic: int, number: int, record: _Record) -> int:
    """Open a batch, and return its bytes."""
    place = fleet.topics[topic, _FIRST] + number
    producer = fleet.topics[topic, _OWNER]
    fields = _field_bytes(record.key_bytes) + _field_bytes(record.value_bytes)
    index = _free_row(fleet)
    fleet.batches[index, _PLACE] = place
    fleet.batches[index, _RECORDS] = 0
    fleet.batches[index, _BYTES] = _BATCH_OVERHEAD
    fleet.batches[index, _LIMIT] = max(settings.batch_size, _BATCH_OVERHEAD + _MAX_RECORD_OVERHEAD + 1 + fields)
    fleet.batches[index, _BASE_MS] = record.at_ms
    fleet.batches[index, _OPENED] = fleet.producers[producer, _CLOCK]
    fleet.batches[index, _OPENED_LOOK] = fleet.producers[producer, _LOOK]
    fleet.batches[index, _OPENER] = record.row
    fleet.partitions[place, _LAST] = index
    if fleet.partitions[place, _HAS_LEADER]:
        _join(fleet, producer, index)
    grown = _record_bytes(0, 0, record)
    _grow(fleet, producer, index, grown)
    return _BATCH_OVERHEAD + grown


@kernel_in_place
def _free_row(fleet: _Fleet) -> int:
    index = fleet.rows[_FREE]
    if index == NONE:
        fleet.rows[_USED] += 1
        return fleet.rows[_USED] - 1
    fleet.rows[_FREE] = fleet.batches[index, _NEWER]
    return index


@kernel_in_place
def _grow(fleet: _Fleet, producer: int, index: int, grown: int) -> None:
    fleet.batches[index, _RECORDS] += 1
    fleet.batches[index, _BYTES] += grown
    fleet.partitions[fleet.batches[index, _PLACE], _RECORDS_WAITING] += 1
    if fleet.batches[index, _LIMIT] <= fleet.batches[index, _BYTES]:
        _close(fleet, producer, index)


@kernel_in_place
def _close(fleet: _Fleet, producer: int, index: int) -> None:
    """Take a batch from those that wait to those that the sender takes at its next look, or never."""
    fleet.partitions[fleet.batches[index, _PLACE], _LAST] = NONE
    if not fleet.partitions[fleet.batches[index, _PLACE], _HAS_LEADER]:
        _drain(fleet, index, NONE)
        return
    _leave(fleet, producer, index)
    fleet.batches[index, _NEWER], fleet.producers[producer, _FULL] = fleet.producers[producer, _FULL], index
    if fleet.batches[index, _OPENED_LOOK] < fleet.producers[producer, _LOOK]:
        fleet.partitions[fleet.batches[index, _PLACE], _WAITED_LOOK] = fleet.producers[producer, _LOOK]


@kernel_in_place
def _join(fleet: _Fleet, producer: int, index: int) -> None:
    """Put a batch at the end of the list of its producer's waiting ones."""
    fleet.batches[index, _OLDER], fleet.batches[index, _NEWER] = fleet.producers[producer, _NEWEST], NONE
    if fleet.producers[producer, _NEWEST] == NONE:
        fleet.producers[producer, _OLDEST] = index
    else:
        fleet.batches[fleet.producers[producer, _NEWEST], _NEWER] = index
    fleet.producers[producer, _NEWEST] = index


@kernel_in_place
def _leave(fleet: _Fleet, producer: int, index: int) -> None:
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
def _drain(fleet: _Fleet, index: int, at_ms: int) -> None:
    """Tell what became of a batch, whose row is free then."""
    opener = fleet.batches[index, _OPENER]
    fleet.sent.batch_records[opener] = fleet.batches[index, _RECORDS]
    fleet.sent.batch_bytes[opener] = fleet.batches[index, _BYTES]
    fleet.sent.opened_ms[opener] = fleet.batches[index, _OPENED]
    fleet.sent.closed_ms[opener] = at_ms
    fleet.partitions[fleet.batches[index, _PLACE], _RECORDS_WAITING] -= fleet.batches[index, _RECORDS]
    fleet.batches[index, _NEWER], fleet.rows[_FREE] = fleet.rows[_FREE], index


@kernel_in_place
def _record_bytes(offset_delta: int, timestamp_delta: int, record: _Record) -> int:
    """``DefaultRecord.sizeInBytes``: attributes, no headers, and the rest as varints."""
    body = 2 + _varint_bytes(offset_delta) + _varint_bytes(timestamp_delta)
    body += _field_bytes(record.key_bytes) + _field_bytes(record.value_bytes)
    return _varint_bytes(body) + body


@kernel_in_place
def _field_bytes(length: int) -> int:
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


# ---- what the sender does


@kernel_in_place
def _advance(fleet: _Fleet, settings: Settings, producer: int, now_ms: int) -> None:
    """Let the sender look until the time of the next record."""
    if fleet.producers[producer, _APPENDED] == 1:
        _look(fleet, settings, producer, fleet.producers[producer, _CLOCK])
    while fleet.producers[producer, _OLDEST] != NONE:
        expiry = fleet.batches[fleet.producers[producer, _OLDEST], _OPENED] + settings.linger_ms
        if expiry > now_ms:
            break
        _look(fleet, settings, producer, expiry)
    fleet.producers[producer, _CLOCK] = now_ms


@kernel_in_place
def _look(fleet: _Fleet, settings: Settings, producer: int, now_ms: int) -> None:
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
    fleet.producers[producer, _LOOK] += 1
    fleet.producers[producer, _APPENDED] = 0


@kernel_in_place
def _finish(fleet: _Fleet, settings: Settings) -> None:
    """Let time go on until all that can be sent is sent."""
    for producer in range(len(fleet.producers)):
        if fleet.producers[producer, _APPENDED] == 1:
            _look(fleet, settings, producer, fleet.producers[producer, _CLOCK])
        while fleet.producers[producer, _OLDEST] != NONE:
            _look(
                fleet,
                settings,
                producer,
                fleet.batches[fleet.producers[producer, _OLDEST], _OPENED] + settings.linger_ms,
            )
    for place in range(len(fleet.partitions)):
        if fleet.partitions[place, _LAST] != NONE:
            _drain(fleet, fleet.partitions[place, _LAST], NONE)
