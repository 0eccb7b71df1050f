"""The section about migrations to the consumer protocol."""

from pyspark.sql import functions as F

from rebalance_sim.engine.runs.finished_runs import FinishedRun
from rebalance_sim.report.page import GROUP, RunResults, Table, columns
from rebalance_sim.tables import VERDICTS

NAME = "migration"
SHOWN_REASONS, SHOWN_FIRST = 30, 20
_ONLINE = columns(
    *(("order", "migration_order"), "cluster", GROUP, "migration", "errors", "warnings", "members"),
    *(
        ("clients to upgrade", "outdated_members"),
        ("downtime in the migration, all partitions: s", "migration_unowned_ms"),
    ),
)
"""Columns of the groups that can migrate online."""
_ORDER = (
    f"The first {SHOWN_FIRST} of the groups that can migrate online; migration_order of verdicts has all. Groups whose "
    "verdict assumes no library come first, then those with the fewest errors, then the fewest warnings, then those "
    "whose clients need no upgrade, then the least downtime, then the fewest members."
)


def results(run: FinishedRun) -> RunResults:
    """Return how many groups can migrate to the consumer protocol, the reasons, and which should migrate first."""
    if not run.rows(VERDICTS):
        return RunResults()
    verdicts = run.table(VERDICTS).withColumn("migration", F.concat_ws(" if ", "migration", "migration_assumes"))
    online = verdicts.where(F.col("migration_order") <= SHOWN_FIRST).orderBy("migration_order").collect()
    reasons = (
        verdicts.groupBy("migration", "migration_reason")
        .agg(F.count("*").alias("groups"), F.min(F.struct("cluster", "group_id")).alias("first"))
        .orderBy(F.desc("groups"), "migration", "migration_reason")
        .limit(SHOWN_REASONS)
    )
    first = (("cluster", "first.cluster"), ("first group", "first.group_id"))
    head = columns("migration", ("reason", "migration_reason"), "groups", *first)
    note = (
        "online: in a rolling restart with group.protocol=consumer. offline: all members have to stop first. no: the "
        "group cannot migrate. done: all members use the consumer protocol. unknown: the members could not be read. if "
        "LIBRARY: the library of some members is uncertain, and with another one the verdict would differ."
    )
    by_reason = Table.of("Groups by migration", head, reasons.collect(), note)
    return RunResults((by_reason, *([Table.of("Migrate first", _ONLINE, online, _ORDER)] if online else [])))
