"""Findings about a simulated rollout of the group, by default a rolling restart: its cost, and what reduces it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rebalance_sim.defaults import SCENARIO
from rebalance_sim.engine.audit.changes import (
    can_have_static_members,
    change_of,
    how_to_change,
    impossible_settings,
    rebalance_timeout,
    setting,
    settings_of,
    usable_advice,
)
from rebalance_sim.engine.audit.finding import Confidence, Finding, Harm, Kind, Severity, filled
from rebalance_sim.engine.audit.group import Group, Row
from rebalance_sim.engine.audit.thresholds import Thresholds
from rebalance_sim.engine.audit.turning_points import Choices, TurningPoint, about, turns_in_words
from rebalance_sim.kafka.clients.library import HEARTBEAT_INTERVAL, INSTANCE_ID
from rebalance_sim.kafka.group_kinds import GroupKind
from rebalance_sim.kafka.simulation.latencies import EVIDENCE
from rebalance_sim.wording import enumerated, plural


def _kind(name: str, severity: Severity, description: str, recommendation: str = "", decisive: str = "") -> Kind:
    how = (SCENARIO, Confidence.SIMULATED, decisive)
    return Kind(name, severity, Harm.NEXT_CHANGE, description, recommendation, *how)


ROLLOUT_COSTS = (
    "{rebalances:rebalance} and {moved:partition move}; partition downtime: mean {mean_ms:s}, p99 {p99_ms:s}, max "
    "{max_ms:s}"
)
"""What a rollout costs: a template of ``cost_figures``."""
_LAG_COSTS = "; {unowned_lag:lagging record waits|lagging records wait} for an owner, mean delay {delay_ms:s}"
_COSTS_OF_SHARES = (
    "{epochs:epoch} and {moved:partition move}; time in which no member has a partition: mean {mean_ms:s}, p99 "
    "{p99_ms:s}, max {max_ms:s}"
)
"""The same of a share group, in which the members that get a partition count, and nobody waits for another one."""
_COSTS_OF_TASKS = (
    "{epochs:epoch} and {moved:task move}; time in which no thread has a task, not counting the time to restore state: "
    "mean {mean_ms:s}, p99 {p99_ms:s}, max {max_ms:s}"
)
"""The same of a streams group."""
_STABLE = "; stable {stable_ms:s} after its first event"
COST = replace(_kind("rollout-cost", Severity.NOTE, f"{{scenario}}: {ROLLOUT_COSTS}{{lag}}{{seen}}"), is_news=False)
COST_OF_SHARES = replace(COST, description=f"{{scenario}}: {_COSTS_OF_SHARES}")
COST_OF_TASKS = replace(COST, description=f"{{scenario}}: {_COSTS_OF_TASKS}{{stable}}")
FAILS = _kind(
    "rollout-fails",
    Severity.ERROR,
    "{scenario}: {failed:consumer stops|consumers stop} with a fatal error: {failure}",
    "Correct what the error names before members restart: a consumer that it stops does not come back.",
    "failed",
)
DEADLOCK = _kind(
    "rollout-deadlock",
    Severity.ERROR,
    "{scenario}: {failure}",
    "Let the readiness probe succeed without partitions, or let an old pod stop before its replacement is ready "
    "(maxUnavailable of at least 1).",
)
DEADLOCK_OF_TASKS = replace(DEADLOCK, recommendation=DEADLOCK.recommendation.replace("partitions", "tasks"))
UNSTABLE = _kind(
    "rollout-unstable",
    Severity.ERROR,
    "{scenario}: not stable, or with unowned partitions, at the end",
    "Raise {poll} if it is below {heartbeat}, which leaves members too little time to rejoin; else look at the group's "
    "timeline in its details on the page.",
)
UNSTABLE_OF_SHARES = replace(
    UNSTABLE,
    description="{scenario}: members lack the last target assignment, or partitions have no member, at the end",
    recommendation="Look at the group's timeline in its details on the page.",
)
UNSTABLE_OF_TASKS = replace(
    UNSTABLE_OF_SHARES,
    description="{scenario}: threads lack the last target assignment, or tasks have no thread, at the end",
)
STORM = _kind(
    "rebalance-storm",
    Severity.WARNING,
    "{scenario}: {storms:rebalance storm} ({rebalances:rebalance})",
    "{static}estart fewer members per minute. Raise {poll} if it is below {heartbeat}.",
    "storms",
)
DOWNTIME = _kind(
    "rollout-downtime",
    Severity.WARNING,
    "{scenario}: each partition is without an owner for {mean_ms:s} on average (p99 {p99_ms:s}, max {max_ms:s}); "
    "{setting} saves {share:%}{range}",
    "{advice}",
    "mean_ms",
)
DOWNTIME_OF_TASKS = replace(
    DOWNTIME,
    description="{scenario}: each task is without a thread for {mean_ms:s} on average (p99 {p99_ms:s}, max "
    "{max_ms:s}), not counting the time to restore state; {setting} saves {share:%}",
)
DEPENDS = replace(
    _kind(
        "rollout-choice-depends",
        Severity.NOTE,
        "{scenario}: no other setting pays off with the assumed latencies, but {range}",
        "Measure what this depends on, and audit again with --settings {names}.",
    ),
    is_news=False,
)
KINDS = (COST, FAILS, DEADLOCK, UNSTABLE, STORM, DOWNTIME, DEPENDS)
_IN_EPOCHS = {
    GroupKind.SHARE: (COST_OF_SHARES, DEADLOCK, UNSTABLE_OF_SHARES, DOWNTIME),
    GroupKind.STREAMS_GROUP: (COST_OF_TASKS, DEADLOCK_OF_TASKS, UNSTABLE_OF_TASKS, DOWNTIME_OF_TASKS),
}
"""By kind of group whose members wait for no rebalance, how its findings are worded; share groups have no advice."""
SAVED = (
    *("unowned_ms_saved", "p99_unowned_ms_saved", "max_unowned_ms_saved", "rebalances_saved", "moved_saved"),
    *("unowned_lag_saved", "delay_ms_saved"),
)
"""Columns of ``advice`` with what a setting saves; those of lag are null without offsets."""
OF_COSTS = (
    *("partitions", "events", "rebalances", "storms", "stable", "stable_ms", "unowned_ms", "moved", "moved_back"),
    *("failed", "p99_unowned_ms", "max_unowned_ms", "finished", "failure", "error"),
)
"""Columns of ``costs`` that findings are about."""
OF_ADVICE = ("setting", "value", "fails", *SAVED, "unowned_ms", "at_longest")
"""Columns of ``advice`` that findings are about."""


def findings(group: Group, thresholds: Thresholds) -> Iterator[Finding]:
    """Yield the findings about a rollout of a group."""
    costs, found = group.costs, choices(group, thresholds)
    if costs is None or found is None:
        return
    cost, deadlock, unstable, downtime = _IN_EPOCHS.get(group.kind.kind, (COST, DEADLOCK, UNSTABLE, DOWNTIME))
    figures, names = _figures_and_names(group, costs)
    # That restoring state takes no time is assumed.
    confidence = Confidence.ASSUMED if cost is COST_OF_TASKS else None

    def finding(kind: Kind, more: Mapping[str, float] | None = None) -> Finding:
        return Finding(kind, figures | dict(more or {}), names, simulated=group.scenario, confidence=confidence)

    yield _with_lag(group, finding(cost))
    if costs["failed"]:
        yield finding(FAILS, {"failed": costs["failed"]})
    elif not costs["finished"]:
        yield finding(deadlock)
    elif not costs["stable"]:
        yield finding(unstable)
    if costs["storms"]:
        yield finding(STORM, {"storms": costs["storms"]})
    points = found.turning_points()
    if found.best is not None:
        yield _with_range(group, _with_setting(group, finding(downtime), found.best), found, points)
    elif points:
        yield _with_range(group, finding(DEPENDS), found, points)


def _figures_and_names(group: Group, costs: Row) -> tuple[dict[str, float], dict[str, str]]:
    """Return what the templates of findings about a rollout contain."""
    figures = cost_figures(costs)
    names = {"scenario": group.scenario.replace("-", " "), "failure": costs["failure"], "lag": "", "stable": ""}
    names |= {"seen": _seen(group)} | (_named_settings(group) if costs["storms"] or not costs["stable"] else {})
    if group.kind.kind in _IN_EPOCHS:
        figures = {"epochs": figures.pop("rebalances"), **figures}
    if group.kind.kind is GroupKind.STREAMS_GROUP and costs["stable_ms"] is not None:
        figures["stable_ms"] = costs["stable_ms"]
        names["stable"] = filled(_STABLE, figures)
    return figures, names


def choices(group: Group, thresholds: Thresholds) -> Choices | None:
    """Return what a group can choose from for its rollout; None if it is not simulated, or nothing happens in it."""
    costs = group.costs
    if costs is None or not costs["events"]:
        return None
    usable = usable_advice(group.advice, impossible_settings(group, thresholds))
    return Choices(costs, usable, thresholds.pays, group.assumed_ms)


def _seen(group: Group) -> str:
    """Return what the simulation takes from the past of the group, as the end of a sentence."""
    found = [(each, group.seen.get(each.name), group.seen.get(each.count_name)) for each in EVIDENCE]
    clauses = [
        f"{each.in_words(about(ms))} ({plural(count, 'time')})" for each, ms, count in found if ms is not None and count
    ]
    return f"; from the history of this group: {enumerated(clauses)}" if clauses else ""


def _named_settings(group: Group) -> dict[str, str]:
    """Return the names of settings that recommendations contain, and that static membership helps where it can be."""
    static = f"Use static membership ({setting(group, INSTANCE_ID)}), or r" if can_have_static_members(group) else "R"
    return {"poll": rebalance_timeout(group), "heartbeat": setting(group, HEARTBEAT_INTERVAL), "static": static}


def cost_figures(costs: Row) -> dict[str, float]:
    """Return the costs of a simulated rollout, with the downtime of its partitions: mean, 99th percentile, maximum."""
    figures = {name: costs[name] for name in ("rebalances", "moved", "moved_back", "unowned_ms", "partitions")}
    figures["mean_ms"] = costs["unowned_ms"] / max(costs["partitions"], 1)
    return figures | {f"{name}_ms": costs[f"{name}_unowned_ms"] for name in ("p99", "max")}


def _with_lag(group: Group, finding: Finding) -> Finding:
    """Add the records that wait, if their number is known and there are any."""
    lag = group.lag_costs
    if lag is None or not lag["unowned_lag"] or lag["delay_ms"] is None:
        return finding
    waiting = {"unowned_lag": lag["unowned_lag"], "delay_ms": lag["delay_ms"]}
    names = {**finding.names, "lag": filled(_LAG_COSTS, waiting)}
    return replace(finding, figures={**finding.figures, **waiting}, names=names)


def _with_setting(group: Group, finding: Finding, best: Row) -> Finding:
    """Add the setting that saves most, and what it saves."""
    mean_ms = best["unowned_ms_saved"] / max(finding.figures["partitions"], 1)
    known = {name: best[name] for name in SAVED if best[name] is not None}
    saving = {"unowned_ms_saved": known.pop("unowned_ms_saved"), "mean_ms_saved": mean_ms, **known}
    saving["share"] = best["unowned_ms_saved"] / max(finding.figures["unowned_ms"], 1)
    settings = settings_of(group, best["setting"], best["value"])
    set_to = " with ".join(f"{name}={value}" for name, value in settings.items())
    names = {
        "setting": "static membership" if best["setting"] == INSTANCE_ID else set_to,
        "advice": how_to_change(group, best["setting"], best["value"]),
    }
    return replace(finding, names={**finding.names, **names}, settings=settings, saving=saving)


def _with_range(group: Group, finding: Finding, found: Choices, points: Sequence[TurningPoint]) -> Finding:
    """Add on which assumed latencies the choice depends, and from when on another one is better."""
    text = turns_in_words(points, group.assumed_ms, found.best)
    if found.best is not None and text:
        text = f"; but {text}"
    elif found.ranges_tried:
        text = text or ", also if any one of the assumed latencies is longer, within its range"
    figures = {f"turns_at_{point.latency.setting}": point.at_ms for point in points if point.at_ms is not None}
    names = ",".join(f"{point.latency.setting}=MILLISECONDS" for point in points)
    return replace(
        finding, figures={**finding.figures, **figures}, names={**finding.names, "range": text, "names": names}
    )


def verdict_columns(found: Choices | None) -> dict[str, Any]:
    """Return the columns of ``verdicts`` about the best setting in a rollout."""
    if found is None:
        return {}
    turns = [(point.latency.setting, point.at_ms) for point in found.turning_points()]
    return {
        "rollout_setting": None if found.best is None else change_of(found.best),
        "rollout_turns": turns if found.ranges_tried else None,
    }
