"""The builders of the ``simple`` assignor since Kafka 4.2.

``SimpleHomogeneousAssignmentBuilder`` assigns a group whose members subscribe to the same topic names, all topics at
once. ``SimpleHeterogeneousAssignmentBuilder`` assigns any other group topic by topic. Both let as many members share a
partition as it takes to give every member one, revoke what exceeds a member's or a partition's share, and give what is
missing to the members below theirs, in turn.

A partition that a member had counts even if it can no longer be assigned. With different subscriptions, a member keeps
a topic to which no member subscribes, and a deleted one.
"""

import math
from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.assignors.server.homogeneous import names_order
from rebalance_sim.kafka.assignors.server.share_group import (
    ShareGroup,
    assignable_places,
    by_member,
    end_of_topic,
    is_subscribed,
    list_by_topic,
    topics_of,
)
from rebalance_sim.kafka.assignors.server.target_assignment import UniformBatch
from rebalance_sim.kafka.groups import AssignmentFailure, Subscribers
from rebalance_sim.kafka.runtime.hash_order import java_copy_size, java_order, java_table_size
from rebalance_sim.kafka.runtime.kernel import inner_kernel, kernel
from rebalance_sim.kafka.runtime.strings import Flags, Ints, Ints32

_NONE = int(AssignmentFailure.NONE)
_NO_SUCH_ELEMENT = int(AssignmentFailure.NO_SUCH_ELEMENT)


class _Scope(NamedTuple):
    """What is assigned at once: all topics that members of a homogeneous group subscribe to, or one topic."""

    first: int
    """Its places: from ``first`` to ``end``."""
    end: int
    hashes: Ints
    """By place: the hash code of the key that stands for the partition."""
    targets: Ints32
    """Places to assign."""
    entries: Ints32
    """Entries of ``ShareGroup.held`` in these topics, in the order of members."""
    desired: Ints
    """By member: the number of partitions (``desiredAssignmentCount``)."""
    sharing: int
    """Number of members that share a partition (``desiredSharing``)."""


class _Result(NamedTuple):
    """What has been decided of a group."""

    kept: Flags
    """By entry of ``ShareGroup.held``: whether the member keeps it."""
    members: Ints32
    """Members that get partitions, in the order in which they do."""
    places: Ints32
    filled: Ints
    """Number of these members, as an array of one."""


@kernel
def assign_evenly(
    batch: UniformBatch, by_topic: Subscribers, g: int, group: ShareGroup, is_homogeneous: bool
) -> tuple[Ints32, Ints32, int]:
    """Return the target of each member, as offsets and places, and the failure."""
    if is_homogeneous:
        result, failure = _assign_homogeneous(batch, group)
    else:
        result, failure = _assign_heterogeneous(batch, by_topic, g, group)
    if failure != _NONE:
        return np.zeros(len(group.members) + 1, np.int32), np.empty(0, np.int32), failure
    offsets, places = _written(group, result)
    return offsets, places, _NONE


@kernel
def _assign_homogeneous(batch: UniformBatch, group: ShareGroup) -> tuple[_Result, int]:
    """Assign all topics at once (``SimpleHomogeneousAssignmentBuilder``)."""
    members = np.arange(len(group.members)).astype(np.int32)
    names, named = names_order(batch, group.members[0])
    targets, n = np.empty(len(group.topic_of), np.int32), 0
    for topic in names:
        places = assignable_places(group, batch.base[topic])
        targets[n : n + len(places)] = places
        n += len(places)
    entries, kept, n_entries = np.empty(len(group.held), np.int32), np.ones(len(group.held), np.bool_), 0
    for k in range(len(group.held)):
        if is_subscribed(batch, group, group.held[k]):
            entries[n_entries] = k
            n_entries += 1
        else:
            kept[k] = False
    sharing = _sharing(len(members), n)
    desired = _desired(members, len(members), n)
    scope = _Scope(0, len(group.topic_of), group.hashes, targets[:n], entries[:n_entries], desired, sharing)
    result = _new_result(kept, sharing * n + 1)
    # Without any name the builder returns no assignment.
    return result, _assign(group, scope, result) if named > 0 else _NONE


@kernel
def _assign_heterogeneous(batch: UniformBatch, by_topic: Subscribers, g: int, group: ShareGroup) -> tuple[_Result, int]:
    """Assign topic by topic (``SimpleHeterogeneousAssignmentBuilder``)."""
    index_of = np.empty(len(group.members), np.int32)
    start = group.members.min()
    for i in range(len(group.members)):
        index_of[group.members[i] - start] = i
    first = by_topic.group_topics[g]
    topics, room = _topics_in_order(batch, group), 0
    for t in topics:
        count = by_topic.end[first + t] - by_topic.first[first + t]
        room += _sharing(count, group.starts[t + 1] - group.starts[t]) * (group.starts[t + 1] - group.starts[t]) + count
    result = _new_result(np.ones(len(group.held), np.bool_), room)
    if len(topics) == 0:
        # Nobody subscribes to a topic that exists: the builder returns no assignment.
        result.kept[:] = False
    offsets, entries = by_member(
        len(group.topics), group.topic_of[group.held], np.arange(len(group.held)).astype(np.int32)
    )
    for t in topics:
        listed = by_topic.members[by_topic.first[first + t] : by_topic.end[first + t]]
        targets = assignable_places(group, t)
        desired = _desired(index_of[listed - start], len(group.members), len(targets))
        first_place, end_place, of_topic = group.starts[t], group.starts[t + 1], entries[offsets[t] : offsets[t + 1]]
        sharing = _sharing(len(listed), len(targets))
        scope = _Scope(first_place, end_place, group.partition_of, targets, of_topic, desired, sharing)
        failure = _assign(group, scope, result)
        if failure != _NONE:
            return result, failure
    return result, _NONE


@kernel
def _topics_in_order(batch: UniformBatch, group: ShareGroup) -> Ints32:
    """Return the subscribed topics that exist, by their place in the group's list, in the order of a HashSet of ids."""
    order, n = np.empty(group.subscribed, np.int32), 0
    added = np.zeros(group.subscribed, np.bool_)
    for m in group.members:
        names, _ = names_order(batch, m)
        for topic in names:
            if not added[batch.base[topic]]:
                added[batch.base[topic]] = True
                order[n] = batch.base[topic]
                n += 1
    return java_order(group.id_hashes, order[:n], java_table_size(n))


@inner_kernel
def _sharing(members: int, partitions: int) -> int:
    return 0 if partitions == 0 else (members + partitions - 1) // partitions


@kernel
def _desired(members: Ints32, count: int, partitions: int) -> Ints:
    """Return the number of partitions by member: shares of the whole number, those of ``members`` in their order."""
    desired = np.zeros(count, np.int64)
    share = _sharing(len(members), partitions) * partitions / len(members)
    for j in range(len(members)):
        desired[members[j]] = math.ceil(share * (j + 1)) - math.ceil(share * j)
    return desired


@kernel
def _new_result(kept: Flags, room: int) -> _Result:
    return _Result(kept, np.empty(room, np.int32), np.empty(room, np.int32), np.zeros(1, np.int64))


@kernel
def _assign(group: ShareGroup, scope: _Scope, result: _Result) -> int:
    """Revoke and assign within a scope, and return the failure."""
    _revoke_from_overfilled_members(group, scope, result.kept)
    shared = _shared_places(group, scope)
    _revoke_from_overshared_partitions(group, scope, result.kept, shared)
    return _assign_remaining(group, scope, result, shared)


@kernel
def _revoke_from_overfilled_members(group: ShareGroup, scope: _Scope, kept: Flags) -> None:
    """Revoke the first partitions of the HashSet of every member that has too many (``revokeOverfilledMembers``)."""
    hashes = scope.hashes[group.held]
    low = 0
    while low < len(scope.entries):
        i, high = group.holders[scope.entries[low]], low + 1
        while high < len(scope.entries) and group.holders[scope.entries[high]] == i:
            high += 1
        surplus = high - low - scope.desired[i]
        if surplus > 0:
            for k in java_order(hashes, scope.entries[low:high], java_table_size(high - low))[:surplus]:
                kept[k] = False
        low = high


class _SharedPlaces(NamedTuple):
    """The keys of ``finalAssignmentByPartition``, the places of a scope that are assigned or are to be."""

    places: Ints32
    """In the order of the map."""
    key_of: Ints32
    """By place of the scope: its number among the keys."""
    offsets: Ints32
    """Entries of the members that had key k: ``offsets[k]`` to ``offsets[k + 1]`` of ``entries``."""
    entries: Ints32


@kernel
def _shared_places(group: ShareGroup, scope: _Scope) -> _SharedPlaces:
    """Return the keys: ``computeIfAbsent`` adds what members had, member by member, then the places to assign."""
    key_of, n = np.full(scope.end - scope.first, -1, np.int32), 0
    places, of_entry = np.empty(scope.end - scope.first, np.int32), np.empty(len(scope.entries), np.int32)
    last_call_inserts = False
    for j in range(len(scope.entries)):
        place = group.held[scope.entries[j]]
        last_call_inserts = key_of[place - scope.first] < 0
        if last_call_inserts:
            key_of[place - scope.first] = n
            places[n] = place
            n += 1
        of_entry[j] = key_of[place - scope.first]
    for place in scope.targets:
        last_call_inserts = key_of[place - scope.first] < 0
        if last_call_inserts:
            key_of[place - scope.first] = n
            places[n] = place
            n += 1
    offsets, entries = by_member(n, of_entry, scope.entries)
    size = _presized(len(scope.targets))
    while 4 * (n - 1 if last_call_inserts else n) > 3 * size:
        size *= 2
    return _SharedPlaces(java_order(scope.hashes, places[:n][::-1].copy(), size), key_of, offsets, entries)


@inner_kernel
def _presized(count: int) -> int:
    """Return the number of buckets of a map with room for ``count`` keys (``AssignorHelpers.newHashMap``)."""
    size = 1
    while size < 4 * (count + 1) // 3 + 1:
        size *= 2
    return size


@kernel
def _revoke_from_overshared_partitions(group: ShareGroup, scope: _Scope, kept: Flags, shared: _SharedPlaces) -> None:
    """Revoke partitions from the first members of the HashSets of those that share them beyond ``sharing``."""
    for key in range(len(shared.offsets) - 1):
        entries = shared.entries[shared.offsets[key] : shared.offsets[key + 1]]
        surplus = -scope.sharing
        for k in entries:
            surplus += kept[k]
        if surplus > 0:
            for k in java_order(group.holders, entries, java_table_size(len(entries))):
                if kept[k] and surplus > 0:
                    kept[k] = False
                    surplus -= 1


@kernel
def _assign_remaining(group: ShareGroup, scope: _Scope, result: _Result, shared: _SharedPlaces) -> int:
    """Assign partitions with too few members to members with too few, in turn (``assignRemainingPartitions``).

    What Kafka knows of a partition's members is from before this step: if a partition has more than one turn left, a
    member may get it twice, which counts as two. After a round in which no member could take the partition, the
    partitions that follow get no member either. If no member is left although the last round assigned a partition,
    Kafka throws NoSuchElementException.
    """
    loads, waiting, end = np.zeros(len(group.members), np.int64), np.empty(len(group.members), np.int32), 0
    for k in scope.entries:
        loads[group.holders[k]] += result.kept[k]
    for i in range(len(loads)):
        if loads[i] < scope.desired[i]:
            waiting[end] = i
            end += 1
    has, got = np.full(len(loads), -1, np.int32), np.full(len(loads), -1, np.int32)
    read, write, assigned_in_round = 0, 0, False
    for place in shared.places:
        if read == end and write == 0:
            return _NONE
        missing = scope.sharing - _mark_members(group, result.kept, shared, shared.key_of[place - scope.first], has)
        while missing > 0:
            if read == end:
                if not assigned_in_round:
                    return _NONE
                end, read, write, assigned_in_round = write, 0, 0, False
                if end == 0:
                    return _NO_SUCH_ELEMENT
            i = waiting[read]
            read += 1
            if has[i] != place:
                missing -= 1
                assigned_in_round = True
                if got[i] != place:
                    got[i] = place
                    loads[i] += 1
                    _add(result, i, place)
            if has[i] == place or loads[i] < scope.desired[i]:
                waiting[write] = i
                write += 1
    return _NONE


@inner_kernel
def _mark_members(group: ShareGroup, kept: Flags, shared: _SharedPlaces, key: int, has: Ints32) -> int:
    """Set ``has`` of the members that keep a partition to its place, and return their number."""
    count = 0
    for j in range(shared.offsets[key], shared.offsets[key + 1]):
        k = shared.entries[j]
        if kept[k]:
            has[group.holders[k]] = group.held[k]
            count += 1
    return count


@inner_kernel
def _add(result: _Result, i: int, place: int) -> None:
    n = result.filled[0]
    result.members[n], result.places[n] = i, place
    result.filled[0] = n + 1


@kernel
def _written(group: ShareGroup, result: _Result) -> tuple[Ints32, Ints32]:
    """Return the target of each member, in the order of its record."""
    n = result.filled[0]
    added_from, added = by_member(len(group.members), result.members[:n], result.places[:n])
    offsets, places = np.zeros(len(group.members) + 1, np.int32), np.empty(len(group.held) + n, np.int32)
    counts, filled = np.zeros(len(group.topics), np.int32), 0
    for i in range(len(group.members)):
        low, high = group.held_from[i], group.held_from[i + 1]
        mine = added[added_from[i] : added_from[i + 1]]
        listed = _changed(group, group.held[low:high], result.kept[low:high], mine, counts)
        places[filled : filled + len(listed)] = listed
        filled += len(listed)
        offsets[i + 1] = filled
    return offsets, places[:filled]


@kernel
def _changed(group: ShareGroup, held: Ints32, kept: Flags, added: Ints32, counts: Ints32) -> Ints32:
    """Return a target in the order of a copy of the old one (``deepCopyAssignment``); ``counts`` is all 0.

    The copy has the old topics in their order, then ``computeIfAbsent`` puts new ones at the head of their buckets.
    """
    old = topics_of(group.topic_of, held, counts)
    places, now = np.empty(len(held) + len(added), np.int32), 0
    for k in range(len(held)):
        if kept[k]:
            places[now] = held[k]
            now += 1
    places[now : now + len(added)] = added
    now += len(added)
    known = np.zeros(len(group.topics), np.bool_)
    known[old] = True
    in_order, n = np.empty(len(old) + len(added), np.int32), 0
    for t in topics_of(group.topic_of, added, counts)[::-1]:
        if not known[t]:
            in_order[n] = t
            n += 1
    in_order[n : n + len(old)] = old
    n += len(old)
    order, listed = java_order(group.id_hashes, in_order[:n], _copied(len(old))), np.empty(now, np.int32)
    list_by_topic(group.topic_of, places[:now], order, listed, counts)
    return _sorted_within_topics(group, held, listed, counts)


@kernel
def _sorted_within_topics(group: ShareGroup, held: Ints32, listed: Ints32, counts: Ints32) -> Ints32:
    """Sort the partitions of each topic as the HashSet that was copied from the old ones; ``counts`` is all 0."""
    for place in held:
        counts[group.topic_of[place]] += 1
    low = 0
    while low < len(listed):
        t, high = group.topic_of[listed[low]], end_of_topic(group.topic_of, listed, low, len(listed))
        size = max(java_copy_size(counts[t]), java_table_size(high - low))
        listed[low:high] = java_order(group.partition_of, listed[low:high], size)
        low = high
    for place in held:
        counts[group.topic_of[place]] = 0
    return listed


@inner_kernel
def _copied(count: int) -> int:
    """Return the number of buckets of ``new HashMap<>(count)`` with as many keys: it is at most 3/4 full."""
    size = 1
    while size < count:
        size *= 2
    return 2 * size if 4 * count > 3 * size else size
