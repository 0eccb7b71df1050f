"""The members of a group as a JoinGroup response lists them for the leader.

Java's consumer puts them into a ``HashMap`` (``kafka.groups.map_order``). librdkafka and kafka-python keep the
response's order, which is that of the coordinator's own hash map, and sort from there.
"""

import numpy as np

from rebalance_sim.kafka.groups import Groups
from rebalance_sim.kafka.runtime.hash_order import coordinator_order, scala_2_11_immutable_order, scala_2_11_order
from rebalance_sim.kafka.runtime.kernel import kernel
from rebalance_sim.kafka.runtime.strings import Ints, Ints32, Strings, byte_at, java_hashes
from rebalance_sim.releases import CoordinatorRules, KafkaVersion, MapRule, MemberList

_IMMUTABLE_MAP = int(MemberList.IMMUTABLE_MAP)


def as_leader_sees(groups: Groups, version: KafkaVersion) -> Groups:
    """Return groups with what a broker of the version includes: no instance ids before 2.3 (KIP-345)."""
    if version.coordinator >= CoordinatorRules.SCALA_2_3:
        return groups
    return without_instance_ids(groups)


def without_instance_ids(groups: Groups) -> Groups:
    """Return groups as an assignor sees them that does not look at instance ids."""
    return groups._replace(instance_first=np.ones_like(groups.instance_first), sort_ids=groups.member_ids)


def listed_members(groups: Groups, version: KafkaVersion) -> tuple[Groups, Ints32]:
    """Return the groups as their leaders see them, and the members of each in the order of the response."""
    seen = as_leader_sees(groups, version)
    return seen, response_order(seen.members, seen.member_ids, version.coordinator_map, version.member_list)


def response_order(groups: Ints32, member_ids: Strings, map_rule: MapRule, member_list: MemberList) -> Ints32:
    """Return the members of each group in the order in which the coordinator lists them.

    The members of group g, in join order, are ``groups[g]`` to ``groups[g + 1]``.
    """
    return _response_order(groups, java_hashes(member_ids), int(map_rule), int(member_list))


@kernel
def _response_order(groups: Ints32, member_hashes: Ints, map_rule: int, member_list: int) -> Ints32:
    order = np.empty(len(member_hashes), np.int32)
    for g in range(len(groups) - 1):
        start, end = groups[g], groups[g + 1]
        joined = np.arange(start, end).astype(np.int32)
        listed = coordinator_order(member_hashes, joined, map_rule)
        if member_list == _IMMUTABLE_MAP:
            # The immutable map is copied from a further mutable one, in which the keys of a bucket are reversed.
            copied = scala_2_11_order(member_hashes, listed)
            listed = scala_2_11_immutable_order(member_hashes, copied)
        order[start:end] = listed
    return order


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
