"""The members of a group as a JoinGroup response lists them for the leader.

Java's consumer puts them into a ``HashMap`` (``kafka.groups.map_order``). librdkafka and kafka-python keep the
response's order, which is that of the coordinator's own hash map, and sort from there.
"""

import numpy as np

from rebalance_sim.kafka.groups import Groups
from rebalance_sim.kafka.runtime.hash_order import coordinator_order, scala_2_11_immutable_order, scala_2_11_order
from rebalance_sim.kafka.runtime.kernel import kernel
from rebalance_sim.kafka.runtime.strings import Ints, Ints32, Strings, java_hashes
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
