"""A classic group on a simulated clock, and consumers of the classic protocol in any group."""

from rebalance_sim.kafka.coordinator.classic.classic_group import (
    EMPTY_ASSIGNMENT,
    NEVER,
    NONE,
    JoinRequest,
    RequestKind,
)
from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.runtime.kernel import inner_kernel, kernel_in_place
from rebalance_sim.kafka.simulation.classic_consumer import (
    cancel_restart,
    close,
    expire_poll_interval,
    receive_commit_response,
    receive_heartbeat_response,
    receive_join_response,
    receive_lookup_response,
    receive_sync_response,
    request_rejoin,
    restart_after,
    send_due_heartbeat,
    stall,
    start,
    stop,
    wake,
)
from rebalance_sim.kafka.simulation.event_queue import Event
from rebalance_sim.kafka.simulation.member_ids import coordinator_id_hash
from rebalance_sim.kafka.simulation.messages import count_ignored_answer, draw, schedule, send_answer, set_timer
from rebalance_sim.kafka.simulation.model import (
    ConsumerStep,
    EventKind,
    Presence,
    ScenarioEvent,
    ScenarioKind,
    Simulation,
)
from rebalance_sim.kafka.simulation.ownership import drop_lost_consumers, end_simulation, update_subscribed_topics
from rebalance_sim.kafka.simulation.timeline import record_rebalances
from rebalance_sim.releases import CoordinatorRules

_OF_HEARTBEATS = (
    int(EventKind.HEARTBEAT_DUE), EventKind.REQUEST + RequestKind.HEARTBEAT, EventKind.ANSWER + RequestKind.HEARTBEAT
)  # fmt: skip


@kernel_in_place
def next_event_ms(simulation: Simulation) -> int:
    """Return the time of the next event in the queue."""
    return simulation.places[0].at_ms if simulation.queue.length > 0 else NEVER


@kernel_in_place
def end_if_over(simulation: Simulation, next_ms: int) -> bool:
    """End the simulation if it is over before ``next_ms``, with the clock at its end; return whether it is.

    It is over after ``duration_ms`` or, without that, when the group has been stable and quiet for ``quiet_ms``.
    """
    settings, progress = simulation.settings, simulation.progress
    if settings.duration_ms > 0:
        end_ms = settings.duration_ms
    else:
        # A group that never becomes stable ends at the latest here.
        end_ms = progress.last_event_ms + settings.longest_ms + settings.ready_ms
        waits = progress.next_event < progress.events or progress.metadata_due or not progress.up
        if not waits and (progress.stable or simulation.coordinator.group.member_count == 0):
            end_ms = min(end_ms, max(progress.last_event_ms, progress.changed_ms) + progress.quiet_ms)
    if next_ms <= end_ms:
        return False
    simulation.queue.now = max(simulation.queue.now, end_ms)
    progress.rests = _has_only_heartbeats_to_come(simulation)
    end_simulation(simulation)
    return True


@inner_kernel
def _has_only_heartbeats_to_come(simulation: Simulation) -> bool:
    """Return whether a stable classic group waits for nothing but heartbeats, and only timers of sessions run."""
    progress, group = simulation.progress, simulation.coordinator.group
    if not progress.stable or progress.uses_consumer_protocol or progress.lost > 0 or group.pending > 0:
        return False
    if group.join_deadline != NEVER or group.sync_deadline != NEVER:
        return False
    for k in range(simulation.queue.length):
        kind = simulation.events[simulation.places[k].event].kind
        if kind not in _OF_HEARTBEATS:
            return False
    return True


@kernel_in_place
def after_coordinator(simulation: Simulation) -> None:
    """Process what the coordinator has done: send its responses, schedule its writes, record its rebalances."""
    coordinator, progress = simulation.coordinator, simulation.progress
    for k in range(coordinator.answered[0].value):
        answer = coordinator.answers[k]
        # HeartbeatResponseHandler does nothing without an error.
        if answer.kind == RequestKind.HEARTBEAT and answer.error == Errors.NONE:
            count_ignored_answer(simulation)
            continue
        sent = send_answer(simulation, answer, simulation.queue.now)
        if answer.kind == RequestKind.SYNC and answer.assignment != EMPTY_ASSIGNMENT:
            sent.assignment = row_of(simulation, answer.assignment, answer.assigned_as)
        elif answer.lists_members:
            # The batch has run the leader's assignor already: the leader sends these rows with its SyncGroup.
            sent.assignment = progress.assignments
    coordinator.answered[0].value = 0
    while progress.writes < coordinator.group.writes:
        progress.writes += 1
        end_ms = simulation.queue.now + simulation.settings.store_ms
        schedule(simulation, EventKind.WRITE_ENDS, NONE, progress.loads, end_ms)
    if progress.lost > 0 and coordinator.group.state != progress.state:
        drop_lost_consumers(simulation)
    record_rebalances(simulation)


@inner_kernel
def row_of(simulation: Simulation, assignments: int, member: int) -> int:
    """Return the row of an assignment that is for a member; EMPTY_ASSIGNMENT if the leader did not know the member.

    ``ClassicGroupMember.place`` refers to the last election; after a load the coordinator may hold an earlier
    assignment.
    """
    row = assignments
    if assignments == simulation.progress.assignments:
        row += simulation.coordinator.members[member].place
    while simulation.row_sets[row] == assignments:
        if simulation.row_members[row] == member:
            return row
        row += 1
    return EMPTY_ASSIGNMENT


@kernel_in_place
def request_of(simulation: Simulation, event: Event) -> int:
    """Return a number for a request, from which ``sender`` finds the consumer."""
    return event.incarnation * simulation.progress.consumers + event.consumer


@inner_kernel
def dispatch_to_consumer(simulation: Simulation, i: int, event: Event) -> None:
    """Dispatch an event to a consumer of the classic protocol."""
    kind = event.kind
    if kind == EventKind.ANSWER + RequestKind.JOIN:
        receive_join_response(simulation, i, event)
    elif kind == EventKind.ANSWER + RequestKind.SYNC:
        receive_sync_response(simulation, i, event)
    elif kind == EventKind.ANSWER + RequestKind.HEARTBEAT:
        receive_heartbeat_response(simulation, i, event)
    elif kind == EventKind.ANSWER + RequestKind.COMMIT:
        receive_commit_response(simulation, i, event)
    elif kind == EventKind.COORDINATOR_FOUND:
        receive_lookup_response(simulation, i, event)
    elif kind == EventKind.WAKE:
        wake(simulation, i, event)
    elif kind == EventKind.HEARTBEAT_DUE:
        send_due_heartbeat(simulation, i, event)
    elif kind == EventKind.POLL_EXPIRED:
        expire_poll_interval(simulation, i, event)


@inner_kernel
def join_request(simulation: Simulation, event: Event) -> JoinRequest:
    """Return the content of a consumer's JoinGroup."""
    coordinator, i = simulation.coordinator, event.consumer
    consumer = simulation.consumers[i]
    return JoinRequest(
        request_of(simulation, event),
        event.member,
        consumer.instance,
        i,
        coordinator_id_hash(simulation, i, coordinator.group.made) if event.member == NONE else 0,
        consumer.protocol_type,
        consumer.protocols,
        consumer.preferences,
        event.assignment,
        consumer.session_timeout_ms,
        consumer.rebalance_timeout_ms,
        coordinator.rules >= CoordinatorRules.SCALA_2_3,
        coordinator.rules >= CoordinatorRules.SCALA_3_2,
    )


# ---- The scenario


@inner_kernel
def move_coordinator(simulation: Simulation, down_ms: int) -> None:
    """Leave the group without a coordinator for a while."""
    progress = simulation.progress
    progress.up = False
    progress.loads += 1
    schedule(simulation, EventKind.LOADED, NONE, progress.loads, simulation.queue.now + down_ms)


@inner_kernel
def apply_to_consumer(simulation: Simulation, event: ScenarioEvent) -> None:
    """Apply a scenario event to a consumer of the classic protocol."""
    i, kind, value = event.consumer, event.kind, event.value
    consumer = simulation.consumers[i]
    runs = consumer.step != ConsumerStep.STOPPED
    if kind == ScenarioKind.JOIN:
        start(simulation, i)
    elif kind == ScenarioKind.RESTART and not runs:
        restart_after(simulation, i, value)
    elif kind == ScenarioKind.SUBSCRIBE:
        subscribe(simulation, i, value)
        if runs:
            request_rejoin(simulation, i)
    elif kind == ScenarioKind.PROTOCOLS:
        consumer.next_preferences = value
        consumer.next_protocols, consumer.next_eager = event.protocols, event.eager
        consumer.next_assignor = event.assignor
    elif not runs:
        if kind in (ScenarioKind.LEAVE, ScenarioKind.CRASH):
            cancel_restart(simulation, i)
    elif kind == ScenarioKind.LEAVE:
        close(simulation, i, NONE)
    elif kind == ScenarioKind.CRASH:
        stop(simulation, i)
    elif kind == ScenarioKind.RESTART:
        close(simulation, i, value)
    elif kind == ScenarioKind.STALL:
        stall(simulation, i, value)


@inner_kernel
def subscribe(simulation: Simulation, i: int, subscription: int) -> None:
    """Change the subscription of a consumer."""
    consumer = simulation.consumers[i]
    consumer.subscription = subscription
    if consumer.presence != Presence.AWAY:
        update_subscribed_topics(simulation)


@inner_kernel
def schedule_metadata_refresh(simulation: Simulation, i: int) -> None:
    """Let a running consumer refresh its metadata within metadata.max.age.ms."""
    if simulation.consumers[i].step != ConsumerStep.STOPPED:
        at_ms = simulation.queue.now + draw(simulation, simulation.settings.metadata_max_age_ms)
        set_timer(simulation, EventKind.METADATA_REFRESH, i, at_ms, 0)
        simulation.progress.metadata_due = True


@inner_kernel
def refresh_metadata(simulation: Simulation, event: Event) -> None:
    """Let a consumer see the partition counts; a leader joins again if one has changed.

    Only the leader compares its metadata with those of its assignment (``ConsumerCoordinator.rejoinNeededOrPending``).
    """
    simulation.progress.metadata_due = False
    consumer = simulation.consumers[event.consumer]
    if event.incarnation != consumer.incarnation:
        return
    has_grown = False
    for k in range(consumer.metadata_events, simulation.progress.next_event):
        has_grown = has_grown or simulation.scenario[k].kind == ScenarioKind.GROW
    consumer.metadata_events = simulation.progress.next_event if has_grown else consumer.metadata_events
    if has_grown and consumer.is_leader:
        # The group may count as stable because no consumer subscribes to the grown topic: it must not end before this.
        simulation.progress.changed_ms = simulation.queue.now
        request_rejoin(simulation, event.consumer)
