"""Assigns the tasks of streams groups in Spark's workers, and returns the rows of the output tables."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rebalance_sim.engine.spark.driver_rows import map_batches
from rebalance_sim.engine.tables.arrow import arrow_type, as_outcome
from rebalance_sim.engine.tables.inputs import usable
from rebalance_sim.kafka.assignors.streams.sticky_task_assignor import assign
from rebalance_sim.kafka.assignors.streams.streams_groups import NO_SUBTOPOLOGY, StreamsGroups, TaskLists
from rebalance_sim.kafka.brokers import Clusters
from rebalance_sim.kafka.groups import AssignmentFailure
from rebalance_sim.kafka.runtime.strings import Ints32, Strings
from rebalance_sim.releases import KafkaVersion, StreamsRules
from rebalance_sim.tables import STREAMS_BALANCE, STREAMS_MEMBERS, STREAMS_TASKS, SUBTOPOLOGIES, struct

Rows = list[dict[str, Any]]
Task = tuple[str, int]
_KEYS = ("cluster", "group_id")
_SCHEMA = struct({table.name: table.schema for table in (STREAMS_BALANCE, STREAMS_TASKS)})
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

    def rows(self, members: DataFrame, subtopologies: DataFrame, topics: DataFrame) -> DataFrame:
        """Return the rows of all tables, from fitted inputs."""
        counted = _with_tasks(usable(subtopologies), usable(topics))
        groups = _collected(usable(members), STREAMS_MEMBERS.names, "members").join(
            _collected(counted, [*SUBTOPOLOGIES.names, "tasks", "missing"], "subtopologies"), [*_KEYS], "full"
        )
        return map_batches(
            groups.select(*_KEYS, *(F.coalesce(name, F.array()).alias(name) for name in ("members", "subtopologies"))),
            self._assign_all,
            _SCHEMA,
        )

    def _assign_all(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            by_version: dict[KafkaVersion, list[Application]] = {}
            balances: Rows = []
            tasks: Rows = []
            for row in batch.to_pylist():
                group, error = self._application(row)
                if error is not None:
                    balances.append(group.keys | {"members": len(group.members), "error": error})
                else:
                    by_version.setdefault(self.clusters.of(row["cluster"]).rules(), []).append(group)
            for version, groups in by_version.items():
                for group, assigned in zip(groups, _assigned(groups, version), strict=True):
                    balances.append(group.keys | _balance(group, assigned))
                    tasks += [group.keys | row for row in assigned.rows(group)]
            for table, rows in ((STREAMS_BALANCE, balances), (STREAMS_TASKS, tasks)):
                if rows:
                    yield as_outcome(table.name, pa.array(rows, arrow_type(table.schema)), _SCHEMA)

    def _application(self, row: dict[str, Any]) -> tuple["Application", str | None]:
        """Return a group after what changes in it, and why it has no assignment."""
        brokers = self.clusters.of(row["cluster"])
        version = brokers.rules()
        stays = [
            member
            for member in sorted(row["members"], key=_join_key)
            if not {member["member_id"], member["process_id"], member["client_id"]}.intersection(self.leaving)
        ]
        standbys = max((part["standby_replicas"] or 0 for part in row["subtopologies"]), default=0)
        group = Application(
            {key: row[key] for key in _KEYS},
            [*(_member(member, version.streams) for member in stays), *map(_new_member, range(1, self.joining + 1))],
            {part["subtopology"]: (part["tasks"] or 0, part["stateful"]) for part in row["subtopologies"]},
            standbys if self.standby_replicas is None else self.standby_replicas,
            [_member(member, version.streams) for member in row["members"]],
        )
        missing = next((part["missing"] for part in row["subtopologies"] if part["missing"]), None)
        if not version.streams_assignors:
            return group, _NO_TASKS.format(brokers.version)
        return group, None if missing is None else _MISSING.format(missing)


class Member(NamedTuple):
    """A member, and the tasks that it had."""

    member_id: str
    process_id: str
    active: Sequence[Task]
    standby: Sequence[Task]


@dataclass(frozen=True)
class Application:
    """A streams group before it is assigned."""

    keys: dict[str, Any]
    members: Sequence[Member]
    subtopologies: dict[str, tuple[int, bool]]
    """By id: the number of tasks, and whether it is stateful."""
    standby_replicas: int
    before: Sequence[Member]
    """Its members before some of them left or joined."""

    def had(self, process_id: str, task: Task) -> str | None:
        """Return the role that a process had of a task."""
        roles = {
            role
            for member in self.before
            if member.process_id == process_id
            for role, tasks in (("active", member.active), ("standby", member.standby))
            if task in tasks
        }
        return "active" if "active" in roles else next(iter(roles), None)


@dataclass(frozen=True)
class Assigned:
    """The tasks of each member of a group."""

    active: Sequence[Sequence[Task]]
    standby: Sequence[Sequence[Task]]
    error: str | None

    def rows(self, group: Application) -> Iterator[dict[str, Any]]:
        """Yield the rows of ``streams_tasks``, without the group's keys."""
        for role, of_members in (("active", self.active), ("standby", self.standby)):
            for member, tasks in zip(group.members, of_members, strict=True):
                for task in tasks:
                    yield {
                        "subtopology": task[0],
                        "partition": task[1],
                        "role": role,
                        "member_id": member.member_id,
                        "process_id": member.process_id,
                        "previous": group.had(member.process_id, task),
                    }


def _with_tasks(subtopologies: DataFrame, topics: DataFrame) -> DataFrame:
    """Add the number of tasks of each subtopology, and a topic that it reads and that is missing."""
    read = subtopologies.select(*_KEYS, "subtopology", F.explode("topics").alias("topic"), F.lit(True).alias("named"))
    patterns = subtopologies.select(*_KEYS, "subtopology", F.explode("topic_patterns").alias("pattern"))
    known = topics.select("cluster", "topic", "partitions")
    matched = patterns.join(known, "cluster").where("topic RLIKE concat('^(?:', pattern, ')$')")
    named = read.join(known, ["cluster", "topic"], "left")
    counted = (
        named.unionByName(matched.drop("pattern").withColumn("named", F.lit(False)))
        .groupBy(*_KEYS, "subtopology")
        .agg(
            F.max("partitions").alias("tasks"),
            F.min(F.when(F.col("partitions").isNull(), F.col("topic"))).alias("missing"),
        )
    )
    return subtopologies.join(counted, [*_KEYS, "subtopology"], "left")


def _collected(rows: DataFrame, names: Sequence[str], name: str) -> DataFrame:
    columns = [column for column in names if column not in _KEYS]
    return rows.groupBy(*_KEYS).agg(F.collect_list(F.struct(*columns)).alias(name))


def _join_key(member: dict[str, Any]) -> tuple[bool, int, str]:
    order = member["join_order"]
    return (order is None, order or 0, member["member_id"])


def _member(row: dict[str, Any], rules: StreamsRules) -> Member:
    """Return a member with what the assignor of a release takes into account: the target, or since 4.4 what it has."""
    prefix = "current_" if rules >= StreamsRules.TASK_OFFSETS and row["current_active"] is not None else ""
    active, standby = (
        [(task["subtopology"], task["partition"]) for task in row[f"{prefix}{role}"] or ()]
        for role in ("active", "standby")
    )
    return Member(row["member_id"], row["process_id"], active, standby)


def _new_member(number: int) -> Member:
    return Member(f"new-{number}", f"new-process-{number}", (), ())


def _assigned(groups: Sequence[Application], version: KafkaVersion) -> list[Assigned]:
    """Return the next target assignment of each group."""
    batch = _batch(groups)
    outcome = assign(batch, version)
    names = batch.subtopology_ids.to_list()
    active, standby = (_named(lists, names) for lists in (outcome.active, outcome.standby))
    return [
        Assigned(active[start:end], standby[start:end], AssignmentFailure(int(error)).message if error else None)
        for (start, end), error in zip(pairwise(batch.members.tolist()), outcome.errors, strict=True)
    ]


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


def _balance(group: Application, assigned: Assigned) -> dict[str, Any]:
    """Return the figures of a group, without its keys."""
    rows = list(assigned.rows(group))
    active = [row for row in rows if row["role"] == "active"]
    had = {task for member in group.before for task in member.active}
    counts = [len(tasks) for tasks in assigned.active]
    return {
        "members": len(group.members),
        "processes": len({member.process_id for member in group.members}),
        "tasks": sum(tasks for tasks, _ in group.subtopologies.values()),
        "standby_replicas": group.standby_replicas,
        "moved": sum(row["previous"] != "active" and (row["subtopology"], row["partition"]) in had for row in active),
        "restored": sum(row["previous"] is None and group.subtopologies[row["subtopology"]][1] for row in active),
        "standbys_started": sum(row["role"] == "standby" and row["previous"] is None for row in rows),
        "min_active": min(counts, default=None),
        "max_active": max(counts, default=None),
        "error": assigned.error,
    }
