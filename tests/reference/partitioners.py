"""The partitioners of Kafka's producers, call by call, with the random numbers that Java draws."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Protocol

from tests.support.java import signed

_MASK_32, _MASK_64 = 2**32 - 1, 2**64 - 1

RULE_OF_AGE = {"1.0": "round-robin", "2.3": "round-robin", "2.8": "sticky", "3.9": "built-in", "4.3": "built-in"}
"""The default rule for records without a key, by release."""


class ThreadLocalRandom:
    """
    ``java.util.concurrent.ThreadLocalRandom`` of one thread, from the state in which it is.

    Since Java 10 each step also adds twice the thread's id. That is left out, as if the id were 0.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed & _MASK_64

    def next_int(self) -> int:
        self._seed = (self._seed + 0x9E3779B97F4A7C15) & _MASK_64
        mixed = self._seed
        for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
            mixed = ((mixed ^ (mixed >> 33)) * factor) & _MASK_64
        return signed(mixed >> 32)

    def next_positive(self) -> int:
        return to_positive(self.next_int())


@dataclass(frozen=True)
class Topic:
    """A topic as the producer's metadata has it: partitions in ascending order, some of them without a leader."""

    name: str
    partitions: int
    unavailable: frozenset[int] = frozenset()

    @property
    def available(self) -> list[int]:
        return [partition for partition in range(self.partitions) if partition not in self.unavailable]


def topics_of(topics: Mapping[str, int], unavailable: Sequence[Sequence[Any]]) -> dict[str, Topic]:
    """The topics of a case, which names partitions as ``["topic", 0]``."""
    return {
        name: Topic(name, count, frozenset(number for topic, number in unavailable if topic == name))
        for name, count in topics.items()
    }


def murmur2(data: bytes) -> int:
    """``Utils.murmur2``, a Java ``int``."""
    multiplier = 0x5BD1E995
    mixed = 0x9747B28C ^ len(data)
    whole = len(data) // 4 * 4
    for start in range(0, whole, 4):
        block = (int.from_bytes(data[start : start + 4], "little") * multiplier) & _MASK_32
        block = ((block ^ (block >> 24)) * multiplier) & _MASK_32
        mixed = ((mixed * multiplier) & _MASK_32) ^ block
    if whole < len(data):
        mixed = ((mixed ^ int.from_bytes(data[whole:], "little")) * multiplier) & _MASK_32
    mixed = ((mixed ^ (mixed >> 13)) * multiplier) & _MASK_32
    return signed(mixed ^ (mixed >> 15))


def to_positive(number: int) -> int:
    """``Utils.toPositive``."""
    return number & 0x7FFFFFFF


def partition_for_key(key: bytes, partitions: int) -> int:
    return to_positive(murmur2(key)) % partitions


class Partitioner(Protocol):
    """``org.apache.kafka.clients.producer.Partitioner``."""

    def partition(self, topic: Topic, key: bytes | None) -> int: ...

    def on_new_batch(self, topic: Topic, previous: int) -> None:
        """The producer is about to open a batch for a record that it would have put into a partition."""


class RoundRobin:
    """``DefaultPartitioner`` before 2.4: a counter for each topic, which starts anywhere."""

    def __init__(self, random: ThreadLocalRandom) -> None:
        self._random = random
        self._counters: dict[str, int] = {}

    def partition(self, topic: Topic, key: bytes | None) -> int:
        if key is not None:
            return partition_for_key(key, topic.partitions)
        turn = to_positive(self._next_value(topic.name))
        available = topic.available
        return available[turn % len(available)] if available else turn % topic.partitions

    def on_new_batch(self, topic: Topic, previous: int) -> None:
        """Before 2.4 partitioners are not notified of new batches."""

    def _next_value(self, topic: str) -> int:
        if topic not in self._counters:
            self._counters[topic] = self._random.next_int()
        value = self._counters[topic]
        self._counters[topic] = signed((value + 1) & _MASK_32)
        return value


class StickyPartitioner:
    """``DefaultPartitioner`` of 2.4 to 3.9 with its ``StickyPartitionCache``: a partition until a batch is full."""

    def __init__(self, random: ThreadLocalRandom) -> None:
        self._random = random
        self._cache: dict[str, int] = {}

    def partition(self, topic: Topic, key: bytes | None) -> int:
        if key is not None:
            return partition_for_key(key, topic.partitions)
        if topic.name not in self._cache:
            self._next_partition(topic, -1)
        return self._cache[topic.name]

    def on_new_batch(self, topic: Topic, previous: int) -> None:
        self._next_partition(topic, previous)

    def _next_partition(self, topic: Topic, previous: int) -> None:
        old = self._cache.get(topic.name)
        if old is not None and old != previous:
            return
        available = topic.available
        if not available:
            new = self._random.next_positive() % topic.partitions
        elif len(available) == 1:
            new = available[0]
        else:
            new = self._draw(available)
            while new == old:
                new = self._draw(available)
        self._cache[topic.name] = new

    def _draw(self, available: list[int]) -> int:
        return available[self._random.next_positive() % len(available)]


@dataclass(frozen=True)
class LoadStats:
    """``PartitionLoadStats``: partitions and the running sum of their weights."""

    cumulative: list[int]
    partitions: list[int]

    def pick(self, random: int) -> int:
        """The first partition whose sum is above a number drawn below the last sum."""
        return self.partitions[bisect_right(self.cumulative, random % self.cumulative[-1])]


@dataclass
class StickyPartition:
    """``StickyPartitionInfo``."""

    partition: int
    produced_bytes: int = 0


@dataclass
class BuiltInPartitioner:
    """``BuiltInPartitioner`` (3.3 and later, KIP-794) of one topic."""

    random: ThreadLocalRandom
    sticky_batch_size: int
    _sticky: StickyPartition | None = field(default=None, init=False)
    _load_stats: LoadStats | None = field(default=None, init=False)

    def peek(self, topic: Topic) -> StickyPartition:
        """``peekCurrentPartitionInfo``."""
        if self._sticky is None:
            self._sticky = StickyPartition(self._next_partition(topic))
        return self._sticky

    def is_changed(self, sticky: StickyPartition | None) -> bool:
        """``isPartitionChanged``; false for records that do not use the partitioner."""
        return sticky is not None and self._sticky is not sticky

    def update(self, sticky: StickyPartition | None, appended_bytes: int, topic: Topic, enable_switch: bool) -> None:
        """``updatePartitionInfo``."""
        if sticky is None:
            return
        sticky.produced_bytes += appended_bytes
        produced = sticky.produced_bytes
        if (produced >= self.sticky_batch_size and enable_switch) or produced >= 2 * self.sticky_batch_size:
            self._sticky = StickyPartition(self._next_partition(topic))

    def update_load_stats(self, queue_sizes: Sequence[int] | None, partitions: Sequence[int], length: int) -> None:
        """
        ``updatePartitionLoadStats``: weights by how many batches wait.

        The sequences are as long as the topic has partitions; only the first `length` count, which have a leader.
        """
        if queue_sizes is None or length < 1 or len(queue_sizes) < 2:
            self._load_stats = None
            return
        sizes = queue_sizes[:length]
        if len(set(sizes)) == 1 and length == len(queue_sizes):
            self._load_stats = None
            return
        most = max(sizes)
        self._load_stats = LoadStats([*accumulate(most + 1 - size for size in sizes)], [*partitions[:length]])

    def _next_partition(self, topic: Topic) -> int:
        random = self.random.next_positive()
        if self._load_stats is not None:
            return self._load_stats.pick(random)
        available = topic.available
        return available[random % len(available)] if available else random % topic.partitions


def murmur2_answer(case: Mapping[str, Any]) -> dict[str, list[int]]:
    """Return the answer to a case of the rule "murmur2" (see ``tests/oracle/README.md``)."""
    hashes = [murmur2(bytes.fromhex(key)) for key in case["keys"]]
    return {"murmur2": hashes, "positive": [to_positive(value) for value in hashes]}


def default_partitioner_answer(version: str, case: Mapping[str, Any]) -> dict[str, list[int | None]]:
    """Return the answer to a case of the rule "default-partitioner"."""
    random = ThreadLocalRandom(case["seed"])
    partitioner: Partitioner = RoundRobin(random) if version in ("1.0", "2.3") else StickyPartitioner(random)
    topics = topics_of(case["topics"], case["unavailable"])
    partitions: list[int | None] = []
    for step in case["steps"]:
        answer = None
        match step["call"]:
            case "partition":
                key = None if step["key"] is None else bytes.fromhex(step["key"])
                answer = partitioner.partition(topics[step["topic"]], key)
            case "on-new-batch":
                partitioner.on_new_batch(topics[step["topic"]], step["partition"])
            case "metadata":
                topics = topics_of(case["topics"], step["unavailable"])
        partitions.append(answer)
    return {"partitions": partitions}


def built_in_partitioner_answer(case: Mapping[str, Any]) -> dict[str, list[int | None]]:
    """Return the answer to a case of the rule "built-in-partitioner"."""
    (name,) = case["topics"]
    topic = topics_of(case["topics"], case["unavailable"])[name]
    partitioner = BuiltInPartitioner(ThreadLocalRandom(case["seed"]), case["sticky_batch_size"])
    partitions: list[int | None] = []
    for step in case["steps"]:
        answer = None
        match step["call"]:
            case "peek":
                answer = partitioner.peek(topic).partition
            case "update":
                partitioner.update(partitioner.peek(topic), step["bytes"], topic, step["enable_switch"])
                answer = partitioner.peek(topic).partition
            case "load":
                load = step["load"] or {"queue_sizes": None, "partition_ids": [], "length": 0}
                partitioner.update_load_stats(load["queue_sizes"], load["partition_ids"], load["length"])
            case "metadata":
                topic = topics_of(case["topics"], step["unavailable"])[name]
        partitions.append(answer)
    return {"partitions": partitions}
