"""Findings about leaders: which member leads, and what its client library assigns."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from rebalance_sim.engine.audit.changes import (
    assignors_of_choice,
    best_choice,
    how_to_use,
    loss_of_cooperation,
    release_of,
    settings_for,
)
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
from rebalance_sim.kafka.clients import JAVA, LIBRARIES
from rebalance_sim.kafka.group_kinds import WITHOUT_PREDICTION, GroupKind
from rebalance_sim.kafka.groups import AssignmentFailure
from rebalance_sim.kafka.migration import Verdict
from rebalance_sim.releases import PartitionOrder
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
    Severity.NOTE,
    Harm.NEXT_CHANGE,
    "the assignment cannot be predicted: {problem}",
    "{remedy}",
)
FAILS = Kind("assignment-fails", Severity.ERROR, Harm.STOPPED, "the leader's assignor fails: {problem}", "{remedy}")
NOT_PREDICTED = Kind(
    "assignment-unknown", Severity.NOTE, Harm.HABIT, "the assignment is not predicted: {problem}", "{remedy}"
)
OTHER_KIND = Kind("other-kind-of-group", Severity.NOTE, Harm.HABIT, "{what} ({evidence}): no assignment is predicted")
OTHER_KIND_PREDICTED = replace(
    OTHER_KIND, description="{what} ({evidence}): its assignment is predicted, but neither its lag nor its rollouts"
)
"""If the kind has an assignor that is known."""
SHARES_SIMULATED = replace(
    OTHER_KIND, description="{what} ({evidence}): its assignment and its rollout are predicted, but not its lag"
)
NOT_SIMULATED = replace(OTHER_KIND, description=f"{OTHER_KIND_PREDICTED.description}: {{problem}}")
TASKS_NOT_PREDICTED = replace(OTHER_KIND, description="{what} ({evidence}): no assignment is predicted: {problem}")
"""If the tasks of its members are known."""
TASKS_NOT_SIMULATED = replace(
    OTHER_KIND, description="{what} ({evidence}): its assignment is predicted, but not its rollout: {problem}"
)
DECIDES = Kind(
    "leader-decides-assignment",
    Severity.WARNING,
    Harm.NEXT_CHANGE,
    "the assignment depends on which member leads: {strategy}, or {alternatives}",
    "{remedy}",
)
NOT_CONSUMED = Kind(
    "partitions-not-consumed",
    Severity.ERROR,
    Harm.STOPPED,
    "{unconsumed} of {partitions:partition} are not consumed: {where}",
    "{remedy}",
)
NOT_CONSUMED_OF_OTHERS = replace(
    NOT_CONSUMED,
    description="{unconsumed} of {partitions:partition} are not consumed: {where}; the leader, {leader}, assigns only "
    "the topics to which it subscribes itself, to all members ({library})",
    recommendation="{upgrade} the members of each subscription a group id of their own, let all members subscribe to "
    "the same topics, or change to a client library whose leader assigns the topics of all members.",
)
"""If the leader's library leaves out the topics of other members."""
_OWN_ASSIGNOR = "For an assignor of your own, give its class with --assignors."
KINDS = (CANNOT_READ, FAILS, UNPREDICTABLE, NOT_PREDICTED, OTHER_KIND, NOT_CONSUMED, DECIDES)


def findings(group: Group, thresholds: Thresholds) -> Iterator[Finding]:
    """Yield the findings about the leader of a group."""
    if group.kind.kind in WITHOUT_PREDICTION:
        error = group.tasks_error or group.rollout_of_tasks_error if group.has_tasks else group.simulation_error
        if group.has_tasks and error is None:
            return
        confidence = Confidence.CERTAIN if group.kind.is_certain else Confidence.ASSUMED
        names = {"what": WITHOUT_PREDICTION[group.kind.kind], "evidence": group.kind.evidence}
        names["problem"] = str(error)
        figures = {} if group.accepted is None else {"members": group.accepted}
        yield Finding(_of_other_kind(group), figures, names, confidence=confidence)
        return
    if group.balance is not None and group.balance["unconsumed"]:
        yield _not_consumed(group, group.balance)
    elif group.bounds and group.bounds["unconsumed_min"] and group.partitions and group.leader:
        yield _not_consumed_of_others(
            group,
            group.leader.candidates[0].library,
            {"partitions": group.partitions, "unconsumed": group.bounds["unconsumed_min"]},
            "which ones depends on the order in which the brokers list partitions",
        )
    if group.prediction_error is not None:
        yield _without_prediction(group, group.prediction_error)
    elif group.alternatives:
        names = {"strategy": str(group.strategy), "alternatives": ", ".join(group.alternatives)}
        names["remedy"] = _with_one_leader(group)
        yield Finding(DECIDES, {"members": len(group.members), "alternatives": len(group.alternatives)}, names)


def _of_other_kind(group: Group) -> Kind:
    """Return the finding that says what is predicted of a group whose members are not plain consumers."""
    if group.has_tasks:
        return TASKS_NOT_PREDICTED if group.tasks_error else TASKS_NOT_SIMULATED
    if group.balance is None:
        return OTHER_KIND
    if group.kind.kind is GroupKind.SHARE and group.costs is not None:
        return SHARES_SIMULATED
    return OTHER_KIND_PREDICTED if group.simulation_error is None else NOT_SIMULATED


def _not_consumed(group: Group, today: Row) -> Finding:
    figures = {name: today[name] for name in ("partitions", "unconsumed", "unassigned")}
    where = where_not_consumed(today, ", which ignore it" if group.library in ASSIGN_LEADERS_TOPICS else "")
    library = library_of(str(group.strategy))
    if library not in ASSIGN_LEADERS_TOPICS:
        return _with_another_assignor(group, NOT_CONSUMED, figures, {"where": where})
    return _not_consumed_of_others(group, library, figures, where)


def where_not_consumed(today: Row, drops: str = "") -> str:
    """Return where partitions are that no subscriber has, from a row of ``balance``; ``drops`` says what follows."""
    others = today["unconsumed"] - today["unassigned"]
    names = {f"{row['topic']}-{row['partition']}": row["member_id"] for row in today["first_unconsumed"] or ()}
    unassigned = [name for name, member in names.items() if member is None]
    useless = [f"{name} to {member}" for name, member in names.items() if member is not None]
    where = []
    if today["unassigned"]:
        verb = plural_of(today["unassigned"], "is", "are")
        where.append(f"{_some(today['unassigned'], unassigned)} {verb} assigned to no member")
    if others:
        verb = plural_of(others, "is", "are")
        where.append(f"{_some(others, useless)} {verb} assigned to members without a subscription to the topic{drops}")
    return ", ".join(where)


def _not_consumed_of_others(group: Group, library: str, figures: Mapping[str, float], where: str) -> Finding:
    """Return the finding about a leader whose library leaves out the topics of other members."""
    leader = group.election["leader_id"] if group.election else None
    names = {"where": where, "library": library, "leader": str(leader), "upgrade": "Give"}
    since = LIBRARIES[library].assigns_all_topics_since
    if since is not None:
        names["upgrade"] = f"Upgrade {library} to {'.'.join(map(str, since))} or newer, give"
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
    names = {"problem": problem, "remedy": _OWN_ASSIGNOR}
    if group.bounds is not None or problem == AssignmentFailure.UNDETERMINED.message:
        return _unpredictable(group, group.bounds or {}, names)
    if group.leader is None or group.protocol is None:
        return Finding(NOT_PREDICTED, names=names)
    leader = group.leader.candidates[0]
    libraries = [client_of(member).library for member in group.classic_members]
    unreadable = [library for library in libraries if not is_readable_for_java(library)]
    assignor = leaders_assignor(group.protocol, leader, readable=not unreadable)
    if assignor.problem is None and assignor.name in KNOWN_ASSIGNORS:
        return _with_another_assignor(group, FAILS, {}, names)
    if assignor.problem is None or not offers(leader.library or JAVA, group.protocol):
        upgrade = _upgrade(group)
        return Finding(
            NOT_PREDICTED, names={**names, "remedy": f"{upgrade} {_OWN_ASSIGNOR}" if upgrade else _OWN_ASSIGNOR}
        )
    if leader.library not in ("", JAVA):
        return _unpredictable(group, {}, names)
    return Finding(CANNOT_READ, {"unreadable": len(unreadable)}, {"libraries": ", ".join(sorted(set(unreadable)))})


def _with_another_assignor(group: Group, kind: Kind, figures: Mapping[str, float], names: Mapping[str, str]) -> Finding:
    """Return a finding that recommends the most balanced assignor under which every partition is consumed."""
    consuming = {
        name: protocol
        for name, protocol in assignors_of_choice(group).items()
        if name != group.strategy and not group.strategies[name]["unconsumed"]
    }
    better = best_choice(group, "max", consuming)
    if better is None:
        remedy = "Let all members subscribe to the same topics, or change to another client library."
        return Finding(kind, figures, {**names, "remedy": remedy})
    protocol = consuming[better]
    remedy = f"{how_to_use(group, protocol)}.{loss_of_cooperation(group, better)}"
    return Finding(kind, figures, {**names, "remedy": remedy}, settings_for(group, protocol))


def _unpredictable(group: Group, figures: Mapping[str, float], names: Mapping[str, str]) -> Finding:
    """Return the finding about an assignment that cannot be predicted.

    Another assignor is recommended only to an owner who has to know it, so that it is no setting of the verdict.
    """
    return Finding(UNPREDICTABLE, figures, {**names, "remedy": _to_be_predicted(group)})


def _to_be_predicted(group: Group) -> str:
    needed = "If assignments have to be known beforehand"
    upgrade = _upgrade(group)
    if upgrade:
        return f"{needed}: {upgrade[0].lower()}{upgrade[1:]}"
    better = best_choice(group, "max", assignors_of_choice(group))
    if better is not None:
        use = how_to_use(group, assignors_of_choice(group)[better])
        return f"{needed}: {use[0].lower()}{use[1:]}.{loss_of_cooperation(group, better)}"
    if _is_in_brokers_order(group) and group.brokers.rules().partition_order is not PartitionOrder.ASCENDING:
        return f"{needed}: brokers of Kafka 4.3 and newer list partitions in order."
    return "Use the bounds in table balance, which hold for every assignment."


def _is_in_brokers_order(group: Group) -> bool:
    """Return whether the leader takes partitions in the order in which brokers list them."""
    record = LIBRARIES.get(group.leader.candidates[0].library) if group.leader else None
    assignor = record.assignor(str(group.protocol)) if record else None
    return assignor is not None and assignor.in_brokers_order


def _upgrade(group: Group) -> str:
    """Return the release of the leader's library from which on its assignor is predicted, as a sentence; or nothing."""
    leader = group.leader
    record = LIBRARIES.get(leader.candidates[0].library) if leader else None
    release = release_of(leader) if leader else None
    if record is None or release is None:
        return ""
    assignor = record.assignor(str(group.protocol))
    since = assignor.since.release if assignor and assignor.since else None
    if assignor is None or (assignor.rules is None and group.protocol not in record.protocols_of()):
        # Earlier releases offer other names by default.
        since = next((first for first, offered in record.default_protocols if offered == record.protocols_of()), None)
    if since is None or release >= since:
        return ""
    return f"Upgrade {record.name} to {'.'.join(map(str, since))} or newer."


def _with_one_leader(group: Group) -> str:
    """Return what makes the assignment independent of the member that leads."""
    protocol = ""
    if group.migration.verdict in (Verdict.ONLINE, Verdict.OFFLINE):
        protocol = ", or the consumer protocol, under which the coordinator assigns"
    if group.assumes_libraries:
        return f"If the members use one client library, name it (--clients). Otherwise use one in the group{protocol}."
    return f"Use one client library in the group{protocol}."
