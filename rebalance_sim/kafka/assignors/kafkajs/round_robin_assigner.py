"""KafkaJS's ``RoundRobinAssigner`` (``roundRobinAssigner/index.js`` of 1.12.0 to 2.2.4), its only one.

JavaScript sorts member ids by UTF-16, as Java does.
"""

from rebalance_sim.kafka.assignors.steps.failures import without_undetermined
from rebalance_sim.kafka.assignors.steps.leaders_topics import assign_leaders_topics
from rebalance_sim.kafka.assignors.steps.metadata_order import decides_for_leaders_topics
from rebalance_sim.kafka.groups import AssignmentOutcome, Groups, TopicArrays, any_order, sorted_order, without_failures
from rebalance_sim.releases import KafkaVersion


def assign(groups: Groups, topics: TopicArrays, version: KafkaVersion) -> AssignmentOutcome:
    """Assign the partitions of every group of a batch; groups in which the brokers' order decides are UNDETERMINED."""
    in_turn = sorted_order(groups, any_order(groups), static_members_first=False)
    outcome = without_failures(groups, assign_leaders_topics(groups, in_turn, topics, each_alone=False))
    unknown = decides_for_leaders_topics(groups, topics, version.partition_order.certain)
    return without_undetermined(groups, outcome, unknown)


def assign_before_1_13(groups: Groups, topics: TopicArrays, _: KafkaVersion) -> AssignmentOutcome:
    """Assign every topic on its own: partition p of the leader's topics goes to member p mod k of the k sorted members.

    So the first members get the partitions of small topics. KafkaJS 1.13 takes turns over the partitions of all topics
    (pull request 635).
    """
    in_turn = sorted_order(groups, any_order(groups), static_members_first=False)
    return without_failures(groups, assign_leaders_topics(groups, in_turn, topics, each_alone=True))
