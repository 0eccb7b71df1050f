"""The coordinator's handling of ConsumerGroupHeartbeat (KIP-848; ``GroupMetadataManager``, Kafka 4.x).

A heartbeat reports what has changed, and a change raises the group's epoch. The next heartbeat of any member then needs
a new target assignment, which the caller computes (``target_due``, ``computed_target``). Then the member is moved
towards its target. Answers go to ``ConsumerGroup.answers``.
"""

from rebalance_sim.kafka.coordinator.classic.classic_group import NEVER, NONE
from rebalance_sim.kafka.coordinator.consumer.consumer_group import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    LEAVE_STATIC_EPOCH,
    UNSUPPORTED,
    ConsumerGroup,
    EpochReason,
    Heartbeat,
    ModernMemberState,
    Timer,
    all_places,
    bump_epoch,
    can_assign,
    cancel_timers,
    clear_consumer_group,
    count_subscriber,
    give_up_partitions,
    is_full,
    is_since,
    knows_member,
    names_nothing,
    next_modern_answer,
    put_member,
    restart_consumer_session,
    same_topics,
    set_deadline,
    start_rebalance_timeout,
    static_consumer,
    subscribe_alike,
    topics_differ,
    update_state,
)
from rebalance_sim.kafka.coordinator.consumer.current_assignment import Reconciliation, owns_within, reconcile
from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.coordinator.write_errors import response_error
from rebalance_sim.kafka.runtime.kernel import inner_kernel
from rebalance_sim.releases import SERVER_ASSIGNORS, ConsumerGroupRules, CoordinatorRules

METADATA_REFRESH_INTERVAL_MS = 2**31 - 1


_ASSIGNORS = len(SERVER_ASSIGNORS)
_RETRY_MS = 500
"""Delay before the task of a timer is retried whose write failed (``CoordinatorTimerImpl``)."""


@inner_kernel
def consumer_heartbeat(modern: ConsumerGroup, request: Heartbeat, store_error: int, now: int) -> None:
    """Handle a ConsumerGroupHeartbeat; ``store_error`` is the log's answer to a write."""
    modern.group.wrote = False
    error = form_error(modern, request)
    if error != Errors.NONE:
        next_modern_answer(modern, request.request, error)
    elif request.epoch < JOIN_EPOCH:
        _leave(modern, request, store_error)
    else:
        error = _identity_error(modern, request)
        if error != Errors.NONE:
            next_modern_answer(modern, request.request, error)
        else:
            _take_heartbeat(modern, request, store_error, now)


@inner_kernel
def form_error(modern: ConsumerGroup, request: Heartbeat) -> int:
    """Check the fields of a heartbeat (``throwIfConsumerGroupHeartbeatRequestIsInvalid``)."""
    if request.epoch == JOIN_EPOCH:
        lists_some = request.owned >= 0 and modern.first_listed[request.owned] != modern.first_listed[request.owned + 1]
        if NONE in (request.rebalance_timeout_ms, request.owned, request.subscription) or lists_some:
            return Errors.INVALID_REQUEST
    elif request.epoch < LEAVE_STATIC_EPOCH or (request.epoch == LEAVE_STATIC_EPOCH and request.instance == NONE):
        return Errors.INVALID_REQUEST
    return Errors.UNSUPPORTED_ASSIGNOR if request.assignor == UNSUPPORTED else Errors.NONE


@inner_kernel
def _identity_error(modern: ConsumerGroup, request: Heartbeat) -> int:
    """Check the sender of a heartbeat."""
    joins = request.epoch == JOIN_EPOCH
    known = knows_member(modern, request.member)
    if not modern.group.exists and not joins:
        return Errors.GROUP_ID_NOT_FOUND
    if is_full(modern, request.member, request.instance):
        return Errors.GROUP_MAX_SIZE_REACHED
    if request.instance == NONE:
        if not known:
            return Errors.NONE if joins else Errors.UNKNOWN_MEMBER_ID
        return _epoch_error(modern, request)
    holder = static_consumer(modern, request.instance)
    if joins:
        in_use = (
            holder != NONE and modern.members[holder].epoch != LEAVE_STATIC_EPOCH and not modern.members[holder].classic
        )
        return Errors.UNRELEASED_INSTANCE_ID if in_use else Errors.NONE
    if holder == NONE:
        return Errors.UNKNOWN_MEMBER_ID
    return Errors.FENCED_INSTANCE_ID if holder != request.member else _epoch_error(modern, request)


@inner_kernel
def _epoch_error(modern: ConsumerGroup, request: Heartbeat) -> int:
    """Check a member's epoch (``throwIfConsumerGroupMemberEpochIsInvalid``).

    The previous epoch is accepted, as an answer may have been lost, if the member owns no more than it was assigned.
    Since 4.2 a member may also rejoin (KAFKA-19233).
    """
    member = modern.members[request.member]
    rejoins = request.epoch == JOIN_EPOCH and is_since(modern, ConsumerGroupRules.ONLY_SUBSCRIBED)
    if rejoins or request.epoch == member.epoch:
        return Errors.NONE
    if request.epoch > member.epoch or request.epoch != member.previous_epoch:
        return Errors.FENCED_MEMBER_EPOCH
    return Errors.NONE if owns_within(modern, request.member, request.owned) else Errors.FENCED_MEMBER_EPOCH


@inner_kernel
def _take_heartbeat(modern: ConsumerGroup, request: Heartbeat, store_error: int, now: int) -> None:
    changes = knows_member(modern, request.member) and modern.members[request.member].classic
    error = take_changes(modern, request, changes, store_error, now)
    if error != Errors.NONE:
        if knows_member(modern, request.member):
            restart_consumer_session(modern, request.member, now)
        next_modern_answer(modern, request.request, error)
        return
    modern.members[request.member].classic = False
    if not modern.group.target_due:
        finish_heartbeat(modern, store_error, now)


@inner_kernel
def take_changes(modern: ConsumerGroup, request: Heartbeat, changes: bool, store_error: int, now: int) -> int:
    """Apply the changes in a heartbeat; raise the epoch and ask for a target assignment if needed.

    ``changes`` is whether the member changes in more than the heartbeat has. Return the error of the log, if any.
    """
    group, number = modern.group, request.member
    replaced = static_consumer(modern, request.instance) if request.epoch == JOIN_EPOCH else NONE
    before = replaced if replaced != NONE else number
    is_new = replaced == NONE and not knows_member(modern, number)
    old_subscription = NONE if is_new else modern.members[before].subscription
    new_subscription = old_subscription if request.subscription == NONE else request.subscription
    if is_new:
        subscription_changed = not names_nothing(modern, new_subscription)
    else:
        subscription_changed = not same_topics(modern, old_subscription, new_subscription)
    # Before 4.3 a new group has epoch 0.
    begins = group.epoch == 0 and not is_since(modern, ConsumerGroupRules.ASSIGNMENT_INTERVAL)
    # ``hasMetadataExpired``
    topics_are_due = now >= group.refresh_ms or group.epoch < group.refresh_epoch
    looks_at_topics = subscription_changed or begins or topics_are_due
    topics_changed = looks_at_topics and topics_differ(modern, old_subscription, new_subscription)
    bumps = subscription_changed or begins or topics_changed
    writes = replaced != NONE or is_new or bumps or changes or _member_changes(modern, request)
    epoch = group.epoch + 1 if bumps else group.epoch
    target_due = group.target_epoch < epoch and can_assign(modern, now)
    if looks_at_topics:
        group.refresh_ms, group.refresh_epoch = now + METADATA_REFRESH_INTERVAL_MS, epoch
    if store_error != Errors.NONE and (writes or target_due):
        if not group.exists:
            clear_consumer_group(modern)
        return response_error(store_error, CoordinatorRules.JAVA)
    if is_new:
        _add(modern, request)
    elif replaced != NONE:
        _replace(modern, replaced, request)
    _update(modern, request, old_subscription, new_subscription)
    if bumps:
        bump_epoch(modern, _reason(is_new, subscription_changed), number)
    group.wrote = writes or target_due
    full = NONE not in (request.rebalance_timeout_ms, request.subscription, request.owned)
    group.asking, group.request, group.owned = number, request.request, request.owned
    group.subscription_changed = subscription_changed
    group.full = full or request.epoch == JOIN_EPOCH
    group.joins = False
    group.target_due = target_due
    if target_due:
        # Unless it looks at the topics, Kafka takes the type from before the heartbeat, without a new member.
        group.homogeneous = subscribe_alike(modern, group.member_count - int(is_new and not looks_at_topics))
        update_state(modern)
    return Errors.NONE


@inner_kernel
def _reason(is_new: bool, subscription_changed: bool) -> int:
    if is_new:
        return EpochReason.NEW_MEMBER
    return EpochReason.MEMBER_CHANGED if subscription_changed else EpochReason.TOPICS_CHANGED


@inner_kernel
def _member_changes(modern: ConsumerGroup, request: Heartbeat) -> bool:
    member = modern.members[request.member]
    return (
        (request.instance not in (NONE, member.instance))
        or (request.rebalance_timeout_ms not in (NONE, member.rebalance_timeout_ms))
        or (request.assignor not in (NONE, member.assignor))
    )


@inner_kernel
def _add(modern: ConsumerGroup, request: Heartbeat) -> None:
    number = request.member
    modern.group.exists = True
    modern.group.made = max(modern.group.made, number + 1)
    modern.group.member_count += 1
    member = modern.members[number]
    put_member(modern, number)
    member.known = True
    member.instance = member.assignor = member.subscription = NONE
    member.epoch, member.previous_epoch = JOIN_EPOCH, -1
    member.state = ModernMemberState.STABLE
    member.rebalance_deadline = NEVER


@inner_kernel
def _replace(modern: ConsumerGroup, old: int, request: Heartbeat) -> None:
    """Replace a static member that has left, keeping its partitions (``replaceMember``)."""
    new = request.member
    modern.group.made = max(modern.group.made, new + 1)
    before, after = modern.members[old], modern.members[new]
    if new != old:
        put_member(modern, new)
        after.known = True
        after.instance, after.state = before.instance, before.state
        after.subscription, after.assignor = before.subscription, before.assignor
        after.rebalance_timeout_ms = before.rebalance_timeout_ms
        after.rebalance_deadline = NEVER
        before.known = False
        before.session_deadline = before.rebalance_deadline = NEVER
        for p in range(all_places(modern)):
            partition = modern.partitions[p]
            if partition.owner == old:
                partition.owner = new
            if partition.target == old:
                partition.target = new
    after.epoch = after.previous_epoch = 0


@inner_kernel
def _update(modern: ConsumerGroup, request: Heartbeat, old_subscription: int, new_subscription: int) -> None:
    member = modern.members[request.member]
    member.client, member.hash = request.client, request.hash
    if request.instance != NONE:
        member.instance = request.instance
    if request.rebalance_timeout_ms != NONE:
        member.rebalance_timeout_ms = request.rebalance_timeout_ms
    if request.assignor != NONE:
        member.assignor = request.assignor
    if new_subscription != old_subscription:
        count_subscriber(modern, old_subscription, -1)
        count_subscriber(modern, new_subscription, 1)
        member.subscription = new_subscription


@inner_kernel
def preferred_assignor(modern: ConsumerGroup) -> int:
    """Return the assignor that most members prefer; NONE if no member has a preference.

    ``computePreferredServerAssignor``. On a tie, an assignor wins that only the sender of the heartbeat prefers, since
    it is put into a hash map last.
    """
    counts, first = 0, NONE
    for a in range(_ASSIGNORS):
        preferring = 0
        for number in range(modern.group.made):
            preferring += int(modern.members[number].known and modern.members[number].assignor == a)
        is_last = preferring == 1 and modern.members[modern.group.asking].assignor == a
        if preferring > counts or (preferring == counts and preferring > 0 and is_last):
            counts, first = preferring, a
    return first


@inner_kernel
def describe_target(modern: ConsumerGroup) -> None:
    """Note what the caller needs to know to compute the target assignment that is due."""
    group = modern.group
    group.preferred_assignor = preferred_assignor(modern)
    group.new_member_differs = group.homogeneous and not subscribe_alike(modern, group.member_count)


@inner_kernel
def use_target(modern: ConsumerGroup, now: int) -> None:
    """Make the target assignment that the caller has computed that of the current epoch."""
    for p in range(all_places(modern)):
        modern.partitions[p].target = modern.partitions[p].computed_target
    modern.group.target_due = False
    modern.group.wrote = True
    modern.group.target_epoch, modern.group.assigned_ms = modern.group.epoch, now


@inner_kernel
def finish_heartbeat(modern: ConsumerGroup, store_error: int, now: int) -> None:
    """Move the member towards its target, and answer its heartbeat."""
    group, number = modern.group, modern.group.asking
    restart_consumer_session(modern, number, now)
    outcome = reconcile(modern, store_error, now)
    if outcome == Reconciliation.REFUSED:
        next_modern_answer(modern, group.request, response_error(store_error, CoordinatorRules.JAVA))
        return
    answer = next_modern_answer(modern, group.request, Errors.NONE)
    answer.member = number
    answer.epoch = modern.members[number].epoch
    answer.has_assignment = outcome == Reconciliation.CHANGED or group.full


# ---- Leaving


@inner_kernel
def _leave(modern: ConsumerGroup, request: Heartbeat, store_error: int) -> None:
    """Handle a heartbeat of a leaving member (``consumerGroupLeave``)."""
    number = request.member
    error = leave_error(modern, request)
    if error == Errors.NONE and store_error != Errors.NONE:
        if request.epoch == LEAVE_EPOCH:
            # The timers are cancelled even if the write fails.
            cancel_timers(modern, number)
        error = response_error(store_error, CoordinatorRules.JAVA)
    if error == Errors.NONE:
        if request.epoch == LEAVE_STATIC_EPOCH:
            _leave_for_a_while(modern, number)
        else:
            fence(modern, number, EpochReason.MEMBER_LEFT)
        modern.group.wrote = True
        update_state(modern)
    answer_goodbye(modern, request, error)


@inner_kernel
def leave_error(modern: ConsumerGroup, request: Heartbeat) -> int:
    """Check the sender of a heartbeat that leaves."""
    if not modern.group.exists:
        return Errors.GROUP_ID_NOT_FOUND
    return consumer_error(modern, request.member, request.instance)


@inner_kernel
def consumer_error(modern: ConsumerGroup, member: int, instance: int) -> int:
    """Check the identity in a request (``validateConsumerGroupMember``)."""
    if instance == NONE:
        return Errors.NONE if knows_member(modern, member) else Errors.UNKNOWN_MEMBER_ID
    holder = static_consumer(modern, instance)
    if holder == NONE:
        return Errors.UNKNOWN_MEMBER_ID
    return Errors.NONE if holder == member else Errors.FENCED_INSTANCE_ID


@inner_kernel
def answer_goodbye(modern: ConsumerGroup, request: Heartbeat, error: int) -> None:
    """Answer a heartbeat that leaves."""
    answer = next_modern_answer(modern, request.request, error)
    answer.epoch = request.epoch
    if error == Errors.NONE:
        answer.member = request.member


@inner_kernel
def _leave_for_a_while(modern: ConsumerGroup, number: int) -> None:
    """Keep a static member's place and partitions, except those pending revocation."""
    modern.members[number].epoch = LEAVE_STATIC_EPOCH
    for p in range(all_places(modern)):
        partition = modern.partitions[p]
        if partition.owner == number:
            partition.epoch = 0
            if partition.pending_revocation:
                partition.owner = NONE
                partition.pending_revocation = False


@inner_kernel
def fence(modern: ConsumerGroup, number: int, reason: int) -> None:
    """Remove a member and raise the epoch (``consumerGroupFenceMember``)."""
    remove_member(modern, number)
    bump_epoch(modern, reason, number)


@inner_kernel
def remove_member(modern: ConsumerGroup, number: int) -> None:
    """Remove a member and its timers."""
    give_up_partitions(modern, number)
    count_subscriber(modern, modern.members[number].subscription, -1)
    modern.members[number].known = False
    cancel_timers(modern, number)
    modern.group.member_count -= 1


# ---- Timers


@inner_kernel
def take_first_due(modern: ConsumerGroup, now: int) -> tuple[int, int]:
    """Take the timer that expires first, if it has expired: return its member, or NONE, and which timer it is."""
    group = modern.group
    first, set_as = NONE, 0
    kind: int = Timer.SESSION
    if group.earliest_ms > now:
        return first, kind
    group.earliest_ms = NEVER
    for number in range(group.made):
        member = modern.members[number]
        if not member.known:
            continue
        if _comes_first(member.session_deadline, member.session_timer, group.earliest_ms, set_as):
            first, kind, set_as = number, Timer.SESSION, member.session_timer
            group.earliest_ms = member.session_deadline
        if _comes_first(member.rebalance_deadline, member.rebalance_timer, group.earliest_ms, set_as):
            first, kind, set_as = number, Timer.REBALANCE, member.rebalance_timer
            group.earliest_ms = member.rebalance_deadline
        if not member.classic:
            continue
        if _comes_first(member.join_deadline, member.join_timer, group.earliest_ms, set_as):
            first, kind, set_as = number, Timer.JOIN, member.join_timer
            group.earliest_ms = member.join_deadline
        if _comes_first(member.sync_deadline, member.sync_timer, group.earliest_ms, set_as):
            first, kind, set_as = number, Timer.SYNC, member.sync_timer
            group.earliest_ms = member.sync_deadline
    if group.earliest_ms > now or first == NONE:
        return NONE, kind
    set_deadline(modern, first, kind, NEVER)
    return first, kind


@inner_kernel
def _comes_first(deadline: int, timer: int, first_deadline: int, first_timer: int) -> bool:
    return deadline < first_deadline or (deadline == first_deadline and deadline != NEVER and timer < first_timer)


@inner_kernel
def timer_still_applies(modern: ConsumerGroup, number: int, timer: int) -> bool:
    """Return whether an expired rebalance timer should evict the member.

    It should not if the member has moved on to a later epoch since the timer was set
    (``scheduleConsumerGroupRebalanceTimeout``).
    """
    member = modern.members[number]
    return timer != Timer.REBALANCE or member.epoch == member.rebalance_epoch


@inner_kernel
def expire(modern: ConsumerGroup, number: int, timer: int, store_error: int, now: int) -> None:
    """Remove a member whose timer expired."""
    if store_error != Errors.NONE:
        cancel_timers(modern, number)
        retry_timer(modern, number, timer, now)
        return
    modern.group.evicted += 1
    modern.group.wrote = True
    fence(modern, number, expiry_reason(timer))
    update_state(modern)


@inner_kernel
def retry_timer(modern: ConsumerGroup, number: int, timer: int, now: int) -> None:
    """Set a timer again whose write the log refused."""
    set_deadline(modern, number, timer, now + _RETRY_MS)
    modern.group.earliest_ms = min(modern.group.earliest_ms, now + _RETRY_MS)


@inner_kernel
def expiry_reason(timer: int) -> int:
    """Return why the epoch rises when a member's timer expires."""
    if timer == Timer.SESSION:
        return EpochReason.SESSION_EXPIRED
    if timer == Timer.REBALANCE:
        return EpochReason.REBALANCE_TIMED_OUT
    return EpochReason.NEVER_JOINED if timer == Timer.JOIN else EpochReason.NEVER_SYNCED


# ---- Topics, commits, moves of the coordinator


@inner_kernel
def see_topic(modern: ConsumerGroup, topic: int, exists: bool, partitions: int) -> None:
    """Record the cluster's metadata of a topic.

    After a change of a subscribed topic, the next heartbeat refreshes the group's metadata (``onMetadataUpdate``).
    """
    seen = modern.topics[topic]
    if seen.subscribers > 0 and (seen.exists != exists or seen.partitions != partitions):
        modern.group.refresh_ms = modern.group.refresh_epoch = 0
    seen.exists, seen.partitions = exists, partitions


@inner_kernel
def consumer_commit_error(modern: ConsumerGroup, member: int, epoch: int, partition: int) -> int:
    """Check an OffsetCommit of one partition (``validateOffsetCommit``).

    Since 4.3 an earlier epoch is accepted if the member has owned the partition since then (KIP-1251). Classic members
    send their generation, which is their epoch.
    """
    if not modern.group.exists:
        return Errors.NONE if epoch < 0 else Errors.GROUP_ID_NOT_FOUND
    if epoch < 0 and modern.group.member_count == 0:
        return Errors.NONE
    if not knows_member(modern, member):
        return Errors.UNKNOWN_MEMBER_ID
    if epoch == modern.members[member].epoch:
        return Errors.NONE
    stale = Errors.ILLEGAL_GENERATION if modern.members[member].classic else Errors.STALE_MEMBER_EPOCH
    by_partition = is_since(modern, ConsumerGroupRules.ASSIGNMENT_INTERVAL)
    if not by_partition or epoch > modern.members[member].epoch or partition == NONE:
        return stale
    has_it = modern.partitions[partition].owner == member and epoch >= modern.partitions[partition].epoch
    return Errors.NONE if has_it else stale


@inner_kernel
def load_consumer_group(modern: ConsumerGroup, now: int) -> None:
    """Load the group from the log, which has all of it; sessions and rebalance timeouts restart (``onLoaded``)."""
    group = modern.group
    group.earliest_ms = NEVER
    group.refresh_ms = group.refresh_epoch = 0
    group.target_due = False
    if not group.exists:
        clear_consumer_group(modern)
        return
    for number in range(group.made):
        member = modern.members[number]
        cancel_timers(modern, number)
        if member.known:
            restart_consumer_session(modern, number, now)
            if member.state == ModernMemberState.UNREVOKED_PARTITIONS:
                start_rebalance_timeout(modern, number, now)
