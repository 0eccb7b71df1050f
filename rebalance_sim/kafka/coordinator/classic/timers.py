"""The deadlines of a classic group."""

from rebalance_sim.kafka.coordinator.classic.classic_group import (
    NEVER,
    NEW_MEMBER_JOIN_TIMEOUT_MS,
    NONE,
    ClassicGroup,
    Reason,
    State,
    comes_before,
)
from rebalance_sim.kafka.coordinator.classic.rebalance import (
    expire_join_phase,
    expire_pending_syncs,
    remove_and_rebalance,
    remove_pending_and_complete_join,
)
from rebalance_sim.kafka.runtime.kernel import inner_kernel
from rebalance_sim.releases import CoordinatorRules


@inner_kernel
def next_deadline(classic: ClassicGroup) -> int:
    """Return a time before which no timer expires; NEVER if there is none."""
    return min(classic.group.sessions_end, classic.group.join_deadline, classic.group.sync_deadline)


@inner_kernel
def expire_next(classic: ClassicGroup, now: int) -> bool:
    """Handle the first timer that is due; return False if none is.

    The timer takes effect at its own deadline. If several are due at the same time, the timer set first expires first.
    """
    group = classic.group
    if next_deadline(classic) > now:
        return False
    member = NONE
    if group.sessions_end <= min(group.join_deadline, group.sync_deadline):
        member = _first_session(classic)
        group.sessions_end = NEVER if member == NONE else classic.members[member].session_deadline
    due = next_deadline(classic)
    if due > now:
        return False
    first = NEVER if member == NONE or group.sessions_end > due else classic.members[member].session_timer
    if group.join_deadline == due:
        first = min(first, group.join_timer)
    if group.sync_deadline == due:
        first = min(first, group.sync_timer)
    if group.join_deadline == due and group.join_timer == first:
        expire_join_phase(classic, due)
    elif group.sync_deadline == due and group.sync_timer == first:
        expire_pending_syncs(classic, due)
    else:
        _expire_session(classic, member, due)
    return True


@inner_kernel
def _first_session(classic: ClassicGroup) -> int:
    """Return the member whose session expires first, pending ids included, or NONE.

    In 1.0 it may be a removed member (``classic_group.take_out``).
    """
    first = NONE
    for number in range(classic.group.made):
        member = classic.members[number]
        if not member.known and not member.pending and classic.rules > CoordinatorRules.SCALA_1_0:
            continue
        if member.session_deadline != NEVER and (first == NONE or _ends_before(classic, number, first)):
            first = number
    return first


@inner_kernel
def _ends_before(classic: ClassicGroup, number: int, rival: int) -> bool:
    """Compare the ends of two sessions."""
    a, b = classic.members[number], classic.members[rival]
    if a.session_deadline != b.session_deadline:
        return a.session_deadline < b.session_deadline
    if a.session_timer != b.session_timer:
        return a.session_timer < b.session_timer
    return comes_before(classic, number, rival)


@inner_kernel
def _expire_session(classic: ClassicGroup, number: int, now: int) -> None:
    """Remove a member whose session expired (``onExpireHeartbeat``), unless it waits for an answer."""
    member = classic.members[number]
    classic.group.sessions_expired += 1
    member.session_timers -= 1
    member.session_timer = member.last_session_timer
    if classic.rules > CoordinatorRules.SCALA_1_0 or member.session_timers <= 0:
        member.session_deadline = NEVER
    if classic.group.state == State.DEAD:
        return
    if member.pending:
        remove_pending_and_complete_join(classic, number, now)
    elif not _is_kept(classic, number, now):
        classic.group.evicted += member.known
        remove_and_rebalance(classic, number, Reason.SESSION_EXPIRED, now)


@inner_kernel
def _is_kept(classic: ClassicGroup, number: int, now: int) -> bool:
    """Return whether a member survives its session (``shouldKeepMemberAlive``, ``hasSatisfiedHeartbeat``).

    A member that waits for an answer stays; since 2.1.1 (KAFKA-7610) a new member only for a limited time.
    """
    member = classic.members[number]
    waits = member.join != NONE or member.sync != NONE
    if not waits or not member.is_new or classic.rules == CoordinatorRules.SCALA_1_0:
        return waits
    return classic.rules < CoordinatorRules.SCALA_2_5 and member.latest_heartbeat_ms + NEW_MEMBER_JOIN_TIMEOUT_MS > now
