"""``server-uniform`` of Kafka 3.7 to 3.9, group by group."""

from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.assignors.server.group_before_4_0 import (
    NO_LIMIT,
    EarlyGroup,
    EarlyMembers,
    places_by_id,
    topics_of_places,
)
from rebalance_sim.kafka.assignors.server.heterogeneous_before_4_0 import assign_one_by_one
from rebalance_sim.kafka.assignors.server.homogeneous import assign_homogeneous
from rebalance_sim.kafka.assignors.server.homogeneous_3_7 import assign_in_turns
from rebalance_sim.kafka.assignors.server.racks_3_7 import match_racks, no_rack_matches
from rebalance_sim.kafka.assignors.server.target_assignment import (
    Targets,
    UniformBatch,
    list_targets,
    new_batch,
    new_lists,
    new_targets,
    number_places,
    same_subscriptions,
    sort_lists,
)
from rebalance_sim.kafka.groups import (
    AssignmentFailure,
    AssignmentOutcome,
    Assignments,
    Groups,
    Subscribers,
    TopicArrays,
    any_order,
    sorted_order,
    topics_by_name,
)
from rebalance_sim.kafka.runtime.kernel import kernel
from rebalance_sim.kafka.runtime.strings import Ints32, java_hashes
from rebalance_sim.releases import ServerUniformRules

_NONE = int(AssignmentFailure.NONE)


class _Batch(NamedTuple):
    """A batch of groups."""

    uniform: UniformBatch
    topics: TopicArrays
    by_member: EarlyMembers
    by_topic: Subscribers
    by_name: Ints32
    """The entries of topics by name."""
    named_in: Ints32
    """``EarlyGroup.named_in``"""
    with_racks: bool
    """Whether the rules are those of 3.7, which match racks."""


def assign_before_4_0(
    groups: Groups, topics: TopicArrays, order: Ints32, by_topic: Subscribers, rules: ServerUniformRules
) -> AssignmentOutcome:
    """Assign the partitions of every group of a batch, with the members of each given in ``order``."""
    ranks = np.empty(len(order), np.int32)
    ranks[sorted_order(groups, any_order(groups), static_members_first=False)] = np.arange(len(order))
    loads, held = np.zeros((2, len(order)), np.int32)
    limits = np.full(len(order), NO_LIMIT, np.int32)
    batch = _Batch(
        new_batch(groups, topics, by_topic),
        topics,
        EarlyMembers(java_hashes(groups.member_ids), ranks, groups.member_racks, loads, held, limits),
        by_topic,
        topics_by_name(topics, by_topic),
        np.full(len(topics.partitions), -1, np.int32),
        rules is ServerUniformRules.RACKS,
    )
    return AssignmentOutcome(*_assign(batch, groups.members, order))


@kernel
def _assign(given: _Batch, groups: Ints32, order: Ints32) -> tuple[Assignments, Ints32]:
    """Return the lists of all members, and the failure of each group."""
    batch, by_topic = given.uniform, given.by_topic
    targets, lists = new_targets(batch), new_lists(batch, by_topic, len(order))
    cursor, errors = np.empty(len(order), np.int32), np.zeros(len(groups) - 1, np.int32)
    for g in range(len(errors)):
        start, end = groups[g], groups[g + 1]
        lists.offsets[start + 1 : end + 1] = lists.offsets[start]
        first_entry, end_entry = by_topic.group_topics[g], by_topic.group_topics[g + 1]
        places = number_places(batch, by_topic.topics[first_entry:end_entry], targets)
        if places >= 0:
            errors[g] = _assign_group(given, g, order[start:end], places, targets)
            if errors[g] == _NONE:
                topics = by_topic.topics[given.by_name[first_entry:end_entry]]
                list_targets(batch, topics, targets, start, lists, cursor[start:end])
                if targets.filled[0] > 0:
                    sort_lists(batch.ranks, start, end, lists)
        for topic in by_topic.topics[first_entry:end_entry]:
            batch.base[topic] = -1
    filled = lists.offsets[-1]
    return Assignments(lists.offsets, lists.topics[:filled], lists.partitions[:filled]), errors


@kernel
def _assign_group(given: _Batch, g: int, members: Ints32, places: int, targets: Targets) -> int:
    """Assign a group and return the failure."""
    batch, topics, by_topic = given.uniform, given.topics, given.by_topic
    alike = same_subscriptions(batch, by_topic, g, len(members), given.with_racks)
    if alike and not given.with_racks:
        return assign_homogeneous(batch, members, places, False, targets)
    named = by_topic.topics[by_topic.group_topics[g] : by_topic.group_topics[g + 1]]
    topic_of = topics_of_places(batch, named, places)
    matches = no_rack_matches()
    if given.with_racks:
        matches = match_racks(batch, topics, given.by_member.racks, members, topic_of)
    by_id = places_by_id(batch, topic_of)
    group = EarlyGroup(g, topics, given.by_member, members, topic_of, by_id, matches, len(named), given.named_in)
    if alike:
        return assign_in_turns(batch, group, targets)
    return assign_one_by_one(batch, group, by_topic, given.with_racks, targets)
