"""Events of single groups: what the steps of a scenario mean for each group of a batch."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np

from rebalance_sim.kafka.coordinator.classic.group import NONE
from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.runtime.lists import list_offsets, take_lists
from rebalance_sim.kafka.runtime.records import Records, new_records
from rebalance_sim.kafka.runtime.strings import Flags, Ints, Ints32
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


class EventRow:
    """An event in an array, which costs less than an object where every group has several."""

    group: int
    at_ms: int
    kind: int
    consumer: int
    value: int
    model: int
    """The event among ``GroupEvents.models`` that has its other fields."""


class GroupEvents(NamedTuple):
    """The events of a batch of groups; those of one time happen in this order."""

    rows: Records[EventRow]
    models: Sequence[GroupEvent]

    @classmethod
    def of(cls, events: Sequence[GroupEvent]) -> "GroupEvents":
        """Return events as rows."""
        rows = new_records(EventRow, len(events))
        columns = cast(Any, rows)
        for name in ("group", "at_ms", "kind", "consumer", "value"):
            columns[name] = [getattr(event, name) for event in events]
        columns["model"] = np.arange(len(events))
        return cls(rows, events)

    @classmethod
    def joined(cls, parts: "Sequence[GroupEvents]") -> "GroupEvents":
        """Return all events of several parts, those of the first part first."""
        rows, models = [new_records(EventRow, 0)], list[GroupEvent]()
        for part in parts:
            rows.append(part.rows.copy())  # type: ignore[attr-defined]
            cast(Any, rows[-1])["model"] += len(models)
            models += part.models
        return cls(np.concatenate(rows).view(np.recarray), models)  # type: ignore[arg-type]

    def column(self, name: str) -> Ints:
        """Return a field of all events."""
        return np.asarray(cast(Any, self.rows)[name])

    def of_kind(self, kind: ScenarioKind) -> list[tuple[int, GroupEvent]]:
        """Return the events of a kind, each with its place."""
        places = np.flatnonzero(self.column("kind") == kind).tolist()
        return [(place, self._event(self.rows[place])) for place in places]

    def _event(self, row: EventRow) -> GroupEvent:
        model = self.models[row.model]
        return model._replace(
            group=int(row.group), at_ms=int(row.at_ms), consumer=int(row.consumer), value=int(row.value)
        )

    def of_groups(self, kept: Flags, numbers: Ints) -> "GroupEvents":
        """Return the events of the groups that are kept, which get new numbers."""
        rows = cast(Any, self.rows)[kept[self.column("group")]]
        rows["group"] = numbers[rows["group"]]
        return GroupEvents(rows, self.models)


@dataclass(frozen=True)
class JoiningConsumer:
    """A consumer that joins during the simulation."""

    group: int
    row: Mapping[str, Any]
    """Its row, with the columns of the members table."""


def expand_scenario(
    scenario: Scenario, sizes: Ints32, first_member: Callable[[int], Mapping[str, Any]]
) -> tuple[list[JoiningConsumer], GroupEvents]:
    """Return what a scenario means for groups with these numbers of members.

    ``first_member`` returns the row of a group's first member: consumers of a join step are configured like it.
    """
    joining: list[JoiningConsumer] = []
    parts: list[GroupEvents] = []
    joined = [0] * len(sizes)
    for step in scenario.steps:
        if step.event != "join":
            parts.append(_events_of(step, sizes))
            continue
        events: list[GroupEvent] = []
        for group, size in enumerate(sizes.tolist()):
            for number in range(step.count if size else 0):
                at_ms, place = step.at_ms + number * step.every_ms, size + joined[group]
                joined[group] += 1
                joining.append(JoiningConsumer(group, _like(first_member(group), f"new-{joined[group]}", step)))
                events.append(GroupEvent(group, at_ms, ScenarioKind.JOIN, place))
        parts.append(GroupEvents.of(events))
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


def _events_of(step: ScenarioStep, sizes: Ints32) -> GroupEvents:
    kind, names = EVENT_KINDS[step.event], step.protocols or step.subscription
    model = GroupEvent(NONE, step.at_ms, kind, value=_value_of(step), names=names, topic=step.topic)
    distinct, of_groups = np.unique(sizes, return_inverse=True)
    times = [_times_of(step, size) for size in distinct.tolist()]
    offsets = list_offsets(np.array([len(each) for each in times]))
    _, places = take_lists(offsets, of_groups)
    rows = new_records(EventRow, len(places))
    columns = cast(Any, rows)
    columns["group"] = np.repeat(np.arange(len(sizes)), np.diff(offsets)[of_groups])
    flat = np.array([each for of_size in times for each in of_size], np.int64).reshape(-1, 2)[places]
    columns["at_ms"], columns["consumer"] = flat[:, 0], flat[:, 1]
    columns["kind"], columns["value"] = kind, model.value
    return GroupEvents(rows, [model])
