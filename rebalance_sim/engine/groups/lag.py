"""The lag of each group's members, and its balance.

Lag is the log end offset minus the committed offset, and unknown if one of the two is, as in Kafka's tools
(``ConsumerGroupCommand.getLag`` of 4.3, where a committed offset of -1 means none). They print a negative lag for a
committed offset above the log end. Here that lag is 0, so that it does not reduce the sum over other partitions.
"""

from collections.abc import Callable, Sequence
from functools import partial

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from rebalance_sim.engine.groups.lag_rows import LAST, TABLES, lag_rows
from rebalance_sim.engine.groups.whole_groups import by_hash
from rebalance_sim.engine.spark.driver_rows import map_batches, without_null
from rebalance_sim.engine.tables.outcomes import outcome
from rebalance_sim.tables import LAG_BALANCE, MEMBERS, TOPIC_LAG, struct

_GROUP = ("cluster", "group_id")
_MEMBER = (*_GROUP, "strategy", "member_id")
_LISTS = {"partitions": "owned", "subscription": "subscription"}
"""Columns of lists, and columns of members with their types."""


def partition_lag(offsets: DataFrame, *more: str) -> DataFrame:
    """From usable offsets to ``cluster, group_id, topic, partition, lag, negative``; lag is null if unknown.

    ``more`` are further columns of the offsets to keep.
    """
    committed, end = F.col("committed"), F.col("end")
    known = (committed >= 0) & end.isNotNull()
    return offsets.select(
        *_GROUP,
        "topic",
        "partition",
        F.when(known, F.greatest(end - committed, F.lit(0))).alias("lag"),
        F.coalesce(committed > end, F.lit(False)).alias("negative"),
        *more,
    )


def topic_lag(offsets: DataFrame) -> DataFrame:
    """From usable offsets to the lag of each group's topics, which needs no assignment."""
    # Between equal lags the partition with the smallest number; null if no partition has lag.
    number = (-F.col("partition")).alias("number")
    first = F.max(F.when(F.col("lag") > 0, F.struct("lag", number, "committed_at_ms"))).alias("first")
    above = (F.col("committed") - F.col("end")).alias("above")
    highest = F.max(F.when(F.col("negative"), F.struct(above, number))).alias("highest")
    summed = (
        partition_lag(offsets, "committed_at_ms", "committed", "end")
        .groupBy(*_GROUP, "topic")
        .agg(
            F.count("*").cast("int").alias("partitions"),
            F.count_if(F.col("lag") > 0).cast("int").alias("lag_partitions"),
            F.count_if(F.col("lag").isNull()).cast("int").alias("unknown_partitions"),
            F.try_sum("lag").alias("lag"),
            F.max("lag").alias("max_partition_lag"),
            F.count_if("negative").cast("int").alias("negative_partitions"),
            first,
            highest,
        )
    )
    return (
        summed.where("lag_partitions > 0 OR unknown_partitions > 0 OR negative_partitions > 0")
        .withColumn("max_lag_partition", -F.col("first.number"))
        .withColumn("max_lag_committed_at_ms", F.col("first.committed_at_ms"))
        .withColumn("max_negative", F.col("highest.above"))
        .withColumn("max_negative_partition", -F.col("highest.number"))
        .select(*TOPIC_LAG.names)
    )


def lag_of(lags: DataFrame, members: DataFrame, tables: Sequence[str]) -> Callable[[DataFrame], DataFrame]:
    """From assignments to some tables of ``lag_rows.TABLES``, each as an ``outcome``.

    ``lags`` is the result of ``partition_lag``, and ``members`` has usable rows. A member without a row has an unknown
    subscription; if a member is repeated, its first row is used. Groups without lag are in ``group_lag`` only.
    """
    join_order, owned = F.coalesce("join_order", F.lit(LAST)).alias("join_order"), F.col("owned").alias("partitions")
    joined = members.select(*_GROUP, "member_id", join_order, "subscription", owned, "generation")
    given = lags.unionByName(joined, allowMissingColumns=True)
    lists = {name: without_null(name, MEMBERS.schema[of].dataType) for name, of in _LISTS.items()}
    return lambda assignments: map_batches(
        given.unionByName(assignments.select(*_MEMBER, "partitions"), allowMissingColumns=True)
        .withColumns(lists)
        .transform(by_hash),
        partial(lag_rows, tables=tuple(tables)),
        struct({name: TABLES[name] for name in tables}),
    )


def lag_balance(rows: DataFrame) -> DataFrame:
    """From ``lag_of`` to the balance of each group's lag, and the lag that moves."""
    first = Window.partitionBy("strategy").orderBy(F.desc_nulls_last("excess_lag"), F.desc_nulls_last("lag"), *_GROUP)
    return rows.transform(outcome(LAG_BALANCE.name)).withColumn("rank", F.row_number().over(first))


def against_elected(elections: DataFrame) -> Callable[[DataFrame], DataFrame]:
    """From ``lag_balance`` to the same with ``elected_max_lag``: ``max_lag`` under the elected protocol."""
    of_elected = F.max(F.when(F.col("strategy") == F.col("protocol"), F.col("max_lag"))).over(
        Window.partitionBy(*_GROUP)
    )
    protocols = elections.select(*_GROUP, "protocol")
    return lambda balanced: balanced.join(protocols, [*_GROUP], "left").withColumn("elected_max_lag", of_elected)
