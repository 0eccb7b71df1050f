"""KafkaJS's ``RoundRobinAssigner`` before 1.13 (``roundRobinAssigner/index.js`` of 1.12.0): every topic on its own.

Partition p of each of the leader's topics goes to member p mod k of the k sorted members, so that the first members get
the partitions of small topics. KafkaJS 1.13 takes turns over the partitions of all topics (pull request 635).
"""

import numpy as np

from rebalance_sim.kafka.assignors.steps.leaders_topics import leaders_topics
from rebalance_sim.kafka.groups import (
    AssignmentOutcome,
    Assignments,
    Groups,
    TopicArrays,
    any_order,
    append_partition,
    empty_lists,
    sorted_order,
    without_failures,
)
from rebalance_sim.kafka.runtime.kernel import kernel
from rebalance_sim.kafka.runtime.strings import Ints32
from rebalance_sim.releases import KafkaVersion


def assign(groups: Groups, topics: TopicArrays, _: KafkaVersion) -> AssignmentOutcome:
    """Assign the partitions of every group of a batch."""
    in_turn = sorted_order(groups, any_order(groups), static_members_first=False)
    return without_failures(groups, _assign_every_topic(groups, in_turn, topics))


@kernel
def _assign_every_topic(groups: Groups, in_turn: Ints32, topics: TopicArrays) -> Assignments:
    firsts, named = leaders_topics(groups, topics)
    sizes = np.zeros(len(in_turn) + 1, np.int32)
    for g in range(len(groups.members) - 1):
        start, count = groups.members[g], groups.members[g + 1] - groups.members[g]
        for topic in named[firsts[g] : firsts[g + 1]]:
            for i in range(count):
                sizes[in_turn[start + i] + 1] += (topics.partitions[topic] - i + count - 1) // count
    lists, cursor = empty_lists(sizes)
    for g in range(len(groups.members) - 1):
        start, count = groups.members[g], groups.members[g + 1] - groups.members[g]
        for topic in named[firsts[g] : firsts[g + 1]]:
            for partition in range(topics.partitions[topic]):
                append_partition(lists, cursor, in_turn[start + partition % count], topic, partition)
    return lists
