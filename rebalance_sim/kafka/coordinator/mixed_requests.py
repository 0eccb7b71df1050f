"""Requests to a group whichever protocol it follows, and those of the classic protocol to a group of KIP-848.

``GroupMetadataManager``, Kafka 4.3. In a group of KIP-848 (``migration``), a member of the classic protocol joins
without waiting for the others, and is given its part by SyncGroup; nobody leads. Its generation is its epoch. When
there is more to do, a heartbeat tells it to join again.
"""

from typing import NamedTuple

from rebalance_sim.kafka.coordinator.classic_group import (
    NEVER,
    NONE,
    JoinRequest,
    Kind,
    answer_join,
    make_id,
    next_answer,
)
from rebalance_sim.kafka.coordinator.consumer_group import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    EpochReason,
    Heartbeat,
    ModernMemberState,
    bump_epoch,
    cancel_timers,
    knows_member,
    next_modern_answer,
    set_consumer_session,
    static_consumer,
    update_state,
    wait_for_rejoin,
    wait_for_sync,
)
from rebalance_sim.kafka.coordinator.consumer_heartbeat import (
    Outcome,
    answer_goodbye,
    consumer_commit_error,
    consumer_error,
    consumer_heartbeat,
    expire,
    expiry_reason,
    finish_target,
    first_due,
    form_error,
    is_late,
    leave_error,
    load_consumer_group,
    modern_response_error,
    next_consumer_deadline,
    reconcile,
    remove_member,
    retry_timer,
    take_changes,
    use_target,
)
from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.coordinator.log import load, unload
from rebalance_sim.kafka.coordinator.migration import (
    UNREADABLE,
    MixedGroup,
    align_numbers,
    begin_downgrade,
    forget_hidden_group,
    forget_past_timers,
    hide_consumer_group,
    is_full,
    join_classic_group,
    may_downgrade,
    may_downgrade_by_replacement,
    order_timers,
)
from rebalance_sim.kafka.coordinator.requests import (
    commit_error,
    finish_leave,
    heartbeat,
    join_group,
    leave_group,
    sync_group,
)
from rebalance_sim.kafka.coordinator.timers import expire_next, next_deadline
from rebalance_sim.kafka.kernel import inner_kernel

CURRENT = -2
"""The assignment of an answer to SyncGroup: what the member has been given by now."""
_REJOIN_EPOCH = 1
"""Stands for any epoch of a member that is in the group."""


class Offer(NamedTuple):
    """What stands behind the numbers of a JoinGroup."""

    subscription: int
    """Its topics, or UNREADABLE."""
    owned: int
    """A row of ``listed``, or NOTHING, also where the sender cannot tell."""
    protocol: int
    """The first protocol on its list."""


# ---- ConsumerGroupHeartbeat


@inner_kernel
def consumer_heartbeat_of_any(m: MixedGroup, request: Heartbeat, store_error: int, now: int) -> None:
    """Take a ConsumerGroupHeartbeat; where it joins a classic group, that turns to KIP-848."""
    c = m.modern
    c.group.wrote = False
    fits = form_error(c, request) == Errors.NONE
    if fits and request.epoch == JOIN_EPOCH and c.group.only_stored:
        _join_hidden_group(m, request, store_error, now)
    elif fits and request.epoch == JOIN_EPOCH and m.classic.group.exists:
        join_classic_group(m, request, store_error, now)
    elif fits and request.epoch == LEAVE_EPOCH and _ends_consumer_group(m, request):
        error = modern_response_error(store_error)
        if error == Errors.NONE:
            begin_downgrade(m, c.group.epoch, NONE, EpochReason.MEMBER_LEFT, request.member, now)
        c.members[request.member].leaving = False
        answer_goodbye(c, request, error)
    else:
        consumer_heartbeat(c, request, store_error, now)
    align_numbers(m)


@inner_kernel
def _join_hidden_group(m: MixedGroup, request: Heartbeat, store_error: int, now: int) -> None:
    """Begin a new group; if the log refuses that, the one that it still has is back."""
    if store_error == Errors.NONE:
        forget_hidden_group(m)
        consumer_heartbeat(m.modern, request, store_error, now)
        return
    m.modern.group.exists, m.modern.group.only_stored = True, False
    next_modern_answer(m.modern, request.request, modern_response_error(store_error))


@inner_kernel
def _ends_consumer_group(m: MixedGroup, request: Heartbeat) -> bool:
    """Tell whether who says goodbye leaves only members of the classic protocol behind; it is ``leaving`` then."""
    if leave_error(m.modern, request) != Errors.NONE:
        return False
    m.modern.members[request.member].leaving = True
    ends = may_downgrade(m)
    m.modern.members[request.member].leaving = ends
    return ends


@inner_kernel
def finish_target_of_any(m: MixedGroup, now: int) -> None:
    """Go on after the new target assignment has been given."""
    if not m.modern.group.joins:
        finish_target(m.modern, now)
        return
    use_target(m.modern, now)
    _finish_join(m, Errors.NONE, now)


# ---- JoinGroup


@inner_kernel
def join_any_group(m: MixedGroup, request: JoinRequest, offer: Offer, store_error: int, now: int) -> None:
    """Take a JoinGroup (``classicGroupJoin``); a group of KIP-848 without members is no more."""
    config, group = m.classic.config, m.modern.group
    group.wrote = False
    fits = config.group_min_session_timeout_ms <= request.session_timeout_ms <= config.group_max_session_timeout_ms
    if fits and group.exists and group.members > 0:
        _join_consumer_group(m, request, offer, store_error, now)
    else:
        if fits and group.exists:
            hide_consumer_group(m)
        join_group(m.classic, request, now)
        if m.classic.group.exists:
            forget_hidden_group(m)
    align_numbers(m)


@inner_kernel
def _join_consumer_group(m: MixedGroup, request: JoinRequest, offer: Offer, store_error: int, now: int) -> None:
    """Take it from a member of a group of KIP-848, or who wants to be one (``classicGroupJoinToConsumerGroup``)."""
    c, classic = m.modern, m.classic
    is_unknown = request.member == NONE
    number = make_id(classic, request) if is_unknown else request.member
    align_numbers(m)
    error = _join_error(m, request, number)
    if error == Errors.NONE and offer.subscription == UNREADABLE:
        error = Errors.UNKNOWN_SERVER_ERROR
    if error != Errors.NONE:
        answer_join(classic, request.request, number if error == Errors.MEMBER_ID_REQUIRED else NONE, error)
        return
    holder = static_consumer(c, request.instance)
    ends_consumer_group = may_downgrade_by_replacement(m, holder)
    generation, rebalances = c.group.epoch, c.group.rebalances
    changes = _changes(m, request, number)
    told = Heartbeat(
        request.request,
        number,
        JOIN_EPOCH if is_unknown or request.instance == NONE else _REJOIN_EPOCH,
        request.instance,
        request.client,
        classic.members[number].hash,
        request.rebalance_timeout_ms,
        offer.subscription,
        NONE,
        offer.owned,
    )
    error = take_changes(c, told, changes, store_error, now)
    if error != Errors.NONE:
        answer_join(classic, request.request, NONE, error)
        return
    forget_past_timers(c, number, now)
    _keep_protocols(m, request, number, offer.protocol)
    c.group.joins = True
    if ends_consumer_group:
        c.group.target_due = False
        c.group.rebalances = rebalances
        _end_by_replacement(m, generation, number, now)
    elif not c.group.target_due:
        _finish_join(m, store_error, now)


@inner_kernel
def _join_error(m: MixedGroup, request: JoinRequest, number: int) -> int:
    if is_full(m.modern, number):
        return Errors.GROUP_MAX_SIZE_REACHED
    if not _supports_protocols(m, request):
        return Errors.INCONSISTENT_GROUP_PROTOCOL
    if request.member == NONE:
        asks_for_id = request.requires_known_member_id and request.instance == NONE
        return Errors.MEMBER_ID_REQUIRED if asks_for_id else Errors.NONE
    if request.instance == NONE:
        return Errors.NONE
    return consumer_error(m.modern, number, request.instance)


@inner_kernel
def _supports_protocols(m: MixedGroup, request: JoinRequest) -> bool:
    """Tell whether all members of the classic protocol have one in common with who joins.

    ``supportsClassicProtocols``; its own earlier ones count too.
    """
    candidates = request.protocols
    for k in range(m.modern.group.made):
        if m.modern.members[k].known and m.modern.members[k].classic:
            candidates &= m.classic.members[k].protocols
    return request.protocol_type == m.consumer_type and candidates != 0


@inner_kernel
def _changes(m: MixedGroup, request: JoinRequest, number: int) -> bool:
    """Tell whether a member changes in what only JoinGroup tells."""
    if not knows_member(m.modern, number) or not m.modern.members[number].classic:
        return True
    was = m.classic.members[number]
    return (
        was.elected_only
        or was.preferences != request.preferences
        or was.metadata != request.metadata
        or was.session_timeout_ms != request.session_timeout_ms
    )


@inner_kernel
def _keep_protocols(m: MixedGroup, request: JoinRequest, number: int, protocol: int) -> None:
    """Keep what the group needs to know of the member once it is a classic one again."""
    member, was = m.modern.members[number], m.classic.members[number]
    member.classic = True
    member.session_timeout_ms = request.session_timeout_ms
    member.protocol = protocol
    was.protocol_type = request.protocol_type
    was.protocols, was.preferences, was.metadata = request.protocols, request.preferences, request.metadata
    was.elected_only = False
    was.session_timeout_ms = request.session_timeout_ms


@inner_kernel
def _end_by_replacement(m: MixedGroup, generation: int, number: int, now: int) -> None:
    """Answer who has taken the place of the last member of KIP-848; the group is a classic one then.

    If its subscription is another, it has not been moved, and its generation is none of the group's.
    """
    c = m.modern
    rebalances = c.group.target_epoch < c.group.epoch
    if not rebalances:
        reconcile(c, Errors.NONE, now)
    _answer_joined(m, number)
    begin_downgrade(m, generation, number, EpochReason.STATIC_MEMBER_REPLACED if rebalances else NONE, number, now)


@inner_kernel
def _finish_join(m: MixedGroup, store_error: int, now: int) -> None:
    """Move the member towards its target, and answer; its timers begin when that is replicated."""
    c, number = m.modern, m.modern.group.asking
    if reconcile(c, store_error, now) == Outcome.REFUSED:
        answer_join(m.classic, c.group.request, NONE, modern_response_error(store_error))
        return
    _answer_joined(m, number)
    at_ms = _replicated_ms(m, now)
    c.members[number].join_deadline = NEVER
    set_consumer_session(c, number, c.members[number].session_timeout_ms, at_ms)
    wait_for_sync(c, number, at_ms)


@inner_kernel
def _replicated_ms(m: MixedGroup, now: int) -> int:
    """Return when what has been written up to now will have been replicated."""
    return max(now + m.store_ms if m.modern.group.wrote else now, m.modern.group.stored_ms)


@inner_kernel
def _answer_joined(m: MixedGroup, number: int) -> None:
    answer = next_answer(m.classic, Kind.JOIN, m.modern.group.request, Errors.NONE)
    answer.member = number
    answer.generation = m.modern.members[number].epoch
    answer.protocol = m.modern.members[number].protocol


# ---- SyncGroup


@inner_kernel
def sync_any_group(
    m: MixedGroup,
    request: int,
    member: int,
    instance: int,
    generation: int,
    protocol_type: int,
    protocol: int,
    assignment: int,
    now: int,
) -> None:
    """Take a SyncGroup, as ``sync_group`` does (``classicGroupSync``)."""
    c = m.modern
    c.group.wrote = False
    if not c.group.exists:
        sync_group(m.classic, request, member, instance, generation, protocol_type, protocol, assignment, now)
        return
    error = _sync_error(m, member, instance, generation, protocol_type, protocol, now)
    answer = next_answer(m.classic, Kind.SYNC, request, error)
    if error != Errors.NONE:
        return
    at_ms = _replicated_ms(m, now)
    c.members[member].sync_deadline = NEVER
    set_consumer_session(c, member, c.members[member].session_timeout_ms, at_ms)
    answer.member = member
    answer.generation = generation
    answer.assignment = CURRENT


@inner_kernel
def _sync_error(
    m: MixedGroup, number: int, instance: int, generation: int, protocol_type: int, protocol: int, now: int
) -> int:
    c = m.modern
    error = _classic_error(m, number, instance, generation)
    if error != Errors.NONE:
        return error
    member = c.members[number]
    if protocol_type not in (NONE, m.consumer_type) or protocol not in (NONE, member.protocol):
        return Errors.INCONSISTENT_GROUP_PROTOCOL
    if c.group.target_epoch > member.epoch and member.state != ModernMemberState.UNREVOKED_PARTITIONS:
        wait_for_rejoin(c, number, now)
        return Errors.REBALANCE_IN_PROGRESS
    return Errors.NONE


@inner_kernel
def _classic_error(m: MixedGroup, number: int, instance: int, generation: int) -> int:
    """Check who asks, by the classic protocol, and of which generation."""
    error = consumer_error(m.modern, number, instance)
    if error != Errors.NONE:
        return error
    if not m.modern.members[number].classic:
        return Errors.UNKNOWN_MEMBER_ID
    return Errors.NONE if generation == m.modern.members[number].epoch else Errors.ILLEGAL_GENERATION


# ---- Heartbeat


@inner_kernel
def heartbeat_any_group(m: MixedGroup, request: int, member: int, instance: int, generation: int, now: int) -> None:
    """Take a Heartbeat, as ``heartbeat`` does (``classicGroupHeartbeat``)."""
    c = m.modern
    c.group.wrote = False
    if not c.group.exists:
        heartbeat(m.classic, request, member, instance, generation, now)
        return
    error = _classic_error(m, member, instance, generation)
    if error == Errors.NONE:
        set_consumer_session(c, member, c.members[member].session_timeout_ms, now)
        if _has_to_rejoin(m, member):
            wait_for_rejoin(c, member, now)
            error = Errors.REBALANCE_IN_PROGRESS
    next_answer(m.classic, Kind.HEARTBEAT, request, error)


@inner_kernel
def _has_to_rejoin(m: MixedGroup, number: int) -> bool:
    """Tell whether there is a new target, or partitions to give up, or all that it waits for is free."""
    c, member = m.modern, m.modern.members[number]
    if member.epoch < c.group.target_epoch or member.state == ModernMemberState.UNREVOKED_PARTITIONS:
        return True
    if member.state != ModernMemberState.UNRELEASED_PARTITIONS:
        return False
    for t in range(c.group.topics):
        topic = c.topics[t]
        for p in range(topic.first, topic.first + topic.places):
            if c.partitions[p].target == number and c.partitions[p].owner not in (NONE, number):
                return False
    return True


# ---- LeaveGroup


@inner_kernel
def leave_any_group(m: MixedGroup, request: int, member: int, instance: int, now: int) -> int:
    """Take one member of a LeaveGroup (``classicGroupLeave``); return its error. ``finish_leave_any_group`` follows."""
    c = m.modern
    c.group.wrote = False
    if not c.group.exists:
        return leave_group(m.classic, request, member, instance, now)
    leaver = static_consumer(c, instance) if member == NONE and instance != NONE else member
    error = consumer_error(c, leaver, instance)
    if error == Errors.NONE:
        c.members[leaver].leaving = True
    answer = next_answer(m.classic, Kind.LEAVE, request, error)
    answer.member = member
    return error


@inner_kernel
def finish_leave_any_group(m: MixedGroup, last: int, store_error: int, now: int) -> int:
    """End a LeaveGroup by which at least one member has left, ``last`` among them; return the error of the log."""
    c = m.modern
    if not c.group.exists:
        finish_leave(m.classic, last, now)
        return Errors.NONE
    error = modern_response_error(store_error)
    ends_consumer_group = may_downgrade(m)
    if error == Errors.NONE and ends_consumer_group:
        begin_downgrade(m, c.group.epoch, NONE, EpochReason.MEMBER_LEFT, last, now)
    for k in range(c.group.made):
        if c.members[k].leaving:
            c.members[k].leaving = False
            if error == Errors.NONE and not ends_consumer_group:
                remove_member(c, k)
            elif not ends_consumer_group:
                cancel_timers(c, k)
    if error == Errors.NONE and not ends_consumer_group:
        bump_epoch(c, EpochReason.MEMBER_LEFT, last)
        update_state(c)
        c.group.wrote = True
    return error


# ---- OffsetCommit


@inner_kernel
def commit_error_of_any(
    m: MixedGroup, member: int, instance: int, generation: int, partition: int, by_epoch: bool, now: int
) -> int:
    """Check an OffsetCommit of one partition; ``by_epoch`` says whether it is of version 9 or later."""
    if m.modern.group.exists or (by_epoch and not m.classic.group.exists and generation >= 0):
        return consumer_commit_error(m.modern, member, generation, partition)
    return commit_error(m.classic, member, instance, generation, now)


# ---- Timers, moves of the coordinator


@inner_kernel
def next_mixed_deadline(m: MixedGroup) -> int:
    """Return a time before which nothing is due; NEVER if there is none."""
    return next_consumer_deadline(m.modern) if m.modern.group.exists else next_deadline(m.classic)


@inner_kernel
def expire_next_mixed(m: MixedGroup, store_error: int, now: int) -> bool:
    """Do what is due first, if anything is due by now; tell whether something was."""
    c = m.modern
    c.group.wrote = False
    if not c.group.exists:
        return expire_next(m.classic, now)
    number, timer = first_due(c, now)
    if number == NONE:
        return False
    if is_late(c, number, timer):
        _expire(m, number, timer, store_error, c.group.earliest_ms)
    return True


@inner_kernel
def _expire(m: MixedGroup, number: int, timer: int, store_error: int, now: int) -> None:
    c = m.modern
    c.members[number].leaving = True
    ends_consumer_group = may_downgrade(m)
    if not ends_consumer_group:
        c.members[number].leaving = False
        expire(c, number, timer, store_error, now)
        return
    if store_error == Errors.NONE:
        c.group.evicted += 1
        begin_downgrade(m, c.group.epoch, NONE, expiry_reason(timer), number, now)
    else:
        retry_timer(c, number, timer, now)
    c.members[number].leaving = False


@inner_kernel
def unload_mixed(m: MixedGroup) -> None:
    """Give the group up (``onUnloaded``); only a classic one has somebody waiting."""
    if m.classic.group.exists:
        unload(m.classic)


@inner_kernel
def load_mixed(m: MixedGroup, now: int) -> None:
    """Take the group from the log (``onLoaded``)."""
    if m.modern.group.exists or m.modern.group.only_stored:
        m.modern.group.exists, m.modern.group.only_stored = True, False
        m.classic.group.join_deadline = NEVER
        load_consumer_group(m.modern, now)
        order_timers(m)
        return
    for k in range(m.modern.group.made):
        cancel_timers(m.modern, k)
    load(m.classic, now)
