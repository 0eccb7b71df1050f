"""``AbstractStickyAssignor.constrainedAssign`` of 2.5.1 to 2.8: equal subscriptions (KAFKA-9987).

Every member keeps up to ``maxQuota`` owned partitions. Members below ``minQuota`` get the rest in turns; if that is too
little, each takes the first partition of another member that has ``maxQuota``, and if it is too much, members with
``minQuota`` get one more.
"""

from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.assignors.sticky.claims import AcceptedClaims, Claims
from rebalance_sim.kafka.assignors.sticky.current_assignment import (
    CurrentAssignment,
    append_entry,
    append_one,
    new_assignment,
    node_of,
    remove_entry,
    write_lists,
)
from rebalance_sim.kafka.assignors.sticky.numbered_group import NOBODY, NumberedGroup
from rebalance_sim.kafka.groups import AssignmentFailure, Assignments
from rebalance_sim.kafka.runtime.kernel import inner_kernel, kernel
from rebalance_sim.kafka.runtime.strings import Flags, Ints32

_NONE = int(AssignmentFailure.NONE)
_ILLEGAL_STATE = int(AssignmentFailure.ILLEGAL_STATE)


class _Kept(NamedTuple):
    """The partitions and members that are left after members have kept owned partitions."""

    unassigned: Ints32
    """Known partitions that no member keeps."""
    transferring: Flags
    """By partition: whether a member owned it and does not keep it (``allRevokedPartitions`` and
    ``partitionsWithMultiplePreviousOwners``)."""
    unfilled: Ints32
    """``unfilledMembers``, by id."""
    at_minimum: Ints32
    """``minCapacityMembers``, in map order."""
    at_maximum: Ints32
    """``maxCapacityMembers``, in map order."""


@kernel
def assign_constrained_before_3_0(
    group: NumberedGroup, claims: Claims, owned: AcceptedClaims, cooperative: bool, written: Assignments
) -> tuple[int, Assignments]:
    """Assign a group and append its lists to ``written``; returns the failure, too."""
    member_count, n_known = len(group.members), group.first_partition[-1]
    minimum = n_known // member_count
    current = new_assignment(member_count, len(claims.topics), len(claims.partitions) + n_known)
    kept = _keep(group, claims, owned, current)
    new_owners = np.full(len(claims.topics), NOBODY, np.int32)
    n_assigned, unfilled, at_minimum = _fill_in_turns(kept, minimum, current, new_owners)
    # Too few partitions were free: members with maxQuota owned too many.
    failure = _take_from_fullest(kept.at_maximum, unfilled, minimum, current, new_owners)
    if failure != _NONE:
        return failure, written
    rest = kept.unassigned[n_assigned:]
    if len(rest) > len(at_minimum):
        # Partitions are left, but all members are full.
        return _ILLEGAL_STATE, written
    # The partitions beyond minQuota go to one member each (minCapacityMembers).
    for k in range(len(rest)):
        _give(current, kept, new_owners, at_minimum[k], rest[k])
    hidden = np.zeros(current.used[0], np.bool_)
    # partitionsTransferringOwnership: a partition that changes its owner is assigned in the next rebalance (KIP-429).
    if cooperative:
        for partition in range(len(new_owners)):
            if new_owners[partition] != NOBODY:
                hidden[node_of(current, new_owners[partition], partition)] = True
    return _NONE, write_lists(written, group, current, claims, hidden)


@kernel
def _keep(group: NumberedGroup, claims: Claims, owned: AcceptedClaims, current: CurrentAssignment) -> _Kept:
    """Keep the first owned partitions of each member, up to ``maxQuota``."""
    member_count, n_known = len(group.members), group.first_partition[-1]
    minimum, maximum = n_known // member_count, -(-n_known // member_count)
    is_free = np.ones(n_known, np.bool_)
    transferring = np.zeros(len(claims.topics), np.bool_)
    transferring[: len(owned.multiple_owners)] = owned.multiple_owners
    is_unfilled = np.zeros(member_count, np.bool_)
    at_minimum, at_maximum = np.empty(member_count, np.int32), np.empty(member_count, np.int32)
    n_minimum, n_maximum = 0, 0
    for i in range(member_count):
        member, size = group.in_map_order[i], 0
        for k in range(claims.offsets[i], claims.offsets[i + 1]):
            partition = claims.partitions[k]
            if owned.accepted[k] and size < maximum:
                append_one(current, member, partition)
                size += 1
                if partition < n_known:
                    is_free[partition] = False
            elif owned.accepted[k]:
                # Above maxQuota: allRevokedPartitions.
                transferring[partition] = True
        current.sizes[member] = size
        is_unfilled[member] = size < minimum
        if size == minimum:
            at_minimum[n_minimum] = member
            n_minimum += 1
        if size == maximum:
            at_maximum[n_maximum] = member
            n_maximum += 1
    unassigned, unfilled = np.flatnonzero(is_free).astype(np.int32), np.flatnonzero(is_unfilled).astype(np.int32)
    return _Kept(unassigned, transferring, unfilled, at_minimum[:n_minimum], at_maximum[:n_maximum])


@inner_kernel
def _give(current: CurrentAssignment, kept: _Kept, new_owners: Ints32, member: int, partition: int) -> None:
    """Assign an unassigned partition, and note its new owner if another member owned it."""
    append_one(current, member, partition)
    current.sizes[member] += 1
    if kept.transferring[partition]:
        new_owners[partition] = member


@kernel
def _fill_in_turns(
    kept: _Kept, minimum: int, current: CurrentAssignment, new_owners: Ints32
) -> tuple[int, Ints32, Ints32]:
    """Assign partitions to the members below ``minQuota`` in turns, until none is left or all members have reached it.

    Returns how many were assigned, the members still below, and those that may get one more.
    """
    unfilled, n_unfilled, n = kept.unfilled, len(kept.unfilled), 0
    at_minimum, n_minimum = np.empty(len(current.sizes), np.int32), len(kept.at_minimum)
    at_minimum[:n_minimum] = kept.at_minimum
    while n_unfilled > 0 and n < len(kept.unassigned):
        stay = 0
        for k in range(n_unfilled):
            member = unfilled[k]
            if n < len(kept.unassigned):
                _give(current, kept, new_owners, member, kept.unassigned[n])
                n += 1
            if current.sizes[member] == minimum:
                at_minimum[n_minimum] = member
                n_minimum += 1
            else:
                unfilled[stay] = member
                stay += 1
        n_unfilled = stay
    return n, unfilled[:n_unfilled], at_minimum[:n_minimum]


@kernel
def _take_from_fullest(
    at_maximum: Ints32, unfilled: Ints32, minimum: int, current: CurrentAssignment, new_owners: Ints32
) -> int:
    """Let each member below ``minQuota`` take the first partitions of members with ``maxQuota``; return the failure."""
    taken = 0
    for member in unfilled:
        while current.sizes[member] < minimum:
            if taken == len(at_maximum):
                return _ILLEGAL_STATE
            fullest = at_maximum[taken]
            taken += 1
            node = current.links.first[fullest]
            remove_entry(current.links, fullest, node)
            append_entry(current.links, member, node)
            current.member[node] = member
            current.sizes[fullest] -= 1
            current.sizes[member] += 1
            new_owners[current.partition[node]] = member
    return _NONE
