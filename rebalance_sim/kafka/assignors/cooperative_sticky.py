"""The ``cooperative-sticky`` assignor (``CooperativeStickyAssignor``), since 2.4.

The answer is that of one rebalance: a partition that has to change its owner is with nobody. The owner gives it up and
joins again, and the next rebalance assigns it (``rebalance_sim.kafka.rebalances``).
"""

from rebalance_sim.kafka.assignors import sticky_since_2_4
from rebalance_sim.kafka.groups import Groups, Outcome, Topics
from rebalance_sim.versions import KafkaVersion


def assign(groups: Groups, topics: Topics, version: KafkaVersion) -> Outcome:
    """Assign the partitions of every group of a batch."""
    return sticky_since_2_4.assign(groups, topics, version.rack_aware, cooperative=True)
