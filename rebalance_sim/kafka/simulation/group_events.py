"""Events of single groups, and the consumers that join during a simulation."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np

from rebalance_sim.kafka.coordinator.classic.classic_group import NONE
from rebalance_sim.kafka.runtime.records import Records, new_records
from rebalance_sim.kafka.runtime.strings import Flags, Ints
from rebalance_sim.kafka.simulation.model import ScenarioKind

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
    """For grow: the number of partitions afterwards; 0: ``value`` more than before."""
    names: tuple[str, ...] = ()
    """For subscribe: the topics; for protocols: the assignors in the consumer's order of preference."""
    topic: str | None = None
    """For grow; None: all topics of the group."""
    stage: int = 0
    """How many earlier events wait: ``at_ms`` counts from the end of the last wait."""
    delay_ms: int = 0
    """How long after ``at_ms`` it happens, without holding up the events after it."""


_OF_ROW = ("group", "at_ms", "consumer", "value", "stage", "delay_ms")


class EventRow:
    """An event in an array, which costs less than an object where every group has several."""

    group: int
    at_ms: int
    kind: int
    consumer: int
    value: int
    stage: int
    delay_ms: int
    model: int
    """The event among ``GroupEvents.models`` that has its other fields."""


class GroupEvents(NamedTuple):
    """The events of a batch of groups; events at the same time happen in this order."""

    rows: Records[EventRow]
    models: Sequence[GroupEvent]

    @classmethod
    def of(cls, events: Sequence[GroupEvent]) -> "GroupEvents":
        """Return events as rows."""
        rows = new_records(EventRow, len(events))
        columns = cast(Any, rows)
        for name in ("kind", *_OF_ROW):
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
        places = np.flatnonzero(self.column("kind") == kind)
        models = [self.models[number] for number in self.column("model")[places].tolist()]
        fields = zip(*(self.column(name)[places].tolist() for name in _OF_ROW), strict=True)
        events = (
            model._replace(**dict(zip(_OF_ROW, each, strict=True))) for model, each in zip(models, fields, strict=True)
        )
        return [*zip(places.tolist(), events, strict=True)]

    def by_group(self) -> Mapping[int, list[GroupEvent]]:
        """Return the events of each group in the order in which they happen; none of groups without any."""
        listed: defaultdict[int, list[tuple[int, int, GroupEvent]]] = defaultdict(list)
        for kind in ScenarioKind:
            for place, event in self.of_kind(kind):
                listed[event.group].append((event.at_ms + event.delay_ms, place, event._replace(kind=kind)))
        return defaultdict(list, {group: [each[2] for each in sorted(found)] for group, found in listed.items()})

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
