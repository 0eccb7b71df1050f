"""``range`` as librdkafka assigns it (``rdkafka_range_assignor.c``, 2.2 to 2.16).

It goes by topic and matches racks as Java does since 3.5, but for the order of members, and for topics that are matched
together. A member's partitions are given here by topic and number: librdkafka's list follows the order in which the
broker told of the topics.
"""

from rebalance_sim.kafka.assignors.client_member_order import as_joined, as_told_by, sort_by_librdkafka
from rebalance_sim.kafka.assignors.range import assign_in_blocks, assign_with_racks, with_racks
from rebalance_sim.kafka.groups import Groups, Outcome, Topics, subscribers, topics_by_name, without_failures
from rebalance_sim.versions import KafkaVersion


def assign(groups: Groups, topics: Topics, version: KafkaVersion) -> Outcome:
    """Assign the partitions of every group of a batch."""
    told = as_told_by(version, groups)
    joined = as_joined(told, int(version.coordinator_map))
    by_topic = subscribers(told, joined, joined, len(topics.partitions), count_repeats=False)
    sort_by_librdkafka(by_topic.members, by_topic.offsets, told)
    if with_racks(told, topics):
        return without_failures(groups, assign_with_racks(told, topics, by_topic, by_librdkafka=True))
    order = topics_by_name(topics, by_topic)
    return without_failures(groups, assign_in_blocks(len(told.member_hashes), topics, by_topic, order))
