"""How even an assignment is, and what it moves."""

from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.groups import Assignments, Subscribers, Topics
from rebalance_sim.kafka.kernel import kernel
from rebalance_sim.kafka.strings import Ints, Ints32


class Balance(NamedTuple):
    """Figures of each group."""

    partitions: Ints32
    """Partitions of the topics that the group subscribes to."""
    min: Ints32
    """Fewest partitions that a member has."""
    max: Ints32
    stddev: np.ndarray[tuple[int], np.dtype[np.float64]]
    """Standard deviation of the partitions a member, over the whole group."""
    topic_spread: Ints32
    """Largest difference, over the topics, between two subscribers' numbers of its partitions."""
    idle: Ints32
    """Members without a partition."""
    kept: Ints32
    """Partitions that stay with the member that owned them."""
    moved: Ints32
    """Partitions that another member owned before."""
    unassigned: Ints32
    misassigned: Ints32
    """Partitions in a member's list that another member has, too, that do not exist or that it did not ask for."""


@kernel
def balance(
    groups: Ints32,
    topics: Topics,
    by_topic: Subscribers,
    assigned: Assignments,
    owned: Assignments,
    generations: Ints,
) -> Balance:
    """Measure the assignment of each group against ``owned``.

    Where two members claim a partition, the one with the higher generation owned it, then the one that stands first.
    """
    n = len(groups) - 1
    out = Balance(
        np.zeros(n, np.int32),
        np.zeros(n, np.int32),
        np.zeros(n, np.int32),
        np.zeros(n, np.float64),
        np.zeros(n, np.int32),
        np.zeros(n, np.int32),
        np.zeros(n, np.int32),
        np.zeros(n, np.int32),
        np.zeros(n, np.int32),
        np.zeros(n, np.int32),
    )
    base = np.full(len(topics.partitions), -1, np.int32)
    loads = np.zeros(len(generations), np.int32)
    for g in range(n):
        start, end = groups[g], groups[g + 1]
        first, last = by_topic.group_topics[g], by_topic.group_topics[g + 1]
        room = 0
        for topic in by_topic.topics[first:last]:
            base[topic] = room
            room += max(topics.partitions[topic], 0)
        owners_before = partition_owners(start, end, owned, generations, topics, base, room)
        owners = partition_owners(start, end, assigned, generations, topics, base, room)
        for place in range(room):
            if owners[place] < 0:
                out.unassigned[g] += 1
            elif owners[place] == owners_before[place]:
                out.kept[g] += 1
            elif owners_before[place] >= 0:
                out.moved[g] += 1
        out.misassigned[g] = assigned.offsets[end] - assigned.offsets[start]
        for entry in range(first, last):
            topic = by_topic.topics[entry]
            partitions = max(topics.partitions[topic], 0)
            members = by_topic.members[by_topic.offsets[entry] : by_topic.offsets[entry + 1]]
            spread, well_assigned = _spread(owners[base[topic] : base[topic] + partitions], members, loads)
            out.topic_spread[g] = max(out.topic_spread[g], spread)
            out.misassigned[g] -= well_assigned
        for topic in by_topic.topics[first:last]:
            base[topic] = -1
        out.partitions[g] = room
        _measure_loads(g, start, end, assigned, out)
    return out


@kernel
def partition_owners(
    start: int, end: int, lists: Assignments, generations: Ints, topics: Topics, base: Ints32, room: int
) -> Ints32:
    """Owner of each partition, or -1, where partition p of topic t has place ``base[t] + p`` of ``room``.

    Topics whose ``base`` is -1 are left out. Of two claimants it is the one with the higher generation, then the one
    that stands first.
    """
    owners = np.full(room, -1, np.int32)
    for m in range(start, end):
        for k in range(lists.offsets[m], lists.offsets[m + 1]):
            topic, partition = lists.topics[k], lists.partitions[k]
            if base[topic] >= 0 and 0 <= partition < topics.partitions[topic]:
                rival = owners[base[topic] + partition]
                if rival < 0 or generations[m] > generations[rival]:
                    owners[base[topic] + partition] = m
    return owners


@kernel
def _spread(owners: Ints32, members: Ints32, loads: Ints32) -> tuple[int, int]:
    """Difference between most and fewest partitions of a topic that ``members`` have, and how many they have in all.

    ``loads`` is all 0 and is left so.
    """
    for owner in owners:
        if owner >= 0:
            loads[owner] += 1
    fewest, most, total = len(owners), 0, 0
    for member in members:
        fewest, most = min(fewest, loads[member]), max(most, loads[member])
        total += loads[member]
    for owner in owners:
        if owner >= 0:
            loads[owner] = 0
    return max(most - fewest, 0), total


@kernel
def _measure_loads(g: int, start: int, end: int, assigned: Assignments, out: Balance) -> None:
    if end == start:
        return
    total, squares = 0, 0
    fewest, most = assigned.offsets[start + 1] - assigned.offsets[start], 0
    for m in range(start, end):
        load = int(assigned.offsets[m + 1] - assigned.offsets[m])
        total += load
        squares += load * load
        fewest, most = min(fewest, load), max(most, load)
        if load == 0:
            out.idle[g] += 1
    members = int(end - start)
    out.min[g], out.max[g] = fewest, most
    out.stddev[g] = np.sqrt(members * squares - total * total) / members
