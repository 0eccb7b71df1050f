"""Expand a scenario for each group of a batch: its events, and the consumers that join."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from rebalance_sim.kafka.coordinator.classic.classic_group import NONE
from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.runtime.strings import Ints32
from rebalance_sim.kafka.simulation.group_events import EVENT_KINDS, GroupEvent, GroupEvents, JoiningConsumer
from rebalance_sim.kafka.simulation.model import ScenarioKind
from rebalance_sim.kafka.simulation.rollout_events import PlannedEvent, event_rows, rollout_events
from rebalance_sim.kafka.simulation.scenario import NEXT_BOUNCE, Scenario, ScenarioStep

_OF_GROUP = (ScenarioKind.GROW, ScenarioKind.MOVE_COORDINATOR, ScenarioKind.FAIL_STORE, ScenarioKind.NEXT_BOUNCE)
"""Events of a whole group, not of its consumers."""


def expand_scenario(
    scenario: Scenario, sizes: Ints32, member: Callable[[int, int], Mapping[str, Any]]
) -> tuple[list[JoiningConsumer], GroupEvents]:
    """Return the events of a scenario, and the consumers that join, for groups with these numbers of members.

    ``member`` returns the row of a group's member by its place. Consumers of a join step are configured like the first,
    those of a rollout's new pods like the members that they replace.
    """
    joining: list[JoiningConsumer] = []
    parts: list[GroupEvents] = []
    joined = [0] * len(sizes)
    stage = 0
    for step in scenario.steps:
        stage += step.event == NEXT_BOUNCE
        if step.event != "join":
            parts.append(_events_of(step, stage, sizes))
            continue
        events: list[GroupEvent] = []
        for group, size in enumerate(sizes.tolist()):
            for number in range(step.count if size else 0):
                at_ms, place = step.at_ms + number * step.every_ms, size + joined[group]
                joined[group] += 1
                joining.append(JoiningConsumer(group, _like(member(group, 0), f"new-{joined[group]}", step)))
                events.append(GroupEvent(group, at_ms, ScenarioKind.JOIN, place, stage=stage))
        parts.append(GroupEvents.of(events))
    if scenario.rollout is not None:
        replaced, rows = rollout_events(scenario.rollout, stage, sizes, np.array(joined, np.int32))
        for group, place, number in replaced:
            row = _like(member(group, place), f"new-{number}", ScenarioStep("join"))
            joining.append(JoiningConsumer(group, row))
        parts.append(rows)
    return joining, GroupEvents.joined(parts)


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
    error: int = Errors[step.error]
    values = {ScenarioKind.GROW: step.add, ScenarioKind.FAIL_STORE: error, ScenarioKind.STALL: step.for_ms}
    return int(values.get(EVENT_KINDS[step.event], step.down_ms))


def _planned(step: ScenarioStep, stage: int, size: int) -> list[PlannedEvent]:
    """Return a step's events in a group with this number of members."""
    kind, value = int(EVENT_KINDS[step.event]), _value_of(step)
    if kind in _OF_GROUP:
        delays = [(0, NONE)]
    else:
        delays = [(number * step.every_ms, place) for number, place in enumerate(step.members.of(size))]
    starts = [step.at_ms + again * step.again_after_ms for again in range(step.times)]
    return [PlannedEvent(stage, start + delay, 0, kind, place, value) for start in starts for delay, place in delays]


def _events_of(step: ScenarioStep, stage: int, sizes: Ints32) -> GroupEvents:
    kind, names = EVENT_KINDS[step.event], step.protocols or step.subscription
    model = GroupEvent(NONE, step.at_ms, kind, value=_value_of(step), names=names, topic=step.topic)
    distinct, of_groups = np.unique(sizes, return_inverse=True)
    return GroupEvents(event_rows([_planned(step, stage, size) for size in distinct.tolist()], of_groups), [model])
