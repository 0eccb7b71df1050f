"""kafka-go's ``range`` balancer (``RangeGroupBalancer`` of 0.4.51).

Subscriber i of k gets the partitions from floor(i * n / k) to floor((i + 1) * n / k) of a topic's n, so that the extra
partitions are spread: 7 partitions for 3 subscribers are 2, 2 and 3.
"""

import numpy as np

from rebalance_sim.kafka.assignors.kafka_go.subscribers import subscribers_by_id
from rebalance_sim.kafka.assignors.steps.failures import without_undetermined
from rebalance_sim.kafka.assignors.steps.metadata_order import decides_among_subscribers
from rebalance_sim.kafka.assignors.steps.ranges import first_partitions, lists_of_owners
from rebalance_sim.kafka.groups import (
    AssignmentOutcome,
    Groups,
    Subscribers,
    TopicArrays,
    topics_by_name,
    without_failures,
)
from rebalance_sim.kafka.runtime.kernel import kernel
from rebalance_sim.kafka.runtime.strings import Ints32
from rebalance_sim.releases import KafkaVersion


def assign(groups: Groups, topics: TopicArrays, version: KafkaVersion) -> AssignmentOutcome:
    """Assign the partitions of every group of a batch; groups in which the brokers' order decides are UNDETERMINED."""
    by_topic = subscribers_by_id(groups, topics)
    places = first_partitions(topics, by_topic)
    owners = _owners(topics, by_topic, places)
    order = topics_by_name(topics, by_topic)
    lists = lists_of_owners(len(groups.member_racks), by_topic, places, owners, order)
    unknown = decides_among_subscribers(by_topic, topics, version.partition_order.certain)
    return without_undetermined(groups, without_failures(groups, lists), unknown)


@kernel
def _owners(topics: TopicArrays, by_topic: Subscribers, places: Ints32) -> Ints32:
    owners = np.empty(places[-1], np.int32)
    for entry in range(len(by_topic.topics)):
        first, end = by_topic.first[entry], by_topic.end[entry]
        partitions = topics.partitions[by_topic.topics[entry]]
        count = end - first
        for i in range(count):
            for partition in range(i * partitions // count, (i + 1) * partitions // count):
                owners[places[entry] + partition] = by_topic.members[first + i]
    return owners
