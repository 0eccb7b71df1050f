"""The phases of a classic rebalance.

``GroupCoordinator`` (1.0 to 3.9) and ``GroupMetadataManager`` (4.x). The join phase ends when all members have joined,
or at a deadline. The caller then elects the protocol and calls ``begin_generation``. The sync phase ends when the
leader's assignments have been written to the offsets topic.
"""

from rebalance_sim.kafka.coordinator.classic.classic_group import (
    EMPTY_ASSIGNMENT,
    NEVER,
    NEW_MEMBER_JOIN_TIMEOUT_MS,
    NONE,
    AwaitedElection,
    ClassicGroup,
    JoinRequest,
    Reason,
    State,
    Write,
    WriteKind,
    add,
    answer_joined,
    answer_parked_join,
    answer_parked_sync,
    can_rebalance,
    comes_before,
    first_member,
    forget_pending_sync,
    next_timer,
    note_unanswered,
    park_join,
    put,
    rebalance_timeout_ms,
    remove,
    restart_session,
    set_session,
    transition_to,
    wait_for_joins,
    wait_for_syncs,
)
from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.coordinator.write_errors import response_error
from rebalance_sim.kafka.runtime.kernel import inner_kernel, kernel_in_place
from rebalance_sim.releases import CoordinatorRules


@inner_kernel
def add_member_and_rebalance(classic: ClassicGroup, number: int, request: JoinRequest, now: int) -> None:
    """Add a member and rebalance (``addMemberAndRebalance``, ``addMemberThenRebalanceOrCompleteJoin``)."""
    group = classic.group
    if group.state == State.PREPARING_REBALANCE:
        is_java = classic.rules >= CoordinatorRules.JAVA
        first_of_all = group.previous_state == State.EMPTY if is_java else group.generation == 0
        group.new_member_added = group.new_member_added or first_of_all
    add(classic, number, request)
    if classic.rules >= CoordinatorRules.SCALA_2_3:
        restart_session(classic, number, NEW_MEMBER_JOIN_TIMEOUT_MS, now)
    rebalance_or_complete_join(classic, Reason.NEW_MEMBER, number, now)


@inner_kernel
def update_member_and_rebalance(classic: ClassicGroup, request: JoinRequest, reason: int, now: int) -> None:
    """Park a known member's JoinGroup (``updateMemberAndRebalance``)."""
    update_member(classic, request.member, request)
    rebalance_or_complete_join(classic, reason, request.member, now)


@inner_kernel
def update_member(classic: ClassicGroup, number: int, request: JoinRequest) -> None:
    """Update a known member from its JoinGroup; since 3.3.2 its timeouts too."""
    park_join(classic, number, request)
    if classic.rules >= CoordinatorRules.SCALA_3_3_2:
        classic.members[number].session_timeout_ms = request.session_timeout_ms
        classic.members[number].rebalance_timeout_ms = request.rebalance_timeout_ms


@inner_kernel
def rebalance_or_complete_join(classic: ClassicGroup, reason: int, member: int, now: int) -> None:
    """Begin a rebalance, or end the join phase if all members have joined (``maybePrepareRebalance``)."""
    if can_rebalance(classic.group.state):
        prepare_rebalance(classic, reason, member, now)
    else:
        complete_join_if_all_joined(classic, now)


@inner_kernel
def complete_join_if_all_joined(classic: ClassicGroup, now: int) -> None:
    """End the join phase if all members have joined, but not an initial delay (``maybeCompleteJoinPhase``)."""
    group = classic.group
    is_java = classic.rules >= CoordinatorRules.JAVA
    is_initial = group.previous_state == State.EMPTY if is_java else group.is_initial_delay
    if group.state != State.PREPARING_REBALANCE or group.election != AwaitedElection.NOT_DUE:
        return
    if not is_initial and has_all_members_joined(classic):
        complete_join(classic, now)


@kernel_in_place
def has_all_members_joined(classic: ClassicGroup) -> bool:
    """Return whether all members have joined and no id is pending (since 2.2; before, no id ever is)."""
    return classic.group.member_count == classic.group.joining and classic.group.pending == 0


@inner_kernel
def prepare_rebalance(classic: ClassicGroup, reason: int, member: int, now: int) -> None:
    """Begin a rebalance (``prepareRebalance``)."""
    group = classic.group
    if group.state == State.COMPLETING_REBALANCE:
        fail_parked_syncs(classic, Errors.REBALANCE_IN_PROGRESS, now)
    clear_pending_syncs(classic)
    group.is_initial_delay = group.state == State.EMPTY
    transition_to(classic, State.PREPARING_REBALANCE, now)
    group.reason, group.reason_member = reason, member
    group.rebalances += 1
    if group.is_initial_delay:
        group.initial_delays += 1
        group.delay_ms = classic.config.group_initial_rebalance_delay_ms
        group.remaining_ms = max(rebalance_timeout_ms(classic) - group.delay_ms, 0)
        wait_for_joins(classic, group.delay_ms, now)
    elif has_all_members_joined(classic):
        complete_join(classic, now)
    else:
        wait_for_joins(classic, rebalance_timeout_ms(classic), now)


@inner_kernel
def expire_join_phase(classic: ClassicGroup, now: int) -> None:
    """Handle the end of the join phase, or of an initial delay (``InitialDelayedJoin``).

    The delay is extended while new members join, at most to the rebalance timeout.
    """
    group = classic.group
    if not group.is_initial_delay or not group.new_member_added or group.remaining_ms == 0:
        complete_join(classic, now)
        return
    group.new_member_added = False
    waited = group.delay_ms
    group.delay_ms = min(classic.config.group_initial_rebalance_delay_ms, group.remaining_ms)
    group.remaining_ms = max(group.remaining_ms - waited, 0)
    wait_for_joins(classic, group.delay_ms, now)


@inner_kernel
def complete_join(classic: ClassicGroup, now: int) -> None:
    """End the join phase up to the election (``onCompleteJoin``, ``completeClassicGroupJoin``).

    Members that have not rejoined are removed. Static members (KIP-345, 2.3 and later) stay, but do not lead.
    """
    group = classic.group
    group.join_deadline = NEVER
    group.is_initial_delay = False
    for number in range(group.made):
        member = classic.members[number]
        is_static = member.instance != NONE or member.taken_for_static
        if member.known and member.join == NONE and not is_static:
            remove(classic, number)
            group.evicted += 1
    _elect_joined_leader(classic)
    if group.member_count > 0 and (group.leader == NONE or classic.members[group.leader].join == NONE):
        wait_for_joins(classic, rebalance_timeout_ms(classic), now)
        return
    group.generation += 1
    clear_pending_syncs(classic)
    if group.member_count == 0:
        group.protocol = NONE
        transition_to(classic, State.EMPTY, now)
        begin_write(classic, WriteKind.EMPTY_GROUP, EMPTY_ASSIGNMENT)
        return
    group.election = AwaitedElection.OF_GENERATION


@inner_kernel
def _elect_joined_leader(classic: ClassicGroup) -> None:
    """Replace a leader that has not rejoined by a member that has (``maybeElectNewJoinedLeader``, 2.3 and later).

    Only a static member stays in the group although it has not rejoined.
    """
    leader = classic.group.leader
    if leader != NONE and classic.members[leader].join == NONE:
        successor = first_member(classic, True)
        if successor != NONE:
            classic.group.leader = successor


@inner_kernel
def begin_generation(classic: ClassicGroup, protocol: int, now: int) -> None:
    """Begin the generation after the election: answer all joins, and wait for SyncGroup."""
    group = classic.group
    group.election = AwaitedElection.NOT_DUE
    group.protocol = protocol
    transition_to(classic, State.COMPLETING_REBALANCE, now)
    timer = next_timer(classic)
    for number in range(group.made):
        member = classic.members[number]
        if not member.known:
            continue
        if member.join != NONE:
            answer_joined(classic, member.join, number, group.leader, number == group.leader, False)
            member.join = NONE
            group.joining -= 1
        set_session(classic, number, member.session_timeout_ms, timer, now)
        member.is_new = False
        if classic.rules >= CoordinatorRules.SCALA_2_8_1:
            member.pending_sync = True
            group.pending_syncs += 1
    if group.pending_syncs > 0:
        wait_for_syncs(classic, rebalance_timeout_ms(classic), now)


@inner_kernel
def clear_pending_syncs(classic: ClassicGroup) -> None:
    """Stop waiting for all SyncGroups."""
    classic.group.sync_deadline = NEVER
    if classic.group.pending_syncs > 0:
        for number in range(classic.group.made):
            forget_pending_sync(classic, number)


@inner_kernel
def receive_sync(classic: ClassicGroup, number: int) -> None:
    """Record that a member has sent its SyncGroup (``removePendingSyncMember``)."""
    forget_pending_sync(classic, number)
    if classic.group.pending_syncs == 0:
        classic.group.sync_deadline = NEVER


@inner_kernel
def expire_pending_syncs(classic: ClassicGroup, now: int) -> None:
    """Remove members that sent no SyncGroup within the rebalance timeout (``expirePendingSync``).

    A static member that was replaced before its SyncGroup is still awaited under its old id, so that the group
    rebalances.
    """
    classic.group.sync_deadline = NEVER
    last = NONE
    for number in range(classic.group.made):
        if classic.members[number].pending_sync:
            classic.group.evicted += classic.members[number].known
            forget_pending_sync(classic, number)
            remove(classic, number)
            last = number
    if last != NONE:
        prepare_rebalance(classic, Reason.NEVER_SYNCED, last, now)


@inner_kernel
def fail_parked_syncs(classic: ClassicGroup, error: int, now: int) -> None:
    """Clear all assignments and fail parked SyncGroups (``resetAndPropagateAssignmentError``)."""
    timer = next_timer(classic)
    for number in range(classic.group.made):
        if classic.members[number].known:
            classic.members[number].assignment = EMPTY_ASSIGNMENT
            if answer_parked_sync(classic, number, error):
                set_session(classic, number, classic.members[number].session_timeout_ms, timer, now)


@inner_kernel
def remove_and_rebalance(classic: ClassicGroup, number: int, reason: int, now: int) -> None:
    """Remove a member and rebalance (``removeMemberAndUpdateGroup``).

    Java's coordinator ends even an initial delay when a timer removes the last member that has not joined.
    """
    if classic.rules >= CoordinatorRules.SCALA_2_3:
        answer_parked_join(classic, number, NONE, Errors.UNKNOWN_MEMBER_ID)
    remove(classic, number)
    if classic.group.state in (State.STABLE, State.COMPLETING_REBALANCE):
        prepare_rebalance(classic, reason, number, now)
    elif classic.group.state == State.PREPARING_REBALANCE:
        _complete_join_after_removal(classic, now)


@inner_kernel
def remove_pending_and_complete_join(classic: ClassicGroup, number: int, now: int) -> None:
    """Remove an id that no client joined with (``removePendingMemberAndUpdateGroup``)."""
    remove(classic, number)
    if classic.group.state == State.PREPARING_REBALANCE:
        _complete_join_after_removal(classic, now)


@inner_kernel
def _complete_join_after_removal(classic: ClassicGroup, now: int) -> None:
    may_end = not classic.group.is_initial_delay or classic.rules >= CoordinatorRules.JAVA
    if may_end and has_all_members_joined(classic):
        complete_join(classic, now)


# ---- Writes to the offsets topic.


@inner_kernel
def begin_write(classic: ClassicGroup, kind: int, assignment: int) -> Write:
    """Begin a write of the group's metadata."""
    write = classic.writes[classic.group.writes % classic.group.write_places]
    assigns = kind == WriteKind.ASSIGNMENTS
    for number in range(classic.group.made):
        member = classic.members[number]
        if member.known:
            member.write = classic.group.writes
            member.written_preferences, member.written_metadata = member.preferences, member.metadata
            member.written_session_timeout_ms = member.session_timeout_ms
            member.written_rebalance_timeout_ms = member.rebalance_timeout_ms
            member.written_assignment = assignment if assigns else member.assignment
            member.written_as = number if assigns else member.assigned_as
    classic.group.writes += 1
    write.kind, write.assignment = kind, assignment
    write.generation, write.leader = classic.group.generation, classic.group.leader
    write.protocol, write.protocol_type = classic.group.protocol, classic.group.protocol_type
    write.state_since_ms = classic.group.state_since_ms
    write.awaited, write.appended = True, False
    return write


@inner_kernel
def end_write(classic: ClassicGroup, error: int, now: int) -> None:
    """End the oldest write; ``error`` is the error of the log."""
    group = classic.group
    write = classic.writes[group.writes_ended % classic.group.write_places]
    group.writes_ended += 1
    answered = response_error(error, classic.rules)
    if answered == Errors.NONE or write.appended:
        keep_stored(classic, write)
    if not write.awaited:
        return
    if write.kind == WriteKind.REPLACEMENT:
        _end_replacement(classic, write, answered, now)
    elif (
        write.kind == WriteKind.ASSIGNMENTS
        and group.state == State.COMPLETING_REBALANCE
        and group.generation == write.generation
    ):
        _end_sync_phase(classic, write, answered, now)


@inner_kernel
def keep_stored(classic: ClassicGroup, write: Write) -> None:
    """Record the new contents of the log: the group as it was when the write began."""
    group = classic.group
    write_number = group.writes_ended - 1
    group.stored = True
    group.stored_generation, group.stored_leader = write.generation, write.leader
    group.stored_protocol, group.stored_protocol_type = write.protocol, write.protocol_type
    group.stored_state_since_ms = write.state_since_ms
    for number in range(group.made):
        member = classic.members[number]
        member.stored = member.first_write <= write_number <= member.write and write.kind != WriteKind.EMPTY_GROUP
        member.stored_preferences, member.stored_metadata = member.written_preferences, member.written_metadata
        member.stored_session_timeout_ms = member.written_session_timeout_ms
        member.stored_rebalance_timeout_ms = member.written_rebalance_timeout_ms
        member.stored_assignment, member.stored_as = member.written_assignment, member.written_as


@inner_kernel
def _end_sync_phase(classic: ClassicGroup, write: Write, error: int, now: int) -> None:
    if error != Errors.NONE:
        fail_parked_syncs(classic, error, now)
        prepare_rebalance(classic, Reason.STORE_FAILED, classic.group.leader, now)
        return
    timer = next_timer(classic)
    for number in range(classic.group.made):
        member = classic.members[number]
        if member.known:
            member.assignment = write.assignment
            member.assigned_as = number
            if answer_parked_sync(classic, number, Errors.NONE):
                set_session(classic, number, member.session_timeout_ms, timer, now)
    transition_to(classic, State.STABLE, now)


@inner_kernel
def _end_replacement(classic: ClassicGroup, write: Write, error: int, now: int) -> None:
    """Answer the JoinGroup that replaced a static member; if the write failed, restore the old one (2.6.1 and later).

    After a success, the JoinGroup that the member has parked by now is answered. After a failure it is dropped, and the
    JoinGroup that began the write is answered, unless it already was: by a rebalance, or because the member was
    replaced again. Up to 3.3 Kafka then sends a second answer, which no client awaits.
    """
    member = classic.members[write.holder]
    waiting = member.join
    if waiting != NONE and error == Errors.NONE:
        leads = classic.group.leader == write.member and write.skips_assignment
        leader = classic.group.leader if write.skips_assignment else write.old_leader
        answer_joined(classic, waiting, write.member, leader, leads, leads)
    if waiting != NONE:
        member.join = NONE
        classic.group.joining -= 1
    if error == Errors.NONE:
        return
    if waiting not in (NONE, write.request):
        note_unanswered(classic, waiting)
    member.preferences, member.protocols, member.metadata = write.preferences, write.protocols, write.metadata
    member.elected_only = write.elected_only
    member.session_timeout_ms, member.rebalance_timeout_ms = write.session_timeout_ms, write.rebalance_timeout_ms
    if not classic.members[write.member].known:
        # Kafka throws an exception that is not reported anywhere: the request gets no answer.
        return
    replace_static_member(classic, write.member, write.old_member)
    restart_session(classic, write.old_member, write.session_timeout_ms, now)
    if write.request in (waiting, write.unanswered):
        answer_joined(classic, write.request, NONE, write.old_leader, False, False)
        classic.answers[classic.answered[0].value - 1].error = error


@inner_kernel
def replace_static_member(classic: ClassicGroup, old: int, new: int) -> None:
    """Transfer a static member's place to another id; requests parked under the old id are fenced
    (``replaceStaticMember``).
    """
    answer_parked_join(classic, old, old, Errors.FENCED_INSTANCE_ID)
    answer_parked_sync(classic, old, Errors.FENCED_INSTANCE_ID)
    before, after = classic.members[old], classic.members[new]
    after.known = True
    put(classic, new)
    # Scala's coordinator changes the id of the member object; a SyncGroup is still awaited under the old id.
    after.is_new = before.is_new and classic.rules < CoordinatorRules.JAVA
    after.taken_for_static = before.taken_for_static
    after.elected_only = before.elected_only
    after.protocol_type, after.protocols = before.protocol_type, before.protocols
    after.preferences, after.metadata = before.preferences, before.metadata
    after.session_timeout_ms, after.rebalance_timeout_ms = before.session_timeout_ms, before.rebalance_timeout_ms
    after.assignment, after.assigned_as = before.assignment, before.assigned_as
    before.known = False
    before.session_deadline = NEVER
    if classic.group.leader == old:
        classic.group.leader = new
    for number in range(classic.group.writes_ended, classic.group.writes):
        write = classic.writes[number % classic.group.write_places]
        if classic.rules < CoordinatorRules.JAVA and write.kind == WriteKind.REPLACEMENT and write.holder == old:
            write.holder = new


# ---- Deadlines


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
