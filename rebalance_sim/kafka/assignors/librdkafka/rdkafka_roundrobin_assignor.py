"""librdkafka's ``roundrobin`` assignor (``rdkafka_roundrobin_assignor.c``, 1.5.3 to 2.16): Java's in another order."""

import numpy as np

from rebalance_sim.kafka.assignors.steps.byte_order import sort_members
from rebalance_sim.kafka.assignors.steps.join_response import listed_members
from rebalance_sim.kafka.assignors.steps.turns import assign_in_turn
from rebalance_sim.kafka.groups import AssignmentOutcome, Groups, TopicArrays
from rebalance_sim.kafka.runtime.kernel import kernel
from rebalance_sim.kafka.runtime.strings import Ints32
from rebalance_sim.releases import KafkaVersion


def assign(groups: Groups, topics: TopicArrays, version: KafkaVersion) -> AssignmentOutcome:
    """Assign the partitions of every group of a batch."""
    seen, listed = listed_members(groups, version)
    return assign_in_turn(seen, sorted_members(seen, listed), topics)


@kernel
def sorted_members(groups: Groups, listed: Ints32) -> Ints32:
    """Return the sorted members of each group, those without a subscription last.

    librdkafka's leader drops members without topics before it sorts, so they must not take part in the sort, whose
    comparison is not transitive.
    """
    of_members, offsets, _ = groups.subscriptions
    order = np.empty(len(groups.member_racks), np.int32)
    sections = np.zeros(2 * len(groups.members) - 1, np.int32)
    n = 0
    for g in range(len(groups.members) - 1):
        for subscribes in (True, False):
            for m in listed[groups.members[g] : groups.members[g + 1]]:
                if (offsets[of_members[m] + 1] > offsets[of_members[m]]) == subscribes:
                    order[n] = m
                    n += 1
            sections[2 * g + (1 if subscribes else 2)] = n
    sort_members(order, sections, groups)
    return order
