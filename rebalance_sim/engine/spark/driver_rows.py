"""Rows that stay in the driver, for inputs so small that Spark's jobs and workers take longer than the rules.

A session with ``KEEPS_ROWS`` applies the rules in the driver, and reads its inputs once. The rows are those of any
other session: ``map_batches`` calls the same functions.
"""

import gc
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.pandas.types import to_arrow_schema, to_arrow_type
from pyspark.sql.types import DataType, StructField, StructType

KEEPS_ROWS = "spark.rebalanceSim.keepsRowsInDriver"
"""Property of a session for small inputs."""

_BATCH, _USUAL_BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch", 10_000
BatchFunction = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
ArrayFunction = Callable[[Iterator[tuple[pa.Array, ...]]], Iterator[pa.Array]]


def keeps_rows(spark: SparkSession) -> bool:
    """Return whether the session was started for small inputs."""
    return spark.conf.get(KEEPS_ROWS, "false") == "true"


def _in_worker(function: BatchFunction) -> BatchFunction:
    """Return a function for one of Spark's workers.

    The worker looks for garbage after each task, and Python does so while a task makes many objects. Each time, they
    would visit all objects of the imported packages.
    """

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        gc.freeze()
        return function(batches)

    return run


def map_batches(rows: DataFrame, function: BatchFunction, schema: StructType) -> DataFrame:
    """Apply a function to Arrow batches of rows: in Spark's workers, or at once in the driver if it keeps rows."""
    if not keeps_rows(rows.sparkSession):
        return rows.mapInArrow(_in_worker(function), schema)
    most = int(rows.sparkSession.conf.get(_BATCH, str(_USUAL_BATCH)) or _USUAL_BATCH)
    answers = list(function(iter(rows.toArrow().combine_chunks().to_batches(max_chunksize=most))))
    return driver_rows(rows.sparkSession, pa.Table.from_batches(answers, to_arrow_schema(schema)), schema)


def with_column(rows: DataFrame, name: str, function: ArrayFunction, of: Sequence[str], kind: DataType) -> DataFrame:
    """Add a column that a function computes from Arrow arrays of expressions ``of``, in workers or in the driver.

    The function gets batch after batch; equal arguments need not have equal results.
    """
    if not keeps_rows(rows.sparkSession):
        in_workers = cast(Any, arrow_udf)(function, kind.simpleString()).asNondeterministic()
        return rows.withColumn(name, in_workers(*map(F.expr, of)))
    given = rows.selectExpr("struct(*) AS row", *of).toArrow().combine_chunks()
    batches = (tuple(batch.columns[1:]) for batch in given.to_batches())
    answers = pa.chunked_array(list(function(batches)), to_arrow_type(kind))
    flat = pa.Table.from_struct_array(given["row"]).append_column(name, answers)
    return driver_rows(rows.sparkSession, flat, StructType([*rows.schema, StructField(name, kind)]))


def without_null(name: str, kind: DataType) -> Column:
    """Return a column of lists in which null is an empty list.

    For each null list, Spark's Arrow writer visits all rows of a batch since the last list that is not null
    (``ListVector.setNull`` of Arrow 19): with 10,000 nulls per batch, longer than for all other columns together.
    """
    return F.coalesce(name, F.array().cast(kind)).alias(name)


def in_driver(rows: DataFrame) -> DataFrame:
    """Compute rows and keep them in the driver; rows that Arrow cannot hold stay where they are."""
    try:
        to_arrow_schema(rows.schema)
    except PySparkException:
        return rows
    return driver_rows(rows.sparkSession, rows.toArrow(), rows.schema)


def no_rows(spark: SparkSession, schema: StructType) -> DataFrame:
    """Return an empty DataFrame; made of an empty list, it would be an RDD, which takes a job to read."""
    return driver_rows(spark, pa.table({}), schema)


def driver_rows(spark: SparkSession, rows: pa.Table, schema: StructType) -> DataFrame:
    """Return rows of the driver as a DataFrame."""
    # Spark cannot read a nested column without any batch.
    return spark.createDataFrame(rows if rows.num_rows else to_arrow_schema(schema).empty_table(), schema)
