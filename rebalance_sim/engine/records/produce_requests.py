"""Totals of the producers' batches and requests."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rebalance_sim.tables import PRODUCE_REQUESTS

_FLEET = ("client", "cluster")


def produce_requests(batches: DataFrame) -> DataFrame:
    """Transform batches to produce_requests.

    A request contains the batches that a producer sends to one broker at one time. The leaders of partitions are
    unknown, so the number of requests is a range: from one per point in time (one broker leads all partitions) to one
    per batch.
    """
    sent = F.col("closed_ms").isNotNull()
    at_once = batches.groupBy(*_FLEET, "producer_id", "closed_ms").agg(
        F.sum("records").alias("records"),
        F.sum(F.when(~sent, F.col("records")).otherwise(0)).alias("unsent"),
        F.sum(F.col("bytes").cast("long")).alias("bytes"),
        F.count("*").alias("batches"),
        F.sum("waited_ms").alias("waited_ms"),
    )
    batches_sent = F.sum(F.when(sent, F.col("batches")).otherwise(0))
    return (
        at_once.groupBy(*_FLEET)
        .agg(
            F.countDistinct("producer_id").alias("producers"),
            *[F.sum(name).alias(name) for name in ("records", "unsent", "bytes", "batches")],
            (F.sum("records") / F.sum("batches")).alias("records_per_batch"),
            (F.sum("bytes") / F.sum("batches")).alias("bytes_per_batch"),
            F.try_divide(F.sum("waited_ms"), batches_sent).alias("waited_ms"),
            F.count_if(sent).alias("min_requests"),
            batches_sent.alias("max_requests"),
        )
        .select(*PRODUCE_REQUESTS.names)
    )
