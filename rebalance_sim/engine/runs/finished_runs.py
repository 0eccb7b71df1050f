"""Finished runs whose tables Spark reads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from rebalance_sim.engine.runs.checks import FIGURES, CheckedTable
from rebalance_sim.engine.runs.hadoop_files import HadoopFiles
from rebalance_sim.engine.runs.recorded_runs import RecordedRun, recorded_run
from rebalance_sim.engine.spark.driver_rows import map_batches
from rebalance_sim.engine.tables.inputs import first_line
from rebalance_sim.errors import UserError
from rebalance_sim.tables import Table


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


def finished_run(spark: SparkSession, option: str, folder: str) -> FinishedRun:
    """Read the record of a run. Raises UserError, naming the option, for a folder without a finished run."""
    return FinishedRun(folder, recorded_run(HadoopFiles(spark), option, folder).record, spark)


def apply_with_spark(spark: SparkSession, tables: Sequence[CheckedTable]) -> pa.Table:
    """Return the figures of tables that only Spark can read."""

    def figures(of: CheckedTable) -> DataFrame:
        rows = FinishedRun(of.run.folder, of.run.record, spark).table(of.table)
        return map_batches(rows.select(*of.columns), of.figures, FIGURES)

    return reduce(DataFrame.unionByName, map(figures, tables)).toArrow()
