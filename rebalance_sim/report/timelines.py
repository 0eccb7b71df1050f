"""The section about timelines: when the members of selected groups own partitions, own none, or are down."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from rebalance_sim.engine.runs.finished_runs import FinishedRun
from rebalance_sim.report.charts import both, gantt
from rebalance_sim.report.colours import PLACEHOLDERS
from rebalance_sim.report.page import CellType, Chart, Column, RunResults, Table, counts
from rebalance_sim.report.text import cut, label, printable, seconds, unique
from rebalance_sim.tables import TIMELINE
from rebalance_sim.wording import plural, plural_of

NAME = "timelines"
SHOWN_TIMELINES = 12
"""Timelines drawn: one per group and strategy."""
SHOWN_MEMBERS = 20
EVENT_CHARACTERS = 18
SHOWN_STEPS = 3_000
"""Steps read of one timeline: the first."""
STEPS = ("EVENT", "STATE", "STARTED", "STOPPED", "FAILED", "REVOKED", "LOST", "ASSIGNED", "POLL_EXPIRED")

STABLE, REBALANCES = "group stable", "group rebalancing"
OWNS, IDLE, DOWN = "owns partitions", "idle", "down"
_STATES = {
    STABLE: PLACEHOLDERS["rest"],
    REBALANCES: PLACEHOLDERS["second"],
    OWNS: PLACEHOLDERS["plain"],
    IDLE: PLACEHOLDERS["third"],
    DOWN: PLACEHOLDERS["line"],
}
_SHAPES = ("triangle-down", "diamond", "cross", "circle", "square", "triangle-up")
_STABLE_STATES = ("Stable", "Empty", "Dead")


@dataclass
class GroupTimeline:
    """The timeline of a group under one strategy: spans of time in a state, and moments. Times are in milliseconds."""

    spans: list[tuple[str | None, int, int, str]] = field(default_factory=list)
    """Member or, for the group, None; start, end, state."""
    moments: list[tuple[str | None, int, str]] = field(default_factory=list)
    """Member or None; time, event."""
    rebalances: int = 0


def steps(timeline: DataFrame, groups: Sequence[str]) -> list[list[Row]]:
    """Return the steps that change a state, one list per group and strategy; only the first of a very long one."""
    key = ("cluster", "group_id", "strategy")
    wanted = timeline.where(F.col("group_id").isin(*groups) & F.col("kind").isin(*STEPS))
    timelines = (
        wanted.select(*key).distinct().orderBy("group_id", "cluster", "strategy").limit(SHOWN_TIMELINES).collect()
    )
    found = []
    for each in timelines:
        this = [F.col(name).eqNullSafe(F.lit(each[name])) for name in key]
        found.append(wanted.where(this[0] & this[1] & this[2]).orderBy("number").limit(SHOWN_STEPS).collect())
    return found


def busiest(timeline: DataFrame, groups: int) -> list[str]:
    """Return the groups whose state changes most often."""
    changes = timeline.where("kind = 'STATE'").groupBy("group_id").count().orderBy(F.desc("count"), "group_id")
    return [row["group_id"] for row in changes.limit(groups).collect()]


def group_timeline(rows: Sequence[Row], end: int) -> GroupTimeline:
    """Return the spans and moments of ordered steps. The states after the last step continue until the end.

    >>> step = Row("at_ms", "kind", "member_id", "detail", "state", "partitions")
    >>> rows = [step(0, "ASSIGNED", "a", None, "Stable", 2), step(5, "EVENT", "a", "crash", "Stable", None),
    ...         step(5, "STOPPED", "a", None, "Stable", None), step(9, "STATE", None, "x", "Empty", None)]
    >>> for span in group_timeline(rows, 9).spans:
    ...     print(span)
    (None, 0, 9, 'group stable')
    ('a', 0, 5, 'owns partitions')
    ('a', 5, 9, 'down')
    """
    found = GroupTimeline()
    if not rows:
        return found
    owned: Counter[str] = Counter()
    since: dict[str | None, tuple[int, str]] = {}
    # The initial ASSIGNED steps come before the group has a state of its own.
    first = next((row for row in rows if row["kind"] != "ASSIGNED"), rows[0])
    since[None] = (rows[0]["at_ms"], _state_of(first))

    def change(member: str | None, at: int, state: str) -> None:
        previous = since.get(member)
        if previous is not None and previous[1] == state:
            return
        if previous is not None and at > previous[0]:
            found.spans.append((member, previous[0], at, previous[1]))
        since[member] = (at, state)

    for row in rows:
        kind, member, at = row["kind"], row["member_id"], row["at_ms"]
        if kind == "STATE":
            state = _state_of(row)
            found.rebalances += state == REBALANCES and since[None][1] != REBALANCES
            change(None, at, state)
        elif kind in ("EVENT", "POLL_EXPIRED", "FAILED"):
            found.moments.append((member, at, row["detail"] if kind == "EVENT" else kind.lower().replace("_", " ")))
        if member is None:
            continue
        if kind == "ASSIGNED":
            owned[member] = row["partitions"] or 0
        elif kind in ("REVOKED", "LOST"):
            owned[member] = max(owned[member] - (row["partitions"] or 0), 0)
        elif kind in ("STOPPED", "FAILED"):
            owned[member] = 0
        if kind in ("STOPPED", "FAILED"):
            change(member, at, DOWN)
        elif kind in ("STARTED", "ASSIGNED", "REVOKED", "LOST") and not (
            kind in ("REVOKED", "LOST") and since.get(member, (0, ""))[1] == DOWN
        ):
            change(member, at, OWNS if owned[member] else IDLE)
    found.spans += [(member, at, end, state) for member, (at, state) in since.items() if end > at]
    found.spans.sort(key=lambda span: (span[0] is not None, span[0] or "", span[1]))
    return found


def _state_of(row: Row) -> str:
    return STABLE if row["state"] in _STABLE_STATES else REBALANCES


def results(run: FinishedRun, groups: Sequence[str], most: int) -> RunResults:
    """Return the timelines of groups or, if none are named, of those that change state most often."""
    if not run.rows(TIMELINE):
        return RunResults()
    timeline = run.table(TIMELINE)
    return RunResults(tuple(_charts(steps(timeline, groups or busiest(timeline, most)))))


def _charts(timelines: Sequence[list[Row]]) -> Iterator[Chart]:
    for _, same in groupby(timelines, key=lambda rows: (rows[0]["cluster"], rows[0]["group_id"])):
        of_the_group = list(same)
        # All strategies of a group share one scale, so that they can be compared.
        begin = min((row["at_ms"] for rows in of_the_group for row in rows if row["kind"] == "EVENT"), default=0)
        last = max(row["at_ms"] for rows in of_the_group for row in rows)
        room = (last - begin) // 20 + 1
        for rows in of_the_group:
            yield _chart(rows, group_timeline(rows, last + room), max(begin - room, 0), last + room)


def _chart(rows: list[Row], timeline: GroupTimeline, first: int, last: int) -> Chart:
    group, strategy = rows[0]["group_id"], rows[0]["strategy"]
    busy = Counter(row["member_id"] for row in rows if row["member_id"] is not None)
    members = sorted(name for name, _ in sorted(busy.items(), key=lambda item: (-item[1], item[0]))[:SHOWN_MEMBERS])
    lanes = dict(zip([None, *members], unique(["the group", *map(label, members)]), strict=True))
    spans = [
        {"lane": lanes[member], "from": max(start, first) / 1000, "to": to / 1000, "state": state}
        for member, start, to, state in timeline.spans
        if member in lanes and to > first
    ]
    seen = [
        (member, at, cut(printable(event), EVENT_CHARACTERS))
        for member, at, event in timeline.moments
        if member in lanes
    ]
    moments = [{"lane": lanes[member], "at": at / 1000, "event": event} for member, at, event in seen]
    events = sorted({event for _, _, event in seen})
    shapes = {event: _SHAPES[place % len(_SHAPES)] for place, event in enumerate(events)}
    used = {state: colour for state, colour in _STATES.items() if any(span["state"] == state for span in spans)}
    totals: defaultdict[tuple[str | None, str], int] = defaultdict(int)
    for member, start, to, state in timeline.spans:
        totals[member, state] += to - start
    data = Table(
        "Seconds in each state",
        (
            Column("member", CellType.NAME),
            *(Column(f"{state} s", CellType.SECONDS) for state in _STATES),
            *counts("steps"),
        ),
        tuple(
            (
                member or "the group",
                *(totals.get((member, state)) for state in _STATES),
                busy.get(member) if member else None,
            )
            for member in lanes
        ),
    )
    left_out = len(busy) - len(members)
    more = (
        f" {plural(left_out, 'member')} with fewer steps {plural_of(left_out, 'is', 'are')} not shown."
        if left_out
        else ""
    )
    more += f" Only the first {SHOWN_STEPS:,} steps are shown." if len(rows) == SHOWN_STEPS else ""
    idle = sum(length for (member, state), length in totals.items() if member is not None and state in (IDLE, DOWN))
    return Chart(
        "timeline",
        f"{label(group)} with {label(strategy)}: {plural(timeline.rebalances, 'rebalance')}, members without "
        f"partitions for {seconds(idle)} s in total",
        f"States of the group and of each member over {seconds(last - first)} s.{more}",
        **both(gantt(spans, moments, list(lanes.values()), used, shapes)),
        data=data,
    )
