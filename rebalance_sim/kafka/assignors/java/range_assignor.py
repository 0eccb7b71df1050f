"""The ``range`` assignor of the Java client (``org.apache.kafka.clients.consumer.RangeAssignor``).

Each topic is assigned on its own: its sorted subscribers get consecutive partitions, and the first few get one more if
the number does not divide evenly. The assignor iterates over the topics of a hash map, and that order is the order of
the topics in each member's list.
"""

import numpy as np

from rebalance_sim.kafka.assignors.steps.rack_matching import assign_with_racks, have_racks, known_topics_in_map_order
from rebalance_sim.kafka.assignors.steps.ranges import assign_ranges
from rebalance_sim.kafka.groups import (
    AssignmentOutcome,
    Groups,
    Subscribers,
    TopicArrays,
    has_static_members,
    map_order,
    naming_order,
    own_lists,
    sorted_order,
    subscribers,
    with_lists,
    without_failures,
)
from rebalance_sim.kafka.runtime.hash_order import java_compute_if_absent_order, java_order, java_table_size
from rebalance_sim.kafka.runtime.kernel import kernel
from rebalance_sim.kafka.runtime.strings import Ints32
from rebalance_sim.releases import KafkaVersion, RangeWalk

_NAMED_BY_PUT = int(RangeWalk.NAMED_BY_PUT)
_NAMED_BY_COMPUTE_IF_ABSENT = int(RangeWalk.NAMED_BY_COMPUTE_IF_ABSENT)


def assign(groups: Groups, topics: TopicArrays, version: KafkaVersion) -> AssignmentOutcome:
    """Assign the partitions of every group of a batch."""
    # The order of the leader's map decides which topic is named first, and between members with equal instance ids.
    as_given = map_order(groups) if has_static_members(groups) else naming_order(groups)
    by_topic = subscribers(
        groups,
        as_given,
        sorted_order(groups, as_given, version.static_members_first),
        len(topics.partitions),
        count_repeats=version.range_walk is not RangeWalk.KNOWN,
    )
    # KIP-881 (3.5): racks are matched as soon as one member and one replica have them.
    if version.rack_aware and have_racks(groups, topics):
        by_topic = with_lists(by_topic, *own_lists(by_topic))
        return without_failures(groups, assign_with_racks(groups, topics, by_topic, by_librdkafka=False))
    order = _topic_orders(topics, by_topic, int(version.range_walk))
    return without_failures(groups, assign_ranges(len(groups.member_racks), topics, by_topic, order))


@kernel
def _topic_orders(topics: TopicArrays, by_topic: Subscribers, walk: int) -> Ints32:
    """Return the entries of all groups' topics, in the order in which the assignor visits them."""
    orders = np.empty(len(by_topic.topics), np.int32)
    n = 0
    for g in range(len(by_topic.group_topics) - 1):
        first, end = by_topic.group_topics[g], by_topic.group_topics[g + 1]
        if end == first + 1:
            orders[n] = first
            n += 1
            continue
        named = np.arange(end - first).astype(np.int32)
        hashes = topics.hashes[by_topic.topics[first:end]]
        if walk == _NAMED_BY_PUT:
            order = java_order(hashes, named, java_table_size(len(named))) + first
        elif walk == _NAMED_BY_COMPUTE_IF_ABSENT:
            order = java_compute_if_absent_order(hashes, named, by_topic.last_name_is_new[g]) + first
        else:
            order = known_topics_in_map_order(topics, by_topic, g)
        orders[n : n + len(order)] = order
        n += len(order)
    return orders[:n]
