"""Leaders that take topics or partitions in the order of the broker's Metadata response.

kafka-go, KafkaJS and ruby-kafka take partitions so. Brokers since 4.3 list them in ascending order, earlier ones with
KRaft in that of a set of what they say of each partition, which changes with its leader and replicas
(``KRaftMetadataCache``: six partitions of one broker are listed as 1, 3, 2, 5, 0, 4). Brokers with ZooKeeper list them
in the order of the hash map in which they keep them (``ZkMetadataCache``): since 2.1 Scala's ``LongMap``, whose order
also depends on when the broker last copied the map, so that partitions 0, 1, 2 may be listed as 0, 2, 1; before, a
``HashMap`` that lists 1 before 0. ``PartitionOrder.certain`` is the number of partitions up to which the order is
known.

Topics are listed in the order of the immutable set of Scala's into which brokers put the requested names.
"""

import numpy as np

from rebalance_sim.kafka.assignors.steps.leaders_topics import leaders_topics
from rebalance_sim.kafka.groups import Groups, Subscribers, TopicArrays
from rebalance_sim.kafka.runtime.kernel import kernel
from rebalance_sim.kafka.runtime.strings import Flags

LISTED_AS_REQUESTED = 4
"""The most elements that Scala's immutable sets keep in the order in which they were added."""


@kernel
def decides_among_subscribers(by_topic: Subscribers, topics: TopicArrays, ordered: int) -> Flags:
    """Return the groups that share a topic with more partitions among several subscribers."""
    found = np.zeros(len(by_topic.group_topics) - 1, np.bool_)
    for g in range(len(found)):
        for entry in range(by_topic.group_topics[g], by_topic.group_topics[g + 1]):
            shared = by_topic.end[entry] - by_topic.first[entry] > 1
            found[g] |= shared and topics.partitions[by_topic.topics[entry]] > ordered
    return found


@kernel
def decides_for_leaders_topics(groups: Groups, topics: TopicArrays, ordered: int) -> Flags:
    """Return the groups of several members whose leader subscribes to a topic with more partitions."""
    firsts, named = leaders_topics(groups, topics)
    found = np.zeros(len(groups.members) - 1, np.bool_)
    for g in range(len(found)):
        for topic in named[firsts[g] : firsts[g + 1]]:
            found[g] |= groups.members[g + 1] - groups.members[g] > 1 and topics.partitions[topic] > ordered
    return found
