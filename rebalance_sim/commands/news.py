"""What changed since an earlier audit: the table ``news``, and what ``audit`` prints of it."""

from collections.abc import Mapping
from dataclasses import replace

from pyspark.sql import DataFrame, Row

from rebalance_sim.commands.console import Line, one_line
from rebalance_sim.engine.audit.news import OF_GROUPS, Audited, RankedNews, news
from rebalance_sim.engine.audit.since import Since, comparable, started
from rebalance_sim.engine.audit.thresholds import Thresholds
from rebalance_sim.engine.runs.earlier_audits import PREVIOUS
from rebalance_sim.engine.runs.finished_runs import FinishedRun
from rebalance_sim.engine.runs.recorded_runs import RecordedRun
from rebalance_sim.engine.runs.run import Run
from rebalance_sim.tables import FINDINGS, NEWS, VERDICTS
from rebalance_sim.wording import plural

SHOWN_CHANGES = 8
"""Kinds of changes that are printed."""
SHOWN_GROUPS = 2
"""Groups of each kind that are printed."""


def write_news(
    run: Run, previous: RecordedRun | None, written: Mapping[str, DataFrame], thresholds: Thresholds, has_rates: bool
) -> Since | None:
    """Write ``news`` beside the tables of an audit, and return what changed; None without an earlier audit.

    ``has_rates`` says whether the audit knows how lag has changed since.
    """
    if previous is None:
        return None
    earlier = FinishedRun(previous.folder, previous.record, run.spark)
    before = Audited(*(run.kept(earlier.table(table)) for table in (FINDINGS, VERDICTS)))
    has_settings = run.reads_rows and not before.verdicts.where("settings_in_use IS NOT NULL").isEmpty()
    compared, not_compared = comparable(run.record(), previous.record, has_settings)
    run.facts[PREVIOUS] = {
        "folder": previous.folder,
        "audited": started(previous.record),
        "not_compared": list(not_compared),
    }
    run.report_progress("comparing with the earlier audit")
    now = Audited(*(written[table.name] for table in (FINDINGS, VERDICTS)))
    run.write(NEWS.name, news(now, before, replace(compared, rates=has_rates), thresholds))
    return Since.of(FinishedRun(run.out, run.record(), run.spark, run.tables)) if run.writes else None


def summarise_news(since: Since | None, several: bool) -> list[Line]:
    """Return what changed since the earlier audit, the worst first; nothing without one.

    ``several`` says whether the groups are of several clusters.
    """
    if since is None:
        return []
    lines: list[Line] = [f"{since.title}: {since.counts}"]
    for changes in since.changes[:SHOWN_CHANGES]:
        lines += _lines_of(changes, several)
    more = len(since.changes) - SHOWN_CHANGES
    if more > 0:
        lines.append(f"  and {plural(more, 'more kind')} of changes (see {NEWS.name})")
    return [*lines, *(f"  not compared: {one_line(sentence)}" for sentence in since.not_compared)]


def _lines_of(changes: RankedNews, several: bool) -> list[str]:
    """Return a kind of change with its first groups."""
    if changes.change in OF_GROUPS:
        head = f"  {changes.change}: {changes.number:,}"
    else:
        severity = changes.severity or changes.severity_before
        head = f"  {changes.change} {severity}: {changes.kind}: {plural(changes.number, 'group')}"
    shown = changes.first[:SHOWN_GROUPS]
    return [head, *(f"    {named_change(row, several)}: {one_line(row['description'])}" for row in shown)]


def named_change(row: Row, several: bool) -> str:
    """Return what a change is about: a group, a topic, or the brokers of a cluster, with the cluster if needed."""
    what = row["group_id"] if row["topic"] is None else f"topic {row['topic']}"
    if what is None:
        return f"cluster {one_line(row['cluster'])}"
    return one_line(what) + (f" of cluster {one_line(row['cluster'])}" if several else "")
