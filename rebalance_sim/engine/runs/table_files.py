"""Tables that workers write to Parquet files on this machine, without passing through the JVM and a staged copy.

A row with nested lists takes Spark's JVM far longer to read from Arrow and to write to Parquet than the rules take to
compute it. Arrow writes the same files in a tenth of the time.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
from pyarrow import parquet
from pyspark import TaskContext
from pyspark.sql.types import StructType

from rebalance_sim.engine.groups.sorted_row_groups import UnsortedMembersError
from rebalance_sim.engine.spark.driver_rows import BatchFunction
from rebalance_sim.engine.tables.arrow import arrow_type
from rebalance_sim.tables import LONG, OUTPUTS, STRING, struct

WRITTEN = struct({"name": STRING, "file": STRING, "rows": LONG, "problem": STRING})
"""The result of a task: the files that it wrote, each with its table, or the reason why it could not."""
_SPARK_SCHEMA = "org.apache.spark.sql.parquet.row.metadata"
"""Key under which Spark keeps the schema of a table in each of its Parquet files."""
_BYTES_AT_A_TIME = 2**25
_ROWS_AT_A_TIME = 2**18


@dataclass
class _TableFile:
    """A file that grows by batches of rows."""

    path: Path
    table: StructType
    rows: int = 0
    _waiting: list[pa.RecordBatch] = field(default_factory=list)
    _writer: parquet.ParquetWriter | None = None

    def add(self, rows: pa.StructArray) -> None:
        self.rows += len(rows)
        self._waiting.append(pa.RecordBatch.from_struct_array(rows))
        if sum(batch.nbytes for batch in self._waiting) >= _BYTES_AT_A_TIME:
            self._write()

    def close(self) -> None:
        if self._waiting:
            self._write()
        if self._writer is not None:
            self._writer.close()

    def _write(self) -> None:
        if self._writer is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            schema = self._waiting[0].schema.with_metadata(_metadata(self.table))
            self._writer = parquet.ParquetWriter(self.path, schema, store_schema=False)
        self._writer.write_table(pa.Table.from_batches(self._waiting).cast(self._writer.schema))
        self._waiting = []


def _metadata(schema: StructType) -> dict[str, str]:
    """Return what Spark reads from a file, so that it finds the same types that it would write."""
    return {_SPARK_SCHEMA: schema.json()}


def writing_tables(function: BatchFunction, folder: str) -> BatchFunction:
    """Return a function that writes the rows that another returns: each table to a file of its own in its folder.

    The rows have a struct column per table, of which each sets one. Results are rows of ``WRITTEN``.
    """

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        task = TaskContext.get()
        name = f"part-{task.partitionId() if task else 0:05}-{uuid4()}.snappy.parquet"
        files: dict[str, _TableFile] = {}
        try:
            for rows in function(batches):
                for table, column in zip(rows.schema.names, rows.columns, strict=True):
                    if column.null_count == len(column):
                        continue
                    if table not in files:
                        files[table] = _TableFile(Path(folder, table, name), OUTPUTS[table].schema)
                    files[table].add(column.drop_null())
            for file in files.values():
                file.close()
        except UnsortedMembersError as problem:
            yield _rows_of([{"problem": str(problem)}])
            return
        yield _rows_of([{"name": table, "file": str(file.path), "rows": file.rows} for table, file in files.items()])

    return write


def reading_files(files: Sequence[str], columns: Sequence[str], function: BatchFunction) -> BatchFunction:
    """Return a function of the numbers of files (column ``id``) that applies another to some columns of their rows."""

    def read(numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number in chain.from_iterable(batch["id"].to_pylist() for batch in numbers):
            with parquet.ParquetFile(files[number]) as file:
                yield from file.iter_batches(_ROWS_AT_A_TIME, columns=list(columns), use_threads=False)

    return lambda numbers: function(read(numbers))


def _rows_of(found: list[dict[str, Any]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(found, pa.schema(list(arrow_type(WRITTEN))))


def write_table(folder: Path, rows: pa.Table, schema: StructType) -> None:
    """Write a whole table to a folder that does not exist or is empty, as one file."""
    folder.mkdir(parents=True, exist_ok=True)
    parquet.write_table(
        rows.replace_schema_metadata(_metadata(schema)), folder / "part-00000.snappy.parquet", store_schema=False
    )
    mark_complete(folder)


def mark_complete(folder: Path) -> None:
    """Mark a table as complete, as Spark's writers do."""
    (folder / "_SUCCESS").touch()
