"""Arrow arrays as the NumPy arrays of Kafka's rules, and back, without copying where possible."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import StructType

from rebalance_sim.kafka.runtime.strings import Ints, Ints32, Strings

STRING = pa.string()


def strings(array: pa.Array) -> Strings:
    """View a string array as offsets and bytes; a null becomes an empty string."""
    offsets = np.frombuffer(array.buffers()[1] or bytes(4), np.int32)[array.offset : array.offset + len(array) + 1]
    return Strings.over(offsets, np.frombuffer(array.buffers()[2] or b"", np.uint8))


def text_array(texts: Strings, of: pa.DataType = STRING) -> pa.Array:
    """View offsets and bytes as an array of strings, or of bytes."""
    return pa.Array.from_buffers(
        of, len(texts.offsets) - 1, [None, pa.py_buffer(texts.offsets), pa.py_buffer(texts.data)]
    )


def list_offsets(array: pa.ListArray) -> Ints32:
    """Return the offsets of the lists into ``array.flatten()``; a null becomes an empty list."""
    if array.null_count:
        offsets = np.zeros(len(array) + 1, np.int32)
        np.cumsum(numbers(array.value_lengths().fill_null(0)), out=offsets[1:])
        return offsets
    offsets = np.frombuffer(array.buffers()[1] or bytes(4), np.int32)[array.offset : array.offset + len(array) + 1]
    return offsets - offsets[0]


def list_of_items(array: pa.ListArray) -> Ints:
    """Return the number of its list for each item of ``array.flatten()``."""
    return np.repeat(np.arange(len(array)), np.diff(list_offsets(array)))


def numbers(array: pa.Array) -> NDArray[np.int_]:
    """View a number array without nulls."""
    values: NDArray[np.int_] = array.to_numpy(zero_copy_only=False)
    return values


def codes(array: pa.Array) -> tuple[Ints32, pa.Array]:
    """Dictionary-encode an array: return the code of each entry, -1 for null, and the distinct values."""
    encoded = array.dictionary_encode()
    return encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False), encoded.dictionary


def lists(offsets: Ints32, values: pa.Array) -> pa.ListArray:
    """Build a list array."""
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values)


def topic_partitions(names: pa.Array, topics: Ints32, partitions: Ints32) -> pa.StructArray:
    """Return partitions with the names of their topics."""
    return pa.StructArray.from_arrays(
        [names.take(pa.array(topics)), pa.array(partitions)], names=["topic", "partition"]
    )


def arrow_type(schema: StructType) -> pa.DataType:
    """Return Arrow's type for the rows of a table."""
    return to_arrow_type(schema)


def rows_of(schema: StructType, columns: dict[str, pa.Array]) -> pa.StructArray:
    """Build rows of a table from its columns; missing columns are null."""
    fields = list(arrow_type(schema))
    length = len(next(iter(columns.values())))
    arrays = [columns.get(field.name, pa.nulls(length, field.type)) for field in fields]
    return pa.StructArray.from_arrays(
        [array.cast(field.type) for array, field in zip(arrays, fields, strict=True)], fields=fields
    )


def as_outcome(name: str, rows: pa.StructArray, tables: StructType) -> pa.RecordBatch:
    """Return rows of one of several tables as ``outcome`` takes them, with a struct column per table."""
    columns = [rows if of.name == name else pa.nulls(len(rows), to_arrow_type(of.dataType)) for of in tables]
    return pa.RecordBatch.from_arrays(columns, names=tables.names)
