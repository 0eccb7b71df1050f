"""Run a user's own assignor over a batch of groups, as each group's leader does (``custom`` handles one group)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.assignors.consumer_partition_assignor import ConsumerPartitionAssignor
from rebalance_sim.kafka.assignors.custom import AssignorError, assign_group
from rebalance_sim.kafka.groups import AssignmentFailure, AssignmentOutcome, Assignments, Groups, TopicArrays, map_order
from rebalance_sim.kafka.runtime.strings import Flags, Ints32
from rebalance_sim.kafka.wire.consumer_protocol import Subscription, TopicPartition
from rebalance_sim.releases import KafkaVersion


class FailureTexts:
    """The error messages of failed assignors by number: those of ``AssignmentFailure``, then those added on the way."""

    def __init__(self) -> None:
        self.texts = [failure.message for failure in AssignmentFailure]

    def add(self, text: str) -> int:
        """Add a message and return its number."""
        self.texts.append(text)
        return len(self.texts) - 1


class ClientData(NamedTuple):
    """The data that each member sends to the leader besides topics and owned partitions (``Subscription``)."""

    user_data: Sequence[bytes | None]
    racks: Sequence[str | None]
    instance_ids: Sequence[str | None]


@dataclass(frozen=True)
class LeaderView:
    """The knowledge of a batch's leaders besides the subscriptions of the members that joined.

    Names and client data are read only when a user's own assignor asks for them: Kafka's work on numbers.
    """

    topics: TopicArrays
    read_topic_names: Callable[[], list[str]]
    read_client_data: Callable[[Ints32], ClientData]
    """Reads the data of members, given by their numbers in the batch."""
    eager: Flags
    """By member of the batch: whether it follows the eager protocol although the elected assignor is cooperative."""
    failures: FailureTexts

    @cached_property
    def topic_names(self) -> list[str]:
        """Names of the topics by number."""
        return self.read_topic_names()


def assign_by_custom(
    assignor: ConsumerPartitionAssignor, joined: Groups, members: Ints32, view: LeaderView, version: KafkaVersion
) -> AssignmentOutcome:
    """Assign the partitions of every group; ``members`` are the numbers in the batch of the members that joined.

    A group for which the assignor fails gets the number of its message in ``view.failures``.
    """
    names, counts, member_ids = view.topic_names, view.topics.partitions, joined.member_ids.to_list()
    subscriptions = _subscriptions(joined, view.read_client_data(members), names)
    in_map_order = map_order(joined)
    errors = np.zeros(len(joined.members) - 1, np.int32)
    assigned: list[list[tuple[int, int]]] = [[] for _ in member_ids]
    for group, (start, end) in enumerate(pairwise(joined.members.tolist())):
        if start == end:
            continue
        in_order = in_map_order[start:end].tolist()
        number_of = {names[t]: t for m in in_order for t in _topics_of(joined, m)}
        partitions = {name: int(counts[number]) for name, number in number_of.items()}
        by_id = {member_ids[m]: subscriptions[m] for m in in_order}
        try:
            answer = assign_group(assignor, partitions, by_id, version, bool(view.eager[members[start]]))
        except AssignorError as problem:
            errors[group] = view.failures.add(str(problem))
            continue
        for m in in_order:
            assigned[m] = [(number_of[topic], partition) for topic, partition in answer[member_ids[m]]]
    return AssignmentOutcome(_as_assignments(assigned), errors)


def _topics_of(joined: Groups, member: int) -> list[int]:
    of_members, offsets, topics = joined.subscriptions
    of = of_members[member]
    return topics[offsets[of] : offsets[of + 1]].tolist()


def _subscriptions(joined: Groups, sent: ClientData, names: list[str]) -> list[Subscription]:
    return [
        Subscription(
            tuple(names[topic] for topic in _topics_of(joined, m)),
            user_data,
            _owned(joined, m, names),
            None if joined.generations[m] < 0 else int(joined.generations[m]),
            rack or None,
            instance_id,
        )
        for m, (user_data, rack, instance_id) in enumerate(zip(*sent, strict=True))
    ]


def _owned(joined: Groups, member: int, names: list[str]) -> tuple[TopicPartition, ...]:
    low, high = joined.owned.offsets[member], joined.owned.offsets[member + 1]
    topics, partitions = joined.owned.topics[low:high].tolist(), joined.owned.partitions[low:high].tolist()
    return tuple(TopicPartition(names[topic], number) for topic, number in zip(topics, partitions, strict=True))


def _as_assignments(assigned: list[list[tuple[int, int]]]) -> Assignments:
    offsets = np.zeros(len(assigned) + 1, np.int32)
    offsets[1:] = np.cumsum([len(partitions) for partitions in assigned])
    entries = np.array([entry for partitions in assigned for entry in partitions], np.int32).reshape(-1, 2)
    return Assignments(offsets, np.ascontiguousarray(entries[:, 0]), np.ascontiguousarray(entries[:, 1]))
