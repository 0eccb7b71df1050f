"""The figures of findings in words: evidence and expected savings, with their units."""

from collections.abc import Mapping
from typing import NamedTuple

from pyspark.sql import Row

from rebalance_sim.engine.simulation.streams_groups import WITHOUT_DELAY
from rebalance_sim.kafka.simulation.latencies import LATENCIES
from rebalance_sim.report.text import count, seconds
from rebalance_sim.wording import duration, plural_of

_SAVED = "_saved"
_NOUNS = {
    "delay": ("mean delay per record", "mean delay per record"),
    "idle_members": ("idle member", "idle members"),
    "max": ("partition on the member with the most", "partitions on the member with the most"),
    "max_unowned": ("downtime in the worst partition", "downtime in the worst partition"),
    "max_lag": ("record of lag on one member", "records of lag on one member"),
    "mean": ("mean downtime per partition", "mean downtime per partition"),
    "mean_down": ("mean time without a worker", "mean time without a worker"),
    "moved": ("partition move", "partition moves"),
    "started": ("start of a connector or task", "starts of connectors and tasks"),
    "p99_unowned": ("downtime at p99", "downtime at p99"),
    "rebalances": ("rebalance", "rebalances"),
    "restored": ("task that restores its state", "tasks that restore their state"),
    "unowned_lag": ("record that waits for an owner", "records that wait for an owner"),
    "unowned": ("partition downtime", "partition downtime"),
}
"""By figure, the noun of what is saved; other figures are shown by their names."""
_NOUNS_OF_TASKS = {
    "max_unowned": ("downtime of the worst task", "downtime of the worst task"),
    "mean": ("mean downtime per task", "mean downtime per task"),
    "moved": ("task move", "task moves"),
    "rebalances": ("epoch", "epochs"),
    "unowned": ("downtime of tasks", "downtime of tasks"),
}
"""The same of the rollout of a streams group."""


EVIDENCE = {
    "members": "members",
    "outdated_members": "members to upgrade first",
    "refused": "refused members",
    "unreadable": "members that the leader cannot read",
    "rows": "rejected rows",
    "partitions": "partitions",
    "partitions_after": "partitions after the growth",
    "other_partitions": "partitions of the other topic",
    "topics": "topics",
    "topic_partitions": "partitions of the topic",
    "owners": "members that own them",
    "candidates": "candidate protocols",
    "votes": "votes of the protocol with the most",
    "libraries": "client libraries",
    "alternatives": "other possible assignors",
    "min": "partitions of the member with the fewest",
    "max": "partitions of the member with the most",
    "min_today": "today: partitions of the member with the fewest",
    "max_today": "today: partitions of the member with the most",
    "min_after": "afterwards: partitions of the member with the fewest",
    "max_after": "afterwards: partitions of the member with the most",
    "idle_members": "idle members",
    "idle_members_min": "idle members, at least",
    "idle_members_max": "idle members, at most",
    "idle_after": "idle members with the recommended assignor",
    "best": "partitions of the member with the most, in the most balanced assignment",
    "busy": "members that could have partitions",
    "unconsumed": "partitions that no member consumes",
    "unassigned": "partitions without an owner",
    "moved_after": "partitions that move once",
    "lag": "lag, in records",
    "lag_partitions": "partitions with lag",
    "unknown_partitions": "partitions of unknown lag",
    "max_partition_lag": "lag of the worst partition, in records",
    "behind_ms": "time since the first record of it arrived, about or at least",
    "drained_ms": "time until no lag is left, at these rates",
    "commit_age_ms": "time from its last commit to the latest of the cluster",
    "partition_lag": "lag of this partition, in records",
    "growth": "growth of its lag, in records",
    "growth_per_hour": "growth of its lag, in records per hour",
    "arrived_per_hour": "records that arrived per hour",
    "done_per_hour": "records that were committed per hour",
    "growing_partitions": "partitions whose lag grew",
    "elapsed_ms": "time since the earlier audit",
    "max_lag": "lag of the member with the most, in records",
    "max_lag_after": "lag of the member with the most, with the recommended assignor",
    "excess_lag": "lag that another assignment could take from it",
    "age_ms": "time since the latest commit",
    "poll_ms": "max.poll.interval.ms",
    "session_ms": "session timeout",
    "restart_ms": "time that a restart takes",
    "hours": "hours until the first offset expires",
    "generation": "generation",
    "span_ms": "time in which the rebalances were",
    "events": "events",
    "rebalances": "rebalances",
    "epochs": "epochs",
    "stable_ms": "time from the first event until it is stable",
    "storms": "rebalance storms",
    "failed": "failed consumers",
    "moved": "partition moves",
    "moved_min": "partition moves, at least",
    "unconsumed_min": "partitions not consumed, at least",
    "negative_partitions": "partitions with an offset above the log end",
    "max_negative": "offset above the log end, at most by",
    "moved_max": "partition moves, at most",
    "moved_back": "of these, back to the previous owner",
    "unowned_ms": "partition downtime, all partitions together",
    "mean_ms": "downtime per partition, mean",
    "p99_ms": "downtime per partition, p99",
    "max_ms": "downtime per partition, max",
    "unowned_lag": "records that wait for an owner",
    "delay_ms": "mean delay per record",
    "restart_rebalances": "migration: rebalances",
    "restart_moved": "migration: partition moves",
    "restart_moved_back": "migration: of these, back to the previous owner",
    "restart_unowned_ms": "migration: partition downtime, all partitions together",
    "restart_mean_ms": "migration: downtime per partition, mean",
    "restart_p99_ms": "migration: downtime per partition, p99",
    "restart_max_ms": "migration: downtime per partition, max",
    "workers": "workers, or threads",
    "lost": "connectors and tasks that run on no worker",
    "resources": "connectors and tasks",
    "tasks": "tasks",
    "min_tasks": "tasks of the worker or thread with the fewest",
    "max_tasks": "tasks of the worker or thread with the most",
    "best_tasks": "tasks of the worker or thread with the most, if spread evenly",
    "idle_workers": "workers or threads that run nothing",
    "moved_tasks": "connectors and tasks that end on another worker",
    "started": "starts of connectors and tasks",
    "mean_down_ms": "time without a worker, mean",
    "max_down_ms": "time without a worker at a time, max",
    "max_after_ms": "with the recommended setting",
    "away_ms": "time that a restarted worker is away",
    "stopped_tasks": "active tasks of the process that stops",
    "restored": "stateful tasks that restore their state",
    "restored_after": "stateful tasks that restore their state, with the recommended setting",
    "standbys_started": "standby tasks that start",
    "keys": "keys",
    "keys_conflicting": "keys that clients place differently",
    "keys_shared": "keys of several clients",
    "keys_split": "keys with records in several partitions",
    "keys_moved": "keys that move",
    "shared": "shared keys, of the smaller topic",
    "records_split": "records of split keys",
    "partition": "number of the hottest partition",
    "records": "records in the hottest partition",
    "times": "times the mean of all partitions",
    "mean_records": "records per partition, mean",
    "p99_records": "records per partition, p99",
} | {
    f"turns_at_{latency.setting}": f"another choice is best if {latency.subject} takes over about"
    for latency in LATENCIES
    if not latency.other_phase
}
"""What the figures of findings are, in the order in which they are shown."""
EVIDENCE_OF_TASKS = {
    "partitions": "tasks",
    "moved": "task moves",
    "unowned_ms": "time in which no thread has a task, all tasks together",
    "mean_ms": "time in which no thread has a task, mean",
    "p99_ms": "time in which no thread has a task, p99",
    "max_ms": "time in which no thread has a task, max",
}
"""What figures about the rollout of a streams group are."""
_SHARES = ("share", "shared")
_AGES = ("behind_ms", "drained_ms", "commit_age_ms", "elapsed_ms")
_LEAST_SAVED_MS = 100
"""Less time saved, or lost, is noise of a simulation."""


class Savings(NamedTuple):
    """What a recommendation saves and costs, in words."""

    gains: tuple[str, ...] = ()
    costs: tuple[str, ...] = ()


def saving_texts(saving: Mapping[str, float] | None, *, of_tasks: bool = False) -> Savings:
    r"""Return what a recommendation saves, and what it costs; ``of_tasks`` in the rollout of a streams group.

    >>> saving_texts({"unowned_ms_saved": 1500.0, "moved_saved": -2.0, "share": 0.5, "p99_unowned_ms_saved": -46.0})
    Savings(gains=('1.5 s less partition downtime (50 %)',), costs=('2 more partition moves',))
    """
    noise_ms = {name: _LEAST_SAVED_MS for name in saving or () if name.endswith(f"_ms{_SAVED}")}
    given = {name: value for name, value in (saving or {}).items() if abs(value) >= noise_ms.get(name, 0)}
    share, nouns = given.pop("share", None), _NOUNS | _NOUNS_OF_TASKS if of_tasks else _NOUNS
    gains = [_saved(name, value, nouns) for name, value in given.items() if value > 0]
    if gains and share:
        gains[0] += f" ({100 * share:.0f} %)"
    return Savings(tuple(gains), tuple(_saved(name, value, nouns) for name, value in given.items() if value < 0))


def savings_of(finding: Row) -> Savings:
    """Return what a row of ``findings`` recommends saves, and what it costs."""
    return saving_texts(finding["saving"], of_tasks=WITHOUT_DELAY[0] in (finding["settings"] or ()))


def figure_texts(figures: Mapping[str, float] | None, *, of_tasks: bool = False) -> tuple[tuple[str, str], ...]:
    """Return figures by name as texts, with what they are and their units, in the same order for all findings.

    ``of_tasks`` are those about the rollout of a streams group.

    >>> figure_texts({"mean_ms": 1500.0, "moved": 7.0, "members": 3.0})
    (('members', '3'), ('partition moves', '7'), ('downtime per partition, mean', '1.5 s'))
    """
    places = {name: place for place, name in enumerate(EVIDENCE)}
    ordered = sorted((figures or {}).items(), key=lambda figure: (places.get(figure[0], len(places)), figure[0]))
    known = EVIDENCE | EVIDENCE_OF_TASKS if of_tasks else EVIDENCE
    return tuple((known.get(name, _name(name)), _value(name, value)) for name, value in ordered)


def _saved(name: str, value: float, nouns: Mapping[str, tuple[str, str]]) -> str:
    figure = name.removesuffix(_SAVED)
    amount = _value(figure, abs(value))
    is_time = figure.endswith("_ms")
    one, several = nouns.get(figure.removesuffix("_ms"), (_name(figure), _name(figure)))
    change = ("less" if value > 0 else "more") if is_time else ("fewer" if value > 0 else "more")
    return f"{amount} {change} {plural_of(int(abs(value)), one, several)}"


def _name(name: str) -> str:
    return name.removesuffix("_ms").replace("_", " ")


def _value(name: str, value: float) -> str:
    if name in _AGES:
        return duration(value)
    if name.endswith("_ms"):
        return f"{seconds(value)} s"
    if name in _SHARES:
        return f"{100 * value:.0f} %"
    return count(value) if float(value).is_integer() else f"{value:,.2f}"
