"""The ``cooperative-sticky`` assignor (``CooperativeStickyAssignor``), since 2.4 (KIP-429).

The result is that of one rebalance: a partition that changes its owner is assigned to no member. Its owner revokes it
and rejoins, and the next rebalance assigns it (``rebalance_sim.kafka.rebalances``).
"""

from rebalance_sim.kafka.assignors.sticky import since_2_4
from rebalance_sim.kafka.groups import AssignmentOutcome, Groups, TopicArrays
from rebalance_sim.releases import KafkaVersion


def assign(groups: Groups, topics: TopicArrays, version: KafkaVersion) -> AssignmentOutcome:
    """Assign the partitions of every group of a batch."""
    return since_2_4.assign(groups, topics, version.rack_aware, cooperative=True)
