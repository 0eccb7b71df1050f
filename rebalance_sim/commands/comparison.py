"""The comparison of several strategies: its tables, and its part of the summary."""

from collections.abc import Mapping
from functools import partial

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from rebalance_sim.commands.console import Cell, Cells, Line, Table
from rebalance_sim.commands.summary import SHOWN_GROUPS
from rebalance_sim.engine.groups.comparison import BEST, LARGEST, against_elected, changes, distributions
from rebalance_sim.engine.groups.comparison_rows import QUIRKS
from rebalance_sim.engine.runs.run import Run
from rebalance_sim.tables import CHANGES, COMPARISON, DISTRIBUTIONS
from rebalance_sim.wording import plural

SHOWN_CHANGES = 2
"""Gains and losses of each strategy that are printed."""


def write_distributions(run: Run, comparison: DataFrame) -> dict[str, DataFrame]:
    """Write the distributions and the largest changes of a comparison, and return them as written."""
    return {
        DISTRIBUTIONS.name: run.write(DISTRIBUTIONS.name, comparison.transform(distributions)),
        CHANGES.name: run.write(CHANGES.name, comparison.transform(changes())),
    }


def summarise_comparison(tables: Mapping[str, DataFrame]) -> list[Line]:
    """Return each strategy's distance from the optimum, the groups of a small fleet, and the largest changes."""
    comparison = tables[COMPARISON.name]
    if comparison.isEmpty():
        return []
    return [
        "",
        *_by_strategy(comparison, tables[DISTRIBUTIONS.name]),
        *_by_group(comparison),
        *_largest_changes(tables[CHANGES.name]),
    ]


def _by_strategy(comparison: DataFrame, distributed: DataFrame) -> list[Line]:
    exact = comparison.agg(F.count("*"), F.count_if("optimum.moved_exact")).first()
    groups, known = exact or (0, 0)
    excess = F.col("excess_moved")
    counts = (
        comparison.transform(against_elected)
        .groupBy("strategy")
        .agg(
            F.count_if((F.col("excess_stddev") == 0) & (excess == 0)).alias("best"),
            F.sum(F.when(excess.isNotNull(), F.greatest(excess, F.lit(0)))).alias("more"),
            F.sum(F.when(excess.isNotNull(), F.greatest(-excess, F.lit(0)))).alias("less"),
            F.count_if(F.col("change") == "gain").alias("gain"),
            F.count_if(F.col("change") == "loss").alias("loss"),
        )
        .collect()
    )
    figures = {(row["strategy"], row["figure"]): row for row in distributed.collect()}
    best = [BEST, *([groups] * 3), *_fleet_figures(BEST, figures), *([None] * 4)]
    rows = [best] + [_strategy_row(row, figures) for row in sorted(counts)]
    header = (
        *("strategy", "groups", "best balance", "and fewest moves", "mean stddev", "p99 stddev", "max stddev"),
        *("idle", "moved", "moves above optimum", "moves below", "gains", "losses"),
    )
    exact_in = "all groups" if known == groups else f"{known:,} of {plural(groups, 'group')}, a proven bound elsewhere"
    return [f"comparison with the optimum (exact in {exact_in})", Table(header, rows)]


def _strategy_row(counts: Row, figures: Mapping[tuple[str, str], Row]) -> list[Cell]:
    strategy = counts["strategy"]
    excess = figures[strategy, "excess_stddev"]
    return [
        strategy,
        excess["groups"],
        excess["zero"],
        counts["best"],
        *_fleet_figures(strategy, figures),
        *(counts[name] for name in ("more", "less", "gain", "loss")),
    ]


def _fleet_figures(strategy: str, figures: Mapping[tuple[str, str], Row]) -> list[Cell]:
    stddev = figures[strategy, "stddev"]
    totals = (figures[strategy, name]["total"] for name in ("idle_members", "moved"))
    return [
        *(stddev[name] for name in ("mean", "p99", "max")),
        *(None if total is None else round(total) for total in totals),
    ]


def _by_group(comparison: DataFrame) -> list[Line]:
    """Return the groups of a small fleet, with a column for each strategy."""
    rows = comparison.orderBy("cluster", "group_id").limit(SHOWN_GROUPS + 1).collect()
    if not 0 < len(rows) <= SHOWN_GROUPS:
        return []
    strategies = sorted({strategy for row in rows for strategy in row["strategies"]})
    header = ("group", "elected", BEST, *strategies)
    cells: Cells = {
        "group": "group_id",
        "elected": lambda row: row["elected"] or "-",
        BEST: lambda row: _best_cell(row["optimum"]),
        **{name: partial(_cell, name) for name in strategies},
    }
    title = "standard deviation of partitions per member, and partitions moved, by group"
    return ["", title, Table.of_rows(header, rows, cells)]


def _best_cell(best: Row) -> str:
    stddev, moved = f"{best['stddev']:.2f}", f"{best['moved']:,}"
    return f"{stddev if best['balance_exact'] else f'≥{stddev}'} {moved if best['moved_exact'] else f'≥{moved}'}"


def _cell(strategy: str, comparison: Row) -> str:
    figures = comparison["strategies"].get(strategy)
    if figures is None:
        return "-"
    if figures["error"] is not None:
        return "fails"
    faults = [f"{figures[name]:,} {name.replace('_', ' ')}" for name in ("unassigned", *QUIRKS) if figures[name]]
    return ", ".join([f"{figures['stddev']:.2f} {figures['moved']:,}", *faults])


def _largest_changes(changed: DataFrame) -> list[Line]:
    rows = changed.where(F.col("rank") <= SHOWN_CHANGES).orderBy("strategy", "change", "rank").collect()
    if not rows:
        return []
    header = ("strategy", "change", "group", "elected", "stddev", "moved")
    cells: Cells = {
        "group": "group_id",
        "stddev": lambda row: f"{row['elected_stddev']:.2f} to {row['stddev']:.2f}",
        "moved": lambda row: f"{row['elected_moved']:,} to {row['moved']:,}",
    }
    title = f"largest gains and losses compared with the elected protocol (up to {LARGEST} of each in {CHANGES.name})"
    return ["", title, Table.of_rows(header, rows, cells)]
