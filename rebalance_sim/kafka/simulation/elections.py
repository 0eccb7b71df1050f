"""The elections of groups and the assignments of their leaders, over a whole batch at once.

Any assignor that assigns a batch of groups can be simulated.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.coordinator.classic.classic_group import NONE, AwaitedElection, ClassicGroupMember
from rebalance_sim.kafka.election import PreferenceLists, elect
from rebalance_sim.kafka.groups import NO_GENERATION, AssignmentOutcome, Assignments, Groups, Subscriptions
from rebalance_sim.kafka.runtime.kernel import inner_kernel, kernel
from rebalance_sim.kafka.runtime.lists import choose_strings, gather, take_lists, take_strings
from rebalance_sim.kafka.runtime.records import Records, rows
from rebalance_sim.kafka.runtime.strings import Bytes, Flags, Ints, Ints32, Strings
from rebalance_sim.kafka.simulation.batch_state import BatchState, Broker, RowOrigins, add_rows, field, store_decisions
from rebalance_sim.kafka.simulation.fleet import SimulatedFleet, protocol_in_batch, protocols_in_groups
from rebalance_sim.kafka.simulation.member_ids import BASE64_LENGTH, HEX_LENGTH, HYPHEN, write_uuid
from rebalance_sim.kafka.simulation.messages import metadata_owned, metadata_subscription
from rebalance_sim.kafka.simulation.model import ScenarioKind

Assign = Callable[[int, Groups, Ints32], AssignmentOutcome]
"""Runs the assignor of a protocol over groups, whose members are the given consumers."""


class _JoinedMembers(NamedTuple):
    """The members of groups whose election is due, in the order in which they joined."""

    groups: Ints32
    """Numbers of the groups in the batch."""
    offsets: Ints32
    consumers: Ints32
    numbers: Ints32
    preferences: Ints32
    elected_only: Ints32
    """The only protocol that the coordinator knows of a member, if it has loaded the group from the log; else NONE."""
    subscriptions: Ints32
    owned: Ints32
    """Assignment rows, or NONE."""
    metadata_events: Ints32
    """By group: the number of scenario events that its leader's metadata reflect."""
    of_generation: Flags
    """By group: whether a generation begins, and not only a static member is replaced."""


@kernel
def _collect(state: BatchState, fleet: SimulatedFleet, due: Ints32) -> _JoinedMembers:
    offsets = np.zeros(len(due) + 1, np.int32)
    first_rows = np.cumsum(fleet.members) - fleet.members
    groups, of_consumers = rows(state.groups), rows(fleet.of_consumers)
    for k in range(len(due)):
        offsets[k + 1] = offsets[k] + groups[due[k]].member_count
    total = offsets[-1]
    consumers, numbers = np.empty(total, np.int32), np.empty(total, np.int32)
    preferences, elected_only = np.empty(total, np.int32), np.empty(total, np.int32)
    subscriptions, owned = np.empty(total, np.int32), np.empty(total, np.int32)
    metadata_events = np.zeros(len(due), np.int32)
    of_generation = np.empty(len(due), np.bool_)
    filled = 0
    for k in range(len(due)):
        g = due[k]
        group, of_group = groups[g], rows(state.members, state.first_member[g])
        of_generation[k] = group.election == AwaitedElection.OF_GENERATION
        for number in range(group.made):
            if of_group[number].known:
                place = filled
                while place > offsets[k] and _joined_before(of_group, number, numbers[place - 1]):
                    numbers[place] = numbers[place - 1]
                    place -= 1
                numbers[place] = number
                filled += 1
        for m in range(offsets[k], filled):
            number = numbers[m]
            member = of_group[number]
            consumers[m] = fleet.consumers[g] + member.client
            preferences[m] = member.preferences
            elected_only[m] = protocol_in_batch(fleet, g, group.protocol) if member.elected_only else NONE
            subscriptions[m] = metadata_subscription(member.metadata)
            owned[m] = metadata_owned(member.metadata)
            if member.metadata == NONE:
                owned[m] = first_rows[g] + number
                subscriptions[m] = state.row_subscriptions[owned[m]]
            if number == group.leader:
                leader = of_consumers[consumers[m]]
                metadata_events[k] = leader.metadata_events
                if of_generation[k]:
                    leader.assigned_metadata_events = leader.metadata_events
            if of_generation[k]:
                member.place = m - offsets[k]
    return _JoinedMembers(
        due,
        offsets,
        consumers,
        numbers,
        preferences,
        elected_only,
        subscriptions,
        owned,
        metadata_events,
        of_generation,
    )


@inner_kernel
def _joined_before(members: Records[ClassicGroupMember], number: int, rival: int) -> bool:
    return bool(members[number].entered < members[rival].entered)


def hold_elections(
    state: BatchState, fleet: SimulatedFleet, broker: Broker, assign: Assign, due: Ints32, failures: Ints32
) -> BatchState:
    """Elect the protocol of each group, and run the leaders' assignors over all groups of a protocol at once.

    The leaders will send the assignments with SyncGroup.
    """
    joined = _collect(state, fleet, due)
    ids = _member_ids(state, fleet, joined)
    protocols = _elect(fleet, joined, ids, broker.map_rule)
    first_rows = np.zeros(len(due), np.int64)
    for protocol in np.unique(protocols[joined.of_generation]):
        chosen = np.flatnonzero(joined.of_generation & (protocols == protocol)).astype(np.int32)
        members = _members_of(joined.offsets, chosen)
        owned = _owned(state, _reported_rows(fleet, joined, members, bool(fleet.cooperative[protocol])))
        groups = _as_groups(state, fleet, joined, ids, chosen, members, owned)
        outcome = assign(int(protocol), groups, joined.consumers[members])
        failures[due[chosen]] = outcome.errors
        first_rows[chosen] = state.written[0].assignments + groups.members[:-1]
        origins = RowOrigins(
            np.repeat(due[chosen], np.diff(groups.members)),
            np.repeat(field(state.groups, "generation")[due[chosen]], np.diff(groups.members)),
            np.repeat(groups.members[:-1], np.diff(groups.members)),
            joined.numbers[members],
            joined.subscriptions[members],
        )
        state = add_rows(state, fleet, origins, outcome.assignments)
    store_decisions(state, due, protocols_in_groups(fleet, due, protocols), first_rows, failures[due] != 0)
    return state


def elected_protocols(state: BatchState, fleet: SimulatedFleet, due: Ints32, map_rule: int) -> Ints32:
    """Return the protocols that groups would elect with their present members."""
    joined = _collect(state, fleet, due)
    return _elect(fleet, joined, _member_ids(state, fleet, joined), map_rule)


def _elect(fleet: SimulatedFleet, joined: _JoinedMembers, ids: Strings, map_rule: int) -> Ints32:
    """Return the elected protocol of each group; without a choice, the only protocol."""
    if len(fleet.preferences.hashes) == 1:
        return np.zeros(len(joined.offsets) - 1, np.int32)
    offered, preferences = joined.preferences, fleet.preferences
    if (joined.elected_only != NONE).any():
        offsets, places = take_lists(preferences.offsets, offered)
        only, protocols = np.repeat(joined.elected_only, np.diff(offsets)), preferences.protocols[places]
        known = (only == NONE) | (only == protocols)
        of_known = np.concatenate([[0], np.cumsum(known)])[offsets].astype(np.int32)
        offered = np.arange(len(offered), dtype=np.int32)
        preferences = PreferenceLists(of_known, protocols[known], preferences.hashes)
    types = np.zeros(len(joined.consumers), np.int32)
    return elect(joined.offsets, ids, types, offered, preferences, map_rule).winner


def _members_of(offsets: Ints32, groups: Ints32) -> Ints32:
    """Return the members of some groups."""
    if len(groups) == len(offsets) - 1:
        return np.arange(offsets[-1], dtype=np.int32)
    return take_lists(offsets, groups)[1].astype(np.int32)


def _member_ids(state: BatchState, fleet: SimulatedFleet, joined: _JoinedMembers) -> Strings:
    """Return the ids of members."""
    client_generated = np.zeros(len(joined.numbers), np.bool_)
    return Strings.over(
        *spell_ids(state, fleet, joined.groups, joined.offsets, joined.consumers, joined.numbers, client_generated)
    )


@kernel
def spell_ids(
    state: BatchState,
    fleet: SimulatedFleet,
    due: Ints32,
    of_groups: Ints32,
    consumers: Ints32,
    numbers: Ints32,
    client_generated: Flags,
) -> tuple[Ints32, Bytes]:
    """Return member ids: the given ones of the first members, and generated ones, by the coordinator or the client.

    Members k of group ``due[g]`` are ``of_groups[g]`` to ``of_groups[g + 1]``.
    """
    first_ids, prefixes = fleet.names.member_ids, fleet.names.id_prefixes
    offsets = np.zeros(len(numbers) + 1, np.int32)
    for k in range(len(due)):
        for m in range(of_groups[k], of_groups[k + 1]):
            i = consumers[m]
            if numbers[m] < fleet.members[due[k]]:
                size = first_ids.offsets[i + 1] - first_ids.offsets[i]
            elif client_generated[m]:
                size = BASE64_LENGTH
            else:
                size = prefixes.offsets[i + 1] - prefixes.offsets[i] + 1 + HEX_LENGTH
            offsets[m + 1] = offsets[m] + size
    data = np.empty(offsets[-1], np.uint8)
    for k in range(len(due)):
        for m in range(of_groups[k], of_groups[k + 1]):
            i, low, high = consumers[m], offsets[m], offsets[m + 1]
            if numbers[m] < fleet.members[due[k]]:
                data[low:high] = first_ids.data[first_ids.offsets[i] : first_ids.offsets[i + 1]]
            elif client_generated[m]:
                write_uuid(state.random[due[k]], numbers[m], data[low:high])
            else:
                end = high - HEX_LENGTH
                data[low : end - 1] = prefixes.data[prefixes.offsets[i] : prefixes.offsets[i + 1]]
                data[end - 1] = HYPHEN
                write_uuid(state.random[due[k]], numbers[m], data[end:high])
    return offsets, data


def _as_groups(
    state: BatchState,
    fleet: SimulatedFleet,
    joined: _JoinedMembers,
    ids: Strings,
    chosen: Ints32,
    members: Ints32,
    owned: Assignments,
) -> Groups:
    """Return groups as their leaders see them."""
    sizes = np.diff(joined.offsets)[chosen]
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    consumers = joined.consumers[members]
    member_ids = ids if len(members) == len(joined.consumers) else take_strings(ids, members)
    is_static = field(fleet.of_consumers, "instance")[consumers] != NONE
    sort_ids = choose_strings(member_ids, take_strings(fleet.names.instance_ids, consumers), is_static)
    subscriptions = Subscriptions(joined.subscriptions[members], *fleet.subscriptions)
    grown = known_topics(fleet, joined.groups[chosen], joined.metadata_events[chosen])
    if grown is not None:
        of_members = np.repeat(np.arange(len(chosen)), sizes)
        listed, places = take_lists(fleet.subscriptions.offsets, subscriptions.of_members)
        subscribed = grown(np.repeat(of_members, np.diff(listed)), fleet.subscriptions.topics[places])
        subscriptions = Subscriptions(np.arange(len(members), dtype=np.int32), listed, subscribed)
        owned = owned._replace(topics=grown(np.repeat(of_members, np.diff(owned.offsets)), owned.topics))
    return Groups(
        offsets,
        member_ids,
        (~is_static).astype(np.int64),
        sort_ids,
        fleet.racks[consumers],
        subscriptions,
        owned,
        np.where(joined.owned[members] >= 0, state.row_generations[joined.owned[members]], NO_GENERATION),
    )


def known_topics(fleet: SimulatedFleet, groups: Ints32, known: Ints32) -> Callable[[Ints, Ints32], Ints32] | None:
    """Return a function that replaces topics by their grown states, as far as each group's leader knows them."""
    events = gather(fleet.scenario[groups], known)[1]
    grows = field(fleet.events, "kind")[events] == ScenarioKind.GROW
    if not grows.any():
        return None
    of_growth, growing = np.repeat(np.arange(len(groups)), known)[grows], events[grows]
    topics_before, topics_after = (field(fleet.events, name)[growing].tolist() for name in ("topic", "grown_topic"))
    table = dict(zip(zip(of_growth.tolist(), topics_before, strict=True), topics_after, strict=True))

    def grown(of_groups: Ints, topics: Ints32) -> Ints32:
        pairs = zip(of_groups.tolist(), topics.tolist(), strict=True)
        return np.array([table.get(pair, pair[1]) for pair in pairs], np.int32)

    return grown


def _reported_rows(fleet: SimulatedFleet, joined: _JoinedMembers, members: Ints32, cooperative: bool) -> Ints32:
    """Return the rows of the partitions that members report as owned; an eager member has none when it joins.

    Only the user data of the sticky assignor hold its last assignment (``StickyAssignor.subscriptionUserData``).
    """
    rows = joined.owned[members]
    if not cooperative:
        return rows
    eager = field(fleet.of_consumers, "eager")[joined.consumers[members]].astype(np.bool_)
    return np.where(eager, NONE, rows).astype(np.int32)


def _owned(state: BatchState, rows: Ints32) -> Assignments:
    has = rows >= 0
    starts = np.where(has, state.first_listed[rows], 0)
    offsets, places = gather(starts, np.where(has, state.first_listed[rows + 1] - starts, 0))
    return Assignments(offsets, state.listed_topics[places], state.listed_partitions[places])


def revoke_unsubscribed(state: BatchState, fleet: SimulatedFleet, due: Ints32) -> BatchState:
    """Add an assignment row with what a consumer keeps, in each group where one revokes what it no longer subscribes
    to.
    """
    consumers = fleet.consumers[due] + field(state.progress, "revoking")[due]
    subscriptions = field(fleet.of_consumers, "subscription")[consumers].astype(np.int32)
    owned = _owned(state, field(fleet.of_consumers, "owned")[consumers])
    listed, places = take_lists(fleet.subscriptions.offsets, subscriptions)
    count = int(fleet.base_topics.max(initial=0)) + 1
    of_subscribed = np.repeat(np.arange(len(due)), np.diff(listed)) * count + fleet.subscriptions.topics[places]
    of_owned = np.repeat(np.arange(len(due)), np.diff(owned.offsets)) * count + owned.topics
    kept = np.isin(of_owned, of_subscribed)
    offsets = np.concatenate([[0], np.cumsum(kept)])[owned.offsets].astype(np.int32)
    row_of_each = np.arange(len(due), dtype=np.int32)
    generations = field(fleet.of_consumers, "generation")[consumers]
    origins = RowOrigins(due, generations, row_of_each, np.full(len(due), NONE, np.int32), subscriptions)
    first_row = int(state.written[0].assignments)
    state = add_rows(state, fleet, origins, Assignments(offsets, owned.topics[kept], owned.partitions[kept]))
    store_decisions(state, due, NONE, first_row + row_of_each, False)
    return state
