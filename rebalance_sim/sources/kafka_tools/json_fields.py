"""The fields of an object of JSON, checked when they are read."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from rebalance_sim.sources.kafka_tools.columns import NAME
from rebalance_sim.sources.kafka_tools.contents import (
    LONGEST_QUOTE,
    BadLine,
    Content,
    MalformedError,
    ToolOutput,
    TopicPartition,
    quoted,
)
from rebalance_sim.tables import MAX_PARTITIONS

MAX_INT = 2**31 - 1
MAX_LONG = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Item:
    """What a part of a document means."""

    value: Any
    content: Content


@dataclass(frozen=True, slots=True)
class Fields:
    """An object of JSON. A missing field is null, as tools leave out what is empty.

    >>> Fields({"partition": 7}).number("partition", 9)
    7
    """

    value: Any

    def text(self, name: str) -> str:
        """Return a text; empty for null. Raises MalformedError."""
        value = self._get(name)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise MalformedError(f"{name} is {_shown(value)}, not a text")
        return value

    def name(self, name: str) -> str:
        """Return the name of a group, topic or member. Raises MalformedError."""
        value = self.text(name)
        if not value:
            raise MalformedError(f"{name} is missing")
        return value

    def number(self, name: str, largest: int) -> int:
        """Return a number that is not negative. Raises MalformedError."""
        value = self._get(name)
        if type(value) is not int:
            raise MalformedError(f"{name} is {_shown(value)}, not a number")
        if not 0 <= value <= largest:
            raise MalformedError(f"{name} is {value}; it must be from 0 to {largest}")
        return value

    def offset(self, name: str) -> int | None:
        """Return an offset; None for null and -1, which stand for no offset. Raises MalformedError."""
        return None if self._get(name) in (None, -1) else self.number(name, MAX_LONG)

    def topic_partition(self) -> TopicPartition:
        """Return the fields ``topic`` and ``partition``. Raises MalformedError."""
        topic = self.text("topic")
        if not NAME.fullmatch(topic):
            raise MalformedError(f"topic is {quoted(topic)}, not a topic name")
        return topic, self.number("partition", MAX_PARTITIONS - 1)

    def objects(self, name: str) -> "list[Fields]":
        """Return the objects of a list; none for null. Raises MalformedError."""
        value = self._get(name)
        if value is None:
            return []
        if not isinstance(value, list):
            raise MalformedError(f"{name} is {_shown(value)}, not a list")
        return [Fields(each) for each in value]

    def _get(self, name: str) -> Any:
        if not isinstance(self.value, dict):
            raise MalformedError(f"{_shown(self.value)} is not an object")
        return self.value.get(name)


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST_QUOTE else text[: LONGEST_QUOTE - 3] + "..."


def items(
    objects: list[Fields], kind: ToolOutput, group_id: str | None, read: Callable[[Fields], Content]
) -> Iterator[Item]:
    """Return the contents of objects; those that cannot be read are rejected."""
    for each in objects:
        try:
            yield Item(each.value, read(each))
        except MalformedError as problem:
            yield Item(each.value, BadLine(kind, group_id, str(problem)))
