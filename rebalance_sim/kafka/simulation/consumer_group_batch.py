"""Many groups of KIP-848 on simulated clocks; see ``batch``. What they wait for is a target assignment."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.coordinator.classic_group import NEVER, NONE, Counter, Election
from rebalance_sim.kafka.coordinator.consumer_group import (
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
)
from rebalance_sim.kafka.coordinator.consumer_heartbeat import (
    METADATA_REFRESH_INTERVAL_MS,
    begin_target,
    preferred_assignor,
)
from rebalance_sim.kafka.coordinator.migration import align_numbers, finish_downgrade
from rebalance_sim.kafka.coordinator.mixed_requests import finish_target_of_any
from rebalance_sim.kafka.groups import NO_GENERATION, Assignments, Failure, Groups, Topics
from rebalance_sim.kafka.kernel import inner_kernel, kernel, kernel_written_out
from rebalance_sim.kafka.lists import take_lists, take_strings
from rebalance_sim.kafka.records import Records, new_records, rows
from rebalance_sim.kafka.simulation.batch import NO_LIMIT, begin_classic_group, begin_group
from rebalance_sim.kafka.simulation.batch_state import (
    BatchState,
    Broker,
    Simulated,
    broker_of,
    field,
    listed_in_groups,
    make_room,
    new_state,
    note_room,
    one_simulation,
    set_field,
    simulated_so_far,
    with_assignments,
    with_rows_to_write,
)
from rebalance_sim.kafka.simulation.classic_simulation import Pause, expect_event
from rebalance_sim.kafka.simulation.consumer_group_model import (
    AsyncConsumer,
    ClientState,
    ConsumerGroupSimulation,
    mixed_group,
    write_targets,
)
from rebalance_sim.kafka.simulation.consumer_group_simulation import (
    ROWS_AN_EVENT_LISTS,
    advance_consumer_group,
    after_event,
    show_group,
)
from rebalance_sim.kafka.simulation.elections import (
    Assign,
    choose_strings,
    elected_protocols,
    hold_elections,
    known_topics,
    revoke_unsubscribed,
    spell_ids,
)
from rebalance_sim.kafka.simulation.fleet import Fleet
from rebalance_sim.kafka.simulation.messages import draw, schedule
from rebalance_sim.kafka.simulation.model import ROWS, Happening, Presence, Step
from rebalance_sim.kafka.simulation.ownership import end_course, take
from rebalance_sim.kafka.simulation.settings import Settings
from rebalance_sim.kafka.simulation.timeline import note_generation
from rebalance_sim.kafka.strings import Flags, Ints32, Strings, java_hashes

_ANSWERS = 4


class _Modern(NamedTuple):
    """What the groups have beside what groups of the classic protocol have."""

    groups: Records[ModernGroup]
    members: Records[ModernMember]
    topics: Records[SubscribedTopic]
    partitions: Records[AssignedPartition]
    clients: Records[AsyncConsumer]
    answers: Records[ModernAnswer]
    answered: Records[Counter]


def simulate_consumer_groups(
    fleet: Fleet,
    topics: Topics,
    settings: Settings,
    rules: int,
    map_rule: int,
    assign: Assign,
    chosen: Flags,
    events: int,
) -> Iterator[Simulated]:
    """Simulate groups as ``batch.simulate_by_steps`` does; ``assign`` is asked for the coordinator's assignors too."""
    broker = broker_of(settings, rules, map_rule)
    state, modern = _begin(fleet, topics, settings, broker)
    active = np.flatnonzero(chosen).astype(np.int32)
    failures = np.zeros(len(fleet.members), np.int32)
    rounds = 0
    while len(active):
        rounds += 1
        pauses = _advance_all(state, modern, fleet, broker, active, events)
        state, modern = _room_for_all(state, modern, fleet, active, pauses)
        electing = active[pauses == Pause.ELECTION]
        downgrades = field(state.groups, "election")[electing] == Election.OF_DOWNGRADE
        due = electing[downgrades]
        if len(due):
            state = _finish_downgrades(state, modern, fleet, broker, due)
        due = electing[~downgrades]
        if len(due):
            state = hold_elections(state, fleet, topics, broker, assign, due, failures)
        revoking = active[pauses == Pause.REVOCATION]
        if len(revoking):
            state = revoke_unsubscribed(state, fleet, broker, revoking)
        due = active[pauses == Pause.TARGET]
        if len(due):
            state = _make_targets(state, modern, fleet, topics, broker, assign, due, failures)
        active = active[(pauses != Pause.ENDED) & (failures[active] == Failure.NONE)]
        if events < NO_LIMIT:
            yield simulated_so_far(state, fleet, failures, rounds)
    yield simulated_so_far(state, fleet, failures, rounds)


@kernel_written_out
def _consumer_group(
    state: BatchState,
    modern: _Modern,
    fleet: Fleet,
    broker: Broker,
    g: int,
) -> ConsumerGroupSimulation:
    """One of the groups."""
    return ConsumerGroupSimulation(
        one_simulation(state, fleet, broker, g),
        ConsumerGroup(
            rows(modern.groups)[g],
            rows(modern.members[state.first_member[g] :]),
            rows(modern.topics[fleet.topics.offsets[g] :]),
            rows(modern.partitions[fleet.partitions[g] :]),
            rows(fleet.subscriptions.offsets),
            rows(fleet.subscriptions.topics),
            rows(state.first_listed),
            rows(state.listed),
            rows(modern.answers),
            rows(modern.answered),
            broker.consumer_config,
        ),
        rows(modern.clients[fleet.consumers[g] :]),
        rows(state.rows),
        rows(state.row_generations),
        rows(state.listed_topics),
        rows(state.listed_partitions),
    )


@kernel
def _advance_all(
    state: BatchState,
    modern: _Modern,
    fleet: Fleet,
    broker: Broker,
    active: Ints32,
    events: int,
) -> Ints32:
    pauses = np.empty(len(active), np.int32)
    for k in range(len(active)):
        c = _consumer_group(state, modern, fleet, broker, active[k])
        pauses[k] = advance_consumer_group(c, events)
    return pauses


# ---- The beginning


def _begin(
    fleet: Fleet,
    topics: Topics,
    settings: Settings,
    broker: Broker,
) -> tuple[BatchState, _Modern]:
    """Let every group be as it is after its last rebalance, or when all members have what the last target gave them."""
    state = _sorted_rows(new_state(fleet, settings), fleet)
    n_topics = len(fleet.topics.topics)
    modern = _Modern(
        new_records(ModernGroup, len(fleet.members)),
        new_records(ModernMember, len(state.members)),
        new_records(SubscribedTopic, n_topics),
        new_records(AssignedPartition, int(fleet.partitions[-1])),
        new_records(AsyncConsumer, len(fleet.of_consumers)),
        new_records(ModernAnswer, _ANSWERS),
        new_records(Counter, 1),
    )
    set_field(modern.groups, "topics", np.diff(fleet.topics.offsets))
    at_first = topics.partitions[fleet.topics.topics].astype(np.int64)
    set_field(modern.topics, "number", fleet.topics.topics.astype(np.int64))
    set_field(modern.topics, "first", fleet.topics.first_partition.astype(np.int64))
    set_field(modern.topics, "places", fleet.topics.partitions.astype(np.int64))
    set_field(modern.topics, "exists", (at_first >= 0).astype(np.int64))
    set_field(modern.topics, "partitions", np.maximum(at_first, 0))
    set_field(state.courses, "consumers", np.diff(fleet.consumers))
    set_field(state.courses, "events", np.diff(fleet.scenario))
    set_field(state.courses, "topics", np.diff(fleet.topics.offsets))
    set_field(state.courses, "partitions", np.diff(fleet.partitions))
    state = _with_rows_again(state, fleet)
    _begin_all(state, modern, fleet, broker)
    return state, modern


def _sorted_rows(state: BatchState, fleet: Fleet) -> BatchState:
    """Sort the partitions in each row of the assignments, but of groups of the classic protocol."""
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


def _with_rows_again(state: BatchState, fleet: Fleet) -> BatchState:
    """Make room for as many rows of assignments again."""
    largest = int(np.diff(fleet.partitions).max(initial=0) + np.diff(fleet.consumers).max(initial=0))
    made = int(state.rows[ROWS])
    listed = int(state.first_listed[made])
    room = with_assignments(state, made + ROWS_AN_EVENT_LISTS + largest, listed + 2 * ROWS_AN_EVENT_LISTS * largest)
    return note_room(room)


def _with_rows_for(state: BatchState, fleet: Fleet, due: Ints32) -> BatchState:
    """Make room for the rows of assignments of all groups that go on, before any of them asks for room."""
    partitions = int(np.diff(fleet.partitions)[due].sum())
    members = int(field(state.groups, "members")[due].sum())
    rows_made = ROWS_AN_EVENT_LISTS * len(due) + members
    return note_room(with_assignments(state, rows_made, (ROWS_AN_EVENT_LISTS + 1) * partitions))


def _room_for_all(
    state: BatchState, modern: _Modern, fleet: Fleet, active: Ints32, pauses: Ints32
) -> tuple[BatchState, _Modern]:
    """Make room where some group has asked for it."""
    before = state.first_member
    state = make_room(state, fleet, active, pauses)
    if (pauses == Pause.ROOM_FOR_ROWS).any():
        state = _with_rows_again(state, fleet)
    if (pauses == Pause.ROOM_FOR_MEMBERS).any():
        members = new_records(ModernMember, len(state.members))
        for g in range(len(fleet.members)):
            old, size = before[g], before[g + 1] - before[g]
            members[state.first_member[g] : state.first_member[g] + size] = modern.members[old : old + size]
        modern = modern._replace(members=members)
    return state, modern


@kernel
def _begin_all(
    state: BatchState,
    modern: _Modern,
    fleet: Fleet,
    broker: Broker,
) -> None:
    row = 0
    for g in range(len(fleet.members)):
        c = _consumer_group(state, modern, fleet, broker, g)
        _forget_partitions(c)
        if fleet.members[g] == 0 or fleet.assignors[fleet.protocols[g]] == NONE:
            begin_classic_group(c.base, fleet, g, row)
            clear_consumer_group(c.modern.group)
            c.modern.group.made = fleet.members[g]
        else:
            _begin_modern_group(c, fleet, g, row)
        if c.base.settings.quiet_ms == 0:
            session_ms = broker.consumer_config.group_consumer_session_timeout_ms
            quiet_ms = session_ms + 2 * broker.consumer_config.group_consumer_heartbeat_interval_ms
            c.base.course.quiet_ms = max(c.base.course.quiet_ms, quiet_ms)
        row += fleet.members[g]


@inner_kernel
def _forget_partitions(c: ConsumerGroupSimulation) -> None:
    for t in range(c.modern.group.topics):
        topic = c.modern.topics[t]
        for p in range(topic.first, topic.first + topic.places):
            partition = c.modern.partitions[p]
            partition.topic = t
            partition.owner = partition.target = NONE


@inner_kernel
def _begin_modern_group(c: ConsumerGroupSimulation, fleet: Fleet, g: int, row: int) -> None:
    begin_group(c.base, fleet.members[g], fleet.generations[g], fleet.protocols[g], NONE, fleet.followed[g])
    c.base.coordinator.group.exists = False
    c.base.coordinator.group.made = 0
    _begin_consumer_group(c, fleet.members[g], fleet.generations[g])
    align_numbers(mixed_group(c))
    for i in range(fleet.members[g]):
        _begin_member(c, i, row + i, fleet.member_hashes[fleet.consumers[g] + i])
    # So that the topics count as known.
    bump_epoch(c.modern, 0, NONE)
    c.modern.group.epoch -= 1
    c.modern.group.rebalances = 0
    show_group(c)
    c.base.course.changed_ms = 0
    c.base.course.settled = True
    expect_event(c.base)


@inner_kernel
def _begin_consumer_group(c: ConsumerGroupSimulation, members: int, epoch: int) -> None:
    group, s = c.modern.group, c.base
    clear_consumer_group(group)
    group.exists = True
    group.made = group.members = group.largest = group.puts = members
    group.epoch = group.target_epoch = max(epoch, FIRST_EPOCH)
    group.refresh_ms = METADATA_REFRESH_INTERVAL_MS
    group.state = ConsumerGroupState.STABLE
    s.course.state = group.state


@inner_kernel
def _begin_member(c: ConsumerGroupSimulation, i: int, row: int, member_hash: int) -> None:
    """Let a consumer be a member, with the partitions in a row of the assignments."""
    s, group = c.base, c.modern.group
    consumer, client, member = s.consumers[i], c.clients[i], c.modern.members[i]
    member.known = True
    member.instance, member.client, member.hash = consumer.instance, i, member_hash
    member.epoch = member.previous_epoch = group.epoch
    member.state = ModernMemberState.STABLE
    member.subscription, member.assignor = consumer.subscription, consumer.assignor
    member.rebalance_timeout_ms = consumer.rebalance_timeout_ms
    member.rebalance_deadline = member.join_deadline = member.sync_deadline = NEVER
    member.entered = i
    s.coordinator.members[i].client = i
    count_subscriber(c.modern, member.subscription, 1)
    for k in range(s.first_listed[row], s.first_listed[row + 1]):
        if s.listed[k] != NONE:
            partition = c.modern.partitions[s.listed[k]]
            partition.owner = partition.target = i
            partition.epoch = group.epoch
    consumer.step = Step.POLLING
    consumer.presence = Presence.RUNS
    consumer.turn = 1
    consumer.coordinator_known = True
    consumer.member, consumer.generation = i, group.epoch
    consumer.polled_ms = -draw(s, max(s.settings.poll_interval_ms - 1, 0))
    client.state = ClientState.STABLE
    client.target, client.reconciling = row, NONE
    client.sent_subscription = consumer.subscription
    take(s, i, row)
    beat_ms = draw(s, s.settings.group_consumer_heartbeat_interval_ms)
    schedule(s, Happening.BEAT, i, consumer.turn, beat_ms).generation = consumer.beats
    restart_consumer_session(c.modern, i, beat_ms - s.settings.group_consumer_heartbeat_interval_ms)


# ---- Back to the classic protocol


def _finish_downgrades(
    state: BatchState,
    modern: _Modern,
    fleet: Fleet,
    broker: Broker,
    due: Ints32,
) -> BatchState:
    """Let groups whose last member of KIP-848 has gone be classic ones, with what they would elect."""
    state = _with_rows_for(with_rows_to_write(state, fleet, due), fleet, due)
    protocols = elected_protocols(state, fleet, due, broker.map_rule)
    _finish_all_downgrades(state, modern, fleet, broker, due, protocols)
    return state


@kernel
def _finish_all_downgrades(
    state: BatchState,
    modern: _Modern,
    fleet: Fleet,
    broker: Broker,
    due: Ints32,
    protocols: Ints32,
) -> None:
    for k in range(len(due)):
        c = _consumer_group(state, modern, fleet, broker, due[k])
        finish_downgrade(mixed_group(c), int(protocols[k]), write_targets(c), c.base.queue.now)
        after_event(c)


# ---- Target assignments


class _Targets(NamedTuple):
    """The members of groups whose target assignment is due."""

    offsets: Ints32
    consumers: Ints32
    numbers: Ints32
    by_themselves: Flags
    """Whether a member has made up its id itself, as those of KIP-848 do."""
    subscriptions: Ints32
    owned: Assignments
    """Their last target assignment."""


def _make_targets(
    state: BatchState,
    modern: _Modern,
    fleet: Fleet,
    topics: Topics,
    broker: Broker,
    assign: Assign,
    due: Ints32,
    failures: Ints32,
) -> BatchState:
    """Let the assignors run, over all groups of one protocol at once, and the groups go on."""
    state = with_rows_to_write(state, fleet, due)
    state = _with_rows_for(state, fleet, due)
    protocols = _preferred_protocols(state, modern, fleet, broker, due)
    for protocol in np.unique(protocols):
        chosen = due[protocols == protocol]
        asked = _collect(state, modern, fleet, chosen)
        groups = _as_groups(state, fleet, chosen, asked)
        outcome = assign(int(protocol), groups, asked.consumers)
        failures[chosen] = outcome.errors
        made = outcome.assignments
        made = made._replace(topics=fleet.base_topics[made.topics])
        listed = listed_in_groups(fleet, np.repeat(chosen, np.diff(asked.offsets)), made)
        _give_all(
            state,
            modern,
            fleet,
            broker,
            protocol,
            chosen,
            asked,
            made.offsets,
            listed,
            failures,
        )
    return state


@kernel
def _preferred_protocols(
    state: BatchState,
    modern: _Modern,
    fleet: Fleet,
    broker: Broker,
    due: Ints32,
) -> Ints32:
    """Return the protocol that stands for the assignor that most members wish for (``preferredServerAssignor``)."""
    protocols = np.full(len(due), NONE, np.int32)
    for k in range(len(due)):
        c = _consumer_group(state, modern, fleet, broker, due[k])
        assignor = preferred_assignor(c.modern)
        for protocol in range(len(fleet.assignors)):
            if fleet.assignors[protocol] == assignor:
                protocols[k] = protocol
    return protocols


@kernel
def _collect(state: BatchState, modern: _Modern, fleet: Fleet, due: Ints32) -> _Targets:
    offsets = np.zeros(len(due) + 1, np.int32)
    n_partitions = 0
    for k in range(len(due)):
        offsets[k + 1] = offsets[k] + modern.groups[due[k]].members
        n_partitions += fleet.partitions[due[k] + 1] - fleet.partitions[due[k]]
    total = offsets[-1]
    consumers, numbers, subscriptions = np.empty(total, np.int32), np.empty(total, np.int32), np.empty(total, np.int32)
    by_themselves = np.empty(total, np.bool_)
    owned_offsets = np.zeros(total + 1, np.int32)
    owned_topics, owned_partitions = np.empty(n_partitions, np.int32), np.empty(n_partitions, np.int32)
    filled = 0
    for k in range(len(due)):
        g = due[k]
        place_of = np.empty(modern.groups[g].made, np.int32)
        for number in range(modern.groups[g].made):
            member = modern.members[state.first_member[g] + number]
            place_of[number] = filled
            if member.known:
                consumers[filled] = fleet.consumers[g] + member.client
                numbers[filled] = number
                by_themselves[filled] = not member.classic
                subscriptions[filled] = member.subscription
                filled += 1
        low, high = fleet.partitions[g], fleet.partitions[g + 1]
        for p in range(low, high):
            if modern.partitions[p].target != NONE:
                owned_offsets[place_of[modern.partitions[p].target] + 1] += 1
        for m in range(offsets[k], offsets[k + 1]):
            owned_offsets[m + 1] += owned_offsets[m]
        cursor = owned_offsets[offsets[k] : offsets[k + 1]].copy()
        for p in range(low, high):
            partition = modern.partitions[p]
            if partition.target != NONE:
                place = place_of[partition.target] - offsets[k]
                topic = modern.topics[fleet.topics.offsets[g] + partition.topic]
                owned_topics[cursor[place]] = topic.number
                owned_partitions[cursor[place]] = p - low - topic.first
                cursor[place] += 1
    end = owned_offsets[total]
    owned = Assignments(owned_offsets, owned_topics[:end], owned_partitions[:end])
    return _Targets(offsets, consumers, numbers, by_themselves, subscriptions, owned)


def _as_groups(state: BatchState, fleet: Fleet, due: Ints32, asked: _Targets) -> Groups:
    """Lay out groups as the coordinator sees them, which knows of growth at once."""
    ids = Strings.over(
        *spell_ids(state, fleet, due, asked.offsets, asked.consumers, asked.numbers, asked.by_themselves)
    )
    is_static = field(fleet.of_consumers, "instance")[asked.consumers] != NONE
    listed, places = take_lists(fleet.subscriptions.offsets, asked.subscriptions)
    subscribed, owned = fleet.subscriptions.topics[places], asked.owned
    grown = known_topics(fleet, due, field(state.courses, "next_event")[due])
    if grown is not None:
        of_members = np.repeat(np.arange(len(due)), np.diff(asked.offsets))
        subscribed = grown(np.repeat(of_members, np.diff(listed)), subscribed)
        owned = owned._replace(topics=grown(np.repeat(of_members, np.diff(owned.offsets)), owned.topics))
    return Groups(
        asked.offsets,
        ids,
        java_hashes(ids),
        (~is_static).astype(np.int64),
        choose_strings(ids, take_strings(fleet.names.instance_ids, asked.consumers), is_static),
        fleet.racks[asked.consumers],
        listed,
        subscribed,
        owned,
        np.full(len(asked.consumers), NO_GENERATION, np.int64),
    )


@kernel
def _give_all(
    state: BatchState,
    modern: _Modern,
    fleet: Fleet,
    broker: Broker,
    protocol: int,
    due: Ints32,
    asked: _Targets,
    offsets: Ints32,
    listed: Ints32,
    failures: Ints32,
) -> None:
    """Tell the coordinators what the assignors have made."""
    for k in range(len(due)):
        c = _consumer_group(state, modern, fleet, broker, due[k])
        if failures[due[k]] != 0:
            end_course(c.base)
            continue
        c.base.coordinator.group.protocol = protocol
        note_generation(c.base)
        begin_target(c.modern)
        for m in range(asked.offsets[k], asked.offsets[k + 1]):
            for p in listed[offsets[m] : offsets[m + 1]]:
                if p != NONE:
                    c.modern.partitions[p].target = asked.numbers[m]
        finish_target_of_any(mixed_group(c), c.base.queue.now)
        after_event(c)
