"""Small tables for the tests."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
from pyarrow import parquet
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.conversion import LocalDataToArrowConversion
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from rebalance_sim.engine.runs.table_files import write_table
from rebalance_sim.engine.spark.driver_rows import driver_rows
from rebalance_sim.tables import MEMBERS, RECORDS, TOPICS, Table


def table(spark: SparkSession, of: Table, rows: list[dict[str, Any]]) -> DataFrame:
    """Return a table; columns missing from a row are null, except for the cluster."""
    return given_rows(spark, complete(of, rows), of.schema)


def complete(of: Table, rows: Iterable[Mapping[str, Any]]) -> list[tuple[Any, ...]]:
    """Return the values of all columns of a table; those missing from a row are null, except for the cluster."""
    return [tuple(({"cluster": "default"} | dict(row)).get(name) for name in of.names) for row in rows]


def arrow_rows(rows: Iterable[Any], schema: StructType) -> pa.Table:
    """Return rows, tuples with the values of all columns, as Arrow data."""
    given = list(rows)
    # The conversion takes no empty list.
    return LocalDataToArrowConversion.convert(given, schema, False) if given else to_arrow_schema(schema).empty_table()


def given_rows(spark: SparkSession, rows: Iterable[Any], schema: StructType | str) -> DataFrame:
    """Return rows, tuples with the values of all columns, as a DataFrame.

    Of a list, Spark would make an RDD: each job that reads it would convert the rows in Python workers.
    """
    of = schema if isinstance(schema, StructType) else cast(StructType, StructType.fromDDL(schema))
    return driver_rows(spark, arrow_rows(rows, of), of)


def topics(spark: SparkSession, **partitions: int) -> DataFrame:
    """Return a topics table from names and numbers of partitions."""
    return table(spark, TOPICS, [{"topic": name, "partitions": n} for name, n in partitions.items()])


def member(member_id: str, protocols: list[str], subscription: list[str], **more: Any) -> dict[str, Any]:
    """Return a row of the members table, by default of group ``g``."""
    given = {"member_id": member_id, "protocols": protocols, "subscription": subscription}
    return {"group_id": "g", "protocol_type": "consumer"} | given | more


def members(spark: SparkSession, *rows: dict[str, Any]) -> DataFrame:
    """Return a members table; members join in the given order."""
    return table(spark, MEMBERS, [{"join_order": i} | row for i, row in enumerate(rows)])


def record(key: bytes | None, topic: str = "t", **more: Any) -> dict[str, Any]:
    """Return a row of the records table, by default with a value of 10 bytes."""
    return {"topic": topic, "key": key, "value_bytes": 10} | more


def records(spark: SparkSession, *rows: dict[str, Any]) -> DataFrame:
    """Return a records table."""
    return table(spark, RECORDS, list(rows))


def given_by(folder: Path, **tables: DataFrame) -> list[str]:
    """Write tables into a folder, and return the options that name them."""
    for name, rows in tables.items():
        write_table(folder / name, rows.toArrow(), rows.schema)
    return [part for name in tables for part in (f"--{name}", f"{folder}/{name}")]


def contents(rows: DataFrame) -> list[str]:
    """Return the rows as sorted texts, to compare tables."""
    return sorted(str(row.asDict(recursive=True)) for row in rows.collect())


def written(folder: Path) -> tuple[list[tuple[str, pa.DataType]], list[str]]:
    """Return the columns of a table's Parquet files with their types, and the rows as sorted texts."""
    found = parquet.read_table(folder)
    return [(field.name, field.type) for field in found.schema], sorted(map(str, found.to_pylist()))
