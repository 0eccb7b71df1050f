"""kafka-python's ``roundrobin`` assignor (``roundrobin.py`` of 3.0.12).

All partitions, sorted by topic and number, go in turn to the members that remain (``remaining_members``). The topics
are those of all members, including the lost ones. When the assignor has to skip a member that does not subscribe to a
topic, it mistakes the next entry, a pair of ids, for a member id and raises KeyError.
"""

import numpy as np

from rebalance_sim.kafka.assignors.kafka_python.remaining_members import remaining_members
from rebalance_sim.kafka.assignors.steps.join_response import listed_members
from rebalance_sim.kafka.assignors.steps.ranges import lists_of_owners
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
from rebalance_sim.kafka.runtime.strings import Ints32
from rebalance_sim.releases import KafkaVersion

_KEY_ERROR = int(AssignmentFailure.KEY_ERROR)


def assign(groups: Groups, topics: TopicArrays, version: KafkaVersion) -> AssignmentOutcome:
    """Assign the partitions of every group of a batch."""
    seen, listed = listed_members(groups, version)
    by_topic = subscribers(seen, listed, listed, len(topics.partitions), count_repeats=False)
    offsets, members = remaining_members(listed, seen.members, seen)
    return _assign_in_turn(len(listed), offsets, members, topics, by_topic, topics_by_name(topics, by_topic))


@kernel
def _assign_in_turn(
    member_count: int, offsets: Ints32, remaining: Ints32, topics: TopicArrays, by_topic: Subscribers, order: Ints32
) -> AssignmentOutcome:
    """Assign in turn to the remaining members of each group g: ``offsets[g]`` to ``offsets[g + 1]``."""
    n_groups = len(offsets) - 1
    first_partition = np.zeros(len(order) + 1, np.int32)
    for entry in range(len(order)):
        first_partition[entry + 1] = first_partition[entry] + max(topics.partitions[by_topic.topics[entry]], 0)
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
