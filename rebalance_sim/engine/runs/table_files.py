"""Tables that workers write to Parquet files on this machine, without a way through the JVM and a staged copy.

A row with nested lists takes Spark's JVM far longer to read from Arrow and to write to Parquet than the rules take to
compute it. Arrow writes the same files in a tenth of the time.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import TaskContext
from pyspark.sql.types import StructType

from rebalance_sim.engine.groups.sorted_members import UnsortedMembersError
from rebalance_sim.engine.spark.driver_rows import BatchFunction
from rebalance_sim.engine.tables.arrow import arrow_type
from rebalance_sim.tables import LONG, OUTPUTS, STRING, struct

WRITTEN = struct({"name": STRING, "file": STRING, "rows": LONG, "problem": STRING})
"""What a task returns: the files that it wrote, each with its table, or why it could not."""
_SPARK_SCHEMA = "org.apache.spark.sql.parquet.row.metadata"
"""Key under which Spark keeps the schema of a table in each of its Parquet files."""
_ROWS_AT_A_TIME = 100_000


@dataclass
class _TableFile:
    """A file that grows by batches of rows."""

    path: Path
    schema: pa.Schema
    rows: int = 0
    _waiting: list[pa.RecordBatch] = field(default_factory=list)
    _writer: pq.ParquetWriter | None = None

    def add(self, rows: pa.StructArray) -> None:
        self.rows += len(rows)
        self._waiting.append(pa.RecordBatch.from_struct_array(rows).replace_schema_metadata(self.schema.metadata))
        if sum(map(len, self._waiting)) >= _ROWS_AT_A_TIME:
            self._write()

    def close(self) -> None:
        if self._waiting:
            self._write()
        if self._writer is not None:
            self._writer.close()

    def _write(self) -> None:
        if self._writer is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._writer = pq.ParquetWriter(self.path, self.schema)
        self._writer.write_table(pa.Table.from_batches(self._waiting, self.schema))
        self._waiting = []


def file_schema(table: StructType) -> pa.Schema:
    """Return the Arrow schema of a table's files, from which Spark reads the same columns that it would write."""
    return pa.schema(list(arrow_type(table)), {_SPARK_SCHEMA: table.json()})


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
                        files[table] = _TableFile(Path(folder, table, name), file_schema(OUTPUTS[table].schema))
                    files[table].add(column.drop_null())
            for file in files.values():
                file.close()
        except UnsortedMembersError as problem:
            yield _rows_of([{"problem": str(problem)}])
            return
        yield _rows_of([{"name": table, "file": str(file.path), "rows": file.rows} for table, file in files.items()])

    return write


def _rows_of(found: list[dict[str, Any]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(found, pa.schema(list(arrow_type(WRITTEN))))


def write_empty(folder: Path, table: StructType) -> None:
    """Write a file without rows, from which the columns of an empty table can be read."""
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(file_schema(table).empty_table(), folder / f"part-00000-{uuid4()}.snappy.parquet")
