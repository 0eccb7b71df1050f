"""Findings about applications of Kafka Streams, over either protocol: who has which tasks, and what a stop costs.

What members have now is in their rows. Everything else is predicted (``streams_facts.py``): no record says which state
is on the disks of processes beyond what they run.
"""

from collections.abc import Iterator
from dataclasses import replace
from math import ceil

from rebalance_sim.engine.audit.connect_clusters import IMBALANCED, SPARE
from rebalance_sim.engine.audit.finding import Confidence, Finding, Harm, Kind, Severity
from rebalance_sim.engine.audit.group import Group, Row
from rebalance_sim.engine.audit.streams_facts import AFTER_STOP, WITH_STANDBY
from rebalance_sim.engine.audit.thresholds import Thresholds
from rebalance_sim.tables import REJECTS, STREAMS_BALANCE, STREAMS_MEMBERS
from rebalance_sim.wording import plural

PROCESS_STOPS = "process-stop"
"""The scenario: the process with the most stateful tasks is gone for longer than its session."""
_THREADS_IMBALANCED = replace(
    IMBALANCED, description="{min_tasks} to {max_tasks:active task} per thread, {fair} if they were spread evenly"
)
_SPARE_THREADS = replace(
    SPARE, description="{idle_workers:thread has|threads have} no task: {workers:thread} for {tasks:active task}"
)
NO_STANDBY = Kind(
    "no-standby-replicas",
    Severity.WARNING,
    Harm.NEXT_CHANGE,
    "if process {process} stops for longer than its session, {restored:stateful task restores|stateful tasks restore} "
    "state from changelog topics on other processes: no task has a standby",
    "{remedy}",
    scenario=PROCESS_STOPS,
    confidence=Confidence.ASSUMED,
    decisive="restored",
    needs=STREAMS_MEMBERS.name,
)
STOP = Kind(
    "stop-of-process",
    Severity.NOTE,
    Harm.NEXT_CHANGE,
    "if process {process} stops for longer than its session: {stopped_tasks:active task moves|active tasks move}, "
    "{restored:stateful task restores|stateful tasks restore} state from changelog topics, and "
    "{standbys_started:standby task starts|standby tasks start} elsewhere",
    scenario=PROCESS_STOPS,
    confidence=Confidence.ASSUMED,
    needs=STREAMS_MEMBERS.name,
    is_news=False,
)
WARM_UPS = Kind(
    "warm-ups-follow",
    Severity.NOTE,
    Harm.NEXT_CHANGE,
    "tasks are to move to processes without their state, which warm up after the next rebalance: probing rebalances "
    "follow, one per probing.rebalance.interval.ms, until they have caught up",
    "Let them catch up before processes are restarted.",
    confidence=Confidence.ASSUMED,
    needs=STREAMS_MEMBERS.name,
)
KINDS = (NO_STANDBY, STOP, WARM_UPS)
_WARMS_UP = (
    "The next rebalance, when a process starts or stops, begins to warm tasks up on other processes; the probing "
    "rebalances that follow move them."
)


def findings(group: Group, thresholds: Thresholds) -> Iterator[Finding]:
    """Yield the findings about an application of Kafka Streams; none about another group."""
    if not group.streams_members:
        return
    balance = group.without_error(STREAMS_BALANCE.name)
    yield from _spread(group, balance, thresholds)
    if balance is not None and balance["probing"]:
        yield Finding(WARM_UPS)
    after = group.without_error(AFTER_STOP)
    if after is not None:
        yield from _stop(group, after)


def _spread(group: Group, balance: Row | None, thresholds: Thresholds) -> Iterator[Finding]:
    """Yield the findings about the tasks that threads have now."""
    active, standby = ([_tasks(member, role) for member in group.streams_members] for role in ("active", "standby"))
    threads, tasks, most = len(active), sum(active), max(active)
    unread = any(row["table"] == STREAMS_MEMBERS.name for row in group.rows[REJECTS.name])
    confidence = Confidence.ASSUMED if unread else Confidence.CERTAIN
    fewest, best = tasks // threads, ceil(tasks / threads)
    idle = sum(not tasks and not copies for tasks, copies in zip(active, standby, strict=True))
    if most - best >= thresholds.imbalance_partitions or (0 in active and most > 1):
        figures = {"min_tasks": min(active), "max_tasks": most, "best_tasks": best, "workers": threads}
        names = {"fair": str(best) if fewest == best else f"{fewest} to {best}"}
        names["remedy"] = _next_rebalance(balance, most - min(active))
        yield Finding(_THREADS_IMBALANCED, figures, names, confidence=confidence)
    elif idle:
        figures = {"idle_workers": idle, "workers": threads, "tasks": tasks}
        yield Finding(_SPARE_THREADS, figures, confidence=confidence)


def _tasks(member: Row, role: str) -> int:
    """Return how many tasks a member has now, or is to have, if that is unknown."""
    current = member[f"current_{role}"]
    return len((member[role] if current is None else current) or ())


def _next_rebalance(balance: Row | None, spread: int) -> str:
    """Return whether the next rebalance spreads tasks, as sentences; empty if that is unknown, or if it does not."""
    if balance is None:
        return ""
    fewest, most = balance["min_active"], balance["max_active"]
    if most - fewest >= spread:
        return _WARMS_UP if balance["probing"] else ""
    tasks = plural(most, "task") if fewest == most else f"{fewest} to {plural(most, 'task')}"
    moved = plural(balance["moved"], "task moves", "tasks move")
    restored = plural(balance["restored"], "restores its state", "restore their state")
    return f"The next rebalance, when a process starts or stops, leads to {tasks} per thread: {moved}, {restored}."


def _stop(group: Group, after: Row) -> Iterator[Finding]:
    """Yield what happens if a process stops, and whether standby tasks would help."""
    figures = {name: after[name] for name in ("stopped_tasks", "restored", "standbys_started")}
    names = {"process": after["process_id"]}
    yield Finding(STOP, figures, names)
    has_standbys = after["standby_replicas"] or any(_tasks(member, "standby") for member in group.streams_members)
    with_standby = group.without_error(WITH_STANDBY)
    if has_standbys or with_standby is None or with_standby["restored"] >= after["restored"]:
        return
    is_classic = group.is_classic_application
    setting = "num.standby.replicas" if is_classic else "streams.num.standby.replicas"
    where = (
        "in all processes, and restart them one after the other" if is_classic else "for the group (kafka-configs.sh)"
    )
    count = with_standby["restored"]
    fewer = plural(count, "task restores", "tasks restore") if count else "no task restores"
    yield Finding(
        NO_STANDBY,
        {"restored": after["restored"], "restored_after": with_standby["restored"]},
        {
            **names,
            "remedy": f"Set {setting}=1 {where}: {fewer} state then, once the standby tasks have caught up. Every "
            "stateful task has its state on the disk of a second process, which reads its changelog topic.",
        },
        {setting: "1"},
        {"restored_saved": after["restored"] - with_standby["restored"]},
    )
