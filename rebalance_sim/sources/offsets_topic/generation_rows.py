"""The rows that workers make of the generations of groups."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark.sql.types import ArrayType

from rebalance_sim.engine.tables.arrow import arrow_type
from rebalance_sim.kafka.history.causes import Explanation
from rebalance_sim.kafka.history.changes import Change, Participant
from rebalance_sim.kafka.history.episodes import Episode
from rebalance_sim.tables import EPISODES, GENERATION_MEMBERS, GENERATIONS, INT, REJECTS, struct

ROW = struct(
    {
        "type": INT,
        "generation": GENERATIONS.schema,
        "members": ArrayType(GENERATION_MEMBERS.schema),
        "episode": EPISODES.schema,
        "rejects": ArrayType(REJECTS.schema),
    }
)
"""A generation with its members, an episode, or a record that cannot be used, with the number of its type."""
_ROWS_AT_ONCE = 10_000
"""Rows, including those of members, that a worker returns at once."""
_LISTS = ("joined", "left", "replaced", "restarted", "changed_subscription", "changed_library")

Values = dict[str, Any]


@dataclass
class Rows:
    """Rows of one batch."""

    _columns: dict[str, list[Any]] = field(default_factory=lambda: {name: [] for name in ROW.names})
    _size: int = 0

    @property
    def are_many(self) -> bool:
        """Return whether they should be returned now."""
        return self._size >= _ROWS_AT_ONCE

    def add(self, size: int = 1, **values: Any) -> None:
        """Add a row, which counts as ``size`` rows."""
        for name, column in self._columns.items():
            column.append(values.get(name))
        self._size += size

    def taken(self) -> pa.RecordBatch:
        """Return the rows, and begin anew."""
        columns, self._columns, self._size = self._columns, {name: [] for name in ROW.names}, 0
        fields = arrow_type(ROW)
        arrays = [pa.array(columns[of.name], of.type) for of in fields]
        return pa.RecordBatch.from_arrays(arrays, names=ROW.names)


def generation_columns(change: Change, explained: Explanation) -> Values:
    """Return the columns of ``generations`` that say what has changed, and why."""
    lists: dict[str, Sequence[Participant]] = {name: getattr(change, name) for name in _LISTS}
    return {
        "since_last_ms": change.since_ms,
        "rewritten": change.is_rewritten,
        "members": len(change.now.members),
        **{name: len(members) for name, members in lists.items()},
        **{f"{name}_ids": [member.member_id for member in members] for name, members in lists.items()},
        "topics_grown": [
            {"topic": each.topic, "partitions_before": each.before, "partitions": each.partitions}
            for each in change.topics_grown
        ],
        "assigned": change.assigned,
        "moved": change.moved,
        "moved_back": change.moved_back,
        "skipped": None if change.before is None else change.skipped,
        "cause": explained.cause.value,
        "cause_member": explained.member,
        "evidence": explained.evidence,
    }


def episode_columns(episode: Episode) -> Values:
    """Return a row of ``episodes`` without its group."""
    return {
        "episode": episode.number,
        "kind": episode.kind.value,
        "first_generation": episode.first,
        "last_generation": episode.last,
        "started_at_ms": episode.started_ms,
        "ended_at_ms": episode.ended_ms,
        "generations": episode.generations,
        "members_before": episode.members_before,
        "members_after": episode.members_after,
        "moved": episode.moved,
        "moved_back": episode.moved_back,
        "causes": _sorted((cause.value, number) for cause, number in episode.causes.items()),
        "names": _sorted(episode.names.items()),
    }


def _sorted(counted: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    """Return counts, the highest first."""
    return sorted(counted, key=lambda item: (-item[1], item[0]))
