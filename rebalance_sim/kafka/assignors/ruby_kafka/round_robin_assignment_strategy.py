"""ruby-kafka's ``RoundRobinAssignmentStrategy`` (``round_robin_assignment_strategy.rb`` of 1.2 to 1.5), its only one.

Since 1.4, partitions go in turn to the members in the order of the JoinGroup response; one that does not subscribe is
skipped. They are listed topic by topic in the order in which the members name the topics, those of a topic as the
broker lists them, and then sorted by topic with ``sort_by``. Ruby sorts with ``qsort_r`` of the C library: that of
glibc is stable, that of musl (Alpine Linux) is not, and only a list that is sorted already is left as it is by both. So
groups whose members name topics in another order are UNDETERMINED, unless no two members share a topic of several
partitions.

A topic that does not exist raises UnknownTopicOrPartition in the leader.
"""

import numpy as np

from rebalance_sim.kafka.assignors.steps.failures import (
    name_unknown_topics,
    without_undetermined,
    without_unknown_topics,
)
from rebalance_sim.kafka.assignors.steps.join_response import listed_members
from rebalance_sim.kafka.assignors.steps.leaders_topics import assign_in_response_order
from rebalance_sim.kafka.assignors.steps.metadata_order import decides_among_subscribers, decides_for_leaders_topics
from rebalance_sim.kafka.assignors.steps.turns import assign_topics_in_turn
from rebalance_sim.kafka.groups import (
    AssignmentOutcome,
    Groups,
    Subscribers,
    TopicArrays,
    subscribers,
    topics_by_name,
    without_failures,
)
from rebalance_sim.kafka.runtime.kernel import kernel
from rebalance_sim.kafka.runtime.strings import Flags, Ints32
from rebalance_sim.releases import KafkaVersion


def assign(groups: Groups, topics: TopicArrays, version: KafkaVersion) -> AssignmentOutcome:
    """Assign the partitions of every group of a batch; groups in which an unknown order decides are UNDETERMINED."""
    _, listed = listed_members(groups, version)
    by_topic = subscribers(groups, listed, listed, len(topics.partitions), count_repeats=False)
    order = topics_by_name(topics, by_topic)
    lists = assign_topics_in_turn(groups.members, listed, topics, by_topic, order)
    unlisted = decides_among_subscribers(by_topic, topics, version.partition_order.certain)
    unsorted = _are_sorted_anew(by_topic, order) & decides_among_subscribers(by_topic, topics, 1)
    outcome = without_undetermined(groups, without_failures(groups, lists), unlisted | unsorted)
    return without_unknown_topics(groups, outcome, name_unknown_topics(groups, topics, only_leaders=False))


def assign_before_1_4(groups: Groups, topics: TopicArrays, version: KafkaVersion) -> AssignmentOutcome:
    """Assign the topics to which the leader subscribes itself, in its order, as 1.0 to 1.3 do.

    They go to all members in turn, in the order of the JoinGroup response and whether they subscribe or not. Groups in
    which the brokers' order decides are UNDETERMINED.
    """
    unlisted = decides_for_leaders_topics(groups, topics, version.partition_order.certain)
    outcome = without_undetermined(groups, assign_in_response_order(groups, topics, version), unlisted)
    return without_unknown_topics(groups, outcome, name_unknown_topics(groups, topics, only_leaders=True))


@kernel
def _are_sorted_anew(by_topic: Subscribers, order: Ints32) -> Flags:
    """Return the groups whose members do not name the topics in ascending order."""
    found = np.zeros(len(by_topic.group_topics) - 1, np.bool_)
    for g in range(len(found)):
        for entry in range(by_topic.group_topics[g], by_topic.group_topics[g + 1]):
            found[g] |= order[entry] != entry
    return found
