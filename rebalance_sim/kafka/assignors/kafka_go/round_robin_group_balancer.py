"""kafka-go's ``roundrobin`` balancer (``RoundRobinGroupBalancer`` of 0.4.51).

Every topic is dealt out on its own: partition p of a topic with k subscribers goes to subscriber p mod k.
"""

from rebalance_sim.kafka.assignors.kafka_go.subscribers import subscribers_by_id
from rebalance_sim.kafka.assignors.steps.failures import without_undetermined
from rebalance_sim.kafka.assignors.steps.metadata_order import decides_among_subscribers
from rebalance_sim.kafka.assignors.steps.ranges import first_partitions, lists_of_owners
from rebalance_sim.kafka.assignors.steps.turns import owners_in_turn_by_topic
from rebalance_sim.kafka.groups import AssignmentOutcome, Groups, TopicArrays, topics_by_name, without_failures
from rebalance_sim.releases import KafkaVersion


def assign(groups: Groups, topics: TopicArrays, version: KafkaVersion) -> AssignmentOutcome:
    """Assign the partitions of every group of a batch; groups in which the brokers' order decides are UNDETERMINED."""
    by_topic = subscribers_by_id(groups, topics)
    places = first_partitions(topics, by_topic)
    owners = owners_in_turn_by_topic(by_topic, places)
    order = topics_by_name(topics, by_topic)
    lists = lists_of_owners(len(groups.member_racks), by_topic, places, owners, order)
    unknown = decides_among_subscribers(by_topic, topics, version.partition_order.certain)
    return without_undetermined(groups, without_failures(groups, lists), unknown)
