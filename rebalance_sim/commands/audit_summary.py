"""What ``audit`` prints: the findings that matter, the worst first, in a screenful."""

from collections.abc import Sequence

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from rebalance_sim.commands.console import Line, one_line
from rebalance_sim.engine.audit.finding import Severity
from rebalance_sim.kafka.migration import Verdict
from rebalance_sim.tables import FINDINGS, VERDICTS
from rebalance_sim.wording import plural

SHOWN_KINDS = 8
"""Kinds of errors and warnings that are printed."""
SHOWN_GROUPS = 2
"""Groups of each kind that are printed."""


def summarise_findings(findings: DataFrame, verdicts: DataFrame) -> list[Line]:
    """Return the number of findings, the largest groups of each kind of error and warning, and the migrations."""
    kinds = _kinds(findings)
    severe = [row for row in kinds if row["severity"] != Severity.NOTE]
    lines: list[Line] = [_counts(kinds, verdicts)]
    for row in severe[:SHOWN_KINDS]:
        lines += _lines_of(row)
    if len(severe) > SHOWN_KINDS:
        lines.append(f"  and {plural(len(severe) - SHOWN_KINDS, 'more kind')} of findings (see {FINDINGS.name})")
    return [*lines, *_notes(kinds), *_migrations(verdicts)]


def _kinds(findings: DataFrame) -> list[Row]:
    """Return the kinds of findings, errors first, then those in the largest groups, with their largest groups."""
    by_size = F.sort_array(
        F.collect_list(
            F.struct((-F.col("members")).alias("size"), "cluster", "group_id", "description", "recommendation")
        )
    )
    rows = (
        findings.groupBy("severity", "kind", "scenario")
        .agg(
            F.count("*").alias("groups"),
            F.max("members").alias("largest"),
            F.slice(by_size, 1, SHOWN_GROUPS).alias("first"),
        )
        .collect()
    )
    order = list(Severity)
    return sorted(rows, key=lambda row: (order.index(row["severity"]), -row["groups"] * row["largest"], row["kind"]))


def _counts(kinds: Sequence[Row], verdicts: DataFrame) -> str:
    counts = (
        plural(sum(row["groups"] for row in kinds if row["severity"] == severity), severity) for severity in Severity
    )
    return f"{plural(verdicts.count(), 'group')}: {', '.join(counts)}"


def _lines_of(kind: Row) -> list[str]:
    """Return a kind of finding with its largest groups, and what to do about the first."""
    scenario = f", in a simulated {kind['scenario']}" if kind["scenario"] else ""
    head = f"  {kind['severity']}: {kind['kind']}: {plural(kind['groups'], 'group')}{scenario}"
    shown = [f"    {one_line(row['group_id'])}: {one_line(row['description'])}" for row in kind["first"]]
    advice = kind["first"][0]["recommendation"]
    return [head, *shown, *([f"    -> {one_line(advice)}"] if advice else [])]


def _notes(kinds: Sequence[Row]) -> list[str]:
    notes = [f"{row['kind']} {row['groups']:,}" for row in kinds if row["severity"] == Severity.NOTE]
    return [f"  notes: {', '.join(notes)}"] if notes else []


def _migrations(verdicts: DataFrame) -> list[str]:
    """Return how many groups can migrate to the consumer protocol, and how."""
    counted: dict[str, int] = dict(verdicts.groupBy("migration").count().collect())
    found = [f"{counted[verdict]:,} {verdict}" for verdict in Verdict if verdict in counted]
    return [f"migration to the consumer protocol: {', '.join(found)} (see {VERDICTS.name})"] if found else []
