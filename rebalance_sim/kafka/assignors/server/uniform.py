"""The coordinator's ``uniform`` assignor (``UniformAssignor``, Kafka 4.x), the default of consumer-protocol groups.

If all members subscribe to the same topic names, ``homogeneous`` assigns the group, otherwise ``heterogeneous``.

``owned`` is the group's target assignment. A real target has no partition twice and none that does not exist; if
``owned`` does, the result is what Kafka's classes would make of it.
"""

import numpy as np

from rebalance_sim.kafka.assignors.server.heterogeneous import assign_heterogeneous
from rebalance_sim.kafka.assignors.server.homogeneous import assign_homogeneous
from rebalance_sim.kafka.assignors.server.specification import specification_order, uuid_hashes, uuid_ranks
from rebalance_sim.kafka.assignors.server.target_assignment import (
    ByMember,
    Targets,
    UniformBatch,
    list_targets,
    sort_lists,
)
from rebalance_sim.kafka.groups import (
    AssignmentFailure,
    AssignmentOutcome,
    Assignments,
    Groups,
    Subscribers,
    TopicArrays,
    subscribers,
    topics_by_name,
)
from rebalance_sim.kafka.runtime.kernel import kernel
from rebalance_sim.kafka.runtime.strings import Ints32
from rebalance_sim.releases import KafkaVersion

_NONE = int(AssignmentFailure.NONE)


def assign(groups: Groups, topics: TopicArrays, version: KafkaVersion) -> AssignmentOutcome:
    """Assign the partitions of every group of a batch."""
    return assign_in_order(groups, topics, specification_order(groups), version.uniform_keeps_extra_partitions)


def assign_in_order(groups: Groups, topics: TopicArrays, order: Ints32, keeps_extra: bool) -> AssignmentOutcome:
    """Assign with the members of each group given in ``order``."""
    by_topic = subscribers(groups, order, order, len(topics.partitions), count_repeats=False)
    batch = UniformBatch(
        groups.subscriptions,
        groups.owned,
        topics.partitions,
        topics.ranks,
        topics.hashes,
        uuid_hashes(topics.ids),
        uuid_ranks(topics.ids),
        np.full(len(topics.partitions), -1, np.int32),
        np.full(len(topics.partitions), -1, np.int32),
        np.full(_most_partitions(groups.members, topics.partitions, by_topic), -1, np.int32),
        np.empty(np.diff(groups.owned.offsets).max(initial=0), np.int32),
    )
    by_name = topics_by_name(topics, by_topic)
    return AssignmentOutcome(*_assign(batch, groups.members, order, by_topic, by_name, keeps_extra))


@kernel
def _most_partitions(groups: Ints32, partitions: Ints32, by_topic: Subscribers) -> int:
    """Return the number of partitions of the group that has most."""
    most = 0
    for g in range(len(groups) - 1):
        total = 0
        for topic in by_topic.topics[by_topic.group_topics[g] : by_topic.group_topics[g + 1]]:
            total += max(partitions[topic], 0)
        most = max(most, total)
    return most


@kernel
def _assign(
    batch: UniformBatch, groups: Ints32, order: Ints32, by_topic: Subscribers, by_name: Ints32, keeps_extra: bool
) -> tuple[Assignments, Ints32]:
    """Return the lists of all members, and the failure of each group; ``by_name`` are the entries of topics by name."""
    claims, room = len(batch.owned.partitions), len(batch.owned.partitions)
    for topic in by_topic.topics:
        room += max(batch.partitions[topic], 0)
    targets = Targets(
        np.empty(len(batch.claimed_by), np.int32),
        np.empty(claims, np.int32),
        np.empty(claims, np.int32),
        np.empty(claims, np.int32),
        np.zeros(1, np.int64),
    )
    lists = Assignments(np.zeros(len(order) + 1, np.int32), np.empty(room, np.int32), np.empty(room, np.int32))
    by_member = ByMember(np.zeros(len(order), np.int32), np.empty(len(order), np.int32))
    cursor, errors = np.empty(len(order), np.int32), np.zeros(len(groups) - 1, np.int32)
    for g in range(len(errors)):
        start, end = groups[g], groups[g + 1]
        lists.offsets[start + 1 : end + 1] = lists.offsets[start]
        first_entry, end_entry = by_topic.group_topics[g], by_topic.group_topics[g + 1]
        places, known = 0, False
        for topic in by_topic.topics[first_entry:end_entry]:
            if batch.partitions[topic] >= 0:
                known = True
                batch.base[topic] = places
                places += batch.partitions[topic]
        if known:
            batch.claimed_by[:places] = -1
            targets.owners[:places] = -1
            targets.filled[0] = 0
            members = order[start:end]
            if _same_subscriptions(by_topic, first_entry, end_entry, len(members)):
                errors[g] = assign_homogeneous(batch, members, places, keeps_extra, targets)
            else:
                errors[g] = assign_heterogeneous(batch, by_topic, g, members, by_member, targets)
            if errors[g] == _NONE:
                topics = by_topic.topics[by_name[first_entry:end_entry]]
                list_targets(batch, topics, targets, start, lists, cursor[start:end])
                if targets.filled[0] > 0:
                    sort_lists(batch.ranks, start, end, lists)
        for topic in by_topic.topics[first_entry:end_entry]:
            batch.base[topic] = -1
    filled = lists.offsets[-1]
    return Assignments(lists.offsets, lists.topics[:filled], lists.partitions[:filled]), errors


@kernel
def _same_subscriptions(by_topic: Subscribers, first: int, end: int, member_count: int) -> bool:
    """Return whether every name has all members as subscribers (``ModernGroup.subscriptionType``).

    Names without a topic count, too.
    """
    for entry in range(first, end):
        if by_topic.end[entry] - by_topic.first[entry] != member_count:
            return False
    return True
