"""Why a generation came about, from what the coordinator stored of it and of the one before.

The coordinator stores no reason. What follows from its rules is a cause; where several causes leave the same records,
the cause is unknown.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from rebalance_sim.kafka.history.changes import Change, Participant
from rebalance_sim.wording import enumerated, plural

_SHOWN = 3
"""Names in a sentence."""
_PERHAPS_BACK = "{} may have left this host before: a client id that is not set may be another after a restart"


class Cause(StrEnum):
    """Why a generation came about."""

    FIRST_SEEN = "first generation seen"
    EMPTIED = "group emptied"
    RESTARTED = "member restarted"
    REPLACED = "static member replaced"
    JOINED_AND_LEFT = "members joined and left"
    JOINED = "member joined"
    LEFT = "member left"
    SUBSCRIPTION = "subscription changed"
    GREW = "topic grew"
    REVOKED = "revoked partitions reassigned"
    LEADER = "leader rejoined"
    UNKNOWN = "unknown"


class Explanation(NamedTuple):
    """A cause and the evidence for it."""

    cause: Cause
    evidence: str
    """What the records show, in words."""
    member: str | None = None
    """The name of the only member that it is about; None if it is about several, or none."""


def explain(change: Change, *, may_lack_records: bool, earlier: str = "") -> Explanation:
    """Return the cause of a generation.

    ``may_lack_records`` says whether records of the group between the two generations may be missing. ``earlier``
    says why there is no generation before the first.
    """
    if change.before is None:
        return Explanation(Cause.FIRST_SEEN, earlier)
    if change.skipped and may_lack_records:
        first, last = change.before.number + 1, change.now.number - 1
        which = f"generation {first}" if first == last else f"generations {first} to {last}"
        return Explanation(Cause.UNKNOWN, f"no record of {which}: not in the dump, or never stable")
    found = _of_members(change) or _of_topics(change) or _of_same_members(change)
    if not change.skipped:
        return found
    never = plural(change.skipped, "generation")
    return found._replace(evidence=f"{found.evidence}; {never} before it never became stable")


def _of_members(change: Change) -> Explanation | None:
    """Return the cause if members came or went."""
    came, gone = len(change.joined), len(change.left)
    parts = [
        *_part(change.restarted, "rejoined with a new member id: restarted, or removed and back"),
        *_part(change.replaced, "replaced: a static member rejoined with a new member id"),
        *_part(change.joined, "joined"),
        *_part(change.left, f"left{_timed_out(change)}"),
        *([_PERHAPS_BACK.format(_names(change.perhaps_back))] if change.perhaps_back else []),
    ]
    if not parts:
        return None
    if not change.now.members:
        cause = Cause.EMPTIED
    elif change.restarted:
        cause = Cause.RESTARTED
    elif change.perhaps_back:
        cause = Cause.UNKNOWN
    elif came and gone:
        cause = Cause.JOINED_AND_LEFT
    elif came or gone:
        cause = Cause.JOINED if came else Cause.LEFT
    else:
        cause = Cause.REPLACED
    about = (*change.restarted, *change.replaced, *change.joined, *change.left)
    return Explanation(cause, "; ".join(parts), _only(about))


def _of_topics(change: Change) -> Explanation | None:
    """Return the cause if subscriptions changed, or topics have more partitions."""
    if change.changed_subscription:
        parts = _part(change.changed_subscription, "subscribed to other topics")
        parts += [f"new: {_shown(change.topics_added)}"] if change.topics_added else []
        parts += [f"no longer: {_shown(change.topics_removed)}"] if change.topics_removed else []
        return Explanation(Cause.SUBSCRIPTION, "; ".join(parts), _only(change.changed_subscription))
    if change.topics_grown:
        grown = [f"{each.topic} from {each.before} to {each.partitions} partitions" for each in change.topics_grown]
        return Explanation(Cause.GREW, _shown(grown))
    return None


def _of_same_members(change: Change) -> Explanation:
    """Return the cause if members and topics are the same."""
    if not change.now.members:
        return Explanation(Cause.EMPTIED, "no members, as before")
    if change.revoked_before:
        revoked = plural(change.revoked_before, "partition")
        return Explanation(Cause.REVOKED, f"{revoked} revoked after the generation before, whose owners then rejoined")
    if change.now.leader is None or change.skipped:
        return Explanation(Cause.UNKNOWN, "same members and subscriptions")
    if change.sent_other_bytes:
        members = _names(change.sent_other_bytes)
        evidence = f"same members and topics; {members} rejoined with other owned partitions or user data"
        return Explanation(Cause.UNKNOWN, f"{evidence}, or the leader rejoined")
    # Of members that rejoin with the same subscription, only the leader starts a rebalance in a stable group.
    return Explanation(Cause.LEADER, "same members and subscriptions: only the leader can start such a rebalance")


def _timed_out(change: Change) -> str:
    """Return what is known of whether members that left timed out."""
    timeouts = [timeout for each in change.left for timeout in (each.session_timeout_ms, each.rebalance_timeout_ms)]
    known = [timeout for timeout in timeouts if timeout is not None]
    if change.since_ms is None or len(known) < len(timeouts) or change.since_ms >= min(known, default=0):
        return " or timed out"
    # The session timers start again when all members have joined.
    return f" by LeaveGroup: {change.since_ms / 1000:,.1f} s after the generation before no timeout can have expired"


def _part(members: Sequence[Participant], verb: str) -> list[str]:
    return [f"{_names(members)} {verb}"] if members else []


def _names(members: Sequence[Participant]) -> str:
    if len(members) == 1:
        return f"member {members[0].name}"
    return f"{plural(len(members), 'member')} ({_shown(sorted(each.name for each in members))})"


def _shown(names: Sequence[str]) -> str:
    shown = list(names[:_SHOWN])
    return enumerated(shown + [f"{len(names) - _SHOWN} more"] * (len(names) > _SHOWN))


def _only(members: Sequence[Participant]) -> str | None:
    names = {member.name for member in members}
    return names.pop() if len(names) == 1 else None
