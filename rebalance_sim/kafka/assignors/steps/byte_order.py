"""Members sorted by the bytes of their ids, as C, Go and Python sort strings, and the rules on which libraries agree.

Java compares UTF-16, which differs beyond the basic multilingual plane (``java_compare``).
"""

import numpy as np

from rebalance_sim.kafka.assignors.steps.join_response import as_leader_sees, without_instance_ids
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
from rebalance_sim.kafka.runtime.strings import Ints32, Strings, byte_at
from rebalance_sim.releases import KafkaVersion


def assign_ranges_by_member_id(groups: Groups, topics: TopicArrays, _: KafkaVersion) -> AssignmentOutcome:
    """Assign ranges to the members sorted by member id, the static ones, too."""
    return _assign_ranges(without_instance_ids(groups), topics)


def assign_in_turn_by_member_id(groups: Groups, topics: TopicArrays, _: KafkaVersion) -> AssignmentOutcome:
    """Assign all partitions in turn to the members sorted by member id, the static ones, too."""
    groups = without_instance_ids(groups)
    return assign_in_turn(groups, in_byte_order(groups), topics)


def assign_ranges_static_first(groups: Groups, topics: TopicArrays, version: KafkaVersion) -> AssignmentOutcome:
    """Assign ranges to the sorted members, the static ones first."""
    return _assign_ranges(as_leader_sees(groups, version), topics)


def assign_in_turn_static_first(groups: Groups, topics: TopicArrays, version: KafkaVersion) -> AssignmentOutcome:
    """Assign all partitions in turn to the sorted members, the static ones first."""
    groups = as_leader_sees(groups, version)
    return assign_in_turn(groups, in_byte_order(groups), topics)


def _assign_ranges(groups: Groups, topics: TopicArrays) -> AssignmentOutcome:
    """Assign consecutive partitions of each topic to its sorted subscribers, as Java does without racks.

    The real list of a member follows the order of a map of topics; here it is sorted by topic and number.
    """
    in_order = in_byte_order(groups)
    by_topic = subscribers(groups, in_order, in_order, len(topics.partitions), count_repeats=False)
    order = topics_by_name(topics, by_topic)
    return without_failures(groups, assign_ranges(len(in_order), topics, by_topic, order))


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


@kernel
def sort_members(order: Ints32, sections: Ints32, groups: Groups) -> None:
    """Sort the members in each ``order[sections[s]:sections[s + 1]]``, in place, as librdkafka 1.3 to 2.16 does.

    ``rd_kafka_group_member_cmp`` compares instance ids if both members are static, and member ids otherwise. That is
    not a total order: a static member with the smaller instance id can have the larger member id, with a dynamic member
    between the two. The result then depends on ``qsort``; here it is that of glibc, a merge sort.
    """
    for s in range(len(sections) - 1):
        merge_sort(order[sections[s] : sections[s + 1]], groups)


@kernel
def merge_sort(members: Ints32, groups: Groups) -> None:
    """Sort members in place, as glibc's ``qsort`` does (``msort_with_tmp``).

    Both halves, the first rounded down, are sorted and merged. librdkafka's comparison is not transitive, so the result
    depends on which pairs the sort compares.
    """
    low, end = np.zeros(2 * len(members) + 1, np.int32), np.zeros(2 * len(members) + 1, np.int32)
    end[0] = len(members)
    parts = 1
    part = 0
    while part < parts:
        if end[part] - low[part] > 1:
            middle = (low[part] + end[part]) // 2
            low[parts], end[parts] = low[part], middle
            low[parts + 1], end[parts + 1] = middle, end[part]
            parts += 2
        part += 1
    spare = np.empty(len(members), np.int32)
    for part in range(parts - 1, -1, -1):
        first, last = low[part], end[part]
        middle = (first + last) // 2
        a, b = first, middle
        for place in range(first, last):
            if b == last or (a < middle and _compare(groups, members[a], members[b]) <= 0):
                spare[place] = members[a]
                a += 1
            else:
                spare[place] = members[b]
                b += 1
        members[first:last] = spare[first:last]


@kernel
def _compare(groups: Groups, a: int, b: int) -> int:
    """Compare instance ids if both members are static, else member ids (``rd_kafka_group_member_cmp``).

    ``sort_ids`` of a dynamic member is its member id, so two dynamic members are compared by member id, too.
    """
    if groups.instance_first[a] == groups.instance_first[b]:
        return _compare_bytes(groups.sort_ids, a, b)
    return _compare_bytes(groups.member_ids, a, b)


@kernel
def _compare_bytes(strings: Strings, i: int, j: int) -> int:
    """Compare UTF-8 bytes, as C does; Python's comparison of code points gives the same order."""
    a, b = strings.offsets[i], strings.offsets[j]
    length_a, length_b = int(strings.offsets[i + 1] - a), int(strings.offsets[j + 1] - b)
    for k in range(min(length_a, length_b)):
        x, y = byte_at(strings.data, a + k), byte_at(strings.data, b + k)
        if x != y:
            return x - y
    return length_a - length_b
