"""Output folders of finished runs: their records, and their tables read back."""

import json
from dataclasses import dataclass
from typing import Any, cast

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from rebalance_sim.engine.inputs import first_line
from rebalance_sim.engine.runs import RECORD, hadoop_path
from rebalance_sim.errors import UserError
from rebalance_sim.tables import Table


@dataclass(frozen=True)
class FinishedRun:
    """A folder that a job has finished, with the record that it wrote last."""

    spark: SparkSession
    folder: str
    record: dict[str, Any]

    @property
    def job(self) -> str:
        """The job's name."""
        return str(self.record["job"])

    def rows(self, table: Table) -> int:
        """How many rows the run wrote into a table; 0 where it has none of that name."""
        return int(self.record["rows"].get("out", {}).get(table.name, 0))

    def table(self, table: Table) -> DataFrame:
        """Read a table that the run wrote. Raises UserError where it is not there."""
        source = self.record["options"].get("output_format", "parquet")
        path = f"{self.folder.rstrip('/')}/{table.name}"
        try:
            return self.spark.read.schema(table.schema).format(source).load(path)
        except (PySparkException, Py4JJavaError) as problem:
            raise UserError(f"{table.name}: cannot read {path!r} as {source}: {first_line(problem)}") from problem


def finished_run(spark: SparkSession, option: str, folder: str) -> FinishedRun:
    """Read the record of a run. Raises UserError, naming the option, for a folder that is not one of a finished run."""
    try:
        file_system, path = hadoop_path(spark, f"{folder.rstrip('/')}/{RECORD}")
        if not file_system.exists(path):
            raise UserError(f"{option}: {folder!r} has no {RECORD}: it is no folder of a finished run")
        # Not by Spark, which passes over files whose names begin with an underscore.
        stream, jvm = file_system.open(path), cast(Any, spark.sparkContext._jvm)
        try:
            text = jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8")
        finally:
            stream.close()
    except UserError:
        raise
    except Exception as problem:
        raise UserError(f"{option}: cannot read {folder!r}: {first_line(problem)}") from problem
    return FinishedRun(spark, folder, _checked(option, f"{folder.rstrip('/')}/{RECORD}", text))


def _checked(option: str, path: str, text: str) -> dict[str, Any]:
    try:
        record = json.loads(text)
    except ValueError as problem:
        raise UserError(f"{option}: {path} is not the record of a run: {problem}") from problem
    expected = {"job": str, "options": dict, "versions": dict, "rows": dict, "assumptions": list}
    for name, of in expected.items():
        if not isinstance(record, dict) or not isinstance(record.get(name), of):
            raise UserError(f"{option}: {path} is not the record of a run: it has no {name!r}")
    return cast(dict[str, Any], record)
