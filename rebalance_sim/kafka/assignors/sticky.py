"""The ``sticky`` assignor (``StickyAssignor``): as even as possible, with as few partitions moved as possible."""

from rebalance_sim.kafka.assignors import sticky_before_2_4, sticky_since_2_4
from rebalance_sim.kafka.assignors.sticky_claims import as_user_data
from rebalance_sim.kafka.groups import Groups, Outcome, Topics
from rebalance_sim.versions import KafkaVersion, StickyRules


def assign(groups: Groups, topics: Topics, version: KafkaVersion) -> Outcome:
    """Assign the partitions of every group of a batch."""
    groups = groups._replace(owned=as_user_data(groups.owned, topics.hashes))
    if version.sticky is StickyRules.SINCE_2_4:
        return sticky_since_2_4.assign(groups, topics, version.rack_aware, cooperative=False)
    return sticky_before_2_4.assign(groups, topics, version.sticky is StickyRules.GENERATIONS)
