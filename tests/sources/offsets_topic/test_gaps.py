"""Missing offsets between needed records: found in blocks, compared with a search through all offsets."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest

from rebalance_sim.sources.offsets_topic.gaps import BLOCK, Gaps, Position, missing_offsets

Records = dict[int, dict[int, bool]]
"""By partition and offset: whether a record is needed."""


def random_records(seed: int) -> Records:
    random = np.random.default_rng(seed)
    share, needed = random.choice([0.02, 0.5, 0.98]), random.choice([0.05, 0.5])
    return {
        partition: {
            int(offset): bool(random.random() < needed)
            for offset in np.flatnonzero(random.random(int(random.integers(1, 500))) < share)
        }
        for partition in range(int(random.integers(1, 5)))
    }


def blocks(records: Records) -> list[dict[str, int | None]]:
    """Return the rows of blocks, in order."""
    rows: dict[tuple[int, int], dict[str, int | None]] = {}
    for partition, of_partition in sorted(records.items()):
        for offset, is_needed in sorted(of_partition.items()):
            place, bit = (partition, offset // BLOCK), offset % BLOCK
            signed = 1 << bit if bit < BLOCK - 1 else -(1 << bit)
            empty = {"partition": partition, "block": place[1], "present": 0, "needed": 0, "records": 0}
            row = rows.setdefault(place, {**empty})
            counted = {"present": signed, "needed": signed * is_needed, "records": 1}
            row |= {name: (row[name] or 0) + value for name, value in counted.items()}
    return list(rows.values())


def found(rows: list[dict[str, int | None]], at_once: int) -> pa.Table:
    types = {"partition": pa.int32(), **dict.fromkeys(("block", "present", "needed", "records"), pa.int64())}
    given = pa.Table.from_pylist(rows, pa.schema([*types.items()]))
    return pa.Table.from_batches([*missing_offsets(iter(given.to_batches(max_chunksize=at_once)))])


def neighbours(of_partition: dict[int, bool]) -> Iterator[tuple[int, int]]:
    """Yield each needed offset with each earlier one, and with the beginning."""
    needed = [-1, *sorted(offset for offset, is_needed in of_partition.items() if is_needed)]
    for place, later in enumerate(needed):
        yield from ((earlier, later) for earlier in needed[:place])


@pytest.mark.parametrize("seed", range(40))
def test_gaps_are_those_between_needed_records(seed: int) -> None:
    records = random_records(seed)
    if not any(records.values()):
        return
    table = found(blocks(records), at_once=1 + seed % 4)
    gaps = Gaps.of(table)
    assert not any(table["doubled"].to_pylist())
    for partition, of_partition in records.items():
        for earlier, later in neighbours(of_partition):
            missing = [offset for offset in range(earlier + 1, later) if offset not in of_partition]
            reason = gaps.between(Position(partition, earlier), Position(partition, later))
            expected = f"offsets between {missing[0]} and {missing[-1]} of partition {partition} " if missing else ""
            assert reason.startswith(expected), (partition, earlier, later)
            assert bool(reason) == bool(missing), (partition, earlier, later)
    needed = sum(sum(of_partition.values()) for of_partition in records.values())
    assert len(table) <= needed + len(records) + len(blocks(records))


def test_offsets_that_occur_twice_show() -> None:
    rows = blocks({0: {0: True, 1: False, 64: False}})
    assert found(rows, 10).num_rows == 1
    twice = [rows[0] | {"records": 3}, rows[1]]
    assert found(twice, 1)["doubled"].to_pylist() == [True, False]
    nowhere = [*rows, {"partition": None, "block": 0, "present": 1, "needed": 0, "records": 1}]
    assert found(nowhere, 10)["doubled"].to_pylist() == [True, False]
