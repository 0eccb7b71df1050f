"""``server-range`` before Kafka 3.9, which is sticky (``RangeAssignor``, rewritten by KAFKA-16944).

Each topic is assigned on its own. Members keep their lowest partitions up to their share; the other partitions are
assigned in ranges to the members below their share. The order of the coordinator's hash map decides which members get
one more partition.
"""

from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.assignors.server.specification import specification_order
from rebalance_sim.kafka.groups import Assignments, Groups, Subscribers, TopicArrays, subscribers
from rebalance_sim.kafka.runtime.kernel import inner_kernel, kernel
from rebalance_sim.kafka.runtime.lists import list_offsets
from rebalance_sim.kafka.runtime.strings import Flags, Ints, Ints32

_SATISFIED = -1


class _Assigned(NamedTuple):
    """Partitions, in the order in which they are assigned."""

    members: Ints32
    topics: Ints32
    partitions: Ints32
    filled: Ints
    """Number of partitions, as an array of one."""


def assign_sticky_ranges(groups: Groups, topics: TopicArrays) -> Assignments:
    """Assign the partitions of every group of a batch; lists are sorted by topic name and partition."""
    order = specification_order(groups)
    by_topic = subscribers(groups, order, order, len(topics.partitions), count_repeats=False)
    owned = _sorted_lists(groups.owned)
    room = len(owned.partitions) + int(topics.partitions[by_topic.topics].clip(0).sum())
    assigned = _Assigned(
        np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.int32), np.zeros(1, np.int64)
    )
    _assign(topics.partitions, by_topic, owned, assigned)
    return _as_lists(assigned, topics.ranks, len(order))


def _sorted_lists(owned: Assignments) -> Assignments:
    """Return the same lists, sorted by topic and partition, without repeated partitions."""
    members = np.repeat(np.arange(len(owned.offsets) - 1), np.diff(owned.offsets))
    order = np.lexsort((owned.partitions, owned.topics, members))
    rows = np.stack([members[order], owned.topics[order], owned.partitions[order]])
    new = np.ones(len(order), np.bool_)
    new[1:] = (rows[:, 1:] != rows[:, :-1]).any(axis=0)
    of_members = np.bincount(rows[0, new], minlength=len(owned.offsets) - 1)
    return Assignments(list_offsets(of_members), rows[1, new].astype(np.int32), rows[2, new].astype(np.int32))


def _as_lists(assigned: _Assigned, ranks: Ints, member_count: int) -> Assignments:
    """Return the lists of all members."""
    filled = assigned.filled[0]
    members, topics, partitions = (column[:filled] for column in assigned[:3])
    order = np.lexsort((partitions, ranks[topics], members))
    counts = np.bincount(members, minlength=member_count)
    return Assignments(list_offsets(counts), topics[order], partitions[order])


@kernel
def _assign(partitions: Ints32, by_topic: Subscribers, owned: Assignments, assigned: _Assigned) -> None:
    """Assign the topics of all groups."""
    missing = np.empty(len(by_topic.members), np.int32)
    for entry in range(len(by_topic.topics)):
        topic = by_topic.topics[entry]
        if partitions[topic] <= 0:
            continue
        members = by_topic.members[by_topic.first[entry] : by_topic.end[entry]]
        kept = np.zeros(partitions[topic], np.bool_)
        extras = _keep(owned, members, topic, kept, missing, assigned)
        _fill_up(members, topic, kept, missing, extras, assigned)


@inner_kernel
def _keep(owned: Assignments, members: Ints32, topic: int, kept: Flags, missing: Ints32, assigned: _Assigned) -> int:
    """Let members keep partitions, of which ``missing`` says how many more they need.

    Returns the number of extra partitions that are left. A member above its share may keep one more; if none is left
    for it, it needs none.
    """
    share, extras = len(kept) // len(members), len(kept) % len(members)
    for i in range(len(members)):
        low, high = _owned_of_topic(owned, members[i], topic)
        missing[i] = share - (high - low)
        count = min(high - low, share)
        if missing[i] < 0 and extras > 0:
            extras -= 1
            count += 1
            missing[i] = _SATISFIED
        for partition in owned.partitions[low : low + count]:
            _give(assigned, members[i], topic, partition)
            if partition < len(kept):
                kept[partition] = True
    return extras


@inner_kernel
def _fill_up(members: Ints32, topic: int, kept: Flags, missing: Ints32, extras: int, assigned: _Assigned) -> None:
    """Assign the partitions that nobody keeps, in ascending order."""
    partition = 0
    for i in range(len(members)):
        count = missing[i]
        if count >= 0 and extras > 0:
            extras -= 1
            count += 1
        for _ in range(count):
            while kept[partition]:
                partition += 1
            _give(assigned, members[i], topic, partition)
            partition += 1


@inner_kernel
def _owned_of_topic(owned: Assignments, m: int, topic: int) -> tuple[int, int]:
    """Return where the partitions of a topic are in the sorted list of a member."""
    low, high = owned.offsets[m], owned.offsets[m + 1]
    while low < high:
        middle = (low + high) // 2
        if owned.topics[middle] < topic:
            low = middle + 1
        else:
            high = middle
    high = low
    while high < owned.offsets[m + 1] and owned.topics[high] == topic:
        high += 1
    return low, high


@inner_kernel
def _give(assigned: _Assigned, m: int, topic: int, partition: int) -> None:
    n = assigned.filled[0]
    assigned.members[n], assigned.topics[n], assigned.partitions[n] = m, topic, partition
    assigned.filled[0] = n + 1
