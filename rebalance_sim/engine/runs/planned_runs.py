"""Runs that write nothing: a job goes through all its steps to show what it would do."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from tempfile import TemporaryDirectory
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from rebalance_sim.engine.runs.hadoop_files import HadoopFiles
from rebalance_sim.engine.runs.input_formats import input_format
from rebalance_sim.engine.runs.run import Run
from rebalance_sim.engine.runs.run_files import RECORD
from rebalance_sim.engine.spark.driver_rows import no_rows
from rebalance_sim.tables import OUTPUTS, REJECTS, Table


class PlanComplete(Exception):  # noqa: N818 (nothing is wrong)
    """Ends a job when its plan is complete: the rest of it reads tables that have not been written."""

    def __init__(self, run: Run) -> None:
        super().__init__()
        self.run = run


@dataclass
class _PlannedRun(Run):
    """Continues after each step with empty tables of the same columns."""

    whole: "_PlannedRun | None" = None
    """The run of which this one is a part."""
    written: dict[str, DataFrame] = field(default_factory=dict)
    """What would be written, by path; later steps read it."""
    writes = False

    def part(self, job: str, options: dict[str, Any]) -> Run:
        """Return a run of another job, whose outputs are shown as those of this one."""
        part = super().part(job, options)
        assert isinstance(part, _PlannedRun)
        part.whole, part.written = self, self.written
        return part

    def read(self, table: Table, path: str, source: str) -> DataFrame:
        """Read an input table, or return one that a part would write."""
        written = self.written.get(path)
        return super().read(table, path, source) if written is None else written

    def begin(self, replaced: Iterable[str] = OUTPUTS) -> None:
        """Check the output folder and the output format."""
        self.check_out()
        with TemporaryDirectory() as folder:
            Run(self.spark, self.job, f"file:{folder}", {}, self.output_format)._try_output_format()

    def stage(self, rows: DataFrame, name: str = "rows") -> DataFrame:
        """Compute nothing."""
        return self._without_rows(rows)

    def write(self, name: str, rows: DataFrame) -> DataFrame:
        """Write nothing."""
        self.counts.setdefault("out", {})[name] = 0
        if self.whole:
            self.whole.counts.setdefault("out", {})[f"{self.job}/{name}"] = 0
        return self.written.setdefault(self._path(name), self._without_rows(rows))

    def write_file(self, name: str, content: bytes) -> None:
        """Write nothing."""
        self.counts.setdefault("out", {})[name] = 0

    def number_of(self, rows: DataFrame) -> int:
        """Count nothing: no row has been read."""
        return 0

    def count_rows(self, table: str, given: int, used: int, rejected: int) -> None:
        """Record nothing."""

    def finish(self) -> None:
        """End the job, unless it is part of another job."""
        if self.whole is None:
            raise PlanComplete(self)

    def _without_rows(self, rows: DataFrame) -> DataFrame:
        return no_rows(self.spark, rows.schema)


@dataclass
class Input:
    """An input table with its columns."""

    table: Table
    path: str
    source: str
    schema: StructType


@dataclass
class DryRun(_PlannedRun):
    """Reads the columns of its inputs, and none of their rows."""

    inputs: list[Input] = field(default_factory=list)
    steps: list[str] = field(default_factory=list)
    reads_rows = False

    def part(self, job: str, options: dict[str, Any]) -> Run:
        """Return a run of another job, whose inputs and steps are shown as those of this one."""
        part = super().part(job, options)
        assert isinstance(part, DryRun)
        part.inputs, part.steps = self.inputs, self.steps
        return part

    def read(self, table: Table, path: str, source: str) -> DataFrame:
        """Record the columns of a table, and return it without rows."""
        if path in self.written:
            return self.written[path]
        file_format = input_format(HadoopFiles(self.spark), table.name, path, source)
        rows = super().read(table, path, file_format)
        self.inputs.append(Input(table, path, file_format, rows.schema))
        return rows.limit(0)

    def report_progress(self, message: str, **fields: object) -> None:
        """Record a step."""
        self.steps.append(message)

    def write(self, name: str, rows: DataFrame) -> DataFrame:
        """Write nothing. Rejects are returned: those of a scenario's steps are known without reading rows."""
        nothing = super().write(name, rows)
        return rows if name == REJECTS.name else nothing

    @property
    def replaces(self) -> bool:
        """Return whether a finished run is in the output folder."""
        return HadoopFiles(self.spark).exists(self._path(RECORD))


class ExplainedRun(_PlannedRun):
    """Prints Spark's plan of everything that would be computed."""

    def stage(self, rows: DataFrame, name: str = "rows") -> DataFrame:
        """Print the plan."""
        self._explain(f"{name} (staged for several outputs)", rows)
        return super().stage(rows, name)

    def write(self, name: str, rows: DataFrame) -> DataFrame:
        """Print the plan."""
        self._explain(name, rows)
        return super().write(name, rows)

    def _explain(self, what: str, rows: DataFrame) -> None:
        print(f"# {what}")
        rows.explain("formatted")
