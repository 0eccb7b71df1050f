"""Partitions that nobody consumes, topics that are assigned to a single member, and co-partitioned topics."""

from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.groups import Assignments, Subscribers, TopicArrays, topics_by_name
from rebalance_sim.kafka.runtime.kernel import kernel
from rebalance_sim.kafka.runtime.strings import Flags, Ints, Ints32

NOBODY = -1
_NOT_SEEN, _SEVERAL = -1, -2


class Unconsumed(NamedTuple):
    """Partitions that no subscriber of their topic is assigned, by group."""

    offsets: Ints32
    topics: Ints32
    partitions: Ints32
    members: Ints32
    """The first member that is assigned the partition; NOBODY if none is."""


@kernel
def unconsumed_partitions(
    groups: Ints32, topics: TopicArrays, by_topic: Subscribers, assigned: Assignments, counts: Ints32
) -> Unconsumed:
    """Return the first partitions of each group, by topic name and number, that no subscriber is assigned.

    ``counts`` has how many to return: at most as many as there are (``Balance.unconsumed``).
    """
    offsets = np.zeros(len(counts) + 1, np.int32)
    offsets[1:] = np.cumsum(counts)
    unconsumed = Unconsumed(
        offsets, np.empty(offsets[-1], np.int32), np.empty(offsets[-1], np.int32), np.empty(offsets[-1], np.int32)
    )
    order = topics_by_name(topics, by_topic)
    for g in range(len(counts)):
        start, end, filled = groups[g], groups[g + 1], offsets[g]
        for entry in order[by_topic.group_topics[g] : by_topic.group_topics[g + 1]]:
            if filled == offsets[g + 1]:
                break
            topic = by_topic.topics[entry]
            subscribers = by_topic.members[by_topic.first[entry] : by_topic.end[entry]]
            owners, consumed = _owners_of_topic(start, end, topic, topics.partitions[topic], subscribers, assigned)
            for partition in range(len(owners)):
                if not consumed[partition] and filled < offsets[g + 1]:
                    unconsumed.topics[filled], unconsumed.partitions[filled] = topic, partition
                    unconsumed.members[filled] = owners[partition]
                    filled += 1
    return unconsumed


@kernel
def _owners_of_topic(
    start: int, end: int, topic: int, partitions: int, subscribers: Ints32, assigned: Assignments
) -> tuple[Ints32, Flags]:
    """Return the first member that is assigned each partition of a topic, and whether a subscriber is."""
    owners, consumed = np.full(max(partitions, 0), NOBODY, np.int32), np.zeros(max(partitions, 0), np.bool_)
    subscribes = np.zeros(end - start, np.bool_)
    subscribes[subscribers - start] = True
    for m in range(start, end):
        for k in range(assigned.offsets[m], assigned.offsets[m + 1]):
            if assigned.topics[k] == topic and assigned.partitions[k] < partitions:
                if owners[assigned.partitions[k]] == NOBODY:
                    owners[assigned.partitions[k]] = m
                consumed[assigned.partitions[k]] |= subscribes[m - start]
    return owners, consumed


@kernel
def owners_of_whole_topics(groups: Ints32, topics: TopicArrays, by_topic: Subscribers, assigned: Assignments) -> Ints32:
    """Return, by entry of ``by_topic``, the subscriber that has all partitions although other members subscribe too.

    NOBODY for topics that several members share, and for topics with one partition.
    """
    whole_owners = np.full(len(by_topic.topics), NOBODY, np.int32)
    owner = np.full(len(topics.partitions), _NOT_SEEN, np.int32)
    loads = np.zeros(len(topics.partitions), np.int32)
    for g in range(len(groups) - 1):
        for m in range(groups[g], groups[g + 1]):
            for topic in assigned.topics[assigned.offsets[m] : assigned.offsets[m + 1]]:
                owner[topic] = m if owner[topic] == _NOT_SEEN or owner[topic] == m else _SEVERAL
                loads[topic] += 1
        for entry in range(by_topic.group_topics[g], by_topic.group_topics[g + 1]):
            topic, subscribers = by_topic.topics[entry], by_topic.members[by_topic.first[entry] : by_topic.end[entry]]
            is_whole = owner[topic] >= 0 and loads[topic] == topics.partitions[topic] and loads[topic] > 1
            if is_whole and len(subscribers) > 1 and (subscribers == owner[topic]).any():
                whole_owners[entry] = owner[topic]
        for topic in assigned.topics[assigned.offsets[groups[g]] : assigned.offsets[groups[g + 1]]]:
            owner[topic], loads[topic] = _NOT_SEEN, 0
    return whole_owners


@kernel
def co_partitioned_topics(groups: Ints32, topics: TopicArrays, by_topic: Subscribers, assigned: Assignments) -> Ints32:
    """Return, by group, the number of topics that are co-partitioned with another topic.

    Two topics are if they have the same number of partitions, each partition is on the member that has the partition of
    the same number of the other topic, and at least two members share them. Consumers can then join the topics by
    partition. ``range`` assigns topics with equal subscribers so on purpose (``RangeAssignor``, KIP-881).
    """
    counts = np.zeros(len(groups) - 1, np.int32)
    starts = np.zeros(len(by_topic.topics) + 1, np.int64)
    starts[1:] = np.cumsum(np.maximum(topics.partitions[by_topic.topics], 0))
    owners = np.full(starts[-1], NOBODY, np.int32)
    entry_of = np.full(len(topics.partitions), _NOT_SEEN, np.int32)
    for g in range(len(groups) - 1):
        entries = range(by_topic.group_topics[g], by_topic.group_topics[g + 1])
        for entry in entries:
            entry_of[by_topic.topics[entry]] = entry
        for m in range(groups[g], groups[g + 1]):
            for k in range(assigned.offsets[m], assigned.offsets[m + 1]):
                entry, partition = entry_of[assigned.topics[k]], assigned.partitions[k]
                if entry != _NOT_SEEN and partition < starts[entry + 1] - starts[entry]:
                    place = starts[entry] + partition
                    owners[place] = m if owners[place] == NOBODY else _SEVERAL
        for entry in entries:
            entry_of[by_topic.topics[entry]] = _NOT_SEEN
        counts[g] = _equally_owned(by_topic.group_topics[g], by_topic.group_topics[g + 1], starts, owners)
    return counts


@kernel
def _equally_owned(first: int, end: int, starts: Ints, owners: Ints32) -> int:
    """Return how many of these topics are owned, partition by partition, like another of them by several members."""
    # The first topic with the same owners, and how many others have them.
    followers = np.zeros(end - first, np.int32)
    is_first = np.zeros(end - first, np.bool_)
    for entry in range(first, end):
        own = owners[starts[entry] : starts[entry + 1]]
        if len(own) < 2 or (own < 0).any() or (own == own[0]).all():
            continue
        is_first[entry - first] = True
        for earlier in range(first, entry):
            of_other = owners[starts[earlier] : starts[earlier + 1]]
            if is_first[earlier - first] and len(of_other) == len(own) and (of_other == own).all():
                followers[earlier - first] += 1
                is_first[entry - first] = False
                break
    return int(followers.sum() + (followers > 0).sum())
