"""Rows that stay in the driver, where they are so few that Spark's jobs and workers take longer than the rules.

A session with ``KEEPS_ROWS``, for small inputs, applies the rules in the driver, and reads its inputs once. Any session
does so for the few rows that ``in_driver`` brings there. The result is that of workers: ``map_batches`` calls the same
functions.
"""

import gc
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from functools import cached_property, update_wrapper
from typing import Any, Concatenate, ParamSpec, cast

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame
from pyspark.sql.conversion import ArrowTableToRowsConversion
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.pandas.types import to_arrow_schema, to_arrow_type
from pyspark.sql.types import DataType, StructField, StructType

KEEPS_ROWS = "spark.rebalanceSim.keepsRowsInDriver"
"""Property of a session for small inputs."""

_BATCH, _USUAL_BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch", 10_000
_FEW_VALUES = 100
"""Each value in an expression of Spark takes a call of the JVM."""
_Options = ParamSpec("_Options")
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
    """Apply a function to Arrow batches of rows: in Spark's workers, or at once in the driver if it keeps them."""
    if not _are_kept(rows):
        return rows.mapInArrow(_in_worker(function), schema)
    most = int(rows.sparkSession.conf.get(_BATCH, str(_USUAL_BATCH)) or _USUAL_BATCH)
    answers = list(function(iter(rows.toArrow().combine_chunks().to_batches(max_chunksize=most))))
    return DriverRows(rows.sparkSession, pa.Table.from_batches(answers, to_arrow_schema(schema)), schema)


def _are_kept(rows: DataFrame) -> bool:
    return isinstance(rows, DriverRows) or keeps_rows(rows.sparkSession)


def with_column(rows: DataFrame, name: str, function: ArrayFunction, of: Sequence[str], kind: DataType) -> DataFrame:
    """Add a column that a function computes from Arrow arrays of expressions ``of``, in workers or in the driver.

    The function gets batch after batch; equal arguments need not have equal results.
    """
    if not _are_kept(rows):
        in_workers = cast(Any, arrow_udf)(function, kind.simpleString()).asNondeterministic()
        return rows.withColumn(name, in_workers(*map(F.expr, of)))
    given = rows.selectExpr("struct(*) AS row", *of).toArrow().combine_chunks()
    batches = (tuple(batch.columns[1:]) for batch in given.to_batches())
    answers = pa.chunked_array(list(function(batches)), to_arrow_type(kind))
    flat = pa.Table.from_struct_array(given["row"]).append_column(name, answers)
    return DriverRows(rows.sparkSession, flat, StructType([*rows.schema, StructField(name, kind)]))


def without_null(name: str, kind: DataType) -> Column:
    """Return a column of lists in which null is an empty list.

    For each null list, Spark's Arrow writer visits all rows of a batch since the last list that is not null
    (``ListVector.setNull`` of Arrow 19): with 10,000 nulls per batch, longer than for all other columns together.
    """
    return F.coalesce(name, F.array().cast(kind)).alias(name)


class DriverRows(ClassicDataFrame):
    """Rows of the driver as a DataFrame: Spark gets them when it first needs them, and no job reads them back."""

    # A job takes Spark 0.1 s however few the rows are, and a run would start a hundred of them.

    def __init__(self, spark: SparkSession, rows: pa.Table, schema: StructType) -> None:
        """Take rows with the columns of the schema."""
        self._session, self._sc = spark, spark.sparkContext
        self.is_cached = self._support_repr_html = False
        self._rows = rows.cast(to_arrow_schema(schema))
        self.__dict__["schema"] = schema
        self.derived: dict[Hashable, DataFrame] = {}
        """What ``once`` computed of these rows."""

    @cached_property
    def _jdf(self) -> Any:
        rows = self._rows if self._rows.num_rows else self._rows.schema.empty_table()
        return cast(Any, self._session.createDataFrame(rows, self.schema))._jdf

    def toArrow(self) -> pa.Table:  # noqa: N802 (PySpark's name)
        """Return the rows."""
        return self._rows

    def collect(self) -> list[Row]:
        """Return the rows."""
        return collected(self)

    def count(self) -> int:
        """Return the number of rows."""
        return self._rows.num_rows

    def persist(self, *_: Any) -> "DriverRows":
        """Return the same rows."""
        return self

    def unpersist(self, *_: Any) -> "DriverRows":
        """Return the same rows."""
        return self

    def select(self, *columns: Any) -> DataFrame:
        """Select columns; Spark is asked for all but plain names."""
        names = columns[0] if len(columns) == 1 and isinstance(columns[0], list) else columns
        if not names or not all(isinstance(name, str) and name in self.schema.names for name in names):
            return super().select(*columns)
        schema = StructType([self.schema[name] for name in names])
        return DriverRows(self._session, self._rows.select(list(names)), schema)

    def drop(self, *columns: Any) -> DataFrame:
        """Leave out columns."""
        return self.select([name for name in self.schema.names if name not in columns])

    def field(self, name: str) -> DataFrame:
        """Return the fields of a struct column as columns, without the rows in which it is null."""
        structs = self._rows[name].combine_chunks()
        rows = pa.Table.from_struct_array(structs.filter(structs.is_valid()))
        return DriverRows(self._session, rows, cast(StructType, self.schema[name].dataType))

    def filtered(self, kept: pa.ChunkedArray) -> "DriverRows":
        """Return the rows for which ``kept`` is true."""
        return DriverRows(self._session, self._rows.filter(kept), self.schema)


def collected(rows: DataFrame) -> list[Row]:
    """Return rows whose maps have their entries in the order in which they were written; ``collect`` loses it."""
    return ArrowTableToRowsConversion.convert(rows.toArrow(), rows.schema)


def where_null(rows: DataFrame, name: str) -> DataFrame:
    """Return the rows in which a column is null."""
    if isinstance(rows, DriverRows):
        return rows.filtered(pc.is_null(rows.toArrow()[name]))
    return rows.where(F.col(name).isNull())


def where_in(rows: DataFrame, name: str, values: Collection[str]) -> DataFrame:
    """Return the rows in which a column of texts has one of these values."""
    if isinstance(rows, DriverRows):
        return rows.filtered(pc.is_in(rows.toArrow()[name], pa.array(values, pa.string())))
    if len(values) <= _FEW_VALUES:
        return rows.where(F.col(name).isin(*values))
    wanted = rows.sparkSession.createDataFrame(pa.table({name: pa.array(values, pa.string())}))
    return rows.join(F.broadcast(wanted), name, "left_semi").select(*rows.columns)


def once(
    function: Callable[Concatenate[DataFrame, _Options], DataFrame],
) -> Callable[Concatenate[DataFrame, _Options], DataFrame]:
    """Compute a function of rows of the driver once, and keep its rows there too; of others, Spark computes it."""

    def computed(rows: DataFrame, /, *args: _Options.args, **options: _Options.kwargs) -> DataFrame:
        if not isinstance(rows, DriverRows):
            return function(rows, *args, **options)
        key = (function, args, *options.items())
        if key not in rows.derived:
            rows.derived[key] = in_driver(function(rows, *args, **options))
        return rows.derived[key]

    update_wrapper(computed, function)
    return computed


def in_driver(rows: DataFrame) -> DataFrame:
    """Compute rows and keep them in the driver; those that Arrow cannot hold, or of Connect, stay where they are."""
    if isinstance(rows, DriverRows) or not isinstance(rows, ClassicDataFrame):
        return rows
    try:
        to_arrow_schema(rows.schema)
    except PySparkException:
        return rows
    return DriverRows(rows.sparkSession, rows.toArrow(), rows.schema)


def no_rows(spark: SparkSession, schema: StructType) -> DataFrame:
    """Return an empty DataFrame; made of an empty list, it would be an RDD, which takes a job to read."""
    return driver_rows(spark, to_arrow_schema(schema).empty_table(), schema)


def driver_rows(spark: SparkSession, rows: pa.Table, schema: StructType) -> DataFrame:
    """Return rows of the driver as a DataFrame, which stay there in a session for small inputs."""
    if keeps_rows(spark):
        return DriverRows(spark, rows, schema)
    # Spark cannot read a nested column without any batch.
    return spark.createDataFrame(rows if rows.num_rows else to_arrow_schema(schema).empty_table(), schema)
