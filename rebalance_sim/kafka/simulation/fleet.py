"""The arrays of a simulation: groups, their consumers, and the events that happen to them."""

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from rebalance_sim.kafka.coordinator.classic.classic_group import NONE
from rebalance_sim.kafka.election import PreferenceLists
from rebalance_sim.kafka.groups import Assignments
from rebalance_sim.kafka.runtime.kernel import inner_kernel
from rebalance_sim.kafka.runtime.lists import concat_lists, concat_strings, take_lists
from rebalance_sim.kafka.runtime.records import Records
from rebalance_sim.kafka.runtime.strings import Flags, Ints, Ints32, Strings, java_hashes
from rebalance_sim.kafka.simulation.model import Consumer, ScenarioEvent, ScenarioKind


class Names(NamedTuple):
    """Strings of each consumer; assignors sort members by them."""

    member_ids: Strings
    """Ids of the consumers that are members when the simulation begins."""
    id_prefixes: Strings
    """How new member ids begin: with the instance id or the client id (``generateMemberId``)."""
    instance_ids: Strings


class GroupTopics(NamedTuple):
    """Topics of group g: entries ``offsets[g]`` to ``offsets[g + 1]``."""

    offsets: Ints32
    topics: Ints32
    first_partition: Ints32
    """Number of the topic's first partition among those of the group."""
    partitions: Ints32
    """How many partitions it has in the end."""


class Lists(NamedTuple):
    """Lists of topics: list k is ``offsets[k]`` to ``offsets[k + 1]``."""

    offsets: Ints32
    topics: Ints32


class SimulatedFleet(NamedTuple):
    """A batch of groups, their consumers, and the events that happen to them."""

    consumers: Ints32
    """Consumers of group g: ``consumers[g]`` to ``consumers[g + 1]``, first those that are members when it begins."""
    members: Ints32
    """How many consumers of each group are members when the simulation begins."""
    of_consumers: Records[Consumer]
    scenario: Ints32
    """Events of group g: ``scenario[g]`` to ``scenario[g + 1]`` of ``events``."""
    events: Records[ScenarioEvent]
    names: Names
    id_hashes: Ints
    """``hashCode`` of each consumer's ``id_prefixes`` with the hyphen, and of ``member_ids``."""
    member_hashes: Ints
    racks: Ints32
    subscriptions: Lists
    preferences: PreferenceLists
    """By list of protocols."""
    cooperative: Flags
    """By protocol: whether its consumers keep their partitions while they join (KIP-429)."""
    assignors: Ints32
    """By protocol: the coordinator's assignor that it stands for (KIP-848); NONE: the leader's assignor runs."""
    first_protocol: Ints32
    """Protocols of group g, in the order of their numbers in the group: ``first_protocol[g]`` to
    ``first_protocol[g + 1]`` of ``group_protocols``, which has their numbers in the batch."""
    group_protocols: Ints32
    remembered: Flags
    """By entry of ``group_protocols``: whether a rejoining consumer reports the partitions that this protocol assigned.

    A consumer has one memory for all protocols here, though each of Java's assignors has its own."""
    partitions: Ints32
    """Partitions of group g: ``partitions[g]`` to ``partitions[g + 1]``."""
    topics: GroupTopics
    base_topics: Ints32
    """By topic of ``TopicArrays``: the topic that it is a later variant of, or itself."""
    assignments: Assignments
    """The partitions that the first members own; other consumers own none."""
    generations: Ints
    protocols: Ints32
    """The protocol, by its number in the batch, that each group has elected when the simulation begins."""
    leaders: Ints32
    """The first leader of each group, by its place among the members."""
    seeds: Ints
    followed: Flags
    conditions: Ints32
    """By group: the number of the conditions under which it is simulated."""


def side_by_side(fleets: Sequence[SimulatedFleet], protocols: Sequence[Ints32], names: Strings) -> SimulatedFleet:
    """Return fleets of the same groups under several conditions as one fleet, in which each group comes once for each.

    ``protocols[k]`` are the numbers of the protocols of fleet k among those of all, whose ``names`` these are.
    """
    if len(fleets) == 1:
        return fleets[0]
    lists = np.cumsum([0, *(len(fleet.preferences.offsets) - 1 for fleet in fleets)])
    all_protocols = np.concatenate(protocols)
    by_protocol = np.unique(all_protocols, return_index=True)[1]

    def joined(name: str) -> np.ndarray:
        return np.concatenate([getattr(fleet, name) for fleet in fleets])

    def offsets(name: str) -> Ints32:
        return concat_lists([getattr(fleet, name) for fleet in fleets])

    def renumbered(name: str) -> Ints32:
        # Where nobody offers a protocol, groups have number 0 all the same.
        parts = [np.append(of, 0)[getattr(fleet, name)] for of, fleet in zip(protocols, fleets, strict=True)]
        return np.concatenate(parts).astype(np.int32)

    consumers, events = (cast(Any, joined(name).view(np.recarray)) for name in ("of_consumers", "events"))
    consumers["preferences"] += np.repeat(lists[:-1], [len(fleet.of_consumers) for fleet in fleets])
    of_lists = np.repeat(lists[:-1], [len(fleet.events) for fleet in fleets])
    events["value"] += np.where(events["kind"] == ScenarioKind.PROTOCOLS, of_lists, 0)
    offered = [of[fleet.preferences.protocols] for of, fleet in zip(protocols, fleets, strict=True)]
    return fleets[0]._replace(
        consumers=offsets("consumers"),
        members=joined("members"),
        of_consumers=consumers,
        scenario=offsets("scenario"),
        events=events,
        names=Names(*(concat_strings(column) for column in zip(*(fleet.names for fleet in fleets), strict=True))),
        id_hashes=joined("id_hashes"),
        member_hashes=joined("member_hashes"),
        racks=joined("racks"),
        preferences=PreferenceLists(
            concat_lists([fleet.preferences.offsets for fleet in fleets]), np.concatenate(offered), java_hashes(names)
        ),
        cooperative=joined("cooperative")[by_protocol],
        assignors=joined("assignors")[by_protocol],
        first_protocol=offsets("first_protocol"),
        group_protocols=renumbered("group_protocols"),
        remembered=joined("remembered"),
        partitions=offsets("partitions"),
        topics=GroupTopics(
            concat_lists([fleet.topics.offsets for fleet in fleets]),
            *(np.concatenate(column) for column in zip(*(fleet.topics[1:] for fleet in fleets), strict=True)),
        ),
        assignments=Assignments(
            concat_lists([fleet.assignments.offsets for fleet in fleets]),
            *(np.concatenate(column) for column in zip(*(fleet.assignments[1:] for fleet in fleets), strict=True)),
        ),
        generations=joined("generations"),
        protocols=renumbered("protocols"),
        leaders=joined("leaders"),
        seeds=joined("seeds"),
        followed=joined("followed"),
        conditions=np.repeat(np.arange(len(fleets), dtype=np.int32), len(fleets[0].members)),
    )


def protocols_in_groups(fleet: SimulatedFleet, groups: Ints32, protocols: Ints32) -> Ints32:
    """Return the numbers in groups of protocols of the batch, one per group, or NONE."""
    return place_of_protocol(fleet, groups, np.arange(len(fleet.assignors), dtype=np.int32), protocols)


def place_of_protocol(fleet: SimulatedFleet, groups: Ints32, of_protocols: Ints32, wanted: Ints | Ints32) -> Ints32:
    """Return, for each group, the place of its last protocol whose number in ``of_protocols`` is the wanted one."""
    offsets, places = take_lists(fleet.first_protocol, groups)
    same = np.flatnonzero(of_protocols[fleet.group_protocols[places]] == np.repeat(wanted, np.diff(offsets)))
    found = np.full(len(groups), NONE, np.int32)
    of_groups = np.searchsorted(offsets, same, side="right") - 1
    found[of_groups] = same - offsets[of_groups]
    return found


@inner_kernel
def protocol_in_batch(fleet: SimulatedFleet, group: int, protocol: int) -> int:
    """Return the number in the batch of a protocol of a group; NONE stays NONE."""
    return NONE if protocol == NONE else int(fleet.group_protocols[fleet.first_protocol[group] + protocol])
