"""Finished runs whose tables Spark reads."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.conversion import ArrowTableToRowsConversion
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from rebalance_sim.engine.runs.checks import FIGURES, CheckedTable
from rebalance_sim.engine.runs.hadoop_files import HadoopFiles
from rebalance_sim.engine.runs.recorded_runs import RecordedRun, recorded_run
from rebalance_sim.engine.spark.driver_rows import DriverRows, collected, map_batches, where_in
from rebalance_sim.engine.tables.inputs import first_line
from rebalance_sim.engine.tables.local_files import local_files
from rebalance_sim.errors import UserError
from rebalance_sim.tables import Table

_FEW_VALUES = 100


@dataclass(frozen=True)
class FinishedRun(RecordedRun):
    """The output folder of a finished run, with its record and its tables."""

    spark: SparkSession
    tables: Mapping[str, DataFrame] = field(default_factory=dict)
    """Tables that need not be read, since this process wrote them."""

    def rows(self, table: Table) -> int:
        """Return the number of rows that the run wrote into a table; 0 if it has no such table."""
        return self.written.get(table.name, 0)

    def table(self, table: Table) -> DataFrame:
        """Read a table that the run wrote. Raises UserError if it is missing."""
        if table.name in self.tables:
            return self.tables[table.name]
        path, source = self.path(table.name), self.output_format
        try:
            return self.spark.read.schema(table.schema).format(source).load(path)
        except (PySparkException, Py4JJavaError) as problem:
            raise UserError(f"{table.name}: cannot read {path!r} as {source}: {first_line(problem)}") from problem

    def chosen(self, table: Table, columns: Sequence[str], name: str, values: Collection[str] | None) -> list[Row]:
        """Return some columns of the rows whose column ``name`` has one of the values, or of all rows.

        Parquet files of this machine are read here: a job of Spark takes longer.
        """
        rows, files = self.table(table), self._files(table)
        if files is None:
            found = rows if values is None else where_in(rows, name, values)
            return collected(found.select(*columns))
        wanted = None if values is None else pc.field(name).isin(list(values))
        written = pa.dataset.dataset(files, format="parquet")
        read = written.to_table([column for column in columns if column in written.schema.names], wanted)
        schema = StructType([table.schema[column] for column in columns])
        # A run of an earlier release may have no such column.
        arrays = {
            of.name: read[of.name] if of.name in read.column_names else pa.nulls(len(read), of.type)
            for of in to_arrow_schema(schema)
        }
        return ArrowTableToRowsConversion.convert(pa.table(arrays).cast(to_arrow_schema(schema)), schema)

    def distinct(self, table: Table, column: str) -> set[str]:
        """Return the values of a column that has few: up to 100."""
        files = self._files(table)
        if files is None:
            values = self.table(table).where(F.col(column).isNotNull()).select(column).distinct().limit(_FEW_VALUES)
            return {row[0] for row in values.collect()}
        read = pa.dataset.dataset(files, format="parquet").to_table([column])[column]
        return set(pc.unique(read).drop_null().slice(0, _FEW_VALUES).to_pylist())

    def _files(self, table: Table) -> list[str] | None:
        """Return the Parquet files of a table that are on this machine; None if its rows are elsewhere."""
        rows = self.table(table)
        return None if isinstance(rows, DriverRows) or self.output_format != "parquet" else local_files(rows)


def finished_run(spark: SparkSession, option: str, folder: str) -> FinishedRun:
    """Read the record of a run. Raises UserError, naming the option, for a folder without a finished run."""
    return FinishedRun(folder, recorded_run(HadoopFiles(spark), option, folder).record, spark)


def apply_with_spark(spark: SparkSession, tables: Sequence[CheckedTable]) -> pa.Table:
    """Return the figures of tables that only Spark can read."""

    def figures(of: CheckedTable) -> DataFrame:
        rows = FinishedRun(of.run.folder, of.run.record, spark).table(of.table)
        return map_batches(rows.select(*of.columns), of.figures, FIGURES)

    return reduce(DataFrame.unionByName, map(figures, tables)).toArrow()
