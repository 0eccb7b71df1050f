"""Recognizes the format of a capture's file, and reads its lines."""

import codecs
import io
import re
from collections.abc import Iterable
from typing import NamedTuple

from rebalance_sim.sources.kafka_tools import rpk
from rebalance_sim.sources.kafka_tools.contents import Line
from rebalance_sim.sources.kafka_tools.json_documents import is_json, read_json
from rebalance_sim.sources.kafka_tools.text import read_lines, survey

_ENCODING_SAMPLE = 1000
_BEGINNING = 100_000
"""Characters in which a file shows which tool printed it."""
# Before 2.3 the tool describes one group at a time and does not print its name, so the file's name must have it.
_TEXT_SUFFIX = re.compile(r"\.(?:txt|log|out)$", re.IGNORECASE)
_REPORT_SUFFIX = re.compile(r"(?:^|[._-])(?:members|offsets|state)(?:[._-]verbose)?$", re.IGNORECASE)


class CapturedFile(NamedTuple):
    """What a file holds."""

    lines: Iterable[Line] = ()
    group_id: str | None = None
    """The group of lines that do not name one."""
    is_empty: bool = False
    unknown: tuple[int, str] | None = None
    """The number and text of the first line if no supported tool printed the file."""
    undecodable: int | None = None
    """The number of the first line that is not in the encoding of the file."""


def read_file(file: str, content: bytes) -> CapturedFile:
    r"""Read a file as the output of the tool that printed it.

    >>> next(iter(read_file("ends.txt", b"orders:0:42\n").lines)).content
    EndOffsetLine(topic='orders', partition=0, end=42)
    >>> read_file("notes.txt", b"buy milk\n").unknown
    (1, 'buy milk')
    """
    if b"\n" not in content:
        # Some editors end lines with CR alone, as classic Mac OS did.
        content = content.replace(b"\r", b"\n")
    beginning = _text(content).read(_BEGINNING)
    if is_json(beginning):
        return CapturedFile(read_json(_text(content).read()), undecodable=_undecodable(content))
    if rpk.is_described(beginning.split("\n")):
        return CapturedFile(rpk.read_described(_text(content)), undecodable=_undecodable(content))
    nature = survey(_text(content))
    if not nature.known:
        return CapturedFile(is_empty=nature.first is None, unknown=nature.first)
    group_id = _only_group(nature.noticed_groups) or _group_in_name(file)
    return CapturedFile(read_lines(_text(content)), group_id, undecodable=_undecodable(content))


def _only_group(groups: set[str]) -> str | None:
    return next(iter(groups)) if len(groups) == 1 else None


def _group_in_name(file: str) -> str | None:
    return _REPORT_SUFFIX.sub("", _TEXT_SUFFIX.sub("", file)) or None


def _text(content: bytes) -> io.TextIOWrapper:
    """Decode a file line by line; PowerShell's ``>`` writes UTF-16."""
    # Only "\n" ends a line: a client.id may contain the other characters at which Python splits lines.
    return io.TextIOWrapper(io.BytesIO(content), _encoding(content), errors="replace", newline="\n")


def _encoding(content: bytes) -> str:
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    # Without its mark: in what the tools print, most characters are of ASCII, one byte of which is zero.
    start = content[:_ENCODING_SAMPLE]
    for nth, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
        if start[nth::2].count(0) > len(start) // 4 > start[1 - nth :: 2].count(0):
            return encoding
    return "utf-8-sig"


def _undecodable(content: bytes) -> int | None:
    """Return the number of the first line that is not in the encoding of its file."""
    encoding = _encoding(content)
    try:
        content.decode(encoding)
    except UnicodeDecodeError as problem:
        return content[: problem.start].decode(encoding, "replace").count("\n") + 1
    return None
