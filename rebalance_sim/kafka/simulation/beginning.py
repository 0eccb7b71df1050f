"""The state of simulated groups after their last rebalance, when the simulation begins."""

from rebalance_sim.kafka.coordinator.classic.classic_group import NEVER, NONE, State, clear_group
from rebalance_sim.kafka.coordinator.consumer.consumer_group import (
    FIRST_EPOCH,
    ConsumerGroupState,
    ModernMemberState,
    bump_epoch,
    clear_consumer_group,
    count_subscriber,
    restart_consumer_session,
)
from rebalance_sim.kafka.coordinator.consumer.heartbeat import METADATA_REFRESH_INTERVAL_MS
from rebalance_sim.kafka.coordinator.group_conversion import align_numbers
from rebalance_sim.kafka.runtime.kernel import inner_kernel, kernel
from rebalance_sim.kafka.runtime.strings import Ints32
from rebalance_sim.kafka.simulation.batch_state import BatchState, Broker, one_simulation
from rebalance_sim.kafka.simulation.classic_consumer import remembers_assignment
from rebalance_sim.kafka.simulation.consumer_group_model import ClientState, ConsumerGroupSimulation, mixed_group
from rebalance_sim.kafka.simulation.fleet import SimulatedFleet
from rebalance_sim.kafka.simulation.group_simulation import mirror_group
from rebalance_sim.kafka.simulation.messages import draw, set_timer
from rebalance_sim.kafka.simulation.model import ConsumerStep, EventKind, MemberState, Presence, Simulation
from rebalance_sim.kafka.simulation.ownership import own_row
from rebalance_sim.kafka.simulation.scenario_clock import begin_stage


@kernel
def begin_all(state: BatchState, fleet: SimulatedFleet, broker: Broker, protocols: Ints32) -> None:
    """Put all groups into the state after their last rebalance; members own their assignment.

    Protocols have their numbers in the groups.
    """
    row = 0
    for g in range(len(fleet.members)):
        simulation = one_simulation(state, fleet, broker, g)
        _clear_partitions(simulation)
        if fleet.members[g] == 0 or fleet.assignors[fleet.protocols[g]] == NONE:
            _begin_classic_group(simulation.base, fleet, g, protocols[g], row)
            clear_consumer_group(simulation.modern)
            simulation.modern.group.made = fleet.members[g]
        else:
            _begin_consumer_group(simulation, fleet, g, protocols[g], row)
        progress = simulation.base.progress
        progress.uses_consumer_protocol = _ever_uses_consumer_protocol(simulation)
        if simulation.base.settings.quiet_ms == 0 and progress.uses_consumer_protocol:
            config = broker.config
            quiet_ms = config.group_consumer_session_timeout_ms + 2 * config.group_consumer_heartbeat_interval_ms
            progress.quiet_ms = max(progress.quiet_ms, quiet_ms)
        row += fleet.members[g]


@inner_kernel
def _begin_classic_group(simulation: Simulation, fleet: SimulatedFleet, g: int, protocol: int, row: int) -> None:
    """Put a classic group into the state after its last rebalance; its members own the rows from ``row`` on."""
    _begin_simulation(simulation, fleet.members[g], fleet.generations[g], protocol, fleet.leaders[g], fleet.followed[g])
    simulation.coordinator.group.state = State.STABLE if fleet.members[g] > 0 else State.EMPTY
    for i in range(fleet.members[g]):
        _begin_classic_member(simulation, i, row + i, fleet.member_hashes[fleet.consumers[g] + i])
    simulation.progress.state = simulation.coordinator.group.state
    simulation.progress.stable = True
    begin_stage(simulation, 0)


@inner_kernel
def _begin_simulation(
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
def _begin_classic_member(simulation: Simulation, i: int, row: int, member_hash: int) -> None:
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
    last_ms = _begin_consumer(simulation, i, row, group.generation, simulation.settings.heartbeat_interval_ms)
    member.session_deadline = consumer.session_timeout_ms + last_ms
    group.sessions_end = min(group.sessions_end, member.session_deadline)


@inner_kernel
def _begin_consumer(simulation: Simulation, i: int, row: int, generation: int, heartbeat_interval_ms: int) -> int:
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


@inner_kernel
def _ever_uses_consumer_protocol(simulation: ConsumerGroupSimulation) -> bool:
    if simulation.modern.group.exists:
        return True
    for i in range(simulation.base.progress.consumers):
        if simulation.base.consumers[i].assignor != NONE:
            return True
    for k in range(simulation.base.progress.events):
        if simulation.base.scenario[k].assignor != NONE:
            return True
    return False


@inner_kernel
def _clear_partitions(simulation: ConsumerGroupSimulation) -> None:
    for t in range(simulation.modern.group.topics):
        topic = simulation.modern.topics[t]
        for p in range(topic.first, topic.first + topic.places):
            partition = simulation.modern.partitions[p]
            partition.topic = t
            partition.owner = partition.target = NONE


@inner_kernel
def _begin_consumer_group(
    simulation: ConsumerGroupSimulation, fleet: SimulatedFleet, g: int, protocol: int, row: int
) -> None:
    """Put a consumer-protocol group into the state after its last rebalance."""
    base, group, member_count = simulation.base, simulation.modern.group, fleet.members[g]
    _begin_simulation(base, member_count, fleet.generations[g], protocol, NONE, fleet.followed[g])
    base.coordinator.group.exists = False
    base.coordinator.group.made = 0
    clear_consumer_group(simulation.modern)
    group.exists = True
    group.made = group.member_count = group.largest = group.puts = member_count
    group.epoch = group.target_epoch = max(fleet.generations[g], FIRST_EPOCH)
    group.refresh_ms = METADATA_REFRESH_INTERVAL_MS
    group.state = ConsumerGroupState.STABLE
    base.progress.state = group.state
    align_numbers(mixed_group(simulation))
    for i in range(member_count):
        _begin_member(simulation, i, row + i, fleet.member_hashes[fleet.consumers[g] + i])
    # A bump stores the metadata of the subscribed topics, so that the first heartbeat does not find them changed.
    bump_epoch(simulation.modern, 0, NONE)
    group.epoch -= 1
    group.rebalances = 0
    mirror_group(simulation)
    base.progress.changed_ms = 0
    base.progress.stable = True
    begin_stage(base, 0)


@inner_kernel
def _begin_member(simulation: ConsumerGroupSimulation, i: int, row: int, member_hash: int) -> None:
    """Make a consumer a stable member that owns the partitions of an assignment row."""
    base, group = simulation.base, simulation.modern.group
    consumer, client, member = base.consumers[i], simulation.clients[i], simulation.modern.members[i]
    member.known = True
    member.instance, member.client, member.hash = consumer.instance, i, member_hash
    member.epoch = member.previous_epoch = group.epoch
    member.state = ModernMemberState.STABLE
    member.subscription, member.assignor = consumer.subscription, consumer.assignor
    member.rebalance_timeout_ms = consumer.rebalance_timeout_ms
    member.rebalance_deadline = member.join_deadline = member.sync_deadline = NEVER
    member.entered = i
    base.coordinator.members[i].client = i
    count_subscriber(simulation.modern, member.subscription, 1)
    for k in range(base.first_listed[row], base.first_listed[row + 1]):
        if base.listed[k] != NONE:
            partition = simulation.modern.partitions[base.listed[k]]
            partition.owner = partition.target = i
            partition.epoch = group.epoch
    client.state = ClientState.STABLE
    client.target, client.reconciling = row, NONE
    client.sent_subscription = consumer.subscription
    last_ms = _begin_consumer(base, i, row, group.epoch, base.settings.group_consumer_heartbeat_interval_ms)
    restart_consumer_session(simulation.modern, i, last_ms)
