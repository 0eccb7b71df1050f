"""``range`` with matching racks (KIP-881): Java's ``RangeAssignor`` since 3.5, and librdkafka's port of it.

Before the plain ranges, members are assigned partitions that have a replica in their rack
(``assignWithRackMatching``). Racks never change how many partitions of a topic a member gets.
"""

from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.assignors.steps.ranges import lists_of_owners
from rebalance_sim.kafka.groups import NO_RACK, Assignments, Groups, Subscribers, TopicArrays
from rebalance_sim.kafka.runtime.hash_order import java_order, java_table_size
from rebalance_sim.kafka.runtime.kernel import kernel
from rebalance_sim.kafka.runtime.strings import Flags, Ints32


def have_racks(groups: Groups, topics: TopicArrays) -> bool:
    """Return whether some member and some replica of a batch have a rack."""
    return bool((groups.member_racks != NO_RACK).any()) and len(topics.rack_offsets) > 1


@kernel
def known_topics_in_map_order(topics: TopicArrays, by_topic: Subscribers, g: int) -> Ints32:
    """Return the entries of a group's topics that have partitions, in the order of ``partitionsPerTopic``.

    ``AbstractPartitionAssignor.assign`` collects all names in a ``HashSet`` and puts the topics of the metadata into a
    ``HashMap`` in the order of that set.
    """
    first, end = by_topic.group_topics[g], by_topic.group_topics[g + 1]
    hashes = topics.hashes[by_topic.topics[first:end]]
    named = java_order(hashes, np.arange(end - first).astype(np.int32), java_table_size(end - first))
    known = named[topics.partitions[by_topic.topics[named + first]] > 0]
    return java_order(hashes, known, java_table_size(len(known))) + first


class _TopicState(NamedTuple):
    """The state of a batch, by entry of the topics and by subscriber (``RangeAssignor.TopicAssignmentState``)."""

    share: Ints32
    """By entry: the partitions that each subscriber gets at least (``numPartitionsPerConsumer``)."""
    extra: Ints32
    """By entry: the subscribers that may still get one more (``numConsumersWithExtraPartition``)."""
    taken: Ints32
    """By subscriber (entry of ``Subscribers.members``): the partitions assigned so far."""
    first_partition: Ints32
    """By entry: the place of partition 0 in ``owner``."""
    owner: Ints32
    """Member that is assigned the partition, or -1."""


@kernel
def _max_assignable(state: _TopicState, entry: int, subscriber: int) -> int:
    """Return how many more partitions of the topic a subscriber may get (``maxAssignable``)."""
    return max(state.share[entry] + (1 if state.extra[entry] > 0 else 0) - state.taken[subscriber], 0)


@kernel
def _assign_one(state: _TopicState, by_topic: Subscribers, entry: int, subscriber: int, partition: int) -> None:
    state.owner[state.first_partition[entry] + partition] = by_topic.members[subscriber]
    state.taken[subscriber] += 1


@kernel
def _count_extra(state: _TopicState, entry: int, subscriber: int) -> None:
    """Use up one of the extra partitions if the subscriber now has more than its share.

    Called once per call of Kafka's ``onAssigned``, which decrements the count once however many partitions it gets.
    """
    if state.taken[subscriber] > state.share[entry]:
        state.extra[entry] -= 1


@kernel
def has_rack(topics: TopicArrays, topic: int, partition: int, rack: int) -> bool:
    """Return whether a partition has a replica in a rack."""
    place = topics.first_racks[topic] + partition
    if place >= topics.first_racks[topic + 1]:
        return False
    for k in range(topics.rack_offsets[place], topics.rack_offsets[place + 1]):
        if topics.racks[k] == rack:
            return True
    return False


@kernel
def _members_have_racks(by_topic: Subscribers, entry: int, member_racks: Ints32) -> bool:
    for k in range(by_topic.first[entry], by_topic.end[entry]):
        if member_racks[by_topic.members[k]] != NO_RACK:
            return True
    return False


@kernel
def _needs_racks(topics: TopicArrays, by_topic: Subscribers, entry: int, member_racks: Ints32, seen: Ints32) -> bool:
    """Return whether racks can make a difference for a topic (``useRackAwareAssignment``).

    They can if a member shares a rack with a replica, and not every partition has a replica in every rack of the topic.
    ``seen`` has one entry per rack, all 0 before and after the call.
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
    for k in range(by_topic.first[entry], by_topic.end[entry]):
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
    first_a, first_b = by_topic.first[a], by_topic.first[b]
    n = by_topic.end[a] - first_a
    if by_topic.end[b] - first_b != n:
        return False
    for k in range(n):
        if by_topic.members[first_a + k] != by_topic.members[first_b + k]:
            return False
    return True


@kernel
def _rack_classes(by_topic: Subscribers, entry: int, member_racks: Ints32) -> tuple[Ints32, Ints32, Ints32]:
    """Sort the subscribers of an entry by rack, stably.

    Returns the distinct racks, the place of the first subscriber of each, and the sorted subscribers.
    """
    first, end = by_topic.first[entry], by_topic.end[entry]
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
def _match_racks(
    state: _TopicState, topics: TopicArrays, by_topic: Subscribers, entry: int, member_racks: Ints32
) -> None:
    """Assign each subscriber partitions with a replica in its rack; a subscriber without a rack matches any partition.

    ``following`` holds, per rack, the first partition not looked at yet. Partitions are never released, so one pass per
    rack is enough where Kafka scans all partitions for every member.
    """
    topic = by_topic.topics[entry]
    partitions = topics.partitions[topic]
    racks, starts, ordered = _rack_classes(by_topic, entry, member_racks)
    first = by_topic.first[entry]
    class_of = np.empty(len(ordered), np.int32)
    for rack_class in range(len(racks)):
        for k in range(starts[rack_class], starts[rack_class + 1]):
            class_of[ordered[k] - first] = rack_class
    following = np.zeros(len(racks), np.int32)
    for subscriber in range(first, by_topic.end[entry]):
        rack_class = class_of[subscriber - first]
        limit = _max_assignable(state, entry, subscriber)
        assigned = 0
        while assigned < limit and following[rack_class] < partitions:
            partition = following[rack_class]
            following[rack_class] += 1
            free = state.owner[state.first_partition[entry] + partition] < 0
            if free and (racks[rack_class] == NO_RACK or has_rack(topics, topic, partition, racks[rack_class])):
                _assign_one(state, by_topic, entry, subscriber, partition)
                assigned += 1
        if assigned > 0:
            _count_extra(state, entry, subscriber)


@kernel
def _match_co_partitioned(
    state: _TopicState,
    topics: TopicArrays,
    by_topic: Subscribers,
    entries: Ints32,
    member_racks: Ints32,
    by_librdkafka: bool,
) -> None:
    """Assign partition p of all ``entries``, which are co-partitioned, to the same subscriber.

    The entries have the same subscribers and the same number of partitions. Partition p goes to the first subscriber
    that may get another partition and whose rack has a replica of partition p of every topic. A subscriber without a
    rack matches any partition in Java and none in librdkafka. All entries are in the same state at any time, so that of
    the first entry is enough; a subscriber that may get no more never may again.
    """
    lead = entries[0]
    racks, starts, ordered = _rack_classes(by_topic, lead, member_racks)
    following = starts[:-1].copy()
    for partition in range(topics.partitions[by_topic.topics[lead]]):
        chosen, chosen_class = -1, -1
        for rack_class in range(len(racks)):
            while (
                following[rack_class] < starts[rack_class + 1]
                and _max_assignable(state, lead, ordered[following[rack_class]]) == 0
            ):
                following[rack_class] += 1
            if following[rack_class] == starts[rack_class + 1] or (
                chosen >= 0 and ordered[following[rack_class]] > chosen
            ):
                continue
            matches = racks[rack_class] != NO_RACK or not by_librdkafka
            if racks[rack_class] != NO_RACK:
                for entry in entries:
                    if not has_rack(topics, by_topic.topics[entry], partition, racks[rack_class]):
                        matches = False
                        break
            if matches:
                chosen, chosen_class = ordered[following[rack_class]], rack_class
        if chosen_class >= 0:
            nth = chosen - by_topic.first[lead]
            for entry in entries:
                subscriber = by_topic.first[entry] + nth
                _assign_one(state, by_topic, entry, subscriber, partition)
                _count_extra(state, entry, subscriber)


@kernel
def _assign_rest(state: _TopicState, topics: TopicArrays, by_topic: Subscribers, entry: int) -> None:
    """Assign the remaining partitions in plain ranges (``assignRanges``)."""
    partitions = topics.partitions[by_topic.topics[entry]]
    partition = 0
    for subscriber in range(by_topic.first[entry], by_topic.end[entry]):
        limit = _max_assignable(state, entry, subscriber)
        assigned = 0
        while assigned < limit and partition < partitions:
            if state.owner[state.first_partition[entry] + partition] < 0:
                _assign_one(state, by_topic, entry, subscriber, partition)
                assigned += 1
            partition += 1
        if assigned > 0:
            _count_extra(state, entry, subscriber)


@kernel
def _start(topics: TopicArrays, by_topic: Subscribers) -> _TopicState:
    n = len(by_topic.topics)
    share = np.empty(n, np.int32)
    extra = np.empty(n, np.int32)
    first_partition = np.zeros(n + 1, np.int32)
    for entry in range(n):
        partitions = max(topics.partitions[by_topic.topics[entry]], 0)
        members = by_topic.end[entry] - by_topic.first[entry]
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
def assign_with_racks(groups: Groups, topics: TopicArrays, by_topic: Subscribers, by_librdkafka: bool) -> Assignments:
    """Assign the partitions of a batch: first to members in the same rack, then in plain ranges.

    Java skips rack matching for a group if no topic needs it, and then leaves the lists in map order; librdkafka (2.2
    to 2.16) always matches co-partitioned topics and always sorts. No two topics may share a list of subscribers.
    """
    last_rack = groups.member_racks.max()
    if len(topics.racks) > 0:
        last_rack = max(last_rack, topics.racks.max())
    seen = np.zeros(max(last_rack, -1) + 1, np.int32)
    state = _start(topics, by_topic)
    n_groups = len(groups.members) - 1
    orders = np.empty(len(by_topic.topics), np.int32)
    for g in range(n_groups):
        order = known_topics_in_map_order(topics, by_topic, g)
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
    return lists_of_owners(len(groups.member_racks), by_topic, state.first_partition, state.owner, orders)


@kernel
def _match_group(
    state: _TopicState,
    topics: TopicArrays,
    by_topic: Subscribers,
    order: Ints32,
    needs: Flags,
    member_racks: Ints32,
    by_librdkafka: bool,
) -> None:
    """Match the racks of a group (``assignWithRackMatching``).

    Topics with the same subscribers and the same number of partitions are co-partitioned: partition p of all of them
    goes to the same member, so that joins stay possible. Other topics are matched one by one.
    """
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
