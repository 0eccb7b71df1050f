"""``OptimizedUniformAssignmentBuilder`` of Kafka 3.7: ``uniform`` if all members subscribe to the same topics.

Members keep owned partitions up to the minimum quota, the first of them one more. The others get partitions in turn.
"""

from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.assignors.server.group_before_4_0 import NO_LIMIT, EarlyGroup
from rebalance_sim.kafka.assignors.server.racks_3_7 import racks_mismatch, sort_matches, unassigned_with_matches
from rebalance_sim.kafka.assignors.server.target_assignment import (
    Targets,
    UniformBatch,
    add_target,
    owned_once,
    owned_topic_order,
    partitions_in_set_order,
)
from rebalance_sim.kafka.groups import AssignmentFailure
from rebalance_sim.kafka.runtime.hash_order import java_order, java_table_size
from rebalance_sim.kafka.runtime.kernel import inner_kernel, kernel
from rebalance_sim.kafka.runtime.strings import Ints32

_NONE = int(AssignmentFailure.NONE)
_PARTITION_ASSIGNOR = int(AssignmentFailure.PARTITION_ASSIGNOR)
_FILLED = NO_LIMIT


class _Quotas(NamedTuple):
    """The partitions that members may still get."""

    missing: Ints32
    """By member of the batch: partitions up to the minimum quota; _FILLED if it gets no more
    (``potentiallyUnfilledMembers``)."""
    extras: Ints32
    """Number of members that get one more than the minimum, as an array of one."""


class _Queue(NamedTuple):
    """Members that take turns, as a ring."""

    members: Ints32
    first: Ints32
    """Place of the first one, as an array of one."""
    size: Ints32
    """Their number, as an array of one."""


@kernel
def assign_in_turns(batch: UniformBatch, group: EarlyGroup, targets: Targets) -> int:
    """Assign a group and return the failure."""
    members, places = group.members, group.by_id
    quotas = _Quotas(group.by_member.limits, np.full(1, len(places) % len(members), np.int32))
    unfilled = np.empty(len(members), np.int32)
    n = 0
    for m in members:
        if _keep(batch, group, m, len(places) // len(members), quotas, targets):
            unfilled[n] = m
            n += 1
    if group.matches.used:
        _assign_in_racks(batch, group, quotas, targets)
    in_map_order = java_order(group.by_member.hashes, unfilled[:n], java_table_size(n))
    in_turn = in_map_order[quotas.missing[in_map_order] != _FILLED]
    queue = _Queue(in_turn, np.zeros(1, np.int32), np.full(1, len(in_turn), np.int32))
    for place in places:
        if targets.owners[place] < 0 and not _assign(batch, group, place, queue, quotas, targets):
            return _PARTITION_ASSIGNOR
    return _NONE


@kernel
def _keep(batch: UniformBatch, group: EarlyGroup, m: int, minimum: int, quotas: _Quotas, targets: Targets) -> bool:
    """Let a member keep partitions, and return whether it may get others (``assignStickyPartitions``)."""
    owned, matches = batch.owned, group.matches
    mine = batch.mine[: owned_once(batch, m)].copy()
    kept = np.empty(len(mine), np.int32)
    n = 0
    for topic in owned_topic_order(batch, m):
        for k in partitions_in_set_order(owned, mine[owned.topics[mine] == topic]):
            partition = owned.partitions[k]
            if matches.used and racks_mismatch(batch, group.topics, group.by_member.racks[m], topic, partition):
                if partition < batch.partitions[topic]:
                    matches.previous_owners[batch.base[topic] + partition] = m
            else:
                kept[n] = k
                n += 1
    count = min(n, minimum)
    if n > minimum and quotas.extras[0] > 0:
        quotas.extras[0] -= 1
        count += 1
    for k in kept[:count]:
        add_target(batch, targets, m, owned.topics[k], owned.partitions[k])
    group.by_member.loads[m] = count
    if n > minimum:
        return False
    quotas.missing[m] = minimum - n
    return True


@kernel
def _assign_in_racks(batch: UniformBatch, group: EarlyGroup, quotas: _Quotas, targets: Targets) -> None:
    """Assign partitions to the least loaded members in their racks (``rackAwarePartitionAssignment``)."""
    matches = group.matches
    for place in unassigned_with_matches(matches, group.by_id, targets.owners):
        sort_matches(matches, place, group.by_member.loads)
        for m in matches.members[matches.offsets[place] : matches.offsets[place + 1]]:
            if _assign_to(batch, group, place, m, quotas, targets):
                break


@inner_kernel
def _assign(
    batch: UniformBatch, group: EarlyGroup, place: int, queue: _Queue, quotas: _Quotas, targets: Targets
) -> bool:
    """Assign a partition to its previous owner or to the next member in turn, and return whether one may get it."""
    if group.matches.used and group.matches.previous_owners[place] >= 0:
        m = group.matches.previous_owners[place]
        if _assign_to(batch, group, place, m, quotas, targets):
            if quotas.missing[m] == _FILLED:
                _remove(queue, m)
            return True
    turn, assigned = 0, False
    while turn < queue.size[0] and not assigned:
        m = queue.members[queue.first[0]]
        _step(queue)
        assigned = _assign_to(batch, group, place, m, quotas, targets)
        if quotas.missing[m] != _FILLED:
            _append(queue, m)
        turn += 1
    return assigned


@inner_kernel
def _assign_to(batch: UniformBatch, group: EarlyGroup, place: int, m: int, quotas: _Quotas, targets: Targets) -> bool:
    """Assign a partition to a member that may get it, and return whether it may (``maybeAssignPartitionToMember``)."""
    missing, extras = quotas.missing[m], quotas.extras[0]
    if missing == _FILLED or (missing == 0 and extras == 0):
        return False
    if missing == 0:
        quotas.extras[0] -= 1
        quotas.missing[m] = _FILLED
    else:
        quotas.missing[m] = _FILLED if missing == 1 and extras == 0 else missing - 1
    group.by_member.loads[m] += 1
    topic = group.topic_of[place]
    add_target(batch, targets, m, topic, place - batch.base[topic])
    return True


@inner_kernel
def _step(queue: _Queue) -> None:
    """Take the first member out of the queue."""
    queue.first[0] = (queue.first[0] + 1) % len(queue.members)
    queue.size[0] -= 1


@inner_kernel
def _append(queue: _Queue, m: int) -> None:
    queue.members[(queue.first[0] + queue.size[0]) % len(queue.members)] = m
    queue.size[0] += 1


@inner_kernel
def _remove(queue: _Queue, m: int) -> None:
    """Remove a member from any place of the queue."""
    for _ in range(queue.size[0]):
        other = queue.members[queue.first[0]]
        _step(queue)
        if other != m:
            _append(queue, other)
