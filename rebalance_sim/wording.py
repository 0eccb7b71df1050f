"""Numbers, names and keys as messages and pages show them."""

from collections.abc import Sequence


def plural_of(number: int, one: str, several: str = "") -> str:
    """Return the singular or plural for a number shown elsewhere."""
    return one if number == 1 else several or f"{one}s"


def plural(number: int, one: str, several: str = "") -> str:
    """Return a number with its noun.

    >>> plural(1, "group"), plural(2, "group"), plural(1200, "topic is", "topics are")
    ('1 group', '2 groups', '1,200 topics are')
    """
    return f"{number:,} {plural_of(number, one, several)}"


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
