"""``AbstractStickyAssignor.ConstrainedAssignmentBuilder``: the sticky assignors since 3.0 if subscriptions are equal.

Every member gets ``minQuota`` partitions, some ``maxQuota``, which is one more. Members keep owned partitions up to
that quota. The rest goes round robin to the members below it, by topic and number; if racks matter, first to members in
a rack of the partition.
"""

from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.assignors.sticky.claims import AcceptedClaims, Claims
from rebalance_sim.kafka.assignors.sticky.current_assignment import with_room
from rebalance_sim.kafka.assignors.sticky.numbered_group import NOBODY, NumberedGroup, StickyBatch
from rebalance_sim.kafka.assignors.sticky.racks import RackInfo, members_by_rack, mismatch, next_in_rack
from rebalance_sim.kafka.groups import AssignmentFailure, Assignments
from rebalance_sim.kafka.runtime.kernel import kernel
from rebalance_sim.kafka.runtime.sorting import stable_order
from rebalance_sim.kafka.runtime.strings import Flags, Ints32, sort_by_key
from rebalance_sim.releases import StickyRules

_NONE = int(AssignmentFailure.NONE)
_ILLEGAL_STATE = int(AssignmentFailure.ILLEGAL_STATE)
_OWNED_SORTED = int(StickyRules.OWNED_SORTED)


class _Quotas(NamedTuple):
    minimum: int
    """``minQuota``."""
    maximum: int
    """``maxQuota``: the same, or one more if the partitions do not divide evenly."""
    over_minimum: int
    """``expectedNumMembersWithOverMinQuotaPartitions``."""
    rules: int
    """A number of ``StickyRules``."""


class _Kept(NamedTuple):
    """The owned partitions that members keep."""

    offsets: Ints32
    """Partitions of the i-th member in map order: ``offsets[i]`` to ``offsets[i + 1]``."""
    partitions: Ints32
    counts: Ints32
    """Partitions of each member, including those added later."""
    revoked_from: Ints32
    """By partition: the owner that may have to revoke it (``maybeRevokedPartitions``, before 3.7.1
    ``allRevokedPartitions``), or NOBODY; empty if there are no claims."""
    over_minimum: int
    """``currentNumMembersWithOverMinQuotaPartitions``."""
    at_minimum: Flags
    """Members with exactly ``minQuota`` partitions that may get another."""
    below_minimum: Flags
    """Members with fewer than ``minQuota`` partitions."""


class Added(NamedTuple):
    """Partitions assigned to new owners, in the order of their assignment."""

    partitions: Ints32
    members: Ints32


@kernel
def _keep(group: NumberedGroup, claims: Claims, owned: AcceptedClaims, racks: RackInfo, quotas: _Quotas) -> _Kept:
    """Keep owned partitions within quotas and racks (``assignOwnedPartitions``).

    A member above its quota keeps its partitions with the lowest numbers, then the first topics (since 3.7.1,
    KAFKA-16277), before that the first that it owned.
    """
    n_members, n_known, n_topics = len(group.members), group.first_partition[-1], len(group.topics)
    offsets = np.zeros(n_members + 1, np.int32)
    kept, keys = np.empty(len(claims.partitions), np.int32), np.empty(len(claims.partitions), np.int64)
    counts = np.zeros(n_members, np.int32)
    revoked_from = np.full(len(claims.topics) if len(claims.partitions) > 0 else 0, NOBODY, np.int32)
    at_minimum, below_minimum = np.zeros(n_members, np.bool_), np.zeros(n_members, np.bool_)
    over_minimum, filled = 0, 0
    for i in range(n_members):
        member = group.in_map_order[i]
        start = filled
        for k in range(claims.offsets[i], claims.offsets[i + 1]):
            if owned.accepted[k]:
                partition = claims.partitions[k]
                if racks.matter and mismatch(racks, claims, member, partition, n_known):
                    # Before 3.7.1 (KAFKA-15170) the new owner did not wait until this one had revoked the partition.
                    if quotas.rules >= _OWNED_SORTED:
                        revoked_from[partition] = member
                elif not owned.multiple_owners[partition]:
                    kept[filled] = partition
                    keys[filled] = int(claims.numbers[partition]) * n_topics + group.number_of[claims.topics[partition]]
                    filled += 1
        if filled > start + 1 and quotas.rules >= _OWNED_SORTED:
            sort_by_key(kept[start:filled], keys[start:filled])
        size = filled - start
        if size < quotas.minimum:
            # It keeps everything, and gets more (``unfilledMembersWithUnderMinQuotaPartitions``).
            below_minimum[member] = True
        elif size >= quotas.maximum and over_minimum < quotas.over_minimum:
            # Only so many members may have maxQuota: the first ones in map order keep an extra partition.
            over_minimum += 1
            if over_minimum == quotas.over_minimum:
                # Kafka clears unfilledMembersWithExactlyMinQuotaPartitions: no extra partition is left.
                at_minimum[:] = False
            size = quotas.maximum
        else:
            # It keeps minQuota, and gets one more later if extra partitions are left.
            size = quotas.minimum
            at_minimum[member] = over_minimum < quotas.over_minimum
        # maybeRevokedPartitions: a new owner must wait until this member has revoked them (KIP-429).
        for k in range(start + size, filled):
            revoked_from[kept[k]] = member
        filled = start + size
        counts[member] = size
        offsets[i + 1] = filled
    return _Kept(offsets, kept[:filled], counts, revoked_from, over_minimum, at_minimum, below_minimum)


@kernel
def _unassigned(group: NumberedGroup, claims: Claims, kept: _Kept, racks: RackInfo) -> Ints32:
    """Return the partitions that no member keeps (``getUnassignedPartitions``), by topic and number.

    If members have racks, partitions with few members in their racks come first. Kafka merges the sorted lists of kept
    and of all partitions: at a kept partition that no longer exists the merge gets stuck, and all partitions of later
    topics count as unassigned, although they may be kept. Likewise at one that two members keep.
    """
    n_known = group.first_partition[-1]
    is_kept = np.zeros(n_known, np.bool_)
    blind_from = n_known
    for partition in kept.partitions:
        if partition < n_known:
            if is_kept[partition]:
                blind_from = min(blind_from, partition + 1)
            is_kept[partition] = True
        else:
            blind_from = min(blind_from, group.first_partition[group.number_of[claims.topics[partition]] + 1])
    unassigned = np.empty(n_known, np.int32)
    n = 0
    for partition in range(n_known):
        if partition >= blind_from or not is_kept[partition]:
            unassigned[n] = partition
            n += 1
    unassigned = unassigned[:n]
    if len(racks.in_reach) > 0:
        return unassigned[stable_order(racks.in_reach[unassigned])]
    return unassigned


class _Unfilled(NamedTuple):
    """Members that may get partitions."""

    below: Ints32
    """``unfilledMembersWithUnderMinQuotaPartitions``, by id: the first ``below_count``."""
    exactly: Ints32
    """``unfilledMembersWithExactlyMinQuotaPartitions``: from ``exactly_start`` to ``exactly_end``."""
    below_count: int
    exactly_start: int
    exactly_end: int
    over_minimum: int
    """``currentNumMembersWithOverMinQuotaPartitions``."""


@kernel
def _unfilled(kept: _Kept) -> _Unfilled:
    n = len(kept.counts)
    below, exactly = np.empty(n, np.int32), np.empty(n, np.int32)
    below_count, exactly_count = 0, 0
    for member in range(n):
        if kept.below_minimum[member]:
            below[below_count] = member
            below_count += 1
        if kept.at_minimum[member]:
            exactly[exactly_count] = member
            exactly_count += 1
    return _Unfilled(below, exactly, below_count, 0, exactly_count, kept.over_minimum)


@kernel
def _add_in_racks(
    added: Added, unassigned: Ints32, claims: Claims, kept: _Kept, racks: RackInfo, quotas: _Quotas, unfilled: _Unfilled
) -> tuple[int, Ints32, _Unfilled]:
    """Assign partitions within racks (``assignRackAwareRoundRobin``).

    Returns how many were assigned, the partitions left, and the members that may still get some.
    """
    left = np.empty(len(unassigned), np.int32)
    n_left, n_added, following = 0, 0, 0
    below_by_rack = members_by_rack(racks, kept.below_minimum)
    exactly_by_rack = members_by_rack(racks, kept.at_minimum)
    below, exactly = unfilled.below, unfilled.exactly
    below_count, over_minimum = unfilled.below_count, unfilled.over_minimum
    exactly_start, exactly_end = unfilled.exactly_start, unfilled.exactly_end
    for partition in unassigned:
        member = NOBODY
        # Members below minQuota come first, in turn; then members with exactly minQuota, while extras are left.
        place = next_in_rack(racks, claims, partition, below, below_count, following, below_by_rack)
        if place >= 0:
            member = below[place]
            size = kept.counts[member] + 1
            if size >= quotas.minimum:
                below[place : below_count - 1] = below[place + 1 : below_count].copy()
                below_count -= 1
                below_by_rack[racks.of_member[member]] -= 1
                # Before 3.7.1 the quota of members with one more partition was not checked here.
                within_quota = over_minimum < quotas.over_minimum or quotas.rules < _OWNED_SORTED
                if size < quotas.maximum and within_quota:
                    exactly[exactly_end] = member
                    exactly_end += 1
                    exactly_by_rack[racks.of_member[member]] += 1
            else:
                place += 1
            following = 0 if below_count == 0 else place % below_count
        elif exactly_end > exactly_start:
            waiting = exactly[exactly_start:exactly_end]
            place = next_in_rack(racks, claims, partition, waiting, len(waiting), 0, exactly_by_rack)
            if place >= 0:
                member = waiting[place]
                if kept.counts[member] + 1 == quotas.maximum:
                    waiting[place:-1] = waiting[place + 1 :].copy()
                    exactly_end -= 1
                    exactly_by_rack[racks.of_member[member]] -= 1
                    if quotas.rules >= _OWNED_SORTED:
                        over_minimum += 1
                        if over_minimum == quotas.over_minimum:
                            exactly_start, exactly_end = 0, 0
        if member == NOBODY:
            left[n_left] = partition
            n_left += 1
        else:
            added.partitions[n_added] = partition
            added.members[n_added] = member
            kept.counts[member] += 1
            n_added += 1
    unfilled = _Unfilled(below, exactly, below_count, exactly_start, exactly_end, over_minimum)
    return n_added, left[:n_left], unfilled


@kernel
def _add_round_robin(
    added: Added, n_added: int, unassigned: Ints32, kept: _Kept, quotas: _Quotas, unfilled: _Unfilled
) -> int:
    """Assign the remaining partitions (``assignRoundRobin``, ``verifyUnfilledMembers``) and return the failure.

    Each round goes over the members below ``minQuota``. A member that reaches it leaves the round at once and joins the
    queue of members that may get one more, which is used when no member is below ``minQuota``.
    """
    below, exactly, sizes = unfilled.below, unfilled.exactly, kept.counts
    below_count, over_minimum = unfilled.below_count, unfilled.over_minimum
    exactly_start, exactly_end = unfilled.exactly_start, unfilled.exactly_end
    place, stay = 0, 0
    for partition in unassigned:
        if place == below_count:
            # The next round (unfilledConsumerIter starts again).
            below_count = stay
            place, stay = 0, 0
        if below_count > 0:
            member = below[place]
            place += 1
            sizes[member] += 1
            if sizes[member] == quotas.minimum:
                # It has left the members below minQuota, and waits for an extra partition.
                exactly[exactly_end] = member
                exactly_end += 1
            else:
                below[stay] = member
                stay += 1
                over_minimum += sizes[member] == quotas.maximum
        elif exactly_start < exactly_end:
            # All members have minQuota: the extra partitions go to one member each.
            member = exactly[exactly_start]
            exactly_start += 1
            sizes[member] += 1
            over_minimum += sizes[member] == quotas.maximum
        else:
            # Partitions are left, but all members are full.
            return _ILLEGAL_STATE
        added.partitions[n_added] = partition
        added.members[n_added] = member
        n_added += 1
    while place < below_count:
        below[stay] = below[place]
        place, stay = place + 1, stay + 1
    # verifyUnfilledMembers: members may stay unfilled only if enough others have maxQuota partitions.
    if stay > 0 and over_minimum != quotas.over_minimum:
        return _ILLEGAL_STATE
    for member in below[:stay]:
        if sizes[member] != quotas.minimum:
            return _ILLEGAL_STATE
    return _NONE


@kernel
def assign_constrained(
    batch: StickyBatch,
    group: NumberedGroup,
    claims: Claims,
    owned: AcceptedClaims,
    racks: RackInfo,
    cooperative: bool,
    written: Assignments,
) -> tuple[int, Assignments]:
    """Assign a group and append its lists to ``written``; returns the failure, too."""
    member_count, n_known = len(group.members), group.first_partition[-1]
    extra = n_known % member_count
    quotas = _Quotas(n_known // member_count, n_known // member_count + (1 if extra > 0 else 0), extra, batch.rules)
    kept = _keep(group, claims, owned, racks, quotas)
    unassigned = _unassigned(group, claims, kept, racks)
    n = len(unassigned)
    added = Added(np.empty(n, np.int32), np.empty(n, np.int32))
    unfilled = _unfilled(kept)
    n_added = 0
    if racks.matter:
        n_added, unassigned, unfilled = _add_in_racks(added, unassigned, claims, kept, racks, quotas, unfilled)
    failure = _add_round_robin(added, n_added, unassigned, kept, quotas, unfilled)
    if failure != _NONE:
        return failure, written
    hidden = np.zeros(n, np.bool_)
    # CooperativeStickyAssignor.adjustAssignment: a partition that changes its owner is assigned in the next rebalance.
    if cooperative and len(claims.partitions) > 0:
        hidden = _transferring(added, kept.revoked_from, owned.multiple_owners, batch.rules)
    return _NONE, _write(group, claims, kept, added, hidden, written)


@kernel
def _transferring(added: Added, revoked_from: Ints32, multiple_owners: Flags, rules: int) -> Flags:
    """Return which added partitions another member has to revoke first (``partitionsTransferringOwnership``).

    Before 3.7.1 that is every partition above the quota of its owner, even if the same member gets it back.
    """
    transferring = np.empty(len(added.partitions), np.bool_)
    for k in range(len(added.partitions)):
        partition = added.partitions[k]
        owner = revoked_from[partition]
        moves = owner >= 0 and (owner != added.members[k] or rules < _OWNED_SORTED)
        transferring[k] = moves or multiple_owners[partition]
    return transferring


@kernel
def _write(
    group: NumberedGroup, claims: Claims, kept: _Kept, added: Added, hidden: Flags, written: Assignments
) -> Assignments:
    """Append the group's lists: the partitions that a member keeps, then those added to it that are not hidden."""
    member_count, offsets = len(group.members), written.offsets
    for member in range(member_count):
        offsets[group.members[member] + 1] = kept.counts[member]
    for k in range(len(hidden)):
        if hidden[k]:
            offsets[group.members[added.members[k]] + 1] -= 1
    for m in range(group.first_member, group.first_member + member_count):
        offsets[m + 1] += offsets[m]
    written = with_room(written, offsets[group.first_member + member_count])
    topics, partitions = written.topics, written.partitions
    cursor = np.empty(member_count, np.int32)
    for i in range(member_count):
        member = group.in_map_order[i]
        place = offsets[group.members[member]]
        for k in range(kept.offsets[i], kept.offsets[i + 1]):
            topics[place] = claims.topics[kept.partitions[k]]
            partitions[place] = claims.numbers[kept.partitions[k]]
            place += 1
        cursor[member] = place
    for k in range(len(hidden)):
        if not hidden[k]:
            place = cursor[added.members[k]]
            cursor[added.members[k]] += 1
            topics[place] = claims.topics[added.partitions[k]]
            partitions[place] = claims.numbers[added.partitions[k]]
    return written
