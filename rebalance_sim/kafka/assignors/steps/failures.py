"""Groups for which a leader has no assignment, or none that can be predicted."""

import numpy as np

from rebalance_sim.kafka.groups import AssignmentFailure, AssignmentOutcome, Assignments, Groups, TopicArrays
from rebalance_sim.kafka.runtime.kernel import kernel
from rebalance_sim.kafka.runtime.strings import Flags


def without_undetermined(groups: Groups, outcome: AssignmentOutcome, undetermined: Flags) -> AssignmentOutcome:
    """Return the outcome without the assignments that are not a function of what can be known."""
    return _without(groups, outcome, undetermined, int(AssignmentFailure.UNDETERMINED))


def without_unknown_topics(groups: Groups, outcome: AssignmentOutcome, unknown: Flags) -> AssignmentOutcome:
    """Return the outcome without the assignments of leaders that fail on a topic that does not exist."""
    return _without(groups, outcome, unknown, int(AssignmentFailure.UNKNOWN_TOPIC))


@kernel
def name_unknown_topics(groups: Groups, topics: TopicArrays, only_leaders: bool) -> Flags:
    """Return the groups of which a member subscribes to a topic that does not exist; the leader joined first."""
    of_members, offsets, named = groups.subscriptions
    found = np.zeros(len(groups.members) - 1, np.bool_)
    in_list = np.zeros(len(offsets) - 1, np.bool_)
    for listed in range(len(in_list)):
        for k in range(offsets[listed], offsets[listed + 1]):
            in_list[listed] |= topics.partitions[named[k]] <= 0
    for g in range(len(found)):
        start, end = groups.members[g], groups.members[g + 1]
        for m in range(start, min(start + 1, end) if only_leaders else end):
            found[g] |= in_list[of_members[m]]
    return found


@kernel
def _without(groups: Groups, outcome: AssignmentOutcome, failing: Flags, failure: int) -> AssignmentOutcome:
    given, errors = outcome.assignments, outcome.errors.copy()
    kept = np.ones(len(given.topics), np.bool_)
    offsets = np.zeros(len(given.offsets), np.int32)
    for g in range(len(groups.members) - 1):
        start, end = groups.members[g], groups.members[g + 1]
        if failing[g]:
            errors[g] = failure
            kept[given.offsets[start] : given.offsets[end]] = False
        for m in range(start, end):
            has = 0 if failing[g] else given.offsets[m + 1] - given.offsets[m]
            offsets[m + 1] = offsets[m] + has
    return AssignmentOutcome(Assignments(offsets, given.topics[kept], given.partitions[kept]), errors)
