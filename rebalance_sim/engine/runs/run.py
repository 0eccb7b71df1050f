"""Runs of jobs: a folder that looks finished is finished."""

import json
import logging
import platform
import time
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any, ClassVar

import pyspark
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from rebalance_sim.engine.groups.group_outcomes import GroupOutcomes
from rebalance_sim.engine.runs.claims import ClaimableFolder
from rebalance_sim.engine.runs.hadoop_files import HadoopFiles, hadoop_path
from rebalance_sim.engine.runs.input_files import read_input
from rebalance_sim.engine.runs.progress import report_step
from rebalance_sim.engine.runs.run_files import BEGUN, RECORD, read_beside
from rebalance_sim.engine.runs.spark_failures import cause_of
from rebalance_sim.engine.spark.driver_rows import BatchFunction, map_batches, no_rows
from rebalance_sim.engine.tables.inputs import first_line
from rebalance_sim.errors import UserError
from rebalance_sim.tables import ASSIGNMENTS, OUTPUTS, Table
from rebalance_sim.wording import plural

_LOG = logging.getLogger(__name__)
STAGING = "_staging"
"""Folder in the output folder for what a run needs until it ends."""


@dataclass
class Run:
    """One run of a job into a folder.

    The record ``_run.json`` is removed first and written last: while it is missing, the output is not finished. Until
    then ``_begun.json`` names the tables that are being replaced, so that no other run reads them, and the process that
    writes them, so that no other run does.
    """

    spark: SparkSession
    job: str
    out: str
    options: dict[str, Any]
    output_format: str = "parquet"
    counts: dict[str, Any] = field(default_factory=dict)
    assumptions: list[str] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)
    started_at: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    tables: dict[str, DataFrame] = field(default_factory=dict, init=False)
    """The output tables that ``write`` has written so far."""
    facts: dict[str, Any] = field(default_factory=dict, init=False)
    """What the job records beside what every job does."""
    _parts: list["Run"] = field(default_factory=list, init=False)
    _outcomes_written: int = field(default=0, init=False)
    """Runs over groups so far; each stages tables of the same names in a folder of its own."""
    reads_rows: ClassVar[bool] = True
    """A dry run reads only the columns of its inputs."""
    writes: ClassVar[bool] = True
    """A planned run writes nothing that could be read again."""

    def part(self, job: str, options: dict[str, Any]) -> "Run":
        """Return a run of another job, of the same kind, into the folder of that name within this run's."""
        part = type(self)(self.spark, job, self._path(job), options, self.output_format)
        self._parts.append(part)
        return part

    def read(self, table: Table, path: str, source: str) -> DataFrame:
        """Read an input table, unless a part of this run wrote it."""
        for part in self._parts:
            if path == part._path(table.name) and table.name in part.tables:
                return part.tables[table.name]
        return read_input(self.spark, table, path, source)

    def begin(self, replaced: Iterable[str] = OUTPUTS) -> None:
        """Remove an earlier run: first its record, then the tables that are ``replaced``.

        Raises UserError if the run may not replace the folder (``OutFolder.check``) or cannot write to it, or not in
        the output format.
        """
        names = list(replaced)
        try:
            self.check_out()
            self._folder_of_run.claim(names)
            # The record first: if the job is killed here, nothing looks finished.
            existing = HadoopFiles(self.spark).names_in(self.out)
            for name in (RECORD, STAGING, *names):
                if name in existing:
                    self._delete(name)
        except UserError:
            raise
        except Exception as problem:
            if cause_of(problem):
                raise
            raise UserError(f"--out: cannot write to {self.out!r}: {first_line(problem)}") from problem
        self._try_output_format()

    def check_out(self) -> None:
        """Raise UserError if the run may not replace the output folder."""
        self._folder_of_run.check(self.options)

    @property
    def _folder_of_run(self) -> ClaimableFolder:
        return ClaimableFolder(HadoopFiles(self.spark), self.job, self.out)

    def _try_output_format(self) -> None:
        """Raise UserError for a format that Spark cannot write, or not with nested columns: now and not after hours."""
        if self.output_format == "parquet":
            return
        try:
            self._save(STAGING, no_rows(self.spark, ASSIGNMENTS.schema))
        except (PySparkException, Py4JJavaError) as problem:
            if cause_of(problem):
                raise
            raise UserError(
                f"--output-format: cannot write as {self.output_format}: {first_line(problem)}"
            ) from problem

    def report_progress(self, message: str, **fields: Any) -> None:
        """Log a step, with fields for logs in JSON."""
        report_step(message, **fields)

    def stage(self, rows: DataFrame, name: str = "rows") -> DataFrame:
        """Compute rows that several outputs need, once. They stay until others are staged under the same name."""
        path = self._path(f"{STAGING}/{name}")
        # Files, not the cache: a lost executor takes its cached rows with it, and the rules would run again.
        rows.write.mode("overwrite").parquet(path)
        return self.spark.read.schema(rows.schema).parquet(path)

    def write_outcomes(self, outcomes: GroupOutcomes, names: Sequence[str]) -> dict[str, DataFrame]:
        """Compute the tables of a run over groups once, and write those of these names."""
        self._outcomes_written += 1
        name = "rows" if self._outcomes_written == 1 else f"rows-{self._outcomes_written}"
        outcomes.staged(lambda rows: self.stage(rows, name))
        return {name: self.write(name, outcomes[name]) for name in names}

    def kept(self, rows: DataFrame) -> DataFrame:
        """Return rows that several outputs read; they are too many to be kept, and computed again."""
        return rows

    def write(self, name: str, rows: DataFrame) -> DataFrame:
        """Write an output table and return it as written."""
        self.report_progress(f"writing {name}", table=name)
        written = self._written(name, rows)
        self._record_output(name, self.number_of(written))
        self.tables[name] = written
        return written

    def _record_output(self, name: str, rows: int) -> None:
        self.counts.setdefault("out", {})[name] = rows
        _LOG.debug("%s in %s", plural(rows, "row"), name, extra={"fields": {"table": name, "rows": rows}})

    def _written(self, name: str, rows: DataFrame) -> DataFrame:
        self._save(name, rows)
        return self.spark.read.schema(rows.schema).format(self.output_format).load(self._path(name))

    def map_table(
        self, rows: DataFrame, columns: Sequence[str], function: BatchFunction, schema: StructType
    ) -> DataFrame:
        """Apply a function to Arrow batches of some columns of a table."""
        return map_batches(rows.select(*columns), function, schema)

    def write_file(self, name: str, content: bytes) -> None:
        """Write a file other than a table, such as a page or a picture."""
        self._create(name, content)

    def _save(self, name: str, rows: DataFrame) -> None:
        rows.write.mode("overwrite").format(self.output_format).save(self._path(name))

    def number_of(self, rows: DataFrame) -> int:
        """Return the number of rows."""
        return rows.count()

    def count_rows(self, table: str, given: int, used: int, rejected: int) -> None:
        """Record the rows of an input. RuntimeError if they do not add up, which would be a bug of this program."""
        if given != used + rejected:
            raise RuntimeError(f"{table}: {given} rows read, but {used} used and {rejected} rejected")
        for name, rows in (("in", given), ("used", used), ("rejected", rejected)):
            self.counts.setdefault(name, {})[table] = rows

    def finish(self) -> None:
        """Write the record, which makes the output finished."""
        self._delete(STAGING)
        self._create(RECORD, (json.dumps(self.record(), indent=2, ensure_ascii=False) + "\n").encode())
        self._delete(BEGUN)
        self.report_progress("finished", rows=self.counts, out=self.out)

    def record(self) -> dict[str, Any]:
        """Return the record of the run so far."""
        return {
            "job": self.job,
            "options": self.options,
            "versions": {
                "rebalance-sim": version("rebalance-sim"),
                "pyspark": pyspark.__version__,
                "python": platform.python_version(),
            },
            "rows": self.counts,
            "assumptions": self.assumptions,
            "started": self.started_at,
            "seconds": round(time.monotonic() - self.started, 3),
            **self.facts,
        }

    def _path(self, name: str) -> str:
        return f"{self.out.rstrip('/')}/{name}"

    # Through Hadoop's file systems, so that a path without a scheme means the same here as in Spark's writers.

    def _delete(self, name: str) -> None:
        file_system, path = hadoop_path(self.spark, self._path(name))
        file_system.delete(path, True)

    def _create(self, name: str, content: bytes) -> None:
        file_system, path = hadoop_path(self.spark, self._path(name))
        # Renamed when complete, so that no reader finds half a record.
        unfinished = path.suffix(".unfinished")
        with closing(file_system.create(unfinished, True)) as stream:
            stream.write(content)
        file_system.delete(path, False)
        file_system.rename(unfinished, path)


def earlier_assumptions(spark: SparkSession, table_path: str) -> list[str]:
    """Return the assumptions of the run that wrote an input table, if its record is in the same folder."""
    record = read_beside(HadoopFiles(spark), table_path, RECORD)
    return [] if record is None else list(record.get("assumptions", []))
