"""An audit that a page shows: its tables by group, and what its inputs add."""

import logging
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from pyspark.sql import DataFrame, Row

from rebalance_sim.api.audit import Audit
from rebalance_sim.engine.audit.unread import Unread
from rebalance_sim.engine.runs.finished_runs import FinishedRun
from rebalance_sim.engine.runs.hadoop_files import HadoopFiles
from rebalance_sim.engine.runs.input_files import read_input
from rebalance_sim.engine.runs.past_runs import HISTORY, past_run, tables_of_history
from rebalance_sim.engine.runs.recorded_runs import RecordedRun, fleet_of
from rebalance_sim.engine.runs.session_runs import SessionRun
from rebalance_sim.errors import UserError
from rebalance_sim.tables import ELECTIONS, FINDINGS, VERDICTS, Table

_LOG = logging.getLogger(__name__)
GroupKey = tuple[str, str]
"""Cluster and group."""
FindAudit = Callable[[FinishedRun], Audit | None]
"""Returns the audit of a run, over the inputs that it read; None if they can no longer be read."""


def by_group(rows: Iterable[Row]) -> defaultdict[GroupKey, list[Row]]:
    """Return rows by their group."""
    found: defaultdict[GroupKey, list[Row]] = defaultdict(list)
    for row in rows:
        found[row["cluster"], row["group_id"]].append(row)
    return found


def is_audit(run: FinishedRun) -> bool:
    """Return whether a run is an audit, which has findings of its own."""
    return FINDINGS.name in run.record["rows"].get("out", {})


@dataclass(frozen=True)
class AuditedRun:
    """The tables of an audit."""

    run: FinishedRun
    label: str
    """The run's name on the page."""
    find_audit: FindAudit

    @property
    def is_of_session(self) -> bool:
        """Whether its tables are DataFrames of a session, so that no command can read them."""
        return isinstance(self.run, SessionRun)

    @property
    def groups(self) -> int:
        """The number of groups."""
        return self.run.rows(VERDICTS)

    @cached_property
    def rules(self) -> Audit | None:
        """The audit over the inputs that it read; None if they can no longer be read."""
        return self.find_audit(self.run)

    @cached_property
    def history(self) -> Mapping[str, DataFrame]:
        """The tables of the history that it read; none if it read none, or if they can no longer be read."""
        if self.is_of_session:
            return self.rules.history if self.rules else {}
        spark, folder = self.run.spark, str(self.run.record["options"].get(HISTORY) or "")
        try:
            return tables_of_history(HadoopFiles(spark), folder, lambda *given: read_input(spark, *given))
        except UserError as problem:
            _LOG.warning("past rebalances are not shown: %s", problem)
            return {}

    @cached_property
    def history_run(self) -> RecordedRun | None:
        """The run of ``history`` whose tables it read; None if it read none from a folder, or if they are gone."""
        if self.is_of_session or not self.history:
            return None
        return past_run(HadoopFiles(self.run.spark), str(self.run.record["options"][HISTORY]))

    @cached_property
    def fleet(self) -> "AuditedRun | None":
        """The run that wrote its members, if that was one of ``fleet``, whose record is still there."""
        found = fleet_of(HadoopFiles(self.run.spark), self.run)
        if found is None:
            return None
        return AuditedRun(FinishedRun(found.folder, found.record, self.run.spark), self.label, self.find_audit)

    @cached_property
    def unread(self) -> Unread:
        """What the audit could not use of its input."""
        run = self.run
        return Unread.of(
            run.table(FINDINGS),
            run.table(ELECTIONS) if run.rows(ELECTIONS) else None,
            self.groups,
            run.record["rows"],
            self.fleet.run if self.fleet else None,
        )

    def rows_by_group(
        self, table: Table, groups: Collection[GroupKey] | None, columns: Sequence[str] = ()
    ) -> defaultdict[GroupKey, list[Row]]:
        """Return the rows of a table by group: of some groups, or of all; with some columns, or with all."""
        if not self.run.rows(table):
            return by_group(())
        names = None if groups is None else {group for _, group in groups}
        chosen = ("cluster", "group_id", *columns) if columns else table.names
        rows = self.run.chosen(table, chosen, "group_id", names)
        return by_group(row for row in rows if groups is None or (row["cluster"], row["group_id"]) in groups)
