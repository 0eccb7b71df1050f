"""The load of each partition, and its heaviest keys."""

from collections.abc import Callable

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from rebalance_sim.tables import PARTITION_LOAD

HEAVIEST = 5
"""Number of keys listed for a partition."""
_TOPIC = ("client", "cluster", "topic")
_PARTITION = (*_TOPIC, "partition")
_COUNTED = ("records", "bytes")
_BUCKETS = 4096
_KEPT_BUCKETS = 32
_BUCKET = "_bucket"
_KEYS = PARTITION_LOAD.schema["heaviest_keys"].dataType


def record_bytes() -> Column:
    """Return the bytes of a record's key and value."""
    length = F.coalesce(F.octet_length("key"), F.lit(0))
    return length.cast("long") + F.coalesce("value_bytes", F.lit(0))


def partition_load(topics: DataFrame, exact: bool = False) -> Callable[[DataFrame], DataFrame]:
    """Transform record_partitions to the load of every partition of the topics that have records.

    Records without a partition are left out. The heaviest keys are found in two passes: records are counted by 4,096
    hash buckets of their keys, then by key in the 32 heaviest buckets of each partition. Listed counts are exact and do
    not depend on the order of rows; a heavy key can only be missed if it has fewer records than the 32nd of these
    buckets. ``exact`` counts all keys in one pass, which needs memory and a shuffle for each of them.
    """

    def transform(record_partitions: DataFrame) -> DataFrame:
        # Only the partition can be null. Filtering on all four columns lets Spark reuse one count for both uses below.
        records = record_partitions.where(" AND ".join(f"{name} IS NOT NULL" for name in _PARTITION)).select(
            *_PARTITION, "key", F.lit(1).cast("long").alias("records"), record_bytes().alias("bytes")
        )
        if exact:
            return records.transform(load_of_keys(topics))
        bucket = F.pmod(F.xxhash64("key"), F.lit(_BUCKETS)).cast("int")
        bucketed = records.withColumn(_BUCKET, F.when(F.col("key").isNotNull(), bucket))
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
        by_partition = counted.groupBy(*_PARTITION).agg(
            F.sum("records").alias("records"), F.sum("bytes").alias("bytes")
        )
        return by_partition.transform(_every_partition(topics)).transform(_with_shares)

    return transform


def _loads(counted: DataFrame, by_key: DataFrame, topics: DataFrame) -> DataFrame:
    return (
        counted.transform(partition_shares(topics))
        .join(by_key.transform(_heaviest_keys), [*_PARTITION], "left")
        .withColumn("heaviest_keys", F.coalesce("heaviest_keys", F.array().cast(_KEYS)))
        .select(*PARTITION_LOAD.names)
    )


def _by(column: str) -> Callable[[DataFrame], DataFrame]:
    """Sum the records and bytes of partitions by one more column."""
    return lambda records: records.groupBy(*_PARTITION, column).agg(
        F.sum("records").alias("records"), F.sum("bytes").alias("bytes")
    )


def _largest(column: str, number: int) -> Callable[[DataFrame], DataFrame]:
    """Rank the rows of each partition by records and keep the first; the row of records without key is left out.

    That row is ranked last and removed afterwards: if it were removed first, this plan would differ from the one that
    counts the partitions' records, and Spark would compute both.
    """
    first = Window.partitionBy(*_PARTITION).orderBy(
        F.col(column).isNull(), F.desc("records"), F.desc("bytes"), F.col(column)
    )
    return lambda rows: (
        rows.withColumn("_rank", F.row_number().over(first))
        .where(F.col("_rank") <= number)
        .where(f"{column} IS NOT NULL")
    )


def _heaviest_keys(by_key: DataFrame) -> DataFrame:
    listed = F.array_sort(F.collect_list(F.struct("_rank", F.struct("key", "records", "bytes").alias("entry"))))
    return (
        by_key.transform(_largest("key", HEAVIEST))
        .groupBy(*_PARTITION)
        .agg(F.transform(listed, lambda item: item["entry"]).alias("heaviest_keys"))
    )


def _every_partition(topics: DataFrame) -> Callable[[DataFrame], DataFrame]:
    """Add the partitions without records: each row adds those before it, the last row also those after it."""
    known = F.broadcast(topics.select("cluster", "topic", "partitions"))
    in_order = Window.partitionBy(*_TOPIC).orderBy("partition")
    first = F.coalesce(F.lag("partition").over(in_order) + 1, F.lit(0))
    last = F.when(F.lead("partition").over(in_order).isNull(), F.col("partitions") - 1).otherwise(F.col("partition"))
    return lambda counted: (
        counted.join(known, ["cluster", "topic"])
        .withColumns({"_first": first, "_last": last})
        .withColumn("_number", F.explode(F.sequence("_first", "_last")))
        .select(
            *_TOPIC,
            F.col("_number").alias("partition"),
            *[
                F.when(F.col("_number") == F.col("partition"), F.col(name)).otherwise(0).alias(name)
                for name in _COUNTED
            ],
        )
    )


def _with_shares(loads: DataFrame) -> DataFrame:
    of_topic = Window.partitionBy(*_TOPIC)
    by_records = F.col("records") / F.sum("records").over(of_topic)
    by_bytes = F.col("bytes") / F.nullif(F.sum("bytes").over(of_topic), F.lit(0))
    return loads.withColumn("share", F.coalesce(by_bytes, by_records)).withColumn(
        "imbalance", F.col("share") * F.count("*").over(of_topic)
    )
