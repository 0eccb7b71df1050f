"""Row groups of Parquet files in the order of the groups whose members they hold, as the files' footers show it.

The statistics in a footer show which groups each row group can hold. Row groups whose ranges do not overlap can be read
independently. Nothing here imports PySpark, since the settings of the session depend on the answer.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import chain, pairwise

import pyarrow as pa
import pyarrow.parquet as pq


class UnsortedMembersError(Exception):
    """The rows of a file are not what its place among sorted files requires."""


@dataclass(frozen=True, order=True)
class RowGroup:
    """A row group of a Parquet file, with its least and its greatest group id."""

    first: str
    last: str
    path: str
    number: int


def sorted_row_groups(files: Iterable[str], columns: Collection[str]) -> tuple[RowGroup, ...] | None:
    """Return the row groups of a table's files in the order of their groups; ``columns`` are those of the table.

    None if the groups of two row groups overlap, or a footer does not show which groups they hold.
    """
    try:
        ordered = sorted(chain.from_iterable(_row_groups_of(file, columns) for file in files))
    except (UnsortedMembersError, pa.ArrowException, OSError, UnicodeDecodeError):
        return None
    overlap = any(following.first < one.last for one, following in pairwise(ordered))
    return None if overlap else tuple(ordered)


def _row_groups_of(path: str, columns: Collection[str]) -> list[RowGroup]:
    """Return the row groups of a file. Raises UnsortedMembersError if it does not show which groups they hold."""
    file = pq.read_metadata(path)
    # Columns of folder names, as in cluster=a/part-0.parquet, are not in the files.
    if set(file.schema.to_arrow_schema().names) != set(columns):
        raise UnsortedMembersError("the columns of the table are not those of the file")
    place = next((i for i in range(file.num_columns) if file.schema.column(i).path == "group_id"), None)
    if place is None or str(file.schema.column(place).logical_type) != "String":
        raise UnsortedMembersError("the table has no group_id that is text")
    found = []
    for number in range(file.num_row_groups):
        row_group = file.row_group(number)
        if not row_group.num_rows:
            continue
        statistics = row_group.column(place).statistics
        if statistics is None or not statistics.has_min_max:
            raise UnsortedMembersError("a row group has no statistics")
        found.append(RowGroup(statistics.min, statistics.max, path, number))
    return found
