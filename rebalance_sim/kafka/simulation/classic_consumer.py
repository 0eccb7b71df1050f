"""A consumer of the classic protocol: what its process does in each poll and with each response.

``ConsumerCoordinator`` and ``AbstractCoordinator`` (1.0 to 4.3). ``ConsumerCoordinator.poll`` first ensures that the
coordinator is known and then that the consumer is an active member: it prepares the join (commits, revokes), sends
JoinGroup, runs the assignor if it is the leader, sends SyncGroup and takes its assignment. The heartbeat thread works
beside that.
"""

from rebalance_sim.kafka.coordinator.classic.classic_group import EMPTY_ASSIGNMENT, NONE, RequestKind, knows
from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.runtime.kernel import inner_kernel
from rebalance_sim.kafka.simulation.event_queue import Event
from rebalance_sim.kafka.simulation.messages import (
    draw,
    no_owned_row,
    pack_metadata,
    schedule,
    send,
    set_timer,
    travel_ms,
)
from rebalance_sim.kafka.simulation.model import (
    Consumer,
    ConsumerStep,
    EventKind,
    MemberState,
    Presence,
    Simulation,
    Subject,
)
from rebalance_sim.kafka.simulation.ownership import (
    lists_only_subscribed,
    own_row,
    revoke_all,
    revoke_all_but,
    set_presence,
)
from rebalance_sim.kafka.simulation.pods import start_pod, stop_pod
from rebalance_sim.kafka.simulation.timeline import add_timeline_row
from rebalance_sim.releases import CoordinatorRules

_HEARTBEAT_THREAD = -1
"""Marks a lookup of the heartbeat thread; lookups of the application's thread carry the number of its wait."""

# ---- The process and its application


@inner_kernel
def start(simulation: Simulation, i: int) -> None:
    """Start a process, which polls for the first time after ``start_ms``."""
    consumer = simulation.consumers[i]
    consumer.metadata_events = simulation.progress.next_event
    consumer.state = MemberState.UNJOINED
    consumer.is_leader = False
    consumer.heartbeating = False
    consumer.rejoin_needed = True
    consumer.needs_join_prepare = True
    consumer.last_assignment = NONE
    start_process(simulation, i, NONE, NONE)


@inner_kernel
def start_process(simulation: Simulation, i: int, member: int, generation: int) -> None:
    """Start a process of either protocol, with the protocols configured last."""
    consumer = simulation.consumers[i]
    consumer.incarnation += 1
    consumer.preferences = consumer.next_preferences
    consumer.protocols = consumer.next_protocols
    consumer.eager = consumer.next_eager
    consumer.assignor = consumer.next_assignor
    consumer.member, consumer.generation = member, generation
    consumer.coordinator_known = False
    consumer.owned = NONE
    consumer.busy_until_ms = 0
    consumer.failure = Errors.NONE
    set_presence(simulation, i, Presence.RUNS)
    add_timeline_row(simulation, Subject.STARTED, i, member, 0, 0, 0)
    start_pod(simulation, i)
    wake_at(simulation, i, ConsumerStep.STARTING, simulation.queue.now + consumer.start_ms)


@inner_kernel
def stop(simulation: Simulation, i: int) -> None:
    """End a process at once; its partitions lose their owner."""
    consumer = simulation.consumers[i]
    revoke_all(simulation, i, Subject.LOST)
    consumer.incarnation += 1
    consumer.heartbeating = False
    consumer.step = ConsumerStep.STOPPED
    stop_pod(simulation, i)
    if consumer.presence == Presence.RUNS:
        still_member = knows(simulation.coordinator, consumer.member)
        set_presence(simulation, i, Presence.LOST if still_member else Presence.AWAY)
    add_timeline_row(simulation, Subject.STOPPED, i, consumer.member, 0, consumer.failure, 0)


@inner_kernel
def fail(simulation: Simulation, i: int, error: int) -> None:
    """End a process because ``poll`` throws an error that applications do not catch."""
    progress = simulation.progress
    simulation.consumers[i].failure = error
    progress.failed += 1
    if progress.failure == Errors.NONE:
        progress.failure = error
        progress.failed_consumer = i
        progress.failed_ms = simulation.queue.now
        progress.failed_event = progress.next_event - 1
    add_timeline_row(simulation, Subject.FAILED, i, simulation.consumers[i].member, 0, error, 0)
    stop(simulation, i)


@inner_kernel
def close(simulation: Simulation, i: int, down_ms: int) -> None:
    """Close a consumer: commit, revoke, leave unless it is static (``ConsumerCoordinator.close``)."""
    consumer = simulation.consumers[i]
    consumer.down_ms = down_ms
    if _auto_commits(simulation, consumer):
        commit(simulation, i, ConsumerStep.CLOSING)
    else:
        _finish_close(simulation, i)


@inner_kernel
def _finish_close(simulation: Simulation, i: int) -> None:
    revoke_all(simulation, i, Subject.REVOKED)
    _leave(simulation, i)
    end_closed(simulation, i)


@inner_kernel
def end_closed(simulation: Simulation, i: int) -> None:
    """End the process of a closed consumer, and schedule its restart if there is one."""
    consumer = simulation.consumers[i]
    set_presence(simulation, i, Presence.AWAY if consumer.down_ms == NONE else Presence.RETURNS)
    stop(simulation, i)
    if consumer.down_ms != NONE:
        restart_after(simulation, i, consumer.down_ms)


@inner_kernel
def restart_after(simulation: Simulation, i: int, down_ms: int) -> None:
    """Schedule the restart of a stopped process."""
    set_presence(simulation, i, Presence.RETURNS)
    set_timer(simulation, EventKind.START, i, simulation.queue.now + down_ms, 0)


@inner_kernel
def cancel_restart(simulation: Simulation, i: int) -> None:
    """Never start a stopped process again."""
    consumer = simulation.consumers[i]
    if consumer.presence == Presence.RETURNS:
        consumer.incarnation += 1
        set_presence(simulation, i, Presence.AWAY)


@inner_kernel
def _leave(simulation: Simulation, i: int) -> None:
    """Send LeaveGroup if the member is dynamic (``AbstractCoordinator.maybeLeaveGroup``, KIP-345)."""
    consumer = simulation.consumers[i]
    if (
        consumer.instance == NONE
        and consumer.coordinator_known
        and consumer.state != MemberState.UNJOINED
        and consumer.member != NONE
    ):
        send(simulation, i, RequestKind.LEAVE, 0)


@inner_kernel
def begin_wait(simulation: Simulation, i: int, step: int) -> None:
    """Let the application's thread wait; the end of any earlier wait is void."""
    simulation.consumers[i].step = step
    simulation.consumers[i].waits += 1


@inner_kernel
def wake_at(simulation: Simulation, i: int, step: int, at_ms: int) -> None:
    """Let the application's thread wait until a time, unless something else ends the wait before."""
    begin_wait(simulation, i, step)
    set_timer(simulation, EventKind.WAKE, i, at_ms, simulation.consumers[i].waits)


@inner_kernel
def wake(simulation: Simulation, i: int, event: Event) -> None:
    """Go on after a wait of the application's thread."""
    consumer = simulation.consumers[i]
    if event.generation != consumer.waits:
        return
    if consumer.step == ConsumerStep.REVOKING:
        join(simulation, i)
    elif consumer.step == ConsumerStep.ASSIGNING:
        _sync(simulation, i, consumer.assignor_output)
    else:
        poll(simulation, i)


# ---- Polls


@inner_kernel
def poll(simulation: Simulation, i: int) -> None:
    """Poll: do what precedes the fetch of records (``ConsumerCoordinator.poll``)."""
    consumer = simulation.consumers[i]
    consumer.last_poll_ms = simulation.queue.now
    # ConsumerCoordinator.poll: ensureCoordinatorReady, then ensureActiveGroup if the consumer must rejoin.
    if not consumer.coordinator_known:
        _look_up(simulation, i)
    elif not consumer.rejoin_needed:
        _process_records(simulation, i)
    elif consumer.needs_join_prepare:
        _prepare_join(simulation, i)
    else:
        join(simulation, i)


@inner_kernel
def _process_records(simulation: Simulation, i: int) -> None:
    """Process records until the next poll that changes anything."""
    consumer = simulation.consumers[i]
    begin_wait(simulation, i, ConsumerStep.POLLING)
    if consumer.busy_until_ms > simulation.queue.now:
        _work_until_stall_ends(simulation, i)
    elif simulation.settings.poll_interval_ms > consumer.rebalance_timeout_ms:
        schedule_poll_timeout(simulation, i)


@inner_kernel
def _work_until_stall_ends(simulation: Simulation, i: int) -> None:
    """Wait for the end of a stall; the heartbeat thread meanwhile checks max.poll.interval.ms."""
    consumer = simulation.consumers[i]
    if consumer.busy_until_ms - consumer.last_poll_ms > consumer.rebalance_timeout_ms:
        schedule_poll_timeout(simulation, i)
    wake_at(simulation, i, ConsumerStep.POLLING, consumer.busy_until_ms)


@inner_kernel
def next_poll_ms(simulation: Simulation, i: int) -> int:
    """Return the time of the next poll: every ``poll_interval_ms``, except during stalls."""
    return first_poll_ms(simulation, i, simulation.queue.now, simulation.settings.poll_interval_ms)


@inner_kernel
def first_poll_ms(simulation: Simulation, i: int, at_ms: int, interval_ms: int) -> int:
    """Return the time of the first poll at or after a time, with this interval between polls."""
    consumer = simulation.consumers[i]
    if consumer.busy_until_ms > at_ms:
        return consumer.busy_until_ms
    interval_ms = max(interval_ms, 1)
    late_ms = (at_ms - consumer.last_poll_ms) % interval_ms
    return at_ms + (interval_ms - late_ms if late_ms > 0 else 0)


@inner_kernel
def request_rejoin(simulation: Simulation, i: int) -> None:
    """Let the consumer's next poll join again (``AbstractCoordinator.requestRejoin``)."""
    consumer = simulation.consumers[i]
    consumer.rejoin_needed = True
    if consumer.step == ConsumerStep.POLLING:
        wake_at(simulation, i, ConsumerStep.POLLING, next_poll_ms(simulation, i))


@inner_kernel
def stall(simulation: Simulation, i: int, for_ms: int) -> None:
    """Keep the application from polling for a while; a stall that begins in a rebalance takes effect after it."""
    consumer, now = simulation.consumers[i], simulation.queue.now
    was_idle = consumer.busy_until_ms <= now
    consumer.busy_until_ms = now + for_ms
    if consumer.step != ConsumerStep.POLLING:
        return
    if was_idle:
        interval = max(simulation.settings.poll_interval_ms, 1)
        consumer.last_poll_ms = now - (now - consumer.last_poll_ms) % interval
    _work_until_stall_ends(simulation, i)


@inner_kernel
def schedule_poll_timeout(simulation: Simulation, i: int) -> None:
    """Schedule the end of max.poll.interval.ms, counted from the last poll."""
    consumer = simulation.consumers[i]
    at_ms = consumer.last_poll_ms + consumer.rebalance_timeout_ms
    set_timer(simulation, EventKind.POLL_EXPIRED, i, at_ms, consumer.last_poll_ms)


@inner_kernel
def expire_poll_interval(simulation: Simulation, i: int, event: Event) -> None:
    """Leave the group because the application has not polled for max.poll.interval.ms (``HeartbeatThread.run``)."""
    consumer = simulation.consumers[i]
    if consumer.step != ConsumerStep.POLLING or consumer.last_poll_ms != event.generation or not consumer.heartbeating:
        return
    if not consumer.coordinator_known:
        # The heartbeat thread checks coordinatorUnknown() first, and then only looks for the coordinator.
        again_ms = simulation.queue.now + max(simulation.settings.retry_backoff_ms, 1)
        set_timer(simulation, EventKind.POLL_EXPIRED, i, again_ms, event.generation)
        return
    add_timeline_row(simulation, Subject.POLL_EXPIRED, i, consumer.member, 0, 0, 0)
    _leave(simulation, i)
    _reset_generation(consumer)
    consumer.member = NONE
    wake_at(simulation, i, ConsumerStep.POLLING, next_poll_ms(simulation, i))


# ---- Finding the coordinator


@inner_kernel
def _look_up(simulation: Simulation, i: int) -> None:
    """Look for the coordinator, in a poll (``AbstractCoordinator.ensureCoordinatorReady``)."""
    begin_wait(simulation, i, ConsumerStep.LOOKING_UP)
    _send_lookup(simulation, i, simulation.consumers[i].waits, simulation.queue.now)


@inner_kernel
def _send_lookup(simulation: Simulation, i: int, wait: int, at_ms: int) -> None:
    """Send FindCoordinator for a wait of the application's thread, or for the heartbeat thread."""
    set_timer(simulation, EventKind.LOOKUP, i, at_ms + travel_ms(simulation), wait)
    simulation.progress.messages += 1


@inner_kernel
def answer_lookup(simulation: Simulation, i: int, event: Event) -> None:
    """Answer FindCoordinator, as any broker does."""
    arrival_ms = simulation.queue.now + travel_ms(simulation)
    answer = schedule(simulation, EventKind.COORDINATOR_FOUND, i, event.incarnation, arrival_ms)
    answer.generation = event.generation
    answer.error = Errors.NONE if simulation.progress.up else Errors.COORDINATOR_NOT_AVAILABLE
    simulation.progress.messages += 1


@inner_kernel
def receive_lookup_response(simulation: Simulation, i: int, event: Event) -> None:
    """Handle the response to FindCoordinator (``FindCoordinatorResponseHandler``)."""
    consumer = simulation.consumers[i]
    if event.generation == _HEARTBEAT_THREAD:
        _receive_lookup_between_polls(simulation, i, event.error)
        return
    if event.generation != consumer.waits or consumer.step != ConsumerStep.LOOKING_UP:
        return
    if event.error != Errors.NONE:
        _back_off(simulation, i)
        return
    consumer.coordinator_known = True
    poll(simulation, i)


@inner_kernel
def _receive_lookup_between_polls(simulation: Simulation, i: int, error: int) -> None:
    """Handle the response to the heartbeat thread, unless a poll has found the coordinator in the meantime."""
    consumer = simulation.consumers[i]
    if consumer.coordinator_known or consumer.step != ConsumerStep.POLLING:
        return
    if error == Errors.NONE:
        consumer.coordinator_known = True
    else:
        _send_lookup(simulation, i, _HEARTBEAT_THREAD, simulation.queue.now + simulation.settings.retry_backoff_ms)


@inner_kernel
def _back_off(simulation: Simulation, i: int) -> None:
    wake_at(simulation, i, ConsumerStep.BACKING_OFF, simulation.queue.now + simulation.settings.retry_backoff_ms)


# ---- Joining


@inner_kernel
def _auto_commits(simulation: Simulation, consumer: Consumer) -> bool:
    """Return whether the consumer commits before it revokes (``enable.auto.commit``)."""
    return (
        simulation.settings.enable_auto_commit
        and NONE not in (consumer.owned, consumer.generation)
        and consumer.coordinator_known
    )


@inner_kernel
def commit(simulation: Simulation, i: int, step: int) -> None:
    """Send OffsetCommit, and let the application's thread wait for the response."""
    begin_wait(simulation, i, step)
    send(simulation, i, RequestKind.COMMIT, 0)


@inner_kernel
def _prepare_join(simulation: Simulation, i: int) -> None:
    """Commit and revoke before a join, once per rebalance (``ConsumerCoordinator.onJoinPrepare``)."""
    consumer = simulation.consumers[i]
    consumer.needs_join_prepare = False
    if _auto_commits(simulation, consumer):
        commit(simulation, i, ConsumerStep.COMMITTING)
    else:
        _revoke_before_join(simulation, i)


@inner_kernel
def receive_commit_response(simulation: Simulation, i: int, event: Event) -> None:
    """Handle the response to OffsetCommit; ``onJoinPrepare`` and ``close`` go on even if the commit failed."""
    consumer = simulation.consumers[i]
    if consumer.step == ConsumerStep.CLOSING:
        _finish_close(simulation, i)
    elif consumer.step == ConsumerStep.COMMITTING:
        _reset_on_identity_error(simulation, i, event.error)
        _revoke_before_join(simulation, i)


@inner_kernel
def _reset_on_identity_error(simulation: Simulation, i: int, error: int) -> None:
    if error in (Errors.UNKNOWN_MEMBER_ID, Errors.ILLEGAL_GENERATION):
        _reset_identity(simulation, i, error)


@inner_kernel
def _revoke_before_join(simulation: Simulation, i: int) -> None:
    """Revoke partitions before a join (``ConsumerCoordinator.onJoinPrepare``, KIP-429).

    An eager consumer revokes all; a consumer that lost its generation loses all (``onPartitionsLost``). A cooperative
    one revokes what it no longer subscribes to; ``elections.revoke_unsubscribed`` then makes a row of what it keeps.
    """
    consumer = simulation.consumers[i]
    lost = consumer.generation == NONE
    if consumer.owned != NONE and (consumer.eager or lost):
        revoke_all(simulation, i, Subject.LOST if lost else Subject.REVOKED)
        _join_after_callback(simulation, i)
    elif lists_only_subscribed(simulation, consumer.owned, consumer.subscription):
        # COOPERATIVE with an unchanged subscription: the consumer keeps its partitions while it joins.
        join(simulation, i)
    else:
        begin_wait(simulation, i, ConsumerStep.REVOKING)
        simulation.progress.revoking = i


@inner_kernel
def finish_revocation(simulation: Simulation, i: int, row: int) -> None:
    """Revoke all but the partitions of an assignment row, then join."""
    revoke_all_but(simulation, i, row)
    _join_after_callback(simulation, i)


@inner_kernel
def _join_after_callback(simulation: Simulation, i: int) -> None:
    revoke_ms = simulation.consumers[i].revoke_ms
    if revoke_ms > 0:
        wake_at(simulation, i, ConsumerStep.REVOKING, simulation.queue.now + revoke_ms)
    else:
        join(simulation, i)


@inner_kernel
def join(simulation: Simulation, i: int) -> None:
    """Send JoinGroup (``AbstractCoordinator.sendJoinGroupRequest``); heartbeats stop until the response arrives."""
    consumer = simulation.consumers[i]
    if not consumer.coordinator_known:
        _look_up(simulation, i)
        return
    consumer.heartbeating = False
    consumer.state = MemberState.PREPARING_REBALANCE
    begin_wait(simulation, i, ConsumerStep.JOINING)
    consumer.joined_subscription = consumer.subscription
    # An eager consumer owns nothing when it joins; only the user data of its assignor name its last assignment.
    owned = consumer.last_assignment if consumer.eager else consumer.owned
    # The generation makes the metadata differ from those of the last join, so that the coordinator rebalances.
    if owned == NONE and simulation.coordinator.rules >= CoordinatorRules.SCALA_2_4:
        owned = no_owned_row(consumer.generation)
    send(simulation, i, RequestKind.JOIN, pack_metadata(consumer.subscription, owned))


@inner_kernel
def receive_join_response(simulation: Simulation, i: int, event: Event) -> None:
    """Handle the response to JoinGroup (``JoinGroupResponseHandler``)."""
    consumer = simulation.consumers[i]
    if consumer.step != ConsumerStep.JOINING:
        return
    if event.error == Errors.MEMBER_ID_REQUIRED:
        # KIP-394: the coordinator hands out an id, and the consumer joins with it at once.
        consumer.member = event.member
        join(simulation, i)
        return
    if event.error != Errors.NONE:
        _handle_join_error(simulation, i, event.error)
        return
    consumer.member = event.member
    consumer.generation = event.generation
    consumer.state = MemberState.COMPLETING_REBALANCE
    consumer.is_leader = event.lists_members
    # Before 2.6.1 the response to SyncGroup enables the heartbeat thread, later the response to JoinGroup does
    # (KAFKA-10134).
    if simulation.coordinator.rules >= CoordinatorRules.SCALA_2_6_1:
        _begin_heartbeats(simulation, i)
    if event.lists_members and not event.skips_assignment:
        consumer.assignor_output = event.assignment
        wake_at(simulation, i, ConsumerStep.ASSIGNING, simulation.queue.now + consumer.assignor_ms)
    else:
        # KIP-814: a static leader that returns to a stable group does not assign, but takes the metadata snapshot
        # that it monitors from now on (ConsumerCoordinator.onLeaderElected).
        consumer.assigned_metadata_events = consumer.metadata_events
        _sync(simulation, i, EMPTY_ASSIGNMENT)


@inner_kernel
def _sync(simulation: Simulation, i: int, assignment: int) -> None:
    begin_wait(simulation, i, ConsumerStep.SYNCING)
    send(simulation, i, RequestKind.SYNC, assignment)


@inner_kernel
def receive_sync_response(simulation: Simulation, i: int, event: Event) -> None:
    """Handle the response to SyncGroup (``SyncGroupResponseHandler``, ``ConsumerCoordinator.onJoinComplete``)."""
    consumer, rules = simulation.consumers[i], simulation.coordinator.rules
    if consumer.step != ConsumerStep.SYNCING:
        return
    if event.error != Errors.NONE:
        _handle_join_error(simulation, i, event.error)
        return
    consumer.state = MemberState.STABLE
    # ConsumerCoordinator.rejoinNeededOrPending: the subscription, or the leader's metadata, changed during the join.
    consumer.rejoin_needed = consumer.subscription != consumer.joined_subscription or (
        consumer.is_leader and consumer.metadata_events != consumer.assigned_metadata_events
    )
    consumer.needs_join_prepare = True
    if rules < CoordinatorRules.SCALA_2_6_1:
        _begin_heartbeats(simulation, i)
    # Up to 2.3.1 assignFromSubscribed throws if the assignment does not match the subscription of the join
    # (handleAssignmentMismatch). A static member that returns to a stable group gets its previous assignment, and the
    # sticky assignor may return a partition to its previous owner.
    if rules < CoordinatorRules.SCALA_2_4 and not lists_only_subscribed(
        simulation, event.assignment, consumer.joined_subscription
    ):
        fail(simulation, i, Errors.UNKNOWN_SERVER_ERROR)
        return
    # An assignment that does not match the current subscription is ignored, and the consumer joins again. Not in 1.0:
    # there the subscription changes only between polls, and one poll lasts until the join is complete.
    if rules != CoordinatorRules.SCALA_1_0 and not lists_only_subscribed(
        simulation, event.assignment, consumer.subscription
    ):
        consumer.rejoin_needed = True
        poll(simulation, i)
        return
    revoked = own_row(simulation, i, event.assignment)
    if remembers_assignment(simulation):
        consumer.last_assignment = event.assignment
    if revoked > 0 and not consumer.eager:
        # KIP-429: the revoked partitions can be assigned to their new owners only in another rebalance.
        consumer.rejoin_needed = True
        if consumer.revoke_ms > 0:
            wake_at(simulation, i, ConsumerStep.BACKING_OFF, simulation.queue.now + consumer.revoke_ms)
            return
    poll(simulation, i)


@inner_kernel
def remembers_assignment(simulation: Simulation) -> bool:
    """Return whether the elected assignor remembers the assignment that its members receive now.

    ``ConsumerCoordinator.onJoinComplete`` calls ``onAssignment`` of the elected assignor only: ``StickyAssignor``
    reports its own last assignment, however old, and nothing that another assignor assigned since.
    """
    protocol = simulation.coordinator.group.protocol
    return bool(protocol == NONE or simulation.progress.modern or simulation.remembered[protocol])


@inner_kernel
def _handle_join_error(simulation: Simulation, i: int, error: int) -> None:
    """Handle an error of JoinGroup or SyncGroup: join again, at once or after retry.backoff.ms, or fail."""
    consumer = simulation.consumers[i]
    if error in (Errors.UNKNOWN_MEMBER_ID, Errors.ILLEGAL_GENERATION, Errors.REBALANCE_IN_PROGRESS):
        # joinGroupIfNeeded retries these at once, without retry.backoff.ms.
        _reset_on_identity_error(simulation, i, error)
        consumer.rejoin_needed = True
        poll(simulation, i)
    elif error in (Errors.COORDINATOR_NOT_AVAILABLE, Errors.NOT_COORDINATOR):
        consumer.coordinator_known = False
        _back_off(simulation, i)
    elif error == Errors.COORDINATOR_LOAD_IN_PROGRESS:
        _back_off(simulation, i)
    else:
        # Such as FENCED_INSTANCE_ID, INCONSISTENT_GROUP_PROTOCOL and GROUP_MAX_SIZE_REACHED: poll throws them.
        fail(simulation, i, error)


@inner_kernel
def _reset_identity(simulation: Simulation, i: int, error: int) -> None:
    """Forget the generation, and the member id unless the generation alone was wrong (``resetStateOnResponseError``).

    Before 3.2 both are forgotten in either case.
    """
    consumer = simulation.consumers[i]
    keeps_id = error == Errors.ILLEGAL_GENERATION and simulation.coordinator.rules >= CoordinatorRules.SCALA_3_2
    _reset_generation(consumer)
    if not keeps_id:
        consumer.member = NONE
    # KIP-429: onJoinPrepare calls onPartitionsLost for the lost generation, unless onJoinPrepare is running already.
    if simulation.coordinator.rules >= CoordinatorRules.SCALA_2_4 and consumer.step != ConsumerStep.COMMITTING:
        consumer.needs_join_prepare = True


@inner_kernel
def _reset_generation(consumer: Consumer) -> None:
    consumer.generation = NONE
    consumer.state = MemberState.UNJOINED
    consumer.heartbeating = False
    consumer.rejoin_needed = True


# ---- Heartbeats


@inner_kernel
def _begin_heartbeats(simulation: Simulation, i: int) -> None:
    simulation.consumers[i].heartbeating = True
    simulation.consumers[i].heartbeat_series += 1
    _schedule_heartbeat(simulation, i)


@inner_kernel
def _schedule_heartbeat(simulation: Simulation, i: int) -> None:
    """Schedule the next heartbeat.

    The heartbeat thread checks every retry.backoff.ms whether one is due, and a poll wakes it when one is
    (``AbstractCoordinator.pollHeartbeat``, 1.0 to 4.3). A stall that begins before it is due is not foreseen.
    """
    due_ms = simulation.queue.now + simulation.settings.heartbeat_interval_ms
    thread_ms = due_ms + draw(simulation, simulation.settings.retry_backoff_ms)
    at_ms = min(thread_ms, first_poll_ms(simulation, i, due_ms, simulation.settings.poll_interval_ms))
    set_timer(simulation, EventKind.HEARTBEAT_DUE, i, at_ms, simulation.consumers[i].heartbeat_series)


@inner_kernel
def send_due_heartbeat(simulation: Simulation, i: int, event: Event) -> None:
    """Send a heartbeat, unless the heartbeat thread has been disabled since it was scheduled."""
    consumer = simulation.consumers[i]
    if not consumer.heartbeating or event.generation != consumer.heartbeat_series:
        return
    if consumer.coordinator_known:
        send(simulation, i, RequestKind.HEARTBEAT, 0)
    _schedule_heartbeat(simulation, i)


@inner_kernel
def receive_heartbeat_response(simulation: Simulation, i: int, event: Event) -> None:
    """Handle the response to a heartbeat (``HeartbeatResponseHandler``)."""
    consumer = simulation.consumers[i]
    # A response to a heartbeat of an earlier generation is ignored.
    if event.error == Errors.NONE or event.generation != consumer.generation or not consumer.heartbeating:
        return
    if event.error == Errors.REBALANCE_IN_PROGRESS:
        # A member that is joining already ignores it.
        if consumer.state == MemberState.STABLE:
            request_rejoin(simulation, i)
    elif event.error in (Errors.UNKNOWN_MEMBER_ID, Errors.ILLEGAL_GENERATION):
        _reset_identity(simulation, i, event.error)
        request_rejoin(simulation, i)
    elif event.error in (Errors.COORDINATOR_NOT_AVAILABLE, Errors.NOT_COORDINATOR):
        _lose_coordinator(simulation, i)
    else:
        fail(simulation, i, event.error)


@inner_kernel
def _lose_coordinator(simulation: Simulation, i: int) -> None:
    """Forget the coordinator; between polls the heartbeat thread looks for the new one after retry.backoff.ms."""
    consumer = simulation.consumers[i]
    if consumer.coordinator_known and consumer.step == ConsumerStep.POLLING:
        _send_lookup(simulation, i, _HEARTBEAT_THREAD, simulation.queue.now + simulation.settings.retry_backoff_ms)
    consumer.coordinator_known = False
