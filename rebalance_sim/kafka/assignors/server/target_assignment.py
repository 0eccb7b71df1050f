"""What both builders of the ``uniform`` assignor use: the batch, and the target assignment that they fill."""

from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.groups import Assignments, Subscriptions, append_partition
from rebalance_sim.kafka.runtime.kernel import inner_kernel, kernel
from rebalance_sim.kafka.runtime.strings import Ints, Ints32


class UniformBatch(NamedTuple):
    """A batch as the ``uniform`` assignor sees it."""

    subscriptions: Subscriptions
    owned: Assignments
    partitions: Ints32
    """Partitions, name ranks and name hashes of the topics (``TopicArrays``)."""
    ranks: Ints
    hashes: Ints
    id_hashes: Ints
    """``Uuid.hashCode`` of the topic ids, and their order."""
    id_ranks: Ints
    base: Ints32
    """Scratch, by topic: the place of partition 0 among those of the group; -1 for a topic that the group does not
    subscribe to or the metadata does not know."""
    subscribed_by: Ints32
    """Scratch, by topic: the last member looked at that subscribes to it."""
    claimed_by: Ints32
    """Scratch, by place: the last member looked at that owns the partition."""
    mine: Ints32
    """Scratch: the entries of ``owned`` that ``owned_once`` has found last."""


class ByMember(NamedTuple):
    """Scratch by member of the batch, for the heterogeneous builder."""

    loads: Ints32
    """Number of partitions; 0 before the member's group is assigned."""
    last_partition: Ints32


class Targets(NamedTuple):
    """The target assignment of one group: ``owners`` and, for members that claim what they cannot own alone, more."""

    owners: Ints32
    """By place: the member that is assigned the partition, or -1."""
    members: Ints32
    """Members that are assigned a partition which does not exist or which has another owner."""
    topics: Ints32
    """The topics of these partitions."""
    partitions: Ints32
    filled: Ints
    """Number of these members, as an array of one."""


@inner_kernel
def add_target(batch: UniformBatch, targets: Targets, m: int, topic: int, partition: int) -> None:
    """Add a partition to a member's target assignment."""
    if partition < batch.partitions[topic]:
        place = batch.base[topic] + partition
        if targets.owners[place] < 0 or targets.owners[place] == m:
            targets.owners[place] = m
            return
    add_beside_owner(targets, m, topic, partition)


@inner_kernel
def add_beside_owner(targets: Targets, m: int, topic: int, partition: int) -> None:
    """Add a partition that does not exist or that has another owner."""
    n = targets.filled[0]
    targets.members[n], targets.topics[n], targets.partitions[n] = m, topic, partition
    targets.filled[0] = n + 1


@inner_kernel
def list_targets(
    batch: UniformBatch, topics_by_name: Ints32, targets: Targets, start: int, lists: Assignments, cursor: Ints32
) -> None:
    """Fill the lists of a group, whose first member is ``start``, sorted by topic name and partition.

    ``cursor`` has an entry for each of its members. Partitions beside their owner come last (``sort_lists``).
    """
    cursor[:] = 0
    for topic in topics_by_name:
        first = batch.base[topic]
        for place in range(first, first + batch.partitions[topic]):
            cursor[targets.owners[place] - start] += 1
    extras = targets.filled[0]
    for i in range(extras):
        cursor[targets.members[i] - start] += 1
    filled = lists.offsets[start]
    for i in range(len(cursor)):
        count = cursor[i]
        cursor[i] = filled
        filled += count
        lists.offsets[start + i + 1] = filled
    for topic in topics_by_name:
        first = batch.base[topic]
        for partition in range(batch.partitions[topic]):
            append_partition(lists, cursor, targets.owners[first + partition] - start, topic, partition)
    for i in range(extras):
        append_partition(lists, cursor, targets.members[i] - start, targets.topics[i], targets.partitions[i])


@kernel
def sort_lists(ranks: Ints, start: int, end: int, lists: Assignments) -> None:
    """Sort the lists of the last members by topic name and partition, and leave out repeated partitions."""
    filled = low = lists.offsets[start]
    for m in range(start, end):
        high = lists.offsets[m + 1]
        topics, partitions = lists.topics[low:high].copy(), lists.partitions[low:high].copy()
        low, first = high, filled
        for k in np.argsort(ranks[topics] << 32 | partitions):
            last = filled - 1
            if last < first or lists.topics[last] != topics[k] or lists.partitions[last] != partitions[k]:
                lists.topics[filled], lists.partitions[filled] = topics[k], partitions[k]
                filled += 1
        lists.offsets[m + 1] = filled


@inner_kernel
def owned_once(batch: UniformBatch, m: int) -> int:
    """List the entries of ``owned`` of a member that are of the group's topics, each partition once, in ``mine``.

    Returns their number.
    """
    owned, n = batch.owned, 0
    for k in range(owned.offsets[m], owned.offsets[m + 1]):
        topic = owned.topics[k]
        base = batch.base[topic]
        if base < 0:
            continue
        if owned.partitions[k] < batch.partitions[topic]:
            place = base + owned.partitions[k]
            new = batch.claimed_by[place] != m
            batch.claimed_by[place] = m
        else:
            new = not _is_repeated(owned, m, k)
        if new:
            batch.mine[n] = k
            n += 1
    return n


@inner_kernel
def _is_repeated(owned: Assignments, m: int, k: int) -> bool:
    """Return whether the member's entries before k include the same partition."""
    for other in range(owned.offsets[m], k):
        if owned.topics[other] == owned.topics[k] and owned.partitions[other] == owned.partitions[k]:
            return True
    return False
