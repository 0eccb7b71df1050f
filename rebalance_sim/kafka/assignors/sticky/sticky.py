"""The ``sticky`` assignor (``StickyAssignor``): balanced, with as few partition moves as possible (KIP-54)."""

from rebalance_sim.kafka.assignors.sticky import before_2_4, since_2_4
from rebalance_sim.kafka.assignors.sticky.claims import in_user_data_order
from rebalance_sim.kafka.groups import AssignmentOutcome, Groups, TopicArrays
from rebalance_sim.releases import KafkaVersion, StickyRules


def assign(groups: Groups, topics: TopicArrays, version: KafkaVersion) -> AssignmentOutcome:
    """Assign the partitions of every group of a batch."""
    # The eager protocol sends no owned partitions: members repeat their last assignment in the user data.
    groups = groups._replace(owned=in_user_data_order(groups.owned, topics.hashes))
    if version.sticky is StickyRules.SINCE_2_4:
        return since_2_4.assign(groups, topics, version.rack_aware, cooperative=False)
    return before_2_4.assign(groups, topics, version.sticky is StickyRules.GENERATIONS)
