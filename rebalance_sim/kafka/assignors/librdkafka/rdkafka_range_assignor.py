"""librdkafka's ``range`` assignor (``rdkafka_range_assignor.c``, 2.2 to 2.16).

It differs from Java's in the order of members and in the topics that it matches by rack (``steps.rack_matching``). The
real list of a member follows the order of topics in the broker's metadata response; here it is sorted by topic and
number.
"""

import numpy as np

from rebalance_sim.kafka.assignors.steps.byte_order import sort_members
from rebalance_sim.kafka.assignors.steps.join_response import listed_members
from rebalance_sim.kafka.assignors.steps.rack_matching import assign_with_racks, have_racks
from rebalance_sim.kafka.assignors.steps.ranges import assign_ranges
from rebalance_sim.kafka.groups import (
    NO_RACK,
    AssignmentOutcome,
    Groups,
    TopicArrays,
    own_lists,
    subscribers,
    topics_by_name,
    with_lists,
    without_failures,
)
from rebalance_sim.releases import KafkaVersion


def assign(groups: Groups, topics: TopicArrays, version: KafkaVersion) -> AssignmentOutcome:
    """Assign the partitions of every group of a batch."""
    seen, listed = listed_members(groups, version)
    by_topic = subscribers(seen, listed, listed, len(topics.partitions), count_repeats=False)
    offsets, members = own_lists(by_topic)
    sort_members(members, offsets, seen)
    by_topic = with_lists(by_topic, offsets, members)
    if have_racks(seen, topics):
        return without_failures(groups, assign_with_racks(seen, topics, by_topic, by_librdkafka=True))
    order = topics_by_name(topics, by_topic)
    return without_failures(groups, assign_ranges(len(seen.member_racks), topics, by_topic, order))


def assign_before_2_2(groups: Groups, topics: TopicArrays, version: KafkaVersion) -> AssignmentOutcome:
    """Assign without racks (KIP-881), as ``rdkafka_range_assignor.c`` of 2.1.1 does."""
    return assign(groups._replace(member_racks=np.full_like(groups.member_racks, NO_RACK)), topics, version)
