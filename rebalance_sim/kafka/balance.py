"""The balance of an assignment, and the number of partitions it moves."""

from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.groups import Assignments, Subscribers, TopicArrays
from rebalance_sim.kafka.runtime.kernel import kernel
from rebalance_sim.kafka.runtime.strings import Ints, Ints32


class Balance(NamedTuple):
    """Figures of each group, named like the columns of the table ``balance``."""

    partitions: Ints32
    """Partitions of the topics that the group subscribes to."""
    min: Ints32
    """Fewest partitions of a member."""
    max: Ints32
    stddev: np.ndarray[tuple[int], np.dtype[np.float64]]
    """Standard deviation of the number of partitions per member."""
    topic_spread: Ints32
    """Largest difference between two subscribers of a topic in the number of its partitions, over all topics."""
    idle_members: Ints32
    """Members without a partition."""
    kept: Ints32
    """Partitions assigned to the member that owned them."""
    moved: Ints32
    """Partitions that were owned by a member and are assigned to another."""
    unassigned: Ints32
    assigned_twice: Ints32
    """Partitions that are assigned more than once."""
    not_subscribed: Ints32
    """Partitions assigned to a member that does not subscribe to their topic."""
    nonexistent: Ints32
    """Assigned partitions that do not exist."""
    unconsumed: Ints32
    """Partitions that no subscriber of their topic is assigned."""


class SharedBalance(NamedTuple):
    """Figures of share groups (KIP-932), in which several members have a partition."""

    kept: Ints32
    """Times that a member keeps a partition."""
    moved: Ints32
    """Times that a member gets a partition that only others had."""
    topic_spread: Ints32
    min_sharing: Ints32
    """Fewest members that share a partition."""
    max_sharing: Ints32


class _Places(NamedTuple):
    """The partitions of a group as places."""

    base: Ints32
    """Place of partition 0, by topic; -1 for topics that the group does not subscribe to."""
    room: int
    """Number of places."""


@kernel
def balance(
    groups: Ints32,
    topics: TopicArrays,
    by_topic: Subscribers,
    assigned: Assignments,
    owned: Assignments,
    generations: Ints,
) -> Balance:
    """Measure the assignment of each group against ``owned``.

    If two members claim a partition, the member with the higher generation owned it, then the first member.
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
        out.unconsumed[g] = out.unassigned[g]
        with_subscribers = 0
        for entry in range(first, last):
            topic = by_topic.topics[entry]
            partitions = max(topics.partitions[topic], 0)
            members = by_topic.members[by_topic.first[entry] : by_topic.end[entry]]
            spread, held = _spread(owners[base[topic] : base[topic] + partitions], members, loads)
            out.topic_spread[g] = max(out.topic_spread[g], spread)
            with_subscribers += held
        if with_subscribers != assigned.offsets[end] - assigned.offsets[start]:
            _count_faults(g, groups, topics, by_topic, assigned, _Places(base, room), out)
        for topic in by_topic.topics[first:last]:
            base[topic] = -1
        out.partitions[g] = room
        _measure_loads(g, start, end, assigned, out)
    return out


@kernel
def shared_balance(
    groups: Ints32, topics: TopicArrays, by_topic: Subscribers, assigned: Assignments, owned: Assignments
) -> SharedBalance:
    """Measure the assignments of share groups against ``owned``, member by member."""
    n, n_members = len(groups) - 1, len(assigned.offsets) - 1
    out = SharedBalance(
        np.zeros(n, np.int32),
        np.zeros(n, np.int32),
        np.zeros(n, np.int32),
        np.zeros(n, np.int32),
        np.zeros(n, np.int32),
    )
    base, loads = np.full(len(topics.partitions), -1, np.int32), np.zeros(n_members, np.int32)
    for g in range(n):
        room = 0
        for topic in by_topic.topics[by_topic.group_topics[g] : by_topic.group_topics[g + 1]]:
            base[topic] = room
            room += max(topics.partitions[topic], 0)
        places = _Places(base, room)
        start, end = groups[g], groups[g + 1]
        before, after = _claims(start, end, topics, owned, places), _claims(start, end, topics, assigned, places)
        sharing = np.zeros(room, np.int32)
        had = np.full(end - start, -1, np.int32)
        for place in range(room):
            k = before.last[place]
            while k >= 0:
                had[before.members[k] - start] = place
                k = before.before[k]
            k = after.last[place]
            while k >= 0:
                sharing[place] += 1
                if had[after.members[k] - start] == place:
                    out.kept[g] += 1
                elif before.last[place] >= 0:
                    out.moved[g] += 1
                k = after.before[k]
        if room > 0:
            out.min_sharing[g], out.max_sharing[g] = sharing.min(), sharing.max()
        for entry in range(by_topic.group_topics[g], by_topic.group_topics[g + 1]):
            topic = by_topic.topics[entry]
            for place in range(base[topic], base[topic] + max(topics.partitions[topic], 0)):
                k = after.last[place]
                while k >= 0:
                    loads[after.members[k]] += 1
                    k = after.before[k]
            of_subscribers = loads[by_topic.members[by_topic.first[entry] : by_topic.end[entry]]]
            out.topic_spread[g] = max(out.topic_spread[g], of_subscribers.max() - of_subscribers.min())
            loads[start:end] = 0
        for topic in by_topic.topics[by_topic.group_topics[g] : by_topic.group_topics[g + 1]]:
            base[topic] = -1
    return out


@kernel
def partition_owners(
    start: int, end: int, lists: Assignments, generations: Ints, topics: TopicArrays, base: Ints32, room: int
) -> Ints32:
    """Return the owner of each partition, or -1; partition p of topic t has place ``base[t] + p`` of ``room``.

    Topics whose ``base`` is -1 are ignored. If two members claim a partition, the owner is the member with the higher
    generation, then the first member.
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
    """Return the difference between most and fewest partitions of a topic, and how many its subscribers have.

    ``loads`` is all 0 before and after the call.
    """
    for owner in owners:
        if owner >= 0:
            loads[owner] += 1
    fewest, most, held = len(owners), 0, 0
    for member in members:
        fewest, most = min(fewest, loads[member]), max(most, loads[member])
        held += loads[member]
    for owner in owners:
        if owner >= 0:
            loads[owner] = 0
    return max(most - fewest, 0), held


@kernel
def _count_faults(
    g: int,
    groups: Ints32,
    topics: TopicArrays,
    by_topic: Subscribers,
    assigned: Assignments,
    places: _Places,
    out: Balance,
) -> None:
    """Count partitions that are assigned twice, to a member without a subscription, or that do not exist.

    Some of Kafka's assignors make such assignments for a few groups, KafkaJS and @platformatic/kafka for many.
    """
    start, end, base = groups[g], groups[g + 1], places.base
    for k in range(assigned.offsets[start], assigned.offsets[end]):
        topic = assigned.topics[k]
        if assigned.partitions[k] >= topics.partitions[topic]:
            out.nonexistent[g] += 1
        elif base[topic] < 0:
            out.not_subscribed[g] += 1
    claims = _claims(start, end, topics, assigned, places)
    subscribes_to = np.full(end - start, -1, np.int32)
    for entry in range(by_topic.group_topics[g], by_topic.group_topics[g + 1]):
        topic = by_topic.topics[entry]
        subscribes_to[by_topic.members[by_topic.first[entry] : by_topic.end[entry]] - start] = entry
        for place in range(base[topic], base[topic] + max(topics.partitions[topic], 0)):
            k, owners, subscribers = claims.last[place], 0, 0
            while k >= 0:
                owners += 1
                if subscribes_to[claims.members[k] - start] == entry:
                    subscribers += 1
                k = claims.before[k]
            out.assigned_twice[g] += owners > 1
            out.not_subscribed[g] += owners - subscribers
            out.unconsumed[g] += owners > 0 and subscribers == 0


class _Claims(NamedTuple):
    """The assigned partitions of a group, by place; nonexistent partitions and those of other topics have none."""

    last: Ints32
    """By place, the number of the last claim; -1 without one."""
    before: Ints32
    """By claim, the number of the one before it of the same place; -1 for the first."""
    members: Ints32
    """By claim, the member."""


@kernel
def _claims(start: int, end: int, topics: TopicArrays, assigned: Assignments, places: _Places) -> _Claims:
    low = assigned.offsets[start]
    count = assigned.offsets[end] - low
    claims = _Claims(np.full(places.room, -1, np.int32), np.full(count, -1, np.int32), np.empty(count, np.int32))
    for m in range(start, end):
        for k in range(assigned.offsets[m] - low, assigned.offsets[m + 1] - low):
            topic, partition = assigned.topics[low + k], assigned.partitions[low + k]
            claims.members[k] = m
            if places.base[topic] >= 0 and partition < topics.partitions[topic]:
                claims.before[k] = claims.last[places.base[topic] + partition]
                claims.last[places.base[topic] + partition] = k
    return claims


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
            out.idle_members[g] += 1
    member_count = int(end - start)
    out.min[g], out.max[g] = fewest, most
    out.stddev[g] = np.sqrt(member_count * squares - total * total) / member_count
