"""A group of the classic protocol on a simulated clock.

``advance`` lets things happen until the group needs what only the whole batch can give: an election with the leader's
assignments, room to write, or the end. Everything is drawn from the group's own random numbers, so that neither the
other groups nor the batch matter.
"""

from enum import IntEnum

from rebalance_sim.kafka.coordinator.classic_group import (
    EMPTY_ASSIGNMENT,
    NEVER,
    NONE,
    Election,
    JoinRequest,
    Kind,
    State,
)
from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.coordinator.log import load, unload
from rebalance_sim.kafka.coordinator.rebalance import end_write
from rebalance_sim.kafka.coordinator.requests import (
    commit_error,
    finish_leave,
    heartbeat,
    join_group,
    leave_group,
    sync_group,
)
from rebalance_sim.kafka.coordinator.timers import expire_next, next_deadline
from rebalance_sim.kafka.kernel import inner_kernel, kernel_in_place, kernel_written_out
from rebalance_sim.kafka.simulation.classic_consumer import (
    beat,
    close,
    committed,
    expire_poll,
    find_coordinator,
    found,
    heard,
    joined,
    request_rejoin,
    stall,
    start,
    start_after,
    stay_away,
    stop,
    synced,
    wake,
)
from rebalance_sim.kafka.simulation.event_queue import Event, pop
from rebalance_sim.kafka.simulation.member_ids import new_id_hash
from rebalance_sim.kafka.simulation.messages import draw, schedule, send_back
from rebalance_sim.kafka.simulation.model import (
    Happening,
    Presence,
    ScenarioEvent,
    ScenarioKind,
    Simulation,
    Step,
    Subject,
)
from rebalance_sim.kafka.simulation.ownership import end_course, forget_lost, grow, note_wanted
from rebalance_sim.kafka.simulation.timeline import (
    REBALANCES,
    REBALANCES_ROOM,
    TIMELINE,
    TIMELINE_ROOM,
    follow_rebalances,
    note_generation,
    tell,
)
from rebalance_sim.versions import CoordinatorRules

ROWS_OF_REBALANCES = 2
"""Rows of rebalances that an event makes at most."""
_ROWS_AN_EVENT = 4
"""Rows of the timeline that an event makes at most, for each member and consumer, and beside."""


class Pause(IntEnum):
    """Why a group does not go on."""

    ENDED = 0
    ELECTION = 1
    ROOM_FOR_MEMBERS = 2
    ROOM_FOR_EVENTS = 3
    ROOM_FOR_ROWS = 4
    STEPPED = 5
    """As many events have happened as were asked for."""
    REVOCATION = 6
    """A consumer gives up what it subscribes to no more, and needs a row for what it keeps."""
    TARGET = 7
    """A coordinator's own assignor has to run (KIP-848)."""


@inner_kernel
def advance(s: Simulation, events: int) -> int:
    """Go on to the next pause, by so many events at most."""
    for _ in range(events):
        pause = room(s)
        if pause != Pause.ENDED:
            return pause
        if s.coordinator.group.election != Election.NOT_DUE:
            return Pause.ELECTION
        if s.course.revoking != NONE:
            return Pause.REVOCATION
        next_ms = s.places[0].at_ms if s.queue.length > 0 else NEVER
        deadline_ms = next_deadline(s.coordinator) if s.course.up else NEVER
        if is_over(s, min(next_ms, deadline_ms)):
            end_course(s)
            return Pause.ENDED
        if deadline_ms <= next_ms:
            s.queue.now = max(s.queue.now, deadline_ms)
            expire_next(s.coordinator, s.queue.now)
        else:
            _happen(s, pop(s.queue, s.places, s.events))
        after_coordinator(s)
    return Pause.STEPPED


@inner_kernel
def room(s: Simulation) -> int:
    """Tell what there may be too little room for to go on; ``Pause.ENDED`` if nothing."""
    group, consumers = s.coordinator.group, s.course.consumers
    if group.made + 1 >= group.member_places:
        return Pause.ROOM_FOR_MEMBERS
    # All members may be answered at once, or all consumers expect something, and the group may have as many writes to
    # end as it can hold.
    if (
        s.queue.length + max(group.members, consumers) + 8 >= s.queue.places
        or group.writes - group.writes_ended >= group.write_places - 1
    ):
        return Pause.ROOM_FOR_EVENTS
    rows = timeline_room(group.members + consumers)
    if (
        s.written[REBALANCES] + ROWS_OF_REBALANCES > s.written[REBALANCES_ROOM]
        or s.written[TIMELINE] + rows > s.written[TIMELINE_ROOM]
    ):
        return Pause.ROOM_FOR_ROWS
    return Pause.ENDED


@kernel_in_place
def timeline_room(members_and_consumers: int) -> int:
    """Return how many rows of the timeline an event may make."""
    return _ROWS_AN_EVENT * (members_and_consumers + 2)


@inner_kernel
def is_over(s: Simulation, next_ms: int) -> bool:
    """Tell whether the simulation ends before the next event; the clock then stands at its end."""
    settings, course = s.settings, s.course
    if settings.duration_ms > 0:
        end_ms = settings.duration_ms
    else:
        end_ms = course.last_event_ms + settings.longest_ms
        waits = course.next_event < s.course.events or course.metadata_due or not course.up
        if not waits and (course.settled or s.coordinator.group.members == 0):
            end_ms = min(end_ms, max(course.last_event_ms, course.changed_ms) + course.quiet_ms)
    if next_ms <= end_ms:
        return False
    s.queue.now = max(s.queue.now, end_ms)
    return True


@inner_kernel
def after_coordinator(s: Simulation) -> None:
    """Look at what the coordinator has done: what it answers, what it writes, what it has begun."""
    c = s.coordinator
    for k in range(c.answered[0].value):
        answer = c.answers[k]
        i, turn = asker(answer.request, s.course.consumers)
        sent = send_back(s, i, turn, answer.kind, answer.error)
        sent.member = answer.member
        sent.generation = answer.generation
        sent.lists_members = answer.lists_members
        sent.skips_assignment = answer.skips_assignment
        sent.assignment = EMPTY_ASSIGNMENT
        if answer.kind == Kind.SYNC and answer.assignment != EMPTY_ASSIGNMENT:
            sent.assignment = row_of(s, answer.assignment, answer.assigned_as)
        elif answer.lists_members:
            sent.assignment = s.course.assignments
    c.answered[0].value = 0
    while s.course.writes < c.group.writes:
        s.course.writes += 1
        schedule(s, Happening.WRITE_ENDS, NONE, s.course.loads, s.queue.now + s.settings.store_ms)
    if s.course.lost > 0 and c.group.state != s.course.state:
        forget_lost(s)
    follow_rebalances(s)


@inner_kernel
def row_of(s: Simulation, assignments: int, member: int) -> int:
    """Return the row that a leader made for a member; EMPTY_ASSIGNMENT where it knew nothing of that one.

    A member's place is that of the last election. A coordinator that has moved may know an earlier one from the log.
    """
    row = assignments
    if assignments == s.course.assignments:
        row += s.coordinator.members[member].place
    while s.row_sets[row] == assignments:
        if s.row_members[row] == member:
            return row
        row += 1
    return EMPTY_ASSIGNMENT


@inner_kernel
def asker(request: int, consumers: int) -> tuple[int, int]:
    """Return who sent a request: the consumer, and which of its processes."""
    return request % consumers, request // consumers


@inner_kernel
def _happen(s: Simulation, event: Event) -> None:
    kind, i = event.kind, event.consumer
    if kind == Happening.SCENARIO:
        _play(s)
    elif kind == Happening.WRITE_ENDS:
        if event.turn == s.course.loads:
            end_write(s.coordinator, s.course.store_error, s.queue.now)
    elif kind == Happening.LOADED:
        if event.turn == s.course.loads:
            s.course.up = True
            load(s.coordinator, s.queue.now)
    elif kind == Happening.METADATA:
        refresh_metadata(s, event)
    elif kind == Happening.LOOKUP:
        find_coordinator(s, i, event)
    elif Happening.REQUEST <= kind < Happening.LOOKUP:
        ask_group(s, event)
    elif event.turn == s.consumers[i].turn:
        happen_to_consumer(s, i, event)


@inner_kernel
def happen_to_consumer(s: Simulation, i: int, event: Event) -> None:
    """Let something happen to a consumer of the classic protocol."""
    kind = event.kind
    if kind == Happening.ANSWER + Kind.JOIN:
        joined(s, i, event)
    elif kind == Happening.ANSWER + Kind.SYNC:
        synced(s, i, event)
    elif kind == Happening.ANSWER + Kind.HEARTBEAT:
        heard(s, i, event)
    elif kind == Happening.ANSWER + Kind.COMMIT:
        committed(s, i, event)
    elif kind == Happening.FOUND:
        found(s, i, event)
    elif kind == Happening.WAKE:
        wake(s, i, event)
    elif kind == Happening.BEAT:
        beat(s, i, event)
    elif kind == Happening.POLL_EXPIRED:
        expire_poll(s, i, event)
    elif kind == Happening.START:
        start(s, i)


@inner_kernel
def ask_group(s: Simulation, event: Event) -> None:
    """Let the coordinator have a request that has arrived."""
    c, now = s.coordinator, s.queue.now
    i, kind = event.consumer, event.kind - Happening.REQUEST
    consumer = s.consumers[i]
    request = event.turn * s.course.consumers + i
    member, generation = event.member, event.generation
    if not s.course.up:
        send_back(s, i, event.turn, kind, Errors.NOT_COORDINATOR).generation = generation
    elif kind == Kind.JOIN:
        join_group(c, join_request(s, event), now)
    elif kind == Kind.SYNC:
        sync_group(c, request, member, consumer.instance, generation, NONE, NONE, event.assignment, now)
    elif kind == Kind.HEARTBEAT:
        heartbeat(c, request, member, consumer.instance, generation, now)
        c.answers[c.answered[0].value - 1].generation = generation
    elif kind == Kind.LEAVE:
        if leave_group(c, request, member, consumer.instance, now) == Errors.NONE:
            finish_leave(c, member, now)
    else:
        error = commit_error(c, member, consumer.instance, generation, now)
        send_back(s, i, event.turn, kind, error)


@inner_kernel
def join_request(s: Simulation, event: Event) -> JoinRequest:
    """Return what a consumer's JoinGroup says."""
    c, i = s.coordinator, event.consumer
    consumer = s.consumers[i]
    return JoinRequest(
        event.turn * s.course.consumers + i,
        event.member,
        consumer.instance,
        i,
        new_id_hash(s, i, c.group.made) if event.member == NONE else 0,
        consumer.protocol_type,
        consumer.protocols,
        consumer.preferences,
        event.assignment,
        consumer.session_timeout_ms,
        consumer.rebalance_timeout_ms,
        c.rules >= CoordinatorRules.SCALA_2_3,
        c.rules >= CoordinatorRules.SCALA_3_9,
    )


# ---- The scenario


@inner_kernel
def _play(s: Simulation) -> None:
    """Let the next event of the scenario happen, and expect the one after it."""
    event = begin_event(s)
    if event.kind == ScenarioKind.GROW:
        _grow(s, event.first, event.before, event.value)
    elif event.kind == ScenarioKind.MOVE_COORDINATOR:
        s.coordinator.group.writes_ended = s.coordinator.group.writes
        unload(s.coordinator)
        move_coordinator(s, event.value)
    elif event.kind == ScenarioKind.FAIL_STORE:
        s.course.store_error = event.value
    else:
        play_on_consumer(s, event)


@kernel_written_out
def begin_event(s: Simulation) -> ScenarioEvent:
    """Note that the next event of the scenario happens."""
    event = s.scenario[s.course.next_event]
    s.course.next_event += 1
    tell(s, Subject.EVENT, event.consumer, NONE, event.kind, 0, event.value)
    expect_event(s)
    return event


@inner_kernel
def move_coordinator(s: Simulation, down_ms: int) -> None:
    """Let the group have no coordinator for a while."""
    s.course.up = False
    s.course.loads += 1
    schedule(s, Happening.LOADED, NONE, s.course.loads, s.queue.now + down_ms)


@inner_kernel
def expect_event(s: Simulation) -> None:
    """Let the next event of the scenario come, if there is another."""
    if s.course.next_event < s.course.events:
        schedule(s, Happening.SCENARIO, NONE, 0, s.scenario[s.course.next_event].at_ms)


@inner_kernel
def play_on_consumer(s: Simulation, event: ScenarioEvent) -> None:
    """Let an event happen to a consumer of the classic protocol."""
    i, kind, value = event.consumer, event.kind, event.value
    consumer = s.consumers[i]
    runs = consumer.step != Step.STOPPED
    if kind == ScenarioKind.JOIN:
        start(s, i)
    elif kind == ScenarioKind.RESTART and not runs:
        start_after(s, i, value)
    elif kind == ScenarioKind.SUBSCRIBE:
        subscribe(s, i, value)
        if runs:
            request_rejoin(s, i)
    elif kind == ScenarioKind.PROTOCOLS:
        consumer.next_preferences = value
        consumer.next_protocols, consumer.next_eager = event.protocols, event.eager
        consumer.next_assignor = event.assignor
    elif not runs:
        if kind in (ScenarioKind.LEAVE, ScenarioKind.CRASH):
            stay_away(s, i)
    elif kind == ScenarioKind.LEAVE:
        close(s, i, NONE)
    elif kind == ScenarioKind.CRASH:
        stop(s, i)
    elif kind == ScenarioKind.RESTART:
        close(s, i, value)
    elif kind == ScenarioKind.STALL:
        stall(s, i, value)


@inner_kernel
def subscribe(s: Simulation, i: int, subscription: int) -> None:
    """Let a consumer want other topics from now on."""
    consumer = s.consumers[i]
    consumer.subscription = subscription
    if consumer.presence != Presence.AWAY:
        note_wanted(s)


@inner_kernel
def _grow(s: Simulation, first: int, before: int, after: int) -> None:
    """Let a topic grow; consumers find out when their metadata are refreshed, and who leads then joins again."""
    note_wanted(s)
    grow(s, first, before, after)
    for i in range(s.course.consumers):
        expect_metadata(s, i)


@inner_kernel
def expect_metadata(s: Simulation, i: int) -> None:
    """Let a consumer that runs refresh its metadata within their longest age."""
    if s.consumers[i].step != Step.STOPPED:
        at_ms = s.queue.now + draw(s, s.settings.metadata_max_age_ms)
        schedule(s, Happening.METADATA, i, s.consumers[i].turn, at_ms)
        s.course.metadata_due = True


@inner_kernel
def refresh_metadata(s: Simulation, event: Event) -> None:
    """Let a consumer see how the topics are; the leader joins again where one has grown."""
    s.course.metadata_due = False
    consumer = s.consumers[event.consumer]
    if event.turn != consumer.turn:
        return
    has_grown = False
    for k in range(consumer.topics_known, s.course.next_event):
        has_grown = has_grown or s.scenario[k].kind == ScenarioKind.GROW
    consumer.topics_known = s.course.next_event if has_grown else consumer.topics_known
    if has_grown and consumer.leads:
        # A group goes on that has settled because nobody subscribes to what has grown.
        s.course.changed_ms = s.queue.now
        request_rejoin(s, event.consumer)


@inner_kernel
def note_election(s: Simulation) -> None:
    """Write down a generation that has just begun."""
    if s.coordinator.group.state == State.COMPLETING_REBALANCE:
        note_generation(s)
