"""The type of each group, and the assignor that it uses: elected by classic members, or preferred by consumers.

One member with ``group.protocol=consumer`` makes the group a consumer-protocol group (KIP-848, since 4.0, early access
since 3.7): during a migration, its classic members receive their share of the coordinator's assignment. Such a group
elects no protocol and has no leader. The coordinator runs the assignor that most of its members prefer
(``ConsumerGroup.preferredServerAssignor``, 3.7 to 4.3); classic members have no preference.

On a tie, uniform wins: it comes first in the coordinator's ``TimelineHashMap``. With one exception, which a prediction
from the members alone cannot cover: if each assignor is preferred by one member, and the heartbeat that triggers the
assignment is from the member that prefers range, range wins this once. ``computePreferredServerAssignor`` puts its
name into a copy of the map last, and in that copy it comes first.

A share group (KIP-932, since 4.0) elects nothing either: its coordinator assigns, by one assignor.

Classic members of a consumer-protocol group must have the protocol type ``consumer`` and share a protocol with all its
other classic members (``supportsClassicProtocols``), as in a classic group (``election``). A coordinator that does not
support the consumer protocol answers its members UNSUPPORTED_VERSION.
"""

from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.coordinator.classic.classic_group import NONE
from rebalance_sim.kafka.election import INCONSISTENT_GROUP_PROTOCOL, Elections, PreferenceLists, elect
from rebalance_sim.kafka.runtime.lists import list_offsets, take_strings
from rebalance_sim.kafka.runtime.strings import Flags, Ints, Ints32, Strings
from rebalance_sim.releases import SERVER_ASSIGNORS

UNSUPPORTED_VERSION = "UNSUPPORTED_VERSION"


class ConsumerProtocol(NamedTuple):
    """The numbers under which a batch names the consumer protocol."""

    protocol_type: int
    """Index of the protocol type ``consumer``."""
    assignors: Ints32
    """By protocol: its number in ``SERVER_ASSIGNORS``, or NONE. A member that offers one uses the consumer protocol."""
    is_supported: bool
    """Whether the coordinator supports it."""
    share_type: int = NONE
    """Index of the protocol type of share groups; NONE if no member has it."""


class GroupProtocols(NamedTuple):
    """The type and the assignor of each group of a batch."""

    elections: Elections
    """For a consumer-protocol group, the winner is the assignor that its coordinator runs, the candidates are the
    assignors that members prefer, in the order of ``SERVER_ASSIGNORS``, and the votes are how many prefer each."""
    of_consumers: Flags
    """Whether it is a consumer-protocol group."""
    classic: Flags
    """Whether a member uses the classic protocol."""
    of_shares: Flags
    """Whether it is a share group (KIP-932), whose members all name its assignor."""


def mixes_protocols(preferences: PreferenceLists, server: Flags) -> Flags:
    """Return which lists name both assignors of the coordinator and assignors of consumers.

    No consumer sends such a list: it has one name (``group.remote.assignor``) or a list
    (``partition.assignment.strategy``).
    ``server`` says of each protocol whether it is an assignor of the coordinator.
    """
    among_others = np.repeat(np.diff(preferences.offsets) > 1, np.diff(preferences.offsets))
    entries = np.flatnonzero(server[preferences.protocols] & (preferences.protocols >= 0) & among_others)
    mixed = np.zeros(len(preferences.offsets) - 1, np.bool_)
    mixed[np.searchsorted(preferences.offsets, entries, side="right") - 1] = True
    return mixed


def refusal_errors(protocols: GroupProtocols) -> list[str]:
    """Return the errors with which the coordinator answers the members that it does not admit."""
    classic = protocols.classic[~protocols.elections.admitted].tolist()
    return [INCONSISTENT_GROUP_PROTOCOL if each else UNSUPPORTED_VERSION for each in classic]


def leaders(groups: Ints32, protocols: GroupProtocols) -> Ints:
    """Return the leader of each group, the first member that the coordinator admits.

    NONE for a group without one, and for a consumer-protocol or share group, whose coordinator assigns.
    """
    admitted = np.flatnonzero(protocols.elections.admitted)
    before = np.searchsorted(admitted, groups)
    leads = (np.diff(before) > 0) & ~protocols.of_consumers & ~protocols.of_shares
    first = np.full(len(leads), NONE, np.int64)
    first[leads] = admitted[before[:-1][leads]]
    return first


def group_protocols(
    groups: Ints32,
    member_ids: Strings,
    types: Ints32,
    offered: Ints32,
    preferences: PreferenceLists,
    consumer_protocol: ConsumerProtocol,
    map_rule: int,
) -> GroupProtocols:
    """Return the type and the assignor of every group; all other arguments are those of ``elect``."""
    n_groups = len(groups) - 1
    assignors, group_of_member = consumer_protocol.assignors, np.repeat(np.arange(n_groups), np.diff(groups))
    if (assignors == NONE).all():
        elected = elect(groups, member_ids, types, offered, preferences, map_rule)
        of_shares = _share_groups(group_of_member, n_groups, (types == consumer_protocol.share_type) & elected.admitted)
        return GroupProtocols(elected, np.zeros(n_groups, np.bool_), np.ones(len(types), np.bool_), of_shares)
    preferred = assignors[preferences.protocols[preferences.offsets[offered]]]
    classic = preferred == NONE
    supported = ~classic & consumer_protocol.is_supported
    counts = np.zeros((n_groups, len(SERVER_ASSIGNORS)), np.int32)
    np.add.at(counts, (group_of_member[supported], preferred[supported]), 1)
    of_consumers: Flags = counts.max(axis=1) > 0
    joins = classic & (~of_consumers[group_of_member] | (types == consumer_protocol.protocol_type))
    # The classic protocol is elected as if the members that use it were the only ones.
    voters = np.flatnonzero(joins)
    before = np.searchsorted(voters, groups).astype(np.int32)
    ids = take_strings(member_ids, voters)
    elected = elect(before, ids, types[voters], offered[voters], preferences, map_rule)
    admitted = supported.copy()
    admitted[joins] = elected.admitted
    elections = _with_preferred(elected._replace(admitted=admitted), of_consumers, counts, assignors)
    of_shares = _share_groups(group_of_member, n_groups, (types == consumer_protocol.share_type) & admitted)
    return GroupProtocols(elections, of_consumers, classic, of_shares)


def _share_groups(group_of_member: Ints, n_groups: int, shares: Flags) -> Flags:
    """Return which groups have a member that ``shares``."""
    of_shares: Flags = np.bincount(group_of_member[shares], minlength=n_groups) > 0
    return of_shares


def _with_preferred(elected: Elections, of_consumers: Flags, counts: Ints32, assignors: Ints32) -> Elections:
    """Replace the elections of consumer-protocol groups by their preferred assignors."""
    protocol_of = np.full(len(SERVER_ASSIGNORS), NONE, np.int32)
    protocol_of[assignors[assignors != NONE]] = np.flatnonzero(assignors != NONE)
    preferred = protocol_of[counts.argmax(axis=1)]
    tied = (counts == counts.max(axis=1, keepdims=True)).sum(axis=1)
    numbers = np.arange(len(of_consumers))
    group_of_candidate = np.repeat(numbers, np.diff(elected.candidate_offsets))
    kept = ~of_consumers[group_of_candidate]
    group_of_preferred, assignor = np.nonzero(counts)
    group_of_each = np.concatenate([group_of_candidate[kept], group_of_preferred])
    order = np.argsort(group_of_each, kind="stable")
    return Elections(
        np.where(of_consumers, preferred, elected.winner).astype(np.int32),
        np.where(of_consumers, tied > 1, elected.tie),
        elected.admitted,
        list_offsets(np.bincount(group_of_each, minlength=len(numbers))),
        np.concatenate([elected.candidates[kept], protocol_of[assignor]])[order],
        np.concatenate([elected.votes[kept], counts[group_of_preferred, assignor]])[order],
    )
