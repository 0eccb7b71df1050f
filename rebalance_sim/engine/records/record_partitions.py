"""Fits records to topics, and places the records with an explicit partition or a key."""

from collections.abc import Callable, Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rebalance_sim.engine.records.key_partitions import partition_of_key
from rebalance_sim.engine.spark.sql_text import literal, message, when
from rebalance_sim.engine.tables.inputs import REASON, fit
from rebalance_sim.kafka.partitioners.clients import CLIENTS
from rebalance_sim.kafka.partitioners.partitioner import Client, KeyHash
from rebalance_sim.tables import RECORDS

TOPIC_NUMBER = "topic_number"
NUMBERED_TOPIC = f"xxhash64(cluster, topic) AS {TOPIC_NUMBER}"
"""A hash that identifies a topic in Python workers."""
PRODUCER = "default"
"""The producer of records without ``producer_id``."""
_REASONS = (
    when("partitions IS NULL", message("topic '{topic}' is not in the topics table")),
    when("partitions = 0", message("topic '{topic}' has no partitions")),
    when(
        "explicit_partition < 0 OR explicit_partition >= partitions",
        message("explicit_partition is {explicit_partition}; allowed: 0 to {partitions - 1}"),
    ),
)


def fit_records(records: DataFrame, topics: DataFrame) -> DataFrame:
    """Fit a records table to usable topics.

    Adds the ``partitions`` and the ``topic_number`` of the record's topic, and a reason for records that cannot be sent
    to it. Rows are otherwise those of ``rebalance_sim.engine.tables.inputs.fit``.
    """
    known = topics.selectExpr("cluster", "topic", "partitions", NUMBERED_TOPIC)
    return (
        fit(records, RECORDS)
        .withColumn("producer_id", F.expr(f"coalesce(producer_id, {literal(PRODUCER)})"))
        .join(F.broadcast(known), ["cluster", "topic"], "left")
        .withColumn(REASON, F.expr(f"coalesce({', '.join((REASON, *_REASONS))})"))
    )


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
    names = ", ".join(literal(client.name) for client in clients)
    return lambda records: records.withColumn("client", F.expr(f"explode(array({names}))"))


def fixed_partitions(clients: Sequence[Client] = tuple(CLIENTS.values())) -> Callable[[DataFrame], DataFrame]:
    """Add ``partition`` to usable records of these clients: the explicit one, else that of the key, else null."""
    partition = F.coalesce("explicit_partition", partition_of_key(clients))
    return lambda records: records.withColumn("partition", partition)


def without_partition_or_key(clients: Sequence[Client]) -> str:
    """Return whether a record may be unkeyed for one of the clients, as an expression."""
    if any(client.hash is KeyHash.NONE for client in clients):
        return "explicit_partition IS NULL"
    unkeyed = ["FALSE"]
    if not all(client.hashes_null for client in clients):
        unkeyed.append("key IS NULL")
    if not all(client.hashes_empty for client in clients):
        unkeyed.append("octet_length(key) = 0")
    return f"explicit_partition IS NULL AND ({' OR '.join(unkeyed)})"
