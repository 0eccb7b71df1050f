"""What the members of a group say they own, and whom Kafka believes."""

from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.assignors.sticky_group import UNKNOWN, Numbering
from rebalance_sim.kafka.groups import NO_GENERATION, Assignments, Topics
from rebalance_sim.kafka.hash_order import (
    java_bucket,
    java_order,
    java_table_size,
    topic_partition_hash,
)
from rebalance_sim.kafka.kernel import kernel
from rebalance_sim.kafka.strings import Flags, Ints, Ints32, sort_by_key

_NOBODY = -1


@kernel
def as_user_data(owned: Assignments, hashes: Ints) -> Assignments:
    """Order what each member owns as it stands in sticky user data: by topic, the topics as in a ``HashMap``.

    ``CollectionUtils.groupPartitionsByTopic`` fills the map by ``computeIfAbsent``, since 2.1. Older consumers did by
    ``put``, which differs where the names of two topics share a bucket; a leader that is as old is taken to lead newer
    ones. ``hashes`` are those of the topics' names.
    """
    n = len(owned.topics)
    if n == 0:
        return owned
    topics, partitions = np.empty(n, np.int32), np.empty(n, np.int32)
    room = 0
    for m in range(len(owned.offsets) - 1):
        room = max(room, owned.offsets[m + 1] - owned.offsets[m])
    named, order, keys = np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.int64)
    counts, places = np.zeros(len(hashes), np.int32), np.empty(len(hashes), np.int32)
    for m in range(len(owned.offsets) - 1):
        low, high = owned.offsets[m], owned.offsets[m + 1]
        n_named, last_is_new = 0, False
        for topic in owned.topics[low:high]:
            last_is_new = counts[topic] == 0
            if last_is_new:
                named[n_named] = topic
                n_named += 1
            counts[topic] += 1
        # In a bucket the newest comes first. The last doubling waits for one more call.
        table = java_table_size(n_named - last_is_new)
        for i in range(n_named):
            order[i] = named[n_named - 1 - i]
            keys[i] = java_bucket(hashes[order[i]], table)
        sort_by_key(order[:n_named], keys[:n_named])
        place = low
        for topic in order[:n_named]:
            places[topic] = place
            place += counts[topic]
            counts[topic] = 0
        for k in range(low, high):
            topic = owned.topics[k]
            topics[places[topic]] = topic
            partitions[places[topic]] = owned.partitions[k]
            places[topic] += 1
    return Assignments(owned.offsets, topics, partitions)


class Claims(NamedTuple):
    """Owned partitions of a group, member by member in map order, in the member's order.

    Partitions that the metadata does not know, of a topic that shrank or is gone, have numbers behind the known ones.
    """

    offsets: Ints32
    """Claims of the i-th member in map order: ``offsets[i]`` to ``offsets[i + 1]``."""
    partitions: Ints32
    topics: Ints32
    """Topic (of the batch) of each partition, the unknown ones included."""
    numbers: Ints32
    """Number in its topic of each partition."""


@kernel
def number_claims(
    owned: Assignments, n_partitions: Ints32, group: Numbering, number_of: Ints32, known_topics_only: bool
) -> Claims:
    """Number what a group owns; with ``known_topics_only`` partitions of other topics are left out.

    ``n_partitions`` is ``Topics.partitions``.
    """
    n_members = len(group.members)
    offsets = np.zeros(n_members + 1, np.int32)
    room = 0
    for m in group.members:
        room += owned.offsets[m + 1] - owned.offsets[m]
    partitions = np.empty(room, np.int32)
    foreign = partitions[:0]
    filled = 0
    for i in range(n_members):
        m = group.members[group.in_map_order[i]]
        for k in range(owned.offsets[m], owned.offsets[m + 1]):
            topic, number = owned.topics[k], owned.partitions[k]
            t = number_of[topic]
            if t == UNKNOWN and known_topics_only:
                continue
            if t != UNKNOWN and number < n_partitions[topic]:
                partitions[filled] = group.first_partition[t] + number
            else:
                if len(foreign) == 0:
                    foreign = np.full(room, -1, np.int32)
                foreign[filled] = k
                partitions[filled] = UNKNOWN
            filled += 1
        offsets[i + 1] = filled
    if len(foreign) > 0:
        return _with_foreign(owned, group, offsets, partitions[:filled], foreign)
    return Claims(offsets, partitions[:filled], *_describe(group, 0))


@kernel
def _describe(group: Numbering, n_foreign: int) -> tuple[Ints32, Ints32]:
    """Return topic and number of each known partition, with room for others."""
    n_known = group.first_partition[-1]
    named, numbers = np.empty(n_known + n_foreign, np.int32), np.empty(n_known + n_foreign, np.int32)
    for t in range(len(group.topics)):
        low, high = group.first_partition[t], group.first_partition[t + 1]
        named[low:high] = group.topics[t]
        for partition in range(low, high):
            numbers[partition] = partition - low
    return named, numbers


@kernel
def _with_foreign(owned: Assignments, group: Numbering, offsets: Ints32, partitions: Ints32, foreign: Ints32) -> Claims:
    """Number the partitions that the metadata does not know as they are first named, by a hash table."""
    n_known = group.first_partition[-1]
    bits = 2
    while 1 << bits < 2 * len(partitions):
        bits += 1
    table = np.full(1 << bits, -1, np.int32)
    distinct = np.empty(len(partitions), np.int32)
    n_distinct = 0
    for i in range(len(partitions)):
        k = foreign[i]
        if k < 0:
            continue
        topic, number = owned.topics[k], owned.partitions[k]
        place = ((int(topic) * 0x85EBCA6B + int(number)) * 0x9E3779B1 & 0xFFFFFFFF) >> (32 - bits)
        while table[place] >= 0:
            other = distinct[table[place]]
            if owned.topics[other] == topic and owned.partitions[other] == number:
                break
            place = (place + 1) & (len(table) - 1)
        if table[place] < 0:
            table[place] = n_distinct
            distinct[n_distinct] = k
            n_distinct += 1
        partitions[i] = n_known + table[place]
    named, numbers = _describe(group, n_distinct)
    for i in range(n_distinct):
        named[n_known + i] = owned.topics[distinct[i]]
        numbers[n_known + i] = owned.partitions[distinct[i]]
    return Claims(offsets, partitions, named, numbers)


class Owned(NamedTuple):
    """What each member still owns after ``allSubscriptionsEqual`` (since 2.4) has looked at all claims."""

    holds: Flags
    """Whether the claim at this place stands."""
    claimed_twice: Flags
    """Whether two members of one generation claimed the partition (``partitionsWithMultiplePreviousOwners``);
    empty where there are no claims."""


@kernel
def resolve_claims(claims: Claims, generations: Ints, told: Ints) -> Owned:
    """Decide between members that claim the same partition: the higher generation has it, of equal ones nobody.

    ``generations`` are those of the claims, by member in map order. A rival's generation is ``told`` by its
    subscription, not by its user data.
    """
    n = len(claims.topics) if len(claims.partitions) > 0 else 0
    owner = np.full(n, _NOBODY, np.int32)
    standing = np.full(n, -1, np.int32)
    holds = np.zeros(len(claims.partitions), np.bool_)
    claimed_twice = np.zeros(n, np.bool_)
    for i in range(len(generations)):
        for k in range(claims.offsets[i], claims.offsets[i + 1]):
            partition = claims.partitions[k]
            rival = owner[partition]
            if rival == _NOBODY or generations[i] > told[rival]:
                if standing[partition] >= 0:
                    holds[standing[partition]] = False
                holds[k] = True
                standing[partition] = k
                owner[partition] = i
            elif generations[i] == told[rival]:
                claimed_twice[partition] = True
                if standing[partition] >= 0:
                    holds[standing[partition]] = False
                standing[partition] = -1
                owner[partition] = i
    return Owned(holds, claimed_twice)


@kernel
def previous_owners(claims: Claims, generations: Ints, in_map_order: Ints32) -> Ints32:
    """Owners by claims of earlier generations than the latest, the latest of those first (``prevAssignment``)."""
    n = len(claims.topics)
    previous = np.full(n, _NOBODY, np.int32)
    latest = np.full(n, NO_GENERATION - 1, np.int64)
    newest = NO_GENERATION
    for generation in generations:
        newest = max(newest, generation)
    for i in range(len(generations)):
        if generations[i] < newest:
            for k in range(claims.offsets[i], claims.offsets[i + 1]):
                partition = claims.partitions[k]
                if generations[i] > latest[partition]:
                    latest[partition] = generations[i]
                    previous[partition] = in_map_order[i]
    return previous


class History(NamedTuple):
    """The last two owners of each partition, as sticky user data of 2.3 tell (``prepopulateCurrentAssignments``)."""

    partitions: Ints32
    """All claimed partitions in the order of their ``HashMap``."""
    current: Ints32
    """Latest owner of each partition (by number of the partition), or nobody."""
    previous: Ints32


@kernel
def history(claims: Claims, topics: Topics, generations: Ints, in_map_order: Ints32) -> History:
    """Sort the claims on each partition by generation.

    Of two claims in one generation the first counts, and the last where the members do not tell a generation.
    """
    n = len(claims.topics)
    current, previous = np.full(n, _NOBODY, np.int32), np.full(n, _NOBODY, np.int32)
    latest, earlier = np.full(n, NO_GENERATION, np.int64), np.full(n, NO_GENERATION, np.int64)
    claimed = np.empty(len(claims.partitions), np.int32)
    n_claimed = 0
    for i in range(len(generations)):
        generation, member = generations[i], in_map_order[i]
        for k in range(claims.offsets[i], claims.offsets[i + 1]):
            partition = claims.partitions[k]
            if current[partition] == _NOBODY:
                claimed[n_claimed] = partition
                n_claimed += 1
                current[partition], latest[partition] = member, generation
            elif generation == latest[partition]:
                if generation == NO_GENERATION:
                    current[partition] = member
            elif generation > latest[partition]:
                previous[partition], earlier[partition] = current[partition], latest[partition]
                current[partition], latest[partition] = member, generation
            elif previous[partition] == _NOBODY or generation > earlier[partition]:
                previous[partition], earlier[partition] = member, generation
            elif generation == earlier[partition] == NO_GENERATION:
                previous[partition] = member
    return History(
        partitions_in_map_order(claims.topics, claims.numbers, topics, claimed[:n_claimed]), current, previous
    )


@kernel
def partitions_in_map_order(named: Ints32, numbers: Ints32, topics: Topics, partitions: Ints32) -> Ints32:
    """Order partitions, given as they were put in, as a ``HashMap<TopicPartition, ...>`` iterates."""
    hashes = np.empty(len(named), np.int64)
    for partition in partitions:
        hashes[partition] = topic_partition_hash(topics.hashes[named[partition]], numbers[partition])
    return java_order(hashes, partitions, java_table_size(len(partitions)))
