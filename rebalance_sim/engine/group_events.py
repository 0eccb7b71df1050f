"""What an events table says of each group, checked against what can happen.

A table has no order. Events of a group happen by ``at_ms``, those of one time in the order of ``KINDS``, those of one
kind by ``member_id``, then by what else they say. What a scenario says happens before the table's events of that time.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rebalance_sim.engine.arrow import rows_of
from rebalance_sim.engine.group_batches import GroupBatch
from rebalance_sim.engine.simulated_groups import KINDS, Happening, Joiner
from rebalance_sim.engine.topic_metadata import TopicIndex
from rebalance_sim.kafka.coordinator.classic_group import NONE
from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.simulation.scenario import OFFERS, is_offer
from rebalance_sim.tables import EVENTS, REJECTS

_ROW = "row"
_OF_GROUP = ("move-coordinator", "fail-store")
_PLACES = {event: place for place, event in enumerate(KINDS)}


def collect_events(events: DataFrame) -> DataFrame:
    """Nest the events of each group: ``cluster, group_id, events array<struct<...>>``."""
    names = [name for name in EVENTS.names if name not in ("cluster", "group_id")]
    row = F.to_json(F.struct(*EVENTS.names)).alias(_ROW)
    return events.groupBy("cluster", "group_id").agg(F.collect_list(F.struct(*names, row)).alias("events"))


@dataclass(frozen=True)
class RejectedEvent:
    """An event that cannot happen."""

    group: int
    row: str
    reason: str


@dataclass(frozen=True)
class ReadEvents:
    """What an events table says of a batch."""

    joiners: list[Joiner] = field(default_factory=list)
    happenings: list[Happening] = field(default_factory=list)
    rejected: list[RejectedEvent] = field(default_factory=list)


class EventReader:
    """Reads the events of a batch of groups, which may have consumers of a scenario's beside the members."""

    def __init__(
        self, batch: GroupBatch, joiners: Sequence[Joiner], happenings: Sequence[Happening], index: TopicIndex
    ) -> None:
        self._batch, self._index = batch, index
        self._growths: dict[int, list[Happening]] = {}
        self._joined_ms: dict[tuple[int, int], int] = {}
        for happening in happenings:
            if happening.event == "grow":
                self._growths.setdefault(happening.group, []).append(happening)
            elif happening.event == "join":
                self._joined_ms[happening.group, happening.consumer] = happening.at_ms
        self._consumers: list[dict[str, int]] = [{} for _ in range(len(batch.group_ids))]
        ids = batch.column("member_id").to_pylist()
        for member, group in enumerate(batch.group_of_member().tolist()):
            self._consumers[group][ids[member]] = len(self._consumers[group])
        for joiner in joiners:
            known = self._consumers[joiner.group]
            known[joiner.row["member_id"]] = len(known)

    def read(self, events: pa.ListArray) -> ReadEvents:
        """Check the events of all groups, each group's in the order in which they happen."""
        told = ReadEvents()
        for group, rows in enumerate(events.to_pylist()):
            stopped: dict[str, int] = {}
            for row in sorted(rows or [], key=_order):
                reason = self._read(group, row, stopped, told)
                if reason:
                    told.rejected.append(RejectedEvent(group, row[_ROW], reason))
        return told

    def _read(self, group: int, row: dict[str, Any], stopped: dict[str, int], told: ReadEvents) -> str | None:
        event, name = row["event"], row["member_id"]
        known = self._consumers[group]
        if not is_offer(row["protocols"] or ()):
            return f"{event}: protocols {row['protocols']} are not allowed; allowed: {OFFERS}"
        if event == "join":
            return self._join(group, row, told)
        if not known:
            group_id = self._batch.group_ids[group].as_py()
            return f"{event}: nobody has joined group {group_id!r} by {row['at_ms']} ms"
        if event == "grow":
            return self._grow(group, row, told)
        if event in _OF_GROUP:
            told.happenings.append(Happening(group, row["at_ms"], event, NONE, _value(row)))
            return None
        if name not in known or self._joined_ms.get((group, known[name]), 0) > row["at_ms"]:
            return f"{event}: consumer {name!r} has not joined by {row['at_ms']} ms"
        if name in stopped and event in ("leave", "crash", "stall"):
            return f"{event}: consumer {name!r} is stopped since {stopped[name]} ms"
        if event in ("leave", "crash"):
            stopped[name] = row["at_ms"]
        if event == "restart":
            stopped.pop(name, None)
        names = tuple({"protocols": row["protocols"], "subscribe": row["subscription"]}.get(event) or ())
        told.happenings.append(Happening(group, row["at_ms"], event, known[name], _value(row), names=names))
        return None

    def _grow(self, group: int, row: dict[str, Any], told: ReadEvents) -> str | None:
        topic, partitions = row["topic"], row["partitions"]
        found = self._index.find(self._batch.clusters, np.array([group], np.int32), pa.array([topic]))
        before = int(found.topics.partitions[0])
        if before < 0:
            return f"grow: there is no topic {topic!r}"
        growths = self._growths.setdefault(group, [])
        for growth in sorted(growths, key=lambda growth: growth.at_ms):
            if growth.at_ms <= row["at_ms"] and growth.topic in (None, topic):
                before = max(before, growth.partitions or before + growth.value)
        if partitions <= before:
            return f"grow: topic {topic!r} has {before} partitions; allowed: more"
        growths.append(Happening(group, row["at_ms"], "grow", partitions=partitions, topic=topic))
        told.happenings.append(growths[-1])
        return None

    def _join(self, group: int, row: dict[str, Any], told: ReadEvents) -> str | None:
        known, name = self._consumers[group], row["member_id"]
        if name in known:
            return f"join: there is a consumer {name!r} already; restart starts it again"
        known[name] = len(known)
        told.joiners.append(Joiner(group, row | {"client_id": row["client_id"] or name, "protocol_type": None}))
        told.happenings.append(Happening(group, row["at_ms"], "join", known[name]))
        return None


def _order(row: dict[str, Any]) -> tuple[Any, ...]:
    """Where an event comes among those of its group; two growths of one topic, the smaller one first."""
    sizes = (row[name] or 0 for name in ("partitions", "down_ms", "for_ms"))
    return (row["at_ms"], _PLACES[row["event"]], row["member_id"] or "", row["topic"] or "", *sizes, row[_ROW])


def _value(row: dict[str, Any]) -> int:
    if row["event"] == "fail-store":
        return int(Errors[row["error"]])
    of = "for_ms" if row["event"] == "stall" else "down_ms"
    return int(row[of] or 0)


def rejected_event_rows(batch: GroupBatch, rejected: Sequence[RejectedEvent]) -> pa.StructArray:
    """Build rejects of events."""
    groups = pa.array([reject.group for reject in rejected], pa.int32())
    return rows_of(
        REJECTS.schema,
        {
            "table": pa.array([EVENTS.name] * len(rejected), pa.string()),
            "cluster": batch.clusters.take(groups),
            "group_id": batch.group_ids.take(groups),
            "row": pa.array([reject.row for reject in rejected], pa.string()),
            "reason": pa.array([reject.reason for reject in rejected], pa.string()),
        },
    )
