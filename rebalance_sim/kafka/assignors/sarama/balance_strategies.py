"""Sarama's ``roundrobin`` strategy (``balance_strategy.go``, 1.28 to 1.61), and the strategies of 1.27.2.

Before 1.34.1 ``range``, and before 1.28 ``roundrobin``, sorts the members of a topic by a hash: FNV-1a over the
characters of the topic's name and the member id. The order changes from topic to topic.
"""

from collections.abc import Callable

import numpy as np

from rebalance_sim.kafka.assignors.steps.byte_order import in_byte_order
from rebalance_sim.kafka.assignors.steps.join_response import without_instance_ids
from rebalance_sim.kafka.assignors.steps.ranges import first_partitions, lists_of_owners
from rebalance_sim.kafka.assignors.steps.turns import first_from, owners_in_turn_by_topic
from rebalance_sim.kafka.groups import (
    AssignmentOutcome,
    Groups,
    Subscribers,
    TopicArrays,
    any_order,
    own_lists,
    subscribers,
    topics_by_name,
    with_lists,
    without_failures,
)
from rebalance_sim.kafka.runtime.kernel import kernel
from rebalance_sim.kafka.runtime.strings import Ints32, Strings, byte_at, sort_by_key, sort_sections
from rebalance_sim.releases import KafkaVersion

_MASK = 0xFFFFFFFF
_FNV_OFFSET = 0x811C9DC5
_FNV_PRIME = 0x01000193
_DIGITS = 10
"""Digits of the largest partition number."""


def assign_roundrobin(groups: Groups, topics: TopicArrays, _: KafkaVersion) -> AssignmentOutcome:
    """Assign partitions in turn to the members by member id; one that does not subscribe is skipped.

    Partitions are sorted as the text ``topic-partition``, so that ``t-10`` comes before ``t-2``, and those of a topic
    ``t-1`` are between ``t-1`` and ``t-10``.
    """
    in_order = in_byte_order(without_instance_ids(groups))
    by_topic = subscribers(groups, in_order, in_order, len(topics.partitions), count_repeats=False)
    places = first_partitions(topics, by_topic)
    owners = _owners(groups.members, in_order, topics, by_topic, places)
    order = topics_by_name(topics, by_topic)
    return without_failures(groups, lists_of_owners(len(in_order), by_topic, places, owners, order))


def assign_range_before_1_34_1(groups: Groups, topics: TopicArrays, _: KafkaVersion) -> AssignmentOutcome:
    """Assign ranges whose bounds are rounded: subscriber i of k gets partitions from round(i * n / k)."""
    return _assign_by_hash(groups, topics, _owners_of_ranges)


def assign_roundrobin_before_1_28(groups: Groups, topics: TopicArrays, _: KafkaVersion) -> AssignmentOutcome:
    """Assign every topic on its own: partition p of a topic with k subscribers goes to subscriber p mod k."""
    return _assign_by_hash(groups, topics, owners_in_turn_by_topic)


def _assign_by_hash(
    groups: Groups, topics: TopicArrays, owners_of: Callable[[Subscribers, Ints32], Ints32]
) -> AssignmentOutcome:
    given = any_order(groups)
    by_topic = subscribers(groups, given, given, len(topics.partitions), count_repeats=True)
    offsets, members = own_lists(by_topic)
    _sort_by_hash(offsets, members, by_topic.topics, topics.names, groups.member_ids)
    by_topic = with_lists(by_topic, offsets, members)
    places = first_partitions(topics, by_topic)
    order = topics_by_name(topics, by_topic)
    lists = lists_of_owners(len(given), by_topic, places, owners_of(by_topic, places), order)
    return without_failures(groups, lists)


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


@kernel
def _owners_of_ranges(by_topic: Subscribers, places: Ints32) -> Ints32:
    owners = np.empty(places[-1], np.int32)
    for entry in range(len(by_topic.topics)):
        first, end = by_topic.first[entry], by_topic.end[entry]
        # In doubles and in this order: the bounds are not always those of whole numbers.
        step = float(places[entry + 1] - places[entry]) / float(end - first)
        for i in range(end - first):
            low, high = int(np.floor(i * step + 0.5)), int(np.floor((i + 1) * step + 0.5))
            owners[places[entry] + low : places[entry] + high] = by_topic.members[first + i]
    return owners


@kernel
def _sort_by_hash(offsets: Ints32, members: Ints32, topics: Ints32, names: Strings, member_ids: Strings) -> None:
    for entry in range(len(topics)):
        of_topic = _with_characters(_FNV_OFFSET, names, topics[entry])
        listed = members[offsets[entry] : offsets[entry + 1]]
        hashes = np.empty(len(listed), np.int64)
        for k in range(len(listed)):
            hashes[k] = _with_characters(of_topic, member_ids, listed[k])
        sort_by_key(listed, hashes)


@kernel
def _with_characters(h: int, strings: Strings, i: int) -> int:
    """Continue a hash with the code points of a string (Go's ``range`` over a string)."""
    place, end = int(strings.offsets[i]), int(strings.offsets[i + 1])
    while place < end:
        lead = byte_at(strings.data, place)
        more = (lead >= 0xC0) + (lead >= 0xE0) + (lead >= 0xF0)
        point = lead if more == 0 else lead & (0x3F >> more)
        for k in range(1, more + 1):
            point = point << 6 | byte_at(strings.data, place + k) & 0x3F
        h = (h ^ point) * _FNV_PRIME & _MASK
        place += more + 1
    return h
