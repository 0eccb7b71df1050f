"""The same rows laid out otherwise, which must change nothing."""

from contextlib import AbstractContextManager

from pyspark.sql import SparkSession

from tests.spark_settings import set_for_a_while


def shuffled_into(spark: SparkSession, partitions: int) -> AbstractContextManager[None]:
    """Shuffle into so many partitions, and send rows to Python in small batches of an odd size."""
    settings = {
        "spark.sql.shuffle.partitions": str(partitions),
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "37",
    }
    return set_for_a_while(spark, settings)
