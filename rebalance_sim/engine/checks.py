"""What the tables of finished runs are checked for, and what is found."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

from pyspark.sql import Column, DataFrame, Row
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
    """Whether the figures of all rows are added; else the largest counts."""


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
    """Find, by name, what checks are about, in one pass over the tables; of each, some run has one."""
    figures = [
        run.table(table).select(
            F.lit(check.name).alias("name"),
            F.expr(check.figure).cast("double").alias("figure"),
            _told(table, run.folder).alias("row"),
        )
        for check in checks
        for table in check.tables
        for run in runs
        if has_table(run, table)
    ]
    if not figures:
        return {}
    most = F.max(F.struct("figure", "row")).alias("most")
    found = reduce(DataFrame.unionByName, figures).where("figure > 0").groupBy("name").agg(F.sum("figure"), most)
    rows = {row["name"]: row for row in found.collect()}
    return {check.name: _found(check, rows.get(check.name)) for check in checks}


def _found(check: Check, row: Row | None) -> Found:
    if row is None:
        return Found(0, None)
    figure, told = row["most"]
    return Found(row["sum(figure)"] if check.adds_up else figure, told)


def _told(table: Table, folder: str) -> Column:
    """Say in one line which row it is."""
    known = [F.concat(F.lit(f"{name} "), F.col(f"`{name}`")) for name in _TELLING if name in table.names]
    return F.concat_ws(", ", *known, F.lit(f"in {folder}"))
