"""What ``connect`` prints at the end of a run: the most expensive cluster first, and details of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import cast

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from rebalance_sim.commands.console import Cells, Line, Table, shown_seconds
from rebalance_sim.commands.named_groups import of_group
from rebalance_sim.wording import plural

SHOWN = 10
"""Rows of each table that are printed."""
_SHOWN_NAMES = 6
"""Partitions or groups of a task that are printed."""


def shown_clusters(costs: DataFrame) -> list[Row]:
    """Return the most expensive clusters of those that can be simulated."""
    simulated = costs.where("error IS NULL")
    return simulated.orderBy(F.desc("downtime_ms"), "cluster", "group_id").limit(SHOWN).collect()


def summarise_costs(costs: DataFrame, rebalances: DataFrame, shown: Sequence[Row]) -> list[Line]:
    """Return the costs of all clusters, and the rebalances of the first that is shown."""
    total = costs.agg(
        F.count("*").alias("clusters"),
        F.sum("rebalances").alias("rebalances"),
        F.sum("downtime_ms").alias("downtime_ms"),
        F.count_if(~F.col("stable")).alias("unstable"),
        F.count("error").alias("failed"),
    ).first()
    assert total is not None
    lines: list[Line] = [
        f"{plural(total['clusters'], 'Connect cluster')}, {plural(total['rebalances'] or 0, 'rebalance')}, "
        f"{shown_seconds(total['downtime_ms'] or 0)} of downtime over all connectors and tasks"
    ]
    if total["unstable"]:
        lines.append(
            f"  warning: {plural(total['unstable'], 'cluster')} with connectors or tasks that run nowhere at the end"
        )
    if total["failed"]:
        lines.append(f"  {plural(total['failed'], 'cluster')} cannot be simulated (see column error of connect_costs)")
    header = (
        *("group", "workers", "tasks", "rebalances", "started", "moved", "most tasks of a worker"),
        *("longest downtime", "unassigned", "stable at"),
    )
    cells: Cells = {
        "group": "group_id",
        "most tasks of a worker": _most_tasks,
        "longest downtime": lambda row: shown_seconds(row["longest_downtime_ms"]),
        "stable at": lambda row: shown_seconds(row["stable_ms"]),
    }
    lines += [Table.of_rows(header, shown, cells)] if shown else []
    return [*lines, *(_rebalances_of(rebalances, shown[0]) if shown else [])]


def _most_tasks(costs: Row) -> str:
    before, after = costs["max_tasks_before"], costs["max_tasks"] or 0
    return f"{after}" if before == after else f"{before} -> {after}"


def _rebalances_of(rebalances: DataFrame, shown: Row) -> list[Line]:
    rows = of_group(rebalances, shown).orderBy("rebalance").limit(SHOWN).collect()
    if not rows:
        return []
    header = ("at", "reason", "leader", "workers", "started", "stopped", "unassigned", "next rebalance in")
    cells: Cells = {
        "at": lambda row: shown_seconds(row["at_ms"]),
        "next rebalance in": lambda row: shown_seconds(row["delay_ms"]) if row["delay_ms"] else None,
    }
    return [f"rebalances of {shown['group_id']}", Table.of_rows(header, rows, cells)]


def summarise_assignments(assignments: DataFrame, shown: Sequence[Row]) -> list[Line]:
    """Return which connectors and tasks each worker runs at the end, for the first cluster that is shown."""
    if not shown:
        return []
    rows = (
        of_group(assignments, shown[0])
        .groupBy("worker")
        .agg(
            F.array_sort(F.collect_list(F.when(F.col("task").isNull(), F.col("connector")))).alias("connectors"),
            F.array_sort(
                F.collect_list(F.when(F.col("task").isNotNull(), F.concat_ws("-", "connector", "task")))
            ).alias("tasks"),
        )
        .orderBy(F.asc_nulls_last("worker"))
        .limit(SHOWN)
        .collect()
    )
    if not rows:
        return []
    body = [(row["worker"] or "(none)", ", ".join(row["connectors"]), ", ".join(row["tasks"])) for row in rows]
    return [f"at the end in {shown[0]['group_id']}", Table(("worker", "connectors", "tasks"), body)]


def summarise_mirror_tasks(tasks: DataFrame, assignments: DataFrame, shown: Sequence[Row]) -> list[Line]:
    """Return how connectors of MirrorMaker 2 divide what they replicate, for the first shown cluster that has some."""
    first = next((row for row in shown if not of_group(tasks, row).isEmpty()), None)
    if first is None:
        return ["no connector of MirrorMaker 2 has a configuration that is known"]
    running = of_group(assignments, first).groupBy("connector").agg(F.count("task").alias("tasks")).collect()
    named = F.struct("topic", "partition", "consumer_group")
    by_task = (
        of_group(tasks, first)
        .groupBy("connector", "tasks_max", "task", "worker", "error")
        .agg(
            F.count("certain").alias("items"),
            F.count("topic").alias("partitions"),
            F.count_if(~F.col("certain")).alias("uncertain"),
            F.slice(F.array_sort(F.collect_list(named)), 1, _SHOWN_NAMES).alias("names"),
        )
        .orderBy("connector", "task")
        .collect()
    )
    shares = [_MirrorShares(list(rows)) for _, rows in groupby(by_task, itemgetter("connector"))]
    predicted = [each for each in shares if each.error is None]
    body = [each.cells() for each in predicted]
    header = ("connector", "tasks.max", "tasks", "divides", "per task")
    lines: list[Line] = [f"MirrorMaker 2 in {first['group_id']}", *([Table(header, body)] if body else [])]
    tasks_of = {row["connector"]: row["tasks"] for row in running}
    lines += [line for each in shares for line in each.remarks(tasks_of[each.name])]
    listed = [
        (row["worker"] or "(none)", f"{each.name}-{row['task']}", _names(row))
        for each in predicted
        for row in each.rows
    ]
    return [*lines, *([Table(("worker", "task", "replicates"), listed[:SHOWN])] if listed else [])]


@dataclass(frozen=True)
class _MirrorShares:
    """The tasks of a connector, or the only row of one whose tasks are not predicted."""

    rows: Sequence[Row]

    @property
    def name(self) -> str:
        return str(self.rows[0]["connector"])

    @property
    def error(self) -> str | None:
        return cast(str | None, self.rows[0]["error"])

    @property
    def _items(self) -> int:
        return sum(row["items"] for row in self.rows)

    @property
    def _divided(self) -> str:
        return plural(self._items, "partition" if self.rows[0]["partitions"] else "consumer group")

    def cells(self) -> tuple[str | int, ...]:
        """Return the connector's row of the table."""
        least, most = (of(row["items"] for row in self.rows) for of in (min, max))
        per_task = str(most) if least == most else f"{least} to {most}"
        return self.name, self.rows[0]["tasks_max"], len(self.rows), self._divided, per_task

    def remarks(self, running: int) -> list[str]:
        """Return what is unusual about the connector, which has so many tasks at the end."""
        if self.error is not None:
            return [f"  the tasks of {self.name} are not predicted: {self.error}"]
        remarks, count, most = [], len(self.rows), self.rows[0]["tasks_max"]
        if count < most:
            remarks.append(f"  {self.name}: tasks.max is {most}, but {self._divided} make only {plural(count, 'task')}")
        if count != running:
            remarks.append(
                f"  warning: {self.name} has {plural(running, 'task')}, but {count} with its configuration and what is "
                "given: it knows other topics or groups, or will see these at its next refresh"
            )
        uncertain = sum(row["uncertain"] for row in self.rows)
        if uncertain:
            remarks.append(
                f"  {self.name}: {uncertain} of {self._divided} may be in another task (see column certain of "
                "mirror_tasks)"
            )
        return remarks


def _names(row: Row) -> str:
    names = [each["consumer_group"] or f"{each['topic']}-{each['partition']}" for each in row["names"]]
    more = row["items"] - len(names)
    return ", ".join(names) + (f" and {more} more" if more else "")


def summarise_delays(advice: DataFrame) -> list[Line]:
    """Return what other values of scheduled.rebalance.max.delay.ms cost over all clusters, and where one is better."""
    rows = (
        advice.groupBy("max_delay_ms")
        .agg(
            F.sum("downtime_ms").alias("downtime_ms"),
            F.max("longest_downtime_ms").alias("longest_downtime_ms"),
            F.sum("started").alias("started"),
            F.sum("unassigned").alias("unassigned"),
            F.count_if("best").alias("best"),
        )
        .orderBy("max_delay_ms")
        .collect()
    )
    better = (
        advice.where("best and not current")
        .agg(
            F.count("*").alias("n"),
            F.sum("saved_downtime_ms").alias("ms"),
            F.min("best_up_to_start_ms").alias("start_ms"),
        )
        .first()
    )
    assert better is not None
    header = ("scheduled.rebalance.max.delay.ms", "downtime", "longest", "starts", "unassigned", "best for")
    cells: Cells = {
        "scheduled.rebalance.max.delay.ms": "max_delay_ms",
        "downtime": lambda row: shown_seconds(row["downtime_ms"]),
        "longest": lambda row: shown_seconds(row["longest_downtime_ms"]),
        "starts": "started",
        "best for": "best",
    }
    saved = (
        f"the best delay of each cluster saves {shown_seconds(better['ms'] or 0)} in {plural(better['n'], 'cluster')}"
    )
    if better["start_ms"] is not None:
        saved += f", if a connector or task starts within {shown_seconds(better['start_ms'])}"
    return [Table.of_rows(header, rows, cells), saved if better["n"] else "no other delay is better"]
