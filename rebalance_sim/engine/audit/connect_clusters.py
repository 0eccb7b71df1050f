"""Findings about Connect clusters: what runs where now, what a restart does, and which delay suits it.

What runs now is in the workers' rows. Everything else is played (``connect_facts.py``), with a leader that is taken to
remember what runs now.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from typing import Any

from rebalance_sim.engine.audit.connect_facts import AFTER_REBALANCE, AT_LONGEST, WORKER_RESTART
from rebalance_sim.engine.audit.finding import Confidence, Finding, Harm, Kind, Severity
from rebalance_sim.engine.audit.group import Group, Row
from rebalance_sim.engine.audit.thresholds import Thresholds
from rebalance_sim.engine.connect.clusters import best_delay, longest_start_ms
from rebalance_sim.kafka.connect.leader import DEFAULT_MAX_DELAY_MS
from rebalance_sim.releases import ConnectRules
from rebalance_sim.tables import CONNECT_ADVICE, CONNECT_COSTS, CONNECTORS, REJECTS, WORKERS
from rebalance_sim.wording import plural, plural_of

MAX_DELAY = "scheduled.rebalance.max.delay.ms"
NOT_RUNNING = Kind(
    "tasks-not-running",
    Severity.ERROR,
    Harm.STOPPED,
    "{lost} of {resources:connector or task|connectors and tasks} run on no worker: {where}",
    "{remedy}",
    decisive="lost",
    needs=WORKERS.name,
)
WAITING = Kind(
    "tasks-wait-for-delay",
    Severity.NOTE,
    Harm.STOPPED,
    "the last rebalance has scheduled another one within {delay_ms:t}: {where}",
    "Wait until it is over, and audit the cluster again. A worker that comes back gets what it ran only then.",
    needs=WORKERS.name,
    is_news=False,
)
IMBALANCED = Kind(
    "tasks-imbalanced",
    Severity.WARNING,
    Harm.UNEVEN,
    "{min_tasks} to {max_tasks:task} per worker, {fair} if they were spread evenly",
    "{remedy}",
    decisive="max_tasks",
    needs=WORKERS.name,
)
SPARE = Kind(
    "more-members-than-tasks",
    Severity.NOTE,
    Harm.UNEVEN,
    "{idle_workers:worker runs|workers run} no connector and no task: {workers:worker} for {tasks:task}",
    decisive="idle_workers",
    needs=WORKERS.name,
)
RESTART = Kind(
    "restart-of-workers",
    Severity.NOTE,
    Harm.NEXT_CHANGE,
    "if each worker but the leader restarts, and is away for {away_ms:s}: {moved_tasks} of "
    "{resources:connector or task|connectors and tasks} end on another worker, {started:start}, and each is without a "
    "worker for {mean_down_ms:s} on average, at most {max_down_ms:s} at a time, with {setting}{left}",
    scenario=WORKER_RESTART,
    confidence=Confidence.SIMULATED,
    needs=WORKERS.name,
    is_news=False,
)
DELAY = Kind(
    "delay-of-lost-tasks",
    Severity.WARNING,
    Harm.NEXT_CHANGE,
    "if a worker restarts, and is away for {away_ms:s}, what it ran is without a worker for up to {max_down_ms:s} with "
    "{setting}, and for up to {max_after_ms:s} with {best_delay}",
    "{remedy}",
    scenario=WORKER_RESTART,
    confidence=Confidence.SIMULATED,
    decisive="max_down_ms",
    needs=WORKERS.name,
)
KINDS = (NOT_RUNNING, WAITING, IMBALANCED, SPARE, RESTART, DELAY)
_CAUSE_REBALANCE = "start one more worker, or change the number of tasks of a connector"
_SHOWN = 5
_NOT_0 = " 0 is not recommended: workers before 3.5.2, and of 3.6.0, then leave lost tasks unassigned (KAFKA-15693)."


def findings(group: Group, thresholds: Thresholds) -> Iterator[Finding]:
    """Yield the findings about a Connect cluster; none about another group."""
    if not group.is_played:
        return
    cluster = _Cluster(group, thresholds)
    yield from cluster.now()
    costs = group.without_error(CONNECT_COSTS.name)
    if costs is not None and costs["rebalances"]:
        yield from cluster.at_restarts(costs)


class _Cluster:
    """A Connect cluster."""

    def __init__(self, group: Group, thresholds: Thresholds) -> None:
        self.group, self.thresholds, self.workers = group, thresholds, group.workers
        connectors = group.rows[CONNECTORS.name]
        self.are_configured = all(row["configured"] for row in connectors)
        self.configured = [name for row in connectors for name in _names(row["connector"], range(row["tasks"]))]
        self.tasks = [len(worker["tasks"] or ()) for worker in self.workers]
        self.pending_ms = max((worker["pending_delay_ms"] or 0 for worker in self.workers), default=0)
        self.unread = any(row["table"] == WORKERS.name for row in group.rows[REJECTS.name])
        """Whether workers are unknown: what they run looks as if nobody ran it."""

    def now(self) -> Iterator[Finding]:
        """Yield the findings about the present state."""
        lost = [] if self.unread else self._lost()
        if self.pending_ms:
            yield self._waiting(lost)
        elif lost:
            yield self._not_running(lost)
        elif self.workers:
            yield from self._balance()

    def _lost(self) -> list[str]:
        """Return what is configured and runs nowhere."""
        running = {name for worker in self.workers for name in worker["connectors"] or ()}
        running |= {_task(task["connector"], task["task"]) for worker in self.workers for task in worker["tasks"] or ()}
        return sorted(set(self.configured) - running)

    def _not_running(self, lost: Sequence[str]) -> Finding:
        after = self.group.without_error(AFTER_REBALANCE)
        remedy = "Start a worker of the cluster." if not self.workers else ""
        if after is not None and not after["unassigned"]:
            # Between two rebalances in a row, what the first one has revoked runs nowhere.
            remedy = f"If another audit shows them again: {_CAUSE_REBALANCE}. The rebalance assigns them."
        figures = {"lost": len(lost), "resources": len(self.configured), "workers": len(self.workers)}
        confidence = Confidence.CERTAIN if self.are_configured else Confidence.ASSUMED
        return Finding(NOT_RUNNING, figures, {"where": _some(lost), "remedy": remedy}, confidence=confidence)

    def _waiting(self, lost: Sequence[str]) -> Finding:
        where = "what a departed worker ran may wait for it"
        if lost:
            verb = plural_of(len(lost), "runs on no worker, and waits", "run on no worker, and wait")
            where = f"{plural(len(lost), 'connector or task', 'connectors and tasks')} {verb} for it: {_some(lost)}"
        return Finding(
            WAITING,
            {"delay_ms": self.pending_ms, "lost": len(lost)},
            {"where": where},
            # How much of the delay is left, and what the leader takes as lost, is in no record.
            confidence=Confidence.ASSUMED,
        )

    def _balance(self) -> Iterator[Finding]:
        workers, tasks, most = len(self.workers), sum(self.tasks), max(self.tasks)
        confidence = Confidence.ASSUMED if self.unread else Confidence.CERTAIN
        idle = sum(not worker["connectors"] and not worker["tasks"] for worker in self.workers)
        fewest, best = tasks // workers, ceil(tasks / workers)
        if most - best >= self.thresholds.imbalance_partitions or (0 in self.tasks and most > 1):
            figures = {"min_tasks": min(self.tasks), "max_tasks": most, "best_tasks": best, "workers": workers}
            names = {"fair": str(best) if fewest == best else f"{fewest} to {best}", "remedy": self._spread()}
            yield Finding(IMBALANCED, figures, names, confidence=confidence)
        elif idle:
            figures = {"idle_workers": idle, "workers": workers, "tasks": tasks}
            yield Finding(SPARE, figures, confidence=confidence)

    def _spread(self) -> str:
        """Return whether a rebalance spreads the tasks."""
        after = self.group.without_error(AFTER_REBALANCE)
        if after is None:
            return ""
        fewest, most = after["min_tasks"], after["max_tasks"]
        if most - fewest >= max(self.tasks) - min(self.tasks):
            return "The next rebalance leaves it so. Workers of Kafka 3.4 and newer are balanced by it (KAFKA-12495)."
        moved = plural(after["moved"], "connector or task moves", "connectors and tasks move")
        tasks = plural(most, "task") if fewest == most else f"{fewest} to {plural(most, 'task')}"
        return f"The next rebalance leads to {tasks} per worker, and {moved}: {_CAUSE_REBALANCE}."

    def at_restarts(self, costs: Row) -> Iterator[Finding]:
        """Yield the findings about the simulated restarts."""
        resources = max(len(self.configured), 1)
        names = {
            "setting": f"{MAX_DELAY}={costs['max_delay_ms']}{self._delay_is_assumed()}",
            "left": f"; {costs['unassigned']} run on no worker at the end" if costs["unassigned"] else "",
        }
        figures = {
            "away_ms": costs["away_ms"],
            "resources": resources,
            "moved_tasks": costs["moved"],
            "started": costs["started"],
            "mean_down_ms": costs["downtime_ms"] / resources,
            "max_down_ms": costs["longest_downtime_ms"],
        }
        confidence = Confidence.SIMULATED if self._is_known() else Confidence.ASSUMED
        yield Finding(RESTART, figures, names, confidence=confidence)
        yield from self._delay(figures, names, confidence)

    def _delay(
        self, figures: Mapping[str, float], names: Mapping[str, str], confidence: Confidence
    ) -> Iterator[Finding]:
        """Yield the finding about another delay that saves enough, if there is one."""
        keeps_lost = self._may_keep_lost()
        advice, limits = self.group.rows[CONNECT_ADVICE.name], self.thresholds
        tried = [row for row in advice if row["max_delay_ms"] or row["current"] or not keeps_lost]
        now = next((row for row in advice if row["current"]), None)
        if now is None:
            return
        best = best_delay(tried)
        saved_ms = now["downtime_ms"] - best["downtime_ms"]
        least_ms = max(limits.downtime_ms * figures["resources"], limits.downtime_share * now["downtime_ms"])
        if best["current"] or best["unassigned"] or saved_ms < least_ms:
            return
        value = str(best["max_delay_ms"])
        remedy = f"Set {MAX_DELAY}={value} on all workers, and restart them one after the other."
        remedy += _more_starts(best, now) + _turning_point(best, tried) + self._if_slow(best)
        yield Finding(
            DELAY,
            {
                **{name: figures[name] for name in ("away_ms", "max_down_ms", "mean_down_ms")},
                "max_after_ms": best["longest_downtime_ms"],
            },
            {**names, "best_delay": value, "remedy": remedy + (_NOT_0 if keeps_lost else "")},
            {MAX_DELAY: value},
            {
                "mean_down_ms_saved": saved_ms / figures["resources"],
                "share": saved_ms / now["downtime_ms"],
                "started_saved": now["started"] - best["started"],
            },
            confidence=confidence,
        )

    def _may_keep_lost(self) -> bool:
        """Return whether workers with a delay of 0 may leave lost tasks unassigned: they are old, or may be."""
        releases = {worker["client_version"] for worker in self.workers}
        return any(
            release is None or self.group.brokers.rules(release).connect < ConnectRules.WITHOUT_DELAY
            for release in releases
        )

    def _if_slow(self, best: Mapping[str, Any]) -> str:
        """Return what changes if workers take as long to start as they may, as a sentence; empty if it still saves."""
        slow = self.group.rows[AT_LONGEST]
        chosen = next((row for row in slow if row["max_delay_ms"] == best["max_delay_ms"]), None)
        now = next((row for row in slow if row["current"]), None)
        if chosen is None or now is None or _lasting(chosen) < _lasting(now):
            return ""
        return f" It saves nothing if a worker takes {chosen['start_ms'] / 1000:g} s to start."

    def _delay_is_assumed(self) -> str:
        known = all(worker["max_delay_ms"] is not None for worker in self.workers)
        return "" if known else f" (the default, {DEFAULT_MAX_DELAY_MS}, is assumed)"

    def _is_known(self) -> bool:
        """Whether everything is known that the simulation of a scenario rests on."""
        columns = ("max_delay_ms", "client_version", "session_timeout_ms")
        known = all(worker[name] is not None for worker in self.workers for name in columns)
        return known and self.are_configured and not self.unread and not self.pending_ms


def _names(connector: str, tasks: range) -> list[str]:
    return [connector, *(_task(connector, number) for number in tasks)]


def _task(connector: str, number: int) -> str:
    return f"{connector}-{number}"


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN:,} more"


def _lasting(row: Row) -> tuple[int, int]:
    """Return what a delay costs: what runs nowhere at the end, and downtime."""
    return row["unassigned"], row["downtime_ms"]


def _more_starts(best: Mapping[str, Any], now: Row) -> str:
    more = best["started"] - now["started"]
    return f" It costs {plural(more, 'more start')} of connectors and tasks." if more > 0 else ""


def _turning_point(best: Mapping[str, Any], tried: Sequence[Row]) -> str:
    """Return up to which time of a start a delay is best, and which is best then, as a sentence; empty if it always is.

    A connector or task does not run while it starts, which is not simulated.
    """
    start_ms = longest_start_ms(best, tried)
    if start_ms is None:
        return ""
    fewer = [row for row in tried if row["started"] < best["started"] and row["unassigned"] <= best["unassigned"]]
    then = min(fewer, key=lambda row: (row["downtime_ms"] + row["started"] * start_ms, row["max_delay_ms"]))
    return (
        f" This holds if a connector or task starts within {start_ms / 1000:g} s (0 s assumed); if it takes longer, "
        f"{then['max_delay_ms']} is best."
    )
