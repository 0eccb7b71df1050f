"""Assign unassigned partitions, then balance: the part of the sticky assignors for groups with different subscriptions.

``StickyAssignor.balance`` (up to 2.3) and ``AbstractStickyAssignor.balance`` (since 2.4):

1. Each unassigned partition goes to the potential consumer with the fewest partitions (``assignPartition``).
2. In rounds over all partitions, a partition moves to a potential consumer with fewer partitions, until the group is
   balanced or a round moves nothing (``performReassignments``). ``PartitionMovements`` prevents two members from
   swapping partitions of a topic.
3. All moves are undone if the result is not more balanced than the assignment before them (``getBalanceScore``).

Kafka asks ``isBalanced`` before every partition, which looks at all pairs of members and partitions. Here one pair that
proves an imbalance (the witness) is kept, and another is searched only after a move has ended it. Kafka's ``TreeSet``
of members by size is a heap of one topic's potential consumers.
"""

from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.assignors.sticky.current_assignment import (
    CurrentAssignment,
    append_all,
    append_entry,
    append_one,
    copy_of,
    node_of,
    remove_entry,
)
from rebalance_sim.kafka.assignors.sticky.movements import (
    PartitionMovements,
    actual_partition,
    copy_movements,
    move_partition,
    new_movements,
    same_movements,
)
from rebalance_sim.kafka.assignors.sticky.numbered_group import NOBODY, PotentialConsumers, members_of, topics_of
from rebalance_sim.kafka.groups import AssignmentFailure
from rebalance_sim.kafka.runtime.kernel import inner_kernel, kernel
from rebalance_sim.kafka.runtime.sorting import stable_order
from rebalance_sim.kafka.runtime.strings import Flags, Ints32, sort_by_key

_NONE = int(AssignmentFailure.NONE)
_NULL_POINTER = int(AssignmentFailure.NULL_POINTER)
_NO_SUCH_ELEMENT = int(AssignmentFailure.NO_SUCH_ELEMENT)
_NEVER_RETURNS = int(AssignmentFailure.NEVER_RETURNS)
_FIRST_SNAPSHOT = 16


class Heap(NamedTuple):
    """The participating subscribers of one topic; the one with the fewest partitions, then the first id, is on top."""

    members: Ints32
    places: Ints32
    """Place of each member in ``members``, or -1."""
    size: Ints32
    """Number of members, as an array of one."""


class LoadCounts(NamedTuple):
    """The number of participating members by their number of partitions."""

    members: Ints32
    """Number of members, by number of partitions."""
    bounds: Ints32
    """Fewest and most partitions of a participating member."""


class BalanceInput(NamedTuple):
    """The input of ``balance`` beside the current assignment."""

    potential: PotentialConsumers
    previous: Ints32
    """Member of each partition in an older generation (``prevAssignment``), or NOBODY."""
    sorted_partitions: Ints32
    """All partitions in the order of reassignment (``sortedPartitions``)."""
    unassigned: Ints32
    """The partitions that were unassigned at first."""
    unassigned_first: bool
    """Whether those are reassigned before all others: since 2.4, unless a partition has to be revoked."""
    gap: int
    """Partitions that an owner may have more than a potential consumer: 0 before 3.5.2, 1 since (KAFKA-15106)."""
    irregular: bool
    """Whether ``isBalanced`` has to be computed literally (``_is_balanced_literally``)."""
    same_subscribers: bool
    """Whether all topics have the same potential consumers."""
    initializing: bool
    """Whether no member had a partition at first; then the result of the moves is kept in any case."""


class _State(NamedTuple):
    """A group while partitions are reassigned."""

    current: CurrentAssignment
    potential: PotentialConsumers
    previous: Ints32
    participates: Flags
    movements: PartitionMovements
    heap: Heap
    loads: LoadCounts
    irregular: Flags
    """As an array of one: a group may become irregular."""
    gap: int
    same_subscribers: bool


# ---- the heap of a topic's potential consumers


@inner_kernel
def _lighter(sizes: Ints32, a: int, b: int) -> bool:
    return bool(sizes[a] < sizes[b] or (sizes[a] == sizes[b] and a < b))


@inner_kernel
def _sift_up(heap: Heap, sizes: Ints32, place: int) -> None:
    """Restore the heap after a member's list has become shorter."""
    members, places = heap.members, heap.places
    member = members[place]
    while place > 0:
        parent = (place - 1) // 2
        if not _lighter(sizes, member, members[parent]):
            break
        members[place] = members[parent]
        places[members[place]] = place
        place = parent
    members[place] = member
    places[member] = place


@inner_kernel
def _sift_down(heap: Heap, sizes: Ints32, place: int) -> None:
    """Restore the heap after a member's list has become longer."""
    members, places, n = heap.members, heap.places, heap.size[0]
    member = members[place]
    while True:
        child = 2 * place + 1
        if child >= n:
            break
        if child + 1 < n and _lighter(sizes, members[child + 1], members[child]):
            child += 1
        if not _lighter(sizes, members[child], member):
            break
        members[place] = members[child]
        places[members[place]] = place
        place = child
    members[place] = member
    places[member] = place


@inner_kernel
def _fill(heap: Heap, sizes: Ints32, subscribers: Ints32, participates: Flags) -> None:
    """Replace the members of the heap by the participating subscribers of another topic."""
    members, places = heap.members, heap.places
    for place in range(heap.size[0]):
        places[members[place]] = -1
    size = 0
    for member in subscribers:
        if participates[member] and places[member] < 0:
            members[size] = member
            places[member] = size
            size += 1
    heap.size[0] = size
    for place in range(size // 2 - 1, -1, -1):
        _sift_down(heap, sizes, place)


# ---- unassigned partitions


@kernel
def assign_to_lightest(
    unassigned: Ints32, current: CurrentAssignment, potential: PotentialConsumers, same_subscribers: bool
) -> None:
    """Assign each partition to the subscriber with the fewest partitions, then the first id (``assignPartition``).

    Consecutive partitions with the same potential consumers are assigned in one go.
    """
    sizes, owner, topic_of = current.sizes, current.owner, potential.topic_of
    partitions, members = np.empty(len(unassigned), np.int32), np.empty(len(unassigned), np.int32)
    n, low = 0, 0
    for high in range(1, len(unassigned) + 1):
        topic = topic_of[unassigned[low]]
        if high < len(unassigned) and (same_subscribers or topic_of[unassigned[high]] == topic):
            continue
        subscribers = members_of(potential, topic)
        if len(subscribers) > 0:
            n_more = high - low
            partitions[n : n + n_more] = unassigned[low:high]
            _choose_lightest(members[n : n + n_more], subscribers, sizes)
            n += n_more
        low = high
    for k in range(n):
        owner[partitions[k]] = members[k]
    append_all(current, members[:n], partitions[:n])


@kernel
def _choose_lightest(chosen: Ints32, subscribers: Ints32, sizes: Ints32) -> None:
    """Fill ``chosen`` with the subscriber that has the fewest partitions each time, and increase its size.

    The subscribers with the fewest partitions get one each, by id; then those that already have as many join them.
    """
    members, keys = subscribers.copy(), np.empty(len(subscribers), np.int64)
    for i in range(len(members)):
        keys[i] = int(sizes[members[i]]) << 32 | int(members[i])
    sort_by_key(members, keys)
    n_members = 1
    for i in range(1, len(members)):
        if members[i] != members[i - 1]:  # A member may name a topic twice.
            members[n_members] = members[i]
            n_members += 1
    n_lightest, place = 0, 0
    for k in range(len(chosen)):
        if place == n_lightest:
            place, joined = 0, n_lightest
            while n_lightest < n_members and (n_lightest == 0 or sizes[members[n_lightest]] == sizes[members[0]]):
                n_lightest += 1
            if joined > 0 and n_lightest > joined:
                keys[:n_lightest] = members[:n_lightest]
                sort_by_key(members[:n_lightest], keys[:n_lightest])
        chosen[k] = members[place]
        sizes[members[place]] += 1
        place += 1


# ---- participating members


@kernel
def _reassignable_topics(potential: PotentialConsumers) -> Flags:
    """Return, by topic, ``canParticipateInReassignment``: whether it has at least two potential consumers."""
    topic_count = len(potential.member_offsets) - 1
    reassignable = np.empty(topic_count, np.bool_)
    for topic in range(topic_count):
        reassignable[topic] = potential.member_offsets[topic + 1] - potential.member_offsets[topic] >= 2
    return reassignable


@kernel
def _participating(current: CurrentAssignment, potential: PotentialConsumers, reassignable: Flags) -> Flags:
    """Return, by member, ``canParticipateInReassignment``.

    A member participates if it can get more partitions, or has one that another member can get. The lists of the other
    members are Kafka's ``fixedAssignments``.
    """
    participates = np.empty(len(current.sizes), np.bool_)
    for member in range(len(current.sizes)):
        participates[member] = current.sizes[member] < potential.max_sizes[member]
        node = current.links.first[member]
        while node >= 0 and not participates[member]:
            participates[member] = reassignable[potential.topic_of[current.partition[node]]]
            node = current.links.after[node]
    return participates


# ---- balanced or not


@kernel
def _count_loads(sizes: Ints32, participates: Flags) -> LoadCounts:
    loads = LoadCounts(np.zeros(sizes.max() + 2, np.int32), np.empty(2, np.int32))
    least, most = len(loads.members), 0
    for member in range(len(participates)):
        if participates[member]:
            size = sizes[member]
            loads.members[size] += 1
            least, most = min(least, size), max(most, size)
    loads.bounds[0], loads.bounds[1] = least, most
    return loads


@inner_kernel
def _change_load(loads: LoadCounts, old: int, new: int) -> None:
    members, bounds = loads.members, loads.bounds
    members[old] -= 1
    members[new] += 1
    least, most = min(bounds[0], new), max(bounds[1], new)
    while members[least] == 0:
        least += 1
    while members[most] == 0:
        most -= 1
    bounds[0], bounds[1] = least, most


@inner_kernel
def _lightest(sizes: Ints32, subscribers: Ints32, participates: Flags) -> int:
    """Return the participating subscriber with the fewest partitions, then the first id; NOBODY if there is none."""
    lightest = NOBODY
    for member in subscribers:
        if participates[member] and (lightest == NOBODY or _lighter(sizes, member, lightest)):
            lightest = member
    return int(lightest)


@inner_kernel
def _find_imbalance(state: _State, topic: int) -> tuple[int, int]:
    """Return a subscriber and a partition of a topic that proves an imbalance, or (-1, -1).

    It does if the partition's owner has over ``state.gap`` more partitions than the subscriber.
    """
    sizes, owner, potential = state.current.sizes, state.current.owner, state.potential
    lightest = _lightest(sizes, members_of(potential, topic), state.participates)
    if lightest == NOBODY:
        return -1, -1
    first, end = potential.first_partition[topic], potential.first_partition[topic + 1]
    most, count = sizes[lightest] + state.gap, 0
    for partition in range(first, end):
        size = sizes[owner[partition]]
        if size > most:
            most, count = size, 1
        elif size == most and count > 0:
            count += 1
    if count == 0:
        return -1, -1
    # The middle one of the heaviest owners: the first or the last may move next, which would end the proof.
    heaviest, before = first - 1, count // 2 + 1
    while before > 0:
        heaviest += 1
        before -= sizes[owner[heaviest]] == most
    return lightest, int(heaviest)


@kernel
def _is_balanced_literally(state: _State) -> tuple[int, bool]:
    """Return the failure and the result of ``isBalanced``, in the order in which Kafka looks at members and partitions.

    For irregular groups: those with a partition in two lists, or in the list of a member that does not subscribe to its
    topic. There, the order in which Kafka looks decides between a result and a NullPointerException.
    """
    current, potential, participates = state.current, state.potential, state.participates
    members = np.flatnonzero(participates)
    for place in stable_order(current.sizes[members]):
        member = int(members[place])
        size = current.sizes[member]
        if size == potential.max_sizes[member]:
            continue
        for topic in topics_of(potential, member):
            for partition in range(potential.first_partition[topic], potential.first_partition[topic + 1]):
                if node_of(current, member, partition) >= 0:
                    continue
                # allPartitions maps a partition in two lists to the member that comes last in currentAssignment.
                last = -1
                node = current.newest[partition]
                while node >= 0:
                    owner = current.member[node]
                    if (
                        owner >= 0
                        and participates[owner]
                        and (last < 0 or potential.map_place[owner] > potential.map_place[last])
                    ):
                        last = owner
                    node = current.older[node]
                if last < 0:
                    return _NULL_POINTER, False
                if size + state.gap < current.sizes[last]:
                    return _NONE, False
    return _NONE, True


# ---- reassignments


@inner_kernel
def _move(state: _State, partition: int, new: int) -> None:
    """Move a partition to a member (``reassignPartition`` and ``processPartitionMovement``)."""
    current, movements, heap = state.current, state.movements, state.heap
    links, owner, sizes = current.links, current.owner, current.sizes
    topic = state.potential.topic_of[partition]
    partition = actual_partition(movements, state.potential, partition, owner[partition], new)
    old = owner[partition]
    move_partition(movements, topic, partition, old, new)
    node = node_of(current, old, partition)
    if node < 0:
        # Before 2.4 the member that claimed a partition last counts as its owner, even if it does not subscribe to the
        # topic, so that the partition is not in its list.
        append_one(current, new, partition)
    else:
        # The heap must be restored after each of the two changes: it can repair only one place at a time.
        remove_entry(links, old, node)
        sizes[old] -= 1
        _change_load(state.loads, sizes[old] + 1, sizes[old])
        if heap.places[old] >= 0:
            _sift_up(heap, sizes, heap.places[old])
        current.member[node] = new
        append_entry(links, new, node)
    sizes[new] += 1
    _change_load(state.loads, sizes[new] - 1, sizes[new])
    if heap.places[new] >= 0:
        _sift_down(heap, sizes, heap.places[new])
    owner[partition] = new


@inner_kernel
def _find_witness(state: _State, witness: Ints32) -> bool:
    """Set ``witness`` and return whether there is one: False if the group is balanced.

    The search starts at the topic of the last witness.
    """
    topic_count = len(state.potential.hashes)
    start = state.potential.topic_of[witness[1]] if witness[1] >= 0 else 0
    for k in range(topic_count):
        member, partition = _find_imbalance(state, (start + k) % topic_count)
        if member >= 0:
            witness[0], witness[1] = member, partition
            return True
    return False


@inner_kernel
def _has_lighter_subscriber(state: _State, topic: int, size: int) -> tuple[int, bool]:
    """Return the failure, and whether a subscriber has at least 2 partitions fewer, in the order in which Kafka looks.

    ``performReassignments`` gets null as the list of a subscriber that does not participate.
    """
    for member in members_of(state.potential, topic):
        if not state.participates[member]:
            return _NULL_POINTER, False
        if size > state.current.sizes[member] + 1:
            return _NONE, True
    return _NONE, False


@kernel
def _perform_reassignments(state: _State, partitions: Ints32) -> tuple[int, bool]:
    """Move partitions as ``performReassignments`` does: the failure, and whether any partition moved.

    Because ``actual_partition`` moves another partition than the one looked at, the rounds may repeat, and then Kafka
    never returns. A round that begins with the same movements as an earlier one proves it; the movements after 16, 32,
    64, ... rounds are kept for the comparison (Brent's cycle detection).
    """
    owners, previous_owners = state.current.owner, state.previous
    sizes, participates = state.current.sizes, state.participates
    topic_of, heap, irregular, movements = state.potential.topic_of, state.heap, state.irregular, state.movements
    bounds, gap = state.loads.bounds, state.gap
    if len(partitions) == 0:
        return _NONE, False
    if not participates.any():
        # isBalanced asks an empty TreeSet for its first element.
        return _NO_SUCH_ELEMENT, False
    moved = False
    # A member and a partition that it could get, which prove an imbalance as long as their sizes differ enough.
    witness = np.full(2, -1, np.int32)
    current_topic, lightest, filled = -1, NOBODY, False
    earlier, rounds, next_snapshot = movements, 0, _FIRST_SNAPSHOT
    while True:
        rounds += 1
        if rounds > _FIRST_SNAPSHOT and same_movements(earlier, movements):
            return _NEVER_RETURNS, moved
        if rounds == next_snapshot:
            earlier = copy_movements(movements)
            next_snapshot *= 2
        moved_now = False
        unknown, balanced = True, False
        for partition in partitions:
            if unknown:
                unknown = False
                balanced = bounds[0] >= bounds[1] - 1
                proven = witness[0] >= 0 and sizes[witness[0]] + gap < sizes[owners[witness[1]]]
                if not balanced and irregular[0]:
                    failure, balanced = _is_balanced_literally(state)
                    if failure != _NONE:
                        return failure, moved
                elif not balanced and not proven:
                    balanced = not _find_witness(state, witness)
            if balanced:
                break
            topic = topic_of[partition]
            if topic != current_topic and (current_topic < 0 or not state.same_subscribers):
                lightest = _lightest(sizes, members_of(state.potential, topic), participates)
                current_topic, filled = topic, False
            owner, previous = owners[partition], previous_owners[partition]
            # balance has removed the lists of other members (fixedAssignments) from currentAssignment.
            if owner < 0 or not participates[owner] or (previous >= 0 and not participates[previous]):
                return _NULL_POINTER, moved
            # KIP-54: rather back to the member that had the partition in the generation before.
            to_previous = previous >= 0 and sizes[owner] > sizes[previous] + 1
            if not to_previous:
                better = lightest != NOBODY and sizes[owner] > sizes[lightest] + 1
                if irregular[0]:
                    failure, better = _has_lighter_subscriber(state, topic, sizes[owner])
                    if failure != _NONE:
                        return failure, moved
                if not better:
                    continue
            if not filled:
                _fill(heap, sizes, members_of(state.potential, topic), participates)
                filled = True
            if to_previous:
                # The previous owner may no longer subscribe to the topic; Kafka does not check.
                irregular[0] |= heap.places[previous] < 0
            _move(state, partition, previous if to_previous else lightest)
            lightest = heap.members[0]
            moved_now, unknown = True, True
        moved = moved or moved_now
        if not moved_now:
            return _NONE, moved


@kernel
def _balance_score(sizes: Ints32, participates: Flags) -> int:
    """Return ``getBalanceScore``: the differences of all pairs of members, added up as a Java ``int``."""
    sorted_sizes = sizes[participates]
    sorted_sizes = sorted_sizes[stable_order(sorted_sizes)]
    n = len(sorted_sizes)
    score = 0
    for i in range(n):
        score += int(sorted_sizes[i]) * (2 * i - n + 1)
    score &= 0xFFFFFFFF
    return score - 0x100000000 if score >= 0x80000000 else score


@kernel
def balance(current: CurrentAssignment, inputs: BalanceInput) -> tuple[int, CurrentAssignment]:
    """Balance a group whose partitions are all assigned; returns the failure and the resulting assignment."""
    potential, member_count = inputs.potential, len(current.sizes)
    reassignable = _reassignable_topics(potential)
    participates = _participating(current, potential, reassignable)
    loads = _count_loads(current.sizes, participates)
    if loads.bounds[0] >= loads.bounds[1] - 1 and participates.any():
        # isBalanced returns at once, so that no partition moves.
        return _NONE, current
    before = current if inputs.initializing else copy_of(current)
    state = _State(
        current,
        potential,
        inputs.previous,
        participates,
        new_movements(len(potential.topic_of)),
        Heap(np.empty(member_count, np.int32), np.full(member_count, -1, np.int32), np.zeros(1, np.int32)),
        loads,
        np.array([inputs.irregular]),
        inputs.gap,
        inputs.same_subscribers,
    )
    if inputs.unassigned_first:
        # Since 2.4: if this alone balances the group, no owned partition has to move.
        failure, _ = _perform_reassignments(state, _reassignable(inputs.unassigned, potential.topic_of, reassignable))
        if failure != _NONE:
            return failure, current
    partitions = _reassignable(inputs.sorted_partitions, potential.topic_of, reassignable)
    failure, moved = _perform_reassignments(state, partitions)
    if failure != _NONE:
        return failure, current
    # The moves are undone unless they improve the balance; without any earlier assignment they stay in any case.
    if (
        moved
        and not inputs.initializing
        and _balance_score(current.sizes, participates) >= _balance_score(before.sizes, participates)
    ):
        return _NONE, before
    return _NONE, current


@kernel
def _reassignable(partitions: Ints32, topic_of: Ints32, reassignable: Flags) -> Ints32:
    """Return the partitions whose topic is reassignable."""
    if reassignable.all():
        return partitions
    kept = np.empty(len(partitions), np.int32)
    n = 0
    for partition in partitions:
        if reassignable[topic_of[partition]]:
            kept[n] = partition
            n += 1
    return kept[:n]
