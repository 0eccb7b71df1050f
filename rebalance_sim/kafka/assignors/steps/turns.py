"""All partitions of a group for its members in turn: the rule of Java's and librdkafka's ``roundrobin`` assignors.

All partitions, sorted by topic and number, go to the members in turn. A member that does not subscribe to the topic is
skipped.
"""

import numpy as np

from rebalance_sim.kafka.groups import (
    AssignmentOutcome,
    Assignments,
    Groups,
    Subscribers,
    TopicArrays,
    append_partition,
    empty_lists,
    subscribers,
    topics_by_name,
    without_failures,
)
from rebalance_sim.kafka.runtime.kernel import kernel
from rebalance_sim.kafka.runtime.strings import Ints32


def assign_in_turn(groups: Groups, in_turn: Ints32, topics: TopicArrays) -> AssignmentOutcome:
    """Assign the partitions of every group; ``in_turn`` lists the members of the first group, of the second, ..."""
    by_topic = subscribers(groups, in_turn, in_turn, len(topics.partitions), count_repeats=False)
    order = topics_by_name(topics, by_topic)
    return without_failures(groups, assign_topics_in_turn(groups.members, in_turn, topics, by_topic, order))


@kernel
def assign_topics_in_turn(
    groups: Ints32, in_turn: Ints32, topics: TopicArrays, by_topic: Subscribers, order: Ints32
) -> Assignments:
    """Assign the partitions of topics in an order of the entries of ``by_topic``, which lists subscribers in turn."""
    member_count = len(in_turn)
    turn = np.empty(member_count, np.int32)
    for g in range(len(groups) - 1):
        for i in range(groups[g], groups[g + 1]):
            turn[in_turn[i]] = i
    first_subscriber = np.zeros(len(by_topic.topics), np.int32)
    offsets = np.zeros(member_count + 1, np.int32)
    for g in range(len(groups) - 1):
        first, end = by_topic.group_topics[g], by_topic.group_topics[g + 1]
        following = groups[g]
        for entry in order[first:end]:
            partitions = topics.partitions[by_topic.topics[entry]]
            if partitions > 0:
                low, high = by_topic.first[entry], by_topic.end[entry]
                nth = first_from(following, turn, by_topic.members[low:high])
                first_subscriber[entry] = nth
                share, extra = partitions // (high - low), partitions % (high - low)
                for k in range(high - low if share > 0 else 0):
                    offsets[by_topic.members[low + k] + 1] += share
                for k in range(nth, nth + extra):
                    offsets[by_topic.members[low + k % (high - low)] + 1] += 1
                last = by_topic.members[low + (nth + partitions - 1) % (high - low)]
                following = turn[last] + 1
    lists, cursor = empty_lists(offsets)
    for entry in order:
        topic, place = by_topic.topics[entry], by_topic.first[entry] + first_subscriber[entry]
        for partition in range(topics.partitions[topic]):
            append_partition(lists, cursor, by_topic.members[place], topic, partition)
            place = place + 1 if place + 1 < by_topic.end[entry] else by_topic.first[entry]
    return lists


@kernel
def first_from(following: int, turn: Ints32, members: Ints32) -> int:
    """Return the place of the first of ``members`` whose turn is not before ``following``, or 0: a new round."""
    low, high = 0, len(members)
    while low < high:
        middle = (low + high) // 2
        if turn[members[middle]] < following:
            low = middle + 1
        else:
            high = middle
    return low if low < len(members) else 0


@kernel
def owners_in_turn_by_topic(by_topic: Subscribers, places: Ints32) -> Ints32:
    """Return the owners of partitions if every topic is dealt out on its own, from its first subscriber.

    The owner of partition p of entry k is at ``places[k] + p``.
    """
    owners = np.empty(places[-1], np.int32)
    for entry in range(len(by_topic.topics)):
        first, end = by_topic.first[entry], by_topic.end[entry]
        for partition in range(places[entry + 1] - places[entry]):
            owners[places[entry] + partition] = by_topic.members[first + partition % (end - first)]
    return owners
