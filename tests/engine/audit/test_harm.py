"""Pairs of groups of which one is worse off: it has to rank higher, whatever the size of the other.

The pairs were written down before the scale.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from pyspark.sql import SparkSession

from rebalance_sim.engine.audit.finding import Severity
from rebalance_sim.engine.audit.judgement import FAMILIES
from rebalance_sim.engine.audit.ranking import in_order_of_harm, worst_first
from rebalance_sim.tables import VERDICTS
from tests.support.rows import table

KINDS = {kind.name: kind for family in FAMILIES.values() for kind in family.kinds}


class Audited(NamedTuple):
    """A group with findings of these kinds."""

    kinds: tuple[str, ...]
    members: int | None = 3
    lag: int | None = 0
    weight: int = 1


def group(*kinds: str, members: int | None = 3, lag: int | None = 0, weight: int = 1) -> Audited:
    return Audited(kinds, members, lag, weight)


PAIRS = [
    (group("group-unread", members=None), group("partitions-not-consumed", members=500)),
    (group("partitions-not-consumed", members=2), group("imbalance", members=500)),
    (group("group-refused", members=0), group("election-tie", members=1000)),
    (group("partitions-without-leader", members=1), group("idle-members", members=300)),
    (group("members-refused"), group("rollout-fails", members=100)),
    (group("shared-instance-id"), group("lag-on-one-member", lag=1_000_000)),
    (group("leader-cannot-read-members", members=2), group("migration-offline", members=50)),
    (group("assignment-fails", members=2), group("session-shorter-than-restart", members=200)),
    (group("regex-matches-nothing", members=1), group("rollout-downtime", members=900)),
    (group("rebalances-repeatedly", members=5), group("imbalance", members=50)),
    (group("large-lag", members=2, lag=418_233), group("election-tie", members=4, lag=36)),
    (group("large-lag", members=2, lag=418_233), group("large-lag", members=100, lag=20_000)),
    (group("large-lag", lag=20_000), group("idle-members", members=100)),
    (group("commits-overdue", lag=2_000), group("topic-on-one-member", members=40)),
    (group("offsets-expire", members=0), group("hot-partition", members=40)),
    (group("offsets-expire", members=0, lag=5_000), group("offsets-expire", members=0, lag=10)),
    (group("lag-on-one-member", lag=3_000), group("topic-on-one-member", members=40)),
    (group("imbalance", members=5), group("rollout-deadlock", members=100)),
    (group("imbalance", members=50), group("imbalance", members=5)),
    (group("imbalance", weight=5), group("imbalance", members=5000)),
    (group("imbalance"), group("rollout-deadlock", weight=1000)),
    (group("imbalance", "election-tie"), group("election-tie", members=80)),
    (group("imbalance", "rollout-fails"), group("imbalance", members=80)),
    (group("idle-members", members=5), group("session-shorter-than-restart", members=50)),
    (group("topic-on-one-member"), group("migration-loses-racks", members=50)),
    (group("hot-partition"), group("election-tie", members=50)),
    (group("keys-placed-differently"), group("rebalance-storm", members=50)),
    (group("rollout-fails"), group("rollout-downtime", members=50)),
    (group("rollout-deadlock"), group("election-tie", members=1000)),
    (group("session-shorter-than-restart"), group("election-tie", members=1000)),
    (group("migration-fails"), group("election-tie", members=50)),
    (group("election-tie"), group("rollout-cost", "migration-possible", members=1000)),
    (group("lag-in-one-partition", lag=900), group("rollout-cost", members=1000)),
    (group("rollout-cost", members=2), group(members=1000)),
]


def verdict(group_id: str, of: Audited) -> dict[str, Any]:
    kinds = sorted(map(KINDS.__getitem__, of.kinds), key=worst_first)
    severities = [kind.severity for kind in kinds]
    worst = (
        {"kind": kinds[0].name, "severity": min(severities, key=list(Severity).index), "harm": kinds[0].harm}
        if kinds
        else {}
    )
    errors = severities.count(Severity.ERROR)
    return {"group_id": group_id, "members": of.members, "lag": of.lag, "weight": of.weight, "errors": errors, **worst}


def test_the_worse_of_two_groups_ranks_higher(spark: SparkSession) -> None:
    groups = {f"{number}-{name}": of for number, pair in enumerate(PAIRS) for name, of in zip("ab", pair, strict=True)}
    rows = [verdict(*each) for each in groups.items()]
    found: Sequence[Any] = table(spark, VERDICTS, rows).transform(in_order_of_harm).collect()
    ranks = {row["group_id"]: row["rank"] for row in found}
    assert sorted(ranks.values()) == list(range(1, len(groups) + 1))
    assert [pair for number, pair in enumerate(PAIRS) if ranks[f"{number}-a"] > ranks[f"{number}-b"]] == []
