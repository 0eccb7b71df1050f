"""Reads files of JSON, as other tools than Kafka's print it: ``rpk``, ``kcat`` and AKHQ.

A file has one document or several behind each other, objects or lists of objects, printed in any way.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from rebalance_sim.sources.kafka_tools import akhq, kcat, rpk
from rebalance_sim.sources.kafka_tools.contents import BadLine, Line, MalformedError, ToolOutput
from rebalance_sim.sources.kafka_tools.json_fields import Fields, Item

_BEGINNING = re.compile(r"^(?:\{\s*\"|\[\s*\{)", re.MULTILINE)
_COMMANDS = re.compile(r"(?:.*\b(?:rpk|kcat|kafkacat|curl|jq)\s.*|\s*)")
_SPACE = re.compile(r"\s*")
_LONGEST_TEXT = 1000
"""Characters of a document that rejects show."""
_SUPPORTED = "rpk group describe --format json, kcat -L -J, and AKHQ's /api/CLUSTER/group/GROUP"


@dataclass(frozen=True, slots=True)
class _Tool:
    """A tool, and how its documents are recognized and read."""

    keys: frozenset[str]
    """Those that each of its documents has."""
    read: Callable[[Fields], Iterator[Item]]


_TOOLS = (
    _Tool(frozenset({"group_name", "members_details", "partitions"}), rpk.read_group),
    _Tool(frozenset({"originating_broker", "brokers", "topics"}), kcat.read_metadata),
    _Tool(frozenset({"id", "state", "simpleConsumerGroup"}), akhq.read_group),
)


def is_json(text: str) -> bool:
    r"""Return whether a text is JSON, perhaps behind the command that printed it.

    >>> is_json('$ kcat -b host:9092 -L -J\n{"topics": []}'), is_json("[2026-11-27 10:00:00,000] WARN late")
    (True, False)
    """
    return _beginning(text) is not None


def read_json(text: str) -> Iterator[Line]:
    """Read the documents of a text. Each content is at the first line of its document."""
    decoder = json.JSONDecoder()
    counted, number, at = 0, 1, _beginning(text)
    while at is not None and at < len(text):
        number += text.count("\n", counted, at)
        counted = at
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as problem:
            line = text[at : at + _LONGEST_TEXT].partition("\n")[0]
            yield Line(number, line, BadLine(ToolOutput.UNKNOWN, None, f"not JSON from here on: {problem}"))
            return
        for document in value if isinstance(value, list) else [value]:
            yield from _read_document(number, document)
        at = _after_space(text, end)


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _beginning(text: str) -> int | None:
    found = _BEGINNING.search(text)
    if found is None:
        return None
    before = text[: found.start()].split("\n")
    return found.start() if all(map(_COMMANDS.fullmatch, before)) else None


def _read_document(number: int, document: Any) -> Iterator[Line]:
    tool = next((each for each in _TOOLS if isinstance(document, dict) and each.keys <= document.keys()), None)
    if tool is None:
        reason = f"the JSON is not the output of a supported tool; supported are {_SUPPORTED}"
        yield Line(number, _compact(document), BadLine(ToolOutput.UNKNOWN, None, reason))
        return
    try:
        for item in tool.read(Fields(document)):
            yield Line(number, _compact(item.value), item.content)
    except MalformedError as problem:
        yield Line(number, _compact(document), BadLine(ToolOutput.UNKNOWN, None, str(problem)))


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)[:_LONGEST_TEXT]
