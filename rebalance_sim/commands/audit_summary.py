"""What ``audit`` prints: the findings that matter, the worst first, in a screenful."""

import json
from collections.abc import Sequence

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from rebalance_sim.commands.console import Line, one_line
from rebalance_sim.commands.news import summarise_news
from rebalance_sim.commands.summary import named_group
from rebalance_sim.engine.audit.finding import Severity
from rebalance_sim.engine.audit.ranking import NAMED_GROUPS, RankedKind, mark_of, ranked_kinds
from rebalance_sim.engine.audit.since import Since
from rebalance_sim.kafka.migration import Verdict, shown
from rebalance_sim.tables import FINDINGS, VERDICTS
from rebalance_sim.wording import plural

_Advised = dict[tuple[str, str, str], str]
"""Kinds of findings by cluster, group and the change of settings that they recommend."""
SHOWN_KINDS = 8
"""Kinds of errors and warnings that are printed."""
SHOWN_GROUPS = 2
"""Groups of each kind that are printed."""


SHOWN_MIGRATIONS = 3
"""Groups that are printed of those that can migrate online, the first to migrate."""


def summarise_findings(
    findings: DataFrame, verdicts: DataFrame, unread: str = "", since: Since | None = None
) -> list[Line]:
    """Return the number of findings, the largest groups of each kind of error and warning, and the migrations.

    ``unread`` is a sentence about what could not be used; the lines begin with it. ``since`` is what changed since an
    earlier audit, whose notes are not printed again.
    """
    kinds = ranked_kinds(findings, NAMED_GROUPS)
    by_migration = _by_migration(verdicts)
    groups = sum(row["groups"] for row in by_migration)
    # If so, an id may name several groups.
    several = len({row[name] for row in by_migration for name in ("first", "last")}) > 1
    severe = [kind for kind in kinds if kind.severity is not Severity.NOTE]
    lines: list[Line] = [*([unread] if unread else []), _counts(kinds, groups)]
    advised: _Advised = {}
    for kind in severe[:SHOWN_KINDS]:
        lines += _lines_of(kind, several, advised)
    if len(severe) > SHOWN_KINDS:
        lines.append(f"  and {plural(len(severe) - SHOWN_KINDS, 'more kind')} of findings (see {FINDINGS.name})")
    notes = _notes(kinds) if since is None else summarise_news(since, several)
    return [*lines, *notes, *_migrations(verdicts, by_migration, several)]


def _by_migration(verdicts: DataFrame) -> list[Row]:
    """Return the number of groups by how they can migrate to the consumer protocol, with two of their clusters."""
    clusters = (F.min("cluster").alias("first"), F.max("cluster").alias("last"))
    return verdicts.groupBy("migration", "migration_assumes").agg(F.count("*").alias("groups"), *clusters).collect()


def _counts(kinds: Sequence[RankedKind], groups: int) -> str:
    counts = (
        plural(sum(kind.groups for kind in kinds if kind.severity is severity), severity) for severity in Severity
    )
    return f"{plural(groups, 'group')}: {', '.join(counts)}"


def _lines_of(kind: RankedKind, several: bool, advised: _Advised) -> list[str]:
    """Return a kind of finding with its largest groups, and what to do about them: once, if it is the same.

    ``advised`` are the changes of settings of kinds before, by group; those of this kind are added.
    """
    lines = [f"  {kind.severity}: {kind.kind}: {plural(kind.groups, 'group')}{kind.where}"]
    shown = kind.first[:SHOWN_GROUPS]
    advices = [_advice(row, advised) for row in shown]
    for row, advice, following in zip(shown, advices, [*advices[1:], ""], strict=True):
        lines.append(f"    {named_group(row, several)}: {one_line(row['description'])}{mark_of(row)}")
        if advice and following != advice:
            lines.append(f"    -> {one_line(advice)}")
    return lines


def _advice(row: Row, advised: _Advised) -> str:
    """Return what to do about a finding; if another kind before has the same change, its name."""
    change = (row["cluster"], row["group_id"], json.dumps(row["settings"], sort_keys=True))
    if row["settings"] and advised.setdefault(change, row["kind"]) != row["kind"]:
        return f"The same change as for {advised[change]}."
    return row["recommendation"] or ""


def _notes(kinds: Sequence[RankedKind]) -> list[str]:
    notes = [f"{kind.kind} {kind.groups:,}" for kind in kinds if kind.severity is Severity.NOTE]
    return [f"  notes: {', '.join(notes)}"] if notes else []


def _migrations(verdicts: DataFrame, by_migration: Sequence[Row], several: bool) -> list[str]:
    """Return how many groups can migrate to the consumer protocol, and how."""
    order = [*Verdict]
    ranked = sorted(by_migration, key=lambda row: (order.index(row["migration"]), row["migration_assumes"] or ""))
    found = [f"{row['groups']:,} {shown(row['migration'], row['migration_assumes'])}" for row in ranked]
    if not found:
        return []
    first = verdicts.where(F.col("migration_order") <= SHOWN_MIGRATIONS).orderBy("migration_order").collect()
    named = ", ".join(
        named_group(row, several) + (f" (if {row['migration_assumes']})" if row["migration_assumes"] else "")
        for row in first
    )
    lines = [f"migration to the consumer protocol: {', '.join(found)} (see {VERDICTS.name})"]
    return [*lines, f"  migrate first: {named} (all in migration_order)"] if first else lines
