"""kafka-python's ``range`` assignor (``range.py`` of 3.0.12): Java's without racks, for the members that remain.

``remaining_members`` is applied per topic: only the topic's subscribers count as neighbours.
"""

from rebalance_sim.kafka.assignors.kafka_python.remaining_members import remaining_members
from rebalance_sim.kafka.assignors.steps.join_response import listed_members
from rebalance_sim.kafka.assignors.steps.ranges import assign_ranges
from rebalance_sim.kafka.groups import (
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
    sections, subscribed = own_lists(by_topic)
    offsets, members = remaining_members(subscribed, sections, seen)
    order = topics_by_name(topics, by_topic)
    remaining = with_lists(by_topic, offsets, members)
    return without_failures(groups, assign_ranges(len(seen.member_racks), topics, remaining, order))
