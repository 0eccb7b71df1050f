"""The ``range`` assignor (``RangeAssignor``).

Topic by topic, the sorted subscribers get consecutive partitions; the first few get one more where the number does
not divide evenly. The topics are walked in the order of a hash map, which decides the order of a member's list.

Kafka 1.0 and 2.3 walk the map of all topics that members name (``RangeWalk``). Later versions walk the map of the
topics that the metadata knows, and match racks first where members and replicas have racks (KIP-881).
"""

from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.groups import (
    NO_RACK,
    Assignments,
    Groups,
    Outcome,
    Subscribers,
    Topics,
    map_order,
    sorted_order,
    subscribers,
    without_failures,
)
from rebalance_sim.kafka.hash_order import java_compute_if_absent_order, java_order, java_table_size
from rebalance_sim.kafka.kernel import kernel
from rebalance_sim.kafka.strings import Flags, Ints32
from rebalance_sim.versions import KafkaVersion, RangeWalk

_NAMED_BY_PUT = int(RangeWalk.NAMED_BY_PUT)
_NAMED_BY_COMPUTE_IF_ABSENT = int(RangeWalk.NAMED_BY_COMPUTE_IF_ABSENT)
_KNOWN = int(RangeWalk.KNOWN)


def assign(groups: Groups, topics: Topics, version: KafkaVersion) -> Outcome:
    """Assign the partitions of every group of a batch."""
    in_map_order = map_order(groups)
    by_topic = subscribers(
        groups,
        in_map_order,
        sorted_order(groups, in_map_order, version.static_members_first),
        len(topics.partitions),
        count_repeats=not version.static_members_first,
    )
    if version.rack_aware and with_racks(groups, topics):
        return without_failures(groups, assign_with_racks(groups, topics, by_topic, by_librdkafka=False))
    order = _topic_orders(topics, by_topic, int(version.range_walk))
    return without_failures(groups, assign_in_blocks(len(groups.member_hashes), topics, by_topic, order))


def with_racks(groups: Groups, topics: Topics) -> bool:
    """Tell whether both members and replicas have racks."""
    return bool((groups.member_racks != NO_RACK).any()) and len(topics.rack_offsets) > 1


@kernel
def _topic_order(topics: Topics, by_topic: Subscribers, g: int, walk: int) -> Ints32:
    """Entries of group g's topics in the order in which the assignor walks them.

    Later versions collect the topics in a ``HashSet`` and from it, in its order, the known ones in a ``HashMap``.
    """
    first, end = by_topic.group_topics[g], by_topic.group_topics[g + 1]
    hashes = topics.hashes[by_topic.topics[first:end]]
    named = np.arange(end - first).astype(np.int32)
    if walk == _NAMED_BY_COMPUTE_IF_ABSENT:
        return java_compute_if_absent_order(hashes, named, by_topic.last_name_is_new[g]) + first
    order = java_order(hashes, named, java_table_size(len(named)))
    if walk == _NAMED_BY_PUT:
        return order + first
    known = order[topics.partitions[by_topic.topics[order + first]] > 0]
    return java_order(hashes, known, java_table_size(len(known))) + first


@kernel
def _topic_orders(topics: Topics, by_topic: Subscribers, walk: int) -> Ints32:
    """Entries of all groups' topics in the order in which the assignor walks them."""
    orders = np.empty(len(by_topic.topics), np.int32)
    n = 0
    for g in range(len(by_topic.group_topics) - 1):
        order = _topic_order(topics, by_topic, g, walk)
        orders[n : n + len(order)] = order
        n += len(order)
    return orders[:n]


@kernel
def assign_in_blocks(n_members: int, topics: Topics, by_topic: Subscribers, order: Ints32) -> Assignments:
    """Give each topic's subscribers consecutive partitions; topics are walked in an order of their entries."""
    offsets = np.zeros(n_members + 1, np.int32)
    for entry in range(len(by_topic.topics)):
        first, end = by_topic.offsets[entry], by_topic.offsets[entry + 1]
        partitions = max(topics.partitions[by_topic.topics[entry]], 0)
        share, extra = partitions // (end - first), partitions % (end - first)
        for i in range(end - first):
            offsets[by_topic.members[first + i] + 1] += share + (1 if i < extra else 0)
    for m in range(n_members):
        offsets[m + 1] += offsets[m]
    cursor = offsets[:-1].copy()
    assigned_topics = np.empty(offsets[n_members], np.int32)
    assigned_partitions = np.empty(offsets[n_members], np.int32)
    for entry in order:
        topic = by_topic.topics[entry]
        first, end = by_topic.offsets[entry], by_topic.offsets[entry + 1]
        partitions = max(topics.partitions[topic], 0)
        share, extra = partitions // (end - first), partitions % (end - first)
        partition = 0
        for i in range(end - first):
            m = by_topic.members[first + i]
            for _ in range(share + (1 if i < extra else 0)):
                assigned_topics[cursor[m]] = topic
                assigned_partitions[cursor[m]] = partition
                cursor[m] += 1
                partition += 1
    return Assignments(offsets, assigned_topics, assigned_partitions)


class _TopicState(NamedTuple):
    """Where the assignment of a batch stands, by entry of the topics and by subscriber (``TopicAssignmentState``)."""

    share: Ints32
    """Partitions that each subscriber gets at least, by entry."""
    extra: Ints32
    """Subscribers that may still get one more, by entry."""
    taken: Ints32
    """Partitions given so far, by subscriber (entry of ``Subscribers.members``)."""
    first_partition: Ints32
    """Place of the entry's partition 0 in ``owner``."""
    owner: Ints32
    """Member that has the partition, or -1."""


@kernel
def _may_take(state: _TopicState, entry: int, subscriber: int) -> int:
    """How many more partitions a subscriber may take (``maxAssignable``)."""
    return max(state.share[entry] + (1 if state.extra[entry] > 0 else 0) - state.taken[subscriber], 0)


@kernel
def _give(state: _TopicState, by_topic: Subscribers, entry: int, subscriber: int, partition: int) -> None:
    state.owner[state.first_partition[entry] + partition] = by_topic.members[subscriber]
    state.taken[subscriber] += 1


@kernel
def _settle_extra(state: _TopicState, entry: int, subscriber: int) -> None:
    """Count a subscriber that was given partitions past its share (``onAssigned`` counts once a hand-out)."""
    if state.taken[subscriber] > state.share[entry]:
        state.extra[entry] -= 1


@kernel
def _has_rack(topics: Topics, topic: int, partition: int, rack: int) -> bool:
    place = topics.first_racks[topic] + partition
    if place >= topics.first_racks[topic + 1]:
        return False
    for k in range(topics.rack_offsets[place], topics.rack_offsets[place + 1]):
        if topics.racks[k] == rack:
            return True
    return False


@kernel
def _members_have_racks(by_topic: Subscribers, entry: int, member_racks: Ints32) -> bool:
    for k in range(by_topic.offsets[entry], by_topic.offsets[entry + 1]):
        if member_racks[by_topic.members[k]] != NO_RACK:
            return True
    return False


@kernel
def _needs_racks(topics: Topics, by_topic: Subscribers, entry: int, member_racks: Ints32, seen: Ints32) -> bool:
    """``useRackAwareAssignment``: a member's rack holds replicas, and not every partition is on every rack.

    ``seen`` has an entry for each rack, all 0, and is left so.
    """
    topic = by_topic.topics[entry]
    low, high = topics.first_racks[topic], topics.first_racks[topic + 1]
    if low == high:
        return False
    union = 0
    for k in range(topics.rack_offsets[low], topics.rack_offsets[high]):
        if seen[topics.racks[k]] == 0:
            seen[topics.racks[k]] = 1
            union += 1
    shared = False
    for k in range(by_topic.offsets[entry], by_topic.offsets[entry + 1]):
        rack = member_racks[by_topic.members[k]]
        if rack >= 0 and seen[rack] > 0:
            shared = True
            break
    everywhere = True
    for place in range(low, high):
        racks_here = 0
        for k in range(topics.rack_offsets[place], topics.rack_offsets[place + 1]):
            rack = topics.racks[k]
            if seen[rack] != place - low + 2:
                seen[rack] = place - low + 2
                racks_here += 1
        everywhere = everywhere and racks_here == union
    for k in range(topics.rack_offsets[low], topics.rack_offsets[high]):
        seen[topics.racks[k]] = 0
    return shared and not everywhere


@kernel
def _same_subscribers(by_topic: Subscribers, a: int, b: int) -> bool:
    first_a, first_b = by_topic.offsets[a], by_topic.offsets[b]
    n = by_topic.offsets[a + 1] - first_a
    if by_topic.offsets[b + 1] - first_b != n:
        return False
    for k in range(n):
        if by_topic.members[first_a + k] != by_topic.members[first_b + k]:
            return False
    return True


@kernel
def _rack_classes(by_topic: Subscribers, entry: int, member_racks: Ints32) -> tuple[Ints32, Ints32, Ints32]:
    """Sort the subscribers of an entry by rack: the distinct racks, where each begins, and the subscribers.

    Inside a rack they keep their order.
    """
    first, end = by_topic.offsets[entry], by_topic.offsets[entry + 1]
    ordered = np.argsort(member_racks[by_topic.members[first:end]], kind="mergesort").astype(np.int32) + np.int32(first)
    racks = np.empty(end - first, np.int32)
    starts = np.empty(end - first + 1, np.int32)
    n = 0
    for k in range(len(ordered)):
        rack = member_racks[by_topic.members[ordered[k]]]
        if n == 0 or racks[n - 1] != rack:
            racks[n] = rack
            starts[n] = k
            n += 1
    starts[n] = len(ordered)
    return racks[:n], starts[: n + 1], ordered


@kernel
def _match_racks(state: _TopicState, topics: Topics, by_topic: Subscribers, entry: int, member_racks: Ints32) -> None:
    """Give each subscriber, in order, partitions that have a replica on its rack; one without a rack takes any.

    A pointer for each rack passes over every partition once, since partitions are only ever taken.
    """
    topic = by_topic.topics[entry]
    partitions = topics.partitions[topic]
    racks, starts, ordered = _rack_classes(by_topic, entry, member_racks)
    first = by_topic.offsets[entry]
    class_of = np.empty(len(ordered), np.int32)
    for c in range(len(racks)):
        for k in range(starts[c], starts[c + 1]):
            class_of[ordered[k] - first] = c
    following = np.zeros(len(racks), np.int32)
    for subscriber in range(first, by_topic.offsets[entry + 1]):
        c = class_of[subscriber - first]
        limit = _may_take(state, entry, subscriber)
        given = 0
        while given < limit and following[c] < partitions:
            partition = following[c]
            following[c] += 1
            free = state.owner[state.first_partition[entry] + partition] < 0
            if free and (racks[c] == NO_RACK or _has_rack(topics, topic, partition, racks[c])):
                _give(state, by_topic, entry, subscriber, partition)
                given += 1
        if given > 0:
            _settle_extra(state, entry, subscriber)


@kernel
def _match_co_partitioned(
    state: _TopicState,
    topics: Topics,
    by_topic: Subscribers,
    entries: Ints32,
    member_racks: Ints32,
    by_librdkafka: bool,
) -> None:
    """Give partition p of all ``entries`` (same subscribers, same number of partitions) to one subscriber.

    It is the first that may still take one and whose rack holds a replica of partition p of each topic; who has no
    rack may take any in Kafka, none in librdkafka. All entries stand alike at any time, so the first tells what a
    subscriber may take; once that is nothing, it stays so.
    """
    lead = entries[0]
    racks, starts, ordered = _rack_classes(by_topic, lead, member_racks)
    following = starts[:-1].copy()
    for partition in range(topics.partitions[by_topic.topics[lead]]):
        chosen, chosen_class = -1, -1
        for c in range(len(racks)):
            while following[c] < starts[c + 1] and _may_take(state, lead, ordered[following[c]]) == 0:
                following[c] += 1
            if following[c] == starts[c + 1] or (chosen >= 0 and ordered[following[c]] > chosen):
                continue
            matches = racks[c] != NO_RACK or not by_librdkafka
            if racks[c] != NO_RACK:
                for entry in entries:
                    if not _has_rack(topics, by_topic.topics[entry], partition, racks[c]):
                        matches = False
                        break
            if matches:
                chosen, chosen_class = ordered[following[c]], c
        if chosen_class >= 0:
            nth = chosen - by_topic.offsets[lead]
            for entry in entries:
                subscriber = by_topic.offsets[entry] + nth
                _give(state, by_topic, entry, subscriber, partition)
                _settle_extra(state, entry, subscriber)


@kernel
def _assign_rest(state: _TopicState, topics: Topics, by_topic: Subscribers, entry: int) -> None:
    """Give out what is left in plain ranges (``assignRanges``)."""
    partitions = topics.partitions[by_topic.topics[entry]]
    partition = 0
    for subscriber in range(by_topic.offsets[entry], by_topic.offsets[entry + 1]):
        limit = _may_take(state, entry, subscriber)
        given = 0
        while given < limit and partition < partitions:
            if state.owner[state.first_partition[entry] + partition] < 0:
                _give(state, by_topic, entry, subscriber, partition)
                given += 1
            partition += 1
        if given > 0:
            _settle_extra(state, entry, subscriber)


@kernel
def _start(topics: Topics, by_topic: Subscribers) -> _TopicState:
    n = len(by_topic.topics)
    share = np.empty(n, np.int32)
    extra = np.empty(n, np.int32)
    first_partition = np.zeros(n + 1, np.int32)
    for entry in range(n):
        partitions = max(topics.partitions[by_topic.topics[entry]], 0)
        members = by_topic.offsets[entry + 1] - by_topic.offsets[entry]
        share[entry], extra[entry] = partitions // members, partitions % members
        first_partition[entry + 1] = first_partition[entry] + partitions
    return _TopicState(
        share,
        extra,
        np.zeros(len(by_topic.members), np.int32),
        first_partition,
        np.full(first_partition[n], -1, np.int32),
    )


@kernel
def assign_with_racks(groups: Groups, topics: Topics, by_topic: Subscribers, by_librdkafka: bool) -> Assignments:
    """Match racks, then give out the rest in plain ranges.

    librdkafka (2.2 to 2.16) matches topics together even if none of the group's needs it, and sorts in any case.
    """
    last_rack = groups.member_racks.max()
    if len(topics.racks) > 0:
        last_rack = max(last_rack, topics.racks.max())
    seen = np.zeros(max(last_rack, -1) + 1, np.int32)
    state = _start(topics, by_topic)
    n_groups = len(groups.members) - 1
    orders = np.empty(len(by_topic.topics), np.int32)
    for g in range(n_groups):
        order = _topic_order(topics, by_topic, g, _KNOWN)
        needs = np.zeros(len(order), np.bool_)
        for k in range(len(order)):
            needs[k] = _needs_racks(topics, by_topic, order[k], groups.member_racks, seen)
        if needs.any() or by_librdkafka:
            _match_group(state, topics, by_topic, order, needs, groups.member_racks, by_librdkafka)
            order = order[np.argsort(topics.ranks[by_topic.topics[order]])]
        for entry in order:
            _assign_rest(state, topics, by_topic, entry)
        orders[by_topic.group_topics[g] : by_topic.group_topics[g] + len(order)] = order
        orders[by_topic.group_topics[g] + len(order) : by_topic.group_topics[g + 1]] = -1
    return collect(len(groups.member_hashes), by_topic, state.first_partition, state.owner, orders)


@kernel
def _match_group(
    state: _TopicState,
    topics: Topics,
    by_topic: Subscribers,
    order: Ints32,
    needs: Flags,
    member_racks: Ints32,
    by_librdkafka: bool,
) -> None:
    """``assignWithRackMatching``: topics with the same subscribers and number of partitions are matched together."""
    done = np.zeros(len(order), np.bool_)
    for k in range(len(order)):
        if done[k] or not _members_have_racks(by_topic, order[k], member_racks):
            continue
        partitions = topics.partitions[by_topic.topics[order[k]]]
        together = np.empty(len(order), np.int32)
        n = 0
        for other in range(k, len(order)):
            if (
                not done[other]
                and topics.partitions[by_topic.topics[order[other]]] == partitions
                and _same_subscribers(by_topic, order[k], order[other])
            ):
                done[other] = True
                together[n] = order[other]
                n += 1
        if n > 1:
            _match_co_partitioned(state, topics, by_topic, together[:n], member_racks, by_librdkafka)
        elif needs[k]:
            _match_racks(state, topics, by_topic, order[k], member_racks)


@kernel
def collect(
    n_members: int, by_topic: Subscribers, first_partition: Ints32, owners: Ints32, orders: Ints32
) -> Assignments:
    """Write the owners as lists: topics in the order of ``orders``, partitions ascending.

    Partition 0 of an entry has place ``first_partition[entry]`` in ``owners``; -1 is nobody.

    A group that matched racks is sorted by topic and partition in Kafka; in others each topic's partitions go out
    ascending anyway.
    """
    offsets = np.zeros(n_members + 1, np.int32)
    for owner in owners:
        if owner >= 0:
            offsets[owner + 1] += 1
    for m in range(n_members):
        offsets[m + 1] += offsets[m]
    cursor = offsets[:-1].copy()
    topics = np.empty(offsets[n_members], np.int32)
    partitions = np.empty(offsets[n_members], np.int32)
    for entry in orders:
        if entry < 0:
            continue
        for place in range(first_partition[entry], first_partition[entry + 1]):
            m = owners[place]
            if m >= 0:
                topics[cursor[m]] = by_topic.topics[entry]
                partitions[cursor[m]] = place - first_partition[entry]
                cursor[m] += 1
    return Assignments(offsets, topics, partitions)
