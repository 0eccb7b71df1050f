"""The rebalances in which a group gets from what its members own to what an assignor gives them.

By the eager protocol it is one: all members give up everything before they join. By the cooperative one (KIP-429) a
member joins with the partitions that it has, and the leader's answer withholds those that have to change their owner.
Who has them gives them up and asks for another rebalance, which gives them out. In the words of
``ConsumerCoordinator`` (3.9.2 and 4.3.1):

1. Before it joins an eager member gives up everything (``onJoinPrepare``).
2. It joins with what it has left, and with the generation of the last rebalance (``metadata``).
3. If the answer holds a topic that it does not subscribe to, it takes nothing of it and asks for another rebalance
   (``onJoinComplete``). Before that it gives up what it does not subscribe to (``onJoinPrepare``).
4. Else it takes the answer. If that lacks something that a cooperative member joined with, the member asks for another
   rebalance (``onJoinComplete``).

When one member joins again, all do. It ends when nobody asks for another rebalance. What is owned before the first
rebalance is what cooperative members tell the leader: nothing is taken from it, whatever they subscribe to.
"""

from collections.abc import Callable, Iterator, Sequence
from enum import Enum, auto
from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.election import PreferenceLists
from rebalance_sim.kafka.groups import Assignments, Failure, Groups, Outcome
from rebalance_sim.kafka.kernel import kernel
from rebalance_sim.kafka.lists import gather, list_offsets, take_lists, take_strings
from rebalance_sim.kafka.strings import Flags, Ints, Ints32

MOST_REBALANCES = 20
"""Rebalances of a group that are looked at.

Two are the rule, and three the most without racks and quirks of the assignor, in 40,000 random groups. With racks and
different subscriptions a partition outside its owner's rack is taken away each time, and evening out may hand it back:
one of a thousand small groups takes turns for ever, of groups of a hundred members one in three takes dozens of
rebalances or has no end. Neither has a group of which a member without topics is given partitions: it refuses them.
"""


class RebalanceProtocol(Enum):
    """How members hand over partitions."""

    EAGER = auto()
    """Everybody gives up everything before it joins."""
    COOPERATIVE = auto()
    """Members give up what others are to get, and join again (KIP-429)."""
    RECONCILIATION = auto()
    """The coordinator tells each member by itself what to give up and what to take (KIP-848)."""


class Rebalance(NamedTuple):
    """One rebalance of those groups of a batch that need it."""

    groups: Ints32
    """Indices of the groups."""
    members: Ints32
    """Indices of their members; the lists below are theirs, one after the other."""
    outcome: Outcome
    """What the assignor answers."""
    last: Flags
    """By group: whether the assignor answers and nobody asks for another rebalance."""
    revoked: Assignments | None = None
    """What each member stops consuming, before it joins and after it gets the answer; sorted. Of eager groups None."""
    added: Assignments | None = None
    """What each member takes that it did not join with; sorted. Of eager groups None."""


class Course(NamedTuple):
    """How the rebalances of each group of a batch went, and where they ended."""

    assignments: Assignments
    """What each member gets in the last rebalance."""
    errors: Ints32
    """How the assignor fails in the last rebalance; ``Failure.NONE`` where it answers."""
    rebalances: Ints32
    """How many there are; at MOST_REBALANCES it may go on."""
    ended: Flags
    """Whether the assignor answers and nobody asks for another rebalance."""
    revoked: Ints
    """Partitions that members stop consuming on the way."""


_NONE = int(Failure.NONE)

Assign = Callable[[Groups, Ints32], Outcome]
"""Answers groups as they have joined, whose members have these indices in the batch."""


def rebalances(
    protocol: RebalanceProtocol, groups: Groups, ranks: Ints, eager: Flags, assign: Assign
) -> Iterator[Rebalance]:
    """Let the members of every group of a batch join until nobody asks for another rebalance.

    ``groups.owned`` is what the members have before, and ``ranks`` those of ``Topics``. ``eager`` tells which members
    follow the eager protocol although the assignor is cooperative. The first rebalance is one of all groups; nothing
    is computed before it is asked for.
    """
    numbers = np.arange(len(groups.members) - 1, dtype=np.int32)
    members = np.arange(len(groups.member_hashes), dtype=np.int32)
    if protocol is not RebalanceProtocol.COOPERATIVE:
        outcome = assign(groups, members)
        yield Rebalance(numbers, members, outcome, outcome.errors == Failure.NONE)
        return
    for number in range(MOST_REBALANCES):
        if number > 0 and len(numbers) == 0:
            return
        sent = _send(groups, eager)
        outcome = assign(groups._replace(owned=sent), members)
        answered = _take_answer(groups, ranks, sent, outcome)
        again = answered.joins_again & (outcome.errors == Failure.NONE)
        last = ~again & (outcome.errors == Failure.NONE)
        yield Rebalance(numbers, members, outcome, last, answered.revoked, answered.added)
        stay = np.repeat(again, np.diff(groups.members))
        after = groups._replace(owned=answered.owned, generations=_next_generations(groups))
        groups, eager, numbers, members = _take_groups(after, again), eager[stay], numbers[again], members[stay]


def course(protocol: RebalanceProtocol, groups: Groups, ranks: Ints, found: Sequence[Rebalance]) -> Course:
    """Sum up what ``rebalances`` found for a batch."""
    n_groups = len(groups.members) - 1
    errors, ended = np.zeros(n_groups, np.int32), np.zeros(n_groups, np.bool_)
    counts, revoked = np.zeros(n_groups, np.int32), np.zeros(n_groups, np.int64)
    for rebalance in found:
        counts[rebalance.groups] += 1
        errors[rebalance.groups] = rebalance.outcome.errors
        ended[rebalance.groups] = rebalance.last
        if rebalance.revoked is not None:
            sizes = np.diff(groups.members)[rebalance.groups]
            revoked[rebalance.groups] += _count(list_offsets(sizes), rebalance.revoked)
    assignments = _last_assignments(found)
    if protocol is RebalanceProtocol.EAGER:
        revoked = _count(groups.members, groups.owned)
    if protocol is RebalanceProtocol.RECONCILIATION:
        revoked = _count(groups.members, _take_answer(groups, ranks, groups.owned, found[-1].outcome).revoked)
    return Course(assignments, errors, counts, ended, revoked)


def _count(members: Ints32, lists: Assignments) -> Ints:
    """Partitions by group."""
    return np.diff(lists.offsets[members]).astype(np.int64)


def _last_assignments(found: Sequence[Rebalance]) -> Assignments:
    lists = [rebalance.outcome.assignments for rebalance in found]
    if len(lists) == 1:
        return lists[0]
    starts, lengths = lists[0].offsets[:-1].copy(), np.diff(lists[0].offsets)
    before = len(lists[0].topics)
    for rebalance, given in zip(found[1:], lists[1:], strict=True):
        starts[rebalance.members] = before + given.offsets[:-1]
        lengths[rebalance.members] = np.diff(given.offsets)
        before += len(given.topics)
    offsets, places = gather(starts, lengths)
    topics = np.concatenate([given.topics for given in lists])
    partitions = np.concatenate([given.partitions for given in lists])
    return Assignments(offsets, topics[places], partitions[places])


# ---- one rebalance, as its members see it


@kernel
def eager_members(preferences: PreferenceLists, cooperative: Flags) -> Flags:
    """Tell which members follow the eager protocol: those that offer an assignor that is not cooperative.

    ``ConsumerCoordinator``'s constructor takes the highest protocol that all of a consumer's assignors support, and
    one supports only the eager protocol unless it says more. ``cooperative`` tells of each protocol whether it does.
    """
    eager = np.zeros(len(preferences.offsets) - 1, np.bool_)
    for m in range(len(eager)):
        for k in range(preferences.offsets[m], preferences.offsets[m + 1]):
            eager[m] = eager[m] or not cooperative[preferences.protocols[k]]
    return eager


@kernel
def _send(groups: Groups, eager: Flags) -> Assignments:
    """What the members join with (``onJoinPrepare``), in the order in which they have it."""
    owned = groups.owned
    sent = _new_lists(len(eager), len(owned.topics))
    filled = 0
    for m in range(len(eager)):
        low, high = owned.offsets[m], owned.offsets[m + 1]
        if not eager[m]:
            sent.topics[filled : filled + high - low] = owned.topics[low:high]
            sent.partitions[filled : filled + high - low] = owned.partitions[low:high]
            filled += high - low
        sent.offsets[m + 1] = filled
    return _filled(sent)


class _Answered(NamedTuple):
    """What members make of the leader's answer (``onJoinComplete``)."""

    owned: Assignments
    revoked: Assignments
    added: Assignments
    joins_again: Flags
    """By group."""


@kernel
def _take_answer(groups: Groups, ranks: Ints, sent: Assignments, outcome: Outcome) -> _Answered:
    assigned = outcome.assignments
    n_members = len(groups.member_hashes)
    by_rank = np.empty(len(ranks), np.int32)
    for topic in range(len(ranks)):
        by_rank[ranks[topic]] = topic
    owned = _new_lists(n_members, len(sent.topics) + len(assigned.topics))
    revoked, added = _new_lists(n_members, len(groups.owned.topics)), _new_lists(n_members, len(assigned.topics))
    joins_again = np.zeros(len(groups.members) - 1, np.bool_)
    wanted_by = np.full(len(ranks), -1, np.int32)
    for g in range(len(joins_again)):
        for m in range(groups.members[g], groups.members[g + 1]):
            _mark_wanted(groups, m, wanted_by)
            accepts = True
            for topic in assigned.topics[assigned.offsets[m] : assigned.offsets[m + 1]]:
                accepts = accepts and wanted_by[topic] == m
            had, joined_with = _sorted_set(groups.owned, m, ranks), _sorted_set(sent, m, ranks)
            has = _sorted_set(assigned, m, ranks) if accepts else _wanted(joined_with, m, wanted_by, by_rank)
            if outcome.errors[g] != _NONE:
                has = joined_with = had  # There is no answer: nothing changes.
            lost = _difference(joined_with, has)
            kept = _difference(joined_with, lost)
            joins_again[g] = joins_again[g] or not accepts or len(lost) > 0
            _put(owned, m, has, by_rank)
            _put(revoked, m, _difference(had, kept), by_rank)
            _put(added, m, _difference(has, kept), by_rank)
    return _Answered(_filled(owned), _filled(revoked), _filled(added), joins_again)


@kernel
def _mark_wanted(groups: Groups, member: int, wanted_by: Ints32) -> None:
    for topic in groups.topics[groups.subscriptions[member] : groups.subscriptions[member + 1]]:
        wanted_by[topic] = member


@kernel
def _wanted(partitions: Ints, member: int, wanted_by: Ints32, by_rank: Ints32) -> Ints:
    """Partitions of a sorted set whose topic a member subscribes to."""
    wanted = np.empty(len(partitions), np.int64)
    n = 0
    for partition in partitions:
        if wanted_by[by_rank[partition >> 32]] == member:
            wanted[n] = partition
            n += 1
    return wanted[:n]


@kernel
def _sorted_set(lists: Assignments, member: int, ranks: Ints) -> Ints:
    """Return a member's partitions by topic and number, each once, as numbers: the topic's rank, then 32 bits."""
    low, high = lists.offsets[member], lists.offsets[member + 1]
    partitions = np.empty(high - low, np.int64)
    for k in range(low, high):
        partitions[k - low] = ranks[lists.topics[k]] << 32 | np.int64(lists.partitions[k])
    partitions.sort()
    n = 0
    for partition in partitions:
        if n == 0 or partition != partitions[n - 1]:
            partitions[n] = partition
            n += 1
    return partitions[:n]


@kernel
def _difference(some: Ints, others: Ints) -> Ints:
    """Partitions of one sorted set that another does not hold."""
    rest = np.empty(len(some), np.int64)
    n, k = 0, 0
    for partition in some:
        while k < len(others) and others[k] < partition:
            k += 1
        if k == len(others) or others[k] != partition:
            rest[n] = partition
            n += 1
    return rest[:n]


@kernel
def _new_lists(n_members: int, room: int) -> Assignments:
    return Assignments(np.zeros(n_members + 1, np.int32), np.empty(room, np.int32), np.empty(room, np.int32))


@kernel
def _put(lists: Assignments, member: int, partitions: Ints, by_rank: Ints32) -> None:
    """Put the next member's partitions behind those of the members before."""
    place = lists.offsets[member]
    for partition in partitions:
        lists.topics[place], lists.partitions[place] = by_rank[partition >> 32], partition & 0xFFFFFFFF
        place += 1
    lists.offsets[member + 1] = place


@kernel
def _filled(lists: Assignments) -> Assignments:
    """Cut off the room that is left."""
    end = lists.offsets[-1]
    return Assignments(lists.offsets, lists.topics[:end], lists.partitions[:end])


# ---- some of the groups


def _next_generations(groups: Groups) -> Ints:
    """Every member's generation after a rebalance: one more than the group's latest."""
    generations = groups.generations.copy()
    with_members = np.flatnonzero(np.diff(groups.members))
    if len(with_members):
        latest = np.maximum.reduceat(generations, groups.members[with_members])
        generations[:] = np.repeat(latest + 1, np.diff(groups.members)[with_members])
    return generations


def _take_groups(groups: Groups, chosen: Flags) -> Groups:
    """Take some of the groups, with all that they have."""
    sizes = np.diff(groups.members)
    members = np.flatnonzero(np.repeat(chosen, sizes))
    subscriptions, wanted = take_lists(groups.subscriptions, members)
    offsets, owned = take_lists(groups.owned.offsets, members)
    return Groups(
        list_offsets(sizes[chosen]),
        take_strings(groups.member_ids, members),
        groups.member_hashes[members],
        groups.instance_first[members],
        take_strings(groups.sort_ids, members),
        groups.member_racks[members],
        subscriptions,
        groups.topics[wanted],
        Assignments(offsets, groups.owned.topics[owned], groups.owned.partitions[owned]),
        groups.generations[members],
    )
