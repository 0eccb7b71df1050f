"""Findings about the migration to the consumer protocol (KIP-848)."""

from collections.abc import Iterator, Mapping

from rebalance_sim.engine.audit.finding import Confidence, Finding, Kind, Severity
from rebalance_sim.engine.audit.group import Group
from rebalance_sim.engine.audit.thresholds import Thresholds
from rebalance_sim.kafka.assignors.by_library import JAVA
from rebalance_sim.kafka.migration import Migration, Obstacle, Verdict

_SCENARIO = "migration"

POSSIBLE = Kind(
    "migration-possible",
    Severity.NOTE,
    "can migrate {verdict} to the consumer protocol: {reason}",
    "Set group.protocol=consumer and group.remote.assignor={assignor}. Remove partition.assignment.strategy, "
    "session.timeout.ms and heartbeat.interval.ms, which consumers reject beside it.",
)
_OFFLINE = Kind(
    "migration-offline",
    Severity.WARNING,
    "can migrate offline only: {reason}",
    "Plan a time without consumers to migrate: a rolling restart fails with GROUP_ID_NOT_FOUND.",
)
BLOCKED: Mapping[Obstacle, Kind] = {
    Obstacle.CUSTOM_ASSIGNOR: Kind(
        "migration-custom-assignor",
        Severity.WARNING,
        "cannot migrate to the consumer protocol: {reason}",
        "Switch to range or cooperative-sticky first, or implement ConsumerGroupPartitionAssignor on the brokers.",
    ),
    Obstacle.LIBRARY: Kind(
        "migration-library",
        Severity.WARNING,
        "cannot migrate to the consumer protocol: {reason}",
        "Plan the change to a library that has it before the brokers drop the classic protocol (KIP-1274).",
    ),
    Obstacle.POLICY: Kind(
        "migration-policy",
        Severity.WARNING,
        "can migrate offline only: {reason}",
        "Set group.consumer.migration.policy=bidirectional on the brokers.",
    ),
    Obstacle.UNREADABLE: _OFFLINE,
    Obstacle.USER_DATA: _OFFLINE,
    Obstacle.BROKERS: Kind(
        "migration-brokers", Severity.NOTE, "cannot migrate to the consumer protocol: {reason}", "Upgrade the brokers."
    ),
    Obstacle.STREAMS: Kind(
        "migration-streams", Severity.NOTE, "does not migrate to the consumer protocol: {reason}", ""
    ),
    Obstacle.PROTOCOL_TYPE: Kind(
        "migration-protocol-type", Severity.NOTE, "does not migrate to the consumer protocol: {reason}", ""
    ),
}
"""By obstacle; a group whose members are all refused, or that has none, has findings of its own."""
LESS_BALANCED = Kind(
    "migration-less-balanced",
    Severity.WARNING,
    "after a migration to {assignor}, one member has {max_after:partition} instead of {max_today}",
    "Add members, or equal subscriptions, before the migration.",
    _SCENARIO,
)
LOSES_RACKS = Kind(
    "migration-loses-racks",
    Severity.WARNING,
    "a migration loses rack-aware assignment: {members:member sets|members set} client.rack, and {protocol} matches "
    "racks, but the coordinator's assignors do not (KAFKA-19387)",
    "Keep the classic protocol if the traffic between racks matters; migrate if it does not.",
    _SCENARIO,
)
KINDS = (POSSIBLE, *dict.fromkeys(BLOCKED.values()), LESS_BALANCED, LOSES_RACKS)
_RACK_AWARE = ("range", "sticky", "cooperative-sticky")


def findings(group: Group, thresholds: Thresholds) -> Iterator[Finding]:
    """Yield the findings about the migration of a group."""
    found = group.migration
    if found.verdict is Verdict.DONE:
        return
    names = {"reason": found.reason, "verdict": str(found.verdict)}
    if found.obstacle is not None and found.obstacle in BLOCKED:
        yield Finding(BLOCKED[found.obstacle], {"members": len(group.members)}, names)
    if found.assignor is None:
        return
    if found.verdict is Verdict.ONLINE:
        yield _possible(group, found, names)
    yield from _less_balanced(group, found.assignor, thresholds)
    yield from _loses_racks(group)


def _possible(group: Group, found: Migration, names: Mapping[str, str]) -> Finding:
    assert found.assignor is not None
    figures = {"members": len(group.members), "outdated_members": found.outdated}
    after, today = group.strategies.get(found.assignor), group.balance
    if today:
        figures["max_today"] = today["max"]
    if after:
        figures |= {"max_after": after["max"], "moved": after["moved"]}
    unknown = any(member["client_version"] is None for member in group.classic_members)
    confidence = Confidence.ASSUMED if unknown else Confidence.CERTAIN
    return Finding(POSSIBLE, figures, {**names, "assignor": _short(found.assignor)}, confidence=confidence)


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


def _short(assignor: str) -> str:
    """Return the name of a coordinator's assignor as ``group.remote.assignor`` has it."""
    return assignor.removeprefix("server-")
