"""The rebalances that a group needs until its members own what an assignor assigns them.

With the eager protocol it is one: all members revoke everything before they join. With the cooperative protocol
(KIP-429) members join with the partitions that they own, and the leader assigns a partition that changes its owner to
no member. Its owner revokes it and rejoins, and the next rebalance assigns it. In ``ConsumerCoordinator`` (3.9.2,
4.3.1):

1. Before it joins, an eager member revokes everything (``onJoinPrepare``).
2. It joins with the partitions that it still owns, and the generation of the last rebalance (``metadata``).
3. If its assignment contains a topic that it does not subscribe to, it ignores the whole assignment and rejoins
   (``onJoinComplete``). Before it does, it revokes partitions of topics that it does not subscribe to
   (``onJoinPrepare``).
4. Otherwise it accepts the assignment. If a partition that a cooperative member joined with is missing from it, the
   member revokes that partition and rejoins (``onJoinComplete``).

If one member rejoins, all do. In the first rebalance cooperative members send all partitions they owned before, even
those of topics to which they no longer subscribe.
"""

from collections.abc import Callable, Iterator, Sequence
from enum import Enum, auto
from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.election import PreferenceLists
from rebalance_sim.kafka.groups import AssignmentFailure, AssignmentOutcome, Assignments, Groups
from rebalance_sim.kafka.runtime.kernel import kernel
from rebalance_sim.kafka.runtime.lists import gather, list_offsets, take_lists, take_strings
from rebalance_sim.kafka.runtime.sorting import stable_order
from rebalance_sim.kafka.runtime.strings import Flags, Ints, Ints32

MOST_REBALANCES = 20
"""Rebalances of a group that are computed.

Two are the rule. In 40,000 random groups, three are the most without racks and without quirks of the assignor. With
racks and different subscriptions, each rebalance revokes a partition outside its owner's rack, and balancing may assign
it back: one in a thousand small groups rebalances for ever; of groups of a hundred members, one in three needs dozens
of rebalances or rebalances for ever. So does a group in which a member without topics is assigned partitions, which it
ignores.
"""
GOES_ON = f"members ask for another rebalance after {MOST_REBALANCES} still"


class RebalanceProtocol(Enum):
    """The protocol by which members hand over partitions."""

    EAGER = auto()
    """Members revoke all partitions before they join."""
    COOPERATIVE = auto()
    """Members revoke the partitions that change their owner, and rejoin (KIP-429)."""
    RECONCILIATION = auto()
    """The coordinator reconciles each member on its own, by heartbeat responses (KIP-848)."""


class Rebalance(NamedTuple):
    """One rebalance of the groups of a batch that need one."""

    groups: Ints32
    """Indices of the groups."""
    members: Ints32
    """Indices of their members; the lists below are in this order."""
    outcome: AssignmentOutcome
    """The result of the assignor."""
    last: Flags
    """By group: whether the assignor does not fail and no member rejoins."""
    revoked: Assignments | None = None
    """Partitions that each member revokes, before it joins and after the assignment; sorted. None for eager groups."""
    added: Assignments | None = None
    """Partitions that are new to each member; sorted. None for eager groups."""


class RebalanceSummary(NamedTuple):
    """The rebalances of each group of a batch, summarized."""

    assignments: Assignments
    """The assignment of the last rebalance."""
    errors: Ints32
    """The ``AssignmentFailure`` of the last rebalance."""
    rebalances: Ints32
    """Number of rebalances; at MOST_REBALANCES there may be more."""
    ended: Flags
    """Whether the assignor does not fail and no member rejoins."""
    revoked: Ints
    """Partitions that members revoke in all rebalances."""


_NONE = int(AssignmentFailure.NONE)

Assign = Callable[[Groups, Ints32], AssignmentOutcome]
"""Assigns groups as they have joined; the members have these indices in the batch."""


def rebalances(
    protocol: RebalanceProtocol, groups: Groups, ranks: Ints, silent: Flags, assign: Assign
) -> Iterator[Rebalance]:
    """Yield the rebalances of a batch, until no member of any group rejoins.

    ``groups.owned`` holds the partitions owned before the first rebalance, ``ranks`` is ``TopicArrays.ranks``, and
    ``silent`` marks the members that do not send the leader the partitions they own: with a cooperative assignor, the
    members that follow the eager protocol. The first rebalance includes all groups. The iterator is lazy.
    """
    numbers = np.arange(len(groups.members) - 1, dtype=np.int32)
    members = np.arange(len(groups.member_racks), dtype=np.int32)
    if protocol is not RebalanceProtocol.COOPERATIVE:
        sent_groups = groups._replace(owned=_sent_owned(groups, silent)) if silent.any() else groups
        outcome = assign(sent_groups, members)
        yield Rebalance(numbers, members, outcome, outcome.errors == AssignmentFailure.NONE)
        return
    for number in range(MOST_REBALANCES):
        if number > 0 and len(numbers) == 0:
            return
        sent = _sent_owned(groups, silent)
        outcome = assign(groups._replace(owned=sent), members)
        after = _accept_assignments(groups, ranks, sent, outcome)
        again = after.joins_again & (outcome.errors == AssignmentFailure.NONE)
        last = ~again & (outcome.errors == AssignmentFailure.NONE)
        yield Rebalance(numbers, members, outcome, last, after.revoked, after.added)
        stay = np.repeat(again, np.diff(groups.members))
        joined = groups._replace(owned=after.owned, generations=_next_generations(groups))
        groups, silent, numbers, members = take_groups(joined, again), silent[stay], numbers[again], members[stay]


def summarize_rebalances(
    protocol: RebalanceProtocol, groups: Groups, ranks: Ints, all_rebalances: Sequence[Rebalance]
) -> RebalanceSummary:
    """Summarize the results of ``rebalances`` for a batch."""
    n_groups = len(groups.members) - 1
    errors, ended = np.zeros(n_groups, np.int32), np.zeros(n_groups, np.bool_)
    counts, revoked = np.zeros(n_groups, np.int32), np.zeros(n_groups, np.int64)
    for rebalance in all_rebalances:
        counts[rebalance.groups] += 1
        errors[rebalance.groups] = rebalance.outcome.errors
        ended[rebalance.groups] = rebalance.last
        if rebalance.revoked is not None:
            sizes = np.diff(groups.members)[rebalance.groups]
            revoked[rebalance.groups] += _count(list_offsets(sizes), rebalance.revoked)
    assignments = _last_assignments(all_rebalances)
    if protocol is RebalanceProtocol.EAGER:
        revoked = _count(groups.members, groups.owned)
    if protocol is RebalanceProtocol.RECONCILIATION:
        revoked = _count(
            groups.members, _accept_assignments(groups, ranks, groups.owned, all_rebalances[-1].outcome).revoked
        )
    return RebalanceSummary(assignments, errors, counts, ended, revoked)


def _count(members: Ints32, lists: Assignments) -> Ints:
    """Return the number of partitions by group."""
    return np.diff(lists.offsets[members]).astype(np.int64)


def _last_assignments(all_rebalances: Sequence[Rebalance]) -> Assignments:
    lists = [rebalance.outcome.assignments for rebalance in all_rebalances]
    if len(lists) == 1:
        return lists[0]
    starts, lengths = lists[0].offsets[:-1].copy(), np.diff(lists[0].offsets)
    before = len(lists[0].topics)
    for rebalance, assignments in zip(all_rebalances[1:], lists[1:], strict=True):
        starts[rebalance.members] = before + assignments.offsets[:-1]
        lengths[rebalance.members] = np.diff(assignments.offsets)
        before += len(assignments.topics)
    offsets, places = gather(starts, lengths)
    topics = np.concatenate([assignments.topics for assignments in lists])
    partitions = np.concatenate([assignments.partitions for assignments in lists])
    return Assignments(offsets, topics[places], partitions[places])


# ---- one rebalance from the view of its members


@kernel
def eager_members(preferences: PreferenceLists, cooperative: Flags) -> Flags:
    """Return, by list of preferences, whether its members follow the eager protocol: if an assignor is not cooperative.

    ``ConsumerCoordinator``'s constructor picks the highest protocol that all assignors of the consumer support. By
    default an assignor supports only the eager one. ``cooperative`` has the protocols whose assignor is cooperative.
    """
    eager = np.zeros(len(preferences.offsets) - 1, np.bool_)
    for of in range(len(eager)):
        for k in range(preferences.offsets[of], preferences.offsets[of + 1]):
            eager[of] = eager[of] or not cooperative[preferences.protocols[k]]
    return eager


@kernel
def _sent_owned(groups: Groups, silent: Flags) -> Assignments:
    """Return the owned partitions that members send to the leader, in the order in which they own them."""
    owned = groups.owned
    sent = _new_lists(len(silent), len(owned.topics))
    filled = 0
    for m in range(len(silent)):
        low, high = owned.offsets[m], owned.offsets[m + 1]
        if not silent[m]:
            sent.topics[filled : filled + high - low] = owned.topics[low:high]
            sent.partitions[filled : filled + high - low] = owned.partitions[low:high]
            filled += high - low
        sent.offsets[m + 1] = filled
    return _filled(sent)


class _AfterAssignment(NamedTuple):
    """The state of members after they get their assignment (``onJoinComplete``)."""

    owned: Assignments
    revoked: Assignments
    added: Assignments
    joins_again: Flags
    """By group."""


@kernel
def _accept_assignments(groups: Groups, ranks: Ints, sent: Assignments, outcome: AssignmentOutcome) -> _AfterAssignment:
    assigned = outcome.assignments
    n_members = len(groups.member_racks)
    by_rank = np.empty(len(ranks), np.int32)
    for topic in range(len(ranks)):
        by_rank[ranks[topic]] = topic
    owned = _new_lists(n_members, len(sent.topics) + len(assigned.topics))
    revoked, added = _new_lists(n_members, len(groups.owned.topics)), _new_lists(n_members, len(assigned.topics))
    joins_again = np.zeros(len(groups.members) - 1, np.bool_)
    subscribed_by = np.full(len(ranks), -1, np.int32)
    for g in range(len(joins_again)):
        for m in range(groups.members[g], groups.members[g + 1]):
            _mark_subscribed(groups, m, subscribed_by)
            accepts = True
            for topic in assigned.topics[assigned.offsets[m] : assigned.offsets[m + 1]]:
                accepts = accepts and subscribed_by[topic] == m
            had, joined_with = _sorted_set(groups.owned, m, ranks), _sorted_set(sent, m, ranks)
            has = _sorted_set(assigned, m, ranks) if accepts else _subscribed(joined_with, m, subscribed_by, by_rank)
            if outcome.errors[g] != _NONE:
                has = joined_with = had  # The leader fails: nothing changes.
            lost = _difference(joined_with, has)
            kept = _difference(joined_with, lost)
            joins_again[g] = joins_again[g] or not accepts or len(lost) > 0
            _put(owned, m, has, by_rank)
            _put(revoked, m, _difference(had, kept), by_rank)
            _put(added, m, _difference(has, kept), by_rank)
    return _AfterAssignment(_filled(owned), _filled(revoked), _filled(added), joins_again)


@kernel
def _mark_subscribed(groups: Groups, member: int, subscribed_by: Ints32) -> None:
    of_members, offsets, topics = groups.subscriptions
    of = of_members[member]
    for topic in topics[offsets[of] : offsets[of + 1]]:
        subscribed_by[topic] = member


@kernel
def _subscribed(partitions: Ints, member: int, subscribed_by: Ints32, by_rank: Ints32) -> Ints:
    """Return the partitions of a sorted set whose topic the member subscribes to."""
    subscribed = np.empty(len(partitions), np.int64)
    n = 0
    for partition in partitions:
        if subscribed_by[by_rank[partition >> 32]] == member:
            subscribed[n] = partition
            n += 1
    return subscribed[:n]


@kernel
def _sorted_set(lists: Assignments, member: int, ranks: Ints) -> Ints:
    """Return a member's distinct partitions as sorted keys: the topic's rank, then the partition in 32 bits."""
    low, high = lists.offsets[member], lists.offsets[member + 1]
    partitions = np.empty(high - low, np.int64)
    for k in range(low, high):
        partitions[k - low] = ranks[lists.topics[k]] << 32 | np.int64(lists.partitions[k])
    partitions[:] = partitions[stable_order(partitions)]
    n = 0
    for partition in partitions:
        if n == 0 or partition != partitions[n - 1]:
            partitions[n] = partition
            n += 1
    return partitions[:n]


@kernel
def _difference(some: Ints, excluded: Ints) -> Ints:
    """Return the partitions of one sorted set that are not in another."""
    remaining = np.empty(len(some), np.int64)
    n, k = 0, 0
    for partition in some:
        while k < len(excluded) and excluded[k] < partition:
            k += 1
        if k == len(excluded) or excluded[k] != partition:
            remaining[n] = partition
            n += 1
    return remaining[:n]


@kernel
def _new_lists(n_members: int, room: int) -> Assignments:
    return Assignments(np.zeros(n_members + 1, np.int32), np.empty(room, np.int32), np.empty(room, np.int32))


@kernel
def _put(lists: Assignments, member: int, partitions: Ints, by_rank: Ints32) -> None:
    """Append the partitions of the next member."""
    place = lists.offsets[member]
    for partition in partitions:
        lists.topics[place], lists.partitions[place] = by_rank[partition >> 32], partition & 0xFFFFFFFF
        place += 1
    lists.offsets[member + 1] = place


@kernel
def _filled(lists: Assignments) -> Assignments:
    """Return lists without their unused room."""
    end = lists.offsets[-1]
    return Assignments(lists.offsets, lists.topics[:end], lists.partitions[:end])


# ---- subsets of groups


def _next_generations(groups: Groups) -> Ints:
    """Return the members' generations after a rebalance: one more than the highest of the group."""
    generations = groups.generations.copy()
    with_members = np.flatnonzero(np.diff(groups.members))
    if len(with_members):
        latest = np.maximum.reduceat(generations, groups.members[with_members])
        generations[:] = np.repeat(latest + 1, np.diff(groups.members)[with_members])
    return generations


def take_groups(groups: Groups, chosen: Flags) -> Groups:
    """Return the chosen groups."""
    sizes = np.diff(groups.members)
    members = np.flatnonzero(np.repeat(chosen, sizes))
    offsets, owned = take_lists(groups.owned.offsets, members)
    return Groups(
        list_offsets(sizes[chosen]),
        take_strings(groups.member_ids, members),
        groups.instance_first[members],
        take_strings(groups.sort_ids, members),
        groups.member_racks[members],
        groups.subscriptions._replace(of_members=groups.subscriptions.of_members[members]),
        Assignments(offsets, groups.owned.topics[owned], groups.owned.partitions[owned]),
        groups.generations[members],
    )
