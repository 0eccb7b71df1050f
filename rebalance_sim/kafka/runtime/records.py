"""Arrays of records, so that a rule can read and write ``member.session_timeout_ms``, compiled or not.

A kernel that receives twenty arrays receives 140 numbers, and so does every function it passes them to: that takes
longer than what most of them compute. ``Rows`` are arrays as kernels pass them on: compiled, only the address of the
first element, without a length and without a check of the index (see ``numba_internals.py``).
"""

from collections.abc import MutableSequence
from functools import cache
from typing import Any, TypeVar, cast, get_type_hints

import numpy as np

Record = TypeVar("Record")
Records = MutableSequence[Record]
"""The type that rules declare; the values are numpy arrays or Rows."""

_Named = TypeVar("_Named", bound=tuple[Any, ...])
_NUMPY_TYPES = {int: np.int64, bool: np.bool_}


@cache
def record_type(of: type) -> np.dtype[np.void]:
    """Return numpy's type of a record, from a class with fields that are whole numbers or flags.

    >>> class Point:
    ...     x: int
    ...     hidden: bool
    >>> record_type(Point).names
    ('x', 'hidden')
    """
    fields = [(name, _NUMPY_TYPES[python_type]) for name, python_type in get_type_hints(of).items()]
    return np.dtype(fields, align=True)


def new_records(of: type[Record], count: int) -> Records[Record]:
    """Return an array of records with all numbers 0 and all flags unset."""
    return cast(Records[Record], np.zeros(count, record_type(cast(type, of))).view(np.recarray))


class Rows(np.ndarray):
    """An array that a kernel called from Python receives as Rows."""


class _Row:
    """A record of an array, which plain Python reads and writes about twenty times faster than those of numpy."""

    __slots__ = ("_columns", "_index", "_rows")

    def __init__(self, rows_: "_RecordRows", index: int) -> None:
        self._rows, self._columns, self._index = rows_, rows_.columns, index


class _RecordRows(Rows):
    """Rows of records, which plain Python reads and writes by ``_Row``."""

    row_type: type[_Row]
    columns: list[Any]
    made: dict[int, _Row]
    """Those that have been read: a simulation reads the same ones over and over."""

    def __getitem__(self, index: Any) -> Any:
        row = self.made.get(index)
        if row is None:
            row = self.made[index] = self.row_type(self, index)
        return row

    def __setitem__(self, index: Any, value: Any) -> None:
        record = np.ndarray.__getitem__(value._rows, value._index) if isinstance(value, _Row) else value
        np.ndarray.__setitem__(self, index, record)


def rows(array: Any) -> Any:
    """Return the elements of an array as Rows, which must not outlive the array."""
    given = np.asarray(array)
    names = given.dtype.names
    if names is None:
        return given.view(Rows)
    found = given.view(_RecordRows)
    # Unlike arrays, memoryviews have Python's numbers, which compare much faster with members of an enum.
    found.row_type, found.columns, found.made = _row_type(names), [given[name].data for name in names], {}
    return found


@cache
def _row_type(names: tuple[str, ...]) -> type[_Row]:
    return type("Row", (_Row,), {"__slots__": (), **{name: _column(place) for place, name in enumerate(names)}})


def _column(place: int) -> property:
    def read(row: Any) -> Any:
        return row._columns[place][row._index]

    def write(row: Any, value: Any) -> None:
        row._columns[place][row._index] = value

    return property(read, write)


def reference(of: _Named) -> _Named:
    """Return a named tuple as kernels pass it on: compiled, only its address.

    It must not outlive the call of the kernel that makes it, and a kernel has one at a time of each it makes.
    """
    return of
