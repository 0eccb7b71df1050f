"""How many rebalances of the past another setting would have prevented, found by simulating them again."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema

from rebalance_sim.engine.audit.changes import is_possible
from rebalance_sim.engine.audit.group import Group, TopicFacts
from rebalance_sim.engine.audit.thresholds import Thresholds
from rebalance_sim.engine.groups.by_brokers import by_brokers
from rebalance_sim.engine.groups.whole_groups import REJECT_REASON
from rebalance_sim.engine.simulation.simulations import Simulations
from rebalance_sim.engine.spark.driver_rows import map_batches
from rebalance_sim.engine.tables.arrow import arrow_type
from rebalance_sim.engine.tables.topic_metadata import TopicMetadata
from rebalance_sim.kafka.brokers import Brokers, Clusters
from rebalance_sim.kafka.clients.library import PROTOCOL
from rebalance_sim.kafka.history.changes import Generation, Participant
from rebalance_sim.kafka.history.replay import Replay, Step
from rebalance_sim.kafka.wire.consumer_protocol import TopicPartition
from rebalance_sim.tables import (
    ADVICE,
    BOOLEAN,
    CLASSIC,
    COSTS,
    DEFAULT_PROTOCOL_TYPE,
    ELECTIONS,
    EVENTS,
    INT,
    LONG,
    MEMBERS,
    PREVENTION,
    STRING,
    TOPICS,
    struct,
)

_AT_ONCE = 100
"""Generations of an episode that are simulated together; a longer one is replayed in parts."""
_GROUP = ("cluster", "group_id", "recreated")
_OF_PART = struct(
    {"cluster": STRING, "group_id": STRING, "episode": INT, "generations": INT, "setting": STRING, "value": STRING}
    | dict.fromkeys(("rebalances", "rebalances_saved", "unowned_ms", "unowned_ms_saved", "fails"), LONG)
    | {"possible": BOOLEAN}
)
_OF_AUDIT = ("host", "client_version", "protocol", "protocols_assumed", "subscribed_regex")
"""Columns that decide, beside those of simulations, which settings a group can change."""
_NOT_SENT = ("owned", "generation")
SAVES = "possible AND rebalances_saved > 0 AND failing = 0"
"""The condition of rows of ``prevention`` about settings that would have prevented rebalances."""
_SUMS = ("generations", "rebalances", "rebalances_saved", "unowned_ms", "unowned_ms_saved")
_Row = dict[str, Any]


@dataclass(frozen=True)
class Prevention:
    """How past generations are simulated again."""

    simulations: Simulations
    """With variations, and without a scenario: the events are those of the past."""

    def __call__(self, generations: DataFrame, generation_members: DataFrame) -> DataFrame:
        """Return the rows of ``prevention``."""
        wanted = dict.fromkeys((*self.simulations.columns, *_OF_AUDIT, "assigned"))
        member = F.struct(*(name for name in wanted if name not in _NOT_SENT)).alias("member")
        parts = _parts(generations, generation_members.select(*_GROUP, "generation", member))
        rows = map_batches(parts, self._batches, _OF_PART)
        return rows.groupBy(*PREVENTION.names[:4]).agg(
            F.count_distinct("episode").cast("int").alias("episodes"),
            *(F.sum(name).alias(name) for name in _SUMS),
            F.sum("fails").alias("failing"),
            F.every("possible").alias("possible"),
        )

    def _batches(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for brokers, batch in by_brokers(batches, self.simulations.clusters):
            parts = [part for row in batch.to_pylist() if (part := _part(row, self._start_ms)) is not None]
            if parts:
                simulations = replace(self.simulations, clusters=Clusters(brokers), metadata=_topics(parts))
                yield pa.RecordBatch.from_pylist(_saved(simulations, parts), to_arrow_schema(_OF_PART))

    @property
    def _start_ms(self) -> int:
        return self.simulations.scenario.settings.start_ms


@dataclass(frozen=True)
class _Part:
    """Consecutive generations of an episode."""

    row: _Row
    replay: Replay
    members: dict[str, _Row]
    """All members by id."""


def _parts(generations: DataFrame, members: DataFrame) -> DataFrame:
    """Return one row per part of an episode, with its generations and the one before it.

    The members of an emptied group have no rows, so that generations decide which there are.
    """
    classic = generations.where("type = 'classic' AND NOT rewritten")
    in_group = Window.partitionBy(*_GROUP).orderBy("generation")
    in_episode = Window.partitionBy(*_GROUP, "episode").orderBy("generation")
    part = F.struct("episode", ((F.row_number().over(in_episode) - 1) / _AT_ONCE).cast("int").alias("nth"))
    placed = classic.select(*_GROUP, "generation", "completed_at_ms", part.alias("part"))
    parts = F.array_distinct(F.array_compact(F.array("part", F.lead("part").over(in_group))))
    nested = members.groupBy(*_GROUP, "generation").agg(F.collect_list("member").alias("members"))
    of_parts = placed.withColumn("part", parts).join(nested, [*_GROUP, "generation"], "left")
    generation = F.struct("generation", "completed_at_ms", "members")
    return (
        of_parts.select(*_GROUP, "generation", "completed_at_ms", "members", F.explode("part").alias("part"))
        .groupBy(*_GROUP, "part")
        .agg(F.sort_array(F.collect_list(generation)).alias("generations"))
        .where(F.size("generations") > 1)
        .select(*_GROUP[:2], "part.episode", "generations")
    )


def _part(row: _Row, start_ms: int) -> _Part | None:
    """Return a part that can be replayed; None if times are unknown, or a member's topics."""
    members = {member["member_id"]: member for each in row["generations"] for member in each["members"] or ()}
    if any(member["subscription"] is None for member in members.values()):
        return None
    replay = Replay.of([_generation(each) for each in row["generations"]], start_ms)
    return None if replay is None else _Part(row, replay, members)


def _generation(row: _Row) -> Generation:
    members = tuple(map(_participant, row["members"] or ()))
    return Generation(row["generation"], members, at_ms=row["completed_at_ms"])


def _participant(member: _Row) -> Participant:
    names = (member["member_id"], member["instance_id"], member["client_id"] or "", member["host"] or "")
    timeouts = (member["session_timeout_ms"], member["rebalance_timeout_ms"])
    assigned = None if member["assigned"] is None else _partitions(member["assigned"])
    return Participant(*names, *timeouts, topics=tuple(member["subscription"]), assigned=assigned)


def _partitions(rows: Iterable[_Row]) -> tuple[TopicPartition, ...]:
    return tuple(TopicPartition(row["topic"], row["partition"]) for row in rows)


def _topics(parts: list[_Part]) -> TopicMetadata:
    """Return the topics of each part, whose number stands for its cluster."""
    rows = [
        {"cluster": str(number), "topic": topic, "partitions": partitions}
        for number, part in enumerate(parts)
        for topic, partitions in part.replay.partitions.items()
    ]
    return TopicMetadata(pa.Table.from_pylist(rows, to_arrow_schema(TOPICS.schema)))


def _saved(simulations: Simulations, parts: list[_Part]) -> list[_Row]:
    """Simulate parts and return rows of ``_OF_PART``."""
    costs: dict[str, _Row] = {}
    advice: list[_Row] = []
    for name, rows in simulations.tables([_nested(simulations, parts)]):
        if name == COSTS.name:
            costs |= {row["cluster"]: row for row in rows.to_pylist() if row["error"] is None}
        elif name == ADVICE.name:
            advice += rows.to_pylist()
    # A part in which the group never has a member has no advice.
    simulated = {row["cluster"]: parts[int(row["cluster"])] for row in advice}
    groups = {number: _group(part, simulations.clusters.others) for number, part in simulated.items()}
    return [
        _row(simulated[row["cluster"]].row, costs[row["cluster"]], row)
        | {"possible": _can_change(groups[row["cluster"]], row["setting"], row["value"])}
        for row in advice
    ]


def _can_change(group: Group, setting: str, value: str) -> bool:
    """Return whether a group can make a change, whichever of the libraries that they may have its clients use."""
    if setting == PROTOCOL and group.migration.assumes:
        return False
    return is_possible(group, setting, value, Thresholds())


def _group(part: _Part, brokers: Brokers) -> Group:
    """Return the group as an audit would see it in the last generation that has members."""
    last = next(each["members"] for each in reversed(part.row["generations"]) if each["members"])
    columns = dict.fromkeys(MEMBERS.names)
    rows: dict[str, list[_Row]] = defaultdict(list)
    rows[MEMBERS.name] = [columns | {"protocol_type": DEFAULT_PROTOCOL_TYPE} | member for member in last]
    leader = next((member["member_id"] for member in last if member["join_order"] == 0), None)
    election = {"type": CLASSIC, "protocol": last[0]["protocol"], "leader_id": leader, "members": len(last)}
    rows[ELECTIONS.name] = [dict.fromkeys(ELECTIONS.names) | election | {"refused": []}]
    return Group(part.row["cluster"], part.row["group_id"], rows, brokers, TopicFacts())


def _row(of: _Row, usual: _Row, advice: _Row) -> _Row:
    names = {name: of[name] for name in ("cluster", "group_id", "episode")}
    figures = {name: advice[name] for name in ("setting", "value", "rebalances_saved", "unowned_ms_saved")}
    figures |= {name: usual[name] for name in ("rebalances", "unowned_ms")}
    return names | figures | {"generations": len(of["generations"]) - 1, "fails": int(advice["fails"])}


def _nested(simulations: Simulations, parts: list[_Part]) -> pa.RecordBatch:
    """Return parts as groups with the members of their first generation and with events."""
    members = [field for field in arrow_type(MEMBERS.schema) if field.name in simulations.columns]
    events = [*arrow_type(EVENTS.schema), pa.field("row", pa.string())]
    columns = {
        "cluster": (pa.string(), [str(number) for number in range(len(parts))]),
        "group_id": (pa.string(), [part.row["group_id"] for part in parts]),
        "members": (pa.list_(pa.struct(members)), [list(_first_members(part)) for part in parts]),
        "rejected_members": (pa.int32(), [0] * len(parts)),
        REJECT_REASON: (pa.string(), [None] * len(parts)),
        "events": (pa.list_(pa.struct(events)), [[_event(part, step) for step in part.replay.steps] for part in parts]),
    }
    return pa.RecordBatch.from_arrays([pa.array(rows, of) for of, rows in columns.values()], names=list(columns))


def _first_members(part: _Part) -> Iterator[_Row]:
    """Yield the members with which a part begins; they own what they were assigned."""
    first = part.row["generations"][0]
    for member in first["members"] or ():
        name = member["instance_id"] or member["member_id"]
        yield member | {"member_id": name, "owned": member["assigned"], "generation": first["generation"]}


def _event(part: _Part, step: Step) -> _Row:
    """Return a row of events."""
    row: _Row = {"at_ms": step.at_ms, "event": step.kind.value, "member_id": step.consumer, "row": ""}
    if step.topic:
        return row | {"topic": step.topic, "partitions": step.partitions}
    member = part.members[step.member_id] if step.member_id else {}
    described = ("subscription", "protocols", "instance_id", "client_id", "rack", "session_timeout_ms")
    configured = {name: member.get(name) for name in (*described, "rebalance_timeout_ms")}
    return row | configured | {"down_ms": step.down_ms}
