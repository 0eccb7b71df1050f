"""The sections of an audit beside the groups: results of hypothetical scenarios, and migrations."""

from collections.abc import Iterator

from pyspark.sql import functions as F

from rebalance_sim.engine.audit.finding import Severity
from rebalance_sim.engine.audit.ranking import ranked_kinds
from rebalance_sim.engine.runs.finished_runs import FinishedRun
from rebalance_sim.report.groups import group_of
from rebalance_sim.report.page import CLUSTER, CellType, Check, Column, Level, RunResults, Table, counts
from rebalance_sim.report.text import count
from rebalance_sim.tables import FINDINGS, VERDICTS
from rebalance_sim.wording import plural_of

MIGRATION, TO_DO = "migration", "what-to-do"
SHOWN_REASONS = 30
_LEVELS = {Severity.ERROR: Level.ERROR, Severity.WARNING: Level.WARNING}


def migrations(run: FinishedRun) -> RunResults:
    """Return how many groups can migrate to the consumer protocol, and the reasons; and the checks of the audit."""
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
    note = (
        "online: in a rolling restart with group.protocol=consumer. offline: all members have to stop first. no: the "
        "group cannot migrate. done: all members use the consumer protocol."
    )
    return RunResults((Table.of("Groups by migration", head, reasons.collect(), note),), tuple(checks(run)))


def checks(run: FinishedRun) -> Iterator[Check]:
    """Yield a check for each kind of error and warning, which stands for all its findings."""
    for kind in ranked_kinds(run.table(FINDINGS), 1) if run.rows(FINDINGS) else ():
        if kind.severity in _LEVELS:
            what = f"{plural_of(kind.groups, 'group')} with {kind.kind}{kind.where}"
            where = group_of(kind.first[0])
            yield Check(
                _LEVELS[kind.severity], count(kind.groups), what, TO_DO, where, kind.groups > 1, findings=kind.groups
            )
