"""Prefixes and marks that terminals, containers, editors and mails add to the lines of a tool's output."""

import re
from collections.abc import Callable, Iterable, Iterator

_QUOTE = r"> ?"
_CONTAINER = r"[\w.-]+ +\| ?"
"""The prefix of docker compose."""
_POD = r"\[pod/[^\]]+\] "
"""The prefix of kubectl."""
_TIMESTAMP = r"\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d) "
"""The prefix of docker and kubectl with --timestamps."""
_DECORATIONS = (r"[ \t]+", _QUOTE, _CONTAINER, _POD, _TIMESTAMP)
_MOST_DECORATIONS = 4
PREFIX = re.compile(rf" +|(?:{_QUOTE})+|{_CONTAINER}|{_POD}")
"""A prefix that cannot be a part of a row which is aligned with its header behind it."""
LIKE_PREFIX = re.compile(rf"(?:[>|+*$#-]|\d+[.:)])\s|{_POD}|[\w.-]+ +\|\s")
"""The beginning of a value that was more likely put before the row."""
_COLORS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_MARKS = "\ufeff\u200b\u2060"
"""Byte order marks of concatenated files, and zero-width characters of web pages; ids may contain them."""

BeginsOutput = Callable[[str], bool]
"""Returns whether a line without decoration is a header or a topic."""


def undecorated(lines: Iterable[str], begins_output: BeginsOutput) -> Iterator[tuple[int, str, str]]:
    """Return the numbers of lines that are not blank, and their texts with and without decoration.

    Lines have the decoration of the last header or topic.
    """
    decoration: re.Pattern[str] | None = None
    for number, line in enumerate(lines, 1):
        raw = line.rstrip("\r\n")
        if not raw or raw.isspace():
            continue
        text = _COLORS.sub("", raw)
        if text.startswith(tuple(_MARKS)) and begins_output(text.lstrip(_MARKS)):
            text = text.lstrip(_MARKS)
        decoration = None if begins_output(text) else _decoration(text, begins_output) or decoration
        plain = text[_length(decoration, text) :]
        if plain and not plain.isspace():
            yield number, raw, plain


def _decoration(text: str, begins_output: BeginsOutput) -> re.Pattern[str] | None:
    """Return the decoration of a line that begins an output without it; None if it has none."""
    return _decoration_from(text, "", _MOST_DECORATIONS, begins_output)


def _decoration_from(text: str, before: str, most: int, begins_output: BeginsOutput) -> re.Pattern[str] | None:
    for decoration in _DECORATIONS if most else ():
        match = re.match(decoration, text)
        if not match:
            continue
        # Rows are indented as far as their header.
        pattern = before + (re.escape(match[0]) if match[0].isspace() else decoration)
        undecorated_text = text[match.end() :]
        if begins_output(undecorated_text):
            return re.compile(pattern)
        deeper = _decoration_from(undecorated_text, pattern, most - 1, begins_output)
        if deeper:
            return deeper
    return None


def _length(decoration: re.Pattern[str] | None, text: str) -> int:
    match = decoration.match(text) if decoration else None
    return match.end() if match else 0


def without_prefix(text: str) -> str:
    """Return a line without its prefix, if it certainly has one."""
    prefix = PREFIX.match(text)
    return text[prefix.end() :] if prefix else text
