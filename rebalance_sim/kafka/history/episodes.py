"""Consecutive generations that belong to one event, such as a rolling restart."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from rebalance_sim.kafka.history.causes import Cause, Explanation
from rebalance_sim.kafka.history.changes import Change, Generation

GAP_MS = 300_000
"""Generations further apart belong to different episodes: the default of max.poll.interval.ms, within which members
rejoin."""
_MOST_NAMES = 1000
"""Names that an episode keeps, so that its memory is bounded."""
_CRASHES = 3
"""Restarts of one member that make a crash loop."""
_NO_EVENT = (Cause.REVOKED, Cause.FIRST_SEEN)
"""Causes of generations that follow from the one before, or of which the one before is unknown."""


class EpisodeKind(StrEnum):
    """What happened to a group."""

    SINGLE = "single change"
    CRASH_LOOP = "crash loop"
    ROLLING_RESTART = "rolling restart"
    ROLLOUT = "members replaced"
    SCALE_UP = "scale up"
    SCALE_DOWN = "scale down"
    TOPICS = "topics changed"
    MIXED = "mixed"


@dataclass
class Episode:
    """Generations of a group that follow each other closely."""

    number: int
    """Its position among the episodes of the group, from 1."""
    first: int
    """Its first generation."""
    started_ms: int | None
    last: int = 0
    ended_ms: int | None = None
    generations: int = 0
    moved: int = 0
    moved_back: int = 0
    causes: Counter[Cause] = field(default_factory=Counter)
    names: Counter[str] = field(default_factory=Counter)
    """How often a member with this name joined, left or restarted."""
    restarts: Counter[str] = field(default_factory=Counter)
    """How often each member restarted, by ``Change.returned``."""
    members_before: int | None = None
    members_after: int = 0
    _joined: int = 0
    _left: int = 0

    def add(self, change: Change, explained: Explanation) -> None:
        """Add a generation."""
        if self.generations == 0 and change.before is not None:
            self.members_before = len(change.before.members)
        self.last, self.members_after = change.now.number, len(change.now.members)
        self.ended_ms = change.now.at_ms
        self.generations += 1
        self.moved += change.moved
        self.moved_back += change.moved_back
        self.causes[explained.cause] += 1
        self._joined += len(change.joined)
        self._left += len(change.left)
        _count(self.restarts, change.returned)
        _count(self.names, [each.name for each in (*change.restarted, *change.replaced, *change.joined, *change.left)])

    @property
    def kind(self) -> EpisodeKind:
        """The kind of event; ``MIXED`` if its generations fit no other."""
        if self.restarts and max(self.restarts.values()) >= _CRASHES and 2 * len(self.restarts) <= self._restarted:
            return EpisodeKind.CRASH_LOOP
        if sum(number for cause, number in self.causes.items() if cause not in _NO_EVENT) <= 1:
            return EpisodeKind.SINGLE
        if self._restarted > 1 and self._restarted >= self._joined:
            return EpisodeKind.ROLLING_RESTART
        changes = set(self.causes) - {Cause.UNKNOWN, *_NO_EVENT}
        if changes <= {Cause.SUBSCRIPTION, Cause.GREW, Cause.LEADER}:
            return EpisodeKind.TOPICS if changes else EpisodeKind.MIXED
        if self._restarted or changes & {Cause.SUBSCRIPTION, Cause.GREW}:
            return EpisodeKind.MIXED
        if self._joined and self._left:
            return EpisodeKind.ROLLOUT if self.members_before == self.members_after else EpisodeKind.MIXED
        return EpisodeKind.SCALE_UP if self._joined else EpisodeKind.SCALE_DOWN

    @property
    def _restarted(self) -> int:
        return self.restarts.total()


def is_close(before: Generation | None, now: Generation) -> bool:
    """Return whether a generation belongs to the episode of the one before.

    It does not if a time is unknown, unless it repeats the generation.
    """
    if before is None or before.number == now.number:
        return before is not None
    return before.at_ms is not None and now.at_ms is not None and 0 <= now.at_ms - before.at_ms <= GAP_MS


def _count(counted: Counter[str], names: Iterable[str]) -> None:
    for name in names:
        if name in counted or len(counted) < _MOST_NAMES:
            counted[name] += 1
