"""kafka-node's ``range`` protocol (``lib/assignment/range.js`` of 1.0 to 5.0): Java's before 2.4.

A member that names a topic twice counts as two. A topic that is missing in the broker's metadata throws a TypeError in
the leader (``topicPartition[topic].length``). JavaScript sorts member ids by UTF-16, as Java does.
"""

from rebalance_sim.kafka.assignors.steps.failures import name_unknown_topics, without_unknown_topics
from rebalance_sim.kafka.assignors.steps.ranges import assign_ranges
from rebalance_sim.kafka.groups import (
    AssignmentOutcome,
    Groups,
    TopicArrays,
    any_order,
    sorted_order,
    subscribers,
    topics_by_name,
    without_failures,
)
from rebalance_sim.releases import KafkaVersion


def assign(groups: Groups, topics: TopicArrays, _: KafkaVersion) -> AssignmentOutcome:
    """Assign the partitions of every group of a batch."""
    in_order = sorted_order(groups, any_order(groups), static_members_first=False)
    by_topic = subscribers(groups, in_order, in_order, len(topics.partitions), count_repeats=True)
    lists = assign_ranges(len(in_order), topics, by_topic, topics_by_name(topics, by_topic))
    return without_unknown_topics(groups, without_failures(groups, lists), name_unknown_topics(groups, topics))
