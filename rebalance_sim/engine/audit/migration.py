"""Findings about the migration to the consumer protocol (KIP-848)."""

from collections.abc import Iterator, Mapping

from rebalance_sim.engine.audit.changes import settings_for, to_coordinator
from rebalance_sim.engine.audit.finding import Confidence, Finding, Harm, Kind, Severity, filled
from rebalance_sim.engine.audit.group import Group
from rebalance_sim.engine.audit.rollouts import ROLLOUT_COSTS, cost_figures
from rebalance_sim.engine.audit.thresholds import Thresholds
from rebalance_sim.kafka.assignors.by_library import offers
from rebalance_sim.kafka.clients import JAVA
from rebalance_sim.kafka.group_kinds import GroupKind
from rebalance_sim.kafka.migration import COUNTERPARTS, Migration, Obstacle, Verdict
from rebalance_sim.wording import enumerated

_SCENARIO = "migration"

POSSIBLE = Kind(
    "migration-possible",
    Severity.NOTE,
    Harm.NEXT_CHANGE,
    "can migrate {verdict} to the consumer protocol: {reason}{balance}{cost}",
    "{change}.{order}{later}",
    _SCENARIO,
)
FAILS = Kind(
    "migration-fails",
    Severity.WARNING,
    Harm.NEXT_CHANGE,
    "a simulated migration does not succeed: {failure}",
    "Look at the group's timeline (simulate --scenario migration --follow), or stop all members first.",
    _SCENARIO,
    Confidence.SIMULATED,
)
_OFFLINE = Kind(
    "migration-offline",
    Severity.WARNING,
    Harm.NEXT_CHANGE,
    "can migrate offline only: {reason}",
    "Plan a time without consumers to migrate: a rolling restart fails with GROUP_ID_NOT_FOUND.",
)
BLOCKED: Mapping[Obstacle, Kind] = {
    Obstacle.CUSTOM_ASSIGNOR: Kind(
        "migration-custom-assignor",
        Severity.WARNING,
        Harm.NEXT_CHANGE,
        "cannot migrate to the consumer protocol: {reason}",
        "Switch to {assignors} first, or implement ConsumerGroupPartitionAssignor on the brokers.",
    ),
    Obstacle.LIBRARY: Kind(
        "migration-library",
        Severity.NOTE,
        Harm.NEXT_CHANGE,
        "cannot migrate to the consumer protocol: {reason}",
        "Keep the classic protocol, which KIP-1274 removes from Java's consumer only, or change to a library that has "
        "the consumer protocol.",
    ),
    Obstacle.POLICY: Kind(
        "migration-policy",
        Severity.WARNING,
        Harm.NEXT_CHANGE,
        "can migrate offline only: {reason}",
        "Set group.consumer.migration.policy=bidirectional on the brokers.",
    ),
    Obstacle.UNREADABLE: _OFFLINE,
    Obstacle.USER_DATA: _OFFLINE,
    Obstacle.BROKERS: Kind(
        "migration-brokers",
        Severity.NOTE,
        Harm.NEXT_CHANGE,
        "cannot migrate to the consumer protocol: {reason}",
        "Upgrade the brokers.",
    ),
}
"""By obstacle; a group of another kind, whose members are all refused, or that has none, has findings of its own."""
LESS_BALANCED = Kind(
    "migration-less-balanced",
    Severity.WARNING,
    Harm.NEXT_CHANGE,
    "after a migration to {assignor}, one member has {max_after:partition} instead of {max_today}",
    "Let all members subscribe to the same topics before the migration.",
    _SCENARIO,
    decisive="max_after",
)
LOSES_RACKS = Kind(
    "migration-loses-racks",
    Severity.WARNING,
    Harm.NEXT_CHANGE,
    "a migration loses rack-aware assignment: {members:member sets|members set} client.rack, and {protocol} matches "
    "racks, but the coordinator's assignors do not (KAFKA-19387)",
    "Keep the classic protocol if the traffic between racks matters; migrate if it does not.",
    _SCENARIO,
)
KINDS = (POSSIBLE, FAILS, *dict.fromkeys(BLOCKED.values()), LESS_BALANCED, LOSES_RACKS)
_BALANCE = (
    "; afterwards {min_after} to {max_after:partition} per member (today {min_today} to {max_today}), "
    "{moved:partition changes|partitions change} owner"
)
_SAME_BALANCE = "; no partition changes owner"
_RANGE = "server-range"
_PREFERRED = ("range", "cooperative-sticky")
"""Assignors to switch to before a migration, where a library has them."""
_LATER = " With uniform instead, later restarts move fewer partitions."
_MEMBERS_IN_ORDER = 6
"""Members from which the order of a restart makes a difference under range."""
_RACK_AWARE = ("range", "sticky", "cooperative-sticky")


def findings(group: Group, thresholds: Thresholds) -> Iterator[Finding]:
    """Yield the findings about the migration of a group."""
    found = group.migration
    if found.verdict is Verdict.DONE:
        return
    names = {"reason": found.reason, "verdict": str(found.verdict), "assignors": _with_counterparts(group)}
    if found.obstacle is not None and found.obstacle in BLOCKED:
        yield Finding(BLOCKED[found.obstacle], {"members": len(group.members)}, names)
    if found.assignor is None:
        return
    if found.verdict is Verdict.ONLINE:
        yield _possible(group, found, found.assignor, names)
        yield from _fails(group)
    yield from _less_balanced(group, found.assignor, thresholds)
    yield from _loses_racks(group)


def _possible(group: Group, found: Migration, assignor: str, names: Mapping[str, str]) -> Finding:
    figures: dict[str, float] = {"members": len(group.members), "outdated_members": found.outdated}
    change = to_coordinator(group, _short(assignor))
    texts = {**names, "change": f"{change[0].upper()}{change[1:]}", "order": _order(group, assignor)}
    texts |= {"balance": "", "cost": "", "later": _LATER if assignor == _RANGE else ""}
    after, today, costs = group.strategies.get(assignor), group.balance, group.migration_costs
    if today:
        figures |= {"min_today": today["min"], "max_today": today["max"]}
    if after:
        figures |= {"min_after": after["min"], "max_after": after["max"], "moved": after["moved"]}
    if today and after:
        stays = not after["moved"] and (after["min"], after["max"]) == (today["min"], today["max"])
        texts["balance"] = _SAME_BALANCE if stays else filled(_BALANCE, figures)
    if costs:
        of_restart = cost_figures(costs)
        texts["cost"] = f"; the restart takes {filled(ROLLOUT_COSTS, of_restart)}"
        figures |= {f"restart_{name}": value for name, value in of_restart.items() if name != "partitions"}
    settings = settings_for(group, assignor)
    return Finding(POSSIBLE, figures, texts, settings, confidence=_confidence(group))


def _confidence(group: Group) -> Confidence:
    if group.rejected or any(member["client_version"] is None for member in group.classic_members):
        return Confidence.ASSUMED
    return Confidence.SIMULATED if group.migration_costs else Confidence.CERTAIN


def _order(group: Group, assignor: str) -> str:
    """Return in which order to restart the members; docs/audit.md has the simulations that show it.

    Connect restarts the tasks of a connector in an order of its own.
    """
    if group.kind.kind is GroupKind.CONNECT_SINK:
        return ""
    dynamic = [member for member in group.members if member["instance_id"] is None]
    if assignor == _RANGE and len(dynamic) >= _MEMBERS_IN_ORDER:
        return " Restart the members in the order of their member ids, which moves the fewest partitions."
    return " Restart the members in any order; the leader need not be the last."


def _fails(group: Group) -> Iterator[Finding]:
    costs = group.migration_costs
    if costs and (costs["failed"] or not (costs["finished"] and costs["stable"])):
        failure = costs["failure"] or "the group is not stable in the end, or has partitions without an owner"
        yield Finding(FAILS, cost_figures(costs) | {"failed": costs["failed"]}, {"failure": failure})


def _less_balanced(group: Group, assignor: str, thresholds: Thresholds) -> Iterator[Finding]:
    after, today = group.strategies.get(assignor), group.balance
    if after is None or today is None or after["max"] - today["max"] < thresholds.migration_partitions:
        return
    figures = {"max_today": today["max"], "max_after": after["max"], "moved": after["moved"]}
    yield Finding(LESS_BALANCED, figures, {"assignor": _short(assignor)})


def _loses_racks(group: Group) -> Iterator[Finding]:
    """Yield the finding about racks: of Java's assignors since 3.5 (KIP-881), if members and replicas have racks."""
    with_rack = [member for member in group.classic_members if member["rack"]]
    if group.protocol not in _RACK_AWARE or not with_rack or group.cluster not in group.topics.with_racks:
        return
    leader = group.leader
    if leader is not None and leader.library in ("", JAVA) and group.rules_of(leader).rack_aware:
        yield Finding(LOSES_RACKS, {"members": len(with_rack)}, {"protocol": str(group.protocol)})


def _with_counterparts(group: Group) -> str:
    """Return the assignors of the group's library to which one of the coordinator corresponds."""
    named = [name for name in _PREFERRED if offers(group.record.name, name)]
    return enumerated(named or [name for name in COUNTERPARTS if offers(group.record.name, name)], "or")


def _short(assignor: str) -> str:
    """Return the name of a coordinator's assignor as ``group.remote.assignor`` has it."""
    return assignor.removeprefix("server-")
