"""Reads the events table of a batch of groups, and rejects events that cannot happen.

A table has no order. Events of a group happen by ``at_ms``, then in the order of ``EVENT_KINDS``, then by
``member_id``, then by their other columns. Events of the scenario happen before events of the table.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rebalance_sim.engine.groups.group_batches import GroupBatch, RejectedRow
from rebalance_sim.engine.groups.prediction_rows import reject_rows
from rebalance_sim.engine.tables.topic_metadata import TopicIndex
from rebalance_sim.kafka.coordinator.classic.classic_group import NEVER
from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.simulation.group_events import EVENT_KINDS, GroupEvent, GroupEvents, JoiningConsumer
from rebalance_sim.kafka.simulation.model import ScenarioKind
from rebalance_sim.kafka.simulation.scenario import OFFERS, is_offer
from rebalance_sim.tables import EVENTS

_ROW = "row"
_OF_GROUP = (ScenarioKind.MOVE_COORDINATOR, ScenarioKind.FAIL_STORE)


def collect_events(events: DataFrame) -> DataFrame:
    """Nest the events of each group: ``cluster, group_id, events array<struct<...>>``."""
    names = [name for name in EVENTS.names if name not in ("cluster", "group_id")]
    row = F.to_json(F.struct(*EVENTS.names)).alias(_ROW)
    return events.groupBy("cluster", "group_id").agg(F.collect_list(F.struct(*names, row)).alias("events"))


@dataclass(frozen=True)
class ReadEvents:
    """The rows of an events table, for a batch of groups."""

    joining: list[JoiningConsumer] = field(default_factory=list)
    events: list[GroupEvent] = field(default_factory=list)
    rejected: list[RejectedRow] = field(default_factory=list)


class EventReader:
    """Reads the events of a batch of groups, to which a scenario may have added consumers and events."""

    def __init__(
        self, batch: GroupBatch, joining: Sequence[JoiningConsumer], events: GroupEvents, index: TopicIndex
    ) -> None:
        self._batch, self._index = batch, index
        self._growths: dict[int, list[GroupEvent]] = {}
        self._joined_ms: dict[tuple[int, int], int] = {}
        # The events of the table belong to the first bounce.
        for _, event in events.of_kind(ScenarioKind.GROW):
            if event.stage == 0:
                self._growths.setdefault(event.group, []).append(event)
        for _, event in events.of_kind(ScenarioKind.JOIN):
            self._joined_ms[event.group, event.consumer] = event.at_ms if event.stage == 0 else NEVER
        self._consumers: list[dict[str, int]] = [{} for _ in range(len(batch.group_ids))]
        ids = batch.column("member_id").to_pylist()
        for member, group in enumerate(batch.group_of_member.tolist()):
            self._consumers[group][ids[member]] = len(self._consumers[group])
        for consumer in joining:
            known = self._consumers[consumer.group]
            known[consumer.row["member_id"]] = len(known)

    def read(self, events: pa.ListArray) -> ReadEvents:
        """Check the events of all groups, those of each group in the order in which they happen."""
        found = ReadEvents()
        for group, rows in enumerate(events.to_pylist()):
            stopped: dict[str, int] = {}
            for row in sorted(rows or [], key=_order):
                reason = self._read(group, row, stopped, found)
                if reason:
                    found.rejected.append(RejectedRow(group, row[_ROW], reason))
        return found

    def _read(self, group: int, row: dict[str, Any], stopped: dict[str, int], found: ReadEvents) -> str | None:
        """Add an event to those found, or return why it is rejected."""
        event, name, kind = row["event"], row["member_id"], EVENT_KINDS[row["event"]]
        known = self._consumers[group]
        if not is_offer(row["protocols"] or ()):
            return f"{event}: protocols {row['protocols']} are not allowed; allowed: {OFFERS}"
        if kind == ScenarioKind.JOIN:
            return self._join(group, row, found)
        if not known:
            group_id = self._batch.group_ids[group].as_py()
            return f"{event}: group {group_id!r} has no members at {row['at_ms']} ms"
        if kind == ScenarioKind.GROW:
            return self._grow(group, row, found)
        read = GroupEvent(group, row["at_ms"], kind, value=_value(row))
        if kind in _OF_GROUP:
            found.events.append(read)
            return None
        if name not in known or self._joined_ms.get((group, known[name]), 0) > row["at_ms"]:
            return f"{event}: consumer {name!r} has not joined by {row['at_ms']} ms"
        if name in stopped and kind in (ScenarioKind.LEAVE, ScenarioKind.CRASH, ScenarioKind.STALL):
            return f"{event}: consumer {name!r} has been stopped since {stopped[name]} ms"
        if kind in (ScenarioKind.LEAVE, ScenarioKind.CRASH):
            stopped[name] = row["at_ms"]
        if kind == ScenarioKind.RESTART:
            stopped.pop(name, None)
        names = {ScenarioKind.PROTOCOLS: row["protocols"], ScenarioKind.SUBSCRIBE: row["subscription"]}.get(kind)
        found.events.append(read._replace(consumer=known[name], names=tuple(names or ())))
        return None

    def _grow(self, group: int, row: dict[str, Any], found: ReadEvents) -> str | None:
        topic, partitions = row["topic"], row["partitions"]
        topics = self._index.find(self._batch.clusters, np.array([group], np.int32), pa.array([topic])).topics
        before = int(topics.partitions[0])
        if before < 0:
            return f"grow: topic {topic!r} does not exist"
        growths = self._growths.setdefault(group, [])
        for growth in sorted(growths, key=lambda growth: growth.at_ms):
            if growth.at_ms <= row["at_ms"] and growth.topic in (None, topic):
                before = max(before, growth.partitions or before + growth.value)
        if partitions <= before:
            return f"grow: topic {topic!r} already has {before:,} partitions; grow must increase it"
        growths.append(GroupEvent(group, row["at_ms"], ScenarioKind.GROW, partitions=partitions, topic=topic))
        found.events.append(growths[-1])
        return None

    def _join(self, group: int, row: dict[str, Any], found: ReadEvents) -> str | None:
        known, name = self._consumers[group], row["member_id"]
        if name in known:
            return f"join: consumer {name!r} exists already; use restart to start it again"
        known[name] = len(known)
        configured = row | {"client_id": row["client_id"] or name, "protocol_type": None}
        found.joining.append(JoiningConsumer(group, configured))
        found.events.append(GroupEvent(group, row["at_ms"], ScenarioKind.JOIN, known[name]))
        return None


def _order(row: dict[str, Any]) -> tuple[Any, ...]:
    """Return the sort key of an event among those of its group; of two growths of a topic, the smaller is first."""
    sizes = (row[name] or 0 for name in ("partitions", "down_ms", "for_ms"))
    return (row["at_ms"], EVENT_KINDS[row["event"]], row["member_id"] or "", row["topic"] or "", *sizes, row[_ROW])


def _value(row: dict[str, Any]) -> int:
    if row["event"] == "fail-store":
        return int(Errors[row["error"]])
    return int(row["for_ms" if row["event"] == "stall" else "down_ms"] or 0)


def rejected_event_rows(batch: GroupBatch, rejected: list[RejectedRow]) -> pa.StructArray:
    """Return rejected events as rows of the rejects table."""
    return reject_rows(batch, rejected, EVENTS)
