"""The section about timelines: when the members of selected groups own partitions, own none, or are down."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from rebalance_sim.engine.runs.finished_runs import FinishedRun
from rebalance_sim.report.lanes import DOWN, IDLE, OWNS, REBALANCES, STABLE, Span, lane, ticks
from rebalance_sim.report.page import Alternative, Lane, Rollout, RunResults
from rebalance_sim.report.text import seconds
from rebalance_sim.tables import COSTS, TIMELINE
from rebalance_sim.wording import plural, plural_of

NAME = "timelines"
SHOWN_TIMELINES = 12
"""Timelines drawn: one per group and strategy."""
SHOWN_MEMBERS = 12
SHOWN_STEPS = 3_000
"""Steps read of one timeline: the first."""
STEPS = ("EVENT", "STATE", "STARTED", "STOPPED", "FAILED", "REVOKED", "LOST", "ASSIGNED")
_STABLE_STATES = ("Stable", "Empty", "Dead")
_KEY = ("cluster", "group_id", "strategy")


class Nouns(NamedTuple):
    """What costs count."""

    change: str = "rebalance"
    """What column ``rebalances`` counts."""
    part: str = "partition"
    """What moves."""


OF_CONSUMERS = Nouns()


@dataclass
class GroupTimeline:
    """The timeline of a group under one strategy: the spans of the group (None) and of each member."""

    spans: dict[str | None, list[Span]] = field(default_factory=dict)
    changes: Counter[str] = field(default_factory=Counter)
    """Steps of each member."""

    def _change(self, since: dict[str | None, tuple[int, str]], member: str | None, at: int, state: str) -> None:
        previous = since.get(member)
        if previous is not None and previous[1] == state:
            return
        if previous is not None and at > previous[0]:
            self.spans.setdefault(member, []).append(Span(previous[1], previous[0], at))
        since[member] = (at, state)


def steps(timeline: DataFrame, groups: Sequence[str]) -> list[list[Row]]:
    """Return the steps that change a state, one list per group and strategy; only the first of a very long one."""
    wanted = timeline.where(F.col("group_id").isin(*groups) & F.col("kind").isin(*STEPS))
    timelines = (
        wanted.select(*_KEY).distinct().orderBy("group_id", "cluster", "strategy").limit(SHOWN_TIMELINES).collect()
    )
    found = []
    for each in timelines:
        this = [F.col(name).eqNullSafe(F.lit(each[name])) for name in _KEY]
        found.append(wanted.where(this[0] & this[1] & this[2]).orderBy("number").limit(SHOWN_STEPS).collect())
    return found


def busiest(timeline: DataFrame, groups: int) -> list[str]:
    """Return the groups whose state changes most often."""
    changes = timeline.where("kind = 'STATE'").groupBy("group_id").count().orderBy(F.desc("count"), "group_id")
    return [row["group_id"] for row in changes.limit(groups).collect()]


def group_timeline(rows: Sequence[Row], end: int) -> GroupTimeline:
    """Return the spans of ordered steps. The states after the last step continue until the end.

    >>> step = Row("at_ms", "kind", "member_id", "detail", "state", "partitions")
    >>> rows = [step(0, "ASSIGNED", "a", None, "Stable", 2), step(5, "EVENT", "a", "crash", "Stable", None),
    ...         step(5, "STOPPED", "a", None, "Stable", None), step(9, "STATE", None, "x", "Empty", None)]
    >>> for member, spans in group_timeline(rows, 9).spans.items():
    ...     print(member, spans)
    a [Span(state='owns', start=0, end=5), Span(state='down', start=5, end=9)]
    None [Span(state='stable', start=0, end=9)]
    """
    found = GroupTimeline()
    if not rows:
        return found
    owned: Counter[str] = Counter()
    # The initial ASSIGNED steps come before the group has a state of its own.
    first = next((row for row in rows if row["kind"] != "ASSIGNED"), rows[0])
    since: dict[str | None, tuple[int, str]] = {None: (rows[0]["at_ms"], _state_of(first))}
    for row in rows:
        kind, member, at = row["kind"], row["member_id"], row["at_ms"]
        if kind == "STATE":
            found._change(since, None, at, _state_of(row))
        if member is None:
            continue
        found.changes[member] += 1
        if kind == "ASSIGNED":
            owned[member] = row["partitions"] or 0
        elif kind in ("REVOKED", "LOST"):
            owned[member] = max(owned[member] - (row["partitions"] or 0), 0)
        elif kind in ("STOPPED", "FAILED"):
            owned[member] = 0
            found._change(since, member, at, DOWN)
        if kind in ("STARTED", "ASSIGNED") or (kind in ("REVOKED", "LOST") and since.get(member, (0, ""))[1] != DOWN):
            found._change(since, member, at, OWNS if owned[member] else IDLE)
    for member, (at, state) in since.items():
        if end > at:
            found.spans.setdefault(member, []).append(Span(state, at, end))
    return found


def _state_of(row: Row) -> str:
    return STABLE if row["state"] in _STABLE_STATES else REBALANCES


@dataclass(frozen=True)
class Played:
    """The steps of a group under one setting, and what they cost."""

    title: str
    steps: Sequence[Row]
    note: str


def rollout(caption: str, group: str, played: Sequence[Played]) -> Rollout:
    """Draw the timelines of a group under several settings on one time axis."""
    begin = min((row["at_ms"] for each in played for row in each.steps if row["kind"] == "EVENT"), default=0)
    last = max(row["at_ms"] for each in played for row in each.steps)
    room = (last - begin) // 40 + 1
    first, end = max(begin - room, 0), last + room
    timelines = [group_timeline(each.steps, end) for each in played]
    busy: Counter[str] = sum((timeline.changes for timeline in timelines), Counter())
    shown = sorted(name for name, _ in sorted(busy.items(), key=lambda item: (-item[1], item[0]))[:SHOWN_MEMBERS])
    alternatives = tuple(
        Alternative(each.title, each.note, tuple(_lanes(timeline, shown, first, end)))
        for each, timeline in zip(played, timelines, strict=True)
    )
    left_out = len(busy) - len(shown)
    note = f"{plural(left_out, 'member')} with fewer steps {plural_of(left_out, 'is', 'are')} not shown. "
    long = any(len(each.steps) >= SHOWN_STEPS for each in played)
    note = (note if left_out else "") + (f"Only the first {SHOWN_STEPS:,} steps are shown." if long else "")
    return Rollout(caption, group, ticks(first, end), alternatives, note.strip())


def _lanes(timeline: GroupTimeline, members: Sequence[str], first: int, end: int) -> Iterator[Lane]:
    for name in (None, *members):
        yield lane(name, timeline.spans.get(name, ()), first, end)


def cost_note(costs: Mapping[str, Any] | Row | None, nouns: Nouns = OF_CONSUMERS) -> str:
    """Return what a rollout costs, from a row of ``costs``; empty without one, or if it was not simulated."""
    if costs is None or costs["unowned_ms"] is None:
        return ""
    each = seconds(costs["unowned_ms"] / max(costs["partitions"] or 0, 1))
    changes, moves = plural(costs["rebalances"], nouns.change), plural(costs["moved"], f"{nouns.part} move")
    return f"{changes}, downtime per {nouns.part} {each} s, {moves}"


def results(run: FinishedRun, groups: Sequence[str], most: int) -> RunResults:
    """Return the timelines of groups or, if none are named, of those that change state most often."""
    if not run.rows(TIMELINE):
        return RunResults()
    timeline = run.table(TIMELINE)
    found = steps(timeline, groups or busiest(timeline, most))
    notes: dict[tuple[str, ...], str] = {}
    if run.rows(COSTS):
        names = {rows[0]["group_id"] for rows in found}
        costs = run.table(COSTS).where(F.col("group_id").isin(*names)).collect()
        notes = {tuple(row[name] for name in _KEY): cost_note(row) for row in costs}
    return RunResults(tuple(_rollouts(found, notes)))


def _rollouts(found: Sequence[list[Row]], notes: Mapping[tuple[str, ...], str]) -> Iterator[Rollout]:
    for (_, group), same in groupby(found, key=lambda rows: (rows[0]["cluster"], rows[0]["group_id"])):
        played = [
            Played(rows[0]["strategy"], rows, notes.get(tuple(rows[0][name] for name in _KEY), "")) for rows in same
        ]
        yield rollout("What happens to the group", group, played)
