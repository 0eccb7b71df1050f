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
from rebalance_sim.kafka.hash_order import java_bucket, topic_partition_hash
from rebalance_sim.kafka.kernel import kernel
from rebalance_sim.kafka.strings import Flags, Ints, Ints32, sort_by_key

_NONE = int(Failure.NONE)
_NULL_POINTER = int(Failure.NULL_POINTER)
_NO_SUCH_ELEMENT = int(Failure.NO_SUCH_ELEMENT)
_NEVER_RETURNS = int(Failure.NEVER_RETURNS)
_FIRST_SNAPSHOT = 16
NOBODY = -1
# Columns of Lists and of Movements.
PARTITION, OWNER, BEFORE, AFTER, OTHER = range(5)
SOURCE, TARGET, TABLE = 0, 1, 4
FIRST, LAST = range(2)


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

    nodes: Ints32
    """Of each node PARTITION, OWNER (the member in whose list it is), BEFORE, AFTER, and OTHER: the next older node of
    the same partition. -1 where there is none."""
    ends: Ints32
    """FIRST and LAST node of each member's list, or -1."""
    sizes: Ints32
    """Partitions in each member's list."""
    node_of: Ints32
    """The latest node of each partition, or -1."""
    used: Ints32
    """Number of nodes, as an array of one."""


class Movements(NamedTuple):
    """``PartitionMovements``: from whom and to whom each partition has moved, in the order of the moves, by topic."""

    moves: Ints32
    """Of each partition: the member it came from (SOURCE, or NOBODY where it has not moved) and went to (TARGET), the
    buckets of the ``HashSet`` that it is in (TABLE: one set for each topic, source and target), and the partitions of
    its topic that moved just BEFORE and AFTER it, or -1."""
    ends: Ints32
    """FIRST and LAST moved partition of each topic, or -1."""


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
        np.empty((room, 5), np.int32),
        np.full((n_members, 2), -1, np.int32),
        np.zeros(n_members, np.int32),
        np.full(n_partitions, -1, np.int32),
        np.zeros(1, np.int32),
    )


@kernel
def append_all(lists: Lists, members: Ints32, partitions: Ints32) -> None:
    """Add partitions to members' lists, one after the other; sizes are not touched."""
    nodes, ends, node_of = lists.nodes, lists.ends, lists.node_of
    node = lists.used[0]
    for k in range(len(partitions)):
        partition, member = partitions[k], members[k]
        tail = ends[member, LAST]
        nodes[node, PARTITION] = partition
        nodes[node, OWNER] = member
        nodes[node, BEFORE] = tail
        nodes[node, AFTER] = -1
        nodes[node, OTHER] = node_of[partition]
        node_of[partition] = node
        if tail < 0:
            ends[member, FIRST] = node
        else:
            nodes[tail, AFTER] = node
        ends[member, LAST] = node
        node += 1
    lists.used[0] = node


@kernel
def _append(nodes: Ints32, ends: Ints32, member: int, node: int) -> None:
    """Put a node that is in no list at the end of a member's."""
    tail = ends[member, LAST]
    nodes[node, OWNER] = member
    nodes[node, BEFORE] = tail
    nodes[node, AFTER] = -1
    if tail < 0:
        ends[member, FIRST] = node
    else:
        nodes[tail, AFTER] = node
    ends[member, LAST] = node


@kernel
def _unlink(nodes: Ints32, ends: Ints32, whose: int, node: int) -> None:
    """Take a node out of a list, of a member's partitions or of a topic's movements."""
    before, after = nodes[node, BEFORE], nodes[node, AFTER]
    if before < 0:
        ends[whose, FIRST] = after
    else:
        nodes[before, AFTER] = after
    if after < 0:
        ends[whose, LAST] = before
    else:
        nodes[after, BEFORE] = before


@kernel
def node_in_list(lists: Lists, member: int, partition: int) -> int:
    """Return the first node of a partition in a member's list, or -1."""
    nodes, found = lists.nodes, -1
    node = lists.node_of[partition]
    while node >= 0:
        if nodes[node, OWNER] == member:
            if found >= 0:
                found = lists.ends[member, FIRST]
                while nodes[found, PARTITION] != partition:
                    found = nodes[found, AFTER]
                return int(found)
            found = node
        node = nodes[node, OTHER]
    return int(found)


@kernel
def _copy(lists: Lists) -> Lists:
    return Lists(lists.nodes.copy(), lists.ends.copy(), lists.sizes.copy(), lists.node_of, lists.used)


# ---- the heap of a topic's subscribers


@kernel
def _lighter(sizes: Ints32, a: int, b: int) -> bool:
    return bool(sizes[a] < sizes[b] or (sizes[a] == sizes[b] and a < b))


@kernel
def _sift_up(heap: Heap, sizes: Ints32, place: int) -> None:
    """Put a member whose list has shrunk where it belongs."""
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


@kernel
def _sift_down(heap: Heap, sizes: Ints32, place: int) -> None:
    """Put a member whose list has grown where it belongs."""
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


@kernel
def _fill(heap: Heap, sizes: Ints32, subscribers: Ints32, takes_part: Flags) -> None:
    """Make the heap that of another topic."""
    members, places = heap.members, heap.places
    for place in range(heap.size[0]):
        places[members[place]] = -1
    size = 0
    for member in subscribers:
        if takes_part[member] and places[member] < 0:
            members[size] = member
            places[member] = size
            size += 1
    heap.size[0] = size
    for place in range(size // 2 - 1, -1, -1):
        _sift_down(heap, sizes, place)


@kernel
def _subscribers(wants: Wants, topic: int) -> Ints32:
    return wants.members[wants.subscribers[topic] : wants.subscribers[topic + 1]]


# ---- unassigned partitions


@kernel
def assign_to_lightest(unassigned: Ints32, lists: Lists, wants: Wants, owner: Ints32, same_subscribers: bool) -> None:
    """Give each partition to the subscriber with the fewest, of equal ones to the first by id (``maybeAssign``).

    Consecutive partitions of topics with the same subscribers are handed out together.
    """
    sizes, topic_of = lists.sizes, wants.topic_of
    partitions, members = np.empty(len(unassigned), np.int32), np.empty(len(unassigned), np.int32)
    n, low = 0, 0
    for high in range(1, len(unassigned) + 1):
        topic = topic_of[unassigned[low]]
        if high < len(unassigned) and (same_subscribers or topic_of[unassigned[high]] == topic):
            continue
        subscribers = _subscribers(wants, topic)
        if len(subscribers) > 0:
            n_more = high - low
            partitions[n : n + n_more] = unassigned[low:high]
            _lightest_in_turn(members[n : n + n_more], subscribers, sizes)
            n += n_more
        low = high
    for k in range(n):
        owner[partitions[k]] = members[k]
    append_all(lists, members[:n], partitions[:n])


@kernel
def _lightest_in_turn(chosen: Ints32, subscribers: Ints32, sizes: Ints32) -> None:
    """Choose the subscriber with the fewest, again and again; of each the size grows by 1.

    Those with the fewest take one each, by id; then those that had one more from the start join them.
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


# ---- who takes part


@kernel
def _reassignable_topics(wants: Wants) -> Flags:
    """``canTopicParticipateInReassignment``: two subscribers at least."""
    n_topics = len(wants.subscribers) - 1
    reassignable = np.empty(n_topics, np.bool_)
    for topic in range(n_topics):
        reassignable[topic] = wants.subscribers[topic + 1] - wants.subscribers[topic] >= 2
    return reassignable


@kernel
def _taking_part(lists: Lists, wants: Wants, reassignable: Flags) -> Flags:
    """``canConsumerParticipateInReassignment`` of each member."""
    takes_part = np.empty(len(lists.sizes), np.bool_)
    for member in range(len(lists.sizes)):
        takes_part[member] = lists.sizes[member] < wants.most[member]
        node = lists.ends[member, FIRST]
        while node >= 0 and not takes_part[member]:
            takes_part[member] = reassignable[wants.topic_of[lists.nodes[node, PARTITION]]]
            node = lists.nodes[node, AFTER]
    return takes_part


# ---- is it balanced?


class Loads(NamedTuple):
    """How many of the members that take part have how many partitions."""

    members: Ints32
    """Number of members, by number of partitions."""
    bounds: Ints32
    """Fewest and most partitions."""


@kernel
def _loads(sizes: Ints32, takes_part: Flags) -> Loads:
    loads = Loads(np.zeros(sizes.max() + 2, np.int32), np.empty(2, np.int32))
    least, most = len(loads.members), 0
    for member in range(len(takes_part)):
        if takes_part[member]:
            size = sizes[member]
            loads.members[size] += 1
            least, most = min(least, size), max(most, size)
    loads.bounds[0], loads.bounds[1] = least, most
    return loads


@kernel
def _change_load(loads: Loads, old: int, new: int) -> None:
    members, bounds = loads.members, loads.bounds
    members[old] -= 1
    members[new] += 1
    least, most = min(bounds[0], new), max(bounds[1], new)
    while members[least] == 0:
        least += 1
    while members[most] == 0:
        most -= 1
    bounds[0], bounds[1] = least, most


@kernel
def _lightest(sizes: Ints32, subscribers: Ints32, takes_part: Flags) -> int:
    """The member on top of a topic's heap, or NOBODY."""
    lightest = NOBODY
    for member in subscribers:
        if takes_part[member] and (lightest == NOBODY or _lighter(sizes, member, lightest)):
            lightest = member
    return int(lightest)


@kernel
def _imbalance_in(
    sizes: Ints32, wants: Wants, owner: Ints32, takes_part: Flags, topic: int, gap: int
) -> tuple[int, int]:
    """Find a subscriber and a partition of a topic whose owner has over ``gap`` more; (-1, -1) if there is none."""
    lightest = _lightest(sizes, _subscribers(wants, topic), takes_part)
    if lightest == NOBODY:
        return -1, -1
    heaviest, most = -1, sizes[lightest] + gap
    for partition in range(wants.first_partition[topic], wants.first_partition[topic + 1]):
        size = sizes[owner[partition]]
        if size > most:
            heaviest, most = partition, size
    if heaviest < 0:
        return -1, -1
    return lightest, int(heaviest)


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
                    other = lists.nodes[node, OWNER]
                    if (
                        other >= 0
                        and takes_part[other]
                        and (last < 0 or wants.map_place[other] > wants.map_place[last])
                    ):
                        last = other
                    node = lists.nodes[node, OTHER]
                if last < 0:
                    return _NULL_POINTER, False
                if size + gap < lists.sizes[last]:
                    return _NONE, False
    return _NONE, True


# ---- movements


@kernel
def _new_movements(n_partitions: int, n_topics: int) -> Movements:
    return Movements(np.full((n_partitions, 5), -1, np.int32), np.full((n_topics, 2), -1, np.int32))


@kernel
def _forget(movements: Movements, topic: int, partition: int) -> None:
    _unlink(movements.moves, movements.ends, topic, partition)
    movements.moves[partition, SOURCE] = NOBODY


@kernel
def _record(movements: Movements, topic: int, partition: int, source: int, target: int) -> None:
    """Add a movement. The set of its topic, source and target doubles its table past 3/4; all its members know that."""
    moves, ends = movements.moves, movements.ends
    count, table = 1, 16
    other = ends[topic, FIRST]
    while other >= 0:
        if moves[other, SOURCE] == source and moves[other, TARGET] == target:
            count += 1
            table = moves[other, TABLE]
        other = moves[other, AFTER]
    if 4 * count > 3 * table:
        table *= 2
        other = ends[topic, FIRST]
        while other >= 0:
            if moves[other, SOURCE] == source and moves[other, TARGET] == target:
                moves[other, TABLE] = table
            other = moves[other, AFTER]
    tail = ends[topic, LAST]
    moves[partition, SOURCE] = source
    moves[partition, TARGET] = target
    moves[partition, TABLE] = table
    moves[partition, BEFORE] = tail
    moves[partition, AFTER] = -1
    if tail < 0:
        ends[topic, FIRST] = partition
    else:
        moves[tail, AFTER] = partition
    ends[topic, LAST] = partition


@kernel
def _actual_partition(
    movements: Movements, topic: int, topic_hash: int, first: int, partition: int, old: int, new: int
) -> int:
    """``getTheActualPartitionToBeMoved``: one of the topic that moved the other way goes back instead, if there is one.

    Of several it is the first in the order of their ``HashSet``. ``first`` is the topic's first partition.
    """
    moves = movements.moves
    if moves[partition, SOURCE] >= 0:
        old = moves[partition, SOURCE]
    chosen, lowest = partition, -1
    other = movements.ends[topic, FIRST]
    while other >= 0:
        if moves[other, SOURCE] == new and moves[other, TARGET] == old:
            bucket = java_bucket(topic_partition_hash(topic_hash, other - first), int(moves[other, TABLE]))
            if lowest < 0 or bucket < lowest:
                chosen, lowest = other, bucket
        other = moves[other, AFTER]
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
    lists, wants, movements, owner = state.lists, state.wants, state.movements, state.owner
    nodes, ends, sizes, heap = lists.nodes, lists.ends, lists.sizes, state.heap
    topic = wants.topic_of[partition]
    partition = _actual_partition(
        movements, topic, wants.hashes[topic], wants.first_partition[topic], partition, owner[partition], new
    )
    old = owner[partition]
    source = movements.moves[partition, SOURCE]
    if source >= 0:
        _forget(movements, topic, partition)
        if source != new:
            _record(movements, topic, partition, source, new)
    else:
        _record(movements, topic, partition, old, new)
    node = node_in_list(lists, old, partition)
    if node < 0:
        # Before 2.4 the last to claim a partition counts as its owner, even if it had to let go of it.
        append_all(lists, np.array([new], np.int32), np.array([partition], np.int32))
    else:
        # The heap is put right after each of the two changes: it can be wrong in one place at a time only.
        _unlink(nodes, ends, old, node)
        sizes[old] -= 1
        _change_load(state.loads, sizes[old] + 1, sizes[old])
        if heap.places[old] >= 0:
            _sift_up(heap, sizes, heap.places[old])
        _append(nodes, ends, new, node)
    sizes[new] += 1
    _change_load(state.loads, sizes[new] - 1, sizes[new])
    if heap.places[new] >= 0:
        _sift_down(heap, sizes, heap.places[new])
    owner[partition] = new


@kernel
def _is_balanced(state: Reassigning, witness: Ints32) -> tuple[int, bool]:
    """Look for the contrary, from the topic of the last witness on: what is thrown, and the answer."""
    if state.odd[0]:
        return _literal_imbalance(state.lists, state.wants, state.takes_part, state.gap)
    n_topics = len(state.wants.hashes)
    start = state.wants.topic_of[witness[1]] if witness[1] >= 0 else 0
    for k in range(n_topics):
        topic = (start + k) % n_topics
        member, partition = _imbalance_in(
            state.lists.sizes, state.wants, state.owner, state.takes_part, topic, state.gap
        )
        if member >= 0:
            witness[0], witness[1] = member, partition
            return _NONE, False
    return _NONE, True


@kernel
def _better_subscriber(state: Reassigning, topic: int, size: int) -> tuple[int, bool]:
    """Look as Kafka does whether a subscriber has over 1 less: what is thrown, and the answer."""
    for member in _subscribers(state.wants, topic):
        if not state.takes_part[member]:
            return _NULL_POINTER, False
        if size > state.lists.sizes[member] + 1:
            return _NONE, True
    return _NONE, False


@kernel
def _same_movements(a: Movements, b: Movements) -> bool:
    """Tell whether the same partitions have moved from and to the same members, recorded in the same order.

    That also says where every partition is, and so what comes next.
    """
    if not np.array_equal(a.ends, b.ends):
        return False
    for partition in range(len(a.moves)):
        moved = a.moves[partition, SOURCE] >= 0
        if moved != (b.moves[partition, SOURCE] >= 0):
            return False
        if moved and not np.array_equal(a.moves[partition], b.moves[partition]):
            return False
    return True


@kernel
def _perform_reassignments(state: Reassigning, partitions: Ints32) -> tuple[int, bool]:
    """Move partitions as long as that helps: what is thrown, and whether any was moved.

    Moving another partition than the one looked at (``_actual_partition``) may go round in circles, in Kafka for ever.
    A round that begins as an earlier one did tells: after 2, 4, 8, ... rounds the state is kept for that (Brent).

    Before every partition Kafka asks whether the group is balanced (``isBalanced``). ``witness`` is a member and a
    partition that it could take, as long as that stands.
    """
    owners, previous_owners, takes_part, sizes = state.owner, state.previous, state.takes_part, state.lists.sizes
    topic_of, heap, odd, movements = state.wants.topic_of, state.heap, state.odd, state.movements
    bounds, gap = state.loads.bounds, state.gap
    if len(partitions) == 0:
        return _NONE, False
    if not takes_part.any():
        return _NO_SUCH_ELEMENT, False
    moved = False
    witness = np.full(2, -1, np.int32)
    current, lightest, filled = -1, NOBODY, False
    earlier, rounds, next_snapshot = movements, 0, _FIRST_SNAPSHOT
    while True:
        rounds += 1
        if rounds > _FIRST_SNAPSHOT and _same_movements(earlier, movements):
            return _NEVER_RETURNS, moved
        if rounds == next_snapshot:
            earlier = Movements(movements.moves.copy(), movements.ends.copy())
            next_snapshot *= 2
        moved_now = False
        unknown, balanced = True, False
        for partition in partitions:
            if unknown:
                unknown = False
                balanced = bounds[0] >= bounds[1] - 1
                stands = not odd[0] and witness[0] >= 0 and sizes[witness[0]] + gap < sizes[owners[witness[1]]]
                if not balanced and not stands:
                    failure, balanced = _is_balanced(state, witness)
                    if failure != _NONE:
                        return failure, moved
            if balanced:
                break
            topic = topic_of[partition]
            if topic != current and (current < 0 or not state.same_subscribers):
                lightest = _lightest(sizes, _subscribers(state.wants, topic), takes_part)
                current, filled = topic, False
            owner, previous = owners[partition], previous_owners[partition]
            if owner < 0 or not takes_part[owner] or (previous >= 0 and not takes_part[previous]):
                return _NULL_POINTER, moved
            to_previous = previous >= 0 and sizes[owner] > sizes[previous] + 1
            if not to_previous:
                better = lightest != NOBODY and sizes[owner] > sizes[lightest] + 1
                if odd[0]:
                    failure, better = _better_subscriber(state, topic, sizes[owner])
                    if failure != _NONE:
                        return failure, moved
                if not better:
                    continue
            if not filled:
                _fill(heap, sizes, _subscribers(state.wants, topic), takes_part)
                filled = True
            if to_previous:
                odd[0] |= heap.places[previous] < 0
            _move(state, partition, previous if to_previous else lightest)
            lightest = heap.members[0]
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
) -> tuple[int, Lists]:
    """Even out a group whose partitions are all assigned: what is thrown, and the lists.

    ``in_turn`` are all partitions in the order of reassignment; with ``new_ones_first`` those that were unassigned are
    tried before (since 2.4, where nothing has to be revoked).
    """
    n_members, reassignable = len(lists.sizes), _reassignable_topics(wants)
    takes_part = _taking_part(lists, wants, reassignable)
    before = lists if was_empty else _copy(lists)
    state = Reassigning(
        lists,
        wants,
        owner,
        previous,
        takes_part,
        _new_movements(len(wants.topic_of), len(wants.hashes)),
        Heap(np.empty(n_members, np.int32), np.full(n_members, -1, np.int32), np.zeros(1, np.int32)),
        _loads(lists.sizes, takes_part),
        np.array([odd]),
        gap,
        same_subscribers,
    )
    if new_ones_first:
        failure, _ = _perform_reassignments(state, _reassignable(unassigned, wants.topic_of, reassignable))
        if failure != _NONE:
            return failure, lists
    failure, moved = _perform_reassignments(state, _reassignable(in_turn, wants.topic_of, reassignable))
    if failure != _NONE:
        return failure, lists
    if moved and not was_empty and _balance_score(lists.sizes, takes_part) >= _balance_score(before.sizes, takes_part):
        return _NONE, before
    return _NONE, lists


@kernel
def _reassignable(partitions: Ints32, topic_of: Ints32, reassignable: Flags) -> Ints32:
    """Those partitions whose topic is reassignable."""
    if reassignable.all():
        return partitions
    kept = np.empty(len(partitions), np.int32)
    n = 0
    for partition in partitions:
        if reassignable[topic_of[partition]]:
            kept[n] = partition
            n += 1
    return kept[:n]
