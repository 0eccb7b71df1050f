"""Events of single groups: what the steps of a scenario mean for each group of a batch."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rebalance_sim.kafka.coordinator.classic.group import NONE
from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.simulation.model import ScenarioKind
from rebalance_sim.kafka.simulation.scenario import Scenario, ScenarioStep

EVENT_KINDS = {kind.name.lower().replace("_", "-"): kind for kind in ScenarioKind}
"""Kinds of events by the names that scenarios and the events table use."""


@dataclass(frozen=True)
class GroupEvent:
    """An event of one group, from a scenario or from an events table."""

    group: int
    at_ms: int
    kind: ScenarioKind
    consumer: int = NONE
    """Place among the consumers of the group; NONE for an event of the whole group."""
    value: int = 0
    """down_ms of restart and move-coordinator, for_ms of stall, partitions that grow adds, error code of fail-store."""
    partitions: int = 0
    """Of grow: how many partitions the topic has afterwards; 0: ``value`` more than before."""
    names: tuple[str, ...] = ()
    """Of subscribe: the topics; of protocols: the assignors in the consumer's order of preference."""
    topic: str | None = None
    """Of grow; None: all topics of the group."""


@dataclass(frozen=True)
class JoiningConsumer:
    """A consumer that joins during the simulation."""

    group: int
    row: Mapping[str, Any]
    """Its row, with the columns of the members table."""


def expand_scenario(
    scenario: Scenario, sizes: Sequence[int], first_member: Callable[[int], Mapping[str, Any]]
) -> tuple[list[JoiningConsumer], list[GroupEvent]]:
    """Return what a scenario means for groups with these numbers of members.

    ``first_member`` returns the row of a group's first member: consumers of a join step are configured like it.
    """
    joining: list[JoiningConsumer] = []
    events: list[GroupEvent] = []
    joined = [0] * len(sizes)
    for step in scenario.steps:
        for group, size in enumerate(sizes):
            if step.event != "join":
                events += _events_of(step, group, size)
            elif size:
                for number in range(step.count):
                    at_ms, place = step.at_ms + number * step.every_ms, size + joined[group]
                    joined[group] += 1
                    joining.append(JoiningConsumer(group, _like(first_member(group), f"new-{joined[group]}", step)))
                    events.append(GroupEvent(group, at_ms, ScenarioKind.JOIN, place))
    return joining, events


def _like(member: Mapping[str, Any], name: str, step: ScenarioStep) -> dict[str, Any]:
    """Return the row of a new consumer that is configured like a member."""
    row = dict(member) | {"member_id": name, "client_id": name}
    row["instance_id"] = f"{row['instance_id']}-{name}" if row["instance_id"] else None
    row |= {column: None for column in ("owned", "user_data") if column in row}
    row |= {"subscription": list(step.subscription)} if step.subscription else {}
    row |= {"protocols": list(step.protocols)} if step.protocols else {}
    return row


def _events_of(step: ScenarioStep, group: int, size: int) -> list[GroupEvent]:
    kind = EVENT_KINDS[step.event]
    value = {
        ScenarioKind.GROW: step.add,
        ScenarioKind.FAIL_STORE: int(Errors[step.error]),
        ScenarioKind.STALL: step.for_ms,
    }.get(kind, step.down_ms)
    names = step.protocols or step.subscription
    event = GroupEvent(group, step.at_ms, kind, value=value, names=names, topic=step.topic)
    events = []
    for again in range(step.times):
        at_ms = step.at_ms + again * step.again_after_ms
        if kind in (ScenarioKind.GROW, ScenarioKind.MOVE_COORDINATOR, ScenarioKind.FAIL_STORE):
            events.append(replace(event, at_ms=at_ms))
            continue
        for number, place in enumerate(step.members.of(size)):
            events.append(replace(event, at_ms=at_ms + number * step.every_ms, consumer=place))
    return events
