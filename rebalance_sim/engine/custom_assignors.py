"""Runs a user's own assignor over the groups of a batch, in Spark's workers."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
from pyspark import cloudpickle

from rebalance_sim.engine.arrow import texts
from rebalance_sim.engine.topic_metadata import BatchTopics
from rebalance_sim.errors import UserError
from rebalance_sim.kafka.assignors.consumer_partition_assignor import ConsumerPartitionAssignor
from rebalance_sim.kafka.assignors.custom import AssignorError, assign_group
from rebalance_sim.kafka.consumer_protocol import Subscription, TopicPartition
from rebalance_sim.kafka.groups import Assignments, Failure, Groups, Outcome, map_order
from rebalance_sim.kafka.strings import Flags
from rebalance_sim.versions import KafkaVersion


def check_travels(what: str, assignor: ConsumerPartitionAssignor) -> None:
    """Raise UserError for an assignor that cannot be sent to Spark's workers."""
    try:
        cloudpickle.dumps(assignor)  # type: ignore[no-untyped-call]
    except Exception as problem:
        raise UserError(f"{what}: {type(assignor).__name__} cannot be sent to Spark's workers: {problem}") from problem


def tells_user_data(assignor: ConsumerPartitionAssignor) -> bool:
    """Tell whether its members may tell more than their topics: what they had last, for one."""
    return type(assignor).subscription_user_data is not ConsumerPartitionAssignor.subscription_user_data


@dataclass(frozen=True)
class NamedTopics:
    """The topics of a batch, by number."""

    names: list[str]
    partitions: list[int]

    @classmethod
    def of(cls, topics: BatchTopics) -> "NamedTopics":
        """Take the topics of a batch."""
        return cls(topics.names.to_pylist(), topics.topics.partitions.tolist())


def assign_by_custom(
    assignor: ConsumerPartitionAssignor,
    members: pa.StructArray,
    eager: Flags,
    groups: Groups,
    topics: NamedTopics,
    version: KafkaVersion,
    problems: list[str],
) -> Outcome:
    """Assign the partitions of every group.

    ``members`` have ``user_data``, ``rack`` and ``instance_id`` of the groups' members, ``eager`` tells who of them
    follows the eager protocol. How the assignor fails is added to ``problems``; the numbers of these follow those of
    ``Failure``.
    """
    names, counts = topics.names, topics.partitions
    member_ids, subscriptions = texts(groups.member_ids), _subscriptions(members, groups, names)
    in_map_order = map_order(groups)
    errors = np.zeros(len(groups.members) - 1, np.int32)
    assigned: list[list[tuple[int, int]]] = [[] for _ in member_ids]
    for group, (start, end) in enumerate(pairwise(groups.members.tolist())):
        if start == end:
            continue
        in_order = in_map_order[start:end].tolist()
        number_of = {names[t]: t for m in in_order for t in _topics_of(groups, m)}
        partitions = {name: counts[number] for name, number in number_of.items()}
        joined = {member_ids[m]: subscriptions[m] for m in in_order}
        try:
            answer = assign_group(assignor, partitions, joined, version, leader_is_eager=bool(eager[start]))
        except AssignorError as problem:
            errors[group] = len(Failure) + len(problems)
            problems.append(str(problem))
            continue
        for m in in_order:
            assigned[m] = [(number_of[topic], partition) for topic, partition in answer[member_ids[m]]]
    return Outcome(_as_assignments(assigned), errors)


def _topics_of(groups: Groups, member: int) -> list[int]:
    return groups.topics[groups.subscriptions[member] : groups.subscriptions[member + 1]].tolist()


def _subscriptions(members: pa.StructArray, groups: Groups, names: list[str]) -> list[Subscription]:
    columns = ("user_data", "rack", "instance_id")
    rows = zip(*(members.field(name).to_pylist() for name in columns), strict=True)
    return [
        Subscription(
            tuple(names[topic] for topic in _topics_of(groups, m)),
            user_data,
            _owned(groups, m, names),
            _generation(groups, m),
            rack or None,
            instance_id,
        )
        for m, (user_data, rack, instance_id) in enumerate(rows)
    ]


def _owned(groups: Groups, member: int, names: list[str]) -> tuple[TopicPartition, ...]:
    low, high = groups.owned.offsets[member], groups.owned.offsets[member + 1]
    topics, partitions = groups.owned.topics[low:high].tolist(), groups.owned.partitions[low:high].tolist()
    return tuple(TopicPartition(names[topic], number) for topic, number in zip(topics, partitions, strict=True))


def _generation(groups: Groups, member: int) -> int | None:
    generation = int(groups.generations[member])
    return None if generation < 0 else generation


def _as_assignments(assigned: list[list[tuple[int, int]]]) -> Assignments:
    offsets = np.zeros(len(assigned) + 1, np.int32)
    offsets[1:] = np.cumsum([len(partitions) for partitions in assigned])
    entries = np.array([entry for partitions in assigned for entry in partitions], np.int32).reshape(-1, 2)
    return Assignments(offsets, np.ascontiguousarray(entries[:, 0]), np.ascontiguousarray(entries[:, 1]))
