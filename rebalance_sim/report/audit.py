"""The sections about an audit: what to do about the groups, results of hypothetical scenarios, and migrations."""

from collections.abc import Iterator, Mapping, Sequence

from pyspark.sql import functions as F

from rebalance_sim.engine.audit.finding import Severity
from rebalance_sim.engine.audit.ranking import RankedKind, ranked_kinds
from rebalance_sim.engine.runs.finished_runs import FinishedRun
from rebalance_sim.report.groups import group_of
from rebalance_sim.report.page import CLUSTER, GROUP, CellType, Check, Column, Level, RunResults, Table, counts
from rebalance_sim.report.text import count, seconds
from rebalance_sim.tables import FINDINGS, VERDICTS
from rebalance_sim.wording import plural, plural_of

TO_DO, SCENARIOS, MIGRATION = "what-to-do", "scenarios", "migration"
SHOWN_GROUPS = 10
"""Groups shown of each kind of finding, the largest first."""
SHOWN_REASONS = 30
_LEVELS = {Severity.ERROR: Level.ERROR, Severity.WARNING: Level.WARNING}
_HEAD = (
    *(CLUSTER, GROUP),
    *counts("members"),
    *map(Column, ("finding", "figures", "what to do", "expected saving", "confidence")),
)


def is_audited(run: FinishedRun) -> bool:
    """Return whether a run is an audit, which has findings of its own."""
    return FINDINGS.name in run.record["rows"].get("out", {})


def to_do(run: FinishedRun) -> RunResults:
    """Return the findings about the present state, ranked, and a check for each kind of error and warning."""
    return _results([kind for kind in _kinds(run) if kind.scenario is None], TO_DO)


def scenarios(run: FinishedRun) -> RunResults:
    """Return the results of hypothetical scenarios, ranked, and a check for each kind of error and warning."""
    return _results([kind for kind in _kinds(run) if kind.scenario is not None], SCENARIOS)


def migrations(run: FinishedRun) -> RunResults:
    """Return how many groups can migrate to the consumer protocol, and the reasons."""
    if not run.rows(VERDICTS):
        return RunResults()
    reasons = (
        run.table(VERDICTS)
        .groupBy("migration", "migration_reason")
        .agg(F.count("*").alias("groups"), F.min(F.struct("cluster", "group_id")).alias("first"))
        .select("migration", "migration_reason", "groups", "first.*")
        .orderBy(F.desc("groups"), "migration", "migration_reason")
        .limit(SHOWN_REASONS)
    )
    first = Column("first group", CellType.NAME, "group_id")
    head = (Column("migration"), Column("reason", field="migration_reason"), *counts("groups"), CLUSTER, first)
    return RunResults((Table.of("Groups by verdict", head, reasons.collect()),))


def _kinds(run: FinishedRun) -> list[RankedKind]:
    return ranked_kinds(run.table(FINDINGS), SHOWN_GROUPS) if run.rows(FINDINGS) else []


def _results(kinds: Sequence[RankedKind], section: str) -> RunResults:
    severe = [kind for kind in kinds if kind.severity in _LEVELS]
    notes = [kind for kind in kinds if kind.severity not in _LEVELS]
    blocks = (*map(_table, severe), *([_notes(notes)] if notes else []))
    return RunResults(blocks, tuple(_checks(severe, section)))


def _table(kind: RankedKind) -> Table:
    """Return the largest groups of a kind."""
    shown = f", the {len(kind.first)} largest" if kind.groups > len(kind.first) else ""
    caption = f"{kind.severity.capitalize()}: {kind.kind} ({plural(kind.groups, 'group')}{kind.where}{shown})"
    rows = (
        (
            *group_of(row),
            row["members"],
            row["description"],
            _figures(row["figures"]),
            row["recommendation"],
            _figures(row["saving"]),
            row["confidence"],
        )
        for row in kind.first
    )
    return Table(caption, _HEAD, tuple(rows))


def _notes(notes: Sequence[RankedKind]) -> Table:
    head = (Column("note"), *counts("groups"), CLUSTER, Column("largest group", CellType.NAME), Column("finding"))
    rows = ((kind.kind, kind.groups, *group_of(kind.first[0]), kind.first[0]["description"]) for kind in notes)
    return Table("Notes: they cannot be avoided, or need not be", head, tuple(rows))


def _checks(severe: Sequence[RankedKind], section: str) -> Iterator[Check]:
    for kind in severe:
        what = f"{plural_of(kind.groups, 'group')} with {kind.kind}{kind.where}"
        yield Check(
            _LEVELS[kind.severity], count(kind.groups), what, section, group_of(kind.first[0]), many=kind.groups > 1
        )


def _figures(figures: Mapping[str, float] | None) -> str | None:
    """Return figures by name as text; None if there are none.

    >>> _figures({"unowned_ms_saved": 1500.0, "moved_saved": -2.0, "share": 0.5})
    'moved saved -2, share 50 %, unowned saved 1.5 s'
    """
    return (
        ", ".join(f"{_name(name)} {_value(name, value)}" for name, value in sorted(figures.items()))
        if figures
        else None
    )


def _name(name: str) -> str:
    return name.replace("_ms", "").replace("_", " ")


def _value(name: str, value: float) -> str:
    if "_ms" in name:
        return f"{seconds(value)} s"
    if name == "share":
        return f"{100 * value:.0f} %"
    return count(value) if value.is_integer() else f"{value:,.2f}"
