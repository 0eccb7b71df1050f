"""Assigns the tasks of streams groups in Spark's workers, and returns the rows of the output tables."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rebalance_sim.engine.groups.whole_groups import KEYS, collected, join_key
from rebalance_sim.engine.spark.driver_rows import map_batches
from rebalance_sim.engine.streams.application import (
    CLASSIC,
    NEW_PROCESS,
    Application,
    Assigned,
    Member,
    Task,
    figures,
    without_figures,
)
from rebalance_sim.engine.streams.classic import NO_TOPOLOGY, assign_applications, obstacle
from rebalance_sim.engine.streams.restoration import Restoration, RestoreSettings, active_stateful, moves
from rebalance_sim.engine.tables.arrow import arrow_type, as_outcome
from rebalance_sim.engine.tables.inputs import usable
from rebalance_sim.kafka.assignors.streams.sticky_task_assignor import assign
from rebalance_sim.kafka.assignors.streams.streams_groups import NO_SUBTOPOLOGY, StreamsGroups, TaskLists
from rebalance_sim.kafka.brokers import Clusters
from rebalance_sim.kafka.groups import AssignmentFailure
from rebalance_sim.kafka.runtime.strings import Ints32, Strings
from rebalance_sim.releases import KafkaVersion, StreamsRules
from rebalance_sim.tables import STREAMS_BALANCE, STREAMS_MEMBERS, STREAMS_MOVES, STREAMS_TASKS, SUBTOPOLOGIES, struct

Rows = list[dict[str, Any]]
_SCHEMA = struct({table.name: table.schema for table in (STREAMS_BALANCE, STREAMS_TASKS, STREAMS_MOVES)})
_COUNTED = ("tasks", "missing", "sources", "changelog_ends")
_NO_TASKS = "the brokers of Kafka {} have no streams groups"
_MISSING = "topic '{}' is missing: the topology is not ready, and no member gets a task"


@dataclass(frozen=True)
class StreamsPlan:
    """What is assigned of every group, after what changes in it."""

    clusters: Clusters
    leaving: Sequence[str] = ()
    """Members, processes or client ids that leave."""
    joining: int = 0
    """New processes that join, with one member each."""
    standby_replicas: int | None = None
    """num.standby.replicas, in place of each group's own."""
    restoring: RestoreSettings = field(default_factory=RestoreSettings)

    def rows(self, members: DataFrame, subtopologies: DataFrame, topics: DataFrame) -> DataFrame:
        """Return the rows of all tables, from fitted inputs."""
        return self.rows_of(usable(members), usable(subtopologies), usable(topics))

    def rows_of(self, members: DataFrame, subtopologies: DataFrame, topics: DataFrame) -> DataFrame:
        """Return the rows of all tables, from the usable rows of inputs."""
        counted = with_tasks(subtopologies, topics)
        groups = collected(members, STREAMS_MEMBERS.names, "members").join(
            collected(counted, [*SUBTOPOLOGIES.names, *_COUNTED], "subtopologies"), [*KEYS], "full"
        )
        return map_batches(
            groups.select(*KEYS, *(F.coalesce(name, F.array()).alias(name) for name in ("members", "subtopologies"))),
            self._assign_all,
            _SCHEMA,
        )

    def _assign_all(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            balances: Rows = []
            tasks: Rows = []
            moved: Rows = []
            of_rules: dict[tuple[KafkaVersion, bool], list[Application]] = {}
            for row in batch.to_pylist():
                group = self._application(row)
                error = self._obstacle(group, row["subtopologies"])
                if error is not None:
                    balances.append(group.keys | without_figures(group, error))
                else:
                    rules = self.clusters.of(row["cluster"]).rules()
                    of_rules.setdefault((rules, group.is_classic), []).append(group)
            for (version, is_classic), groups in of_rules.items():
                assign_all = assign_applications if is_classic else _assigned
                of_groups = assign_all(groups, version, self.restoring)
                for group, assigned in zip(groups, of_groups, strict=True):
                    balances.append(group.keys | figures(group, assigned))
                    tasks += [group.keys | row for row in assigned.rows(group)]
                    moved += [group.keys | row for row in assigned.moved_rows()]
            for table, rows in ((STREAMS_BALANCE, balances), (STREAMS_TASKS, tasks), (STREAMS_MOVES, moved)):
                if rows:
                    yield as_outcome(table.name, pa.array(rows, arrow_type(table.schema)), _SCHEMA)

    def _application(self, row: dict[str, Any]) -> Application:
        """Return a group after what changes in it."""
        rules = self.clusters.of(row["cluster"]).rules().streams
        stays = [
            member
            for member in sorted(row["members"], key=join_key)
            if not {member["member_id"], member["process_id"], member["client_id"]}.intersection(self.leaving)
        ]
        standbys = max((part["standby_replicas"] or 0 for part in row["subtopologies"]), default=0)
        return Application(
            {key: row[key] for key in KEYS},
            [*(_member(member, rules) for member in stays), *map(_new_member, range(1, self.joining + 1))],
            {part["subtopology"]: (part["tasks"] or 0, part["stateful"]) for part in row["subtopologies"]},
            standbys if self.standby_replicas is None else self.standby_replicas,
            [_member(member, rules) for member in row["members"]],
            {part["subtopology"]: dict(map(_topic, part["sources"] or ())) for part in row["subtopologies"]},
            any(member["protocol"] == CLASSIC for member in row["members"]),
            _ends(row["subtopologies"]),
        )

    def _obstacle(self, group: Application, subtopologies: Rows) -> str | None:
        """Return why a group has no assignment."""
        brokers = self.clusters.of(group.keys["cluster"])
        version = brokers.rules()
        if group.is_classic:
            return obstacle(group, brokers.clients or brokers.version, version.streams_protocol)
        if not version.streams_assignors:
            return _NO_TASKS.format(brokers.version)
        return missing_topic(subtopologies) if subtopologies else NO_TOPOLOGY


def with_tasks(subtopologies: DataFrame, topics: DataFrame) -> DataFrame:
    """Add the number of tasks of each subtopology, the topics that it reads, and one of them that is missing."""
    read = subtopologies.select(*KEYS, "subtopology", F.explode("topics").alias("topic"))
    patterns = subtopologies.select(*KEYS, "subtopology", F.explode("topic_patterns").alias("pattern"))
    known = topics.select("cluster", "topic", "partitions")
    matched = patterns.join(known, "cluster").where("topic RLIKE concat('^(?:', pattern, ')$')")
    named = read.join(known, ["cluster", "topic"], "left")
    counted = (
        named.unionByName(matched.drop("pattern"))
        .groupBy(*KEYS, "subtopology")
        .agg(
            F.max("partitions").alias("tasks"),
            F.min(F.when(F.col("partitions").isNull(), F.col("topic"))).alias("missing"),
            F.collect_set(F.struct("topic", "partitions")).alias("sources"),
        )
    )
    changelogs = subtopologies.select(*KEYS, "subtopology", F.explode("changelogs").alias("topic"))
    ends = (
        changelogs.join(topics.select("cluster", "topic", "end_offsets"), ["cluster", "topic"], "left")
        .groupBy(*KEYS, "subtopology")
        .agg(F.collect_list(F.struct("end_offsets")).alias("changelog_ends"))
    )
    key = [*KEYS, "subtopology"]
    return subtopologies.join(counted, key, "left").join(ends, key, "left")


def missing_topic(subtopologies: Sequence[Mapping[str, Any]]) -> str | None:
    """Return that a topic is missing, if one is."""
    missing = next((part["missing"] for part in subtopologies if part["missing"]), None)
    return None if missing is None else _MISSING.format(missing)


def _ends(subtopologies: Rows) -> dict[Task, int] | None:
    """Return the sum of the changelogs' end offsets by stateful task; None if one of them is unknown."""
    ends: dict[Task, int] = {}
    for part in subtopologies:
        if not part["stateful"]:
            continue
        of_topics = [topic["end_offsets"] or () for topic in part["changelog_ends"] or ()]
        for partition in range(part["tasks"] or 0):
            known = [of[partition] for of in of_topics if partition < len(of) and of[partition] is not None]
            if not known or len(known) < len(of_topics):
                return None
            ends[part["subtopology"], partition] = sum(known)
    return ends


def _member(row: dict[str, Any], rules: StreamsRules) -> Member:
    """Return a member with what the assignor of a release takes into account: the target, or since 4.4 what it has."""
    prefix = "current_" if rules >= StreamsRules.TASK_OFFSETS and row["current_active"] is not None else ""
    active, standby = (
        [(task["subtopology"], task["partition"]) for task in row[f"{prefix}{role}"] or ()]
        for role in ("active", "standby")
    )
    sent = row["task_offsets"]
    offsets = None if sent is None else {(task["subtopology"], task["partition"]): task["offset_sum"] for task in sent}
    return Member(row["member_id"], row["process_id"], active, standby, row["supported_version"], offsets)


def _topic(source: dict[str, Any]) -> tuple[str, int]:
    return source["topic"], source["partitions"] or 0


def _new_member(number: int) -> Member:
    return Member(f"new-{number}", f"{NEW_PROCESS}{number}", (), ())


def _assigned(groups: Sequence[Application], version: KafkaVersion, restoring: RestoreSettings) -> list[Assigned]:
    """Return the next target assignment of each group."""
    batch = _batch(groups)
    outcome = assign(batch, version)
    names = batch.subtopology_ids.to_list()
    active, standby = (_named(lists, names) for lists in (outcome.active, outcome.standby))
    return [
        Assigned([], [], AssignmentFailure(int(error)).message)
        if error
        else _with_moves(group, Assigned(active[start:end], standby[start:end]), restoring.rate)
        for group, (start, end), error in zip(groups, pairwise(batch.members.tolist()), outcome.errors, strict=True)
    ]


def _with_moves(group: Application, assigned: Assigned, rate: int | None) -> Assigned:
    """Add the moves of a streams group's tasks, and how long their state is restored: no warm-up precedes them."""
    tasks = zip(group.members, assigned.active, assigned.standby, strict=True)
    members = [member._replace(active=active, standby=standby) for member, active, standby in tasks]
    moved = list(moves(active_stateful(group, group.before), members, 0))
    if group.ends is None:
        return replace(assigned, moves=moved)
    restoration = Restoration(group.ends, rate)
    restoration.read_state(group.before)
    restoration.begin(members)
    if rate is not None:
        restoration.run(members)
    return replace(assigned, restored=restoration.restored(), moves=moved, is_timed=rate is not None)


def _batch(groups: Sequence[Application]) -> StreamsGroups:
    members = [member for group in groups for member in group.members]
    firsts = _offsets([len(group.subtopologies) for group in groups])
    numbers = [
        {name: int(first) + place for place, name in enumerate(group.subtopologies)}
        for first, group in zip(firsts, groups, strict=False)
    ]
    known = [of_group for of_group, group in zip(numbers, groups, strict=True) for _ in group.members]
    parts = [part for group in groups for part in group.subtopologies.values()]
    none = TaskLists(np.zeros(len(members) + 1, np.int32), np.empty(0, np.int32), np.empty(0, np.int32))
    return StreamsGroups(
        _offsets([len(group.members) for group in groups]),
        Strings.of([member.member_id for member in members]),
        Strings.of([member.process_id for member in members]),
        firsts,
        Strings.of([name for group in groups for name in group.subtopologies]),
        np.array([tasks for tasks, _ in parts], np.int32),
        np.array([is_stateful for _, is_stateful in parts], np.bool_),
        np.array([group.standby_replicas for group in groups], np.int32),
        _lists([member.active for member in members], known),
        _lists([member.standby for member in members], known),
        none,
        np.empty(0, np.int64),
    )


def _lists(of_members: Sequence[Sequence[Task]], known: Sequence[dict[str, int]]) -> TaskLists:
    flat = [(of.get(name, NO_SUBTOPOLOGY), k) for tasks, of in zip(of_members, known, strict=True) for name, k in tasks]
    return TaskLists(
        _offsets([len(tasks) for tasks in of_members]),
        np.array([subtopology for subtopology, _ in flat], np.int32),
        np.array([partition for _, partition in flat], np.int32),
    )


def _offsets(lengths: Sequence[int]) -> Ints32:
    return np.array([0, *accumulate(lengths)], np.int32)


def _named(lists: TaskLists, names: Sequence[str]) -> list[list[Task]]:
    flat = list(zip((names[k] for k in lists.subtopologies), lists.partitions.tolist(), strict=True))
    return [flat[start:end] for start, end in pairwise(lists.offsets.tolist())]
