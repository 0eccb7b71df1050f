"""``UniformHeterogeneousAssignmentBuilder``: the ``uniform`` assignor if members subscribe to different topic names.

Members keep all owned partitions that they still subscribe to. Partitions without an owner go to the least loaded
subscribers; then, topic by topic, partitions move from the most to the least loaded subscribers.
"""

from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.assignors.server.target_assignment import (
    ByMember,
    Targets,
    UniformBatch,
    add_beside_owner,
    owned_once,
)
from rebalance_sim.kafka.groups import AssignmentFailure, Subscribers
from rebalance_sim.kafka.runtime.kernel import inner_kernel, kernel
from rebalance_sim.kafka.runtime.sorting import stable_order
from rebalance_sim.kafka.runtime.strings import Ints32

_NONE = int(AssignmentFailure.NONE)
_ARRAY_INDEX = int(AssignmentFailure.ARRAY_INDEX)
_NOT_FOUND = -1
_ROUNDS = 16
"""``MAX_ITERATION_COUNT`` of ``balance``."""


class _Lost(NamedTuple):
    """Partitions that a member owns although another member counts as their owner."""

    members: Ints32
    places: Ints32
    """Place of the partition; -1 after the member was assigned it."""
    topics: Ints32
    partitions: Ints32


class _Current(NamedTuple):
    """A group while it is assigned."""

    owners: Ints32
    """By place: the member that is assigned the partition, or -1."""
    loads: Ints32
    """By member of the batch: the number of its partitions."""
    last_partition: Ints32
    """Scratch, by member: the last partition of a topic that it still has."""
    lost: _Lost


@kernel
def assign_heterogeneous(
    batch: UniformBatch, by_topic: Subscribers, g: int, members: Ints32, by_member: ByMember, targets: Targets
) -> int:
    """Assign a group and return the failure; the loads of its members are 0."""
    entries = _sorted_topics(batch, by_topic, by_topic.group_topics[g], by_topic.group_topics[g + 1])
    owners, room = targets.owners, 0
    for m in members:
        room += batch.owned.offsets[m + 1] - batch.owned.offsets[m]
    lost = _new_lost(room)
    n_lost = _keep(batch, members, owners, by_member.loads, lost)
    if n_lost == _NOT_FOUND:
        # The builder's array of owners has one entry per partition of the topic.
        return _ARRAY_INDEX
    lost = _first_lost(lost, n_lost)
    current = _Current(owners, by_member.loads, by_member.last_partition, lost)
    _assign_remaining(batch, by_topic, entries, current)
    _balance(batch, by_topic, entries, current)
    for i in range(len(lost.members)):
        if lost.places[i] >= 0:
            add_beside_owner(targets, lost.members[i], lost.topics[i], lost.partitions[i])
    return _NONE


@kernel
def _sorted_topics(batch: UniformBatch, by_topic: Subscribers, first: int, end: int) -> Ints32:
    """Return the entries of known topics: most partitions per subscriber first, then fewest subscribers, then ids."""
    entries = np.empty(end - first, np.int32)
    per_subscriber = np.empty(end - first, np.float64)
    n = 0
    for entry in range(first, end):
        topic = by_topic.topics[entry]
        if batch.partitions[topic] < 0:
            continue
        count = by_topic.end[entry] - by_topic.first[entry]
        entries[n] = entry
        per_subscriber[n] = -batch.partitions[topic] / count
        n += 1
    entries = entries[:n]
    counts = by_topic.end[entries] - by_topic.first[entries]
    order = stable_order(batch.id_ranks[by_topic.topics[entries]])
    order = order[stable_order(counts[order])]
    order = order[stable_order(per_subscriber[:n][order])]
    return entries[order]


@inner_kernel
def _keep(batch: UniformBatch, members: Ints32, owners: Ints32, loads: Ints32, lost: _Lost) -> int:
    """Keep the owned partitions that members still subscribe to; returns the number of ``lost``.

    The number is _NOT_FOUND if one of them does not exist.
    """
    owned, (of_members, offsets, topics) = batch.owned, batch.subscriptions
    n_lost = 0
    for m in members:
        n_mine = owned_once(batch, m)
        if n_mine == 0:
            continue
        for topic in topics[offsets[of_members[m]] : offsets[of_members[m] + 1]]:
            batch.subscribed_by[topic] = m
        for k in batch.mine[:n_mine]:
            topic, partition = owned.topics[k], owned.partitions[k]
            if batch.subscribed_by[topic] != m:
                continue
            if partition >= batch.partitions[topic]:
                return _NOT_FOUND
            place = batch.base[topic] + partition
            if owners[place] >= 0:
                lost.members[n_lost], lost.places[n_lost] = owners[place], place
                lost.topics[n_lost], lost.partitions[n_lost] = topic, partition
                n_lost += 1
            owners[place] = m
            loads[m] += 1
    return n_lost


@kernel
def _new_lost(room: int) -> _Lost:
    return _Lost(np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.int32))


@kernel
def _first_lost(lost: _Lost, n: int) -> _Lost:
    return _Lost(lost.members[:n], lost.places[:n], lost.topics[:n], lost.partitions[:n])


@inner_kernel
def _assign_partition(current: _Current, place: int, m: int) -> None:
    """Assign a partition to a member, and take it from its owner if it has one (``assignPartition``)."""
    owners, loads, lost = current.owners, current.loads, current.lost
    if owners[place] >= 0:
        loads[owners[place]] -= 1
    owners[place] = m
    loads[m] += 1
    for i in range(len(lost.members)):
        if lost.members[i] == m and lost.places[i] == place:
            lost.places[i] = -1


class _Least(NamedTuple):
    """The least loaded of the sorted members, the first ``end`` of them, which get partitions in turn."""

    end: int
    load: int
    """Partitions that each of them has at least."""
    following: int
    """Place of the next one."""


@inner_kernel
def _next_least(least: _Least, by_load: Ints32, loads: Ints32) -> _Least:
    """Choose the member that gets the next partition: the one before ``following`` of the result.

    When each of them has got one, the members with as many partitions join them.
    """
    end, load, following = least.end, least.load, least.following
    if following >= end:
        load += 1
        while end < len(by_load) and loads[by_load[end]] == load:
            end += 1
        following = 0
    return _Least(end, load, following + 1)


class _Most(NamedTuple):
    """The most loaded of the sorted members, from ``start`` to ``end``, which lose partitions in turn, last first."""

    start: int
    end: int
    """The members from here on have no more partitions of the topic to lose."""
    load: int
    following: int


_NOBODY = -2
"""``_Most.following`` if no member is left that could lose a partition."""


@inner_kernel
def _next_most(most: _Most, by_load: Ints32, loads: Ints32) -> _Most:
    """Choose the member that loses the next partition: the one after ``following`` of the result."""
    start, load, following = most.start, most.load, most.following
    if following < start:
        if most.end <= start and start > 0:
            load = loads[by_load[start - 1]]
        else:
            load -= 1
        while start > 0 and loads[by_load[start - 1]] == load:
            start -= 1
        following = most.end - 1
    return _Most(start, most.end, load, following - 1 if following >= 0 else _NOBODY)


@inner_kernel
def _leave_out(most: _Most, by_load: Ints32) -> _Most:
    """Move the member chosen last to the end: it has no partition of the topic to lose."""
    at, last = most.following + 1, most.end - 1
    by_load[at], by_load[last] = by_load[last], by_load[at]
    return _Most(most.start, last, most.load, most.following)


@kernel
def _sorted_by_load(members: Ints32, loads: Ints32) -> Ints32:
    """Sort members by load, stably; by counting, unless the loads differ widely."""
    fewest, most = loads[members[0]], loads[members[0]]
    for m in members:
        fewest, most = min(fewest, loads[m]), max(most, loads[m])
    if most - fewest > 4 * len(members) + 16:
        return members[stable_order(loads[members])]
    starts = np.zeros(most - fewest + 2, np.int32)
    for m in members:
        starts[loads[m] - fewest + 1] += 1
    for load in range(most - fewest + 1):
        starts[load + 1] += starts[load]
    by_load = np.empty(len(members), np.int32)
    for m in members:
        by_load[starts[loads[m] - fewest]] = m
        starts[loads[m] - fewest] += 1
    return by_load


@kernel
def _assign_remaining(batch: UniformBatch, by_topic: Subscribers, entries: Ints32, current: _Current) -> None:
    """Assign partitions without an owner to the least loaded subscribers (``assignRemainingPartitions``)."""
    owners, loads = current.owners, current.loads
    for entry in entries:
        topic = by_topic.topics[entry]
        first, end = batch.base[topic], batch.base[topic] + batch.partitions[topic]
        if not (owners[first:end] < 0).any():
            continue
        by_load = _sorted_by_load(by_topic.members[by_topic.first[entry] : by_topic.end[entry]], loads)
        least = _Least(0, loads[by_load[0]] - 1, 0)
        for place in range(first, end):
            if owners[place] < 0:
                least = _next_least(least, by_load, loads)
                _assign_partition(current, place, by_load[least.following - 1])


@kernel
def _balance(batch: UniformBatch, by_topic: Subscribers, entries: Ints32, current: _Current) -> None:
    """Balance topic after topic, round after round, until a whole round moves nothing (``balance``)."""
    counts = by_topic.end[entries] - by_topic.first[entries]
    shared = entries[counts > 1]
    last_moved = -1
    for _ in range(_ROUNDS):
        for i in range(len(shared)):
            if i == last_moved:
                return
            moved = _balance_topic(batch, by_topic, shared[i], current)
            if moved or last_moved < 0:
                last_moved = i


@kernel
def _balance_topic(batch: UniformBatch, by_topic: Subscribers, entry: int, current: _Current) -> bool:
    """Move partitions of one topic from the most to the least loaded subscribers; returns whether any moved.

    A member loses the highest of the partitions that it has at the beginning.
    """
    owners, loads, last_partition = current.owners, current.loads, current.last_partition
    members = by_topic.members[by_topic.first[entry] : by_topic.end[entry]]
    fewest, largest = loads[members[0]], loads[members[0]]
    for m in members:
        fewest, largest = min(fewest, loads[m]), max(largest, loads[m])
    if largest - fewest <= 1:
        return False
    by_load = _sorted_by_load(members, loads)
    first = batch.base[by_topic.topics[entry]]
    before = np.empty(batch.partitions[by_topic.topics[entry]], np.int32)
    for m in members:
        last_partition[m] = -1
    for partition in range(len(before)):
        owner = owners[first + partition]
        before[partition] = last_partition[owner]
        last_partition[owner] = partition
    least = _Least(0, fewest - 1, 0)
    most = _Most(len(members), len(members), largest + 1, len(members) - 1)
    moved = False
    while most.load - least.load > 1:
        most = _next_most(most, by_load, loads)
        while most.following != _NOBODY and last_partition[by_load[most.following + 1]] < 0:
            most = _next_most(_leave_out(most, by_load), by_load, loads)
        if most.following == _NOBODY:
            break
        loser = by_load[most.following + 1]
        partition = last_partition[loser]
        last_partition[loser] = before[partition]
        least = _next_least(least, by_load, loads)
        if most.load - least.load <= 1:
            break
        _assign_partition(current, first + partition, by_load[least.following - 1])
        moved = True
    return moved
