"""Of which type groups are, and what they go by: a protocol that they elect, or an assignor of their coordinator's.

A group with a member of ``group.protocol=consumer`` is of type consumer (KIP-848, Kafka 4.0 and later), whatever the
others follow: while a group migrates, its members of the classic protocol get their share of what the coordinator
assigns. Such a group elects nothing, and nobody leads. The coordinator runs the assignor that most of its members wish
for (``ConsumerGroup.preferredServerAssignor``, 4.0 to 4.3); those of the classic protocol wish for none.

Of two with as many wishes it is uniform, which comes first in the coordinator's map (``TimelineHashMap``). Only where
one member wishes for each, and the heartbeat that leads to a new assignment is that of the one that wishes for range,
range runs this time: its name was put into a copy of the map last, and there that comes first
(``computePreferredServerAssignor``). That is not told here.

Of the members of the classic protocol it takes those of protocol type consumer that share a protocol with all others
of them (``supportsClassicProtocols``), as a group of type classic does (``election``). A coordinator that does not know
the new protocol answers UNSUPPORTED_VERSION to members that follow it.
"""

from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.coordinator.classic_group import NONE
from rebalance_sim.kafka.coordinator.consumer_group import SERVER_ASSIGNORS
from rebalance_sim.kafka.election import Elections, PreferenceLists, elect
from rebalance_sim.kafka.lists import list_offsets, take_lists, take_strings
from rebalance_sim.kafka.strings import Flags, Ints, Ints32, Strings

UNSUPPORTED_VERSION = "UNSUPPORTED_VERSION"


class GroupProtocols(NamedTuple):
    """Answers for a batch of groups."""

    elections: Elections
    """Of a group of type consumer the winner is the assignor that the coordinator runs, the candidates are those that
    somebody wishes for, in the order of ``SERVER_ASSIGNORS``, and the votes are the wishes."""
    of_consumers: Flags
    """Whether a group is of type consumer."""
    classic: Flags
    """Whether a member follows the classic protocol; one that does not is refused where the coordinator does not know
    the other one."""


def group_protocols(
    groups: Ints32,
    member_ids: Strings,
    types: Ints32,
    consumer_type: int,
    preferences: PreferenceLists,
    assignors: Ints32,
    knows_consumers: bool,
    map_rule: int,
) -> GroupProtocols:
    """Tell what every group goes by; parameters are those of ``elect``.

    ``assignors`` has for each protocol the number in ``SERVER_ASSIGNORS`` of what it stands for, or NONE. A member
    whose list is such a name follows ``group.protocol=consumer``, which the coordinator may not know
    (``knows_consumers``). ``consumer_type`` is the index of the protocol type of consumers.
    """
    n_groups = len(groups) - 1
    if (assignors == NONE).all():
        elected = elect(groups, member_ids, types, preferences, map_rule)
        return GroupProtocols(elected, np.zeros(n_groups, np.bool_), np.ones(len(types), np.bool_))
    group_of_member = np.repeat(np.arange(n_groups), np.diff(groups))
    wish = assignors[preferences.protocols[preferences.offsets[:-1]]]
    classic = wish == NONE
    heard = ~classic & knows_consumers
    wishes = np.zeros((n_groups, len(SERVER_ASSIGNORS)), np.int32)
    np.add.at(wishes, (group_of_member[heard], wish[heard]), 1)
    of_consumers: Flags = wishes.max(axis=1) > 0
    joins = classic & (~of_consumers[group_of_member] | (types == consumer_type))
    elected = _elect_among(np.flatnonzero(joins), groups, member_ids, types, preferences, map_rule)
    admitted = heard.copy()
    admitted[joins] = elected.admitted
    elections = _with_preferred(elected._replace(admitted=admitted), of_consumers, wishes, assignors)
    return GroupProtocols(elections, of_consumers, classic)


def _elect_among(
    voters: Ints, groups: Ints32, member_ids: Strings, types: Ints32, preferences: PreferenceLists, map_rule: int
) -> Elections:
    """Elect the protocol of every group as if these were all of its members."""
    before = np.searchsorted(voters, groups).astype(np.int32)
    offsets, places = take_lists(preferences.offsets, voters)
    lists = PreferenceLists(offsets, preferences.protocols[places], preferences.hashes)
    return elect(before, take_strings(member_ids, voters), types[voters], lists, map_rule)


def _with_preferred(elected: Elections, of_consumers: Flags, wishes: Ints32, assignors: Ints32) -> Elections:
    """Put the preferred assignors of groups of type consumer in the place of what is elected."""
    protocol_of = np.full(len(SERVER_ASSIGNORS), NONE, np.int32)
    protocol_of[assignors[assignors != NONE]] = np.flatnonzero(assignors != NONE)
    preferred = protocol_of[wishes.argmax(axis=1)]
    ahead = (wishes == wishes.max(axis=1, keepdims=True)).sum(axis=1)
    numbers = np.arange(len(of_consumers))
    group_of_candidate = np.repeat(numbers, np.diff(elected.candidate_offsets))
    kept = ~of_consumers[group_of_candidate]
    wished_by, assignor = np.nonzero(wishes)
    group_of_each = np.concatenate([group_of_candidate[kept], wished_by])
    order = np.argsort(group_of_each, kind="stable")
    return Elections(
        np.where(of_consumers, preferred, elected.winner).astype(np.int32),
        np.where(of_consumers, ahead > 1, elected.tie),
        elected.admitted,
        list_offsets(np.bincount(group_of_each, minlength=len(numbers))),
        np.concatenate([elected.candidates[kept], protocol_of[assignor]])[order],
        np.concatenate([elected.votes[kept], wishes[wished_by, assignor]])[order],
    )
