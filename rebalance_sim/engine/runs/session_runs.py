"""Runs that wrote no files: what a page reads of a finished run, over the DataFrames of a session."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from importlib.metadata import version
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rebalance_sim.engine.runs.finished_runs import FinishedRun
from rebalance_sim.engine.spark.driver_rows import no_rows, where_in
from rebalance_sim.errors import UserError, check_choice
from rebalance_sim.tables import COSTS, FINDINGS, OUTPUTS, REJECTS, Table

_JOBS = {FINDINGS.name: "audit", COSTS.name: "simulate"}
"""By a table, the job that writes it."""


@dataclass(frozen=True)
class SessionRun(FinishedRun):
    """A run whose tables are DataFrames of any session, Spark Connect included. Its folder is only a name."""

    @classmethod
    def of(
        cls,
        name: str,
        tables: Mapping[str, DataFrame],
        options: Mapping[str, Any] | None = None,
        used: Mapping[str, int] | None = None,
        assumptions: Sequence[str] = (),
    ) -> "SessionRun":
        """Count the rows of output tables, which are given by name.

        ``options`` are those of the job, ``used`` the rows of input tables that it used, as far as they are known.
        """
        spark = next(iter(tables.values())).sparkSession
        counts = _counts(tables)
        rejected = {}
        if counts.get(REJECTS.name):
            rejected = {row["table"]: row["count"] for row in tables[REJECTS.name].groupBy("table").count().collect()}
        record = {
            "job": next((job for table, job in _JOBS.items() if table in tables), "assign"),
            "options": dict(options or {}),
            "versions": {"rebalance-sim": version("rebalance-sim"), "spark": spark.version},
            "rows": {"out": counts, "used": dict(used or {}), "rejected": rejected},
            "assumptions": list(assumptions),
        }
        return cls(name, record, spark, tables)

    def table(self, table: Table) -> DataFrame:
        """Return a table; it has no rows if it is not one of the run."""
        return self.tables[table.name] if table.name in self.tables else no_rows(self.spark, table.schema)

    def _files(self, table: Table) -> list[str] | None:
        """Return None: there are no files."""
        return None


def check_tables(what: str, tables: Mapping[str, DataFrame]) -> None:
    """Raise UserError, naming the function ``what``, unless all are output tables with their columns."""
    if not tables:
        raise UserError(f"{what}: there is no table; allowed: {', '.join(OUTPUTS)}")
    for name, rows in tables.items():
        check_choice(f"{what}: table", name, list(OUTPUTS))
        missing = [column for column in OUTPUTS[name].names if column not in rows.columns]
        if missing:
            raise UserError(f"{what}: {name} has no column {', '.join(missing)}; its columns are in docs/tables.md")


def of_groups(tables: Mapping[str, DataFrame], groups: Collection[str]) -> dict[str, DataFrame]:
    """Return the rows of some groups, of the tables that are about groups."""
    return {name: where_in(rows, "group_id", groups) for name, rows in tables.items() if "group_id" in rows.columns}


def _counts(tables: Mapping[str, DataFrame]) -> dict[str, int]:
    """Return the number of rows of each table, in one query."""
    counted = [
        rows.agg(F.count("*").alias("rows")).select(F.lit(name).alias("table"), "rows") for name, rows in tables.items()
    ]
    found = {row["table"]: row["rows"] for row in reduce(DataFrame.unionAll, counted).collect()}
    return {name: found[name] for name in tables}
