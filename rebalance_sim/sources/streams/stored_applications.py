"""Read classic applications of Kafka Streams from ``__consumer_offsets``: members, and the tasks that they were sent.

Their topologies are in no topic: they are inferred from these tasks.
"""

from collections.abc import Iterable
from functools import partial
from typing import Any

from pyspark.sql import DataFrame

from rebalance_sim.kafka.group_kinds import STREAMS_PROTOCOL
from rebalance_sim.kafka.streams.inferred_topology import InferredSubtopology, RebalancedMember, inferred_subtopologies
from rebalance_sim.kafka.wire.consumer_protocol import TopicPartition, decode_assignment, decode_subscription
from rebalance_sim.kafka.wire.offsets_topic import GroupMember
from rebalance_sim.kafka.wire.readable import SchemaError
from rebalance_sim.kafka.wire.streams_protocol import (
    NO_REBALANCE,
    AssignmentInfo,
    SubscriptionInfo,
    TaskId,
    decode_assignment_info,
    decode_subscription_info,
)
from rebalance_sim.sources.offsets_topic.last_records import CLASSIC_GROUPS, classic_group, last_values, tables_of
from rebalance_sim.sources.offsets_topic.stored_members import as_json
from rebalance_sim.tables import REJECTS, STREAMS_MEMBERS, SUBTOPOLOGIES, struct

_ROW = struct({"member": STREAMS_MEMBERS.schema, "subtopology": SUBTOPOLOGIES.schema, "reject": REJECTS.schema})
_CONSUMERS = "consumer"
ASSUMED_TOPOLOGY = (
    "the topology of {} is inferred from the tasks that members got in the last rebalance. A subtopology counts as "
    "stateful if a process had state of it before, and num.standby.replicas is the number of copies of most tasks"
)


def read_applications(records: DataFrame, cluster: str) -> tuple[DataFrame, DataFrame, DataFrame]:
    """Return members, inferred subtopologies and rejects; the last record of each group counts.

    Records have ``key``, ``value``, ``partition`` and ``offset``.
    """
    rows = last_values(records, CLASSIC_GROUPS)
    members, subtopologies, rejects = tables_of(rows, partial(_rows, cluster), _ROW)
    return members, subtopologies, rejects


def _rows(cluster: str, key: bytes, value: bytes) -> Iterable[dict[str, Any]]:
    """Yield the members of a group, if it is an application, and its subtopologies; malformed members are rejects."""
    group_id, group = classic_group(key, value) or ("", None)
    if group is None or (group.protocol_type, group.protocol) != (_CONSUMERS, STREAMS_PROTOCOL):
        return
    is_probing = any(map(_waits_for_probing, group.members))
    read: list[RebalancedMember] = []
    for member in group.members:
        row: dict[str, Any] = {"cluster": cluster, "group_id": group_id, "member_id": member.member_id}
        try:
            rebalanced = _rebalanced(member)
            row |= _member(member, rebalanced) | {"join_order": 0 if member.member_id == group.leader else None}
            yield {"member": row | ({"task_offsets": _offsets(rebalanced.sent)} if is_probing else {})}
            read.append(rebalanced)
        except SchemaError as problem:
            reject = {"table": STREAMS_MEMBERS.name, "cluster": cluster, "group_id": group_id}
            yield {"reject": reject | {"row": as_json(row), "reason": str(problem)}}
    if len(read) == len(group.members):
        of_group = {"cluster": cluster, "group_id": group_id, "inferred": True}
        yield from ({"subtopology": of_group | _subtopology(part)} for part in inferred_subtopologies(read))


def _subtopology(part: InferredSubtopology) -> dict[str, Any]:
    return {
        "subtopology": str(part.number),
        "topics": list(part.sources),
        "stateful": part.is_stateful,
        "standby_replicas": part.standby_replicas,
    }


def _waits_for_probing(member: GroupMember) -> bool:
    """Return whether a member is to start a probing rebalance, because tasks were warming up in the last one."""
    try:
        return _received(member)[1].next_rebalance_ms not in (0, NO_REBALANCE)
    except SchemaError:
        return False


def _offsets(sent: SubscriptionInfo) -> list[dict[str, Any]]:
    """Return what a member sent of its state. Without a probing rebalance, its tasks have caught up since then."""
    return [
        {"subtopology": str(task.subtopology), "partition": task.partition, "offset_sum": offset}
        for task, offset in sent.offset_sums.items()
    ]


def _member(member: GroupMember, rebalanced: RebalancedMember) -> dict[str, Any]:
    """Return a member with the tasks that the leader sent it."""
    _, sent, _, received = rebalanced
    return {
        "process_id": str(sent.process),
        "instance_id": member.group_instance_id,
        "client_id": member.client_id,
        "host": member.client_host,
        "active": _listed(received.active_tasks),
        "standby": _listed(received.standby_tasks),
        "protocol": "classic",
        "supported_version": max(sent.version, sent.latest_supported_version),
    }


def _rebalanced(member: GroupMember) -> RebalancedMember:
    subscription = decode_subscription(member.subscription or b"")
    sent = decode_subscription_info(subscription.user_data or b"")
    return RebalancedMember(subscription.topics, sent, *_received(member))


def _received(member: GroupMember) -> tuple[tuple[TopicPartition, ...], AssignmentInfo]:
    """Return what the leader sent to a member; nothing if its assignment ended with an exception."""
    if not member.assignment:
        return (), AssignmentInfo(1)
    assignment = decode_assignment(member.assignment)
    return assignment.partitions, decode_assignment_info(assignment.user_data or b"")


def _listed(tasks: Iterable[TaskId]) -> list[dict[str, Any]]:
    """Return tasks as rows, each once; SchemaError for those of named topologies."""
    unique = sorted(set(tasks))
    named = next((task for task in unique if task.topology), None)
    if named is not None:
        raise SchemaError(f"task {named}: applications with named topologies are not supported")
    return [{"subtopology": str(task.subtopology), "partition": task.partition} for task in unique]
