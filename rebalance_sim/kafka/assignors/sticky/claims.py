"""The partitions that members claim to own, and whose claim the assignor accepts.

Two members claim the same partition after one of them missed a rebalance. Which claim counts has changed with the
releases: all of them (``before_3_0``, up to 2.2), the latest claim on each partition (``prior_owners``, 2.3, KIP-341),
those of the newest generation (``newest_claims``, 2.5.1), and again the latest on each (``resolve_claims``, 3.4.1).
"""

from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.assignors.sticky.numbered_group import NOBODY, UNKNOWN, NumberedGroup
from rebalance_sim.kafka.groups import NO_GENERATION, Assignments
from rebalance_sim.kafka.runtime.hash_order import java_bucket, java_order, java_table_size, topic_partition_hash
from rebalance_sim.kafka.runtime.kernel import kernel
from rebalance_sim.kafka.runtime.strings import Flags, Ints, Ints32, sort_by_key
from rebalance_sim.releases import StickyRules

_NO_DOUBLE_CLAIMS = int(StickyRules.NO_DOUBLE_CLAIMS)
_LARGER_GAP = int(StickyRules.LARGER_GAP)


@kernel
def in_user_data_order(owned: Assignments, hashes: Ints, by_put: bool) -> Assignments:
    """Return the owned partitions in the order of the sticky assignor's user data: topics as in a ``HashMap``.

    ``CollectionUtils.groupPartitionsByTopic`` fills the map with ``computeIfAbsent`` since 2.1, before that with
    ``put`` (``by_put``), which differs if two topics of a member share a bucket. ``hashes`` are those of the topics'
    names.
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
        # computeIfAbsent puts a new key at the head of its bucket, and doubles the table only in the call after the one
        # that filled it (see java_compute_if_absent_order); put appends it, and doubles the table at once.
        table = java_table_size(n_named if by_put else n_named - last_is_new)
        for i in range(n_named):
            order[i] = named[i] if by_put else named[n_named - 1 - i]
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
    """The partitions that members of a group claim, by member in map order, in the member's order.

    Partitions unknown to the metadata, because their topic was deleted or shrank, are numbered after the known ones.
    """

    offsets: Ints32
    """Claims of the i-th member in map order: ``offsets[i]`` to ``offsets[i + 1]``."""
    partitions: Ints32
    topics: Ints32
    """Topic of the batch of each partition, including the unknown ones."""
    numbers: Ints32
    """Number of each partition in its topic."""


@kernel
def number_claims(owned: Assignments, topic_sizes: Ints32, group: NumberedGroup, known_topics_only: bool) -> Claims:
    """Number the partitions that a group's members own; ``known_topics_only`` leaves out partitions of other topics.

    ``topic_sizes`` is ``TopicArrays.partitions``.
    """
    number_of, n_members = group.number_of, len(group.members)
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
            if t != UNKNOWN and number < topic_sizes[topic]:
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
def _describe(group: NumberedGroup, n_foreign: int) -> tuple[Ints32, Ints32]:
    """Return the topic and the number of each known partition, with room for unknown ones."""
    n_known = group.first_partition[-1]
    named, numbers = np.empty(n_known + n_foreign, np.int32), np.empty(n_known + n_foreign, np.int32)
    for t in range(len(group.topics)):
        low, high = group.first_partition[t], group.first_partition[t + 1]
        named[low:high] = group.topics[t]
        for partition in range(low, high):
            numbers[partition] = partition - low
    return named, numbers


@kernel
def _with_foreign(
    owned: Assignments, group: NumberedGroup, offsets: Ints32, partitions: Ints32, foreign: Ints32
) -> Claims:
    """Number the unknown partitions in the order of their first claim, with a hash table."""
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


@kernel
def without_first_members(claims: Claims, count: int) -> Claims:
    """Return the claims without those of the first members in map order."""
    low = claims.offsets[count]
    offsets = np.maximum(claims.offsets - low, 0).astype(np.int32)
    return Claims(offsets, claims.partitions[low:], claims.topics, claims.numbers)


class AcceptedClaims(NamedTuple):
    """Result of ``allSubscriptionsEqual`` (since 2.5.1), which also builds the map of owned partitions."""

    accepted: Flags
    """By claim: whether the member keeps the partition in ``consumerToOwnedPartitions``."""
    multiple_owners: Flags
    """By partition: whether two members claimed it in the same generation (``partitionsWithMultiplePreviousOwners``);
    empty if there are no claims."""


@kernel
def newest_claims(claims: Claims, generations: Ints, rules: int) -> AcceptedClaims:
    """Accept the claims of the newest generation; two claims on a partition both count before 2.8.1, neither since.

    KAFKA-12984 (2.8.1, 3.0) invalidates double claims, which had left cooperative groups stuck. ``generations`` are
    those of the members in map order.
    """
    n = len(claims.topics) if len(claims.partitions) > 0 else 0
    first_claim = np.full(n, -1, np.int32)
    accepted = np.zeros(len(claims.partitions), np.bool_)
    multiple_owners = np.zeros(n, np.bool_)
    newest = NO_GENERATION
    for generation in generations:
        newest = max(newest, generation)
    for i in range(len(generations)):
        # A member of an older generation missed a rebalance: its partitions may have other owners by now.
        if generations[i] < newest:
            continue
        for k in range(claims.offsets[i], claims.offsets[i + 1]):
            partition = claims.partitions[k]
            first = first_claim[partition]
            if first < 0 or rules < _NO_DOUBLE_CLAIMS:
                accepted[k] = True
                first_claim[partition] = k
            else:
                accepted[first] = False
                multiple_owners[partition] = True
    return AcceptedClaims(accepted, multiple_owners)


@kernel
def resolve_claims(claims: Claims, generations: Ints, rules: int) -> AcceptedClaims:
    """Accept the claim with the highest generation on each partition (KAFKA-14639), and none of two equally high ones.

    ``generations`` are those of the members in map order. Before 3.5.2 later claims are compared with the last claim
    that was looked at, even if its generation was lower, so that a third claim may be accepted beside the first.
    """
    n = len(claims.topics) if len(claims.partitions) > 0 else 0
    owner = np.full(n, NOBODY, np.int32)
    accepted_claim = np.full(n, -1, np.int32)
    accepted = np.zeros(len(claims.partitions), np.bool_)
    multiple_owners = np.zeros(n, np.bool_)
    for i in range(len(generations)):
        for k in range(claims.offsets[i], claims.offsets[i + 1]):
            partition = claims.partitions[k]
            rival = owner[partition]
            if rival == NOBODY or generations[i] > generations[rival]:
                if accepted_claim[partition] >= 0:
                    accepted[accepted_claim[partition]] = False
                accepted[k] = True
                accepted_claim[partition] = k
                owner[partition] = i
            elif generations[i] == generations[rival]:
                # Neither may keep it: cooperative members would otherwise both go on consuming (KAFKA-12984).
                multiple_owners[partition] = True
                if accepted_claim[partition] >= 0:
                    accepted[accepted_claim[partition]] = False
                accepted_claim[partition] = -1
                owner[partition] = i
            elif rules < _LARGER_GAP:
                # Before 3.5.2 allPreviousPartitionsToOwner gets this claim although its generation is lower.
                accepted_claim[partition] = -1
                owner[partition] = i
    return AcceptedClaims(accepted, multiple_owners)


@kernel
def previous_owners(claims: Claims, group: NumberedGroup) -> Ints32:
    """Return the member of ``prevAssignment`` of each partition: the latest claim of an older generation."""
    generations = group.generations
    n = len(claims.topics)
    previous = np.full(n, NOBODY, np.int32)
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
                    previous[partition] = group.in_map_order[i]
    return previous


class PriorOwners(NamedTuple):
    """The last two owners of each partition (``prepopulateCurrentAssignments`` of 2.3)."""

    partitions: Ints32
    """All claimed partitions in the order of ``sortedPartitionConsumersByGeneration``, a ``HashMap``."""
    current: Ints32
    """By partition: the member of the latest claim, or NOBODY."""
    previous: Ints32
    """By partition: the member of the claim before it (``prevAssignment``), or NOBODY."""


@kernel
def prior_owners(claims: Claims, hashes: Ints, group: NumberedGroup, user_data_has_generation: bool) -> PriorOwners:
    """Sort the claims on each partition by generation (KIP-341, for KAFKA-7026: partitions assigned to two members).

    The first of two claims in the same generation counts, but among members without a generation, whose user data has
    the older format or none, the last claim counts. ``hashes`` are those of the batch's topic names.
    """
    generations, in_map_order = group.generations, group.in_map_order
    n = len(claims.topics)
    current, previous = np.full(n, NOBODY, np.int32), np.full(n, NOBODY, np.int32)
    latest, earlier = np.full(n, NO_GENERATION, np.int64), np.full(n, NO_GENERATION, np.int64)
    claimed = np.empty(len(claims.partitions), np.int32)
    n_claimed = 0
    for i in range(len(generations)):
        generation, member = generations[i], in_map_order[i]
        for k in range(claims.offsets[i], claims.offsets[i + 1]):
            partition = claims.partitions[k]
            if current[partition] == NOBODY:
                claimed[n_claimed] = partition
                n_claimed += 1
                current[partition], latest[partition] = member, generation
            elif generation == latest[partition]:
                if generation == NO_GENERATION and not user_data_has_generation:
                    current[partition] = member
            elif generation > latest[partition]:
                previous[partition], earlier[partition] = current[partition], latest[partition]
                current[partition], latest[partition] = member, generation
            elif previous[partition] == NOBODY or generation > earlier[partition]:
                previous[partition], earlier[partition] = member, generation
            elif generation == earlier[partition] == NO_GENERATION and not user_data_has_generation:
                previous[partition] = member
    return PriorOwners(partitions_in_map_order(claims, hashes, claimed[:n_claimed]), current, previous)


@kernel
def partitions_in_map_order(claims: Claims, hashes: Ints, partitions: Ints32) -> Ints32:
    """Return partitions, given in the order of their insertion, as a ``HashMap<TopicPartition, ...>`` iterates."""
    partition_hashes = np.empty(len(claims.topics), np.int64)
    for partition in partitions:
        partition_hashes[partition] = topic_partition_hash(hashes[claims.topics[partition]], claims.numbers[partition])
    return java_order(partition_hashes, partitions, java_table_size(len(partitions)))
