"""What the tables of finished runs are checked for, and what is found."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rebalance_sim.engine.finished_runs import FinishedRun
from rebalance_sim.tables import BALANCE, COSTS, ELECTIONS, PARTITION_LOAD, REJECTS, Table


@dataclass(frozen=True)
class Check:
    """A figure of the rows of some tables, of which only so much is allowed."""

    name: str
    told: str
    tables: tuple[Table, ...]
    figure: str
    """Of a row, in SQL; null where the row has none."""
    adds_up: bool = False
    """Whether the figures of a table are added; else its largest counts."""


_ERROR = "int(error IS NOT NULL)"

CHECKS = (
    Check("rejects", "rows that could not be used", (REJECTS,), "1", adds_up=True),
    Check("errors", "groups with an error instead of a result", (ELECTIONS, BALANCE, COSTS), _ERROR, adds_up=True),
    Check("ties", "groups whose protocol hash order decides", (ELECTIONS,), "int(tie)", adds_up=True),
    Check(
        "imbalance",
        "of a group: partitions of the member with most, less those of the one with fewest",
        (BALANCE,),
        "max - min",
    ),
    Check("idle-members", "of a group: members without a partition", (BALANCE,), "idle_members"),
    Check(
        "unsettled", "groups that are not stable when the simulation ends", (COSTS,), "int(NOT settled)", adds_up=True
    ),
    Check("paused-ms", "of a group: partition-milliseconds that nobody consumes", (COSTS,), "paused_ms"),
    Check("partition-load", "of a partition: its load as a multiple of an even one", (PARTITION_LOAD,), "imbalance"),
)
_TELLING = ("table", "cluster", "group_id", "strategy", "client", "topic", "partition", "error", "reason")
"""Columns that say which row it is, and what is wrong with it."""


class Found(NamedTuple):
    """What a check finds, and the row that has most of it; no row where nothing is found."""

    amount: float
    worst: str | None


def has_table(run: FinishedRun, table: Table) -> bool:
    """Tell whether the run wrote the table, with rows or without."""
    return table.name in run.record["rows"].get("out", {})


def find(runs: Sequence[FinishedRun], checks: Sequence[Check]) -> dict[str, Found]:
    """Find by name, in one pass over the tables of all runs, the most that a table has of what checks are about."""
    found = {check.name: Found(0, None) for check in checks}
    figures = [
        _figures(check, run.table(table), table, f"{run.folder}/{table.name}")
        for check in checks
        for table in check.tables
        for run in runs
        if has_table(run, table)
    ]
    if not figures:
        return found
    by_name = {check.name: check for check in checks}
    for row in reduce(DataFrame.unionByName, figures).transform(_by_table).collect():
        figure, told = row["most"]
        amount = row["sum"] if by_name[row["name"]].adds_up else figure
        found[row["name"]] = max(found[row["name"]], Found(amount, f"{told}, in {row['folder']}"))
    return found


def _figures(check: Check, rows: DataFrame, table: Table, folder: str) -> DataFrame:
    """Take the figure of each row, and say which row it is."""
    told = [F.concat(F.lit(f"{name} "), F.col(f"`{name}`")) for name in _TELLING if name in table.names]
    return rows.select(
        F.lit(check.name).alias("name"),
        F.lit(folder).alias("folder"),
        F.expr(check.figure).cast("double").alias("figure"),
        F.concat_ws(", ", *told).alias("row"),
    )


def _by_table(figures: DataFrame) -> DataFrame:
    sum_of, most = F.sum("figure").alias("sum"), F.max(F.struct("figure", "row")).alias("most")
    return figures.where("figure > 0").groupBy("name", "folder").agg(sum_of, most)
