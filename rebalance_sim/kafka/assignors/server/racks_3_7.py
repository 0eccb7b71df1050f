"""Members and replicas in the same rack, for ``server-uniform`` of Kafka 3.7 (``RackInfo``; dropped in 3.8)."""

from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.assignors.server.target_assignment import UniformBatch
from rebalance_sim.kafka.assignors.steps.rack_matching import has_rack
from rebalance_sim.kafka.groups import TopicArrays
from rebalance_sim.kafka.runtime.hash_order import java_copy_size, java_order
from rebalance_sim.kafka.runtime.kernel import kernel
from rebalance_sim.kafka.runtime.sorting import stable_order
from rebalance_sim.kafka.runtime.strings import Ints32


class RackMatches(NamedTuple):
    """The members of a group that share a rack with a replica of each partition."""

    used: bool
    """Whether racks count (``useRackStrategy``). If not, the arrays are empty."""
    offsets: Ints32
    """Members of a place: ``offsets[place]`` to ``offsets[place + 1]`` of ``members``."""
    members: Ints32
    """Kafka sorts a place's list whenever it reads it, and starts from the order in which the list was left."""
    previous_owners: Ints32
    """By place: the last member that owns the partition and does not share its rack, or -1."""


@kernel
def no_rack_matches() -> RackMatches:
    """Return that racks do not count."""
    nothing = np.empty(0, np.int32)
    return RackMatches(False, nothing, nothing, nothing)


@kernel
def match_racks(
    batch: UniformBatch, topics: TopicArrays, member_racks: Ints32, members: Ints32, topic_of: Ints32
) -> RackMatches:
    """Return the matches of a group; ``topic_of`` is the topic of each place, ``members`` are in map order."""
    if not _use_racks(batch, topics, member_racks, members, topic_of):
        return no_rack_matches()
    of_rack = np.zeros(len(topics.rack_hashes) + 1, np.int32)
    for m in members:
        if member_racks[m] >= 0:
            of_rack[member_racks[m] + 1] += 1
    for rack in range(len(topics.rack_hashes)):
        of_rack[rack + 1] += of_rack[rack]
    by_rack, filled = np.empty(of_rack[-1], np.int32), of_rack[:-1].copy()
    for m in members:
        if member_racks[m] >= 0:
            by_rack[filled[member_racks[m]]] = m
            filled[member_racks[m]] += 1
    offsets = np.zeros(len(topic_of) + 1, np.int32)
    for place in range(len(topic_of)):
        offsets[place + 1] = offsets[place]
        for rack in _racks_of(batch, topics, topic_of[place], place):
            offsets[place + 1] += of_rack[rack + 1] - of_rack[rack]
    listed = np.empty(offsets[-1], np.int32)
    for place in range(len(topic_of)):
        n = offsets[place]
        for rack in _racks_of(batch, topics, topic_of[place], place):
            count = of_rack[rack + 1] - of_rack[rack]
            listed[n : n + count] = by_rack[of_rack[rack] : of_rack[rack + 1]]
            n += count
    return RackMatches(True, offsets, listed, np.full(len(topic_of), -1, np.int32))


@kernel
def _use_racks(
    batch: UniformBatch, topics: TopicArrays, member_racks: Ints32, members: Ints32, topic_of: Ints32
) -> bool:
    """Return whether a member shares a rack with a replica, and not every partition has replicas in all racks."""
    if (member_racks[members] < 0).all():
        return False
    seen = np.zeros(len(topics.rack_hashes), np.bool_)
    counts = np.empty(len(topic_of), np.int32)
    for place in range(len(topic_of)):
        racks = _racks_of(batch, topics, topic_of[place], place)
        counts[place] = len(racks)
        seen[racks] = True
    if (counts == seen.sum()).all():
        return False
    for m in members:
        if member_racks[m] >= 0 and seen[member_racks[m]]:
            return True
    return False


@kernel
def _racks_of(batch: UniformBatch, topics: TopicArrays, topic: int, place: int) -> Ints32:
    """Return the racks of a partition's replicas in the order of a ``HashSet``."""
    entry = topics.first_racks[topic] + place - batch.base[topic]
    if entry >= topics.first_racks[topic + 1]:
        return np.empty(0, np.int32)
    first, end = topics.rack_offsets[entry], topics.rack_offsets[entry + 1]
    racks = np.empty(end - first, np.int32)
    n = 0
    for rack in topics.racks[first:end]:
        if not (racks[:n] == rack).any():
            racks[n] = rack
            n += 1
    return java_order(topics.rack_hashes, racks[:n], java_copy_size(n))


@kernel
def racks_mismatch(batch: UniformBatch, topics: TopicArrays, rack: int, topic: int, partition: int) -> bool:
    """Return whether a rack has no replica of a partition (``racksMismatch``)."""
    return rack < 0 or partition >= batch.partitions[topic] or not has_rack(topics, topic, partition, rack)


@kernel
def sort_matches(matches: RackMatches, place: int, loads: Ints32) -> None:
    """Sort the members that match a partition by load, stably (``getSortedMembersWithMatchingRack``)."""
    listed = matches.members[matches.offsets[place] : matches.offsets[place + 1]]
    listed[:] = listed[stable_order(loads[listed])]


@kernel
def unassigned_with_matches(matches: RackMatches, by_id: Ints32, owners: Ints32) -> Ints32:
    """Return the partitions without an owner that a member matches, those with the fewest such members first.

    ``by_id`` has all partitions by topic id and number (``sortPartitionsByRackMembers``).
    """
    counts = np.diff(matches.offsets)[by_id]
    chosen = (counts > 0) & (owners[by_id] < 0)
    return by_id[chosen][stable_order(counts[chosen])]
