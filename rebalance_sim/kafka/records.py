"""Arrays of records, so that a rule can read and write ``member.session_timeout_ms``, compiled or not.

A kernel that is given twenty arrays gets 140 numbers, and so does every function that it hands them on to: that takes
longer than what most of them do. ``Rows`` are such arrays as kernels hand them on: nothing but the place of the first
element, so without a length and without a check of the index.
"""

import operator
import zlib
from collections.abc import MutableSequence
from typing import Any, TypeVar, cast, get_type_hints

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.core.extending import intrinsic, lower_builtin, models, overload, register_model, typeof_impl, unbox
from numba.core.pythonapi import NativeValue
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.np import numpy_support

Record = TypeVar("Record")
Records = MutableSequence[Record]
"""As the rules see them; they are arrays of numpy, or Rows."""

_KINDS = {int: np.int64, bool: np.bool_}
_BYTE_POINTER = ir.IntType(8).as_pointer()


def record_type(of: type) -> np.dtype[np.void]:
    """Return numpy's type of a record, from a class that names its fields, whole numbers or flags.

    >>> class Point:
    ...     x: int
    ...     hidden: bool
    >>> record_type(Point).names
    ('x', 'hidden')
    """
    fields = [(name, _KINDS[kind]) for name, kind in get_type_hints(of).items()]
    return np.dtype(fields, align=True)


def new_records(of: type[Record], count: int) -> Records[Record]:
    """Make so many records, all numbers 0 and all flags unset."""
    return cast(Records[Record], np.zeros(count, record_type(of)).view(np.recarray))


class Rows(np.ndarray):
    """An array that a compiled function is given as Rows when it is called from Python."""


def rows(array: Any) -> Any:
    """Return the elements of an array, which has to outlive them, as Rows."""
    return np.asarray(array).view(Rows)


# ---- The same for numba


class _ShortRecord(types.Record):  # type: ignore[misc]
    """A record whose name does not list its fields: names of types are parts of names of functions."""

    def __init__(self, of: Any) -> None:
        fields = [(name, {"type": field.type, "offset": field.offset}) for name, field in of.fields.items()]
        super().__init__(fields, of.size, of.aligned)
        self.name = f"Record{zlib.crc32(of.name.encode()):08x}"


register_model(_ShortRecord)(models.RecordModel)


def _short(element: Any) -> Any:
    return _ShortRecord(element) if isinstance(element, types.Record) else element


class _RowsType(types.Type):  # type: ignore[misc]
    def __init__(self, element: Any) -> None:
        self.element = element
        super().__init__(name=f"Rows({element})")


@register_model(_RowsType)
class _RowsModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, of: Any) -> None:
        super().__init__(manager, of, _BYTE_POINTER)


@typeof_impl.register(Rows)  # type: ignore[untyped-decorator]
def _typeof_rows(value: Rows, context: Any) -> Any:
    return _RowsType(_short(numpy_support.from_dtype(value.dtype)))


@typeof_impl.register(np.record)  # type: ignore[untyped-decorator]
def _typeof_record(value: np.record, context: Any) -> Any:
    return _short(numpy_support.from_dtype(value.dtype))


@unbox(_RowsType)  # type: ignore[untyped-decorator]
def _unbox_rows(of: Any, value: Any, c: Any) -> Any:
    interface = c.pyapi.object_getattr_string(value, "ctypes")
    address = c.pyapi.object_getattr_string(interface, "data")
    pointer = c.pyapi.long_as_voidptr(address)
    c.pyapi.decref(address)
    c.pyapi.decref(interface)
    return NativeValue(pointer, is_error=cgutils.is_not_null(c.builder, c.pyapi.err_occurred()))


@intrinsic
def _first_element(context: Any, array: Any) -> Any:
    def generate(target: Any, builder: Any, of: Any, given: Any) -> Any:
        return builder.bitcast(target.make_array(array)(target, builder, given[0]).data, _BYTE_POINTER)

    return _RowsType(_short(array.dtype))(array), generate


@overload(rows, strict=False)
def _overload_rows(array: Any) -> Any:
    def first_element(array):  # type: ignore[no-untyped-def]
        return _first_element(array)  # type: ignore[call-arg]

    return first_element


@infer_global(operator.getitem)
class _GetItem(AbstractTemplate):  # type: ignore[misc]
    def generic(self, given: Any, named: Any) -> Any:
        if isinstance(given[0], _RowsType) and isinstance(given[1], types.Integer):
            return signature(given[0].element, given[0], types.intp)
        return None


@infer_global(operator.setitem)
class _SetItem(AbstractTemplate):  # type: ignore[misc]
    def generic(self, given: Any, named: Any) -> Any:
        if isinstance(given[0], _RowsType) and isinstance(given[1], types.Integer):
            return signature(types.none, given[0], types.intp, given[0].element)
        return None


@lower_builtin(operator.getitem, _RowsType, types.Integer)  # type: ignore[untyped-decorator]
def _get_item(context: Any, builder: Any, of: Any, given: Any) -> Any:
    element = of.args[0].element
    return context.unpack_value(builder, element, _place(context, builder, element, given))


@lower_builtin(operator.setitem, _RowsType, types.Integer, types.Any)  # type: ignore[untyped-decorator]
def _set_item(context: Any, builder: Any, of: Any, given: Any) -> Any:
    element = of.args[0].element
    context.pack_value(builder, element, given[2], _place(context, builder, element, given))
    return context.get_dummy_value()


def _place(context: Any, builder: Any, element: Any, given: Any) -> Any:
    """Return the address of an element."""
    of = context.get_data_type(element)
    size = given[1].type(context.get_abi_sizeof(of))
    return builder.bitcast(builder.gep(given[0], [builder.mul(given[1], size)]), of.as_pointer())
