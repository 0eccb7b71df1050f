"""What holds for every good assignment, whatever the rule that made it."""

from collections import Counter

from tests.naive.assignors import in_order
from tests.naive.model import Assignment, Group, Member, Partition


def check(group: Group, assignment: Assignment) -> None:
    """Every partition of the known topics that somebody wants goes to exactly one member, and that one wants it."""
    wants = {member.member_id: set(member.topics) for member in group.members}
    assert assignment.keys() == wants.keys()
    given = Counter(partition for partitions in assignment.values() for partition in partitions)
    topics = set().union(*wants.values())
    expected = {Partition(t, n) for t in topics for n in range(group.cluster.partitions.get(t, 0))}
    assert given.keys() <= expected, f"no such partitions, or nobody wants them: {given.keys() - expected}"
    assert given.keys() >= expected, f"nobody has: {expected - given.keys()}"
    assert max(given.values(), default=1) == 1, f"more than one has: {[p for p in given if given[p] > 1]}"
    for member_id, partitions in assignment.items():
        assert {p.topic for p in partitions} <= wants[member_id], f"{member_id!r} does not want all it has"


def check_range(version: str, group: Group, assignment: Assignment, racks_matter: bool) -> None:
    """Of each topic members have the same number or one more; without racks, in blocks, from the first member on."""
    check(group, assignment)
    for topic in {topic for member in group.members for topic in member.topics}:
        blocks = [_numbers(assignment, member, topic) for member in _subscribers(version, group, topic)]
        sizes = [len(block) for block in blocks]
        assert max(sizes) - min(sizes) <= 1, f"{topic!r} is shared unevenly: {sizes}"
        if not racks_matter:
            in_a_row = [number for block in blocks for number in block]
            assert in_a_row == sorted(in_a_row), f"{topic!r} is not in blocks: {blocks}"
            assert sizes == sorted(sizes, reverse=True), f"of {topic!r} not the first have more: {sizes}"


def check_roundrobin(group: Group, assignment: Assignment) -> None:
    """Members that all want the same have the same number of partitions, or one more."""
    check(group, assignment)
    if len({frozenset(member.topics) for member in group.members}) == 1:
        sizes = [len(partitions) for partitions in assignment.values()]
        assert max(sizes) - min(sizes) <= 1, f"shared unevenly: {sizes}"


def _subscribers(version: str, group: Group, topic: str) -> list[Member]:
    return in_order(version, [member for member in group.members if topic in member.topics])


def _numbers(assignment: Assignment, member: Member, topic: str) -> list[int]:
    return [partition.number for partition in assignment[member.member_id] if partition.topic == topic]
