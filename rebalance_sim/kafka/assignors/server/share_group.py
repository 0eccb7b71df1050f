"""A share group (KIP-932) as the ``simple`` assignor sees it: numbered partitions, and the target of every member.

``UniformBatch`` has the batch. A group's partitions are numbered (places), topic by topic: those of the topics that its
members subscribe to, in the order of ``Subscribers``, then those of other topics in its target.
"""

from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.assignors.server.target_assignment import UniformBatch
from rebalance_sim.kafka.groups import Assignments, Subscribers
from rebalance_sim.kafka.runtime.hash_order import java_copy_size, java_order, java_table_size
from rebalance_sim.kafka.runtime.kernel import inner_kernel, kernel
from rebalance_sim.kafka.runtime.strings import Flags, Ints, Ints32

NO_TOPIC = -1


class ShareGroup(NamedTuple):
    """A group whose partitions are numbered. Member i is entry i of ``members``."""

    members: Ints32
    """The members of the batch in the order of ``GroupSpec.memberIds``."""
    topics: Ints32
    """The topics in the order of their places. ``UniformBatch.base`` has the place of a topic in this list."""
    subscribed: int
    """Number of topics that members subscribe to: the first ones of ``topics``."""
    starts: Ints32
    """By topic of the list: its first place. One entry more than topics."""
    topic_of: Ints32
    """By place: the topic's place in the list."""
    partition_of: Ints
    hashes: Ints
    """By place: ``TopicIdPartition.hashCode``. A record's hash code is not specified; OpenJDK's is 31 times that of the
    topic id plus the partition (since 4.1)."""
    id_hashes: Ints
    """By topic of the list."""
    assignable: Flags
    """By place: whether the partition exists and its share state is initialized."""
    held_from: Ints32
    """Target of member i: ``held_from[i]`` to ``held_from[i + 1]`` of ``held``."""
    held: Ints32
    """Places, in the order of the map that the coordinator makes of the record."""
    holders: Ints
    """By entry of ``held``: the member."""


@kernel
def number_partitions(
    batch: UniformBatch, by_topic: Subscribers, g: int, members: Ints32, uninitialized: Assignments
) -> ShareGroup:
    """Number the partitions of a group and read its target; ``uninitialized`` are partitions by group."""
    topics, starts, subscribed = _list_topics(
        batch, by_topic.topics[by_topic.group_topics[g] : by_topic.group_topics[g + 1]], members
    )
    places = starts[-1]
    topic_of, partition_of = np.empty(places, np.int32), np.empty(places, np.int64)
    hashes, assignable = np.empty(places, np.int64), np.empty(places, np.bool_)
    id_hashes = np.empty(len(topics), np.int64)
    for t in range(len(topics)):
        id_hashes[t] = batch.id_hashes[topics[t]]
        for partition in range(starts[t + 1] - starts[t]):
            place = starts[t] + partition
            topic_of[place], partition_of[place] = t, partition
            hashes[place] = (31 * int(id_hashes[t]) + partition) & 0xFFFFFFFF
            assignable[place] = partition < batch.partitions[topics[t]]
    for k in range(uninitialized.offsets[g], uninitialized.offsets[g + 1]):
        t, partition = batch.base[uninitialized.topics[k]], uninitialized.partitions[k]
        if t >= 0 and partition < starts[t + 1] - starts[t]:
            assignable[starts[t] + partition] = False
    held_from, held = _read_target(batch, members, starts, topic_of, partition_of, id_hashes)
    holders = np.empty(len(held), np.int64)
    for i in range(len(members)):
        holders[held_from[i] : held_from[i + 1]] = i
    return ShareGroup(
        members,
        topics,
        subscribed,
        starts,
        topic_of,
        partition_of,
        hashes,
        id_hashes,
        assignable,
        held_from,
        held,
        holders,
    )


@kernel
def _list_topics(batch: UniformBatch, subscribed: Ints32, members: Ints32) -> tuple[Ints32, Ints32, int]:
    """Return the topics of a group, the place of each one's first partition, and the number of those subscribed to.

    A topic has as many places as it has partitions, or more if its target has partitions that do not exist.
    """
    owned, room = batch.owned, len(subscribed)
    for m in members:
        room += owned.offsets[m + 1] - owned.offsets[m]
    topics, starts, n = np.empty(room, np.int32), np.zeros(room + 1, np.int32), 0
    for topic in subscribed:
        batch.base[topic] = n
        topics[n] = topic
        n += 1
        starts[n] = max(batch.partitions[topic], 0)
    for m in members:
        for k in range(owned.offsets[m], owned.offsets[m + 1]):
            topic = owned.topics[k]
            if batch.base[topic] < 0:
                batch.base[topic] = n
                topics[n] = topic
                n += 1
            t = batch.base[topic]
            starts[t + 1] = max(starts[t + 1], owned.partitions[k] + 1)
    for t in range(n):
        starts[t + 1] += starts[t]
    return topics[:n], starts[: n + 1], len(subscribed)


@kernel
def _read_target(
    batch: UniformBatch, members: Ints32, starts: Ints32, topic_of: Ints32, partition_of: Ints, id_hashes: Ints
) -> tuple[Ints32, Ints32]:
    """Return what members have in the order of ``Assignment.fromRecord``: a HashMap of topics, with HashSets."""
    owned, room = batch.owned, 0
    for m in members:
        room += owned.offsets[m + 1] - owned.offsets[m]
    held_from, held = np.zeros(len(members) + 1, np.int32), np.empty(room, np.int32)
    read_by, listed = np.full(len(topic_of), -1, np.int32), np.empty(room, np.int32)
    counts = np.zeros(len(id_hashes), np.int32)
    filled = 0
    for i in range(len(members)):
        n = 0
        for k in range(owned.offsets[members[i]], owned.offsets[members[i] + 1]):
            place = starts[batch.base[owned.topics[k]]] + owned.partitions[k]
            if read_by[place] != i:
                read_by[place] = i
                listed[n] = place
                n += 1
        named = topics_of(topic_of, listed[:n], counts)
        order = java_order(id_hashes, named, java_table_size(len(named)))
        list_by_topic(topic_of, listed[:n], order, held[filled : filled + n], counts)
        low = filled
        filled += n
        while low < filled:
            high = end_of_topic(topic_of, held, low, filled)
            held[low:high] = java_order(partition_of, held[low:high], java_copy_size(high - low))
            low = high
        held_from[i + 1] = filled
    return held_from, held[:filled]


@inner_kernel
def end_of_topic(topic_of: Ints32, places: Ints32, low: int, end: int) -> int:
    """Return the end of the places from ``low`` on that are of one topic."""
    high = low + 1
    while high < end and topic_of[places[high]] == topic_of[places[low]]:
        high += 1
    return high


@kernel
def topics_of(topic_of: Ints32, places: Ints32, counts: Ints32) -> Ints32:
    """Return the topics of places in the order in which they first occur; ``counts`` is scratch by topic, all 0."""
    named, n = np.empty(min(len(places), len(counts)), np.int32), 0
    for place in places:
        if counts[topic_of[place]] == 0:
            named[n] = topic_of[place]
            n += 1
        counts[topic_of[place]] += 1
    for t in named[:n]:
        counts[t] = 0
    return named[:n]


@inner_kernel
def list_by_topic(topic_of: Ints32, places: Ints32, order: Ints32, into: Ints32, counts: Ints32) -> None:
    """Sort places stably by topic, in an order that has all topics; ``counts`` is scratch by topic, all 0."""
    for place in places:
        counts[topic_of[place]] += 1
    filled = 0
    for t in order:
        here = counts[t]
        counts[t] = filled
        filled += here
    for place in places:
        into[counts[topic_of[place]]] = place
        counts[topic_of[place]] += 1
    for t in order:
        counts[t] = 0


@kernel
def assignable_places(group: ShareGroup, t: int) -> Ints32:
    """Return the places of a topic of the list that can be assigned (``computeTargetPartitions``)."""
    places, n = np.empty(group.starts[t + 1] - group.starts[t], np.int32), 0
    for place in range(group.starts[t], group.starts[t + 1]):
        if group.assignable[place]:
            places[n] = place
            n += 1
    return places[:n]


@inner_kernel
def is_subscribed(batch: UniformBatch, group: ShareGroup, place: int) -> bool:
    """Return whether a member of the group subscribes to the topic of a place, and the topic exists."""
    t = group.topic_of[place]
    return t < group.subscribed and batch.partitions[group.topics[t]] >= 0


@kernel
def by_member(count: int, members: Ints32, places: Ints32) -> tuple[Ints32, Ints32]:
    """Return lists of places by member, as offsets and places, from pairs in order."""
    offsets = np.zeros(count + 1, np.int32)
    for i in members:
        offsets[i + 1] += 1
    for i in range(count):
        offsets[i + 1] += offsets[i]
    cursor, listed = offsets[:-1].copy(), np.empty(len(places), np.int32)
    for k in range(len(places)):
        listed[cursor[members[k]]] = places[k]
        cursor[members[k]] += 1
    return offsets, listed
