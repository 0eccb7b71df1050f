"""Rows that Spark caches where it can: serverless sessions of Databricks cannot, and compute rows again instead."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from rebalance_sim.engine.spark.driver_rows import DriverRows


def cached(rows: DataFrame) -> DataFrame:
    """Cache rows, if the session can."""
    try:
        return rows.persist()
    except PySparkException:
        return rows


@contextmanager
def caching(tables: Iterable[DataFrame]) -> Iterator[None]:
    """Cache tables for a while; those that are cached anyway stay so."""
    with ExitStack() as end:
        for rows in tables:
            if not _is_cached(rows):
                end.callback(cached(rows).unpersist)
        yield


def _is_cached(rows: DataFrame) -> bool:
    if isinstance(rows, DriverRows):
        return True
    level = rows.storageLevel
    return level.useMemory or level.useDisk
