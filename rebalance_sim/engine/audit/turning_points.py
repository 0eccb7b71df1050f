"""On which assumed latencies the best setting for a rollout depends, and from which value on another one is best."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rebalance_sim.engine.audit.changes import change_of, most_saved
from rebalance_sim.engine.audit.group import Row
from rebalance_sim.engine.simulation.pays import Pays
from rebalance_sim.kafka.clients.library import ASSIGNORS, INSTANCE_ID, PROTOCOL
from rebalance_sim.kafka.simulation.latencies import BY_SETTING, Latency

_BISECTIONS = 12
"""Finds a turning point to a four-thousandth of its range."""
_NAMES = {INSTANCE_ID: "static membership", PROTOCOL: "the consumer protocol"}


@dataclass(frozen=True)
class TurningPoint:
    """A value of a latency from which on another setting is best."""

    latency: Latency
    at_ms: int | None
    """About where, as heartbeats also matter; None for the end of a range at which those happen at other times."""
    best: Row | None
    """The row of ``advice`` of the setting that is best from there on; None if none pays."""

    def condition(self, assumed: Mapping[str, int]) -> str:
        """Return the condition, as a part of a sentence."""
        if self.at_ms is None:
            return f"requests take up to {self.latency.longest_ms} ms, or heartbeats happen at other times"
        longer, as_assumed = about(self.at_ms), about(assumed[self.latency.setting])
        return f"{self.latency.subject} takes over about {longer} ({as_assumed} assumed)"


class Choices:
    """The settings that a group can use in its rollout, and what they save over the ranges of what is assumed."""

    def __init__(self, costs: Row, usable: Sequence[Row], pays: Pays, assumed: Mapping[str, int]) -> None:
        """Take the costs of the group as it is, rows of ``advice``, and the assumed latencies by their settings."""
        self._unowned_ms, self._partitions = costs["unowned_ms"], max(costs["partitions"], 1)
        self._usable, self._pays, self._assumed = usable, pays, assumed
        self.best = self._best({change_of(row): row for row in usable}, self._unowned_ms)
        """The setting that saves most as assumed; None if none pays."""

    @property
    def ranges_tried(self) -> bool:
        """Whether any setting was tried at the ends of the ranges."""
        return any(row["at_longest"] for row in self._usable)

    def turning_points(self) -> list[TurningPoint]:
        """Return where another setting becomes best, if one latency is longer and the others are as assumed."""
        latencies = dict.fromkeys(end["latency"] for row in self._usable for end in row["at_longest"] or ())
        found = (self._turning_point(BY_SETTING[name]) for name in latencies)
        return [point for point in found if point is not None]

    def _turning_point(self, latency: Latency) -> TurningPoint | None:
        """Return where another setting becomes best first: downtime is about linear in a latency."""
        if not self._turns(latency, 1):
            return None
        if latency.other_phase:
            return TurningPoint(latency, None, self._best(*self._at(latency, 1)))
        below, above = 0.0, 1.0
        for _ in range(_BISECTIONS):
            middle = (below + above) / 2
            below, above = (below, middle) if self._turns(latency, middle) else (middle, above)
        at_ms = round(_between(self._assumed[latency.setting], self._longest_ms(latency), above))
        return TurningPoint(latency, at_ms, self._best(*self._at(latency, above)))

    def _longest_ms(self, latency: Latency) -> int:
        """Return the end of the range of a latency in this group."""
        ends = (end for row in self._usable for end in row["at_longest"] or () if end["latency"] == latency.setting)
        longest_ms: int = next(ends)["longest_ms"]
        return longest_ms

    def _turns(self, latency: Latency, share: float) -> bool:
        """Return whether the best setting no longer pays at a share of the range, or a change to another one pays."""
        rows, unowned_ms = self._at(latency, share)
        if self.best is None:
            return self._best(rows, unowned_ms) is not None
        chosen = rows.get(change_of(self.best))
        if chosen is None or not self._saves_enough(chosen["unowned_ms_saved"], unowned_ms):
            return True
        left_ms = unowned_ms - chosen["unowned_ms_saved"]
        return any(
            self._saves_enough(row["unowned_ms_saved"] - chosen["unowned_ms_saved"], left_ms) for row in rows.values()
        )

    def _at(self, latency: Latency, share: float) -> tuple[dict[str, Row], float]:
        """Return the settings with what they save at a share of a range, and the downtime without them.

        A setting with which the rollout fails at the end of the range is not used there.
        """
        rows: dict[str, Row] = {}
        unowned_ms: float = self._unowned_ms
        for row in self._usable:
            for end in row["at_longest"] or ():
                if end["latency"] != latency.setting:
                    continue
                unowned_ms = _between(self._unowned_ms, end["unowned_ms"] + end["unowned_ms_saved"], share)
                saved_ms = _between(row["unowned_ms_saved"], end["unowned_ms_saved"], share)
                if share < 1 or not end["fails"]:
                    rows[change_of(row)] = {**row, "unowned_ms_saved": saved_ms}
        return rows, unowned_ms

    def _best(self, rows: Mapping[str, Row], unowned_ms: float) -> Row | None:
        paying = [row for row in rows.values() if self._saves_enough(row["unowned_ms_saved"], unowned_ms)]
        return min(paying, key=most_saved, default=None)

    def _saves_enough(self, saved_ms: float, unowned_ms: float) -> bool:
        return bool(self._pays.by(saved_ms, unowned_ms, self._partitions))


def setting_in_words(row: Row) -> str:
    """Return a setting of a row of ``advice`` as the subject of a sentence."""
    return row["value"] if row["setting"] == ASSIGNORS else _NAMES.get(row["setting"], change_of(row))


def turns_in_words(points: Sequence[TurningPoint], assumed: Mapping[str, int], best: Row | None) -> str:
    """Return where the best setting changes, and to which one, as a clause; empty if there are no points."""
    by_best: dict[str, list[str]] = {}
    for point in points:
        better = "no setting pays off" if point.best is None else f"{setting_in_words(point.best)} {_pays(best)}"
        by_best.setdefault(better, []).append(point.condition(assumed))
    return "; ".join(f"{better} if {' or if '.join(conditions)}" for better, conditions in by_best.items())


def _pays(best: Row | None) -> str:
    return "pays off" if best is None else "saves more"


def _between(first: float, last: float, share: float) -> float:
    return first + share * (last - first)


def about(milliseconds: int) -> str:
    """Return a time in its usual unit, rounded to two digits.

    >>> about(144), about(1444), about(14_440), about(0)
    ('140 ms', '1.4 s', '14 s', '0 ms')
    """
    digits = round(milliseconds, 2 - len(str(milliseconds)))
    if digits < 1000:
        return f"{digits} ms"
    return f"{digits / 1000:.1f} s" if digits < 10_000 else f"{digits // 1000} s"
