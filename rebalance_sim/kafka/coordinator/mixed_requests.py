"""Requests to a group of either protocol, and classic requests to a consumer-protocol group.

``GroupMetadataManager``, Kafka 4.x. In a consumer-protocol group (``group_conversion``), a classic member joins without
waiting for the others and receives its partitions by SyncGroup; there is no leader. Its generation is its epoch. When
its assignment must change, a heartbeat answers REBALANCE_IN_PROGRESS, and it rejoins.
"""

from typing import NamedTuple

from rebalance_sim.kafka.coordinator.classic.classic_group import (
    NEVER,
    NONE,
    JoinRequest,
    RequestKind,
    SyncRequest,
    answer_join,
    make_id,
    next_answer,
)
from rebalance_sim.kafka.coordinator.classic.log import load, unload
from rebalance_sim.kafka.coordinator.classic.rebalance import expire_next, next_deadline
from rebalance_sim.kafka.coordinator.classic.requests import (
    allows_session_timeout,
    commit_offsets,
    finish_leave,
    heartbeat,
    join_group,
    leave_group,
    sync_group,
)
from rebalance_sim.kafka.coordinator.consumer.consumer_group import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    EpochReason,
    Heartbeat,
    ModernMemberState,
    all_places,
    bump_epoch,
    cancel_timers,
    is_full,
    is_since,
    knows_member,
    next_modern_answer,
    set_consumer_session,
    static_consumer,
    update_state,
    wait_for_rejoin,
    wait_for_sync,
)
from rebalance_sim.kafka.coordinator.consumer.current_assignment import Reconciliation, reconcile
from rebalance_sim.kafka.coordinator.consumer.heartbeat import (
    answer_goodbye,
    consumer_commit_error,
    consumer_error,
    consumer_heartbeat,
    expire,
    expiry_reason,
    finish_heartbeat,
    form_error,
    leave_error,
    load_consumer_group,
    remove_member,
    retry_timer,
    take_changes,
    take_first_due,
    timer_still_applies,
    use_target,
)
from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.coordinator.group_conversion import (
    UNREADABLE,
    MixedGroup,
    align_numbers,
    begin_downgrade,
    forget_hidden_group,
    forget_past_timers,
    hide_consumer_group,
    join_classic_group,
    may_downgrade,
    may_downgrade_by_replacement,
    order_timers,
)
from rebalance_sim.kafka.coordinator.write_errors import response_error
from rebalance_sim.kafka.runtime.kernel import inner_kernel, kernel_in_place
from rebalance_sim.releases import ConsumerGroupRules, CoordinatorRules

CURRENT = -2
"""In an answer to SyncGroup: the member's current assignment."""
_REJOIN_EPOCH = 1
"""Any epoch of a member that is in the group."""


class Offer(NamedTuple):
    """The decoded contents of a JoinGroup."""

    subscription: int
    """Its topics, or UNREADABLE."""
    owned: int
    """A row of ``listed``, or NOTHING, also where the subscription's version has no owned partitions."""
    protocol: int
    """The first protocol in its list."""


# ---- ConsumerGroupHeartbeat


@inner_kernel
def heartbeat_by_epoch(mixed: MixedGroup, request: Heartbeat, store_error: int, now: int) -> None:
    """Handle a ConsumerGroupHeartbeat; one that joins a classic group converts it."""
    modern = mixed.modern
    modern.group.wrote = False
    fits = form_error(modern, request) == Errors.NONE
    if fits and request.epoch == JOIN_EPOCH and modern.group.only_stored:
        _join_hidden_group(mixed, request, store_error, now)
    elif fits and request.epoch == JOIN_EPOCH and mixed.classic.group.exists:
        join_classic_group(mixed, request, store_error, now)
    elif fits and request.epoch == LEAVE_EPOCH and _is_last_consumer(mixed, request):
        error = response_error(store_error, CoordinatorRules.JAVA)
        if error == Errors.NONE:
            _downgrade_without(mixed, request.member, EpochReason.MEMBER_LEFT, now)
        answer_goodbye(modern, request, error)
    else:
        consumer_heartbeat(modern, request, store_error, now)
    align_numbers(mixed)


@inner_kernel
def _join_hidden_group(mixed: MixedGroup, request: Heartbeat, store_error: int, now: int) -> None:
    """Begin a new group; if the log refuses that, the hidden group is restored."""
    if store_error == Errors.NONE:
        forget_hidden_group(mixed)
        consumer_heartbeat(mixed.modern, request, store_error, now)
        return
    mixed.modern.group.exists, mixed.modern.group.only_stored = True, False
    next_modern_answer(mixed.modern, request.request, response_error(store_error, CoordinatorRules.JAVA))


@inner_kernel
def _is_last_consumer(mixed: MixedGroup, request: Heartbeat) -> bool:
    """Return whether the group becomes a classic one when the sender of this heartbeat leaves."""
    return leave_error(mixed.modern, request) == Errors.NONE and may_downgrade(mixed, request.member)


@inner_kernel
def finish_target_any_group(mixed: MixedGroup, now: int) -> None:
    """Go on with the request that has waited for the new target assignment."""
    use_target(mixed.modern, now)
    if mixed.modern.group.ends:
        _end_with_target(mixed, now)
    elif mixed.modern.group.joins:
        _finish_join(mixed, Errors.NONE, now)
    else:
        finish_heartbeat(mixed.modern, Errors.NONE, now)


# ---- JoinGroup


@inner_kernel
def join_any_group(mixed: MixedGroup, request: JoinRequest, offer: Offer, store_error: int, now: int) -> None:
    """Handle a JoinGroup (``classicGroupJoin``); a consumer-protocol group without members does not count."""
    group = mixed.modern.group
    group.wrote = False
    fits = allows_session_timeout(mixed.classic.config, request.session_timeout_ms)
    if fits and group.exists and group.member_count > 0:
        _join_consumer_group(mixed, request, offer, store_error, now)
    else:
        if fits and group.exists:
            hide_consumer_group(mixed)
        join_group(mixed.classic, request, now)
        if mixed.classic.group.exists:
            forget_hidden_group(mixed)
    align_numbers(mixed)


@inner_kernel
def _join_consumer_group(mixed: MixedGroup, request: JoinRequest, offer: Offer, store_error: int, now: int) -> None:
    """Handle a JoinGroup of a classic member, or a new one (``classicGroupJoinToConsumerGroup``)."""
    modern, classic = mixed.modern, mixed.classic
    is_unknown = request.member == NONE
    number = make_id(classic, request) if is_unknown else request.member
    align_numbers(mixed)
    error = _join_error(mixed, request, number)
    if error == Errors.NONE and offer.subscription == UNREADABLE:
        error = Errors.UNKNOWN_SERVER_ERROR
    if error != Errors.NONE:
        answer_join(classic, request.request, number if error == Errors.MEMBER_ID_REQUIRED else NONE, error)
        return
    holder = static_consumer(modern, request.instance)
    ends_consumer_group = may_downgrade_by_replacement(mixed, holder)
    generation, rebalances = modern.group.epoch, modern.group.rebalances
    changes = _changes(mixed, request, number)
    as_heartbeat = Heartbeat(
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
    error = take_changes(modern, as_heartbeat, changes, store_error, now)
    if error != Errors.NONE:
        answer_join(classic, request.request, NONE, error)
        return
    forget_past_timers(modern, number, now)
    _keep_protocols(mixed, request, number, offer.protocol)
    modern.group.joins = True
    if ends_consumer_group:
        modern.group.rebalances = rebalances
        _end_by_replacement(mixed, generation, now)
    elif not modern.group.target_due:
        _finish_join(mixed, store_error, now)


@inner_kernel
def _join_error(mixed: MixedGroup, request: JoinRequest, number: int) -> int:
    if is_full(mixed.modern, number, request.instance):
        return Errors.GROUP_MAX_SIZE_REACHED
    if not _supports_protocols(mixed, request):
        return Errors.INCONSISTENT_GROUP_PROTOCOL
    if request.member == NONE:
        asks_for_id = request.requires_known_member_id and request.instance == NONE
        return Errors.MEMBER_ID_REQUIRED if asks_for_id else Errors.NONE
    if request.instance == NONE:
        return Errors.NONE
    return consumer_error(mixed.modern, number, request.instance)


@inner_kernel
def _supports_protocols(mixed: MixedGroup, request: JoinRequest) -> bool:
    """Return whether a protocol is common to all classic members and the joining one (``supportsClassicProtocols``).

    A known member's earlier protocols count too.
    """
    candidates = request.protocols
    for number in range(mixed.modern.group.made):
        if mixed.modern.members[number].known and mixed.modern.members[number].classic:
            candidates &= mixed.classic.members[number].protocols
    return request.protocol_type == mixed.consumer_type and candidates != 0


@inner_kernel
def _changes(mixed: MixedGroup, request: JoinRequest, number: int) -> bool:
    """Return whether a member changes in what only a JoinGroup has."""
    if not knows_member(mixed.modern, number) or not mixed.modern.members[number].classic:
        return True
    classic_member = mixed.classic.members[number]
    return (
        classic_member.elected_only
        or classic_member.preferences != request.preferences
        or classic_member.metadata != request.metadata
        or classic_member.session_timeout_ms != request.session_timeout_ms
    )


@inner_kernel
def _keep_protocols(mixed: MixedGroup, request: JoinRequest, number: int, protocol: int) -> None:
    """Store the protocols, which the group needs when it becomes a classic one."""
    member, classic_member = mixed.modern.members[number], mixed.classic.members[number]
    member.classic, member.protocol = True, protocol
    classic_member.protocol_type, classic_member.protocols = request.protocol_type, request.protocols
    classic_member.preferences, classic_member.metadata = request.preferences, request.metadata
    classic_member.elected_only = False
    member.session_timeout_ms = classic_member.session_timeout_ms = request.session_timeout_ms


@inner_kernel
def _end_by_replacement(mixed: MixedGroup, generation: int, now: int) -> None:
    """Answer the member that replaced the last consumer-protocol member; the group is a classic one then.

    If its subscription differs, its assignment has not changed, and its epoch is not the group's generation. Before
    KAFKA-19546 its epoch is that of a new target assignment, but the members keep the one before, without a rebalance.
    """
    modern = mixed.modern
    group = modern.group
    if group.target_due and not modern.of_release.rebalances_after_replacement:
        group.ends, group.generation_before = True, generation
        for p in range(all_places(modern)):
            modern.partitions[p].target_before = modern.partitions[p].target
        return
    group.target_due = False
    rebalances = group.subscription_changed and modern.of_release.rebalances_after_replacement
    if is_since(modern, ConsumerGroupRules.ASSIGNMENT_INTERVAL):
        rebalances = group.target_epoch < group.epoch
    if not rebalances:
        reconcile(modern, Errors.NONE, now)
    _end(mixed, generation, EpochReason.STATIC_MEMBER_REPLACED if rebalances else NONE, now)


@inner_kernel
def _end_with_target(mixed: MixedGroup, now: int) -> None:
    """Answer that member with the new target assignment, and clear this one."""
    modern = mixed.modern
    modern.group.ends = False
    reconcile(modern, Errors.NONE, now)
    for p in range(all_places(modern)):
        modern.partitions[p].target = modern.partitions[p].target_before
    _end(mixed, modern.group.generation_before, NONE, now)


@inner_kernel
def _end(mixed: MixedGroup, generation: int, reason: int, now: int) -> None:
    number = mixed.modern.group.asking
    _answer_joined(mixed, number)
    begin_downgrade(mixed, generation, number, reason, number, now)


@inner_kernel
def _finish_join(mixed: MixedGroup, store_error: int, now: int) -> None:
    """Move the member towards its target, and answer; its timers start when the write is replicated."""
    modern, number = mixed.modern, mixed.modern.group.asking
    if reconcile(modern, store_error, now) == Reconciliation.REFUSED:
        answer_join(mixed.classic, modern.group.request, NONE, response_error(store_error, CoordinatorRules.JAVA))
        return
    _answer_joined(mixed, number)
    at_ms = _replicated_ms(mixed, now)
    modern.members[number].join_deadline = NEVER
    set_consumer_session(modern, number, modern.members[number].session_timeout_ms, at_ms)
    wait_for_sync(modern, number, at_ms)


@inner_kernel
def _replicated_ms(mixed: MixedGroup, now: int) -> int:
    """Return when all writes so far will be replicated."""
    return max(now + mixed.store_ms if mixed.modern.group.wrote else now, mixed.modern.group.stored_ms)


@inner_kernel
def _answer_joined(mixed: MixedGroup, number: int) -> None:
    answer = next_answer(mixed.classic, RequestKind.JOIN, mixed.modern.group.request, Errors.NONE)
    answer.member = number
    answer.generation = mixed.modern.members[number].epoch
    answer.protocol = mixed.modern.members[number].protocol


# ---- SyncGroup


@inner_kernel
def sync_any_group(mixed: MixedGroup, sync: SyncRequest, now: int) -> None:
    """Handle a SyncGroup, as ``sync_group`` does (``classicGroupSyncToConsumerGroup``)."""
    modern, number = mixed.modern, sync.member
    modern.group.wrote = False
    if not modern.group.exists:
        sync_group(mixed.classic, sync, now)
        return
    error = _sync_error(mixed, sync)
    answer = next_answer(mixed.classic, RequestKind.SYNC, sync.request, error)
    if error == Errors.REBALANCE_IN_PROGRESS:
        wait_for_rejoin(modern, number, now)
    if error != Errors.NONE:
        return
    at_ms = _replicated_ms(mixed, now)
    modern.members[number].sync_deadline = NEVER
    set_consumer_session(modern, number, modern.members[number].session_timeout_ms, at_ms)
    answer.member = number
    answer.generation = sync.generation
    answer.assignment = CURRENT


@inner_kernel
def _sync_error(mixed: MixedGroup, sync: SyncRequest) -> int:
    modern = mixed.modern
    error = _classic_error(mixed, sync.member, sync.instance, sync.generation)
    if error != Errors.NONE:
        return error
    member = modern.members[sync.member]
    if sync.protocol_type not in (NONE, mixed.consumer_type) or sync.protocol not in (NONE, member.protocol):
        return Errors.INCONSISTENT_GROUP_PROTOCOL
    if _epoch_to_reach(mixed) > member.epoch and member.state != ModernMemberState.UNREVOKED_PARTITIONS:
        return Errors.REBALANCE_IN_PROGRESS
    return Errors.NONE


@inner_kernel
def _epoch_to_reach(mixed: MixedGroup) -> int:
    """Return the epoch below which classic members must rejoin: before 4.3 each epoch has a target at once."""
    group = mixed.modern.group
    return group.target_epoch if is_since(mixed.modern, ConsumerGroupRules.ASSIGNMENT_INTERVAL) else group.epoch


@inner_kernel
def _classic_error(mixed: MixedGroup, number: int, instance: int, generation: int) -> int:
    """Check the sender of a classic request, and its generation."""
    error = consumer_error(mixed.modern, number, instance)
    if error != Errors.NONE:
        return error
    if not mixed.modern.members[number].classic:
        return Errors.UNKNOWN_MEMBER_ID
    return Errors.NONE if generation == mixed.modern.members[number].epoch else Errors.ILLEGAL_GENERATION


# ---- Heartbeat


@inner_kernel
def heartbeat_any_group(mixed: MixedGroup, request: int, member: int, instance: int, generation: int, now: int) -> None:
    """Handle a Heartbeat, as ``heartbeat`` does (``classicGroupHeartbeatToConsumerGroup``)."""
    modern = mixed.modern
    modern.group.wrote = False
    if not modern.group.exists:
        heartbeat(mixed.classic, request, member, instance, generation, now)
        return
    error = _classic_error(mixed, member, instance, generation)
    if error == Errors.NONE:
        set_consumer_session(modern, member, modern.members[member].session_timeout_ms, now)
        if _has_to_rejoin(mixed, member):
            wait_for_rejoin(modern, member, now)
            error = Errors.REBALANCE_IN_PROGRESS
    next_answer(mixed.classic, RequestKind.HEARTBEAT, request, error)


@inner_kernel
def _has_to_rejoin(mixed: MixedGroup, number: int) -> bool:
    """Return whether the member must rejoin: for a new target, to revoke, or because all its partitions are free."""
    modern, member = mixed.modern, mixed.modern.members[number]
    if member.epoch < _epoch_to_reach(mixed) or member.state == ModernMemberState.UNREVOKED_PARTITIONS:
        return True
    if member.state != ModernMemberState.UNRELEASED_PARTITIONS:
        return False
    for p in range(all_places(modern)):
        if modern.partitions[p].target == number and modern.partitions[p].owner not in (NONE, number):
            return False
    return True


# ---- LeaveGroup


@inner_kernel
def leave_any_group(mixed: MixedGroup, request: int, member: int, instance: int, now: int) -> int:
    """Remove one member of a LeaveGroup (``classicGroupLeaveToConsumerGroup``); return its error.
    ``finish_leave_any_group`` must follow.
    """
    modern = mixed.modern
    modern.group.wrote = False
    if not modern.group.exists:
        return leave_group(mixed.classic, request, member, instance, now)
    leaver = static_consumer(modern, instance) if member == NONE and instance != NONE else member
    error = consumer_error(modern, leaver, instance)
    if error == Errors.NONE:
        modern.members[leaver].leaving = True
    answer = next_answer(mixed.classic, RequestKind.LEAVE, request, error)
    answer.member = member
    return error


@inner_kernel
def finish_leave_any_group(mixed: MixedGroup, last: int, store_error: int, now: int) -> int:
    """End a LeaveGroup that removes at least one member, ``last`` among them; return the error of the log."""
    modern = mixed.modern
    if not modern.group.exists:
        finish_leave(mixed.classic, last, now)
        return Errors.NONE
    error = response_error(store_error, CoordinatorRules.JAVA)
    ends_consumer_group = may_downgrade(mixed, NONE)
    if error == Errors.NONE and ends_consumer_group:
        begin_downgrade(mixed, modern.group.epoch, NONE, EpochReason.MEMBER_LEFT, last, now)
    for number in range(modern.group.made):
        if modern.members[number].leaving:
            modern.members[number].leaving = False
            if error == Errors.NONE and not ends_consumer_group:
                remove_member(modern, number)
            elif not ends_consumer_group:
                cancel_timers(modern, number)
    if error == Errors.NONE and not ends_consumer_group:
        bump_epoch(modern, EpochReason.MEMBER_LEFT, last)
        update_state(modern)
        modern.group.wrote = True
    return error


# ---- OffsetCommit


@inner_kernel
def commit_offsets_any_group(
    mixed: MixedGroup, member: int, instance: int, generation: int, partition: int, by_epoch: bool, now: int
) -> int:
    """Accept or refuse an OffsetCommit of one partition; ``by_epoch`` is whether it is of version 9 or later."""
    if mixed.modern.group.exists or (by_epoch and not mixed.classic.group.exists and generation >= 0):
        return consumer_commit_error(mixed.modern, member, generation, partition)
    return commit_offsets(mixed.classic, member, instance, generation, now)


# ---- Timers, moves of the coordinator


@kernel_in_place
def next_mixed_deadline(mixed: MixedGroup) -> int:
    """Return a time before which no timer expires; NEVER if there is none."""
    return mixed.modern.group.earliest_ms if mixed.modern.group.exists else next_deadline(mixed.classic)


@inner_kernel
def expire_next_mixed(mixed: MixedGroup, store_error: int, now: int) -> bool:
    """Handle the first timer that is due; return False if none is."""
    modern = mixed.modern
    modern.group.wrote = False
    if not modern.group.exists:
        return expire_next(mixed.classic, now)
    number, timer = take_first_due(modern, now)
    if number == NONE:
        return False
    if timer_still_applies(modern, number, timer):
        _expire(mixed, number, timer, store_error, modern.group.earliest_ms)
    return True


@inner_kernel
def _expire(mixed: MixedGroup, number: int, timer: int, store_error: int, now: int) -> None:
    modern = mixed.modern
    if not may_downgrade(mixed, number):
        expire(modern, number, timer, store_error, now)
    elif store_error == Errors.NONE:
        modern.group.evicted += 1
        _downgrade_without(mixed, number, expiry_reason(timer), now)
    else:
        retry_timer(modern, number, timer, now)


@inner_kernel
def _downgrade_without(mixed: MixedGroup, leaver: int, reason: int, now: int) -> None:
    """Convert the group to a classic one because its last consumer-protocol member leaves."""
    mixed.modern.members[leaver].leaving = True
    begin_downgrade(mixed, mixed.modern.group.epoch, NONE, reason, leaver, now)
    mixed.modern.members[leaver].leaving = False


@inner_kernel
def unload_mixed(mixed: MixedGroup) -> None:
    """Unload the group (``onUnloaded``); only a classic one has waiting members."""
    if mixed.classic.group.exists:
        unload(mixed.classic)


@inner_kernel
def load_mixed(mixed: MixedGroup, now: int) -> None:
    """Load the group from the log (``onLoaded``)."""
    if mixed.modern.group.exists or mixed.modern.group.only_stored:
        mixed.modern.group.exists, mixed.modern.group.only_stored = True, False
        mixed.classic.group.join_deadline = NEVER
        load_consumer_group(mixed.modern, now)
        order_timers(mixed)
        return
    for number in range(mixed.modern.group.made):
        cancel_timers(mixed.modern, number)
    load(mixed.classic, now)
