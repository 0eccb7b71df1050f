"""What the coordinator does with the requests of a group's members, in each state of the group.

``GroupCoordinator`` (1.0 to 3.9) and ``GroupMetadataManager`` (4.x). Answers are put into ``ClassicGroup.answers``;
requests without one there are parked.
"""

from rebalance_sim.kafka.coordinator.classic_group import (
    NEVER,
    NONE,
    ClassicGroup,
    Election,
    JoinRequest,
    Kind,
    Reason,
    State,
    WriteKind,
    answer_join,
    answer_joined,
    answer_sync,
    forget_instance,
    is_pending,
    knows,
    make_id,
    member_error,
    next_answer,
    remove,
    restart_session,
    static_member,
    supports_protocols,
    take_out,
)
from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.coordinator.rebalance import (
    add_member_and_rebalance,
    begin_write,
    complete_join_if_all_joined,
    prepare_rebalance,
    rebalance_or_complete_join,
    receive_sync,
    remove_and_rebalance,
    remove_pending_and_complete_join,
    replace_static_member,
    update_member,
    update_member_and_rebalance,
)
from rebalance_sim.kafka.kernel import inner_kernel, kernel_in_place
from rebalance_sim.versions import CoordinatorRules

# ---- JoinGroup


@inner_kernel
def join_group(c: ClassicGroup, request: JoinRequest, now: int) -> None:
    """Take a JoinGroup (``handleJoinGroup``, ``classicGroupJoin``)."""
    if not (
        c.config.group_min_session_timeout_ms <= request.session_timeout_ms <= c.config.group_max_session_timeout_ms
    ):
        answer_join(c, request.request, request.member, Errors.INVALID_SESSION_TIMEOUT)
        return
    if not c.group.exists:
        if request.member != NONE:
            answer_join(c, request.request, request.member, Errors.UNKNOWN_MEMBER_ID)
            return
        c.group.exists = True
    _join_existing_group(c, request, now)
    if c.rules < CoordinatorRules.JAVA:
        # Also where somebody was turned away whom the others have waited for (``handleJoinGroup``).
        complete_join_if_all_joined(c, now)


@inner_kernel
def _join_existing_group(c: ClassicGroup, request: JoinRequest, now: int) -> None:
    if not _accepts_joining_member(c, request.member):
        _turn_away(c, request)
        answer_join(c, request.request, NONE, Errors.GROUP_MAX_SIZE_REACHED)
        return
    error = _join_error(c, request)
    if error != Errors.NONE:
        answer_join(c, request.request, request.member, error)
    elif request.member == NONE:
        _join_new_member(c, request, now)
    elif is_pending(c, request.member):
        add_member_and_rebalance(c, request.member, request, now)
    else:
        _join_known_member(c, request, now)


@inner_kernel
def _accepts_joining_member(c: ClassicGroup, member: int) -> bool:
    """Tell whether the group has room (``acceptJoiningMember``; before 2.6 ``groupIsOverCapacity``)."""
    group, most = c.group, c.config.group_max_size
    if c.rules == CoordinatorRules.SCALA_1_0:
        return True
    waits = knows(c, member) and c.members[member].join != NONE
    if c.rules == CoordinatorRules.SCALA_2_3:
        is_over = group.members > most and knows(c, member) and not waits
        return not is_over and (member != NONE or group.members < most)
    if group.state == State.PREPARING_REBALANCE:
        return waits or group.joining < most
    if group.state in (State.COMPLETING_REBALANCE, State.STABLE):
        return knows(c, member) or group.members < most
    return True


@inner_kernel
def _turn_away(c: ClassicGroup, request: JoinRequest) -> None:
    """Remove whoever finds no room, if there is such a member.

    2.3.1 then forgets the instance id that the request names, whose member may be another one (``handleJoinGroup``,
    ``removeStaticMember``).
    """
    if c.rules == CoordinatorRules.SCALA_2_3:
        forget_instance(c, request.instance)
    if knows(c, request.member) or is_pending(c, request.member):
        take_out(c, request.member)


@inner_kernel
def _join_error(c: ClassicGroup, request: JoinRequest) -> int:
    """Check a JoinGroup, whatever the state of the group."""
    fits = supports_protocols(c, request.protocol_type, request.protocols)
    if c.rules == CoordinatorRules.SCALA_1_0 and not fits:
        return Errors.INCONSISTENT_GROUP_PROTOCOL
    if c.group.state == State.DEAD:
        return dead_error(c.rules)
    if c.rules > CoordinatorRules.SCALA_1_0 and not fits:
        return Errors.INCONSISTENT_GROUP_PROTOCOL
    if request.member == NONE:
        return Errors.NONE
    if is_pending(c, request.member):
        # Kafka throws an IllegalStateException: only dynamic members are asked to come back with an id.
        return Errors.NONE if request.instance == NONE else Errors.UNKNOWN_SERVER_ERROR
    if request.instance != NONE and static_member(c, request.instance) == NONE:
        return Errors.UNKNOWN_MEMBER_ID
    return member_error(c, request.member, request.instance)


@inner_kernel
def dead_error(rules: int) -> int:
    """Return what a group that is no more answers."""
    return Errors.UNKNOWN_MEMBER_ID if rules == CoordinatorRules.SCALA_1_0 else Errors.COORDINATOR_NOT_AVAILABLE


@inner_kernel
def _join_new_member(c: ClassicGroup, request: JoinRequest, now: int) -> None:
    number = make_id(c, request)
    replaced = static_member(c, request.instance)
    if replaced != NONE:
        _replace_static_member(c, replaced, number, request, now)
    elif request.requires_known_member_id and request.instance == NONE and c.rules > CoordinatorRules.SCALA_1_0:
        c.members[number].pending = True
        c.members[number].is_new = False
        c.group.pending += 1
        restart_session(c, number, request.session_timeout_ms, now)
        answer_join(c, request.request, number, Errors.MEMBER_ID_REQUIRED)
    else:
        add_member_and_rebalance(c, number, request, now)


@inner_kernel
def _join_known_member(c: ClassicGroup, request: JoinRequest, now: int) -> None:
    group, number = c.group, request.member
    member = c.members[number]
    same = member.metadata == request.metadata and (
        member.protocols == request.protocols if member.elected_only else member.preferences == request.preferences
    )
    leads = group.leader == number
    if group.state == State.PREPARING_REBALANCE:
        update_member_and_rebalance(c, request, Reason.MEMBER_CHANGED, now)
    elif group.state == State.COMPLETING_REBALANCE and same:
        answer_joined(c, request.request, number, group.leader, leads, False)
    elif group.state == State.STABLE and same and not leads:
        answer_joined(c, request.request, number, group.leader, False, False)
    else:
        reason = Reason.LEADER_REJOINED if leads and same else Reason.MEMBER_CHANGED
        update_member_and_rebalance(c, request, reason, now)


@inner_kernel
def _replace_static_member(c: ClassicGroup, old: int, new: int, request: JoinRequest, now: int) -> None:
    """Let a static member back in under a new id (``updateStaticMemberAndRebalance``)."""
    group = c.group
    leader = group.leader
    replace_static_member(c, old, new)
    member = c.members[new]
    restart_session(c, new, member.session_timeout_ms, now)
    preferences, protocols, metadata = member.preferences, member.protocols, member.metadata
    elected_only = member.elected_only
    session_timeout_ms, longest_rebalance_ms = member.session_timeout_ms, member.rebalance_timeout_ms
    update_member(c, new, request)
    if group.state == State.PREPARING_REBALANCE:
        complete_join_if_all_joined(c, now)
    elif c.rules == CoordinatorRules.SCALA_2_3:
        # Neither a stable group nor one that completes its rebalance begins another.
        answer_joined(c, member.join, new, leader, False, False)
        member.join = NONE
        group.joining -= 1
    elif group.state == State.COMPLETING_REBALANCE:
        prepare_rebalance(c, Reason.STATIC_MEMBER_REPLACED, new, now)
    else:
        write = c.writes[group.writes % group.write_places]
        write.member, write.holder, write.old_member, write.old_leader = new, new, old, leader
        if c.rules < CoordinatorRules.JAVA:
            # Scala's reads the old protocols when they have been replaced already (``updateStaticMemberAndRebalance``).
            preferences, protocols, metadata = member.preferences, member.protocols, member.metadata
            elected_only = member.elected_only
        write.preferences, write.protocols, write.metadata = preferences, protocols, metadata
        write.elected_only = elected_only
        write.session_timeout_ms, write.rebalance_timeout_ms = session_timeout_ms, longest_rebalance_ms
        write.request, write.unanswered, write.skips_assignment = request.request, NONE, request.skips_assignment
        group.election = Election.OF_REPLACEMENT
        group.replaced = new


@inner_kernel
def finish_replacement(c: ClassicGroup, protocol: int, now: int) -> None:
    """Go on after the election that a static member's replacement asked for."""
    c.group.election = Election.NOT_DUE
    if protocol == c.group.protocol:
        begin_write(c, WriteKind.REPLACEMENT, c.members[c.group.replaced].assignment)
    else:
        rebalance_or_complete_join(c, Reason.STATIC_MEMBER_REPLACED, c.group.replaced, now)


# ---- SyncGroup


@inner_kernel
def sync_group(
    c: ClassicGroup,
    request: int,
    member: int,
    instance: int,
    generation: int,
    protocol_type: int,
    protocol: int,
    assignment: int,
    now: int,
) -> None:
    """Take a SyncGroup (``handleSyncGroup``, ``classicGroupSync``).

    ``protocol_type`` and ``protocol`` are NONE where the request does not name them (before version 5).
    ``assignment`` is the set of assignments of a leader.
    """
    error = _sync_error(c, member, instance, generation, protocol_type, protocol)
    if error != Errors.NONE:
        next_answer(c, Kind.SYNC, request, error)
        return
    receive_sync(c, member)
    if c.group.state == State.STABLE:
        answer_sync(c, request, member, Errors.NONE)
        if c.rules < CoordinatorRules.JAVA:
            restart_session(c, member, c.members[member].session_timeout_ms, now)
        return
    c.members[member].sync = request
    if member == c.group.leader:
        begin_write(c, WriteKind.ASSIGNMENTS, assignment)


@inner_kernel
def _sync_error(c: ClassicGroup, member: int, instance: int, generation: int, protocol_type: int, protocol: int) -> int:
    group = c.group
    if not group.exists or group.state == State.EMPTY:
        return Errors.UNKNOWN_MEMBER_ID
    if group.state == State.DEAD:
        return dead_error(c.rules)
    error = member_error(c, member, instance)
    if error != Errors.NONE:
        return error
    if generation != group.generation:
        return Errors.ILLEGAL_GENERATION
    names_another = _differ(c, protocol, group.protocol) or _differ(c, protocol_type, group.protocol_type)
    if names_another and c.rules >= CoordinatorRules.SCALA_3_9:
        return Errors.INCONSISTENT_GROUP_PROTOCOL
    if group.state == State.PREPARING_REBALANCE:
        return Errors.REBALANCE_IN_PROGRESS
    return Errors.NONE


@kernel_in_place
def _differ(c: ClassicGroup, named: int, known: int) -> bool:
    """Tell whether a request names something else than the group has (KIP-559), if it names something.

    In Java's coordinator nothing differs from a group that has none.
    """
    return named not in (NONE, known) and (known != NONE or c.rules < CoordinatorRules.JAVA)


# ---- Heartbeat


@inner_kernel
def heartbeat(c: ClassicGroup, request: int, member: int, instance: int, generation: int, now: int) -> None:
    """Take a Heartbeat (``handleHeartbeat``, ``classicGroupHeartbeat``)."""
    error = _heartbeat_error(c, member, instance, generation)
    keeps_session = error == Errors.NONE
    if error == Errors.REBALANCE_IN_PROGRESS:
        keeps_session = c.group.state == State.PREPARING_REBALANCE
    if keeps_session:
        restart_session(c, member, c.members[member].session_timeout_ms, now)
    next_answer(c, Kind.HEARTBEAT, request, error)


@inner_kernel
def _heartbeat_error(c: ClassicGroup, member: int, instance: int, generation: int) -> int:
    group = c.group
    if not group.exists:
        return Errors.UNKNOWN_MEMBER_ID
    if group.state == State.DEAD:
        return dead_error(c.rules)
    error = member_error(c, member, instance)
    if error != Errors.NONE:
        return error
    completing = group.state == State.COMPLETING_REBALANCE
    if c.rules == CoordinatorRules.SCALA_1_0 and completing:
        return Errors.REBALANCE_IN_PROGRESS
    if generation != group.generation:
        return Errors.ILLEGAL_GENERATION
    if group.state == State.EMPTY:
        return Errors.UNKNOWN_MEMBER_ID
    if group.state == State.PREPARING_REBALANCE or (completing and c.rules <= CoordinatorRules.SCALA_2_3):
        return Errors.REBALANCE_IN_PROGRESS
    return Errors.NONE


# ---- LeaveGroup


@inner_kernel
def leave_group(c: ClassicGroup, request: int, member: int, instance: int, now: int) -> int:
    """Take one member of a LeaveGroup (``handleLeaveGroup``, ``classicGroupLeave``); return its error.

    Java's coordinator first removes all members of a request and then rebalances: ``finish_leave``.
    """
    error: int = Errors.NONE
    leaver = member
    if not c.group.exists:
        error = Errors.UNKNOWN_MEMBER_ID
    elif c.group.state == State.DEAD:
        error = dead_error(c.rules)
    elif is_pending(c, member):
        _remove_leaving_id(c, member, now)
    else:
        if member == NONE and instance != NONE:
            leaver = static_member(c, instance)
            error = Errors.UNKNOWN_MEMBER_ID if leaver == NONE else Errors.NONE
        else:
            error = member_error(c, member, instance)
        if error == Errors.NONE:
            _remove_leaver(c, leaver, now)
    answer = next_answer(c, Kind.LEAVE, request, error)
    answer.member = member
    return error


@inner_kernel
def _remove_leaving_id(c: ClassicGroup, member: int, now: int) -> None:
    if c.rules >= CoordinatorRules.JAVA:
        remove(c, member)
    else:
        remove_pending_and_complete_join(c, member, now)


@inner_kernel
def _remove_leaver(c: ClassicGroup, member: int, now: int) -> None:
    if c.rules < CoordinatorRules.JAVA:
        # In 1.0 the session of a removed member goes on, but for one that leaves (``isLeaving``).
        c.members[member].session_deadline = NEVER
        remove_and_rebalance(c, member, Reason.MEMBER_LEFT, now)
        return
    if c.members[member].join != NONE:
        answer_join(c, c.members[member].join, NONE, Errors.UNKNOWN_MEMBER_ID)
    remove(c, member)
    c.group.reason_member = member


@inner_kernel
def finish_leave(c: ClassicGroup, last: int, now: int) -> None:
    """Rebalance after a LeaveGroup by which at least one member has left, ``last`` among them (Java's coordinator)."""
    if c.rules < CoordinatorRules.JAVA:
        return
    if c.group.state in (State.STABLE, State.COMPLETING_REBALANCE):
        prepare_rebalance(c, Reason.MEMBER_LEFT, last, now)
    else:
        complete_join_if_all_joined(c, now)


# ---- OffsetCommit


@inner_kernel
def commit_error(c: ClassicGroup, member: int, instance: int, generation: int, now: int) -> int:
    """Check an OffsetCommit, and count its sender as alive if it may commit (``validateOffsetCommit``)."""
    group = c.group
    if not group.exists:
        if generation >= 0:
            return Errors.ILLEGAL_GENERATION
        group.exists = True
        return Errors.NONE
    if group.state == State.DEAD:
        return dead_error(c.rules)
    if c.rules <= CoordinatorRules.SCALA_2_3 and static_member(c, instance) not in (NONE, member):
        return Errors.FENCED_INSTANCE_ID
    if generation < 0 and group.state == State.EMPTY:
        return Errors.NONE
    if c.rules <= CoordinatorRules.SCALA_2_3 and group.state == State.COMPLETING_REBALANCE:
        # Since 2.4 it matters first who asks, and of which generation (``validateOffsetCommit``).
        return Errors.REBALANCE_IN_PROGRESS
    error = member_error(c, member, instance)
    if error != Errors.NONE:
        return error
    if generation != group.generation:
        return Errors.ILLEGAL_GENERATION
    if group.state == State.COMPLETING_REBALANCE:
        return Errors.REBALANCE_IN_PROGRESS
    restart_session(c, member, c.members[member].session_timeout_ms, now)
    return Errors.NONE
