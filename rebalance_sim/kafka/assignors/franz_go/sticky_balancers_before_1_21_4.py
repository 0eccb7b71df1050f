"""franz-go's ``sticky`` and ``cooperative-sticky`` balancers of 1.0 to 1.21.3, for groups with one topic.

They assign as later releases do unless two members claim the same partition. Which claim counts, and when its partition
is withheld, changed with 1.15 and 1.21.4; these groups are not predicted.
"""

import numpy as np

from rebalance_sim.kafka.assignors.franz_go import cooperative_sticky_balancer, sticky_balancer
from rebalance_sim.kafka.assignors.steps.failures import without_undetermined
from rebalance_sim.kafka.groups import AssignmentOutcome, Groups, TopicArrays
from rebalance_sim.kafka.runtime.kernel import kernel
from rebalance_sim.kafka.runtime.strings import Flags
from rebalance_sim.releases import KafkaVersion


def assign_sticky(groups: Groups, topics: TopicArrays, version: KafkaVersion) -> AssignmentOutcome:
    """Assign the partitions of every group of a batch; other groups than these fail as UNDETERMINED."""
    return _without_rival_claims(groups, sticky_balancer.assign(groups, topics, version))


def assign_cooperative_sticky(groups: Groups, topics: TopicArrays, version: KafkaVersion) -> AssignmentOutcome:
    """Assign the partitions of every group of a batch; other groups than these fail as UNDETERMINED."""
    return _without_rival_claims(groups, cooperative_sticky_balancer.assign(groups, topics, version))


def _without_rival_claims(groups: Groups, outcome: AssignmentOutcome) -> AssignmentOutcome:
    return without_undetermined(groups, outcome, _have_rival_claims(groups))


@kernel
def _have_rival_claims(groups: Groups) -> Flags:
    """Return the groups in which a partition is claimed twice."""
    owned = groups.owned
    found = np.zeros(len(groups.members) - 1, np.bool_)
    for g in range(len(found)):
        claimed = slice(owned.offsets[groups.members[g]], owned.offsets[groups.members[g + 1]])
        claims = np.sort(owned.topics[claimed].astype(np.int64) << 32 | owned.partitions[claimed])
        found[g] = np.any(claims[1:] == claims[:-1])
    return found
