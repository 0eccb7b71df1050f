"""Positions of records, and offsets that a dump of ``__consumer_offsets`` does not have."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.runtime.strings import Ints


class Position(NamedTuple):
    """The place of a record in the topic."""

    partition: int | None
    offset: int | None
    """None if it is not printed."""
    recorded_at_ms: int | None = None


@dataclass(frozen=True)
class Gaps:
    """Ranges of missing offsets by partition: the first and the last offset of each, in order."""

    ranges: Mapping[int, tuple[Ints, Ints]] = field(default_factory=dict)

    def between(self, earlier: Position, later: Position) -> str:
        """Return which offsets are missing between two records, in words; empty if none are.

        >>> gaps = Gaps({3: (np.array([5, 20]), np.array([9, 30]))})
        >>> gaps.between(Position(3, 4), Position(3, 40))
        'offsets between 5 and 30 of partition 3 are missing: compacted, or markers of transactions'
        >>> gaps.between(Position(3, 10), Position(3, 19))
        ''
        """
        if earlier.offset is None or later.offset is None or later.partition is None:
            return ""
        if earlier.partition != later.partition:
            return f"the group's earlier records are in partition {earlier.partition}"
        if later.partition not in self.ranges:
            return ""
        firsts, lasts = self.ranges[later.partition]
        begin, end = np.searchsorted(lasts, earlier.offset), np.searchsorted(firsts, later.offset)
        if begin >= end:
            return ""
        return (
            f"offsets between {firsts[begin]} and {lasts[end - 1]} of partition {later.partition} are missing: "
            "compacted, or markers of transactions"
        )


NO_GAPS = Gaps()
