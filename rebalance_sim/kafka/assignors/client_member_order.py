"""How librdkafka and kafka-python sort the members of a group.

librdkafka (``rd_kafka_group_member_cmp``, 2.9 to 2.16) compares instance ids where both members are static, and else
member ids. That need not be an order: of static members the one with the smaller instance id can have the larger
member id, and a dynamic member can lie between. What then becomes of a list is up to ``qsort``; here it is that of
glibc, a merge sort.

kafka-python (``range.py`` and ``roundrobin.py`` of 3.0.12) groups the static and the others by ``itertools.groupby``
without sorting them first. That groups neighbours only, and of several runs of a kind the last one counts: whoever is
in an earlier one is forgotten. The last runs are sorted, static members before others.

Both compare UTF-8: C by bytes, Python by code points, which is the same.
"""

import numpy as np

from rebalance_sim.kafka.groups import Groups
from rebalance_sim.kafka.hash_order import coordinator_order
from rebalance_sim.kafka.kernel import kernel
from rebalance_sim.kafka.strings import Ints32, Strings, byte_at
from rebalance_sim.versions import CoordinatorRules, KafkaVersion


def as_told_by(version: KafkaVersion, groups: Groups) -> Groups:
    """Groups as the broker tells a leader of them: before 2.3 it knows no static members (KIP-345)."""
    if version.coordinator >= CoordinatorRules.SCALA_2_3:
        return groups
    return groups._replace(instance_first=np.ones_like(groups.instance_first), sort_ids=groups.member_ids)


@kernel
def as_joined(groups: Groups, map_rule: int) -> Ints32:
    """Members in the order in which the coordinator tells of them: that of its hash map."""
    order = np.empty(len(groups.member_hashes), np.int32)
    for g in range(len(groups.members) - 1):
        start, end = groups.members[g], groups.members[g + 1]
        joined = np.arange(start, end).astype(np.int32)
        order[start:end] = coordinator_order(groups.member_hashes, joined, map_rule)
    return order


@kernel
def sort_by_librdkafka(order: Ints32, sections: Ints32, groups: Groups) -> None:
    """Sort each ``order[sections[s]:sections[s + 1]]``, which are members, in place."""
    for s in range(len(sections) - 1):
        _merge_sort(order[sections[s] : sections[s + 1]], groups)


@kernel
def remembered_by_kafka_python(order: Ints32, sections: Ints32, groups: Groups) -> tuple[Ints32, Ints32]:
    """Of each ``order[sections[s]:sections[s + 1]]``, which are members, those that are not forgotten, sorted.

    They lie in the second array, from where the first one says.
    """
    offsets = np.zeros(len(sections), np.int32)
    members = np.empty(len(order), np.int32)
    n = 0
    for s in range(len(sections) - 1):
        for dynamic in range(2):
            start = n
            place = sections[s + 1] - 1
            while place >= sections[s] and groups.instance_first[order[place]] != dynamic:
                place -= 1
            while place >= sections[s] and groups.instance_first[order[place]] == dynamic:
                members[n] = order[place]
                n += 1
                place -= 1
            _merge_sort(members[start:n], groups)
        offsets[s + 1] = n
    return offsets, members[:n]


@kernel
def _merge_sort(members: Ints32, groups: Groups) -> None:
    """``msort_with_tmp``: the first half, rounded down, and the second are sorted, and then merged."""
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
    if groups.instance_first[a] == groups.instance_first[b]:
        return _compare_bytes(groups.sort_ids, a, b)
    return _compare_bytes(groups.member_ids, a, b)


@kernel
def _compare_bytes(strings: Strings, i: int, j: int) -> int:
    """Below, equal to or above 0, as strings i and j are to each other."""
    a, b = strings.offsets[i], strings.offsets[j]
    length_a, length_b = int(strings.offsets[i + 1] - a), int(strings.offsets[j + 1] - b)
    for k in range(min(length_a, length_b)):
        x, y = byte_at(strings.data, a + k), byte_at(strings.data, b + k)
        if x != y:
            return x - y
    return length_a - length_b
