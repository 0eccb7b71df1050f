"""The input of the coordinator's assignors (KIP-848, Kafka 4.x), and their result.

They return sets of partitions, which have no order; here a member's list is sorted by topic name and partition.

The order of their input (``TargetAssignmentBuilder``, ``GroupSpecImpl``): members in the order of a ``HashMap`` that
is filled from the coordinator's own map of members; a member's topics in the order of a ``HashSet`` of names; its
target assignment as read from a record, a ``HashMap`` of topic ids with a ``HashSet`` of partitions each.

Some things that the members alone do not determine can change the order of keys in the same bucket: a coordinator's map
that was larger once, and the member whose heartbeat triggers the assignment, which may be put last. Here all members
have joined one by one and are in the map. A member's target is assumed to have been assigned at once, in the order of
``owned``. Buckets with more than 8 keys are not modelled; for the partitions that a member owns of one topic, these are
numbers that are equal modulo 16, 32, and so on.
"""

import numpy as np

from rebalance_sim.kafka.groups import Groups
from rebalance_sim.kafka.runtime.hash_order import java_order, java_table_size, timeline_order
from rebalance_sim.kafka.runtime.kernel import kernel
from rebalance_sim.kafka.runtime.strings import Ints, Ints32, Strings, java_hashes


def specification_order(groups: Groups) -> Ints32:
    """Return the members of each group in the order in which an assignor gets them (``GroupSpec.memberIds``)."""
    return order_of_members(groups.members, groups.member_ids)


@kernel
def order_of_members(groups: Ints32, member_ids: Strings) -> Ints32:
    """Return the same of members of any kind: those of group g are ``groups[g]`` to ``groups[g + 1]``."""
    order, hashes = np.empty(groups[-1], np.int32), java_hashes(member_ids)
    for g in range(len(groups) - 1):
        start, end = groups[g], groups[g + 1]
        joined = np.arange(start, end).astype(np.int32)
        kept = timeline_order(hashes, joined)
        order[start:end] = java_order(hashes, kept, java_table_size(end - start))
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
