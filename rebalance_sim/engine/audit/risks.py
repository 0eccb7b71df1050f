"""Findings about risks that the tables show."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from rebalance_sim.engine.audit import lags
from rebalance_sim.engine.audit.changes import (
    how_to_change,
    in_restarts,
    is_possible,
    rebalance_timeout,
    session_timeout,
    setting,
    settings_of,
)
from rebalance_sim.engine.audit.finding import Confidence, Finding, Harm, Kind, Severity
from rebalance_sim.engine.audit.group import COMMITS, Group, Row, client_of, records_of
from rebalance_sim.engine.audit.past import HOUR_MS
from rebalance_sim.engine.audit.thresholds import Thresholds
from rebalance_sim.engine.history.stories import in_words
from rebalance_sim.kafka.clients import JAVA
from rebalance_sim.kafka.clients.library import INSTANCE_ID, POLL_INTERVAL, POLL_RECORDS, REBALANCE_TIMEOUT
from rebalance_sim.kafka.group_kinds import GroupKind
from rebalance_sim.kafka.simulation.settings import MAX_POLL_INTERVAL_MS
from rebalance_sim.tables import GENERATIONS, LISTED_GROUPS, NAMED, OFFSETS, REBALANCING_STATES
from rebalance_sim.wording import plural, utc_time

WITHOUT_LEADER = Kind(
    "partitions-without-leader",
    Severity.ERROR,
    Harm.STOPPED,
    "{partitions:partition of|partitions of} {topics} without a leader: records there are not consumed",
    "Bring their brokers back, or elect a leader (kafka-leader-election.sh).",
    decisive="partitions",
)
REJECTED = Kind(
    "rejected-rows",
    Severity.WARNING,
    Harm.UNEVEN,
    "{rows:row} of the group cannot be used (see rejects): the predictions leave them out",
    "Correct the rows, and run the audit again.",
    decisive="rows",
)
UNREAD = Kind(
    "group-unread",
    Severity.ERROR,
    Harm.UNKNOWN,
    "the group is unknown, because all its members were rejected ({rows:row}), such as: {reason}",
    "Correct the rows (see rejects), or read the group again, and repeat the audit.",
)
UNSEEN = replace(
    UNREAD,
    description="the group is unknown: no usable row shows its members, and others were rejected, such as: {reason}",
)
"""Of a group whose rejected rows are not those of members: it may have members, or none."""
NOT_DESCRIBED = Kind(
    "group-not-described",
    Severity.NOTE,
    Harm.UNKNOWN,
    "nothing is predicted: the cluster lists the group{listed}, and no output shows its members",
    "Read its members too: --describe --members --verbose of the tool for groups of its type.",
    needs=LISTED_GROUPS.name,
)
EXPIRE = Kind(
    "offsets-expire",
    Severity.WARNING,
    Harm.BEHIND,
    "no members, and {partitions:committed offset expires|committed offsets expire}, the first {hours:hour} after the "
    "latest commit of the cluster",
    "Start the consumers before that, delete the group, or raise offsets.retention.minutes.",
    matter="no-members",
    needs=OFFSETS.name,
)
EMPTY = Kind(
    "no-members",
    Severity.NOTE,
    Harm.HABIT,
    "no members; {partitions:committed offset expires|committed offsets expire} unless consumers come back",
    matter="no-members",
    needs=OFFSETS.name,
)
WITHOUT_COMMITS = replace(EMPTY, description="no members, and no committed offset")
SHORT_SESSION = Kind(
    "session-shorter-than-restart",
    Severity.WARNING,
    Harm.NEXT_CHANGE,
    "{members:static member has|static members have} a session timeout of {session_ms:s}: a restart of {restart_ms:s} "
    "takes longer, so that the coordinator evicts them",
    "Set {setting} to more than a restart takes, such as {value}, {restarts}.",
)
SHARED_INSTANCE = Kind(
    "shared-instance-id",
    Severity.ERROR,
    Harm.STOPPED,
    "{members:member has|members have} the group.instance.id of another member, {instance_id}: the coordinator fences "
    "all but the last to join (FENCED_INSTANCE_ID)",
    "{remedy}",
    decisive="members",
)
SHARED_BY_CONSUMERS = replace(
    SHARED_INSTANCE,
    description="{members:member has|members have} the group.instance.id of another member, {instance_id}: the "
    "coordinator refuses all but the first to join (UNRELEASED_INSTANCE_ID)",
)
"""Of members that all use the consumer protocol; a classic one gives way to the next with its id."""
TOPIC_MISSING = Kind(
    "topic-not-found",
    Severity.WARNING,
    Harm.STOPPED,
    "{members:member subscribes|members subscribe} to {topics}, which the cluster does not have, or does not show",
    "Correct the name, create the topic, or allow whoever reads the cluster to describe it.",
    decisive="members",
)
REGEX_FINDS_NOTHING = Kind(
    "regex-matches-nothing",
    Severity.WARNING,
    Harm.STOPPED,
    "{members:member subscribes|members subscribe} with a regular expression that matches no topic: {regex}",
    "Correct the expression, which has to match whole names by the rules of RE2/J, or allow the members to describe "
    "the topics.",
)
REGEX = Kind(
    "regular-expression",
    Severity.NOTE,
    Harm.HABIT,
    "{members:member subscribes|members subscribe} with a regular expression, {regex}: a new topic that matches "
    "changes the assignment",
)
REPEATED = Kind(
    "rebalances-repeatedly",
    Severity.WARNING,
    Harm.STOPPED,
    "{rebalances:rebalance} within {span_ms:s}, up to generation {generation}",
    "Unless the group is being deployed, look in the consumers' logs for why they leave and rejoin: {polls}sessions "
    "that expire, restarts.",
    decisive="rebalances",
    needs=GENERATIONS.name,
)
REPEATED_IN_HISTORY = replace(
    REPEATED,
    description="{story}; the last, generation {generation}, at {at} UTC",
    recommendation=f"{REPEATED.recommendation}{{prevented}}",
)
"""Of a group whose history shows why."""
OVERDUE = Kind(
    "commits-overdue",
    Severity.WARNING,
    Harm.BEHIND,
    "member {member} has {lag:record} of lag and has committed nothing for {age_ms:s}; its {setting} is {poll_ms:s}",
    "{remedy}",
    confidence=Confidence.ASSUMED,
    decisive="age_ms",
    needs=OFFSETS.name,
)
REBALANCING = Kind(
    "rebalancing-now",
    Severity.NOTE,
    Harm.STOPPED,
    "the group was in state {state} when it was read: its members and owned partitions may be about to change",
    "Read the group again, and audit it when it is stable.",
    is_news=False,
)
KINDS = (
    *(WITHOUT_LEADER, REJECTED, UNREAD, *lags.KINDS, NOT_DESCRIBED, EXPIRE, EMPTY, SHORT_SESSION, SHARED_INSTANCE),
    *(TOPIC_MISSING, REGEX_FINDS_NOTHING, REGEX, OVERDUE, REPEATED, REBALANCING),
)
_GENERATIONS = ("generation", "generation_at_ms", "earlier_generation", "earlier_generation_at_ms")


def findings(group: Group, thresholds: Thresholds) -> Iterator[Finding]:
    """Yield the findings about risks of a group."""
    yield from lags.findings(group, thresholds)
    if group.is_unread:
        kind = UNREAD if group.rejected else UNSEEN
        names = {"reason": group.reject_reason}
        yield Finding(kind, {"rows": group.rejected}, names, confidence=Confidence.CERTAIN)
        return
    if group.is_undescribed and group.listed is not None:
        yield _not_described(group.listed)
        return
    subscribed = {topic for member in group.members for topic in member["subscription"] or ()}
    lost = {topic: group.topics.without_leader.get((group.cluster, topic), 0) for topic in sorted(subscribed)}
    if sum(lost.values()):
        topics = ", ".join(topic for topic, partitions in lost.items() if partitions)
        yield Finding(WITHOUT_LEADER, {"partitions": sum(lost.values())}, {"topics": topics})
    if group.rejected:
        yield Finding(REJECTED, {"rows": group.rejected}, confidence=Confidence.CERTAIN)
    yield from _missing_topics(group)
    if group.kind.kind is GroupKind.SHARE:
        # It has no committed offsets, static members or regular expressions, and epochs that disturb nobody.
        return
    yield from _expiry(group, thresholds)
    yield from _short_sessions(group, thresholds)
    yield from _shared_instances(group)
    yield from _regular_expressions(group)
    yield from _overdue_commits(group, thresholds)
    yield from _rebalances(group, thresholds)


def _not_described(listed: Row) -> Finding:
    shown = [f"{name} {listed[name]}" for name in ("type", "state") if listed[name]]
    figures = {} if listed["members"] is None else {"members": listed["members"]}
    return Finding(NOT_DESCRIBED, figures, {"listed": f" ({', '.join(shown)})" if shown else ""})


def _expiry(group: Group, thresholds: Thresholds) -> Iterator[Finding]:
    expiring, latest_ms = group.expiring, group.topics.latest_commit_ms.get(group.cluster)
    if group.members or group.has_unseen_members:
        return
    if expiring is None:
        if group.rows[OFFSETS.name] or group.listed is not None:
            yield Finding(WITHOUT_COMMITS)
        return
    figures = {"partitions": expiring["partitions"]}
    first_ms = expiring["first_expires_at_ms"]
    if first_ms is None or latest_ms is None or first_ms - latest_ms > thresholds.expiry_hours * HOUR_MS:
        yield Finding(EMPTY, figures)
        return
    yield Finding(EXPIRE, figures | {"hours": max((first_ms - latest_ms) // HOUR_MS, 0)})


def _short_sessions(group: Group, thresholds: Thresholds) -> Iterator[Finding]:
    """Yield the finding about static members, which the coordinator keeps for a session timeout (KIP-345).

    The sessions of consumer-protocol members are the coordinator's.
    """
    sessions = [_session_ms(group, member) for member in group.classic_members if member["instance_id"] is not None]
    short = [session_ms for session_ms in sessions if session_ms is not None and session_ms < thresholds.restart_ms]
    if short:
        figures = {"members": len(short), "session_ms": min(short), "restart_ms": thresholds.restart_ms}
        settings = session_timeout(group, 2 * thresholds.restart_ms)
        names = {"setting": " or ".join(settings), "value": " or ".join(dict.fromkeys(settings.values()))}
        names["restarts"] = in_restarts(group)
        yield Finding(SHORT_SESSION, figures, names, settings)


def _shared_instances(group: Group) -> Iterator[Finding]:
    """Yield the finding about static members with one id, as pods of a Deployment with a fixed id have (KIP-345)."""
    counts = Counter(member["instance_id"] for member in group.members if member["instance_id"] is not None)
    shared = sorted(instance_id for instance_id, members in counts.items() if members > 1)
    if not shared:
        return
    members = sum(counts[instance_id] - 1 for instance_id in shared)
    of_classic = {member["instance_id"] for member in group.classic_members}
    kind = SHARED_BY_CONSUMERS if of_classic.isdisjoint(shared) else SHARED_INSTANCE
    names = {"instance_id": ", ".join(shared), "remedy": _with_own_ids(group)}
    yield Finding(kind, {"members": members}, names)


def _with_own_ids(group: Group) -> str:
    name = setting(group, INSTANCE_ID)
    if group.kind.kind is GroupKind.CONNECT_SINK:
        return f"Remove {name} from the connector's configuration: all its tasks have the same settings."
    return f"Derive {name} from something that no two consumers share, such as the name of a StatefulSet's pod."


def _missing_topics(group: Group) -> Iterator[Finding]:
    """Yield the finding about topics that do not exist, of a cluster of which some topics are known.

    Of a group with rejected rows, the names in the others may be wrong, too. Brokers delete the committed offsets of a
    topic with it: one that has some is only not shown, as in dumps of ``__consumer_offsets``, which have few topics.
    """
    if group.rejected or not group.topics.has_topics_of(group.cluster):
        return
    committed = {row["topic"] for row in group.topic_lag}
    of_members = [
        {topic for topic in member["subscription"] or () if not (topic in committed or group.has_topic(topic))}
        for member in group.members
    ]
    missing = sorted(set().union(*of_members))
    if missing:
        members = sum(map(bool, of_members))
        shown = [*missing[:NAMED], *([f"{len(missing) - NAMED} more"] if len(missing) > NAMED else [])]
        yield Finding(TOPIC_MISSING, {"members": members, "topics": len(missing)}, {"topics": ", ".join(shown)})


def _regular_expressions(group: Group) -> Iterator[Finding]:
    """Yield the findings about members whose regular expression the brokers match (KIP-848)."""
    with_regex = [member for member in group.members if member["subscribed_regex"] is not None]
    found = [member for member in with_regex if member["subscription"]]
    without = [member for member in with_regex if not member["subscription"]]
    for kind, members in ((REGEX_FINDS_NOTHING, without), (REGEX, found)):
        if members:
            names = {"regex": ", ".join(sorted({member["subscribed_regex"] for member in members}))}
            yield Finding(kind, {"members": len(members)}, names)


def _overdue_commits(group: Group, thresholds: Thresholds) -> Iterator[Finding]:
    """Yield the finding about the member whose latest commit is oldest, compared with its max.poll.interval.ms.

    It is assumed that the records of its lag did not arrive just now: only then did the consumer have any to process.
    """
    latest_ms = group.topics.latest_commit_ms.get(group.cluster, 0)
    of_members = {row["member_id"]: row for row in group.members if group.rows[COMMITS]}
    poll_ms = {name: limit for name, row in of_members.items() if (limit := _longest_poll_ms(row)) is not None}
    overdue = [
        row
        for row in group.rows[COMMITS]
        if row["member_id"] in poll_ms
        and row["lag"] >= thresholds.lag_records
        and latest_ms - row["committed_at_ms"] >= thresholds.poll_interval_share * poll_ms[row["member_id"]]
    ]
    first = min(overdue, key=lambda row: (row["committed_at_ms"], row["member_id"]), default=None)
    if first is not None:
        figures = {"lag": first["lag"], "age_ms": latest_ms - first["committed_at_ms"], "members": len(overdue)}
        member = first["member_id"]
        names = {"member": member, **_between_polls(group)}
        yield Finding(OVERDUE, figures | {"poll_ms": poll_ms[member]}, names)


def _longest_poll_ms(member: Row) -> int | None:
    """Return how long a member may process records before it leaves its group, or is removed from it; None: unknown.

    A member joins with its poll interval as rebalance timeout, unless its library has a setting for either.
    """
    given: int | None = member["rebalance_timeout_ms"]
    settings = records_of([member])[0].settings
    if POLL_INTERVAL not in settings:
        return given
    return MAX_POLL_INTERVAL_MS if given is None or REBALANCE_TIMEOUT in settings else given


def _between_polls(group: Group) -> dict[str, str]:
    """Return the setting that limits how long a consumer may process records, and what to do before it is exceeded.

    Without a poll interval, a member stays until it is late for a rebalance.
    """
    if POLL_INTERVAL not in group.record.settings:
        name = rebalance_timeout(group)
        return {
            "setting": name,
            "remedy": f"See what the consumer does with the records that it has fetched. If it processes them, let it "
            f"fetch fewer, or raise {name}, before a rebalance removes it from the group.",
        }
    fewer = f"lower {setting(group, POLL_RECORDS)} or " if POLL_RECORDS in group.record.settings else ""
    name = setting(group, POLL_INTERVAL)
    remedy = (
        f"See what the consumer does between two polls. If it processes records, {fewer}raise {name} before it has to "
        "leave the group."
    )
    return {"setting": name, "remedy": remedy}


def _rebalances(group: Group, thresholds: Thresholds) -> Iterator[Finding]:
    """Yield the findings about rebalances when the group was read, or in the hour before its last generation.

    A last generation that is an hour older than the latest commit of the cluster is past.
    """
    state = next((member["group_state"] for member in group.members if member["group_state"]), None)
    if state in REBALANCING_STATES:
        yield Finding(REBALANCING, names={"state": state})
    since_ms = group.topics.latest_commit_ms.get(group.cluster, group.topics.read_at_ms) - HOUR_MS
    found = _from_history(group, thresholds, since_ms) or _from_generations(group, thresholds, since_ms)
    if found is not None:
        yield found


def _from_history(group: Group, thresholds: Thresholds, since_ms: int) -> Finding | None:
    """Return the finding about rebalances of the past, with the cause of most, and what would have prevented them."""
    last = group.last_hour
    if last is None or last["last_ms"] < since_ms or last["rebalances"] < thresholds.rebalances_per_hour:
        return None
    span_ms = last["last_ms"] - last["first_ms"]
    figures = {"rebalances": last["rebalances"], "span_ms": span_ms, "generation": last["generation"]}
    at = utc_time(last["last_ms"]) or f"{last['last_ms']} ms"
    names = {"story": in_words(last), "at": at, "polls": _polls(group), "prevented": ""}
    finding = Finding(REPEATED_IN_HISTORY, figures, names)
    prevented = [row for row in last["prevented"] or () if is_possible(group, row["setting"], row["value"], thresholds)]
    best = max(prevented, key=_most_prevented, default=None)
    return finding if best is None else _with_prevention(group, finding, best)


def _most_prevented(row: Row) -> tuple[int, int, str, str]:
    return row["rebalances_saved"], row["unowned_ms_saved"], row["setting"], row["value"]


def _with_prevention(group: Group, finding: Finding, best: Row) -> Finding:
    """Add the setting that would have prevented most rebalances of the group's whole history."""
    saved, longer_ms = best["rebalances_saved"], -best["unowned_ms_saved"]
    of, longer = plural(best["rebalances"], "rebalance"), f", with {longer_ms / 1000:,.1f} s more partition downtime"
    prevented = (
        f" {how_to_change(group, best['setting'], best['value'])} In its history, simulated again with assumed "
        f"latencies, that would have prevented {saved:,} of {of}{longer if longer_ms > 0 else ''}."
    )
    return replace(
        finding,
        names={**finding.names, "prevented": prevented},
        settings=settings_of(group, best["setting"], best["value"]),
        saving={name: best[name] for name in ("rebalances_saved", "unowned_ms_saved")},
    )


def _from_generations(group: Group, thresholds: Thresholds, since_ms: int) -> Finding | None:
    """Return the finding about rebalances between the last generation and an earlier one.

    They give the number of rebalances between them, although the log of ``__consumer_offsets`` is compacted.
    """
    timed = [member for member in group.members if all(member[name] is not None for name in _GENERATIONS)]
    last = max(timed, key=lambda member: int(member["generation_at_ms"]), default=None)
    if last is None or last["generation_at_ms"] < since_ms:
        return None
    figures = {
        "rebalances": last["generation"] - last["earlier_generation"],
        "span_ms": last["generation_at_ms"] - last["earlier_generation_at_ms"],
        "generation": last["generation"],
    }
    if figures["rebalances"] < thresholds.rebalances_per_hour or figures["span_ms"] > HOUR_MS:
        return None
    return Finding(REPEATED, figures, {"polls": _polls(group)})


def _polls(group: Group) -> str:
    """Return that polls may take too long, as a part of a list, if the group's clients have a limit for them."""
    if POLL_INTERVAL not in group.record.settings:
        return ""
    return f"polls that take longer than {setting(group, POLL_INTERVAL)}, "


def _session_ms(group: Group, member: Row) -> int | None:
    """Return a member's session timeout; None if it has the default of another library, which is not known."""
    given: int | None = member["session_timeout_ms"]
    client = client_of(member)
    if given is not None or client.library not in ("", JAVA):
        return given
    return group.rules_of(client).session_timeout_ms
