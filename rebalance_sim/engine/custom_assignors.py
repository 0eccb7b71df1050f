"""Runs a user's own assignor over the groups of a batch, in Spark's workers."""

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from rebalance_sim.engine.group_batches import GroupBatch
from rebalance_sim.engine.topic_metadata import BatchTopics
from rebalance_sim.kafka.assignors.consumer_partition_assignor import ConsumerPartitionAssignor
from rebalance_sim.kafka.assignors.custom import AssignorError, assign_group
from rebalance_sim.kafka.consumer_protocol import Subscription, TopicPartition
from rebalance_sim.kafka.groups import Assignments, Groups, map_order
from rebalance_sim.versions import KafkaVersion


def assign_by_custom(
    assignor: ConsumerPartitionAssignor, batch: GroupBatch, groups: Groups, topics: BatchTopics, version: KafkaVersion
) -> tuple[Assignments, pa.Array]:
    """Assign the partitions of every group; how the assignor fails is a text by group, null where it assigns."""
    names, counts = topics.names.to_pylist(), topics.topics.partitions.tolist()
    member_ids, subscriptions = batch.column("member_id").to_pylist(), _subscriptions(batch)
    in_map_order = map_order(groups)
    errors: list[str | None] = [None] * len(batch.group_ids)
    assigned: list[list[tuple[int, int]]] = [[] for _ in member_ids]
    for group, (start, end) in enumerate(pairwise(groups.members.tolist())):
        if start == end:
            continue
        members = in_map_order[start:end].tolist()
        number_of = {names[t]: t for m in members for t in _topics_of(groups, m)}
        partitions = {name: counts[number] for name, number in number_of.items()}
        joined = {member_ids[m]: subscriptions[m] for m in members}
        try:
            answer = assign_group(assignor, partitions, joined, version)
        except AssignorError as problem:
            errors[group] = str(problem)
            continue
        for m in members:
            assigned[m] = [(number_of[topic], partition) for topic, partition in answer[member_ids[m]]]
    return _as_assignments(assigned), pa.array(errors, pa.string())


def _topics_of(groups: Groups, member: int) -> list[int]:
    return groups.topics[groups.subscriptions[member] : groups.subscriptions[member + 1]].tolist()


def _subscriptions(batch: GroupBatch) -> list[Subscription]:
    columns = ("subscription", "user_data", "owned", "generation", "rack", "instance_id")
    rows = zip(*(batch.column(name).to_pylist() for name in columns), strict=True)
    return [
        Subscription(
            tuple(topics), user_data, _partitions(owned), _unless_negative(generation), rack or None, instance_id
        )
        for topics, user_data, owned, generation, rack, instance_id in rows
    ]


def _partitions(owned: list[dict[str, Any]] | None) -> tuple[TopicPartition, ...]:
    return tuple(TopicPartition(entry["topic"], entry["partition"]) for entry in owned or ())


def _unless_negative(generation: int | None) -> int | None:
    return None if generation is None or generation < 0 else generation


def _as_assignments(assigned: list[list[tuple[int, int]]]) -> Assignments:
    offsets = np.zeros(len(assigned) + 1, np.int32)
    offsets[1:] = np.cumsum([len(partitions) for partitions in assigned])
    entries = np.array([entry for partitions in assigned for entry in partitions], np.int32).reshape(-1, 2)
    return Assignments(offsets, np.ascontiguousarray(entries[:, 0]), np.ascontiguousarray(entries[:, 1]))
