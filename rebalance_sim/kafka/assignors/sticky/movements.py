"""``AbstractStickyAssignor.PartitionMovements``: which partitions have moved, from and to which member."""

from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.assignors.sticky.current_assignment import Links, append_entry, remove_entry
from rebalance_sim.kafka.assignors.sticky.group import NOBODY, PotentialConsumers
from rebalance_sim.kafka.runtime.hash_order import java_bucket, topic_partition_hash
from rebalance_sim.kafka.runtime.kernel import inner_kernel, kernel
from rebalance_sim.kafka.runtime.strings import Ints32


class PartitionMovements(NamedTuple):
    """The moved partitions of each topic (``partitionMovementsByTopic``)."""

    links: Links
    """A list for each topic, of partitions, in the order of their last movement."""
    source: Ints32
    """Member that each partition came from, or NOBODY if it has not moved."""
    target: Ints32
    """Member that each partition went to."""
    buckets: Ints32
    """Buckets of the ``HashSet`` that each partition is in: one set for each topic, source and target."""


@kernel
def new_movements(partition_count: int, topic_count: int) -> PartitionMovements:
    """Return an empty record of movements."""
    by_topic = np.full((2, topic_count), -1, np.int32)
    by_partition = np.empty((5, partition_count), np.int32)
    by_partition[2] = NOBODY
    return PartitionMovements(
        Links(by_topic[0], by_topic[1], by_partition[0], by_partition[1]),
        by_partition[2],
        by_partition[3],
        by_partition[4],
    )


@kernel
def copy_movements(movements: PartitionMovements) -> PartitionMovements:
    """Return a copy."""
    links = movements.links
    return PartitionMovements(
        Links(links.first.copy(), links.last.copy(), links.before.copy(), links.after.copy()),
        movements.source.copy(),
        movements.target.copy(),
        movements.buckets.copy(),
    )


@kernel
def same_movements(a: PartitionMovements, b: PartitionMovements) -> bool:
    """Return whether the same partitions have moved from and to the same members, in the same order.

    If so, every partition is where it was, and whatever follows is the same.
    """
    if not (np.array_equal(a.links.first, b.links.first) and np.array_equal(a.links.last, b.links.last)):
        return False
    if not np.array_equal(a.source, b.source):
        return False
    for partition in range(len(a.source)):
        if a.source[partition] != NOBODY and (
            a.target[partition] != b.target[partition]
            or a.buckets[partition] != b.buckets[partition]
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
    remove_entry(movements.links, topic, partition)
    movements.source[partition] = NOBODY
    if source != new:
        _add(movements, topic, partition, source, new)


@inner_kernel
def _add(movements: PartitionMovements, topic: int, partition: int, source: int, target: int) -> None:
    """Add a movement (``addPartitionMovementRecord``).

    The set of a topic, source and target doubles its table past 3/4 full and never shrinks while it exists, so the
    number of buckets is kept with each of its partitions.
    """
    sources, targets, buckets, after = movements.source, movements.target, movements.buckets, movements.links.after
    count, table = 1, 16
    other = movements.links.first[topic]
    while other >= 0:
        if sources[other] == source and targets[other] == target:
            count += 1
            table = buckets[other]
        other = after[other]
    if 4 * count > 3 * table:
        table *= 2
        other = movements.links.first[topic]
        while other >= 0:
            if sources[other] == source and targets[other] == target:
                buckets[other] = table
            other = after[other]
    sources[partition] = source
    targets[partition] = target
    buckets[partition] = table
    append_entry(movements.links, topic, partition)


@inner_kernel
def actual_partition(
    movements: PartitionMovements, potential: PotentialConsumers, partition: int, old: int, new: int
) -> int:
    """Return the partition to move instead of the given one (``getTheActualPartitionToBeMoved``).

    If a partition of the same topic has moved from ``new`` to ``old``, it moves back, so that the pair of members does
    not swap partitions of a topic. Of several, it is the first in the order of their ``HashSet``.
    """
    topic = potential.topic_of[partition]
    topic_hash, first = potential.hashes[topic], potential.first_partition[topic]
    if movements.source[partition] >= 0:
        old = movements.source[partition]
    chosen, lowest = partition, -1
    other = movements.links.first[topic]
    while other >= 0:
        if movements.source[other] == new and movements.target[other] == old:
            bucket = java_bucket(topic_partition_hash(topic_hash, other - first), int(movements.buckets[other]))
            if lowest < 0 or bucket < lowest:
                chosen, lowest = other, bucket
        other = movements.links.after[other]
    return int(chosen)
