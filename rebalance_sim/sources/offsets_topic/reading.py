"""How the history of groups is read."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from rebalance_sim.sources.assumptions import NOTHING_STATED, MembersAsStated
from rebalance_sim.sources.offsets_topic.gaps import NO_GAPS, Gaps
from rebalance_sim.tables import DEFAULT_CLUSTER


@dataclass(frozen=True)
class Reading:
    """How records are read."""

    cluster: str = DEFAULT_CLUSTER
    as_stated: MembersAsStated = NOTHING_STATED
    topic_names: Mapping[str, str] = field(default_factory=dict)
    """Names of topics by their ids."""
    gaps: Gaps = NO_GAPS
    without_commits: str = ""
    """Why no commits are compared; empty if some are."""
    since_ms: int | None = None
    until_ms: int | None = None

    def shows(self, first_ms: int | None, last_ms: int | None) -> bool:
        """Return whether a time that begins and ends then is shown; one that is unknown is."""
        is_too_early = self.since_ms is not None and last_ms is not None and last_ms < self.since_ms
        is_too_late = self.until_ms is not None and first_ms is not None and first_ms > self.until_ms
        return not (is_too_early or is_too_late)


EVERYTHING = Reading()
