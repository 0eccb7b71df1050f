"""The partition of every keyed record: by Spark's own expressions where they are there, else in Python's workers."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, StructField, StructType

from rebalance_sim.engine.arrow import codes, numbers, strings
from rebalance_sim.engine.jvm_murmur2 import murmur2
from rebalance_sim.kafka.partitioners.clients import Client, KeyHash, ToPartition
from rebalance_sim.kafka.partitioners.keyed import UNKEYED, key_partitions


class KeyPartitions:
    """From rows with ``client``, ``key`` and ``partitions``, at least one, to the same with ``partition``.

    That is null where the client does not go by the key: its record counts as unkeyed.
    """

    def __init__(self, clients: Sequence[Client]) -> None:
        self.clients = tuple(clients)

    def __call__(self, rows: DataFrame) -> DataFrame:
        """Add the column."""
        expression = self._expression()
        if expression is not None:
            return rows.withColumn("partition", expression)
        schema = StructType([*rows.schema.fields, StructField("partition", IntegerType())])
        return rows.mapInArrow(self.add_to_batches, schema)

    def add_to_batches(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Do a worker's part."""
        for batch in batches:
            yield batch.append_column("partition", self._partitions(batch))

    def _partitions(self, batch: pa.RecordBatch) -> pa.Array:
        keys, partitions = batch.column("key"), numbers(batch.column("partitions")).astype(np.int32)
        laid_out, given = strings(keys), numbers(keys.is_valid()).astype(np.bool_)
        client_codes, names = codes(batch.column("client"))
        found = np.full(len(keys), UNKEYED, np.int32)
        for client in self.clients:
            code = pc.index(names, client.name).as_py()
            if code >= 0:
                of_client = key_partitions(client, laid_out, given, partitions)
                found = of_client if len(names) == 1 else np.where(client_codes == code, of_client, found)
        return pa.array(found, mask=found == UNKEYED)

    def _expression(self) -> Column | None:
        """Return Spark's own expression of it, unless it has none for one of the clients."""
        cases = [(client, _expression(client)) for client in self.clients]
        known = [(client, case) for client, case in cases if case is not None]
        if len(known) < len(cases):
            return None
        if len(known) == 1:
            return known[0][1]
        return F.coalesce(*[F.when(F.col("client") == client.name, case) for client, case in known])


def _expression(client: Client) -> Column | None:
    key, partitions = F.col("key"), F.col("partitions")
    if client.hash is KeyHash.NONE:
        return F.lit(None).cast("int")
    hashed = F.coalesce(key, F.lit(b"")) if client.hashes_null else key
    if not client.hashes_empty:
        hashed = F.nullif(key, F.lit(b""))
    if client.hash is KeyHash.CRC32 and client.to_partition is ToPartition.UNSIGNED:
        return (F.crc32(hashed) % partitions).cast("int")
    if client.hash is KeyHash.MURMUR2 and client.to_partition is ToPartition.POSITIVE:
        h = murmur2(hashed)
        return None if h is None else h.bitwiseAND(0x7FFFFFFF) % partitions
    return None
