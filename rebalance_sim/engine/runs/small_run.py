"""Runs on small inputs, whose rows stay in the driver."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

from pyspark.sql import DataFrame

from rebalance_sim.engine.runs.run import Run
from rebalance_sim.engine.spark.driver_rows import in_driver
from rebalance_sim.tables import Table

_WRITER = ThreadPoolExecutor(1)
"""One thread: it writes tables in their order."""


@contextmanager
def writes_ended() -> Iterator[None]:
    """Wait at the end, also of a run that failed, until nothing is being written any more."""
    try:
        yield
    finally:
        _WRITER.submit(int).result()


@dataclass
class SmallRun(Run):
    """A run that reads its inputs once, computes every table once, and writes tables while it computes others."""

    _saves: list[Future[None]] = field(default_factory=list, init=False)

    def read(self, table: Table, path: str, source: str) -> DataFrame:
        """Read an input table into the driver, where the rules will run."""
        self.report_compiling()
        return in_driver(super().read(table, path, source))

    def stage(self, rows: DataFrame, name: str = "rows") -> DataFrame:
        """Compute rows now and keep them in the driver."""
        return self.kept(rows)

    def kept(self, rows: DataFrame) -> DataFrame:
        """Compute rows now and keep them in the driver."""
        return in_driver(rows)

    def number_of(self, rows: DataFrame) -> int:
        """Return the number of rows; for rows in the driver, Spark needs no job."""
        return len(rows.select().collect())

    def finish(self) -> None:
        """Write the record once all tables are written. Raises the error of a table that could not be."""
        for save in self._saves:
            save.result()
        super().finish()

    def _written(self, name: str, rows: DataFrame) -> DataFrame:
        """Return the rows of an output table, which need not be read again."""
        kept = in_driver(rows)
        self._saves.append(_WRITER.submit(self._save, name, kept))
        return kept
