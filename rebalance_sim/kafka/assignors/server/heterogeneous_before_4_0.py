"""``uniform`` if members subscribe to different topics, before Kafka 4.0.

These are the rules of ``GeneralUniformAssignmentBuilder`` (3.7), which matches racks, and of
``UniformHeterogeneousAssignmentBuilder`` (3.8 and 3.9), which does not. Members keep all owned partitions that they
still subscribe to. Every other partition goes to the least loaded subscriber; then partitions move one by one to less
loaded members.

If two partitions of a topic would move between two members in opposite directions, Kafka moves the first one back
instead and throws: ``PartitionMovements.movePartition`` checks the owners of a partition that moves again the wrong way
round.
"""

from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.assignors.server.group_before_4_0 import NO_LIMIT, EarlyGroup
from rebalance_sim.kafka.assignors.server.homogeneous import names_order
from rebalance_sim.kafka.assignors.server.racks_3_7 import racks_mismatch, sort_matches, unassigned_with_matches
from rebalance_sim.kafka.assignors.server.target_assignment import (
    Targets,
    UniformBatch,
    add_beside_owner,
    distinct_names,
    owned_once,
)
from rebalance_sim.kafka.groups import AssignmentFailure, Subscribers
from rebalance_sim.kafka.runtime.hash_order import java_copy_size, java_order, java_table_size
from rebalance_sim.kafka.runtime.kernel import inner_kernel, kernel
from rebalance_sim.kafka.runtime.sorting import stable_order
from rebalance_sim.kafka.runtime.strings import Ints32

_NONE = int(AssignmentFailure.NONE)
_NULL_POINTER = int(AssignmentFailure.NULL_POINTER)
_NO_SUCH_ELEMENT = int(AssignmentFailure.NO_SUCH_ELEMENT)
_PARTITION_ASSIGNOR = int(AssignmentFailure.PARTITION_ASSIGNOR)
_NOBODY, _NOWHERE, _DONE = -1, -1, -2


class _Lost(NamedTuple):
    """Partitions that a member has beside their owner."""

    members: Ints32
    topics: Ints32
    partitions: Ints32
    places: Ints32
    """_NOWHERE if the partition does not exist; _DONE after the member became its owner."""


class _Current(NamedTuple):
    """A group while it is assigned."""

    group: EarlyGroup
    by_topic: Subscribers
    entry_of: Ints32
    """By place: the entry of its topic."""
    owners: Ints32
    """By place: the member that is assigned the partition, or -1."""
    moved_from: Ints32
    """By place: the member from which the partition was moved, or -1."""
    lost: _Lost


@kernel
def assign_one_by_one(
    batch: UniformBatch, group: EarlyGroup, by_topic: Subscribers, with_racks: bool, targets: Targets
) -> int:
    """Assign a group and return the failure; ``with_racks`` stands for Kafka 3.7."""
    entry_of = _entries_of_places(batch, group, by_topic)
    order = _sorted_places(by_topic, entry_of, _hash_order(batch, group, with_racks))
    owners = targets.owners[: len(entry_of)]
    lost = _keep(batch, group, owners)
    current = _Current(group, by_topic, entry_of, owners, np.full(len(owners), _NOBODY, np.int32), lost)
    failure = _assign_in_racks(current, batch) if group.matches.used else _NONE
    if failure == _NONE and not _assign_remaining(current, order):
        failure = _PARTITION_ASSIGNOR
    if failure == _NONE and with_racks and (group.by_member.limits[group.members] == NO_LIMIT).any():
        # The map of assignments has no entry for a member without an existing topic.
        failure = _NULL_POINTER
    if failure == _NONE:
        failure = _balance(current, order)
    for i in range(len(lost.members)):
        if lost.places[i] != _DONE:
            add_beside_owner(targets, lost.members[i], lost.topics[i], lost.partitions[i])
    return failure


@kernel
def _entries_of_places(batch: UniformBatch, group: EarlyGroup, by_topic: Subscribers) -> Ints32:
    """Return the entry of each place's topic, and set the limits of the members."""
    entry_of, limits = np.empty(len(group.topic_of), np.int32), group.by_member.limits
    for entry in range(by_topic.group_topics[group.number], by_topic.group_topics[group.number + 1]):
        topic = by_topic.topics[entry]
        if batch.partitions[topic] >= 0:
            entry_of[batch.base[topic] : batch.base[topic] + batch.partitions[topic]] = entry
            for m in by_topic.members[by_topic.first[entry] : by_topic.end[entry]]:
                limits[m] = max(limits[m], 0) + batch.partitions[topic]
    return entry_of


@kernel
def _hash_order(batch: UniformBatch, group: EarlyGroup, with_racks: bool) -> Ints32:
    """Return all places in the order of a ``HashSet`` of ``TopicIdPartition`` (``unassignedPartitions``).

    It is filled topic by topic, in the order of a ``HashSet`` of ids, and copied in 3.7.
    """
    found, n, last_list = np.empty(group.topic_count, np.int32), 0, -1
    for m in group.members:
        if batch.subscriptions.of_members[m] == last_list:
            continue
        last_list = batch.subscriptions.of_members[m]
        for topic in _ids_of_sorted_names(batch, m) if with_racks else names_order(batch, m)[0]:
            if group.named_in[topic] != group.number:
                group.named_in[topic] = group.number
                found[n] = topic
                n += 1
    places, hashes = np.empty(len(group.topic_of), np.int32), np.empty(len(group.topic_of), np.int64)
    filled = 0
    for topic in java_order(batch.id_hashes, found[:n], java_table_size(n)):
        for partition in range(batch.partitions[topic]):
            places[filled] = batch.base[topic] + partition
            # TopicIdPartition.hashCode
            hashes[places[filled]] = (31 * (31 + batch.id_hashes[topic]) + partition) & 0xFFFFFFFF
            filled += 1
    order = java_order(hashes, places, java_table_size(filled))
    return java_order(hashes, order, java_copy_size(filled)) if with_racks else order


@kernel
def _ids_of_sorted_names(batch: UniformBatch, m: int) -> Ints32:
    """Return the known topics of a member in the order of its set of ids, which is filled by name (3.7)."""
    names, _ = distinct_names(batch, m)
    known = names[batch.partitions[names] >= 0]
    return java_order(batch.id_hashes, known[stable_order(batch.ranks[known])], java_table_size(len(known)))


@kernel
def _sorted_places(by_topic: Subscribers, entry_of: Ints32, in_hash_order: Ints32) -> Ints32:
    """Sort places: most partitions per subscriber first, then fewest subscribers, then the partition's number.

    Topics are not compared, so that hash codes decide between them (``sortTopicIdPartitions``).
    """
    per_subscriber, subscribers = np.empty(len(entry_of), np.float64), np.empty(len(entry_of), np.int32)
    partitions = np.empty(len(entry_of), np.int32)
    start = 0
    while start < len(entry_of):
        entry, end = entry_of[start], start
        while end < len(entry_of) and entry_of[end] == entry:
            partitions[end] = end - start
            end += 1
        count = by_topic.end[entry] - by_topic.first[entry]
        subscribers[start:end] = count
        per_subscriber[start:end] = -(end - start) / count
        start = end
    order = in_hash_order[stable_order(partitions[in_hash_order])]
    order = order[stable_order(subscribers[order])]
    return order[stable_order(per_subscriber[order])]


@kernel
def _keep(batch: UniformBatch, group: EarlyGroup, owners: Ints32) -> _Lost:
    """Keep the owned partitions that members still subscribe to (``assignStickyPartitions``)."""
    owned, matches = batch.owned, group.matches
    of_members, offsets, topics = batch.subscriptions
    room = 0
    for m in group.members:
        room += owned.offsets[m + 1] - owned.offsets[m]
    lost = _Lost(np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.int32))
    n = 0
    for m in group.members:
        mine = batch.mine[: owned_once(batch, m)]
        for topic in topics[offsets[of_members[m]] : offsets[of_members[m] + 1]]:
            batch.subscribed_by[topic] = m
        for k in mine:
            topic, partition = owned.topics[k], owned.partitions[k]
            if batch.subscribed_by[topic] != m:
                continue
            exists = partition < batch.partitions[topic]
            place = batch.base[topic] + partition if exists else _NOWHERE
            if matches.used and racks_mismatch(batch, group.topics, group.by_member.racks[m], topic, partition):
                if exists:
                    matches.previous_owners[place] = m
                continue
            group.by_member.loads[m] += 1
            group.by_member.held[m] += 1
            if not exists or owners[place] >= 0:
                lost.members[n] = owners[place] if exists else m
                lost.topics[n], lost.partitions[n], lost.places[n] = topic, partition, place
                n += 1
            if exists:
                owners[place] = m
    if matches.used:
        # Kafka asks for the previous owner of a partition only if nobody keeps it.
        matches.previous_owners[owners >= 0] = _NOBODY
    return _Lost(lost.members[:n], lost.topics[:n], lost.partitions[:n], lost.places[:n])


@kernel
def _assign_in_racks(current: _Current, batch: UniformBatch) -> int:
    """Assign partitions to the least loaded subscribers in their racks, and return the failure.

    Loads are read from a map of assignments, which has no entry for a member without an existing topic (3.7).
    """
    group, matches = current.group, current.group.matches
    limits = group.by_member.limits
    for place in unassigned_with_matches(matches, group.by_id, current.owners):
        members = matches.members[matches.offsets[place] : matches.offsets[place + 1]]
        if len(members) > 1 and (limits[members] == NO_LIMIT).any():
            return _NULL_POINTER
        sort_matches(matches, place, group.by_member.held)
        for m in members:
            if _has_room(group, m) and _subscribes(batch, m, group.topic_of[place]):
                _assign(current, place, m)
                break
    return _NONE


@inner_kernel
def _subscribes(batch: UniformBatch, m: int, topic: int) -> bool:
    of_members, offsets, topics = batch.subscriptions
    for k in range(offsets[of_members[m]], offsets[of_members[m] + 1]):
        if topics[k] == topic:
            return True
    return False


@inner_kernel
def _has_room(group: EarlyGroup, m: int) -> bool:
    """Return whether a member has fewer partitions than its topics have (``isMemberAtMaxCapacity``).

    Only such members are in ``sortedMembersByAssignmentSize``.
    """
    return group.by_member.loads[m] < group.by_member.limits[m]


@inner_kernel
def _assign(current: _Current, place: int, m: int) -> None:
    """Assign a partition to a member."""
    current.owners[place] = m
    by_member, lost = current.group.by_member, current.lost
    by_member.loads[m] += 1
    for i in range(len(lost.members)):
        if lost.members[i] == m and lost.places[i] == place:
            lost.places[i] = _DONE
            return
    by_member.held[m] += 1


@inner_kernel
def _least_loaded(current: _Current, entry: int) -> int:
    """Return the least loaded subscriber that may get a partition, the first by member id, or _NOBODY."""
    group, by_topic, least = current.group, current.by_topic, _NOBODY
    loads, ranks = group.by_member.loads, group.by_member.ranks
    for k in range(by_topic.first[entry], by_topic.end[entry]):
        m = by_topic.members[k]
        if _has_room(group, m) and (
            least == _NOBODY or loads[m] < loads[least] or (loads[m] == loads[least] and ranks[m] < ranks[least])
        ):
            least = m
    return least


@inner_kernel
def _assign_remaining(current: _Current, order: Ints32) -> bool:
    """Assign partitions without an owner, and return whether all have one in the end."""
    group, complete = current.group, True
    for place in order:
        if current.owners[place] >= 0:
            continue
        m = group.matches.previous_owners[place] if group.matches.used else _NOBODY
        if m == _NOBODY or not _has_room(group, m):
            m = _least_loaded(current, current.entry_of[place])
        if m == _NOBODY:
            complete = False
        else:
            _assign(current, place, m)
    return complete


@kernel
def _balance(current: _Current, order: Ints32) -> int:
    """Move partitions until no move improves the balance, and return the failure (``performReassignments``)."""
    by_topic, entry_of, moved_from = current.by_topic, current.entry_of, current.moved_from
    shared = order[(by_topic.end - by_topic.first)[entry_of[order]] > 1]
    while True:
        modified, moved = False, False
        for place in shared[moved_from[shared] == _NOBODY]:
            if moved:
                balanced = _is_balanced(current)
                if balanced != 0:
                    return _NONE if balanced > 0 else _NO_SUCH_ELEMENT
            moved = False
            better = _better_owner(current, place)
            if better == _DONE:
                continue
            if better == _NOBODY or not _move(current, place, better):
                return _PARTITION_ASSIGNOR
            modified, moved = True, True
        if not modified:
            return _NONE


@kernel
def _better_owner(current: _Current, place: int) -> int:
    """Return the member that should get a partition, _DONE to leave it, or _NOBODY if Kafka finds none."""
    loads, by_topic, entry = current.group.by_member.loads, current.by_topic, current.entry_of[place]
    load, matches = loads[current.owners[place]], current.group.matches
    if matches.used:
        better = _better_in_rack(current, place)
        if better != _NOBODY:
            return better
    for k in range(by_topic.first[entry], by_topic.end[entry]):
        if load > loads[by_topic.members[k]] + 1:
            return _least_loaded(current, entry)
    return _DONE


@kernel
def _better_in_rack(current: _Current, place: int) -> int:
    """Return a less loaded member in a rack of the partition, or its previous owner; _NOBODY if there is none.

    If the owner's rack matches, any other member whose rack matches will do, whether it subscribes to the topic or not.
    """
    group, matches, owner = current.group, current.group.matches, current.owners[place]
    loads = group.by_member.loads
    members = matches.members[matches.offsets[place] : matches.offsets[place + 1]]
    if (members == owner).any():
        sort_matches(matches, place, group.by_member.held)
        for m in members:
            if _has_room(group, m) and loads[owner] > loads[m] + 1:
                return m
    previous = matches.previous_owners[place]
    return previous if previous >= 0 and loads[owner] > loads[previous] + 1 else _NOBODY


@inner_kernel
def _move(current: _Current, place: int, m: int) -> bool:
    """Move a partition to a member, and return whether Kafka does not throw.

    It throws if a partition of the topic was moved the other way.
    """
    group, owner, entry = current.group, current.owners[place], current.entry_of[place]
    first = place
    while first > 0 and current.entry_of[first - 1] == entry:
        first -= 1
    other = first
    while other < len(current.entry_of) and current.entry_of[other] == entry:
        if current.moved_from[other] == m and current.owners[other] == owner:
            return False
        other += 1
    current.moved_from[place] = owner
    group.by_member.loads[owner] -= 1
    group.by_member.held[owner] -= 1
    _assign(current, place, m)
    return True


@kernel
def _is_balanced(current: _Current) -> int:
    """Return 1 if no partition could be moved to a less loaded member, 0 if one could, -1 if Kafka throws.

    Only members that may get a partition count (``isBalanced``).
    """
    group, by_topic = current.group, current.by_topic
    loads = group.by_member.loads
    fewest, most = -1, -1
    for m in group.members:
        if _has_room(group, m):
            fewest = loads[m] if fewest < 0 else min(fewest, loads[m])
            most = max(most, loads[m])
    if fewest < 0:
        return -1
    if fewest >= most - 1:
        return 1
    for place in range(len(current.owners)):
        load, entry = loads[current.owners[place]], current.entry_of[place]
        if load <= fewest + 1:
            continue
        for k in range(by_topic.first[entry], by_topic.end[entry]):
            m = by_topic.members[k]
            if loads[m] + 1 < load and _has_room(group, m) and not _has_beside(current.lost, m, place):
                return 0
    return 1


@inner_kernel
def _has_beside(lost: _Lost, m: int, place: int) -> bool:
    """Return whether a member has a partition beside its owner."""
    for i in range(len(lost.members)):
        if lost.members[i] == m and lost.places[i] == place:
            return True
    return False
