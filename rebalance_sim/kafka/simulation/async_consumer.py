"""A consumer of the consumer protocol (KIP-848): ``AsyncKafkaConsumer`` and its ``ConsumerMembershipManager`` (4.3).

A background thread sends heartbeats (``ConsumerHeartbeatRequestManager``): at the interval that the broker sets, and at
once to join, to leave or to acknowledge an assignment. A change of partitions waits for the application's next poll:
the commit before it, the callbacks, and the change itself.
"""

from rebalance_sim.kafka.coordinator.classic.classic_group import NONE, RequestKind
from rebalance_sim.kafka.coordinator.consumer.consumer_group import JOIN_EPOCH, LEAVE_EPOCH, LEAVE_STATIC_EPOCH, NOTHING
from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.coordinator.group_conversion import new_member_number
from rebalance_sim.kafka.runtime.kernel import inner_kernel
from rebalance_sim.kafka.simulation.classic_consumer import (
    begin_wait,
    commit,
    end_closed,
    fail,
    first_poll_ms,
    next_poll_ms,
    schedule_poll_timeout,
    start_process,
    wake_at,
)
from rebalance_sim.kafka.simulation.consumer_group_model import (
    AsyncConsumer,
    ClientState,
    ConsumerGroupSimulation,
    add_kept_row,
    list_same_partitions,
    mixed_group,
)
from rebalance_sim.kafka.simulation.event_queue import Event
from rebalance_sim.kafka.simulation.member_ids import client_id_hash
from rebalance_sim.kafka.simulation.messages import schedule, set_timer, travel_ms
from rebalance_sim.kafka.simulation.model import ConsumerStep, EventKind, Simulation, Subject
from rebalance_sim.kafka.simulation.ownership import own_row, revoke_all
from rebalance_sim.kafka.simulation.timeline import add_timeline_row

# ---- The process and its application


@inner_kernel
def start(simulation: ConsumerGroupSimulation, i: int) -> None:
    """Start a process, which generates its member id and polls for the first time after ``start_ms``."""
    base, client = simulation.base, simulation.clients[i]
    number = new_member_number(mixed_group(simulation))
    base.coordinator.members[number].client = i
    member = simulation.modern.members[number]
    member.known = False
    member.client = i
    member.hash = client_id_hash(base, number)
    client.state = ClientState.UNSUBSCRIBED
    client.in_flight = client.looking_up = False
    client.target = client.reconciling = NONE
    start_process(base, i, number, JOIN_EPOCH)


@inner_kernel
def close(simulation: ConsumerGroupSimulation, i: int, down_ms: int) -> None:
    """Close a consumer: commit, revoke and leave; a static one leaves with epoch -2, to return."""
    base = simulation.base
    base.consumers[i].down_ms = down_ms
    if _auto_commits(base, i):
        commit(base, i, ConsumerStep.CLOSING)
    else:
        _finish_close(simulation, i)


@inner_kernel
def _finish_close(simulation: ConsumerGroupSimulation, i: int) -> None:
    revoke_all(simulation.base, i, Subject.REVOKED)
    _leave(simulation, i)
    end_closed(simulation.base, i)


@inner_kernel
def _auto_commits(base: Simulation, i: int) -> bool:
    """Return whether the consumer commits before it revokes (``enable.auto.commit``)."""
    consumer = base.consumers[i]
    if not base.settings.enable_auto_commit or not consumer.coordinator_known:
        return False
    return _owns_partitions(base, i) and consumer.generation > JOIN_EPOCH


@inner_kernel
def _owns_partitions(base: Simulation, i: int) -> bool:
    row = base.consumers[i].owned
    return row != NONE and base.first_listed[row] != base.first_listed[row + 1]


@inner_kernel
def _is_in_group(client: AsyncConsumer) -> bool:
    """Return whether the consumer sends heartbeats (not ``AbstractMembershipManager.shouldSkipHeartbeat``)."""
    return bool(ClientState.JOINING <= client.state <= ClientState.STABLE)


@inner_kernel
def wake(simulation: ConsumerGroupSimulation, i: int, event: Event) -> None:
    """Let the application poll, which runs what the background thread waits for."""
    base = simulation.base
    consumer, client = base.consumers[i], simulation.clients[i]
    if event.generation != consumer.waits:
        return
    has_revoked = consumer.step == ConsumerStep.REVOKING
    consumer.last_poll_ms = base.queue.now
    begin_wait(base, i, ConsumerStep.POLLING)
    if client.state == ClientState.UNSUBSCRIBED:
        _rejoin(simulation, i)
    elif client.state in (ClientState.FENCED, ClientState.STALE):
        _lose_all_and_rejoin(simulation, i)
    elif client.reconciling != NONE and has_revoked:
        _assign(simulation, i)
    elif client.reconciling != NONE:
        _revoke(simulation, i)
    elif client.state == ClientState.RECONCILING:
        _reconcile(simulation, i)
    # Otherwise no poll comes too late unless a stall begins.
    if consumer.step == ConsumerStep.POLLING and base.settings.poll_interval_ms > consumer.rebalance_timeout_ms:
        schedule_poll_timeout(base, i)
    send_urgent_requests(simulation, i)


@inner_kernel
def _wake_at_next_poll(simulation: ConsumerGroupSimulation, i: int) -> None:
    """Wait for the application's next poll.

    A consumer without partitions has no records to process: it waits inside ``poll``, which checks for work of the
    background thread every retry.backoff.ms (``AsyncKafkaConsumer.pollForFetches``).
    """
    base = simulation.base
    interval_ms = base.settings.poll_interval_ms
    if not _owns_partitions(base, i):
        interval_ms = min(interval_ms, base.settings.retry_backoff_ms)
    if base.consumers[i].step == ConsumerStep.POLLING:
        wake_at(base, i, ConsumerStep.POLLING, first_poll_ms(base, i, base.queue.now, interval_ms))


@inner_kernel
def expire_poll_interval(simulation: ConsumerGroupSimulation, i: int, event: Event) -> None:
    """Leave because the application has not polled for max.poll.interval.ms (``transitionToSendingLeaveGroup``).

    The member becomes stale, and joins again with the next poll (``transitionToStale``).
    """
    base = simulation.base
    consumer, client = base.consumers[i], simulation.clients[i]
    superseded = consumer.step != ConsumerStep.POLLING or consumer.last_poll_ms != event.generation
    if superseded or not _is_in_group(client):
        return
    add_timeline_row(base, Subject.POLL_EXPIRED, i, consumer.member, 0, 0, 0)
    _leave(simulation, i)
    client.state = ClientState.STALE
    client.sends_all = True
    consumer.generation = JOIN_EPOCH
    wake_at(base, i, ConsumerStep.POLLING, next_poll_ms(base, i))


# ---- Partitions


@inner_kernel
def _rejoin(simulation: ConsumerGroupSimulation, i: int) -> None:
    """Begin to join (``transitionToJoining``)."""
    client = simulation.clients[i]
    client.state = ClientState.JOINING
    client.target = client.reconciling = NONE
    simulation.base.consumers[i].generation = JOIN_EPOCH


@inner_kernel
def _lose_all_and_rejoin(simulation: ConsumerGroupSimulation, i: int) -> None:
    """Lose all partitions, and join again after ``onPartitionsLost`` (``transitionToFenced``)."""
    base = simulation.base
    consumer = base.consumers[i]
    had_row = consumer.owned != NONE
    revoke_all(base, i, Subject.LOST)
    if had_row and consumer.revoke_ms > 0:
        simulation.clients[i].state = ClientState.UNSUBSCRIBED
        wake_at(base, i, ConsumerStep.REVOKING, base.queue.now + consumer.revoke_ms)
    else:
        _rejoin(simulation, i)


@inner_kernel
def _reconcile(simulation: ConsumerGroupSimulation, i: int) -> None:
    """Begin to reconcile with the last assignment received: commit first (``maybeReconcile``)."""
    base = simulation.base
    simulation.clients[i].reconciling = simulation.clients[i].target
    if _auto_commits(base, i):
        commit(base, i, ConsumerStep.COMMITTING)
    else:
        _revoke(simulation, i)


@inner_kernel
def receive_commit_response(simulation: ConsumerGroupSimulation, i: int) -> None:
    """Handle the response to OffsetCommit; reconciliation and ``close`` go on even if the commit failed."""
    consumer = simulation.base.consumers[i]
    if consumer.step == ConsumerStep.CLOSING:
        _finish_close(simulation, i)
    elif consumer.step == ConsumerStep.COMMITTING:
        consumer.step = ConsumerStep.POLLING
        _wake_at_next_poll(simulation, i)


@inner_kernel
def _revoke(simulation: ConsumerGroupSimulation, i: int) -> None:
    """Revoke what is not in the new assignment (``revokeAndAssign``)."""
    base = simulation.base
    consumer, client = base.consumers[i], simulation.clients[i]
    if client.state != ClientState.RECONCILING:
        client.reconciling = NONE
        return
    if consumer.revoke_ms > 0 and consumer.owned != NONE:
        kept = add_kept_row(simulation, consumer.owned, client.reconciling)
        if not list_same_partitions(base, kept, consumer.owned):
            own_row(base, i, kept)
            wake_at(base, i, ConsumerStep.REVOKING, base.queue.now + consumer.revoke_ms)
            return
    _assign(simulation, i)


@inner_kernel
def _assign(simulation: ConsumerGroupSimulation, i: int) -> None:
    """Own the new assignment; the next heartbeat acknowledges it."""
    client = simulation.clients[i]
    if client.state == ClientState.RECONCILING:
        own_row(simulation.base, i, client.reconciling)
        client.sends_owned = True
        client.state = ClientState.ACKNOWLEDGING
    client.reconciling = NONE


# ---- Heartbeats


@inner_kernel
def send_urgent_requests(simulation: ConsumerGroupSimulation, i: int) -> None:
    """Send what the background thread does not delay: FindCoordinator, and heartbeats that join or acknowledge."""
    base = simulation.base
    consumer, client = base.consumers[i], simulation.clients[i]
    if consumer.step == ConsumerStep.STOPPED or client.state in (ClientState.UNSUBSCRIBED, ClientState.FENCED):
        return
    if not consumer.coordinator_known:
        _look_up(simulation, i)
    elif client.in_flight:
        return
    elif client.state in (ClientState.JOINING, ClientState.ACKNOWLEDGING):
        _send_heartbeat(simulation, i)


@inner_kernel
def send_due_heartbeat(simulation: ConsumerGroupSimulation, i: int, event: Event) -> None:
    """Send a heartbeat because group.consumer.heartbeat.interval.ms has passed."""
    consumer, client = simulation.base.consumers[i], simulation.clients[i]
    if event.generation != consumer.heartbeat_series or not _is_in_group(client):
        return
    if consumer.coordinator_known and not client.in_flight:
        _send_heartbeat(simulation, i)


@inner_kernel
def _send_heartbeat(simulation: ConsumerGroupSimulation, i: int) -> None:
    """Send a heartbeat with the fields that have changed (``HeartbeatState.buildRequestData``)."""
    base = simulation.base
    consumer, client = base.consumers[i], simulation.clients[i]
    joins = client.state == ClientState.JOINING
    sends_all = joins or client.sends_all
    event = _request_heartbeat(base, i, consumer.generation)
    event.lists_members = sends_all
    if sends_all or client.sent_subscription != consumer.subscription:
        event.protocol = consumer.subscription
        client.sent_subscription = consumer.subscription
    if sends_all or client.sends_owned:
        event.assignment = NOTHING if joins or consumer.owned == NONE else consumer.owned
        add_timeline_row(base, Subject.REQUEST, i, consumer.member, RequestKind.CONSUMER_GROUP_HEARTBEAT, 0, 0)
    client.sends_all = client.sends_owned = False
    client.in_flight = True
    client.sent_ms = base.queue.now
    if client.state == ClientState.ACKNOWLEDGING:
        # onHeartbeatRequestGenerated: another assignment may have arrived during this reconciliation.
        client.state = ClientState.STABLE
        if not list_same_partitions(base, consumer.owned, client.target):
            client.state = ClientState.RECONCILING
            _wake_at_next_poll(simulation, i)
    _schedule_heartbeat(base, i, base.settings.group_consumer_heartbeat_interval_ms)


@inner_kernel
def _request_heartbeat(base: Simulation, i: int, epoch: int) -> Event:
    """Send ConsumerGroupHeartbeat, and return it for the caller to fill in the optional fields."""
    consumer = base.consumers[i]
    arrival_ms = base.queue.now + travel_ms(base)
    kind = EventKind.REQUEST + RequestKind.CONSUMER_GROUP_HEARTBEAT
    event = schedule(base, kind, i, consumer.incarnation, arrival_ms)
    event.member = consumer.member
    event.generation = epoch
    event.lists_members = False
    event.protocol = event.assignment = NONE
    base.progress.messages += 1
    return event


@inner_kernel
def _leave(simulation: ConsumerGroupSimulation, i: int) -> None:
    """Send a heartbeat that leaves the group, and do not wait for the response."""
    base = simulation.base
    consumer = base.consumers[i]
    if _is_in_group(simulation.clients[i]) and consumer.coordinator_known:
        _request_heartbeat(base, i, LEAVE_EPOCH if consumer.instance == NONE else LEAVE_STATIC_EPOCH)
        add_timeline_row(base, Subject.REQUEST, i, consumer.member, RequestKind.CONSUMER_GROUP_HEARTBEAT, 0, 0)


@inner_kernel
def _schedule_heartbeat(base: Simulation, i: int, after_ms: int) -> None:
    base.consumers[i].heartbeat_series += 1
    set_timer(base, EventKind.HEARTBEAT_DUE, i, base.queue.now + after_ms, base.consumers[i].heartbeat_series)


@inner_kernel
def receive_heartbeat_response(simulation: ConsumerGroupSimulation, i: int, event: Event) -> None:
    """Handle the response to a heartbeat (``onHeartbeatSuccess``, ``onErrorResponse``)."""
    base = simulation.base
    consumer, client = base.consumers[i], simulation.clients[i]
    if event.generation < JOIN_EPOCH:
        # The response to a heartbeat that leaves is ignored.
        return
    client.in_flight = False
    if not _is_in_group(client):
        send_urgent_requests(simulation, i)
        return
    if event.error != Errors.NONE:
        _handle_heartbeat_error(simulation, i, event.error)
        return
    consumer.generation = event.generation
    if event.assignment != NONE:
        _receive_assignment(simulation, i, event.assignment)
    if base.queue.now - client.sent_ms >= base.settings.group_consumer_heartbeat_interval_ms:
        _send_heartbeat(simulation, i)
    else:
        send_urgent_requests(simulation, i)


@inner_kernel
def _receive_assignment(simulation: ConsumerGroupSimulation, i: int, row: int) -> None:
    """Keep the assignment that the coordinator sends, and reconcile if it is new (``processAssignmentReceived``)."""
    base = simulation.base
    consumer, client = base.consumers[i], simulation.clients[i]
    if client.target == NONE or not list_same_partitions(base, client.target, row):
        client.target = row
    if consumer.owned == NONE or not list_same_partitions(base, consumer.owned, client.target):
        client.state = ClientState.RECONCILING
        # A reconciliation in progress is completed first.
        if client.reconciling == NONE:
            _wake_at_next_poll(simulation, i)
    elif client.state in (ClientState.RECONCILING, ClientState.JOINING):
        client.state = ClientState.STABLE


@inner_kernel
def _handle_heartbeat_error(simulation: ConsumerGroupSimulation, i: int, error: int) -> None:
    base = simulation.base
    consumer, client = base.consumers[i], simulation.clients[i]
    # HeartbeatState.reset: fields of the failed request may be lost, so the next one sends all.
    client.sends_all = True
    if error in (Errors.FENCED_MEMBER_EPOCH, Errors.UNKNOWN_MEMBER_ID):
        client.state = ClientState.FENCED
        client.target = NONE
        consumer.generation = JOIN_EPOCH
        _wake_at_next_poll(simulation, i)
    elif error in (Errors.NOT_COORDINATOR, Errors.COORDINATOR_NOT_AVAILABLE):
        consumer.coordinator_known = False
        _look_up(simulation, i)
    elif error == Errors.COORDINATOR_LOAD_IN_PROGRESS:
        _schedule_heartbeat(base, i, base.settings.retry_backoff_ms)
    else:
        fail(base, i, error)


# ---- Finding the coordinator


@inner_kernel
def _look_up(simulation: ConsumerGroupSimulation, i: int) -> None:
    """Send FindCoordinator, unless one is in flight (``CoordinatorRequestManager``)."""
    base = simulation.base
    if not simulation.clients[i].looking_up:
        simulation.clients[i].looking_up = True
        set_timer(base, EventKind.LOOKUP, i, base.queue.now + travel_ms(base), 0)
        base.progress.messages += 1


@inner_kernel
def receive_lookup_response(simulation: ConsumerGroupSimulation, i: int, event: Event) -> None:
    """Handle the response to FindCoordinator; without a coordinator, ask again after retry.backoff.ms."""
    base = simulation.base
    if event.error != Errors.NONE:
        again_ms = base.queue.now + base.settings.retry_backoff_ms
        set_timer(base, EventKind.LOOKUP, i, again_ms + travel_ms(base), 0)
        base.progress.messages += 1
        return
    simulation.clients[i].looking_up = False
    base.consumers[i].coordinator_known = True
    if _is_in_group(simulation.clients[i]) and not simulation.clients[i].in_flight:
        _send_heartbeat(simulation, i)
