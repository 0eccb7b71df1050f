"""The topology of a classic application, as far as the bytes of its last rebalance show it.

A member gets its partitions sorted, and the task of each (``StreamsPartitionAssignor.onAssignment``): so the source
topics of every subtopology are known. That a subtopology has state shows where a process reports some, or has standby
tasks: members with tasks of a new application report none yet.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rebalance_sim.kafka.runtime.strings import java_key
from rebalance_sim.kafka.wire.consumer_protocol import TopicPartition
from rebalance_sim.kafka.wire.streams_protocol import AssignmentInfo, SubscriptionInfo, TaskId


class RebalancedMember(NamedTuple):
    """What a member sent in a rebalance, and what it got."""

    topics: Sequence[str]
    sent: SubscriptionInfo
    partitions: Sequence[TopicPartition]
    received: AssignmentInfo


class InferredSubtopology(NamedTuple):
    """A subtopology of which some task was assigned."""

    number: int
    sources: tuple[str, ...]
    is_stateful: bool
    standby_replicas: int
    """Of the application: as many as most of its stateful tasks have."""


def inferred_subtopologies(members: Sequence[RebalancedMember]) -> list[InferredSubtopology]:
    """Return the subtopologies of an application; none if some topic to which it subscribes is of no task.

    So it is as long as members revoke tasks for others.
    """
    sources: dict[int, set[str]] = defaultdict(set)
    for member in members:
        for partition, task in _tasks_of_partitions(member):
            sources[task.subtopology].add(partition.topic)
    known = {topic for topics in sources.values() for topic in topics}
    if not known or not all(known.issuperset(member.topics) for member in members):
        return []
    copies = Counter(task for member in members for task in member.received.standby_tasks)
    reported = {task for member in members for task in member.sent.offset_sums}
    stateful = {task.subtopology for task in (*copies, *reported)}
    replicas = _replicas(members, stateful, copies)
    return [
        InferredSubtopology(number, tuple(sorted(topics)), number in stateful, replicas)
        for number, topics in sorted(sources.items())
    ]


def _tasks_of_partitions(member: RebalancedMember) -> Iterator[tuple[TopicPartition, TaskId]]:
    """Yield the partitions of a member with their tasks; none if they do not match."""
    tasks = member.received.active_tasks
    if len(tasks) == len(member.partitions):
        in_order = sorted(member.partitions, key=lambda each: (java_key(each.topic), each.partition))
        yield from zip(in_order, tasks, strict=True)


def _replicas(members: Sequence[RebalancedMember], stateful: set[int], copies: Counter[TaskId]) -> int:
    active = {task for member in members for task in member.received.active_tasks if task.subtopology in stateful}
    counts = Counter(copies[task] for task in active)
    return max(counts, key=lambda count: (counts[count], -count), default=0)
