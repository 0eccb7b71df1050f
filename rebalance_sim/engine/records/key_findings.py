"""Findings about the keys of a topic: hot keys, too few keys, and keys that clients ignore or treat as missing."""

from collections.abc import Callable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from rebalance_sim.kafka.partitioners.clients import CLIENTS, Client, KeyHash
from rebalance_sim.tables import KEY_FINDINGS

EMPTY_KEYS, NULL_KEYS, IGNORED_KEYS = "empty_keys", "null_keys_hashed", "keys_ignored"
DOMINANT_KEY, IDLE_PARTITIONS = "dominant_key", "idle_partitions"
_TOPIC = ("client", "cluster", "topic")


def key_findings(loads: DataFrame) -> Callable[[DataFrame], DataFrame]:
    """Transform record_partitions to key_findings; ``loads`` is their partition_load."""
    return lambda record_partitions: (
        record_partitions.transform(_unusual_keys)
        .unionByName(loads.transform(_dominant_keys), allowMissingColumns=True)
        .unionByName(record_partitions.transform(_idle_partitions(loads)), allowMissingColumns=True)
        .select(*[F.col(field.name).cast(field.dataType) for field in KEY_FINDINGS.schema])
    )


def _unusual_keys(record_partitions: DataFrame) -> DataFrame:
    """Find keys that are empty, null or ignored, and report how the client treats them."""
    by_key = F.col("explicit_partition").isNull()
    empty, null = by_key & (F.octet_length("key") == 0), by_key & F.col("key").isNull()
    counted = record_partitions.groupBy(*_TOPIC).agg(
        F.count("*").alias("sent"),
        F.count_if(by_key & F.col("key").isNotNull()).alias("keyed"),
        F.count_if(empty).alias("empty"),
        F.max(F.when(empty, F.col("partition"))).alias("empty_partition"),
        F.count_if(null).alias("null"),
        F.max(F.when(null, F.col("partition"))).alias("null_partition"),
    )
    client = F.col("client")
    ignoring = _is_client(lambda client: client.hash is KeyHash.NONE)
    hashing_null = _is_client(lambda client: client.hashes_null)
    empty_partition = F.when(_is_client(_hashes_empty), F.col("empty_partition"))
    unkeyed = F.concat(_records_have("empty"), F.lit(" an empty key: "), client, F.lit(" treats it as no key"))
    found = [
        _finding(
            EMPTY_KEYS,
            "empty",
            F.lit(True),
            empty_partition,
            F.coalesce(_all_in("empty", "an empty key", empty_partition), unkeyed),
        ),
        _finding(
            NULL_KEYS, "null", hashing_null, F.col("null_partition"), _all_in("null", "no key", F.col("null_partition"))
        ),
        _finding(
            IGNORED_KEYS,
            "keyed",
            ignoring,
            F.lit(None),
            F.concat(client, F.lit(" ignores keys, but "), _records_have("keyed"), F.lit(" one")),
        ),
    ]
    return counted.select(*_TOPIC, F.inline(F.filter(F.array(*found), lambda item: item["records"] > 0)))


def _dominant_keys(loads: DataFrame) -> DataFrame:
    """Find keys with more than half of the records of a partition whose load is above average."""
    first = F.try_element_at("heaviest_keys", F.lit(1))
    largest = F.struct(
        first["records"].alias("records"),
        -F.col("partition"),
        F.col("records").alias("of"),
        first["key"].alias("key"),
        "partition",
    )
    more = F.concat(F.lit("; "), _number("partitions"), F.lit(" partitions have such a key"))
    return (
        loads.where((first["records"] * 2 > F.col("records")) & (F.col("imbalance") > 1))
        .groupBy(*_TOPIC)
        .agg(F.count("*").alias("partitions"), F.max(largest).alias("largest"))
        .select(
            *_TOPIC,
            F.lit(DOMINANT_KEY).alias("finding"),
            "largest.records",
            (F.col("largest.records") / F.col("largest.of")).alias("share"),
            "partitions",
            "largest.partition",
            "largest.key",
            F.concat(
                F.lit("a single key has "),
                _number("largest.records"),
                F.lit(" of the "),
                _number("largest.of"),
                F.lit(" records in partition "),
                F.col("largest.partition"),
                F.when(F.col("partitions") > 1, more).otherwise(""),
            ).alias("description"),
        )
    )


def _idle_partitions(loads: DataFrame) -> Callable[[DataFrame], DataFrame]:
    """Find partitions without records in topics with keys: there are too few distinct keys to fill them."""
    idle = (
        loads.groupBy(*_TOPIC)
        .agg(F.count_if(F.col("records") == 0).alias("partitions"), F.count("*").alias("of"))
        .where("partitions > 0")
    )
    hashing = _is_client(lambda client: client.hash is not KeyHash.NONE)
    hashed = hashing & ((F.octet_length("key") > 0) | _is_client(_hashes_empty))
    return lambda record_partitions: (
        record_partitions.where(hashed & F.col("key").isNotNull() & F.col("explicit_partition").isNull())
        .select(*_TOPIC, "key")
        .join(F.broadcast(idle), [*_TOPIC])
        .groupBy(*_TOPIC, "partitions", "of")
        .agg(F.count_distinct("key").alias("keys"))
        .select(
            *_TOPIC,
            F.lit(IDLE_PARTITIONS).alias("finding"),
            "partitions",
            F.concat(
                _number("partitions"),
                F.lit(" of "),
                _number("of"),
                F.when(F.col("partitions") == 1, " partitions gets").otherwise(" partitions get"),
                F.lit(" no records; the topic has "),
                _number("keys"),
                F.when(F.col("keys") == 1, " distinct key").otherwise(" distinct keys"),
            ).alias("description"),
        )
    )


def _hashes_empty(client: Client) -> bool:
    return client.hashes_empty and client.hash is not KeyHash.NONE


def _is_client(condition: Callable[[Client], bool]) -> Column:
    names = [repr(client.name) for client in CLIENTS.values() if condition(client)]
    # As text: each literal of isin() would be a call of the JVM.
    return F.expr(f"client IN ({', '.join(names)})")


def _finding(name: str, records: str, where: Column, partition: Column, description: Column) -> Column:
    """Return a finding about a number of records, which is 0 where it does not apply."""
    count = F.when(where, F.col(records)).otherwise(0)
    return F.struct(
        F.lit(name).alias("finding"),
        count.alias("records"),
        (count / F.col("sent")).alias("share"),
        partition.cast("int").alias("partition"),
        description.alias("description"),
    )


def _all_in(records: str, key: str, partition: Column) -> Column:
    """Describe records that are all hashed to one partition; null where the partition is null."""
    all_in = F.when(F.col(records) == 1, " hashes it to partition ").otherwise(" hashes them all to partition ")
    return F.concat(_records_have(records), F.lit(f" {key}: "), F.col("client"), all_in, partition)


def _records_have(records: str) -> Column:
    return F.when(F.col(records) == 1, "1 record has").otherwise(F.concat(_number(records), F.lit(" records have")))


def _number(name: str) -> Column:
    return F.format_number(F.col(name), 0)
