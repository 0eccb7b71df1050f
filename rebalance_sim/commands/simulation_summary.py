"""What ``simulate`` says on the console."""

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from rebalance_sim.commands.summary import columns, shown_number
from rebalance_sim.tables import LAG_COSTS

SHOWN_LATE_GROUPS = 3
"""Groups of each strategy whose records wait longest that are shown."""


def summarise_costs(costs: DataFrame) -> list[str]:
    """Sum the costs up, by strategy; groups that nothing happens to are only counted."""
    rows = (
        costs.groupBy("strategy", _touched().alias("touched"))
        .agg(
            F.count("*").alias("groups"),
            F.count("error").alias("not_simulated"),
            F.sum("rebalances").alias("rebalances"),
            F.avg(F.try_divide("paused_ms", "partitions")).alias("paused"),
            F.percentile("settle_ms", F.lit(0.5)).alias("settle"),
            F.sum((~F.col("settled") & F.col("error").isNull()).cast("int")).alias("unsettled"),
            F.sum("moved").alias("moved"),
            F.sum("moved_back").alias("moved_back"),
            F.sum("evicted").alias("evicted"),
            F.sum("storms").alias("storms"),
            F.sum("failed").alias("failed"),
        )
        .orderBy("strategy", F.desc("touched"))
        .collect()
    )
    lines = []
    for row in rows:
        if not row["touched"]:
            lines.append(f"{row['strategy']}: nothing happens to {row['groups']:,} groups; they are in no other figure")
            continue
        lines.append(f"{row['strategy']}: {row['groups']:,} groups, {row['rebalances'] or 0:,} rebalances")
        lines.append(f"  a partition stands still for {(row['paused'] or 0) / 1000:.2f} s, in the mean over the groups")
        settled = f"half of the groups settle within {row['settle'] / 1000:.1f} s" if row["settle"] is not None else ""
        lines.append(f"  {settled or 'no group settles'}; {row['unsettled'] or 0:,} do not")
        lines.append(f"  {row['moved'] or 0:,} partitions move, {row['moved_back'] or 0:,} of them back")
        for name, told in (("evicted", "members are evicted"), ("storms", "storms"), ("failed", "consumers fail")):
            if row[name]:
                lines.append(f"  {row[name]:,} {told}")
        if row["not_simulated"]:
            lines.append(f"  {row['not_simulated']:,} groups are not simulated (error in costs)")
    return lines


def _touched() -> Column:
    """Tell whether anything happens to a group."""
    figures = (F.col(name) > 0 for name in ("events", "rebalances", "paused_ms"))
    return reduce(Column.__or__, figures, F.col("error").isNotNull())


def summarise_advice(advice: DataFrame) -> list[str]:
    """Say which settings would have saved most."""
    rows = (
        advice.groupBy("strategy", "setting", "value")
        .agg(
            F.sum("paused_ms_saved").alias("saved"),
            F.sum("rebalances_saved").alias("rebalances"),
            F.sum(F.col("best").cast("int")).alias("best"),
        )
        .orderBy("strategy", F.desc("saved"), "setting", "value")
        .collect()
    )
    lines = []
    for row in rows:
        saved = (row["saved"] or 0) / 1000
        lines.append(
            f"{row['strategy']} with {row['setting']} {row['value']}: saves {saved:,.0f} partition-seconds and "
            f"{row['rebalances'] or 0:,} rebalances; best for {row['best'] or 0:,} groups"
        )
    return lines


def summarise_lag_costs(costs: DataFrame) -> list[str]:
    """How much lag stands still or moves, by strategy, and the groups that it costs most."""
    figures = ("lag", "paused_lag", "moved_lag", "paused_record_ms")
    sums = [F.try_sum(name).alias(name) for name in figures]
    by_strategy = costs.groupBy("strategy").agg(F.count("*").alias("groups"), *sums).orderBy("strategy").collect()
    if not by_strategy:
        return ["no partition with lag stands still or moves"]
    lines = [
        f"{row['strategy']}: {shown_number(row['lag'])} records wait in {row['groups']:,} groups; "
        f"{shown_number(row['paused_lag'])} in partitions that stand still, {shown_number(row['moved_lag'])} in some "
        f"that move; {_seconds(row['paused_record_ms'], row['lag'])} later, in the mean"
        for row in by_strategy
    ]
    worst = costs.where(F.col("rank") <= SHOWN_LATE_GROUPS).orderBy("strategy", "rank").collect()
    cells = [
        (
            row["strategy"],
            row["group_id"],
            *(shown_number(row[name]) for name in ("lag", "paused_lag", "moved_lag")),
            _seconds(row["max_paused_ms"], 1),
            _seconds(row["paused_record_ms"], row["lag"]),
        )
        for row in worst
    ]
    header = ("strategy", "group", "lag", "stands still", "moves", "at the longest", "later, in the mean")
    return [*lines, "", f"where records wait longest (all groups in {LAG_COSTS.name})", *columns(header, cells)]


def _seconds(milliseconds: int | None, of: int | None) -> str:
    return "-" if milliseconds is None or not of else f"{milliseconds / of / 1000:.1f} s"
