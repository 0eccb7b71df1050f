"""Java's strings and hash codes, and names that have given hash codes."""

from functools import lru_cache
from itertools import product

PREFIXES = tuple("".join(pairs) for pairs in product(("Aa", "BB"), repeat=2))
"""Four texts with the same hash code."""


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


def name_with_hash(hash_code: int, variant: int) -> str:
    """Return one of four names with a given hash code."""
    prefix = PREFIXES[variant]
    rest = (hash_code - java_hash(prefix + 7 * "A")) % 2**32
    digits = []
    for _ in range(7):
        rest, digit = divmod(rest, 31)
        digits.append(chr(ord("A") + digit))
    return prefix + "".join(reversed(digits))


def hash_improved_to(improved: int) -> int:
    """Return the hash code that the tries of Scala's immutable maps improve to a given number."""
    h = _without_shift(improved, 10)
    h = h * pow(17, -1, 2**32) % 2**32
    h = _without_shift(h, 14)
    return (h + 1) * pow(1 - 2**9, -1, 2**32) % 2**32


def _without_shift(value: int, shift: int) -> int:
    """Return the x for which ``x ^ x >> shift`` is a value."""
    x = value
    for _ in range(32 // shift):
        x = value ^ x >> shift
    return x
