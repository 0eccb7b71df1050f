"""Find the keys and records that move to another partition when topics get more partitions."""

from collections.abc import Callable, Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rebalance_sim.engine.records.key_partitions import partition_of_key
from rebalance_sim.engine.records.partition_load import load_of_keys, partition_shares
from rebalance_sim.kafka.partitioners.clients import CLIENTS
from rebalance_sim.kafka.partitioners.partitioner import Client
from rebalance_sim.tables import MOVED_KEYS, PARTITION_GROWTH

_TOPIC = ("client", "cluster", "topic")
_MEASURES = ("keys", "records", "bytes")
_BY_KEY = "explicit_partition IS NULL AND partition IS NOT NULL"
_MOVED = f"{_BY_KEY} AND partition != partition_after"
_FIGURES = (
    *(f"sum(if({_BY_KEY}, {name}, 0)) AS {name}" for name in _MEASURES),
    *(f"sum(if({_MOVED}, {name}, 0)) AS {name}_moved" for name in _MEASURES),
    "sum(if(explicit_partition IS NOT NULL AND partition_after IS NULL, records, 0)) AS records_out_of_range",
)
_SHARES = {f"{name}_moved_share": f"try_divide({name}_moved, {name}) AS {name}_moved_share" for name in _MEASURES}


def grown_topics(topics: DataFrame, after: DataFrame | int) -> DataFrame:
    """Return usable topics as ``cluster, topic, partitions, partitions_after``.

    ``after`` is a number for all topics, or usable topics; topics missing from it keep their number.
    """
    known = topics.select("cluster", "topic", "partitions")
    if isinstance(after, int):
        return known.withColumn("partitions_after", F.lit(after))
    named = after.select("cluster", "topic", F.col("partitions").alias("partitions_after"))
    return known.join(named, ["cluster", "topic"], "left").withColumn(
        "partitions_after", F.coalesce("partitions_after", "partitions")
    )


def grown_keys(
    grown: DataFrame, clients: Sequence[Client] = tuple(CLIENTS.values())
) -> Callable[[DataFrame], DataFrame]:
    """Add ``partition`` and ``partition_after`` to the ``record_keys`` of these clients.

    Both are null for records without a usable key or an explicit partition; ``partition_after`` is also null for an
    explicit partition that is out of range afterwards.
    """
    explicit, after = F.col("explicit_partition"), partition_of_key(clients, "partitions_after")
    still_valid = F.when(explicit < F.col("partitions_after"), explicit)
    return lambda keys: (
        keys.join(F.broadcast(grown), ["cluster", "topic"])
        .withColumn("partition", F.coalesce(explicit, partition_of_key(clients)))
        .withColumn("partition_after", F.when(explicit.isNull(), after).otherwise(still_valid))
    )


def moved_keys(keys: DataFrame) -> DataFrame:
    """Select the ``grown_keys`` that go to another partition."""
    return keys.where(_MOVED).select(*MOVED_KEYS.names)


def partition_growth(grown: DataFrame) -> Callable[[DataFrame], DataFrame]:
    """Transform ``grown_keys`` to what moves, one row per client and topic."""

    def transform(keys: DataFrame) -> DataFrame:
        after = keys.withColumn("partition", F.col("partition_after"))
        return (
            keys.selectExpr("*", "CAST(key IS NOT NULL AS BIGINT) AS keys")
            .groupBy(*_TOPIC, "partitions", "partitions_after")
            .agg(*map(F.expr, _FIGURES))
            .join(_imbalance(keys, grown, "partitions", "imbalance"), [*_TOPIC], "left")
            .join(_imbalance(after, grown, "partitions_after", "imbalance_after"), [*_TOPIC], "left")
            .selectExpr(*[_SHARES.get(name, name) for name in PARTITION_GROWTH.names])
        )

    return transform


def partition_load_after(grown: DataFrame) -> Callable[[DataFrame], DataFrame]:
    """Transform ``grown_keys`` to the load of every partition afterwards, with the columns of ``partition_load``."""
    return lambda keys: (
        keys.withColumn("partition", F.col("partition_after"))
        .where("partition IS NOT NULL")
        .transform(load_of_keys(_of_size(grown, "partitions_after")))
    )


def _of_size(grown: DataFrame, partitions: str) -> DataFrame:
    return grown.select("cluster", "topic", F.col(partitions).alias("partitions"))


def _imbalance(keys: DataFrame, grown: DataFrame, partitions: str, name: str) -> DataFrame:
    """Return the largest imbalance of each topic's partitions."""
    shares = keys.where("partition IS NOT NULL").transform(partition_shares(_of_size(grown, partitions)))
    return shares.groupBy(*_TOPIC).agg(F.max("imbalance").alias(name))
