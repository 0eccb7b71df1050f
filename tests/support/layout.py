"""Different partitioning and batches of the same rows, which must not change any result."""

from contextlib import AbstractContextManager

from pyspark.sql import SparkSession

from tests.support.spark_settings import set_for_a_while


def shuffled_into(spark: SparkSession, partitions: int) -> AbstractContextManager[None]:
    """Shuffle into this many partitions, and send rows to Python in small batches of an odd size."""
    settings = {"spark.sql.shuffle.partitions": str(partitions), "spark.sql.execution.arrow.maxRecordsPerBatch": "37"}
    return set_for_a_while(spark, settings)
