"""The kinds of findings of a fleet, the worst first, for the console and the page."""

from typing import NamedTuple

from pyspark.sql import DataFrame, Row, Window
from pyspark.sql import functions as F

from rebalance_sim.engine.audit.finding import Severity

_KEYS = ("severity", "kind", "scenario")


class RankedKind(NamedTuple):
    """A kind of finding in a fleet."""

    severity: Severity
    kind: str
    scenario: str | None
    """The hypothetical scenario of which it is a result; None for the present state."""
    groups: int
    members: int
    """Of all these groups; one without members, such as one that is refused, counts as one."""
    first: list[Row]
    """Rows of ``findings`` about the largest groups, the largest first."""

    @property
    def where(self) -> str:
        """The scenario, to be added to a description; empty for the present state."""
        return f", in a simulated {self.scenario.replace('-', ' ')}" if self.scenario else ""


def ranked_kinds(findings: DataFrame, shown_groups: int) -> list[RankedKind]:
    """Return the kinds of findings, each with up to ``shown_groups`` groups.

    Errors come first, then the kinds that concern most members.
    """
    largest_first = Window.partitionBy(*_KEYS).orderBy(F.desc("members"), "cluster", "group_id")
    largest = findings.withColumn("rank", F.row_number().over(largest_first)).where(F.col("rank") <= shown_groups)
    first: dict[tuple[str, ...], list[Row]] = {}
    for row in largest.orderBy("rank").collect():
        first.setdefault(tuple(row[key] for key in _KEYS), []).append(row)
    members = F.sum(F.greatest("members", F.lit(1))).alias("members")
    counted = findings.groupBy(*_KEYS).agg(F.count("*").alias("groups"), members).collect()
    kinds = [
        RankedKind(Severity(severity), kind, scenario, groups, all_members, first[severity, kind, scenario])
        for severity, kind, scenario, groups, all_members in counted
    ]
    order = list(Severity)
    return sorted(kinds, key=lambda of: (order.index(of.severity), -of.members, of.kind))
