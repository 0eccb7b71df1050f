"""One group of a batch with its members, topics and partitions numbered, and its potential consumers.

Members are numbered in the order of their ids, known topics in the order of their names, and partitions topic by topic:
a comparison of numbers then gives what Kafka's comparison of strings gives.
"""

from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.groups import Assignments, Groups, Subscriptions, TopicArrays
from rebalance_sim.kafka.runtime.kernel import kernel, kernel_written_out
from rebalance_sim.kafka.runtime.sorting import stable_order
from rebalance_sim.kafka.runtime.strings import Ints, Ints32

UNKNOWN = -1
NOBODY = -1
_FEW = 24


class StickyBatch(NamedTuple):
    """The arrays of a batch that the sticky assignors need, computed once for all its groups."""

    members: Ints32
    """Members of group g: ``members[g]`` to ``members[g + 1]``."""
    subscriptions: Subscriptions
    owned: Assignments
    in_id_order: Ints32
    """Members of each group by member id."""
    numbers: Ints32
    """Members of each group in the order of the leader's map, as numbers in the group."""
    generations: Ints
    """Generations of each group's members in the order of the leader's map."""
    partitions: Ints32
    """Partitions, name ranks and name hashes of the topics of the batch (``TopicArrays``)."""
    ranks: Ints
    hashes: Ints
    number_of: Ints32
    """Scratch: the number of each topic in the current group, or UNKNOWN."""
    seen: Ints32
    """Scratch: the last group whose first subscription names the topic."""
    rules: int
    """A number of ``StickyRules``."""


class NumberedGroup(NamedTuple):
    """Members, topics and partitions of a group, by number."""

    first_member: int
    """First member of the group, as a member of the batch."""
    in_map_order: Ints32
    """Members in the order of the leader's map of subscriptions."""
    generations: Ints
    """Generations of the members in that order."""
    members: Ints32
    """Member of the batch, by number."""
    topics: Ints32
    """Topic of the batch, by number."""
    first_partition: Ints32
    """Partitions of topic t: ``first_partition[t]`` to ``first_partition[t + 1]``."""
    number_of: Ints32
    """Number of each topic of the batch, or UNKNOWN; valid until ``forget_topics``."""
    alike: int
    """Number of members in map order before the first whose subscription differs (``allSubscriptionsEqual``)."""


@kernel
def sticky_batch(
    groups: Groups, topics: TopicArrays, in_map_order: Ints32, in_id_order: Ints32, rules: int
) -> StickyBatch:
    """Prepare a batch; members are given in the order of the leaders' maps and in that of their ids."""
    place = np.empty(len(in_id_order), np.int32)
    for g in range(len(groups.members) - 1):
        for i in range(groups.members[g], groups.members[g + 1]):
            place[in_id_order[i]] = i - groups.members[g]
    return StickyBatch(
        groups.members,
        groups.subscriptions,
        groups.owned,
        in_id_order,
        place[in_map_order],
        groups.generations[in_map_order],
        topics.partitions,
        topics.ranks,
        topics.hashes,
        np.full(len(topics.partitions), UNKNOWN, np.int32),
        np.full(len(topics.partitions), -1, np.int32),
        rules,
    )


@kernel
def _sort_by_rank(topics: Ints32, ranks: Ints) -> Ints32:
    """Sort a group's topics by name; by insertion, since few groups have many."""
    if len(topics) > _FEW:
        return topics[stable_order(ranks[topics])]
    for k in range(1, len(topics)):
        moving = topics[k]
        place = k
        while place > 0 and ranks[topics[place - 1]] > ranks[moving]:
            topics[place] = topics[place - 1]
            place -= 1
        topics[place] = moving
    return topics


@kernel
def _same_list(subscriptions: Subscriptions, a: int, b: int) -> bool:
    _, offsets, topics = subscriptions
    low, high, other = offsets[a], offsets[a + 1], offsets[b]
    if offsets[b + 1] - other != high - low:
        return False
    for k in range(high - low):
        if topics[low + k] != topics[other + k]:
            return False
    return True


@kernel
def number_group(batch: StickyBatch, g: int) -> NumberedGroup:
    """Number the members, topics and partitions of a group, and compare its members' subscriptions."""
    start, end = batch.members[g], batch.members[g + 1]
    subscriptions, partitions = batch.subscriptions, batch.partitions
    of_members, offsets, _ = subscriptions
    numbers, members = batch.numbers[start:end], batch.in_id_order[start:end]
    number_of, seen = batch.number_of, batch.seen
    room = 0
    for m in members:
        room = max(room, offsets[of_members[m] + 1] - offsets[of_members[m]])
    named = np.empty(max(room, 8), np.int32)
    n_named, distinct, model, alike = 0, 0, -1, len(numbers)
    for i in range(len(numbers)):
        of = of_members[members[numbers[i]]]
        low, high = offsets[of], offsets[of + 1]
        if model >= 0 and distinct == high - low and (of == model or _same_list(subscriptions, model, of)):
            continue
        # allSubscriptionsEqual fills its set of topics while the set is empty: members without topics that come before
        # the first subscription pass as equal, those that come after it do not.
        first = distinct == 0
        equal = first or high - low == distinct
        for k in range(low, high):
            topic = subscriptions.topics[k]
            if first:
                model = of
                if seen[topic] != g:
                    seen[topic] = g
                    distinct += 1
            equal = equal and seen[topic] == g
            if number_of[topic] == UNKNOWN and partitions[topic] > 0:
                number_of[topic] = 0
                if n_named == len(named):
                    more = np.empty(2 * n_named, np.int32)
                    more[:n_named] = named
                    named = more
                named[n_named] = topic
                n_named += 1
        if not equal:
            alike = min(alike, i)
    ordered = _sort_by_rank(named[:n_named], batch.ranks)
    first_partition = np.zeros(n_named + 1, np.int32)
    for t in range(n_named):
        number_of[ordered[t]] = t
        first_partition[t + 1] = first_partition[t] + partitions[ordered[t]]
    generations = batch.generations[start:end]
    return NumberedGroup(start, numbers, generations, members, ordered, first_partition, number_of, alike)


@kernel
def forget_topics(group: NumberedGroup) -> None:
    """Reset ``number_of`` for the next group."""
    for topic in group.topics:
        group.number_of[topic] = UNKNOWN


class PotentialConsumers(NamedTuple):
    """The members that may be assigned each topic, and the topics of each member, as in Kafka's two maps.

    A topic that a member names twice counts twice, as in Kafka's lists.
    """

    first_partition: Ints32
    """Partitions of topic t: ``first_partition[t]`` to ``first_partition[t + 1]``."""
    topic_of: Ints32
    """Topic of each partition, also of partitions that the topic no longer has."""
    hashes: Ints
    """``hashCode`` of each topic's name."""
    member_offsets: Ints32
    """``topic2AllPotentialConsumers``: members subscribed to topic t, in map order, are entries
    ``member_offsets[t]`` to ``member_offsets[t + 1]`` of ``members``."""
    members: Ints32
    topic_offsets: Ints32
    """``consumer2AllPotentialTopics``: topics of member m, in the order of its subscription, are entries
    ``topic_offsets[m]`` to ``topic_offsets[m + 1]`` of ``topics``."""
    topics: Ints32
    max_sizes: Ints32
    """Most partitions that each member can be assigned (``getMaxAssignmentSize``)."""
    map_place: Ints32
    """Place of each member in the order of the leader's map."""


@kernel
def potential_consumers(batch: StickyBatch, group: NumberedGroup, topic_of: Ints32) -> PotentialConsumers:
    """Collect the potential consumers of a group's topics; ``topic_of`` has the topic of each partition."""
    of_members, offsets, names = batch.subscriptions
    number_of = group.number_of
    member_count, topic_count = len(group.members), len(group.topics)
    member_offsets = np.zeros(topic_count + 1, np.int32)
    topic_offsets = np.zeros(member_count + 1, np.int32)
    max_sizes = np.zeros(member_count, np.int32)
    map_place = np.empty(member_count, np.int32)
    for i in range(member_count):
        number = group.in_map_order[i]
        map_place[number] = i
        of = of_members[group.members[number]]
        for topic in names[offsets[of] : offsets[of + 1]]:
            t = number_of[topic]
            if t != UNKNOWN:
                member_offsets[t + 1] += 1
                topic_offsets[number + 1] += 1
                max_sizes[number] += group.first_partition[t + 1] - group.first_partition[t]
    for t in range(topic_count):
        member_offsets[t + 1] += member_offsets[t]
    for number in range(member_count):
        topic_offsets[number + 1] += topic_offsets[number]
    members = np.empty(member_offsets[topic_count], np.int32)
    topics = np.empty(member_offsets[topic_count], np.int32)
    cursor = member_offsets[:-1].copy()
    for number in group.in_map_order:
        of = of_members[group.members[number]]
        filled = topic_offsets[number]
        for topic in names[offsets[of] : offsets[of + 1]]:
            t = number_of[topic]
            if t != UNKNOWN:
                members[cursor[t]] = number
                cursor[t] += 1
                topics[filled] = t
                filled += 1
    return PotentialConsumers(
        group.first_partition,
        topic_of,
        batch.hashes[group.topics],
        member_offsets,
        members,
        topic_offsets,
        topics,
        max_sizes,
        map_place,
    )


@kernel_written_out
def topics_of(potential: PotentialConsumers, member: int) -> Ints32:
    """Return the known topics that a member subscribes to."""
    return potential.topics[potential.topic_offsets[member] : potential.topic_offsets[member + 1]]


@kernel_written_out
def members_of(potential: PotentialConsumers, topic: int) -> Ints32:
    """Return the members that subscribe to a topic."""
    return potential.members[potential.member_offsets[topic] : potential.member_offsets[topic + 1]]


@kernel
def some_member_repeats_a_topic(potential: PotentialConsumers) -> bool:
    """Return whether a member names a topic twice."""
    last = np.full(len(potential.hashes), -1, np.int32)
    for member in range(len(potential.max_sizes)):
        for topic in topics_of(potential, member):
            if last[topic] == member:
                return True
            last[topic] = member
    return False


@kernel
def partitions_by_popularity(potential: PotentialConsumers) -> Ints32:
    """Return all partitions by number of subscribers, topic name and partition number (``TopicComparator``).

    Partitions with few potential consumers come first, so that they find a member before its list is full.
    """
    popularity = potential.member_offsets[1:] - potential.member_offsets[:-1]
    partitions = np.empty(potential.first_partition[-1], np.int32)
    filled = 0
    for t in stable_order(popularity):
        for partition in range(potential.first_partition[t], potential.first_partition[t + 1]):
            partitions[filled] = partition
            filled += 1
    return partitions
