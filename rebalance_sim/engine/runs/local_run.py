"""Runs over many groups on this machine, whose workers read and write the files themselves."""

import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil
from pathlib import Path

from pyarrow.parquet import read_metadata
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from rebalance_sim.defaults import AUTO
from rebalance_sim.engine.groups.group_outcomes import GroupOutcomes
from rebalance_sim.engine.groups.group_plan import GroupPlan
from rebalance_sim.engine.groups.sorted_members import SortedMembers
from rebalance_sim.engine.runs.hadoop_files import local_path
from rebalance_sim.engine.runs.run import STAGING, Run
from rebalance_sim.engine.runs.table_files import WRITTEN, mark_complete, reading_files, write_table, writing_tables
from rebalance_sim.engine.spark.driver_rows import BatchFunction, map_batches
from rebalance_sim.engine.tables.inputs import union
from rebalance_sim.engine.tables.local_files import local_files
from rebalance_sim.tables import MEMBERS, OUTPUTS, Table

_LOG = logging.getLogger(__name__)
_PIECES_OF_CORE = 2
"""Pieces of sorted members for each core: so many that the last task does not keep one core busy for long."""
_TABLES = f"{STAGING}/tables"
"""Where workers write: in a folder for each table."""


def runs_here(spark: SparkSession, out: str, output_format: str) -> bool:
    """Return whether workers can write a run's tables: as Parquet files of this machine, on which all workers run."""
    master = spark.sparkContext.master or ""
    if not out.strip() or output_format != "parquet" or not (master == "local" or master.startswith("local[")):
        return False
    return local_path(spark, out) is not None


@dataclass
class LocalRun(Run):
    """A run whose workers write the tables of groups to Parquet files and, if possible, read members from them."""

    _members: DataFrame | None = field(default=None, init=False)
    _of_files: list[DataFrame] = field(default_factory=list, init=False)
    """Tables that have exactly the rows of their files."""

    def read(self, table: Table, path: str, source: str) -> DataFrame:
        """Read an input table."""
        rows = super().read(table, path, source)
        # Other formats, such as delta, have Parquet files too, of which not every row is one of the table.
        if source in (AUTO, "parquet"):
            self._of_files.append(rows)
            self._members = rows if table is MEMBERS else self._members
        return rows

    def number_of(self, rows: DataFrame) -> int:
        """Return the number of rows: of Parquet files on this machine, from their footers."""
        files = self._files_of(rows)
        return super().number_of(rows) if files is None else sum(read_metadata(file).num_rows for file in files)

    def map_table(
        self, rows: DataFrame, columns: Sequence[str], function: BatchFunction, schema: StructType
    ) -> DataFrame:
        """Apply a function to Arrow batches of some columns of a table, in workers that read its files themselves."""
        files = self._files_of(rows)
        if files is None:
            return super().map_table(rows, columns, function, schema)
        tasks = min(len(files), self.spark.sparkContext.defaultParallelism)
        numbers = self.spark.range(0, len(files), 1, tasks)
        return map_batches(numbers, reading_files(files, columns, function), schema)

    def _files_of(self, rows: DataFrame) -> list[str] | None:
        """Return the Parquet files of this machine whose rows are those of a table; None if there are others."""
        files = local_files(rows) if any(rows is table for table in self._of_files) else None
        return files if files and all(file.endswith(".parquet") for file in files) else None

    def _written(self, name: str, rows: DataFrame) -> DataFrame:
        written = super()._written(name, rows)
        self._of_files.append(written)
        return written

    def write_outcomes(self, outcomes: GroupOutcomes, names: Sequence[str]) -> dict[str, DataFrame]:
        """Compute the tables of a run over groups, and write those of these names."""
        plan = outcomes.plan
        if not set(plan.schema.names) <= OUTPUTS.keys():
            return super().write_outcomes(outcomes, names)
        self._outcomes_written += 1
        staging = f"{STAGING}/rows-{self._outcomes_written}"
        (self._folder / _TABLES).mkdir(parents=True, exist_ok=True)
        files = self._files_of_sorted_members(plan)
        if files is None:
            writing = writing_tables(plan.function, str(self._folder / _TABLES))
            files = replace(plan, function=writing, schema=WRITTEN).rows().collect()
        else:
            outcomes.expect_no_rejects_of(MEMBERS)
        computed = [name for name in names if outcomes.is_computed(name)]
        places = {name: name if name in computed else f"{staging}/{name}" for name in plan.schema.names}
        tables = {name: self._placed(name, place, files) for name, place in places.items()}
        outcomes.staged(lambda _: union([_as_outcomes(rows, plan, name) for name, rows in tables.items()]))
        written = {}
        for name in names:
            if name not in computed:
                written[name] = self.write(name, outcomes[name])
                continue
            self.report_progress(f"writing {name}", table=name)
            self._record_output(name, sum(file["rows"] for file in files if file["name"] == name))
            written[name] = tables[name]
        return written

    def _files_of_sorted_members(self, plan: GroupPlan) -> list[Row] | None:
        """Compute tables from the files of members, and return their files; None if those are not sorted by group."""
        found = SortedMembers.of(self._members, plan.columns) if plan.columns and self._members is not None else None
        if found is None:
            return None
        found = found.divided(_PIECES_OF_CORE * self.spark.sparkContext.defaultParallelism)
        most, count = int(self.spark.conf.get("spark.sql.shuffle.partitions") or 1), found.pieces
        # The same number of pieces per task: a longer task that starts last would leave the other cores idle.
        numbers = self.spark.range(0, count, 1, ceil(count / ceil(count / most)))
        writing = writing_tables(found.giving_groups_to(plan.function), str(self._folder / _TABLES))
        files = map_batches(numbers, writing, WRITTEN).collect()
        problem = next((file["problem"] for file in files if file["problem"] is not None), None)
        if problem is None:
            return files
        _LOG.info("members: their files cannot be used as they are, so Spark brings groups together: %s", problem)
        self._delete(_TABLES)
        return None

    def _placed(self, name: str, place: str, files: list[Row]) -> DataFrame:
        """Move the files of a table to a folder of the run, and return the table."""
        folder, schema = self._folder / place, OUTPUTS[name].schema
        folder.mkdir(parents=True, exist_ok=place != name)
        own = [Path(file["file"]) for file in files if file["name"] == name]
        for file in own:
            os.replace(file, folder / file.name)
        if own:
            mark_complete(folder)
        else:
            write_table(folder, to_arrow_schema(schema).empty_table(), schema)
        rows = self.spark.read.schema(schema).parquet(self._path(place))
        self._of_files.append(rows)
        return rows

    @cached_property
    def _folder(self) -> Path:
        """The output folder."""
        folder = local_path(self.spark, self.out)
        assert folder is not None
        return folder


def _as_outcomes(rows: DataFrame, plan: GroupPlan, table: str) -> DataFrame:
    """Return the rows of a table as rows of a plan, which have a column for each table."""
    columns = {field.name: F.lit(None).cast(field.dataType) for field in plan.schema} | {table: F.struct("*")}
    return rows.select(*[column.alias(name) for name, column in columns.items()])
