"""Racks as the sticky assignors use them since 3.5 (KIP-881): ``AbstractStickyAssignor.RackInfo``."""

from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.assignors.sticky_claims import Claims
from rebalance_sim.kafka.assignors.sticky_group import Numbering
from rebalance_sim.kafka.groups import NO_RACK, Groups, Topics
from rebalance_sim.kafka.kernel import kernel
from rebalance_sim.kafka.strings import Flags, Ints32


class Racks(NamedTuple):
    """The racks of one group."""

    matter: bool
    """``useRackAwareAssignment``: members and replicas share a rack, and not every partition is on every rack."""
    of_member: Ints32
    """Rack of each member, or NO_RACK."""
    in_reach: Ints32
    """Members in the racks of each known partition; empty where no member has a rack."""
    first: Ints32
    """Racks of the replicas, by topic of the batch (``Topics.first_racks``)."""
    offsets: Ints32
    replicas: Ints32


@kernel
def without_racks() -> Racks:
    """Racks of a group whose members tell none, or whose version does not ask."""
    nothing = np.empty(0, np.int32)
    return Racks(False, nothing, nothing, nothing, nothing, nothing)


@kernel
def racks_of(groups: Groups, topics: Topics, group: Numbering, claims: Claims, n_racks: int) -> Racks:
    """Find the racks of a group. ``n_racks`` is above every rack's index."""
    of_member = np.empty(len(group.members), np.int32)
    for number in range(len(group.members)):
        of_member[number] = groups.member_racks[group.members[number]]
    if (of_member == NO_RACK).all():
        return without_racks()
    members_in = np.zeros(n_racks, np.int32)
    for rack in of_member:
        if rack >= 0:
            members_in[rack] += 1
    n_partitions = group.first_partition[-1]
    in_reach = np.zeros(n_partitions, np.int32)
    racks_here = np.zeros(n_partitions, np.int32)
    seen = np.full(n_racks, -1, np.int32)
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
    return Racks(matter, of_member, in_reach, topics.first_racks, topics.rack_offsets, topics.racks)


@kernel
def _place(first_racks: Ints32, claims: Claims, partition: int) -> int:
    """Where the racks of a known partition lie, or -1."""
    topic, number = claims.topics[partition], claims.numbers[partition]
    place = first_racks[topic] + number
    return int(place) if place < first_racks[topic + 1] else -1


@kernel
def on_rack(racks: Racks, claims: Claims, partition: int, rack: int) -> bool:
    """Tell whether a partition has a replica on a rack."""
    place = _place(racks.first, claims, partition)
    if place >= 0:
        for k in range(racks.offsets[place], racks.offsets[place + 1]):
            if racks.replicas[k] == rack:
                return True
    return False


@kernel
def mismatch(racks: Racks, claims: Claims, member: int, partition: int, n_known: int) -> bool:
    """``racksMismatch``: racks matter, and the member's holds no replica of the partition."""
    if not racks.matter or racks.of_member[member] == NO_RACK:
        return False
    rack = racks.of_member[member]
    return partition >= n_known or not on_rack(racks, claims, partition, rack)


@kernel
def members_by_rack(racks: Racks, wanted: Flags, n_racks: int) -> Ints32:
    """Count some members by rack, so that a rack without any is known without a search."""
    counts = np.zeros(n_racks, np.int32)
    for member in range(len(wanted)):
        if wanted[member] and racks.of_member[member] >= 0:
            counts[racks.of_member[member]] += 1
    return counts


@kernel
def next_in_rack(
    racks: Racks,
    claims: Claims,
    partition: int,
    members: Ints32,
    count: int,
    start: int,
    by_rack: Ints32,
) -> int:
    """Place of the first of ``count`` members, from a place on and round, in a rack of the partition, or -1.

    ``nextRackConsumer``; ``by_rack`` counts the members by rack.
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
