"""kafka-node's ``range`` and ``roundrobin`` protocols (``lib/assignment`` of 1.0 to 5.0), the latter its default.

JavaScript sorts member ids by UTF-16, as Java does.
"""

import numpy as np

from rebalance_sim.kafka.assignors.steps.failures import (
    name_unknown_topics,
    without_undetermined,
    without_unknown_topics,
)
from rebalance_sim.kafka.assignors.steps.join_response import listed_members
from rebalance_sim.kafka.assignors.steps.metadata_order import LISTED_AS_REQUESTED
from rebalance_sim.kafka.assignors.steps.ranges import assign_ranges
from rebalance_sim.kafka.assignors.steps.turns import assign_topics_in_turn
from rebalance_sim.kafka.groups import (
    AssignmentOutcome,
    Groups,
    Subscribers,
    TopicArrays,
    any_order,
    sorted_order,
    subscribers,
    topics_by_name,
    without_failures,
)
from rebalance_sim.kafka.runtime.kernel import kernel
from rebalance_sim.kafka.runtime.sorting import stable_order
from rebalance_sim.kafka.runtime.strings import Flags, Ints, Ints32, Strings, byte_at
from rebalance_sim.releases import KafkaVersion

_NO_INDEX = 2**32 - 1
"""Array indices are smaller."""
_MOST_DIGITS = 10


def assign_range(groups: Groups, topics: TopicArrays, _: KafkaVersion) -> AssignmentOutcome:
    """Assign as Java's ``range`` before 2.4: a member that names a topic twice counts as two.

    A topic that the broker's metadata lack throws a TypeError in the leader (``topicPartition[topic].length``).
    """
    in_order = sorted_order(groups, any_order(groups), static_members_first=False)
    by_topic = subscribers(groups, in_order, in_order, len(topics.partitions), count_repeats=True)
    lists = assign_ranges(len(in_order), topics, by_topic, topics_by_name(topics, by_topic))
    return without_unknown_topics(
        groups, without_failures(groups, lists), name_unknown_topics(groups, topics, only_leaders=False)
    )


def assign_roundrobin(groups: Groups, topics: TopicArrays, version: KafkaVersion) -> AssignmentOutcome:
    """Assign in turn as Java does, but visit the topics in the order of an object of JavaScript.

    Names that are array indices (``0``, ``17``) come first, by number, then the others in the order of the broker's
    Metadata response. Brokers put the requested topics into an immutable set of Scala's: up to four are listed as they
    were requested, in the order in which the JoinGroup response names them, more in the order of a hash trie: groups in
    which that decides are UNDETERMINED. Partitions are numbers, so that their order in the response does not count.
    """
    _, listed = listed_members(groups, version)
    in_turn = sorted_order(groups, any_order(groups), static_members_first=False)
    by_topic = subscribers(groups, listed, in_turn, len(topics.partitions), count_repeats=False)
    indices = _array_indices(by_topic.topics, topics.names)
    lists = assign_topics_in_turn(groups.members, in_turn, topics, by_topic, _object_order(by_topic, indices))
    unknown = _order_is_unknown(groups.members, by_topic, indices, topics)
    return without_undetermined(groups, without_failures(groups, lists), unknown)


@kernel
def _object_order(by_topic: Subscribers, indices: Ints) -> Ints32:
    order = np.empty(len(indices), np.int32)
    for g in range(len(by_topic.group_topics) - 1):
        first, end = by_topic.group_topics[g], by_topic.group_topics[g + 1]
        order[first:end] = stable_order(indices[first:end]) + first
    return order


@kernel
def _order_is_unknown(members: Ints32, by_topic: Subscribers, indices: Ints, topics: TopicArrays) -> Flags:
    unknown = np.zeros(len(members) - 1, np.bool_)
    for g in range(len(unknown)):
        first, end = by_topic.group_topics[g], by_topic.group_topics[g + 1]
        if members[g + 1] - members[g] > 1 and end - first > LISTED_AS_REQUESTED:
            exist = topics.partitions[by_topic.topics[first:end]] > 0
            unknown[g] = (exist & (indices[first:end] == _NO_INDEX)).sum() > 1
    return unknown


@kernel
def _array_indices(named: Ints32, names: Strings) -> Ints:
    """Return the array index that each name is, or ``_NO_INDEX``."""
    indices = np.full(len(named), _NO_INDEX, np.int64)
    for entry in range(len(named)):
        first, end = int(names.offsets[named[entry]]), int(names.offsets[named[entry] + 1])
        leading_zero = end - first > 1 and byte_at(names.data, first) == ord("0")
        if first == end or end - first > _MOST_DIGITS or leading_zero:
            continue
        number = 0
        for place in range(first, end):
            digit = byte_at(names.data, place) - ord("0")
            if digit < 0 or digit > 9:
                number = _NO_INDEX
                break
            number = number * 10 + digit
        indices[entry] = min(number, _NO_INDEX)
    return indices
