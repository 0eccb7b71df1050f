"""The ``cooperative-sticky`` assignor (``CooperativeStickyAssignor``), since 2.4 (KIP-429).

The result is that of one rebalance: a partition that changes its owner is assigned to no member. Its owner revokes it
and rejoins, and the next rebalance assigns it (``rebalance_sim.kafka.rebalances``).
"""

import numpy as np

from rebalance_sim.kafka.assignors.sticky import before_3_0, since_3_0
from rebalance_sim.kafka.groups import NO_GENERATION, AssignmentOutcome, Groups, TopicArrays
from rebalance_sim.releases import KafkaVersion, StickyRules


def assign(groups: Groups, topics: TopicArrays, version: KafkaVersion) -> AssignmentOutcome:
    """Assign the partitions of every group of a batch."""
    if version.sticky >= StickyRules.QUOTAS:
        return since_3_0.assign(groups, topics, version, cooperative=True)
    if version.sticky < StickyRules.NO_DOUBLE_CLAIMS:
        groups = groups._replace(generations=np.full_like(groups.generations, NO_GENERATION))
    return before_3_0.assign(groups, topics, version.sticky, cooperative=True)
