"""Simulates many groups that use the consumer protocol (KIP-848) or migrate to it; see ``batch``."""

from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.assignors.server.subscription_type import as_homogeneous
from rebalance_sim.kafka.coordinator.classic.group import NEVER, NONE, AwaitedElection, Counter
from rebalance_sim.kafka.coordinator.consumer.group import (
    FIRST_EPOCH,
    AssignedPartition,
    ConsumerGroup,
    ConsumerGroupState,
    ModernAnswer,
    ModernGroup,
    ModernMember,
    ModernMemberState,
    SubscribedTopic,
    bump_epoch,
    clear_consumer_group,
    count_subscriber,
    restart_consumer_session,
    subscribe_alike,
)
from rebalance_sim.kafka.coordinator.consumer.heartbeat import (
    METADATA_REFRESH_INTERVAL_MS,
    begin_target,
    preferred_assignor,
)
from rebalance_sim.kafka.coordinator.migration import align_numbers, finish_downgrade
from rebalance_sim.kafka.coordinator.mixed_requests import finish_target_any_group
from rebalance_sim.kafka.groups import NO_GENERATION, Assignments, Groups, Subscriptions, TopicArrays
from rebalance_sim.kafka.runtime.kernel import inner_kernel, kernel, kernel_written_out
from rebalance_sim.kafka.runtime.lists import choose_strings, take_lists, take_strings
from rebalance_sim.kafka.runtime.records import Records, new_records, reference, rows
from rebalance_sim.kafka.runtime.strings import Flags, Ints32, Strings
from rebalance_sim.kafka.simulation.batch import ClassicBatch, begin_classic_group, begin_consumer, begin_simulation
from rebalance_sim.kafka.simulation.batch_state import (
    BatchState,
    Broker,
    field,
    listed_in_groups,
    one_simulation,
    set_field,
    store_capacities,
    with_output_capacity,
    with_row_capacity,
)
from rebalance_sim.kafka.simulation.classic_simulation import Pause
from rebalance_sim.kafka.simulation.consumer_group_model import (
    AsyncConsumer,
    ClientState,
    ConsumerGroupSimulation,
    add_target_rows,
    mixed_group,
)
from rebalance_sim.kafka.simulation.consumer_group_simulation import (
    ASSIGNMENT_ROWS_PER_EVENT,
    advance_consumer_group,
    after_event,
    mirror_group,
)
from rebalance_sim.kafka.simulation.elections import elected_protocols, known_topics, spell_ids
from rebalance_sim.kafka.simulation.fleet import SimulatedFleet, protocol_in_group
from rebalance_sim.kafka.simulation.ownership import end_simulation
from rebalance_sim.kafka.simulation.scenario_clock import begin_stage
from rebalance_sim.kafka.simulation.timeline import record_generation
from rebalance_sim.releases import SERVER_ASSIGNORS

_ANSWERS = 4


class _Arrays(NamedTuple):
    """The state of a batch, the additional state of consumer-protocol groups, and what does not change."""

    state: BatchState
    groups: Records[ModernGroup]
    members: Records[ModernMember]
    topics: Records[SubscribedTopic]
    partitions: Records[AssignedPartition]
    clients: Records[AsyncConsumer]
    answers: Records[ModernAnswer]
    answered: Records[Counter]
    fleet: SimulatedFleet
    broker: Broker


class ConsumerGroupBatch(ClassicBatch):
    """Groups whose consumers use the consumer protocol, now or after a restart; ``assign`` also runs server-side
    assignors.
    """

    _arrays: _Arrays
    """Its ``state`` is kept up to date by ``_current``."""

    @property
    def _current(self) -> _Arrays:
        self._arrays = self._arrays._replace(state=self.state)
        return self._arrays

    def begin(self, topics: TopicArrays) -> None:
        """Put all groups into the state after their last rebalance; members own their target assignment."""
        fleet = self.fleet
        state = self.state = _with_spare_rows(_with_sorted_rows(self.state, fleet), fleet)
        at_first = topics.partitions[fleet.topics.topics].astype(np.int64)
        self._arrays = _Arrays(
            state,
            new_records(ModernGroup, len(fleet.members)),
            new_records(ModernMember, len(state.members)),
            new_records(SubscribedTopic, len(fleet.topics.topics)),
            new_records(AssignedPartition, int(fleet.partitions[-1])),
            new_records(AsyncConsumer, len(fleet.of_consumers)),
            new_records(ModernAnswer, _ANSWERS),
            new_records(Counter, 1),
            fleet,
            self.broker,
        )
        set_field(self._arrays.groups, "topics", np.diff(fleet.topics.offsets))
        set_field(self._arrays.topics, "number", fleet.topics.topics.astype(np.int64))
        set_field(self._arrays.topics, "first", fleet.topics.first_partition.astype(np.int64))
        set_field(self._arrays.topics, "places", fleet.topics.partitions.astype(np.int64))
        set_field(self._arrays.topics, "exists", (at_first >= 0).astype(np.int64))
        set_field(self._arrays.topics, "partitions", np.maximum(at_first, 0))
        _begin_all(self._arrays)

    def advance(self, active: Ints32, events: int) -> Ints32:
        """Advance groups until each of them pauses, and return why they did."""
        return _advance_all(self._current, active, events)

    def make_room(self, active: Ints32, pauses: Ints32) -> None:
        """Grow the arrays that groups have run out of."""
        before = self.state.first_member
        super().make_room(active, pauses)
        if (pauses == Pause.ROOM_FOR_ROWS).any():
            self.state = _with_spare_rows(self.state, self.fleet)
        if (pauses == Pause.ROOM_FOR_MEMBERS).any():
            members = new_records(ModernMember, len(self.state.members))
            for g in range(len(self.fleet.members)):
                old, new, size = before[g], self.state.first_member[g], before[g + 1] - before[g]
                members[new : new + size] = self._arrays.members[old : old + size]
            self._arrays = self._arrays._replace(members=members)

    def resolve(self, active: Ints32, pauses: Ints32) -> None:
        """Do what groups paused for."""
        super().resolve(active, pauses)
        due = active[pauses == Pause.TARGET]
        if len(due):
            self._make_targets(due)

    def hold_elections(self, due: Ints32) -> None:
        """Elect the protocol of groups, and let their leaders assign.

        A group that becomes a classic group again keeps its target assignment and needs the protocol alone.
        """
        downgrades = field(self.state.groups, "election")[due] == AwaitedElection.OF_DOWNGRADE
        if downgrades.any():
            self._make_room_for(due[downgrades])
            protocols = elected_protocols(self.state, self.fleet, due[downgrades], self.broker.map_rule)
            _finish_downgrades(self._current, due[downgrades], protocols)
        super().hold_elections(due[~downgrades])

    def _make_targets(self, due: Ints32) -> None:
        """Run the server-side assignors, each over all of its groups at once, and let the groups go on."""
        self._make_room_for(due)
        arrays, fleet = self._current, self.fleet
        protocols = _preferred_protocols(arrays, due)
        for protocol in np.unique(protocols):
            chosen = due[protocols == protocol]
            members = _collect_members(arrays, chosen)
            groups = _as_groups(self.state, fleet, chosen, members)
            specified = as_homogeneous(
                groups, SERVER_ASSIGNORS[fleet.assignors[protocol]], _homogeneous_without_new_member(arrays, chosen)
            )
            outcome = self.assign(int(protocol), specified, members.consumers)
            self.failures[chosen] = outcome.errors
            made = outcome.assignments
            made = made._replace(topics=fleet.base_topics[made.topics])
            listed = listed_in_groups(fleet, np.repeat(chosen, np.diff(members.offsets)), made)
            targets = _Targets(int(protocol), chosen, members.offsets, members.numbers, made.offsets, listed)
            _apply_targets(arrays, targets, self.failures)

    def _make_room_for(self, due: Ints32) -> None:
        """Grow all arrays of rows for what these groups write before any of them can pause for more."""
        state = with_output_capacity(self.state, self.fleet, due)
        partitions = int(np.diff(self.fleet.partitions)[due].sum())
        rows_added = ASSIGNMENT_ROWS_PER_EVENT * len(due) + int(field(state.groups, "member_count")[due].sum())
        room = with_row_capacity(state, rows_added, (ASSIGNMENT_ROWS_PER_EVENT + 1) * partitions)
        self.state = store_capacities(room)


@kernel_written_out
def _simulation_of(arrays: _Arrays, g: int) -> ConsumerGroupSimulation:
    """Return the state of one group."""
    state, fleet, broker = arrays.state, arrays.fleet, arrays.broker
    simulation = ConsumerGroupSimulation(
        one_simulation(state, fleet, broker, g),
        ConsumerGroup(
            rows(arrays.groups)[g],
            rows(arrays.members[state.first_member[g] :]),
            rows(arrays.topics[fleet.topics.offsets[g] :]),
            rows(arrays.partitions[fleet.partitions[g] :]),
            rows(fleet.subscriptions.offsets),
            rows(fleet.subscriptions.topics),
            rows(state.first_listed),
            rows(state.listed),
            rows(arrays.answers),
            rows(arrays.answered),
            broker.config,
            broker.consumer_groups,
        ),
        rows(arrays.clients[fleet.consumers[g] :]),
        rows(state.row_generations),
        rows(state.listed_topics),
        rows(state.listed_partitions),
    )
    return reference(simulation)


@kernel
def _advance_all(arrays: _Arrays, active: Ints32, events: int) -> Ints32:
    pauses = np.empty(len(active), np.int32)
    for k in range(len(active)):
        pauses[k] = advance_consumer_group(_simulation_of(arrays, active[k]), events)
    return pauses


# ---- The beginning


def _with_sorted_rows(state: BatchState, fleet: SimulatedFleet) -> BatchState:
    """Sort the partitions in the assignment rows of consumer-protocol groups, which are compared as sets."""
    row_of = np.repeat(np.arange(len(state.first_listed) - 1), np.diff(state.first_listed))
    group_of_row = np.repeat(np.arange(len(fleet.members)), fleet.members)
    is_modern = fleet.assignors[fleet.protocols] != NONE
    numbers = np.where(is_modern[group_of_row[row_of]], state.listed, np.arange(len(state.listed)))
    order = np.lexsort((numbers, row_of))
    return state._replace(
        first_listed=state.first_listed.copy(),
        listed=state.listed[order],
        listed_topics=state.listed_topics[order],
        listed_partitions=state.listed_partitions[order],
    )


def _with_spare_rows(state: BatchState, fleet: SimulatedFleet) -> BatchState:
    """Double the number of assignment rows that fit, and add what one event of the largest group needs."""
    largest = int(np.diff(fleet.partitions).max(initial=0) + np.diff(fleet.consumers).max(initial=0))
    made = state.written[0].assignments
    listed = int(state.first_listed[made])
    rows_added, listed_added = made + ASSIGNMENT_ROWS_PER_EVENT + largest, 2 * ASSIGNMENT_ROWS_PER_EVENT * largest
    return store_capacities(with_row_capacity(state, rows_added, listed + listed_added))


@kernel
def _begin_all(arrays: _Arrays) -> None:
    fleet, config = arrays.fleet, arrays.broker.config
    row = 0
    for g in range(len(fleet.members)):
        simulation = _simulation_of(arrays, g)
        _clear_partitions(simulation)
        if fleet.members[g] == 0 or fleet.assignors[fleet.protocols[g]] == NONE:
            begin_classic_group(simulation.base, fleet, g, row)
            clear_consumer_group(simulation.modern)
            simulation.modern.group.made = fleet.members[g]
        else:
            _begin_consumer_group(simulation, fleet, g, row)
        if simulation.base.settings.quiet_ms == 0 and _ever_uses_consumer_protocol(simulation):
            quiet_ms = config.group_consumer_session_timeout_ms + 2 * config.group_consumer_heartbeat_interval_ms
            simulation.base.progress.quiet_ms = max(simulation.base.progress.quiet_ms, quiet_ms)
        row += fleet.members[g]


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
def _begin_consumer_group(simulation: ConsumerGroupSimulation, fleet: SimulatedFleet, g: int, row: int) -> None:
    """Put a consumer-protocol group into the state after its last rebalance."""
    base, group, member_count = simulation.base, simulation.modern.group, fleet.members[g]
    protocol = protocol_in_group(fleet, g, fleet.protocols[g])
    begin_simulation(base, member_count, fleet.generations[g], protocol, NONE, fleet.followed[g])
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
    last_ms = begin_consumer(base, i, row, group.epoch, base.settings.group_consumer_heartbeat_interval_ms)
    restart_consumer_session(simulation.modern, i, last_ms)


@kernel
def _finish_downgrades(arrays: _Arrays, due: Ints32, protocols: Ints32) -> None:
    """Convert groups to classic groups, because their last member of the consumer protocol has left."""
    for k in range(len(due)):
        simulation = _simulation_of(arrays, due[k])
        protocol = protocol_in_group(arrays.fleet, due[k], protocols[k])
        first_row = add_target_rows(simulation)
        finish_downgrade(mixed_group(simulation), protocol, first_row, simulation.base.queue.now)
        after_event(simulation)


# ---- Target assignments


class _TargetMembers(NamedTuple):
    """The members of groups whose target assignment is due."""

    offsets: Ints32
    consumers: Ints32
    numbers: Ints32
    client_generated: Flags
    """Whether the member has generated its id itself, as members of the consumer protocol do."""
    subscriptions: Ints32
    owned: Assignments
    """Their present target assignment."""


class _Targets(NamedTuple):
    """New target assignments of groups that use the same assignor."""

    protocol: int
    groups: Ints32
    members: Ints32
    """Members of the k-th group: ``members[k]`` to ``members[k + 1]``."""
    numbers: Ints32
    """By member: its number at the coordinator."""
    offsets: Ints32
    """Partitions of the k-th member: ``offsets[k]`` to ``offsets[k + 1]`` of ``listed``."""
    listed: Ints32


@kernel
def _preferred_protocols(arrays: _Arrays, due: Ints32) -> Ints32:
    """Return the protocols that stand for each group's preferred assignor (``preferredServerAssignor``)."""
    fleet = arrays.fleet
    protocols = np.full(len(due), NONE, np.int32)
    for k in range(len(due)):
        assignor = preferred_assignor(_simulation_of(arrays, due[k]).modern)
        for protocol in fleet.group_protocols[fleet.first_protocol[due[k]] : fleet.first_protocol[due[k] + 1]]:
            if fleet.assignors[protocol] == assignor:
                protocols[k] = protocol
    return protocols


@kernel
def _homogeneous_without_new_member(arrays: _Arrays, due: Ints32) -> Flags:
    """Return which groups are homogeneous only because a new member without a subscription does not count."""
    outdated = np.empty(len(due), np.bool_)
    for k in range(len(due)):
        modern = _simulation_of(arrays, due[k]).modern
        outdated[k] = modern.group.homogeneous and not subscribe_alike(modern, modern.group.member_count)
    return outdated


@kernel
def _collect_members(arrays: _Arrays, due: Ints32) -> _TargetMembers:
    fleet, first_member = arrays.fleet, arrays.state.first_member
    offsets = np.zeros(len(due) + 1, np.int32)
    n_partitions = 0
    for k in range(len(due)):
        offsets[k + 1] = offsets[k] + arrays.groups[due[k]].member_count
        n_partitions += fleet.partitions[due[k] + 1] - fleet.partitions[due[k]]
    total = offsets[-1]
    consumers, numbers, subscriptions = np.empty(total, np.int32), np.empty(total, np.int32), np.empty(total, np.int32)
    client_generated = np.empty(total, np.bool_)
    owned_offsets = np.zeros(total + 1, np.int32)
    owned_topics, owned_partitions = np.empty(n_partitions, np.int32), np.empty(n_partitions, np.int32)
    filled = 0
    for k in range(len(due)):
        g = due[k]
        place_of = np.empty(arrays.groups[g].made, np.int32)
        for number in range(arrays.groups[g].made):
            member = arrays.members[first_member[g] + number]
            place_of[number] = filled
            if member.known:
                consumers[filled] = fleet.consumers[g] + member.client
                numbers[filled] = number
                client_generated[filled] = not member.classic
                subscriptions[filled] = member.subscription
                filled += 1
        low, high = fleet.partitions[g], fleet.partitions[g + 1]
        for p in range(low, high):
            if arrays.partitions[p].target != NONE:
                owned_offsets[place_of[arrays.partitions[p].target] + 1] += 1
        for m in range(offsets[k], offsets[k + 1]):
            owned_offsets[m + 1] += owned_offsets[m]
        cursor = owned_offsets[offsets[k] : offsets[k + 1]].copy()
        for p in range(low, high):
            partition = arrays.partitions[p]
            if partition.target != NONE:
                place = place_of[partition.target] - offsets[k]
                topic = arrays.topics[fleet.topics.offsets[g] + partition.topic]
                owned_topics[cursor[place]] = topic.number
                owned_partitions[cursor[place]] = p - low - topic.first
                cursor[place] += 1
    end = owned_offsets[total]
    owned = Assignments(owned_offsets, owned_topics[:end], owned_partitions[:end])
    return _TargetMembers(offsets, consumers, numbers, client_generated, subscriptions, owned)


def _as_groups(state: BatchState, fleet: SimulatedFleet, due: Ints32, members: _TargetMembers) -> Groups:
    """Return groups as the coordinator passes them to its assignors; it sees growth at once."""
    ids = Strings.over(
        *spell_ids(state, fleet, due, members.offsets, members.consumers, members.numbers, members.client_generated)
    )
    is_static = field(fleet.of_consumers, "instance")[members.consumers] != NONE
    subscriptions = Subscriptions(members.subscriptions, *fleet.subscriptions)
    owned = members.owned
    grown = known_topics(fleet, due, field(state.progress, "next_event")[due])
    if grown is not None:
        of_members = np.repeat(np.arange(len(due)), np.diff(members.offsets))
        listed, places = take_lists(fleet.subscriptions.offsets, members.subscriptions)
        subscribed = grown(np.repeat(of_members, np.diff(listed)), fleet.subscriptions.topics[places])
        subscriptions = Subscriptions(np.arange(len(of_members), dtype=np.int32), listed, subscribed)
        owned = owned._replace(topics=grown(np.repeat(of_members, np.diff(owned.offsets)), owned.topics))
    return Groups(
        members.offsets,
        ids,
        (~is_static).astype(np.int64),
        choose_strings(ids, take_strings(fleet.names.instance_ids, members.consumers), is_static),
        fleet.racks[members.consumers],
        subscriptions,
        owned,
        np.full(len(members.consumers), NO_GENERATION, np.int64),
    )


@kernel
def _apply_targets(arrays: _Arrays, targets: _Targets, failures: Ints32) -> None:
    """Let the coordinators take over new target assignments; a failed assignor ends the simulation of its group."""
    for k in range(len(targets.groups)):
        g = targets.groups[k]
        simulation = _simulation_of(arrays, g)
        if failures[g] != 0:
            end_simulation(simulation.base)
            continue
        simulation.base.coordinator.group.protocol = protocol_in_group(arrays.fleet, g, targets.protocol)
        record_generation(simulation.base)
        begin_target(simulation.modern)
        for m in range(targets.members[k], targets.members[k + 1]):
            for p in targets.listed[targets.offsets[m] : targets.offsets[m + 1]]:
                if p != NONE:
                    simulation.modern.partitions[p].target = targets.numbers[m]
        finish_target_any_group(mixed_group(simulation), simulation.base.queue.now)
        after_event(simulation)
