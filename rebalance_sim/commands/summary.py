"""The short readable end of a job on the console."""

import os
import sys
from collections.abc import Iterable, Sequence
from itertools import groupby

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from rebalance_sim.commands.rejects import rejects_summary
from rebalance_sim.engine.runs import Run
from rebalance_sim.tables import CLASSIC, REJECTS

SHOWN_GROUPS = 25
"""A fleet of so many groups is shown group by group."""
SHOWN_MEMBERS = 120


def print_summary(lines: Iterable[str]) -> None:
    """Print to standard output; nothing is wrong if nobody reads it to its end, as where ``head`` does."""
    try:
        print("\n".join(lines), flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def one_line(text: object, width: int = 60) -> str:
    r"""Show any name in one line of limited width, control characters escaped.

    >>> one_line("a\nb")
    'a\\nb'
    """
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))
    return shown if len(shown) <= width else shown[: width - 1] + "…"


def columns(header: Sequence[str], rows: Sequence[Sequence[object]], widest: int = 60) -> list[str]:
    """Lay out a small table in columns of limited width."""
    cells = [[one_line(cell, widest) for cell in row] for row in [header, *rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    return [
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells
    ]


def shown_number(number: int | None) -> str:
    """Show a count that may not be known.

    >>> shown_number(1234), shown_number(None)
    ('1,234', '-')
    """
    return "-" if number is None else f"{number:,}"


def partition_ranges(partitions: Iterable[Row]) -> str:
    """Write partitions briefly, in their order.

    >>> partition_ranges([Row(topic="a", partition=0), Row(topic="a", partition=1), Row(topic="b", partition=4)])
    'a:0-1 b:4'
    """
    shown = []
    for topic, run in groupby(partitions, key=lambda row: row["topic"]):
        ranges: list[list[int]] = []
        for row in run:
            if ranges and row["partition"] == ranges[-1][1] + 1:
                ranges[-1][1] += 1
            else:
                ranges.append([row["partition"], row["partition"]])
        shown.append(f"{topic}:" + ",".join(str(a) if a == b else f"{a}-{b}" for a, b in ranges))
    return " ".join(shown)


def summarise_elections(elections: DataFrame) -> list[str]:
    """Groups, protocols elected, ties; and every group of a small fleet."""
    by_protocol = elections.groupBy("protocol").agg(
        F.count("*").alias("groups"), F.sum(F.col("tie").cast("int")).alias("ties")
    )
    rows = by_protocol.orderBy(F.desc("groups"), "protocol").collect()
    groups, ties = sum(row["groups"] for row in rows), sum(row["ties"] or 0 for row in rows)
    lines = [f"{groups:,} groups elected; {ties:,} by a tie that hash order decided"]
    if 0 < groups <= SHOWN_GROUPS:
        shown = elections.orderBy("cluster", "group_id").collect()
        cells = [
            (
                row["group_id"],
                row["members"],
                row["protocol"] or "-",
                ", ".join(f"{name} {votes}" for name, votes in row["votes"].items()),
                "tie" if row["tie"] else "",
                _leader(row),
            )
            for row in shown
        ]
        return [*lines, *columns(("group", "members", "protocol", "votes", "", "leader"), cells)]
    return [
        *lines,
        *columns(
            ("protocol", "groups", "ties"),
            [(r["protocol"] or "-", f"{r['groups']:,}", f"{r['ties'] or 0:,}") for r in rows[:12]],
        ),
    ]


def _leader(election: Row) -> str:
    """Say who computes a group's assignment."""
    if election["error"] is not None:
        return "-"
    return election["leader_id"] if election["type"] == CLASSIC else "(the coordinator)"


def summarise_assignments(assignments: DataFrame) -> list[str]:
    """Every member of a small fleet, with its partitions."""
    keys = ("group_id", "strategy", "member_id")
    return _partition_columns(assignments.orderBy("cluster", *keys), (*keys, "partitions"))


def summarise_rebalances(cooperative_rebalances: DataFrame) -> list[str]:
    """What the members of a small fleet give up for others and take, where they join again."""
    group = ("cluster", "group_id", "strategy")
    again = cooperative_rebalances.where("rebalance > 1").select(*group).distinct()
    keys = ("group_id", "strategy", "rebalance", "member_id")
    rows = cooperative_rebalances.join(again, [*group], "left_semi").orderBy("cluster", *keys)
    return _partition_columns(rows, (*keys, "partitions", "revoked", "added"))


def _partition_columns(rows: DataFrame, names: Sequence[str]) -> list[str]:
    """Lay out the rows of a small fleet; nothing of a large one."""
    shown = rows.limit(SHOWN_MEMBERS + 1).collect()
    if not 0 < len(shown) <= SHOWN_MEMBERS:
        return []
    cells = [
        [partition_ranges(row[name]) or "-" if isinstance(row[name], list) else row[name] for name in names]
        for row in shown
    ]
    return ["", *columns([name.removesuffix("_id") for name in names], cells)]


def summarise_balance(balance: DataFrame) -> list[str]:
    """Imbalance and idle members by strategy, the worst group, and what could not be assigned."""
    spread = F.col("max") - F.col("min")
    by_strategy = (
        balance.where("error IS NULL")
        .groupBy("strategy")
        .agg(
            F.count("*").alias("groups"),
            F.max_by(F.struct("group_id", "min", "max"), F.struct(spread, F.col("cluster"), F.col("group_id"))).alias(
                "worst"
            ),
            F.avg(spread).alias("spread"),
            F.sum("idle_members").alias("idle"),
            F.sum("moved").alias("moved"),
            F.sum("kept").alias("kept"),
            F.sum("revoked").alias("revoked"),
            F.count_if(F.col("rebalances") > 1).alias("again"),
            F.sum("unassigned").alias("unassigned"),
        )
        .orderBy("strategy")
        .collect()
    )
    cells = [
        (
            row["strategy"],
            f"{row['groups']:,}",
            f"{row['worst']['min']} to {row['worst']['max']} in {one_line(row['worst']['group_id'], 40)}",
            f"{row['spread']:.2f}",
            *(f"{row[name]:,}" for name in ("idle", "moved", "kept", "revoked", "again", "unassigned")),
        )
        for row in by_strategy
    ]
    header = (
        "strategy",
        "groups",
        "worst imbalance (partitions a member)",
        "mean max-min",
        "idle",
        "moved",
        "kept",
        "revoked",
        "in 2 and more rebalances",
        "unassigned",
    )
    errors = (
        balance.where("error IS NOT NULL").groupBy("error").count().orderBy(F.desc("count"), "error").limit(5).collect()
    )
    odd = balance.where("assigned_twice + not_subscribed + nonexistent > 0").groupBy("strategy").count()
    return [
        "",
        *columns(header, cells),
        *(
            f"  {row['count']:,} groups in which {row['strategy']} gives partitions twice, unwanted or nonexistent"
            for row in odd.orderBy("strategy").collect()
        ),
        *(f"  {row['count']:,} groups without assignment: {one_line(row['error'], 90)}" for row in errors),
    ]


def summarise_run(run: Run) -> list[str]:
    """Rejects, what was assumed, and where the output is."""
    lines = [""]
    rejected = run.counts["out"].get(REJECTS.name, 0)
    rows = ", ".join(
        f"{run.counts['used'][name]:,} of {given:,} {name}" for name, given in run.counts.get("in", {}).items()
    )
    lines.append(f"rows used: {rows or 'none given'}; rejected: {rejected:,}")
    if rejected:
        lines += rejects_summary(run.spark.read.format(run.output_format).load(f"{run.out}/{REJECTS.name}"))
    lines += [f"assumed: {assumption}" for assumption in run.assumptions]
    return [*lines, f"output: {run.out}"]
