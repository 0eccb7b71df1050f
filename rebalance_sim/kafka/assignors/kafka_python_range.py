"""``range`` as kafka-python assigns it (``range.py`` of 3.0.12): Java's without racks, by the members remembered.

Whom it forgets depends on the topic: members that do not subscribe to it do not part those that do.
"""

from rebalance_sim.kafka.assignors.client_member_order import as_joined, as_told_by, remembered_by_kafka_python
from rebalance_sim.kafka.assignors.range import assign_in_blocks
from rebalance_sim.kafka.groups import Groups, Outcome, Topics, subscribers, topics_by_name, without_failures
from rebalance_sim.versions import KafkaVersion


def assign(groups: Groups, topics: Topics, version: KafkaVersion) -> Outcome:
    """Assign the partitions of every group of a batch."""
    told = as_told_by(version, groups)
    joined = as_joined(told, int(version.coordinator_map))
    by_topic = subscribers(told, joined, joined, len(topics.partitions), count_repeats=False)
    offsets, members = remembered_by_kafka_python(by_topic.members, by_topic.offsets, told)
    order = topics_by_name(topics, by_topic)
    remembered = by_topic._replace(offsets=offsets, members=members)
    return without_failures(groups, assign_in_blocks(len(told.member_hashes), topics, remembered, order))
