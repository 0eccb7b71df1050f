"""@platformatic/kafka's ``roundrobin`` assigner (``partitions-assigners.js`` of 1.35), its default.

The members take turns in the order of the JoinGroup response.
"""

from rebalance_sim.kafka.assignors.steps.join_response import listed_members
from rebalance_sim.kafka.assignors.steps.leaders_topics import assign_leaders_topics
from rebalance_sim.kafka.groups import AssignmentOutcome, Groups, TopicArrays, without_failures
from rebalance_sim.releases import KafkaVersion


def assign(groups: Groups, topics: TopicArrays, version: KafkaVersion) -> AssignmentOutcome:
    """Assign the partitions of every group of a batch."""
    _, in_turn = listed_members(groups, version)
    return without_failures(groups, assign_leaders_topics(groups, in_turn, topics))
