"""Bounds of the balance of assignments that cannot be predicted, from what an assignor guarantees.

They hold for every assignment that a group may have after its last rebalance, whatever the order of a library's maps
and sets. If every member may get every partition, all assignors that ignore racks end with the most balanced loads
(numbers of partitions), whose figures are exact. Otherwise the bounds follow from the assignor's ``Guarantee``.
"""

from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.assignors.steps.leaders_topics import NumbersInTurn, numbers_in_turn
from rebalance_sim.kafka.balance import partition_owners
from rebalance_sim.kafka.groups import NO_GENERATION, NO_RACK, Groups, Subscribers, TopicArrays, any_order, sorted_order
from rebalance_sim.kafka.guarantees import Guarantee
from rebalance_sim.kafka.optimum import Optimum
from rebalance_sim.kafka.runtime.kernel import kernel
from rebalance_sim.kafka.runtime.strings import Flags, Ints32


class Bounds(NamedTuple):
    """Bounds of each group, named like the fields of column ``bounds`` of the table ``balance``."""

    min: Ints32
    """No member has fewer partitions."""
    max: Ints32
    """No member has more."""
    idle_members_min: Ints32
    idle_members_max: Ints32
    moved_min: Ints32
    moved_max: Ints32
    unconsumed_min: Ints32
    """No fewer partitions are left without a member that subscribes to their topic."""


_MOST_BALANCED = int(Guarantee.MOST_BALANCED)
_LEAST_LOADED_IN_RACKS = int(Guarantee.LEAST_LOADED_IN_RACKS)
_BALANCED_OR_LOST = int(Guarantee.BALANCED_OR_LOST)
_BALANCED_TOPICS = int(Guarantee.BALANCED_TOPICS)


def balance_bounds(
    groups: Groups, topics: TopicArrays, by_topic: Subscribers, best: Optimum, guarantee: Guarantee, silent: Flags
) -> Bounds:
    """Return the bounds of each group.

    ``by_topic`` lists each subscriber of a topic once, and ``best`` is the groups' optimum. ``silent`` marks the
    members that may not send the leader the partitions they own.
    """
    if guarantee is not Guarantee.LEADERS_TOPICS_IN_TURN:
        return _bounds(groups, topics, by_topic, best, int(guarantee), silent)
    in_turn = sorted_order(groups, any_order(groups), static_members_first=False)
    numbers = numbers_in_turn(groups, in_turn, topics, by_topic)
    return _bounds_in_turn(groups, numbers, _bounds(groups, topics, by_topic, best, _BALANCED_TOPICS, silent).moved_max)


@kernel
def _bounds_in_turn(groups: Groups, numbers: NumbersInTurn, moved_max: Ints32) -> Bounds:
    """Return the bounds of members that have these numbers of partitions in every order."""
    n = len(groups.members) - 1
    least, most, idle = np.zeros(n, np.int32), np.zeros(n, np.int32), np.zeros(n, np.int32)
    for g in range(n):
        of_members = numbers.of_members[groups.members[g] : groups.members[g + 1]]
        if len(of_members):
            least[g], most[g], idle[g] = of_members.min(), of_members.max(), (of_members == 0).sum()
    return Bounds(least, most, idle, idle, np.zeros(n, np.int32), moved_max, numbers.unconsumed)


class _Loads(NamedTuple):
    """By member of a group: bounds of its load, and the partitions it owns of topics it subscribes to."""

    low: Ints32
    high: Ints32
    keep: Ints32
    claimed: Ints32
    """Partitions that they claim, also if they belong to another member."""
    other: Ints32
    """Claimed partitions that are not to be assigned; librdkafka returns these to the members."""


class _Owned(NamedTuple):
    """The partitions that a group owned."""

    partitions: int
    """Owned partitions of the topics that the group subscribes to."""
    lost: int
    """Owned partitions whose owner does not subscribe to the topic: they have to move."""
    contested: bool
    """Whether a partition is claimed twice."""
    agreed: bool
    """Whether the leader knows the owners: no partition is claimed twice, and no generation is missing."""


@kernel
def _bounds(
    groups: Groups, topics: TopicArrays, by_topic: Subscribers, best: Optimum, guarantee: int, silent: Flags
) -> Bounds:
    n = len(groups.members) - 1
    out = Bounds(
        best.min.copy(),
        best.max.copy(),
        best.idle_members.copy(),
        best.idle_members.copy(),
        best.moved.copy(),
        np.zeros(n, np.int32),
        np.zeros(n, np.int32),
    )
    base = np.full(len(topics.partitions), -1, np.int32)
    for g in range(n):
        start, end = groups.members[g], groups.members[g + 1]
        if start == end:
            continue
        loads = _possible_loads(g, groups, topics, by_topic, guarantee)
        owned = _owned(g, groups, topics, by_topic, base, loads)
        alike = guarantee != _BALANCED_TOPICS and _are_alike(g, topics, by_topic, loads)
        out.moved_max[g] = owned.partitions
        if _has_best_loads(guarantee, alike, owned, loads) and best.balance_exact[g]:
            in_racks = guarantee == _LEAST_LOADED_IN_RACKS and (groups.member_racks[start:end] != NO_RACK).any()
            if alike and owned.partitions > 0 and owned.agreed and not silent[start:end].any() and not in_racks:
                out.moved_max[g] = owned.lost + _most_moves(best.partitions[g], loads)
        else:
            if guarantee != _BALANCED_TOPICS:
                _limit(g, groups, topics, by_topic, guarantee, owned.contested, loads)
            _write(g, guarantee, best, owned, loads, out)
        if guarantee == _LEAST_LOADED_IN_RACKS and loads.other.any():
            out.max[g] += loads.other.max()
            out.idle_members_min[g] = max(out.idle_members_min[g] - (loads.other > 0).sum(), 0)
    return out


@kernel
def _has_best_loads(guarantee: int, alike: bool, owned: "_Owned", loads: "_Loads") -> bool:
    """Return whether the loads are the most balanced ones.

    Java's algorithm may move a partition to the member that claims it of an earlier generation although that member
    does not subscribe to it; librdkafka may then leave it with two members.
    """
    if guarantee == _MOST_BALANCED:
        return True
    if not alike or not owned.contested:
        return alike
    return guarantee != _LEAST_LOADED_IN_RACKS and loads.high.min() > 0


@kernel
def _possible_loads(g: int, groups: Groups, topics: TopicArrays, by_topic: Subscribers, guarantee: int) -> _Loads:
    """Return loads within what only a member can have and what it can have at most; by topic if these are balanced."""
    start, size = groups.members[g], groups.members[g + 1] - groups.members[g]
    loads = _Loads(
        np.zeros(size, np.int32),
        np.zeros(size, np.int32),
        np.zeros(size, np.int32),
        np.zeros(size, np.int32),
        np.zeros(size, np.int32),
    )
    for entry in range(by_topic.group_topics[g], by_topic.group_topics[g + 1]):
        partitions = max(topics.partitions[by_topic.topics[entry]], 0)
        members = by_topic.members[by_topic.first[entry] : by_topic.end[entry]]
        for m in members:
            if guarantee == _BALANCED_TOPICS:
                loads.low[m - start] += partitions // len(members)
                loads.high[m - start] += -(-partitions // len(members))
            else:
                loads.low[m - start] += partitions if len(members) == 1 else 0
                loads.high[m - start] += partitions
    return loads


@kernel
def _owned(g: int, groups: Groups, topics: TopicArrays, by_topic: Subscribers, base: Ints32, loads: _Loads) -> _Owned:
    """Count what members own and claim; ``base`` is all -1 before and after the call."""
    start, end, owned = groups.members[g], groups.members[g + 1], groups.owned
    room = 0
    for topic in by_topic.topics[by_topic.group_topics[g] : by_topic.group_topics[g + 1]]:
        base[topic] = room
        room += max(topics.partitions[topic], 0)
    owners = partition_owners(start, end, owned, groups.generations, topics, base, room)
    subscribes_to = np.full(end - start, -1, np.int32)
    generations, partitions, lost = True, 0, 0
    for entry in range(by_topic.group_topics[g], by_topic.group_topics[g + 1]):
        topic = by_topic.topics[entry]
        for m in by_topic.members[by_topic.first[entry] : by_topic.end[entry]]:
            subscribes_to[m - start] = entry
        for owner in owners[base[topic] : base[topic] + max(topics.partitions[topic], 0)]:
            if owner < 0:
                continue
            partitions += 1
            if subscribes_to[owner - start] == entry:
                loads.keep[owner - start] += 1
            else:
                lost += 1
    for m in range(start, end):
        for k in range(owned.offsets[m], owned.offsets[m + 1]):
            topic, partition = owned.topics[k], owned.partitions[k]
            if base[topic] >= 0 and 0 <= partition < topics.partitions[topic]:
                loads.claimed[m - start] += 1
                generations = generations and groups.generations[m] > NO_GENERATION
            else:
                loads.other[m - start] += 1
    for topic in by_topic.topics[by_topic.group_topics[g] : by_topic.group_topics[g + 1]]:
        base[topic] = -1
    contested = loads.claimed.sum() > partitions
    return _Owned(partitions, lost, contested, generations and not contested)


@kernel
def _are_alike(g: int, topics: TopicArrays, by_topic: Subscribers, loads: _Loads) -> bool:
    """Return whether all members that may get any partition may get every one."""
    able = (loads.high > 0).sum()
    for entry in range(by_topic.group_topics[g], by_topic.group_topics[g + 1]):
        if topics.partitions[by_topic.topics[entry]] > 0 and by_topic.end[entry] - by_topic.first[entry] != able:
            return False
    return True


@kernel
def _most_moves(partitions: int, loads: _Loads) -> int:
    """Return how many partitions move at most if members have equal subscriptions.

    Free partitions raise the lowest load. From then on only members with at least two more than the lowest load give
    partitions, and only those with the lowest load take one, so that it never falls and takers never give.
    """
    held = np.sort(loads.keep[loads.high > 0])
    free = partitions - held.sum()
    lowest, raised = held[0], 1
    while raised < len(held) and free >= raised * (held[raised] - lowest):
        free -= raised * (held[raised] - lowest)
        lowest = held[raised]
        raised += 1
    lowest += free // raised
    return np.maximum(held - (lowest + 1), 0).sum()


@kernel
def _limit(
    g: int, groups: Groups, topics: TopicArrays, by_topic: Subscribers, guarantee: int, contested: bool, loads: _Loads
) -> None:
    """Limit the loads of members with different subscriptions.

    A free partition goes to the subscriber with the lowest load, which is at most the mean load of its topic's
    subscribers. A member may get those that only it can get afterwards. Moves never raise the highest load. So no
    member has more than the highest of what members own and of these means, rounded up, and what only it can get.
    In racks, the lowest load is only that of some subscribers.
    """
    start, end = groups.members[g], groups.members[g + 1]
    shares = _shares(g, start, topics, by_topic, loads)
    most = 0
    for i in range(end - start):
        most = max(most, min(loads.high[i], max(loads.claimed[i], shares.high[i]) + loads.low[i]))
    for i in range(end - start):
        if guarantee == _BALANCED_OR_LOST and shares.high[i] == 0:
            loads.low[i] = 0
        elif guarantee == _BALANCED_OR_LOST and not contested:
            loads.high[i] = min(loads.high[i], max(shares.high[i], loads.low[i]))
            loads.low[i] = max(loads.low[i], shares.low[i])
    if guarantee != _LEAST_LOADED_IN_RACKS or not (groups.member_racks[start:end] != NO_RACK).any():
        for i in range(end - start):
            loads.high[i] = min(loads.high[i], most)


class _Shares(NamedTuple):
    """Bounds of members' loads if a member with a partition has at most one more than its topic's other subscribers.

    They are 0 for a member that shares no topic.
    """

    low: Ints32
    """The members that it shares topics with have at most one more each, and together all partitions of its topics."""
    high: Ints32
    """The other subscribers of one of its topics have at most one fewer each, and together no more than there are."""


@kernel
def _shares(g: int, start: int, topics: TopicArrays, by_topic: Subscribers, loads: _Loads) -> _Shares:
    size = len(loads.high)
    shares, sharing = _Shares(np.zeros(size, np.int32), np.zeros(size, np.int32)), np.ones(size, np.int64)
    total, able = 0, (loads.high > 0).sum()
    for entry in range(by_topic.group_topics[g], by_topic.group_topics[g + 1]):
        total += max(topics.partitions[by_topic.topics[entry]], 0)
    for entry in range(by_topic.group_topics[g], by_topic.group_topics[g + 1]):
        partitions = max(topics.partitions[by_topic.topics[entry]], 0)
        members = by_topic.members[by_topic.first[entry] : by_topic.end[entry]]
        if partitions == 0 or len(members) == 1:
            continue
        reachable = partitions
        for m in members:
            reachable += loads.high[m - start] - partitions
        for m in members:
            shares.low[m - start] = max(shares.low[m - start], partitions // len(members))
            shares.high[m - start] = max(shares.high[m - start], -(-min(reachable, total) // len(members)))
            sharing[m - start] += len(members) - 1
    for i in range(size):
        if shares.high[i] > 0:
            shares.low[i] = max(shares.low[i], loads.high[i] // min(sharing[i], able))
    return shares


@kernel
def _write(g: int, guarantee: int, best: Optimum, owned: _Owned, loads: _Loads, out: Bounds) -> None:
    out.min[g], out.max[g] = loads.low.min(), loads.high.max()
    out.idle_members_max[g] = (loads.low == 0).sum()
    out.moved_min[g] = owned.lost + np.maximum(loads.keep - loads.high, 0).sum()
    if guarantee != _BALANCED_OR_LOST and out.max[g] > 0:
        busy = -(-best.partitions[g] // out.max[g])
        out.idle_members_max[g] = min(out.idle_members_max[g], len(loads.low) - busy)
    if guarantee != _BALANCED_TOPICS and owned.contested:
        out.idle_members_min[g] = out.moved_min[g] = 0
