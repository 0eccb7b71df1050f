"""The assignors of the group coordinator (KIP-848): ``RangeAssignor`` and ``UniformAssignor`` of Kafka 4.x.

They return sets; lists are sorted here. What members own is the group's target assignment.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from tests.reference.assignors import in_order
from tests.reference.java import java_hash, java_key, signed
from tests.reference.model import Assignment, Group, Member, Partition

SERVER_VERSIONS = ("4.0", "4.3")
"""The releases 4.0.0, and 4.0.1 and later."""

K = TypeVar("K")
Owned = dict[str, list[int]]
"""Partitions by topic."""
MAX_ITERATION_COUNT = 16


class PartitionAssignorError(Exception):
    """``PartitionAssignorException``."""


def server_range_assign(_: str, group: Group) -> Assignment:
    """Assign consecutive partitions of each topic to its sorted subscribers; the first few get one more."""
    spec = _GroupSpec(group)
    targets: dict[str, list[Partition]] = {member.member_id: [] for member in group.members}
    for topic in spec.topics:
        subscribers = in_order("4.3", [member for member in spec.members if topic in member.topics])
        share, extra = divmod(group.cluster.partitions[topic], len(subscribers))
        start = 0
        for i, member in enumerate(subscribers):
            end = start + share + (i < extra)
            targets[member.member_id] += [Partition(topic, number) for number in range(start, end)]
            start = end
    return _sorted(targets)


def server_uniform_assign(version: str, group: Group) -> Assignment:
    """Raise IndexError if an owned partition does not exist, PartitionAssignorError if some are left over."""
    spec = _GroupSpec(group)
    if not spec.topics:
        return {member.member_id: [] for member in group.members}
    if spec.is_homogeneous:
        return _sorted(_Homogeneous(version, spec).build())
    return _sorted(_Heterogeneous(spec).build())


def _sorted(targets: dict[str, list[Partition]]) -> Assignment:
    return {
        member_id: sorted(set(partitions), key=lambda p: (java_key(p.topic), p.number))
        for member_id, partitions in targets.items()
    }


# ---- the order of Java's and Kafka's hash maps


def _by_bucket(keys: Iterable[K], hash_of: Callable[[K], int], buckets: int) -> list[K]:
    """A ``java.util.HashMap``: iterates by bucket, within a bucket in the order of insertion."""
    return sorted(keys, key=lambda key: (hash_of(key) ^ hash_of(key) >> 16) % buckets)


def _buckets_of_grown(count: int) -> int:
    """Return the table size of a map filled key by key: doubled when more than 3/4 full."""
    buckets = 16
    while count > buckets * 3 // 4:
        buckets *= 2
    return buckets


def _buckets_of_copy(count: int) -> int:
    """Return the table size of a ``HashSet`` copied from a collection (up to Java 18): from ``count / 0.75 + 1``."""
    buckets = 16
    while buckets < int(count / 0.75) + 1:
        buckets *= 2
    return buckets


class TimelineHashMap:
    """``org.apache.kafka.timeline.TimelineHashMap`` with strings as keys."""

    def __init__(self) -> None:
        self.slots: list[list[str]] = [[], []]

    def put(self, key: str) -> None:
        size = sum(map(len, self.slots))
        if (size + 1) * 0.75 > len(self.slots):
            keys = [key for slot in self.slots for key in slot]
            self.slots = [[] for _ in range(2 * len(self.slots))]
            for other in keys:
                self._slot(other).append(other)
        if key not in self._slot(key):
            self._slot(key).append(key)

    def keys(self) -> list[str]:
        """Iterate slot by slot, each from its last key."""
        return [key for slot in self.slots for key in reversed(slot)]

    def _slot(self, key: str) -> list[str]:
        """Return the highest bits of a 64-bit product (Fibonacci hashing)."""
        product = signed(java_hash(key)) * -7046029254386353131 % 2**64
        return self.slots[product * len(self.slots) >> 64]


# ---- what an assignor is given


class _GroupSpec:
    """``GroupSpecImpl`` as ``TargetAssignmentBuilder`` makes it, with ``SubscribedTopicDescriberImpl``."""

    def __init__(self, group: Group) -> None:
        self.cluster = group.cluster
        by_id = {member.member_id: member for member in group.members}
        joined = TimelineHashMap()
        for member_id in by_id:
            joined.put(member_id)  # The record of its subscription,
            joined.put(member_id)  # and the record of its current assignment.
        in_map = _by_bucket(joined.keys(), java_hash, _buckets_of_grown(len(by_id)))
        self.members = [by_id[member_id] for member_id in in_map]
        self.names = {topic for member in self.members for topic in member.topics}
        self.topics = [topic for topic in self.names if topic in group.cluster.partitions]

    @property
    def is_homogeneous(self) -> bool:
        return all(set(member.topics) == self.names for member in self.members)

    def wants(self, member: Member, topic: str) -> bool:
        return topic in self.cluster.partitions and topic in member.topics

    def hash_of(self, topic: str) -> int:
        """``Uuid.hashCode``."""
        high, low = self.cluster.ids.get(topic, (0, 0))
        return (high ^ low) >> 32 ^ (high ^ low) % 2**32

    def topic_ids_of(self, member: Member) -> list[str]:
        """``new HashSet<>(subscribedTopicIds)``; the set it copies is as large as that of the names."""
        sent = _by_bucket(dict.fromkeys(member.topics), java_hash, _buckets_of_copy(len(member.topics)))
        names = _by_bucket(sent, java_hash, _buckets_of_copy(len(sent)))
        known = [name for name in names if name in self.cluster.partitions]
        return _by_bucket(known, self.hash_of, _buckets_of_copy(len(names)))

    def owned_by(self, member: Member) -> Owned:
        """``Assignment.fromRecord``: a ``HashMap`` of ``HashSet``.

        The record was written from a map that had put each new topic at the head of its bucket.
        """
        listed: dict[str, dict[int, None]] = {}
        for partition in member.owned:
            listed.setdefault(partition.topic, {})[partition.number] = None
        order = _by_bucket(reversed(listed), self.hash_of, _buckets_of_grown(len(listed)))
        return {topic: _by_bucket(listed[topic], int, _buckets_of_copy(len(listed[topic]))) for topic in order}


# ---- UniformHomogeneousAssignmentBuilder


class _Homogeneous:
    def __init__(self, version: str, spec: _GroupSpec) -> None:
        self.version = version
        self.spec = spec
        self.topics = spec.topic_ids_of(spec.members[0])
        assigned = {partition for member in spec.members for partition in member.owned}
        everything = [Partition(topic, n) for topic in self.topics for n in range(spec.cluster.partitions[topic])]
        self.unassigned = [partition for partition in everything if partition not in assigned]
        self.quota, self.extra_quotas = divmod(len(everything), len(spec.members))
        self.targets: dict[str, list[Partition]] = {}

    def build(self) -> dict[str, list[Partition]]:
        unfilled = []
        for i, member in enumerate(self.spec.members):
            quota = self.revoke(member, others=len(self.spec.members) - i)
            if quota > 0:
                unfilled.append((member, quota))
        for member, quota in unfilled:
            self.targets[member.member_id] += self.unassigned[:quota]
            self.unassigned = self.unassigned[quota:]
        if self.unassigned:
            raise PartitionAssignorError("Partitions were left unassigned")
        return self.targets

    def revoke(self, member: Member, others: int) -> int:
        """Revoke partitions above the quota and return how many the member lacks; ``others`` includes itself."""
        has_extra = self.extra_quotas > 0
        quota = self.quota + has_extra
        kept: list[Partition] = []
        for topic, numbers in self.spec.owned_by(member).items():
            if topic in self.topics:
                partitions = [Partition(topic, number) for number in numbers]
                self.unassigned += partitions[quota:]
                kept += partitions[:quota]
                quota -= len(partitions[:quota])
        self.targets[member.member_id] = kept
        gives_up_extra = quota > 0 and has_extra and others > self.extra_quotas
        if gives_up_extra and self.version != "4.0":
            return quota - 1
        self.extra_quotas -= has_extra
        return quota


# ---- UniformHeterogeneousAssignmentBuilder


class _Heterogeneous:
    def __init__(self, spec: _GroupSpec) -> None:
        self.spec = spec
        self.indices = range(len(spec.members))
        self.subscribers = {t: [i for i in self.indices if spec.wants(spec.members[i], t)] for t in spec.topics}
        self.topics = sorted(spec.topics, key=self.rank)
        self.owners = {topic: [-1] * spec.cluster.partitions[topic] for topic in self.topics}
        self.sizes = [0 for _ in self.indices]
        self.targets: list[set[Partition]] = [set() for _ in self.indices]

    def rank(self, topic: str) -> tuple[float, int, int, int]:
        """Sort by most partitions per subscriber, then fewest subscribers, then Uuid (halves as signed numbers)."""
        partitions, subscribers = self.spec.cluster.partitions[topic], len(self.subscribers[topic])
        high, low = self.spec.cluster.ids.get(topic, (0, 0))
        return -partitions / subscribers, subscribers, (high + 2**63) % 2**64, (low + 2**63) % 2**64

    def build(self) -> dict[str, list[Partition]]:
        for i in self.indices:
            self.keep(i)
        for topic in self.topics:
            self.assign_unassigned(topic)
        self.balance_all()
        return {self.spec.members[i].member_id: list(self.targets[i]) for i in self.indices}

    def keep(self, i: int) -> None:
        member = self.spec.members[i]
        for topic, numbers in self.spec.owned_by(member).items():
            if self.spec.wants(member, topic):
                self.sizes[i] += len(numbers)
                for number in numbers:
                    self.owners[topic][number] = i
                    self.targets[i].add(Partition(topic, number))

    def assign(self, topic: str, number: int, i: int) -> None:
        partition, old = Partition(topic, number), self.owners[topic][number]
        if old != -1:
            self.targets[old].discard(partition)
            self.sizes[old] -= 1
        self.targets[i].add(partition)
        self.sizes[i] += 1
        self.owners[topic][number] = i

    def assign_unassigned(self, topic: str) -> None:
        balancer = _Balancer(self.subscribers[topic], self.sizes)
        for number, owner in enumerate(self.owners[topic]):
            if owner == -1:
                self.assign(topic, number, balancer.next_least_loaded())

    def balance_all(self) -> None:
        """Balance round after round, until a whole round moves nothing."""
        topics = [topic for topic in self.topics if len(self.subscribers[topic]) > 1]
        last_rebalanced = None
        for _ in range(MAX_ITERATION_COUNT):
            for topic in topics:
                if topic == last_rebalanced:
                    return
                if self.balance(topic) or last_rebalanced is None:
                    last_rebalanced = topic

    def balance(self, topic: str) -> bool:
        """Move partitions from the most to the least loaded; a member loses its highest partitions first."""
        balancer = _Balancer(self.subscribers[topic], self.sizes)
        if balancer.imbalance <= 1:
            return False
        to_give: list[list[int]] = [[] for _ in self.indices]
        for number, owner in enumerate(self.owners[topic]):
            to_give[owner].append(number)
        moved = False
        while not balancer.is_balanced:
            giver = balancer.next_most_loaded()
            while giver is not None and not to_give[giver]:
                balancer.exclude_most_loaded()
                giver = balancer.next_most_loaded()
            if giver is None:
                break
            number = to_give[giver].pop()
            taker = balancer.next_least_loaded()
            if balancer.is_balanced:
                break
            self.assign(topic, number, taker)
            moved = True
        return moved


@dataclass
class _Balancer:
    """Subscribers by load: the lowest get partitions in turn, the highest lose them in turn."""

    subscribers: list[int]
    sizes: list[int]
    """Partitions of each member, which change meanwhile."""

    def __post_init__(self) -> None:
        self.members = sorted(self.subscribers, key=lambda i: self.sizes[i])
        smallest, largest = self.sizes[self.members[0]], self.sizes[self.members[-1]]
        self.imbalance = largest - smallest
        self.least_end, self.least_count, self.next_least = 0, smallest - 1, 0
        self.most_start = self.most_end = len(self.members)
        self.most_count, self.next_most = largest + 1, len(self.members) - 1

    @property
    def is_balanced(self) -> bool:
        return self.most_count - self.least_count <= 1

    def next_least_loaded(self) -> int:
        if self.next_least == self.least_end:
            self.least_count += 1
            while self.least_end < len(self.members) and self.size_at(self.least_end) == self.least_count:
                self.least_end += 1
            self.next_least = 0
        self.next_least += 1
        return self.members[self.next_least - 1]

    def next_most_loaded(self) -> int | None:
        if self.next_most < self.most_start:
            if self.most_end <= self.most_start and self.most_start > 0:
                self.most_count = self.size_at(self.most_start - 1)
            else:
                self.most_count -= 1
            while self.most_start > 0 and self.size_at(self.most_start - 1) == self.most_count:
                self.most_start -= 1
            self.next_most = self.most_end - 1
        if self.next_most < 0:
            return None
        self.next_most -= 1
        return self.members[self.next_most + 1]

    def exclude_most_loaded(self) -> None:
        """Exclude the member that was chosen last: it has nothing to lose."""
        here, end = self.next_most + 1, self.most_end - 1
        self.members[here], self.members[end] = self.members[end], self.members[here]
        self.most_end = end

    def size_at(self, place: int) -> int:
        return self.sizes[self.members[place]]
