"""kafka-python's ``range`` and ``roundrobin`` assignors (``range.py``, ``roundrobin.py`` of 3.0.12).

They separate static from dynamic members with ``itertools.groupby`` without sorting first. ``groupby`` groups
neighbours only, and each run of a kind replaces the run before it: the members of all runs but the last of each kind
are lost, and get no partitions. The remaining static members come first, sorted by instance id, then the dynamic ones
by member id.
"""

import numpy as np

from rebalance_sim.kafka.assignors.steps.byte_order import merge_sort
from rebalance_sim.kafka.assignors.steps.join_response import listed_members
from rebalance_sim.kafka.assignors.steps.ranges import assign_ranges, first_partitions, lists_of_owners
from rebalance_sim.kafka.groups import (
    AssignmentFailure,
    AssignmentOutcome,
    Groups,
    Subscribers,
    TopicArrays,
    own_lists,
    subscribers,
    topics_by_name,
    with_lists,
    without_failures,
)
from rebalance_sim.kafka.runtime.kernel import kernel
from rebalance_sim.kafka.runtime.strings import Ints32
from rebalance_sim.releases import KafkaVersion

_KEY_ERROR = int(AssignmentFailure.KEY_ERROR)


def assign_range(groups: Groups, topics: TopicArrays, version: KafkaVersion) -> AssignmentOutcome:
    """Assign as Java does without racks, to the members that remain of each topic's subscribers.

    Only the topic's subscribers count as neighbours.
    """
    seen, listed = listed_members(groups, version)
    by_topic = subscribers(seen, listed, listed, len(topics.partitions), count_repeats=False)
    sections, subscribed = own_lists(by_topic)
    remaining = with_lists(by_topic, *_remaining_members(subscribed, sections, seen))
    order = topics_by_name(topics, by_topic)
    return without_failures(groups, assign_ranges(len(seen.member_racks), topics, remaining, order))


def assign_roundrobin(groups: Groups, topics: TopicArrays, version: KafkaVersion) -> AssignmentOutcome:
    """Assign all partitions, sorted by topic and number, in turn to the members that remain.

    The topics are those of all members, including the lost ones. When the assignor has to skip a member that does not
    subscribe to a topic, it mistakes the next entry, a pair of ids, for a member id and raises KeyError.
    """
    seen, listed = listed_members(groups, version)
    by_topic = subscribers(seen, listed, listed, len(topics.partitions), count_repeats=False)
    offsets, members = _remaining_members(listed, seen.members, seen)
    return _in_turn(len(listed), offsets, members, topics, by_topic, topics_by_name(topics, by_topic))


@kernel
def _remaining_members(order: Ints32, sections: Ints32, groups: Groups) -> tuple[Ints32, Ints32]:
    """Return the members that are not lost in each ``order[sections[s]:sections[s + 1]]``, sorted.

    Those of section s are entries ``offsets[s]`` to ``offsets[s + 1]`` of the second array; ``offsets`` is the first.
    """
    offsets = np.zeros(len(sections), np.int32)
    members = np.empty(len(order), np.int32)
    n = 0
    for s in range(len(sections) - 1):
        for dynamic in range(2):
            start = n
            place = sections[s + 1] - 1
            while place >= sections[s] and groups.instance_first[order[place]] != dynamic:
                place -= 1
            while place >= sections[s] and groups.instance_first[order[place]] == dynamic:
                members[n] = order[place]
                n += 1
                place -= 1
            merge_sort(members[start:n], groups)
        offsets[s + 1] = n
    return offsets, members[:n]


@kernel
def _in_turn(
    member_count: int, offsets: Ints32, remaining: Ints32, topics: TopicArrays, by_topic: Subscribers, order: Ints32
) -> AssignmentOutcome:
    """Assign in turn to the remaining members of each group g: ``offsets[g]`` to ``offsets[g + 1]``."""
    n_groups = len(offsets) - 1
    first_partition = first_partitions(topics, by_topic)
    owners = np.full(first_partition[len(order)], -1, np.int32)
    last_subscribed = np.full(member_count, -1, np.int32)
    errors = np.zeros(n_groups, np.int32)
    for g in range(n_groups):
        first, end = by_topic.group_topics[g], by_topic.group_topics[g + 1]
        turn = offsets[g]
        for entry in order[first:end]:
            for m in by_topic.members[by_topic.first[entry] : by_topic.end[entry]]:
                last_subscribed[m] = entry
            for place in range(first_partition[entry], first_partition[entry + 1]):
                m = remaining[turn]
                if last_subscribed[m] != entry:
                    errors[g] = _KEY_ERROR
                owners[place] = m
                turn = turn + 1 if turn + 1 < offsets[g + 1] else offsets[g]
        if errors[g] != 0:
            owners[first_partition[first] : first_partition[end]] = -1
    return AssignmentOutcome(lists_of_owners(member_count, by_topic, first_partition, owners, order), errors)
