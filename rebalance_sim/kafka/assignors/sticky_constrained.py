"""The sticky assignors since 2.4 where all members want the same topics.

``AbstractStickyAssignor.ConstrainedAssignmentBuilder``: every member gets ``minQuota`` partitions, some one more.
Members keep what they own up to that; the rest goes round the members that have too few, by topic and number, where
racks matter first to members in a rack of the partition.
"""

from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.assignors.sticky_claims import Claims, Owned
from rebalance_sim.kafka.assignors.sticky_group import Numbering, Written, with_room
from rebalance_sim.kafka.assignors.sticky_racks import Racks, members_by_rack, mismatch, next_in_rack
from rebalance_sim.kafka.groups import Failure
from rebalance_sim.kafka.kernel import kernel
from rebalance_sim.kafka.strings import Flags, Ints32, sort_by_key

_NONE = int(Failure.NONE)
_ILLEGAL_STATE = int(Failure.ILLEGAL_STATE)
_NOBODY = -1


class _Quotas(NamedTuple):
    least: int
    """``minQuota``."""
    most: int
    """``maxQuota``."""
    members_with_more: int
    """Members that get ``maxQuota`` where that is more."""


class _Kept(NamedTuple):
    """What members keep, by place in map order."""

    offsets: Ints32
    partitions: Ints32
    counts: Ints32
    """Partitions of each member, by number; grows as others are added."""
    released: Ints32
    """Member (by number) that gives up the partition, or nobody (``maybeRevokedPartitions``); empty where there are
    no claims."""
    with_more: int
    """Members that keep ``maxQuota`` where that is more."""
    may_get_more: Flags
    """Members, by number, with just ``minQuota`` that may get another."""
    have_too_few: Flags
    """Members, by number, with less than ``minQuota``."""


class Added(NamedTuple):
    """Partitions that go to new owners, in the order in which they are handed out."""

    partitions: Ints32
    members: Ints32
    """Member, by number."""


@kernel
def _keep(group: Numbering, number_of: Ints32, claims: Claims, owned: Owned, racks: Racks, quotas: _Quotas) -> _Kept:
    """Let members keep what they own, within the quotas and their racks (``assignOwnedPartitions``).

    Each member's partitions by number, then by topic.
    """
    n_members, n_known, n_topics = len(group.members), group.first_partition[-1], len(group.topics)
    offsets = np.zeros(n_members + 1, np.int32)
    kept, keys = np.empty(len(claims.partitions), np.int32), np.empty(len(claims.partitions), np.int64)
    counts = np.zeros(n_members, np.int32)
    released = np.full(len(claims.topics) if len(claims.partitions) > 0 else 0, _NOBODY, np.int32)
    may_get_more, have_too_few = np.zeros(n_members, np.bool_), np.zeros(n_members, np.bool_)
    with_more, filled = 0, 0
    for i in range(n_members):
        member = group.in_map_order[i]
        start = filled
        for k in range(claims.offsets[i], claims.offsets[i + 1]):
            if owned.holds[k]:
                partition = claims.partitions[k]
                if racks.matter and mismatch(racks, claims, member, partition, n_known):
                    released[partition] = member
                elif not owned.claimed_twice[partition]:
                    kept[filled] = partition
                    keys[filled] = int(claims.numbers[partition]) * n_topics + number_of[claims.topics[partition]]
                    filled += 1
        if filled > start + 1:
            sort_by_key(kept[start:filled], keys[start:filled])
        size = filled - start
        if size < quotas.least:
            have_too_few[member] = True
        elif size >= quotas.most and with_more < quotas.members_with_more:
            with_more += 1
            if with_more == quotas.members_with_more:
                may_get_more[:] = False
            size = quotas.most
        else:
            size = quotas.least
            may_get_more[member] = with_more < quotas.members_with_more
        for k in range(start + size, filled):
            released[kept[k]] = member
        filled = start + size
        counts[member] = size
        offsets[i + 1] = filled
    return _Kept(offsets, kept[:filled], counts, released, with_more, may_get_more, have_too_few)


@kernel
def _unassigned(group: Numbering, number_of: Ints32, claims: Claims, kept: _Kept, racks: Racks) -> Ints32:
    """Partitions that nobody keeps, by topic and number; those in reach of few members first, if members have racks.

    ``getUnassignedPartitions`` walks the kept partitions beside all others: at one that is not there any more it
    stops looking, and takes all that follow for unassigned.
    """
    n_known = group.first_partition[-1]
    is_kept = np.zeros(n_known, np.bool_)
    blind_from = n_known
    for partition in kept.partitions:
        if partition < n_known:
            is_kept[partition] = True
        else:
            blind_from = min(blind_from, group.first_partition[number_of[claims.topics[partition]] + 1])
    unassigned = np.empty(n_known, np.int32)
    n = 0
    for partition in range(n_known):
        if partition >= blind_from or not is_kept[partition]:
            unassigned[n] = partition
            n += 1
    unassigned = unassigned[:n]
    if len(racks.in_reach) > 0:
        return unassigned[np.argsort(racks.in_reach[unassigned], kind="mergesort")]
    return unassigned


class _Unfilled(NamedTuple):
    """Members that may get partitions."""

    too_few: Ints32
    """``unfilledMembersWithUnderMinQuotaPartitions``, by id; the first ``counts[0]``."""
    may_get_more: Ints32
    """``unfilledMembersWithExactlyMinQuotaPartitions``; from ``counts[1]`` to ``counts[2]``."""
    counts: Ints32
    """The three above, and at 3 the members with ``maxQuota`` where that is more."""


@kernel
def _unfilled(kept: _Kept) -> _Unfilled:
    n = len(kept.counts)
    unfilled = _Unfilled(np.empty(n, np.int32), np.empty(n, np.int32), np.zeros(4, np.int32))
    for member in range(n):
        if kept.have_too_few[member]:
            unfilled.too_few[unfilled.counts[0]] = member
            unfilled.counts[0] += 1
        if kept.may_get_more[member]:
            unfilled.may_get_more[unfilled.counts[2]] = member
            unfilled.counts[2] += 1
    unfilled.counts[3] = kept.with_more
    return unfilled


@kernel
def _add_in_racks(
    added: Added,
    unassigned: Ints32,
    claims: Claims,
    kept: _Kept,
    racks: Racks,
    quotas: _Quotas,
    unfilled: _Unfilled,
    n_racks: int,
) -> tuple[int, Ints32]:
    """Hand out what fits into racks (``assignRackAwareRoundRobin``): how many, and what is left."""
    left = np.empty(len(unassigned), np.int32)
    n_left, n_added, following = 0, 0, 0
    few_by_rack = members_by_rack(racks, kept.have_too_few, n_racks)
    more_by_rack = members_by_rack(racks, kept.may_get_more, n_racks)
    few, more, counts = unfilled.too_few, unfilled.may_get_more, unfilled.counts
    for partition in unassigned:
        member = _NOBODY
        place = next_in_rack(racks, claims, partition, few, counts[0], following, few_by_rack)
        if place >= 0:
            member = few[place]
            size = kept.counts[member] + 1
            if size >= quotas.least:
                few[place : counts[0] - 1] = few[place + 1 : counts[0]].copy()
                counts[0] -= 1
                few_by_rack[racks.of_member[member]] -= 1
                if size < quotas.most and counts[3] < quotas.members_with_more:
                    more[counts[2]] = member
                    counts[2] += 1
                    more_by_rack[racks.of_member[member]] += 1
            else:
                place += 1
            following = 0 if counts[0] == 0 else place % counts[0]
        elif counts[2] > counts[1]:
            waiting = more[counts[1] : counts[2]]
            place = next_in_rack(racks, claims, partition, waiting, len(waiting), 0, more_by_rack)
            if place >= 0:
                member = waiting[place]
                if kept.counts[member] + 1 == quotas.most:
                    waiting[place:-1] = waiting[place + 1 :].copy()
                    counts[2] -= 1
                    more_by_rack[racks.of_member[member]] -= 1
                    counts[3] += 1
                    if counts[3] == quotas.members_with_more:
                        counts[1], counts[2] = 0, 0
        if member == _NOBODY:
            left[n_left] = partition
            n_left += 1
        else:
            added.partitions[n_added] = partition
            added.members[n_added] = member
            kept.counts[member] += 1
            n_added += 1
    return n_added, left[:n_left]


@kernel
def _add_in_turn(
    added: Added, n_added: int, unassigned: Ints32, kept: _Kept, quotas: _Quotas, unfilled: _Unfilled
) -> int:
    """Hand out the rest in turn (``assignRoundRobin``): what is thrown.

    Each round goes over the members that have too few; who has enough leaves the round at once, for the queue of those
    that may get one more.
    """
    few, more, sizes = unfilled.too_few, unfilled.may_get_more, kept.counts
    n_few, first_more, last_more, with_more = unfilled.counts
    place, stay = 0, 0
    for partition in unassigned:
        if place == n_few:
            n_few = stay
            place, stay = 0, 0
        if n_few > 0:
            member = few[place]
            place += 1
            sizes[member] += 1
            if sizes[member] == quotas.least:
                more[last_more] = member
                last_more += 1
            else:
                few[stay] = member
                stay += 1
                with_more += sizes[member] == quotas.most
        elif first_more < last_more:
            member = more[first_more]
            first_more += 1
            sizes[member] += 1
            with_more += sizes[member] == quotas.most
        else:
            return _ILLEGAL_STATE
        added.partitions[n_added] = partition
        added.members[n_added] = member
        n_added += 1
    while place < n_few:
        few[stay] = few[place]
        place, stay = place + 1, stay + 1
    unfilled.counts[0], unfilled.counts[3] = stay, with_more
    return _NONE


@kernel
def _verify(kept: _Kept, quotas: _Quotas, unfilled: _Unfilled) -> int:
    """``verifyUnfilledMembers``: what is thrown."""
    if unfilled.counts[0] > 0 and unfilled.counts[3] != quotas.members_with_more:
        return _ILLEGAL_STATE
    for member in unfilled.too_few[: unfilled.counts[0]]:
        if kept.counts[member] != quotas.least:
            return _ILLEGAL_STATE
    return _NONE


@kernel
def assign_constrained(
    group: Numbering,
    first_member: int,
    number_of: Ints32,
    claims: Claims,
    owned: Owned,
    racks: Racks,
    n_racks: int,
    cooperative: bool,
    written: Written,
) -> tuple[int, Written]:
    """Assign a group and write its lists: what is thrown, and the answer so far."""
    n_members, n_known = len(group.members), group.first_partition[-1]
    extra = n_known % n_members
    quotas = _Quotas(n_known // n_members, n_known // n_members + (1 if extra > 0 else 0), extra)
    kept = _keep(group, number_of, claims, owned, racks, quotas)
    unassigned = _unassigned(group, number_of, claims, kept, racks)
    n = len(unassigned)
    added = Added(np.empty(n, np.int32), np.empty(n, np.int32))
    unfilled = _unfilled(kept)
    n_added = 0
    if racks.matter:
        n_added, unassigned = _add_in_racks(added, unassigned, claims, kept, racks, quotas, unfilled, n_racks)
    failure = _add_in_turn(added, n_added, unassigned, kept, quotas, unfilled)
    if failure == _NONE:
        failure = _verify(kept, quotas, unfilled)
    if failure != _NONE:
        return failure, written
    hidden = np.zeros(n, np.bool_)
    if cooperative and len(claims.partitions) > 0:
        hidden = _transferred(added, kept.released, owned.claimed_twice)
    return _NONE, _write(group, first_member, claims, kept, added, hidden, written)


@kernel
def _transferred(added: Added, released: Ints32, claimed_twice: Flags) -> Flags:
    """Tell which partitions somebody else has to give up first (``partitionsTransferringOwnership``)."""
    transferred = np.empty(len(added.partitions), np.bool_)
    for k in range(len(added.partitions)):
        partition = added.partitions[k]
        giver = released[partition]
        transferred[k] = (giver >= 0 and giver != added.members[k]) or claimed_twice[partition]
    return transferred


@kernel
def _write(
    group: Numbering,
    first_member: int,
    claims: Claims,
    kept: _Kept,
    added: Added,
    hidden: Flags,
    written: Written,
) -> Written:
    """Write the lists: what a member keeps, then what is new to it and not hidden."""
    n_members, offsets = len(group.members), written.offsets
    for member in range(n_members):
        offsets[group.members[member] + 1] = kept.counts[member]
    for k in range(len(hidden)):
        if hidden[k]:
            offsets[group.members[added.members[k]] + 1] -= 1
    for m in range(first_member, first_member + n_members):
        offsets[m + 1] += offsets[m]
    written = with_room(written, offsets[first_member + n_members])
    named, numbers = written.topics, written.partitions
    cursor = np.empty(n_members, np.int32)
    for i in range(n_members):
        member = group.in_map_order[i]
        place = offsets[group.members[member]]
        for k in range(kept.offsets[i], kept.offsets[i + 1]):
            named[place] = claims.topics[kept.partitions[k]]
            numbers[place] = claims.numbers[kept.partitions[k]]
            place += 1
        cursor[member] = place
    for k in range(len(hidden)):
        if not hidden[k]:
            place = cursor[added.members[k]]
            cursor[added.members[k]] += 1
            named[place] = claims.topics[added.partitions[k]]
            numbers[place] = claims.numbers[added.partitions[k]]
    return written
