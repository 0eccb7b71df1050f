"""The summary that a job prints when it ends."""

import logging
import os
import sys
from collections.abc import Iterable, Sequence
from itertools import groupby

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from rebalance_sim.commands.console import Line, Table, console_of_stdout, one_line, text_of
from rebalance_sim.commands.rejects import rejects_summary
from rebalance_sim.engine.runs.run import Run
from rebalance_sim.logs import LOGGER
from rebalance_sim.tables import CLASSIC, REJECTS
from rebalance_sim.wording import plural

SHOWN_GROUPS = 25
"""A fleet of up to this many groups is printed group by group."""
SHOWN_MEMBERS = 120


def print_summary(lines: Iterable[Line]) -> None:
    """Print to standard output, below all progress. A reader that stops early, such as ``head``, is no error."""
    for handler in logging.getLogger(LOGGER).handlers:
        handler.flush()
    try:
        print(text_of(lines, console_of_stdout()), flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def counted_rows(number: int, table: str) -> str:
    """Return a number of rows with the name of their table.

    >>> counted_rows(1, "topics"), counted_rows(2, "topics"), counted_rows(1, "topics_after")
    ('1 topic', '2 topics', '1 row of topics_after')
    """
    return plural(number, table[:-1]) if table.endswith("s") else f"{plural(number, 'row')} of {table}"


def partition_ranges(partitions: Iterable[Row]) -> str:
    """Abbreviate a list of partitions, in its order.

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


def summarise_elections(elections: DataFrame) -> list[Line]:
    """Return the number of elections and ties, and every group of a small fleet or the protocols of a large one."""
    rows = (
        elections.groupBy("type", "protocol")
        .agg(F.count("*").alias("groups"), F.count_if("tie").alias("ties"))
        .orderBy(F.desc("groups"), "protocol")
        .collect()
    )
    elected = [row for row in rows if row["type"] == CLASSIC and row["protocol"]]
    refused = sum(row["groups"] for row in rows if row["protocol"] is None)
    others = sum(row["groups"] for row in rows) - sum(row["groups"] for row in elected) - refused
    lines: list[Line] = [
        f"elections: {plural(sum(row['groups'] for row in elected), 'group')}, "
        f"{plural(sum(row['ties'] for row in elected), 'tie')} decided by hash order"
    ]
    lines += [f"assignor of the coordinator (KIP-848): {plural(others, 'group')}"] if others else []
    lines += [f"all members refused: {plural(refused, 'group')}"] if refused else []
    if not 0 < others + refused + sum(row["groups"] for row in elected) <= SHOWN_GROUPS:
        cells = [(row["protocol"] or "-", row["groups"], row["ties"]) for row in rows[:12]]
        return [*lines, Table(("protocol", "groups", "ties"), cells)]
    shown = elections.orderBy("cluster", "group_id").collect()
    groups = [
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
    header = ("group", "members", "protocol", "votes", "", "leader")
    return [*lines, Table.of_clusters(header, groups, [row["cluster"] for row in shown])]


def _leader(election: Row) -> str:
    """Return the member, or the coordinator, that computes a group's assignment."""
    if election["error"] is not None:
        return "-"
    return election["leader_id"] if election["type"] == CLASSIC else "(coordinator)"


def summarise_assignments(assignments: DataFrame) -> list[Line]:
    """Return every member of a small fleet with its partitions."""
    keys = ("group_id", "strategy", "member_id")
    return _partition_columns(assignments.orderBy("cluster", *keys), (*keys, "partitions"))


def summarise_rebalances(cooperative_rebalances: DataFrame) -> list[Line]:
    """Return what the members of a small fleet revoke and add, for groups with more than one cooperative rebalance."""
    group = ("cluster", "group_id", "strategy")
    again = cooperative_rebalances.where("rebalance > 1").select(*group).distinct()
    keys = ("group_id", "strategy", "rebalance", "member_id")
    rows = cooperative_rebalances.join(again, [*group], "left_semi").orderBy("cluster", *keys)
    return _partition_columns(rows, (*keys, "partitions", "revoked", "added"))


def _partition_columns(rows: DataFrame, names: Sequence[str]) -> list[Line]:
    """Return the rows of a small fleet; nothing for a large one."""
    shown = rows.limit(SHOWN_MEMBERS + 1).collect()
    if not 0 < len(shown) <= SHOWN_MEMBERS:
        return []
    cells = [
        [partition_ranges(row[name]) or "-" if isinstance(row[name], list) else row[name] for name in names]
        for row in shown
    ]
    header = [name.removesuffix("_id") for name in names]
    return ["", Table.of_clusters(header, cells, [row["cluster"] for row in shown])]


def summarise_balance(balance: DataFrame) -> list[Line]:
    """Return the balance by strategy, the most imbalanced group, idle members, and groups without an assignment."""
    spread = F.col("max") - F.col("min")
    assigned = balance.where("error IS NULL").withColumn("spread", spread)
    summed = ("idle_members", "moved", "kept", "revoked", "unassigned")
    by_strategy = (
        assigned.groupBy("strategy")
        .agg(
            F.count("*").alias("groups"),
            F.avg("spread").alias("mean"),
            F.max("spread").alias("most"),
            *[F.sum(name).alias(name) for name in summed],
            F.count_if(F.col("rebalances") > 1).alias("again"),
        )
        .orderBy("strategy")
        .collect()
    )
    header = ("strategy", "groups", "mean max-min", "largest max-min", "idle", "moved", "kept", "revoked", "unassigned")
    cells = [[row[name] for name in ("strategy", "groups", "mean", "most", *summed, "again")] for row in by_strategy]
    errors = balance.where("error IS NOT NULL").groupBy("error").count().orderBy(F.desc("count"), "error").limit(5)
    faulty = balance.where("assigned_twice + not_subscribed + nonexistent > 0").groupBy("strategy").count()
    return [
        "",
        Table((*header, "several rebalances"), cells),
        *_worst_groups(assigned),
        *(
            f"  {row['strategy']} assigns partitions twice, without a subscription, or that do not exist: "
            f"{plural(row['count'], 'group')}"
            for row in faulty.orderBy("strategy").collect()
        ),
        *(f"  no assignment for {plural(row['count'], 'group')}: {one_line(row['error'])}" for row in errors.collect()),
    ]


def _worst_groups(assigned: DataFrame) -> list[str]:
    """Return the most imbalanced group and the one with the most idle members."""
    facts = F.struct("cluster", "group_id", "strategy", "members", "partitions", "min", "max", "idle_members")
    worst = [F.max_by(facts, F.struct(by, "cluster", "group_id", "strategy")) for by in ("spread", "idle_members")]
    found = assigned.agg(*worst, F.min("cluster") < F.max("cluster")).first()
    if found is None or found[0] is None:
        return []
    imbalanced, idle, several = found
    lines = [
        f"  most imbalanced group: {_named(imbalanced, several)}, {imbalanced['min']:,} to "
        f"{plural(imbalanced['max'], 'partition')} per member ({imbalanced['strategy']})"
    ]
    if idle["idle_members"]:
        lines.append(
            f"  {plural(idle['idle_members'], 'idle member')} in group {_named(idle, several)} "
            f"({idle['strategy']}, {plural(idle['members'], 'member')}, {plural(idle['partitions'], 'partition')})"
        )
    return lines


def _named(group: Row, several: bool) -> str:
    """Return a group's id, with its cluster if there are several."""
    return one_line(group["group_id"]) + (f" of cluster {one_line(group['cluster'])}" if several else "")


def summarise_run(run: Run) -> list[Line]:
    """Return what was read and rejected, the assumptions, and the output folder."""
    rejected = run.counts["out"].get(REJECTS.name, 0)
    read = ", ".join(counted_rows(rows, name) for name, rows in run.counts.get("in", {}).items())
    lines: list[Line] = ["", (f"read {read}; " if read else "") + f"{plural(rejected, 'row')} rejected"]
    if rejected:
        written = run.spark.read.schema(REJECTS.schema).format(run.output_format).load(f"{run.out}/{REJECTS.name}")
        lines += rejects_summary(written)
    lines += [f"assumption: {assumption}" for assumption in run.assumptions]
    return [*lines, f"output: {run.out}"]


def summarise_written(run: Run, tables: Iterable[str]) -> str:
    """Return how many rows of the input tables were written."""
    return "wrote " + ", ".join(counted_rows(run.counts["out"][name], name) for name in tables)
