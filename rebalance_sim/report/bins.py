"""Histograms of a bounded size: bins of 0, 1, 2, 3 to 4, 5 to 8, 9 to 16 and so on."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from rebalance_sim.report.colours import StrategyColours
from rebalance_sim.report.page import CellType, Column, Table
from rebalance_sim.report.text import compact, label


def lowest_of_bin(number: SparkColumn) -> SparkColumn:
    """Return the lowest number of the bin of an integer.

    >>> numbers = spark.range(10).select(lowest_of_bin(F.col("id")).alias("bin"))
    >>> [row["bin"] for row in numbers.collect()]
    [0, 1, 2, 3, 3, 5, 5, 5, 5, 9]
    """
    below = F.pow(F.lit(2), F.length(F.bin(number - 1)) - 1)
    return F.when(number <= 2, number).otherwise(below + 1).cast("long")


def next_bin(lowest: int) -> int:
    """Return the lowest number of the next bin.

    >>> next_bin(2), next_bin(5)
    (3, 9)
    """
    return lowest + 1 if lowest <= 2 else 2 * lowest - 1


def bin_label(lowest: int) -> str:
    """Return the label of a bin.

    >>> bin_label(2), bin_label(1025)
    ('2', '1,025–2,048')
    """
    return str(lowest) if lowest <= 2 else f"{lowest:,}–{next_bin(lowest) - 1:,}"


def counted(rows: DataFrame, panel: str, number: SparkColumn) -> list[Row]:
    """Count rows by panel and bin: ``panel``, ``lowest``, ``value``."""
    by_bin = rows.where(number.isNotNull()).groupBy(F.col(panel).alias("panel"), lowest_of_bin(number).alias("lowest"))
    return by_bin.agg(F.count("*").alias("value")).orderBy("panel", "lowest").collect()


def filled(rows: Sequence[Row], colours: StrategyColours) -> list[dict[str, Any]]:
    """Return the rows of histograms, including empty bins."""
    found = {(row["panel"], row["lowest"]): row["value"] for row in rows}
    bins = list(_bins(lowest for _, lowest in found))
    return [
        {
            "panel": label(panel),
            "bin": bin_label(lowest),
            "value": (value := found.get((panel, lowest), 0)),
            "text": compact(value) if value else "",
            "colour": colours[panel],
        }
        for panel in dict.fromkeys(panel for panel, _ in found)
        for lowest in bins
    ]


def bins_table(caption: str, bins: str, of: str, rows: Sequence[Mapping[str, Any]]) -> Table:
    """Return the rows of histograms as a table; ``bins`` and ``of`` are the titles of the bins and of the counts."""
    head = (Column("strategy", CellType.NAME, "panel"), Column(bins, field="bin"), Column(of, CellType.COUNT, "value"))
    return Table.of(caption, head, rows)


def _bins(used: Iterable[int]) -> Iterable[int]:
    used = list(used)
    lowest = 0
    while used and lowest <= max(used):
        if lowest >= min(used):
            yield lowest
        lowest = next_bin(lowest)
