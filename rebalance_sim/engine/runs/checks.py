"""The figures of finished runs that ``check`` compares with limits."""

from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rebalance_sim.engine.runs.figures import Check
from rebalance_sim.engine.runs.finished_runs import FinishedRun
from rebalance_sim.tables import OUTPUTS, Table

_IDENTIFYING = ("table", "cluster", "group_id", "strategy", "client", "topic", "partition", "kind", "error", "reason")
"""Columns that identify a row and its problem."""


class Found(NamedTuple):
    """The figure that a check finds, and the row with the largest one; None if it finds nothing."""

    amount: float
    worst: str | None


def has_table(run: FinishedRun, table: str) -> bool:
    """Return whether the run wrote the table, be it without rows."""
    return table in run.record["rows"].get("out", {})


def find(runs: Sequence[FinishedRun], checks: Sequence[Check]) -> dict[str, Found]:
    """Return, by name of the check, its largest figure over all tables of the runs, in one pass."""
    found = {check.name: Found(0, None) for check in checks}
    figures = [
        _figures(check, run.table(OUTPUTS[table]), OUTPUTS[table], f"{run.folder}/{table}")
        for check in checks
        for table in check.tables
        for run in runs
        if has_table(run, table)
    ]
    if not figures:
        return found
    by_name = {check.name: check for check in checks}
    for row in reduce(DataFrame.unionByName, figures).transform(_by_table).collect():
        figure, identified = row["most"]
        amount = row["sum"] if by_name[row["name"]].adds_up else figure
        found[row["name"]] = max(found[row["name"]], Found(amount, f"{identified}, in {row['folder']}"))
    return found


def _figures(check: Check, rows: DataFrame, table: Table, folder: str) -> DataFrame:
    """Return the figure and the identity of each row."""
    identity = [F.concat(F.lit(f"{name} "), F.col(f"`{name}`")) for name in _IDENTIFYING if name in table.names]
    return rows.select(
        F.lit(check.name).alias("name"),
        F.lit(folder).alias("folder"),
        F.expr(check.figure).cast("double").alias("figure"),
        F.concat_ws(", ", *identity).alias("row"),
    )


def _by_table(figures: DataFrame) -> DataFrame:
    sum_of, most = F.sum("figure").alias("sum"), F.max(F.struct("figure", "row")).alias("most")
    return figures.where("figure > 0").groupBy("name", "folder").agg(sum_of, most)
