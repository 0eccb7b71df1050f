"""The kinds of findings of a fleet, the worst first, for the console and the page."""

from typing import NamedTuple

from pyspark.sql import DataFrame, Row, Window
from pyspark.sql import functions as F

from rebalance_sim.engine.audit.finding import Severity
from rebalance_sim.engine.audit.risks import UNREAD
from rebalance_sim.engine.spark.driver_rows import collected, once

_KEYS = ("severity", "kind", "scenario")
NAMED_GROUPS = 5
"""Groups that are named for each kind of finding, the largest first."""


class RankedKind(NamedTuple):
    """A kind of finding in a fleet."""

    severity: Severity
    kind: str
    scenario: str | None
    """The hypothetical scenario of which it is a result; None for the present state."""
    groups: int
    members: int
    """Of all these groups; one without members, or of which they are unknown, counts as one."""
    first: list[Row]
    """Rows of ``findings`` about the largest groups, the largest first."""

    @property
    def where(self) -> str:
        """The scenario, to be added to a description; empty for the present state."""
        return f", in a simulated {self.scenario.replace('-', ' ')}" if self.scenario else ""


def ranked_kinds(findings: DataFrame, shown_groups: int) -> list[RankedKind]:
    """Return the kinds of findings, each with up to ``shown_groups`` groups.

    Groups that could not be read come first, then errors, then the kinds that concern most members.
    """
    first: dict[tuple[str, ...], list[Row]] = {}
    for row in collected(_largest_groups(findings, shown_groups)):
        first.setdefault(tuple(row[key] for key in _KEYS), []).append(row)
    kinds = [
        RankedKind(Severity(severity), kind, scenario, groups, all_members, first[severity, kind, scenario])
        for severity, kind, scenario, groups, all_members in _counted(findings).collect()
    ]
    order = list(Severity)
    return sorted(kinds, key=lambda of: (of.kind != UNREAD.name, order.index(of.severity), -of.members, of.kind))


@once
def _largest_groups(findings: DataFrame, shown_groups: int) -> DataFrame:
    """Return the findings of each kind about the largest groups, the largest first."""
    largest_first = Window.partitionBy(*_KEYS).orderBy(F.desc("members"), "cluster", "group_id")
    ranked = findings.withColumn("rank", F.row_number().over(largest_first))
    return ranked.where(F.col("rank") <= shown_groups).orderBy("rank")


@once
def _counted(findings: DataFrame) -> DataFrame:
    """Return the kinds of findings, with the numbers of their groups and of the members of those."""
    members = F.sum(F.greatest("members", F.lit(1))).alias("members")
    return findings.groupBy(*_KEYS).agg(F.count("*").alias("groups"), members)
