"""Sarama's ``roundrobin`` strategy (``balance_strategy.go``, 1.28 to 1.61).

It sorts partitions as the text ``topic-partition``, so that ``t-10`` comes before ``t-2``, and those of a topic ``t-1``
are between ``t-1`` and ``t-10``. They go in turn to the members by member id; one that does not subscribe is skipped.
"""

import numpy as np

from rebalance_sim.kafka.assignors.steps.byte_order import in_byte_order
from rebalance_sim.kafka.assignors.steps.join_response import without_instance_ids
from rebalance_sim.kafka.assignors.steps.ranges import first_partitions, lists_of_owners
from rebalance_sim.kafka.assignors.steps.turns import first_from
from rebalance_sim.kafka.groups import (
    AssignmentOutcome,
    Groups,
    Subscribers,
    TopicArrays,
    subscribers,
    topics_by_name,
    without_failures,
)
from rebalance_sim.kafka.runtime.kernel import kernel
from rebalance_sim.kafka.runtime.strings import Ints32, Strings, sort_sections
from rebalance_sim.releases import KafkaVersion

_DIGITS = 10
"""Digits of the largest partition number."""


def assign(groups: Groups, topics: TopicArrays, _: KafkaVersion) -> AssignmentOutcome:
    """Assign the partitions of every group of a batch."""
    in_order = in_byte_order(without_instance_ids(groups))
    by_topic = subscribers(groups, in_order, in_order, len(topics.partitions), count_repeats=False)
    places = first_partitions(topics, by_topic)
    owners = _owners(groups.members, in_order, topics, by_topic, places)
    order = topics_by_name(topics, by_topic)
    return without_failures(groups, lists_of_owners(len(in_order), by_topic, places, owners, order))


@kernel
def _owners(groups: Ints32, in_turn: Ints32, topics: TopicArrays, by_topic: Subscribers, places: Ints32) -> Ints32:
    turn = np.empty(len(in_turn), np.int32)
    for i in range(len(in_turn)):
        turn[in_turn[i]] = i
    owners = np.empty(places[-1], np.int32)
    for g in range(len(groups) - 1):
        first, end = by_topic.group_topics[g], by_topic.group_topics[g + 1]
        texts, entries = _texts(topics, by_topic, places, first, end)
        order = np.arange(len(entries)).astype(np.int32)
        sort_sections(order, np.array([0, len(order)], np.int32), np.zeros(len(order), np.int64), texts)
        following = groups[g]
        for k in order:
            subscribed = by_topic.members[by_topic.first[entries[k]] : by_topic.end[entries[k]]]
            m = subscribed[first_from(following, turn, subscribed)]
            owners[places[first] + k] = m
            following = turn[m] + 1
    return owners


@kernel
def _texts(topics: TopicArrays, by_topic: Subscribers, places: Ints32, first: int, end: int) -> tuple[Strings, Ints32]:
    """Return each partition of a group's topics as text (``topicAndPartition.comparedValue``), and its entry."""
    names = topics.names
    count, room = places[end] - places[first], 0
    for entry in range(first, end):
        topic = by_topic.topics[entry]
        room += (places[entry + 1] - places[entry]) * (names.offsets[topic + 1] - names.offsets[topic] + 1 + _DIGITS)
    offsets, data = np.zeros(count + 1, np.int32), np.empty(room, np.uint8)
    entries = np.empty(count, np.int32)
    at, k = 0, 0
    for entry in range(first, end):
        name = names.data[names.offsets[by_topic.topics[entry]] : names.offsets[by_topic.topics[entry] + 1]]
        for partition in range(places[entry + 1] - places[entry]):
            data[at : at + len(name)] = name
            at += len(name)
            data[at] = ord("-")
            digits = 1
            while partition >= 10**digits:
                digits += 1
            for digit in range(digits):
                data[at + digits - digit] = ord("0") + partition // 10**digit % 10
            at += digits + 1
            entries[k] = entry
            k += 1
            offsets[k] = at
    return Strings(offsets, data[:at]), entries
