"""What holds for every good assignment, whatever the rule that made it."""

from collections import Counter
from dataclasses import replace

from tests.naive.assignors import in_order
from tests.naive.model import Assignment, Group, Member, Partition
from tests.naive.sticky import subscribed_alike
from tests.naive.sticky_input import cooperative_subscriptions


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


# ---- sticky


def check_sticky(strategy: str, group: Group, assignment: Assignment) -> None:
    """What Kafka's own tests ask for, and more: whoever has two partitions more has none that the other wants.

    Cooperative-sticky may withhold partitions that somebody says it owns; what it ends in is complete and balanced
    (see ``next_rebalance``).
    """
    if strategy == "cooperative-sticky":
        check_withheld(group, assignment)
        return
    check(group, assignment)
    for more in group.members:
        for less in group.members:
            if len(assignment[more.member_id]) > len(assignment[less.member_id]) + 1:
                movable = {p.topic for p in assignment[more.member_id]}.intersection(less.topics)
                assert not movable, f"{less.member_id!r} could have more of {movable} from {more.member_id!r}"


def check_withheld(group: Group, assignment: Assignment) -> None:
    """All goes to one member each, but for some of what members that do not get it say they own."""
    claims: dict[Partition, set[str]] = {}
    for member in group.members:
        for partition in member.owned:
            claims.setdefault(partition, set()).add(member.member_id)
    given = {partition for partitions in assignment.values() for partition in partitions}
    topics = {topic for member in group.members for topic in member.topics}
    withheld = {
        partition: next(member.member_id for member in group.members if partition.topic in member.topics)
        for topic in topics
        for number in range(group.cluster.partitions.get(topic, 0))
        if (partition := Partition(topic, number)) not in given
    }
    assert withheld.keys() <= claims.keys(), f"nobody has, or had: {withheld.keys() - claims.keys()}"
    whole = {member_id: list(partitions) for member_id, partitions in assignment.items()}
    for partition, member_id in withheld.items():
        whole[member_id].append(partition)
    check(group, whole)


def next_rebalance(group: Group, assignment: Assignment) -> Group:
    """The group when all have given up and taken what a cooperative rebalance told them."""
    generation = max(member.generation for member in group.members) + 1
    members = (
        replace(member, owned=tuple(assignment[member.member_id]), generation=generation) for member in group.members
    )
    return replace(group, members=tuple(members))


def sticky_quirks(version: str, group: Group) -> set[str]:
    """Why Kafka may throw, or answer otherwise than ``check_sticky`` asks; told from the group alone.

    The one thing that it does not foresee is that Kafka goes round in circles.
    """
    if version == "1.0":
        quirks = _quirks_of_1_0(group)
    elif version == "2.3":
        quirks = {"previous owner": _may_go_back_unwanted(group)}
    else:
        quirks = _quirks_since_2_4(group)
    return {name for name, has in quirks.items() if has} | ({"nobody"} if not group.members else set())


def _quirks_of_1_0(group: Group) -> dict[str, bool]:
    claims = Counter(partition for partition, _ in _claims(group) if _exists(group, partition))
    remembers = any(member.owned or member.generation >= 0 for member in group.members)
    return {
        "unknown topic": not _wanted(group) <= _known(group),
        "no partitions": remembers and not _wanted(group),
        "claimed twice": max(claims.values(), default=0) > 1,
    }


def _quirks_since_2_4(group: Group) -> dict[str, bool]:
    alike = subscribed_alike(cooperative_subscriptions(group))
    latest = max((member.generation for member in group.members), default=-1)
    claims = _claims(group)
    return {
        "only seem to want the same": alike and len({frozenset(member.topics) for member in group.members}) > 1,
        "topic shrank": any(not _exists(group, partition) for partition, _ in claims),
        "previous owner": not alike
        and any(member.generation < latest and partition.topic not in member.topics for partition, member in claims),
    }


def _may_go_back_unwanted(group: Group) -> bool:
    """Whether a partition may be handed to whom it had in the generation before, though it wants it no more."""
    by_generation: dict[Partition, dict[int, list[Member]]] = {}
    for partition, member in _claims(group):
        by_generation.setdefault(partition, {}).setdefault(member.generation, []).append(member)
    return any(
        partition.topic not in member.topics
        for partition, members in by_generation.items()
        for generation in sorted(members)[-2:-1]
        for member in members[generation]
    )


def _claims(group: Group) -> list[tuple[Partition, Member]]:
    """What members say of topics that are known and wanted."""
    topics = _known(group) & _wanted(group)
    return [(partition, m) for m in group.members for partition in m.owned if partition.topic in topics]


def _known(group: Group) -> set[str]:
    return {topic for topic, partitions in group.cluster.partitions.items() if partitions > 0}


def _wanted(group: Group) -> set[str]:
    return {topic for member in group.members for topic in member.topics}


def _exists(group: Group, partition: Partition) -> bool:
    return partition.number < group.cluster.partitions[partition.topic]
