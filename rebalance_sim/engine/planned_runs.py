"""Runs that write nothing: a job goes through all its steps, and tells what it would do."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NoReturn

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from rebalance_sim.engine.run_folders import RECORD, hadoop_path
from rebalance_sim.engine.runs import Run
from rebalance_sim.tables import OUTPUTS, REJECTS, Table


class Planned(Exception):  # noqa: N818 (nothing is wrong)
    """Ends a job where all has been planned: what would follow is about tables that have not been written."""

    def __init__(self, run: Run) -> None:
        super().__init__()
        self.run = run


class _PlannedRun(Run):
    """Takes what would be computed and written, and goes on with tables of the same columns without rows."""

    def begin(self, replaced: Iterable[str] = OUTPUTS) -> None:
        """Check what can be checked without writing."""
        self._check_out()

    def stage(self, rows: DataFrame, name: str = "rows") -> DataFrame:
        """Compute nothing."""
        return self._without_rows(rows)

    def write(self, name: str, rows: DataFrame) -> DataFrame:
        """Write nothing."""
        self.counts.setdefault("out", {})[name] = 0
        return self._without_rows(rows)

    def count_rows(self, table: str, given: int, used: int, rejected: int) -> None:
        """Count nothing: no row was used or rejected."""

    def finish(self) -> NoReturn:
        """End the job."""
        raise Planned(self)

    def _without_rows(self, rows: DataFrame) -> DataFrame:
        return self.spark.createDataFrame([], rows.schema)


@dataclass
class Input:
    """An input table as it is there."""

    table: Table
    path: str
    source: str
    schema: StructType


@dataclass
class DryRun(_PlannedRun):
    """Looks at the columns of its inputs, and at none of their rows."""

    inputs: list[Input] = field(default_factory=list)
    steps: list[str] = field(default_factory=list)
    looks_at_rows = False

    def read(self, table: Table, path: str, source: str) -> DataFrame:
        """Note the columns of a table."""
        rows = super().read(table, path, source)
        self.inputs.append(Input(table, path, source, rows.schema))
        return rows.limit(0)

    def tell(self, message: str, **fields: object) -> None:
        """Note a step."""
        self.steps.append(message)

    def write(self, name: str, rows: DataFrame) -> DataFrame:
        """Write nothing; rejects that are known without a look at rows, as a scenario's steps, are dealt with."""
        nothing = super().write(name, rows)
        return rows if name == REJECTS.name else nothing

    @property
    def replaces(self) -> bool:
        """Tell whether there is a finished output where this one would be."""
        file_system, record = hadoop_path(self.spark, self._path(RECORD))
        return bool(file_system.exists(record))


class ExplainedRun(_PlannedRun):
    """Prints Spark's plan of all that would be computed."""

    def stage(self, rows: DataFrame, name: str = "rows") -> DataFrame:
        """Print the plan."""
        self._explain(f"{name}, which outputs are taken from", rows)
        return super().stage(rows, name)

    def write(self, name: str, rows: DataFrame) -> DataFrame:
        """Print the plan."""
        self._explain(name, rows)
        return super().write(name, rows)

    def _explain(self, what: str, rows: DataFrame) -> None:
        print(f"# {what}")
        rows.explain("formatted")
