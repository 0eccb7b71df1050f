"""Where the lag of a group is: its topics, partition by partition, and the member that has most of it."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Row

from rebalance_sim.api.audit import Audit
from rebalance_sim.report.audits.audited_run import AuditedRun, GroupKey
from rebalance_sim.report.audits.group_rows import GroupRow
from rebalance_sim.report.audits.ownership import Partition
from rebalance_sim.report.text import count, percent
from rebalance_sim.tables import OFFSETS, TOPIC_LAG
from rebalance_sim.wording import plural, plural_of

SHOWN_TOPICS = 20
"""Topics of a group in its table: those with most lag."""
CELLS = 120
"""Cells of a topic; each of a topic with more partitions stands for several."""
_CELL, HEIGHT = 10, 14
_HEIGHTS = {"none": 2, "little": 5, "much": 9, "most": HEIGHT, "unknown": 4}
"""Levels of lag with the heights of their cells: colour is not all that distinguishes them."""
_LITTLE, _MUCH = 0.1, 0.5
"""Shares of the lag of the group's worst partition up to which lag is little or much."""
_NO_LAG = dict.fromkeys(("partitions", "lag", "unknown_partitions", "max_lag_partition", "max_partition_lag"))
Lags = Mapping[Partition, int | None]
"""By partition, its lag; None if it is unknown."""


@dataclass(frozen=True)
class TopicView:
    """A topic of a group."""

    name: str
    only_offsets: bool
    """Whether no member subscribes to it."""
    figures: Mapping[str, int | None] | Row
    """Of ``topic_lag``: partitions is null if no partition has a row of offsets, max_lag_partition if none has lag."""
    paths: tuple[tuple[str, str], ...]
    """Its cells by level of lag; none without the lag of each partition."""
    width: int


@dataclass(frozen=True)
class TopicLags:
    """The topics of a group, with their lag."""

    sentence: str
    holder: tuple[str, str] | None
    """The member with most of the lag, and how much that is."""
    topics: tuple[TopicView, ...]
    left_out: int
    legend: tuple[tuple[str, int, str], ...]
    """Levels of lag with the heights of their cells, and their meaning; none without cells."""
    note: str

    @property
    def has_lag(self) -> bool:
        """Whether lag is known, or known to be unknown, of any topic."""
        return any(topic.figures["lag"] is not None or topic.figures["unknown_partitions"] for topic in self.topics)


class GroupLags:
    """Reads the lag of the groups that a page shows in detail, once for all of them."""

    def __init__(self, audited: AuditedRun, rows: Sequence[GroupRow], rules: Audit | None) -> None:
        self._rows = {row.key: row for row in rows}
        self._topics = audited.rows_by_group(TOPIC_LAG, self._rows)
        self._has_offsets = bool(audited.run.record["rows"].get("used", {}).get(OFFSETS.name))
        chosen = {key: [name for name, _ in self._names(key)[:SHOWN_TOPICS]] for key in self._rows}
        self._is_gone = self._has_offsets and (rules is None or rules.fitted_offsets is None)
        self._lags = _by_topic(rules, chosen) if rules is not None else {}

    def of(self, key: GroupKey, owners: Mapping[Partition, str], after: Sequence[Row]) -> TopicLags | None:
        """Return the topics of a group; None if none is known.

        ``owners`` own its partitions now, and ``after`` are rows of ``member_lag`` after the next rebalance.
        """
        names = self._names(key)
        if not names:
            return None
        given = {row["topic"]: row for row in self._topics[key]}
        worst = max((row["max_partition_lag"] or 0 for row in given.values()), default=0)
        lags = self._lags.get(key, {})
        views = tuple(
            _view(name, only_offsets, given.get(name), lags.get(name), worst)
            for name, only_offsets in names[:SHOWN_TOPICS]
        )
        left_out = max(len(names) - SHOWN_TOPICS, 0) + self._rows[key].terms.topics_left_out
        has_cells = any(view.paths for view in views)
        # The lag of owners is complete if each topic with lag is among those that are read.
        known = {(name, partition): lag for name, each in lags.items() for partition, lag in each.items()}
        holder = _holder_now(known, owners) if given.keys() <= lags.keys() else None
        has_several = (self._rows[key].members or 0) > 1
        return TopicLags(
            self._sentence(key),
            holder or _holder_after(after) if has_several else None,
            views,
            left_out,
            tuple(_legend(worst, lags)) if has_cells else (),
            self._note(lags),
        )

    def _names(self, key: GroupKey) -> list[tuple[str, bool]]:
        """Return all topics, and whether no member subscribes to each: those with most lag first."""
        terms = self._rows[key].terms
        lag = {row["topic"]: (-(row["lag"] or 0), row["lag"] is None) for row in self._topics[key]}
        # The terms may leave out topics with lag.
        named = {
            **dict.fromkeys(lag, False),
            **dict.fromkeys(terms.topics, False),
            **dict.fromkeys(terms.offsets_topics, True),
        }
        return sorted(named.items(), key=lambda each: (each[0] not in lag, lag.get(each[0], (0, False)), each[0]))

    def _sentence(self, key: GroupKey) -> str:
        if not self._has_offsets:
            return "Lag is unknown: the audit read no offsets."
        rows = self._topics[key]
        if not rows and self._rows[key].lag is None:
            return "Lag is unknown: the audit read no offsets of this group."
        total, unknown = sum(row["lag"] or 0 for row in rows), sum(row["unknown_partitions"] for row in rows)
        beside = f" The lag of {plural(unknown, 'partition')} is unknown." if unknown else ""
        if not total:
            return f"No lag is known.{beside}" if unknown else "No lag: all committed offsets are at the log ends."
        first = min(rows, key=lambda row: (-(row["max_partition_lag"] or 0), row["topic"]))
        most = first["max_partition_lag"]
        name = f"{first['topic']}-{first['max_lag_partition']}"
        if most == total:
            return f"Lag of {plural(total, 'record')}, all in partition {name}.{beside}"
        return (
            f"Lag of {plural(total, 'record')}. The worst partition, {name}, has {most:,} of them "
            f"({percent(most, total)}).{beside}"
        )

    def _note(self, lags: Mapping[str, Mapping[int, int | None]]) -> str:
        if self._is_gone:
            return "Partitions are not shown one by one: the offsets that the audit read are no longer there."
        if not lags:
            return ""
        if max(map(len, lags.values())) <= CELLS:
            return "Each cell is a partition, from left to right."
        return f"Each cell is a partition, from left to right; in topics with more than {CELLS}, the worst of several."


def _by_topic(
    rules: Audit, chosen: Mapping[GroupKey, Collection[str]]
) -> dict[GroupKey, dict[str, dict[int, int | None]]]:
    """Return the lag of each partition of the chosen topics, by group and topic."""
    found: defaultdict[GroupKey, dict[str, dict[int, int | None]]] = defaultdict(dict)
    groups, topics = {group for _, group in chosen}, {topic for names in chosen.values() for topic in names}
    for row in rules.partition_lags(groups, topics) if topics else ():
        key = (row["cluster"], row["group_id"])
        if row["topic"] in chosen.get(key, ()):
            found[key].setdefault(row["topic"], {})[row["partition"]] = row["lag"]
    return found


def _view(
    name: str, only_offsets: bool, row: Row | None, lags: Mapping[int, int | None] | None, worst: int
) -> TopicView:
    cells = _cells(lags or {})
    paths: defaultdict[str, str] = defaultdict(str)
    for place, lag in enumerate(cells):
        level = _level(lag, worst)
        height = _HEIGHTS[level]
        paths[level] += f"M{_CELL * place} {HEIGHT - height}h{_CELL - 2}v{height}h-{_CELL - 2}z"
    drawn, width = tuple(sorted(paths.items())), max(_CELL * len(cells) - 2, 0)
    # Only topics whose lag is known to be 0 have no row.
    without = {"partitions": len(lags), "lag": 0} if lags else {}
    return TopicView(name, only_offsets, row or {**_NO_LAG, **without}, drawn, width)


def _cells(lags: Mapping[int, int | None]) -> list[int | None]:
    """Return the lag of each cell: of a partition, or of the worst of several neighbours.

    >>> _cells({1: 5, 0: None}), len(_cells(dict.fromkeys(range(250), 1)))
    ([None, 5], 84)
    """
    ordered = [lags[partition] for partition in sorted(lags)]
    of_cell = max(-(-len(ordered) // CELLS), 1)
    cells = (ordered[start : start + of_cell] for start in range(0, len(ordered), of_cell))
    return [max((lag for lag in cell if lag is not None), default=None) for cell in cells]


def _level(lag: int | None, worst: int) -> str:
    """Return the level of a lag, compared with that of the group's worst partition.

    >>> [_level(lag, 100) for lag in (None, 0, 10, 50, 51)]
    ['unknown', 'none', 'little', 'much', 'most']
    """
    if lag is None:
        return "unknown"
    if not lag:
        return "none"
    return "little" if lag <= _LITTLE * worst else "much" if lag <= _MUCH * worst else "most"


def _legend(worst: int, lags: Mapping[str, Mapping[int, int | None]]) -> Iterator[tuple[str, int, str]]:
    """Yield the levels that occur, with their heights and meanings."""
    meanings = {
        "none": "no lag",
        "little": f"up to {count(_LITTLE * worst)}",
        "much": f"up to {count(_MUCH * worst)}",
        "most": f"up to {count(worst)} records",
        "unknown": "unknown",
    }
    found = {_level(lag, worst) for each in lags.values() for lag in _cells(each)}
    for level, meaning in meanings.items():
        if level in found:
            yield level, _HEIGHTS[level], meaning


def _holder_now(lags: Lags, owners: Mapping[Partition, str]) -> tuple[str, str] | None:
    """Return the member that owns most of the lag now; None if none has any."""
    held: Counter[str] = Counter()
    for partition, member in owners.items():
        held[member] += lags.get(partition) or 0
    return _holder(held, sum(lag or 0 for lag in lags.values()), "now")


def _holder_after(rows: Sequence[Row]) -> tuple[str, str] | None:
    """Return the member that has most of the lag after the next rebalance; None if none has any."""
    held = Counter({row["member_id"]: row["lag"] or 0 for row in rows})
    return _holder(held, held.total(), "after the next rebalance")


def _holder(held: Mapping[str, int], total: int, when: str) -> tuple[str, str] | None:
    member = min(held, key=lambda name: (-held[name], name), default=None)
    if member is None or not held[member]:
        return None
    return (
        member,
        f"{percent(held[member], total)} of the lag {when}: {count(held[member])} {plural_of(held[member], 'record')}",
    )
