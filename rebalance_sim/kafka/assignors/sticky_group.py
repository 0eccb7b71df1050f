"""One group at a time as the sticky assignors see it, cut out of a batch.

Inside a group members are numbered by the order of their ids, known topics by that of their names (so that numbers can
be compared where Kafka compares strings), and partitions topic by topic.
"""

from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.assignors.sticky_balance import AFTER, FIRST, OWNER, PARTITION, Lists, Wants
from rebalance_sim.kafka.kernel import kernel
from rebalance_sim.kafka.strings import Flags, Ints, Ints32

UNKNOWN = -1
_FEW = 24


class Subscriptions(NamedTuple):
    """Subscription of member m of the batch: ``offsets[m]`` to ``offsets[m + 1]`` of ``topics``."""

    offsets: Ints32
    topics: Ints32


class Numbering(NamedTuple):
    """Members, topics and partitions of a group, by number."""

    in_map_order: Ints32
    """Members of the group in the order of the leader's map."""
    members: Ints32
    """Member of the batch, by number in the group."""
    topics: Ints32
    """Topic of the batch, by number in the group."""
    first_partition: Ints32
    """Partitions of topic t: ``first_partition[t]`` to ``first_partition[t + 1]``."""
    same_subscriptions: bool
    """What ``allSubscriptionsEqual`` (since 2.4) finds."""


@kernel
def number_members(groups: Ints32, in_id_order: Ints32, in_map_order: Ints32) -> Ints32:
    """Return the number in its group of each member, in map order; ``groups`` are the groups' offsets."""
    place = np.empty(len(in_id_order), np.int32)
    for g in range(len(groups) - 1):
        for i in range(groups[g], groups[g + 1]):
            place[in_id_order[i]] = i - groups[g]
    return place[in_map_order]


@kernel
def _sort_by_rank(topics: Ints32, ranks: Ints) -> Ints32:
    """Sort a group's topics by name; groups with many are rare."""
    if len(topics) > _FEW:
        return topics[np.argsort(ranks[topics])]
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
    offsets, topics = subscriptions.offsets, subscriptions.topics
    low, high, other = offsets[a], offsets[a + 1], offsets[b]
    if offsets[b + 1] - other != high - low:
        return False
    for k in range(high - low):
        if topics[low + k] != topics[other + k]:
            return False
    return True


@kernel
def number_group(
    subscriptions: Subscriptions,
    partitions: Ints32,
    ranks: Ints,
    g: int,
    numbers: Ints32,
    members: Ints32,
    number_of: Ints32,
    seen: Ints32,
) -> Numbering:
    """Number a group's topics and partitions, and compare its members' subscriptions as Kafka since 2.4 does.

    That takes the first subscription that is not empty for the one to compare with, and does not compare those before
    it. ``partitions`` and ``ranks`` are those of ``Topics``. ``number_of`` is UNKNOWN for every topic of the batch and
    is left with the numbers of this group's topics (``forget_topics``); ``seen`` holds a number below g for every topic
    of the batch.
    """
    room = 0
    for m in members:
        room = max(room, subscriptions.offsets[m + 1] - subscriptions.offsets[m])
    named = np.empty(max(room, 8), np.int32)
    n_named, distinct, model, same = 0, 0, -1, True
    for number in numbers:
        m = members[number]
        low, high = subscriptions.offsets[m], subscriptions.offsets[m + 1]
        if model >= 0 and distinct == high - low and _same_list(subscriptions, model, m):
            continue
        first = distinct == 0
        equal = first or high - low == distinct
        for k in range(low, high):
            topic = subscriptions.topics[k]
            if first:
                model = m
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
        same = same and equal
    ordered = _sort_by_rank(named[:n_named], ranks)
    first_partition = np.zeros(n_named + 1, np.int32)
    for t in range(n_named):
        number_of[ordered[t]] = t
        first_partition[t + 1] = first_partition[t] + partitions[ordered[t]]
    return Numbering(numbers, members, ordered, first_partition, same)


@kernel
def forget_topics(group: Numbering, number_of: Ints32) -> None:
    """Make ``number_of`` ready for the next group."""
    for topic in group.topics:
        number_of[topic] = UNKNOWN


@kernel
def wants_of(
    subscriptions: Subscriptions, hashes: Ints, group: Numbering, number_of: Ints32, topic_of: Ints32
) -> Wants:
    """Find out who may get what. A topic that a member names twice counts twice, as in Kafka's lists."""
    n_members, n_topics = len(group.members), len(group.topics)
    subscribers = np.zeros(n_topics + 1, np.int32)
    of_member = np.zeros(n_members + 1, np.int32)
    most = np.zeros(n_members, np.int32)
    map_place = np.empty(n_members, np.int32)
    for i in range(n_members):
        number = group.in_map_order[i]
        map_place[number] = i
        m = group.members[number]
        for k in range(subscriptions.offsets[m], subscriptions.offsets[m + 1]):
            t = number_of[subscriptions.topics[k]]
            if t != UNKNOWN:
                subscribers[t + 1] += 1
                of_member[number + 1] += 1
                most[number] += group.first_partition[t + 1] - group.first_partition[t]
    for t in range(n_topics):
        subscribers[t + 1] += subscribers[t]
    for number in range(n_members):
        of_member[number + 1] += of_member[number]
    members = np.empty(subscribers[n_topics], np.int32)
    wanted = np.empty(subscribers[n_topics], np.int32)
    cursor = subscribers[:-1].copy()
    for number in group.in_map_order:
        m = group.members[number]
        filled = of_member[number]
        for k in range(subscriptions.offsets[m], subscriptions.offsets[m + 1]):
            t = number_of[subscriptions.topics[k]]
            if t != UNKNOWN:
                members[cursor[t]] = number
                cursor[t] += 1
                wanted[filled] = t
                filled += 1
    return Wants(
        group.first_partition,
        topic_of,
        hashes[group.topics],
        subscribers,
        members,
        of_member,
        wanted,
        most,
        map_place,
    )


@kernel
def names_twice(wants: Wants) -> bool:
    """Tell whether a member names a topic twice."""
    last = np.full(len(wants.hashes), -1, np.int32)
    for member in range(len(wants.most)):
        for topic in wants.wanted[wants.topics[member] : wants.topics[member + 1]]:
            if last[topic] == member:
                return True
            last[topic] = member
    return False


@kernel
def by_popularity(wants: Wants) -> Ints32:
    """All partitions as ``PartitionComparator`` sorts them: by subscribers of the topic, by topic, by number."""
    popularity = wants.subscribers[1:] - wants.subscribers[:-1]
    partitions = np.empty(wants.first_partition[-1], np.int32)
    filled = 0
    for t in np.argsort(popularity, kind="mergesort"):
        for partition in range(wants.first_partition[t], wants.first_partition[t + 1]):
            partitions[filled] = partition
            filled += 1
    return partitions


class Written(NamedTuple):
    """The answer of a batch as far as it is known: partitions of member m follow those of member m - 1."""

    offsets: Ints32
    topics: Ints32
    partitions: Ints32


@kernel
def with_room(written: Written, end: int) -> Written:
    """Make room for so many partitions."""
    if end <= len(written.topics):
        return written
    room = max(end, 2 * len(written.topics))
    topics, partitions = np.empty(room, np.int32), np.empty(room, np.int32)
    topics[: len(written.topics)] = written.topics
    partitions[: len(written.topics)] = written.partitions
    return Written(written.offsets, topics, partitions)


@kernel
def write_lists(
    written: Written, first_member: int, group: Numbering, lists: Lists, named: Ints32, numbers: Ints32, hidden: Flags
) -> Written:
    """Write a group's lists, without the nodes that are hidden. ``named`` and ``numbers`` describe each partition."""
    n_members = len(group.members)
    for number in range(n_members):
        written.offsets[group.members[number] + 1] = lists.sizes[number]
    nodes = lists.nodes
    for node in range(len(hidden)):
        if hidden[node]:
            written.offsets[group.members[nodes[node, OWNER]] + 1] -= 1
    for m in range(first_member, first_member + n_members):
        written.offsets[m + 1] += written.offsets[m]
    written = with_room(written, written.offsets[first_member + n_members])
    for number in range(n_members):
        place = written.offsets[group.members[number]]
        node = lists.ends[number, FIRST]
        while node >= 0:
            if not hidden[node]:
                partition = nodes[node, PARTITION]
                written.topics[place] = named[partition]
                written.partitions[place] = numbers[partition]
                place += 1
            node = nodes[node, AFTER]
    return written


@kernel
def write_nothing(written: Written, first_member: int, n_members: int) -> Written:
    """Write empty lists, for a group whose assignor throws."""
    for m in range(first_member, first_member + n_members):
        written.offsets[m + 1] = written.offsets[m]
    return written
