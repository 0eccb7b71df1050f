"""Groups under every assignor: a table for each of a few groups."""

from collections.abc import Mapping

from pyspark.sql import Row

from rebalance_sim.engine.runs.finished_runs import FinishedRun
from rebalance_sim.report.page import Column, RunResults, Table, columns
from rebalance_sim.report.text import label
from rebalance_sim.tables import COMPARISON

NAME = "assignors"
SHOWN_GROUPS = 12
"""Groups that are listed one by one; more are only summarized."""


def results(run: FinishedRun) -> RunResults:
    """Return a table for each group of a comparison of few groups."""
    if not run.rows(COMPARISON) or run.rows(COMPARISON) > SHOWN_GROUPS:
        return RunResults()
    groups = run.table(COMPARISON).orderBy("cluster", "group_id").collect()
    return RunResults(
        tuple(
            assignors_table(
                f"Group {label(row['group_id'])}",
                row["strategies"] or {},
                row["elected"],
                {row["elected"]: "elected protocol"},
            )
            for row in groups
        )
    )


def assignors_table(
    caption: str, strategies: Mapping[str, Row], own: str | None, marks: Mapping[str | None, str]
) -> Table:
    """Return the figures of a group under each strategy, its own first; ``marks`` are shown beside strategies."""
    bounds = (("fewest per member", "min"), ("most per member", "max"))
    moves = ("partition moves", "moved")
    head = columns(("assignor", "strategy"), *bounds, "idle members", moves, Column("", field="mark"))
    rows = [
        figures.asDict() | {"strategy": name, "mark": marks.get(name, "")}
        for name, figures in sorted(strategies.items(), key=lambda item: (item[0] != own, item[0]))
        if figures["error"] is None
    ]
    return Table.of(caption, head, rows)
