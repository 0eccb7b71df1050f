"""The order of the kinds of findings of a fleet."""

from typing import Any

from pyspark.sql import SparkSession

from rebalance_sim.engine.audit.ranking import ranked_kinds
from rebalance_sim.tables import FINDINGS
from tests.support.rows import table


def found(kind: str, members: list[int | None], severity: str = "warning") -> list[dict[str, Any]]:
    """Return findings of a kind, each about a group with this many members."""
    return [
        {"group_id": f"{kind}-{number}", "kind": kind, "severity": severity, "members": count}
        for number, count in enumerate(members)
    ]


def test_kinds_are_ranked_by_the_members_of_all_their_groups(spark: SparkSession) -> None:
    """A group without members, such as one that is refused, counts as one."""
    rows = [
        *found("one-large-group", [1000, *[1] * 99]),
        *found("medium-groups", [100] * 50),
        *found("one-member", [1]),
        *found("refused", [0, 0, None]),
        *found("worst", [1], "error"),
    ]
    kinds = ranked_kinds(table(spark, FINDINGS, rows), 1)
    assert [(kind.kind, kind.groups, kind.members) for kind in kinds] == [
        ("worst", 1, 1),
        ("medium-groups", 50, 5000),
        ("one-large-group", 100, 1099),
        ("refused", 3, 3),
        ("one-member", 1, 1),
    ]
