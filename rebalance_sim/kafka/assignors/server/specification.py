"""What the coordinator's assignors (KIP-848, Kafka 4.x) get and return.

They return sets of partitions, which have no order; here a member's list is sorted by topic name and partition.

The order of what they get (``TargetAssignmentBuilder``, ``GroupSpecImpl``): members in the order of a ``HashMap`` that
is filled from the coordinator's own map of members; a member's topics in the order of a ``HashSet`` of names; its
target assignment as read from a record, a ``HashMap`` of topic ids with a ``HashSet`` of partitions each.

Some things that the members alone do not determine can change the order of keys in the same bucket: a coordinator's map
that was larger once, and the member whose heartbeat triggers the assignment, which may be put last. Here all members
have joined one by one and are in the map. A member's target is assumed to have been assigned at once, in the order of
``owned``. Buckets with more than 8 keys are not modelled; for the partitions that a member owns of one topic, these are
numbers that are equal modulo 16, 32, and so on.
"""

import numpy as np

from rebalance_sim.kafka.groups import Assignments, Groups
from rebalance_sim.kafka.runtime.hash_order import java_order, java_table_size, timeline_order
from rebalance_sim.kafka.runtime.kernel import kernel
from rebalance_sim.kafka.runtime.strings import Ints, Ints32


@kernel
def specification_order(groups: Groups) -> Ints32:
    """Return the members of each group in the order in which an assignor gets them (``GroupSpec.memberIds``)."""
    order = np.empty(len(groups.member_hashes), np.int32)
    for g in range(len(groups.members) - 1):
        start, end = groups.members[g], groups.members[g + 1]
        joined = np.arange(start, end).astype(np.int32)
        kept = timeline_order(groups.member_hashes, joined)
        order[start:end] = java_order(groups.member_hashes, kept, java_table_size(end - start))
    return order


@kernel
def uuid_hashes(ids: Ints) -> Ints:
    """Return ``Uuid.hashCode`` of every id, as unsigned 32-bit numbers."""
    hashes = np.empty(len(ids), np.int64)
    for t in range(len(ids)):
        halves = ids[t, 0] ^ ids[t, 1]
        hashes[t] = (halves >> 32 ^ halves) & 0xFFFFFFFF
    return hashes


def uuid_ranks(ids: Ints) -> Ints:
    """Return the place of every id in the order of ``Uuid.compareTo``: by the halves, as signed numbers.

    >>> uuid_ranks(np.array([[1, -1], [-1, 5], [1, -2]]))
    array([2, 0, 1])
    """
    ranks = np.empty(len(ids), np.int64)
    ranks[np.lexsort((ids[:, 1], ids[:, 0]))] = np.arange(len(ids))
    return ranks


@kernel
def partition_key(rank: int, partition: int) -> int:
    """Return a key of a partition that sorts by the topic's rank, then by partition."""
    return int(rank) << 32 | int(partition)


@kernel
def sorted_sets(n_members: int, holders: Ints32, keys: Ints, ranks: Ints) -> Assignments:
    """Turn pairs of a member and a ``partition_key`` into sorted lists; repeated pairs count once."""
    topic_of = np.empty(len(ranks), np.int32)
    for topic in range(len(ranks)):
        topic_of[ranks[topic]] = topic
    starts = np.zeros(n_members + 1, np.int64)
    for m in holders:
        starts[m + 1] += 1
    for m in range(n_members):
        starts[m + 1] += starts[m]
    cursor = starts[:-1].copy()
    by_member = np.empty(len(keys), np.int64)
    for k in range(len(keys)):
        by_member[cursor[holders[k]]] = keys[k]
        cursor[holders[k]] += 1
    offsets = np.zeros(n_members + 1, np.int32)
    topics = np.empty(len(keys), np.int32)
    partitions = np.empty(len(keys), np.int32)
    filled = 0
    for m in range(n_members):
        _sort(by_member[starts[m] : starts[m + 1]])
        for k in range(starts[m], starts[m + 1]):
            if k == starts[m] or by_member[k] != by_member[k - 1]:
                topics[filled] = topic_of[by_member[k] >> 32]
                partitions[filled] = by_member[k] & 0xFFFFFFFF
                filled += 1
        offsets[m + 1] = filled
    return Assignments(offsets, topics[:filled], partitions[:filled])


@kernel
def _sort(keys: Ints) -> None:
    """Sort in place; most lists are sorted already."""
    for k in range(1, len(keys)):
        if keys[k] < keys[k - 1]:
            keys.sort()
            return
