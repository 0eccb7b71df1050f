"""Reads the bytes of subscriptions, in Spark's workers, into the columns of the members table."""

from collections.abc import Iterable, Iterator
from functools import partial

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

from rebalance_sim.engine.arrow import codes
from rebalance_sim.errors import UserError
from rebalance_sim.kafka.consumer_protocol import (
    MemberData,
    Subscription,
    TopicPartition,
    decode_subscription,
    member_data,
)
from rebalance_sim.kafka.readable import SchemaError
from rebalance_sim.tables import MEMBERS

ERROR = "metadata_error"
_GIVEN, _READ, _PROTOCOL = "given", "read", "protocol"
_FILLED = {name: MEMBERS.schema[name].dataType for name in ("subscription", "owned", "generation", "user_data", "rack")}
_SCHEMA = StructType([*(StructField(name, of) for name, of in _FILLED.items()), StructField(ERROR, StringType())])


def read_subscriptions(rows: DataFrame, column: str, protocol: Column) -> DataFrame:
    """Fill columns of the members table, where they are null or missing, from a column of bytes.

    ``protocol`` names the assignor that the bytes are for, null where that is not known. What is wrong with the bytes
    goes into the new column ``metadata_error``. Raises UserError for columns that are missing, of another type, or
    there already.
    """
    _check(rows, column)
    # In a struct, columns of any name come through.
    given = F.struct(*[F.col(f"`{name}`") for name in rows.columns])
    sent = rows.select(given.alias(_GIVEN), protocol.cast("string").alias(_PROTOCOL))
    schema = StructType([StructField(_GIVEN, rows.schema), StructField(_READ, _SCHEMA)])
    read = sent.mapInArrow(partial(_read_batches, column), schema)
    values = {name: _given(name) for name in rows.columns}
    values |= {name: _filled(name, rows.columns) for name in _FILLED}
    values[ERROR] = F.col(f"{_READ}.{ERROR}")
    return read.select(*[value.alias(name) for name, value in values.items()])


def _check(rows: DataFrame, column: str) -> None:
    if column not in rows.columns:
        raise UserError(f"column {column!r} is missing; there are: {', '.join(rows.columns)}")
    if ERROR in rows.columns:
        raise UserError(f"column {ERROR!r} is there already")
    for name, expected in {column: BinaryType(), **_FILLED}.items():
        if name in rows.columns and rows.schema[name].dataType.simpleString() != expected.simpleString():
            given = rows.schema[name].dataType.simpleString()
            raise UserError(f"column {name!r} is {given}, expected {expected.simpleString()}")


def _given(name: str) -> Column:
    return F.col(f"{_GIVEN}.`{name}`")


def _filled(name: str, columns: list[str]) -> Column:
    """Return what is given, or else what was read; a generation goes with the owned partitions that it tells of."""
    read = F.col(f"{_READ}.{name}")
    given = _given(name) if name in columns else F.lit(None)
    if name == "generation" and "owned" in columns:
        return F.when(_given("owned").isNotNull(), given).otherwise(F.coalesce(given, read))
    return F.coalesce(given, read)


def _read_batches(column: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Do a worker's part: the rows as they are, and a struct of what their bytes say."""
    for batch in batches:
        given = batch.column(_GIVEN)
        read = _read(given.field(column), batch.column(_PROTOCOL))
        yield pa.RecordBatch.from_arrays([given, read], names=[_GIVEN, _READ])


def _read(metadata: pa.Array, protocols: pa.Array) -> pa.StructArray:
    """Read each distinct value once: members of a group often send the same bytes."""
    value_codes, values = codes(metadata)
    protocol_codes, names = codes(protocols)
    known = [*names.to_pylist(), None]
    keys = value_codes.astype(np.int64) * len(known) + protocol_codes % len(known)
    distinct, places = np.unique(keys[value_codes >= 0], return_inverse=True)
    answers = _Answers()
    for key in distinct.tolist():
        value, protocol = divmod(key, len(known))
        answers.add(values[value].as_py(), known[protocol])
    of_row = np.full(len(keys), -1, np.int64)
    of_row[value_codes >= 0] = places
    return answers.as_array().take(pa.array(of_row, mask=of_row < 0))


class _Answers:
    """What was read from some bytes, as columns."""

    def __init__(self) -> None:
        self._told: list[Subscription | None] = []
        self._data: list[MemberData] = []

    def add(self, data: bytes, protocol: str | None) -> None:
        """Read a value."""
        try:
            told = decode_subscription(data)
        except SchemaError as problem:
            self._told.append(None)
            self._data.append(MemberData(None, None, str(problem)))
            return
        self._told.append(told)
        self._data.append(member_data(told, protocol))

    def as_array(self) -> pa.StructArray:
        """Return structs of what is to be filled in."""
        fields = list(to_arrow_type(_SCHEMA))
        columns = {
            "subscription": pa.array([told and told.topics for told in self._told], pa.list_(pa.string())),
            "owned": _partition_lists([data.owned for data in self._data]),
            "generation": pa.array([data.generation for data in self._data], pa.int32()),
            "user_data": pa.array([told and told.user_data for told in self._told], pa.binary()),
            "rack": pa.array([told and told.rack for told in self._told], pa.string()),
            ERROR: pa.array([data.error for data in self._data], pa.string()),
        }
        return pa.StructArray.from_arrays([columns[of.name].cast(of.type) for of in fields], fields=fields)


def _partition_lists(lists: list[tuple[TopicPartition, ...] | None]) -> pa.ListArray:
    entries = [entry for partitions in lists for entry in partitions or ()]
    offsets = np.zeros(len(lists) + 1, np.int32)
    offsets[1:] = np.cumsum([len(partitions or ()) for partitions in lists])
    topics = pa.array([topic for topic, _ in entries], pa.string())
    numbers = pa.array([number for _, number in entries], pa.int32())
    structs = pa.StructArray.from_arrays([topics, numbers], names=["topic", "partition"])
    mask = pa.array([partitions is None for partitions in lists], pa.bool_())
    return pa.ListArray.from_arrays(pa.array(offsets), structs, mask=mask)
