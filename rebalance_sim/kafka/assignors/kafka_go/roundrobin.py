"""kafka-go's ``roundrobin`` balancer (``RoundRobinGroupBalancer`` of 0.4.51).

Every topic is dealt out on its own: partition p of a topic with k subscribers goes to subscriber p mod k.
"""

import numpy as np

from rebalance_sim.kafka.assignors.kafka_go.subscribers import subscribers_by_id
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


def assign(groups: Groups, topics: TopicArrays, _: KafkaVersion) -> AssignmentOutcome:
    """Assign the partitions of every group of a batch."""
    by_topic = subscribers_by_id(groups, topics)
    places = first_partitions(topics, by_topic)
    owners = _owners(topics, by_topic, places)
    order = topics_by_name(topics, by_topic)
    return without_failures(groups, lists_of_owners(len(groups.member_hashes), by_topic, places, owners, order))


@kernel
def _owners(topics: TopicArrays, by_topic: Subscribers, places: Ints32) -> Ints32:
    owners = np.empty(places[-1], np.int32)
    for entry in range(len(by_topic.topics)):
        first, end = by_topic.first[entry], by_topic.end[entry]
        partitions = topics.partitions[by_topic.topics[entry]]
        for partition in range(partitions):
            owners[places[entry] + partition] = by_topic.members[first + partition % (end - first)]
    return owners
