"""The lag of many groups, and of one large group: seconds from Parquet files to the noop sink."""

import time
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from rebalance_sim import lag_balance, member_lag

_SHAPES = ((20_000, 5, 24), (1, 10, 100_000))
"""Groups, members and partitions of each group."""
_MOST_SECONDS, _RUNS = 10, 3


def bench_lag(spark: SparkSession, folder: Path) -> None:
    """Print the seconds of the lag of members and of its balance; those of the last run, when the JVM is warm."""
    print("\nlag")
    for groups, members, partitions in _SHAPES:
        assignments, owners, offsets = _tables(spark, folder, groups, members, partitions)
        for name, lags in (("member_lag", member_lag(offsets)), ("lag_balance", lag_balance(offsets, owners))):
            found = assignments.transform(lags)
            for _ in range(_RUNS):
                started = time.perf_counter()
                found.write.format("noop").mode("overwrite").save()
                seconds = time.perf_counter() - started
            of_groups = f"{groups:,} groups" if groups > 1 else "1 group"
            size = f"{of_groups} x {members} members x {partitions:,} partitions"
            print(f"  {name:12} {size:52} {seconds:8.2f} s (limit {_MOST_SECONDS})", flush=True)


def _tables(
    spark: SparkSession, folder: Path, groups: int, members: int, partitions: int
) -> tuple[DataFrame, DataFrame, DataFrame]:
    """Return assignments, members that own what they are assigned, and offsets; made on first use."""
    share = partitions // members

    def of_group(number: Column) -> dict[str, Column]:
        named = {"group_id": F.concat(F.lit("group-"), number), "topic": F.concat(F.lit("topic-"), number)}
        return {"cluster": F.lit("default")} | named

    number = F.col("id") % members
    listed = F.transform(
        F.sequence(F.lit(0), F.lit(share - 1)),
        lambda k: F.struct("topic", (k + number * share).cast("int").alias("partition")),
    )
    rows = spark.range(groups * members).withColumns(of_group((F.col("id") / members).cast("long")))
    rows = rows.withColumn("member_id", F.concat(F.lit("consumer-"), number)).withColumn("partitions", listed)
    owners = rows.withColumns(
        {
            "join_order": number,
            "subscription": F.array("topic"),
            "owned": F.col("partitions"),
            "protocols": F.array(F.lit("range")),
        }
    ).drop("partitions", "topic", "id")
    offsets = spark.range(groups * partitions).withColumns(of_group((F.col("id") / partitions).cast("long")))
    offsets = offsets.withColumns(
        {
            "partition": (F.col("id") % partitions).cast("int"),
            "committed": F.lit(0).cast("long"),
            "end": F.col("id") % 17,
        }
    ).drop("id")
    assignments = rows.select("cluster", "group_id", F.lit("range").alias("strategy"), "member_id", "partitions")
    made = []
    for name, table in (("assignments", assignments), ("members", owners), ("offsets", offsets)):
        path = folder / f"lag-{groups}-{members}-{partitions}" / name
        if not (path / "_SUCCESS").exists():
            table.write.mode("overwrite").parquet(str(path))
        made.append(spark.read.parquet(str(path)))
    return made[0], made[1], made[2]
