"""The properties file that Kafka's command-line tools take as ``--command-config``."""

import re
from collections.abc import Iterator
from pathlib import Path

from rebalance_sim.errors import UserError

# The rules are those of Java's java.util.Properties.load: they tell blanks and the ends of lines from other space.
_BLANKS = " \t\f"
_LINE_END = re.compile(r"\r\n|\r|\n")
_KEY_END = re.compile(rf"[{_BLANKS}]*[=:][{_BLANKS}]*|[{_BLANKS}]+")
_KEY = re.compile(rf"(?:\\.|[^\\=:{_BLANKS}])*", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|.?)", re.DOTALL)
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def read_client_properties(path: str) -> dict[str, str]:
    """Read a client's configuration; a name that is given again counts as it is given last, as in Java.

    Raises UserError, which tells file and line but never what is written there: it may be a secret.
    """
    try:
        # Kafka's tools load the bytes as they are, which to Java means ISO 8859-1.
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
            raise UserError(f"{path} line {number}: no name stands before the value")
    return properties


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    r"""Join lines that end in ``\`` with the next; leave out blank lines and comments. Numbers are of first lines.

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
    r"""Part a line at the first ``=``, ``:`` or blank that is not escaped.

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
        told = escape[1]
        if len(told) == 5:
            return chr(int(told[1:], 16))
        if told == "u":
            raise ValueError("malformed escape")
        return _CONTROLS.get(told, told)

    return _ESCAPE.sub(character, text)
