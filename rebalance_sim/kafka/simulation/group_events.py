"""Events of single groups: what the steps of a scenario mean for each group of a batch."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from rebalance_sim.kafka.coordinator.classic.group import NONE
from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.simulation.model import ScenarioKind
from rebalance_sim.kafka.simulation.scenario import Scenario, ScenarioStep

EVENT_KINDS = {kind.name.lower().replace("_", "-"): kind for kind in ScenarioKind}
"""Kinds of events by the names that scenarios and the events table use."""


class GroupEvent(NamedTuple):
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
        if step.event != "join":
            events += _events_of(step, sizes)
            continue
        for group, size in enumerate(sizes):
            for number in range(step.count if size else 0):
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


def _value_of(step: ScenarioStep) -> int:
    """Return the ``value`` of a step's events."""
    match EVENT_KINDS[step.event]:
        case ScenarioKind.GROW:
            return step.add
        case ScenarioKind.FAIL_STORE:
            return int(Errors[step.error])
        case ScenarioKind.STALL:
            return step.for_ms
        case _:
            return step.down_ms


def _times_of(step: ScenarioStep, size: int) -> list[tuple[int, int]]:
    """Return when a step's events happen in a group with this number of members, and to which consumers."""
    if EVENT_KINDS[step.event] in (ScenarioKind.GROW, ScenarioKind.MOVE_COORDINATOR, ScenarioKind.FAIL_STORE):
        delays = [(0, NONE)]
    else:
        delays = [(number * step.every_ms, place) for number, place in enumerate(step.members.of(size))]
    starts = [step.at_ms + again * step.again_after_ms for again in range(step.times)]
    return [(start + delay, consumer) for start in starts for delay, consumer in delays]


def _events_of(step: ScenarioStep, sizes: Sequence[int]) -> list[GroupEvent]:
    kind, value, names = EVENT_KINDS[step.event], _value_of(step), step.protocols or step.subscription
    times = {size: _times_of(step, size) for size in set(sizes)}
    return [
        GroupEvent(group, at_ms, kind, consumer, value, 0, names, step.topic)
        for group, size in enumerate(sizes)
        for at_ms, consumer in times[size]
    ]
