"""The target assignments of consumer-protocol groups (KIP-848), by the coordinator's assignors over a whole batch."""

from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.assignors.server.subscription_type import as_homogeneous
from rebalance_sim.kafka.coordinator.classic.classic_group import NONE
from rebalance_sim.kafka.groups import NO_GENERATION, Assignments, Groups, Subscriptions
from rebalance_sim.kafka.runtime.kernel import kernel
from rebalance_sim.kafka.runtime.lists import choose_strings, take_lists, take_strings
from rebalance_sim.kafka.runtime.records import rows
from rebalance_sim.kafka.runtime.strings import Flags, Ints32, Strings
from rebalance_sim.kafka.simulation.batch_state import BatchState, field, listed_in_groups, store_decisions
from rebalance_sim.kafka.simulation.elections import Assign, known_topics, spell_ids
from rebalance_sim.kafka.simulation.fleet import SimulatedFleet, place_of_protocol
from rebalance_sim.releases import SERVER_ASSIGNORS


class _TargetMembers(NamedTuple):
    """The members of groups whose target assignment is due."""

    offsets: Ints32
    consumers: Ints32
    numbers: Ints32
    client_generated: Flags
    """Whether the member has generated its id itself, as members of the consumer protocol do."""
    subscriptions: Ints32
    owned: Assignments
    """Their present target assignment."""


@kernel
def _collect(state: BatchState, fleet: SimulatedFleet, due: Ints32) -> _TargetMembers:
    offsets = np.zeros(len(due) + 1, np.int32)
    n_partitions = 0
    groups, members = rows(state.modern_groups), rows(state.modern_members)
    topics, partitions = rows(state.modern_topics), rows(state.modern_partitions)
    for k in range(len(due)):
        offsets[k + 1] = offsets[k] + groups[due[k]].member_count
        n_partitions += fleet.partitions[due[k] + 1] - fleet.partitions[due[k]]
    total = offsets[-1]
    consumers, numbers, subscriptions = np.empty(total, np.int32), np.empty(total, np.int32), np.empty(total, np.int32)
    client_generated = np.empty(total, np.bool_)
    owned_offsets = np.zeros(total + 1, np.int32)
    owned_topics, owned_partitions = np.empty(n_partitions, np.int32), np.empty(n_partitions, np.int32)
    filled = 0
    for k in range(len(due)):
        g = due[k]
        place_of = np.empty(groups[g].made, np.int32)
        for number in range(groups[g].made):
            member = members[state.first_member[g] + number]
            place_of[number] = filled
            if member.known:
                consumers[filled] = fleet.consumers[g] + member.client
                numbers[filled] = number
                client_generated[filled] = not member.classic
                subscriptions[filled] = member.subscription
                filled += 1
        low, high = fleet.partitions[g], fleet.partitions[g + 1]
        for p in range(low, high):
            if partitions[p].target != NONE:
                owned_offsets[place_of[partitions[p].target] + 1] += 1
        for m in range(offsets[k], offsets[k + 1]):
            owned_offsets[m + 1] += owned_offsets[m]
        cursor = owned_offsets[offsets[k] : offsets[k + 1]].copy()
        for p in range(low, high):
            partition = partitions[p]
            if partition.target != NONE:
                place = place_of[partition.target] - offsets[k]
                topic = topics[fleet.topics.offsets[g] + partition.topic]
                owned_topics[cursor[place]] = topic.number
                owned_partitions[cursor[place]] = p - low - topic.first
                cursor[place] += 1
    end = owned_offsets[total]
    owned = Assignments(owned_offsets, owned_topics[:end], owned_partitions[:end])
    return _TargetMembers(offsets, consumers, numbers, client_generated, subscriptions, owned)


def make_targets(state: BatchState, fleet: SimulatedFleet, assign: Assign, due: Ints32, failures: Ints32) -> None:
    """Run the server-side assignors, each over all of its groups at once."""
    preferred = field(state.modern_groups, "preferred_assignor")[due]
    places = place_of_protocol(fleet, due, fleet.assignors, preferred)
    protocols = fleet.group_protocols[fleet.first_protocol[due] + places]
    for protocol in np.unique(protocols):
        chosen = due[protocols == protocol]
        members = _collect(state, fleet, chosen)
        new_member_differs = field(state.modern_groups, "new_member_differs")[chosen]
        groups = _as_groups(state, fleet, chosen, members)
        specified = as_homogeneous(groups, SERVER_ASSIGNORS[fleet.assignors[protocol]], new_member_differs)
        outcome = assign(int(protocol), specified, members.consumers)
        failures[chosen] = outcome.errors
        made = outcome.assignments
        _store(state, fleet, chosen, members, made._replace(topics=fleet.base_topics[made.topics]))
    store_decisions(state, due, places, NONE, failures[due] != 0)


def _store(
    state: BatchState, fleet: SimulatedFleet, groups: Ints32, members: _TargetMembers, made: Assignments
) -> None:
    """Pass the coordinators the new target assignments."""
    targets = field(state.modern_partitions, "computed_target")
    targets[take_lists(fleet.partitions, groups)[1]] = NONE
    of_members = np.repeat(groups, np.diff(members.offsets))
    listed = listed_in_groups(fleet, of_members, made)
    sizes = np.diff(made.offsets)
    places = np.repeat(fleet.partitions[of_members], sizes) + listed
    exists = listed != NONE
    targets[places[exists]] = np.repeat(members.numbers, sizes)[exists]


def _as_groups(state: BatchState, fleet: SimulatedFleet, due: Ints32, members: _TargetMembers) -> Groups:
    """Return groups as the coordinator passes them to its assignors; it sees growth at once."""
    ids = Strings.over(
        *spell_ids(state, fleet, due, members.offsets, members.consumers, members.numbers, members.client_generated)
    )
    is_static = field(fleet.of_consumers, "instance")[members.consumers] != NONE
    subscriptions = Subscriptions(members.subscriptions, *fleet.subscriptions)
    owned = members.owned
    grown = known_topics(fleet, due, field(state.progress, "next_event")[due])
    if grown is not None:
        of_members = np.repeat(np.arange(len(due)), np.diff(members.offsets))
        listed, places = take_lists(fleet.subscriptions.offsets, members.subscriptions)
        subscribed = grown(np.repeat(of_members, np.diff(listed)), fleet.subscriptions.topics[places])
        subscriptions = Subscriptions(np.arange(len(of_members), dtype=np.int32), listed, subscribed)
        owned = owned._replace(topics=grown(np.repeat(of_members, np.diff(owned.offsets)), owned.topics))
    return Groups(
        members.offsets,
        ids,
        (~is_static).astype(np.int64),
        choose_strings(ids, take_strings(fleet.names.instance_ids, members.consumers), is_static),
        fleet.racks[members.consumers],
        subscriptions,
        owned,
        np.full(len(members.consumers), NO_GENERATION, np.int64),
    )
