"""A group on a simulated clock that follows KIP-848, comes to it, or goes back; see ``classic_simulation``.

Each consumer follows the protocol that it was started with. The coordinator makes the group one of KIP-848 when the
first consumer of that kind joins it, and a classic one again when the last has gone (``kafka.coordinator.migration``).
"""

from rebalance_sim.kafka.coordinator.classic_group import EMPTY_ASSIGNMENT, NEVER, NONE, Election, Kind
from rebalance_sim.kafka.coordinator.consumer_group import CONSUMER_HEARTBEAT, NOTHING, Heartbeat, knows_member
from rebalance_sim.kafka.coordinator.consumer_heartbeat import see_topic
from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.coordinator.migration import may_upgrade, tell_classic_member
from rebalance_sim.kafka.coordinator.mixed_requests import (
    CURRENT,
    Offer,
    commit_error_of_any,
    consumer_heartbeat_of_any,
    expire_next_mixed,
    finish_leave_any_group,
    heartbeat_any_group,
    join_any_group,
    leave_any_group,
    load_mixed,
    next_mixed_deadline,
    sync_any_group,
    unload_mixed,
)
from rebalance_sim.kafka.coordinator.rebalance import end_write
from rebalance_sim.kafka.kernel import inner_kernel
from rebalance_sim.kafka.simulation import classic_consumer
from rebalance_sim.kafka.simulation.async_consumer import (
    beat,
    close,
    committed,
    expire_poll,
    found,
    heard,
    start,
    wake,
)
from rebalance_sim.kafka.simulation.classic_consumer import find_coordinator
from rebalance_sim.kafka.simulation.classic_simulation import (
    Pause,
    after_coordinator,
    asker,
    begin_event,
    expect_metadata,
    happen_to_consumer,
    is_over,
    join_request,
    move_coordinator,
    play_on_consumer,
    refresh_metadata,
    room,
    row_of,
    subscribe,
)
from rebalance_sim.kafka.simulation.consumer_group_model import (
    ConsumerGroupSimulation,
    is_modern,
    mixed_group,
    write_row,
)
from rebalance_sim.kafka.simulation.event_queue import Event, pop
from rebalance_sim.kafka.simulation.messages import (
    metadata_owned,
    metadata_subscription,
    schedule,
    send_back,
    travel_ms,
)
from rebalance_sim.kafka.simulation.model import (
    LISTED_ROOM,
    ROWS,
    ROWS_ROOM,
    Happening,
    Presence,
    ScenarioEvent,
    ScenarioKind,
    Simulation,
    Step,
    Subject,
)
from rebalance_sim.kafka.simulation.ownership import end_course, grow, note_wanted, set_presence
from rebalance_sim.kafka.simulation.timeline import follow_rebalances, tell

ROWS_AN_EVENT_LISTS = 4
"""Rows of assignments that an event makes at most, beside one for each member where a group becomes a classic one."""


@inner_kernel
def advance_consumer_group(c: ConsumerGroupSimulation, events: int) -> int:
    """Go on to the next pause, by so many events at most."""
    s = c.base
    for _ in range(events):
        if c.modern.group.target_due:
            return Pause.TARGET
        pause = _room_for_rows(c)
        if pause != Pause.ENDED:
            return pause
        if s.coordinator.group.election != Election.NOT_DUE:
            return Pause.ELECTION
        if s.course.revoking != NONE:
            return Pause.REVOCATION
        next_ms = s.places[0].at_ms if s.queue.length > 0 else NEVER
        deadline_ms = next_mixed_deadline(mixed_group(c)) if s.course.up else NEVER
        if is_over(s, min(next_ms, deadline_ms)):
            end_course(s)
            return Pause.ENDED
        if deadline_ms <= next_ms:
            s.queue.now = max(s.queue.now, deadline_ms)
            expire_next_mixed(mixed_group(c), s.course.store_error, s.queue.now)
        else:
            _happen(c, pop(s.queue, s.places, s.events))
        after_event(c)
    return Pause.STEPPED


@inner_kernel
def _room_for_rows(c: ConsumerGroupSimulation) -> int:
    s = c.base
    end = s.first_listed[c.rows[ROWS]]
    lists = ROWS_AN_EVENT_LISTS + s.coordinator.group.members
    listed = (ROWS_AN_EVENT_LISTS + 1) * s.course.partitions
    if c.rows[ROWS] + lists > c.rows[ROWS_ROOM] or end + listed > c.rows[LISTED_ROOM]:
        return Pause.ROOM_FOR_ROWS
    return room(s)


@inner_kernel
def after_event(c: ConsumerGroupSimulation) -> None:
    """Look at what has changed, and send what the coordinator answers."""
    s, group = c.base, c.modern.group
    if group.wrote:
        group.wrote = False
        group.stored_ms = s.queue.now + s.settings.store_ms
    if is_modern(c):
        _forget_lost(c)
        show_group(c)
        _answer_classic_members(c)
        _answer_heartbeats(c)
    else:
        _answer_heartbeats(c)
        _after_classic_event(c)


@inner_kernel
def _answer_heartbeats(c: ConsumerGroupSimulation) -> None:
    """Send what ConsumerGroupHeartbeats are answered, when all is written."""
    s = c.base
    for k in range(c.modern.answered[0].value):
        answer = c.modern.answers[k]
        i, turn = asker(answer.request, s.course.consumers)
        sent = schedule(s, Happening.ANSWER + CONSUMER_HEARTBEAT, i, turn, _answer_ms(c))
        sent.error = answer.error
        sent.member = answer.member
        sent.generation = answer.epoch
        sent.assignment = write_row(c, answer.member) if answer.has_assignment else NONE
        s.course.messages += 1
        if answer.has_assignment or answer.error != Errors.NONE:
            tell(s, Subject.ANSWER, i, answer.member, CONSUMER_HEARTBEAT, answer.error, 0)
    c.modern.answered[0].value = 0


@inner_kernel
def _answer_ms(c: ConsumerGroupSimulation) -> int:
    """Return when an answer arrives that is sent as soon as all is written."""
    return max(c.base.queue.now, c.modern.group.stored_ms) + travel_ms(c.base)


@inner_kernel
def _answer_classic_members(c: ConsumerGroupSimulation) -> None:
    """Send members of the classic protocol what a group of KIP-848 answers."""
    s = c.base
    for k in range(s.coordinator.answered[0].value):
        answer = s.coordinator.answers[k]
        i, turn = asker(answer.request, s.course.consumers)
        sent = schedule(s, Happening.ANSWER + answer.kind, i, turn, _answer_ms(c))
        sent.error = answer.error
        sent.member = answer.member
        sent.generation = answer.generation
        sent.lists_members = sent.skips_assignment = False
        sent.assignment = EMPTY_ASSIGNMENT
        if answer.kind == Kind.SYNC and answer.assignment == CURRENT:
            sent.assignment = write_row(c, answer.member)
        s.course.messages += 1
        if answer.kind != Kind.HEARTBEAT or answer.error != Errors.NONE:
            tell(s, Subject.ANSWER, i, NONE, answer.kind, answer.error, 0)
    s.coordinator.answered[0].value = 0


@inner_kernel
def _forget_lost(c: ConsumerGroupSimulation) -> None:
    """Do as ``ownership.forget_lost`` does."""
    s = c.base
    if s.course.lost == 0:
        return
    for i in range(s.course.consumers):
        if s.consumers[i].presence == Presence.LOST and not knows_member(c.modern, s.consumers[i].member):
            set_presence(s, i, Presence.AWAY)


@inner_kernel
def show_group(c: ConsumerGroupSimulation) -> None:
    """Let the group be seen as groups of the classic protocol are."""
    s, group, shown = c.base, c.modern.group, c.base.coordinator.group
    s.course.modern = True
    shown.state = group.state
    shown.generation = group.epoch
    shown.members = group.members
    shown.evicted = group.evicted
    shown.reason, shown.reason_member = group.reason, group.reason_member
    begins = group.rebalances > shown.rebalances
    shown.rebalances = group.rebalances
    follow_rebalances(s)
    if begins and s.course.rebalance != NONE:
        s.rebalances[s.course.rebalance].generation = group.epoch


@inner_kernel
def _after_classic_event(c: ConsumerGroupSimulation) -> None:
    s = c.base
    s.course.modern = False
    c.modern.group.rebalances = s.coordinator.group.rebalances
    c.modern.group.evicted = s.coordinator.group.evicted
    after_coordinator(s)


@inner_kernel
def _happen(c: ConsumerGroupSimulation, event: Event) -> None:
    s = c.base
    kind, i = event.kind, event.consumer
    if kind == Happening.SCENARIO:
        _play(c)
    elif kind == Happening.WRITE_ENDS:
        if event.turn == s.course.loads and not is_modern(c):
            end_write(s.coordinator, s.course.store_error, s.queue.now)
    elif kind == Happening.LOADED:
        if event.turn == s.course.loads:
            s.course.up = True
            load_mixed(mixed_group(c), s.queue.now)
    elif kind == Happening.METADATA:
        refresh_metadata(s, event)
    elif kind == Happening.LOOKUP:
        find_coordinator(s, i, event)
    elif Happening.REQUEST <= kind < Happening.LOOKUP:
        _ask(c, event)
    elif event.turn == s.consumers[i].turn:
        if kind == Happening.START:
            _start(c, i)
        elif s.consumers[i].assignor == NONE:
            happen_to_consumer(s, i, event)
        else:
            _happen_to_modern_consumer(c, i, event)


@inner_kernel
def _start(c: ConsumerGroupSimulation, i: int) -> None:
    """Start a process of whichever protocol it now is."""
    if c.base.consumers[i].next_assignor == NONE:
        classic_consumer.start(c.base, i)
    else:
        start(c, i)


@inner_kernel
def _happen_to_modern_consumer(c: ConsumerGroupSimulation, i: int, event: Event) -> None:
    kind = event.kind
    if kind == Happening.ANSWER + CONSUMER_HEARTBEAT:
        heard(c, i, event)
    elif kind == Happening.ANSWER + Kind.COMMIT:
        committed(c, i)
    elif kind == Happening.FOUND:
        found(c, i, event)
    elif kind == Happening.WAKE:
        wake(c, i, event)
    elif kind == Happening.BEAT:
        beat(c, i, event)
    elif kind == Happening.POLL_EXPIRED:
        expire_poll(c, i, event)


@inner_kernel
def _ask(c: ConsumerGroupSimulation, event: Event) -> None:
    """Let the coordinator have a request that has arrived."""
    s = c.base
    i, kind = event.consumer, event.kind - Happening.REQUEST
    if not s.course.up:
        sent = send_back(s, i, event.turn, kind, Errors.NOT_COORDINATOR)
        sent.generation = event.generation
    elif kind == CONSUMER_HEARTBEAT:
        _ask_by_heartbeat(c, event)
    elif kind == Kind.COMMIT:
        by_epoch = s.consumers[i].assignor != NONE
        error = commit_error_of_any(
            mixed_group(c), event.member, s.consumers[i].instance, event.generation, NONE, by_epoch, s.queue.now
        )
        send_back(s, i, event.turn, kind, error)
    else:
        _ask_as_classic_member(c, event)


@inner_kernel
def _ask_by_heartbeat(c: ConsumerGroupSimulation, event: Event) -> None:
    s = c.base
    i = event.consumer
    consumer = s.consumers[i]
    request = Heartbeat(
        event.turn * s.course.consumers + i,
        event.member,
        event.generation,
        consumer.instance,
        i,
        c.modern.members[event.member].hash,
        consumer.rebalance_timeout_ms if event.lists_members else NONE,
        event.protocol,
        consumer.assignor if event.lists_members else NONE,
        event.assignment,
    )
    group = mixed_group(c)
    if may_upgrade(group, request):
        for number in range(s.coordinator.group.made):
            if s.coordinator.members[number].known:
                _tell_classic_member(c, number)
    consumer_heartbeat_of_any(group, request, s.course.store_error, s.queue.now)


@inner_kernel
def _tell_classic_member(c: ConsumerGroupSimulation, number: int) -> None:
    """Tell the coordinator what stands in a member's metadata, and in its assignment."""
    s = c.base
    member = s.coordinator.members[number]
    subscription = metadata_subscription(member.metadata)
    if member.metadata == NONE:
        subscription = s.consumers[member.client].joined_subscription
    given = NOTHING
    if member.assignment != EMPTY_ASSIGNMENT:
        row = row_of(s, member.assignment, member.assigned_as)
        given = NOTHING if row == EMPTY_ASSIGNMENT else row
    tell_classic_member(mixed_group(c), number, subscription, NONE, given)


@inner_kernel
def _ask_as_classic_member(c: ConsumerGroupSimulation, event: Event) -> None:
    s, now, store_error = c.base, c.base.queue.now, c.base.course.store_error
    i, kind = event.consumer, event.kind - Happening.REQUEST
    group, consumer = mixed_group(c), s.consumers[i]
    request, member, generation = event.turn * s.course.consumers + i, event.member, event.generation
    if kind == Kind.JOIN:
        owned = metadata_owned(event.assignment)
        # An eager consumer has given up everything; what it had it only tells the sticky assignor.
        offer = Offer(
            metadata_subscription(event.assignment), NOTHING if consumer.eager or owned == NONE else owned, NONE
        )
        join_any_group(group, join_request(s, event), offer, store_error, now)
    elif kind == Kind.SYNC:
        sync_any_group(group, request, member, consumer.instance, generation, NONE, NONE, event.assignment, now)
    elif kind == Kind.HEARTBEAT:
        heartbeat_any_group(group, request, member, consumer.instance, generation, now)
        s.coordinator.answers[s.coordinator.answered[0].value - 1].generation = generation
    elif leave_any_group(group, request, member, consumer.instance, now) == Errors.NONE:
        finish_leave_any_group(group, member, store_error, now)


# ---- The scenario


@inner_kernel
def _play(c: ConsumerGroupSimulation) -> None:
    """Let the next event of the scenario happen, and expect the one after it."""
    s = c.base
    event = begin_event(s)
    if event.kind == ScenarioKind.GROW:
        _grow(c, event)
    elif event.kind == ScenarioKind.MOVE_COORDINATOR:
        s.coordinator.group.writes_ended = s.coordinator.group.writes
        unload_mixed(mixed_group(c))
        move_coordinator(s, event.value)
    elif event.kind == ScenarioKind.FAIL_STORE:
        s.course.store_error = event.value
    elif _is_for_modern_consumer(s, event):
        _play_on_modern_consumer(c, event)
    else:
        play_on_consumer(s, event)
    if event.kind == ScenarioKind.CRASH and knows_member(c.modern, s.consumers[event.consumer].member):
        set_presence(s, event.consumer, Presence.LOST)


@inner_kernel
def _is_for_modern_consumer(s: Simulation, event: ScenarioEvent) -> bool:
    """Tell whether an event happens to a process that follows KIP-848, or starts one."""
    consumer = s.consumers[event.consumer]
    if event.kind == ScenarioKind.JOIN:
        return consumer.next_assignor != NONE
    return event.kind != ScenarioKind.PROTOCOLS and consumer.assignor != NONE


@inner_kernel
def _grow(c: ConsumerGroupSimulation, event: ScenarioEvent) -> None:
    """Let a topic grow: the coordinator sees it at once, consumers of the classic protocol with their metadata."""
    s = c.base
    note_wanted(s)
    grow(s, event.first, event.before, event.value)
    for t in range(c.modern.group.topics):
        if c.modern.topics[t].first == event.first and c.modern.topics[t].places >= event.value:
            see_topic(c.modern, t, True, event.value)
    for i in range(s.course.consumers):
        if s.consumers[i].assignor == NONE:
            expect_metadata(s, i)


@inner_kernel
def _play_on_modern_consumer(c: ConsumerGroupSimulation, event: ScenarioEvent) -> None:
    s = c.base
    i, kind = event.consumer, event.kind
    runs = s.consumers[i].step != Step.STOPPED
    if kind == ScenarioKind.JOIN:
        start(c, i)
    elif kind == ScenarioKind.SUBSCRIBE:
        # The next heartbeat tells it.
        subscribe(s, i, event.value)
    elif runs and kind == ScenarioKind.LEAVE:
        close(c, i, NONE)
    elif runs and kind == ScenarioKind.RESTART:
        close(c, i, event.value)
    else:
        play_on_consumer(s, event)
