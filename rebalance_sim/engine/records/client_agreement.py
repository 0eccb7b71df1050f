"""Find keys that clients place differently, and the topics whose producers already do."""

from collections.abc import Callable, Sequence
from itertools import combinations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from rebalance_sim.engine.records.key_partitions import partition_of_key
from rebalance_sim.kafka.partitioners.clients import CLIENTS
from rebalance_sim.kafka.partitioners.partitioner import Client
from rebalance_sim.tables import CLIENT_AGREEMENT, CONFLICTING_KEYS, TOPICS_AT_RISK

EXAMPLES = 3
"""Number of keys listed as examples, heaviest first."""
_TOPIC = ("cluster", "topic")
_PAIR = ("client", "other_client")
_AGREED = (
    "count(*) AS keys",
    "count_if(agreed) AS keys_agreed",
    "sum(records) AS records",
    "sum(if(agreed, records, 0)) AS records_agreed",
)
_AGREED_SHARES = {
    "keys_agreed_share": "keys_agreed / keys AS keys_agreed_share",
    "records_agreed_share": "records_agreed / records AS records_agreed_share",
}


def client_agreement(topics: DataFrame, clients: Sequence[Client]) -> Callable[[DataFrame], DataFrame]:
    """Transform ``record_keys`` to the number of keys that each two of the clients send to the same partition.

    Keys of records with an explicit partition are left out. A client that ignores keys agrees with no other.
    """

    def transform(keys: DataFrame) -> DataFrame:
        pairs = keys.transform(_placed_by_two(topics, clients))
        return (
            pairs.groupBy(*_TOPIC, *_PAIR)
            .agg(*map(F.expr, _AGREED))
            .transform(_with_examples(pairs.where("NOT agreed"), (*_TOPIC, *_PAIR), ("partition", "other_partition")))
            .selectExpr(*[_AGREED_SHARES.get(name, name) for name in CLIENT_AGREEMENT.names])
        )

    return transform


def conflicting_keys(topics: DataFrame, clients: Sequence[Client]) -> Callable[[DataFrame], DataFrame]:
    """Transform ``record_keys`` to the keys that two of the clients do not send to the same partition."""
    compare = _placed_by_two(topics, clients)
    return lambda keys: keys.transform(compare).where("NOT agreed").select(*CONFLICTING_KEYS.names)


def topics_at_risk(
    topics: DataFrame, clients: Sequence[Client] = tuple(CLIENTS.values())
) -> Callable[[DataFrame], DataFrame]:
    """Transform usable records, each of its own client, to the topics whose writers place some keys differently.

    The writers of a topic are the clients that send it records with a key and without an explicit partition.
    ``clients`` are those that the records name.
    """

    def transform(records: DataFrame) -> DataFrame:
        written = records.where("key IS NOT NULL AND explicit_partition IS NULL")
        writers = (
            written.select(*_TOPIC, "client")
            .distinct()
            .groupBy(*_TOPIC)
            .agg(F.array_sort(F.collect_list("client")).alias("clients"))
            .where(F.size("clients") > 1)
        )
        by_key = (
            written.select(*_TOPIC, "key", "client")
            .join(F.broadcast(writers), [*_TOPIC])
            .groupBy(*_TOPIC, "clients", "key", "client")
            .agg(F.count("*").alias("records"))
            .groupBy(*_TOPIC, "clients", "key")
            .agg(F.sum("records").alias("records"), F.collect_list("client").alias("written_by"))
            .join(F.broadcast(_sizes(topics)), [*_TOPIC])
            .withColumn("client", F.explode("clients"))
            .withColumn("partition", partition_of_key(clients))
            .groupBy(*_TOPIC, "clients", "key", "records")
            .agg(
                F.array_sort(F.collect_list(F.struct("client", "partition"))).alias("partitions"),
                F.first("written_by").alias("written_by"),
            )
        )
        written_by_more = F.filter("partitions", lambda item: F.array_contains("written_by", item["client"]))
        compared = by_key.withColumns(
            {
                "conflicting": _differ(F.col("partitions")),
                "shared": F.size("written_by") > 1,
                "split": _differ(written_by_more) & (F.size("written_by") > 1),
            }
        )
        return (
            compared.groupBy(*_TOPIC, "clients")
            .agg(
                F.count("*").alias("keys"),
                F.count_if("conflicting").alias("keys_conflicting"),
                F.count_if("shared").alias("keys_shared"),
                F.count_if("split").alias("keys_split"),
                F.sum(F.when(F.col("split"), F.col("records")).otherwise(0)).alias("records_split"),
            )
            .where("keys_conflicting > 0")
            .transform(_with_examples(compared.where("conflicting"), _TOPIC, ("partitions",), F.desc("split")))
            .select(*TOPICS_AT_RISK.names)
        )

    return transform


def _placed_by_two(topics: DataFrame, clients: Sequence[Client]) -> Callable[[DataFrame], DataFrame]:
    """Repeat every key for each two clients, with the partitions of both and whether they agree."""
    agreed = "equal_null(partition, other_partition) AND partition IS NOT NULL AS agreed"
    return lambda keys: (
        keys.transform(_keys_by_topic)
        .join(F.broadcast(_sizes(topics)), [*_TOPIC])
        .withColumns({_column(i): partition_of_key([client]) for i, client in enumerate(clients)})
        .selectExpr(*_TOPIC, "key", "records", _pairs(clients))
        .selectExpr("*", agreed)
    )


def _keys_by_topic(keys: DataFrame) -> DataFrame:
    without_explicit = keys.where("key IS NOT NULL AND explicit_partition IS NULL")
    return without_explicit.groupBy(*_TOPIC, "key").agg(F.sum("records").alias("records"))


def _sizes(topics: DataFrame) -> DataFrame:
    return topics.select(*_TOPIC, "partitions")


def _column(i: int) -> str:
    """Return the name of the column with the partitions of client i."""
    return f"_partition_{i}"


def _pairs(clients: Sequence[Client]) -> str:
    """Return each two clients with their partitions."""
    pairs = (
        f"struct('{clients[i].name}' AS client, '{clients[j].name}' AS other_client, "
        f"{_column(i)} AS partition, {_column(j)} AS other_partition)"
        for i, j in combinations(range(len(clients)), 2)
    )
    return f"inline(array({', '.join(pairs)}))"


def _differ(partitions: Column) -> Column:
    """Return whether the clients choose different partitions, or one of them ignores the key."""
    numbers = F.transform(partitions, lambda item: item["partition"])
    return (F.size(F.array_distinct(numbers)) > 1) | F.exists(numbers, lambda number: number.isNull())


def _with_examples(
    keys: DataFrame, by: Sequence[str], columns: Sequence[str], *first: Column
) -> Callable[[DataFrame], DataFrame]:
    """Add the heaviest keys of each group of rows, with these columns."""
    heaviest = Window.partitionBy(*by).orderBy(*first, F.desc("records"), "key")
    entry = F.struct("key", "records", *columns)
    listed = F.array_sort(F.collect_list(F.struct("_rank", entry.alias("entry"))))
    examples = (
        keys.withColumn("_rank", F.row_number().over(heaviest))
        .where(F.col("_rank") <= EXAMPLES)
        .groupBy(*by)
        .agg(F.transform(listed, lambda item: item["entry"]).alias("examples"))
    )
    none = F.array().cast(examples.schema["examples"].dataType)
    return lambda rows: rows.join(examples, [*by], "left").withColumn("examples", F.coalesce("examples", none))
