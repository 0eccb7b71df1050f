"""The subscribers of each topic as kafka-go lists them (``findMembersByTopic`` of 0.4.51)."""

from rebalance_sim.kafka.assignors.steps.byte_order import in_byte_order
from rebalance_sim.kafka.assignors.steps.join_response import without_instance_ids
from rebalance_sim.kafka.groups import Groups, Subscribers, TopicArrays, subscribers


def subscribers_by_id(groups: Groups, topics: TopicArrays) -> Subscribers:
    """Return the subscribers of each topic by member id; a member that names a topic twice is there twice."""
    in_order = in_byte_order(without_instance_ids(groups))
    return subscribers(groups, in_order, in_order, len(topics.partitions), count_repeats=True)
