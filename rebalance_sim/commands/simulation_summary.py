"""What ``simulate`` says on the console."""

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F


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
