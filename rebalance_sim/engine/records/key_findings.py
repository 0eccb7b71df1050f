"""Findings about the keys of a topic: hot keys, too few keys, and keys that clients ignore or treat as missing."""

from collections.abc import Callable

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rebalance_sim.engine.spark.sql_text import message, one_of, when
from rebalance_sim.kafka.partitioners.clients import CLIENTS
from rebalance_sim.kafka.partitioners.partitioner import Client, KeyHash
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
        .selectExpr(*[f"CAST({field.name} AS {field.dataType.simpleString()})" for field in KEY_FINDINGS.schema])
    )


def _unusual_keys(record_partitions: DataFrame) -> DataFrame:
    """Find keys that are empty, null or ignored, and report how the client treats them."""
    by_key = "explicit_partition IS NULL AND key IS"
    empty, null = f"{by_key} NOT NULL AND octet_length(key) = 0", f"{by_key} NULL"
    counts = (
        "count(*) AS sent",
        f"count_if({by_key} NOT NULL) AS keyed_records",
        f"count_if({empty}) AS empty_records",
        f"max({when(empty, 'partition')}) AS empty_partition",
        f"count_if({null}) AS null_records",
        f"max({when(null, 'partition')}) AS null_partition",
    )
    empty_partition = when(_is_client(_hashes_empty), "empty_partition")
    unkeyed = f"concat({_records_have('empty_records')}, ' an empty key: ', client, ' treats it as no key')"
    found = (
        _finding(
            EMPTY_KEYS,
            "empty_records",
            f"coalesce({_all_in('empty_records', 'an empty key', empty_partition)}, {unkeyed})",
            empty_partition,
        ),
        _finding(
            NULL_KEYS,
            f"if({_is_client(lambda client: client.hashes_null)}, null_records, 0)",
            _all_in("null_records", "no key", "null_partition"),
            "null_partition",
        ),
        _finding(
            IGNORED_KEYS,
            f"if({_is_client(lambda client: client.hash is KeyHash.NONE)}, keyed_records, 0)",
            f"concat(client, ' ignores keys, but ', {_records_have('keyed_records')}, ' one')",
        ),
    )
    counted = record_partitions.groupBy(*_TOPIC).agg(*map(F.expr, counts))
    return counted.selectExpr(*_TOPIC, f"inline(filter(array({', '.join(found)}), item -> item.records > 0))")


def _dominant_keys(loads: DataFrame) -> DataFrame:
    """Find keys with more than half of the records of a partition whose load is above average."""
    first = "try_element_at(heaviest_keys, 1)"
    largest = (
        f"max(named_struct('records', {first}.records, 'order', -partition, 'all_records', records, "
        f"'key', {first}.key, 'partition', partition)) AS largest"
    )
    description = message(
        "a single key has {largest.records:,} of the {largest.all_records:,} records in partition {largest.partition}"
    )
    more = message("; {partitions:,} partitions have such a key")
    return (
        loads.where(f"{first}.records * 2 > records AND imbalance > 1")
        .groupBy(*_TOPIC)
        .agg(F.expr("count(*) AS partitions"), F.expr(largest))
        .selectExpr(
            *_TOPIC,
            f"'{DOMINANT_KEY}' AS finding",
            "largest.records",
            "largest.records / largest.all_records AS share",
            "partitions",
            "largest.partition",
            "largest.key",
            f"concat({description}, if(partitions > 1, {more}, '')) AS description",
        )
    )


def _idle_partitions(loads: DataFrame) -> Callable[[DataFrame], DataFrame]:
    """Find partitions without records in topics with keys: there are too few distinct keys to fill them."""
    idle = (
        loads.groupBy(*_TOPIC)
        .agg(F.expr("count_if(records = 0) AS partitions"), F.expr("count(*) AS all_partitions"))
        .where("partitions > 0")
    )
    hashing = _is_client(lambda client: client.hash is not KeyHash.NONE)
    hashed = f"{hashing} AND (octet_length(key) > 0 OR {_is_client(_hashes_empty)})"
    description = (
        message("{partitions:,} of {all_partitions:,} "),
        "if(partitions = 1, 'partitions gets', 'partitions get')",
        message(" no records; the topic has {keys:,} "),
        "if(keys = 1, 'distinct key', 'distinct keys')",
    )
    return lambda record_partitions: (
        record_partitions.where(f"{hashed} AND key IS NOT NULL AND explicit_partition IS NULL")
        .select(*_TOPIC, "key")
        .join(F.broadcast(idle), [*_TOPIC])
        .groupBy(*_TOPIC, "partitions", "all_partitions")
        .agg(F.expr("count(DISTINCT key) AS keys"))
        .selectExpr(
            *_TOPIC, f"'{IDLE_PARTITIONS}' AS finding", "partitions", f"concat({', '.join(description)}) AS description"
        )
    )


def _hashes_empty(client: Client) -> bool:
    return client.hashes_empty and client.hash is not KeyHash.NONE


def _is_client(condition: Callable[[Client], bool]) -> str:
    return one_of("client", [client.name for client in CLIENTS.values() if condition(client)])


def _finding(name: str, records: str, description: str, partition: str = "NULL") -> str:
    """Return a finding about a number of records, which is 0 where it does not apply."""
    fields = {
        "finding": f"'{name}'",
        "records": records,
        "share": f"{records} / sent",
        "partition": f"CAST({partition} AS INT)",
        "description": description,
    }
    return f"named_struct({', '.join(f'{field!r}, {value}' for field, value in fields.items())})"


def _all_in(records: str, key: str, partition: str) -> str:
    """Describe records that are all hashed to one partition; null where the partition is null."""
    hashes = f"if({records} = 1, ' hashes it to partition ', ' hashes them all to partition ')"
    return f"concat({_records_have(records)}, ' {key}: ', client, {hashes}, CAST({partition} AS STRING))"


def _records_have(records: str) -> str:
    return f"if({records} = 1, '1 record has', {message(f'{{{records}:,}} records have')})"
