"""The summary that a job prints when it ends."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import itemgetter

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from rebalance_sim.commands.console import Cells, Line, Table, one_line
from rebalance_sim.commands.rejects import rejects_summary
from rebalance_sim.engine.runs.assumed import grouped_lines
from rebalance_sim.engine.runs.run import Run
from rebalance_sim.engine.tables.percentiles import p99
from rebalance_sim.kafka.group_kinds import SHARE_TYPE
from rebalance_sim.tables import CLASSIC, CONSUMER, INPUTS, LISTED_GROUPS, REJECTS
from rebalance_sim.wording import plural

SHOWN_GROUPS = 25
"""A fleet of up to this many groups is printed group by group."""
SHOWN_MEMBERS = 120
_SUMMED = ("idle_members", "moved", "kept", "revoked", "unassigned")
"""Figures of ``balance`` that are added up."""


def counted_rows(number: int, table: str) -> str:
    """Return a number of rows with the name of their table.

    >>> counted_rows(1, "subtopologies"), counted_rows(2, "listed_groups"), counted_rows(1, "topics_after")
    ('1 subtopology', '2 listed groups', '1 row of topics_after')
    """
    if not table.endswith("s"):
        return f"{plural(number, 'row')} of {table}"
    several = table.replace("_", " ")
    return plural(number, f"{several[:-3]}y" if several.endswith("ies") else several[:-1], several)


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


def few_rows(rows: DataFrame, order: Sequence[str], most: int) -> list[Row]:
    """Return all rows, in order, of a table of up to ``most`` rows; none of a larger one, which is not sorted."""
    found = rows.limit(most + 1).collect()
    return sorted(found, key=itemgetter(*order)) if len(found) <= most else []


def summarise_elections(elections: DataFrame) -> list[Line]:
    """Return the number of elections and ties, and every group of a small fleet or the protocols of a large one."""
    shown = few_rows(elections, ("cluster", "group_id"), SHOWN_GROUPS)
    counted = [(row["type"], row["protocol"], 1, int(row["tie"])) for row in shown] or _by_protocol(elections)
    elected = [row for row in counted if row[0] == CLASSIC and row[1]]
    refused = sum(groups for _, protocol, groups, _ in counted if protocol is None)
    groups = sum(groups for *_, groups, _ in elected)
    others, shared = (sum(row[2] for row in counted if row[0] == of and row[1]) for of in (CONSUMER, SHARE_TYPE))
    lines: list[Line] = [
        f"elections: {plural(groups, 'group')}, {plural(sum(row[-1] for row in elected), 'tie')} decided by hash order"
    ]
    lines += [f"assignor of the coordinator (KIP-848): {plural(others, 'group')}"] if others else []
    lines += [f"assignor of share groups (KIP-932): {plural(shared, 'group')}"] if shared else []
    lines += [f"all members refused: {plural(refused, 'group')}"] if refused else []
    if not shown:
        return [*lines, Table(("protocol", "groups", "ties"), [(row[1] or "-", *row[2:]) for row in counted[:12]])]
    header = ("group", "members", "protocol", "votes", "", "leader")
    cells: Cells = {
        "group": "group_id",
        "protocol": lambda row: row["protocol"] or "-",
        "votes": lambda row: ", ".join(f"{name} {votes}" for name, votes in row["votes"].items()),
        "": lambda row: "tie" if row["tie"] else "",
        "leader": _leader,
    }
    return [*lines, Table.of_rows(header, shown, cells)]


def _by_protocol(elections: DataFrame) -> list[tuple[str, str | None, int, int]]:
    """Return type, protocol, groups and ties, the most groups first."""
    counted = elections.groupBy("type", "protocol").agg(F.count("*").alias("groups"), F.count_if("tie").alias("ties"))
    return [tuple(row) for row in counted.orderBy(F.desc("groups"), "protocol").collect()]


def _leader(election: Row) -> str:
    """Return the member, or the coordinator, that computes a group's assignment."""
    if election["error"] is not None:
        return "-"
    return election["leader_id"] if election["type"] == CLASSIC else "(coordinator)"


def summarise_assignments(assignments: DataFrame) -> list[Line]:
    """Return every member of a small fleet with its partitions."""
    return _partition_columns(assignments, ("group_id", "strategy", "member_id"), ("partitions",))


def summarise_rebalances(cooperative_rebalances: DataFrame) -> list[Line]:
    """Return what the members of a small fleet revoke and add, for groups with more than one cooperative rebalance."""
    group = ("cluster", "group_id", "strategy")
    again = cooperative_rebalances.where("rebalance > 1").select(*group)
    if again.isEmpty():
        return []
    rows = cooperative_rebalances.join(again.distinct(), [*group], "left_semi")
    keys = ("group_id", "strategy", "rebalance", "member_id")
    return _partition_columns(rows, keys, ("partitions", "revoked", "added"))


def _partition_columns(rows: DataFrame, keys: Sequence[str], lists: Sequence[str]) -> list[Line]:
    """Return the rows of a small fleet; nothing for a large one."""
    shown = few_rows(rows, ("cluster", *keys), SHOWN_MEMBERS)
    if not shown:
        return []
    cells = [[*(row[name] for name in keys), *(partition_ranges(row[name]) or "-" for name in lists)] for row in shown]
    header = [name.removesuffix("_id") for name in (*keys, *lists)]
    return ["", Table.of_clusters(header, cells, [row["cluster"] for row in shown])]


def summarise_balance(balance: DataFrame) -> list[Line]:
    """Return the balance by strategy, the most imbalanced group, idle members, and groups without an assignment."""
    counted = _by_strategy(balance)
    assigned = [row for row in counted if row["groups"]]
    spread = ("mean max-min", "p99 max-min", "largest max-min")
    header = ("strategy", "groups", *spread, "idle", "moved", "kept", "revoked", "unassigned", "several rebalances")
    cells = [
        [row[name] for name in ("strategy", "groups", "mean", "p99", "most", *_SUMMED, "again")] for row in assigned
    ]
    return [
        "",
        Table(header, cells),
        *_worst_groups(assigned),
        *(
            f"  {row['strategy']} assigns partitions twice, without a subscription, or that do not exist: "
            f"{plural(row['faulty'], 'group')}"
            for row in counted
            if row["faulty"]
        ),
        *(_errors(balance) if any(row["failed"] for row in counted) else ()),
    ]


def _by_strategy(balance: DataFrame) -> list[Row]:
    """Return the figures of each strategy, and its worst groups."""
    # Figures of a group with an error are null, and do not count.
    spread, has_answer = F.col("max") - F.col("min"), F.col("error").isNull()
    names = ("cluster", "group_id", "strategy")
    worst = [
        F.struct(F.when(has_answer, by).alias("by"), *names, "members", "partitions", "min", "max", "idle_members")
        for by in (spread, F.col("idle_members"))
    ]
    cluster = F.when(has_answer, F.col("cluster"))
    figures = [
        F.count_if(has_answer).alias("groups"),
        F.avg(spread).alias("mean"),
        p99("max - min").cast("int").alias("p99"),
        F.max(spread).alias("most"),
        *[F.sum(name).alias(name) for name in _SUMMED],
        F.count_if(F.col("rebalances") > 1).alias("again"),
        F.count_if(F.expr("assigned_twice + not_subscribed + nonexistent > 0")).alias("faulty"),
        F.count("error").alias("failed"),
        F.max(worst[0]).alias("imbalanced"),
        F.max(worst[1]).alias("idle"),
        F.array(F.min(cluster), F.max(cluster)).alias("clusters"),
    ]
    return balance.groupBy("strategy").agg(*figures).orderBy("strategy").collect()


def _errors(balance: DataFrame) -> list[str]:
    errors = balance.where("error IS NOT NULL").groupBy("error").count().orderBy(F.desc("count"), "error").limit(5)
    return [
        f"  no assignment for {plural(row['count'], 'group')}: {one_line(row['error'])}" for row in errors.collect()
    ]


def _worst_groups(assigned: Sequence[Row]) -> list[str]:
    """Return the most imbalanced group and the one with the most idle members."""
    if not assigned:
        return []
    imbalanced, idle = (max(row[name] for row in assigned) for name in ("imbalanced", "idle"))
    several = len({cluster for row in assigned for cluster in row["clusters"]}) > 1
    lines = [
        f"  most imbalanced group: {named_group(imbalanced, several)}, {imbalanced['min']:,} to "
        f"{plural(imbalanced['max'], 'partition')} per member ({imbalanced['strategy']})"
    ]
    if idle["idle_members"]:
        lines.append(
            f"  {plural(idle['idle_members'], 'idle member')} in group {named_group(idle, several)} "
            f"({idle['strategy']}, {plural(idle['members'], 'member')}, {plural(idle['partitions'], 'partition')})"
        )
    return lines


def named_group(group: Row, several: bool) -> str:
    """Return a group's id, with its cluster if there are several."""
    return one_line(group["group_id"]) + (f" of cluster {one_line(group['cluster'])}" if several else "")


def summarise_run(run: Run) -> list[Line]:
    """Return what was read and rejected, the assumptions, and the output folder."""
    return ["", *summarise_read(run), *grouped_lines(run.assumptions), f"output: {run.out}"]


def summarise_read(run: Run, earlier: int = 0) -> list[Line]:
    """Return what was read and rejected; ``earlier`` rows were rejected by the run that wrote the input."""
    rejected = run.counts["out"].get(REJECTS.name, 0)
    # Most clusters list no group that another table does not have.
    tables = {name: rows for name, rows in run.counts.get("in", {}).items() if rows or name != LISTED_GROUPS.name}
    read = ", ".join(counted_rows(rows, name) for name, rows in tables.items())
    line = (f"read {read}; " if read else "") + f"{plural(rejected, 'more row' if earlier else 'row')} rejected"
    if not rejected:
        return [line]
    written = run.spark.read.schema(REJECTS.schema).format(run.output_format).load(f"{run.out}/{REJECTS.name}")
    return [line, *rejects_summary(written)]


def summarise_written(run: Run) -> str:
    """Return how many rows of the input tables were written."""
    written = {name: rows for name, rows in run.counts["out"].items() if name in INPUTS}
    return "wrote " + ", ".join(counted_rows(rows, name) for name, rows in written.items())
