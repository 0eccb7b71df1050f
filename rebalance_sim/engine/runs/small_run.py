"""Runs on small inputs, whose rows stay in the driver."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pyspark.sql import DataFrame

from rebalance_sim.engine.runs.hadoop_files import local_path
from rebalance_sim.engine.runs.run import Run
from rebalance_sim.engine.runs.table_files import write_table
from rebalance_sim.engine.spark.driver_rows import in_driver
from rebalance_sim.tables import Table


@dataclass
class SmallRun(Run):
    """A run that reads its inputs once, and computes every table once."""

    def read(self, table: Table, path: str, source: str) -> DataFrame:
        """Read an input table into the driver, where the rules will run."""
        return in_driver(super().read(table, path, source))

    def stage(self, rows: DataFrame, name: str = "rows") -> DataFrame:
        """Compute rows now and keep them in the driver."""
        return self.kept(rows)

    def kept(self, rows: DataFrame) -> DataFrame:
        """Compute rows now and keep them in the driver."""
        return in_driver(rows)

    @cached_property
    def _folder(self) -> Path | None:
        """The output folder; None if it is not on this machine."""
        return local_path(self.spark, self.out)

    def _written(self, name: str, rows: DataFrame) -> DataFrame:
        """Return the rows of an output table, which need not be read again."""
        kept = in_driver(rows)
        if self.output_format != "parquet" or self._folder is None:
            self._save(name, kept)
            return kept
        # A job of Spark would take longer than the rules.
        (self._folder / name).mkdir()
        write_table(self._folder / name, kept.toArrow(), kept.schema)
        return kept
