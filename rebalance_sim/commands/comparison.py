"""What a job writes and tells where it compares strategies."""

from collections.abc import Mapping

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from rebalance_sim.commands.summary import SHOWN_GROUPS, columns
from rebalance_sim.engine.comparison import (
    BEST,
    LARGEST,
    QUIRKS,
    against_elected,
    changes,
    compare_strategies,
    distributions,
)
from rebalance_sim.engine.runs import Run
from rebalance_sim.tables import CHANGES, COMPARISON, DISTRIBUTIONS

SHOWN_CHANGES = 2
"""Gains and losses of each strategy that are shown."""


def write_comparison(run: Run, predicted: DataFrame) -> dict[str, DataFrame]:
    """Write comparison, distributions and changes, and return them as written."""
    comparison = run.write(COMPARISON.name, predicted.transform(compare_strategies))
    return {
        COMPARISON.name: comparison,
        DISTRIBUTIONS.name: run.write(DISTRIBUTIONS.name, comparison.transform(distributions)),
        CHANGES.name: run.write(CHANGES.name, comparison.transform(changes())),
    }


def summarise_comparison(tables: Mapping[str, DataFrame]) -> list[str]:
    """How far each strategy is from the optimum, every group of a small fleet, and the largest gains and losses."""
    comparison = tables[COMPARISON.name]
    if comparison.isEmpty():
        return []
    return [
        "",
        *_by_strategy(comparison, tables[DISTRIBUTIONS.name]),
        *_by_group(comparison),
        *_largest_changes(tables[CHANGES.name]),
    ]


def _by_strategy(comparison: DataFrame, distributed: DataFrame) -> list[str]:
    exact = comparison.agg(F.count("*"), F.count_if("optimum.moved_exact")).first()
    groups, known = exact or (0, 0)
    counted = (
        comparison.transform(against_elected)
        .groupBy("strategy")
        .agg(
            F.count_if((F.col("excess_stddev") == 0) & (F.col("excess_moved") == 0)).alias("best"),
            F.sum(F.when(F.col("excess_moved").isNotNull(), F.greatest("excess_moved", F.lit(0)))).alias("more"),
            F.sum(F.when(F.col("excess_moved").isNotNull(), F.least("excess_moved", F.lit(0)))).alias("less"),
            F.count_if(F.col("change") == "gain").alias("gain"),
            F.count_if(F.col("change") == "loss").alias("lose"),
        )
        .collect()
    )
    figures = {(row["strategy"], row["figure"]): row for row in distributed.collect()}
    rows = [_best_row(groups, figures)] + [_strategy_row(row, figures) for row in sorted(counted)]
    header = (
        "strategy",
        "groups",
        "most even",
        "by fewest moves",
        "mean stddev",
        "p99 stddev",
        "idle",
        "moved",
        "over, under fewest",
        "gain",
        "lose",
    )
    found = "in all groups" if known == groups else f"in {known:,} of {groups:,} groups, a proven bound in the others"
    return [f"compared with the optimum, which is exact {found}", *columns(header, rows)]


def _best_row(groups: int, figures: Mapping[tuple[str, str], Row]) -> list[str]:
    return [BEST, *([f"{groups:,}"] * 3), *_fleet_figures(BEST, figures), "", "", ""]


def _strategy_row(counted: Row, figures: Mapping[tuple[str, str], Row]) -> list[str]:
    strategy = counted["strategy"]
    even = figures[strategy, "excess_stddev"]
    return [
        strategy,
        f"{even['groups']:,}",
        f"{even['zero']:,}",
        f"{counted['best']:,}",
        *_fleet_figures(strategy, figures),
        "-" if counted["more"] is None else f"{counted['more']:+,} {counted['less']:+,}",
        f"{counted['gain']:,}",
        f"{counted['lose']:,}",
    ]


def _fleet_figures(strategy: str, figures: Mapping[tuple[str, str], Row]) -> list[str]:
    stddev = figures[strategy, "stddev"]
    deviations = ["-" if stddev[name] is None else f"{stddev[name]:.2f}" for name in ("mean", "p99")]
    return [*deviations, *(_whole(figures[strategy, name]["total"]) for name in ("idle_members", "moved"))]


def _whole(total: float | None) -> str:
    return "-" if total is None else f"{total:,.0f}"


def _by_group(comparison: DataFrame) -> list[str]:
    """Lay out the groups of a small fleet, with a column for each strategy."""
    rows = comparison.orderBy("cluster", "group_id").limit(SHOWN_GROUPS + 1).collect()
    if not 0 < len(rows) <= SHOWN_GROUPS:
        return []
    strategies = sorted({strategy for row in rows for strategy in row["strategies"]})
    cells = [
        (
            row["group_id"],
            row["elected"] or "-",
            _best_cell(row["optimum"]),
            *(_cell(row["strategies"].get(strategy)) for strategy in strategies),
        )
        for row in rows
    ]
    return ["", "stddev and moved, by group", *columns(("group", "elected", BEST, *strategies), cells)]


def _best_cell(best: Row) -> str:
    stddev, moved = f"{best['stddev']:.2f}", f"{best['moved']:,}"
    return f"{stddev if best['balance_exact'] else f'≥{stddev}'} {moved if best['moved_exact'] else f'≥{moved}'}"


def _cell(figures: Row | None) -> str:
    if figures is None:
        return "-"
    if figures["error"] is not None:
        return "fails"
    faults = [f"{figures[name]:,} {name.replace('_', ' ')}" for name in ("unassigned", *QUIRKS) if figures[name]]
    return ", ".join([f"{figures['stddev']:.2f} {figures['moved']:,}", *faults])


def _largest_changes(changed: DataFrame) -> list[str]:
    rows = changed.where(F.col("rank") <= SHOWN_CHANGES).orderBy("strategy", "change", "rank").collect()
    if not rows:
        return []
    cells = [
        (
            row["strategy"],
            row["change"],
            row["group_id"],
            row["elected"],
            f"{row['elected_stddev']:.2f} to {row['stddev']:.2f}",
            f"{row['elected_moved']:,} to {row['moved']:,}",
        )
        for row in rows
    ]
    told = f"largest gains and losses against the elected protocol (at most {LARGEST} of each in {CHANGES.name})"
    return ["", told, *columns(("strategy", "", "group", "elected", "stddev", "moved"), cells)]
