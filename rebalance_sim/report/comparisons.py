"""The section that compares runs about the same groups: a column for each run, and what differs by group."""

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import NamedTuple

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from rebalance_sim.engine.runs.finished_runs import FinishedRun
from rebalance_sim.engine.spark.caching import caching
from rebalance_sim.report.page import GROUP, CellType, Column, RunResults, Table, columns, names
from rebalance_sim.report.text import seconds, shown
from rebalance_sim.tables import BALANCE, COSTS, VERDICTS
from rebalance_sim.tables import Table as OutputTable
from rebalance_sim.wording import plural

NAME = "comparison"
SHOWN_GROUPS = 20
MOST_COLUMNS = 6
"""Settings side by side."""
_KEYS = ("cluster", "group_id")


class _Figure(NamedTuple):
    """A figure of a group that is summed up over the groups in common."""

    title: str
    value: str
    """An expression."""
    total: str = "sum"
    """The aggregate function."""
    type: CellType = CellType.COUNT


class _Compared(NamedTuple):
    """A table whose runs are compared."""

    table: OutputTable
    caption: str
    by_strategy: bool
    figures: tuple[_Figure, ...]
    """The first decides which groups differ most."""


_COMPARED = (
    _Compared(VERDICTS, "Audits side by side", False, tuple(_Figure(of, of) for of in ("warnings", "errors", "notes"))),
    _Compared(
        COSTS,
        "Rollouts side by side (simulated)",
        True,
        (
            _Figure("downtime per partition, mean s", "unowned_ms / greatest(partitions, 1)", "avg", CellType.SECONDS),
            _Figure("rebalances", "rebalances"),
            _Figure("partition moves", "moved"),
            _Figure("moves back", "moved_back"),
            _Figure("failed consumers", "failed"),
            _Figure("groups that are not stable", "CAST(NOT stable AS INT)"),
        ),
    ),
    _Compared(
        BALANCE,
        "Assignments side by side",
        True,
        (
            _Figure("most minus fewest partitions per member, mean", "max - min", "avg", CellType.DECIMAL),
            _Figure("idle members", "idle_members"),
            _Figure("partition moves", "moved"),
            _Figure("unassigned partitions", "unassigned"),
        ),
    ),
)


def comparison(runs: Sequence[FinishedRun], labels: Sequence[str]) -> RunResults:
    """Return what runs about the same groups have in common and where they differ."""
    blocks = [block for of in _COMPARED for block in _blocks(of, runs, labels)]
    return RunResults(tuple(blocks))


def _blocks(of: _Compared, runs: Sequence[FinishedRun], labels: Sequence[str]) -> Iterator[Table]:
    having = [(run, label) for run, label in zip(runs, labels, strict=True) if run.rows(of.table)]
    if len(having) < 2 or len({run.job for run, _ in having}) > 1:
        return
    united = reduce(DataFrame.unionByName, [_figures(of, place, *run) for place, run in enumerate(having)])
    number = F.count("*").alias("settings")
    in_order = united.select("run", "setting").distinct().orderBy("run", "setting")
    settings = [row["setting"] for row in in_order.limit(MOST_COLUMNS).collect()]
    common = united.groupBy(*_KEYS).agg(number).where(F.col("settings") >= len(settings)).select(*_KEYS)
    rows = united.where(F.col("setting").isin(*settings)).join(common, list(_KEYS), "left_semi")
    with caching([rows]):
        sums = rows.groupBy("setting").agg(F.count("*").alias("groups"), *_totals(of)).collect()
        totals = {row["setting"]: row for row in sums}
        if len(totals) > 1:
            yield _totals_table(of, [name for name in settings if name in totals], totals)
            yield from _groups_table(of, rows, settings)


def _figures(of: _Compared, place: int, run: FinishedRun, label: str) -> DataFrame:
    """Return the figures of a run: a row for each group and setting."""
    setting: SparkColumn = F.concat(F.lit(f"{label}: "), "strategy") if of.by_strategy else F.lit(label)
    table = run.table(of.table)
    usable = table.where("error IS NULL") if "error" in table.columns else table
    values = [F.expr(figure.value).cast("double").alias(f"f{place}") for place, figure in enumerate(of.figures)]
    return usable.select(*_KEYS, F.lit(place).alias("run"), setting.alias("setting"), *values)


def _totals(of: _Compared) -> list[SparkColumn]:
    return [F.expr(f"{figure.total}(f{place}) AS f{place}") for place, figure in enumerate(of.figures)]


def _totals_table(of: _Compared, settings: Sequence[str], totals: dict[str, Row]) -> Table:
    groups = totals[settings[0]]["groups"]
    head = columns("figure", *names(*settings), "change")
    rows = tuple(
        (figure.title, *(shown(totals[name][f"f{place}"], figure.type) for name in settings),
         _change(totals[settings[0]][f"f{place}"], totals[settings[-1]][f"f{place}"], figure.type))
        for place, figure in enumerate(of.figures)
    )  # fmt: skip
    note = f"Over the {plural(groups, 'group')} of all columns. The change is from the first column to the last."
    return Table(of.caption, head, rows, note)


def _groups_table(of: _Compared, rows: DataFrame, settings: Sequence[str]) -> Iterator[Table]:
    """Yield the groups that differ most between the first setting and the last."""
    figure = of.figures[0]
    pivoted = rows.groupBy(*_KEYS).agg(
        *[
            F.max(F.when(F.col("setting") == name, F.col("f0"))).alias(f"s{place}")
            for place, name in enumerate(settings)
        ]
    )
    difference = F.abs(F.col(f"s{len(settings) - 1}") - F.col("s0"))
    found = pivoted.where(difference > 0).orderBy(F.desc(difference), *_KEYS).limit(SHOWN_GROUPS).collect()
    if found:
        values = tuple(Column(name, figure.type, f"s{place}") for place, name in enumerate(settings))
        yield Table.of(f"Groups that differ most: {figure.title}", columns("cluster", GROUP, *values), found)


def _change(before: float | None, after: float | None, cell_type: CellType) -> str:
    """Return a change with its sign and, if it is not from 0, in per cent."""
    if before is None or after is None:
        return shown(None, cell_type)
    if before == after:
        return "none"
    difference = abs(after - before)
    amount = f"{seconds(difference)} s" if cell_type is CellType.SECONDS else shown(difference, cell_type)
    sign = "+" if after > before else "\N{MINUS SIGN}"
    return f"{sign}{amount}" + (f" ({sign}{100 * difference / before:.1f} %)" if before and difference < before else "")
