"""Simulates many groups, each on its own clock, with the elections and assignments of all of them in common.

Every group advances until it needs an election or more capacity. Then all elections are held and all leaders' assignors
run, over the whole batch at once, and the groups go on.
"""

from collections.abc import Iterator

import numpy as np

from rebalance_sim.kafka.coordinator.classic.group import NEVER, NONE, State, clear_group
from rebalance_sim.kafka.groups import AssignmentFailure, TopicArrays
from rebalance_sim.kafka.runtime.kernel import inner_kernel, kernel
from rebalance_sim.kafka.runtime.strings import Flags, Ints32
from rebalance_sim.kafka.simulation.batch_state import (
    BatchResult,
    BatchState,
    Broker,
    make_room,
    new_state,
    one_simulation,
    result_so_far,
)
from rebalance_sim.kafka.simulation.classic_consumer import remembers_assignment
from rebalance_sim.kafka.simulation.classic_simulation import Pause, advance
from rebalance_sim.kafka.simulation.elections import Assign, hold_elections, revoke_unsubscribed
from rebalance_sim.kafka.simulation.fleet import SimulatedFleet, protocol_in_group
from rebalance_sim.kafka.simulation.messages import draw, set_timer
from rebalance_sim.kafka.simulation.model import ConsumerStep, EventKind, MemberState, Presence, Simulation
from rebalance_sim.kafka.simulation.ownership import own_row
from rebalance_sim.kafka.simulation.scenario_clock import begin_stage
from rebalance_sim.kafka.simulation.settings import SimulationSettings

NO_LIMIT = 2**62
"""More events than any simulation has."""


class ClassicBatch:
    """Groups whose consumers all use the classic protocol, now and after every restart."""

    def __init__(
        self, fleet: SimulatedFleet, topics: TopicArrays, settings: SimulationSettings, broker: Broker, assign: Assign
    ) -> None:
        self.fleet = fleet
        self.broker = broker
        self.assign = assign
        self.failures = np.zeros(len(fleet.members), np.int32)
        self.state = new_state(fleet, settings)
        self.begin(topics)

    def begin(self, topics: TopicArrays) -> None:
        """Put all groups into the state after their last rebalance."""
        _begin_all(self.state, self.fleet, self.broker)

    def advance(self, active: Ints32, events: int) -> Ints32:
        """Advance groups until each of them pauses, and return why they did."""
        return _advance_all(self.state, self.fleet, self.broker, active, events)

    def make_room(self, active: Ints32, pauses: Ints32) -> None:
        """Grow the arrays that groups have run out of."""
        self.state = make_room(self.state, self.fleet, active, pauses)

    def resolve(self, active: Ints32, pauses: Ints32) -> None:
        """Do what groups paused for."""
        self.hold_elections(active[pauses == Pause.ELECTION])
        revoking = active[pauses == Pause.REVOCATION]
        if len(revoking):
            self.state = revoke_unsubscribed(self.state, self.fleet, self.broker, revoking)

    def hold_elections(self, due: Ints32) -> None:
        """Elect the protocol of groups, and let their leaders assign."""
        if len(due):
            self.state = hold_elections(self.state, self.fleet, self.broker, self.assign, due, self.failures)


def simulate(batch: ClassicBatch, chosen: Flags, events: int = NO_LIMIT) -> Iterator[BatchResult]:
    """Simulate groups to their end.

    With a limit, yield the present state whenever every group has handled this many events or paused, and at the end.
    """
    active = np.flatnonzero(chosen).astype(np.int32)
    rounds = 0
    while len(active):
        rounds += 1
        pauses = batch.advance(active, events)
        batch.make_room(active, pauses)
        batch.resolve(active, pauses)
        active = active[(pauses != Pause.ENDED) & (batch.failures[active] == AssignmentFailure.NONE)]
        if events < NO_LIMIT:
            yield result_so_far(batch.state, batch.fleet, batch.failures, rounds)
    yield result_so_far(batch.state, batch.fleet, batch.failures, rounds)


@kernel
def _advance_all(state: BatchState, fleet: SimulatedFleet, broker: Broker, active: Ints32, events: int) -> Ints32:
    pauses = np.empty(len(active), np.int32)
    for k in range(len(active)):
        pauses[k] = advance(one_simulation(state, fleet, broker, active[k]), events)
    return pauses


# ---- The beginning


@kernel
def _begin_all(state: BatchState, fleet: SimulatedFleet, broker: Broker) -> None:
    row = 0
    for g in range(len(fleet.members)):
        begin_classic_group(one_simulation(state, fleet, broker, g), fleet, g, row)
        row += fleet.members[g]


@inner_kernel
def begin_classic_group(simulation: Simulation, fleet: SimulatedFleet, g: int, row: int) -> None:
    """Put a classic group into the state after its last rebalance; its members own the rows from ``row`` on."""
    protocol = protocol_in_group(fleet, g, fleet.protocols[g])
    begin_simulation(simulation, fleet.members[g], fleet.generations[g], protocol, fleet.leaders[g], fleet.followed[g])
    simulation.coordinator.group.state = State.STABLE if fleet.members[g] > 0 else State.EMPTY
    for i in range(fleet.members[g]):
        _begin_member(simulation, i, row + i, fleet.member_hashes[fleet.consumers[g] + i])
    simulation.progress.state = simulation.coordinator.group.state
    simulation.progress.stable = True
    begin_stage(simulation, 0)


@inner_kernel
def begin_simulation(
    simulation: Simulation, member_count: int, generation: int, protocol: int, leader: int, followed: bool
) -> None:
    """Put a group into the state after its last rebalance, with all of its consumers stopped."""
    group, progress = simulation.coordinator.group, simulation.progress
    clear_group(group)
    group.exists = group.stored = member_count > 0
    group.generation = group.stored_generation = generation
    group.protocol = group.stored_protocol = protocol
    group.protocol_type = simulation.consumers[0].protocol_type if member_count > 0 else NONE
    group.leader = group.stored_leader = leader if member_count > 0 else NONE
    group.made = group.member_count = group.largest = group.puts = member_count
    for k in range(simulation.queue.places):
        simulation.places[k].event = k
    for k in range(progress.partitions):
        simulation.partitions[k].owner = simulation.partitions[k].owner_before = NONE
    progress.up = True
    progress.rebalance = progress.revoking = NONE
    progress.followed = followed
    progress.failed_consumer = NONE
    progress.first_event_ms = NEVER
    longest = simulation.settings.group_consumer_session_timeout_ms if progress.consumers == 0 else 0
    for i in range(progress.consumers):
        consumer = simulation.consumers[i]
        longest = max(longest, consumer.session_timeout_ms)
        consumer.next_preferences, consumer.next_protocols = consumer.preferences, consumer.protocols
        consumer.next_eager, consumer.next_assignor = consumer.eager, consumer.assignor
        consumer.step = ConsumerStep.STOPPED
        consumer.owned = consumer.last_assignment = consumer.member = consumer.generation = NONE
    progress.quiet_ms = simulation.settings.quiet_ms
    if progress.quiet_ms == 0:
        progress.quiet_ms = longest + 2 * simulation.settings.heartbeat_interval_ms


@inner_kernel
def _begin_member(simulation: Simulation, i: int, row: int, member_hash: int) -> None:
    """Make a consumer a member that owns the partitions of an assignment row."""
    consumer, member, group = simulation.consumers[i], simulation.coordinator.members[i], simulation.coordinator.group
    member.known = member.stored = True
    member.pending = member.pending_sync = member.is_new = False
    member.entered = member.largest_before = i
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
    simulation.progress.assignments = row - i
    member.write = NONE
    consumer.state = MemberState.STABLE
    consumer.heartbeating = consumer.needs_join_prepare = True
    consumer.is_leader = group.leader == i
    consumer.joined_subscription = consumer.subscription
    consumer.last_assignment = row if remembers_assignment(simulation) else NONE
    last_ms = begin_consumer(simulation, i, row, group.generation, simulation.settings.heartbeat_interval_ms)
    member.session_deadline = consumer.session_timeout_ms + last_ms
    group.sessions_end = min(group.sessions_end, member.session_deadline)


@inner_kernel
def begin_consumer(simulation: Simulation, i: int, row: int, generation: int, heartbeat_interval_ms: int) -> int:
    """Let a member's consumer own an assignment row and send heartbeats; return the time of its last one.

    The phases of its polls and heartbeats are random; the last heartbeat before the simulation restarted its session.
    """
    consumer = simulation.consumers[i]
    consumer.step = ConsumerStep.POLLING
    consumer.presence = Presence.RUNS
    consumer.incarnation = 1
    consumer.coordinator_known = True
    consumer.member, consumer.generation = i, generation
    consumer.last_poll_ms = -draw(simulation, max(simulation.settings.poll_interval_ms - 1, 0))
    own_row(simulation, i, row)
    next_ms = draw(simulation, heartbeat_interval_ms)
    set_timer(simulation, EventKind.HEARTBEAT_DUE, i, next_ms, consumer.heartbeat_series)
    return next_ms - heartbeat_interval_ms
