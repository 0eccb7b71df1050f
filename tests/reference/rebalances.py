"""The rebalances of cooperative consumers, as ``ConsumerCoordinator`` handles them."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from rebalance_sim.kafka.rebalances import MOST_REBALANCES
from tests.support.java import java_key
from tests.support.model import Assignment, Group, Partition

Assign = Callable[[Sequence[int], Sequence[Group]], Sequence[Assignment | str]]
"""Answers some of the groups, given their numbers and what their members joined with."""


@dataclass(frozen=True)
class Rebalance:
    """One rebalance of a group."""

    answer: Assignment | str
    """The assignment, or the exception that the assignor throws."""
    revoked: Assignment
    added: Assignment
    joins_again: bool


def rebalances(groups: Sequence[Group], eager: Sequence[Collection[str]], assign: Assign) -> list[list[Rebalance]]:
    """Rebalance each group until no member joins again, the assignor throws, or ``MOST_REBALANCES`` is reached."""
    found: list[list[Rebalance]] = [[] for _ in groups]
    now = list(groups)
    for _ in range(MOST_REBALANCES):
        going = [g for g, some in enumerate(found) if not some or some[-1].joins_again]
        seen = [_joined(now[g], eager[g]) for g in going]
        for g, group, answer in zip(going, seen, assign(going, seen), strict=True):
            rebalance, now[g] = _answered(now[g], group, answer)
            found[g].append(rebalance)
    return found


def _joined(group: Group, eager: Collection[str]) -> Group:
    """Return the group as the leader sees it: eager members have revoked everything (``onJoinPrepare``)."""
    members = (replace(member, owned=()) if member.member_id in eager else member for member in group.members)
    return replace(group, members=tuple(members))


def _answered(group: Group, seen: Group, answer: Assignment | str) -> tuple[Rebalance, Group]:
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
        revoked[member.member_id] = _in_order(set(member.owned) - (has & set(sent.owned)))
        added[member.member_id] = _in_order(has - set(sent.owned))
        after.append(replace(member, owned=tuple(_in_order(has)), generation=generation))
    return Rebalance(answer, revoked, added, joins_again), replace(group, members=tuple(after))


def _in_order(partitions: Iterable[Partition]) -> list[Partition]:
    """Sort owned partitions as a subscription lists them (``ConsumerProtocol.serializeSubscription``, since 2.8)."""
    return sorted(partitions, key=lambda partition: (java_key(partition.topic), partition.number))
