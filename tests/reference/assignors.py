"""``RangeAssignor`` and ``RoundRobinAssignor``, as the leader of a group calls them."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tests.reference.hash_maps import JavaHashMap
from tests.reference.java import java_key
from tests.reference.model import Assignment, Cluster, Group, Member, Partition


def range_assign(version: str, group: Group) -> Assignment:
    if version in ("1.0", "2.3"):
        return _range_by_named_topics(version, group)
    return _RackAwareRange(group).assign()


def roundrobin_assign(version: str, group: Group) -> Assignment:
    """Assign sorted partitions to sorted members in turn, skipping members that do not subscribe to the topic."""
    assignment: Assignment = {member.member_id: [] for member in group.members}
    members = in_order(version, list(_subscriptions(group).values()))
    turn = 0
    for partition in _sorted_partitions(group):
        while partition.topic not in members[turn % len(members)].topics:
            turn += 1
        assignment[members[turn % len(members)].member_id].append(partition)
        turn += 1
    return assignment


def in_order(version: str, members: list[Member]) -> list[Member]:
    """Sort members stably: since 2.4 static members first, by instance id; dynamic ones by member id."""

    def key(member: Member) -> tuple[bool, bytes]:
        static = member.instance_id if version not in ("1.0", "2.3") else None
        return static is None, java_key(member.member_id if static is None else static)

    return sorted(members, key=key)


def _subscriptions(group: Group) -> JavaHashMap[str, Member]:
    subscriptions: JavaHashMap[str, Member] = JavaHashMap()
    for member in group.members:
        subscriptions.put(member.member_id, member)
    return subscriptions


def _sorted_partitions(group: Group) -> Iterator[Partition]:
    topics = {topic for member in group.members for topic in member.topics}
    for topic in sorted(topics, key=java_key):
        for number in range(group.cluster.partitions.get(topic, 0)):
            yield Partition(topic, number)


# ---- range before 2.4


def _range_by_named_topics(version: str, group: Group) -> Assignment:
    """Visit topics in the order of the map of their subscribers; a member that names a topic twice counts twice."""
    assignment: Assignment = {member.member_id: [] for member in group.members}
    wanted_by: JavaHashMap[str, list[Member]] = JavaHashMap()
    for member in _subscriptions(group).values():
        for topic in member.topics:
            if version == "2.3":
                wanted_by.compute_if_absent(topic, list).append(member)
            else:
                if topic not in wanted_by:
                    wanted_by.put(topic, [])
                wanted_by[topic].append(member)
    for topic, members in wanted_by.items():
        for member, numbers in _blocks(group.cluster.partitions.get(topic, 0), in_order(version, members)):
            assignment[member.member_id] += [Partition(topic, number) for number in numbers]
    return assignment


def _blocks(partitions: int, members: list[Member]) -> Iterator[tuple[Member, range]]:
    """Assign consecutive partitions; the first few members get one more if the number does not divide evenly."""
    share, extra = divmod(partitions, len(members))
    start = 0
    for i, member in enumerate(members):
        end = start + share + (i < extra)
        yield member, range(start, end)
        start = end


# ---- range since 2.4, with racks since 3.5


@dataclass
class _Topic:
    """The state of a topic (``TopicAssignmentState``)."""

    name: str
    partitions: int
    consumers: dict[str, str | None]
    """The rack, if any, of each subscriber, in sorted order."""
    replica_racks: list[set[str]]
    """Racks of each partition's replicas; empty if no consumer has a rack."""
    assigned: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.unassigned = list(range(self.partitions))
        self.share, self.extra = divmod(self.partitions, len(self.consumers))

    @property
    def needs_racks(self) -> bool:
        """Return whether a consumer shares a rack with a replica, and not every partition is in every rack."""
        everywhere: set[str] = set().union(*self.replica_racks)
        here = everywhere.intersection(rack for rack in self.consumers.values() if rack)
        return bool(here) and any(racks != everywhere for racks in self.replica_racks)

    def on_rack(self, consumer: str, number: int) -> bool:
        rack = self.consumers[consumer]
        return rack is None or rack in self.replica_racks[number]

    def room(self, consumer: str) -> int:
        """Return how many partitions the consumer may still get."""
        return max(self.share + (self.extra > 0) - self.assigned[consumer], 0)

    def give(self, consumer: str, numbers: list[int]) -> None:
        self.assigned[consumer] += len(numbers)
        if self.assigned[consumer] > self.share:
            self.extra -= 1
        self.unassigned = [number for number in self.unassigned if number not in numbers]


class _RackAwareRange:
    def __init__(self, group: Group) -> None:
        self.subscriptions = _subscriptions(group)
        self.assignment: Assignment = {member.member_id: [] for member in group.members}
        self.topics = [self._topic(name, group.cluster) for name in self._known_topics(group.cluster)]

    def assign(self) -> Assignment:
        match_racks = any(topic.needs_racks for topic in self.topics)
        if match_racks:
            self._match_racks()
        for topic in self.topics:
            self._give_ranges(topic, lambda consumer, number: True)
        if match_racks:
            for partitions in self.assignment.values():
                partitions.sort(key=lambda partition: (java_key(partition.topic), partition.number))
        return self.assignment

    def _known_topics(self, cluster: Cluster) -> JavaHashMap[str, None]:
        """Return the existing topics: a ``HashMap`` filled in the order of a ``HashSet`` of all names."""
        named: JavaHashMap[str, None] = JavaHashMap()
        for member in self.subscriptions.values():
            for topic in member.topics:
                named.put(topic, None)
        known: JavaHashMap[str, None] = JavaHashMap()
        for topic in named:
            if cluster.partitions.get(topic, 0) > 0:
                known.put(topic, None)
        return known

    def _topic(self, name: str, cluster: Cluster) -> _Topic:
        members = in_order("4.3", [member for member in self.subscriptions.values() if name in member.topics])
        consumers = {member.member_id: member.rack or None for member in members}
        racks = [set(replicas) for replicas in cluster.racks.get(name, [[]] * cluster.partitions[name])]
        return _Topic(name, cluster.partitions[name], consumers, racks if any(consumers.values()) else [])

    def _match_racks(self) -> None:
        """Group topics with the same consumers and number of partitions; match others one by one."""
        alike: dict[tuple[object, ...], list[_Topic]] = {}
        for topic in self.topics:
            alike.setdefault((*topic.consumers.items(), len(topic.replica_racks)), []).append(topic)
        for topics in alike.values():
            if len(topics) > 1:
                self._match_together(topics)
            elif topics[0].needs_racks:
                self._give_ranges(topics[0], topics[0].on_rack)

    def _match_together(self, topics: list[_Topic]) -> None:
        """Assign partition n of all topics to the first consumer with room that has all of them in its rack."""
        for number in range(len(topics[0].replica_racks)):
            for consumer in topics[0].consumers:
                if all(topic.on_rack(consumer, number) and topic.room(consumer) > 0 for topic in topics):
                    for topic in topics:
                        self._give(topic, consumer, [number])
                    break

    def _give_ranges(self, topic: _Topic, fits: Callable[[str, int], bool]) -> None:
        """Assign each consumer in turn the first unassigned partitions that match, as many as it has room for."""
        for consumer in topic.consumers:
            fitting = [number for number in topic.unassigned if fits(consumer, number)]
            if chosen := fitting[: topic.room(consumer)]:
                self._give(topic, consumer, chosen)

    def _give(self, topic: _Topic, consumer: str, numbers: list[int]) -> None:
        topic.give(consumer, numbers)
        self.assignment[consumer] += [Partition(topic.name, number) for number in numbers]
