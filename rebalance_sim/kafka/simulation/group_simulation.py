"""A group on a simulated clock: a classic one, one that uses the consumer protocol (KIP-848), or one that migrates.

``advance`` handles one event after the other until the group needs what only the batch can provide (``pauses``). All
random numbers are drawn from the group's own, so that neither the other groups nor the size of the batch change the
result.

Each consumer uses the protocol it was started with. The coordinator converts the group to a consumer-protocol group
when the first consumer of that kind joins it, and back to a classic group when the last one has left
(``kafka.coordinator.group_conversion``).
"""

from rebalance_sim.kafka.coordinator.classic.classic_group import (
    EMPTY_ASSIGNMENT,
    NEVER,
    NONE,
    AwaitedElection,
    RequestKind,
    State,
    SyncRequest,
)
from rebalance_sim.kafka.coordinator.classic.rebalance import begin_generation, end_write
from rebalance_sim.kafka.coordinator.classic.requests import finish_replacement
from rebalance_sim.kafka.coordinator.consumer.consumer_group import NOTHING, Heartbeat, knows_member
from rebalance_sim.kafka.coordinator.consumer.heartbeat import describe_target, see_topic
from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.coordinator.group_conversion import describe_classic_member, finish_downgrade, may_upgrade
from rebalance_sim.kafka.coordinator.mixed_requests import (
    CURRENT,
    Offer,
    commit_offsets_any_group,
    expire_next_mixed,
    finish_leave_any_group,
    finish_target_any_group,
    heartbeat_any_group,
    heartbeat_by_epoch,
    join_any_group,
    leave_any_group,
    load_mixed,
    next_mixed_deadline,
    sync_any_group,
    unload_mixed,
)
from rebalance_sim.kafka.runtime.kernel import inner_kernel
from rebalance_sim.kafka.simulation import classic_consumer
from rebalance_sim.kafka.simulation.async_consumer import (
    close,
    expire_poll_interval,
    receive_commit_response,
    receive_heartbeat_response,
    receive_lookup_response,
    send_due_heartbeat,
    start,
    wake,
)
from rebalance_sim.kafka.simulation.classic_consumer import answer_lookup
from rebalance_sim.kafka.simulation.classic_simulation import (
    after_coordinator,
    apply_to_consumer,
    dispatch_to_consumer,
    end_if_over,
    join_request,
    move_coordinator,
    next_event_ms,
    refresh_metadata,
    request_of,
    row_of,
    schedule_metadata_refresh,
    subscribe,
)
from rebalance_sim.kafka.simulation.consumer_group_model import (
    ConsumerGroupSimulation,
    add_assigned_row,
    add_target_rows,
    is_modern,
    mixed_group,
)
from rebalance_sim.kafka.simulation.event_queue import Event, fill_up, pop
from rebalance_sim.kafka.simulation.messages import (
    metadata_owned,
    metadata_subscription,
    schedule,
    send_answer,
    send_back,
    sender,
    travel_ms,
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
from rebalance_sim.kafka.simulation.ownership import end_simulation, grow, set_presence, update_subscribed_topics
from rebalance_sim.kafka.simulation.pauses import Pause, missing_decision, missing_room
from rebalance_sim.kafka.simulation.pods import make_available
from rebalance_sim.kafka.simulation.scenario_clock import due_event, end_wait
from rebalance_sim.kafka.simulation.timeline import add_timeline_row, record_generation, record_rebalances


@inner_kernel
def advance(simulation: ConsumerGroupSimulation, events: int) -> int:
    """Handle events and decisions, at most as many as given, until the group pauses; return why."""
    base = simulation.base
    for _ in range(events):
        pause: int = missing_room(simulation)
        if pause == Pause.RUNNING:
            if base.progress.decided:
                if base.progress.assignor_failed:
                    end_simulation(base)
                    return Pause.ENDED
                base.progress.decided = False
                _go_on(simulation)
                continue
            pause = missing_decision(simulation)
        if pause == Pause.TARGET:
            describe_target(simulation.modern)
        if pause != Pause.RUNNING:
            return pause
        deadline_ms = next_mixed_deadline(mixed_group(simulation)) if base.progress.up else NEVER
        fill_up(base.queue, base.places)
        next_ms = next_event_ms(base)
        if end_if_over(base, min(next_ms, deadline_ms)):
            return Pause.ENDED
        if deadline_ms <= next_ms:
            base.queue.now = max(base.queue.now, deadline_ms)
            expire_next_mixed(mixed_group(simulation), base.progress.store_error, base.queue.now)
        else:
            _dispatch(simulation, pop(base.queue, base.places, base.events))
        after_event(simulation)
        end_wait(base)
    return Pause.STEPPED


@inner_kernel
def _go_on(simulation: ConsumerGroupSimulation) -> None:
    """Take over what the batch has decided."""
    base, now = simulation.base, simulation.base.queue.now
    progress, group = base.progress, base.coordinator.group
    if simulation.modern.group.target_due:
        group.protocol = progress.decided_protocol
        record_generation(base)
        finish_target_any_group(mixed_group(simulation), now)
    elif group.election == AwaitedElection.OF_DOWNGRADE:
        first_row = add_target_rows(simulation)
        finish_downgrade(mixed_group(simulation), progress.decided_protocol, first_row, now)
    elif group.election == AwaitedElection.OF_REPLACEMENT:
        finish_replacement(base.coordinator, progress.decided_protocol, now)
    elif group.election == AwaitedElection.OF_GENERATION:
        progress.assignments = progress.decided_row
        begin_generation(base.coordinator, progress.decided_protocol, now)
        if group.state == State.COMPLETING_REBALANCE:
            record_generation(base)
    else:
        i = progress.revoking
        progress.revoking = NONE
        classic_consumer.finish_revocation(base, i, progress.decided_row)
    after_event(simulation)


@inner_kernel
def after_event(simulation: ConsumerGroupSimulation) -> None:
    """Process what the coordinator has done: send its responses, and record its rebalances."""
    if simulation.base.progress.uses_consumer_protocol and _process_modern(simulation):
        return
    after_coordinator(simulation.base)


@inner_kernel
def _process_modern(simulation: ConsumerGroupSimulation) -> bool:
    """Process what the coordinator has done for the consumer protocol; return whether that is all."""
    base, group = simulation.base, simulation.modern.group
    if group.wrote:
        group.wrote = False
        group.stored_ms = base.queue.now + base.settings.store_ms
    modern = is_modern(simulation)
    if modern:
        _drop_lost_consumers(simulation)
        mirror_group(simulation)
        _answer_classic_members(simulation)
    _answer_consumer_heartbeats(simulation)
    if not modern:
        base.progress.modern = False
        group.rebalances = base.coordinator.group.rebalances
        group.evicted = base.coordinator.group.evicted
    return modern


@inner_kernel
def _answer_consumer_heartbeats(simulation: ConsumerGroupSimulation) -> None:
    """Send the responses to ConsumerGroupHeartbeat."""
    base = simulation.base
    kind: int = RequestKind.CONSUMER_GROUP_HEARTBEAT
    for k in range(simulation.modern.answered[0].value):
        answer = simulation.modern.answers[k]
        i, incarnation = sender(answer.request, base.progress.consumers)
        sent = schedule(base, EventKind.ANSWER + kind, i, incarnation, _ready_ms(simulation) + travel_ms(base))
        sent.error = answer.error
        sent.member = answer.member
        sent.generation = answer.epoch
        sent.assignment = add_assigned_row(simulation, answer.member) if answer.has_assignment else NONE
        base.progress.messages += 1
        if answer.has_assignment or answer.error != Errors.NONE:
            add_timeline_row(base, Subject.ANSWER, i, answer.member, kind, answer.error, 0)
    simulation.modern.answered[0].value = 0


@inner_kernel
def _ready_ms(simulation: ConsumerGroupSimulation) -> int:
    """Return when a response is sent: ``CoordinatorRuntime`` does that once its records are committed."""
    return max(simulation.base.queue.now, simulation.modern.group.stored_ms)


@inner_kernel
def _answer_classic_members(simulation: ConsumerGroupSimulation) -> None:
    """Send the responses of a consumer-protocol group to its members of the classic protocol."""
    base = simulation.base
    for k in range(base.coordinator.answered[0].value):
        answer = base.coordinator.answers[k]
        sent = send_answer(base, answer, _ready_ms(simulation))
        if answer.kind == RequestKind.SYNC and answer.assignment == CURRENT:
            sent.assignment = add_assigned_row(simulation, answer.member)
    base.coordinator.answered[0].value = 0


@inner_kernel
def _drop_lost_consumers(simulation: ConsumerGroupSimulation) -> None:
    """Do as ``ownership.drop_lost_consumers`` does."""
    base = simulation.base
    if base.progress.lost == 0:
        return
    for i in range(base.progress.consumers):
        consumer = base.consumers[i]
        if consumer.presence == Presence.LOST and not knows_member(simulation.modern, consumer.member):
            set_presence(base, i, Presence.AWAY)


@inner_kernel
def mirror_group(simulation: ConsumerGroupSimulation) -> None:
    """Copy state, epoch and figures to ``base.coordinator``, where the timeline reads them."""
    base, group, mirror = simulation.base, simulation.modern.group, simulation.base.coordinator.group
    base.progress.modern = True
    mirror.state = group.state
    mirror.generation = group.epoch
    mirror.member_count = group.member_count
    mirror.evicted = group.evicted
    mirror.reason, mirror.reason_member = group.reason, group.reason_member
    begins = group.rebalances > mirror.rebalances
    mirror.rebalances = group.rebalances
    record_rebalances(base)
    if begins and base.progress.rebalance != NONE:
        # The epoch has been bumped already; a classic group's generation is bumped when all members have joined.
        base.rebalances[base.progress.rebalance].generation = group.epoch


@inner_kernel
def _dispatch(simulation: ConsumerGroupSimulation, event: Event) -> None:
    base = simulation.base
    kind, i = event.kind, event.consumer
    if kind == EventKind.SCENARIO:
        _play(simulation, due_event(base, event.generation))
    elif kind == EventKind.WRITE_ENDS:
        if event.incarnation == base.progress.loads and not is_modern(simulation):
            end_write(base.coordinator, base.progress.store_error, base.queue.now)
    elif kind == EventKind.LOADED:
        if event.incarnation == base.progress.loads:
            base.progress.up = True
            load_mixed(mixed_group(simulation), base.queue.now)
    elif kind == EventKind.METADATA_REFRESH:
        refresh_metadata(base, event)
    elif kind == EventKind.LOOKUP:
        answer_lookup(base, i, event)
    elif EventKind.REQUEST <= kind < EventKind.LOOKUP:
        _handle_request(simulation, event)
    elif event.incarnation == base.consumers[i].incarnation:
        if kind == EventKind.START:
            _start(simulation, i)
        elif kind == EventKind.AVAILABLE:
            make_available(base, i)
        elif base.consumers[i].assignor == NONE:
            dispatch_to_consumer(base, i, event)
        else:
            _dispatch_to_async_consumer(simulation, i, event)


@inner_kernel
def _start(simulation: ConsumerGroupSimulation, i: int) -> None:
    """Start a process with the protocol configured last (``group.protocol``)."""
    if simulation.base.consumers[i].next_assignor == NONE:
        classic_consumer.start(simulation.base, i)
    else:
        start(simulation, i)


@inner_kernel
def _dispatch_to_async_consumer(simulation: ConsumerGroupSimulation, i: int, event: Event) -> None:
    kind = event.kind
    if kind == EventKind.ANSWER + RequestKind.CONSUMER_GROUP_HEARTBEAT:
        receive_heartbeat_response(simulation, i, event)
    elif kind == EventKind.ANSWER + RequestKind.COMMIT:
        receive_commit_response(simulation, i)
    elif kind == EventKind.COORDINATOR_FOUND:
        receive_lookup_response(simulation, i, event)
    elif kind == EventKind.WAKE:
        wake(simulation, i, event)
    elif kind == EventKind.HEARTBEAT_DUE:
        send_due_heartbeat(simulation, i, event)
    elif kind == EventKind.POLL_EXPIRED:
        expire_poll_interval(simulation, i, event)


@inner_kernel
def _handle_request(simulation: ConsumerGroupSimulation, event: Event) -> None:
    """Let the coordinator handle a request that has arrived."""
    base = simulation.base
    i, kind = event.consumer, event.kind - EventKind.REQUEST
    consumer = base.consumers[i]
    if not base.progress.up:
        sent = send_back(base, i, event.incarnation, kind, Errors.NOT_COORDINATOR, base.queue.now)
        sent.generation = event.generation
    elif kind == RequestKind.CONSUMER_GROUP_HEARTBEAT:
        _handle_consumer_heartbeat(simulation, event)
    elif kind == RequestKind.COMMIT:
        by_epoch = consumer.assignor != NONE
        error = commit_offsets_any_group(
            mixed_group(simulation), event.member, consumer.instance, event.generation, NONE, by_epoch, base.queue.now
        )
        send_back(base, i, event.incarnation, kind, error, base.queue.now)
    else:
        _handle_classic_request(simulation, event)


@inner_kernel
def _handle_consumer_heartbeat(simulation: ConsumerGroupSimulation, event: Event) -> None:
    base = simulation.base
    i = event.consumer
    consumer = base.consumers[i]
    request = Heartbeat(
        request_of(base, event),
        event.member,
        event.generation,
        consumer.instance,
        i,
        simulation.modern.members[event.member].hash,
        consumer.rebalance_timeout_ms if event.lists_members else NONE,
        event.protocol,
        consumer.assignor if event.lists_members else NONE,
        event.assignment,
    )
    mixed = mixed_group(simulation)
    if may_upgrade(mixed, request):
        for number in range(base.coordinator.group.made):
            if base.coordinator.members[number].known:
                _describe_classic_member(simulation, number)
    heartbeat_by_epoch(mixed, request, base.progress.store_error, base.queue.now)


@inner_kernel
def _describe_classic_member(simulation: ConsumerGroupSimulation, number: int) -> None:
    """Pass the coordinator what it reads from a classic member's bytes when it converts the group.

    ``ConsumerGroup.fromClassicGroup`` parses the subscription and the assignment of each member.
    """
    base = simulation.base
    member = base.coordinator.members[number]
    subscription = metadata_subscription(member.metadata)
    if member.metadata == NONE:
        subscription = base.consumers[member.client].joined_subscription
    assigned = NOTHING
    if member.assignment != EMPTY_ASSIGNMENT:
        row = row_of(base, member.assignment, member.assigned_as)
        assigned = NOTHING if row == EMPTY_ASSIGNMENT else row
    describe_classic_member(mixed_group(simulation), number, subscription, NONE, assigned)


@inner_kernel
def _handle_classic_request(simulation: ConsumerGroupSimulation, event: Event) -> None:
    base = simulation.base
    now, store_error = base.queue.now, base.progress.store_error
    i, kind = event.consumer, event.kind - EventKind.REQUEST
    mixed, consumer = mixed_group(simulation), base.consumers[i]
    request, member, generation = request_of(base, event), event.member, event.generation
    if kind == RequestKind.JOIN:
        owned = metadata_owned(event.assignment)
        # An eager consumer owns nothing when it joins; its last assignment is in the assignor's user data only.
        owned = NOTHING if consumer.eager or owned == NONE else owned
        offer = Offer(metadata_subscription(event.assignment), owned, NONE)
        join_any_group(mixed, join_request(base, event), offer, store_error, now)
    elif kind == RequestKind.SYNC:
        sync = SyncRequest(request, member, consumer.instance, generation, NONE, NONE, event.assignment)
        sync_any_group(mixed, sync, now)
    elif kind == RequestKind.HEARTBEAT:
        heartbeat_any_group(mixed, request, member, consumer.instance, generation, now)
        base.coordinator.answers[base.coordinator.answered[0].value - 1].generation = generation
    elif leave_any_group(mixed, request, member, consumer.instance, now) == Errors.NONE:
        finish_leave_any_group(mixed, member, store_error, now)


# ---- The scenario


@inner_kernel
def _play(simulation: ConsumerGroupSimulation, k: int) -> None:
    """Play an event of the scenario; NONE: there is none."""
    if k == NONE:
        return
    base = simulation.base
    event = base.scenario[k]
    add_timeline_row(base, Subject.EVENT, event.consumer, NONE, event.kind, 0, event.value)
    if event.kind == ScenarioKind.GROW:
        _grow(simulation, event)
    elif event.kind == ScenarioKind.MOVE_COORDINATOR:
        base.coordinator.group.writes_ended = base.coordinator.group.writes
        unload_mixed(mixed_group(simulation))
        move_coordinator(base, event.value)
    elif event.kind == ScenarioKind.FAIL_STORE:
        base.progress.store_error = event.value
    elif _is_for_async_consumer(base, event):
        _apply_to_async_consumer(simulation, event)
    else:
        apply_to_consumer(base, event)
    if event.kind == ScenarioKind.CRASH and knows_member(simulation.modern, base.consumers[event.consumer].member):
        set_presence(base, event.consumer, Presence.LOST)


@inner_kernel
def _is_for_async_consumer(base: Simulation, event: ScenarioEvent) -> bool:
    """Return whether an event concerns a process of the consumer protocol, or starts one."""
    consumer = base.consumers[event.consumer]
    if event.kind == ScenarioKind.JOIN:
        return consumer.next_assignor != NONE
    return event.kind != ScenarioKind.PROTOCOLS and consumer.assignor != NONE


@inner_kernel
def _grow(simulation: ConsumerGroupSimulation, event: ScenarioEvent) -> None:
    """Grow a topic: the coordinator sees the new partitions at once, classic consumers with their metadata."""
    base = simulation.base
    update_subscribed_topics(base)
    grow(base, event.first, event.before, event.value)
    for t in range(simulation.modern.group.topics):
        topic = simulation.modern.topics[t]
        if topic.first == event.first and topic.places >= event.value:
            see_topic(simulation.modern, t, True, event.value)
    for i in range(base.progress.consumers):
        if base.consumers[i].assignor == NONE:
            schedule_metadata_refresh(base, i)


@inner_kernel
def _apply_to_async_consumer(simulation: ConsumerGroupSimulation, event: ScenarioEvent) -> None:
    base = simulation.base
    i, kind = event.consumer, event.kind
    runs = base.consumers[i].step != ConsumerStep.STOPPED
    if kind == ScenarioKind.JOIN:
        start(simulation, i)
    elif kind == ScenarioKind.SUBSCRIBE:
        # The next heartbeat reports it.
        subscribe(base, i, event.value)
    elif runs and kind == ScenarioKind.LEAVE:
        close(simulation, i, NONE)
    elif runs and kind == ScenarioKind.RESTART:
        close(simulation, i, event.value)
    else:
        apply_to_consumer(base, event)
