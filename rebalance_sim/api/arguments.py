"""Checks the arguments of the public functions against their type hints."""

import types
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from inspect import Parameter, signature
from numbers import Integral
from typing import Any, ParamSpec, TypeVar, Union, Unpack, get_args, get_origin, get_type_hints, is_typeddict

from pyspark.sql import DataFrame

from rebalance_sim.errors import UserError, check_choice

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


def checked(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Make a public function raise UserError for an argument of another type than its hint.

    >>> @checked
    ... def twice(number: int) -> int:
    ...     return 2 * number
    >>> twice("5")
    Traceback (most recent call last):
    rebalance_sim.errors.UserError: twice: number is '5' (str); allowed: int
    """
    parameters = signature(function).parameters
    hints = get_type_hints(function)
    others = next((hints.pop(name) for name, of in parameters.items() if of.kind is Parameter.VAR_KEYWORD), None)
    if get_origin(others) is Unpack:
        hints |= get_type_hints(get_args(others)[0])
    hints.pop("return")

    @wraps(function)
    def with_checks(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        # Python itself checks how many there are.
        given = dict(zip(parameters, args)) | kwargs  # noqa: B905
        for name, value in given.items():
            if others is not Any:
                check_choice(f"{function.__name__}: argument", name, list(hints))
            _check(function, name, value, hints.get(name, Any))
        return function(*args, **kwargs)

    return with_checks


def _check(function: Callable[..., Any], name: str, value: Any, hint: Any) -> None:
    if _fits(value, hint):
        return
    items = _items(value, hint)
    if items:
        for key, item, of_item in items:
            _check(function, f"{name}[{key!r}]", item, of_item)
        return
    shown = "a DataFrame" if isinstance(value, DataFrame) else f"{value!r} ({type(value).__name__})"
    usage = ""
    if isinstance(value, DataFrame):
        usage = f"; a transformation is made first: rows.transform({function.__name__}(...))"
    raise UserError(f"{function.__name__}: {name} is {shown}; allowed: {_described(hint)}{usage}")


def _items(value: Any, hint: Any) -> list[tuple[Any, Any, Any]]:
    """Return the items of a sequence or a mapping, each with its key and its hint; none if the value is neither."""
    origin, of = get_origin(hint), get_args(hint)
    if origin is Mapping and isinstance(value, Mapping):
        return [(key, item, of[1]) for key, item in value.items()]
    if origin is Sequence and isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [(place, item, of[0]) for place, item in enumerate(value)]
    return []


def _fits(value: Any, hint: Any) -> bool:
    """Return whether a value has the type of a hint; of a sequence, whether all its items have."""
    origin, of = get_origin(hint) or hint, get_args(hint)
    if hint is Any or isinstance(hint, TypeVar):
        return True
    if origin in (Union, types.UnionType):
        return any(_fits(value, each) for each in of)
    if origin is tuple:
        return isinstance(value, tuple | list) and len(value) == len(of) and all(map(_fits, value, of))
    if origin in (Sequence, Mapping) and isinstance(value, origin) and not isinstance(value, str | bytes):
        return all(_fits(item, of_item) for _, item, of_item in _items(value, hint))
    if is_typeddict(origin):
        return isinstance(value, dict)
    if origin is int:
        # True is an int for Python, and never a number for a user.
        return isinstance(value, Integral) and not isinstance(value, bool)
    return isinstance(value, origin) and origin is not Sequence


def _described(hint: Any) -> str:
    """Return a hint as users write it.

    >>> _described(Sequence[str]), _described(str | None), _described(tuple[str, int])
    ('a sequence of str', 'str or None', '(str, int)')
    """
    origin, of = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return " or ".join(map(_described, of))
    if origin is Sequence:
        return f"a sequence of {_described(of[0])}"
    if origin is Mapping:
        return f"a mapping of {_described(of[0])} to {_described(of[1])}"
    if origin is tuple:
        return f"({', '.join(map(_described, of))})"
    if hint is type(None):
        return "None"
    return "a function" if origin is Callable else str(getattr(hint, "__name__", hint))
