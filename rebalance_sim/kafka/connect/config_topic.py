"""What the config topic of a Connect cluster (``config.storage.topic``) says is configured.

Its records are JSON: a connector's configuration, those of its tasks, and then a commit with the number of tasks
(``KafkaConfigBackingStore``). Compaction removes earlier task configurations: a commit without all of them leaves the
connector without tasks, until workers write them again.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec

_CONNECTOR, _TASK, _COMMIT = "connector-", "task-", "commit-"
_Value = TypeVar("_Value")


class _Configuration(msgspec.Struct):
    properties: dict[str, str | None]


class _Commit(msgspec.Struct):
    tasks: int


@dataclass
class ConfiguredConnector:
    """A connector."""

    config: Mapping[str, str | None] | None = None
    """None if it is deleted, or was never configured."""
    tasks: int = 0
    written: set[int] = field(default_factory=set)
    """Tasks whose configurations have been written since the last commit."""


def configured_connectors(records: Iterable[tuple[str, str | bytes | None]]) -> dict[str, ConfiguredConnector]:
    """Return the connectors by name, from the keys and values of the topic's records in their order.

    Records of other kinds are skipped: target states, restarts, session keys. Raises ValueError for a value that is not
    what Kafka writes.

    >>> written = [("connector-sink", '{"properties": {"topics": "orders"}}'), ("task-sink-0", '{"properties": {}}')]
    >>> configured_connectors([*written, ("commit-sink", '{"tasks": 1}')])["sink"].tasks
    1
    """
    found: dict[str, ConfiguredConnector] = {}
    for key, value in records:
        if key.startswith(_CONNECTOR):
            name = key.removeprefix(_CONNECTOR)
            if value is None:
                found[name] = ConfiguredConnector()
            else:
                found.setdefault(name, ConfiguredConnector()).config = _read(key, value, _Configuration).properties
        elif key.startswith(_TASK):
            name, _, number = key.removeprefix(_TASK).rpartition("-")
            if value is not None and number.isdecimal():
                found.setdefault(name, ConfiguredConnector()).written.add(int(number))
        elif key.startswith(_COMMIT) and value is not None:
            connector = found.setdefault(key.removeprefix(_COMMIT), ConfiguredConnector())
            tasks = _read(key, value, _Commit).tasks
            connector.tasks = tasks if connector.written.issuperset(range(tasks)) else 0
            connector.written.clear()
    return {name: connector for name, connector in found.items() if connector.config is not None}


def _read(key: str, value: str | bytes, expected: type[_Value]) -> _Value:
    try:
        return msgspec.json.decode(value, type=expected)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise ValueError(f"the record of {key!r} is not what Connect writes: {problem}") from problem
