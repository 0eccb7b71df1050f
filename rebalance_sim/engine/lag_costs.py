"""What a simulation costs where records wait: lag in partitions that stand still or go to another consumer."""

from collections.abc import Callable

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from rebalance_sim.tables import LAG_COSTS

_GROUP = ("cluster", "group_id")
_SIMULATED = (*_GROUP, "strategy")
_PARTITION = (*_GROUP, "topic", "partition")


def lag_costs(lags: DataFrame) -> Callable[[DataFrame], DataFrame]:
    """From partition costs to those of each group where lag sits; ``lags`` are those of ``lag.partition_lag``."""
    with_lag = lags.where("lag > 0").select(*_PARTITION, "lag")
    of_groups = with_lag.groupBy(*_GROUP).agg(F.count("*").alias("lag_partitions"), F.try_sum("lag").alias("lag"))
    paused = F.col("paused_ms") > 0
    record_ms = F.try_multiply("lag", "paused_ms")
    worst = F.struct(-record_ms, "topic", "partition", "lag", "paused_ms")
    first = Window.partitionBy("strategy").orderBy(
        F.desc_nulls_first("paused_record_ms"), F.desc_nulls_first("moved_lag"), *_GROUP
    )
    return lambda costs: (
        costs.join(with_lag, [*_PARTITION])
        .groupBy(*_SIMULATED)
        .agg(
            F.count_if(paused).alias("paused_lag_partitions"),
            F.try_sum(F.when(paused, F.col("lag")).otherwise(0)).alias("paused_lag"),
            F.try_sum(F.when(F.col("moved") > 0, F.col("lag")).otherwise(0)).alias("moved_lag"),
            F.max("paused_ms").alias("max_paused_ms"),
            F.try_sum(record_ms).alias("paused_record_ms"),
            F.min(F.when(paused, worst)).alias("worst"),
        )
        .join(of_groups, [*_GROUP])
        .withColumns(
            {
                "delay_ms": F.col("paused_record_ms") / F.col("lag"),
                "worst_partition": F.when(F.col("worst").isNotNull(), F.struct("worst.topic", "worst.partition")),
                "worst_lag": F.col("worst.lag"),
                "worst_paused_ms": F.col("worst.paused_ms"),
                "rank": F.row_number().over(first),
            }
        )
        .select(*[F.col(column.name).cast(column.type) for column in LAG_COSTS.columns])
    )
