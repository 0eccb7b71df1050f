"""The state of groups when a simulation begins: their first members have rebalanced until the group is stable."""

from collections.abc import Sequence

import numpy as np

from rebalance_sim.kafka.assignors.custom_batch import ClientData, FailureTexts, LeaderView
from rebalance_sim.kafka.assignors.resolved import ResolvedAssignor
from rebalance_sim.kafka.coordinator.classic.classic_group import NONE
from rebalance_sim.kafka.coordinator.consumer.consumer_group import server_assignor
from rebalance_sim.kafka.coordinator.group_types import ConsumerProtocol, GroupProtocols, group_protocols
from rebalance_sim.kafka.groups import NO_GENERATION, Assignments
from rebalance_sim.kafka.rebalances import GOES_ON, RebalanceProtocol, rebalances, summarize_rebalances, take_groups
from rebalance_sim.kafka.runtime.lists import list_offsets
from rebalance_sim.kafka.runtime.strings import Flags, Ints, Ints32
from rebalance_sim.kafka.simulation.prepared import PreparedGroups, StartingState
from rebalance_sim.releases import SERVER_ASSIGNORS

_BEFORE = "before the simulation begins"
_MIXED = f"{_BEFORE}: members of both protocols; a simulated group begins with those of one"


def start_groups(prepared: PreparedGroups) -> StartingState:
    """Return the state of every group after its first members, with what they own, have rebalanced until stable."""
    groups, offered = prepared.groups, prepared.protocols
    elected, mixed = _elected_protocols(prepared)
    errors: list[str | None] = [_MIXED if each else None for each in mixed.tolist()]
    for group, error in offered.errors.items():
        errors[group] = error
    parts: list[tuple[Ints32, Assignments]] = []
    for protocol in np.unique(elected).tolist():
        chosen = (elected == protocol) & np.array([error is None for error in errors])
        if protocol == NONE or not chosen.any():
            continue
        assignor = prepared.assignors[protocol]
        if assignor.error is not None:
            failures: Sequence[str | None] = [assignor.error] * int(chosen.sum())
        else:
            members = np.flatnonzero(np.repeat(chosen, groups.sizes)).astype(np.int32)
            assignments, failures = _rebalance_until_stable(prepared, chosen, members, assignor)
            parts.append((members, assignments))
        for group, failure in zip(np.flatnonzero(chosen).tolist(), failures, strict=True):
            errors[group] = failure
    # An empty group has elected nothing; it is as if it had elected its first protocol.
    first = np.append(offered.of_groups, 0)[offered.first_of_group[:-1]]
    return StartingState(
        np.where(elected == NONE, first, elected).astype(np.int32),
        _together(len(groups.initial.member_racks), parts),
        _generations(prepared),
        errors,
    )


def _elected_protocols(prepared: PreparedGroups) -> tuple[Ints32, Flags]:
    """Return each group's elected protocol, or NONE, and whether it mixes classic and consumer-protocol members."""
    groups, offered, version = prepared.groups, prepared.protocols, prepared.conditions.assignors.version
    if prepared.conditions.strategy is not None:
        return np.zeros(groups.count, np.int32), np.zeros(groups.count, np.bool_)
    # Members of another protocol type have been rejected: within a group, all types are the same.
    types = np.zeros(len(groups.first_members), np.int32)
    elected: GroupProtocols = group_protocols(
        groups.initial.members,
        groups.initial.member_ids,
        types,
        offered.of_consumers[groups.first_members],
        offered.preferences,
        ConsumerProtocol(
            0,
            np.array([server_assignor(name) for name in offered.names], np.int32),
            set(SERVER_ASSIGNORS) <= set(version.assignors),
        ),
        int(version.coordinator_map),
    )
    group_of_member = np.repeat(np.arange(groups.count), groups.sizes)
    with_classic = np.bincount(group_of_member[elected.classic], minlength=groups.count) > 0
    return elected.elections.winner, elected.of_consumers & with_classic


def _rebalance_until_stable(
    prepared: PreparedGroups, chosen: Flags, members: Ints32, assignor: ResolvedAssignor
) -> tuple[Assignments, list[str | None]]:
    """Return the final assignments of some groups, and by group the reason why it does not become stable."""
    groups = prepared.groups
    joined = take_groups(groups.initial, chosen)
    consumers = groups.first_members[members]
    eager = prepared.eager_lists[prepared.protocols.of_consumers[consumers]]

    def client_data(of_members: Ints32) -> ClientData:
        numbers = consumers[of_members].tolist()
        columns = (groups.user_data, groups.rack_names, groups.instance_ids.to_list())
        return ClientData(*([column[number] for number in numbers] for column in columns))

    view = LeaderView(groups.topics, groups.read_topic_names, client_data, eager, FailureTexts())
    silent = eager & (assignor.protocol is RebalanceProtocol.COOPERATIVE)
    played = rebalances(
        assignor.protocol, joined, groups.topics.ranks, silent, lambda of, numbers: assignor.assign(of, numbers, view)
    )
    end = summarize_rebalances(assignor.protocol, joined, groups.topics.ranks, list(played))
    failures = [view.failures.texts[error] if error else GOES_ON for error in end.errors.tolist()]
    return end.assignments, [
        None if ended else f"{_BEFORE}: {failure}" for ended, failure in zip(end.ended, failures, strict=True)
    ]


def _together(members: int, parts: list[tuple[Ints32, Assignments]]) -> Assignments:
    """Put the lists of some members in the order of all."""
    lengths = np.zeros(members, np.int64)
    for chosen, lists in parts:
        lengths[chosen] = np.diff(lists.offsets)
    offsets = list_offsets(lengths)
    topics, partitions = np.empty(offsets[-1], np.int32), np.empty(offsets[-1], np.int32)
    for chosen, lists in parts:
        places = np.arange(lists.offsets[-1]) + np.repeat(offsets[chosen] - lists.offsets[:-1], np.diff(lists.offsets))
        topics[places], partitions[places] = lists.topics, lists.partitions
    return Assignments(offsets, topics, partitions)


def _generations(prepared: PreparedGroups) -> Ints:
    """Return the latest generation that a member of each group reports; 1 if none does, 0 for an empty group."""
    groups = prepared.groups
    generations = (groups.sizes > 0).astype(np.int64)
    reported = groups.initial.generations
    group_of_member = np.repeat(np.arange(groups.count), groups.sizes)
    np.maximum.at(generations, group_of_member, np.where(reported == NO_GENERATION, 1, reported))
    return generations
