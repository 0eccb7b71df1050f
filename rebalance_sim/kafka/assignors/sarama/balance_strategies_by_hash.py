"""Sarama's ``range`` before 1.34.1 and ``roundrobin`` before 1.28 (``balance_strategy.go`` of 1.27.2).

Both sort the members of a topic by a hash: FNV-1a over the characters of the topic's name and the member id. The order
changes from topic to topic.
"""

from collections.abc import Callable

import numpy as np

from rebalance_sim.kafka.assignors.steps.ranges import first_partitions, lists_of_owners
from rebalance_sim.kafka.assignors.steps.turns import owners_in_turn_by_topic
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
from rebalance_sim.kafka.runtime.strings import Ints32, Strings, byte_at, sort_by_key
from rebalance_sim.releases import KafkaVersion

_MASK = 0xFFFFFFFF
_FNV_OFFSET = 0x811C9DC5
_FNV_PRIME = 0x01000193


def assign_range(groups: Groups, topics: TopicArrays, _: KafkaVersion) -> AssignmentOutcome:
    """Assign ranges whose bounds are rounded: subscriber i of k gets partitions from round(i * n / k)."""
    return _assign(groups, topics, _owners_of_ranges)


def assign_roundrobin(groups: Groups, topics: TopicArrays, _: KafkaVersion) -> AssignmentOutcome:
    """Assign every topic on its own: partition p of a topic with k subscribers goes to subscriber p mod k."""
    return _assign(groups, topics, owners_in_turn_by_topic)


def _assign(
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
