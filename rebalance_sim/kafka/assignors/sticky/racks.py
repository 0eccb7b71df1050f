"""Racks of members and replicas (KIP-881, since 3.5): ``AbstractStickyAssignor.RackInfo``."""

from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.assignors.sticky.claims import Claims
from rebalance_sim.kafka.assignors.sticky.numbered_group import NumberedGroup
from rebalance_sim.kafka.groups import NO_RACK, Groups, TopicArrays
from rebalance_sim.kafka.runtime.kernel import kernel
from rebalance_sim.kafka.runtime.strings import Flags, Ints32


class RackInfo(NamedTuple):
    """The racks of one group."""

    matter: bool
    """``useRackAwareAssignment``: a member shares a rack with a replica, and not every partition is in every rack."""
    of_member: Ints32
    """Rack of each member, or NO_RACK."""
    in_reach: Ints32
    """Number of members in the racks of each known partition; empty if no member has a rack."""
    first: Ints32
    """``first_racks``, ``rack_offsets`` and ``racks`` of ``TopicArrays``: the racks of the replicas."""
    offsets: Ints32
    replicas: Ints32
    rack_count: int
    """Number of racks in the batch."""


@kernel
def without_racks() -> RackInfo:
    """Return the racks of a group whose members have none, or whose version ignores them."""
    nothing = np.empty(0, np.int32)
    return RackInfo(False, nothing, nothing, nothing, nothing, nothing, 0)


@kernel
def racks_of(groups: Groups, topics: TopicArrays, group: NumberedGroup, claims: Claims, rack_count: int) -> RackInfo:
    """Return the racks of a group."""
    of_member = np.empty(len(group.members), np.int32)
    for number in range(len(group.members)):
        of_member[number] = groups.member_racks[group.members[number]]
    if (of_member == NO_RACK).all():
        return without_racks()
    members_in = np.zeros(rack_count, np.int32)
    for rack in of_member:
        if rack >= 0:
            members_in[rack] += 1
    n_partitions = group.first_partition[-1]
    in_reach = np.zeros(n_partitions, np.int32)
    racks_here = np.zeros(n_partitions, np.int32)
    seen = np.full(rack_count, -1, np.int32)
    union, shared = 0, False
    for partition in range(n_partitions):
        place = _place(topics.first_racks, claims, partition)
        if place < 0:
            continue
        for k in range(topics.rack_offsets[place], topics.rack_offsets[place + 1]):
            rack = topics.racks[k]
            if seen[rack] == -1:
                union += 1
                shared = shared or members_in[rack] > 0
            if seen[rack] != partition:
                seen[rack] = partition
                racks_here[partition] += 1
                in_reach[partition] += members_in[rack]
    matter = shared and not (racks_here == union).all()
    return RackInfo(matter, of_member, in_reach, topics.first_racks, topics.rack_offsets, topics.racks, rack_count)


@kernel
def _place(first_racks: Ints32, claims: Claims, partition: int) -> int:
    """Return the place of a known partition in ``rack_offsets``; -1 if the metadata lists no replicas for it."""
    topic, number = claims.topics[partition], claims.numbers[partition]
    place = first_racks[topic] + number
    return int(place) if place < first_racks[topic + 1] else -1


@kernel
def on_rack(racks: RackInfo, claims: Claims, partition: int, rack: int) -> bool:
    """Return whether a partition has a replica in a rack."""
    place = _place(racks.first, claims, partition)
    if place >= 0:
        for k in range(racks.offsets[place], racks.offsets[place + 1]):
            if racks.replicas[k] == rack:
                return True
    return False


@kernel
def mismatch(racks: RackInfo, claims: Claims, member: int, partition: int, n_known: int) -> bool:
    """Return ``racksMismatch``: whether racks matter and the member's has no replica of the partition."""
    if not racks.matter or racks.of_member[member] == NO_RACK:
        return False
    rack = racks.of_member[member]
    return partition >= n_known or not on_rack(racks, claims, partition, rack)


@kernel
def members_by_rack(racks: RackInfo, counted: Flags) -> Ints32:
    """Count members by rack, so that racks without any need no search."""
    counts = np.zeros(racks.rack_count, np.int32)
    for member in range(len(counted)):
        if counted[member] and racks.of_member[member] >= 0:
            counts[racks.of_member[member]] += 1
    return counts


@kernel
def next_in_rack(
    racks: RackInfo, claims: Claims, partition: int, members: Ints32, count: int, start: int, by_rack: Ints32
) -> int:
    """Return the place of the next member in a rack of the partition, or -1 (``nextRackConsumer``).

    The search starts at ``start`` and wraps around at ``count``. ``by_rack`` counts the members by rack.
    """
    place = _place(racks.first, claims, partition)
    if place < 0:
        return -1
    low, high = racks.offsets[place], racks.offsets[place + 1]
    somebody = False
    for k in range(low, high):
        somebody = somebody or by_rack[racks.replicas[k]] > 0
    if not somebody:
        return -1
    for i in range(count):
        at = (start + i) % count
        rack = racks.of_member[members[at]]
        if rack >= 0:
            for k in range(low, high):
                if racks.replicas[k] == rack:
                    return int(at)
    return -1
