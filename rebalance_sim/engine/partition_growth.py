"""What moves to another partition when topics get more of them."""

from collections.abc import Callable, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from rebalance_sim.engine.key_partitions import partition_of_key
from rebalance_sim.engine.partition_load import load_of_keys, partition_shares
from rebalance_sim.kafka.partitioners.clients import CLIENTS, Client
from rebalance_sim.tables import PARTITION_GROWTH

_TOPIC = ("client", "cluster", "topic")
_MEASURES = ("keys", "records", "bytes")


def grown_topics(topics: DataFrame, after: DataFrame | int) -> DataFrame:
    """From usable topics to ``cluster, topic, partitions, partitions_after``.

    ``after`` is a number for all of them, or usable topics; a topic that is not among these keeps its number.
    """
    known = topics.select("cluster", "topic", "partitions")
    if isinstance(after, int):
        return known.withColumn("partitions_after", F.lit(after))
    named = after.select("cluster", "topic", F.col("partitions").alias("partitions_after"))
    return known.join(named, ["cluster", "topic"], "left").withColumn(
        "partitions_after", F.coalesce("partitions_after", "partitions")
    )


def moved_keys(
    grown: DataFrame, clients: Sequence[Client] = tuple(CLIENTS.values())
) -> Callable[[DataFrame], DataFrame]:
    """From ``record_keys`` of these clients to the same with the numbers of partitions, ``partition`` and after.

    ``partition`` is null where neither a key nor the application tells it, ``partition_after`` also where the
    application asks for one that is gone.
    """
    explicit, after = F.col("explicit_partition"), partition_of_key(clients, "partitions_after")
    still_there = F.when(explicit < F.col("partitions_after"), explicit)
    return lambda keys: (
        keys.join(F.broadcast(grown), ["cluster", "topic"])
        .withColumn("partition", F.coalesce(explicit, partition_of_key(clients)))
        .withColumn("partition_after", F.when(explicit.isNull(), after).otherwise(still_there))
    )


def partition_growth(grown: DataFrame) -> Callable[[DataFrame], DataFrame]:
    """From ``moved_keys`` to what moves, a row a topic and client."""
    by_key = F.col("explicit_partition").isNull() & F.col("partition").isNotNull()
    moved = by_key & (F.col("partition") != F.col("partition_after"))
    gone = F.col("explicit_partition").isNotNull() & F.col("partition_after").isNull()
    shares = {f"{name}_moved_share": F.try_divide(f"{name}_moved", name) for name in _MEASURES}

    def transform(keys: DataFrame) -> DataFrame:
        after = keys.withColumn("partition", F.col("partition_after"))
        return (
            keys.withColumn("keys", F.col("key").isNotNull().cast("long"))
            .groupBy(*_TOPIC, "partitions", "partitions_after")
            .agg(
                *[_sum_where(by_key, name).alias(name) for name in _MEASURES],
                *[_sum_where(moved, name).alias(f"{name}_moved") for name in _MEASURES],
                _sum_where(gone, "records").alias("records_gone"),
            )
            .withColumns(shares)
            .join(_imbalance(keys, grown, "partitions", "imbalance"), [*_TOPIC], "left")
            .join(_imbalance(after, grown, "partitions_after", "imbalance_after"), [*_TOPIC], "left")
            .select(*PARTITION_GROWTH.names)
        )

    return transform


def partition_load_after(grown: DataFrame) -> Callable[[DataFrame], DataFrame]:
    """From ``moved_keys`` to the load of every partition afterwards, as ``partition_load`` has it."""
    return lambda keys: (
        keys.withColumn("partition", F.col("partition_after"))
        .where("partition IS NOT NULL")
        .transform(load_of_keys(_of_size(grown, "partitions_after")))
    )


def _of_size(grown: DataFrame, partitions: str) -> DataFrame:
    return grown.select("cluster", "topic", F.col(partitions).alias("partitions"))


def _sum_where(condition: Column, name: str) -> Column:
    return F.sum(F.when(condition, F.col(name)).otherwise(0))


def _imbalance(keys: DataFrame, grown: DataFrame, partitions: str, name: str) -> DataFrame:
    """The largest imbalance of each topic's partitions."""
    shares = keys.where("partition IS NOT NULL").transform(partition_shares(_of_size(grown, partitions)))
    return shares.groupBy(*_TOPIC).agg(F.max("imbalance").alias(name))
