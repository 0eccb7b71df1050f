"""Decodes subscription bytes, in Spark's workers, into columns of the members table."""

from collections.abc import Iterable, Iterator
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from rebalance_sim.engine.spark.driver_rows import map_batches
from rebalance_sim.engine.tables.arrow import codes, rows_of, strings, text_array, topic_partitions
from rebalance_sim.errors import UserError
from rebalance_sim.kafka.runtime.strings import Flags
from rebalance_sim.kafka.wire.consumer_batches import decode_subscriptions
from rebalance_sim.kafka.wire.consumer_protocol import (
    STICKY,
    MemberData,
    Subscription,
    TopicPartition,
    decode_subscription,
    member_data,
)
from rebalance_sim.kafka.wire.readable import SchemaError
from rebalance_sim.tables import BINARY, MEMBERS, STRING, struct

ERROR = "metadata_error"
_GIVEN, _READ, _PROTOCOL = "given", "read", "protocol"
_FILLED = {name: MEMBERS.schema[name].dataType for name in ("subscription", "owned", "generation", "user_data", "rack")}
_SCHEMA = struct(_FILLED | {ERROR: STRING})


def read_subscriptions(rows: DataFrame, column: str, protocol: Column) -> DataFrame:
    """Fill null or missing columns of the members table from a column of bytes.

    ``protocol`` is the assignor that the bytes are for, null if unknown. Errors in the bytes are in the new column
    ``metadata_error``. Raises UserError if the column is missing, a column has another type, or ``metadata_error``
    already exists.
    """
    _check(rows, column)
    # Inside a struct, the given columns cannot clash with the new ones.
    originals = F.struct(*[F.col(f"`{name}`") for name in rows.columns])
    sent = rows.select(originals.alias(_GIVEN), protocol.cast("string").alias(_PROTOCOL))
    schema = struct({_GIVEN: rows.schema, _READ: _SCHEMA})
    read = map_batches(sent, partial(_read_batches, column), schema)
    values = {name: _original(name) for name in rows.columns}
    values |= {name: _filled(name, rows.columns) for name in _FILLED}
    values[ERROR] = F.col(f"{_READ}.{ERROR}")
    return read.select(*[value.alias(name) for name, value in values.items()])


def _check(rows: DataFrame, column: str) -> None:
    if column not in rows.columns:
        raise UserError(f"column {column!r} is missing; available: {', '.join(rows.columns)}")
    if ERROR in rows.columns:
        raise UserError(f"column {ERROR!r} already exists; drop or rename it")
    for name, expected in {column: BINARY, **_FILLED}.items():
        if name in rows.columns and rows.schema[name].dataType.simpleString() != expected.simpleString():
            actual = rows.schema[name].dataType.simpleString()
            raise UserError(f"column {name!r} is {actual}, expected {expected.simpleString()}")


def _original(name: str) -> Column:
    return F.col(f"{_GIVEN}.`{name}`")


def _filled(name: str, columns: list[str]) -> Column:
    """Return the original value, or else the decoded value; a generation belongs to the owned partitions beside it."""
    read = F.col(f"{_READ}.{name}")
    original = _original(name) if name in columns else F.lit(None)
    if name == "generation" and "owned" in columns:
        return F.when(_original("owned").isNotNull(), original).otherwise(F.coalesce(original, read))
    return F.coalesce(original, read)


def _read_batches(column: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Process a worker's batches: return each row with a struct of its decoded columns."""
    for batch in batches:
        originals = batch.column(_GIVEN)
        read = _read(originals.field(column), batch.column(_PROTOCOL))
        yield pa.RecordBatch.from_arrays([originals, read], names=[_GIVEN, _READ])


def _read(metadata: pa.Array, protocols: pa.Array) -> pa.StructArray:
    """Decode each distinct value once: members of a group often send the same bytes."""
    value_codes, values = codes(metadata)
    protocol_codes, names = codes(protocols)
    known = [*names.to_pylist(), None]
    keys = value_codes.astype(np.int64) * len(known) + protocol_codes % len(known)
    distinct, places = np.unique(keys[value_codes >= 0], return_inverse=True)
    without_user_data, is_read = _without_user_data(values)
    is_read = is_read[distinct // len(known)] & np.array([name != STICKY for name in known])[distinct % len(known)]
    decoded = _Decoded()
    for key in distinct[~is_read].tolist():
        value, protocol = divmod(key, len(known))
        decoded.add(values[value].as_py(), known[protocol])
    of_distinct = distinct // len(known)
    of_distinct[~is_read] = len(values) + np.arange(np.count_nonzero(~is_read))
    of_row = np.full(len(keys), -1, np.int64)
    of_row[value_codes >= 0] = of_distinct[places]
    read = pa.concat_arrays([without_user_data, decoded.as_array()])
    return read.take(pa.array(of_row, mask=of_row < 0))


def _without_user_data(values: pa.Array) -> tuple[pa.StructArray, Flags]:
    """Decode values that have no user data, all at once, and return which these are.

    Without user data every assignor but sticky sees what the subscription has.
    """
    found = decode_subscriptions(strings(values))
    names, lists_of_names, owned = text_array(found.names), found.subscriptions, found.owned
    topics = pa.ListArray.from_arrays(pa.array(lists_of_names.offsets), names.take(pa.array(lists_of_names.topics)))
    partitions = topic_partitions(names, owned.topics, owned.partitions)
    racks = text_array(found.racks)
    columns = {
        "subscription": topics.take(pa.array(found.subscriptions.of_members)),
        "owned": pa.ListArray.from_arrays(pa.array(owned.offsets), partitions, mask=pa.array(found.is_version_0)),
        "generation": pa.array(found.generations, mask=found.generations < 0),
        "rack": pc.if_else(pc.equal(racks, ""), None, racks),
    }
    return rows_of(_SCHEMA, columns), ~found.malformed & ~found.has_user_data


class _Decoded:
    """Decoded values, as columns."""

    def __init__(self) -> None:
        self._subscriptions: list[Subscription | None] = []
        self._data: list[MemberData] = []

    def add(self, data: bytes, protocol: str | None) -> None:
        """Decode a value."""
        try:
            subscription = decode_subscription(data)
        except SchemaError as problem:
            self._subscriptions.append(None)
            self._data.append(MemberData(None, None, str(problem)))
            return
        self._subscriptions.append(subscription)
        self._data.append(member_data(subscription, protocol))

    def as_array(self) -> pa.StructArray:
        """Return the values as structs."""
        sent = self._subscriptions
        columns = {
            "subscription": pa.array([each and each.topics for each in sent], pa.list_(pa.string())),
            "owned": _partition_lists([data.owned for data in self._data]),
            "generation": pa.array([data.generation for data in self._data], pa.int32()),
            "user_data": pa.array([each and each.user_data for each in sent], pa.binary()),
            "rack": pa.array([each and each.rack for each in sent], pa.string()),
            ERROR: pa.array([data.error for data in self._data], pa.string()),
        }
        return rows_of(_SCHEMA, columns)


def _partition_lists(lists: list[tuple[TopicPartition, ...] | None]) -> pa.ListArray:
    entries = [entry for partitions in lists for entry in partitions or ()]
    offsets = np.zeros(len(lists) + 1, np.int32)
    offsets[1:] = np.cumsum([len(partitions or ()) for partitions in lists])
    topics = pa.array([topic for topic, _ in entries], pa.string())
    numbers = pa.array([number for _, number in entries], pa.int32())
    structs = pa.StructArray.from_arrays([topics, numbers], names=["topic", "partition"])
    mask = pa.array([partitions is None for partitions in lists], pa.bool_())
    return pa.ListArray.from_arrays(pa.array(offsets), structs, mask=mask)
