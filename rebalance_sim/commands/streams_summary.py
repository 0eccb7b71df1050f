"""What ``streams`` prints at the end of a run: all tables have the groups in one order."""

from collections.abc import Sequence

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from rebalance_sim.commands.console import Cells, Line, Table
from rebalance_sim.commands.named_groups import of_group
from rebalance_sim.engine.spark.driver_rows import where_in
from rebalance_sim.engine.streams.application import STREAMS
from rebalance_sim.wording import duration, plural

SHOWN = 10
"""Rows of each table that are printed."""


def shown_groups(balance: DataFrame) -> list[Row]:
    """Return the first groups with an assignment: those that are stable or restored last, then those that restore most.

    The times are null without a restore rate.
    """
    order = F.col("restored_ms").isNull(), F.desc_nulls_first("stable_ms"), F.desc("restored_ms")
    assigned = balance.where("error IS NULL").orderBy(*order, F.desc("restored"), F.desc("moved"), *_KEYS)
    return assigned.limit(SHOWN).collect()


def summarise_groups(balance: DataFrame, shown: Sequence[Row]) -> list[Line]:
    """Return the figures of all groups."""
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
    header = ("group", "members", "processes", "tasks", "standbys", "moved", "restored", "standbys started", "active")
    cells: Cells = {
        "group": "group_id",
        "standbys": "standby_replicas",
        "active": lambda row: f"{row['min_active']} to {row['max_active']}",
    }
    lines += [Table.of_rows(header, shown, cells)] if shown else []
    if total["probing"]:
        lines.append(
            f"  a probing rebalance follows in {plural(total['probing'], 'application')}, after "
            "probing.rebalance.interval.ms: tasks move when their standby tasks have caught up"
        )
    failed = balance.where("error IS NOT NULL").orderBy(*_KEYS).first()
    if failed is not None:
        lines.append(
            f"  {plural(total['failed'], 'group has', 'groups have')} no assignment, first {failed['group_id']}: "
            f"{failed['error']}"
        )
    return lines


def summarise_restoration(balance: DataFrame, shown: Sequence[Row], rate: int) -> list[Line]:
    """Return how long state is restored."""
    rows = [row for row in shown if row["restored_ms"] is not None]
    lines: list[Line] = []
    if rows:
        header = ("group", "active tasks restore", "until", "probing rebalances", "last task moves")
        cells: Cells = {
            "group": "group_id",
            "active tasks restore": lambda row: plural(row["records"], "record"),
            "until": lambda row: _after(row["restored_ms"]),
            "probing rebalances": _probing_rebalances,
            "last task moves": lambda row: _after(row["stable_ms"]),
        }
        restoring = f"restoring {plural(rate, 'record')} per second and thread, from the next rebalance on"
        lines = [restoring, Table.of_rows(header, rows, cells)]
    unknown = balance.where("error IS NULL AND restored_ms IS NULL").orderBy(*_KEYS)
    first = unknown.first()
    if first is not None:
        lines.append(
            f"  how long state is restored is unknown in {plural(unknown.count(), 'group')}, first "
            f"{first['group_id']}: give changelogs in the subtopologies table, and end_offsets of these "
            "topics in the topics table"
        )
    return lines


def _probing_rebalances(row: Row) -> str | int:
    """Return the number of probing rebalances, which streams groups do not have."""
    if row["protocol"] == STREAMS:
        return "none"
    return "unknown" if row["probing_rebalances"] is None else int(row["probing_rebalances"])


def _after(milliseconds: int | None) -> str:
    return "unknown" if milliseconds is None else "at once" if milliseconds == 0 else f"after {duration(milliseconds)}"


def summarise_moves(moves: DataFrame, shown: Sequence[Row]) -> list[Line]:
    """Return the tasks that move in the first group of which that is known."""
    known = where_in(moves.where("restored_ms IS NOT NULL"), "group_id", [row["group_id"] for row in shown])
    moving = {(row["cluster"], row["group_id"]) for row in known.select(*_KEYS).distinct().collect()}
    first = next((row for row in shown if (row["cluster"], row["group_id"]) in moving), None)
    if first is None:
        return []
    rows = of_group(known, first).orderBy("moved_ms", "subtopology", "partition").limit(SHOWN).collect()
    header = ("task", "from", "to", "restores", "from then on", "warm", "active there")
    cells: Cells = {
        "task": lambda row: f"{row['subtopology']}_{row['partition']}",
        "from": "from_process",
        "to": "process_id",
        "restores": lambda row: plural(row["records"], "record"),
        "from then on": lambda row: _after(row["begun_ms"]),
        "warm": lambda row: _after(row["restored_ms"]),
        "active there": lambda row: _after(row["moved_ms"]),
    }
    return [f"moves of {first['group_id']}", Table.of_rows(header, rows, cells)]


def _kinds(total: Row) -> str:
    """Return the numbers of streams groups and of classic applications; of the latter only if there are any."""
    groups = [plural(total["groups"], "streams group")] if total["groups"] or not total["classic"] else []
    classic = [plural(total["classic"], "classic application")] if total["classic"] else []
    return ", ".join([*groups, *classic])


def summarise_tasks(tasks: DataFrame, shown: Sequence[Row]) -> list[Line]:
    """Return the tasks of each member of the first group that has some."""
    first = next((row for row in shown if row["tasks"]), None)
    if first is None:
        return []
    named = F.concat_ws("_", "subtopology", "partition")
    rows = (
        of_group(tasks, first)
        .groupBy("process_id", "member_id")
        .agg(*(F.array_sort(F.collect_list(F.when(F.col("role") == role, named))).alias(role) for role in _ROLES))
        .orderBy("process_id", "member_id")
        .limit(SHOWN)
        .collect()
    )
    body = [(row["process_id"], row["member_id"], *(", ".join(row[role]) for role in _ROLES)) for row in rows]
    return [f"tasks of {first['group_id']}", Table(("process", "member", "active tasks", "standby tasks"), body)]


_ROLES = ("active", "standby")
_KEYS = ("cluster", "group_id")
