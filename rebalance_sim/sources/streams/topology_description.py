"""Read the text of ``Topology.describe()``: the subtopologies of an application of Kafka Streams.

The text has the names of topics and stores as the application's code has them. Topics that Kafka Streams creates begin
with the application's id, which is the group's, when it runs. Which topics it creates the text does not show: a topic
that the application writes and reads, with a name that ends in ``-repartition``, counts as one.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rebalance_sim.errors import UserError

ASSUMED_OF_DESCRIPTIONS = (
    "every store in a description of a topology has a changelog topic, and topics that the application writes and "
    "reads and whose names end in -repartition are its own"
)
_PART = re.compile(r"\s*Sub-topology: (\d+)(?P<is_global> for global store \(will not generate tasks\))?\s*")
_SOURCE = re.compile(r"\s*Source: .*? \(topics: (?:\[(?P<topics>[^\[\]]*)\]|(?P<pattern>.*))\)\s*")
_PROCESSOR = re.compile(r"\s*Processor: .* \(stores: \[(.*)\]\)\s*")
_SINK = re.compile(r"\s*Sink: .* \(topic: (.*)\)\s*")
_REPARTITION = "-repartition"


class _Part:
    """A subtopology, with the names that the text has."""

    def __init__(self, number: str) -> None:
        self.number = number
        self.topics: list[str] = []
        self.patterns: list[str] = []
        self.stores: list[str] = []


def read_topologies(given: Sequence[str]) -> list[dict[str, Any]]:
    """Return rows of ``subtopologies`` without clusters from files, each given as ``GROUP=FILE``. Raises UserError."""
    rows: list[dict[str, Any]] = []
    for each in given:
        group_id, _, path = each.partition("=")
        if not group_id or not path:
            raise UserError(f"--topology: '{each}' is not GROUP=FILE")
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as problem:
            raise UserError(f"--topology: {path} cannot be read: {problem}") from problem
        found = list(subtopologies(group_id, text))
        if not found:
            raise UserError(f"--topology: {path} has no subtopology: it is not the output of Topology.describe()")
        rows += [{"group_id": group_id} | row for row in found]
    return rows


def subtopologies(group_id: str, text: str) -> Iterator[dict[str, Any]]:
    r"""Yield the subtopologies in a text, without those of global stores, which have no tasks.

    >>> text = "  Sub-topology: 0\n  Source: s (topics: [a])\n  Processor: p (stores: [counts])\n"
    >>> next(subtopologies("app", text))["changelogs"]
    ['app-counts-changelog']
    """
    parts, sinks = _parts(text)
    for part in parts:
        internal = {name for name in part.topics if name.endswith(_REPARTITION) and name in sinks}
        topics = [f"{group_id}-{name}" if name in internal else name for name in part.topics]
        yield {
            "subtopology": part.number,
            "topics": topics,
            "topic_patterns": part.patterns,
            "stateful": bool(part.stores),
            "changelogs": [f"{group_id}-{store}-changelog" for store in dict.fromkeys(part.stores)],
        }


def _parts(text: str) -> tuple[list[_Part], set[str]]:
    """Return the subtopologies that have tasks, and the topics that are written."""
    parts: list[_Part] = []
    sinks: set[str] = set()
    # What precedes the first subtopology, and global stores.
    part = _Part("")
    for line in text.splitlines():
        if match := _PART.fullmatch(line):
            part = _Part(match[1])
            if not match["is_global"]:
                parts.append(part)
        elif match := _SOURCE.fullmatch(line):
            part.topics += _names(match["topics"] or "")
            part.patterns += [match["pattern"]] if match["pattern"] else []
        elif match := _PROCESSOR.fullmatch(line):
            part.stores += _names(match[1])
        elif match := _SINK.fullmatch(line):
            sinks.add(match[1])
    return parts, sinks


def _names(listed: str) -> list[str]:
    return [name.strip() for name in listed.split(",") if name.strip()]
