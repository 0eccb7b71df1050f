"""Findings about a rolling restart of the group: its cost, and settings that reduce it."""

from collections.abc import Iterator, Mapping

from rebalance_sim.engine.audit.finding import Confidence, Finding, Kind, Severity
from rebalance_sim.engine.audit.group import Group, Row
from rebalance_sim.engine.audit.thresholds import Thresholds
from rebalance_sim.kafka.assignors.by_library import JAVA, offers
from rebalance_sim.kafka.client_features import has_static_members
from rebalance_sim.kafka.migration import Verdict

SCENARIO = "rolling-restart"
"""Of ``conf/scenarios``."""


def _kind(name: str, severity: Severity, description: str, recommendation: str = "") -> Kind:
    return Kind(name, severity, description, recommendation, SCENARIO, Confidence.SIMULATED)


ROLLOUT_COSTS = (
    "{rebalances:rebalance} and {moved:partition move}; partition downtime: mean {mean_ms:s}, p99 {p99_ms:s}, max "
    "{max_ms:s}"
)
"""What a rollout costs: a template of ``cost_figures``."""
COST = _kind("rolling-restart-cost", Severity.NOTE, f"a rolling restart takes {ROLLOUT_COSTS}")
FAILS = _kind(
    "rolling-restart-fails",
    Severity.ERROR,
    "{failed:consumer stops|consumers stop} with a fatal error in a rolling restart: {failure}",
    "Do not restart the group this way; stop all members first.",
)
UNSTABLE = _kind(
    "rolling-restart-unstable",
    Severity.ERROR,
    "not stable, or with unowned partitions, after a rolling restart",
    "Look at the group's timeline: simulate --scenario rolling-restart --follow.",
)
STORM = _kind(
    "rebalance-storm",
    Severity.WARNING,
    "a rolling restart causes {storms:rebalance storm} ({rebalances:rebalance})",
    "Restart fewer members per minute, or use static membership.",
)
DOWNTIME = _kind(
    "rolling-restart-downtime",
    Severity.WARNING,
    "a rolling restart leaves each partition without an owner for {mean_ms:s} on average (p99 {p99_ms:s}, max "
    "{max_ms:s}); {setting} saves {share:%}",
    "Set {setting}.",
)
KINDS = (COST, FAILS, UNSTABLE, STORM, DOWNTIME)
_STATIC = "group.instance.id"
_ASSIGNOR = "partition.assignment.strategy"
_PROTOCOL = "group.protocol"


def findings(group: Group, thresholds: Thresholds) -> Iterator[Finding]:
    """Yield the findings about a rolling restart of a group."""
    costs = group.costs
    if costs is None or not costs["events"]:
        return
    figures = cost_figures(costs)
    yield Finding(COST, figures)
    if costs["failed"]:
        yield Finding(FAILS, figures | {"failed": costs["failed"]}, {"failure": costs["failure"]})
    elif not costs["stable"]:
        yield Finding(UNSTABLE, figures)
    if costs["storms"]:
        yield Finding(STORM, figures | {"storms": costs["storms"]})
    best = next((row for row in group.advice if not row["fails"] and _is_possible(group, row)), None)
    if best is not None and _pays(costs, best, thresholds):
        yield _downtime(group, figures, best)


def cost_figures(costs: Row) -> dict[str, float]:
    """Return the costs of a simulated rollout, with the downtime of its partitions: mean, 99th percentile, maximum."""
    figures = {name: costs[name] for name in ("rebalances", "moved", "moved_back", "unowned_ms", "partitions")}
    figures["mean_ms"] = costs["unowned_ms"] / max(costs["partitions"], 1)
    return figures | {f"{name}_ms": costs[f"{name}_unowned_ms"] for name in ("p99", "max")}


def _downtime(group: Group, figures: Mapping[str, float], best: Row) -> Finding:
    saving = {name: best[name] for name in ("unowned_ms_saved", "rebalances_saved", "moved_saved")}
    saving["share"] = best["unowned_ms_saved"] / max(figures["unowned_ms"], 1)
    settings = {best["setting"]: best["value"]}
    if best["setting"] == _PROTOCOL:
        # What was simulated: advice replaces the protocols of all members by this assignor.
        settings |= {"group.remote.assignor": "uniform"}
    names = {"setting": " with ".join(f"{name}={value}" for name, value in settings.items())}
    return Finding(DOWNTIME, figures, names, settings, saving)


def _pays(costs: Row, best: Row, thresholds: Thresholds) -> bool:
    saved_ms: int = best["unowned_ms_saved"]
    of_partition = saved_ms / max(costs["partitions"], 1)
    return of_partition >= thresholds.downtime_ms and saved_ms >= thresholds.downtime_share * costs["unowned_ms"]


def _is_possible(group: Group, row: Row) -> bool:
    """Return whether the clients of the group have a setting."""
    libraries = {member["client_library"] or JAVA for member in group.members}
    setting = row["setting"]
    if setting == _PROTOCOL:
        return group.migration.verdict in (Verdict.ONLINE, Verdict.DONE)
    if setting == _ASSIGNOR:
        return bool(group.classic_members) and all(offers(library, row["value"]) for library in libraries)
    return setting != _STATIC or all(map(has_static_members, libraries))
