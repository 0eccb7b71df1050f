"""``AbstractStickyAssignor.PartitionMovements``: which partitions have moved, from and to which member."""

from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.assignors.sticky.current_assignment import Links, append_entry, remove_entry
from rebalance_sim.kafka.assignors.sticky.numbered_group import NOBODY, PotentialConsumers
from rebalance_sim.kafka.runtime.hash_order import java_bucket, topic_partition_hash
from rebalance_sim.kafka.runtime.kernel import inner_kernel, kernel
from rebalance_sim.kafka.runtime.strings import Ints32

_NO_PAIR = -1
_FEWEST_BUCKETS = 16


class _Pairs(NamedTuple):
    """The pairs of a source and a target between which partitions of a topic have moved.

    They are found by a hash table with chains. A pair without partitions is given up and its number used again.
    """

    topic: Ints32
    source: Ints32
    target: Ints32
    sizes: Ints32
    """Number of partitions of the pair."""
    buckets: Ints32
    """Buckets of the ``HashSet`` of its partitions, which never shrinks."""
    following: Ints32
    """The next pair of the chain, or the next free number."""
    heads: Ints32
    """By slot of the table: the first pair of the chain, or _NO_PAIR."""
    free: Ints32
    """The first free number, as an array of one."""


class PartitionMovements(NamedTuple):
    """The moved partitions of each topic and pair of members (``partitionMovementsByTopic``)."""

    source: Ints32
    """Member that each partition came from, or NOBODY if it has not moved."""
    pair: Ints32
    """Number of the pair between which it moved."""
    links: Links
    """A list for each pair, of partitions, in the order of their last movement."""
    pairs: _Pairs


@kernel
def new_movements(partition_count: int) -> PartitionMovements:
    """Return an empty record of movements, with room for one pair per partition: a partition is of one pair at most."""
    by_partition = np.empty((4, partition_count), np.int32)
    by_pair = np.empty((7, partition_count), np.int32)
    by_partition[0] = NOBODY
    by_pair[6] = np.arange(1, partition_count + 1)
    slots = 1
    while slots < partition_count:
        slots *= 2
    return PartitionMovements(
        by_partition[0],
        by_partition[1],
        Links(by_pair[0], by_pair[1], by_partition[2], by_partition[3]),
        _Pairs(
            by_pair[2],
            by_pair[3],
            by_pair[4],
            by_pair[5],
            np.empty(partition_count, np.int32),
            by_pair[6],
            np.full(slots, _NO_PAIR, np.int32),
            np.zeros(1, np.int32),
        ),
    )


@kernel
def copy_movements(movements: PartitionMovements) -> PartitionMovements:
    """Return a copy for ``same_movements``."""
    links, pairs = movements.links, movements.pairs
    return PartitionMovements(
        movements.source.copy(),
        movements.pair.copy(),
        Links(links.first, links.last, links.before.copy(), links.after.copy()),
        _Pairs(
            pairs.topic,
            pairs.source,
            pairs.target.copy(),
            pairs.sizes,
            pairs.buckets.copy(),
            pairs.following,
            pairs.heads,
            pairs.free,
        ),
    )


@kernel
def same_movements(a: PartitionMovements, b: PartitionMovements) -> bool:
    """Return whether the same partitions have moved from and to the same members, in the same order.

    If so, every partition is where it was, and whatever follows is the same.
    """
    if not np.array_equal(a.source, b.source):
        return False
    for partition in range(len(a.source)):
        of_a, of_b = a.pair[partition], b.pair[partition]
        if a.source[partition] != NOBODY and (
            a.pairs.target[of_a] != b.pairs.target[of_b]
            or a.pairs.buckets[of_a] != b.pairs.buckets[of_b]
            or a.links.before[partition] != b.links.before[partition]
            or a.links.after[partition] != b.links.after[partition]
        ):
            return False
    return True


@inner_kernel
def move_partition(movements: PartitionMovements, topic: int, partition: int, old: int, new: int) -> None:
    """Record a movement (``movePartition``).

    A partition that has moved before counts as moved from where it was first; back there it has not moved at all.
    """
    source = movements.source[partition]
    if source == NOBODY:
        _add(movements, topic, partition, old, new)
        return
    _remove(movements, partition)
    if source != new:
        _add(movements, topic, partition, source, new)


@inner_kernel
def _slot(pairs: _Pairs, topic: int, source: int, target: int) -> int:
    number = ((int(topic) * 0x9E3779B1 + int(source)) * 0x85EBCA6B + int(target)) * 0xC2B2AE35
    return (number >> 16) & (len(pairs.heads) - 1)


@inner_kernel
def _find(pairs: _Pairs, topic: int, source: int, target: int) -> int:
    """Return the number of a pair, or _NO_PAIR."""
    pair = pairs.heads[_slot(pairs, topic, source, target)]
    while pair != _NO_PAIR and (
        pairs.source[pair] != source or pairs.target[pair] != target or pairs.topic[pair] != topic
    ):
        pair = pairs.following[pair]
    return int(pair)


@inner_kernel
def _add(movements: PartitionMovements, topic: int, partition: int, source: int, target: int) -> None:
    """Add a movement (``addPartitionMovementRecord``).

    The set of a pair doubles its table past 3/4 full.
    """
    pairs = movements.pairs
    pair = _find(pairs, topic, source, target)
    if pair == _NO_PAIR:
        pair = pairs.free[0]
        pairs.free[0] = pairs.following[pair]
        pairs.topic[pair], pairs.source[pair], pairs.target[pair] = topic, source, target
        pairs.sizes[pair], pairs.buckets[pair] = 0, _FEWEST_BUCKETS
        movements.links.first[pair] = movements.links.last[pair] = -1
        slot = _slot(pairs, topic, source, target)
        pairs.following[pair] = pairs.heads[slot]
        pairs.heads[slot] = pair
    pairs.sizes[pair] += 1
    if 4 * pairs.sizes[pair] > 3 * pairs.buckets[pair]:
        pairs.buckets[pair] *= 2
    movements.source[partition] = source
    movements.pair[partition] = pair
    append_entry(movements.links, pair, partition)


@inner_kernel
def _remove(movements: PartitionMovements, partition: int) -> None:
    """Remove the movement of a partition, and its pair if there is no other (``removeMovementRecordOfPartition``)."""
    pairs, pair = movements.pairs, movements.pair[partition]
    movements.source[partition] = NOBODY
    remove_entry(movements.links, pair, partition)
    pairs.sizes[pair] -= 1
    if pairs.sizes[pair] > 0:
        return
    slot = _slot(pairs, pairs.topic[pair], pairs.source[pair], pairs.target[pair])
    if pairs.heads[slot] == pair:
        pairs.heads[slot] = pairs.following[pair]
    else:
        before = pairs.heads[slot]
        while pairs.following[before] != pair:
            before = pairs.following[before]
        pairs.following[before] = pairs.following[pair]
    pairs.following[pair] = pairs.free[0]
    pairs.free[0] = pair


@inner_kernel
def actual_partition(
    movements: PartitionMovements, potential: PotentialConsumers, partition: int, old: int, new: int
) -> int:
    """Return the partition to move instead of the given one (``getTheActualPartitionToBeMoved``).

    If a partition of the same topic has moved from ``new`` to ``old``, that partition moves back, so that the two
    members do not swap partitions of a topic. Several such partitions are in a ``HashSet``, whose first one moves.
    """
    topic = potential.topic_of[partition]
    topic_hash, first = potential.hashes[topic], potential.first_partition[topic]
    if movements.source[partition] >= 0:
        old = movements.source[partition]
    pair = _find(movements.pairs, topic, new, old)
    if pair == _NO_PAIR:
        return partition
    chosen, lowest = partition, -1
    other, buckets = movements.links.first[pair], int(movements.pairs.buckets[pair])
    while other >= 0:
        bucket = java_bucket(topic_partition_hash(topic_hash, other - first), buckets)
        if lowest < 0 or bucket < lowest:
            chosen, lowest = other, bucket
        other = movements.links.after[other]
    return int(chosen)
