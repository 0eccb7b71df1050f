"""A classic group on a simulated clock.

``advance`` handles one event after the other until the group needs what only the batch can provide: an election with
the leader's assignment, or capacity for more rows. All random numbers are drawn from the group's own, so that neither
the other groups nor the size of the batch change the result.
"""

from enum import IntEnum

from rebalance_sim.kafka.coordinator.classic.group import (
    EMPTY_ASSIGNMENT,
    NEVER,
    NONE,
    AwaitedElection,
    JoinRequest,
    RequestKind,
    SyncRequest,
)
from rebalance_sim.kafka.coordinator.classic.log import load, unload
from rebalance_sim.kafka.coordinator.classic.rebalance import end_write
from rebalance_sim.kafka.coordinator.classic.requests import (
    commit_offsets,
    finish_leave,
    heartbeat,
    join_group,
    leave_group,
    sync_group,
)
from rebalance_sim.kafka.coordinator.classic.timers import expire_next, next_deadline
from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.runtime.kernel import inner_kernel, kernel_in_place
from rebalance_sim.kafka.simulation.classic_consumer import (
    answer_lookup,
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
from rebalance_sim.kafka.simulation.event_queue import Event, pop
from rebalance_sim.kafka.simulation.member_ids import coordinator_id_hash
from rebalance_sim.kafka.simulation.messages import (
    count_ignored_answer,
    draw,
    schedule,
    send_answer,
    send_back,
    set_timer,
)
from rebalance_sim.kafka.simulation.model import (
    ConsumerStep,
    EventKind,
    Presence,
    ScenarioEvent,
    ScenarioKind,
    Simulation,
    Subject,
)
from rebalance_sim.kafka.simulation.ownership import drop_lost_consumers, end_simulation, grow, update_subscribed_topics
from rebalance_sim.kafka.simulation.pods import make_available
from rebalance_sim.kafka.simulation.scenario_clock import due_event, end_wait
from rebalance_sim.kafka.simulation.timeline import add_timeline_row, record_rebalances
from rebalance_sim.releases import CoordinatorRules

REBALANCE_ROWS_PER_EVENT = 2
"""Most rebalance rows that one event writes."""
_TIMELINE_ROWS_PER_MEMBER = 4
"""Most timeline rows that one event writes per member and consumer."""


class Pause(IntEnum):
    """Why a group pauses."""

    RUNNING = -1
    """It does not."""
    ENDED = 0
    ELECTION = 1
    ROOM_FOR_MEMBERS = 2
    ROOM_FOR_EVENTS = 3
    ROOM_FOR_ROWS = 4
    STEPPED = 5
    """It has handled the requested number of events."""
    REVOCATION = 6
    """A consumer revokes what it no longer subscribes to, and needs an assignment row for what it keeps."""
    TARGET = 7
    """A server-side assignor has to compute a target assignment (KIP-848)."""


@inner_kernel
def advance(simulation: Simulation, events: int) -> int:
    """Handle events, at most as many as given, until the group pauses; return why."""
    for _ in range(events):
        pause = pending_pause(simulation)
        if pause != Pause.RUNNING:
            return pause
        deadline_ms = next_deadline(simulation.coordinator) if simulation.progress.up else NEVER
        next_ms = next_event_ms(simulation)
        if end_if_over(simulation, min(next_ms, deadline_ms)):
            return Pause.ENDED
        if deadline_ms <= next_ms:
            simulation.queue.now = max(simulation.queue.now, deadline_ms)
            expire_next(simulation.coordinator, simulation.queue.now)
        else:
            _dispatch(simulation, pop(simulation.queue, simulation.places, simulation.events))
        after_coordinator(simulation)
        end_wait(simulation)
    return Pause.STEPPED


@kernel_in_place
def pending_pause(simulation: Simulation) -> int:
    """Return why the group must pause before its next event, ``Pause.RUNNING`` if it need not."""
    group, consumers = simulation.coordinator.group, simulation.progress.consumers
    if group.made + 1 >= group.member_places:
        return Pause.ROOM_FOR_MEMBERS
    # One event may answer all members, or schedule something for all consumers; and the group may have as many pending
    # writes as it can hold.
    if (
        simulation.queue.length + max(group.member_count, consumers) + 8 >= simulation.queue.places
        or group.writes - group.writes_ended >= group.write_places - 1
    ):
        return Pause.ROOM_FOR_EVENTS
    written = simulation.written
    if (
        written.rebalances + REBALANCE_ROWS_PER_EVENT > written.rebalances_capacity
        or written.timeline + timeline_rows_per_event(group.member_count + consumers) > written.timeline_capacity
    ):
        return Pause.ROOM_FOR_ROWS
    if group.election != AwaitedElection.NOT_DUE:
        return Pause.ELECTION
    return Pause.RUNNING if simulation.progress.revoking == NONE else Pause.REVOCATION


@kernel_in_place
def timeline_rows_per_event(members_and_consumers: int) -> int:
    """Return how many timeline rows one event may write."""
    return _TIMELINE_ROWS_PER_MEMBER * (members_and_consumers + 2)


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
        end_ms = progress.last_event_ms + settings.longest_ms + settings.ready_ms
        waits = progress.next_event < progress.events or progress.metadata_due or not progress.up
        if not waits and (progress.stable or simulation.coordinator.group.member_count == 0):
            end_ms = min(end_ms, max(progress.last_event_ms, progress.changed_ms) + progress.quiet_ms)
    if next_ms <= end_ms:
        return False
    simulation.queue.now = max(simulation.queue.now, end_ms)
    end_simulation(simulation)
    return True


@kernel_in_place
def after_coordinator(simulation: Simulation) -> None:
    """Process what the coordinator has done: send its responses, schedule its writes, record its rebalances."""
    coordinator, progress = simulation.coordinator, simulation.progress
    for k in range(coordinator.answered[0].value):
        answer = coordinator.answers[k]
        if answer.kind == RequestKind.HEARTBEAT and answer.error == Errors.NONE:
            count_ignored_answer(simulation)
            continue
        sent = send_answer(simulation, answer, simulation.queue.now)
        if answer.kind == RequestKind.SYNC and answer.assignment != EMPTY_ASSIGNMENT:
            sent.assignment = row_of(simulation, answer.assignment, answer.assigned_as)
        elif answer.lists_members:
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

    ``Member.place`` refers to the last election. A coordinator that has loaded the group may hold an earlier one.
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
def _dispatch(simulation: Simulation, event: Event) -> None:
    kind, i = event.kind, event.consumer
    if kind == EventKind.SCENARIO:
        _play(simulation, due_event(simulation, event.generation))
    elif kind == EventKind.WRITE_ENDS:
        if event.incarnation == simulation.progress.loads:
            end_write(simulation.coordinator, simulation.progress.store_error, simulation.queue.now)
    elif kind == EventKind.LOADED:
        if event.incarnation == simulation.progress.loads:
            simulation.progress.up = True
            load(simulation.coordinator, simulation.queue.now)
    elif kind == EventKind.METADATA_REFRESH:
        refresh_metadata(simulation, event)
    elif kind == EventKind.LOOKUP:
        answer_lookup(simulation, i, event)
    elif EventKind.REQUEST <= kind < EventKind.LOOKUP:
        _handle_request(simulation, event)
    elif event.incarnation == simulation.consumers[i].incarnation:
        dispatch_to_consumer(simulation, i, event)


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
    elif kind == EventKind.START:
        start(simulation, i)
    elif kind == EventKind.AVAILABLE:
        make_available(simulation, i)


@inner_kernel
def _handle_request(simulation: Simulation, event: Event) -> None:
    """Let the coordinator handle a request that has arrived."""
    coordinator, now = simulation.coordinator, simulation.queue.now
    i, kind = event.consumer, event.kind - EventKind.REQUEST
    instance, request = simulation.consumers[i].instance, request_of(simulation, event)
    member, generation = event.member, event.generation
    if not simulation.progress.up:
        send_back(simulation, i, event.incarnation, kind, Errors.NOT_COORDINATOR, now).generation = generation
    elif kind == RequestKind.JOIN:
        join_group(coordinator, join_request(simulation, event), now)
    elif kind == RequestKind.SYNC:
        # Clients of 2.5 and later send protocol type and name as well (KIP-559); those of a simulation always match.
        sync = SyncRequest(request, member, instance, generation, NONE, NONE, event.assignment)
        sync_group(coordinator, sync, now)
    elif kind == RequestKind.HEARTBEAT:
        heartbeat(coordinator, request, member, instance, generation, now)
        coordinator.answers[coordinator.answered[0].value - 1].generation = generation
    elif kind == RequestKind.LEAVE:
        if leave_group(coordinator, request, member, instance, now) == Errors.NONE:
            finish_leave(coordinator, member, now)
    else:
        error = commit_offsets(coordinator, member, instance, generation, now)
        send_back(simulation, i, event.incarnation, kind, error, now)


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
def _play(simulation: Simulation, k: int) -> None:
    """Play an event of the scenario; NONE: there is none."""
    if k == NONE:
        return
    event = simulation.scenario[k]
    add_timeline_row(simulation, Subject.EVENT, event.consumer, NONE, event.kind, 0, event.value)
    if event.kind == ScenarioKind.GROW:
        update_subscribed_topics(simulation)
        grow(simulation, event.first, event.before, event.value)
        for i in range(simulation.progress.consumers):
            schedule_metadata_refresh(simulation, i)
    elif event.kind == ScenarioKind.MOVE_COORDINATOR:
        # The callbacks of writes in flight never run: progress.loads makes their events void.
        simulation.coordinator.group.writes_ended = simulation.coordinator.group.writes
        unload(simulation.coordinator)
        move_coordinator(simulation, event.value)
    elif event.kind == ScenarioKind.FAIL_STORE:
        simulation.progress.store_error = event.value
    else:
        apply_to_consumer(simulation, event)


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
