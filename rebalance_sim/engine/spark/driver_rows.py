"""Rows that stay in the driver, for inputs so small that Spark's jobs and workers take longer than the rules.

A session with ``KEEPS_ROWS`` applies the rules in the driver, and reads its inputs once. The rows are those of any
other session: ``map_batches`` calls the same functions with the same batches.
"""

from collections.abc import Callable, Iterator

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

KEEPS_ROWS = "spark.rebalanceSim.keepsRowsInDriver"
"""Property of a session for small inputs."""

BatchFunction = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def keeps_rows(spark: SparkSession) -> bool:
    """Return whether the session was started for small inputs."""
    return spark.conf.get(KEEPS_ROWS, "false") == "true"


def map_batches(rows: DataFrame, function: BatchFunction, schema: StructType) -> DataFrame:
    """Apply a function to Arrow batches of rows: in Spark's workers, or at once in the driver if it keeps rows."""
    if not keeps_rows(rows.sparkSession):
        return rows.mapInArrow(function, schema)
    answers = list(function(iter(rows.toArrow().combine_chunks().to_batches())))
    return driver_rows(rows.sparkSession, pa.Table.from_batches(answers, to_arrow_schema(schema)), schema)


def in_driver(rows: DataFrame) -> DataFrame:
    """Compute rows and keep them in the driver; rows that Arrow cannot hold stay where they are."""
    try:
        to_arrow_schema(rows.schema)
    except PySparkException:
        return rows
    return driver_rows(rows.sparkSession, rows.toArrow(), rows.schema)


def driver_rows(spark: SparkSession, rows: pa.Table, schema: StructType) -> DataFrame:
    """Return rows of the driver as a DataFrame."""
    return spark.createDataFrame(rows, schema)
