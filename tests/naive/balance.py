"""How even an assignment is and what it moves."""

from dataclasses import dataclass
from statistics import pstdev

from tests.naive.model import Assignment, Group, Member, Partition


@dataclass(frozen=True)
class Balance:
    partitions: int
    min: int
    max: int
    stddev: float
    topic_spread: int
    idle: int
    kept: int
    moved: int
    unassigned: int
    misassigned: int


def measure(group: Group, assignment: Assignment) -> Balance:
    loads = [len(assignment[member.member_id]) for member in group.members]
    wanted = wanted_partitions(group)
    before = previous_owners(group)
    now = {partition: member for member, partitions in assignment.items() for partition in partitions}
    assigned = [partition for partition in wanted if partition in now]
    stays = [partition for partition in assigned if before.get(partition) == now[partition]]
    return Balance(
        partitions=len(wanted),
        min=min(loads, default=0),
        max=max(loads, default=0),
        stddev=pstdev(loads) if loads else 0.0,
        topic_spread=max((_spread(group, assignment, topic) for topic in _wanted_topics(group)), default=0),
        idle=loads.count(0),
        kept=len(stays),
        moved=sum(partition in before for partition in assigned) - len(stays),
        unassigned=len(wanted) - len(assigned),
        misassigned=_misassigned(group, assignment),
    )


def _wanted_topics(group: Group) -> set[str]:
    return {topic for member in group.members for topic in member.topics}


def wanted_partitions(group: Group) -> list[Partition]:
    known = group.cluster.partitions
    return [Partition(topic, n) for topic in _wanted_topics(group) for n in range(known.get(topic, 0))]


def previous_owners(group: Group) -> dict[Partition, str]:
    """The owner of each wanted partition that had one."""
    return {partition: owner for partition in wanted_partitions(group) if (owner := _previous_owner(group, partition))}


def _previous_owner(group: Group, partition: Partition) -> str | None:
    """Of two claimants the one of the later generation, then the one that stands first."""
    claimants: list[Member] = [member for member in group.members if partition in member.owned]
    owner = max(claimants, key=lambda member: member.generation, default=None)
    return None if owner is None else owner.member_id


def _spread(group: Group, assignment: Assignment, topic: str) -> int:
    """Between the subscribers with the most and the fewest partitions of a topic."""
    existing = range(group.cluster.partitions.get(topic, 0))
    counts = [
        sum(partition.topic == topic and partition.number in existing for partition in assignment[member.member_id])
        for member in group.members
        if topic in member.topics
    ]
    return max(counts) - min(counts)


def _misassigned(group: Group, assignment: Assignment) -> int:
    """Of several members that have a partition, the one of the latest generation has it rightly, if it wants it."""
    wanted, seen, wrong = set(wanted_partitions(group)), set(), 0
    for member in sorted(group.members, key=lambda member: -member.generation):
        for partition in assignment[member.member_id]:
            wrong += partition not in wanted or partition in seen or partition.topic not in member.topics
            seen.add(partition)
    return wrong
