"""The sticky assignors with different subscriptions, and before 2.4 always: assign, then balance."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.reference.hash_maps import JavaHashMap
from tests.reference.java import JavaError, NeverEndsError, java_key
from tests.reference.model import Partition
from tests.reference.sticky_input import RackInfo

Lists = JavaHashMap[str, list[Partition]]
"""Partitions of each consumer."""


def deep_copy(lists: Lists) -> Lists:
    copy: Lists = JavaHashMap()
    for consumer, partitions in lists.items():
        copy.put(consumer, list(partitions))
    return copy


def by_load(lists: Lists) -> list[str]:
    """Sort consumers with the fewest partitions first (``SubscriptionComparator``)."""
    return sorted(lists, key=lambda consumer: (len(lists[consumer]), java_key(consumer)))


def last(consumers: list[str]) -> str:
    """``TreeSet.last``."""
    if not consumers:
        raise JavaError("NoSuchElementException")
    return consumers[-1]


def owners(lists: Lists) -> dict[Partition, str]:
    """Return, for a partition that two members have, the one that comes last in the map."""
    return {partition: consumer for consumer, partitions in lists.items() for partition in partitions}


def balance_score(lists: Lists) -> int:
    """Return the differences of the loads of all pairs, added up."""
    loads = [len(partitions) for partitions in lists.values()]
    return sum(abs(load - other) for i, load in enumerate(loads) for other in loads[i + 1 :])


@dataclass
class PartitionMovements:
    """The movements of partitions, which keep two members from swapping partitions of a topic."""

    pairs: dict[Partition, tuple[str, str]] = field(default_factory=dict)
    """Source and destination."""
    moved: dict[tuple[str, str, str], JavaHashMap[Partition, None]] = field(default_factory=dict)
    """By topic, source and destination: a ``HashSet`` each."""

    def move(self, partition: Partition, source: str, destination: str) -> None:
        """Record a movement; two movements of a partition are one from its first source, or none if it is back."""
        if partition not in self.pairs:
            self._record(partition, source, destination)
            return
        origin = self._forget(partition)
        if origin != destination:
            self._record(partition, origin, destination)

    def actual(self, partition: Partition, source: str, destination: str) -> Partition:
        """Return the partition to move instead: one of the same topic that moved the other way before."""
        if partition in self.pairs:
            source, _ = self.pairs[partition]
        came = self.moved.get((partition.topic, destination, source))
        return partition if came is None else next(iter(came))

    def state(self) -> tuple[object, ...]:
        came = frozenset((key, tuple(moved), len(moved.buckets)) for key, moved in self.moved.items())
        return frozenset(self.pairs.items()), came

    def _record(self, partition: Partition, source: str, destination: str) -> None:
        self.pairs[partition] = source, destination
        self.moved.setdefault((partition.topic, source, destination), JavaHashMap()).put(partition, None)

    def _forget(self, partition: Partition) -> str:
        source, destination = self.pairs.pop(partition)
        key = partition.topic, source, destination
        self.moved[key].remove(partition)
        if not len(self.moved[key]):
            del self.moved[key]
        return source


@dataclass
class Balancing:
    """``balance`` of ``StickyAssignor`` (1.0, 2.3) and of ``GeneralAssignmentBuilder``, with all that it works on."""

    topics: JavaHashMap[str, int]
    topics_of: dict[str, list[str]]
    """Existing topics that a consumer subscribes to, as often as it names them."""
    consumers_of: dict[str, list[str]]
    current: Lists
    owner: dict[Partition, str]
    """The owner of each partition, or its last owner if it was revoked and not assigned yet."""
    previous: dict[Partition, str]
    """The owner in the generation before, if known; nothing checks whether it still subscribes to the topic."""
    racks: RackInfo | None
    """None before 3.5 (KIP-881)."""
    movements: PartitionMovements = field(default_factory=PartitionMovements)

    def balance(self, candidates: list[Partition], unassigned: list[Partition], newcomers_first: bool) -> None:
        """Assign partitions and reassign candidates; if so asked, first only those that were unassigned."""
        initializing = not self.current[last(by_load(self.current))]
        self._assign(unassigned)
        fixed = self._take_out_fixed()
        before = deep_copy(self.current)
        if newcomers_first:
            self._reassign(self._movable(unassigned))
        reassigned = self._reassign(self._movable(candidates))
        if not initializing and reassigned and balance_score(self.current) >= balance_score(before):
            self.current.clear()
            for consumer, partitions in before.items():
                self.current.put(consumer, partitions)
        for consumer, partitions in fixed.items():
            self.current.put(consumer, partitions)

    # ---- assign

    def _assign(self, unassigned: list[Partition]) -> None:
        """Assign within racks first, then to any consumer."""
        rest = unassigned
        if self.racks is not None and self.racks.consumer_racks:
            rest = [partition for partition in unassigned if not self._assign_one(partition, self.racks)]
        for partition in rest:
            self._assign_one(partition, None)

    def _assign_one(self, partition: Partition, racks: RackInfo | None) -> bool:
        """Assign a partition to the potential consumer with the fewest partitions."""
        for consumer in by_load(self.current):
            fits = racks is None or not racks.mismatch(consumer, partition)
            if partition.topic in self.topics_of[consumer] and fits:
                self.current[consumer].append(partition)
                self.owner[partition] = consumer
                return True
        return False

    # ---- narrow down

    def _can_move(self, topic: str) -> bool:
        return len(self.consumers_of[topic]) >= 2

    def _movable(self, partitions: Iterable[Partition]) -> list[Partition]:
        return [partition for partition in partitions if self._can_move(partition.topic)]

    def _take_out_fixed(self) -> Lists:
        """Remove consumers that cannot get more and have nothing that others could get."""
        fixed: Lists = JavaHashMap()
        for consumer in self.topics_of:
            partitions = self.current[consumer]
            has_all = len(partitions) >= self.most(consumer)
            if has_all and not any(self._can_move(partition.topic) for partition in partitions):
                fixed.put(consumer, partitions)
                self.current.remove(consumer)
        return fixed

    def most(self, consumer: str) -> int:
        """Return the number of partitions of the topics that a consumer subscribes to."""
        return sum(self.topics[topic] for topic in self.topics_of[consumer])

    # ---- move

    def _reassign(self, partitions: list[Partition]) -> bool:
        """``performReassignments``: goes through the partitions until none is moved or all is balanced.

        The partition that moves may be another than the one that ought to, so that the balance does not get better by
        it. In all versions there are groups where this goes round in circles.
        """
        reassigned = False
        modified = True
        seen = set()
        while modified:
            modified = False
            state = self._state()
            if state in seen:
                raise NeverEndsError
            seen.add(state)
            for partition in partitions:
                if self._is_balanced():
                    break
                destination = self._better_consumer(partition)
                if destination is not None:
                    self._move(partition, destination)
                    modified = reassigned = True
        return reassigned

    def _state(self) -> tuple[object, ...]:
        """Return all that decides how a pass ends."""
        lists = tuple((consumer, tuple(sorted(partitions))) for consumer, partitions in self.current.items())
        return lists, frozenset(self.owner.items()), self.movements.state()

    def _better_consumer(self, partition: Partition) -> str | None:
        """Return the better owner: the previous one, else the potential consumer with the fewest partitions."""
        consumer = self.owner.get(partition)
        before = self.previous.get(partition)
        if before is not None and self._load(consumer) > self._load(before) + 1:
            return before
        others = self.consumers_of[partition.topic]
        if consumer is not None and self.racks is not None and self.racks.match(consumer, partition):
            near = [other for other in others if self.racks.match(other, partition)]
            if self._has_far_more(consumer, near):
                return self._least_loaded(partition.topic)
        if self._has_far_more(consumer, others):
            return self._least_loaded(partition.topic)
        return None

    def _has_far_more(self, consumer: str | None, others: list[str]) -> bool:
        return any(self._load(consumer) > self._load(other) + 1 for other in others)

    def _least_loaded(self, topic: str) -> str:
        """Move a partition, not necessarily the one that was looked at."""
        consumers = (consumer for consumer in by_load(self.current) if topic in self.topics_of[consumer])
        consumer = next(consumers, None)
        if consumer is None:
            raise JavaError("NullPointerException")
        return consumer

    def _load(self, consumer: str | None) -> int:
        """Look up a list; Kafka checks neither that the partition has an owner nor that the consumer participates."""
        if consumer is None or consumer not in self.current:
            raise JavaError("NullPointerException")
        return len(self.current[consumer])

    def _move(self, partition: Partition, destination: str) -> None:
        partition = self.movements.actual(partition, self.owner[partition], destination)
        source = self.owner[partition]
        self._load(source)
        self.movements.move(partition, source, destination)
        if partition in self.current[source]:
            self.current[source].remove(partition)
        self.current[destination].append(partition)
        self.owner[partition] = destination

    # ---- balanced?

    def _is_balanced(self) -> bool:
        consumers = by_load(self.current)
        most = self._load(last(consumers))
        if self._load(consumers[0]) >= most - 1:
            return True
        now = owners(self.current)
        return not any(self._could_have_more(consumer, now) for consumer in consumers)

    def _could_have_more(self, consumer: str, now: dict[Partition, str]) -> bool:
        """Return whether the consumer could get a partition of a consumer that has more."""
        have = set(self.current[consumer])
        load = len(self.current[consumer])
        if load == self.most(consumer):
            return False
        lacking = (
            partition
            for topic in self.topics_of[consumer]
            for number in range(self.topics[topic])
            if (partition := Partition(topic, number)) not in have
        )
        return any(self.has_more(load, self._load(now.get(partition))) for partition in lacking)

    def has_more(self, load: int, other: int) -> bool:
        return load < other
