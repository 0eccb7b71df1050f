"""Protocol election: which assignor a classic group uses.

``GroupMetadata.selectProtocol`` (Kafka 1.0 to 3.9, Scala) and ``ClassicGroup.selectProtocol`` (4.0 and later):

1. The candidate protocols are those that every member supports.
2. Each member votes for the first candidate in its own list.
3. The protocol with the most votes wins. A tie goes to the protocol that comes first in the iteration order of the
   release's hash maps (``runtime.hash_order.vote_order``).

The coordinator admits members as they join (``supportsProtocols``): the first member always, and then every member that
has the group's protocol type and at least one protocol in common with all members. Others get the error
INCONSISTENT_GROUP_PROTOCOL. The first member to join becomes the leader.
"""

from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.runtime.hash_order import coordinator_order, vote_order, vote_order_depends_on_first_votes
from rebalance_sim.kafka.runtime.kernel import inner_kernel, kernel
from rebalance_sim.kafka.runtime.strings import Flags, Ints, Ints32, Strings, java_hash

INCONSISTENT_GROUP_PROTOCOL = "INCONSISTENT_GROUP_PROTOCOL"
_FEW = 32
"""Lists are compared with each other if there are at most this many, of at most this many protocols each, as in most
batches."""


class PreferenceLists(NamedTuple):
    """Lists of protocols in order of preference: list k is ``protocols[offsets[k]:offsets[k + 1]]``.

    Members that offer the same list share it.
    """

    offsets: Ints32
    protocols: Ints32
    """Indices of protocols."""
    hashes: Ints
    """``hashCode`` of each protocol's name."""


class _Poll(NamedTuple):
    """The election of one group."""

    offered: Ints32
    preferences: PreferenceLists
    support: Ints32
    """By protocol: the members that support it."""
    admitted: Flags
    counted: Ints32
    """By protocol: the votes for it."""
    voted: Ints32
    """The protocols with at least one vote."""
    same_protocols: Ints32
    """By list of preferences: the first list with the same protocols, in any order (``_same_protocols``)."""


class Elections(NamedTuple):
    """Results for a batch of groups."""

    winner: Ints32
    """By group: the index of the elected protocol, or -1 for a group without members."""
    tie: Flags
    """By group: whether several protocols had the most votes."""
    admitted: Flags
    """By member: whether the coordinator admits it."""
    candidate_offsets: Ints32
    """Candidates of group g, in the leader's order: ``candidate_offsets[g]`` to ``candidate_offsets[g + 1]``."""
    candidates: Ints32
    votes: Ints32
    """Votes for each of ``candidates``."""


@kernel
def elect(
    groups: Ints32, member_ids: Strings, types: Ints32, offered: Ints32, preferences: PreferenceLists, map_rule: int
) -> Elections:
    """Elect the protocol of every group.

    The members of group g are ``groups[g]`` to ``groups[g + 1]``, in join order. By member, ``types`` has the index
    of the protocol type, and ``offered`` the list of preferences, which may not be empty or name a protocol twice
    (``repeats_a_protocol``).
    """
    n_groups = len(groups) - 1
    winner = np.full(n_groups, -1, np.int32)
    tie = np.zeros(n_groups, np.bool_)
    admitted = np.zeros(len(types), np.bool_)
    candidate_offsets = np.zeros(n_groups + 1, np.int32)
    room = 0
    for g in range(n_groups):
        if groups[g + 1] > groups[g]:
            first = offered[groups[g]]
            room += preferences.offsets[first + 1] - preferences.offsets[first]
    candidates = np.empty(room, np.int32)
    votes = np.empty(room, np.int32)
    support = np.zeros(len(preferences.hashes), np.int32)
    counted = np.zeros(len(preferences.hashes), np.int32)
    voted = np.empty(len(preferences.hashes), np.int32)
    poll = _Poll(offered, preferences, support, admitted, counted, voted, _same_protocols(preferences))
    filled = 0

    for g in range(n_groups):
        start, end = groups[g], groups[g + 1]
        if end > start:
            alike = _are_alike(start, end, types, poll)
            member_count = _admit_all(start, end, poll) if alike else _admit(start, end, types, poll)
            voted_in_order = voted[: _vote(start, end, member_count, poll)]
            best = 0
            for protocol in voted_in_order:
                best = max(best, counted[protocol])
            first = offered[start]
            for k in range(preferences.offsets[first], preferences.offsets[first + 1]):
                protocol = preferences.protocols[k]
                if support[protocol] == member_count:
                    candidates[filled] = protocol
                    votes[filled] = counted[protocol]
                    filled += 1
            ahead = 0
            for protocol in voted_in_order:
                if counted[protocol] == best:
                    winner[g] = protocol
                    ahead += 1
            if ahead > 1:
                tie[g] = True
                if vote_order_depends_on_first_votes(preferences.hashes, voted_in_order, map_rule):
                    _sort_by_first_vote(voted_in_order, start, end, member_ids, member_count, poll, map_rule)
                winner[g] = _first_with(best, vote_order(preferences.hashes, voted_in_order, map_rule), counted)
            _reset(start, start + 1 if alike else end, poll)
        candidate_offsets[g + 1] = filled
    return Elections(winner, tie, admitted, candidate_offsets, candidates[:filled], votes[:filled])


@kernel
def repeats_a_protocol(preferences: PreferenceLists) -> Flags:
    """Return, by list, whether it names a protocol twice, which Kafka's own consumer rejects as a configuration."""
    repeats = np.zeros(len(preferences.offsets) - 1, np.bool_)
    last = np.full(len(preferences.hashes), -1, np.int32)
    for of in range(len(repeats)):
        for k in range(preferences.offsets[of], preferences.offsets[of + 1]):
            protocol = preferences.protocols[k]
            if protocol >= 0:
                repeats[of] |= last[protocol] == of
                last[protocol] = of
    return repeats


@kernel
def _same_protocols(preferences: PreferenceLists) -> Ints32:
    """Return, by list, the first list with the same protocols in any order; beyond ``_FEW``, the list itself."""
    firsts = np.arange(len(preferences.offsets) - 1).astype(np.int32)
    for of in range(min(len(firsts), _FEW)):
        for first in range(of):
            if firsts[first] == first and _name_the_same(preferences, first, of):
                firsts[of] = first
                break
    return firsts


@inner_kernel
def _name_the_same(preferences: PreferenceLists, a: int, b: int) -> bool:
    """Return whether two lists, neither of which names a protocol twice, have the same protocols."""
    offsets, protocols = preferences.offsets, preferences.protocols
    length, found = offsets[a + 1] - offsets[a], 0
    if length > _FEW or length != offsets[b + 1] - offsets[b]:
        return False
    for k in range(offsets[a], offsets[a + 1]):
        for other in range(offsets[b], offsets[b + 1]):
            found += protocols[k] == protocols[other]
    return bool(found == length)


@inner_kernel
def _are_alike(start: int, end: int, types: Ints32, poll: _Poll) -> bool:
    """Return whether all members of a group have the same protocol type and protocols."""
    protocols = poll.same_protocols[poll.offered[start]]
    for m in range(start + 1, end):
        if poll.same_protocols[poll.offered[m]] != protocols or types[m] != types[start]:
            return False
    return True


@inner_kernel
def _admit_all(start: int, end: int, poll: _Poll) -> int:
    """Admit members that all support the same protocols, as ``_admit`` does, and return their number."""
    first = poll.offered[start]
    for k in range(poll.preferences.offsets[first], poll.preferences.offsets[first + 1]):
        poll.support[poll.preferences.protocols[k]] = end - start
    for m in range(start, end):
        poll.admitted[m] = True
    return end - start


@inner_kernel
def _admit(start: int, end: int, types: Ints32, poll: _Poll) -> int:
    """Admit members in join order, count their protocols in ``support``, and return the number of admitted members."""
    preferences, support = poll.preferences, poll.support
    member_count = 0
    for m in range(start, end):
        low, high = preferences.offsets[poll.offered[m]], preferences.offsets[poll.offered[m] + 1]
        admits = member_count == 0
        if not admits and types[m] == types[start]:
            for k in range(low, high):
                if support[preferences.protocols[k]] == member_count:
                    admits = True
                    break
        if admits:
            poll.admitted[m] = True
            member_count += 1
            for k in range(low, high):
                support[preferences.protocols[k]] += 1
    return member_count


@inner_kernel
def ballot(of: int, preferences: PreferenceLists, support: Ints32, member_count: int) -> int:
    """Return the first protocol of a list that all members support (``MemberMetadata.vote``), or -1."""
    for k in range(preferences.offsets[of], preferences.offsets[of + 1]):
        if support[preferences.protocols[k]] == member_count:
            return int(preferences.protocols[k])
    return -1


@inner_kernel
def _vote(start: int, end: int, member_count: int, poll: _Poll) -> int:
    """Count the votes in ``counted``, list the protocols that have any in ``voted``, and return their number."""
    counted, n = poll.counted, 0
    for m in range(start, end):
        if poll.admitted[m]:
            protocol = ballot(poll.offered[m], poll.preferences, poll.support, member_count)
            if counted[protocol] == 0:
                poll.voted[n] = protocol
                n += 1
            counted[protocol] += 1
    return n


@inner_kernel
def _reset(start: int, end: int, poll: _Poll) -> None:
    """Forget the support and the votes of a group."""
    preferences = poll.preferences
    for of in poll.offered[start:end]:
        for k in range(preferences.offsets[of], preferences.offsets[of + 1]):
            poll.support[preferences.protocols[k]] = 0
            poll.counted[preferences.protocols[k]] = 0


@inner_kernel
def _first_with(votes: int, protocols: Ints32, counted: Ints32) -> int:
    """Return the first protocol with this number of votes: ``selectProtocol`` keeps the first maximum."""
    for protocol in protocols:
        if counted[protocol] == votes:
            return int(protocol)
    return -1


@kernel
def _sort_by_first_vote(
    voted: Ints32, start: int, end: int, member_ids: Strings, member_count: int, poll: _Poll, map_rule: int
) -> None:
    """Sort the protocols that have votes as ``selectProtocol`` puts them into its map.

    It iterates over its map of members, whose order depends on the hash codes of their ids.
    """
    joined, hashes = np.empty(member_count, np.int32), np.empty(member_count, np.int64)
    n = 0
    for m in range(start, end):
        if poll.admitted[m]:
            joined[n], hashes[n] = m, java_hash(member_ids, m)
            n += 1
    n = 0
    for place in coordinator_order(hashes, np.arange(member_count).astype(np.int32), map_rule):
        protocol = ballot(poll.offered[joined[place]], poll.preferences, poll.support, member_count)
        first = True
        for other in voted[:n]:
            first = first and other != protocol
        if first:
            voted[n] = protocol
            n += 1


def offsets_partition(group_hash: Ints, partitions: int) -> Ints32:
    """Return the partition of ``__consumer_offsets`` of each group, whose leader is the group's coordinator.

    ``Utils.abs(groupId.hashCode) % partitions``; ``Utils.abs`` of the smallest int is 0 (``GroupMetadataManager`` and
    ``GroupCoordinatorService.partitionFor``).

    >>> offsets_partition(np.array([0, 97, 2**32 - 1, 2**31]), 50).tolist()
    [0, 47, 1, 0]
    """
    signed = group_hash.astype(np.uint32).view(np.int32).astype(np.int64)
    magnitude = np.where(signed == -(2**31), 0, np.abs(signed))
    return (magnitude % partitions).astype(np.int32)
