"""What every rule of Kafka stands on: Java's strings, hash codes and exceptions."""

from functools import lru_cache
from typing import Protocol


class JavaError(Exception):
    """What Kafka's class throws; the text is the simple name of the exception's class."""


class NeverEndsError(JavaError):
    """Kafka's class would go on for ever."""

    def __init__(self) -> None:
        super().__init__("TimeoutException")


class Hashable(Protocol):
    """An object of Kafka's that is a key of hash maps."""

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
    """Sort by this to sort as ``String.compareTo`` does: by UTF-16 code units."""
    return text.encode("utf-16-be")


def signed(value: int) -> int:
    """The Java ``int`` that has the bits of an unsigned number."""
    return value - 2**32 if value >= 2**31 else value


def _utf16_units(text: str) -> list[int]:
    encoded = text.encode("utf-16-be")
    return [int.from_bytes(encoded[i : i + 2]) for i in range(0, len(encoded), 2)]
