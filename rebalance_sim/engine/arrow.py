"""Arrow arrays as the arrays that the rules take, and back, without copying where that is possible."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import StructType

from rebalance_sim.kafka.strings import Ints32, Strings


def strings(array: pa.Array) -> Strings:
    """View a string array as offsets and bytes; null is an empty string."""
    offsets = np.frombuffer(array.buffers()[1] or bytes(4), np.int32)[array.offset : array.offset + len(array) + 1]
    return Strings.over(offsets, np.frombuffer(array.buffers()[2] or b"", np.uint8))


def texts(column: Strings) -> list[str]:
    """Return strings as Python's.

    >>> texts(Strings.of(["ab", "", "c"]))
    ['ab', '', 'c']
    """
    data = column.data.tobytes()
    return [data[low:high].decode() for low, high in pairwise(column.offsets.tolist())]


def list_offsets(array: pa.ListArray) -> Ints32:
    """Offsets of the lists into ``array.flatten()``; null is an empty list."""
    if array.null_count:
        offsets = np.zeros(len(array) + 1, np.int32)
        np.cumsum(numbers(array.value_lengths().fill_null(0)), out=offsets[1:])
        return offsets
    offsets = np.frombuffer(array.buffers()[1] or bytes(4), np.int32)[array.offset : array.offset + len(array) + 1]
    return offsets - offsets[0]


def numbers(array: pa.Array) -> NDArray[np.int_]:
    """View a number array that holds no nulls."""
    values: NDArray[np.int_] = array.to_numpy(zero_copy_only=False)
    return values


def codes(array: pa.Array) -> tuple[Ints32, pa.Array]:
    """Number the distinct values of an array: the number of each entry (null is -1), and the values."""
    encoded = array.dictionary_encode()
    return encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False), encoded.dictionary


def lists(offsets: Ints32, values: pa.Array) -> pa.ListArray:
    """Build a list array."""
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values)


def arrow_type(schema: StructType) -> pa.DataType:
    """Arrow's type of a table's rows."""
    return to_arrow_type(schema)


def rows_of(schema: StructType, columns: dict[str, pa.Array]) -> pa.StructArray:
    """Build rows of a table from its columns; those that are not given are null."""
    fields = list(arrow_type(schema))
    length = len(next(iter(columns.values())))
    arrays = [columns.get(field.name, pa.nulls(length, field.type)) for field in fields]
    return pa.StructArray.from_arrays(
        [array.cast(field.type) for array, field in zip(arrays, fields, strict=True)], fields=fields
    )
