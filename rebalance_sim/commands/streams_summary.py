"""What ``streams`` prints at the end of a run."""

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from rebalance_sim.commands.console import Line, Table
from rebalance_sim.wording import plural

SHOWN = 10
"""Rows of each table that are printed."""


def summarise_groups(balance: DataFrame) -> list[Line]:
    """Return the figures of all groups, those that restore most state first."""
    total = balance.agg(
        F.count_if(F.expr("protocol = 'streams'")).alias("groups"),
        F.count_if(F.expr("protocol = 'classic'")).alias("classic"),
        F.count_if(F.col("probing")).alias("probing"),
        F.sum("tasks").alias("tasks"),
        F.sum("restored").alias("restored"),
        F.count("error").alias("failed"),
    ).first()
    assert total is not None
    lines: list[Line] = [
        f"{_kinds(total)}, {plural(total['tasks'] or 0, 'task')}; the state of "
        f"{plural(total['restored'] or 0, 'active task')} is restored from changelog topics"
    ]
    rows = balance.orderBy("error", F.desc("restored"), F.desc("moved"), "cluster", "group_id").limit(SHOWN).collect()
    header = ("group", "members", "processes", "tasks", "standbys", "moved", "restored", "standbys started", "active")
    shown = [row for row in rows if row["error"] is None]
    body = [
        (
            *(row["group_id"], row["members"], row["processes"], row["tasks"], row["standby_replicas"], row["moved"]),
            *(row["restored"], row["standbys_started"], f"{row['min_active']} to {row['max_active']}"),
        )
        for row in shown
    ]
    lines += [Table.of_clusters(header, body, [row["cluster"] for row in shown])] if body else []
    if total["probing"]:
        lines.append(
            f"  a probing rebalance follows in {plural(total['probing'], 'application')}, after "
            "probing.rebalance.interval.ms: tasks move when their standby tasks have caught up"
        )
    failed = balance.where("error IS NOT NULL").orderBy("cluster", "group_id").first()
    if failed is not None:
        lines.append(
            f"  {plural(total['failed'], 'group has', 'groups have')} no assignment, first {failed['group_id']}: "
            f"{failed['error']}"
        )
    return lines


def _kinds(total: Row) -> str:
    """Return the numbers of streams groups and of classic applications; of the latter only if there are any."""
    groups = [plural(total["groups"], "streams group")] if total["groups"] or not total["classic"] else []
    classic = [plural(total["classic"], "classic application")] if total["classic"] else []
    return ", ".join([*groups, *classic])


def summarise_tasks(tasks: DataFrame) -> list[Line]:
    """Return the tasks of each member of the first group."""
    first = tasks.select("cluster", "group_id").orderBy("cluster", "group_id").first()
    if first is None:
        return []
    named = F.concat_ws("_", "subtopology", "partition")
    rows = (
        tasks.where((F.col("cluster") == first["cluster"]) & (F.col("group_id") == first["group_id"]))
        .groupBy("process_id", "member_id")
        .agg(*(F.array_sort(F.collect_list(F.when(F.col("role") == role, named))).alias(role) for role in _ROLES))
        .orderBy("process_id", "member_id")
        .limit(SHOWN)
        .collect()
    )
    body = [(row["process_id"], row["member_id"], *(", ".join(row[role]) for role in _ROLES)) for row in rows]
    return [f"tasks of {first['group_id']}", Table(("process", "member", "active tasks", "standby tasks"), body)]


_ROLES = ("active", "standby")
