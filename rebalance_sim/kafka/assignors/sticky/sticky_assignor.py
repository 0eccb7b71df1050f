"""The ``sticky`` assignor (``StickyAssignor``): balanced, with as few partition moves as possible (KIP-54)."""

from rebalance_sim.kafka.assignors.sticky import before_3_0, since_3_0
from rebalance_sim.kafka.assignors.sticky.claims import in_user_data_order
from rebalance_sim.kafka.groups import AssignmentOutcome, Groups, TopicArrays
from rebalance_sim.releases import ConsumerWriter, KafkaVersion, StickyRules


def assign(groups: Groups, topics: TopicArrays, version: KafkaVersion) -> AssignmentOutcome:
    """Assign the partitions of every group of a batch."""
    # The eager protocol sends no owned partitions: members repeat their last assignment in the user data.
    by_put = version.consumer_writer is ConsumerWriter.HASHED_BY_PUT
    groups = groups._replace(owned=in_user_data_order(groups.owned, topics.hashes, by_put))
    if version.sticky >= StickyRules.QUOTAS:
        return since_3_0.assign(groups, topics, version, cooperative=False)
    return before_3_0.assign(groups, topics, version.sticky, cooperative=False)
