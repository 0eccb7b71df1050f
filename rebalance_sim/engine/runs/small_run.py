"""Runs on small inputs, whose rows stay in the driver."""

from dataclasses import dataclass

from pyspark.sql import DataFrame

from rebalance_sim.engine.runs.run import Run
from rebalance_sim.engine.spark.driver_rows import in_driver
from rebalance_sim.tables import Table


@dataclass
class SmallRun(Run):
    """A run that reads its inputs once, and computes every table once."""

    def read(self, table: Table, path: str, source: str) -> DataFrame:
        """Read an input table into the driver."""
        return in_driver(super().read(table, path, source))

    def stage(self, rows: DataFrame, name: str = "rows") -> DataFrame:
        """Compute rows now and keep them in the driver."""
        return in_driver(rows)

    def number_of(self, rows: DataFrame) -> int:
        """Return the number of rows; for rows in the driver, Spark needs no job."""
        return len(rows.select().collect())

    def _written(self, name: str, rows: DataFrame) -> DataFrame:
        """Return the rows of an output table, which need not be read again."""
        kept = in_driver(rows)
        self._save(name, kept)
        return kept
