"""What every rule of Kafka stands on: Java's strings."""

from functools import lru_cache


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
