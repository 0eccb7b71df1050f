"""Records by topic: which can be sent, and the partition of those that have one given or a key."""

from collections.abc import Callable, Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from rebalance_sim.engine.inputs import REASON, fit
from rebalance_sim.engine.key_partitions import partition_of_key
from rebalance_sim.kafka.partitioners.clients import CLIENTS, Client, KeyHash
from rebalance_sim.tables import RECORDS

TOPIC_NUMBER = "topic_number"
"""The column of ``topic_number``."""
PRODUCER = "default"
"""The producer of records that name none."""


def fit_records(records: DataFrame, topics: DataFrame) -> DataFrame:
    """Fit a records table beside usable topics.

    Added are ``partitions``, how many the record's topic has, ``topic_number``, and a reason where that leaves the
    record no partition to go to. Rows are as ``rebalance_sim.engine.inputs.fit`` returns them.
    """
    known = topics.select("cluster", "topic", "partitions", topic_number())
    return (
        fit(records, RECORDS)
        .withColumn("producer_id", F.coalesce("producer_id", F.lit(PRODUCER)))
        .join(F.broadcast(known), ["cluster", "topic"], "left")
        .withColumn(REASON, F.coalesce(REASON, *_reasons()))
    )


def topic_number() -> Column:
    """Return what stands for a topic on the way to a worker, as the column of that name."""
    return F.xxhash64("cluster", "topic").alias(TOPIC_NUMBER)


def _reasons() -> list[Column]:
    topic, partitions, explicit = F.col("topic"), F.col("partitions"), F.col("explicit_partition")
    unknown = F.concat(F.lit("topic '"), topic, F.lit("' is not in the topics table"))
    empty = F.concat(F.lit("topic '"), topic, F.lit("' has no partitions"))
    last = (partitions - 1).cast("string")
    out_of_range = F.concat(F.lit("explicit_partition is "), explicit.cast("string"), F.lit("; allowed: 0 to "), last)
    return [
        F.when(partitions.isNull(), unknown),
        F.when(partitions == 0, empty),
        F.when((explicit < 0) | (explicit >= partitions), out_of_range),
    ]


def clients_of(records: DataFrame) -> tuple[Client, ...]:
    """Return the clients that a fitted records table names; this reads it, but no other column."""
    named = {row["client"] for row in records.select("client").distinct().collect()}
    return tuple(client for name, client in CLIENTS.items() if name in named)


def sent_by(clients: Sequence[Client]) -> Callable[[DataFrame], DataFrame]:
    """From usable records to the same as each of the clients would send them; without clients, as they are."""
    if not clients:
        return lambda records: records
    if len(clients) == 1:
        return lambda records: records.withColumn("client", F.lit(clients[0].name))
    names = F.array(*[F.lit(client.name) for client in clients])
    return lambda records: records.withColumn("client", F.explode(names))


def fixed_partitions(clients: Sequence[Client] = tuple(CLIENTS.values())) -> Callable[[DataFrame], DataFrame]:
    """From usable records of these clients to the same with ``partition``: the explicit one, or that of the key.

    Where there is neither, it is null.
    """
    partition = F.coalesce("explicit_partition", partition_of_key(clients))
    return lambda records: records.withColumn("partition", partition)


def without_partition_or_key(clients: Sequence[Client]) -> Column:
    """Tell which records may have to go where one of the clients spreads them, without looking at a key."""
    key = F.col("key")
    spread = [F.lit(any(client.hash is KeyHash.NONE for client in clients))]
    if not all(client.hashes_null for client in clients):
        spread.append(key.isNull())
    if not all(client.hashes_empty for client in clients):
        spread.append(key == F.lit(b""))
    return F.col("explicit_partition").isNull() & reduce(Column.__or__, spread)
