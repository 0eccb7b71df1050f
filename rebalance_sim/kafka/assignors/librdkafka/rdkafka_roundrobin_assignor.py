"""librdkafka's ``roundrobin`` assignor (``rdkafka_roundrobin_assignor.c``, 1.2 to 2.16): Java's in another order.

Before 1.5.3 it counts the turns of a topic modulo the number of its subscribers, but takes them among all members. If
all members subscribe to a topic that is the same; otherwise later members get nothing of it, and the leader of 1.5.2
never finds a member if none of the first ones subscribes. In that case 1.5.0 fails an assertion, and earlier releases
read beyond the list of members: groups in which a topic has other subscribers than all are predicted since 1.5.2 only.

Before 1.5.0 topics stay in the order of the broker's metadata response, because the comparison with which they should
be sorted says of any two of them that they are equal. So groups are predicted if that order decides nothing.
"""

from collections.abc import Callable

import numpy as np

from rebalance_sim.kafka.assignors.steps.byte_order import sort_members
from rebalance_sim.kafka.assignors.steps.join_response import listed_members, without_instance_ids
from rebalance_sim.kafka.assignors.steps.ranges import first_partitions, lists_of_owners
from rebalance_sim.kafka.assignors.steps.turns import assign_in_turn
from rebalance_sim.kafka.groups import (
    AssignmentFailure,
    AssignmentOutcome,
    Groups,
    Subscribers,
    TopicArrays,
    subscribers,
    topics_by_name,
)
from rebalance_sim.kafka.runtime.kernel import kernel
from rebalance_sim.kafka.runtime.strings import Flags, Ints32
from rebalance_sim.releases import KafkaVersion

_NEVER_RETURNS, _UNDETERMINED = int(AssignmentFailure.NEVER_RETURNS), int(AssignmentFailure.UNDETERMINED)
_NOBODY = -1


def assign(groups: Groups, topics: TopicArrays, version: KafkaVersion) -> AssignmentOutcome:
    """Assign the partitions of every group of a batch, as releases since 1.5.3 do."""
    seen, listed = listed_members(groups, version)
    return assign_in_turn(seen, _sorted_members(seen, listed), topics)


def assign_1_5_2(groups: Groups, topics: TopicArrays, version: KafkaVersion) -> AssignmentOutcome:
    """Assign the partitions of every group of a batch."""
    seen, listed = listed_members(groups, version)
    return _assign(seen, listed, topics, _any_group)


def assign_1_5_0(groups: Groups, topics: TopicArrays, version: KafkaVersion) -> AssignmentOutcome:
    """Assign the partitions of groups whose members all subscribe to the same topics; others fail as UNDETERMINED."""
    seen, listed = listed_members(groups, version)
    return _assign(seen, listed, topics, _equally_subscribed)


def assign_1_4(groups: Groups, topics: TopicArrays, version: KafkaVersion) -> AssignmentOutcome:
    """Assign as 1.5.0; groups in which the order of topics decides fail as UNDETERMINED, too."""
    seen, listed = listed_members(groups, version)
    return _assign(seen, listed, topics, _in_any_order)


def assign_1_2(groups: Groups, topics: TopicArrays, version: KafkaVersion) -> AssignmentOutcome:
    """Assign as 1.4, without instance ids: librdkafka has known static members since 1.3."""
    seen, listed = listed_members(without_instance_ids(groups), version)
    return _assign(seen, listed, topics, _in_any_order)


def _assign(
    groups: Groups,
    listed: Ints32,
    topics: TopicArrays,
    is_predicted: Callable[[Subscribers, TopicArrays, Ints32, Ints32], Flags],
) -> AssignmentOutcome:
    in_turn = _sorted_members(groups, listed)
    by_topic = subscribers(groups, in_turn, in_turn, len(topics.partitions), count_repeats=False)
    places, order = first_partitions(topics, by_topic), topics_by_name(topics, by_topic)
    predicted = is_predicted(by_topic, topics, groups.members, _subscribing(groups))
    owners, errors = _owners(groups.members, in_turn, by_topic, places, order, predicted)
    return AssignmentOutcome(lists_of_owners(len(in_turn), by_topic, places, owners, order), errors)


@kernel
def _sorted_members(groups: Groups, listed: Ints32) -> Ints32:
    """Return the sorted members of each group, those without a subscription last.

    librdkafka's leader drops members without topics before it sorts, so they must not take part in the sort, whose
    comparison is not transitive.
    """
    of_members, offsets, _ = groups.subscriptions
    order = np.empty(len(groups.member_racks), np.int32)
    sections = np.zeros(2 * len(groups.members) - 1, np.int32)
    n = 0
    for g in range(len(groups.members) - 1):
        for subscribes in (True, False):
            for m in listed[groups.members[g] : groups.members[g + 1]]:
                if (offsets[of_members[m] + 1] > offsets[of_members[m]]) == subscribes:
                    order[n] = m
                    n += 1
            sections[2 * g + (1 if subscribes else 2)] = n
    sort_members(order, sections, groups)
    return order


@kernel
def _subscribing(groups: Groups) -> Ints32:
    """Return the number of members with a subscription of each group: the leader leaves out the others."""
    of_members, offsets, _ = groups.subscriptions
    counts = np.zeros(len(groups.members) - 1, np.int32)
    for g in range(len(counts)):
        for m in range(groups.members[g], groups.members[g + 1]):
            counts[g] += offsets[of_members[m] + 1] > offsets[of_members[m]]
    return counts


def _any_group(_: Subscribers, __: TopicArrays, groups: Ints32, ___: Ints32) -> Flags:
    return np.ones(len(groups) - 1, np.bool_)


@kernel
def _equally_subscribed(by_topic: Subscribers, topics: TopicArrays, groups: Ints32, members: Ints32) -> Flags:
    """Return the groups in which all members subscribe to each existing topic."""
    equal = np.ones(len(groups) - 1, np.bool_)
    for g in range(len(equal)):
        for entry in range(by_topic.group_topics[g], by_topic.group_topics[g + 1]):
            if topics.partitions[by_topic.topics[entry]] > 0:
                equal[g] &= by_topic.end[entry] - by_topic.first[entry] == members[g]
    return equal


@kernel
def _in_any_order(by_topic: Subscribers, topics: TopicArrays, groups: Ints32, members: Ints32) -> Flags:
    """Return those of these groups in which at most one topic shifts the turns of the topics after it."""
    found = _equally_subscribed(by_topic, topics, groups, members)
    for g in range(len(found)):
        shifting = 0
        for entry in range(by_topic.group_topics[g], by_topic.group_topics[g + 1]):
            partitions = topics.partitions[by_topic.topics[entry]]
            shifting += partitions > 0 and partitions % members[g] != 0
        found[g] &= shifting < 2
    return found


@kernel
def _owners(
    groups: Ints32, in_turn: Ints32, by_topic: Subscribers, places: Ints32, order: Ints32, predicted: Flags
) -> tuple[Ints32, Ints32]:
    """Return the owner of each partition, or -1, and the failure of each group."""
    owners = np.full(places[-1], _NOBODY, np.int32)
    errors = np.zeros(len(groups) - 1, np.int32)
    last_entry = np.full(len(in_turn), -1, np.int32)
    for g in range(len(groups) - 1):
        first, end = by_topic.group_topics[g], by_topic.group_topics[g + 1]
        errors[g] = 0 if predicted[g] else _UNDETERMINED
        turn = -1
        for entry in order[first:end]:
            if places[entry + 1] == places[entry] or errors[g] != 0:
                continue
            subscribed = by_topic.members[by_topic.first[entry] : by_topic.end[entry]]
            for m in subscribed:
                last_entry[m] = entry
            rivals = in_turn[groups[g] : groups[g] + len(subscribed)]
            if not np.any(last_entry[rivals] == entry):
                errors[g] = _NEVER_RETURNS
                owners[places[first] : places[end]] = _NOBODY
                continue
            for place in range(places[entry], places[entry + 1]):
                turn = (turn + 1) % len(subscribed)
                while last_entry[rivals[turn]] != entry:
                    turn = (turn + 1) % len(subscribed)
                owners[place] = rivals[turn]
    return owners, errors
