"""Java's strings, hash codes and exceptions, on which every rule of Kafka is based."""

from functools import lru_cache
from typing import Protocol


class JavaError(Exception):
    """An exception of Kafka's class; the text is the simple name of the exception's class."""


class NeverEndsError(JavaError):
    """Raised where Kafka's class never returns."""

    def __init__(self) -> None:
        super().__init__("TimeoutException")


class Hashable(Protocol):
    """An object that is a key of hash maps."""

    def hash_code(self) -> int:
        """``Object.hashCode``, as an unsigned number."""


def hash_code_of(key: str | Hashable) -> int:
    return java_hash(key) if isinstance(key, str) else key.hash_code()


@lru_cache(maxsize=1 << 16)
def java_hash(text: str) -> int:
    """``String.hashCode``, as an unsigned number."""
    value = 0
    for unit in _utf16_units(text):
        value = (31 * value + unit) % 2**32
    return value


def java_key(text: str) -> bytes:
    """Return a sort key that sorts as ``String.compareTo`` does: by UTF-16 code units."""
    return text.encode("utf-16-be")


def signed(value: int) -> int:
    """Return the Java ``int`` with the bits of an unsigned number."""
    return value - 2**32 if value >= 2**31 else value


def _utf16_units(text: str) -> list[int]:
    encoded = text.encode("utf-16-be")
    return [int.from_bytes(encoded[i : i + 2]) for i in range(0, len(encoded), 2)]
