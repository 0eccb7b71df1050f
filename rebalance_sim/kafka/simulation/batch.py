"""Many groups on simulated clocks of their own, and the elections and assignments that they need on the way.

All groups go on until each needs an election, or room; then all elections are held and the leaders' assignors run, over
the whole batch at once, and the groups go on.
"""

from collections.abc import Iterator

import numpy as np

from rebalance_sim.kafka.coordinator.classic_group import (
    NONE,
    State,
    clear_group,
)
from rebalance_sim.kafka.groups import Failure, Topics
from rebalance_sim.kafka.kernel import inner_kernel, kernel
from rebalance_sim.kafka.simulation.batch_state import (
    BatchState,
    Broker,
    Simulated,
    broker_of,
    make_room,
    new_state,
    note_room,
    one_simulation,
    set_field,
    simulated_so_far,
)
from rebalance_sim.kafka.simulation.classic_consumer import remembers
from rebalance_sim.kafka.simulation.classic_simulation import (
    Pause,
    advance,
    expect_event,
)
from rebalance_sim.kafka.simulation.elections import Assign, hold_elections, revoke_unsubscribed
from rebalance_sim.kafka.simulation.fleet import Fleet
from rebalance_sim.kafka.simulation.messages import draw, schedule
from rebalance_sim.kafka.simulation.model import (
    Happening,
    MemberState,
    Presence,
    ScenarioEvent,
    ScenarioKind,
    Simulation,
    Step,
)
from rebalance_sim.kafka.simulation.ownership import take
from rebalance_sim.kafka.simulation.settings import Settings
from rebalance_sim.kafka.strings import Flags, Ints32

NO_LIMIT = 2**62
"""More events than there are."""


def simulate_by_steps(
    fleet: Fleet,
    topics: Topics,
    settings: Settings,
    rules: int,
    map_rule: int,
    assign: Assign,
    chosen: Flags,
    events: int,
) -> Iterator[Simulated]:
    """Simulate groups, and tell how they stand whenever some have met so many events or have paused, and at the end."""
    state = new_state(fleet, settings)
    broker = broker_of(settings, rules, map_rule)
    state = _begin(state, fleet, broker)
    active = np.flatnonzero(chosen).astype(np.int32)
    failures = np.zeros(len(fleet.members), np.int32)
    rounds = 0
    while len(active):
        rounds += 1
        pauses = _advance_all(state, fleet, broker, active, events)
        state = make_room(state, fleet, active, pauses)
        due = active[pauses == Pause.ELECTION]
        if len(due):
            state = hold_elections(state, fleet, topics, broker, assign, due, failures)
        revoking = active[pauses == Pause.REVOCATION]
        if len(revoking):
            state = revoke_unsubscribed(state, fleet, broker, revoking)
        active = active[(pauses != Pause.ENDED) & (failures[active] == Failure.NONE)]
        if events < NO_LIMIT:
            yield simulated_so_far(state, fleet, failures, rounds)
    yield simulated_so_far(state, fleet, failures, rounds)


@kernel
def _advance_all(state: BatchState, fleet: Fleet, broker: Broker, active: Ints32, events: int) -> Ints32:
    pauses = np.empty(len(active), np.int32)
    for k in range(len(active)):
        pauses[k] = advance(one_simulation(state, fleet, broker, active[k]), events)
    return pauses


@kernel
def _begin_all(state: BatchState, fleet: Fleet, broker: Broker) -> None:
    row = 0
    for g in range(len(fleet.members)):
        s = one_simulation(state, fleet, broker, g)
        begin_classic_group(s, fleet, g, row)
        row += fleet.members[g]


def _begin(state: BatchState, fleet: Fleet, broker: Broker) -> BatchState:
    """Let every group be as it is after its last rebalance."""
    set_field(state.courses, "consumers", np.diff(fleet.consumers))
    set_field(state.courses, "events", np.diff(fleet.scenario))
    set_field(state.courses, "topics", np.diff(fleet.topics.offsets))
    set_field(state.courses, "partitions", np.diff(fleet.partitions))
    note_room(state)
    _begin_all(state, fleet, broker)
    return state


@inner_kernel
def begin_classic_group(s: Simulation, fleet: Fleet, g: int, row: int) -> None:
    """Let a group be as it is after its last rebalance, with the partitions in the rows from one on."""
    begin_group(s, fleet.members[g], fleet.generations[g], fleet.protocols[g], fleet.leaders[g], fleet.followed[g])
    s.coordinator.group.state = State.STABLE if fleet.members[g] > 0 else State.EMPTY
    for i in range(fleet.members[g]):
        _begin_member(s, i, row + i, fleet.member_hashes[fleet.consumers[g] + i])
    s.course.state = s.coordinator.group.state
    s.course.settled = True
    expect_event(s)


@inner_kernel
def begin_group(s: Simulation, members: int, generation: int, protocol: int, leader: int, followed: bool) -> None:
    """Let a group be as it is after its last rebalance, its consumers not yet running."""
    group, course = s.coordinator.group, s.course
    clear_group(group)
    group.exists = group.stored = members > 0
    group.generation = group.stored_generation = generation
    group.protocol = group.stored_protocol = protocol
    group.protocol_type = s.consumers[0].protocol_type if members > 0 else NONE
    group.leader = group.stored_leader = leader if members > 0 else NONE
    group.made = group.members = group.largest = group.puts = members
    for k in range(s.queue.places):
        s.places[k].event = k
    for k in range(course.partitions):
        s.partitions[k].owner = s.partitions[k].owner_before = NONE
    course.up = True
    course.rebalance = course.revoking = NONE
    course.followed = followed
    course.failed_consumer = NONE
    for k in range(course.events):
        course.last_event_ms = max(course.last_event_ms, s.scenario[k].at_ms + _lasts_ms(s, s.scenario[k]))
    longest = s.settings.group_consumer_session_timeout_ms if course.consumers == 0 else 0
    for i in range(course.consumers):
        consumer = s.consumers[i]
        longest = max(longest, consumer.session_timeout_ms)
        consumer.next_preferences, consumer.next_protocols = consumer.preferences, consumer.protocols
        consumer.next_eager, consumer.next_assignor = consumer.eager, consumer.assignor
        consumer.step = Step.STOPPED
        consumer.owned = consumer.last_assignment = consumer.member = consumer.generation = NONE
    course.quiet_ms = s.settings.quiet_ms
    if course.quiet_ms == 0:
        course.quiet_ms = longest + 2 * s.settings.heartbeat_interval_ms


@inner_kernel
def _lasts_ms(s: Simulation, event: ScenarioEvent) -> int:
    """Return how long it takes until a consumer polls to which an event happens."""
    if event.kind in (ScenarioKind.STALL, ScenarioKind.MOVE_COORDINATOR):
        return event.value
    if event.kind == ScenarioKind.RESTART:
        return event.value + s.settings.start_ms
    return s.settings.start_ms if event.kind == ScenarioKind.JOIN else 0


@inner_kernel
def _begin_member(s: Simulation, i: int, row: int, member_hash: int) -> None:
    """Let a consumer be a member, with the partitions in a row of the assignments."""
    consumer, member, group = s.consumers[i], s.coordinator.members[i], s.coordinator.group
    member.known = member.stored = True
    member.pending = member.pending_sync = member.is_new = False
    member.entered = i
    member.instance, member.client, member.hash = consumer.instance, i, member_hash
    member.protocol_type, member.protocols = consumer.protocol_type, consumer.protocols
    member.preferences = member.stored_preferences = consumer.preferences
    member.metadata = member.stored_metadata = NONE
    member.session_timeout_ms, member.rebalance_timeout_ms = consumer.session_timeout_ms, consumer.rebalance_timeout_ms
    member.stored_session_timeout_ms = consumer.session_timeout_ms
    member.stored_rebalance_timeout_ms = consumer.rebalance_timeout_ms
    member.join = member.sync = NONE
    member.assignment = member.stored_assignment = row - i
    member.assigned_as = member.stored_as = member.place = i
    s.course.assignments = row - i
    member.write = NONE
    consumer.step = Step.POLLING
    consumer.presence = Presence.RUNS
    consumer.turn = 1
    consumer.state = MemberState.STABLE
    consumer.coordinator_known = consumer.heartbeating = consumer.needs_join_prepare = True
    consumer.member, consumer.generation = i, group.generation
    consumer.leads = group.leader == i
    consumer.joined_subscription = consumer.subscription
    consumer.polled_ms = -draw(s, max(s.settings.poll_interval_ms - 1, 0))
    consumer.last_assignment = row if remembers(s) else NONE
    take(s, i, row)
    beat_ms = draw(s, s.settings.heartbeat_interval_ms)
    schedule(s, Happening.BEAT, i, consumer.turn, beat_ms).generation = consumer.beats
    member.session_deadline = consumer.session_timeout_ms - s.settings.heartbeat_interval_ms + beat_ms
    group.sessions_end = min(group.sessions_end, member.session_deadline)
