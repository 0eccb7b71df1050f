"""What each partition gets of the records, and the keys that it gets most of."""

from collections.abc import Callable

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from rebalance_sim.tables import PARTITION_LOAD

HEAVIEST = 5
"""Keys that are listed for a partition."""
_TOPIC = ("client", "cluster", "topic")
_PARTITION = (*_TOPIC, "partition")
_COUNTED = ("records", "bytes")
_BUCKETS = 4096
_KEPT_BUCKETS = 32
_BUCKET = "_bucket"
_KEYS = PARTITION_LOAD.schema["heaviest_keys"].dataType


def record_bytes() -> Column:
    """Bytes of a record's key and value."""
    length = F.coalesce(F.octet_length("key"), F.lit(0))
    return length.cast("long") + F.coalesce("value_bytes", F.lit(0))


def partition_load(topics: DataFrame, exact: bool = False) -> Callable[[DataFrame], DataFrame]:
    """From record_partitions to the load of every partition of the topics that have records.

    Records without a partition are left out. The heaviest keys are found in two passes: the records are counted by
    4,096 buckets of the keys' hashes, then by key in the 32 heaviest buckets of each partition. What is listed is
    exact, and the same however the rows lie; a key that is not listed though it should be has fewer records than the
    32nd of these buckets. ``exact`` counts all keys in one pass, which takes memory and a shuffle for each of them.
    """

    def transform(record_partitions: DataFrame) -> DataFrame:
        # None of the others is ever null. Saying so here is what lets Spark count by key or bucket once for two uses.
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
    """From rows of ``client, cluster, topic, partition, key, records, bytes`` to the load of every partition."""

    def transform(keys: DataFrame) -> DataFrame:
        by_key = keys.transform(_by("key"))
        return _loads(by_key, by_key, topics)

    return transform


def partition_shares(topics: DataFrame) -> Callable[[DataFrame], DataFrame]:
    """From rows of ``client, cluster, topic, partition, records, bytes`` to the load, but for the heaviest keys."""

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
    """Add up what partitions get, by one more column."""
    return lambda records: records.groupBy(*_PARTITION, column).agg(
        F.sum("records").alias("records"), F.sum("bytes").alias("bytes")
    )


def _largest(column: str, number: int) -> Callable[[DataFrame], DataFrame]:
    """Keep the rows of each partition with the most records, and rank them; not one for records without key.

    Null is ranked too, and taken away afterwards: so the rows are those that the partitions' records are counted from,
    and Spark computes them once.
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
    """Add the partitions that get nothing: each row brings those between it and the one before, the last all others."""
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
