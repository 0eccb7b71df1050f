"""The lag of members and its balance in arrays, for a batch of groups.

Lag is a number of records from 0, or UNKNOWN. A sum adds up the known lags; it is UNKNOWN if there are none, or if it
does not fit into 64 bits.
"""

from typing import NamedTuple

import numpy as np

from rebalance_sim.engine.tables.percentiles import above_p99
from rebalance_sim.kafka.runtime.lists import list_offsets, take_lists
from rebalance_sim.kafka.runtime.strings import Flags, Ints

UNKNOWN = -1
NOBODY = -1


class Entries(NamedTuple):
    """The entries of lists: which list each is in, and what it is."""

    of: Ints
    items: Ints


class Partitions(NamedTuple):
    """The partitions of all groups, sorted by group, topic and number."""

    groups: Ints
    topics: Ints
    """Topics are numbered by group and name."""
    lags: Ints
    have_offsets: Flags
    are_negative: Flags
    """Whether the committed offset is above the log end."""
    owners: Ints
    """The member that owned the partition before, or NOBODY."""


class Holders(NamedTuple):
    """The members of each assignment, sorted by assignment and member id. A group has an assignment per strategy."""

    assignments: Ints
    members: Ints
    """Their places among the members that have joined, or NOBODY: it may take any partition."""
    partitions: Entries
    """The partitions that are assigned to each."""


class GroupLag(NamedTuple):
    """Figures of each group."""

    partitions: Ints
    lag_partitions: Ints
    unknown_partitions: Ints
    negative_partitions: Ints
    lag: Ints
    owned_max_lag: Ints
    """Largest lag of what a member owned before."""


class MemberLag(NamedTuple):
    """Figures of each holder. A partition that is assigned to it twice counts twice."""

    partitions: Ints
    lag_partitions: Ints
    unknown_partitions: Ints
    lag: Ints
    largest: Ints
    """The first of the partitions with the most lag; UNKNOWN if none has any."""


class LagBalance(NamedTuple):
    """Figures of each assignment. A partition that is assigned twice counts once."""

    members: Ints
    assigned_lag: Ints
    """Lag of the assigned partitions; 0 if there are none."""
    moved_lag: Ints
    max_partition_lag: Ints
    max_lag: Ints
    most_lagging: Ints
    """The first of the holders with the most lag; UNKNOWN if none has any."""
    min_lag: Ints
    p99_lag: Ints
    held_lag: Ints
    """Sum over the holders."""
    max_lag_bound: Ints


class AssignmentPartitions(NamedTuple):
    """The partitions of each assignment, each once."""

    assignments: Ints
    partitions: Ints
    lags: Ints
    move: Flags
    """Whether the partition had an owner, to which it is not assigned."""


def owners(claims: Entries, precedence: Ints, n_partitions: int) -> Ints:
    """Return the owner of each partition: the claiming member that comes first in precedence, or NOBODY.

    ``precedence`` lists all members, in the order of ``rebalance_sim.kafka.balance``.
    """
    places = np.argsort(precedence)
    first = np.full(n_partitions, len(places))
    np.minimum.at(first, claims.items, places[claims.of])
    return np.append(precedence, NOBODY)[first]


def group_lag(partitions: Partitions, n: int, group_of_member: Ints) -> GroupLag:
    """Sum up by group."""
    groups, lags, have_offsets = partitions.groups, partitions.lags, partitions.have_offsets
    owned = partitions.owners != NOBODY
    lags_of_owners = _sums(lags[owned], partitions.owners[owned], len(group_of_member))
    return GroupLag(
        np.bincount(groups[have_offsets], minlength=n),
        np.bincount(groups[lags > 0], minlength=n),
        np.bincount(groups[have_offsets & (lags == UNKNOWN)], minlength=n),
        np.bincount(groups[partitions.are_negative], minlength=n),
        _sums(lags, groups, n),
        _largest(lags_of_owners, group_of_member, n),
    )


def member_lag(partitions: Partitions, holders: Holders) -> MemberLag:
    """Sum up by holder."""
    n, (of, assigned) = len(holders.members), holders.partitions
    lags, counts = partitions.lags[assigned], np.bincount(of, minlength=n)
    most = np.flatnonzero((lags > 0) & (lags == _largest(lags, of, n)[of]))
    first = np.full(n, len(partitions.lags))
    np.minimum.at(first, of[most], assigned[most])
    return MemberLag(
        counts,
        np.bincount(of[lags > 0], minlength=n),
        np.bincount(of[lags == UNKNOWN], minlength=n),
        np.where(counts == 0, 0, _sums(lags, of, n)),
        np.where(first == len(partitions.lags), UNKNOWN, first),
    )


def lag_balance(
    partitions: Partitions, holders: Holders, assigned: AssignmentPartitions, lags_held: Ints, subscribed: Entries
) -> LagBalance:
    """Compare the members of each assignment; ``subscribed`` are the topics of each member that has joined."""
    members, of = np.bincount(holders.assignments), assigned.assignments
    n = len(members)
    is_empty = np.bincount(of, minlength=n) == 0
    assigned_lag = np.where(is_empty, 0, _sums(assigned.lags, of, n))
    max_partition_lag = np.where(is_empty, 0, _largest(assigned.lags, of, n))
    by_lag = np.lexsort((-lags_held, holders.assignments))
    first, known = list_offsets(members)[:-1], np.bincount(holders.assignments[lags_held != UNKNOWN], minlength=n)
    max_lag = lags_held[by_lag[first]]
    # A member without partitions is known to have no lag; that is no information if no partition's lag is known.
    is_known = (assigned_lag != UNKNOWN) & (max_lag != UNKNOWN)
    bound = np.maximum(max_partition_lag, _bound_of_takers(partitions, holders, assigned, assigned_lag, subscribed))
    figures = (
        max_lag,
        lags_held[by_lag[first + known - 1]],
        lags_held[by_lag[first + above_p99(known)]],
        _sums(lags_held, holders.assignments, n),
        bound,
    )
    most, least, p99, held, bound = (np.where(is_known, each, UNKNOWN) for each in figures)
    return LagBalance(
        members,
        assigned_lag,
        _sums(assigned.lags[assigned.move], of[assigned.move], n),
        max_partition_lag,
        most,
        np.where(max_lag > 0, by_lag[first], UNKNOWN),
        least,
        p99,
        held,
        bound,
    )


def assigned_partitions(partitions: Partitions, holders: Holders) -> AssignmentPartitions:
    """Return the assigned partitions."""
    of, of_holders = holders.partitions
    keys, places = np.unique(pairs(holders.assignments[of], of_holders), return_inverse=True)
    assignments, partition_numbers = split(keys)
    owners_before = partitions.owners[partition_numbers]
    move = owners_before != NOBODY
    move[places[holders.members[of] == owners_before[places]]] = False
    return AssignmentPartitions(assignments, partition_numbers, partitions.lags[partition_numbers], move)


def _bound_of_takers(
    partitions: Partitions, holders: Holders, assigned: AssignmentPartitions, assigned_lag: Ints, subscribed: Entries
) -> Ints:
    """Return a lower bound of the largest lag of a member, over all possible assignments.

    Some member has at least the mean lag of all members that may have lag, and at least the mean lag of a topic over
    the members that may have its partitions. With more partitions than members, two of the n + 1 partitions with the
    most lag share a member.
    """
    n = len(assigned_lag)
    has_limits = np.bincount(holders.assignments[holders.members == NOBODY], minlength=n) == 0
    takers, bound_of_topics = _takers(partitions, holders, assigned, has_limits, subscribed)
    takers = np.maximum(np.where(has_limits, takers, np.bincount(holders.assignments)), 1)
    behind = assigned.lags > 0
    of, lags = assigned.assignments[behind], assigned.lags[behind]
    counts, lags = np.bincount(of, minlength=n), lags[np.lexsort((-lags, of))]
    several = np.flatnonzero(counts > takers)
    last = list_offsets(counts)[several] + takers[several]
    # A sum that does not fit into 64 bits is negative.
    shared = np.zeros(n, np.int64)
    shared[several] = lags[last - 1] + lags[last]
    return np.maximum(np.maximum(shared, bound_of_topics), _ceiling(assigned_lag, takers))


def _takers(
    partitions: Partitions, holders: Holders, assigned: AssignmentPartitions, has_limits: Flags, subscribed: Entries
) -> tuple[Ints, Ints]:
    """Return the number of members that may have lag, and the bound of the topics, where all subscriptions are known.

    A member may be assigned partitions of a topic if it subscribes to the topic or has a partition of it.
    """
    n, is_limited = len(has_limits), has_limits[holders.assignments]
    limited, kept = np.flatnonzero(is_limited), is_limited[holders.partitions.of]
    offsets, places = take_lists(
        list_offsets(np.bincount(subscribed.of, minlength=max(holders.members, default=0) + 1)),
        holders.members[limited],
    )
    held = pairs(holders.partitions.of[kept], partitions.topics[holders.partitions.items[kept]])
    may = pairs(np.repeat(limited, np.diff(offsets)), subscribed.items[places])
    takers, topics = split(np.unique(np.concatenate([held, may]), return_index=True)[0])
    of_topics, places = np.unique(pairs(holders.assignments[takers], topics), return_inverse=True)
    in_limited = has_limits[assigned.assignments]
    of = np.searchsorted(of_topics, pairs(assigned.assignments, partitions.topics[assigned.partitions])[in_limited])
    lags = _sums(assigned.lags[in_limited], of, len(of_topics))
    of_lag = holders.assignments[np.unique(takers[lags[places] > 0])]
    bounds = _ceiling(lags, np.bincount(places))
    return np.bincount(of_lag, minlength=n), _largest(bounds, split(of_topics)[0], n)


def _ceiling(totals: Ints, parts: Ints) -> Ints:
    return -(-totals // parts)


def _sums(lags: Ints, of: Ints, n: int) -> Ints:
    known = lags != UNKNOWN
    lags, of = lags[known], of[known]
    total = np.zeros(n, np.int64)
    np.add.at(total, of, lags)
    # A sum that does not fit is wrong by multiples of 2^64, and its approximation is not.
    fits = np.abs(np.bincount(of, lags, n) - total) < 2**62
    return np.where(fits & (np.bincount(of, minlength=n) > 0), total, UNKNOWN)


def _largest(lags: Ints, of: Ints, n: int) -> Ints:
    largest = np.full(n, UNKNOWN)
    np.maximum.at(largest, of, lags)
    return largest


def pairs(first: Ints, second: Ints) -> Ints:
    """Return each pair as one number, which sorts as the pair does."""
    return first << 32 | second & 0xFFFFFFFF


def split(pairs: Ints) -> tuple[Ints, Ints]:
    """Return both numbers of each pair."""
    return pairs >> 32, pairs & 0xFFFFFFFF
