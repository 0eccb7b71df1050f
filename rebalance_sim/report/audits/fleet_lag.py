"""The lag of a fleet: of all groups together, and where most of it is."""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Row, Window
from pyspark.sql import functions as F

from rebalance_sim.report.audits.audited_run import AuditedRun
from rebalance_sim.report.text import share
from rebalance_sim.tables import OFFSETS, TOPIC_LAG
from rebalance_sim.wording import plural

SHOWN = 10
"""Groups and topics that are listed: those with most lag."""
_GROUP, _TOPIC = ("cluster", "group_id"), ("cluster", "topic")


@dataclass(frozen=True)
class FleetLag:
    """The lag of all groups."""

    sentence: str
    total: int | None = None
    """As in rows: None if it does not fit into a bigint."""
    groups: Sequence[Row] = ()
    """Those with most lag, each with its worst partition."""
    topics: Sequence[Row] = ()
    """The same, each also with the number of its groups with lag."""
    more_groups: int = 0
    """Groups with lag that are not listed."""
    more_topics: int = 0

    def share(self, row: Row) -> str:
        """Return the share of the fleet's lag; empty if it is unknown."""
        return share(row["lag"], self.total) if row["lag"] is not None and self.total else ""


def fleet_lag(audited: AuditedRun) -> FleetLag:
    """Return the lag of all groups of an audit."""
    if not audited.run.record["rows"].get("used", {}).get(OFFSETS.name):
        return FleetLag("Lag is unknown: the audit read no offsets.")
    rows = _summed(audited) if audited.run.rows(TOPIC_LAG) else []
    if not rows:
        return FleetLag("No lag: all committed offsets are at the log ends.")
    total = next(row for row in rows if row["group_id"] is None and row["topic"] is None)
    groups, topics = ([row for row in rows if row[name] is not None] for name in ("group_id", "topic"))
    return FleetLag(
        _sentence(total, groups),
        total["lag"],
        groups,
        topics,
        *(max(number[0]["listed"] - SHOWN, 0) if number else 0 for number in (groups, topics)),
    )


def _summed(audited: AuditedRun) -> list[Row]:
    """Return the lag of the fleet, then of the groups and of the topics with most lag, in one job of Spark."""
    # Of equal lag, the first by name, as in the details of a group.
    worst = F.struct(-F.col("max_partition_lag"), "group_id", "topic", "max_lag_partition", "max_partition_lag")
    lags = audited.run.table(TOPIC_LAG).withColumn("worst", F.when(F.col("max_partition_lag") > 0, worst))
    sets = [[F.col(name) for name in names] for names in (_GROUP, _TOPIC, ())]
    summed = lags.groupingSets(sets, "cluster", "group_id", "topic").agg(
        F.grouping_id().alias("of"),
        F.try_sum("lag").alias("lag"),
        F.sum("lag_partitions").alias("lag_partitions"),
        F.sum("unknown_partitions").alias("unknown_partitions"),
        F.count_if(F.col("lag_partitions") > 0).alias("groups"),
        F.min("worst").alias("worst"),
    )
    of = Window.partitionBy("of")
    first = of.orderBy(F.desc_nulls_first("lag"), "cluster", "group_id", "topic")
    with_lag = summed.where("cluster IS NULL OR lag_partitions > 0")
    ranked = with_lag.withColumns({"place": F.row_number().over(first), "listed": F.count("*").over(of)})
    return ranked.where(F.col("place") <= SHOWN).orderBy("of", "place").collect()


def _sentence(total: Row, groups: Sequence[Row]) -> str:
    """Return the lag of the fleet, and where most of it is."""
    unknown = total["unknown_partitions"]
    beside = f" The lag of {plural(unknown, 'partition')} is unknown." if unknown else ""
    if not groups:
        return f"No lag is known.{beside}"
    records = "An unknown number of records" if total["lag"] is None else plural(total["lag"], "record")
    where = f"{plural(total['lag_partitions'], 'partition')} of {plural(groups[0]['listed'], 'group')}"
    worst = total["worst"]
    most, partition = plural(worst["max_partition_lag"], "record"), f"{worst['topic']}-{worst['max_lag_partition']}"
    return (
        f"{records} of lag in {where}. Furthest behind is group {worst['group_id']}: {most} in partition "
        f"{partition}.{beside}"
    )
