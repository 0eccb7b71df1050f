"""The same rows laid out otherwise, which must change nothing."""

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession


@contextmanager
def shuffled_into(spark: SparkSession, partitions: int) -> Iterator[None]:
    """Shuffle into so many partitions, and send rows to Python in small batches of an odd size."""
    settings = {
        "spark.sql.shuffle.partitions": str(partitions),
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "37",
    }
    before = {name: spark.conf.get(name) for name in settings}
    try:
        for name, value in settings.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, old in before.items():
            assert old is not None
            spark.conf.set(name, old)
