"""The coordinator's ``uniform`` assignor (``UniformAssignor``), the default of consumer-protocol groups.

If all members subscribe to the same topic names, ``homogeneous`` assigns the group, otherwise ``heterogeneous``.
``uniform_before_4_0`` has the rules of 3.7 to 3.9.

``owned`` is the group's target assignment. A real target has no partition twice and none that does not exist; if
``owned`` does, the result is what Kafka's classes would make of it.
"""

import numpy as np

from rebalance_sim.kafka.assignors.server.heterogeneous import assign_heterogeneous
from rebalance_sim.kafka.assignors.server.homogeneous import assign_homogeneous
from rebalance_sim.kafka.assignors.server.specification import specification_order
from rebalance_sim.kafka.assignors.server.target_assignment import (
    ByMember,
    UniformBatch,
    list_targets,
    new_batch,
    new_lists,
    new_targets,
    number_places,
    same_subscriptions,
    sort_lists,
)
from rebalance_sim.kafka.assignors.server.uniform_before_4_0 import assign_before_4_0
from rebalance_sim.kafka.groups import (
    AssignmentFailure,
    AssignmentOutcome,
    Assignments,
    Groups,
    Subscribers,
    TopicArrays,
    subscribers,
    topics_by_name,
)
from rebalance_sim.kafka.runtime.kernel import kernel
from rebalance_sim.kafka.runtime.strings import Ints32
from rebalance_sim.releases import KafkaVersion, ServerUniformRules

_NONE = int(AssignmentFailure.NONE)


def assign(groups: Groups, topics: TopicArrays, version: KafkaVersion) -> AssignmentOutcome:
    """Assign the partitions of every group of a batch."""
    return assign_in_order(groups, topics, specification_order(groups), version.server_uniform)


def assign_in_order(groups: Groups, topics: TopicArrays, order: Ints32, rules: ServerUniformRules) -> AssignmentOutcome:
    """Assign with the members of each group given in ``order``."""
    by_topic = subscribers(groups, order, order, len(topics.partitions), count_repeats=False)
    if rules < ServerUniformRules.BALANCED_TOPICS:
        return assign_before_4_0(groups, topics, order, by_topic, rules)
    batch, by_name = new_batch(groups, topics, by_topic), topics_by_name(topics, by_topic)
    keeps_extra = rules >= ServerUniformRules.KEPT_EXTRAS
    return AssignmentOutcome(*_assign(batch, groups.members, order, by_topic, by_name, keeps_extra))


@kernel
def _assign(
    batch: UniformBatch, groups: Ints32, order: Ints32, by_topic: Subscribers, by_name: Ints32, keeps_extra: bool
) -> tuple[Assignments, Ints32]:
    """Return the lists of all members, and the failure of each group; ``by_name`` are the entries of topics by name."""
    targets, lists = new_targets(batch), new_lists(batch, by_topic, len(order))
    by_member = ByMember(np.zeros(len(order), np.int32), np.empty(len(order), np.int32))
    cursor, errors = np.empty(len(order), np.int32), np.zeros(len(groups) - 1, np.int32)
    for g in range(len(errors)):
        start, end = groups[g], groups[g + 1]
        lists.offsets[start + 1 : end + 1] = lists.offsets[start]
        first_entry, end_entry = by_topic.group_topics[g], by_topic.group_topics[g + 1]
        places = number_places(batch, by_topic.topics[first_entry:end_entry], targets)
        if places >= 0:
            members = order[start:end]
            if same_subscriptions(batch, by_topic, g, len(members), False):
                errors[g] = assign_homogeneous(batch, members, places, keeps_extra, targets)
            else:
                errors[g] = assign_heterogeneous(batch, by_topic, g, members, by_member, targets)
            if errors[g] == _NONE:
                topics = by_topic.topics[by_name[first_entry:end_entry]]
                list_targets(batch, topics, targets, start, lists, cursor[start:end])
                if targets.filled[0] > 0:
                    sort_lists(batch.ranks, start, end, lists)
        for topic in by_topic.topics[first_entry:end_entry]:
            batch.base[topic] = -1
    filled = lists.offsets[-1]
    return Assignments(lists.offsets, lists.topics[:filled], lists.partitions[:filled]), errors
