"""Output folders: written so that what looks finished is finished."""

import json
import logging
import platform
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any, ClassVar

import pyspark
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from rebalance_sim.engine.inputs import first_line, read
from rebalance_sim.engine.run_folders import BEGUN, RECORD, begun_text, beside, hadoop_path
from rebalance_sim.errors import UserError
from rebalance_sim.kafka.kernel import is_compiled
from rebalance_sim.tables import ASSIGNMENTS, OUTPUTS, Table

_LOG = logging.getLogger(__name__)
_STAGING = "_staging"


@dataclass
class Run:
    """One run of a job into a folder.

    The record ``_run.json`` goes first and comes last: while it is missing, the output is not finished. Meanwhile
    another file names the tables that are replaced: who reads one of them is told.
    """

    spark: SparkSession
    job: str
    out: str
    options: dict[str, Any]
    output_format: str = "parquet"
    counts: dict[str, Any] = field(default_factory=dict)
    assumptions: list[str] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)
    looks_at_rows: ClassVar[bool] = True
    """Some runs only look at the columns of their inputs."""

    def read(self, table: Table, path: str, source: str) -> DataFrame:
        """Read an input table (``rebalance_sim.engine.inputs.read``)."""
        return read(self.spark, table, path, source)

    def begin(self, replaced: Iterable[str] = OUTPUTS) -> None:
        """Take away what an earlier run left: first its record, then the tables that are ``replaced``.

        Raises UserError where the folder cannot be written to, or not in the wanted format.
        """
        self._check_out()
        names = list(replaced)
        try:
            self._create(BEGUN, begun_text(self.job, names).encode())
            for name in (RECORD, _STAGING, *names):
                self._delete(name)
        except Exception as problem:
            raise UserError(f"--out: cannot write to {self.out!r}: {first_line(problem)}") from problem
        if self.output_format != "parquet":
            self._save(_STAGING, self.spark.createDataFrame([], ASSIGNMENTS.schema))

    def _check_out(self) -> None:
        if not self.out.strip("/ "):
            raise UserError(f"--out: {self.out!r} is not allowed; allowed: a folder that the run may replace")

    def tell(self, message: str, **fields: Any) -> None:
        """Log what goes on, with fields for logs that programs read."""
        _LOG.info("%s", message, extra={"fields": fields})

    def stage(self, rows: DataFrame, name: str = "rows") -> DataFrame:
        """Compute rows once that several outputs are taken from; they stay until others are staged by that name."""
        if not is_compiled():
            self.tell("compiling the rules, once on this machine (some minutes)")
        path = self._path(f"{_STAGING}/{name}")
        rows.write.mode("overwrite").parquet(path)
        return self.spark.read.schema(rows.schema).parquet(path)

    def write(self, name: str, rows: DataFrame) -> DataFrame:
        """Write an output table, and return it as written."""
        self.tell(f"writing {name}", table=name)
        self._save(name, rows)
        written = self.spark.read.schema(rows.schema).format(self.output_format).load(self._path(name))
        number = self.counts.setdefault("out", {})[name] = written.count()
        _LOG.debug("%s rows in %s", f"{number:,}", name, extra={"fields": {"table": name, "rows": number}})
        return written

    def write_file(self, name: str, content: bytes) -> None:
        """Write a file that is no table, such as a page or a picture."""
        self._create(name, content)

    def _save(self, name: str, rows: DataFrame) -> None:
        try:
            rows.write.mode("overwrite").format(self.output_format).save(self._path(name))
        except (PySparkException, Py4JJavaError) as problem:
            if _is_user_error(problem):
                raise UserError(
                    f"--output-format: cannot write as {self.output_format}: {first_line(problem)}"
                ) from problem
            raise

    def count_rows(self, table: str, given: int, used: int, rejected: int) -> None:
        """Put an input's rows on record. They must add up: anything else is a fault of this program."""
        if given != used + rejected:
            raise RuntimeError(f"{table}: {given} rows given, but {used} used and {rejected} rejected")
        for name, rows in (("in", given), ("used", used), ("rejected", rejected)):
            self.counts.setdefault(name, {})[table] = rows

    def finish(self) -> None:
        """Write the record."""
        self._delete(_STAGING)
        record = {
            "job": self.job,
            "options": self.options,
            "versions": {
                "rebalance-sim": version("rebalance-sim"),
                "pyspark": pyspark.__version__,
                "python": platform.python_version(),
            },
            "rows": self.counts,
            "assumptions": self.assumptions,
            "seconds": round(time.monotonic() - self.started, 3),
        }
        self._create(RECORD, (json.dumps(record, indent=2, ensure_ascii=False) + "\n").encode())
        self._delete(BEGUN)
        self.tell("finished", rows=self.counts, out=self.out)

    def _path(self, name: str) -> str:
        return f"{self.out.rstrip('/')}/{name}"

    # Spark's own view of paths, so that a folder without a scheme means the same here as in a write.

    def _delete(self, name: str) -> None:
        file_system, path = hadoop_path(self.spark, self._path(name))
        file_system.delete(path, True)

    def _create(self, name: str, content: bytes) -> None:
        file_system, path = hadoop_path(self.spark, self._path(name))
        unfinished = path.suffix(".unfinished")
        stream = file_system.create(unfinished, True)
        try:
            stream.write(content)
        finally:
            stream.close()
        file_system.delete(path, False)
        file_system.rename(unfinished, path)


def earlier_assumptions(spark: SparkSession, table_path: str) -> list[str]:
    """Return what the run that made an input table assumed, if its record lies beside the table."""
    told = beside(spark, table_path, RECORD)
    return [] if told is None else list(told.get("assumptions", []))


def _is_user_error(problem: PySparkException | Py4JJavaError) -> bool:
    if isinstance(problem, PySparkException):
        return (problem.getCondition() or "").startswith(("DATA_SOURCE", "UNSUPPORTED", "PATH"))
    return "DATA_SOURCE_NOT_FOUND" in str(problem.java_exception)
