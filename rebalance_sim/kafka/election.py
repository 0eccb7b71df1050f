"""Protocol election: which assignor a group of the classic protocol will use.

``GroupMetadata.selectProtocol`` (Kafka 1.0 to 3.9, Scala) and ``ClassicGroup.selectProtocol`` (4.0 and later):

1. Candidates: the protocols that every member supports.
2. Each member votes for the first protocol of its own list that is a candidate.
3. The first protocol with the most votes wins, in the order in which the version's maps iterate (``hash_order``).

Who is a member at all is decided before, as members join: the first one is taken, and after it whoever has the
group's protocol type and shares a candidate with everybody in the group (``supportsProtocols``). Others are answered
INCONSISTENT_GROUP_PROTOCOL. The first member to join leads.
"""

from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.hash_order import coordinator_order, vote_order
from rebalance_sim.kafka.kernel import kernel
from rebalance_sim.kafka.strings import Flags, Ints, Ints32, Strings, java_hash

INCONSISTENT_GROUP_PROTOCOL = "INCONSISTENT_GROUP_PROTOCOL"


class PreferenceLists(NamedTuple):
    """The members' ordered protocol lists: that of member m is ``protocols[offsets[m]:offsets[m + 1]]``."""

    offsets: Ints32
    protocols: Ints32
    """Indices of protocols."""
    hashes: Ints
    """``hashCode`` of each protocol's name."""


class Elections(NamedTuple):
    """Answers for a batch of groups; -1 stands for no winner."""

    winner: Ints32
    """Index of the elected protocol, by group."""
    tie: Flags
    """Whether another protocol had as many votes, by group."""
    admitted: Flags
    """Whether the coordinator takes the member, by member."""
    candidate_offsets: Ints32
    """The candidates of group g, in the leader's order, lie from offset g to offset g + 1."""
    candidates: Ints32
    votes: Ints32
    """Votes for each of ``candidates``."""


@kernel
def elect(groups: Ints32, member_ids: Strings, types: Ints32, preferences: PreferenceLists, map_rule: int) -> Elections:
    """Elect the protocol of every group.

    The members of group g are ``groups[g]`` to ``groups[g + 1]``, in the order in which they join. ``types``
    is the index of each member's protocol type. No preference list may be empty or name a protocol twice
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
            first = groups[g]
            room += preferences.offsets[first + 1] - preferences.offsets[first]
    candidates = np.empty(room, np.int32)
    votes = np.empty(room, np.int32)
    support = np.zeros(len(preferences.hashes), np.int32)
    counted = np.zeros(len(preferences.hashes), np.int32)
    filled = 0

    for g in range(n_groups):
        start, end = groups[g], groups[g + 1]
        if end > start:
            members = _admit(start, end, types, preferences, support, admitted)
            voted_in_order = _vote(start, end, preferences, support, members, admitted, counted)
            best = 0
            for protocol in voted_in_order:
                best = max(best, counted[protocol])
            for k in range(preferences.offsets[start], preferences.offsets[start + 1]):
                protocol = preferences.protocols[k]
                if support[protocol] == members:
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
                winner[g] = _break_tie(
                    start, end, member_ids, preferences, support, members, admitted, counted, best, map_rule
                )
            for k in range(preferences.offsets[start], preferences.offsets[end]):
                support[preferences.protocols[k]] = 0
                counted[preferences.protocols[k]] = 0
        candidate_offsets[g + 1] = filled
    return Elections(winner, tie, admitted, candidate_offsets, candidates[:filled], votes[:filled])


@kernel
def repeats_a_protocol(preferences: PreferenceLists) -> Flags:
    """Tell which members name a protocol twice; Kafka's own consumer refuses such a configuration."""
    repeats = np.zeros(len(preferences.offsets) - 1, np.bool_)
    last = np.full(len(preferences.hashes), -1, np.int32)
    for m in range(len(repeats)):
        for k in range(preferences.offsets[m], preferences.offsets[m + 1]):
            protocol = preferences.protocols[k]
            if protocol >= 0:
                repeats[m] |= last[protocol] == m
                last[protocol] = m
    return repeats


@kernel
def _admit(start: int, end: int, types: Ints32, preferences: PreferenceLists, support: Ints32, admitted: Flags) -> int:
    """Let members join one after the other; count in ``support`` how many members have each protocol."""
    members = 0
    for m in range(start, end):
        low, high = preferences.offsets[m], preferences.offsets[m + 1]
        welcome = members == 0
        if not welcome and types[m] == types[start]:
            for k in range(low, high):
                if support[preferences.protocols[k]] == members:
                    welcome = True
                    break
        if welcome:
            admitted[m] = True
            members += 1
            for k in range(low, high):
                support[preferences.protocols[k]] += 1
    return members


@kernel
def ballot(m: int, preferences: PreferenceLists, support: Ints32, members: int) -> int:
    """``MemberMetadata.vote``: the first protocol of the member's list that all members support."""
    for k in range(preferences.offsets[m], preferences.offsets[m + 1]):
        if support[preferences.protocols[k]] == members:
            return int(preferences.protocols[k])
    return -1


@kernel
def _vote(
    start: int,
    end: int,
    preferences: PreferenceLists,
    support: Ints32,
    members: int,
    admitted: Flags,
    counted: Ints32,
) -> Ints32:
    """Count the votes; return the protocols voted for."""
    voted = np.empty(min(members, len(preferences.hashes)), np.int32)
    n = 0
    for m in range(start, end):
        if admitted[m]:
            protocol = ballot(m, preferences, support, members)
            if counted[protocol] == 0:
                voted[n] = protocol
                n += 1
            counted[protocol] += 1
    return voted[:n]


@kernel
def _break_tie(
    start: int,
    end: int,
    member_ids: Strings,
    preferences: PreferenceLists,
    support: Ints32,
    members: int,
    admitted: Flags,
    counted: Ints32,
    best: int,
    map_rule: int,
) -> int:
    """Return the first protocol with ``best`` votes as the coordinator's maps of members and votes iterate."""
    hashes = np.empty(end - start, np.int64)
    joined = np.empty(members, np.int32)
    n = 0
    for m in range(start, end):
        if admitted[m]:
            hashes[m - start] = java_hash(member_ids, m)
            joined[n] = m - start
            n += 1
    voted = np.empty(members, np.int32)
    seen = np.zeros(len(preferences.hashes), np.bool_)
    n = 0
    for k in coordinator_order(hashes, joined, map_rule):
        protocol = ballot(start + k, preferences, support, members)
        if not seen[protocol]:
            seen[protocol] = True
            voted[n] = protocol
            n += 1
    for protocol in vote_order(preferences.hashes, voted[:n], map_rule):
        if counted[protocol] == best:
            return int(protocol)
    return -1


def offsets_partition(group_hash: Ints, partitions: int) -> Ints32:
    """Partition of ``__consumer_offsets`` that holds a group, and so its coordinator.

    ``Utils.abs(groupId.hashCode) % partitions``, where ``abs`` of the smallest int is 0 (``GroupMetadataManager`` and
    ``GroupCoordinatorService.partitionFor``).

    >>> offsets_partition(np.array([0, 97, 2**32 - 1, 2**31]), 50).tolist()
    [0, 47, 1, 0]
    """
    signed = group_hash.astype(np.uint32).view(np.int32).astype(np.int64)
    magnitude = np.where(signed == -(2**31), 0, np.abs(signed))
    return (magnitude % partitions).astype(np.int32)
