"""The load of each partition, and its heaviest keys."""

from collections.abc import Callable

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rebalance_sim.engine.spark.sql_text import when
from rebalance_sim.tables import PARTITION_LOAD

HEAVIEST = 5
"""Number of keys listed for a partition."""
_TOPIC = ("client", "cluster", "topic")
_PARTITION = (*_TOPIC, "partition")
_SUMS = ("sum(records) AS records", "sum(bytes) AS bytes")
_BUCKETS = 4096
_KEPT_BUCKETS = 32
_BUCKET = "_bucket"
_KEYS = PARTITION_LOAD.schema["heaviest_keys"].dataType.simpleString()
_OF_TOPIC, _OF_PARTITION = (f"PARTITION BY {', '.join(columns)}" for columns in (_TOPIC, _PARTITION))
RECORD_BYTES = "CAST(coalesce(octet_length(key), 0) AS BIGINT) + coalesce(value_bytes, 0)"
"""The bytes of a record's key and value."""


def partition_load(topics: DataFrame, exact: bool = False) -> Callable[[DataFrame], DataFrame]:
    """Transform record_partitions to the load of every partition of the topics that have records.

    Records without a partition are left out. The heaviest keys are found in two passes: records are counted by 4,096
    hash buckets of their keys, then by key in the 32 heaviest buckets of each partition. Listed counts are exact and do
    not depend on the order of rows; a heavy key can only be missed if it has fewer records than the 32nd of these
    buckets. ``exact`` counts all keys in one pass, which needs memory and a shuffle for each of them.
    """

    def transform(record_partitions: DataFrame) -> DataFrame:
        # Only the partition can be null. Filtering on all four columns lets Spark reuse one count for both uses below.
        records = record_partitions.where(" AND ".join(f"{name} IS NOT NULL" for name in _PARTITION)).selectExpr(
            *_PARTITION, "key", "1L AS records", f"{RECORD_BYTES} AS bytes"
        )
        if exact:
            return records.transform(load_of_keys(topics))
        bucket = when("key IS NOT NULL", f"CAST(pmod(xxhash64(key), {_BUCKETS}) AS INT)")
        bucketed = records.selectExpr("*", f"{bucket} AS {_BUCKET}")
        by_bucket = bucketed.transform(_by(_BUCKET))
        of_heavy_buckets = bucketed.join(
            F.broadcast(by_bucket.transform(_largest(_BUCKET, _KEPT_BUCKETS)).select(*_PARTITION, _BUCKET)),
            [*_PARTITION, _BUCKET],
            "left_semi",
        )
        return _loads(by_bucket, of_heavy_buckets.transform(_by("key")), topics)

    return transform


def load_of_keys(topics: DataFrame) -> Callable[[DataFrame], DataFrame]:
    """Transform ``client, cluster, topic, partition, key, records, bytes`` to the load of every partition."""

    def transform(keys: DataFrame) -> DataFrame:
        by_key = keys.transform(_by("key"))
        return _loads(by_key, by_key, topics)

    return transform


def partition_shares(topics: DataFrame) -> Callable[[DataFrame], DataFrame]:
    """Transform ``client, cluster, topic, partition, records, bytes`` to the load without the heaviest keys."""

    def transform(counted: DataFrame) -> DataFrame:
        by_partition = counted.groupBy(*_PARTITION).agg(*map(F.expr, _SUMS))
        return by_partition.transform(_every_partition(topics)).transform(_with_shares)

    return transform


def _loads(counted: DataFrame, by_key: DataFrame, topics: DataFrame) -> DataFrame:
    heaviest = f"coalesce(heaviest_keys, CAST(array() AS {_KEYS})) AS heaviest_keys"
    return (
        counted.transform(partition_shares(topics))
        .join(by_key.transform(_heaviest_keys), [*_PARTITION], "left")
        .selectExpr(*[heaviest if name == "heaviest_keys" else name for name in PARTITION_LOAD.names])
    )


def _by(column: str) -> Callable[[DataFrame], DataFrame]:
    """Sum the records and bytes of partitions by one more column."""
    return lambda records: records.groupBy(*_PARTITION, column).agg(*map(F.expr, _SUMS))


def _largest(column: str, number: int) -> Callable[[DataFrame], DataFrame]:
    """Rank the rows of each partition by records and keep the first; the row of records without key is left out.

    That row is ranked last and removed afterwards: if it were removed first, this plan would differ from the one that
    counts the partitions' records, and Spark would compute both.
    """
    first = f"{column} IS NULL, records DESC, bytes DESC, {column}"
    return lambda rows: rows.selectExpr("*", f"row_number() OVER ({_OF_PARTITION} ORDER BY {first}) AS _rank").where(
        f"_rank <= {number} AND {column} IS NOT NULL"
    )


def _heaviest_keys(by_key: DataFrame) -> DataFrame:
    entry = "named_struct('_rank', _rank, 'entry', struct(key, records, bytes))"
    listed = f"transform(array_sort(collect_list({entry})), item -> item.entry) AS heaviest_keys"
    return by_key.transform(_largest("key", HEAVIEST)).groupBy(*_PARTITION).agg(F.expr(listed))


def _every_partition(topics: DataFrame) -> Callable[[DataFrame], DataFrame]:
    """Add the partitions without records: each row adds those before it, the last row also those after it."""
    known = F.broadcast(topics.select("cluster", "topic", "partitions"))
    window = f"OVER ({_OF_TOPIC} ORDER BY partition)"
    first = f"coalesce(lag(partition) {window} + 1, 0)"
    last = f"if(lead(partition) {window} IS NULL, partitions - 1, partition)"
    counts = [f"if(number = partition, {name}, 0) AS {name}" for name in ("records", "bytes")]
    return lambda counted: (
        counted.join(known, ["cluster", "topic"])
        .selectExpr("*", f"sequence({first}, {last}) AS numbers")
        .selectExpr("*", "explode(numbers) AS number")
        .selectExpr(*_TOPIC, "number AS partition", *counts)
    )


def _with_shares(loads: DataFrame) -> DataFrame:
    by_records, by_bytes = (f"sum({name}) OVER ({_OF_TOPIC})" for name in ("records", "bytes"))
    share = f"coalesce(bytes / nullif({by_bytes}, 0), records / {by_records})"
    return loads.selectExpr("*", f"{share} AS share").selectExpr(
        "*", f"share * count(*) OVER ({_OF_TOPIC}) AS imbalance"
    )
