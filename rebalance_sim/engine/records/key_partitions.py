"""Compute the partition of every keyed record, by Spark expressions where they exist, else in Python workers."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import arrow_udf

from rebalance_sim.engine.records.jvm_murmur2 import murmur2
from rebalance_sim.engine.spark.driver_rows import map_batches
from rebalance_sim.engine.tables.arrow import codes, numbers, strings
from rebalance_sim.kafka.partitioners.keyed import UNKEYED, key_partitions
from rebalance_sim.kafka.partitioners.partitioner import Client, KeyHash, ToPartition, Unkeyed
from rebalance_sim.tables import INT, struct

_PARTITION = struct({"partition": INT})


def partition_of_key(clients: Sequence[Client], partitions: str = "partitions") -> Column:
    """Return the partition as a column, given ``key`` and a column with the number of partitions, at least one.

    It is null where the client treats the record as unkeyed. If there are several clients, the column ``client``
    names the one whose rules apply.
    """
    alike: dict[Client, list[Client]] = {}
    for client in clients:
        rule = replace(client, name="", unkeyed=Unkeyed.RANDOM)
        alike.setdefault(rule, []).append(client)
    cases: list[Column] = []
    by_workers: list[Client] = []
    for clients_of_rule in alike.values():
        expression = _expression(clients_of_rule[0], F.col(partitions))
        if expression is None:
            by_workers += clients_of_rule
        elif len(alike) == 1:
            return expression
        else:
            cases.append(F.when(F.col("client").isin(*[client.name for client in clients_of_rule]), expression))
    if len(alike) == 1:
        return _in_worker(by_workers[0], partitions)
    if by_workers:
        cases.append(_in_workers(by_workers, partitions))
    return F.coalesce(*cases, F.lit(None).cast("int"))


def spread_keys(client: Client, partitions: int) -> Callable[[DataFrame], DataFrame]:
    """Transform rows with ``key`` to ``partition`` alone: the client's choice in a topic of that many partitions.

    If Python workers are needed, only keys move there and only partitions come back. ``partition_of_key`` also buffers
    the other columns and joins them again, which about doubles the cost.
    """

    def in_workers(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            counts = pa.repeat(pa.scalar(partitions, pa.int32()), len(batch))
            yield pa.RecordBatch.from_arrays([_chosen(client, batch.column("key"), counts)], ["partition"])

    def transform(rows: DataFrame) -> DataFrame:
        expression = _expression(client, F.lit(partitions))
        if expression is None:
            return map_batches(rows.select("key"), in_workers, _PARTITION)
        return rows.select(expression.alias("partition"))

    return transform


def _expression(client: Client, partitions: Column) -> Column | None:
    """Return the partition as a Spark expression; None if it needs Python."""
    key = F.col("key")
    if client.hash is KeyHash.NONE:
        return F.lit(None).cast("int")
    if client.window_bytes:
        return None
    hashed = F.coalesce(key, F.lit(b"")) if client.hashes_null else key
    if not client.hashes_empty:
        hashed = F.nullif(key, F.lit(b""))
    if client.hash is KeyHash.CRC32 and client.to_partition is ToPartition.UNSIGNED:
        return (F.crc32(hashed) % partitions).cast("int")
    if client.hash is KeyHash.MURMUR2 and client.to_partition is ToPartition.POSITIVE:
        h = murmur2(hashed)
        return None if h is None else h.bitwiseAND(0x7FFFFFFF) % partitions
    return None


def _in_worker(client: Client, partitions: str) -> Column:
    def chosen(key: pa.Array, counts: pa.Array) -> pa.Array:
        return _chosen(client, key, counts)

    return cast(Column, cast(Any, arrow_udf)(chosen, "int")("key", partitions))


def _in_workers(clients: Sequence[Client], partitions: str) -> Column:
    def chosen(client: pa.Array, key: pa.Array, counts: pa.Array) -> pa.Array:
        client_codes, names = codes(client)
        found = pa.nulls(len(key), pa.int32())
        for known in clients:
            code = pc.index(names, known.name).as_py()
            if code >= 0:
                found = pc.if_else(pa.array(client_codes == code), _chosen(known, key, counts), found)
        return found

    return cast(Column, cast(Any, arrow_udf)(chosen, "int")("client", "key", partitions))


def _chosen(client: Client, key: pa.Array, partitions: pa.Array) -> pa.Array:
    have_keys = numbers(key.is_valid()).astype(np.bool_)
    chosen = key_partitions(client, strings(key), have_keys, numbers(partitions).astype(np.int32))
    return pa.array(chosen, mask=chosen == UNKEYED)
