"""The section about migrations to the consumer protocol."""

from pyspark.sql import functions as F

from rebalance_sim.engine.runs.finished_runs import FinishedRun
from rebalance_sim.report.page import CLUSTER, GROUP, CellType, Column, RunResults, Table, counts
from rebalance_sim.tables import VERDICTS

NAME = "migration"
SHOWN_REASONS, SHOWN_FIRST = 30, 20
_ONLINE = (
    Column("order", CellType.COUNT, "migration_order"),
    CLUSTER,
    GROUP,
    Column("migration", field="shown"),
    *counts("errors", "warnings", "members", ("clients to upgrade", "outdated_members")),
    Column("downtime in the migration, all partitions: s", CellType.SECONDS, "migration_unowned_ms"),
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
    verdicts = run.table(VERDICTS).withColumn("shown", F.concat_ws(" if ", "migration", "migration_assumes"))
    online = verdicts.where(F.col("migration_order") <= SHOWN_FIRST).orderBy("migration_order").collect()
    reasons = (
        verdicts.groupBy("shown", "migration_reason")
        .agg(F.count("*").alias("groups"), F.min(F.struct("cluster", "group_id")).alias("first"))
        .select("shown", "migration_reason", "groups", "first.*")
        .orderBy(F.desc("groups"), "shown", "migration_reason")
        .limit(SHOWN_REASONS)
    )
    first = Column("first group", CellType.NAME, "group_id")
    head = (
        Column("migration", field="shown"),
        Column("reason", field="migration_reason"),
        *counts("groups"),
        CLUSTER,
        first,
    )
    note = (
        "online: in a rolling restart with group.protocol=consumer. offline: all members have to stop first. no: the "
        "group cannot migrate. done: all members use the consumer protocol. unknown: the members could not be read. if "
        "LIBRARY: the library of some members is uncertain, and with another one the verdict would differ."
    )
    by_reason = Table.of("Groups by migration", head, reasons.collect(), note)
    return RunResults((by_reason, *([Table.of("Migrate first", _ONLINE, online, _ORDER)] if online else [])))
