"""ruby-kafka's ``RoundRobinAssignmentStrategy`` of 1.0 to 1.3 (``round_robin_assignment_strategy.rb`` of 1.2 and 1.3).

The leader assigns the topics to which it subscribes itself, in its order, to all members in turn, in the order of the
JoinGroup response and whether they subscribe or not. A topic that does not exist raises UnknownTopicOrPartition.
"""

from rebalance_sim.kafka.assignors.steps.failures import (
    leaders_name_unknown_topics,
    without_undetermined,
    without_unknown_topics,
)
from rebalance_sim.kafka.assignors.steps.join_response import listed_members
from rebalance_sim.kafka.assignors.steps.leaders_topics import assign_leaders_topics
from rebalance_sim.kafka.assignors.steps.metadata_order import decides_for_leaders_topics
from rebalance_sim.kafka.groups import AssignmentOutcome, Groups, TopicArrays, without_failures
from rebalance_sim.releases import KafkaVersion


def assign(groups: Groups, topics: TopicArrays, version: KafkaVersion) -> AssignmentOutcome:
    """Assign the partitions of every group of a batch; groups in which the brokers' order decides are UNDETERMINED."""
    _, listed = listed_members(groups, version)
    outcome = without_failures(groups, assign_leaders_topics(groups, listed, topics))
    unlisted = decides_for_leaders_topics(groups, topics, version.partition_order.certain)
    outcome = without_undetermined(groups, outcome, unlisted)
    return without_unknown_topics(groups, outcome, leaders_name_unknown_topics(groups, topics))
