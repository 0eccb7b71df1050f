"""Findings about the balance of groups whose assignment cannot be predicted, from what their members own now."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from rebalance_sim.engine.audit.balance import (
    IDLE,
    IMBALANCE,
    WHOLE_TOPICS,
    AssignorChange,
    change_to,
    is_whole,
    no_assignor,
    topics_in_words,
)
from rebalance_sim.engine.audit.changes import assignors_of_choice, best_choice
from rebalance_sim.engine.audit.finding import Finding, Kind
from rebalance_sim.engine.audit.group import OWNED_NOW, Group, Row
from rebalance_sim.engine.audit.settings_in_use import subscribed_topics
from rebalance_sim.engine.audit.thresholds import Thresholds
from rebalance_sim.kafka.group_kinds import WITHOUT_PREDICTION
from rebalance_sim.tables import REBALANCING_STATES

IDLE_NOW = replace(
    IDLE,
    description="{idle_members:member owns|members own} no partition now, although {partitions:partition is|partitions "
    "are} enough for {busy:member}",
)
IMBALANCE_NOW = replace(
    IMBALANCE, description="the members own {min} to {max:partition} now, although no member needs more than {best}"
)
WHOLE_TOPICS_NOW = replace(
    WHOLE_TOPICS, description="one member owns all partitions of a topic now, although others subscribe to it: {topics}"
)
_WITHOUT_REMEDY = "{no_assignor} The next rebalance may divide the partitions otherwise."


@dataclass(frozen=True)
class _Owned:
    """What the members of a group own now."""

    counts: Mapping[str, int]
    """Partitions by member, of those that subscribe to topics."""
    topics: Mapping[str, int]
    """Partitions of the subscribed topics."""
    whole: tuple[Row, ...]
    """Topics all of whose partitions are on one member, as ``whole_topics`` of ``balance``."""

    @classmethod
    def of(cls, group: Group) -> "_Owned | None":
        """Return what the members own; None if that is incomplete, or about to change."""
        subscribers = {row["member_id"]: row["subscription"] or () for row in group.members}
        is_rebalancing = any(row["group_state"] in REBALANCING_STATES for row in group.members)
        topics, rows = subscribed_topics(group), group.rows[OWNED_NOW]
        if is_rebalancing or _sums(rows, "topic") != Counter(topics):
            return None
        owned = _sums(rows, "member_id")
        whole = (
            {
                "topic": row["topic"],
                "member_id": row["member_id"],
                "partitions": row["partitions"],
                "subscribers": sum(row["topic"] in subscription for subscription in subscribers.values()),
            }
            for row in rows
            if row["partitions"] == topics[row["topic"]]
        )
        counts = {name: owned[name] for name, subscription in subscribers.items() if subscription}
        return cls(counts, topics, tuple(sorted(whole, key=lambda row: (-row["partitions"], row["topic"]))))


def _sums(rows: Iterable[Row], name: str) -> Counter[str]:
    found: Counter[str] = Counter()
    for row in rows:
        found[row[name]] += row["partitions"]
    return found


def findings(group: Group, thresholds: Thresholds) -> Iterator[Finding]:
    """Yield the findings about the balance of a group that has no predicted assignment.

    What no later assignment can be, by the bounds of the group, is over with the next rebalance and no finding.
    """
    owned, best = _Owned.of(group), group.optimum
    if owned is None or best is None or not owned.counts or group.kind.kind in WITHOUT_PREDICTION:
        return
    counts, bounds = owned.counts.values(), group.bounds or {}
    idle, most = sum(not count for count in counts), max(counts)
    figures = {"members": len(counts), "partitions": sum(owned.topics.values())}
    if best["balance_exact"] and best["idle_members"] < min(idle, bounds.get("idle_members_max", idle)):
        busy = len(counts) - best["idle_members"]
        yield _with_remedy(IDLE_NOW, group, thresholds, figures | {"idle_members": idle, "busy": busy})
    if min(most, bounds.get("max", most)) - best["max"] >= thresholds.imbalance_partitions:
        of_most = {"min": min(counts), "max": most, "best": best["max"]}
        yield _with_remedy(IMBALANCE_NOW, group, thresholds, figures | of_most)
    whole = [row for row in owned.whole if is_whole(row, figures, thresholds)]
    if whole:
        of_topics = {"topics": len(whole), "topic_partitions": whole[0]["partitions"]}
        found = _with_remedy(WHOLE_TOPICS_NOW, group, thresholds, figures | of_topics)
        yield replace(found, names={**found.names, "topics": topics_in_words(whole)})


def _with_remedy(kind: Kind, group: Group, thresholds: Thresholds, figures: Mapping[str, float]) -> Finding:
    """Return a finding that recommends the assignor that can be predicted and has less of its decisive figure."""
    figure, limit = ("topic_spread", "topic_partitions") if kind is WHOLE_TOPICS_NOW else (kind.decisive, kind.decisive)
    better = best_choice(group, figure, assignors_of_choice(group))
    if better is None or group.strategies[better][figure] >= figures[limit]:
        return Finding(replace(kind, recommendation=_WITHOUT_REMEDY), figures, {"no_assignor": no_assignor(group)})
    return change_to(kind, AssignorChange(group, better, thresholds), figures, {})
