"""The partitions of the leader's topics for all members in turn: the rule of the JavaScript libraries.

Topics to which the leader does not subscribe are left out, and members get partitions of topics to which they do not
subscribe.
"""

from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.assignors.steps.join_response import listed_members
from rebalance_sim.kafka.groups import (
    AssignmentOutcome,
    Assignments,
    Groups,
    Subscribers,
    TopicArrays,
    append_partition,
    empty_lists,
    without_failures,
)
from rebalance_sim.kafka.runtime.kernel import kernel
from rebalance_sim.kafka.runtime.strings import Ints32
from rebalance_sim.releases import KafkaVersion


def assign_in_response_order(groups: Groups, topics: TopicArrays, version: KafkaVersion) -> AssignmentOutcome:
    """Assign the partitions of every group of a batch; members take turns in the order of the JoinGroup response."""
    _, in_turn = listed_members(groups, version)
    return without_failures(groups, assign_leaders_topics(groups, in_turn, topics, each_alone=False))


@kernel
def assign_leaders_topics(groups: Groups, in_turn: Ints32, topics: TopicArrays, each_alone: bool) -> Assignments:
    """Assign the topics of each group's leader, in its order; if each alone, from the first member on.

    The leader is the member that joined first; ``in_turn`` lists the members of the first group, of the second, ...
    """
    firsts, named = leaders_topics(groups, topics)
    sizes = np.zeros(len(in_turn) + 1, np.int32)
    for g in range(len(groups.members) - 1):
        start, end, turns = groups.members[g], groups.members[g + 1], 0
        for k in range(firsts[g], firsts[g + 1]):
            turns += topics.partitions[named[k]]
            if each_alone or k + 1 == firsts[g + 1]:
                for i in range(start, end):
                    sizes[in_turn[i] + 1] += _times(i - start, end - start, 0, turns)
                turns = 0
    lists, cursor = empty_lists(sizes)
    for g in range(len(groups.members) - 1):
        turn = groups.members[g]
        for topic in named[firsts[g] : firsts[g + 1]]:
            if each_alone:
                turn = groups.members[g]
            for partition in range(topics.partitions[topic]):
                append_partition(lists, cursor, in_turn[turn], topic, partition)
                turn = turn + 1 if turn + 1 < groups.members[g + 1] else groups.members[g]
    return lists


class NumbersInTurn(NamedTuple):
    """How many partitions members get, in whatever order the partitions of a topic are listed."""

    of_members: Ints32
    """By member, in the order of the groups."""
    unconsumed: Ints32
    """By group, the partitions of its topics that no member gets, or a member without a subscription to the topic."""


@kernel
def numbers_in_turn(groups: Groups, in_turn: Ints32, topics: TopicArrays, by_topic: Subscribers) -> NumbersInTurn:
    """Return how many partitions ``assign_leaders_topics`` gives; ``by_topic`` lists the topics of each group."""
    firsts, named = leaders_topics(groups, topics)
    found = NumbersInTurn(np.zeros(len(in_turn), np.int32), np.zeros(len(groups.members) - 1, np.int32))
    begins, places = np.full(len(topics.partitions), -1, np.int32), np.empty(len(in_turn), np.int32)
    for g in range(len(groups.members) - 1):
        start, count, turn = groups.members[g], groups.members[g + 1] - groups.members[g], 0
        for topic in named[firsts[g] : firsts[g + 1]]:
            begins[topic] = turn
            turn += topics.partitions[topic]
        for i in range(count):
            places[in_turn[start + i]] = i
            found.of_members[in_turn[start + i]] = _times(i, count, 0, turn)
        for entry in range(by_topic.group_topics[g], by_topic.group_topics[g + 1]):
            topic = by_topic.topics[entry]
            partitions = max(topics.partitions[topic], 0)
            found.unconsumed[g] += partitions
            if begins[topic] >= 0:
                for m in by_topic.members[by_topic.first[entry] : by_topic.end[entry]]:
                    found.unconsumed[g] -= _times(places[m], count, begins[topic], begins[topic] + partitions)
        begins[named[firsts[g] : firsts[g + 1]]] = -1
    return found


@kernel
def _times(place: int, count: int, begin: int, end: int) -> int:
    """Return how often it is the turn of the member at a place among ``count``, from one turn to before another."""
    before = (begin - place + count - 1) // count
    return (end - place + count - 1) // count - before


@kernel
def leaders_topics(groups: Groups, topics: TopicArrays) -> tuple[Ints32, Ints32]:
    """Return the existing topics of each group's leader, in its order.

    Those of group g are entries ``firsts[g]`` to ``firsts[g + 1]`` of the second array; ``firsts`` is the first. A list
    names a topic once for these libraries, which keep topics in a set.
    """
    of_members, offsets, named = groups.subscriptions
    last_group = np.full(len(topics.partitions), -1, np.int32)
    firsts = np.zeros(len(groups.members), np.int32)
    found = np.empty(len(named), np.int32)
    n = 0
    for g in range(len(groups.members) - 1):
        start = groups.members[g]
        if groups.members[g + 1] > start:
            leaders_list = of_members[start]
            for k in range(offsets[leaders_list], offsets[leaders_list + 1]):
                if last_group[named[k]] != g and topics.partitions[named[k]] > 0:
                    last_group[named[k]] = g
                    if n == len(found):
                        found = np.concatenate((found, np.empty(n, np.int32)))
                    found[n] = named[k]
                    n += 1
        firsts[g + 1] = n
    return firsts, found
