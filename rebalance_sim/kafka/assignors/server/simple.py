"""The ``simple`` assignor of share groups (``SimpleAssignor``, KIP-932), in which a partition may have many members.

In 4.0 every member gets all partitions of its topics. ``simple_4_1`` has the rules of 4.1. Since 4.2 members keep what
they have, and as many members share each partition as keep all members busy: ``simple_builders`` has these rules.

``owned`` is the group's target assignment, a member's partitions in the order of its record in ``__consumer_offsets``.
That order decides ties between topics, or partitions, in one bucket of a hash map. Not modelled: a topic that stays in
a member's record without partitions, which the order of a later record may depend on.
"""

import numpy as np

from rebalance_sim.kafka.assignors.server.share_group import ShareGroup, number_partitions
from rebalance_sim.kafka.assignors.server.simple_4_1 import assign_by_hash
from rebalance_sim.kafka.assignors.server.simple_builders import assign_evenly
from rebalance_sim.kafka.assignors.server.specification import specification_order
from rebalance_sim.kafka.assignors.server.target_assignment import (
    UniformBatch,
    new_batch,
    same_subscriptions,
    sort_lists,
)
from rebalance_sim.kafka.groups import (
    AssignmentFailure,
    AssignmentOutcome,
    Assignments,
    Groups,
    Subscribers,
    TopicArrays,
    append_partition,
    empty_lists,
    subscribers,
    without_failures,
)
from rebalance_sim.kafka.runtime.kernel import kernel
from rebalance_sim.kafka.runtime.strings import Ints, Ints32, java_hashes
from rebalance_sim.releases import KafkaVersion, ShareRules

_NONE = int(AssignmentFailure.NONE)
_BY_HASH = int(ShareRules.HASHED_IDS)


def remembers(version: KafkaVersion) -> bool:
    """Return whether the result depends on what members have."""
    return version.share is not ShareRules.ALL_PARTITIONS


def assign(groups: Groups, topics: TopicArrays, version: KafkaVersion) -> AssignmentOutcome:
    """Assign the partitions of every group of a batch, all of which have initialized share states."""
    initialized = Assignments(np.zeros(len(groups.members), np.int32), np.empty(0, np.int32), np.empty(0, np.int32))
    outcome = assign_in_order(groups, topics, specification_order(groups), initialized, version.share)
    sort_lists(topics.ranks, 0, len(groups.member_racks), outcome.assignments)
    return outcome


def assign_in_order(
    groups: Groups, topics: TopicArrays, order: Ints32, uninitialized: Assignments, rules: ShareRules
) -> AssignmentOutcome:
    """Assign with the members of each group given in ``order``; lists are in the order of the records.

    ``uninitialized``: by group, the partitions whose share state is not initialized yet, which 4.0 does not ask for.
    """
    if rules is ShareRules.ALL_PARTITIONS:
        return without_failures(groups, _assign_all(groups, topics))
    by_topic = subscribers(groups, order, order, len(topics.partitions), count_repeats=False)
    batch, id_hashes = new_batch(groups, topics, by_topic), java_hashes(groups.member_ids)
    return AssignmentOutcome(*_assign(batch, groups.members, order, by_topic, uninitialized, id_hashes, int(rules)))


@kernel
def _assign_all(groups: Groups, topics: TopicArrays) -> Assignments:
    """Assign every member all partitions of its topics, by the order of its names."""
    of_members, offsets, named = groups.subscriptions
    sizes = np.zeros(len(of_members) + 1, np.int32)
    named_by = np.full(len(topics.partitions), -1, np.int32)
    for m in range(len(of_members)):
        for topic in named[offsets[of_members[m]] : offsets[of_members[m] + 1]]:
            if named_by[topic] != m:
                named_by[topic] = m
                sizes[m + 1] += max(topics.partitions[topic], 0)
    lists, cursor = empty_lists(sizes)
    named_by[:] = -1
    for m in range(len(of_members)):
        for topic in named[offsets[of_members[m]] : offsets[of_members[m] + 1]]:
            if named_by[topic] != m:
                named_by[topic] = m
                for partition in range(topics.partitions[topic]):
                    append_partition(lists, cursor, m, topic, partition)
    return lists


@kernel
def _assign(
    batch: UniformBatch,
    groups: Ints32,
    order: Ints32,
    by_topic: Subscribers,
    uninitialized: Assignments,
    id_hashes: Ints,
    rules: int,
) -> tuple[Assignments, Ints32]:
    """Return the lists of all members, and the failure of each group."""
    offsets, errors = np.zeros(len(order) + 1, np.int32), np.zeros(len(groups) - 1, np.int32)
    topics, partitions = np.empty(len(order), np.int32), np.empty(len(order), np.int32)
    for g in range(len(errors)):
        start, end = groups[g], groups[g + 1]
        offsets[start + 1 : end + 1] = offsets[start]
        if start == end:
            continue
        group = number_partitions(batch, by_topic, g, order[start:end], uninitialized)
        is_homogeneous = same_subscriptions(batch, by_topic, g, end - start, False)
        if rules == _BY_HASH:
            lists, places, errors[g] = assign_by_hash(batch, group, id_hashes, is_homogeneous)
        else:
            lists, places, errors[g] = assign_evenly(batch, by_topic, g, group, is_homogeneous)
        for topic in group.topics:
            batch.base[topic] = -1
        filled = offsets[start] + len(places)
        if filled > len(topics):
            topics, partitions = _larger(topics, 2 * filled), _larger(partitions, 2 * filled)
        _list(group, lists, places, start, Assignments(offsets, topics, partitions))
    filled = offsets[-1]
    return Assignments(offsets, topics[:filled], partitions[:filled]), errors


@kernel
def _larger(array: Ints32, size: int) -> Ints32:
    larger = np.empty(size, np.int32)
    larger[: len(array)] = array
    return larger


@kernel
def _list(group: ShareGroup, offsets: Ints32, places: Ints32, start: int, lists: Assignments) -> None:
    """Fill the lists of the last members, the first of which is ``start``."""
    index_of = np.empty(len(group.members), np.int32)
    for i in range(len(group.members)):
        index_of[group.members[i] - start] = i
    filled = lists.offsets[start]
    for j in range(len(index_of)):
        i = index_of[j]
        for place in places[offsets[i] : offsets[i + 1]]:
            t = group.topic_of[place]
            lists.topics[filled], lists.partitions[filled] = group.topics[t], group.partition_of[place]
            filled += 1
        lists.offsets[start + j + 1] = filled
