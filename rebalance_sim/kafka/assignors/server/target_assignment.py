"""What both builders of the ``uniform`` assignor use: the batch, and the target assignments that they add to."""

from typing import NamedTuple

from rebalance_sim.kafka.groups import Assignments, Subscriptions
from rebalance_sim.kafka.runtime.kernel import inner_kernel
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
    """Pairs of a member and the key of a partition in its target assignment."""

    members: Ints32
    keys: Ints
    """``partition_key`` of each partition."""
    filled: Ints
    """Number of pairs, as an array of one."""


@inner_kernel
def add_target(targets: Targets, m: int, key: int) -> None:
    """Add a partition to a member's target assignment."""
    n = targets.filled[0]
    targets.members[n] = m
    targets.keys[n] = key
    targets.filled[0] = n + 1


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
