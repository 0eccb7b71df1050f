"""Output folders of finished runs: their records and their tables."""

from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from rebalance_sim.engine.runs.hadoop_files import HadoopFiles
from rebalance_sim.engine.runs.run_files import RECORD, read_json
from rebalance_sim.engine.tables.inputs import first_line
from rebalance_sim.errors import UserError
from rebalance_sim.tables import Table


@dataclass(frozen=True)
class FinishedRun:
    """The output folder of a finished run, with its record."""

    spark: SparkSession
    folder: str
    record: dict[str, Any]

    @property
    def job(self) -> str:
        """The job's name."""
        return str(self.record["job"])

    def rows(self, table: Table) -> int:
        """Return the number of rows that the run wrote into a table; 0 if it has no such table."""
        return int(self.record["rows"].get("out", {}).get(table.name, 0))

    def table(self, table: Table) -> DataFrame:
        """Read a table that the run wrote. Raises UserError if it is missing."""
        source = self.record["options"].get("output_format", "parquet")
        path = f"{self.folder.rstrip('/')}/{table.name}"
        try:
            return self.spark.read.schema(table.schema).format(source).load(path)
        except (PySparkException, Py4JJavaError) as problem:
            raise UserError(f"{table.name}: cannot read {path!r} as {source}: {first_line(problem)}") from problem


def finished_run(spark: SparkSession, option: str, folder: str) -> FinishedRun:
    """Read the record of a run. Raises UserError, naming the option, for a folder without a finished run."""
    path = f"{folder.rstrip('/')}/{RECORD}"
    record = read_json(HadoopFiles(spark), path)
    if record is None:
        raise UserError(f"{option}: {folder!r} is not the output of a finished run (no {RECORD})")
    expected = {"job": str, "options": dict, "versions": dict, "rows": dict, "assumptions": list}
    for name, of in expected.items():
        if not isinstance(record.get(name), of):
            raise UserError(f"{option}: {path} is not the record of a run (no {name!r})")
    return FinishedRun(spark, folder, record)
