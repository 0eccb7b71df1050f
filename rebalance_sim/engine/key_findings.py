"""What is odd about the keys of a topic: those that crowd a partition, and those that clients take for none."""

from collections.abc import Callable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from rebalance_sim.kafka.partitioners.clients import CLIENTS, Client, KeyHash
from rebalance_sim.tables import KEY_FINDINGS

EMPTY_KEYS, NULL_KEYS, IGNORED_KEYS = "empty_keys", "null_keys_hashed", "keys_ignored"
DOMINANT_KEY, IDLE_PARTITIONS = "dominant_key", "idle_partitions"
_TOPIC = ("client", "cluster", "topic")


def key_findings(loads: DataFrame) -> Callable[[DataFrame], DataFrame]:
    """From record_partitions, beside their partition_load, to what is odd about the keys."""
    return lambda record_partitions: (
        record_partitions.transform(_unusual_keys)
        .unionByName(loads.transform(_dominant_keys), allowMissingColumns=True)
        .unionByName(record_partitions.transform(_idle_partitions(loads)), allowMissingColumns=True)
        .select(*[F.col(field.name).cast(field.dataType) for field in KEY_FINDINGS.schema])
    )


def _unusual_keys(record_partitions: DataFrame) -> DataFrame:
    """Keys that are empty, null or ignored, and what the client makes of them."""
    by_key = F.col("explicit_partition").isNull()
    empty, null = by_key & (F.octet_length("key") == 0), by_key & F.col("key").isNull()
    counted = record_partitions.groupBy(*_TOPIC).agg(
        F.count("*").alias("sent"),
        F.count_if(by_key & F.col("key").isNotNull()).alias("keyed"),
        F.count_if(empty).alias("empty"),
        F.max(F.when(empty, F.col("partition"))).alias("to_if_empty"),
        F.count_if(null).alias("null"),
        F.max(F.when(null, F.col("partition"))).alias("to_if_null"),
    )
    client = F.col("client")
    ignoring = _is_one_that(lambda client: client.hash is KeyHash.NONE)
    hashing_empty = _is_one_that(_hashes_empty)
    hashing_null = _is_one_that(lambda client: client.hashes_null)
    to_empty = F.when(hashing_empty, F.col("to_if_empty"))
    spread = F.concat(_number("empty"), F.lit(" records have an empty key: "), client, F.lit(" takes it for none"))
    found = [
        _finding(
            EMPTY_KEYS,
            "empty",
            F.lit(True),
            to_empty,
            F.coalesce(_all_to("have an empty key", "empty", to_empty), spread),
        ),
        _finding(
            NULL_KEYS, "null", hashing_null, F.col("to_if_null"), _all_to("have no key", "null", F.col("to_if_null"))
        ),
        _finding(
            IGNORED_KEYS,
            "keyed",
            ignoring,
            F.lit(None),
            F.concat(client, F.lit(" does not look at keys: "), _number("keyed"), F.lit(" records have one")),
        ),
    ]
    return counted.select(*_TOPIC, F.inline(F.filter(F.array(*found), lambda item: item["records"] > 0)))


def _dominant_keys(loads: DataFrame) -> DataFrame:
    """Keys with more than half of the records of a partition that has more than an even share."""
    first = F.try_element_at("heaviest_keys", F.lit(1))
    theirs = F.struct(
        first["records"].alias("records"),
        -F.col("partition"),
        F.col("records").alias("of"),
        first["key"].alias("key"),
        "partition",
    )
    more = F.when(F.col("partitions") > 1, F.concat(F.lit("; so in "), _number("partitions"), F.lit(" partitions")))
    return (
        loads.where((first["records"] * 2 > F.col("records")) & (F.col("imbalance") > 1))
        .groupBy(*_TOPIC)
        .agg(F.count("*").alias("partitions"), F.max(theirs).alias("theirs"))
        .select(
            *_TOPIC,
            F.lit(DOMINANT_KEY).alias("finding"),
            "theirs.records",
            (F.col("theirs.records") / F.col("theirs.of")).alias("share"),
            "partitions",
            "theirs.partition",
            "theirs.key",
            F.concat(
                F.lit("one key has "),
                _number("theirs.records"),
                F.lit(" of the "),
                _number("theirs.of"),
                F.lit(" records in partition "),
                F.col("theirs.partition"),
                F.coalesce(more, F.lit("")),
            ).alias("told"),
        )
    )


def _idle_partitions(loads: DataFrame) -> Callable[[DataFrame], DataFrame]:
    """Partitions that no record goes to, in topics with keys: the keys are too few for them."""
    idle = (
        loads.groupBy(*_TOPIC)
        .agg(F.count_if(F.col("records") == 0).alias("partitions"), F.count("*").alias("of"))
        .where("partitions > 0")
    )
    looking = _is_one_that(lambda client: client.hash is not KeyHash.NONE)
    hashed = looking & ((F.octet_length("key") > 0) | _is_one_that(_hashes_empty))
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
                _number("keys"),
                F.lit(" different keys leave "),
                _number("partitions"),
                F.lit(" of "),
                _number("of"),
                F.lit(" partitions without a record"),
            ).alias("told"),
        )
    )


def _hashes_empty(client: Client) -> bool:
    return client.hashes_empty and client.hash is not KeyHash.NONE


def _is_one_that(does: Callable[[Client], bool]) -> Column:
    return F.col("client").isin(*[client.name for client in CLIENTS.values() if does(client)])


def _finding(name: str, records: str, where: Column, partition: Column, told: Column) -> Column:
    """A finding of so many records; of none where it does not apply."""
    count = F.when(where, F.col(records)).otherwise(0)
    return F.struct(
        F.lit(name).alias("finding"),
        count.alias("records"),
        (count / F.col("sent")).alias("share"),
        partition.cast("int").alias("partition"),
        told.alias("told"),
    )


def _all_to(what: str, records: str, partition: Column) -> Column:
    """Say that all go to one partition; null where that is null."""
    return F.concat(
        _number(records),
        F.lit(f" records {what}: "),
        F.col("client"),
        F.lit(" hashes that, all go to partition "),
        partition,
    )


def _number(name: str) -> Column:
    return F.format_number(F.col(name), 0)
