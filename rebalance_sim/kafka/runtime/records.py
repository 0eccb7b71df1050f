"""Arrays of records, so that a rule can read and write ``member.session_timeout_ms``, compiled or not.

A kernel that receives twenty arrays receives 140 numbers, and so does every function it passes them to: that takes
longer than what most of them compute. ``Rows`` are arrays as kernels pass them on: compiled, only the address of the
first element, without a length and without a check of the index (see ``numba_internals.py``).
"""

from collections.abc import MutableSequence
from ctypes import Structure, c_bool, c_int64
from functools import cache, lru_cache
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


class _RecordRows(Rows):
    """Rows of records, which plain Python reads and writes as ``plain_rows``."""

    records: Any

    def __getitem__(self, index: Any) -> Any:
        return self.records[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        self.records[index] = value


def rows(array: Any, first: int = 0) -> Any:
    """Return the elements of an array, from ``first`` on, as Rows, which must not outlive the array."""
    given = np.asarray(array)[first:]
    if given.dtype.names is None:
        return given.view(Rows)
    found = given.view(_RecordRows)
    found.records = plain_rows(given)
    return found


def plain_rows(array: Any, first: int = 0) -> Any:
    """Return the elements of an array, from ``first`` on, as rules read them that run as plain Python.

    Fields of C's structures take a small part of the time of those of numpy's records.
    """
    given = np.asarray(array)
    of = given.dtype
    if of.names is None:
        return given.data[first:]
    return _array_type(of, len(given) - int(first)).from_buffer(given, int(first) * of.itemsize)


@lru_cache(maxsize=1024)
def _array_type(of: np.dtype[np.void], length: int) -> Any:
    return _structure(of) * length


@cache
def _structure(of: np.dtype[np.void]) -> Any:
    kinds = {name: c_bool if kind == np.bool_ else c_int64 for name, (kind, *_) in (of.fields or {}).items()}
    return type("Record", (Structure,), {"_fields_": list(kinds.items())})


def reference(of: _Named) -> _Named:
    """Return a named tuple as kernels pass it on: compiled, only its address.

    It must not outlive the call of the kernel that makes it. Within a kernel, a second call at the same place
    overwrites the first tuple.
    """
    return of
