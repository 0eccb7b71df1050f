"""The coordinator's ``range`` assignor (``org.apache.kafka.coordinator.group.assignor.RangeAssignor``, Kafka 4.x).

Topic by topic, the sorted subscribers get consecutive partitions; the first few get one more where the number does not
divide evenly. No hash order shows: static members come first, by instance id, then the others by member id, and each
topic is dealt out on its own.
"""

import numpy as np

from rebalance_sim.kafka.groups import (
    Assignments,
    Groups,
    Outcome,
    Subscribers,
    Topics,
    sorted_order,
    subscribers,
    without_failures,
)
from rebalance_sim.kafka.kernel import kernel
from rebalance_sim.kafka.server_groups import specification_order
from rebalance_sim.kafka.strings import Ints32
from rebalance_sim.versions import KafkaVersion


def assign(groups: Groups, topics: Topics, _: KafkaVersion) -> Outcome:
    """Assign the partitions of every group of a batch."""
    as_given = specification_order(groups)
    in_turn = sorted_order(groups, as_given, static_members_first=True)
    by_topic = subscribers(groups, as_given, in_turn, len(topics.partitions), count_repeats=False)
    return without_failures(groups, _assign(groups.members, len(in_turn), topics, by_topic))


@kernel
def _assign(groups: Ints32, n_members: int, topics: Topics, by_topic: Subscribers) -> Assignments:
    offsets = np.zeros(n_members + 1, np.int32)
    for entry in range(len(by_topic.topics)):
        first, end = by_topic.offsets[entry], by_topic.offsets[entry + 1]
        partitions = max(topics.partitions[by_topic.topics[entry]], 0)
        share, extra = partitions // (end - first), partitions % (end - first)
        for i in range(end - first):
            offsets[by_topic.members[first + i] + 1] += share + (1 if i < extra else 0)
    for m in range(n_members):
        offsets[m + 1] += offsets[m]
    cursor = offsets[:-1].copy()
    assigned_topics = np.empty(offsets[n_members], np.int32)
    assigned_partitions = np.empty(offsets[n_members], np.int32)
    for g in range(len(groups) - 1):
        low, high = by_topic.group_topics[g], by_topic.group_topics[g + 1]
        for entry in np.argsort(topics.ranks[by_topic.topics[low:high]]) + low:
            topic = by_topic.topics[entry]
            first, end = by_topic.offsets[entry], by_topic.offsets[entry + 1]
            partitions = max(topics.partitions[topic], 0)
            share, extra = partitions // (end - first), partitions % (end - first)
            partition = 0
            for i in range(end - first):
                m = by_topic.members[first + i]
                for _ in range(share + (1 if i < extra else 0)):
                    assigned_topics[cursor[m]] = topic
                    assigned_partitions[cursor[m]] = partition
                    cursor[m] += 1
                    partition += 1
    return Assignments(offsets, assigned_topics, assigned_partitions)
