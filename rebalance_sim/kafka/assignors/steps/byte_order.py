"""Members sorted by the bytes of their ids, as Go and Python sort strings, and the rules on which libraries agree.

Java compares UTF-16, which differs beyond the basic multilingual plane (``java_compare``).
"""

import numpy as np

from rebalance_sim.kafka.assignors.steps.join_response import merge_sort
from rebalance_sim.kafka.assignors.steps.ranges import assign_ranges
from rebalance_sim.kafka.assignors.steps.turns import assign_in_turn
from rebalance_sim.kafka.groups import (
    AssignmentOutcome,
    Groups,
    TopicArrays,
    subscribers,
    topics_by_name,
    without_failures,
)
from rebalance_sim.kafka.runtime.kernel import kernel
from rebalance_sim.kafka.runtime.strings import Ints32


@kernel
def in_byte_order(groups: Groups) -> Ints32:
    """Return the members of each group: static ones by instance id, then dynamic ones by member id."""
    order = np.empty(len(groups.member_racks), np.int32)
    n = 0
    for g in range(len(groups.members) - 1):
        for dynamic in range(2):
            start = n
            for m in range(groups.members[g], groups.members[g + 1]):
                if groups.instance_first[m] == dynamic:
                    order[n] = m
                    n += 1
            merge_sort(order[start:n], groups)
    return order


def assign_ranges_in_byte_order(groups: Groups, topics: TopicArrays) -> AssignmentOutcome:
    """Assign consecutive partitions of each topic to its sorted subscribers, as Java does without racks.

    The real list of a member follows the order of a map of topics; here it is sorted by topic and number.
    """
    in_order = in_byte_order(groups)
    by_topic = subscribers(groups, in_order, in_order, len(topics.partitions), count_repeats=False)
    order = topics_by_name(topics, by_topic)
    return without_failures(groups, assign_ranges(len(in_order), topics, by_topic, order))


def assign_in_turn_in_byte_order(groups: Groups, topics: TopicArrays) -> AssignmentOutcome:
    """Assign all partitions of each group in turn to its sorted members."""
    return assign_in_turn(groups, in_byte_order(groups), topics)
