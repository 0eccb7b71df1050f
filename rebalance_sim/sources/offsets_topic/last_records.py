"""The last records of ``__consumer_offsets``, of which workers make rows of several tables."""

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from rebalance_sim.engine.spark.driver_rows import map_batches
from rebalance_sim.engine.tables.arrow import arrow_type
from rebalance_sim.kafka.wire.offsets_topic import GroupMetadata, RecordType, decode_key, decode_value
from rebalance_sim.kafka.wire.readable import SchemaError

CLASSIC_GROUPS = (RecordType.GROUP_METADATA,)


def last_values(records: DataFrame, types: Collection[RecordType]) -> DataFrame:
    """Return the keys of these types with their last values, from ``key``, ``value``, ``partition`` and ``offset``."""
    of_types = records.where(F.substring("key", 1, 2).isin(*(F.lit(each.to_bytes(2)) for each in types)))
    last = of_types.groupBy("key").agg(F.max_by("value", F.struct("partition", "offset")).alias("value"))
    return last.where("value IS NOT NULL")


def classic_group(key: bytes, value: bytes) -> tuple[str, GroupMetadata] | None:
    """Return the id of a classic group and its record; None if these cannot be decoded, which ``fleet`` rejects."""
    try:
        group = decode_value(RecordType.GROUP_METADATA, value)
        return (decode_key(key).group_id, group) if isinstance(group, GroupMetadata) else None
    except SchemaError:
        return None


def tables_of(rows: DataFrame, read: Callable[..., Iterable[dict[str, Any]]], schema: StructType) -> list[DataFrame]:
    """Return the tables in the fields of a schema: workers call ``read`` with the columns of each row."""

    def decoded(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            found = [made for row in batch.to_pylist() for made in read(**row)]
            yield pa.RecordBatch.from_pylist(found, pa.schema(list(arrow_type(schema))))

    made = map_batches(rows, decoded, schema).persist()
    return [made.where(f"{name} IS NOT NULL").select(f"{name}.*") for name in schema.names]
