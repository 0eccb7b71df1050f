"""Fits records to topics, and places the records with an explicit partition or a key."""

from collections.abc import Callable, Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from rebalance_sim.engine.records.key_partitions import partition_of_key
from rebalance_sim.engine.tables.inputs import REASON, fit
from rebalance_sim.kafka.partitioners.clients import CLIENTS, Client, KeyHash
from rebalance_sim.tables import RECORDS

TOPIC_NUMBER = "topic_number"
"""The column that ``topic_number`` returns."""
PRODUCER = "default"
"""The producer of records without ``producer_id``."""


def fit_records(records: DataFrame, topics: DataFrame) -> DataFrame:
    """Fit a records table to usable topics.

    Adds the ``partitions`` and the ``topic_number`` of the record's topic, and a reason for records that cannot be sent
    to it. Rows are otherwise those of ``rebalance_sim.engine.tables.inputs.fit``.
    """
    known = topics.select("cluster", "topic", "partitions", topic_number())
    return (
        fit(records, RECORDS)
        .withColumn("producer_id", F.coalesce("producer_id", F.lit(PRODUCER)))
        .join(F.broadcast(known), ["cluster", "topic"], "left")
        .withColumn(REASON, F.coalesce(REASON, *_reasons()))
    )


def topic_number() -> Column:
    """Return a hash that identifies a topic in Python workers, as a column."""
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
    """Return the clients that a fitted records table names; this reads that column alone."""
    named = {row["client"] for row in records.select("client").distinct().collect()}
    return tuple(client for name, client in CLIENTS.items() if name in named)


def sent_by(clients: Sequence[Client]) -> Callable[[DataFrame], DataFrame]:
    """Repeat usable records for each of the clients; without clients, keep each record with its own."""
    if not clients:
        return lambda records: records
    if len(clients) == 1:
        return lambda records: records.withColumn("client", F.lit(clients[0].name))
    names = F.array(*[F.lit(client.name) for client in clients])
    return lambda records: records.withColumn("client", F.explode(names))


def fixed_partitions(clients: Sequence[Client] = tuple(CLIENTS.values())) -> Callable[[DataFrame], DataFrame]:
    """Add ``partition`` to usable records of these clients: the explicit one, else that of the key, else null."""
    partition = F.coalesce("explicit_partition", partition_of_key(clients))
    return lambda records: records.withColumn("partition", partition)


def without_partition_or_key(clients: Sequence[Client]) -> Column:
    """Return whether a record may be unkeyed for one of the clients, as a column."""
    key = F.col("key")
    spread = [F.lit(any(client.hash is KeyHash.NONE for client in clients))]
    if not all(client.hashes_null for client in clients):
        spread.append(key.isNull())
    if not all(client.hashes_empty for client in clients):
        spread.append(key == F.lit(b""))
    return F.col("explicit_partition").isNull() & reduce(Column.__or__, spread)
