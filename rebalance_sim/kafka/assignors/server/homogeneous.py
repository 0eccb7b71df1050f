"""``UniformHomogeneousAssignmentBuilder``: the ``uniform`` assignor if all members subscribe to the same topic names.

Members keep owned partitions up to their quota; the others fill up the members below theirs.
"""

from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.assignors.server.target_assignment import (
    Targets,
    UniformBatch,
    add_target,
    distinct_names,
    owned_once,
    owned_topic_order,
    partitions_in_set_order,
)
from rebalance_sim.kafka.groups import AssignmentFailure
from rebalance_sim.kafka.runtime.hash_order import java_copy_size, java_order
from rebalance_sim.kafka.runtime.kernel import inner_kernel, kernel
from rebalance_sim.kafka.runtime.strings import Ints, Ints32

_NONE = int(AssignmentFailure.NONE)
_PARTITION_ASSIGNOR = int(AssignmentFailure.PARTITION_ASSIGNOR)


class _Unassigned(NamedTuple):
    """The partitions to assign (``unassignedPartitions``)."""

    topics: Ints32
    partitions: Ints32
    filled: Ints
    """Number of partitions, as an array of one."""


@kernel
def assign_homogeneous(batch: UniformBatch, members: Ints32, places: int, keeps_extra: bool, targets: Targets) -> int:
    """Assign a group whose topics have a number of ``places``, and return the failure.

    ``keeps_extra``: a member above the minimum quota keeps its extra partition if a later member can do without (since
    4.0.1).
    """
    unassigned, are_kept = _unassigned_partitions(batch, members, places, targets)
    minimum, extras = places // len(members), places % len(members)
    below = np.empty(len(members), np.int32)
    missing = np.empty(len(members), np.int32)
    below_count = 0
    for i in range(len(members)):
        m = members[i]
        quota = minimum + (1 if extras > 0 else 0)
        has_extra = extras > 0
        n = batch.owned.offsets[m + 1] - batch.owned.offsets[m]
        if not are_kept or n > quota:
            n = owned_once(batch, m)
        if n <= quota:
            if not are_kept:
                _keep_all(batch, m, n, targets)
            quota -= n
        else:
            _revoke(batch, m, batch.mine[:n], quota, targets, unassigned)
            quota = 0
        if has_extra and keeps_extra and quota > 0 and len(members) - i > extras:
            # A later member may own an extra partition already. The last members must take the extras that are left.
            quota -= 1
            has_extra = False
        if quota > 0:
            below[below_count], missing[below_count] = m, quota
            below_count += 1
        if has_extra:
            extras -= 1
    assigned = _fill_up(batch, below[:below_count], missing, unassigned, targets)
    # Kafka throws if partitions are left over: two members that own the same partition use up quotas.
    return _NONE if assigned == unassigned.filled[0] else _PARTITION_ASSIGNOR


@inner_kernel
def _keep_all(batch: UniformBatch, m: int, n: int, targets: Targets) -> None:
    """Keep the ``n`` partitions of a member that ``owned_once`` has found."""
    for i in range(n):
        k = batch.mine[i]
        add_target(batch, targets, m, batch.owned.topics[k], batch.owned.partitions[k])


@inner_kernel
def _fill_up(batch: UniformBatch, below: Ints32, missing: Ints32, unassigned: _Unassigned, targets: Targets) -> int:
    """Assign partitions in turn to the members below their quota, and return how many."""
    assigned = 0
    for i in range(len(below)):
        for _ in range(min(missing[i], unassigned.filled[0] - assigned)):
            add_target(batch, targets, below[i], unassigned.topics[assigned], unassigned.partitions[assigned])
            assigned += 1
    return assigned


@kernel
def _unassigned_partitions(
    batch: UniformBatch, members: Ints32, places: int, targets: Targets
) -> tuple[_Unassigned, bool]:
    """Return the partitions that no member owns, topics in the order of ``subscribedTopicIds``, a ``HashSet`` of ids.

    The set has room for as many topics as there are names, and is filled in the order of the first member's names. The
    arrays have room for all partitions that may be revoked. If members own nothing but partitions of the group, each
    of which has one owner, they are kept in ``targets``, to be taken from members above their quota. The result says
    whether it is so, as it is of every real target.
    """
    claims = _mark_claimed(batch, members)
    room = places + claims
    unassigned = _Unassigned(np.empty(room, np.int32), np.empty(room, np.int32), np.zeros(1, np.int64))
    _list_unclaimed(batch, _topic_order(batch, members[0]), unassigned)
    are_kept = claims == places - unassigned.filled[0]
    if are_kept:
        targets.owners[:places] = batch.claimed_by[:places]
    batch.claimed_by[:places] = -1
    return unassigned, are_kept


@inner_kernel
def _list_unclaimed(batch: UniformBatch, topics: Ints32, unassigned: _Unassigned) -> None:
    n = 0
    for topic in topics:
        for partition in range(batch.partitions[topic]):
            if batch.claimed_by[batch.base[topic] + partition] < 0:
                unassigned.topics[n], unassigned.partitions[n] = topic, partition
                n += 1
    unassigned.filled[0] = n


@inner_kernel
def _mark_claimed(batch: UniformBatch, members: Ints32) -> int:
    """Set ``claimed_by`` for the partitions that members own, and return how many they claim."""
    owned, total, first = batch.owned, 0, members[0]
    for m in members:
        first = min(first, m)
    # Lists are read the fastest in the order in which they lie in memory.
    for m in range(first, first + len(members)):
        total += owned.offsets[m + 1] - owned.offsets[m]
        for k in range(owned.offsets[m], owned.offsets[m + 1]):
            topic, partition = owned.topics[k], owned.partitions[k]
            if batch.base[topic] >= 0 and partition < batch.partitions[topic]:
                batch.claimed_by[batch.base[topic] + partition] = m
    return int(total)


@kernel
def _topic_order(batch: UniformBatch, m: int) -> Ints32:
    """Return the known topics of a member in the order of a ``HashSet`` of their ids."""
    kept, named = names_order(batch, m)
    return java_order(batch.id_hashes, kept, java_copy_size(named))


@kernel
def names_order(batch: UniformBatch, m: int) -> tuple[Ints32, int]:
    """Return the known topics of a member in the order of its names, and the number of all names (``TopicIds``).

    The member's names are in a ``HashSet`` that was copied from the set made of its list.
    """
    names, listed = distinct_names(batch, m)
    sent = java_order(batch.hashes, names, java_copy_size(listed))
    kept = java_order(batch.hashes, sent, java_copy_size(len(names)))
    return kept[batch.partitions[kept] >= 0], len(names)


@kernel
def _revoke(batch: UniformBatch, m: int, mine: Ints32, quota: int, targets: Targets, unassigned: _Unassigned) -> None:
    """Keep a member's partitions up to its quota; the others become unassigned (``maybeRevokePartitions``)."""
    owned, of_topic = batch.owned, np.empty(len(mine), np.int32)
    for topic in owned_topic_order(batch, m):
        n = 0
        for k in mine:
            if owned.topics[k] == topic:
                of_topic[n] = k
                n += 1
        # The order matters only where not all are kept.
        listed = of_topic[:n] if n <= quota else partitions_in_set_order(owned, of_topic[:n])
        quota = _keep_first(batch, m, listed, quota, targets, unassigned)


@inner_kernel
def _keep_first(
    batch: UniformBatch, m: int, mine: Ints32, quota: int, targets: Targets, unassigned: _Unassigned
) -> int:
    """Keep the first partitions; the others become unassigned. Returns how many more the member may keep."""
    n = unassigned.filled[0]
    for k in mine:
        topic, partition = batch.owned.topics[k], batch.owned.partitions[k]
        if quota > 0:
            quota -= 1
            add_target(batch, targets, m, topic, partition)
        else:
            unassigned.topics[n], unassigned.partitions[n] = topic, partition
            n += 1
            if partition < batch.partitions[topic] and targets.owners[batch.base[topic] + partition] == m:
                targets.owners[batch.base[topic] + partition] = -1
    unassigned.filled[0] = n
    return quota
