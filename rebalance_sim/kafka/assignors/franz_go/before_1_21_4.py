"""franz-go's ``sticky`` and ``cooperative-sticky`` balancers of 1.0 to 1.21.3, for groups with one topic.

They assign as later releases do unless two members claim the same partition. Which claim counts, and when its partition
is withheld, changed with 1.15 and 1.21.4; these groups are not predicted.
"""

import numpy as np

from rebalance_sim.kafka.assignors.franz_go import cooperative_sticky, sticky
from rebalance_sim.kafka.groups import AssignmentFailure, AssignmentOutcome, Assignments, Groups, TopicArrays
from rebalance_sim.kafka.runtime.kernel import kernel
from rebalance_sim.releases import KafkaVersion

_UNDETERMINED = int(AssignmentFailure.UNDETERMINED)


def assign_sticky(groups: Groups, topics: TopicArrays, version: KafkaVersion) -> AssignmentOutcome:
    """Assign the partitions of every group of a batch; other groups than these fail as UNDETERMINED."""
    return _without_rival_claims(groups, sticky.assign(groups, topics, version))


def assign_cooperative_sticky(groups: Groups, topics: TopicArrays, version: KafkaVersion) -> AssignmentOutcome:
    """Assign the partitions of every group of a batch; other groups than these fail as UNDETERMINED."""
    return _without_rival_claims(groups, cooperative_sticky.assign(groups, topics, version))


@kernel
def _without_rival_claims(groups: Groups, outcome: AssignmentOutcome) -> AssignmentOutcome:
    """Return the outcome without the assignments of groups in which a partition is claimed twice."""
    given, errors, owned = outcome.assignments, outcome.errors.copy(), groups.owned
    kept = np.ones(len(given.topics), np.bool_)
    offsets = np.zeros(len(given.offsets), np.int32)
    for g in range(len(groups.members) - 1):
        start, end = groups.members[g], groups.members[g + 1]
        claimed = slice(owned.offsets[start], owned.offsets[end])
        claims = np.sort(owned.topics[claimed].astype(np.int64) << 32 | owned.partitions[claimed])
        if np.any(claims[1:] == claims[:-1]):
            errors[g] = _UNDETERMINED
            kept[given.offsets[start] : given.offsets[end]] = False
        for m in range(start, end):
            has = 0 if errors[g] != 0 else given.offsets[m + 1] - given.offsets[m]
            offsets[m + 1] = offsets[m] + has
    return AssignmentOutcome(Assignments(offsets, given.topics[kept], given.partitions[kept]), errors)
