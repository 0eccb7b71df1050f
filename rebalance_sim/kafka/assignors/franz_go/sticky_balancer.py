"""franz-go's ``sticky`` and ``cooperative-sticky`` balancers (``internal/sticky/sticky.go`` of 1.22) for one topic.

Members keep what they own; the free partitions go to the member with the fewest, by a heap; then members with the most
give their highest partitions to those with the fewest. With several topics franz-go numbers partitions in the order of
a Go map, which is random, so no assignment can be predicted. Groups with different subscriptions, for which it has
another algorithm, are not predicted either.

Releases from 1.0 to 1.21.3 assign as later ones do unless two members claim the same partition. Which claim counts, and
when its partition is withheld, changed with 1.15 and 1.21.4; these groups are not predicted.
"""

from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.assignors.steps.byte_order import in_byte_order
from rebalance_sim.kafka.assignors.steps.failures import without_undetermined
from rebalance_sim.kafka.assignors.steps.join_response import as_leader_sees
from rebalance_sim.kafka.assignors.steps.ranges import first_partitions, lists_of_owners
from rebalance_sim.kafka.groups import (
    NO_GENERATION,
    AssignmentFailure,
    AssignmentOutcome,
    Groups,
    Subscribers,
    TopicArrays,
    subscribers,
    topics_by_name,
)
from rebalance_sim.kafka.runtime.kernel import kernel
from rebalance_sim.kafka.runtime.priority_queue import PriorityQueue, heapify, sift_down
from rebalance_sim.kafka.runtime.strings import Flags, Ints32
from rebalance_sim.releases import KafkaVersion

_UNDETERMINED = int(AssignmentFailure.UNDETERMINED)
_NOBODY = -1


def assign_sticky(groups: Groups, topics: TopicArrays, version: KafkaVersion) -> AssignmentOutcome:
    """Assign the partitions of every group of a batch; other groups than these fail as UNDETERMINED."""
    return _assign(groups, topics, version, cooperative=False)


def assign_cooperative_sticky(groups: Groups, topics: TopicArrays, version: KafkaVersion) -> AssignmentOutcome:
    """Assign as ``assign_sticky``, without the partitions that another member has to revoke first."""
    return _assign(groups, topics, version, cooperative=True)


def assign_sticky_before_1_21_4(groups: Groups, topics: TopicArrays, version: KafkaVersion) -> AssignmentOutcome:
    """Assign as ``assign_sticky``; groups in which a partition is claimed twice are UNDETERMINED, too."""
    return without_undetermined(groups, assign_sticky(groups, topics, version), _have_rival_claims(groups))


def assign_cooperative_sticky_before_1_21_4(
    groups: Groups, topics: TopicArrays, version: KafkaVersion
) -> AssignmentOutcome:
    """Assign as ``assign_cooperative_sticky``; groups in which a partition is claimed twice are UNDETERMINED, too."""
    return without_undetermined(groups, assign_cooperative_sticky(groups, topics, version), _have_rival_claims(groups))


def _assign(groups: Groups, topics: TopicArrays, version: KafkaVersion, *, cooperative: bool) -> AssignmentOutcome:
    seen = as_leader_sees(groups, version)
    in_order = in_byte_order(seen)
    by_topic = subscribers(seen, in_order, in_order, len(topics.partitions), count_repeats=False)
    places = first_partitions(topics, by_topic)
    owners, errors = _owners(seen, topics, by_topic, places)
    if cooperative:
        _withhold(seen, topics, by_topic, places, owners)
    lists = lists_of_owners(len(in_order), by_topic, places, owners, topics_by_name(topics, by_topic))
    return AssignmentOutcome(lists, errors)


@kernel
def _owners(groups: Groups, topics: TopicArrays, by_topic: Subscribers, places: Ints32) -> tuple[Ints32, Ints32]:
    owners = np.full(places[-1], _NOBODY, np.int32)
    errors = np.zeros(len(groups.members) - 1, np.int32)
    for g in range(len(groups.members) - 1):
        known, found, alike = 0, -1, True
        for entry in range(by_topic.group_topics[g], by_topic.group_topics[g + 1]):
            if topics.partitions[by_topic.topics[entry]] > 0:
                known, found = known + 1, entry
            # A topic without partitions, too, makes subscriptions differ.
            subscribed = by_topic.end[entry] - by_topic.first[entry]
            alike = alike and subscribed == groups.members[g + 1] - groups.members[g]
        if known == 0:
            continue
        members = by_topic.members[by_topic.first[found] : by_topic.end[found]]
        if known > 1 or not alike:
            errors[g] = _UNDETERMINED
            continue
        claims = _claims(groups, members, by_topic.topics[found], places[found + 1] - places[found])
        held = _counts(claims.owners, len(members))
        if not _returned_stale(claims, held):
            errors[g] = _UNDETERMINED
            continue
        _assign_free(claims.owners, held)
        _level(claims.owners, held)
        for partition in range(len(claims.owners)):
            owners[places[found] + partition] = members[claims.owners[partition]]
    return owners, errors


class _Claims(NamedTuple):
    """By partition of a topic, the members that claim it, as places among the sorted members, or _NOBODY."""

    owners: Ints32
    """The claim of the latest generation; the first of several."""
    stale: Ints32
    """The claim of the generation before it, or the second of the latest."""


@kernel
def _claims(groups: Groups, members: Ints32, topic: int, partitions: int) -> _Claims:
    """Return the claims that count (``parseMemberMetadata``); a claim without a generation counts as generation 0."""
    owners, stale = np.full(partitions, _NOBODY, np.int32), np.full(partitions, _NOBODY, np.int32)
    generations = np.full((partitions, 2), -1, np.int64)
    owned = groups.owned
    for i in range(len(members)):
        m = members[i]
        generation = max(groups.generations[m], 0)
        for k in range(owned.offsets[m], owned.offsets[m + 1]):
            partition = owned.partitions[k]
            if owned.topics[k] != topic or partition < 0 or partition >= partitions:
                continue
            if generation > generations[partition, 0]:
                stale[partition], generations[partition, 1] = owners[partition], generations[partition, 0]
                owners[partition], generations[partition, 0] = i, generation
            elif generation > generations[partition, 1]:
                stale[partition], generations[partition, 1] = i, generation
    return _Claims(owners, stale)


@kernel
def _counts(owners: Ints32, n_members: int) -> Ints32:
    held = np.zeros(n_members, np.int32)
    for i in owners:
        if i != _NOBODY:
            held[i] += 1
    return held


@kernel
def _returned_stale(claims: _Claims, held: Ints32) -> bool:
    """Return partitions to the members with the older claim if that is more balanced (``tryRestickyStales``).

    franz-go visits them in random order. Returns False, and changes nothing, if several partitions have such claims and
    one can be returned.
    """
    n_stale, chosen = 0, _NOBODY
    for partition in range(len(claims.owners)):
        if claims.stale[partition] != _NOBODY:
            n_stale += 1
            if held[claims.stale[partition]] + 1 < held[claims.owners[partition]]:
                chosen = partition
    if chosen == _NOBODY:
        return True
    if n_stale > 1:
        return False
    held[claims.owners[chosen]] -= 1
    held[claims.stale[chosen]] += 1
    claims.owners[chosen] = claims.stale[chosen]
    return True


@kernel
def _assign_free(owners: Ints32, held: Ints32) -> None:
    """Give each free partition to the member at the top of a heap by number of partitions (``membersByPartitions``)."""
    heap = PriorityQueue(held.astype(np.int64), np.arange(len(held)).astype(np.int32), np.full(1, len(held), np.int64))
    heapify(heap)
    for partition in range(len(owners)):
        if owners[partition] == _NOBODY:
            owner = owners[partition] = heap.values[0]
            held[owner] += 1
            sift_down(heap, 0, held[owner], owner)


@kernel
def _level(owners: Ints32, held: Ints32) -> None:
    """Move partitions from the members with the most to those with the fewest (``balance``).

    The members with the same number of partitions are a queue. The fullest give to the emptiest in the order of both
    queues, each its highest partition, and all of them move on to the end of the next queue.
    """
    low, high = held.min(), held.max()
    if high <= low + 1:
        return
    queues = _Queues(
        np.full(high + 1, _NOBODY, np.int32),
        np.full(high + 1, _NOBODY, np.int32),
        np.full(len(held), _NOBODY, np.int32),
    )
    for i in range(len(held)):
        _enqueue(queues, held[i], i)
    ends, given = np.cumsum(held), np.empty(len(owners), np.int32)
    next_place = ends - held
    for partition in range(len(owners)):
        given[next_place[owners[partition]]] = partition
        next_place[owners[partition]] += 1
    while high > low + 1:
        taker, giver = queues.heads[low], queues.heads[high]
        while _NOBODY not in (taker, giver):
            next_taker, next_giver = queues.following[taker], queues.following[giver]
            ends[giver] -= 1
            owners[given[ends[giver]]] = taker
            _enqueue(queues, low + 1, taker)
            _enqueue(queues, high - 1, giver)
            taker, giver = next_taker, next_giver
        queues.heads[low], queues.heads[high] = taker, giver
        while queues.heads[low] == _NOBODY:
            low += 1
        while queues.heads[high] == _NOBODY:
            high -= 1


class _Queues(NamedTuple):
    """By number of partitions, the first and the last member with so many, and by member the next one."""

    heads: Ints32
    tails: Ints32
    following: Ints32


@kernel
def _enqueue(queues: _Queues, level: int, i: int) -> None:
    queues.following[i] = _NOBODY
    if queues.heads[level] == _NOBODY:
        queues.heads[level] = i
    else:
        queues.following[queues.tails[level]] = i
    queues.tails[level] = i


@kernel
def _withhold(groups: Groups, topics: TopicArrays, by_topic: Subscribers, places: Ints32, owners: Ints32) -> None:
    """Leave out the partitions that another member has to revoke first (``BalancePlan.AdjustCooperative``).

    A partition that another member claims goes to its new owner in the next rebalance, unless the new owner claims it,
    too, and no claim is of a later generation.
    """
    owned, generations = groups.owned, groups.generations
    latest = np.full(len(owners), NO_GENERATION, np.int64)
    revoked, kept = np.zeros(len(owners), np.bool_), np.zeros(len(owners), np.bool_)
    base = np.full(len(topics.partitions), -1, np.int32)
    for g in range(len(groups.members) - 1):
        for entry in range(by_topic.group_topics[g], by_topic.group_topics[g + 1]):
            base[by_topic.topics[entry]] = places[entry]
        for reading in range(2):
            for m in range(groups.members[g], groups.members[g + 1]):
                for k in range(owned.offsets[m], owned.offsets[m + 1]):
                    topic, partition = owned.topics[k], owned.partitions[k]
                    if base[topic] < 0 or partition < 0 or partition >= topics.partitions[topic]:
                        continue
                    place = base[topic] + partition
                    if reading == 0:
                        latest[place] = max(latest[place], generations[m])
                        revoked[place] |= owners[place] != m
                    else:
                        kept[place] |= owners[place] == m and generations[m] >= latest[place]
        for entry in range(by_topic.group_topics[g], by_topic.group_topics[g + 1]):
            base[by_topic.topics[entry]] = -1
    for place in range(len(owners)):
        if revoked[place] and not kept[place]:
            owners[place] = -1


@kernel
def _have_rival_claims(groups: Groups) -> Flags:
    """Return the groups in which a partition is claimed twice."""
    owned = groups.owned
    found = np.zeros(len(groups.members) - 1, np.bool_)
    for g in range(len(found)):
        claimed = slice(owned.offsets[groups.members[g]], owned.offsets[groups.members[g + 1]])
        claims = np.sort(owned.topics[claimed].astype(np.int64) << 32 | owned.partitions[claimed])
        found[g] = np.any(claims[1:] == claims[:-1])
    return found
