"""Everything that a page shows of an audit."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from rebalance_sim.engine.audit.since import Since
from rebalance_sim.engine.runs.assumed import TIMES, assumptions_by_topic
from rebalance_sim.report.audits.actions import Findings, findings_of
from rebalance_sim.report.audits.audited_run import AuditedRun, GroupKey
from rebalance_sim.report.audits.details import DETAILED_GROUPS, GroupDetails, group_details
from rebalance_sim.report.audits.fleet_lag import FleetLag, fleet_lag
from rebalance_sim.report.audits.fleet_past import FleetPast, fleet_past
from rebalance_sim.report.audits.group_rows import STATIC_ROWS, GroupRow, as_json, group_rows, with_anchors
from rebalance_sim.report.audits.top import Top, top
from rebalance_sim.tables import VERDICTS

_FLEET = 10
"""Groups from which on notes of most groups are usual."""


@dataclass(frozen=True)
class AuditView:
    """What a page shows of an audit."""

    top: Top
    since: Since | None
    """What changed since an earlier audit; None if it was not compared."""
    findings: Findings
    lag: FleetLag
    past: FleetPast | None
    """The past rebalances of the fleet; None without a history."""
    times: tuple[str, ...]
    """What the simulations assume about times, in sentences."""
    groups: int
    rows: tuple[GroupRow, ...]
    details: tuple[GroupDetails, ...]
    command: str
    """The command that writes a page with the details of other groups; in a notebook, the call that shows them."""

    topic_query: str
    """The query that finds all consumers of a topic."""

    @property
    def anchors(self) -> dict[GroupKey, str]:
        """The anchors of the groups with details."""
        return {details.row.key: details.row.anchor for details in self.details}

    @property
    def static_rows(self) -> tuple[GroupRow, ...]:
        """The rows that are shown without JavaScript."""
        return self.rows[:STATIC_ROWS]

    @property
    def has_clusters(self) -> bool:
        """Whether the groups are of several clusters."""
        return len({row.cluster for row in self.rows}) > 1

    @property
    def json(self) -> str:
        """The rows for the script."""
        return as_json(self.rows)


def audit_view(audited: AuditedRun, named: Sequence[str]) -> AuditView:
    """Read what a page shows of an audit: details of the ``named`` groups or, without, of those that matter most."""
    findings = findings_of(audited)
    since = Since.of(audited.run)
    affected = [group.key for action in findings.actions for group in action.named] + _changed(since)
    rows = sorted(group_rows(audited, [*named, *(group for _, group in affected)]), key=lambda row: row.rank)
    by_key = {row.key: row for row in rows}
    keys = [row.key for row in rows if row.group_id in named] if named else [*affected, *by_key]
    detailed = [key for key in dict.fromkeys(keys) if key in by_key][:DETAILED_GROUPS]
    rows = with_anchors(rows, detailed)
    by_key = {row.key: row for row in rows}
    is_fleet = audited.groups >= _FLEET
    usual = {note.kind for note in findings.notes if is_fleet and note.groups > audited.groups / 2}
    details = group_details(audited, [by_key[key] for key in detailed], usual, named)
    command = f"rebalance-sim report --runs {shlex.quote(audited.run.folder)} --groups NAME --out page"
    if audited.is_of_session:
        command = 'show(audited, "NAME")'
    return AuditView(
        top(audited, findings, rows),
        since,
        findings,
        fleet_lag(audited),
        fleet_past(audited),
        assumptions_by_topic(map(str, audited.run.record["assumptions"])).get(TIMES, ()),
        audited.groups,
        tuple(rows),
        tuple(details),
        command,
        f"spark.read.{audited.run.output_format}({audited.run.path(VERDICTS.name)!r})"
        ".where(\"array_contains(topics, 'NAME') OR array_contains(offsets_topics, 'NAME')\")",
    )


def _changed(since: Since | None) -> list[GroupKey]:
    """Return the groups with changes that the page names."""
    rows = [row for changes in since.changes for row in changes.first] if since else []
    return [(row["cluster"], row["group_id"]) for row in rows if row["group_id"] is not None]
