"""The section about migrations to the consumer protocol."""

from pyspark.sql import functions as F

from rebalance_sim.engine.runs.finished_runs import FinishedRun
from rebalance_sim.report.page import CLUSTER, CellType, Column, RunResults, Table, counts
from rebalance_sim.tables import VERDICTS

NAME = "migration"
SHOWN_REASONS = 30


def results(run: FinishedRun) -> RunResults:
    """Return how many groups can migrate to the consumer protocol, and the reasons."""
    if not run.rows(VERDICTS):
        return RunResults()
    reasons = (
        run.table(VERDICTS)
        .withColumn("shown", F.concat_ws(" if ", "migration", "migration_assumes"))
        .groupBy("shown", "migration_reason")
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
    return RunResults((Table.of("Groups by migration", head, reasons.collect(), note),))
