"""What the coordinator does with the heartbeats of KIP-848's members (``GroupMetadataManager``, Kafka 4.3).

A heartbeat tells what has changed. A group that has changed gets a new epoch; any member's next heartbeat then asks for
a new target assignment, which the caller brings (``target_due``, ``give_target``, ``finish_target``). Then the member
is led towards its share of it. Answers are put into ``ConsumerGroup.answers``.
"""

from enum import IntEnum

from rebalance_sim.kafka.coordinator.classic_group import NEVER, NONE
from rebalance_sim.kafka.coordinator.consumer_group import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    LEAVE_STATIC_EPOCH,
    UNSUPPORTED,
    ConsumerGroup,
    EpochReason,
    Heartbeat,
    ModernMemberState,
    Timer,
    bump_epoch,
    can_assign,
    cancel_timers,
    clear_consumer_group,
    count_subscriber,
    give_up_partitions,
    knows_member,
    names_nothing,
    next_modern_answer,
    put_member,
    restart_consumer_session,
    same_topics,
    set_deadline,
    start_rebalance_timeout,
    static_consumer,
    topics_differ,
    update_state,
)
from rebalance_sim.kafka.coordinator.current_assignment import Move, carry_out, move_changes, next_move, owns_within
from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.kernel import inner_kernel

METADATA_REFRESH_INTERVAL_MS = 2**31 - 1


class Outcome(IntEnum):
    """What becomes of a member that is moved towards its target."""

    REFUSED = 0
    """The log does not take it."""
    SAME = 1
    CHANGED = 2
    """It has other partitions than before."""


_ASSIGNORS = 2
"""0: uniform, which is the default. 1: range."""
_RETRY_MS = 500
"""After what time a timer's task runs again whose write failed (``CoordinatorTimerImpl``)."""


@inner_kernel
def consumer_heartbeat(c: ConsumerGroup, request: Heartbeat, store_error: int, now: int) -> None:
    """Take a ConsumerGroupHeartbeat; ``store_error`` is how the log answers to what there is to write."""
    c.group.wrote = False
    error = form_error(c, request)
    if error != Errors.NONE:
        next_modern_answer(c, request.request, error)
    elif request.epoch < JOIN_EPOCH:
        _leave(c, request, store_error)
    else:
        error = _identity_error(c, request)
        if error != Errors.NONE:
            next_modern_answer(c, request.request, error)
        else:
            _take_heartbeat(c, request, store_error, now)


@inner_kernel
def form_error(c: ConsumerGroup, request: Heartbeat) -> int:
    """Check what a heartbeat says, whoever sends it (``throwIfConsumerGroupHeartbeatRequestIsInvalid``)."""
    if request.epoch == JOIN_EPOCH:
        lists_some = request.owned >= 0 and c.first_listed[request.owned] != c.first_listed[request.owned + 1]
        if NONE in (request.rebalance_timeout_ms, request.owned, request.subscription) or lists_some:
            return Errors.INVALID_REQUEST
    elif request.epoch < LEAVE_STATIC_EPOCH or (request.epoch == LEAVE_STATIC_EPOCH and request.instance == NONE):
        return Errors.INVALID_REQUEST
    return Errors.UNSUPPORTED_ASSIGNOR if request.assignor == UNSUPPORTED else Errors.NONE


@inner_kernel
def _identity_error(c: ConsumerGroup, request: Heartbeat) -> int:
    """Check who sends a heartbeat."""
    joins = request.epoch == JOIN_EPOCH
    known = knows_member(c, request.member)
    if not c.group.exists and not joins:
        return Errors.GROUP_ID_NOT_FOUND
    if c.group.members >= c.config.group_consumer_max_size and not known:
        return Errors.GROUP_MAX_SIZE_REACHED
    if request.instance == NONE:
        if not known:
            return Errors.NONE if joins else Errors.UNKNOWN_MEMBER_ID
        return _epoch_error(c, request)
    holder = static_consumer(c, request.instance)
    if joins:
        in_use = holder != NONE and c.members[holder].epoch != LEAVE_STATIC_EPOCH and not c.members[holder].classic
        return Errors.UNRELEASED_INSTANCE_ID if in_use else Errors.NONE
    if holder == NONE:
        return Errors.UNKNOWN_MEMBER_ID
    return Errors.FENCED_INSTANCE_ID if holder != request.member else _epoch_error(c, request)


@inner_kernel
def _epoch_error(c: ConsumerGroup, request: Heartbeat) -> int:
    """Check a member's epoch (``throwIfConsumerGroupMemberEpochIsInvalid``).

    With the one before, an answer may have been lost; then the member has no more than it has been given.
    """
    member = c.members[request.member]
    if request.epoch in (JOIN_EPOCH, member.epoch):
        return Errors.NONE
    if request.epoch > member.epoch or request.epoch != member.previous_epoch:
        return Errors.FENCED_MEMBER_EPOCH
    return Errors.NONE if owns_within(c, request.member, request.owned) else Errors.FENCED_MEMBER_EPOCH


@inner_kernel
def _take_heartbeat(c: ConsumerGroup, request: Heartbeat, store_error: int, now: int) -> None:
    changes = knows_member(c, request.member) and c.members[request.member].classic
    error = take_changes(c, request, changes, store_error, now)
    if error != Errors.NONE:
        if knows_member(c, request.member):
            restart_consumer_session(c, request.member, now)
        next_modern_answer(c, request.request, error)
        return
    c.members[request.member].classic = False
    if not c.group.target_due:
        _finish_heartbeat(c, store_error, now)


@inner_kernel
def take_changes(c: ConsumerGroup, request: Heartbeat, changes: bool, store_error: int, now: int) -> int:
    """Note what has changed, and see whether the epoch goes up and a target assignment is due.

    ``changes`` says whether the member changes in more than the heartbeat tells. Return the error if the log has one.
    """
    group, number = c.group, request.member
    replaced = static_consumer(c, request.instance) if request.epoch == JOIN_EPOCH else NONE
    before = replaced if replaced != NONE else number
    is_new = replaced == NONE and not knows_member(c, number)
    old_subscription = NONE if is_new else c.members[before].subscription
    new_subscription = old_subscription if request.subscription == NONE else request.subscription
    if is_new:
        subscription_changed = not names_nothing(c, new_subscription)
    else:
        subscription_changed = not same_topics(c, old_subscription, new_subscription)
    looks_at_topics = subscription_changed or _topics_are_due(c, now)
    bumps = subscription_changed or (looks_at_topics and topics_differ(c, old_subscription, new_subscription))
    writes = replaced != NONE or is_new or bumps or changes or _member_changes(c, request)
    epoch = group.epoch + 1 if bumps else group.epoch
    target_due = group.target_epoch < epoch and can_assign(c, now)
    if looks_at_topics:
        group.refresh_ms, group.refresh_epoch = now + METADATA_REFRESH_INTERVAL_MS, epoch
    if store_error != Errors.NONE and (writes or target_due):
        if not group.exists:
            clear_consumer_group(group)
        return modern_response_error(store_error)
    if is_new:
        _add(c, request)
    elif replaced != NONE:
        _replace(c, replaced, request)
    _update(c, request, old_subscription, new_subscription)
    if bumps:
        bump_epoch(c, _reason(is_new, subscription_changed), number)
    group.wrote = writes or target_due
    full = NONE not in (request.rebalance_timeout_ms, request.subscription, request.owned)
    group.asking, group.request, group.owned = number, request.request, request.owned
    group.subscription_changed = subscription_changed
    group.full = full or request.epoch == JOIN_EPOCH
    group.joins = False
    group.target_due = target_due
    if target_due:
        update_state(c)
    return Errors.NONE


@inner_kernel
def _reason(is_new: bool, subscription_changed: bool) -> int:
    if is_new:
        return EpochReason.NEW_MEMBER
    return EpochReason.MEMBER_CHANGED if subscription_changed else EpochReason.TOPICS_CHANGED


@inner_kernel
def _topics_are_due(c: ConsumerGroup, now: int) -> bool:
    """Tell whether the topics have to be looked at (``hasMetadataExpired``)."""
    return now >= c.group.refresh_ms or c.group.epoch < c.group.refresh_epoch


@inner_kernel
def _member_changes(c: ConsumerGroup, request: Heartbeat) -> bool:
    member = c.members[request.member]
    return (
        (request.instance not in (NONE, member.instance))
        or (request.rebalance_timeout_ms not in (NONE, member.rebalance_timeout_ms))
        or (request.assignor not in (NONE, member.assignor))
    )


@inner_kernel
def _add(c: ConsumerGroup, request: Heartbeat) -> None:
    number = request.member
    c.group.exists = True
    c.group.made = max(c.group.made, number + 1)
    c.group.members += 1
    member = c.members[number]
    put_member(c, number)
    member.known = True
    member.instance = member.assignor = member.subscription = NONE
    member.epoch = JOIN_EPOCH
    member.previous_epoch = -1
    member.state = ModernMemberState.STABLE
    member.rebalance_deadline = NEVER


@inner_kernel
def _replace(c: ConsumerGroup, old: int, request: Heartbeat) -> None:
    """Let a static member that has left be another one, with what it had (``replaceMember``)."""
    new = request.member
    c.group.made = max(c.group.made, new + 1)
    before, after = c.members[old], c.members[new]
    if new != old:
        put_member(c, new)
        after.known = True
        after.instance = before.instance
        after.state = before.state
        after.subscription = before.subscription
        after.assignor = before.assignor
        after.rebalance_timeout_ms = before.rebalance_timeout_ms
        after.rebalance_deadline = NEVER
        before.known = False
        before.session_deadline = before.rebalance_deadline = NEVER
        for t in range(c.group.topics):
            topic = c.topics[t]
            for p in range(topic.first, topic.first + topic.places):
                partition = c.partitions[p]
                if partition.owner == old:
                    partition.owner = new
                if partition.target == old:
                    partition.target = new
    after.epoch = after.previous_epoch = 0


@inner_kernel
def _update(c: ConsumerGroup, request: Heartbeat, old_subscription: int, new_subscription: int) -> None:
    member = c.members[request.member]
    member.client, member.hash = request.client, request.hash
    if request.instance != NONE:
        member.instance = request.instance
    if request.rebalance_timeout_ms != NONE:
        member.rebalance_timeout_ms = request.rebalance_timeout_ms
    if request.assignor != NONE:
        member.assignor = request.assignor
    if new_subscription != old_subscription:
        count_subscriber(c, old_subscription, -1)
        count_subscriber(c, new_subscription, 1)
        member.subscription = new_subscription


@inner_kernel
def preferred_assignor(c: ConsumerGroup) -> int:
    """Return the assignor that most members wish for; NONE where no member wishes (``computePreferredServerAssignor``).

    Of several with as many, the one that nobody but the asking member wishes for, since it is put into a hash map last.
    """
    counts, first = 0, NONE
    for a in range(_ASSIGNORS):
        wishes = _wishes(c, a)
        is_last = wishes == 1 and c.members[c.group.asking].assignor == a
        if wishes > counts or (wishes == counts and wishes > 0 and is_last):
            counts, first = wishes, a
    return first


@inner_kernel
def _wishes(c: ConsumerGroup, assignor: int) -> int:
    count = 0
    for m in range(c.group.made):
        count += int(c.members[m].known and c.members[m].assignor == assignor)
    return count


@inner_kernel
def begin_target(c: ConsumerGroup) -> None:
    """Make room for a new target assignment."""
    for t in range(c.group.topics):
        topic = c.topics[t]
        for p in range(topic.first, topic.first + topic.places):
            c.partitions[p].target = NONE


@inner_kernel
def give_target(c: ConsumerGroup, member: int, row: int) -> None:
    """Let a member's share of the new target assignment be what a row lists."""
    for k in range(c.first_listed[row], c.first_listed[row + 1]):
        if c.listed[k] != NONE:
            c.partitions[c.listed[k]].target = member


@inner_kernel
def finish_target(c: ConsumerGroup, now: int) -> None:
    """Go on after the new target assignment has been given."""
    use_target(c, now)
    _finish_heartbeat(c, Errors.NONE, now)


@inner_kernel
def use_target(c: ConsumerGroup, now: int) -> None:
    """Let the new target assignment be that of the group's epoch."""
    c.group.target_due = False
    c.group.wrote = True
    c.group.target_epoch = c.group.epoch
    c.group.assigned_ms = now


@inner_kernel
def _finish_heartbeat(c: ConsumerGroup, store_error: int, now: int) -> None:
    """Move the member towards its target, and answer."""
    group, number = c.group, c.group.asking
    restart_consumer_session(c, number, now)
    outcome = reconcile(c, store_error, now)
    if outcome == Outcome.REFUSED:
        next_modern_answer(c, group.request, modern_response_error(store_error))
        return
    answer = next_modern_answer(c, group.request, Errors.NONE)
    answer.member = number
    answer.epoch = c.members[number].epoch
    answer.has_assignment = outcome == Outcome.CHANGED or group.full


@inner_kernel
def reconcile(c: ConsumerGroup, store_error: int, now: int) -> int:
    """Move the member that asks towards its target, if the log takes it (``maybeReconcile``)."""
    group, number = c.group, c.group.asking
    move = next_move(c, number, group.owned, group.subscription_changed)
    writes = move_changes(c, number, move)
    if writes and store_error != Errors.NONE:
        # What the log refuses is taken back, but for the timers.
        if not c.members[number].classic:
            if move in (Move.REVOKES, Move.REVOKES_UNSUBSCRIBED):
                start_rebalance_timeout(c, number, now)
            else:
                c.members[number].rebalance_deadline = NEVER
        return Outcome.REFUSED
    other = carry_out(c, number, move, now)
    group.wrote = group.wrote or writes
    if group.wrote:
        update_state(c)
    return Outcome.CHANGED if other else Outcome.SAME


# ---- Leaving


@inner_kernel
def _leave(c: ConsumerGroup, request: Heartbeat, store_error: int) -> None:
    """Take a heartbeat that says goodbye (``consumerGroupLeave``)."""
    number = request.member
    error = leave_error(c, request)
    if error == Errors.NONE and store_error != Errors.NONE:
        if request.epoch == LEAVE_EPOCH:
            # The timers are gone all the same.
            cancel_timers(c, number)
        error = modern_response_error(store_error)
    if error == Errors.NONE:
        if request.epoch == LEAVE_STATIC_EPOCH:
            _leave_for_a_while(c, number)
        else:
            fence(c, number, EpochReason.MEMBER_LEFT)
        c.group.wrote = True
        update_state(c)
    answer_goodbye(c, request, error)


@inner_kernel
def leave_error(c: ConsumerGroup, request: Heartbeat) -> int:
    """Check who says goodbye."""
    if not c.group.exists:
        return Errors.GROUP_ID_NOT_FOUND
    return consumer_error(c, request.member, request.instance)


@inner_kernel
def consumer_error(c: ConsumerGroup, member: int, instance: int) -> int:
    """Check the identity that a request comes with (``validateConsumerGroupMember``)."""
    if instance == NONE:
        return Errors.NONE if knows_member(c, member) else Errors.UNKNOWN_MEMBER_ID
    holder = static_consumer(c, instance)
    if holder == NONE:
        return Errors.UNKNOWN_MEMBER_ID
    return Errors.NONE if holder == member else Errors.FENCED_INSTANCE_ID


@inner_kernel
def answer_goodbye(c: ConsumerGroup, request: Heartbeat, error: int) -> None:
    """Answer a heartbeat that says goodbye."""
    answer = next_modern_answer(c, request.request, error)
    answer.epoch = request.epoch
    if error == Errors.NONE:
        answer.member = request.member


@inner_kernel
def _leave_for_a_while(c: ConsumerGroup, number: int) -> None:
    """Keep a static member's place and what it has, except what it had to give up anyway."""
    c.members[number].epoch = LEAVE_STATIC_EPOCH
    for t in range(c.group.topics):
        topic = c.topics[t]
        for p in range(topic.first, topic.first + topic.places):
            partition = c.partitions[p]
            if partition.owner == number:
                partition.epoch = 0
                if partition.pending_revocation:
                    partition.owner = NONE
                    partition.pending_revocation = False


@inner_kernel
def fence(c: ConsumerGroup, number: int, reason: int) -> None:
    """Remove a member; the group's epoch goes up (``consumerGroupFenceMember``)."""
    remove_member(c, number)
    bump_epoch(c, reason, number)


@inner_kernel
def remove_member(c: ConsumerGroup, number: int) -> None:
    """Take a member out, with its timers."""
    give_up_partitions(c, number)
    count_subscriber(c, c.members[number].subscription, -1)
    c.members[number].known = False
    cancel_timers(c, number)
    c.group.members -= 1


# ---- Timers


@inner_kernel
def next_consumer_deadline(c: ConsumerGroup) -> int:
    """Return a time before which nothing is due; NEVER if there is none."""
    return c.group.earliest_ms


@inner_kernel
def expire_next_consumer(c: ConsumerGroup, store_error: int, now: int) -> bool:
    """Do what is due first, if anything is due by now; tell whether something was."""
    c.group.wrote = False
    number, timer = first_due(c, now)
    if number == NONE:
        return False
    if is_late(c, number, timer):
        expire(c, number, timer, store_error, c.group.earliest_ms)
    return True


@inner_kernel
def first_due(c: ConsumerGroup, now: int) -> tuple[int, int]:
    """Return whose timer ends first, and which one, if it does by now; it is given up."""
    group = c.group
    first, set_as = NONE, 0
    kind: int = Timer.SESSION
    if group.earliest_ms > now:
        return first, kind
    group.earliest_ms = NEVER
    for m in range(group.made):
        member = c.members[m]
        if not member.known:
            continue
        if _comes_first(member.session_deadline, member.session_timer, group.earliest_ms, set_as):
            first, kind, set_as = m, Timer.SESSION, member.session_timer
            group.earliest_ms = member.session_deadline
        if _comes_first(member.rebalance_deadline, member.rebalance_timer, group.earliest_ms, set_as):
            first, kind, set_as = m, Timer.REBALANCE, member.rebalance_timer
            group.earliest_ms = member.rebalance_deadline
        if not member.classic:
            continue
        if _comes_first(member.join_deadline, member.join_timer, group.earliest_ms, set_as):
            first, kind, set_as = m, Timer.JOIN, member.join_timer
            group.earliest_ms = member.join_deadline
        if _comes_first(member.sync_deadline, member.sync_timer, group.earliest_ms, set_as):
            first, kind, set_as = m, Timer.SYNC, member.sync_timer
            group.earliest_ms = member.sync_deadline
    if group.earliest_ms > now or first == NONE:
        return NONE, kind
    set_deadline(c, first, kind, NEVER)
    return first, kind


@inner_kernel
def _comes_first(deadline: int, timer: int, first_deadline: int, first_timer: int) -> bool:
    return deadline < first_deadline or (deadline == first_deadline and deadline != NEVER and timer < first_timer)


@inner_kernel
def is_late(c: ConsumerGroup, number: int, timer: int) -> bool:
    """Tell whether a timer that has ended says anything: not of a rebalance that a member has left behind."""
    member = c.members[number]
    return timer != Timer.REBALANCE or member.epoch == member.rebalance_epoch


@inner_kernel
def expire(c: ConsumerGroup, number: int, timer: int, store_error: int, now: int) -> None:
    """Remove a member of which nothing was heard, or which did not do in time what it had to."""
    if store_error != Errors.NONE:
        cancel_timers(c, number)
        retry_timer(c, number, timer, now)
        return
    c.group.evicted += 1
    c.group.wrote = True
    fence(c, number, expiry_reason(timer))
    update_state(c)


@inner_kernel
def retry_timer(c: ConsumerGroup, number: int, timer: int, now: int) -> None:
    """Let a timer end again whose effect the log has refused."""
    set_deadline(c, number, timer, now + _RETRY_MS)
    c.group.earliest_ms = min(c.group.earliest_ms, now + _RETRY_MS)


@inner_kernel
def expiry_reason(timer: int) -> int:
    """Return why the epoch goes up when a member's timer ends."""
    if timer == Timer.SESSION:
        return EpochReason.SESSION_EXPIRED
    if timer == Timer.REBALANCE:
        return EpochReason.REBALANCE_TIMED_OUT
    return EpochReason.NEVER_JOINED if timer == Timer.JOIN else EpochReason.NEVER_SYNCED


# ---- Topics, commits, moves of the coordinator


@inner_kernel
def see_topic(c: ConsumerGroup, topic: int, exists: bool, partitions: int) -> None:
    """Note what the cluster's metadata say of a topic; the next heartbeat looks at it (``onMetadataUpdate``)."""
    c.topics[topic].exists = exists
    c.topics[topic].partitions = partitions
    c.group.refresh_ms = c.group.refresh_epoch = 0


@inner_kernel
def consumer_commit_error(c: ConsumerGroup, member: int, epoch: int, partition: int) -> int:
    """Check an OffsetCommit of one partition (``validateOffsetCommit``).

    Since 4.3 an earlier epoch will do, if the member has had the partition since then. What is the epoch to members of
    this protocol, is the generation to those of the classic one.
    """
    if not c.group.exists:
        return Errors.NONE if epoch < 0 else Errors.GROUP_ID_NOT_FOUND
    if epoch < 0 and c.group.members == 0:
        return Errors.NONE
    if not knows_member(c, member):
        return Errors.UNKNOWN_MEMBER_ID
    if epoch == c.members[member].epoch:
        return Errors.NONE
    stale = Errors.ILLEGAL_GENERATION if c.members[member].classic else Errors.STALE_MEMBER_EPOCH
    if epoch > c.members[member].epoch or partition == NONE:
        return stale
    has_it = c.partitions[partition].owner == member and epoch >= c.partitions[partition].epoch
    return Errors.NONE if has_it else stale


@inner_kernel
def load_consumer_group(c: ConsumerGroup, now: int) -> None:
    """Take the group from the log, which has all of it: sessions and rebalance timeouts begin anew (``onLoaded``)."""
    group = c.group
    group.earliest_ms = NEVER
    group.refresh_ms = group.refresh_epoch = 0
    group.target_due = False
    if not group.exists:
        clear_consumer_group(group)
        return
    for m in range(group.made):
        member = c.members[m]
        cancel_timers(c, m)
        if member.known:
            restart_consumer_session(c, m, now)
            if member.state == ModernMemberState.UNREVOKED_PARTITIONS:
                start_rebalance_timeout(c, m, now)


@inner_kernel
def modern_response_error(error: int) -> int:
    """Return what members are told of an error of the log (``CoordinatorOperationExceptionHelper``)."""
    if error in (Errors.UNKNOWN_TOPIC_OR_PARTITION, Errors.NOT_ENOUGH_REPLICAS, Errors.REQUEST_TIMED_OUT):
        return Errors.COORDINATOR_NOT_AVAILABLE
    if error in (Errors.NOT_LEADER_OR_FOLLOWER, Errors.KAFKA_STORAGE_ERROR):
        return Errors.NOT_COORDINATOR
    if error in (Errors.MESSAGE_TOO_LARGE, Errors.RECORD_LIST_TOO_LARGE, Errors.INVALID_FETCH_SIZE):
        return Errors.UNKNOWN_SERVER_ERROR
    return error
