"""franz-go's ``roundrobin`` balancer (``group_balancer.go`` of 1.22): Java's."""

from rebalance_sim.kafka.assignors.steps.byte_order import assign_in_turn_in_byte_order
from rebalance_sim.kafka.assignors.steps.join_response import as_leader_sees
from rebalance_sim.kafka.groups import AssignmentOutcome, Groups, TopicArrays
from rebalance_sim.releases import KafkaVersion


def assign(groups: Groups, topics: TopicArrays, version: KafkaVersion) -> AssignmentOutcome:
    """Assign the partitions of every group of a batch."""
    return assign_in_turn_in_byte_order(as_leader_sees(groups, version), topics)
