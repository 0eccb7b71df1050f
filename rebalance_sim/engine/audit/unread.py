"""What an audit could not use of its input, as the sentence with which its results begin."""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rebalance_sim.engine.audit.risks import UNREAD
from rebalance_sim.engine.runs.recorded_runs import RecordedRun
from rebalance_sim.engine.runs.rejected_shares import RejectedShare, rejected_shares
from rebalance_sim.tables import MEMBERS
from rebalance_sim.wording import plural

Counts = Mapping[str, Mapping[str, int]]
"""The rows in the record of a run."""
_FILES = "file"
"""The table of rejects whose rows are whole files of a capture."""


class Unread(NamedTuple):
    """The groups, rows and files that an audit could not use."""

    groups: int
    all_groups: int
    member_rows: int
    """Rejected rows of these groups' members."""
    unseen: int
    """Those of the groups without such a row."""
    rows: int
    """All rejected rows."""
    files: int
    worst: RejectedShare | None
    """The input with the largest share of rejected rows."""

    @classmethod
    def of(
        cls, findings: DataFrame, elections: DataFrame | None, groups: int, audit: Counts, fleet: RecordedRun | None
    ) -> "Unread":
        """Return what was not used, from an audit of ``groups`` groups and its tables, if they have rows.

        ``fleet`` is the run that read its fleet; None if there is none.
        """
        of_fleet: Counts = {} if fleet is None else fleet.record["rows"]
        counts = [_without_refused(audit, elections), of_fleet]
        rejected: Counter[str] = Counter()
        for rows in counts:
            rejected.update(rows.get("rejected", {}))
        if fleet is not None and keeps_rejected_members(fleet):
            rejected[MEMBERS.name] -= of_fleet.get("rejected", {}).get(MEMBERS.name, 0)
        shares = [share for rows in counts for share in rejected_shares(rows)]
        files = rejected.pop(_FILES, 0)
        unread, member_rows, unseen = _unread_groups(findings) if rejected.total() else (0, 0, 0)
        return cls(unread, groups, member_rows, unseen, rejected.total(), files, max(shares, default=None))

    @property
    def sentence(self) -> str:
        """What could not be used, without a full stop; empty if everything could.

        >>> Unread(35, 39, 242, 0, 250, 1, None).sentence
        '35 of 39 groups could not be read: all their members were rejected (242 rows); 8 more rows and 1 file could \
not be used'
        >>> Unread(0, 39, 0, 0, 8, 0, None).sentence, Unread(0, 39, 0, 0, 0, 0, None).sentence
        ('8 rows could not be used', '')
        """
        others = self.rows - self.member_rows
        more = [
            *([plural(others, "more row" if self.groups else "row")] if others > 0 else []),
            *([plural(self.files, "file")] if self.files else []),
        ]
        unused = f"{' and '.join(more)} could not be used" if more else ""
        return "; ".join(part for part in (self._groups, unused) if part)

    @property
    def _groups(self) -> str:
        if not self.groups:
            return ""
        some = f"{self.groups:,} of {plural(self.all_groups, 'group')} could not be read"
        if self.unseen == self.groups:
            return f"{some}: no usable row shows {'its' if self.groups == 1 else 'their'} members"
        rows = plural(self.member_rows, "row")
        if self.unseen:
            return f"{some}: no usable row shows their members ({rows} of members rejected)"
        return f"{some}: all {'its' if self.groups == 1 else 'their'} members were rejected ({rows})"

    def exceeds(self, most: float) -> bool:
        """Return whether a group, or more than a share of an input's rows, could not be used; 1 accepts all."""
        return most < 1 and (self.groups > 0 or (self.worst is not None and self.worst.share > most))


def keeps_rejected_members(fleet: RecordedRun) -> bool:
    """Return whether the members that a run of ``fleet`` rejects are also in its table, so that others reject them too.

    Brokers and ``__consumer_offsets`` show a member without its subscription; a line of Kafka's tools is lost.
    """
    return not fleet.record["options"].get("kafka_tools")


def _without_refused(audit: Counts, elections: DataFrame | None) -> Counts:
    """Return the rows of an audit without the members that the coordinator refuses: their rows were read."""
    rejected = audit.get("rejected", {})
    if elections is None or not rejected.get(MEMBERS.name):
        return audit
    (counted,) = elections.agg(F.sum(F.size("refused"))).collect()
    read = max(rejected[MEMBERS.name] - (counted[0] or 0), 0)
    return {**audit, "rejected": {**rejected, MEMBERS.name: read}}


def _unread_groups(findings: DataFrame) -> tuple[int, int, int]:
    """Return the number of groups that could not be read, their rejected rows of members, and those without any."""
    rows = F.col("figures")["rows"]
    counted = findings.where(F.col("kind") == UNREAD.name).agg(F.count("*"), F.sum(rows), F.count_if(rows == 0)).first()
    assert counted is not None
    groups, member_rows, unseen = counted
    return groups, int(member_rows or 0), unseen
