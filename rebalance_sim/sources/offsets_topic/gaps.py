"""Positions of records, and offsets that a dump of ``__consumer_offsets`` does not have."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rebalance_sim.engine.tables.arrow import numbers, rows_of
from rebalance_sim.kafka.runtime.strings import Flags, Ints
from rebalance_sim.tables import BOOLEAN, INT, LONG, struct

BLOCK = 64
"""Offsets of a block: as many as a number has bits."""
MISSING = struct({"partition": INT, "first": LONG, "last": LONG, "doubled": BOOLEAN})
"""A range of missing offsets; or, if ``doubled``, a sign that an offset occurs twice, or is null."""


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

    def are_between(self, partitions: Ints, earlier: Ints, later: Ints) -> Flags:
        """Return, for pairs of offsets with a needed record between them, whether some between them are missing."""
        found = np.zeros(len(partitions), np.bool_)
        for partition in np.intersect1d(partitions, list(self.ranges)).tolist():
            firsts, lasts = self.ranges[partition]
            of = partitions == partition
            found[of] = np.searchsorted(lasts, earlier[of]) < np.searchsorted(firsts, later[of])
        return found

    @classmethod
    def of(cls, missing: pa.Table) -> "Gaps":
        """Return the ranges in rows of ``MISSING``."""
        ranges = missing.filter(pc.invert(missing["doubled"])).sort_by(
            [("partition", "ascending"), ("first", "ascending")]
        )
        partitions, firsts, lasts = (numbers(ranges[name].combine_chunks()) for name in ("partition", "first", "last"))
        found, begins = np.unique(partitions, return_index=True)
        places = zip(found.tolist(), pairwise([*begins, len(partitions)]), strict=True)
        return cls({partition: (firsts[begin:end], lasts[begin:end]) for partition, (begin, end) in places})


def missing_offsets(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return rows of ``MISSING`` for blocks of offsets in order, from 0 on.

    A block has its ``partition`` and ``block``, ``records``, and bits for its offsets: those that are ``present``, and
    those of ``needed`` records. Ranges without a needed record between them are one.
    """
    last = (-1, -1)
    for batch in batches:
        known = batch.filter(pc.and_(batch.column("partition").is_valid(), batch.column("block").is_valid()))
        present, needed = (_bits(known.column(name)) for name in ("present", "needed"))
        blocks, bits = np.nonzero(present)
        partitions = numbers(known.column("partition"))[blocks]
        offsets = numbers(known.column("block"))[blocks] * BLOCK + bits
        if len(known) < len(batch) or (present.sum(1) != numbers(known.column("records"))).any():
            yield pa.RecordBatch.from_struct_array(rows_of(MISSING, {"doubled": pa.array([True])}))
        if len(offsets):
            yield _missing(partitions, offsets, needed[blocks, bits], last)
            last = (int(partitions[-1]), int(offsets[-1]))


def _bits(numbers_of_bits: pa.Array) -> Flags:
    """Return a row for each number, with its bits from the lowest on."""
    octets = numbers(numbers_of_bits).astype("<i8").view(np.uint8).reshape(-1, BLOCK // 8)
    return np.unpackbits(octets, axis=1, bitorder="little").astype(np.bool_)


def _missing(partitions: Ints, offsets: Ints, needed: Flags, last: tuple[int, int]) -> pa.RecordBatch:
    """Return the ranges before offsets in order; ``last`` is the partition and the offset before all of them."""
    goes_on = np.diff(partitions, prepend=last[0]) == 0
    earlier = np.where(goes_on, np.concatenate([[last[1]], offsets[:-1]]), -1)
    after_gap = np.flatnonzero(offsets > earlier + 1)
    needed_before: Ints = np.cumsum(needed)[after_gap] - needed[after_gap]
    begins = np.flatnonzero(np.diff(partitions[after_gap], prepend=-1) | np.diff(needed_before, prepend=-1))
    ends = np.append(begins[1:], len(after_gap))[: len(begins)] - 1
    firsts, lasts = earlier[after_gap][begins] + 1, offsets[after_gap][ends] - 1
    columns = {
        "partition": partitions[after_gap][begins],
        "first": firsts,
        "last": lasts,
        "doubled": np.zeros(len(begins), np.bool_),
    }
    return pa.RecordBatch.from_struct_array(
        rows_of(MISSING, {name: pa.array(column) for name, column in columns.items()})
    )


NO_GAPS = Gaps()
