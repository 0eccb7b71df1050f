"""The ``sticky`` and ``cooperative-sticky`` assignors: balanced, with as few partition moves as possible (KIP-54)."""

import numpy as np

from rebalance_sim.kafka.assignors.sticky import before_3_0, since_3_0
from rebalance_sim.kafka.assignors.sticky.claims import in_user_data_order
from rebalance_sim.kafka.groups import NO_GENERATION, AssignmentOutcome, Groups, TopicArrays
from rebalance_sim.releases import ConsumerWriter, KafkaVersion, StickyRules


def assign_sticky(groups: Groups, topics: TopicArrays, version: KafkaVersion) -> AssignmentOutcome:
    """Assign the partitions of every group of a batch (``StickyAssignor``)."""
    # The eager protocol sends no owned partitions: members repeat their last assignment in the user data.
    by_put = version.consumer_writer is ConsumerWriter.HASHED_BY_PUT
    groups = groups._replace(owned=in_user_data_order(groups.owned, topics.hashes, by_put))
    return _assign(groups, topics, version, cooperative=False)


def assign_cooperative_sticky(groups: Groups, topics: TopicArrays, version: KafkaVersion) -> AssignmentOutcome:
    """Assign the partitions of every group of a batch (``CooperativeStickyAssignor``), since 2.4 (KIP-429).

    The result is that of one rebalance: a partition that changes its owner is assigned to no member. Its owner revokes
    it and rejoins, and the next rebalance assigns it (``rebalance_sim.kafka.rebalances``).
    """
    if version.sticky < StickyRules.NO_DOUBLE_CLAIMS:
        groups = groups._replace(generations=np.full_like(groups.generations, NO_GENERATION))
    return _assign(groups, topics, version, cooperative=True)


def _assign(groups: Groups, topics: TopicArrays, version: KafkaVersion, *, cooperative: bool) -> AssignmentOutcome:
    if version.sticky >= StickyRules.QUOTAS:
        return since_3_0.assign(groups, topics, version, cooperative)
    return before_3_0.assign(groups, topics, version.sticky, cooperative)
