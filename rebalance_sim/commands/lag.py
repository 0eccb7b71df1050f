"""Lag in ``assign`` and ``simulate``: the tables that they write from offsets, and ``assign``'s summary of it."""

from argparse import Namespace
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rebalance_sim.api.lag import lag_tables, rejected_offsets, topic_lag
from rebalance_sim.commands.console import Cells, Line, Table
from rebalance_sim.engine.groups.lag import against_elected
from rebalance_sim.engine.runs.run import Run
from rebalance_sim.tables import LAG_BALANCE, MEMBER_LAG, OFFSETS, TOPIC_LAG
from rebalance_sim.wording import plural

_GROUP = ("cluster", "group_id")
SHOWN_GROUPS = 3
"""Groups of each strategy that are printed, the worst first."""


class LagTables(NamedTuple):
    """The lag tables as written, and the groups that have lag but no assignment."""

    member_lag: DataFrame
    lag_balance: DataFrame
    topic_lag: DataFrame
    groups_without: int
    lag_without: int | None
    """None if the sum does not fit into a bigint."""

    @classmethod
    def of(cls, tables: Mapping[str, DataFrame]) -> "LagTables":
        """Return lag tables that are written."""
        member_lag, lag_balance, of_topics = (tables[table.name] for table in (MEMBER_LAG, LAG_BALANCE, TOPIC_LAG))
        of_groups = of_topics.groupBy(*_GROUP).agg(F.try_sum("lag").alias("lag")).where("lag > 0")
        without = of_groups.join(lag_balance.select(*_GROUP), [*_GROUP], "left_anti")
        groups, lag = without.agg(F.count("*"), F.try_sum("lag")).first() or (0, None)
        return cls(member_lag, lag_balance, of_topics, groups, lag)


@dataclass(frozen=True)
class Offsets:
    """The offsets that a job is given."""

    given: DataFrame
    rejects: DataFrame
    """Rows that cannot be used."""

    @classmethod
    def read(cls, run: Run, options: Namespace) -> "Offsets | None":
        """Read the table that the option names; None without the option."""
        if not options.offsets:
            return None
        given = run.read(OFFSETS, options.offsets, options.format)
        return cls(given, rejected_offsets(given))

    def write(self, run: Run, assignments: DataFrame, members: DataFrame, bad: int) -> LagTables:
        """Write the lag of these assignments; ``bad`` rows of offsets are rejected."""
        run.report_progress("computing lag")
        found = lag_tables(assignments, self.given, members).staged(lambda rows: run.stage(rows, "lag"))
        unassigned = (F.col("lag") > 0) & ~F.col("is_assigned")
        totals = (F.sum("offsets"), F.count_if(unassigned), F.try_sum(F.when(unassigned, F.col("lag"))))
        used, groups, lag = found.group_lag.agg(*totals).first() or (0, 0, None)
        run.count_rows(OFFSETS.name, run.number_of(self.given), used or 0, bad)
        member_lag, lag_balance = (run.write(table.name, found[table.name]) for table in (MEMBER_LAG, LAG_BALANCE))
        of_topics = run.write(TOPIC_LAG.name, topic_lag(self.given))
        return LagTables(member_lag, lag_balance, of_topics, groups, lag)


def summarise_lag(found: LagTables, elections: DataFrame | None) -> list[Line]:
    """Return the fleet's lag, its balance by strategy, and the groups with the most imbalanced lag."""
    return ["", *total_lag(found), *_by_strategy(found.lag_balance, elections), *_worst(found.lag_balance)]


def total_lag(found: LagTables) -> list[str]:
    """Return the fleet's lag, and where it is unknown."""
    by_group = found.lag_balance.groupBy(*_GROUP).agg(
        F.max("lag").alias("lag"),
        F.max("lag_partitions").alias("with_lag"),
        F.max("unknown_partitions").alias("unknown"),
        F.max("negative_partitions").alias("negative"),
    )
    total = by_group.agg(
        F.try_sum("lag").alias("lag"),
        F.sum("with_lag").alias("with_lag"),
        F.count_if(F.col("with_lag") > 0).alias("groups"),
        F.sum("unknown").alias("unknown"),
        F.count_if(F.col("unknown") > 0).alias("unknown_groups"),
        F.sum("negative").alias("negative"),
    ).first()
    assert total is not None

    def partitions(name: str, groups: str) -> str:
        return f"{plural(total[name] or 0, 'partition')} of {plural(total[groups], 'group')}"

    none = "none known" if total["unknown"] else "none"
    known = f"{shown_records(total['lag'])} in {partitions('with_lag', 'groups')}" if total["groups"] else none
    lines = [f"lag: {known}"]
    if total["unknown"]:
        lines.append(f"  unknown: {partitions('unknown', 'unknown_groups')}")
    if total["negative"]:
        lines.append(
            f"  committed offset above the log end, counted as no lag: {plural(total['negative'], 'partition')}"
        )
    if found.groups_without:
        groups = plural(found.groups_without, "group")
        lines.append(f"  without an assignment: {shown_records(found.lag_without)} of {groups} (see {TOPIC_LAG.name})")
    return lines


def shown_records(lag: int | None) -> str:
    """Return a number of records; None is one that does not fit into a bigint."""
    return "an unknown number of records" if lag is None else plural(lag, "record")


def _by_strategy(balanced: DataFrame, elections: DataFrame | None) -> list[Line]:
    compared = balanced.withColumn("elected_max_lag", F.lit(None))
    if elections is not None:
        compared = balanced.transform(against_elected(elections))
    by_strategy = (
        compared.where("lag_partitions > 0")
        .groupBy("strategy")
        .agg(
            F.count("*").alias("groups"),
            F.count_if(F.col("excess_lag") == 0).alias("best"),
            F.try_sum("excess_lag").alias("excess"),
            F.try_sum("unassigned_lag").alias("unassigned"),
            F.try_sum("moved_lag").alias("moved"),
            F.count_if(F.col("max_lag") < F.col("elected_max_lag")).alias("better"),
            F.count_if(F.col("max_lag") > F.col("elected_max_lag")).alias("worse"),
        )
        .orderBy("strategy")
        .collect()
    )
    if not by_strategy:
        return []
    several = len(by_strategy) > 1 and elections is not None
    header = ["strategy", "groups", "best balance", "excess lag", "unassigned lag", "moved lag"]
    header += ["better than elected", "worse than elected"] if several else []
    cells: Cells = {name: name.split()[0] for name in header[2:]}
    return [Table.of_rows(header, by_strategy, cells)]


def _worst(balanced: DataFrame) -> list[Line]:
    shown = balanced.where((F.col("rank") <= SHOWN_GROUPS) & (F.col("excess_lag") > 0)).orderBy("strategy", "rank")
    rows = shown.collect()
    if not rows:
        return []
    header = ("strategy", "group", "members", "lag", "max per member", "bound", "excess", "max now", "member with max")
    cells: Cells = {
        "group": "group_id",
        "max per member": "max_lag",
        "bound": "max_lag_bound",
        "excess": "excess_lag",
        "max now": "owned_max_lag",
        "member with max": "max_lag_member_id",
    }
    table = Table.of_rows(header, rows, cells)
    return ["", f"groups with the most imbalanced lag (all in {LAG_BALANCE.name})", table]
