"""kafka-go's ``range`` and ``roundrobin`` balancers (``groupbalancer.go`` of 0.4.51).

A member that names a topic twice is among its subscribers twice (``findMembersByTopic``).
"""

from collections.abc import Callable

import numpy as np

from rebalance_sim.kafka.assignors.steps.byte_order import in_byte_order
from rebalance_sim.kafka.assignors.steps.failures import without_undetermined
from rebalance_sim.kafka.assignors.steps.join_response import without_instance_ids
from rebalance_sim.kafka.assignors.steps.metadata_order import decides_among_subscribers
from rebalance_sim.kafka.assignors.steps.ranges import first_partitions, lists_of_owners
from rebalance_sim.kafka.assignors.steps.turns import owners_in_turn_by_topic
from rebalance_sim.kafka.groups import (
    AssignmentOutcome,
    Groups,
    Subscribers,
    TopicArrays,
    subscribers,
    topics_by_name,
    without_failures,
)
from rebalance_sim.kafka.runtime.kernel import kernel
from rebalance_sim.kafka.runtime.strings import Ints32
from rebalance_sim.releases import KafkaVersion


def assign_range(groups: Groups, topics: TopicArrays, version: KafkaVersion) -> AssignmentOutcome:
    """Assign subscriber i of k the partitions from floor(i * n / k) to floor((i + 1) * n / k) of a topic's n.

    The extra partitions are spread: 7 partitions for 3 subscribers are 2, 2 and 3 (``RangeGroupBalancer``).
    """
    return _assign(groups, topics, version, _owners_of_ranges)


def assign_roundrobin(groups: Groups, topics: TopicArrays, version: KafkaVersion) -> AssignmentOutcome:
    """Assign every topic on its own: partition p of a topic with k subscribers goes to subscriber p mod k.

    That is ``RoundRobinGroupBalancer``.
    """
    return _assign(groups, topics, version, owners_in_turn_by_topic)


def _assign(
    groups: Groups, topics: TopicArrays, version: KafkaVersion, owners_of: Callable[[Subscribers, Ints32], Ints32]
) -> AssignmentOutcome:
    """Assign the partitions of every group of a batch; groups in which the brokers' order decides are UNDETERMINED."""
    in_order = in_byte_order(without_instance_ids(groups))
    by_topic = subscribers(groups, in_order, in_order, len(topics.partitions), count_repeats=True)
    places = first_partitions(topics, by_topic)
    order = topics_by_name(topics, by_topic)
    lists = lists_of_owners(len(in_order), by_topic, places, owners_of(by_topic, places), order)
    unknown = decides_among_subscribers(by_topic, topics, version.partition_order.certain)
    return without_undetermined(groups, without_failures(groups, lists), unknown)


@kernel
def _owners_of_ranges(by_topic: Subscribers, places: Ints32) -> Ints32:
    owners = np.empty(places[-1], np.int32)
    for entry in range(len(by_topic.topics)):
        first, count = by_topic.first[entry], by_topic.end[entry] - by_topic.first[entry]
        partitions = places[entry + 1] - places[entry]
        for i in range(count):
            for partition in range(i * partitions // count, (i + 1) * partitions // count):
                owners[places[entry] + partition] = by_topic.members[first + i]
    return owners
