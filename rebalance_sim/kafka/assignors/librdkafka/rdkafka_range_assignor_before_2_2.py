"""librdkafka's ``range`` assignor before 2.2 (``rdkafka_range_assignor.c`` of 1.2 and 2.1.1): no racks (KIP-881)."""

import numpy as np

from rebalance_sim.kafka.assignors.librdkafka import rdkafka_range_assignor
from rebalance_sim.kafka.assignors.steps.byte_order import assign_ranges_in_byte_order
from rebalance_sim.kafka.assignors.steps.join_response import without_instance_ids
from rebalance_sim.kafka.groups import NO_RACK, AssignmentOutcome, Groups, TopicArrays
from rebalance_sim.releases import KafkaVersion


def assign_2_1(groups: Groups, topics: TopicArrays, version: KafkaVersion) -> AssignmentOutcome:
    """Assign the partitions of every group of a batch."""
    rackless = groups._replace(member_racks=np.full_like(groups.member_racks, NO_RACK))
    return rdkafka_range_assignor.assign(rackless, topics, version)


def assign_1_2(groups: Groups, topics: TopicArrays, _: KafkaVersion) -> AssignmentOutcome:
    """Assign as 2.1, without instance ids: librdkafka has known static members since 1.3."""
    return assign_ranges_in_byte_order(without_instance_ids(groups), topics)
