"""Consecutive partitions of each topic for its subscribers: the rule of every library's ``range`` assignor."""

import numpy as np

from rebalance_sim.kafka.groups import Assignments, Subscribers, TopicArrays, append_partition, empty_lists
from rebalance_sim.kafka.runtime.kernel import kernel
from rebalance_sim.kafka.runtime.strings import Ints32


@kernel
def assign_ranges(member_count: int, topics: TopicArrays, by_topic: Subscribers, order: Ints32) -> Assignments:
    """Assign consecutive partitions of each topic to its subscribers; the first few get one more.

    ``order`` lists the entries of ``by_topic`` in the order in which the assignor visits topics, which is the order of
    the topics in a member's list.
    """
    offsets = np.zeros(member_count + 1, np.int32)
    for entry in range(len(by_topic.topics)):
        first, end = by_topic.first[entry], by_topic.end[entry]
        partitions = max(topics.partitions[by_topic.topics[entry]], 0)
        share, extra = partitions // (end - first), partitions % (end - first)
        for i in range(end - first if share > 0 else extra):
            offsets[by_topic.members[first + i] + 1] += share + (1 if i < extra else 0)
    lists, cursor = empty_lists(offsets)
    for entry in order:
        topic = by_topic.topics[entry]
        first, end = by_topic.first[entry], by_topic.end[entry]
        partitions = max(topics.partitions[topic], 0)
        share, extra = partitions // (end - first), partitions % (end - first)
        partition = 0
        for i in range(end - first if share > 0 else extra):
            m = by_topic.members[first + i]
            for _ in range(share + (1 if i < extra else 0)):
                append_partition(lists, cursor, m, topic, partition)
                partition += 1
    return lists


@kernel
def lists_of_owners(
    member_count: int, by_topic: Subscribers, first_partition: Ints32, owners: Ints32, order: Ints32
) -> Assignments:
    """Turn the owner of each partition into the members' lists: topics as in ``order``, partitions ascending.

    The owner of partition p of entry k is ``owners[first_partition[k] + p]``, or -1. Entries of ``order`` that are -1
    are skipped.
    """
    offsets = np.zeros(member_count + 1, np.int32)
    for owner in owners:
        if owner >= 0:
            offsets[owner + 1] += 1
    lists, cursor = empty_lists(offsets)
    for entry in order:
        if entry < 0:
            continue
        for place in range(first_partition[entry], first_partition[entry + 1]):
            m = owners[place]
            if m >= 0:
                append_partition(lists, cursor, m, by_topic.topics[entry], place - first_partition[entry])
    return lists


@kernel
def first_partitions(topics: TopicArrays, by_topic: Subscribers) -> Ints32:
    """Return the place of each entry's partition 0 if the partitions of all entries are numbered."""
    places = np.zeros(len(by_topic.topics) + 1, np.int32)
    for entry in range(len(by_topic.topics)):
        places[entry + 1] = places[entry] + max(topics.partitions[by_topic.topics[entry]], 0)
    return places
