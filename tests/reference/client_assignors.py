"""``range`` and ``roundrobin`` of librdkafka and kafka-python, as a leader of that library calls them."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import groupby

from tests.reference.classic_group import MAPS
from tests.reference.model import Assignment, Group, Member, Partition

Compare = Callable[[Member, Member], int]


def as_told(version: str, group: Group) -> Group:
    """Return the members in the order in which a JoinGroup response lists them: that of the coordinator's map."""
    members = MAPS[version]()
    for member in group.members:
        members.put(member.member_id, member)
    return replace(group, members=tuple(members.values()))


class PythonError(Exception):
    """An exception of kafka-python; the text is the name of its class."""


def librdkafka_range_assign(version: str, group: Group) -> Assignment:
    group = as_told(version, group)
    topics = [_Topic(name, group, members) for name, members in _subscribers(version, group).items()]
    alike: dict[tuple[object, ...], list[_Topic]] = {}
    for topic in topics:
        alike.setdefault((tuple(member.member_id for member in topic.members), topic.partitions), []).append(topic)
    for some in alike.values():
        if len(some) > 1:
            _match_together(some)
        elif some[0].needs_racks:
            some[0].give_ranges(some[0].on_rack)
    assignment: Assignment = {member.member_id: [] for member in group.members}
    for topic in topics:
        topic.give_ranges(lambda member, number: True)
        for number, member_id in topic.owner.items():
            assignment[member_id].append(Partition(topic.name, number))
    return {member_id: sorted(partitions) for member_id, partitions in assignment.items()}


def librdkafka_roundrobin_assign(version: str, group: Group) -> Assignment:
    group = as_told(version, group)
    assignment: Assignment = {member.member_id: [] for member in group.members}
    members = _merge_sorted([member for member in group.members if member.topics], _comparing(version))
    turn = 0
    for partition in _partitions(group):
        while partition.topic not in members[turn % len(members)].topics:
            turn += 1
        assignment[members[turn % len(members)].member_id].append(partition)
        turn += 1
    return assignment


def kafka_python_range_assign(version: str, group: Group) -> Assignment:
    group = as_told(version, group)
    assignment: Assignment = {member.member_id: [] for member in group.members}
    for topic in sorted(_wanted(group)):
        members = _remembered(version, [member for member in group.members if topic in member.topics])
        count = group.cluster.partitions.get(topic, 0)
        for place, member in enumerate(members):
            first, end = _start(place, count, len(members)), _start(place + 1, count, len(members))
            assignment[member.member_id] += [Partition(topic, number) for number in range(first, end)]
    return assignment


def kafka_python_roundrobin_assign(version: str, group: Group) -> Assignment:
    group = as_told(version, group)
    assignment: Assignment = {member.member_id: [] for member in group.members}
    members = _remembered(version, list(group.members))
    for turn, partition in enumerate(_partitions(group)):
        member = members[turn % len(members)]
        if partition.topic not in member.topics:
            raise PythonError("KeyError")
        assignment[member.member_id].append(partition)
    return assignment


def _wanted(group: Group) -> set[str]:
    return {topic for member in group.members for topic in member.topics}


def _partitions(group: Group) -> list[Partition]:
    return [Partition(t, n) for t in sorted(_wanted(group)) for n in range(group.cluster.partitions.get(t, 0))]


def _instance_id(version: str, member: Member) -> str | None:
    """Remove instance ids for brokers before 2.3, which do not know static members."""
    return None if version == "1.0" else member.instance_id


# ---- librdkafka


def _comparing(version: str) -> Compare:
    def compare(a: Member, b: Member) -> int:
        static_a, static_b = _instance_id(version, a), _instance_id(version, b)
        if static_a is None or static_b is None:
            static_a, static_b = a.member_id, b.member_id
        return (static_a.encode() > static_b.encode()) - (static_a.encode() < static_b.encode())

    return compare


def _merge_sorted(members: Sequence[Member], compare: Compare) -> list[Member]:
    """Sort as glibc's ``qsort`` does: the result for members without a total order depends on its steps."""
    if len(members) < 2:
        return list(members)
    left, right = (_merge_sorted(m, compare) for m in (members[: len(members) // 2], members[len(members) // 2 :]))
    merged = []
    while left and right:
        merged.append((left if compare(left[0], right[0]) <= 0 else right).pop(0))
    return merged + left + right


def _subscribers(version: str, group: Group) -> dict[str, list[Member]]:
    return {
        topic: _merge_sorted([member for member in group.members if topic in member.topics], _comparing(version))
        for topic in _wanted(group)
        if topic in group.cluster.partitions
    }


class _Topic:
    def __init__(self, name: str, group: Group, members: list[Member]) -> None:
        self.name = name
        self.partitions = group.cluster.partitions[name]
        self.members = members
        self.racks = [set(racks) for racks in group.cluster.racks.get(name, [[]] * self.partitions)]
        self.share, self.extra = divmod(self.partitions, len(members))
        self.owner: dict[int, str] = {}

    @property
    def needs_racks(self) -> bool:
        everywhere: set[str] = set().union(*self.racks)
        here = everywhere.intersection(member.rack for member in self.members if member.rack)
        return bool(here) and any(racks != everywhere for racks in self.racks)

    def on_rack(self, member: Member, number: int) -> bool:
        return not member.rack or member.rack in self.racks[number]

    def room(self, member: Member) -> int:
        return self.share + (self.extra > 0) - list(self.owner.values()).count(member.member_id)

    def give(self, member: Member, number: int) -> None:
        self.owner[number] = member.member_id
        if list(self.owner.values()).count(member.member_id) > self.share:
            self.extra -= 1

    def give_ranges(self, fits: Callable[[Member, int], bool]) -> None:
        for member in self.members:
            free = [n for n in range(self.partitions) if n not in self.owner and fits(member, n)]
            for number in free[: max(self.room(member), 0)]:
                self.give(member, number)


def _match_together(topics: list[_Topic]) -> None:
    """Assign nothing to members without a rack."""
    for number in range(topics[0].partitions):
        for member in topics[0].members:
            if member.rack and all(topic.on_rack(member, number) and topic.room(member) > 0 for topic in topics):
                for topic in topics:
                    topic.give(member, number)
                break


# ---- kafka-python


def _remembered(version: str, members: list[Member]) -> list[Member]:
    """Return the last run of static and of dynamic members."""
    kinds = {kind: list(some) for kind, some in groupby(members, lambda m: _instance_id(version, m) is not None)}
    static = sorted(kinds.get(True, []), key=lambda member: (member.instance_id, member.member_id))
    return static + sorted(kinds.get(False, []), key=lambda member: member.member_id)


def _start(place: int, partitions: int, members: int) -> int:
    return place * (partitions // members) + min(place, partitions % members)
