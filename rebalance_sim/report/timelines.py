"""What a page says of the course of chosen groups: who has partitions, who waits and who is down, and when."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from rebalance_sim.engine.finished_runs import FinishedRun
from rebalance_sim.report.charts import both, gantt
from rebalance_sim.report.colours import PLACEHOLDERS
from rebalance_sim.report.page import Chart, Column, Findings, Kind, Table, counts
from rebalance_sim.report.text import cut, label, plural, printable, seconds, unique
from rebalance_sim.tables import TIMELINE

NAME = "timelines"
SHOWN_COURSES = 12
"""Groups times strategies that are drawn."""
SHOWN_MEMBERS = 20
EVENT_CHARACTERS = 18
SHOWN_STEPS = 3_000
"""Of a group under one strategy: the first."""
STEPS = ("EVENT", "STATE", "STARTED", "STOPPED", "FAILED", "REVOKED", "LOST", "ASSIGNED", "POLL_EXPIRED")

STABLE, REBALANCES = "group is stable", "group rebalances"
CONSUMES, WAITS, DOWN = "has partitions", "has none", "is down"
_STATES = {
    STABLE: PLACEHOLDERS["rest"],
    REBALANCES: PLACEHOLDERS["second"],
    CONSUMES: PLACEHOLDERS["plain"],
    WAITS: PLACEHOLDERS["third"],
    DOWN: PLACEHOLDERS["line"],
}
_SHAPES = ("triangle-down", "diamond", "cross", "circle", "square", "triangle-up")
_STABLE_STATES = ("Stable", "Empty", "Dead")


@dataclass
class Course:
    """What happened to a group under one strategy: spans of time in a state, and moments. Times in milliseconds."""

    spans: list[tuple[str | None, int, int, str]] = field(default_factory=list)
    """Member, or None for the group; from, to, state."""
    moments: list[tuple[str | None, int, str]] = field(default_factory=list)
    rebalances: int = 0


def steps(timeline: DataFrame, groups: Sequence[str]) -> list[list[Row]]:
    """Return the steps of groups that change anything, course by course; of a very long one the first."""
    key = ("cluster", "group_id", "strategy")
    wanted = timeline.where(F.col("group_id").isin(*groups) & F.col("what").isin(*STEPS))
    courses = wanted.select(*key).distinct().orderBy("group_id", "cluster", "strategy").limit(SHOWN_COURSES).collect()
    found = []
    for course in courses:
        this = [F.col(name).eqNullSafe(F.lit(course[name])) for name in key]
        found.append(wanted.where(this[0] & this[1] & this[2]).orderBy("number").limit(SHOWN_STEPS).collect())
    return found


def busiest(timeline: DataFrame, groups: int) -> list[str]:
    """Return the groups whose state changes most often."""
    changes = timeline.where("what = 'STATE'").groupBy("group_id").count().orderBy(F.desc("count"), "group_id")
    return [row["group_id"] for row in changes.limit(groups).collect()]


def course(rows: Sequence[Row], end: int) -> Course:
    """Read steps in their order as spans and moments; what is so after the last one stays so until the end.

    >>> step = Row("at_ms", "what", "member_id", "detail", "state", "partitions")
    >>> rows = [step(0, "ASSIGNED", "a", None, "Stable", 2), step(5, "EVENT", "a", "crash", "Stable", None),
    ...         step(5, "STOPPED", "a", None, "Stable", None), step(9, "STATE", None, "x", "Empty", None)]
    >>> for span in course(rows, 9).spans:
    ...     print(span)
    (None, 0, 9, 'group is stable')
    ('a', 0, 5, 'has partitions')
    ('a', 5, 9, 'is down')
    """
    told = Course()
    if not rows:
        return told
    owned: Counter[str] = Counter()
    since: dict[str | None, tuple[int, str]] = {}
    # What assigns partitions at the beginning stands before the first state that is the group's own.
    first = next((row for row in rows if row["what"] != "ASSIGNED"), rows[0])
    since[None] = (rows[0]["at_ms"], _state_of(first))

    def turn(who: str | None, at: int, state: str) -> None:
        begun = since.get(who)
        if begun is not None and begun[1] == state:
            return
        if begun is not None and at > begun[0]:
            told.spans.append((who, begun[0], at, begun[1]))
        since[who] = (at, state)

    for row in rows:
        what, who, at = row["what"], row["member_id"], row["at_ms"]
        if what == "STATE":
            state = _state_of(row)
            told.rebalances += state == REBALANCES and since[None][1] != REBALANCES
            turn(None, at, state)
        elif what in ("EVENT", "POLL_EXPIRED", "FAILED"):
            told.moments.append((who, at, row["detail"] if what == "EVENT" else what.lower().replace("_", " ")))
        if who is None:
            continue
        if what == "ASSIGNED":
            owned[who] = row["partitions"] or 0
        elif what in ("REVOKED", "LOST"):
            owned[who] = max(owned[who] - (row["partitions"] or 0), 0)
        elif what in ("STOPPED", "FAILED"):
            owned[who] = 0
        if what in ("STOPPED", "FAILED"):
            turn(who, at, DOWN)
        elif what in ("STARTED", "ASSIGNED", "REVOKED", "LOST") and not (
            what in ("REVOKED", "LOST") and since.get(who, (0, ""))[1] == DOWN
        ):
            turn(who, at, CONSUMES if owned[who] else WAITS)
    told.spans += [(who, at, end, state) for who, (at, state) in since.items() if end > at]
    told.spans.sort(key=lambda span: (span[0] is not None, span[0] or "", span[1]))
    return told


def _state_of(row: Row) -> str:
    return STABLE if row["state"] in _STABLE_STATES else REBALANCES


def findings(run: FinishedRun, groups: Sequence[str], most: int) -> Findings:
    """Draw the courses of groups, if none are named of those that change most; of none that has no timeline."""
    if not run.rows(TIMELINE):
        return Findings()
    timeline = run.table(TIMELINE)
    return Findings(tuple(_charts(steps(timeline, groups or busiest(timeline, most)))))


def _charts(courses: Sequence[list[Row]]) -> Iterator[Chart]:
    for _, same in groupby(courses, key=lambda rows: (rows[0]["cluster"], rows[0]["group_id"])):
        of_the_group = list(same)
        # One scale for all strategies of a group, so that they can be compared.
        begin = min((row["at_ms"] for rows in of_the_group for row in rows if row["what"] == "EVENT"), default=0)
        last = max(row["at_ms"] for rows in of_the_group for row in rows)
        room = (last - begin) // 20 + 1
        for rows in of_the_group:
            yield _chart(rows, course(rows, last + room), max(begin - room, 0), last + room)


def _chart(rows: list[Row], told: Course, first: int, last: int) -> Chart:
    group, strategy = rows[0]["group_id"], rows[0]["strategy"]
    busy = Counter(row["member_id"] for row in rows if row["member_id"] is not None)
    members = sorted(name for name, _ in sorted(busy.items(), key=lambda item: (-item[1], item[0]))[:SHOWN_MEMBERS])
    lanes = dict(zip([None, *members], unique(["the group", *map(label, members)]), strict=True))
    spans = [
        {"lane": lanes[who], "from": max(start, first) / 1000, "to": to / 1000, "state": state}
        for who, start, to, state in told.spans
        if who in lanes and to > first
    ]
    seen = [(who, at, cut(printable(event), EVENT_CHARACTERS)) for who, at, event in told.moments if who in lanes]
    moments = [{"lane": lanes[who], "at": at / 1000, "event": event} for who, at, event in seen]
    events = sorted({event for _, _, event in seen})
    shapes = {event: _SHAPES[place % len(_SHAPES)] for place, event in enumerate(events)}
    used = {state: colour for state, colour in _STATES.items() if any(span["state"] == state for span in spans)}
    totals: defaultdict[tuple[str | None, str], int] = defaultdict(int)
    for who, start, to, state in told.spans:
        totals[who, state] += to - start
    data = Table(
        "Seconds in each state",
        (Column("who", Kind.NAME), *(Column(f"{state} s", Kind.SECONDS) for state in _STATES), *counts("steps")),
        tuple(
            (who or "the group", *(totals.get((who, state)) for state in _STATES), busy.get(who) if who else None)
            for who in lanes
        ),
    )
    left_out = len(busy) - len(members)
    more = f" {plural(left_out, 'member')} with fewer steps not shown." if left_out else ""
    more += f" Only the first {SHOWN_STEPS:,} steps are shown." if len(rows) == SHOWN_STEPS else ""
    waits = sum(length for (who, state), length in totals.items() if who is not None and state in (WAITS, DOWN))
    return Chart(
        "timeline",
        f"{label(group)} by {label(strategy)}: {plural(told.rebalances, 'rebalance')}, members have nothing for "
        f"{seconds(waits)} s together",
        f"The course of the group, and of each of its members, over {seconds(last - first)} s.{more}",
        **both(gantt(spans, moments, list(lanes.values()), used, shapes)),
        data=data,
    )
