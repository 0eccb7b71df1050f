"""The ``roundrobin`` assignor of the Java client (``org.apache.kafka.clients.consumer.RoundRobinAssignor``)."""

from rebalance_sim.kafka.assignors.steps.turns import assign_in_turn
from rebalance_sim.kafka.groups import AssignmentOutcome, Groups, TopicArrays, map_order, sorted_order
from rebalance_sim.releases import KafkaVersion


def assign(groups: Groups, topics: TopicArrays, version: KafkaVersion) -> AssignmentOutcome:
    """Assign the partitions of every group of a batch."""
    return assign_in_turn(groups, sorted_order(groups, map_order(groups), version.static_members_first), topics)
