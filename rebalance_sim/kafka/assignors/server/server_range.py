"""The coordinator's ``range`` assignor (``org.apache.kafka.coordinator.group.assignor.RangeAssignor``).

Each topic is assigned on its own: its sorted subscribers get consecutive partitions, and the first few get one more if
the number does not divide evenly. Static members come first, by instance id, then dynamic ones by member id, so the
order of hash maps makes no difference, unless two members have the same instance id. ``range_before_3_9`` has the rules
of 3.7 and 3.8.
"""

from rebalance_sim.kafka.assignors.server.range_before_3_9 import assign_sticky_ranges
from rebalance_sim.kafka.assignors.server.specification import specification_order
from rebalance_sim.kafka.assignors.steps.ranges import assign_ranges
from rebalance_sim.kafka.groups import (
    AssignmentOutcome,
    Groups,
    TopicArrays,
    any_order,
    has_static_members,
    sorted_order,
    subscribers,
    topics_by_name,
    without_failures,
)
from rebalance_sim.kafka.runtime.strings import Ints32
from rebalance_sim.releases import KafkaVersion, ServerRangeRules


def remembers(version: KafkaVersion) -> bool:
    """Return whether the result depends on what members own."""
    return version.server_range is ServerRangeRules.STICKY


def assign(groups: Groups, topics: TopicArrays, version: KafkaVersion) -> AssignmentOutcome:
    """Assign the partitions of every group of a batch."""
    if version.server_range is ServerRangeRules.STICKY:
        return without_failures(groups, assign_sticky_ranges(groups, topics))
    as_given = specification_order(groups) if has_static_members(groups) else any_order(groups)
    in_turn = range_order(groups, as_given)
    by_topic = subscribers(groups, as_given, in_turn, len(topics.partitions), count_repeats=False)
    order = topics_by_name(topics, by_topic)
    return without_failures(groups, assign_ranges(len(in_turn), topics, by_topic, order))


def range_order(groups: Groups, as_given: Ints32) -> Ints32:
    """Return the members of each group in the order in which they get partitions (``sortMemberIds``)."""
    return sorted_order(groups, as_given, static_members_first=True)
