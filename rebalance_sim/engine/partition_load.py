"""What each partition gets of the records, and the keys that it gets most of."""

from collections.abc import Callable

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from rebalance_sim.tables import PARTITION_LOAD

HEAVIEST = 5
"""Keys that are listed for a partition."""
_TOPIC = ("client", "cluster", "topic")
_PARTITION = (*_TOPIC, "partition")
_BUCKETS = 4096
_KEPT_BUCKETS = 32
_BUCKET = "_bucket"


def partition_load(topics: DataFrame, exact: bool = False) -> Callable[[DataFrame], DataFrame]:
    """From record_partitions to the load of every partition of the topics that have records.

    The heaviest keys are found in two passes: the records are counted by 4,096 buckets of the keys' hashes, then by key
    in the 32 heaviest buckets of each partition. What is listed is exact, and the same however the rows lie; a key that
    is not listed though it should be has fewer records than the 32nd of these buckets. ``exact`` counts all keys in
    one pass, which takes memory and a shuffle for each of them.
    """

    def transform(record_partitions: DataFrame) -> DataFrame:
        records = record_partitions.select(*_PARTITION, "key", _bytes().alias("bytes"))
        by_key = _by_key(records) if exact else _by_key(records.transform(_of_heavy_buckets))
        return (
            _every_partition(records, topics)
            .join(by_key.transform(_heaviest), [*_PARTITION], "left")
            .withColumn("heaviest_keys", F.coalesce("heaviest_keys", F.array().cast(_KEYS)))
            .transform(_with_shares)
            .select(*PARTITION_LOAD.names)
        )

    return transform


_KEYS = PARTITION_LOAD.schema["heaviest_keys"].dataType


def _bytes() -> Column:
    length = F.coalesce(F.octet_length("key"), F.lit(0))
    return length.cast("long") + F.coalesce("value_bytes", F.lit(0))


def _every_partition(records: DataFrame, topics: DataFrame) -> DataFrame:
    """Count records by partition; one that gets none has 0."""
    counted = records.groupBy(*_PARTITION).agg(F.count("*").alias("records"), F.sum("bytes").alias("bytes"))
    numbers = F.explode(F.sequence(F.lit(0), F.col("partitions") - 1)).alias("partition")
    partitions = (
        counted.select(*_TOPIC)
        .distinct()
        .join(F.broadcast(topics.select("cluster", "topic", "partitions")), ["cluster", "topic"])
        .select(*_TOPIC, numbers)
    )
    return partitions.join(counted, [*_PARTITION], "left").fillna(0, ["records", "bytes"])


def _with_shares(loads: DataFrame) -> DataFrame:
    of_topic = Window.partitionBy(*_TOPIC)
    by_records = F.col("records") / F.sum("records").over(of_topic)
    by_bytes = F.col("bytes") / F.nullif(F.sum("bytes").over(of_topic), F.lit(0))
    return loads.withColumn("share", F.coalesce(by_bytes, by_records)).withColumn(
        "imbalance", F.col("share") * F.count("*").over(of_topic)
    )


def _by_key(records: DataFrame) -> DataFrame:
    keyed = records.where("key IS NOT NULL").groupBy(*_PARTITION, "key")
    return keyed.agg(F.count("*").alias("records"), F.sum("bytes").alias("bytes"))


def _of_heavy_buckets(records: DataFrame) -> DataFrame:
    """Records with keys of those buckets that have most of a partition's records."""
    bucketed = records.where("key IS NOT NULL").withColumn(_BUCKET, F.pmod(F.xxhash64("key"), F.lit(_BUCKETS)))
    heaviest = Window.partitionBy(*_PARTITION).orderBy(F.desc("count"), _BUCKET)
    kept = (
        bucketed.groupBy(*_PARTITION, _BUCKET)
        .count()
        .withColumn("_rank", F.row_number().over(heaviest))
        .where(F.col("_rank") <= _KEPT_BUCKETS)
    )
    return bucketed.join(F.broadcast(kept), [*_PARTITION, _BUCKET], "left_semi")


def _heaviest(by_key: DataFrame) -> DataFrame:
    first = Window.partitionBy(*_PARTITION).orderBy(F.desc("records"), F.desc("bytes"), "key")
    listed = F.array_sort(F.collect_list(F.struct("_rank", F.struct("key", "records", "bytes").alias("entry"))))
    return (
        by_key.withColumn("_rank", F.row_number().over(first))
        .where(F.col("_rank") <= HEAVIEST)
        .groupBy(*_PARTITION)
        .agg(F.transform(listed, lambda item: item["entry"]).alias("heaviest_keys"))
    )
