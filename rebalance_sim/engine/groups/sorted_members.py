"""Members in Parquet files that are sorted by group: workers read whole groups from them, without an exchange.

A group that continues in the next row group belongs to the first of the two. Workers check while they read that the
rows inside a row group are sorted, and that Spark's readers would use all of them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import StringType

from rebalance_sim.engine.groups.sorted_row_groups import RowGroup, UnsortedMembersError, sorted_row_groups
from rebalance_sim.engine.groups.whole_groups import KEYS, group_starts, nest, whole_runs
from rebalance_sim.engine.spark.driver_rows import BatchFunction
from rebalance_sim.engine.tables.arrow import numbers
from rebalance_sim.engine.tables.local_files import local_files
from rebalance_sim.tables import DEFAULT_CLUSTER, DEFAULT_PROTOCOL_TYPE, MEMBERS

_ROWS_AT_A_TIME = 20_000
_REQUIRED = frozenset(column.name for column in MEMBERS.columns if column.required)
_NOT_EMPTY = {name for name in _REQUIRED if isinstance(MEMBERS.schema[name].dataType, StringType)} | {"protocol_type"}


@dataclass(frozen=True)
class SortedMembers:
    """Row groups of the members table, in the order of their groups."""

    row_groups: tuple[RowGroup, ...]
    columns: tuple[str, ...]
    """Columns of each member."""
    shares: int = 1
    """Each row group is read this many times, every time for other groups."""

    @classmethod
    def of(cls, members: DataFrame, columns: Sequence[str]) -> "SortedMembers | None":
        """Return the members of a table that was read from Parquet files of this machine, if those are sorted.

        None if the groups of two files overlap, or a column has another type than in the members table.
        """
        schema = members.schema
        if any(field.name in MEMBERS.names and field != MEMBERS.schema[field.name] for field in schema):
            return None
        files = local_files(members)
        found = None if files is None else sorted_row_groups(files, schema.names)
        return cls(found, tuple(columns)) if found else None

    def divided(self, least: int) -> "SortedMembers":
        """Return the same members in at least so many pieces, of which workers read one at a time."""
        return replace(self, shares=-(-least // len(self.row_groups)))

    @property
    def pieces(self) -> int:
        """The number of pieces."""
        return len(self.row_groups) * self.shares

    def giving_groups_to(self, function: BatchFunction) -> BatchFunction:
        """Return a function of the numbers of pieces (column ``id``) that applies another to their groups."""
        return lambda batches: function(
            chain.from_iterable(self.batches(number) for batch in batches for number in batch["id"].to_pylist())
        )

    def batches(self, number: int) -> Iterator[pa.RecordBatch]:
        """Return the groups of a piece, nested as ``collect_members`` nests them.

        Raises UnsortedMembersError if rows are not sorted by group and cluster, or if one cannot be used.
        """
        row_group, share = divmod(number, self.shares)
        before, next_of_piece = None, share
        try:
            for rows in whole_runs(self._rows(row_group), "group_id"):
                starts = group_starts(rows)
                _check_order(rows.take(pa.array(starts)), before)
                before = rows["group_id"][-1].as_py()
                groups, of_piece = nest(rows, starts, self.columns), np.arange(next_of_piece, len(starts), self.shares)
                next_of_piece = (next_of_piece - len(starts)) % self.shares
                yield groups if self.shares == 1 else groups.take(pa.array(of_piece))
        except pa.ArrowException as problem:
            raise UnsortedMembersError(str(problem)) from problem

    def _rows(self, number: int) -> Iterator[pa.RecordBatch]:
        """Return the members of the groups that begin in a row group."""
        own = self.row_groups[number]
        before = self.row_groups[number - 1].last if number else None
        continues = own.first == before
        for rows in self._read(own):
            kept = _after_group(rows, own.first) if continues else rows
            continues = continues and not len(kept)
            yield kept
        for following in self.row_groups[number + 1 :] if own.last != before else ():
            if following.first != own.last:
                return
            for rows in self._read(following):
                kept = rows.filter(pc.equal(rows["group_id"], own.last))
                yield kept
                if len(kept) < len(rows):
                    return

    def _read(self, row_group: RowGroup) -> Iterator[pa.RecordBatch]:
        try:
            with pq.ParquetFile(row_group.path) as file:
                statistics = file.metadata.row_group(row_group.number)
                unproven = [name for name in _REQUIRED if not _is_always_given(name, statistics)]
                wanted = list(dict.fromkeys([*KEYS, *unproven, "protocol_type", *self.columns]))
                available = [name for name in wanted if name in file.schema_arrow.names]
                for rows in file.iter_batches(_ROWS_AT_A_TIME, [row_group.number], available, use_threads=False):
                    if len(rows):
                        yield _fitted(rows, wanted)
        except (pa.ArrowException, OSError) as problem:
            # Spark reports the problem if it cannot read the file either.
            raise UnsortedMembersError(str(problem)) from problem


def _is_always_given(name: str, row_group: pq.RowGroupMetaData) -> bool:
    """Return whether the statistics of a row group prove that no row leaves a required column out."""
    parts = [row_group.column(i) for i in range(row_group.num_columns)]
    found = [part.statistics for part in parts if part.path_in_schema.split(".")[0] == name]
    # Null and empty lists count as nulls of their elements.
    if not found or any(part is None or not part.has_null_count or part.null_count for part in found):
        return False
    return name not in _NOT_EMPTY or all(part.has_min_max and part.min != "" for part in found)


def _fitted(rows: pa.RecordBatch, wanted: Sequence[str]) -> pa.RecordBatch:
    """Return the columns of the members table, with their defaults, as ``fit`` does for tables of any kind.

    The usual protocol type is null, as in what ``Prediction`` sends. Raises UnsortedMembersError for rows that ``fit``
    would reject.
    """
    columns = {name: _column(rows, name) for name in wanted}
    for name in _NOT_EMPTY & columns.keys():
        if len(rows) and pc.min(pc.binary_length(columns[name])).as_py() == 0:
            raise UnsortedMembersError(f"{name} is empty")
    for name in columns.keys() & _REQUIRED:
        if columns[name].null_count:
            raise UnsortedMembersError(f"{name} is null")
    types = columns["protocol_type"]
    usual = pc.equal(types, DEFAULT_PROTOCOL_TYPE).fill_null(True)
    columns["protocol_type"] = pc.if_else(usual, pa.scalar(None, types.type), types)
    columns["cluster"] = columns["cluster"].fill_null(DEFAULT_CLUSTER)
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


def _column(rows: pa.RecordBatch, name: str) -> pa.Array:
    kind = to_arrow_type(MEMBERS.schema[name].dataType)
    return rows[name].cast(kind) if name in rows.schema.names else pa.nulls(len(rows), kind)


def _after_group(rows: pa.RecordBatch, group_id: str) -> pa.RecordBatch:
    """Leave out the first rows, which belong to a group that began in an earlier row group."""
    in_later_groups = np.flatnonzero(numbers(pc.not_equal(rows["group_id"], group_id)))
    return rows.slice(int(in_later_groups[0]) if len(in_later_groups) else len(rows))


def _check_order(firsts: pa.RecordBatch, before: str | None) -> None:
    """Raise UnsortedMembersError unless the groups of these rows ascend by id and cluster, after the id ``before``."""
    ids, clusters = firsts["group_id"], firsts["cluster"]
    in_next_cluster = pc.and_(pc.equal(ids[:-1], ids[1:]), pc.less(clusters[:-1], clusters[1:]))
    rises = numbers(pc.or_(pc.less(ids[:-1], ids[1:]), in_next_cluster)).all()
    if not rises or (before is not None and ids[0].as_py() <= before):
        raise UnsortedMembersError("rows are not sorted by group_id and cluster")
