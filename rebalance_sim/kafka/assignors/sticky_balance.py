"""The heart of the sticky assignors where not all members want the same topics: assign, then even out.

``StickyAssignor.balance`` (1.0 to 2.3) and ``AbstractStickyAssignor.GeneralAssignmentBuilder.balance`` (since 2.4):

1. Each unassigned partition goes to the member with the fewest partitions that wants its topic.
2. Partition by partition, one moves to a less loaded member that wants it, round after round, until the group is
   balanced or nothing moves (``performReassignments``). A partition never moves between two members one way while
   another of its topic moved the other way (``PartitionMovements``).
3. What came of it is taken back if it is no more balanced than before.

One group at a time, all by index. Members are numbered by the order of their ids, topics by that of their names,
partitions topic by topic. Kafka asks before every partition whether the group is balanced, and looks at all pairs of
members and partitions for the answer. Here a pair that shows the contrary is kept, and looked for anew only when a
move has ended it.
"""

from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.groups import Failure
from rebalance_sim.kafka.hash_order import topic_partition_hash
from rebalance_sim.kafka.kernel import kernel
from rebalance_sim.kafka.strings import Flags, Ints, Ints32

_NONE = int(Failure.NONE)
_NULL_POINTER = int(Failure.NULL_POINTER)
_NO_SUCH_ELEMENT = int(Failure.NO_SUCH_ELEMENT)
_NEVER_RETURNS = int(Failure.NEVER_RETURNS)
_FIRST_SNAPSHOT = 16
NOBODY = -1


class Wants(NamedTuple):
    """Who may get what in a group."""

    first_partition: Ints32
    """Partitions of topic t: ``first_partition[t]`` to ``first_partition[t + 1]``."""
    topic_of: Ints32
    """Topic of each partition, of those too that a topic does not have any more."""
    hashes: Ints
    """``hashCode`` of each topic's name."""
    subscribers: Ints32
    """Members that want topic t, in map order: ``subscribers[t]`` to ``subscribers[t + 1]`` of ``members``."""
    members: Ints32
    topics: Ints32
    """Topics that member m wants, in its order: ``topics[m]`` to ``topics[m + 1]`` of ``wanted``."""
    wanted: Ints32
    most: Ints32
    """Partitions that each member can get at most."""
    map_place: Ints32
    """Place of each member in the order of the leader's map."""


class Lists(NamedTuple):
    """The members' lists of partitions, linked, so that a partition leaves its list without a search.

    A partition may stand in more than one list, or twice in one, where Kafka lets that happen.
    """

    partition: Ints32
    """Partition of each node."""
    owner: Ints32
    """Member in whose list the node is."""
    before: Ints32
    after: Ints32
    first: Ints32
    """First node of each member's list, or -1."""
    last: Ints32
    sizes: Ints32
    """Partitions in each member's list."""
    node_of: Ints32
    """The latest node of each partition, or -1."""
    other: Ints32
    """The next older node of the same partition, or -1."""
    used: Ints32
    """Number of nodes, as an array of one."""


class Movements(NamedTuple):
    """``PartitionMovements``: from whom and to whom each partition has moved, in the order of the moves, by topic."""

    source: Ints32
    """Member that the partition came from, or NOBODY where it has not moved."""
    target: Ints32
    table: Ints32
    """Buckets of the ``HashSet`` that the partition is in: one for each topic, source and target."""
    before: Ints32
    after: Ints32
    first: Ints32
    """First moved partition of each topic, or -1."""
    last: Ints32


class Heap(NamedTuple):
    """The subscribers of a topic that take part, the one with the fewest partitions (then the first id) on top."""

    members: Ints32
    places: Ints32
    """Place of each member in ``members``, or -1."""
    size: Ints32
    """Number of members, as an array of one."""


@kernel
def new_lists(n_members: int, n_partitions: int, room: int) -> Lists:
    """Make empty lists with room for so many nodes."""
    return Lists(
        np.empty(room, np.int32),
        np.empty(room, np.int32),
        np.empty(room, np.int32),
        np.empty(room, np.int32),
        np.full(n_members, -1, np.int32),
        np.full(n_members, -1, np.int32),
        np.zeros(n_members, np.int32),
        np.full(n_partitions, -1, np.int32),
        np.empty(room, np.int32),
        np.zeros(1, np.int32),
    )


@kernel
def append(lists: Lists, member: int, partition: int) -> None:
    """Add a partition to a member's list."""
    node = lists.used[0]
    lists.used[0] += 1
    lists.partition[node] = partition
    lists.other[node] = lists.node_of[partition]
    lists.node_of[partition] = node
    _link(lists, member, node)


@kernel
def _link(lists: Lists, member: int, node: int) -> None:
    tail = lists.last[member]
    lists.owner[node] = member
    lists.before[node] = tail
    lists.after[node] = -1
    if tail < 0:
        lists.first[member] = node
    else:
        lists.after[tail] = node
    lists.last[member] = node
    lists.sizes[member] += 1


@kernel
def unlink(lists: Lists, node: int) -> None:
    """Take a node out of its list."""
    member, before, after = lists.owner[node], lists.before[node], lists.after[node]
    if before < 0:
        lists.first[member] = after
    else:
        lists.after[before] = after
    if after < 0:
        lists.last[member] = before
    else:
        lists.before[after] = before
    lists.sizes[member] -= 1
    lists.owner[node] = NOBODY


@kernel
def node_in_list(lists: Lists, member: int, partition: int) -> int:
    """Return the first node of a partition in a member's list, or -1."""
    found = -1
    node = lists.node_of[partition]
    while node >= 0:
        if lists.owner[node] == member:
            if found >= 0:
                found = lists.first[member]
                while lists.partition[found] != partition:
                    found = lists.after[found]
                return int(found)
            found = node
        node = lists.other[node]
    return int(found)


@kernel
def _copy(lists: Lists) -> Lists:
    return Lists(
        lists.partition,
        lists.owner.copy(),
        lists.before.copy(),
        lists.after.copy(),
        lists.first.copy(),
        lists.last.copy(),
        lists.sizes.copy(),
        lists.node_of,
        lists.other,
        lists.used,
    )


# ---- the heap of a topic's subscribers


@kernel
def _lighter(lists: Lists, a: int, b: int) -> bool:
    if lists.sizes[a] != lists.sizes[b]:
        return bool(lists.sizes[a] < lists.sizes[b])
    return a < b


@kernel
def _sift_up(heap: Heap, lists: Lists, place: int) -> None:
    """Put a member whose list has shrunk where it belongs."""
    member = heap.members[place]
    while place > 0:
        parent = (place - 1) // 2
        if not _lighter(lists, member, heap.members[parent]):
            break
        heap.members[place] = heap.members[parent]
        heap.places[heap.members[place]] = place
        place = parent
    heap.members[place] = member
    heap.places[member] = place


@kernel
def _sift_down(heap: Heap, lists: Lists, place: int) -> None:
    """Put a member whose list has grown where it belongs."""
    member = heap.members[place]
    while True:
        child = 2 * place + 1
        if child >= heap.size[0]:
            break
        if child + 1 < heap.size[0] and _lighter(lists, heap.members[child + 1], heap.members[child]):
            child += 1
        if not _lighter(lists, heap.members[child], member):
            break
        heap.members[place] = heap.members[child]
        heap.places[heap.members[place]] = place
        place = child
    heap.members[place] = member
    heap.places[member] = place


@kernel
def _fill(heap: Heap, lists: Lists, wants: Wants, topic: int, takes_part: Flags) -> None:
    """Make the heap that of another topic."""
    for place in range(heap.size[0]):
        heap.places[heap.members[place]] = -1
    size = 0
    for k in range(wants.subscribers[topic], wants.subscribers[topic + 1]):
        member = wants.members[k]
        if takes_part[member] and heap.places[member] < 0:
            heap.members[size] = member
            heap.places[member] = size
            size += 1
    heap.size[0] = size
    for place in range(size // 2 - 1, -1, -1):
        _sift_down(heap, lists, place)


# ---- unassigned partitions


@kernel
def assign_to_lightest(
    unassigned: Ints32, lists: Lists, wants: Wants, owner: Ints32, heap: Heap, same_subscribers: bool
) -> None:
    """Give each partition to the subscriber with the fewest (``maybeAssign``).

    Consecutive partitions of a topic share a heap; of topics that all have the same subscribers, all do.
    """
    everybody = np.ones(len(lists.sizes), np.bool_)
    current = -1
    for partition in unassigned:
        topic = wants.topic_of[partition]
        if wants.subscribers[topic] == wants.subscribers[topic + 1]:
            continue
        if current < 0 or (topic != current and not same_subscribers):
            _fill(heap, lists, wants, topic, everybody)
            current = topic
        member = heap.members[0]
        append(lists, member, partition)
        owner[partition] = member
        _sift_down(heap, lists, 0)
    for place in range(heap.size[0]):
        heap.places[heap.members[place]] = -1
    heap.size[0] = 0


# ---- who takes part


@kernel
def _is_reassignable(wants: Wants, topic: int) -> bool:
    """``canTopicParticipateInReassignment``: two subscribers at least."""
    return bool(wants.subscribers[topic + 1] - wants.subscribers[topic] >= 2)


@kernel
def _takes_part(lists: Lists, wants: Wants, member: int) -> bool:
    """``canConsumerParticipateInReassignment``."""
    if lists.sizes[member] < wants.most[member]:
        return True
    node = lists.first[member]
    while node >= 0:
        if _is_reassignable(wants, wants.topic_of[lists.partition[node]]):
            return True
        node = lists.after[node]
    return False


# ---- is it balanced?


class Loads(NamedTuple):
    """How many of the members that take part have how many partitions."""

    members: Ints32
    """Number of members, by number of partitions."""
    least: Ints32
    """Fewest and most partitions, as arrays of one."""
    most: Ints32


@kernel
def _loads(lists: Lists, takes_part: Flags) -> Loads:
    loads = Loads(np.zeros(lists.sizes.max() + 2, np.int32), np.zeros(1, np.int32), np.zeros(1, np.int32))
    loads.least[0] = len(loads.members)
    for member in range(len(takes_part)):
        if takes_part[member]:
            size = lists.sizes[member]
            loads.members[size] += 1
            loads.least[0] = min(loads.least[0], size)
            loads.most[0] = max(loads.most[0], size)
    return loads


@kernel
def _change_load(loads: Loads, old: int, new: int) -> None:
    loads.members[old] -= 1
    loads.members[new] += 1
    loads.least[0] = min(loads.least[0], new)
    loads.most[0] = max(loads.most[0], new)
    while loads.members[loads.least[0]] == 0:
        loads.least[0] += 1
    while loads.members[loads.most[0]] == 0:
        loads.most[0] -= 1


@kernel
def _imbalance_in(
    lists: Lists, wants: Wants, owner: Ints32, takes_part: Flags, topic: int, gap: int
) -> tuple[int, int]:
    """Find a subscriber and a partition of a topic whose owner has over ``gap`` more; (-1, -1) if there is none."""
    lightest = -1
    for k in range(wants.subscribers[topic], wants.subscribers[topic + 1]):
        member = wants.members[k]
        if takes_part[member] and (lightest < 0 or lists.sizes[member] < lists.sizes[lightest]):
            lightest = member
    if lightest < 0:
        return -1, -1
    heaviest, most = -1, lists.sizes[lightest] + gap
    for partition in range(wants.first_partition[topic], wants.first_partition[topic + 1]):
        size = lists.sizes[owner[partition]]
        if size > most:
            heaviest, most = partition, size
    if heaviest < 0:
        return -1, -1
    return int(lightest), int(heaviest)


@kernel
def _literal_imbalance(lists: Lists, wants: Wants, takes_part: Flags, gap: int) -> tuple[int, bool]:
    """Look as ``isBalanced`` does, member by member and partition by partition.

    For groups with partitions in two lists, or in lists of members that do not want them: there the order of looking
    decides between an answer and an exception. Returns what is thrown and whether the group is balanced.
    """
    members = np.flatnonzero(takes_part)
    for place in np.argsort(lists.sizes[members], kind="mergesort"):
        member = int(members[place])
        size = lists.sizes[member]
        if size == wants.most[member]:
            continue
        for k in range(wants.topics[member], wants.topics[member + 1]):
            topic = wants.wanted[k]
            for partition in range(wants.first_partition[topic], wants.first_partition[topic + 1]):
                if node_in_list(lists, member, partition) >= 0:
                    continue
                last = -1
                node = lists.node_of[partition]
                while node >= 0:
                    other = lists.owner[node]
                    if (
                        other >= 0
                        and takes_part[other]
                        and (last < 0 or wants.map_place[other] > wants.map_place[last])
                    ):
                        last = other
                    node = lists.other[node]
                if last < 0:
                    return _NULL_POINTER, False
                if size + gap < lists.sizes[last]:
                    return _NONE, False
    return _NONE, True


# ---- movements


@kernel
def _new_movements(n_partitions: int, n_topics: int) -> Movements:
    return Movements(
        np.full(n_partitions, NOBODY, np.int32),
        np.full(n_partitions, NOBODY, np.int32),
        np.zeros(n_partitions, np.int32),
        np.empty(n_partitions, np.int32),
        np.empty(n_partitions, np.int32),
        np.full(n_topics, -1, np.int32),
        np.full(n_topics, -1, np.int32),
    )


@kernel
def _forget(movements: Movements, topic: int, partition: int) -> None:
    before, after = movements.before[partition], movements.after[partition]
    if before < 0:
        movements.first[topic] = after
    else:
        movements.after[before] = after
    if after < 0:
        movements.last[topic] = before
    else:
        movements.before[after] = before
    movements.source[partition] = NOBODY


@kernel
def _record(movements: Movements, topic: int, partition: int, source: int, target: int) -> None:
    """Add a movement. The set of its topic, source and target doubles its table past 3/4; all its members know that."""
    count, table = 1, 16
    other = movements.first[topic]
    while other >= 0:
        if movements.source[other] == source and movements.target[other] == target:
            count += 1
            table = movements.table[other]
        other = movements.after[other]
    if 4 * count > 3 * table:
        table *= 2
        other = movements.first[topic]
        while other >= 0:
            if movements.source[other] == source and movements.target[other] == target:
                movements.table[other] = table
            other = movements.after[other]
    tail = movements.last[topic]
    movements.source[partition] = source
    movements.target[partition] = target
    movements.table[partition] = table
    movements.before[partition] = tail
    movements.after[partition] = -1
    if tail < 0:
        movements.first[topic] = partition
    else:
        movements.after[tail] = partition
    movements.last[topic] = partition


@kernel
def _actual_partition(movements: Movements, wants: Wants, partition: int, old: int, new: int) -> int:
    """``getTheActualPartitionToBeMoved``: one of the topic that moved the other way goes back instead, if there is one.

    Of several it is the first in the order of their ``HashSet``.
    """
    topic = wants.topic_of[partition]
    if movements.source[partition] >= 0:
        old = movements.source[partition]
    chosen, lowest = partition, -1
    other = movements.first[topic]
    while other >= 0:
        if movements.source[other] == new and movements.target[other] == old:
            h = topic_partition_hash(wants.hashes[topic], other - wants.first_partition[topic])
            bucket = (h ^ h >> 16) & (int(movements.table[other]) - 1)
            if lowest < 0 or bucket < lowest:
                chosen, lowest = other, bucket
        other = movements.after[other]
    return int(chosen)


# ---- reassignments


class Reassigning(NamedTuple):
    """A group on its way to balance."""

    lists: Lists
    wants: Wants
    owner: Ints32
    """Member that got the partition last (``currentPartitionConsumer``), or NOBODY."""
    previous: Ints32
    """Member that had the partition in the generation before the latest, or NOBODY."""
    takes_part: Flags
    movements: Movements
    heap: Heap
    loads: Loads
    odd: Flags
    """Whether the group must be looked at in Kafka's order, as an array of one (see ``_literal_imbalance``)."""
    gap: int
    """A member may have so many more than another that could have one of them: 0 before 2.4, 1 since."""
    same_subscribers: bool


@kernel
def _move(state: Reassigning, partition: int, new: int) -> None:
    """``reassignPartition`` and ``processPartitionMovement``."""
    lists, wants, movements = state.lists, state.wants, state.movements
    partition = _actual_partition(movements, wants, partition, state.owner[partition], new)
    topic = wants.topic_of[partition]
    old = state.owner[partition]
    source = movements.source[partition]
    if source >= 0:
        _forget(movements, topic, partition)
        if source != new:
            _record(movements, topic, partition, source, new)
    else:
        _record(movements, topic, partition, old, new)
    node = node_in_list(lists, old, partition)
    if node < 0:
        # Before 2.4 the last to claim a partition counts as its owner, even if it had to let go of it.
        append(lists, new, partition)
    else:
        # The heap is put right after each of the two changes: it can be wrong in one place at a time only.
        unlink(lists, node)
        _change_load(state.loads, lists.sizes[old] + 1, lists.sizes[old])
        if state.heap.places[old] >= 0:
            _sift_up(state.heap, lists, state.heap.places[old])
        _link(lists, new, node)
    _change_load(state.loads, lists.sizes[new] - 1, lists.sizes[new])
    if state.heap.places[new] >= 0:
        _sift_down(state.heap, lists, state.heap.places[new])
    state.owner[partition] = new


@kernel
def _is_balanced(state: Reassigning, witness: Ints32) -> tuple[int, bool]:
    """``isBalanced``: what is thrown, and the answer. ``witness`` is a member and a partition that it could take."""
    lists, wants, gap = state.lists, state.wants, state.gap
    if state.loads.least[0] >= state.loads.most[0] - 1:
        return _NONE, True
    if state.odd[0]:
        return _literal_imbalance(lists, wants, state.takes_part, gap)
    member, partition = witness[0], witness[1]
    start = 0
    if member >= 0:
        if lists.sizes[member] + gap < lists.sizes[state.owner[partition]]:
            return _NONE, False
        start = wants.topic_of[partition]
    n_topics = len(wants.first_partition) - 1
    for k in range(n_topics):
        topic = (start + k) % n_topics
        member, partition = _imbalance_in(lists, wants, state.owner, state.takes_part, topic, gap)
        if member >= 0:
            witness[0], witness[1] = member, partition
            return _NONE, False
    return _NONE, True


@kernel
def _better_subscriber(state: Reassigning, partition: int) -> tuple[int, bool]:
    """Tell whether a subscriber has over 1 less than the owner: what is thrown, and the answer."""
    owner = state.owner[partition]
    if owner < 0 or not state.takes_part[owner]:
        return _NULL_POINTER, False
    size = state.lists.sizes[owner]
    if not state.odd[0]:
        return _NONE, bool(size > state.lists.sizes[state.heap.members[0]] + 1)
    topic = state.wants.topic_of[partition]
    for k in range(state.wants.subscribers[topic], state.wants.subscribers[topic + 1]):
        member = state.wants.members[k]
        if not state.takes_part[member]:
            return _NULL_POINTER, False
        if size > state.lists.sizes[member] + 1:
            return _NONE, True
    return _NONE, False


@kernel
def _snapshot(movements: Movements) -> Movements:
    return Movements(
        movements.source.copy(),
        movements.target.copy(),
        movements.table.copy(),
        movements.before.copy(),
        movements.after.copy(),
        movements.first.copy(),
        movements.last.copy(),
    )


@kernel
def _same_movements(a: Movements, b: Movements) -> bool:
    """Tell whether the same partitions have moved from and to the same members, recorded in the same order.

    That also says where every partition is, and so what comes next.
    """
    if not (np.array_equal(a.source, b.source) and np.array_equal(a.first, b.first)):
        return False
    for partition in range(len(a.source)):
        if a.source[partition] >= 0 and (
            a.target[partition] != b.target[partition]
            or a.table[partition] != b.table[partition]
            or a.after[partition] != b.after[partition]
        ):
            return False
    return True


@kernel
def _perform_reassignments(state: Reassigning, partitions: Ints32) -> tuple[int, bool]:
    """Move partitions as long as that helps: what is thrown, and whether any was moved.

    Moving another partition than the one looked at (``_actual_partition``) may go round in circles, in Kafka for ever.
    A round that begins as an earlier one did tells: after 2, 4, 8, ... rounds the state is kept for that (Brent).
    """
    if len(partitions) == 0:
        return _NONE, False
    if not state.takes_part.any():
        return _NO_SUCH_ELEMENT, False
    moved = False
    witness = np.full(2, -1, np.int32)
    current = -1
    earlier, rounds, next_snapshot = state.movements, 0, _FIRST_SNAPSHOT
    while True:
        rounds += 1
        if rounds > _FIRST_SNAPSHOT and _same_movements(earlier, state.movements):
            return _NEVER_RETURNS, moved
        if rounds == next_snapshot:
            earlier = _snapshot(state.movements)
            next_snapshot *= 2
        moved_now = False
        unknown, balanced = True, False
        for partition in partitions:
            if unknown:
                failure, balanced = _is_balanced(state, witness)
                if failure != _NONE:
                    return failure, moved
                unknown = False
            if balanced:
                break
            topic = state.wants.topic_of[partition]
            if current < 0 or (topic != current and not state.same_subscribers):
                _fill(state.heap, state.lists, state.wants, topic, state.takes_part)
                current = topic
            owner, previous = state.owner[partition], state.previous[partition]
            if previous >= 0:
                if owner < 0 or not state.takes_part[owner] or not state.takes_part[previous]:
                    return _NULL_POINTER, moved
                if state.lists.sizes[owner] > state.lists.sizes[previous] + 1:
                    state.odd[0] |= state.heap.places[previous] < 0
                    _move(state, partition, previous)
                    moved_now, unknown = True, True
                    continue
            failure, better = _better_subscriber(state, partition)
            if failure != _NONE:
                return failure, moved
            if better:
                _move(state, partition, state.heap.members[0])
                moved_now, unknown = True, True
        moved = moved or moved_now
        if not moved_now:
            return _NONE, moved


@kernel
def _balance_score(sizes: Ints32, takes_part: Flags) -> int:
    """``getBalanceScore``: the differences of all pairs of members, added up as a Java ``int``."""
    sorted_sizes = np.sort(sizes[takes_part])
    n = len(sorted_sizes)
    score = 0
    for i in range(n):
        score += int(sorted_sizes[i]) * (2 * i - n + 1)
    score &= 0xFFFFFFFF
    return score - 0x100000000 if score >= 0x80000000 else score


@kernel
def balance(
    lists: Lists,
    wants: Wants,
    owner: Ints32,
    previous: Ints32,
    unassigned: Ints32,
    in_turn: Ints32,
    new_ones_first: bool,
    gap: int,
    odd: bool,
    same_subscribers: bool,
    was_empty: bool,
    heap: Heap,
) -> tuple[int, Lists]:
    """Even out a group whose partitions are all assigned: what is thrown, and the lists.

    ``in_turn`` are all partitions in the order of reassignment; with ``new_ones_first`` those that were unassigned are
    tried before (since 2.4, where nothing has to be revoked).
    """
    n_members = len(lists.sizes)
    takes_part = np.empty(n_members, np.bool_)
    for member in range(n_members):
        takes_part[member] = _takes_part(lists, wants, member)
    before = lists if was_empty else _copy(lists)
    state = Reassigning(
        lists,
        wants,
        owner,
        previous,
        takes_part,
        _new_movements(len(wants.topic_of), len(wants.hashes)),
        heap,
        _loads(lists, takes_part),
        np.array([odd]),
        gap,
        same_subscribers,
    )
    if new_ones_first:
        failure, _ = _perform_reassignments(state, _reassignable(unassigned, wants))
        if failure != _NONE:
            return failure, lists
    failure, moved = _perform_reassignments(state, _reassignable(in_turn, wants))
    if failure != _NONE:
        return failure, lists
    if moved and not was_empty and _balance_score(lists.sizes, takes_part) >= _balance_score(before.sizes, takes_part):
        return _NONE, before
    return _NONE, lists


@kernel
def _reassignable(partitions: Ints32, wants: Wants) -> Ints32:
    kept = np.empty(len(partitions), np.int32)
    n = 0
    for partition in partitions:
        if _is_reassignable(wants, wants.topic_of[partition]):
            kept[n] = partition
            n += 1
    return kept[:n]


@kernel
def new_heap(n_members: int) -> Heap:
    """Make an empty heap for a group's members."""
    return Heap(np.empty(n_members, np.int32), np.full(n_members, -1, np.int32), np.zeros(1, np.int32))
