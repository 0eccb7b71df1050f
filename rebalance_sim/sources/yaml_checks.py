"""Checks values of YAML files against structs of msgspec; messages have the place, the value and what is allowed."""

import atexit
import gc
import re
from collections.abc import Collection
from difflib import get_close_matches
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

from rebalance_sim.errors import UserError
from rebalance_sim.sources.yaml_files import Place, YamlFile

S = TypeVar("S", bound=msgspec.Struct)
_MESSAGE = re.compile(r"(?P<what>.*?)(?: - at (?P<key>`key` in )?`(?P<path>\$[^`]*)`)?", re.DOTALL)
_STEP = re.compile(r"\.(\w+)|\[(\d+|\.\.\.)\]")
_FIELD = re.compile(r"Object (?:missing required|contains unknown) field `(.*)`", re.DOTALL)

# Python 3.11 may crash when it collects types of msgspec 0.22 as garbage at its end (issue 717 of msgspec).
atexit.register(gc.freeze)


class InvalidValueError(ValueError):
    """A value that is not allowed: its place in what was checked, and what is wrong."""

    def __init__(self, place: Place, what: str) -> None:
        names = [step if isinstance(step, int) or step.isprintable() else repr(step) for step in place]
        key = "".join(f"[{name}]" if isinstance(name, int) else f".{name}" for name in names).removeprefix(".")
        super().__init__(f"{key}: {what}" if key else what)
        self.place = place


def read_as(file: YamlFile, kind: type[S]) -> S:
    """Return a file's value as a struct. Raises UserError, naming file, line and key, for the first mistake."""
    try:
        return checked(file.value, kind)
    except InvalidValueError as mistake:
        raise UserError(f"{file.path}: line {file.line(mistake.place)}: {mistake}") from None


def checked(value: Any, kind: type[S]) -> S:
    """Return a value as a struct. Raises InvalidValueError for the first value that is not allowed.

    >>> from rebalance_sim.sources.synthetic.fleet_spec import GiantSpec
    >>> checked({"members": 5, "topics": 0, "partitions": 1}, GiantSpec)
    Traceback (most recent call last):
    rebalance_sim.sources.yaml_checks.InvalidValueError: topics: expected a whole number from 1 to 10000000, got 0

    Only for structs: msgspec 0.22 crashes if an annotated union is both a type to convert to and the type of a field.
    """
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as problem:
        raise _invalid(value, inspect.type_info(kind), problem) from None


def _invalid(value: Any, kind: inspect.Type, problem: msgspec.ValidationError) -> InvalidValueError:
    """Complete a message of msgspec: the actual value, everything that is allowed, and the keys that it leaves out."""
    message = _MESSAGE.fullmatch(str(problem))
    assert message
    place: Place = ()
    for name, index in _STEP.findall(message["path"] or ""):
        step, kind = _entered(kind, value, name or index)
        place, value = (*place, step if isinstance(value, list) else str(step)), value[step]
    if message["key"]:
        return _wrong_key(place, value, _part(kind, inspect.StructType, inspect.DictType))
    if field := _FIELD.fullmatch(message["what"]):
        names = [of.encode_name for of in _part(kind, inspect.StructType).fields]
        what = "is missing" if field[1] in names else _unknown(field[1], names)
        return InvalidValueError((*place, field[1]), what)
    if problem.__cause__:
        return InvalidValueError(place, message["what"])
    if names := _part(kind, inspect.LiteralType):
        near = _nearest(str(value), names.values)
        return InvalidValueError(place, f"got {shown(value)}; {near}allowed: {', '.join(names.values)}")
    return InvalidValueError(place, f"expected {_allowed(kind)}, got {shown(value)}")


def _entered(kind: inspect.Type, value: Any, step: str) -> tuple[str | int, inspect.Type]:
    """Return the key or position of a step of msgspec's path, and the type of what is there."""
    part = _part(kind, inspect.StructType, inspect.DictType, inspect.TupleType, inspect.VarTupleType)
    match part:
        case inspect.StructType():
            return step, next(of.type for of in part.fields if of.encode_name == step)
        case inspect.DictType():
            return next(key for key, entry in value.items() if not _fits(entry, part.value_type)), part.value_type
        case inspect.TupleType():
            return int(step), part.item_types[int(step)]
        case _:
            return int(step), part.item_type


def _wrong_key(place: Place, value: dict[Any, Any], kind: Any) -> InvalidValueError:
    if isinstance(kind, inspect.StructType):
        key = next(key for key in value if not isinstance(key, str))
        return InvalidValueError((*place, str(key)), _unknown(str(key), [of.encode_name for of in kind.fields]))
    key = next(key for key in value if not _fits(key, kind.key_type))
    return InvalidValueError(place, f"expected {_allowed(kind.key_type)}, got {shown(key)}")


def _unknown(key: str, allowed: Collection[str]) -> str:
    return f"unknown key; {_nearest(key, allowed)}allowed: {', '.join(allowed)}"


def _nearest(name: str, allowed: Collection[str]) -> str:
    near = get_close_matches(name, allowed, 1)
    return f"did you mean {near[0]!r}? " if near else ""


def _part(kind: inspect.Type, *kinds: type[inspect.Type]) -> Any:
    """Return the part of a type, possibly a union, that is of one of these kinds."""
    if isinstance(kind, inspect.Metadata):
        return _part(kind.type, *kinds)
    if isinstance(kind, inspect.UnionType):
        return next(filter(None, (_part(part, *kinds) for part in kind.types)), None)
    return kind if isinstance(kind, kinds) else None


def _fits(value: Any, kind: Any) -> bool:
    """Return whether an entry of a mapping is a number of this kind; msgspec does not say which one is not."""
    if isinstance(value, bool) or not isinstance(value, int if isinstance(kind, inspect.IntType) else int | float):
        return False
    return bool((value > kind.gt if kind.ge is None else value >= kind.ge) and (kind.le is None or value <= kind.le))


def _allowed(kind: inspect.Type) -> str:
    """Describe what a type allows."""
    match kind:
        case inspect.Metadata(extra_json_schema={"description": str(description)}):
            return description
        case inspect.UnionType(types=parts):
            return " or ".join(_allowed(part) for part in parts if not isinstance(part, inspect.NoneType))
        case inspect.StructType(fields=fields):
            return f"a mapping with the keys {', '.join(of.encode_name for of in fields)}"
        case inspect.IntType(ge=low, le=high):
            return f"a whole number from {low} to {high}"
        case inspect.FloatType(gt=None, ge=low, le=high):
            return f"a number from {low:g} to {high:g}"
        case inspect.FloatType(gt=low, le=high):
            return f"a number above {low:g}, at most {high:g}"
        case inspect.BoolType():
            return "true or false"
        case inspect.StrType(min_length=None):
            return "text"
        case _:
            return "a name"


def shown(value: Any) -> str:
    """Return a value as a message shows it, in at most 60 characters."""
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
