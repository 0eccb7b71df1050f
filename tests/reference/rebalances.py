"""The rebalances of cooperative consumers, as ``ConsumerCoordinator`` handles them."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace

from tests.reference.java import JavaError, java_key
from tests.reference.model import Assignment, Group, Partition

Assignor = Callable[[Group], Assignment]


@dataclass(frozen=True)
class Rebalance:
    """One rebalance of a group."""

    answer: Assignment | str
    """The assignment, or the exception that the assignor throws."""
    revoked: Assignment
    added: Assignment
    joins_again: bool


def joined(group: Group, eager: Collection[str]) -> Group:
    """Return the group as the leader sees it: eager members have revoked everything (``onJoinPrepare``)."""
    members = (replace(member, owned=()) if member.member_id in eager else member for member in group.members)
    return replace(group, members=tuple(members))


def answered(group: Group, seen: Group, answer: Assignment | str) -> tuple[Rebalance, Group]:
    """What came of a rebalance, and the group after it (``onJoinComplete``).

    ``group`` is what the members had, ``seen`` what they joined with.
    """
    nothing: Assignment = {member.member_id: [] for member in group.members}
    if isinstance(answer, str):
        return Rebalance(answer, nothing, nothing, False), group
    generation = max((member.generation for member in group.members), default=-1) + 1
    revoked, added, after = dict(nothing), dict(nothing), []
    joins_again = False
    for member, sent in zip(group.members, seen.members, strict=True):
        has = set(answer[member.member_id])
        if not {partition.topic for partition in has} <= set(member.topics):
            has = {partition for partition in sent.owned if partition.topic in member.topics}
            joins_again = True
        joins_again = joins_again or not has.issuperset(sent.owned)
        revoked[member.member_id] = in_order(set(member.owned) - (has & set(sent.owned)))
        added[member.member_id] = in_order(has - set(sent.owned))
        after.append(replace(member, owned=tuple(in_order(has)), generation=generation))
    return Rebalance(answer, revoked, added, joins_again), replace(group, members=tuple(after))


def rebalances(assign: Assignor, group: Group, eager: Collection[str], most: int) -> list[Rebalance]:
    """Rebalance until no member rejoins, the assignor throws, or ``most`` is reached."""
    found: list[Rebalance] = []
    while len(found) < most and (not found or found[-1].joins_again):
        seen = joined(group, eager)
        rebalance, group = answered(group, seen, _answer(assign, seen))
        found.append(rebalance)
    return found


def in_order(partitions: Iterable[Partition]) -> list[Partition]:
    """Sort owned partitions as a subscription lists them (``ConsumerProtocol.serializeSubscription``, since 2.8)."""
    return sorted(partitions, key=lambda partition: (java_key(partition.topic), partition.number))


def _answer(assign: Assignor, group: Group) -> Assignment | str:
    try:
        return assign(group)
    except JavaError as error:
        return str(error)
