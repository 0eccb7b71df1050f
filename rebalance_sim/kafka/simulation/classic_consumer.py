"""A consumer of the classic protocol: what its process does before each poll, and with each answer.

``ConsumerCoordinator`` and ``AbstractCoordinator`` (1.0 to 4.3). A poll first makes sure that the coordinator is known,
then that the consumer has its partitions: it prepares (commits, gives up what it has), joins, lets the assignor run if
it leads, asks for its assignment and takes it. Heartbeats are sent beside that.
"""

from rebalance_sim.kafka.coordinator.classic_group import EMPTY_ASSIGNMENT, NONE, Kind, knows
from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.kernel import inner_kernel
from rebalance_sim.kafka.simulation.event_queue import Event
from rebalance_sim.kafka.simulation.messages import draw, nothing_of, pack_metadata, schedule, send, travel_ms
from rebalance_sim.kafka.simulation.model import (
    Consumer,
    Happening,
    MemberState,
    Presence,
    Simulation,
    Step,
    Subject,
)
from rebalance_sim.kafka.simulation.ownership import keep, matches, release, set_presence, take
from rebalance_sim.kafka.simulation.timeline import tell
from rebalance_sim.versions import CoordinatorRules

_OF_HEARTBEATS = -1
"""Stands for the heartbeat thread where a lookup names the wait of the application's thread."""

# ---- The process and its application


@inner_kernel
def start(s: Simulation, i: int) -> None:
    """Start a process, which polls for the first time after ``start_ms``."""
    consumer = s.consumers[i]
    consumer.turn += 1
    read_configuration(consumer)
    consumer.topics_known = s.course.next_event
    consumer.coordinator_known = False
    consumer.state = MemberState.UNJOINED
    consumer.member = NONE
    consumer.generation = NONE
    consumer.leads = False
    consumer.heartbeating = False
    consumer.rejoin_needed = True
    consumer.needs_join_prepare = True
    consumer.owned = NONE
    consumer.last_assignment = NONE
    consumer.busy_until_ms = 0
    consumer.failure = Errors.NONE
    consumer.step = Step.STARTING
    set_presence(s, i, Presence.RUNS)
    tell(s, Subject.STARTED, i, NONE, 0, 0, 0)
    wake_at(s, i, Step.STARTING, s.queue.now + s.settings.start_ms)


@inner_kernel
def read_configuration(consumer: Consumer) -> None:
    """Let a process that starts offer what it is to offer from then on."""
    consumer.preferences = consumer.next_preferences
    consumer.protocols = consumer.next_protocols
    consumer.eager = consumer.next_eager
    consumer.assignor = consumer.next_assignor


@inner_kernel
def stop(s: Simulation, i: int) -> None:
    """End a process at once: nobody works on its partitions."""
    consumer = s.consumers[i]
    release(s, i, Subject.LOST)
    consumer.turn += 1
    consumer.heartbeating = False
    consumer.step = Step.STOPPED
    if consumer.presence == Presence.RUNS:
        set_presence(s, i, Presence.LOST if knows(s.coordinator, consumer.member) else Presence.AWAY)
    tell(s, Subject.STOPPED, i, consumer.member, 0, consumer.failure, 0)


@inner_kernel
def fail(s: Simulation, i: int, error: int) -> None:
    """End a process by an error that poll throws."""
    course = s.course
    s.consumers[i].failure = error
    course.failed += 1
    if course.failure == Errors.NONE:
        course.failure = error
        course.failed_consumer = i
        course.failed_ms = s.queue.now
        course.failed_event = course.next_event - 1
    tell(s, Subject.FAILED, i, s.consumers[i].member, 0, error, 0)
    stop(s, i)


@inner_kernel
def close(s: Simulation, i: int, stops_for_ms: int) -> None:
    """Close a consumer in order: commit, give up, leave unless it is static (``AbstractCoordinator.close``)."""
    consumer = s.consumers[i]
    consumer.stops_for_ms = stops_for_ms
    if _commits(s, consumer):
        consumer.step = Step.CLOSING
        consumer.wakes += 1
        send(s, i, Kind.COMMIT, 0)
    else:
        finish_close(s, i)


@inner_kernel
def finish_close(s: Simulation, i: int) -> None:
    """Give up, leave and end the process; it may start again later."""
    consumer = s.consumers[i]
    release(s, i, Subject.REVOKED)
    _leave(s, i)
    set_presence(s, i, Presence.AWAY if consumer.stops_for_ms == NONE else Presence.RETURNS)
    stop(s, i)
    if consumer.stops_for_ms != NONE:
        start_after(s, i, consumer.stops_for_ms)


@inner_kernel
def start_after(s: Simulation, i: int, down_ms: int) -> None:
    """Let a process that has ended start again."""
    set_presence(s, i, Presence.RETURNS)
    schedule(s, Happening.START, i, s.consumers[i].turn, s.queue.now + down_ms)


@inner_kernel
def stay_away(s: Simulation, i: int) -> None:
    """Let a process that is down stay down."""
    consumer = s.consumers[i]
    if consumer.presence == Presence.RETURNS:
        consumer.turn += 1
        set_presence(s, i, Presence.AWAY)


@inner_kernel
def _leave(s: Simulation, i: int) -> None:
    """Send LeaveGroup, as a dynamic member does (``maybeLeaveGroup``)."""
    consumer = s.consumers[i]
    if (
        consumer.instance == NONE
        and consumer.coordinator_known
        and consumer.state != MemberState.UNJOINED
        and consumer.member != NONE
    ):
        send(s, i, Kind.LEAVE, 0)


@inner_kernel
def wake_at(s: Simulation, i: int, step: int, at_ms: int) -> None:
    """Let the application's thread go on at a time, unless something else happens to it before."""
    consumer = s.consumers[i]
    consumer.step = step
    consumer.wakes += 1
    event = schedule(s, Happening.WAKE, i, consumer.turn, at_ms)
    event.generation = consumer.wakes


@inner_kernel
def wake(s: Simulation, i: int, event: Event) -> None:
    """Go on after a wait."""
    consumer = s.consumers[i]
    if event.generation != consumer.wakes:
        return
    if consumer.step == Step.REVOKING:
        join(s, i)
    elif consumer.step == Step.ASSIGNING:
        _sync(s, i, consumer.given)
    else:
        poll(s, i)


# ---- Polls


@inner_kernel
def poll(s: Simulation, i: int) -> None:
    """Poll: do what has to be done before records are fetched."""
    consumer = s.consumers[i]
    consumer.polled_ms = s.queue.now
    if not consumer.coordinator_known:
        _look_up(s, i)
    elif not consumer.rejoin_needed:
        _work(s, i)
    elif consumer.needs_join_prepare:
        _prepare_join(s, i)
    else:
        join(s, i)


@inner_kernel
def _work(s: Simulation, i: int) -> None:
    """Work on records until the next poll that matters."""
    consumer = s.consumers[i]
    consumer.step = Step.POLLING
    consumer.wakes += 1
    if consumer.busy_until_ms > s.queue.now:
        _work_for_long(s, i)
    elif s.settings.poll_interval_ms > consumer.rebalance_timeout_ms:
        _expect_poll(s, i)


@inner_kernel
def _work_for_long(s: Simulation, i: int) -> None:
    """Work through a stall; the heartbeat thread watches the time since the last poll."""
    consumer = s.consumers[i]
    if consumer.busy_until_ms - consumer.polled_ms > consumer.rebalance_timeout_ms:
        _expect_poll(s, i)
    wake_at(s, i, Step.POLLING, consumer.busy_until_ms)


@inner_kernel
def next_poll_ms(s: Simulation, i: int) -> int:
    """Return the time of the next poll; one is due every ``poll_interval_ms``, but for stalls."""
    return poll_from(s, i, s.queue.now, s.settings.poll_interval_ms)


@inner_kernel
def poll_from(s: Simulation, i: int, at_ms: int, every_ms: int) -> int:
    """Return the time of the first poll that is not before a time, if there is one every so often."""
    consumer = s.consumers[i]
    if consumer.busy_until_ms > at_ms:
        return consumer.busy_until_ms
    since = at_ms - consumer.polled_ms
    return at_ms + (-since) % max(every_ms, 1)


@inner_kernel
def request_rejoin(s: Simulation, i: int) -> None:
    """Note that the consumer has to join again; its next poll will."""
    consumer = s.consumers[i]
    consumer.rejoin_needed = True
    if consumer.step == Step.POLLING:
        wake_at(s, i, Step.POLLING, next_poll_ms(s, i))


@inner_kernel
def stall(s: Simulation, i: int, for_ms: int) -> None:
    """Let the application work for a while without a poll; where it is in a poll, once that has given it partitions."""
    consumer, now = s.consumers[i], s.queue.now
    is_over = consumer.busy_until_ms <= now
    consumer.busy_until_ms = now + for_ms
    if consumer.step != Step.POLLING:
        return
    if is_over:
        interval = max(s.settings.poll_interval_ms, 1)
        consumer.polled_ms = now - (now - consumer.polled_ms) % interval
    _work_for_long(s, i)


@inner_kernel
def _expect_poll(s: Simulation, i: int) -> None:
    consumer = s.consumers[i]
    event = schedule(s, Happening.POLL_EXPIRED, i, consumer.turn, consumer.polled_ms + consumer.rebalance_timeout_ms)
    event.generation = consumer.polled_ms


@inner_kernel
def expire_poll(s: Simulation, i: int, event: Event) -> None:
    """Leave the group because the application has not polled for max.poll.interval.ms (the heartbeat thread does).

    While the coordinator is not known that thread looks for it only.
    """
    consumer = s.consumers[i]
    if consumer.step != Step.POLLING or consumer.polled_ms != event.generation or not consumer.heartbeating:
        return
    if not consumer.coordinator_known:
        again_ms = s.queue.now + max(s.settings.retry_backoff_ms, 1)
        schedule(s, Happening.POLL_EXPIRED, i, consumer.turn, again_ms).generation = event.generation
        return
    tell(s, Subject.POLL_EXPIRED, i, consumer.member, 0, 0, 0)
    _leave(s, i)
    _reset(consumer)
    consumer.member = NONE
    wake_at(s, i, Step.POLLING, next_poll_ms(s, i))


# ---- Finding the coordinator


@inner_kernel
def _look_up(s: Simulation, i: int) -> None:
    """Ask a broker who coordinates the group, in a poll."""
    consumer = s.consumers[i]
    consumer.step = Step.LOOKING_UP
    consumer.wakes += 1
    _send_lookup(s, i, consumer.wakes, s.queue.now)


@inner_kernel
def _send_lookup(s: Simulation, i: int, wait: int, at_ms: int) -> None:
    """Ask so at a time; ``wait`` is the wait of the application's thread for it, or that the heartbeat thread asks."""
    event = schedule(s, Happening.LOOKUP, i, s.consumers[i].turn, at_ms + travel_ms(s))
    event.generation = wait
    s.course.messages += 1


@inner_kernel
def find_coordinator(s: Simulation, i: int, event: Event) -> None:
    """Answer a lookup, at a broker."""
    answer = schedule(s, Happening.FOUND, i, event.turn, s.queue.now + travel_ms(s))
    answer.generation = event.generation
    answer.error = Errors.NONE if s.course.up else Errors.COORDINATOR_NOT_AVAILABLE
    s.course.messages += 1


@inner_kernel
def found(s: Simulation, i: int, event: Event) -> None:
    """Take the answer to a lookup."""
    consumer = s.consumers[i]
    if event.generation == _OF_HEARTBEATS:
        _found_between_polls(s, i, event.error)
        return
    if event.generation != consumer.wakes or consumer.step != Step.LOOKING_UP:
        return
    if event.error != Errors.NONE:
        _back_off(s, i)
        return
    consumer.coordinator_known = True
    poll(s, i)


@inner_kernel
def _found_between_polls(s: Simulation, i: int, error: int) -> None:
    """Take the answer to a lookup of the heartbeat thread's, unless a poll has found the coordinator before."""
    consumer = s.consumers[i]
    if consumer.coordinator_known or consumer.step != Step.POLLING:
        return
    if error == Errors.NONE:
        consumer.coordinator_known = True
    else:
        _send_lookup(s, i, _OF_HEARTBEATS, s.queue.now + s.settings.retry_backoff_ms)


@inner_kernel
def _back_off(s: Simulation, i: int) -> None:
    wake_at(s, i, Step.BACKING_OFF, s.queue.now + s.settings.retry_backoff_ms)


# ---- Joining


@inner_kernel
def _commits(s: Simulation, consumer: Consumer) -> bool:
    return (
        s.settings.enable_auto_commit
        and NONE not in (consumer.owned, consumer.generation)
        and consumer.coordinator_known
    )


@inner_kernel
def _prepare_join(s: Simulation, i: int) -> None:
    """Do what comes before a join, once (``onJoinPrepare``)."""
    consumer = s.consumers[i]
    consumer.needs_join_prepare = False
    if _commits(s, consumer):
        consumer.step = Step.COMMITTING
        consumer.wakes += 1
        send(s, i, Kind.COMMIT, 0)
    else:
        _give_up(s, i)


@inner_kernel
def committed(s: Simulation, i: int, event: Event) -> None:
    """Take the answer to an OffsetCommit; what it says matters little, since the consumer gives up anyway."""
    consumer = s.consumers[i]
    if consumer.step == Step.CLOSING:
        finish_close(s, i)
    elif consumer.step == Step.COMMITTING:
        _take_identity_error(s, i, event.error)
        _give_up(s, i)


@inner_kernel
def _take_identity_error(s: Simulation, i: int, error: int) -> None:
    if error in (Errors.UNKNOWN_MEMBER_ID, Errors.ILLEGAL_GENERATION):
        _forget_identity(s, i, error)


@inner_kernel
def _give_up(s: Simulation, i: int) -> None:
    """Give up partitions before a join: an eager consumer all, any consumer all if its identity is lost.

    A cooperative one gives up what it does not subscribe to any more; for that it needs a row (``give_up_all_but``).
    """
    consumer = s.consumers[i]
    lost = consumer.generation == NONE
    if consumer.owned != NONE and (consumer.eager or lost):
        release(s, i, Subject.LOST if lost else Subject.REVOKED)
        _join_after_callback(s, i)
    elif matches(s, consumer.owned, consumer.subscription):
        join(s, i)
    else:
        consumer.step = Step.REVOKING
        consumer.wakes += 1
        s.course.revoking = i


@inner_kernel
def give_up_all_but(s: Simulation, i: int, row: int) -> None:
    """Give up partitions before a join but for those that a row lists."""
    keep(s, i, row)
    _join_after_callback(s, i)


@inner_kernel
def _join_after_callback(s: Simulation, i: int) -> None:
    if s.settings.revoke_ms > 0:
        wake_at(s, i, Step.REVOKING, s.queue.now + s.settings.revoke_ms)
    else:
        join(s, i)


@inner_kernel
def join(s: Simulation, i: int) -> None:
    """Send JoinGroup (``sendJoinGroupRequest``); no heartbeat is sent before its answer."""
    consumer = s.consumers[i]
    if not consumer.coordinator_known:
        _look_up(s, i)
        return
    consumer.heartbeating = False
    consumer.state = MemberState.PREPARING_REBALANCE
    consumer.step = Step.JOINING
    consumer.wakes += 1
    consumer.joined_subscription = consumer.subscription
    told = consumer.last_assignment if consumer.eager else consumer.owned
    if told == NONE and s.coordinator.rules >= CoordinatorRules.SCALA_3_9:
        told = nothing_of(consumer.generation)
    send(s, i, Kind.JOIN, pack_metadata(consumer.subscription, told))


@inner_kernel
def joined(s: Simulation, i: int, event: Event) -> None:
    """Take the answer to JoinGroup (``JoinGroupResponseHandler``)."""
    consumer = s.consumers[i]
    if consumer.step != Step.JOINING:
        return
    if event.error == Errors.MEMBER_ID_REQUIRED:
        consumer.member = event.member
        join(s, i)
        return
    if event.error != Errors.NONE:
        _join_failed(s, i, event.error)
        return
    consumer.member = event.member
    consumer.generation = event.generation
    consumer.state = MemberState.COMPLETING_REBALANCE
    consumer.leads = event.lists_members
    if s.coordinator.rules >= CoordinatorRules.SCALA_3_9:
        _begin_heartbeats(s, i)
    if event.lists_members and not event.skips_assignment:
        consumer.given = event.assignment
        wake_at(s, i, Step.ASSIGNING, s.queue.now + s.settings.assignor_ms)
    else:
        # A static leader that has come back watches for what changes from now on (``onLeaderElected``).
        consumer.topics_assigned = consumer.topics_known
        _sync(s, i, EMPTY_ASSIGNMENT)


@inner_kernel
def _sync(s: Simulation, i: int, assignment: int) -> None:
    s.consumers[i].step = Step.SYNCING
    s.consumers[i].wakes += 1
    send(s, i, Kind.SYNC, assignment)


@inner_kernel
def synced(s: Simulation, i: int, event: Event) -> None:
    """Take the answer to SyncGroup (``SyncGroupResponseHandler``), and the partitions (``onJoinComplete``)."""
    consumer = s.consumers[i]
    if consumer.step != Step.SYNCING:
        return
    if event.error != Errors.NONE:
        _join_failed(s, i, event.error)
        return
    consumer.state = MemberState.STABLE
    consumer.rejoin_needed = consumer.subscription != consumer.joined_subscription or (
        consumer.leads and consumer.topics_known != consumer.topics_assigned
    )
    consumer.needs_join_prepare = True
    if s.coordinator.rules < CoordinatorRules.SCALA_3_9:
        _begin_heartbeats(s, i)
    if not _accepts(s, i, event.assignment):
        return
    given_up = take(s, i, event.assignment)
    if remembers(s):
        consumer.last_assignment = event.assignment
    if given_up > 0 and not consumer.eager:
        consumer.rejoin_needed = True
        if s.settings.revoke_ms > 0:
            wake_at(s, i, Step.BACKING_OFF, s.queue.now + s.settings.revoke_ms)
            return
    poll(s, i)


@inner_kernel
def remembers(s: Simulation) -> bool:
    """Tell whether consumers remember what they are assigned now.

    Only the assignor that was elected hears of the assignment (``ConsumerCoordinator.onJoinComplete``): sticky goes by
    what it assigned itself, however long ago, and knows nothing of what range has done since.
    """
    protocol = s.coordinator.group.protocol
    return bool(protocol == NONE or s.course.modern or s.remembered[protocol])


@inner_kernel
def _accepts(s: Simulation, i: int, row: int) -> bool:
    """Tell whether an assignment matches what the consumer subscribes to; else it joins again (``onJoinComplete``).

    Up to 2.3.1 it fails where that does not even match what it joined with (``assignFromSubscribed``,
    ``handleAssignmentMismatch``). A static member that comes back to a stable group is given what it had, and the
    sticky assignor may give a partition back to who had it.
    """
    consumer, rules = s.consumers[i], s.coordinator.rules
    if rules < CoordinatorRules.SCALA_3_9 and not matches(s, row, consumer.joined_subscription):
        fail(s, i, Errors.UNKNOWN_SERVER_ERROR)
        return False
    # An application of 1.0 subscribes to something else between polls only, and a poll joins as long as that takes.
    if rules == CoordinatorRules.SCALA_1_0 or matches(s, row, consumer.subscription):
        return True
    consumer.rejoin_needed = True
    poll(s, i)
    return False


@inner_kernel
def _join_failed(s: Simulation, i: int, error: int) -> None:
    """Deal with an error of JoinGroup or SyncGroup: join again, at once or after a while, or fail."""
    consumer = s.consumers[i]
    if error in (Errors.UNKNOWN_MEMBER_ID, Errors.ILLEGAL_GENERATION, Errors.REBALANCE_IN_PROGRESS):
        _take_identity_error(s, i, error)
        consumer.rejoin_needed = True
        poll(s, i)
    elif error in (Errors.COORDINATOR_NOT_AVAILABLE, Errors.NOT_COORDINATOR):
        consumer.coordinator_known = False
        _back_off(s, i)
    elif error == Errors.COORDINATOR_LOAD_IN_PROGRESS:
        _back_off(s, i)
    else:
        fail(s, i, error)


@inner_kernel
def _forget_identity(s: Simulation, i: int, error: int) -> None:
    """Forget the generation, and the id too unless only that was wrong (3.2 and later)."""
    consumer = s.consumers[i]
    keeps_id = error == Errors.ILLEGAL_GENERATION and s.coordinator.rules >= CoordinatorRules.SCALA_3_9
    _reset(consumer)
    if not keeps_id:
        consumer.member = NONE
    if s.coordinator.rules >= CoordinatorRules.SCALA_3_9 and consumer.step != Step.COMMITTING:
        consumer.needs_join_prepare = True


@inner_kernel
def _reset(consumer: Consumer) -> None:
    consumer.generation = NONE
    consumer.state = MemberState.UNJOINED
    consumer.heartbeating = False
    consumer.rejoin_needed = True


# ---- Heartbeats


@inner_kernel
def _begin_heartbeats(s: Simulation, i: int) -> None:
    s.consumers[i].heartbeating = True
    s.consumers[i].beats += 1
    _next_beat(s, i)


@inner_kernel
def _next_beat(s: Simulation, i: int) -> None:
    """Plan the next heartbeat: its thread looks every retry.backoff.ms whether one is due, and a poll wakes it then.

    See ``AbstractCoordinator.pollHeartbeat`` (1.0 to 4.3). A stall that begins before it is due is not foreseen.
    """
    consumer = s.consumers[i]
    due_ms = s.queue.now + s.settings.heartbeat_interval_ms
    late_ms = due_ms + draw(s, s.settings.retry_backoff_ms)
    at_ms = min(late_ms, poll_from(s, i, due_ms, s.settings.poll_interval_ms))
    schedule(s, Happening.BEAT, i, consumer.turn, at_ms).generation = consumer.beats


@inner_kernel
def beat(s: Simulation, i: int, event: Event) -> None:
    """Send a heartbeat, if they still are to be sent."""
    consumer = s.consumers[i]
    if not consumer.heartbeating or event.generation != consumer.beats:
        return
    if consumer.coordinator_known:
        send(s, i, Kind.HEARTBEAT, 0)
    _next_beat(s, i)


@inner_kernel
def heard(s: Simulation, i: int, event: Event) -> None:
    """Take the answer to a heartbeat (``HeartbeatResponseHandler``)."""
    consumer = s.consumers[i]
    if event.error == Errors.NONE or event.generation != consumer.generation or not consumer.heartbeating:
        return
    if event.error == Errors.REBALANCE_IN_PROGRESS:
        if consumer.state == MemberState.STABLE:
            request_rejoin(s, i)
    elif event.error in (Errors.UNKNOWN_MEMBER_ID, Errors.ILLEGAL_GENERATION):
        _forget_identity(s, i, event.error)
        request_rejoin(s, i)
    elif event.error in (Errors.COORDINATOR_NOT_AVAILABLE, Errors.NOT_COORDINATOR):
        _lose_coordinator(s, i)
    else:
        fail(s, i, event.error)


@inner_kernel
def _lose_coordinator(s: Simulation, i: int) -> None:
    """Look for another coordinator, after a while: between polls the heartbeat thread does, which is no poll."""
    consumer = s.consumers[i]
    if consumer.coordinator_known and consumer.step == Step.POLLING:
        _send_lookup(s, i, _OF_HEARTBEATS, s.queue.now + s.settings.retry_backoff_ms)
    consumer.coordinator_known = False
