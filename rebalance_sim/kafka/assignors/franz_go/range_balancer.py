"""franz-go's ``range`` balancer (``group_balancer.go`` of 1.22): Java's, without racks.

It takes racks into account only if the leader was configured with ``BalanceRacks``, which no source shows.
"""

from rebalance_sim.kafka.assignors.steps.byte_order import assign_ranges_in_byte_order
from rebalance_sim.kafka.assignors.steps.join_response import as_leader_sees
from rebalance_sim.kafka.groups import AssignmentOutcome, Groups, TopicArrays
from rebalance_sim.releases import KafkaVersion


def assign(groups: Groups, topics: TopicArrays, version: KafkaVersion) -> AssignmentOutcome:
    """Assign the partitions of every group of a batch."""
    return assign_ranges_in_byte_order(as_leader_sees(groups, version), topics)
