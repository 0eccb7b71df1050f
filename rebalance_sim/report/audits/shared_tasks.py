"""Groups whose members share tasks, not partitions: what each member has, and what the next restart does to it."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from pyspark.sql import Row

from rebalance_sim.report.audits.audited_run import AuditedRun, GroupKey
from rebalance_sim.report.page import CellType, Column, Table, columns, names
from rebalance_sim.tables import (
    CONNECT_ADVICE,
    CONNECT_COSTS,
    CONNECT_REBALANCES,
    STREAMS_BALANCE,
    STREAMS_TASKS,
    TASK_ASSIGNMENTS,
)
from rebalance_sim.wording import plural

SHOWN_MEMBERS = 50
SHOWN_TASKS = 12
"""Tasks that are named for each member."""
SHOWN_REBALANCES = 30
_NOBODY = "(none)"
_STARTS = ("starts", "started")
_REBALANCE = columns(
    ("at, s", "at_ms"),
    *names(("cause", "reason"), "leader"),
    *("workers", _STARTS, ("stops", "stopped"), ("on no worker", "unassigned"), ("next rebalance in, s", "delay_ms")),
)
_DELAY = columns(
    Column("scheduled.rebalance.max.delay.ms", CellType.COUNT, "max_delay_ms"),
    *(("time without a worker, s", "downtime_ms"), ("longest, s", "longest_downtime_ms"), _STARTS),
    *(("on no worker at the end", "unassigned"), Column("", field="mark")),
)


@dataclass(frozen=True)
class SharedTasks:
    """The tasks of a group's members."""

    title: str
    members: Table | None
    """What they have now; None if no table has it."""
    tag: str
    """Whether what follows is simulated or predicted."""
    next_title: str
    summary: str
    """What happens next, in a sentence."""
    next: tuple[Table, ...]
    """What is simulated or predicted."""


def shared_tasks(audited: AuditedRun, keys: Collection[GroupKey]) -> dict[GroupKey, SharedTasks]:
    """Return the tasks of the groups that share some."""
    return _of_connect(audited, keys) | _of_streams(audited, keys)


def _of_connect(audited: AuditedRun, keys: Collection[GroupKey]) -> dict[GroupKey, SharedTasks]:
    tables = (CONNECT_COSTS, TASK_ASSIGNMENTS, CONNECT_REBALANCES, CONNECT_ADVICE)
    costs, assignments, rebalances, advice = (audited.rows_by_group(table, keys) for table in tables)
    return {
        key: SharedTasks(
            "Workers, and what each runs",
            _workers(assignments[key], row["workers"]),
            "Simulated",
            "The next restart",
            _restart(row),
            (_rebalances(rebalances[key]), _delays(advice[key])),
        )
        for key, (row,) in costs.items()
        if row["error"] is None and row["connectors"]
    }


def _of_streams(audited: AuditedRun, keys: Collection[GroupKey]) -> dict[GroupKey, SharedTasks]:
    balances, tasks = (audited.rows_by_group(table, keys) for table in (STREAMS_BALANCE, STREAMS_TASKS))
    return {
        key: SharedTasks(
            "Processes and threads", None, "Predicted", "The next rebalance", _of_balance(row), (_threads(tasks[key]),)
        )
        for key, (row,) in balances.items()
        if row["error"] is None
    }


def _of_balance(row: Row) -> str:
    follows = " A probing rebalance follows: some standby tasks are warming up." if row["probing"] else ""
    return (
        f"{plural(row['tasks'], 'task')} of {plural(row['processes'], 'process', 'processes')} with "
        f"{plural(row['members'], 'thread')}: {plural(row['moved'], 'active task moves', 'active tasks move')}, "
        f"{plural(row['restored'], 'task restores its state', 'tasks restore their state')} from changelog topics, "
        f"{plural(row['standbys_started'], 'standby task starts', 'standby tasks start')}.{follows}"
    )


def _threads(tasks: Iterable[Row]) -> Table:
    """Return the tasks of each thread after the next rebalance; threads without tasks are in no table."""
    of_threads: defaultdict[tuple[str, str], defaultdict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for row in sorted(tasks, key=lambda row: (row["subtopology"], row["partition"])):
        name, of = f"{row['subtopology']}_{row['partition']}", of_threads[row["process_id"], row["member_id"]]
        of[row["role"]].append(name)
        if row["previous"] is None:
            of["new"].append(name)
    roles = (column for role in ("active", "standby") for column in (*columns(f"{role} tasks"), *names(role)))
    head = columns(*names("process", "thread"), *roles, "new to the process")
    rows = tuple(
        (process, thread, *_listed(of["active"]), *_listed(of["standby"]), len(of["new"]))
        for (process, thread), of in sorted(of_threads.items())[:SHOWN_MEMBERS]
    )
    left_out = len(of_threads) - SHOWN_MEMBERS
    note = f"{left_out:,} more threads." if left_out > 0 else ""
    return Table("Tasks by thread, after it", head, rows, note)


def _workers(assignments: Sequence[Row], workers: int) -> Table:
    now, after = (_by_worker(assignments, name) for name in ("previous_worker", "worker"))
    listed = sorted({*now, *after}, key=lambda name: (name == _NOBODY, name))
    rows = tuple((name, *_listed(now[name]), *_listed(after[name])) for name in listed[:SHOWN_MEMBERS])
    head = columns(*names("worker"), "connectors and tasks now", *names("now"), "after the restart", *names("then"))
    idle = workers - len(now.keys() - {_NOBODY})
    more = [f"{len(listed) - SHOWN_MEMBERS:,} more workers."] if len(listed) > SHOWN_MEMBERS else []
    more += [f"{plural(idle, 'worker runs', 'workers run')} nothing now."] if idle else []
    return Table("Connectors and tasks by worker", head, rows, " ".join(more))


def _by_worker(assignments: Iterable[Row], column: str) -> defaultdict[str, list[str]]:
    found: defaultdict[str, list[str]] = defaultdict(list)
    for row in assignments:
        name = row["connector"] if row["task"] is None else f"{row['connector']}-{row['task']}"
        found[row[column] or _NOBODY].append(name)
    return found


def _listed(tasks: Sequence[str]) -> tuple[int, str]:
    more = f" and {len(tasks) - SHOWN_TASKS:,} more" if len(tasks) > SHOWN_TASKS else ""
    return len(tasks), ", ".join(tasks[:SHOWN_TASKS]) + more


def _restart(costs: Row) -> str:
    resources = costs["connectors"] + costs["tasks"]
    return (
        f"{plural(costs['rebalances'], 'rebalance')}, {plural(costs['started'], 'start')} of connectors and tasks, "
        f"{costs['moved']} of {resources:,} on another worker at the end; without a worker: "
        f"{costs['downtime_ms'] / max(resources, 1) / 1000:,.1f} s on average."
    )


def _rebalances(rows: Iterable[Row]) -> Table:
    ordered = sorted(rows, key=lambda row: row["rebalance"])
    note = f"{len(ordered) - SHOWN_REBALANCES:,} more rebalances." if len(ordered) > SHOWN_REBALANCES else ""
    shown = [row.asDict() | {"delay_ms": row["delay_ms"] or None} for row in ordered[:SHOWN_REBALANCES]]
    return Table.of("Its rebalances", _REBALANCE, shown, note)


def _delays(rows: Iterable[Row]) -> Table:
    marks = {(True, True): "now, and best", (True, False): "now", (False, True): "best"}
    ordered = sorted(rows, key=lambda row: row["max_delay_ms"])
    marked = [row.asDict() | {"mark": marks.get((row["current"], row["best"]), "")} for row in ordered]
    note = "A start of a connector or task takes no time here: if it takes long, fewer starts are better."
    return Table.of("The same with other delays", _DELAY, marked, note)
