"""How balanced an assignment is, and how many partitions it moves."""

from collections import Counter
from dataclasses import dataclass
from statistics import pstdev

from tests.support.model import Assignment, Group, Member, Partition


@dataclass(frozen=True)
class Balance:
    partitions: int
    min: int
    max: int
    stddev: float
    topic_spread: int
    idle_members: int
    kept: int
    moved: int
    unassigned: int
    assigned_twice: int
    not_subscribed: int
    nonexistent: int
    unconsumed: int


def measure(group: Group, assignment: Assignment) -> Balance:
    loads = [len(assignment[member.member_id]) for member in group.members]
    wanted = wanted_partitions(group)
    before = previous_owners(group)
    now = _holders(group, assignment)
    given = Counter(partition for partitions in assignment.values() for partition in partitions)
    assigned = [partition for partition in wanted if partition in now]
    stays = [partition for partition in assigned if before.get(partition) == now[partition]]
    return Balance(
        partitions=len(wanted),
        min=min(loads, default=0),
        max=max(loads, default=0),
        stddev=pstdev(loads) if loads else 0.0,
        topic_spread=max((_spread(group, now, topic) for topic in _wanted_topics(group)), default=0),
        idle_members=loads.count(0),
        kept=len(stays),
        moved=sum(partition in before for partition in assigned) - len(stays),
        unassigned=len(wanted) - len(assigned),
        assigned_twice=sum(given[partition] > 1 for partition in wanted),
        not_subscribed=sum(
            _exists(group, partition) and partition.topic not in member.topics
            for member in group.members
            for partition in assignment[member.member_id]
        ),
        nonexistent=sum(count for partition, count in given.items() if not _exists(group, partition)),
        unconsumed=len(unconsumed_partitions(group, assignment)),
    )


def unconsumed_partitions(group: Group, assignment: Assignment) -> list[tuple[Partition, str | None]]:
    """Return the partitions that no subscriber is assigned, by topic and number, with the first member that is."""
    found: list[tuple[Partition, str | None]] = []
    given = {member_id: set(partitions) for member_id, partitions in assignment.items()}
    for partition in sorted(wanted_partitions(group), key=lambda each: (each.topic.encode("utf-16-be"), each.number)):
        owners = [member for member in group.members if partition in given[member.member_id]]
        if not any(partition.topic in member.topics for member in owners):
            found.append((partition, owners[0].member_id if owners else None))
    return found


def whole_topics(group: Group, assignment: Assignment) -> dict[str, str]:
    """Return the topics with several partitions and subscribers that lie on one subscriber, with this member."""
    found: dict[str, str] = {}
    for topic in _wanted_topics(group):
        count = group.cluster.partitions.get(topic, 0)
        subscribers = [member.member_id for member in group.members if topic in member.topics]
        loads = Counter(
            member_id for member_id, given in assignment.items() for partition in given if partition.topic == topic
        )
        for member_id in subscribers:
            if loads == {member_id: count} and count > 1 and len(subscribers) > 1:
                found[topic] = member_id
    return found


def co_partitioned_topics(group: Group, assignment: Assignment) -> int:
    """Return the number of topics on several members that have the owners of another topic, partition by partition."""
    owners: dict[str, list[list[str]]] = {}
    for topic in _wanted_topics(group):
        owners[topic] = [
            [
                member.member_id
                for member in group.members
                for given in assignment[member.member_id]
                if (given.topic, given.number) == (topic, number)
            ]
            for number in range(group.cluster.partitions.get(topic, 0))
        ]
    complete = {
        topic: of
        for topic, of in owners.items()
        if all(len(each) == 1 for each in of) and len({each[0] for each in of}) > 1
    }
    return sum(any(of == complete[other] for other in complete if other != topic) for topic, of in complete.items())


def _exists(group: Group, partition: Partition) -> bool:
    return partition.number < group.cluster.partitions.get(partition.topic, 0)


def _wanted_topics(group: Group) -> set[str]:
    return {topic for member in group.members for topic in member.topics}


def wanted_partitions(group: Group) -> list[Partition]:
    known = group.cluster.partitions
    return [Partition(topic, n) for topic in _wanted_topics(group) for n in range(known.get(topic, 0))]


def previous_owners(group: Group) -> dict[Partition, str]:
    """Return the previous owner of each subscribed partition that had one."""
    return {partition: owner for partition in wanted_partitions(group) if (owner := _previous_owner(group, partition))}


def _previous_owner(group: Group, partition: Partition) -> str | None:
    """Return the claim with the higher generation, or the first one."""
    claimants: list[Member] = [member for member in group.members if partition in member.owned]
    owner = max(claimants, key=lambda member: member.generation, default=None)
    return None if owner is None else owner.member_id


def _holders(group: Group, assignment: Assignment) -> dict[Partition, str]:
    """Return the owner of each partition: of two, the one with the higher generation, then the first one."""
    holders: dict[Partition, Member] = {}
    for member in group.members:
        for partition in assignment[member.member_id]:
            if partition not in holders or member.generation > holders[partition].generation:
                holders[partition] = member
    return {partition: member.member_id for partition, member in holders.items()}


def _spread(group: Group, holders: dict[Partition, str], topic: str) -> int:
    """Return the largest difference between two subscribers of a topic."""
    of_topic = [Partition(topic, number) for number in range(group.cluster.partitions.get(topic, 0))]
    counts = Counter(holders[partition] for partition in of_topic if partition in holders)
    loads = [counts[member.member_id] for member in group.members if topic in member.topics]
    return max(loads) - min(loads)
