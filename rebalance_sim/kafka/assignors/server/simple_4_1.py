"""The ``simple`` assignor of Kafka 4.1: members get partitions by the hash code of their ids, then what they had.

With equal subscriptions no member keeps more than its share, and partitions without a member go round the members, up
to one more than the share. With different subscriptions there is no such limit.
"""

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
from rebalance_sim.kafka.groups import AssignmentFailure
from rebalance_sim.kafka.runtime.hash_order import java_compute_if_absent_order, java_order, java_table_size, signed
from rebalance_sim.kafka.runtime.kernel import inner_kernel, kernel
from rebalance_sim.kafka.runtime.strings import Flags, Ints, Ints32

_NONE = int(AssignmentFailure.NONE)
_PARTITION_ASSIGNOR = int(AssignmentFailure.PARTITION_ASSIGNOR)


@kernel
def assign_by_hash(
    batch: UniformBatch, group: ShareGroup, id_hashes: Ints, is_homogeneous: bool
) -> tuple[Ints32, Ints32, int]:
    """Return the target of each member, as offsets and places, and the failure; ``id_hashes`` are those of members."""
    if is_homogeneous:
        targets = _targets_of(batch, group, 0)
        members, places, is_complete = _assign_homogeneous(batch, group, id_hashes, targets)
        if not is_complete:
            return np.zeros(len(group.members) + 1, np.int32), np.empty(0, np.int32), _PARTITION_ASSIGNOR
    else:
        members, places = _assign_heterogeneous(batch, group, id_hashes)
    offsets, listed = _written(group, members, places)
    return offsets, listed, _NONE


@kernel
def _targets_of(batch: UniformBatch, group: ShareGroup, i: int) -> Ints32:
    """Return the places that a member can be assigned, its topics in the order of its names."""
    names, _ = names_order(batch, group.members[i])
    room = 0
    for topic in names:
        room += group.starts[batch.base[topic] + 1] - group.starts[batch.base[topic]]
    targets, n = np.empty(room, np.int32), 0
    for topic in names:
        places = assignable_places(group, batch.base[topic])
        targets[n : n + len(places)] = places
        n += len(places)
    return targets[:n]


@kernel
def _had_in_order(group: ShareGroup) -> Ints32:
    """Return the entries of the group's target in the order of ``currentAssignment``, a HashMap of partitions."""
    if len(group.held) == 0:
        return group.held
    return _in_map_order(group, group.held)


@kernel
def _in_map_order(group: ShareGroup, places: Ints32) -> Ints32:
    """Return the entries of ``places``, of which there is one at least, by place in the order of a HashMap of places.

    ``computeIfAbsent`` fills the map, and each place has its entries in their order.
    """
    count = len(places)
    offsets, entries = by_member(len(group.topic_of), places, np.arange(count).astype(np.int32))
    keys, n = np.empty(count, np.int32), 0
    for k in range(count):
        if entries[offsets[places[k]]] == k:
            keys[n] = places[k]
            n += 1
    last_call_inserts = entries[offsets[places[-1]]] == count - 1
    in_order, filled = np.empty(count, np.int32), 0
    for place in java_compute_if_absent_order(group.hashes, keys[:n], last_call_inserts):
        for k in range(offsets[place], offsets[place + 1]):
            in_order[filled] = entries[k]
            filled += 1
    return in_order


@inner_kernel
def _hashed_place(id_hash: int, targets: Ints32) -> int:
    """Return the partition that a member gets by its id (``memberHashAssignment``)."""
    return int(targets[abs(signed(id_hash)) % len(targets)])


@kernel
def _assign_homogeneous(
    batch: UniformBatch, group: ShareGroup, id_hashes: Ints, targets: Ints32
) -> tuple[Ints32, Ints32, bool]:
    """Return members and places in the order in which Kafka adds them; whether all partitions could be assigned."""
    count, room = len(group.members), len(group.members) + len(group.held) + len(targets)
    members, places, n = np.empty(room, np.int32), np.empty(room, np.int32), 0
    share = (len(targets) + count - 1) // count
    loads, hashed = np.zeros(count, np.int64), np.zeros(len(group.topic_of), np.bool_)
    taken = np.zeros(len(group.topic_of), np.bool_)
    if len(targets) > 0:
        for i in range(count):
            members[n], places[n] = i, _hashed_place(id_hashes[group.members[i]], targets)
            hashed[places[n]], taken[places[n]] = True, True
            loads[i] = 1
            n += 1
    for k in _had_in_order(group):
        i, place = group.holders[k], group.held[k]
        if loads[i] < share and is_subscribed(batch, group, place) and not hashed[place]:
            members[n], places[n] = i, place
            taken[place] = True
            loads[i] += 1
            n += 1
    filled = _go_round(targets[~taken[targets]], loads, share, members[n:], places[n:])
    return members[: n + max(filled, 0)], places[: n + max(filled, 0)], filled >= 0


@kernel
def _go_round(targets: Ints32, loads: Ints, share: int, members: Ints32, places: Ints32) -> int:
    """Assign partitions to members in turn (``roundRobinAssignmentWithCount``) and return their number.

    A member leaves the round when its turn comes and it has more than its share. Returns -1 if none is left.
    """
    turn = np.arange(len(loads)).astype(np.int32)
    end, read, write = len(turn), 0, 0
    for n in range(len(targets)):
        while True:
            if read == end:
                end, read, write = write, 0, 0
                if end == 0:
                    return -1
            i = turn[read]
            read += 1
            if loads[i] <= share:
                break
        turn[write] = i
        write += 1
        loads[i] += 1
        members[n], places[n] = i, targets[n]
    return len(targets)


@kernel
def _assign_heterogeneous(batch: UniformBatch, group: ShareGroup, id_hashes: Ints) -> tuple[Ints32, Ints32]:
    """Return members and places in the order in which Kafka adds them."""
    in_order = _subscribing_members(batch, group, id_hashes)
    offsets, targets = _targets_by_member(batch, group, in_order)
    room = len(in_order) + len(group.topic_of)
    members, places, n = np.empty(room, np.int32), np.empty(room, np.int32), 0
    taken = np.zeros(len(group.topic_of), np.bool_)
    for j in range(len(in_order)):
        if offsets[j] < offsets[j + 1]:
            hashed = _hashed_place(id_hashes[group.members[in_order[j]]], targets[offsets[j] : offsets[j + 1]])
            members[n], places[n] = in_order[j], hashed
            taken[hashed] = True
            n += 1
    topics, subscribers = _subscribers_by_topic(group, in_order, offsets, targets)
    rest = _without_member(group, targets, taken)
    n += _share_out(group, rest, topics, subscribers, members[n:], places[n:])
    return _with_those_before(group, members[:n], places[:n], topics, subscribers)


@kernel
def _subscribing_members(batch: UniformBatch, group: ShareGroup, id_hashes: Ints) -> Ints32:
    """Return the members with a subscription, in the order of a HashMap of ids (``memberToPartitionsSubscription``)."""
    of_members, offsets, _ = batch.subscriptions
    hashes, subscribing, n = np.empty(len(group.members), np.int64), np.empty(len(group.members), np.int32), 0
    for i in range(len(group.members)):
        hashes[i] = id_hashes[group.members[i]]
        of = of_members[group.members[i]]
        if offsets[of] < offsets[of + 1]:
            subscribing[n] = i
            n += 1
    return java_order(hashes, subscribing[:n], java_table_size(n))


@kernel
def _targets_by_member(batch: UniformBatch, group: ShareGroup, in_order: Ints32) -> tuple[Ints32, Ints32]:
    """Return the places that each member can be assigned, as offsets and places."""
    offsets, targets = np.zeros(len(in_order) + 1, np.int32), np.empty(len(group.topic_of), np.int32)
    for j in range(len(in_order)):
        listed = _targets_of(batch, group, in_order[j])
        offsets[j + 1] = offsets[j] + len(listed)
        if offsets[j + 1] > len(targets):
            larger = np.empty(2 * offsets[j + 1], np.int32)
            larger[: offsets[j]] = targets[: offsets[j]]
            targets = larger
        targets[offsets[j] : offsets[j + 1]] = listed
    return offsets, targets[: offsets[-1]]


@kernel
def _subscribers_by_topic(
    group: ShareGroup, in_order: Ints32, offsets: Ints32, targets: Ints32
) -> tuple[Ints32, Ints32]:
    """Return the members that can be assigned partitions of each topic, as offsets and members."""
    topics, members, n = np.empty(len(targets), np.int32), np.empty(len(targets), np.int32), 0
    for j in range(len(in_order)):
        low = offsets[j]
        while low < offsets[j + 1]:
            topics[n], members[n] = group.topic_of[targets[low]], in_order[j]
            low = end_of_topic(group.topic_of, targets, low, offsets[j + 1])
            n += 1
    return by_member(len(group.topics), topics[:n], members[:n])


@kernel
def _without_member(group: ShareGroup, targets: Ints32, taken: Flags) -> Ints32:
    """Return the places that neither got a member by its id nor had one, each once; ``taken`` is used up."""
    taken[group.held] = True
    rest, n = np.empty(len(targets), np.int32), 0
    for place in targets:
        if not taken[place]:
            taken[place] = True
            rest[n] = place
            n += 1
    return rest[:n]


@kernel
def _share_out(
    group: ShareGroup, rest: Ints32, topics: Ints32, subscribers: Ints32, members: Ints32, places: Ints32
) -> int:
    """Assign places to the subscribers of their topics in turn (``roundRobinAssignment``) and return their number.

    Topics are in the order of a HashMap that ``computeIfAbsent`` fills.
    """
    if len(rest) == 0:
        return 0
    counts = np.zeros(len(group.topics), np.int32)
    named = topics_of(group.topic_of, rest, counts)
    # The last call inserts a topic if the place before is not of the same topic.
    last_call_inserts = len(rest) == 1 or group.topic_of[rest[-1]] == named[-1] != group.topic_of[rest[-2]]
    order = java_compute_if_absent_order(group.id_hashes, named, last_call_inserts)
    list_by_topic(group.topic_of, rest, order, places[: len(rest)], counts)
    for n in range(len(rest)):
        t = group.topic_of[places[n]]
        members[n] = subscribers[topics[t] + counts[t] % (topics[t + 1] - topics[t])]
        counts[t] += 1
    return len(rest)


@kernel
def _with_those_before(
    group: ShareGroup, members: Ints32, places: Ints32, topics: Ints32, subscribers: Ints32
) -> tuple[Ints32, Ints32]:
    """Return what is assigned in map order, then what members keep: partitions that are assigned to nobody now."""
    room, n = len(places) + len(group.held), len(places)
    all_members, all_places = np.empty(room, np.int32), np.empty(room, np.int32)
    assigned = np.zeros(len(group.topic_of), np.bool_)
    if n > 0:
        order = _in_map_order(group, places)
        all_members[:n], all_places[:n] = members[order], places[order]
        assigned[places] = True
    subscribes = np.zeros(len(group.members) * len(group.topics), np.bool_)
    for t in range(len(group.topics)):
        for k in range(topics[t], topics[t + 1]):
            subscribes[subscribers[k] * len(group.topics) + t] = True
    for k in _had_in_order(group):
        place = group.held[k]
        if not assigned[place] and subscribes[group.holders[k] * len(group.topics) + group.topic_of[place]]:
            all_members[n], all_places[n] = group.holders[k], place
            n += 1
    return all_members[:n], all_places[:n]


@kernel
def _written(group: ShareGroup, members: Ints32, places: Ints32) -> tuple[Ints32, Ints32]:
    """Return the target of each member in the order of its record, from pairs in the order in which Kafka adds them.

    A member's partitions are in a HashSet, from which ``groupAssignment`` fills a map of topics with
    ``computeIfAbsent``: a topic comes to the head of its bucket.
    """
    offsets, listed = by_member(len(group.members), members, places)
    counts = np.zeros(len(group.topics), np.int32)
    for i in range(len(group.members)):
        low, high = offsets[i], offsets[i + 1]
        in_order = java_order(group.hashes, listed[low:high], java_table_size(high - low))
        topics = topics_of(group.topic_of, in_order, counts)[::-1].copy()
        list_by_topic(group.topic_of, in_order, topics, listed[low:high], counts)
    return offsets, listed
