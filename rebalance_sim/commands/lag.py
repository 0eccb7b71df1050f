"""What ``assign`` and ``simulate`` write about lag where they are given offsets, and what ``assign`` tells of it."""

from argparse import ArgumentParser, Namespace
from dataclasses import dataclass
from typing import NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rebalance_sim.commands.summary import columns, shown_number
from rebalance_sim.engine.inputs import fit_offsets, rejected, usable
from rebalance_sim.engine.lag import (
    against_elected,
    held_lag,
    lag_balance,
    member_lag,
    partition_lag,
    with_owners,
    without_assignment,
)
from rebalance_sim.engine.lag_costs import lag_costs
from rebalance_sim.engine.runs import Run
from rebalance_sim.tables import LAG_BALANCE, LAG_COSTS, MEMBER_LAG, OFFSETS

SHOWN_GROUPS = 3
"""Groups of each strategy that are shown, the worst first."""


def add_offsets_option(parser: ArgumentParser, told: str) -> None:
    """Option of the jobs that tell where lag lies."""
    parser.add_argument(
        f"--{OFFSETS.name}",
        default="",
        metavar="PATH",
        help=f"{OFFSETS.name} table; {told}",
    )


class LagTables(NamedTuple):
    """What was found, as written."""

    member_lag: DataFrame
    lag_balance: DataFrame
    groups_without: int
    """Groups with lag of which there is no assignment."""
    lag_without: int | None
    """Their lag; None: more than a table can hold."""


@dataclass(frozen=True)
class Offsets:
    """The offsets that a job is given."""

    given: DataFrame
    fitted: DataFrame

    @classmethod
    def read(cls, run: Run, options: Namespace) -> "Offsets | None":
        """Read the option; None where it is not given."""
        if not options.offsets:
            return None
        given = run.read(OFFSETS, options.offsets, options.format)
        return cls(given, fit_offsets(given))

    @property
    def rejects(self) -> DataFrame:
        """Rows that cannot be used."""
        return rejected(self.fitted, OFFSETS)

    def write(self, run: Run, assignments: DataFrame, members: DataFrame, bad: int) -> LagTables:
        """Write who has how much lag by these assignments, of usable members; ``bad`` rows of offsets are rejected."""
        run.tell("finding who has how much lag")
        partitions = run.stage(partition_lag(usable(self.fitted)).transform(with_owners(members)), "partition_lag")
        run.count_rows(OFFSETS.name, self.given.count(), partitions.where("negative IS NOT NULL").count(), bad)
        held = run.stage(assignments.transform(held_lag(partitions, members)), "held_lag")
        without = partitions.transform(without_assignment(held)).agg(F.count("*"), F.try_sum("lag")).first()
        groups, lag = without or (0, None)
        return LagTables(
            run.write(MEMBER_LAG.name, held.transform(member_lag)),
            run.write(LAG_BALANCE.name, held.transform(lag_balance)),
            groups,
            lag,
        )

    def write_costs(self, run: Run, partition_costs: DataFrame, bad: int) -> DataFrame:
        """Write what the partitions of a simulation cost where lag sits; ``bad`` rows of offsets are rejected."""
        run.tell("finding what lag the costs fall on")
        lags = run.stage(partition_lag(usable(self.fitted)), "partition_lag")
        run.count_rows(OFFSETS.name, self.given.count(), lags.count(), bad)
        return run.write(LAG_COSTS.name, partition_costs.transform(lag_costs(lags)))


def summarise_lag(found: LagTables, elections: DataFrame | None) -> list[str]:
    """How much lag there is, how even each strategy parts it, and the groups where that matters most."""
    return ["", *_known(found), *_by_strategy(found.lag_balance, elections), *_worst(found.lag_balance)]


def _known(found: LagTables) -> list[str]:
    by_group = found.lag_balance.groupBy("cluster", "group_id").agg(
        F.max("lag").alias("lag"),
        F.max("lag_partitions").alias("with_lag"),
        F.max("unknown_partitions").alias("unknown"),
        F.max("negative_partitions").alias("negative"),
    )
    told = by_group.agg(
        F.try_sum("lag").alias("lag"),
        F.sum("with_lag").alias("with_lag"),
        F.count_if(F.col("with_lag") > 0).alias("groups"),
        F.sum("unknown").alias("unknown"),
        F.count_if(F.col("unknown") > 0).alias("unknown_groups"),
        F.sum("negative").alias("negative"),
    ).first()
    assert told is not None
    lines = [
        f"lag: {shown_number(told['lag'] if told['groups'] else 0)} records in {told['with_lag'] or 0:,} partitions of "
        f"{told['groups']:,} groups"
    ]
    if told["unknown"]:
        lines.append(f"  not known of {told['unknown']:,} partitions of {told['unknown_groups']:,} groups")
    if told["negative"]:
        lines.append(f"  committed offset above the log end, which counts as no lag: {told['negative']:,} partitions")
    if found.groups_without:
        lines.append(
            f"  and {shown_number(found.lag_without)} records of {found.groups_without:,} groups without assignment"
        )
    return lines


def _by_strategy(balanced: DataFrame, elections: DataFrame | None) -> list[str]:
    compared = balanced.withColumn("elected_max_lag", F.lit(None))
    if elections is not None:
        compared = balanced.transform(against_elected(elections))
    by_strategy = (
        compared.where("lag_partitions > 0")
        .groupBy("strategy")
        .agg(
            F.count("*").alias("groups"),
            F.count_if(F.col("excess_lag") == 0).alias("even"),
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
    header = ["strategy", "groups", "as even as can be", "excess lag", "unassigned lag", "moved lag"]
    rows = [
        [
            row["strategy"],
            *(f"{row[name]:,}" for name in ("groups", "even")),
            *(shown_number(row[name]) for name in ("excess", "unassigned", "moved")),
            *((f"{row[name]:,}" for name in ("better", "worse")) if several else ()),
        ]
        for row in by_strategy
    ]
    return columns([*header, "better", "worse"] if several else header, rows)


def _worst(balanced: DataFrame) -> list[str]:
    shown = balanced.where((F.col("rank") <= SHOWN_GROUPS) & (F.col("excess_lag") > 0)).orderBy("strategy", "rank")
    rows = shown.collect()
    if not rows:
        return []
    cells = [
        (
            row["strategy"],
            row["group_id"],
            row["members"],
            *(shown_number(row[name]) for name in ("lag", "max_lag", "max_lag_bound", "excess_lag", "owned_max_lag")),
            row["max_lag_member_id"],
        )
        for row in rows
    ]
    header = ("strategy", "group", "members", "lag", "largest", "bound", "excess", "largest now", "who has the largest")
    return ["", f"where lag lies least even (all groups in {LAG_BALANCE.name})", *columns(header, cells)]
