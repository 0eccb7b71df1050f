"""Members brought together by group: rows of a group follow each other in a partition, and workers nest them.

Sorting rows by a hash of their group takes Spark less time than collecting them in lists, and Arrow takes flat rows
from it faster than nested ones.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructField, StructType

from rebalance_sim.engine.groups.group_batches import sent
from rebalance_sim.engine.spark.driver_rows import DriverRows
from rebalance_sim.engine.tables.arrow import lists, numbers
from rebalance_sim.engine.tables.inputs import REASON
from rebalance_sim.kafka.runtime.strings import Ints

KEYS = ("cluster", "group_id")
HASH = "_hash"
REJECT_REASON = "reject_reason"
"""Column of nested groups: why a row of their members cannot be used; the first of several in alphabetical order."""
_BYTES_AT_A_TIME = 2**23
"""Bytes of the members that are nested at once, unless a single group has more."""


def names_of_groups(column: Callable[[str], pa.Array]) -> pa.Array:
    """Return a name for each row that is the same for the rows of a group alone; ``column`` returns a column."""
    return pc.binary_join_element_wise(*map(column, KEYS), "\0")


def collected(rows: DataFrame, columns: Iterable[str], name: str) -> DataFrame:
    """Nest the rows of each group as a sorted list of structs, which have no key of the group."""
    kept = [column for column in columns if column not in KEYS]
    return rows.groupBy(*KEYS).agg(F.array_sort(F.collect_list(F.struct(*kept))).alias(name))


def join_key(member: Mapping[str, Any]) -> tuple[bool, int, str]:
    """Return what members are sorted by: their order of joining, or else their ids."""
    order = member["join_order"]
    return (order is None, order or 0, member["member_id"])


def by_group(members: DataFrame, columns: Iterable[str]) -> DataFrame:
    """Bring the members of each group together: ``_hash, cluster, group_id, COLUMNS, _reason``.

    Only the given columns are shuffled. Rows that name no group are left out.
    """
    if isinstance(members, DriverRows):
        return _by_group_in_driver(members, columns)
    reason = F.col(REASON) if REASON in members.columns else F.lit(None).cast("string").alias(REASON)
    return by_hash(members.where("group_id <> ''").select(*KEYS, *map(sent, columns), reason))


def _by_group_in_driver(members: DriverRows, columns: Iterable[str]) -> DataFrame:
    """Do the same without a job of Spark; the groups are in the order of their keys, with their number for a hash."""
    rows = members.toArrow().filter(pc.not_equal(members.toArrow()["group_id"], "")).combine_chunks()
    rows = rows.take(pc.sort_indices(rows, sort_keys=[(key, "ascending") for key in KEYS]))
    reasons = rows[REASON] if REASON in rows.schema.names else pa.nulls(len(rows), pa.string())
    starts = np.zeros(len(rows), np.int64)
    starts[_starts(rows, *KEYS)] = 1
    kept = [*KEYS, *columns]
    schema = StructType([StructField(HASH, LongType()), *(members.schema[name] for name in kept)])
    grouped = rows.select(kept).add_column(0, HASH, pa.array(np.cumsum(starts)))
    return DriverRows(members.sparkSession, grouped.append_column(REASON, reasons), schema.add(REASON, StringType()))


def by_hash(rows: DataFrame) -> DataFrame:
    """Bring the rows of each group together, in the order of a hash of the group: ``_hash`` and the same columns."""
    return rows.select(F.xxhash64(*KEYS).alias(HASH), "*").repartition(HASH).sortWithinPartitions(HASH)


def nested_groups(batches: Iterable[pa.RecordBatch], columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Nest the rows of ``by_group`` as ``collect_members`` does."""
    for rows in whole_runs(batches, HASH):
        yield nest(*in_groups(rows), columns)


def whole_runs(batches: Iterable[pa.RecordBatch], key: str) -> Iterator[pa.RecordBatch]:
    """Divide rows into new batches so that rows with equal keys, which follow each other, are in one batch."""
    waiting: list[pa.RecordBatch] = []
    size = 0
    for rows in filter(len, batches):
        last = int(_starts(rows, key)[-1])
        complete = last > 0 or (waiting and waiting[-1][key][-1] != rows[key][0])
        size += rows.nbytes
        if complete and size >= _BYTES_AT_A_TIME:
            yield _joined([*waiting, rows.slice(0, last)])
            waiting, rest = [], rows.slice(last)
            size = rest.nbytes
            waiting.append(rest)
        else:
            waiting.append(rows)
    if waiting:
        yield _joined(waiting)


def nest(rows: pa.RecordBatch, starts: Ints, columns: Sequence[str]) -> pa.RecordBatch:
    """Return groups as ``collect_members`` does; ``starts`` has the first row of each."""
    offsets, firsts = np.append(starts, len(rows)), pa.array(starts)
    kept, reasons = rows, pa.nulls(len(starts), pa.string())
    if REASON in rows.schema.names and rows[REASON].null_count < len(rows):
        used, given = rows[REASON].is_null(), rows[REASON]
        kept = rows.filter(used)
        reasons = pa.array([pc.min(given[i:j]).as_py() for i, j in pairwise(offsets.tolist())], pa.string())
        offsets = np.concatenate([[0], np.cumsum(numbers(used))])[offsets]
    members = pa.StructArray.from_arrays([kept[name] for name in columns], names=list(columns))
    rejected = np.diff(np.append(starts, len(rows))) - np.diff(offsets)
    return pa.RecordBatch.from_arrays(
        [
            *(rows[key].take(firsts) for key in KEYS),
            lists(offsets, members),
            pa.array(rejected.astype(np.int32)),
            reasons,
        ],
        names=[*KEYS, "members", "rejected_members", REJECT_REASON],
    )


def group_starts(rows: pa.RecordBatch) -> Ints:
    """Return the first row of each group."""
    return _starts(rows, *KEYS)


def in_groups(rows: pa.RecordBatch) -> tuple[pa.RecordBatch, Ints]:
    """Return rows in which those of each group follow each other, and the first one of each.

    The given rows with equal hashes follow each other.
    """
    starts = group_starts(rows)
    if len(starts) == len(_starts(rows, HASH)):
        return rows, starts
    # Groups with equal hashes are mixed.
    ordered = rows.take(pc.sort_indices(rows, sort_keys=[(name, "ascending") for name in (HASH, *KEYS)]))
    return ordered, group_starts(ordered)


def _starts(rows: pa.RecordBatch | pa.Table, *keys: str) -> Ints:
    """Return the first row of each run of equal keys."""
    if not len(rows):
        return np.empty(0, np.int64)
    changes = np.zeros(len(rows) - 1, np.bool_)
    for key in keys:
        changes |= numbers(pc.not_equal(rows[key][1:], rows[key][:-1])).astype(np.bool_)
    return np.concatenate([[0], np.flatnonzero(changes) + 1])


def _joined(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    joined = pa.Table.from_batches(batches).combine_chunks().to_batches()
    if len(joined) > 1:
        raise pa.ArrowCapacityError("a column of one group takes more than 2 GiB")
    return joined[0]
