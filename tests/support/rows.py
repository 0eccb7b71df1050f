"""Small tables for the tests."""

from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from rebalance_sim.tables import MEMBERS, RECORDS, TOPICS, Table


def table(spark: SparkSession, of: Table, rows: list[dict[str, Any]]) -> DataFrame:
    """Return a table; columns missing from a row are null, except for the cluster."""
    full = [tuple(({"cluster": "default"} | row).get(name) for name in of.names) for row in rows]
    return spark.createDataFrame(full, of.schema)


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
        rows.write.parquet(f"{folder}/{name}")
    return [part for name in tables for part in (f"--{name}", f"{folder}/{name}")]


def contents(rows: DataFrame) -> list[str]:
    """Return the rows as sorted texts, to compare tables."""
    return sorted(str(row.asDict(recursive=True)) for row in rows.collect())
