"""A consumer of KIP-848: ``AsyncKafkaConsumer`` with its heartbeats and its membership (4.3).

A thread in the background sends heartbeats: at the interval that the broker says, and at once where it joins, leaves or
acknowledges what it was given. What concerns the partitions waits for the application's next poll: the commit before a
change, the callbacks, the change itself.
"""

from rebalance_sim.kafka.coordinator.classic_group import NONE, Kind
from rebalance_sim.kafka.coordinator.consumer_group import (
    CONSUMER_HEARTBEAT,
    JOIN_EPOCH,
    LEAVE_EPOCH,
    LEAVE_STATIC_EPOCH,
    NOTHING,
)
from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.coordinator.migration import new_member_number
from rebalance_sim.kafka.kernel import inner_kernel
from rebalance_sim.kafka.simulation.classic_consumer import (
    fail,
    next_poll_ms,
    poll_from,
    read_configuration,
    start_after,
    stop,
    wake_at,
)
from rebalance_sim.kafka.simulation.consumer_group_model import (
    ClientState,
    ConsumerGroupSimulation,
    mixed_group,
    same_rows,
    write_kept,
)
from rebalance_sim.kafka.simulation.event_queue import Event
from rebalance_sim.kafka.simulation.member_ids import own_id_hash
from rebalance_sim.kafka.simulation.messages import schedule, send, travel_ms
from rebalance_sim.kafka.simulation.model import Happening, Presence, Simulation, Step, Subject
from rebalance_sim.kafka.simulation.ownership import release, set_presence, take
from rebalance_sim.kafka.simulation.timeline import tell

# ---- The process and its application


@inner_kernel
def start(c: ConsumerGroupSimulation, i: int) -> None:
    """Start a process, which chooses an id of its own and polls for the first time after ``start_ms``."""
    s = c.base
    consumer, client = s.consumers[i], c.clients[i]
    consumer.turn += 1
    read_configuration(consumer)
    consumer.member = new_member_number(mixed_group(c))
    s.coordinator.members[consumer.member].client = i
    c.modern.members[consumer.member].known = False
    c.modern.members[consumer.member].client = i
    c.modern.members[consumer.member].hash = own_id_hash(s, consumer.member)
    consumer.generation = JOIN_EPOCH
    consumer.coordinator_known = False
    consumer.owned = NONE
    consumer.busy_until_ms = 0
    consumer.failure = Errors.NONE
    client.state = ClientState.UNSUBSCRIBED
    client.in_flight = client.looking_up = False
    client.target = client.reconciling = NONE
    set_presence(s, i, Presence.RUNS)
    tell(s, Subject.STARTED, i, consumer.member, 0, 0, 0)
    wake_at(s, i, Step.STARTING, s.queue.now + s.settings.start_ms)


@inner_kernel
def close(c: ConsumerGroupSimulation, i: int, stops_for_ms: int) -> None:
    """Close a consumer in order: commit, give up, leave (a static one for a while)."""
    s = c.base
    consumer = s.consumers[i]
    consumer.stops_for_ms = stops_for_ms
    if _commits(c, i):
        consumer.step = Step.CLOSING
        consumer.wakes += 1
        send(s, i, Kind.COMMIT, 0)
    else:
        _finish_close(c, i)


@inner_kernel
def _finish_close(c: ConsumerGroupSimulation, i: int) -> None:
    s = c.base
    consumer = s.consumers[i]
    release(s, i, Subject.REVOKED)
    _leave(c, i)
    set_presence(s, i, Presence.AWAY if consumer.stops_for_ms == NONE else Presence.RETURNS)
    stop(s, i)
    if consumer.stops_for_ms != NONE:
        start_after(s, i, consumer.stops_for_ms)


@inner_kernel
def _commits(c: ConsumerGroupSimulation, i: int) -> bool:
    s = c.base
    consumer = s.consumers[i]
    if not s.settings.enable_auto_commit or not consumer.coordinator_known:
        return False
    return _has_any(s, consumer.owned) and consumer.generation > JOIN_EPOCH


@inner_kernel
def _has_any(s: Simulation, row: int) -> bool:
    return row != NONE and s.first_listed[row] != s.first_listed[row + 1]


@inner_kernel
def wake(c: ConsumerGroupSimulation, i: int, event: Event) -> None:
    """Let the application poll."""
    s = c.base
    consumer, client = s.consumers[i], c.clients[i]
    if event.generation != consumer.wakes:
        return
    revoked = consumer.step == Step.REVOKING
    consumer.polled_ms = s.queue.now
    consumer.step = Step.POLLING
    consumer.wakes += 1
    if client.state == ClientState.UNSUBSCRIBED:
        _rejoin(c, i)
    elif client.state in (ClientState.FENCED, ClientState.STALE):
        _give_up_all(c, i)
    elif client.reconciling != NONE and revoked:
        _assign(c, i)
    elif client.reconciling != NONE:
        _revoke(c, i)
    elif client.state == ClientState.RECONCILING:
        _reconcile(c, i)
    if consumer.step == Step.POLLING:
        _expect_late_poll(c, i)
    act(c, i)


@inner_kernel
def _expect_late_poll(c: ConsumerGroupSimulation, i: int) -> None:
    """Plan the end of max.poll.interval.ms where every poll comes later than that."""
    s = c.base
    consumer = s.consumers[i]
    if s.settings.poll_interval_ms > consumer.rebalance_timeout_ms:
        at_ms = consumer.polled_ms + consumer.rebalance_timeout_ms
        schedule(s, Happening.POLL_EXPIRED, i, consumer.turn, at_ms).generation = consumer.polled_ms


@inner_kernel
def _need_poll(c: ConsumerGroupSimulation, i: int) -> None:
    """Wait for the application's next poll.

    Who has no partitions has nothing to work on, but waits in a poll, which then looks every retry.backoff.ms at what
    the thread in the background wants (``AsyncKafkaConsumer.pollForFetches``).
    """
    s = c.base
    consumer = s.consumers[i]
    every_ms = s.settings.poll_interval_ms
    if not _has_any(s, consumer.owned):
        every_ms = min(every_ms, s.settings.retry_backoff_ms)
    if consumer.step == Step.POLLING:
        wake_at(s, i, Step.POLLING, poll_from(s, i, s.queue.now, every_ms))


@inner_kernel
def expire_poll(c: ConsumerGroupSimulation, i: int, event: Event) -> None:
    """Leave because the application has not polled for max.poll.interval.ms (``transitionToStale``)."""
    s = c.base
    consumer, client = s.consumers[i], c.clients[i]
    in_group = ClientState.JOINING <= client.state <= ClientState.STABLE
    if consumer.step != Step.POLLING or consumer.polled_ms != event.generation or not in_group:
        return
    tell(s, Subject.POLL_EXPIRED, i, consumer.member, 0, 0, 0)
    _leave(c, i)
    client.state = ClientState.STALE
    client.sends_all = True
    consumer.generation = JOIN_EPOCH
    wake_at(s, i, Step.POLLING, next_poll_ms(s, i))


# ---- Partitions


@inner_kernel
def _rejoin(c: ConsumerGroupSimulation, i: int) -> None:
    client = c.clients[i]
    client.state = ClientState.JOINING
    client.target = client.reconciling = NONE
    c.base.consumers[i].generation = JOIN_EPOCH


@inner_kernel
def _give_up_all(c: ConsumerGroupSimulation, i: int) -> None:
    """Lose everything, and join anew when the callback is through."""
    s = c.base
    had_any = s.consumers[i].owned != NONE
    release(s, i, Subject.LOST)
    if had_any and s.settings.revoke_ms > 0:
        c.clients[i].state = ClientState.UNSUBSCRIBED
        wake_at(s, i, Step.REVOKING, s.queue.now + s.settings.revoke_ms)
    else:
        _rejoin(c, i)


@inner_kernel
def _reconcile(c: ConsumerGroupSimulation, i: int) -> None:
    """Begin to take what was given last: commit first (``maybeReconcile``)."""
    s = c.base
    c.clients[i].reconciling = c.clients[i].target
    if _commits(c, i):
        s.consumers[i].step = Step.COMMITTING
        s.consumers[i].wakes += 1
        send(s, i, Kind.COMMIT, 0)
    else:
        _revoke(c, i)


@inner_kernel
def committed(c: ConsumerGroupSimulation, i: int) -> None:
    """Take the answer to an OffsetCommit, whatever it says."""
    consumer = c.base.consumers[i]
    if consumer.step == Step.CLOSING:
        _finish_close(c, i)
    elif consumer.step == Step.COMMITTING:
        consumer.step = Step.POLLING
        _need_poll(c, i)


@inner_kernel
def _revoke(c: ConsumerGroupSimulation, i: int) -> None:
    """Give up what is not in the new assignment (``revokeAndAssign``)."""
    s = c.base
    consumer, client = s.consumers[i], c.clients[i]
    if client.state != ClientState.RECONCILING:
        client.reconciling = NONE
        return
    if s.settings.revoke_ms > 0 and consumer.owned != NONE:
        kept = write_kept(c, consumer.owned, client.reconciling)
        if not same_rows(s, kept, consumer.owned):
            take(s, i, kept)
            wake_at(s, i, Step.REVOKING, s.queue.now + s.settings.revoke_ms)
            return
    _assign(c, i)


@inner_kernel
def _assign(c: ConsumerGroupSimulation, i: int) -> None:
    """Take the new assignment, and have it acknowledged."""
    client = c.clients[i]
    if client.state == ClientState.RECONCILING:
        take(c.base, i, client.reconciling)
        client.sends_owned = True
        client.state = ClientState.ACKNOWLEDGING
    client.reconciling = NONE


# ---- Heartbeats


@inner_kernel
def act(c: ConsumerGroupSimulation, i: int) -> None:
    """Do what the background thread does at once: look for the coordinator, send what cannot wait."""
    s = c.base
    consumer, client = s.consumers[i], c.clients[i]
    if consumer.step == Step.STOPPED or client.state in (ClientState.UNSUBSCRIBED, ClientState.FENCED):
        return
    if not consumer.coordinator_known:
        _look_up(c, i)
    elif client.in_flight:
        return
    elif client.state in (ClientState.JOINING, ClientState.ACKNOWLEDGING):
        _send_heartbeat(c, i)


@inner_kernel
def beat(c: ConsumerGroupSimulation, i: int, event: Event) -> None:
    """Send a heartbeat, since it is time for one."""
    consumer, client = c.base.consumers[i], c.clients[i]
    in_group = ClientState.JOINING <= client.state <= ClientState.STABLE
    if event.generation == consumer.beats and in_group and consumer.coordinator_known and not client.in_flight:
        _send_heartbeat(c, i)


@inner_kernel
def _send_heartbeat(c: ConsumerGroupSimulation, i: int) -> None:
    """Send a heartbeat with what has changed (``HeartbeatState.buildRequestData``)."""
    s = c.base
    consumer, client = s.consumers[i], c.clients[i]
    joins = client.state == ClientState.JOINING
    sends_all = joins or client.sends_all
    event = _request(c, i, consumer.generation)
    event.lists_members = sends_all
    if sends_all or client.sent_subscription != consumer.subscription:
        event.protocol = consumer.subscription
        client.sent_subscription = consumer.subscription
    if sends_all or client.sends_owned:
        event.assignment = NOTHING if joins or consumer.owned == NONE else consumer.owned
    if sends_all or client.sends_owned:
        tell(s, Subject.REQUEST, i, consumer.member, CONSUMER_HEARTBEAT, 0, 0)
    client.sends_all = client.sends_owned = False
    client.in_flight = True
    client.sent_ms = s.queue.now
    if client.state == ClientState.ACKNOWLEDGING:
        client.state = ClientState.STABLE
        if not same_rows(s, consumer.owned, client.target):
            client.state = ClientState.RECONCILING
            _need_poll(c, i)
    _next_beat(c, i, s.settings.group_consumer_heartbeat_interval_ms)


@inner_kernel
def _request(c: ConsumerGroupSimulation, i: int, epoch: int) -> Event:
    s = c.base
    consumer = s.consumers[i]
    event = schedule(s, Happening.REQUEST + CONSUMER_HEARTBEAT, i, consumer.turn, s.queue.now + travel_ms(s))
    event.member = consumer.member
    event.generation = epoch
    event.lists_members = False
    event.protocol = event.assignment = NONE
    s.course.messages += 1
    return event


@inner_kernel
def _leave(c: ConsumerGroupSimulation, i: int) -> None:
    """Say goodbye, and do not wait for the answer."""
    s = c.base
    consumer, client = s.consumers[i], c.clients[i]
    in_group = ClientState.JOINING <= client.state <= ClientState.STABLE
    if in_group and consumer.coordinator_known:
        epoch = LEAVE_EPOCH if consumer.instance == NONE else LEAVE_STATIC_EPOCH
        _request(c, i, epoch)
        tell(s, Subject.REQUEST, i, consumer.member, CONSUMER_HEARTBEAT, 0, 0)


@inner_kernel
def _next_beat(c: ConsumerGroupSimulation, i: int, after_ms: int) -> None:
    s = c.base
    s.consumers[i].beats += 1
    event = schedule(s, Happening.BEAT, i, s.consumers[i].turn, s.queue.now + after_ms)
    event.generation = s.consumers[i].beats


@inner_kernel
def heard(c: ConsumerGroupSimulation, i: int, event: Event) -> None:
    """Take the answer to a heartbeat (``onHeartbeatSuccess``, ``onErrorResponse``)."""
    s = c.base
    consumer, client = s.consumers[i], c.clients[i]
    if event.generation < JOIN_EPOCH:
        # Nobody waits for the answer to a goodbye.
        return
    client.in_flight = False
    if not ClientState.JOINING <= client.state <= ClientState.STABLE:
        act(c, i)
        return
    if event.error != Errors.NONE:
        _take_error(c, i, event.error)
        return
    consumer.generation = event.generation
    if event.assignment != NONE:
        _take_target(c, i, event.assignment)
    if s.queue.now - client.sent_ms >= s.settings.group_consumer_heartbeat_interval_ms:
        _send_heartbeat(c, i)
    else:
        act(c, i)


@inner_kernel
def _take_target(c: ConsumerGroupSimulation, i: int, row: int) -> None:
    """Note what the coordinator gives (``processAssignmentReceived``)."""
    s = c.base
    consumer, client = s.consumers[i], c.clients[i]
    if client.target == NONE or not same_rows(s, client.target, row):
        client.target = row
    if consumer.owned == NONE or not same_rows(s, consumer.owned, client.target):
        client.state = ClientState.RECONCILING
        if client.reconciling == NONE:
            _need_poll(c, i)
    elif client.state in (ClientState.RECONCILING, ClientState.JOINING):
        client.state = ClientState.STABLE


@inner_kernel
def _take_error(c: ConsumerGroupSimulation, i: int, error: int) -> None:
    s = c.base
    consumer, client = s.consumers[i], c.clients[i]
    client.sends_all = True
    if error in (Errors.FENCED_MEMBER_EPOCH, Errors.UNKNOWN_MEMBER_ID):
        client.state = ClientState.FENCED
        client.target = NONE
        consumer.generation = JOIN_EPOCH
        _need_poll(c, i)
    elif error in (Errors.NOT_COORDINATOR, Errors.COORDINATOR_NOT_AVAILABLE):
        consumer.coordinator_known = False
        _look_up(c, i)
    elif error == Errors.COORDINATOR_LOAD_IN_PROGRESS:
        _next_beat(c, i, s.settings.retry_backoff_ms)
    else:
        fail(s, i, error)


# ---- Finding the coordinator


@inner_kernel
def _look_up(c: ConsumerGroupSimulation, i: int) -> None:
    """Ask a broker who coordinates the group."""
    s = c.base
    if not c.clients[i].looking_up:
        c.clients[i].looking_up = True
        schedule(s, Happening.LOOKUP, i, s.consumers[i].turn, s.queue.now + travel_ms(s))
        s.course.messages += 1


@inner_kernel
def found(c: ConsumerGroupSimulation, i: int, event: Event) -> None:
    """Take the answer to a lookup; where there is no coordinator, ask again after a while."""
    s = c.base
    if event.error != Errors.NONE:
        schedule(s, Happening.LOOKUP, i, event.turn, s.queue.now + s.settings.retry_backoff_ms + travel_ms(s))
        s.course.messages += 1
        return
    c.clients[i].looking_up = False
    s.consumers[i].coordinator_known = True
    in_group = ClientState.JOINING <= c.clients[i].state <= ClientState.STABLE
    if in_group and not c.clients[i].in_flight:
        _send_heartbeat(c, i)
