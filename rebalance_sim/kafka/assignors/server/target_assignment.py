"""The batch and the target assignment that both builders of the ``uniform`` assignor use."""

from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.assignors.server.specification import uuid_hashes, uuid_ranks
from rebalance_sim.kafka.groups import Assignments, Groups, Subscribers, Subscriptions, TopicArrays, append_partition
from rebalance_sim.kafka.runtime.hash_order import java_copy_size, java_order, java_table_size
from rebalance_sim.kafka.runtime.kernel import inner_kernel, kernel
from rebalance_sim.kafka.runtime.sorting import stable_order
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


def new_batch(groups: Groups, topics: TopicArrays, by_topic: Subscribers) -> UniformBatch:
    """Return a batch of groups whose topics are ``by_topic``."""
    return UniformBatch(
        groups.subscriptions,
        groups.owned,
        topics.partitions,
        topics.ranks,
        topics.hashes,
        uuid_hashes(topics.ids),
        uuid_ranks(topics.ids),
        np.full(len(topics.partitions), -1, np.int32),
        np.full(len(topics.partitions), -1, np.int32),
        np.full(_most_partitions(groups.members, topics.partitions, by_topic), -1, np.int32),
        np.empty(np.diff(groups.owned.offsets).max(initial=0), np.int32),
    )


@kernel
def _most_partitions(groups: Ints32, partitions: Ints32, by_topic: Subscribers) -> int:
    """Return the number of partitions of the group that has most."""
    most = 0
    for g in range(len(groups) - 1):
        total = 0
        for topic in by_topic.topics[by_topic.group_topics[g] : by_topic.group_topics[g + 1]]:
            total += max(partitions[topic], 0)
        most = max(most, total)
    return most


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


@kernel
def new_targets(batch: UniformBatch) -> Targets:
    """Return room for the target assignment of any group of a batch."""
    claims = len(batch.owned.partitions)
    return Targets(
        np.empty(len(batch.claimed_by), np.int32),
        np.empty(claims, np.int32),
        np.empty(claims, np.int32),
        np.empty(claims, np.int32),
        np.zeros(1, np.int64),
    )


@kernel
def new_lists(batch: UniformBatch, by_topic: Subscribers, member_count: int) -> Assignments:
    """Return room for the lists of all members of a batch."""
    room = len(batch.owned.partitions)
    for topic in by_topic.topics:
        room += max(batch.partitions[topic], 0)
    return Assignments(np.zeros(member_count + 1, np.int32), np.empty(room, np.int32), np.empty(room, np.int32))


@inner_kernel
def number_places(batch: UniformBatch, topics: Ints32, targets: Targets) -> int:
    """Number the partitions of a group, none of which is assigned, and return how many it has.

    The result is -1 if none of its topics exists.
    """
    places, known = 0, False
    for topic in topics:
        if batch.partitions[topic] >= 0:
            known = True
            batch.base[topic] = places
            places += batch.partitions[topic]
    batch.claimed_by[:places] = -1
    targets.owners[:places] = -1
    targets.filled[0] = 0
    return places if known else -1


@inner_kernel
def same_subscriptions(
    batch: UniformBatch, by_topic: Subscribers, g: int, member_count: int, only_existing: bool
) -> bool:
    """Return whether every name has all members of a group as subscribers (``ModernGroup.subscriptionType``).

    Names without a topic count, too, unless ``only_existing``.
    """
    for entry in range(by_topic.group_topics[g], by_topic.group_topics[g + 1]):
        if by_topic.end[entry] - by_topic.first[entry] != member_count and not (
            only_existing and batch.partitions[by_topic.topics[entry]] < 0
        ):
            return False
    return True


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
        for k in stable_order(ranks[topics] << 32 | partitions):
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


@kernel
def owned_topic_order(batch: UniformBatch, m: int) -> Ints32:
    """Return the topics of a member's target in the order of a ``HashMap`` of ids, including deleted topics.

    The map was filled with ``computeIfAbsent``, which puts a new key at the head of its bucket; writing the target to a
    record and reading it back keeps the order within a bucket.
    """
    owned = batch.owned
    first, end = owned.offsets[m], owned.offsets[m + 1]
    named = np.empty(end - first, np.int32)
    n = 0
    for topic in owned.topics[first:end]:
        at = n - 1
        while at >= 0 and named[at] != topic:
            at -= 1
        if at < 0:
            named[n] = topic
            n += 1
    return java_order(batch.id_hashes, named[:n][::-1].copy(), java_table_size(n))


@kernel
def partitions_in_set_order(owned: Assignments, of_topic: Ints32) -> Ints32:
    """Return entries of ``owned`` of one topic in the order of a ``HashSet`` of their partitions."""
    numbers = owned.partitions[of_topic].astype(np.int64)
    listed = np.arange(len(numbers)).astype(np.int32)
    return of_topic[java_order(numbers, listed, java_copy_size(len(numbers)))]


@kernel
def distinct_names(batch: UniformBatch, m: int) -> tuple[Ints32, int]:
    """Return the topics that a member names, each once, and the length of its list."""
    of_members, offsets, topics = batch.subscriptions
    first, end = offsets[of_members[m]], offsets[of_members[m] + 1]
    names = np.empty(end - first, np.int32)
    n = 0
    for topic in topics[first:end]:
        if batch.subscribed_by[topic] != m:
            batch.subscribed_by[topic] = m
            names[n] = topic
            n += 1
    return names[:n], end - first
