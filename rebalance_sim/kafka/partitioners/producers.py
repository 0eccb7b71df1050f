"""Producers that send records, one after the other: where those without a key go, and the batches that come of it.

What places a record is one of the rules of ``Unkeyed``. The sources are those of ``clients``; the rules of Java are
``DefaultPartitioner`` (2.3.1), ``StickyPartitionCache`` with ``KafkaProducer.doSend`` (2.8.2), and
``BuiltInPartitioner`` with ``RecordAccumulator`` (4.3.1).
"""

from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.kernel import kernel_in_place
from rebalance_sim.kafka.partitioners.clients import Unkeyed
from rebalance_sim.kafka.partitioners.record_accumulator import (
    AVAILABLE,
    COUNT,
    FIRST,
    HAS_LEADER,
    NONE,
    OWNER,
    PARTITION_COLUMNS,
    RECORDS_WAITING,
    RUNS,
    TOPIC_COLUMNS,
    Fleet,
    Record,
    Sent,
    Settings,
    advance,
    append_new_batch,
    clock,
    field_bytes,
    finish,
    is_last_full,
    new_fleet,
    try_append,
    waited_at_run,
)
from rebalance_sim.kafka.partitioners.thread_local_random import next_int, next_positive
from rebalance_sim.kafka.strings import Ints

STICKY_LINGER_MS = 10
"""librdkafka's default of sticky.partitioning.linger.ms, and Pulsar's of the time to stay with a partition."""
FRANZ_GO_BYTES = 64 << 10
"""franz-go's default of the bytes to stay with a partition."""

_JAVA_ROUND_ROBIN, _KAFKAJS_ROUND_ROBIN = int(Unkeyed.JAVA_ROUND_ROBIN), int(Unkeyed.KAFKAJS_ROUND_ROBIN)
_KAFKA_GO_ROUND_ROBIN, _RANDOM = int(Unkeyed.KAFKA_GO_ROUND_ROBIN), int(Unkeyed.RANDOM)
_RANDOM_AVAILABLE, _RANDOM_LIBRDKAFKA = int(Unkeyed.RANDOM_AVAILABLE), int(Unkeyed.RANDOM_LIBRDKAFKA)
_UNTIL_NEW_BATCH, _BY_BYTES = int(Unkeyed.STICKY_UNTIL_NEW_BATCH), int(Unkeyed.STICKY_BY_BYTES)
_BY_TIME, _BY_OWN_BYTES = int(Unkeyed.STICKY_BY_TIME), int(Unkeyed.STICKY_BY_OWN_BYTES)

# Columns of topics and of partitions, after those of the accumulator.
_ALL_TOPIC_COLUMNS = TOPIC_COLUMNS + 8
_RULE, _STICKY, _PRODUCED, _COUNTER = range(TOPIC_COLUMNS, TOPIC_COLUMNS + 4)
_SWITCHED, _QUEUES, _QUEUES_RUN, _QUEUES_BEFORE = range(TOPIC_COLUMNS + 4, _ALL_TOPIC_COLUMNS)
_HAS_QUEUE = PARTITION_COLUMNS


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
    fleet = new_fleet(seeds, _new_topics(topics), _new_partitions(topics.has_leader), len(records.order))
    _send(fleet, settings, records)
    finish(fleet, settings)
    return fleet.sent


def _new_topics(topics: ProducerTopics) -> Ints:
    ends = np.cumsum(topics.partitions)
    leaders_before = np.concatenate([[0], np.cumsum(topics.has_leader)])
    rows = np.full((len(ends), _ALL_TOPIC_COLUMNS), NONE, np.int64)
    rows[:, OWNER], rows[:, _RULE], rows[:, COUNT] = topics.producers, topics.rules, topics.partitions
    rows[:, FIRST] = ends - topics.partitions
    rows[:, AVAILABLE] = leaders_before[ends] - leaders_before[ends - topics.partitions]
    rows[:, [_PRODUCED, _QUEUES]] = 0
    return rows


def _new_partitions(has_leader: Ints) -> Ints:
    rows = np.zeros((len(has_leader), PARTITION_COLUMNS + 1), np.int64)
    rows[:, HAS_LEADER] = has_leader
    return rows


# ---- what the application does


@kernel_in_place
def _send(fleet: Fleet, settings: Settings, records: Records) -> None:
    for i in records.order:
        topic = records.topics[i]
        producer = fleet.topics[topic, OWNER]
        if records.at_ms[i] > clock(fleet, producer):
            advance(fleet, settings, producer, records.at_ms[i])
        record = Record(i, records.partitions[i], records.key_bytes[i], records.value_bytes[i], records.at_ms[i])
        fleet.sent.partitions[i] = _place(fleet, settings, topic, record)


@kernel_in_place
def _place(fleet: Fleet, settings: Settings, topic: int, record: Record) -> int:
    """Append a record, and return its partition."""
    rule = fleet.topics[topic, _RULE]
    if rule == _BY_BYTES:
        return _append_by_bytes(fleet, settings, topic, record)
    if rule == _UNTIL_NEW_BATCH:
        return _append_until_new_batch(fleet, settings, topic, record)
    number = record.partition
    if number == NONE:
        number = _next_partition(fleet, settings, topic, rule, record)
    if try_append(fleet, topic, number, record) == 0:
        append_new_batch(fleet, settings, topic, number, record)
    return number


@kernel_in_place
def _next_partition(fleet: Fleet, settings: Settings, topic: int, rule: int, record: Record) -> int:
    """Apply those rules that no batches have a part in, though franz-go's asks how many records wait."""
    producer = fleet.topics[topic, OWNER]
    if rule == _KAFKA_GO_ROUND_ROBIN:
        fleet.topics[topic, _COUNTER] += 1  # From NONE.
        return fleet.topics[topic, _COUNTER] % fleet.topics[topic, COUNT]
    if rule in (_JAVA_ROUND_ROBIN, _KAFKAJS_ROUND_ROBIN):
        turn = _next_turn(fleet, topic)
        if fleet.topics[topic, AVAILABLE]:
            return _available(fleet, topic, turn % fleet.topics[topic, AVAILABLE])
        return turn % fleet.topics[topic, COUNT]
    if rule == _RANDOM:
        return next_positive(fleet.producers, producer) % fleet.topics[topic, COUNT]
    if rule == _RANDOM_AVAILABLE:
        return _draw_available(fleet, topic)
    if rule == _RANDOM_LIBRDKAFKA:
        return _draw_twice(fleet, topic)
    if rule == _BY_TIME:
        return _by_time(fleet, topic)
    if rule == _BY_OWN_BYTES:
        return _by_own_bytes(fleet, settings, topic, record)
    if fleet.topics[topic, _COUNTER] == NONE:
        fleet.topics[topic, _COUNTER] = next_positive(fleet.producers, producer)
    return (clock(fleet, producer) // STICKY_LINGER_MS + fleet.topics[topic, _COUNTER]) % fleet.topics[topic, COUNT]


@kernel_in_place
def _next_turn(fleet: Fleet, topic: int) -> int:
    """Count from a random number: Java takes the number itself first, KafkaJS the one after it."""
    if fleet.topics[topic, _STICKY] == NONE:
        fleet.topics[topic, _STICKY] = 0  # Only says that the count has begun.
        fleet.topics[topic, _COUNTER] = next_int(fleet.producers, fleet.topics[topic, OWNER]) - (
            fleet.topics[topic, _RULE] == _JAVA_ROUND_ROBIN
        )
    fleet.topics[topic, _COUNTER] += 1
    return fleet.topics[topic, _COUNTER] & 0x7FFFFFFF


@kernel_in_place
def _available(fleet: Fleet, topic: int, place: int) -> int:
    """Return the available partition that has this place among them."""
    if fleet.topics[topic, AVAILABLE] == fleet.topics[topic, COUNT]:
        return place
    number = 0
    while place > 0 or not fleet.partitions[fleet.topics[topic, FIRST] + number, HAS_LEADER]:
        place -= fleet.partitions[fleet.topics[topic, FIRST] + number, HAS_LEADER]
        number += 1
    return number


@kernel_in_place
def _draw_available(fleet: Fleet, topic: int) -> int:
    drawn = next_positive(fleet.producers, fleet.topics[topic, OWNER])
    if fleet.topics[topic, AVAILABLE]:
        return _available(fleet, topic, drawn % fleet.topics[topic, AVAILABLE])
    return drawn % fleet.topics[topic, COUNT]


@kernel_in_place
def _draw_twice(fleet: Fleet, topic: int) -> int:
    """Draw one of all partitions, and once more if that has no leader (``rd_kafka_msg_partitioner_random``)."""
    number = next_positive(fleet.producers, fleet.topics[topic, OWNER]) % fleet.topics[topic, COUNT]
    if fleet.partitions[fleet.topics[topic, FIRST] + number, HAS_LEADER]:
        return number
    return next_positive(fleet.producers, fleet.topics[topic, OWNER]) % fleet.topics[topic, COUNT]


@kernel_in_place
def _by_time(fleet: Fleet, topic: int) -> int:
    """Do as librdkafka's sticky partitioner: a partition for so long, as long as it has a leader.

    An interval that is just over does not count (``rd_interval``), and time begins long before the first record.
    """
    sticky, now = fleet.topics[topic, _STICKY], clock(fleet, fleet.topics[topic, OWNER])
    has_leader = sticky != NONE and fleet.partitions[fleet.topics[topic, FIRST] + sticky, HAS_LEADER]
    if not has_leader or now > fleet.topics[topic, _SWITCHED] + STICKY_LINGER_MS:
        fleet.topics[topic, _STICKY], fleet.topics[topic, _SWITCHED] = _draw_twice(fleet, topic), now
    return fleet.topics[topic, _STICKY]


@kernel_in_place
def _by_own_bytes(fleet: Fleet, settings: Settings, topic: int, record: Record) -> int:
    """Do as franz-go's ``UniformBytesPartitioner``: a partition for so many bytes, without those of batches."""
    size = 4 + field_bytes(record.key_bytes) + field_bytes(record.value_bytes)
    fleet.topics[topic, _PRODUCED] += size
    if fleet.topics[topic, _PRODUCED] >= FRANZ_GO_BYTES:
        fleet.topics[topic, _PRODUCED], fleet.topics[topic, _STICKY] = size, NONE
    if fleet.topics[topic, _STICKY] == NONE:
        fleet.topics[topic, _STICKY] = (
            _draw_by_records(fleet, topic) if settings.adaptive else _draw_available(fleet, topic)
        )
    return fleet.topics[topic, _STICKY]


@kernel_in_place
def _draw_by_records(fleet: Fleet, topic: int) -> int:
    """Draw an available partition; one weighs the less the more records wait in it."""
    if fleet.topics[topic, AVAILABLE] == 0:
        return _draw_available(fleet, topic)
    first, total, last = fleet.topics[topic, FIRST], 0.0, 0
    for number in range(fleet.topics[topic, COUNT]):
        if fleet.partitions[first + number, HAS_LEADER]:
            total += 1 / (1 + fleet.partitions[first + number, RECORDS_WAITING])
            last = number
    pick = next_positive(fleet.producers, fleet.topics[topic, OWNER]) / 2**31 * total
    for number in range(last):
        if fleet.partitions[first + number, HAS_LEADER]:
            pick -= 1 / (1 + fleet.partitions[first + number, RECORDS_WAITING])
            if pick <= 0:
                return number
    return last


# ---- Java 2.4 to 3.2: a partition until an append would open a batch


@kernel_in_place
def _append_until_new_batch(fleet: Fleet, settings: Settings, topic: int, record: Record) -> int:
    """Do as ``KafkaProducer.doSend``: before any record opens a batch, the cache is told, and asked again."""
    number = record.partition
    if number == NONE:
        if fleet.topics[topic, _STICKY] == NONE:
            _change_sticky(fleet, topic, NONE)
        number = fleet.topics[topic, _STICKY]
    if try_append(fleet, topic, number, record):
        return number
    _change_sticky(fleet, topic, number)
    if record.partition == NONE:
        number = fleet.topics[topic, _STICKY]
    if try_append(fleet, topic, number, record) == 0:
        append_new_batch(fleet, settings, topic, number, record)
    return number


@kernel_in_place
def _change_sticky(fleet: Fleet, topic: int, previous: int) -> None:
    """``StickyPartitionCache.nextPartition``: nothing changes if the batch is not of the partition that is cached."""
    old = fleet.topics[topic, _STICKY]
    if old not in (NONE, previous):
        return
    if fleet.topics[topic, AVAILABLE] == 0:
        fleet.topics[topic, _STICKY] = (
            next_positive(fleet.producers, fleet.topics[topic, OWNER]) % fleet.topics[topic, COUNT]
        )
    elif fleet.topics[topic, AVAILABLE] == 1:
        fleet.topics[topic, _STICKY] = _available(fleet, topic, 0)
    else:
        while fleet.topics[topic, _STICKY] == old:
            fleet.topics[topic, _STICKY] = _draw_available(fleet, topic)


# ---- Java since 3.3 (KIP-794): a partition for batch.size bytes


@kernel_in_place
def _append_by_bytes(fleet: Fleet, settings: Settings, topic: int, record: Record) -> int:
    """Do as ``RecordAccumulator.append``: whenever it finds another partition cached, it begins anew."""
    keyed = record.partition != NONE
    while True:
        if not keyed and fleet.topics[topic, _STICKY] == NONE:
            fleet.topics[topic, _STICKY], fleet.topics[topic, _PRODUCED] = _draw_by_queues(fleet, settings, topic), 0
        number = record.partition if keyed else fleet.topics[topic, _STICKY]
        _note_queue(fleet, topic, number)
        if not keyed and _makes_up_for_switch(fleet, settings, topic, number):
            continue
        grown = try_append(fleet, topic, number, record)
        if grown == 0:
            if not keyed and _makes_up_for_switch(fleet, settings, topic, number):
                continue
            grown = append_new_batch(fleet, settings, topic, number, record)
        if not keyed:
            _count_bytes(fleet, settings, topic, grown, is_last_full(fleet, topic, number))
        return number


@kernel_in_place
def _makes_up_for_switch(fleet: Fleet, settings: Settings, topic: int, number: int) -> bool:
    """``partitionChanged``: a switch that was put off since the batch was not full is due when it is."""
    return is_last_full(fleet, topic, number) and _count_bytes(fleet, settings, topic, 0, True)


@kernel_in_place
def _count_bytes(fleet: Fleet, settings: Settings, topic: int, grown: int, may_switch: bool) -> bool:
    """``updatePartitionInfo``: tell whether that was enough for the partition."""
    fleet.topics[topic, _PRODUCED] += grown
    enough = max(1, settings.batch_size)
    if (fleet.topics[topic, _PRODUCED] >= enough and may_switch) or fleet.topics[topic, _PRODUCED] >= 2 * enough:
        fleet.topics[topic, _STICKY], fleet.topics[topic, _PRODUCED] = _draw_by_queues(fleet, settings, topic), 0
        return True
    return False


@kernel_in_place
def _note_queue(fleet: Fleet, topic: int, number: int) -> None:
    """Count the partitions that have had a queue, now and before the sender's last run."""
    place = fleet.topics[topic, FIRST] + number
    if fleet.partitions[place, _HAS_QUEUE]:
        return
    run = fleet.producers[fleet.topics[topic, OWNER], RUNS]
    if fleet.topics[topic, _QUEUES_RUN] != run:
        fleet.topics[topic, _QUEUES_RUN], fleet.topics[topic, _QUEUES_BEFORE] = run, fleet.topics[topic, _QUEUES]
    fleet.partitions[place, _HAS_QUEUE] = 1
    fleet.topics[topic, _QUEUES] += 1


@kernel_in_place
def _draw_by_queues(fleet: Fleet, settings: Settings, topic: int) -> int:
    """``BuiltInPartitioner.nextPartition``, with the sizes of the queues at the sender's last run.

    Then it had taken all but the last batch of each queue, if that had room and time left: one batch or none. They
    count as soon as every partition has had a queue.
    """
    run = fleet.producers[fleet.topics[topic, OWNER], RUNS]
    queues = (
        fleet.topics[topic, _QUEUES_BEFORE] if fleet.topics[topic, _QUEUES_RUN] == run else fleet.topics[topic, _QUEUES]
    )
    if (
        not settings.adaptive
        or queues < fleet.topics[topic, COUNT]
        or fleet.topics[topic, COUNT] < 2
        or fleet.topics[topic, AVAILABLE] == 0
    ):
        return _draw_available(fleet, topic)
    waiting = 0
    for number in range(fleet.topics[topic, COUNT]):
        waiting += waited_at_run(fleet, topic, number, run)
    longest = min(waiting, 1)
    total = fleet.topics[topic, AVAILABLE] * (longest + 1) - waiting
    drawn = next_positive(fleet.producers, fleet.topics[topic, OWNER]) % total
    for number in range(fleet.topics[topic, COUNT]):
        if fleet.partitions[fleet.topics[topic, FIRST] + number, HAS_LEADER]:
            drawn -= longest + 1 - waited_at_run(fleet, topic, number, run)
            if drawn < 0:
                return number
    return NONE
