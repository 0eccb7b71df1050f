"""Streams groups and classic applications of Kafka Streams, before and after their tasks are assigned."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

Task = tuple[str, int]
"""A subtopology's id, and a partition."""
CLASSIC, STREAMS = "classic", "streams"
"""The protocols of members."""
NEW_PROCESS = "new-process-"
"""The beginning of the ids of processes that join."""


class Member(NamedTuple):
    """A member, and the tasks that it had."""

    member_id: str
    process_id: str
    active: Sequence[Task]
    standby: Sequence[Task]
    supported_version: int | None = None
    """Of classic applications, the newest version of their user data that it can read; None for its release's."""
    offsets: Mapping[Task, int] | None = None
    """By stateful task, the offsets of its changelogs on the process's disk, summed up; None if they are unknown."""


@dataclass(frozen=True)
class Application:
    """A streams group or a classic application before it is assigned."""

    keys: dict[str, Any]
    members: Sequence[Member]
    subtopologies: dict[str, tuple[int, bool]]
    """By id: the number of tasks, and whether it is stateful."""
    standby_replicas: int
    before: Sequence[Member]
    """Its members before some of them left or joined."""
    sources: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """By subtopology, the numbers of partitions of the topics that it reads."""
    is_classic: bool = False
    """Whether its leader assigns the tasks, over the classic protocol, and not the coordinator (KIP-1071)."""
    ends: Mapping[Task, int] | None = None
    """By stateful task, the end offsets of its changelogs, summed up; None if they are unknown."""

    def is_stateful(self, task: Task) -> bool:
        """Return whether a task has state; False also of one that the topology does not have."""
        return self.subtopologies.get(task[0], (0, False))[1]

    def had(self, process_id: str, task: Task) -> str | None:
        """Return the role that a process had of a task."""
        return self._roles.get((process_id, task))

    @cached_property
    def _roles(self) -> dict[tuple[str, Task], str]:
        """The role that each process had of its tasks: of a task with both, active."""
        standby = {(member.process_id, task): "standby" for member in self.before for task in member.standby}
        return standby | {(member.process_id, task): "active" for member in self.before for task in member.active}


class Move(NamedTuple):
    """An active stateful task that moves to another process."""

    task: Task
    from_process: str
    process_id: str
    member_id: str
    moved_ms: int
    """The time of the rebalance after which it is active there, since the first."""


class Restored(NamedTuple):
    """The state of a task on a process that gets it."""

    records: int
    """Records that are left to restore when the process gets the task."""
    begun_ms: int
    restored_ms: int | None
    """None without a restore rate, and if the process loses the task before."""


@dataclass(frozen=True)
class Assigned:
    """The tasks of each member of a group."""

    active: Sequence[Sequence[Task]]
    standby: Sequence[Sequence[Task]]
    error: str | None = None
    probing: bool | None = None
    """Whether a probing rebalance follows (KIP-441); None for streams groups, which have none."""
    restored: Mapping[tuple[str, Task], Restored] | None = None
    """By process and stateful task that it gets; None if the end offsets of changelogs are unknown."""
    moves: Sequence[Move] = ()
    """Until the first probing rebalance, or with a restore rate, until no task moves any more."""
    is_timed: bool = False
    """Whether it is known how long state is restored."""
    probing_rebalances: int | None = None
    """How many follow until no other does; None if that is unknown, and for streams groups."""

    def rows(self, group: Application) -> Iterator[dict[str, Any]]:
        """Yield the rows of ``streams_tasks``, without the group's keys."""
        for role, of_members in (("active", self.active), ("standby", self.standby)):
            for member, tasks in zip(group.members, of_members, strict=True):
                for task in tasks:
                    restored = (self.restored or {}).get((member.process_id, task))
                    yield {
                        "subtopology": task[0],
                        "partition": task[1],
                        "role": role,
                        "member_id": member.member_id,
                        "process_id": member.process_id,
                        "previous": group.had(member.process_id, task),
                        "records": restored.records if restored else None,
                        "restored_ms": restored.restored_ms if restored else None,
                    }

    def moved_rows(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of ``streams_moves``, without the group's keys."""
        for move in self.moves:
            row = move._asdict()
            row["subtopology"], row["partition"] = row.pop("task")
            restored = (self.restored or {}).get((move.process_id, move.task))
            yield row if restored is None else row | restored._asdict()


def without_figures(group: Application, error: str) -> dict[str, Any]:
    """Return the row of ``streams_balance`` of a group without an assignment, without the group's keys."""
    return {"protocol": CLASSIC if group.is_classic else STREAMS, "members": len(group.members), "error": error}


def figures(group: Application, assigned: Assigned) -> dict[str, Any]:
    """Return the row of ``streams_balance``, without the group's keys."""
    rows = list(assigned.rows(group))
    active = [row for row in rows if row["role"] == "active"]
    had = {task for member in group.before for task in member.active}
    counts = [len(tasks) for tasks in assigned.active]
    return {
        "protocol": CLASSIC if group.is_classic else STREAMS,
        "members": len(group.members),
        "processes": len({member.process_id for member in group.members}),
        "tasks": sum(tasks for tasks, _ in group.subtopologies.values()),
        "standby_replicas": group.standby_replicas,
        "moved": sum(row["previous"] != "active" and (row["subtopology"], row["partition"]) in had for row in active),
        "restored": sum(row["previous"] is None and group.subtopologies[row["subtopology"]][1] for row in active),
        "standbys_started": sum(row["role"] == "standby" and row["previous"] is None for row in rows),
        "min_active": min(counts, default=None),
        "max_active": max(counts, default=None),
        "probing": assigned.probing,
        **_restoration(assigned, active),
        "error": assigned.error,
    }


def _restoration(assigned: Assigned, active: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return how much state active tasks restore and how long that takes, as far as it is known."""
    times = [row["restored_ms"] for row in active if row["restored_ms"] is not None]
    is_stable = assigned.is_timed and (assigned.probing is None or assigned.probing_rebalances is not None)
    return {
        "records": None if assigned.restored is None else sum(row["records"] or 0 for row in active),
        "restored_ms": max(times, default=0) if assigned.is_timed else None,
        "probing_rebalances": assigned.probing_rebalances,
        "stable_ms": max((move.moved_ms for move in assigned.moves), default=0) if is_stable else None,
    }
