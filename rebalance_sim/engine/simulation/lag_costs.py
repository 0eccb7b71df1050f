"""The lag that a simulation affects: records in partitions that become unowned or move to another consumer."""

from collections.abc import Callable

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from rebalance_sim.engine.tables.percentiles import p99_of_counted
from rebalance_sim.tables import LAG_COSTS

_GROUP = ("cluster", "group_id")
_SIMULATED = (*_GROUP, "strategy")
_PARTITION = (*_GROUP, "topic", "partition")


def lag_costs(lags: DataFrame) -> Callable[[DataFrame], DataFrame]:
    """From partition costs to the affected lag of each group; ``lags`` are those of ``lag.partition_lag``."""
    with_lag = lags.where("lag > 0").select(*_PARTITION, "lag")
    of_groups = with_lag.groupBy(*_GROUP).agg(F.count("*").alias("lag_partitions"), F.try_sum("lag").alias("lag"))
    unowned = F.col("unowned_ms") > 0
    record_ms = F.try_multiply("lag", "unowned_ms")
    delay = F.struct("unowned_ms", F.col("lag").alias("records"))
    worst = F.struct(-record_ms, "topic", "partition", "lag", "unowned_ms")
    first = Window.partitionBy("strategy").orderBy(
        F.desc_nulls_first("unowned_record_ms"), F.desc_nulls_first("moved_lag"), *_GROUP
    )
    return lambda costs: (
        costs.join(with_lag, [*_PARTITION])
        .groupBy(*_SIMULATED)
        .agg(
            F.count_if(unowned).alias("unowned_lag_partitions"),
            F.try_sum(F.when(unowned, F.col("lag")).otherwise(0)).alias("unowned_lag"),
            F.try_sum(F.when(F.col("moved") > 0, F.col("lag")).otherwise(0)).alias("moved_lag"),
            F.max("unowned_ms").alias("max_unowned_ms"),
            F.try_sum(record_ms).alias("unowned_record_ms"),
            F.min(F.when(unowned, worst)).alias("worst"),
            F.sort_array(F.collect_list(F.when(unowned, delay)), asc=False).alias("delays"),
        )
        .join(of_groups, [*_GROUP])
        .withColumns(
            {
                "delay_ms": F.col("unowned_record_ms") / F.col("lag"),
                "p99_delay_ms": p99_of_counted("delays", "unowned_ms", "records", "lag"),
                "worst_partition": F.when(F.col("worst").isNotNull(), F.struct("worst.topic", "worst.partition")),
                "worst_lag": F.col("worst.lag"),
                "worst_unowned_ms": F.col("worst.unowned_ms"),
                "rank": F.row_number().over(first),
            }
        )
        .select(*[F.col(column.name).cast(column.type) for column in LAG_COSTS.columns])
    )
