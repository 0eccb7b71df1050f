"""Groups of which an assignor's answer is not a function of what can be known: they fail as UNDETERMINED."""

import numpy as np

from rebalance_sim.kafka.groups import AssignmentFailure, AssignmentOutcome, Assignments, Groups
from rebalance_sim.kafka.runtime.kernel import kernel
from rebalance_sim.kafka.runtime.strings import Flags

_UNDETERMINED = int(AssignmentFailure.UNDETERMINED)


@kernel
def without_undetermined(groups: Groups, outcome: AssignmentOutcome, undetermined: Flags) -> AssignmentOutcome:
    """Return the outcome without the assignments of some groups, which fail instead."""
    given, errors = outcome.assignments, outcome.errors.copy()
    kept = np.ones(len(given.topics), np.bool_)
    offsets = np.zeros(len(given.offsets), np.int32)
    for g in range(len(groups.members) - 1):
        start, end = groups.members[g], groups.members[g + 1]
        if undetermined[g]:
            errors[g] = _UNDETERMINED
            kept[given.offsets[start] : given.offsets[end]] = False
        for m in range(start, end):
            has = 0 if undetermined[g] else given.offsets[m + 1] - given.offsets[m]
            offsets[m + 1] = offsets[m] + has
    return AssignmentOutcome(Assignments(offsets, given.topics[kept], given.partitions[kept]), errors)
