"""Rows about streams groups (KIP-1071) that their coordinators describe."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from rebalance_sim.kafka.wire.streams_group_describe import DescribedStreamsGroup, TaskAssignment, Tasks

ASSUMED_REPLICAS = (
    "the number of standby replicas (num.standby.replicas) of {} is unknown, because coordinators do not describe it: "
    "the largest number of standby tasks of one task is used"
)


def member_rows(groups: Iterable[DescribedStreamsGroup], cluster: str) -> Iterator[dict[str, Any]]:
    """Yield the members, with what they are to have and what they have now."""
    for group in groups:
        for member in group.members:
            yield {
                "cluster": cluster,
                "group_id": group.group_id,
                "member_id": member.member_id,
                "process_id": member.process_id,
                "instance_id": member.instance_id,
                "client_id": member.client_id,
                "host": member.client_host,
                **_tasks(member.target, ""),
                **_tasks(member.current, "current_"),
            }


def subtopology_rows(groups: Iterable[DescribedStreamsGroup], cluster: str) -> Iterator[dict[str, Any]]:
    """Yield the subtopologies; none of a group whose topology is not ready, as without a source topic."""
    for group in groups:
        copies = Counter(task for member in group.members for task in member.target.standby)
        for part in group.subtopologies:
            yield {
                "cluster": cluster,
                "group_id": group.group_id,
                "subtopology": part.subtopology_id,
                "topics": [*part.source_topics, *part.repartition_source_topics],
                "stateful": bool(part.changelog_topics),
                "standby_replicas": max(copies.values(), default=0),
                "changelogs": list(part.changelog_topics),
            }


def _tasks(assignment: TaskAssignment, prefix: str) -> dict[str, Any]:
    """Return the columns of tasks. Warm-up tasks restore like standby tasks; no release assigns them yet."""
    standby = (*assignment.standby, *assignment.warmup)
    return {f"{prefix}active": task_rows(assignment.active), f"{prefix}standby": task_rows(standby)}


def task_rows(tasks: Tasks) -> list[dict[str, Any]]:
    """Return tasks as a list of a row."""
    return [{"subtopology": subtopology, "partition": partition} for subtopology, partition in tasks]
