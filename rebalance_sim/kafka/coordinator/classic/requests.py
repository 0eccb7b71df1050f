"""The coordinator's handling of requests to a classic group, in each of its states.

``GroupCoordinator`` (1.0 to 3.9) and ``GroupMetadataManager`` (4.x). Answers go to ``ClassicGroup.answers``; a request
without one there is parked.
"""

from rebalance_sim.kafka.coordinator.broker_config import BrokerConfig
from rebalance_sim.kafka.coordinator.classic.classic_group import (
    NEVER,
    NONE,
    AwaitedElection,
    ClassicGroup,
    JoinRequest,
    Reason,
    RequestKind,
    State,
    SyncRequest,
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
from rebalance_sim.kafka.coordinator.classic.rebalance import (
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
from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.runtime.kernel import inner_kernel, kernel_in_place
from rebalance_sim.releases import CoordinatorRules

# ---- JoinGroup


@inner_kernel
def join_group(classic: ClassicGroup, request: JoinRequest, now: int) -> None:
    """Handle a JoinGroup (``handleJoinGroup``, ``classicGroupJoin``)."""
    if not allows_session_timeout(classic.config, request.session_timeout_ms):
        answer_join(classic, request.request, request.member, Errors.INVALID_SESSION_TIMEOUT)
        return
    if not classic.group.exists:
        if request.member != NONE:
            answer_join(classic, request.request, request.member, Errors.UNKNOWN_MEMBER_ID)
            return
        classic.group.exists = True
    _join_existing_group(classic, request, now)
    if classic.rules < CoordinatorRules.JAVA:
        # Also after a refusal that removed a member which the others were waiting for (``handleJoinGroup``).
        complete_join_if_all_joined(classic, now)


@kernel_in_place
def allows_session_timeout(config: BrokerConfig, timeout_ms: int) -> bool:
    """Return whether a session timeout is within the broker's bounds (INVALID_SESSION_TIMEOUT otherwise)."""
    return config.group_min_session_timeout_ms <= timeout_ms <= config.group_max_session_timeout_ms


@inner_kernel
def _join_existing_group(classic: ClassicGroup, request: JoinRequest, now: int) -> None:
    if not _accepts_joining_member(classic, request.member):
        _turn_away(classic, request)
        answer_join(classic, request.request, NONE, Errors.GROUP_MAX_SIZE_REACHED)
        return
    error = _join_error(classic, request)
    if error != Errors.NONE:
        answer_join(classic, request.request, request.member, error)
    elif request.member == NONE:
        _join_new_member(classic, request, now)
    elif is_pending(classic, request.member):
        add_member_and_rebalance(classic, request.member, request, now)
    else:
        _join_known_member(classic, request, now)


@inner_kernel
def _accepts_joining_member(classic: ClassicGroup, member: int) -> bool:
    """Return whether the group has room (``acceptJoiningMember``; before 2.6 ``groupIsOverCapacity``; KIP-389)."""
    group, most = classic.group, classic.config.group_max_size
    if classic.rules == CoordinatorRules.SCALA_1_0:
        return True
    waits = knows(classic, member) and classic.members[member].join != NONE
    if classic.rules < CoordinatorRules.SCALA_2_6:
        is_over = group.member_count > most and knows(classic, member) and not waits
        return not is_over and (member != NONE or group.member_count < most)
    if group.state == State.PREPARING_REBALANCE:
        return waits or group.joining < most
    if group.state in (State.COMPLETING_REBALANCE, State.STABLE):
        return knows(classic, member) or group.member_count < most
    return True


@inner_kernel
def _turn_away(classic: ClassicGroup, request: JoinRequest) -> None:
    """Remove a member that the full group refuses.

    Before 2.8 the coordinator then forgets the instance id in the request, even if another member has it
    (``handleJoinGroup``, ``removeStaticMember``). Before 3.0 an id that has not joined stays pending.
    """
    if classic.rules < CoordinatorRules.SCALA_2_8:
        forget_instance(classic, request.instance)
    is_forgotten = classic.rules >= CoordinatorRules.SCALA_3_0 and is_pending(classic, request.member)
    if knows(classic, request.member) or is_forgotten:
        take_out(classic, request.member)


@inner_kernel
def _join_error(classic: ClassicGroup, request: JoinRequest) -> int:
    """Check a JoinGroup, whatever the state of the group."""
    fits = supports_protocols(classic, request.protocol_type, request.protocols)
    if classic.rules == CoordinatorRules.SCALA_1_0 and not fits:
        return Errors.INCONSISTENT_GROUP_PROTOCOL
    if classic.group.state == State.DEAD:
        return dead_error(classic.rules)
    if classic.rules > CoordinatorRules.SCALA_1_0 and not fits:
        return Errors.INCONSISTENT_GROUP_PROTOCOL
    if request.member == NONE:
        return Errors.NONE
    if is_pending(classic, request.member):
        # Kafka throws an IllegalStateException: only dynamic members are sent away to come back with an id.
        return Errors.NONE if request.instance == NONE else Errors.UNKNOWN_SERVER_ERROR
    if request.instance != NONE and static_member(classic, request.instance) == NONE:
        return Errors.UNKNOWN_MEMBER_ID
    return member_error(classic, request.member, request.instance)


@inner_kernel
def dead_error(rules: int) -> int:
    """Return the error for requests to a dead group."""
    return Errors.UNKNOWN_MEMBER_ID if rules == CoordinatorRules.SCALA_1_0 else Errors.COORDINATOR_NOT_AVAILABLE


@inner_kernel
def _join_new_member(classic: ClassicGroup, request: JoinRequest, now: int) -> None:
    number = make_id(classic, request)
    replaced = static_member(classic, request.instance)
    if replaced != NONE:
        _replace_static_member(classic, replaced, number, request, now)
    elif request.requires_known_member_id and request.instance == NONE and classic.rules > CoordinatorRules.SCALA_1_0:
        classic.members[number].pending = True
        classic.members[number].is_new = False
        classic.group.pending += 1
        restart_session(classic, number, request.session_timeout_ms, now)
        answer_join(classic, request.request, number, Errors.MEMBER_ID_REQUIRED)
    else:
        add_member_and_rebalance(classic, number, request, now)


@inner_kernel
def _join_known_member(classic: ClassicGroup, request: JoinRequest, now: int) -> None:
    group, number = classic.group, request.member
    member = classic.members[number]
    same = member.metadata == request.metadata and (
        member.protocols == request.protocols if member.elected_only else member.preferences == request.preferences
    )
    leads = group.leader == number
    if group.state == State.PREPARING_REBALANCE:
        update_member_and_rebalance(classic, request, Reason.MEMBER_CHANGED, now)
    elif group.state == State.COMPLETING_REBALANCE and same:
        answer_joined(classic, request.request, number, group.leader, leads, False)
    elif group.state == State.STABLE and same and not leads:
        answer_joined(classic, request.request, number, group.leader, False, False)
    else:
        reason = Reason.LEADER_REJOINED if leads and same else Reason.MEMBER_CHANGED
        update_member_and_rebalance(classic, request, reason, now)


@inner_kernel
def _replace_static_member(classic: ClassicGroup, old: int, new: int, request: JoinRequest, now: int) -> None:
    """Replace a static member that joins without a member id by a new id (``updateStaticMemberAndRebalance``)."""
    group = classic.group
    leader = group.leader
    replace_static_member(classic, old, new)
    member = classic.members[new]
    restart_session(classic, new, member.session_timeout_ms, now)
    preferences, protocols, metadata = member.preferences, member.protocols, member.metadata
    elected_only = member.elected_only
    session_timeout_ms, longest_rebalance_ms = member.session_timeout_ms, member.rebalance_timeout_ms
    update_member(classic, new, request)
    if group.state == State.PREPARING_REBALANCE:
        complete_join_if_all_joined(classic, now)
    elif group.state == State.COMPLETING_REBALANCE and classic.rules >= CoordinatorRules.SCALA_2_5:
        # KAFKA-9801: the leader may be assigning to the old id.
        prepare_rebalance(classic, Reason.STATIC_MEMBER_REPLACED, new, now)
    elif classic.rules < CoordinatorRules.SCALA_2_6_1:
        answer_joined(classic, member.join, new, leader, False, False)
        member.join = NONE
        group.joining -= 1
    else:
        write = classic.writes[group.writes % group.write_places]
        write.member, write.holder, write.old_member, write.old_leader = new, new, old, leader
        if classic.rules < CoordinatorRules.JAVA:
            # Scala's coordinator saves the old protocols only after they were overwritten.
            preferences, protocols, metadata = member.preferences, member.protocols, member.metadata
            elected_only = member.elected_only
        write.preferences, write.protocols, write.metadata = preferences, protocols, metadata
        write.elected_only = elected_only
        write.session_timeout_ms, write.rebalance_timeout_ms = session_timeout_ms, longest_rebalance_ms
        write.request, write.unanswered, write.skips_assignment = request.request, NONE, request.skips_assignment
        group.election = AwaitedElection.OF_REPLACEMENT
        group.replaced = new


@inner_kernel
def finish_replacement(classic: ClassicGroup, protocol: int, now: int) -> None:
    """Go on after the election for a static member's replacement."""
    classic.group.election = AwaitedElection.NOT_DUE
    if protocol == classic.group.protocol:
        begin_write(classic, WriteKind.REPLACEMENT, classic.members[classic.group.replaced].assignment)
    else:
        rebalance_or_complete_join(classic, Reason.STATIC_MEMBER_REPLACED, classic.group.replaced, now)


# ---- SyncGroup


@inner_kernel
def sync_group(classic: ClassicGroup, sync: SyncRequest, now: int) -> None:
    """Handle a SyncGroup (``handleSyncGroup``, ``classicGroupSync``)."""
    number = sync.member
    error = _sync_error(classic, sync)
    if error != Errors.NONE:
        next_answer(classic, RequestKind.SYNC, sync.request, error)
        return
    receive_sync(classic, number)
    if classic.group.state == State.STABLE:
        answer_sync(classic, sync.request, number, Errors.NONE)
        if classic.rules < CoordinatorRules.JAVA:
            restart_session(classic, number, classic.members[number].session_timeout_ms, now)
        return
    classic.members[number].sync = sync.request
    if number == classic.group.leader:
        begin_write(classic, WriteKind.ASSIGNMENTS, sync.assignment)


@inner_kernel
def _sync_error(classic: ClassicGroup, sync: SyncRequest) -> int:
    group = classic.group
    if not group.exists or group.state == State.EMPTY:
        return Errors.UNKNOWN_MEMBER_ID
    if group.state == State.DEAD:
        return dead_error(classic.rules)
    error = member_error(classic, sync.member, sync.instance)
    if error != Errors.NONE:
        return error
    if sync.generation != group.generation:
        return Errors.ILLEGAL_GENERATION
    names_another = _differ(classic, sync.protocol, group.protocol)
    names_another = names_another or _differ(classic, sync.protocol_type, group.protocol_type)
    if names_another and classic.rules >= CoordinatorRules.SCALA_2_5:
        return Errors.INCONSISTENT_GROUP_PROTOCOL
    if group.state == State.PREPARING_REBALANCE:
        return Errors.REBALANCE_IN_PROGRESS
    return Errors.NONE


@kernel_in_place
def _differ(classic: ClassicGroup, named: int, known: int) -> bool:
    """Return whether a request names another protocol or type than the group's (KIP-559), if it names one.

    Java's coordinator accepts every name while the group has none.
    """
    return named not in (NONE, known) and (known != NONE or classic.rules < CoordinatorRules.JAVA)


# ---- Heartbeat


@inner_kernel
def heartbeat(classic: ClassicGroup, request: int, member: int, instance: int, generation: int, now: int) -> None:
    """Handle a Heartbeat (``handleHeartbeat``, ``classicGroupHeartbeat``)."""
    error = _heartbeat_error(classic, member, instance, generation)
    keeps_session = error == Errors.NONE
    if error == Errors.REBALANCE_IN_PROGRESS:
        keeps_session = classic.group.state == State.PREPARING_REBALANCE
    if keeps_session:
        restart_session(classic, member, classic.members[member].session_timeout_ms, now)
    next_answer(classic, RequestKind.HEARTBEAT, request, error)


@inner_kernel
def _heartbeat_error(classic: ClassicGroup, member: int, instance: int, generation: int) -> int:
    group = classic.group
    if not group.exists:
        return Errors.UNKNOWN_MEMBER_ID
    if group.state == State.DEAD:
        return dead_error(classic.rules)
    error = member_error(classic, member, instance)
    if error != Errors.NONE:
        return error
    completing = group.state == State.COMPLETING_REBALANCE
    if classic.rules == CoordinatorRules.SCALA_1_0 and completing:
        return Errors.REBALANCE_IN_PROGRESS
    if generation != group.generation:
        return Errors.ILLEGAL_GENERATION
    if group.state == State.EMPTY:
        return Errors.UNKNOWN_MEMBER_ID
    if group.state == State.PREPARING_REBALANCE or (completing and classic.rules < CoordinatorRules.SCALA_2_6_1):
        return Errors.REBALANCE_IN_PROGRESS
    return Errors.NONE


# ---- LeaveGroup


@inner_kernel
def leave_group(classic: ClassicGroup, request: int, member: int, instance: int, now: int) -> int:
    """Remove one member of a LeaveGroup (``handleLeaveGroup``, ``classicGroupLeave``); return its error.

    Java's coordinator removes all members of a request first, and then rebalances once: ``finish_leave``.
    """
    error: int = Errors.NONE
    leaver = member
    if not classic.group.exists:
        error = Errors.UNKNOWN_MEMBER_ID
    elif classic.group.state == State.DEAD:
        error = dead_error(classic.rules)
    elif is_pending(classic, member):
        if classic.rules < CoordinatorRules.SCALA_3_0 and static_member(classic, instance) != NONE:
            error = Errors.FENCED_INSTANCE_ID
        elif classic.rules < CoordinatorRules.JAVA:
            remove_pending_and_complete_join(classic, member, now)
        else:
            remove(classic, member)
    else:
        if member == NONE and instance != NONE:
            leaver = static_member(classic, instance)
            error = Errors.UNKNOWN_MEMBER_ID if leaver == NONE else Errors.NONE
        else:
            error = member_error(classic, member, instance)
        if error == Errors.NONE:
            _remove_leaver(classic, leaver, now)
    answer = next_answer(classic, RequestKind.LEAVE, request, error)
    answer.member = member
    return error


@inner_kernel
def _remove_leaver(classic: ClassicGroup, member: int, now: int) -> None:
    if classic.rules < CoordinatorRules.JAVA:
        # In 1.0 the session of a removed member goes on, except if it left (``isLeaving``).
        classic.members[member].session_deadline = NEVER
        remove_and_rebalance(classic, member, Reason.MEMBER_LEFT, now)
        return
    if classic.members[member].join != NONE:
        answer_join(classic, classic.members[member].join, NONE, Errors.UNKNOWN_MEMBER_ID)
    remove(classic, member)
    classic.group.reason_member = member


@inner_kernel
def finish_leave(classic: ClassicGroup, last: int, now: int) -> None:
    """Rebalance after a LeaveGroup that removed at least one member, ``last`` among them (Java's coordinator)."""
    if classic.rules < CoordinatorRules.JAVA:
        return
    if classic.group.state in (State.STABLE, State.COMPLETING_REBALANCE):
        prepare_rebalance(classic, Reason.MEMBER_LEFT, last, now)
    else:
        complete_join_if_all_joined(classic, now)


# ---- OffsetCommit


@inner_kernel
def commit_offsets(classic: ClassicGroup, member: int, instance: int, generation: int, now: int) -> int:
    """Accept or refuse an OffsetCommit, and restart the sender's session (``validateOffsetCommit``); return the error.

    A commit without a generation creates the group if it does not exist.
    """
    group = classic.group
    if not group.exists:
        if generation >= 0:
            return Errors.ILLEGAL_GENERATION
        group.exists = True
    if group.state == State.DEAD:
        return dead_error(classic.rules)
    if classic.rules <= CoordinatorRules.SCALA_2_3 and static_member(classic, instance) not in (NONE, member):
        return Errors.FENCED_INSTANCE_ID
    names_member = member != NONE or instance != NONE
    checks_member = CoordinatorRules.SCALA_3_0 <= classic.rules < CoordinatorRules.SCALA_3_3 and names_member
    if generation < 0 and group.state == State.EMPTY and not checks_member:
        return Errors.NONE
    if classic.rules <= CoordinatorRules.SCALA_2_3 and group.state == State.COMPLETING_REBALANCE:
        # Since 2.4 member and generation are checked first (``validateOffsetCommit``).
        return Errors.REBALANCE_IN_PROGRESS
    error = member_error(classic, member, instance)
    if error != Errors.NONE:
        return error
    if generation != group.generation:
        return Errors.ILLEGAL_GENERATION
    if group.state == State.COMPLETING_REBALANCE:
        return Errors.REBALANCE_IN_PROGRESS
    restart_session(classic, member, classic.members[member].session_timeout_ms, now)
    return Errors.NONE
