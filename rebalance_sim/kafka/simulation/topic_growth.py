"""TopicArrays that grow during a simulation: what they are before and after each growth."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.groups import TopicArrays
from rebalance_sim.kafka.runtime.lists import list_offsets, take_strings
from rebalance_sim.kafka.runtime.strings import Ints32
from rebalance_sim.kafka.simulation.fleet import GroupTopics
from rebalance_sim.kafka.simulation.group_events import GroupEvents
from rebalance_sim.kafka.simulation.model import ScenarioKind


class SubscribedTopics(NamedTuple):
    """Each topic that some consumer of a group subscribes to, now or later, with the group; it may be there twice."""

    groups: Ints32
    topics: Ints32


class Growth(NamedTuple):
    """A topic of a group gets more partitions."""

    event: int
    """Place of the event."""
    group: int
    topic: int
    before: int
    after: int


def find_growths(
    events: GroupEvents, subscribed: SubscribedTopics, topics: TopicArrays, read_topic_names: Callable[[], list[str]]
) -> list[Growth]:
    """Return every growth of a topic of a group by time; an event that leaves a topic as it is causes none."""
    growing = [(event.stage, event.at_ms, place, event) for place, event in events.of_kind(ScenarioKind.GROW)]
    if not growing:
        return []
    names = read_topic_names()
    partitions: dict[tuple[int, int], int] = {}
    growths = []
    for *_, place, event in sorted(growing, key=lambda each: each[:3]):
        for topic in np.unique(subscribed.topics[subscribed.groups == event.group]).tolist():
            if topics.partitions[topic] <= 0 or event.topic not in (None, names[topic]):
                continue
            before = partitions.get((event.group, topic), int(topics.partitions[topic]))
            after = event.partitions or before + event.value
            if after > before:
                partitions[event.group, topic] = after
                growths.append(Growth(place, event.group, topic, before, after))
    return growths


def find_group_topics(
    n_groups: int, subscribed: SubscribedTopics, topics: TopicArrays, growths: Sequence[Growth]
) -> GroupTopics:
    """Return the existing topics of each group with the partitions that they have in the end."""
    count = max(len(topics.partitions), 1)
    pairs = np.unique(subscribed.groups.astype(np.int64) * count + subscribed.topics)
    of_group, of_topic = pairs // count, (pairs % count).astype(np.int32)
    known = topics.partitions[of_topic] > 0
    of_group, of_topic = of_group[known], of_topic[known]
    partitions = topics.partitions[of_topic].copy()
    for growth in growths:
        partitions[(of_group == growth.group) & (of_topic == growth.topic)] = growth.after
    entries = np.searchsorted(of_group, np.arange(n_groups + 1)).astype(np.int32)
    before = list_offsets(partitions).astype(np.int64)
    first = before[:-1] - np.repeat(before[entries[:-1]], np.diff(entries))
    return GroupTopics(entries, of_topic, first.astype(np.int32), partitions.astype(np.int32))


def add_grown_topics(topics: TopicArrays, growths: Sequence[Growth]) -> tuple[TopicArrays, Ints32]:
    """Return the topics followed by a variant after each growth, and the topic that each is a variant of."""
    base = np.arange(len(topics.partitions), dtype=np.int32)
    if not growths:
        return topics, base
    grown = np.array([growth.topic for growth in growths], np.int32)
    variant_of = np.concatenate([base, grown])
    after = np.array([growth.after for growth in growths], np.int32)
    # The racks of new partitions are unknown; the variant keeps those of the partitions before.
    firsts = [topics.first_racks]
    offsets, racks = [topics.rack_offsets], [topics.racks]
    for topic in grown.tolist():
        low, high = topics.first_racks[topic], topics.first_racks[topic + 1]
        if low < high:
            places = topics.rack_offsets[low : high + 1]
            offsets.append(places[1:] - places[0] + offsets[-1][-1])
            racks.append(topics.racks[places[0] : places[-1]])
        firsts.append(firsts[-1][-1:] + high - low)
    variants = TopicArrays(
        np.concatenate([topics.partitions, after]),
        np.concatenate([topics.hashes, topics.hashes[grown]]),
        np.concatenate([topics.ranks, topics.ranks[grown]]),
        np.concatenate(firsts),
        np.concatenate(offsets),
        np.concatenate(racks),
        topics.rack_hashes,
        np.concatenate([topics.ids, topics.ids[grown]]),
        take_strings(topics.names, variant_of),
    )
    return variants, variant_of
