"""Findings about leaders: which member leads, and what its client library assigns."""

from collections.abc import Iterator

from rebalance_sim.engine.audit.finding import Finding, Kind, Severity
from rebalance_sim.engine.audit.group import Group, client_of
from rebalance_sim.engine.audit.thresholds import Thresholds
from rebalance_sim.kafka.assignors import KNOWN_ASSIGNORS
from rebalance_sim.kafka.assignors.by_library import JAVA, is_readable_for_java, leaders_assignor, offers

CANNOT_READ = Kind(
    "leader-cannot-read-members",
    Severity.ERROR,
    "a Java leader cannot read {unreadable:member} of {libraries}: its consumer fails with a SchemaException",
    "Move these members to a group of their own, or the group to one library.",
)
UNPREDICTABLE = Kind(
    "assignment-unpredictable",
    Severity.WARNING,
    "the assignment cannot be predicted: {problem}",
    "Offer range or roundrobin if assignments have to be known beforehand.",
)
FAILS = Kind(
    "assignment-fails",
    Severity.ERROR,
    "the leader's assignor fails: {problem}",
    "Use another assignor, or another client library.",
)
NOT_PREDICTED = Kind(
    "assignment-unknown",
    Severity.NOTE,
    "the assignment is not predicted: {problem}",
    "For an assignor of your own, give its class with --assignors.",
)
DECIDES = Kind(
    "leader-decides-assignment",
    Severity.WARNING,
    "the assignment depends on which member leads: {strategy}, or {alternatives}",
    "Use one client library in the group, or the consumer protocol, under which the coordinator assigns.",
)
KINDS = (CANNOT_READ, FAILS, UNPREDICTABLE, NOT_PREDICTED, DECIDES)


def findings(group: Group, thresholds: Thresholds) -> Iterator[Finding]:
    """Yield the findings about the leader of a group."""
    if group.prediction_error is not None:
        yield _without_prediction(group, group.prediction_error)
    elif group.alternatives:
        names = {"strategy": str(group.strategy), "alternatives": ", ".join(group.alternatives)}
        yield Finding(DECIDES, {"members": len(group.members), "alternatives": len(group.alternatives)}, names)


def _without_prediction(group: Group, problem: str) -> Finding:
    names = {"problem": problem}
    if group.bounds is not None:
        return Finding(UNPREDICTABLE, group.bounds, names)
    if group.leader is None or group.protocol is None:
        return Finding(NOT_PREDICTED, names=names)
    leader = group.leader.candidates[0]
    libraries = [client_of(member).library for member in group.classic_members]
    unreadable = [library for library in libraries if not is_readable_for_java(library)]
    assignor = leaders_assignor(group.protocol, leader, readable=not unreadable)
    if assignor.problem is None and assignor.name in KNOWN_ASSIGNORS:
        return Finding(FAILS, names=names)
    if assignor.problem is None or not offers(leader.library or JAVA, group.protocol):
        return Finding(NOT_PREDICTED, names=names)
    if leader.library not in ("", JAVA):
        return Finding(UNPREDICTABLE, names=names)
    return Finding(CANNOT_READ, {"unreadable": len(unreadable)}, {"libraries": ", ".join(sorted(set(unreadable)))})
