"""KafkaJS's ``RoundRobinAssigner`` (``roundRobinAssigner/index.js`` of 2.2.4), its default and only one.

JavaScript sorts member ids by UTF-16, as Java does.
"""

from rebalance_sim.kafka.assignors.steps.leaders_topics import assign_leaders_topics
from rebalance_sim.kafka.groups import AssignmentOutcome, Groups, TopicArrays, any_order, sorted_order, without_failures
from rebalance_sim.releases import KafkaVersion


def assign(groups: Groups, topics: TopicArrays, _: KafkaVersion) -> AssignmentOutcome:
    """Assign the partitions of every group of a batch."""
    in_turn = sorted_order(groups, any_order(groups), static_members_first=False)
    return without_failures(groups, assign_leaders_topics(groups, in_turn, topics))
