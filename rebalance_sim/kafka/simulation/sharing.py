"""Who has which partition of a simulated group, and for how long no member has it.

A partition of a share group may have several members; a task of a streams group has one.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from rebalance_sim.kafka.coordinator.share.share_group import Partition, Partitions


@dataclass
class PartitionShares:
    """The consumers that have a partition, and its figures."""

    consumers: set[int] = field(default_factory=set)
    before: set[int] = field(default_factory=set)
    """Those that had it and lost it."""
    last: int | None = None
    """The last that lost it."""
    is_tracked: bool = False
    """Whether it has had a consumer, or was added by growth; without that it never counts as unowned."""
    unowned_ms: int = 0
    unowned_since_ms: int | None = None
    moved: int = 0


@dataclass
class Sharing:
    """The partitions of a group. Times must not decrease."""

    counts_returns: bool = True
    """Whether a consumer that gets a partition which no other one has had meanwhile counts as a move."""
    partitions: dict[Partition, PartitionShares] = field(default_factory=dict)
    subscribed: frozenset[str] = frozenset()
    """Topics that consumers of the group subscribe to: partitions of others do not count as unowned."""
    moved: int = 0
    moved_back: int = 0
    revoked: int = 0
    unowned: int = 0
    """The number of partitions that no member has now."""

    def unowned_ms(self, now_ms: int) -> int:
        """Return the partition-milliseconds without a member up to now."""
        open_ms = (now_ms - since for each in self.partitions.values() if (since := each.unowned_since_ms) is not None)
        return sum(each.unowned_ms for each in self.partitions.values()) + sum(open_ms)

    def add(self, partitions: Iterable[Partition], now_ms: int, *, is_tracked: bool) -> None:
        """Add partitions of a topic, by growth if ``is_tracked``."""
        for partition in partitions:
            self.partitions.setdefault(partition, PartitionShares(is_tracked=is_tracked))
        self.settle(now_ms)

    def change(self, consumer: int, before: Partitions, after: Partitions, now_ms: int, *, counts: bool = True) -> None:
        """Note that a consumer has other partitions now; ``counts`` if that is a move."""
        for partition in before - after:
            shares = self.partitions[partition]
            shares.consumers.discard(consumer)
            shares.before.add(consumer)
            shares.last = consumer
        for partition in after - before:
            shares = self.partitions.setdefault(partition, PartitionShares())
            shares.consumers.add(consumer)
            shares.is_tracked = True
            is_move = counts and (self.counts_returns or consumer != shares.last)
            shares.moved += is_move
            self.moved += is_move
            self.moved_back += is_move and consumer in shares.before
        self.revoked += len(before - after)
        self.settle(now_ms)

    def settle(self, now_ms: int) -> None:
        """Begin and end the times in which partitions are without a member."""
        for (topic, _), shares in self.partitions.items():
            is_unowned = shares.is_tracked and not shares.consumers and topic in self.subscribed
            if is_unowned and shares.unowned_since_ms is None:
                shares.unowned_since_ms = now_ms
                self.unowned += 1
            elif not is_unowned and shares.unowned_since_ms is not None:
                shares.unowned_ms += now_ms - shares.unowned_since_ms
                shares.unowned_since_ms = None
                self.unowned -= 1
