"""The reasons for past rebalances that the logs of brokers have."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from rebalance_sim.kafka.history.rebalance_steps import RebalanceStep
from rebalance_sim.tables import GENERATIONS

_GENERATION = ("cluster", "group_id", "generation")


def with_log_reasons(generations: DataFrame, steps: DataFrame) -> DataFrame:
    """Add to generations why their rebalances began; ``steps`` are those of ``broker_logs``.

    A group that was deleted and created again has generations with the same numbers, of which logs do not say which one
    they mean: their times may be of any time zone. A rewritten record has no rebalance.
    """
    begun = steps.where((F.col("step") == RebalanceStep.PREPARING) & F.col("reason").isNotNull())
    in_order = F.sort_array(F.collect_set(F.struct("at_ms", "reason")))
    reasons = begun.groupBy(*_GENERATION).agg(in_order["reason"].alias("_reasons"))
    of_number = Window.partitionBy(*_GENERATION)
    is_sure = ~F.col("rewritten") & (F.count_if(~F.col("rewritten")).over(of_number) == 1)
    found = generations.withColumn("_is_sure", is_sure).join(reasons, [*_GENERATION], "left")
    return found.withColumn("log_reasons", F.when(F.col("_is_sure"), F.col("_reasons"))).select(*GENERATIONS.names)
