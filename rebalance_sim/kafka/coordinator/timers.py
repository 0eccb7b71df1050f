"""The deadlines of a group at its coordinator."""

from rebalance_sim.kafka.coordinator.classic_group import (
    NEVER,
    NEW_MEMBER_JOIN_TIMEOUT_MS,
    NONE,
    ClassicGroup,
    Reason,
    State,
    comes_before,
)
from rebalance_sim.kafka.coordinator.rebalance import (
    expire_join_phase,
    expire_pending_syncs,
    remove_and_rebalance,
    remove_pending_and_complete_join,
)
from rebalance_sim.kafka.kernel import inner_kernel
from rebalance_sim.versions import CoordinatorRules


@inner_kernel
def next_deadline(c: ClassicGroup) -> int:
    """Return a time before which nothing is due; NEVER if there is none."""
    return min(c.group.sessions_end, c.group.join_deadline, c.group.sync_deadline)


@inner_kernel
def expire_next(c: ClassicGroup, now: int) -> bool:
    """Do what is due first, if anything is due by now; tell whether something was.

    What it begins, it begins at its deadline. Of what is due at the same time, that comes first which was set first.
    """
    group = c.group
    if next_deadline(c) > now:
        return False
    member = NONE
    if group.sessions_end <= min(group.join_deadline, group.sync_deadline):
        member = _first_session(c)
        group.sessions_end = NEVER if member == NONE else c.members[member].session_deadline
    due = next_deadline(c)
    if due > now:
        return False
    first = NEVER if member == NONE or group.sessions_end > due else c.members[member].session_timer
    if group.join_deadline == due:
        first = min(first, group.join_timer)
    if group.sync_deadline == due:
        first = min(first, group.sync_timer)
    if group.join_deadline == due and group.join_timer == first:
        expire_join_phase(c, due)
    elif group.sync_deadline == due and group.sync_timer == first:
        expire_pending_syncs(c, due)
    else:
        _expire_session(c, member, due)
    return True


@inner_kernel
def _first_session(c: ClassicGroup) -> int:
    """Return the member whose session ends first, pending ids included, or NONE.

    In 1.0 it may have been removed (``classic_group.remove``).
    """
    first = NONE
    for m in range(c.group.made):
        member = c.members[m]
        if not member.known and not member.pending and c.rules > CoordinatorRules.SCALA_1_0:
            continue
        if member.session_deadline != NEVER and (first == NONE or _ends_before(c, m, first)):
            first = m
    return first


@inner_kernel
def _ends_before(c: ClassicGroup, one: int, other: int) -> bool:
    """Compare the ends of two sessions."""
    a, b = c.members[one], c.members[other]
    if a.session_deadline != b.session_deadline:
        return a.session_deadline < b.session_deadline
    if a.session_timer != b.session_timer:
        return a.session_timer < b.session_timer
    return comes_before(c, one, other)


@inner_kernel
def _expire_session(c: ClassicGroup, number: int, now: int) -> None:
    """Remove a member of which nothing was heard (``onExpireHeartbeat``), unless it waits for an answer."""
    member = c.members[number]
    member.session_timers -= 1
    member.session_timer = member.last_session_timer
    if c.rules > CoordinatorRules.SCALA_1_0 or member.session_timers <= 0:
        member.session_deadline = NEVER
    if c.group.state == State.DEAD:
        return
    if member.pending:
        remove_pending_and_complete_join(c, number, now)
    elif not _is_kept(c, number, now):
        c.group.evicted += member.known
        remove_and_rebalance(c, number, Reason.SESSION_EXPIRED, now)


@inner_kernel
def _is_kept(c: ClassicGroup, number: int, now: int) -> bool:
    """Tell whether a member stays at the end of its session (``shouldKeepMemberAlive``, ``hasSatisfiedHeartbeat``).

    Who waits for an answer does; since 2.1.1 (KAFKA-7610) a new member only for a time.
    """
    member = c.members[number]
    waits = member.join != NONE or member.sync != NONE
    if not waits or not member.is_new or c.rules == CoordinatorRules.SCALA_1_0:
        return waits
    return c.rules == CoordinatorRules.SCALA_2_3 and member.latest_heartbeat_ms + NEW_MEMBER_JOIN_TIMEOUT_MS > now
