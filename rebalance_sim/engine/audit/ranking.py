"""The order of findings, and of the groups that have them, the worst first: for console, page and tables."""

from enum import StrEnum
from typing import NamedTuple

from pyspark.sql import Column, DataFrame, Row, Window
from pyspark.sql import functions as F

from rebalance_sim.engine.audit.finding import Confidence, Harm, Kind, Severity
from rebalance_sim.engine.spark.driver_rows import collected, once

_KEYS = ("severity", "kind", "scenario")
_GROUP = ("cluster", "group_id")
_WITH_WAITING_RECORDS = (Harm.UNKNOWN, Harm.STOPPED, Harm.BEHIND)
"""Harm whose extent is the lag; that of the others is the number of members."""
ASSUMED = " (assumed)"
"""The mark of findings that rest on inputs that are missing."""
NAMED_GROUPS = 5
"""Groups that are named for each kind of finding, those of the highest weight and then the largest first."""


class RankedKind(NamedTuple):
    """A kind of finding in a fleet."""

    severity: Severity
    harm: str | None
    kind: str
    scenario: str | None
    """The hypothetical scenario of which it is a result; None for the present state."""
    groups: int
    lag: int
    """Of all these groups."""
    members: int
    """Of all these groups, times their weights; one without members, or of which they are unknown, counts as one."""
    first: list[Row]
    """Rows of ``findings`` about the first groups, by weight and size."""

    @property
    def lag_that_counts(self) -> int:
        """The lag by which it is ranked."""
        return self.lag if self.harm in _WITH_WAITING_RECORDS else 0

    @property
    def where(self) -> str:
        """The scenario, to be added to a description; empty for the present state."""
        return f", in a simulated {self.scenario.replace('-', ' ')}" if self.scenario else ""


def mark_of(finding: Row) -> str:
    """Return what is added to the description of a row of ``findings`` that rests on inputs that are missing."""
    return ASSUMED if finding["confidence"] == Confidence.ASSUMED else ""


def worst_first(kind: Kind) -> tuple[bool, int, int]:
    """Return the place of a kind: errors and warnings come before notes, and either by their harm."""
    return _order(kind.severity, kind.harm)


def worst_row_first(finding: Row) -> tuple[bool, int, int, bool]:
    """Return the place of a row of ``findings``: of equally bad ones, those about the present state come first."""
    return *_order(finding["severity"], finding["harm"]), finding["scenario"] is not None


def _order(severity: str, harm: str | None) -> tuple[bool, int, int]:
    """Return the place of a finding; one that was written before there was a scale of harm comes last."""
    harms = list(Harm)
    return (
        severity == Severity.NOTE,
        harms.index(Harm(harm)) if harm else len(harms),
        list(Severity).index(Severity(severity)),
    )


def in_order_of_harm(verdicts: DataFrame) -> DataFrame:
    """Set the rank of each group: by the harm and severity of its worst finding, then by its weight and size."""
    is_note, harm = F.coalesce(F.col("severity") == Severity.NOTE, F.lit(True)), place_of(F.col("harm"), Harm)
    size = (F.desc("weight"), F.desc("errors"), _lag_that_counts().desc_nulls_last(), F.desc_nulls_last("members"))
    first = Window.orderBy(is_note, harm, place_of(F.col("severity"), Severity), *size, *_GROUP)
    return verdicts.withColumn("rank", F.row_number().over(first))


def place_of(column: Column, of: type[StrEnum]) -> Column:
    """Return the place of a column's value among all, from 1; after them without a value."""
    return F.coalesce(F.nullif(F.array_position(F.array(*map(F.lit, of)), column), F.lit(0)), F.lit(len(of) + 1))


def ranked_kinds(findings: DataFrame, shown_groups: int) -> list[RankedKind]:
    """Return the kinds of findings, each with up to ``shown_groups`` groups: the worst first.

    Those with the same harm and severity are in the order of the lag of all their groups, then of the weighted members.
    """
    first: dict[tuple[str, ...], list[Row]] = {}
    for row in collected(_largest_groups(findings, shown_groups)):
        first.setdefault(tuple(row[key] for key in _KEYS), []).append(row)
    kinds = [
        RankedKind(Severity(severity), harm, kind, scenario, groups, lag, members, first[severity, kind, scenario])
        for severity, kind, scenario, harm, groups, lag, members in _counted(findings).collect()
    ]
    return sorted(kinds, key=lambda of: (*_order(of.severity, of.harm), -of.lag_that_counts, -of.members, of.kind))


def _lag_that_counts() -> Column:
    return F.when(F.col("harm").isin(*_WITH_WAITING_RECORDS), F.col("lag"))


@once
def _largest_groups(findings: DataFrame, shown_groups: int) -> DataFrame:
    """Return the findings of each kind about the first groups: by weight, then by lag if records wait, and size."""
    order = (F.desc("weight"), _lag_that_counts().desc_nulls_last(), F.desc("members"), *_GROUP)
    largest_first = Window.partitionBy(*_KEYS).orderBy(*order)
    ranked = findings.withColumn("rank", F.row_number().over(largest_first))
    return ranked.where(F.col("rank") <= shown_groups).orderBy("rank")


@once
def _counted(findings: DataFrame) -> DataFrame:
    """Return the kinds of findings, with the numbers of their groups, and of the lag and the members of those."""
    weighted = F.greatest("members", F.lit(1)) * F.coalesce("weight", F.lit(1))
    lag, members = F.coalesce(F.try_sum("lag"), F.lit(0)).alias("lag"), F.sum(weighted).alias("members")
    return findings.groupBy(*_KEYS, "harm").agg(F.count("*").alias("groups"), lag, members)
