"""Findings about leaders: which member leads, and what its client library assigns."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rebalance_sim.engine.audit.finding import Confidence, Finding, Harm, Kind, Severity
from rebalance_sim.engine.audit.group import Group, Row, client_of
from rebalance_sim.engine.audit.thresholds import Thresholds
from rebalance_sim.kafka.assignors import KNOWN_ASSIGNORS
from rebalance_sim.kafka.assignors.by_library import (
    ASSIGN_LEADERS_TOPICS,
    is_readable_for_java,
    leaders_assignor,
    library_of,
    offers,
)
from rebalance_sim.kafka.clients import JAVA
from rebalance_sim.kafka.group_kinds import WITHOUT_PREDICTION
from rebalance_sim.wording import plural_of

CANNOT_READ = Kind(
    "leader-cannot-read-members",
    Severity.ERROR,
    Harm.STOPPED,
    "a Java leader cannot read {unreadable:member} of {libraries}: its consumer fails with a SchemaException",
    "Move these members to a group of their own, or the group to one library.",
    decisive="unreadable",
)
UNPREDICTABLE = Kind(
    "assignment-unpredictable",
    Severity.WARNING,
    Harm.NEXT_CHANGE,
    "the assignment cannot be predicted: {problem}",
    "Offer range or roundrobin if assignments have to be known beforehand.",
)
FAILS = Kind(
    "assignment-fails",
    Severity.ERROR,
    Harm.STOPPED,
    "the leader's assignor fails: {problem}",
    "Use another assignor, or another client library.",
)
NOT_PREDICTED = Kind(
    "assignment-unknown",
    Severity.NOTE,
    Harm.HABIT,
    "the assignment is not predicted: {problem}",
    "For an assignor of your own, give its class with --assignors.",
)
OTHER_KIND = Kind(
    "other-kind-of-group", Severity.NOTE, Harm.HABIT, "{what} ({evidence}): no assignment is predicted", ""
)
DECIDES = Kind(
    "leader-decides-assignment",
    Severity.WARNING,
    Harm.NEXT_CHANGE,
    "the assignment depends on which member leads: {strategy}, or {alternatives}",
    "Use one client library in the group, or the consumer protocol, under which the coordinator assigns.",
)
NOT_CONSUMED = Kind(
    "partitions-not-consumed",
    Severity.ERROR,
    Harm.STOPPED,
    "{unconsumed} of {partitions:partition} are not consumed: {where}",
    "Use another assignor, or another client library.",
)
NOT_CONSUMED_OF_OTHERS = replace(
    NOT_CONSUMED,
    description="{unconsumed} of {partitions:partition} are not consumed: {where}; the leader, {leader}, assigns only "
    "the topics to which it subscribes itself, to all members ({library})",
    recommendation="Give the members of each subscription a group id of their own, let all members subscribe to the "
    "same topics, or change to a client library whose leader assigns the topics of all members.",
)
"""If the leader's library leaves out the topics of other members."""
KINDS = (CANNOT_READ, FAILS, UNPREDICTABLE, NOT_PREDICTED, OTHER_KIND, NOT_CONSUMED, DECIDES)


def findings(group: Group, thresholds: Thresholds) -> Iterator[Finding]:
    """Yield the findings about the leader of a group."""
    if group.kind.kind in WITHOUT_PREDICTION:
        confidence = Confidence.CERTAIN if group.kind.is_certain else Confidence.ASSUMED
        names = {"what": WITHOUT_PREDICTION[group.kind.kind], "evidence": group.kind.evidence}
        figures = {} if group.accepted is None else {"members": group.accepted}
        yield Finding(OTHER_KIND, figures, names, confidence=confidence)
        return
    if group.balance is not None and group.balance["unconsumed"]:
        yield _not_consumed(group, group.balance)
    if group.prediction_error is not None:
        yield _without_prediction(group, group.prediction_error)
    elif group.alternatives:
        names = {"strategy": str(group.strategy), "alternatives": ", ".join(group.alternatives)}
        yield Finding(DECIDES, {"members": len(group.members), "alternatives": len(group.alternatives)}, names)


def _not_consumed(group: Group, today: Row) -> Finding:
    figures = {name: today[name] for name in ("partitions", "unconsumed", "unassigned")}
    listed = today["first_unconsumed"] or ()
    others = today["unconsumed"] - today["unassigned"]
    names = {f"{row['topic']}-{row['partition']}": row["member_id"] for row in listed}
    unassigned = [name for name, member in names.items() if member is None]
    useless = [f"{name} to {member}" for name, member in names.items() if member is not None]
    where = []
    if today["unassigned"]:
        verb = plural_of(today["unassigned"], "is", "are")
        where.append(f"{_some(today['unassigned'], unassigned)} {verb} assigned to no member")
    if others:
        verb = plural_of(others, "is", "are")
        drops = ", which ignore it" if group.library in ASSIGN_LEADERS_TOPICS else ""
        where.append(f"{_some(others, useless)} {verb} assigned to members without a subscription to the topic{drops}")
    library = library_of(str(group.strategy))
    if library not in ASSIGN_LEADERS_TOPICS:
        return Finding(NOT_CONSUMED, figures, {"where": ", ".join(where)})
    leader = group.election["leader_id"] if group.election else None
    names = {"where": ", ".join(where), "library": library, "leader": str(leader)}
    return Finding(
        NOT_CONSUMED_OF_OTHERS, figures, names, confidence=None if group.leader_is_known else Confidence.ASSUMED
    )


def _some(count: int, listed: Sequence[str]) -> str:
    """Return how many partitions there are, and the first ones.

    >>> _some(2, ["a-0", "a-1"]), _some(7, ["a-0", "a-1"]), _some(7, [])
    ('2 (a-0, a-1)', '7 (a-0, a-1, ...)', '7')
    """
    if not listed:
        return f"{count:,}"
    return f"{count:,} ({', '.join([*listed, *(['...'] if count > len(listed) else [])])})"


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
