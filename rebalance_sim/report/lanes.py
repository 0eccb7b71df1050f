"""Timelines of a group under several settings, one below the other on the same time axis."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from rebalance_sim.report.page import Lane
from rebalance_sim.report.text import seconds

UNITS = 1000
"""Width of a lane, in units of its picture."""
_STEPS_MS = tuple(step * unit for unit in (1_000, 10_000, 60_000, 600_000, 3_600_000) for step in (1, 2, 5))
_TICKS = 7

OWNS, IDLE, DOWN = "owns", "idle", "down"
STABLE, REBALANCES = "stable", "rebalances"
LEGEND = {OWNS: "consumer owns partitions", IDLE: "running, owns none", DOWN: "down", REBALANCES: "group rebalances"}
"""States that lanes show, as CSS classes, with their meaning. A stable group is left blank."""


@dataclass(frozen=True)
class Span:
    """A time in which a member, or the group, is in one state. Times are in milliseconds."""

    state: str
    start: int
    end: int


def lane(name: str | None, spans: Sequence[Span], first: int, last: int) -> Lane:
    """Draw a lane from ``first`` to ``last``.

    >>> lane("a", [Span(OWNS, 0, 500), Span(DOWN, 500, 1000)], 0, 1000)
    Lane(name='a', paths=(('owns', 'M0 0h500v10h-500z'), ('down', 'M500 0h500v10h-500z')), text='down 0.5 s')
    """
    rectangles: defaultdict[str, list[str]] = defaultdict(list)
    totals: defaultdict[str, int] = defaultdict(int)
    for span in spans:
        start, end = max(span.start, first), min(span.end, last)
        if end <= start or span.state == STABLE:
            continue
        totals[span.state] += end - start
        left = round(UNITS * (start - first) / (last - first))
        width = max(round(UNITS * (end - first) / (last - first)) - left, 1)
        rectangles[span.state].append(f"M{left} 0h{width}v10h-{width}z")
    text = ", ".join(f"{state} {seconds(totals[state])} s" for state in (REBALANCES, IDLE, DOWN) if totals[state])
    return Lane(name, tuple((state, "".join(paths)) for state, paths in rectangles.items()), text)


def ticks(first: int, last: int) -> tuple[tuple[float, str], ...]:
    """Return round times between two, as positions in per cent and labels.

    >>> ticks(0, 30_000)
    ((0.0, '0 s'), (16.67, '5 s'), (33.33, '10 s'), (50.0, '15 s'), (66.67, '20 s'), (83.33, '25 s'), (100.0, '30 s'))
    """
    length = max(last - first, 1)
    step = next((step for step in _STEPS_MS if length / step < _TICKS), _STEPS_MS[-1])
    times = range(-(-first // step) * step, last + 1, step)
    return tuple((round(100 * (time - first) / length, 2), f"{time // 1000:,} s") for time in times)
