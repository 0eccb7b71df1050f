"""Numbers, names and keys as messages and pages show them."""

from collections.abc import Sequence
from datetime import UTC, datetime


def plural_of(number: int, one: str, several: str = "") -> str:
    """Return the singular or plural for a number shown elsewhere."""
    return one if number == 1 else several or f"{one}s"


def plural(number: int, one: str, several: str = "") -> str:
    """Return a number with its noun.

    >>> plural(1, "group"), plural(2, "group"), plural(1200, "topic is", "topics are")
    ('1 group', '2 groups', '1,200 topics are')
    """
    return f"{number:,} {plural_of(number, one, several)}"


def duration(milliseconds: float) -> str:
    """Return a time of seconds to days in its usual unit.

    >>> duration(45_000), duration(2_530_000), duration(18_800_000), duration(86_400_000), duration(268_000_000)
    ('45 s', '42 min', '5.2 h', '24 h', '3.1 days')
    """
    units = (("s", 1, 100), ("min", 60, 100), ("h", 3600, 48), ("days", 86_400, float("inf")))
    unit, number = next((unit, of) for unit, size, most in units if (of := milliseconds / 1000 / size) < most)
    has_digit = unit in ("h", "days") and number < 9.95
    return f"{number:,.{int(has_digit)}f} {unit}"


def utc_time(at_ms: int | None) -> str | None:
    """Return a time in UTC; None if it is unknown, or in no year of the calendar.

    >>> utc_time(1_500), utc_time(10**18)
    ('1970-01-01 00:00:01', None)
    """
    try:
        return None if at_ms is None else f"{datetime.fromtimestamp(at_ms // 1000, UTC):%Y-%m-%d %H:%M:%S}"
    except (ValueError, OverflowError, OSError):
        return None


def enumerated(names: Sequence[str], last: str = "and") -> str:
    """Return names as a sentence lists them; nothing without any.

    >>> enumerated(["a", "b", "c"]), enumerated(["a", "b"], "or"), enumerated(["a"]), enumerated([])
    ('a, b and c', 'a or b', 'a', '')
    """
    return f" {last} ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def escaped(text: str) -> str:
    r"""Escape characters that are invisible or change the text direction.

    >>> escaped("a\nb\u202ec")
    'a\\nb\\u202ec'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def key_text(key: bytes) -> str:
    r"""Return a key as text if it is printable UTF-8, otherwise in hexadecimal.

    >>> key_text(bytearray(b"C001")), key_text(b"\xff\x00"), key_text(b" ")
    ('C001', '0xff00', '0x20')
    """
    try:
        text = bytes(key).decode()
    except UnicodeDecodeError:
        text = ""
    return text if text.isprintable() and text.strip() else f"0x{bytes(key).hex()}"
