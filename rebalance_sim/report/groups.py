"""The groups that stand out: the highest by a figure, and those with problems."""

from collections.abc import Sequence

from pyspark.sql import DataFrame, Row, Window
from pyspark.sql import functions as F

from rebalance_sim.report.page import GROUP, Check, Level, Table, columns
from rebalance_sim.report.text import count

SHOWN_GROUPS = 5
"""Groups shown per strategy."""


def highest(groups: DataFrame, figure: str) -> DataFrame:
    """Rank the groups of each strategy by a figure, the highest first."""
    order = Window.partitionBy("strategy").orderBy(F.desc(figure), "cluster", "group_id")
    return groups.withColumn("rank", F.row_number().over(order)).where(F.col("rank") <= SHOWN_GROUPS)


def shown_groups(ranked: DataFrame, *within: str) -> list[Row]:
    """Return the first groups of a ranking by strategy, and by further columns."""
    return ranked.where(F.col("rank") <= SHOWN_GROUPS).orderBy("strategy", *within, "rank").collect()


def groups_table(what: str, rows: Sequence[Row], *titles: str | tuple[str, str], note: str = "") -> Table:
    """Return the result of ``shown_groups`` as a table."""
    head = columns("strategy", "cluster", GROUP, *titles)
    return Table.of(f"{what} (up to {SHOWN_GROUPS} per strategy)", head, rows, note)


def problems_by_kind(rows: DataFrame, *by: str) -> DataFrame:
    """Count rows by their column ``kind``, and by further columns, each with its first group."""
    return (
        rows.groupBy(*by, "kind")
        .agg(F.count("*").alias("times"), F.min(F.struct("cluster", "group_id")).alias("first"))
        .select(*by, "kind", "times", "first.*")
        .orderBy(F.desc("times"), *by, "kind")
    )


def problems_table(caption: str, titles: tuple[str, str], rows: Sequence[Row], *by: str) -> Table:
    """Return the result of ``problems_by_kind`` as a table; ``titles`` are those of ``kind`` and ``times``."""
    kind, times = titles
    head = columns(*by, (kind, "kind"), (times, "times"), "cluster", ("first group", "group_id"))
    return Table.of(caption, head, rows)


def group_of(row: Row) -> tuple[str, str]:
    """Return the names that identify the group of a row, as the example of a check."""
    return row["cluster"], row["group_id"]


def check_of(level: Level, number: int, what: str, section: str, first: Row | None) -> Check:
    """Return a check of a number that should be 0; ``level`` applies if it is not, and ``first`` is an example."""
    where = () if first is None else group_of(first)
    return Check(level if number else Level.OK, count(number), what, section, where, many=number > 1)
