"""Read the properties file that Kafka's command-line tools accept as ``--command-config``."""

import re
from collections.abc import Iterator
from pathlib import Path

from rebalance_sim.errors import UserError

# As java.util.Properties.load: only these characters are blanks, and only these end a line.
_BLANKS = " \t\f"
_LINE_END = re.compile(r"\r\n|\r|\n")
_KEY_END = re.compile(rf"[{_BLANKS}]*[=:][{_BLANKS}]*|[{_BLANKS}]+")
_KEY = re.compile(rf"(?:\\.|[^\\=:{_BLANKS}])*", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|.?)", re.DOTALL)
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def read_client_properties(path: str) -> dict[str, str]:
    """Read a client's configuration. As in Java, the last of several values of a property counts.

    Raises UserError, which names file and line but never shows their content, which may be a secret.
    """
    try:
        # Kafka's tools load the file as a stream of bytes, which java.util.Properties decodes as ISO 8859-1.
        text = Path(path).read_text("iso-8859-1")
    except OSError as problem:
        raise UserError(f"{path}: cannot be read: {problem.strerror}") from problem
    properties = {}
    for number, line in _logical_lines(text):
        name, value = _name_and_value(line)
        try:
            properties[_unescaped(name)] = _unescaped(value)
        except ValueError:
            raise UserError(f"{path} line {number}: \\u is not followed by four hexadecimal digits") from None
        if not name:
            raise UserError(f"{path} line {number}: expected NAME=VALUE, found a value without a name")
    return properties


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    r"""Join lines that end in ``\`` with the next, skip blank lines and comments, and number each by its first line.

    >>> list(_logical_lines("# no \\\na = 1, \\\n    2\n\n"))
    [(2, 'a = 1, 2')]
    """
    lines = enumerate(_LINE_END.split(text), 1)
    for number, line in lines:
        joined = line.lstrip(_BLANKS)
        if joined.startswith(("#", "!")):
            continue
        while _is_continued(joined):
            joined = joined[:-1] + next(lines, (0, ""))[1].lstrip(_BLANKS)
        if joined:
            yield number, joined


def _is_continued(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _name_and_value(line: str) -> tuple[str, str]:
    r"""Split a line at the first ``=``, ``:`` or blank that is not escaped.

    >>> _name_and_value(r"a\\:b : c=d ")
    ('a\\\\', 'b : c=d ')
    """
    key = _KEY.match(line)
    assert key is not None
    end = _KEY_END.match(line, key.end())
    return key[0], line[end.end() :] if end else ""


def _unescaped(text: str) -> str:
    r"""Resolve escapes; raise ValueError for a malformed ``\u``.

    >>> _unescaped(r"\u0041\ \d")
    'A d'
    """

    def character(escape: re.Match[str]) -> str:
        escaped = escape[1]
        if len(escaped) == 5:
            return chr(int(escaped[1:], 16))
        if escaped == "u":
            raise ValueError("malformed escape")
        return _CONTROLS.get(escaped, escaped)

    return _ESCAPE.sub(character, text)
