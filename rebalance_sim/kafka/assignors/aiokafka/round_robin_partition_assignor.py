"""aiokafka's ``roundrobin`` assignor (``assignors/roundrobin.py`` of 0.14): static members are sorted by member id."""

from rebalance_sim.kafka.assignors.steps.byte_order import assign_in_turn_in_byte_order
from rebalance_sim.kafka.assignors.steps.join_response import without_instance_ids
from rebalance_sim.kafka.groups import AssignmentOutcome, Groups, TopicArrays
from rebalance_sim.releases import KafkaVersion


def assign(groups: Groups, topics: TopicArrays, _: KafkaVersion) -> AssignmentOutcome:
    """Assign the partitions of every group of a batch."""
    return assign_in_turn_in_byte_order(without_instance_ids(groups), topics)
