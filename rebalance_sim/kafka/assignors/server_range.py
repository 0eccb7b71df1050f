"""The coordinator's ``range`` assignor (``org.apache.kafka.coordinator.group.assignor.RangeAssignor``, Kafka 4.x).

Topic by topic, the sorted subscribers get consecutive partitions; the first few get one more where the number does not
divide evenly. No hash order shows: static members come first, by instance id, then the others by member id, and each
topic is dealt out on its own.
"""

from rebalance_sim.kafka.assignors.range import assign_in_blocks
from rebalance_sim.kafka.groups import (
    Groups,
    Outcome,
    Topics,
    sorted_order,
    subscribers,
    topics_by_name,
    without_failures,
)
from rebalance_sim.kafka.server_groups import specification_order
from rebalance_sim.versions import KafkaVersion


def assign(groups: Groups, topics: Topics, _: KafkaVersion) -> Outcome:
    """Assign the partitions of every group of a batch."""
    as_given = specification_order(groups)
    in_turn = sorted_order(groups, as_given, static_members_first=True)
    by_topic = subscribers(groups, as_given, in_turn, len(topics.partitions), count_repeats=False)
    order = topics_by_name(topics, by_topic)
    return without_failures(groups, assign_in_blocks(len(in_turn), topics, by_topic, order))
