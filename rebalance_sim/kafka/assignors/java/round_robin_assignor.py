"""The ``roundrobin`` assignor of the Java client (``org.apache.kafka.clients.consumer.RoundRobinAssignor``)."""

from rebalance_sim.kafka.assignors.steps.turns import assign_in_turn
from rebalance_sim.kafka.groups import (
    AssignmentOutcome,
    Groups,
    TopicArrays,
    any_order,
    has_static_members,
    map_order,
    sorted_order,
)
from rebalance_sim.releases import KafkaVersion


def assign(groups: Groups, topics: TopicArrays, version: KafkaVersion) -> AssignmentOutcome:
    """Assign the partitions of every group of a batch."""
    # Only equal instance ids leave the order of two members to the leader's map.
    as_given = map_order(groups) if has_static_members(groups) else any_order(groups)
    return assign_in_turn(groups, sorted_order(groups, as_given, version.static_members_first), topics)
