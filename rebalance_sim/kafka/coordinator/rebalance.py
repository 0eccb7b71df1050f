"""The phases of a rebalance of the classic protocol, as the coordinator goes through them.

``GroupCoordinator`` (1.0 to 3.9) and ``GroupMetadataManager`` (4.x). A join phase ends when all members have joined, or
at a deadline. Then the protocol has to be elected; ``begin_generation`` is told which. The sync phase ends when the
assignments that the leader sent are written to the offsets topic.
"""

from rebalance_sim.kafka.coordinator.classic_group import (
    EMPTY_ASSIGNMENT,
    NEVER,
    NEW_MEMBER_JOIN_TIMEOUT_MS,
    NONE,
    ClassicGroup,
    Election,
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
from rebalance_sim.kafka.kernel import inner_kernel, kernel_in_place
from rebalance_sim.versions import CoordinatorRules


@inner_kernel
def add_member_and_rebalance(c: ClassicGroup, number: int, request: JoinRequest, now: int) -> None:
    """Take a new member in (``addMemberAndRebalance``, ``addMemberThenRebalanceOrCompleteJoin``)."""
    group = c.group
    if group.state == State.PREPARING_REBALANCE:
        first_of_all = (
            group.previous_state == State.EMPTY if c.rules >= CoordinatorRules.JAVA else group.generation == 0
        )
        group.new_member_added = group.new_member_added or first_of_all
    add(c, number, request)
    if c.rules >= CoordinatorRules.SCALA_2_3:
        restart_session(c, number, NEW_MEMBER_JOIN_TIMEOUT_MS, now)
    rebalance_or_complete_join(c, Reason.NEW_MEMBER, number, now)


@inner_kernel
def update_member_and_rebalance(c: ClassicGroup, request: JoinRequest, reason: int, now: int) -> None:
    """Park a known member's JoinGroup (``updateMemberAndRebalance``)."""
    update_member(c, request.member, request)
    rebalance_or_complete_join(c, reason, request.member, now)


@inner_kernel
def update_member(c: ClassicGroup, number: int, request: JoinRequest) -> None:
    """Take what a known member says of itself; its timeouts too since 3.3."""
    park_join(c, number, request)
    if c.rules >= CoordinatorRules.SCALA_3_9:
        c.members[number].session_timeout_ms = request.session_timeout_ms
        c.members[number].rebalance_timeout_ms = request.rebalance_timeout_ms


@inner_kernel
def rebalance_or_complete_join(c: ClassicGroup, reason: int, member: int, now: int) -> None:
    """Begin a rebalance, or end the join phase of the one that goes on, if everybody has joined."""
    if can_rebalance(c.group.state):
        prepare_rebalance(c, reason, member, now)
    else:
        complete_join_if_all_joined(c, now)


@inner_kernel
def complete_join_if_all_joined(c: ClassicGroup, now: int) -> None:
    """End the join phase if everybody has joined; an initial delay is waited for (``maybeCompleteJoinPhase``)."""
    group = c.group
    is_initial = group.previous_state == State.EMPTY if c.rules >= CoordinatorRules.JAVA else group.is_initial_delay
    if group.state != State.PREPARING_REBALANCE or group.election != Election.NOT_DUE:
        return
    if not is_initial and has_all_members_joined(c):
        complete_join(c, now)


@kernel_in_place
def has_all_members_joined(c: ClassicGroup) -> bool:
    """Tell whether all members have, and no id is pending (2.2 and later; before, none ever is)."""
    return c.group.members == c.group.joining and c.group.pending == 0


@inner_kernel
def prepare_rebalance(c: ClassicGroup, reason: int, member: int, now: int) -> None:
    """Begin a rebalance (``prepareRebalance``)."""
    group = c.group
    if group.state == State.COMPLETING_REBALANCE:
        fail_parked_syncs(c, Errors.REBALANCE_IN_PROGRESS, now)
    clear_pending_syncs(c)
    group.is_initial_delay = group.state == State.EMPTY
    transition_to(c, State.PREPARING_REBALANCE, now)
    group.reason, group.reason_member = reason, member
    group.rebalances += 1
    if group.is_initial_delay:
        group.delay_ms = c.config.group_initial_rebalance_delay_ms
        group.remaining_ms = max(rebalance_timeout_ms(c) - group.delay_ms, 0)
        wait_for_joins(c, group.delay_ms, now)
    elif has_all_members_joined(c):
        complete_join(c, now)
    else:
        wait_for_joins(c, rebalance_timeout_ms(c), now)


@inner_kernel
def expire_join_phase(c: ClassicGroup, now: int) -> None:
    """Do what is due at the end of the join phase, or of an initial delay (``InitialDelayedJoin``)."""
    group = c.group
    if not group.is_initial_delay or not group.new_member_added or group.remaining_ms == 0:
        complete_join(c, now)
        return
    group.new_member_added = False
    waited = group.delay_ms
    group.delay_ms = min(c.config.group_initial_rebalance_delay_ms, group.remaining_ms)
    group.remaining_ms = max(group.remaining_ms - waited, 0)
    wait_for_joins(c, group.delay_ms, now)


@inner_kernel
def complete_join(c: ClassicGroup, now: int) -> None:
    """End the join phase (``onCompleteJoin``, ``completeClassicGroupJoin``), as far as the election.

    Who has not joined is removed; static members (2.3 and later) are kept, but do not lead.
    """
    group = c.group
    group.join_deadline = NEVER
    group.is_initial_delay = False
    for m in range(group.made):
        member = c.members[m]
        is_static = member.instance != NONE or member.taken_for_static
        if member.known and member.join == NONE and not is_static:
            remove(c, m)
            group.evicted += 1
    if not _leader_has_joined(c) and group.members > 0:
        wait_for_joins(c, rebalance_timeout_ms(c), now)
        return
    group.generation += 1
    clear_pending_syncs(c)
    if group.members == 0:
        group.protocol = NONE
        transition_to(c, State.EMPTY, now)
        begin_write(c, WriteKind.EMPTY_GROUP, EMPTY_ASSIGNMENT)
        return
    group.election = Election.OF_GENERATION


@inner_kernel
def _leader_has_joined(c: ClassicGroup) -> bool:
    """Make a member lead that has joined, if there is one (``maybeElectNewJoinedLeader``, 2.3 and later)."""
    if c.group.leader == NONE:
        return False
    if c.members[c.group.leader].join != NONE:
        return True
    successor = first_member(c, True)
    if successor == NONE:
        return False
    c.group.leader = successor
    return True


@inner_kernel
def begin_generation(c: ClassicGroup, protocol: int, now: int) -> None:
    """Go on after the election: answer all that have joined, and wait for their SyncGroup."""
    group = c.group
    group.election = Election.NOT_DUE
    group.protocol = protocol
    transition_to(c, State.COMPLETING_REBALANCE, now)
    timer = next_timer(c)
    for m in range(group.made):
        member = c.members[m]
        if not member.known:
            continue
        if member.join != NONE:
            answer_joined(c, member.join, m, group.leader, m == group.leader, False)
            member.join = NONE
            group.joining -= 1
        set_session(c, m, member.session_timeout_ms, timer, now)
        member.is_new = False
        if c.rules >= CoordinatorRules.SCALA_3_9:
            member.pending_sync = True
            group.pending_syncs += 1
    if group.pending_syncs > 0:
        wait_for_syncs(c, rebalance_timeout_ms(c), now)


@inner_kernel
def clear_pending_syncs(c: ClassicGroup) -> None:
    """Wait for no SyncGroup."""
    c.group.sync_deadline = NEVER
    if c.group.pending_syncs > 0:
        for m in range(c.group.made):
            forget_pending_sync(c, m)


@inner_kernel
def receive_sync(c: ClassicGroup, number: int) -> None:
    """Note that a member has sent its SyncGroup (``removePendingSyncMember``)."""
    forget_pending_sync(c, number)
    if c.group.pending_syncs == 0:
        c.group.sync_deadline = NEVER


@inner_kernel
def expire_pending_syncs(c: ClassicGroup, now: int) -> None:
    """Remove who has not sent SyncGroup within the rebalance timeout (``expirePendingSync``).

    A static member that was replaced before it sent one is still waited for by its old id: the group rebalances.
    """
    c.group.sync_deadline = NEVER
    last = NONE
    for m in range(c.group.made):
        if c.members[m].pending_sync:
            c.group.evicted += c.members[m].known
            forget_pending_sync(c, m)
            remove(c, m)
            last = m
    if last != NONE:
        prepare_rebalance(c, Reason.NEVER_SYNCED, last, now)


@inner_kernel
def fail_parked_syncs(c: ClassicGroup, error: int, now: int) -> None:
    """Take all assignments away and answer who waits for one (``resetAndPropagateAssignmentError``)."""
    timer = next_timer(c)
    for m in range(c.group.made):
        if c.members[m].known:
            c.members[m].assignment = EMPTY_ASSIGNMENT
            if answer_parked_sync(c, m, error):
                set_session(c, m, c.members[m].session_timeout_ms, timer, now)


@inner_kernel
def remove_and_rebalance(c: ClassicGroup, number: int, reason: int, now: int) -> None:
    """Remove a member, and let the others know (``removeMemberAndUpdateGroup``).

    Java's coordinator ends even an initial delay where a timer removes the last that has not joined.
    """
    if c.rules >= CoordinatorRules.SCALA_2_3:
        answer_parked_join(c, number, NONE, Errors.UNKNOWN_MEMBER_ID)
    remove(c, number)
    if c.group.state in (State.STABLE, State.COMPLETING_REBALANCE):
        prepare_rebalance(c, reason, number, now)
    elif c.group.state == State.PREPARING_REBALANCE:
        _complete_join_after_removal(c, now)


@inner_kernel
def remove_pending_and_complete_join(c: ClassicGroup, number: int, now: int) -> None:
    """Give up an id that nobody has joined with (``removePendingMemberAndUpdateGroup``)."""
    remove(c, number)
    if c.group.state == State.PREPARING_REBALANCE:
        _complete_join_after_removal(c, now)


@inner_kernel
def _complete_join_after_removal(c: ClassicGroup, now: int) -> None:
    if has_all_members_joined(c) and (not c.group.is_initial_delay or c.rules >= CoordinatorRules.JAVA):
        complete_join(c, now)


# ---- Writes to the offsets topic.


@inner_kernel
def begin_write(c: ClassicGroup, kind: int, assignment: int) -> Write:
    """Begin to write the group's metadata."""
    write = c.writes[c.group.writes % c.group.write_places]
    assigns = kind == WriteKind.ASSIGNMENTS
    for m in range(c.group.made):
        member = c.members[m]
        if member.known:
            member.write = c.group.writes
            member.written_preferences, member.written_metadata = member.preferences, member.metadata
            member.written_session_timeout_ms = member.session_timeout_ms
            member.written_rebalance_timeout_ms = member.rebalance_timeout_ms
            member.written_assignment = assignment if assigns else member.assignment
            member.written_as = m if assigns else member.assigned_as
    c.group.writes += 1
    write.kind = kind
    write.generation = c.group.generation
    write.assignment = assignment
    write.leader = c.group.leader
    write.protocol = c.group.protocol
    write.protocol_type = c.group.protocol_type
    write.state_since_ms = c.group.state_since_ms
    write.awaited = True
    write.appended = False
    return write


@inner_kernel
def end_write(c: ClassicGroup, error: int, now: int) -> None:
    """End the oldest write; ``error`` is what the log says."""
    group = c.group
    write = c.writes[group.writes_ended % c.group.write_places]
    group.writes_ended += 1
    answered = response_error(error, c.rules)
    if answered == Errors.NONE or write.appended:
        keep_stored(c, write)
    if not write.awaited:
        return
    if write.kind == WriteKind.REPLACEMENT:
        _end_replacement(c, write, answered, now)
    elif (
        write.kind == WriteKind.ASSIGNMENTS
        and group.state == State.COMPLETING_REBALANCE
        and group.generation == write.generation
    ):
        _end_sync_phase(c, write, answered, now)


@inner_kernel
def keep_stored(c: ClassicGroup, write: Write) -> None:
    """Note what the log holds from now on: the group as it was when the write began."""
    group = c.group
    number = group.writes_ended - 1
    group.stored = True
    group.stored_generation = write.generation
    group.stored_leader = write.leader
    group.stored_protocol = write.protocol
    group.stored_protocol_type = write.protocol_type
    group.stored_state_since_ms = write.state_since_ms
    for m in range(group.made):
        member = c.members[m]
        member.stored = member.first_write <= number <= member.write and write.kind != WriteKind.EMPTY_GROUP
        member.stored_preferences, member.stored_metadata = member.written_preferences, member.written_metadata
        member.stored_session_timeout_ms = member.written_session_timeout_ms
        member.stored_rebalance_timeout_ms = member.written_rebalance_timeout_ms
        member.stored_assignment, member.stored_as = member.written_assignment, member.written_as


@inner_kernel
def _end_sync_phase(c: ClassicGroup, write: Write, error: int, now: int) -> None:
    if error != Errors.NONE:
        fail_parked_syncs(c, error, now)
        prepare_rebalance(c, Reason.STORE_FAILED, c.group.leader, now)
        return
    timer = next_timer(c)
    for m in range(c.group.made):
        member = c.members[m]
        if member.known:
            member.assignment = write.assignment
            member.assigned_as = m
            if answer_parked_sync(c, m, Errors.NONE):
                set_session(c, m, member.session_timeout_ms, timer, now)
    transition_to(c, State.STABLE, now)


@inner_kernel
def _end_replacement(c: ClassicGroup, write: Write, error: int, now: int) -> None:
    """Answer who replaced a static member; if the write failed, the old one is back (2.6.1 and later).

    A success answers whatever join the member has parked by now. A failure drops it, and answers the request that began
    the write, unless that has been answered: by a rebalance, or because somebody else has replaced the member.
    """
    member = c.members[write.holder]
    waiting = member.join
    if waiting != NONE and error == Errors.NONE:
        leads = c.group.leader == write.member and write.skips_assignment
        leader = c.group.leader if write.skips_assignment else write.old_leader
        answer_joined(c, waiting, write.member, leader, leads, leads)
    if waiting != NONE:
        member.join = NONE
        c.group.joining -= 1
    if error == Errors.NONE:
        return
    if waiting not in (NONE, write.request):
        note_unanswered(c, waiting)
    member.preferences, member.protocols, member.metadata = write.preferences, write.protocols, write.metadata
    member.elected_only = write.elected_only
    member.session_timeout_ms, member.rebalance_timeout_ms = write.session_timeout_ms, write.rebalance_timeout_ms
    if not c.members[write.member].known:
        # Kafka throws an exception that nobody hears of: the request has no answer.
        return
    replace_static_member(c, write.member, write.old_member)
    restart_session(c, write.old_member, write.session_timeout_ms, now)
    if write.request in (waiting, write.unanswered):
        answer_joined(c, write.request, NONE, write.old_leader, False, False)
        c.answers[c.answered[0].value - 1].error = error


@inner_kernel
def replace_static_member(c: ClassicGroup, old: int, new: int) -> None:
    """Give a static member's place to another id; who waits with the old one is fenced (``replaceStaticMember``)."""
    answer_parked_join(c, old, old, Errors.FENCED_INSTANCE_ID)
    answer_parked_sync(c, old, Errors.FENCED_INSTANCE_ID)
    before, after = c.members[old], c.members[new]
    after.known = True
    put(c, new)
    # Scala's keeps the member and changes its id; a SyncGroup stays waited for from the old one.
    after.is_new = before.is_new and c.rules < CoordinatorRules.JAVA
    after.taken_for_static = before.taken_for_static
    after.elected_only = before.elected_only
    after.protocol_type = before.protocol_type
    after.protocols = before.protocols
    after.preferences = before.preferences
    after.metadata = before.metadata
    after.session_timeout_ms = before.session_timeout_ms
    after.rebalance_timeout_ms = before.rebalance_timeout_ms
    after.assignment = before.assignment
    after.assigned_as = before.assigned_as
    before.known = False
    before.session_deadline = NEVER
    if c.group.leader == old:
        c.group.leader = new
    for number in range(c.group.writes_ended, c.group.writes):
        write = c.writes[number % c.group.write_places]
        if c.rules < CoordinatorRules.JAVA and write.kind == WriteKind.REPLACEMENT and write.holder == old:
            write.holder = new


@inner_kernel
def response_error(error: int, rules: int) -> int:
    """Return what members are told of an error of the log.

    ``GroupMetadataManager.storeGroup`` of Scala's coordinator, ``appendGroupMetadataErrorToResponseError`` of Java's.
    """
    if error in (Errors.UNKNOWN_TOPIC_OR_PARTITION, Errors.NOT_ENOUGH_REPLICAS):
        return Errors.COORDINATOR_NOT_AVAILABLE
    if error == Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND and rules < CoordinatorRules.JAVA:
        return Errors.COORDINATOR_NOT_AVAILABLE
    if error in (Errors.NOT_LEADER_OR_FOLLOWER, Errors.KAFKA_STORAGE_ERROR):
        return Errors.NOT_COORDINATOR
    if error == Errors.REQUEST_TIMED_OUT:
        return Errors.COORDINATOR_NOT_AVAILABLE if rules >= CoordinatorRules.JAVA else Errors.REBALANCE_IN_PROGRESS
    if error in (Errors.MESSAGE_TOO_LARGE, Errors.RECORD_LIST_TOO_LARGE, Errors.INVALID_FETCH_SIZE):
        return Errors.UNKNOWN_SERVER_ERROR
    return error
