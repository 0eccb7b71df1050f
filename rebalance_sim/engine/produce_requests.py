"""What producers' batches come to."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rebalance_sim.tables import PRODUCE_REQUESTS

_FLEET = ("client", "cluster")


def produce_requests(batches: DataFrame) -> DataFrame:
    """From batches to produce_requests.

    A request has the batches that a producer sends to one broker at one time. Which broker leads a partition is not
    known here: so it has all of that time at most, and one at least.
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
            (F.sum("records") / F.sum("batches")).alias("records_a_batch"),
            (F.sum("bytes") / F.sum("batches")).alias("bytes_a_batch"),
            F.try_divide(F.sum("waited_ms"), batches_sent).alias("waited_ms"),
            F.count_if(sent).alias("requests_least"),
            batches_sent.alias("requests_most"),
        )
        .select(*PRODUCE_REQUESTS.names)
    )
