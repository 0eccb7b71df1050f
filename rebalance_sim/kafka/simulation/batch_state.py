"""The state of a batch of simulated groups, in arrays that the groups share and that grow on demand."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

import numpy as np

from rebalance_sim.kafka.coordinator.broker_config import BrokerConfig
from rebalance_sim.kafka.coordinator.classic.classic_group import (
    NONE,
    Answer,
    ClassicGroup,
    ClassicGroupMember,
    ClassicGroupState,
    Counter,
    Write,
)
from rebalance_sim.kafka.coordinator.consumer.consumer_group import (
    AssignedPartition,
    ConsumerGroup,
    GroupRules,
    ModernAnswer,
    ModernGroup,
    ModernMember,
    SubscribedTopic,
    group_rules,
)
from rebalance_sim.kafka.groups import NO_GENERATION, Assignments, TopicArrays
from rebalance_sim.kafka.runtime.kernel import kernel, kernel_written_out
from rebalance_sim.kafka.runtime.lists import gather
from rebalance_sim.kafka.runtime.records import Record, Records, new_records, reference, rows
from rebalance_sim.kafka.runtime.strings import Flags, Ints, Ints32
from rebalance_sim.kafka.runtime.thread_local_random import HIGH, LOW
from rebalance_sim.kafka.simulation.consumer_group_model import AsyncConsumer, ConsumerGroupSimulation
from rebalance_sim.kafka.simulation.event_queue import Event, Place, Queue
from rebalance_sim.kafka.simulation.fleet import GroupTopics, Lists, SimulatedFleet
from rebalance_sim.kafka.simulation.model import (
    Consumer,
    GroupProgress,
    PartitionState,
    RebalanceRow,
    ScenarioEvent,
    Simulation,
    TimelineRow,
    TopicState,
    WrittenRows,
)
from rebalance_sim.kafka.simulation.pauses import (
    ASSIGNMENT_ROWS_PER_EVENT,
    REBALANCE_ROWS_PER_EVENT,
    TIMELINE_ROWS_PER_MEMBER,
    Pause,
)
from rebalance_sim.kafka.simulation.settings import SimulationSettings
from rebalance_sim.releases import KafkaVersion

_FOR_CAPACITY = (Pause.ROOM_FOR_MEMBERS, Pause.ROOM_FOR_EVENTS, Pause.ROOM_FOR_ROWS)
_SPARE_MEMBERS = 8
_SPARE_EVENTS = 24
_EVENTS_PER_CONSUMER = 8
_MODERN_ANSWERS = 4


class BatchState(NamedTuple):
    """The state of a batch; ``one_simulation`` finds the part of one group."""

    groups: Records[ClassicGroupState]
    members: Records[ClassicGroupMember]
    first_member: Ints
    modern_groups: Records[ModernGroup]
    modern_members: Records[ModernMember]
    modern_topics: Records[SubscribedTopic]
    modern_partitions: Records[AssignedPartition]
    clients: Records[AsyncConsumer]
    modern_answers: Records[ModernAnswer]
    modern_answered: Records[Counter]
    writes: Records[Write]
    answers: Records[Answer]
    answered: Records[Counter]
    progress: Records[GroupProgress]
    queues: Records[Queue]
    places: Records[Place]
    events: Records[Event]
    first_place: Ints
    topics: Records[TopicState]
    partitions: Records[PartitionState]
    random: Ints
    first_listed: Ints
    listed: Ints32
    """Assignment rows: the numbers of partitions in their group."""
    listed_topics: Ints32
    listed_partitions: Ints32
    row_generations: Ints
    row_sets: Ints
    row_members: Ints
    row_subscriptions: Ints32
    rebalances: Records[RebalanceRow]
    timeline: Records[TimelineRow]
    written: Records[WrittenRows]
    settings: Records[SimulationSettings]


@dataclass
class BatchResult:
    """The result of a batch."""

    progress: Records[GroupProgress]
    groups: Records[ClassicGroupState]
    queues: Records[Queue]
    rebalances: Records[RebalanceRow]
    timeline: Records[TimelineRow]
    first_listed: Ints
    """Assignment row r, as in ``Consumer.owned``, lists ``first_listed[r]`` to ``first_listed[r + 1]`` of
    ``listed``."""
    listed: Ints32
    """Numbers of partitions in their group; NONE for a partition that does not exist."""
    listed_topics: Ints32
    listed_partitions: Ints32
    consumers: Records[Consumer]
    first_event: Ints32
    """Events of group g: ``first_event[g]`` to ``first_event[g + 1]`` of ``events``."""
    events: Records[ScenarioEvent]
    partitions: Records[PartitionState]
    assignor_failures: Ints32
    """By group: the number of the assignor's ``AssignmentFailure`` that ended the simulation."""
    rounds: int
    """How often all groups were advanced."""


def result_so_far(state: BatchState, fleet: SimulatedFleet, failures: Ints32, rounds: int) -> BatchResult:
    """Return the present state of the groups as a result."""
    return BatchResult(
        state.progress,
        state.groups,
        state.queues,
        state.rebalances[: state.written[0].rebalances],
        state.timeline[: state.written[0].timeline],
        state.first_listed,
        state.listed,
        state.listed_topics,
        state.listed_partitions,
        fleet.of_consumers,
        fleet.scenario,
        fleet.events,
        state.partitions,
        failures,
        rounds,
    )


def result_of_condition(result: BatchResult, fleet: SimulatedFleet, condition: int) -> BatchResult:
    """Return the result of the groups under one of the fleet's conditions."""
    first, end = np.searchsorted(fleet.conditions, [condition, condition + 1]).tolist()
    if end - first == len(fleet.members):
        return result
    events = fleet.scenario[first : end + 1]
    return replace(
        result,
        progress=result.progress[first:end],
        groups=result.groups[first:end],
        queues=result.queues[first:end],
        rebalances=_of_groups(result.rebalances, first, end),
        timeline=_of_groups(result.timeline, first, end),
        consumers=result.consumers[fleet.consumers[first] : fleet.consumers[end]],
        first_event=events - events[0],
        events=result.events[events[0] : events[-1]],
        partitions=result.partitions[fleet.partitions[first] : fleet.partitions[end]],
        assignor_failures=result.assignor_failures[first:end],
    )


def _of_groups(records: Records[Record], first: int, end: int) -> Records[Record]:
    """Return the rows about some groups, of which the first gets number 0."""
    groups = field(records, "group")
    chosen = cast(Any, records)[(groups >= first) & (groups < end)]
    chosen["group"] -= first
    return cast(Records[Record], chosen)


class Broker(NamedTuple):
    """The brokers' configuration and release."""

    config: BrokerConfig
    rules: int
    """A number of ``CoordinatorRules``."""
    map_rule: int
    consumer_groups: GroupRules


def broker_of(settings: SimulationSettings, version: KafkaVersion) -> Broker:
    """Return the brokers of a release with their part of the settings of a simulation."""
    config = BrokerConfig(*(getattr(settings, name) for name in BrokerConfig._fields))
    return Broker(config, int(version.coordinator), int(version.coordinator_map), group_rules(version))


def new_state(fleet: SimulatedFleet, settings: Sequence[SimulationSettings], topics: TopicArrays) -> BatchState:
    """Allocate the state of a fleet's groups, with spare capacity for members and events.

    ``settings`` are those of each of the fleet's ``conditions``.
    """
    n_groups, n_consumers = len(fleet.members), len(fleet.of_consumers)
    sizes = np.diff(fleet.consumers)
    events = np.diff(fleet.scenario)
    first_member = _firsts(sizes + events + _SPARE_MEMBERS)
    first_place = _firsts(_EVENTS_PER_CONSUMER * sizes + events + _SPARE_EVENTS)
    largest = int(sizes.max(initial=0) + events.max(initial=0))
    of_settings = new_records(SimulationSettings, len(settings))
    for number, of_condition in enumerate(settings):
        for name, value in vars(of_condition).items():
            setattr(of_settings[number], name, value)
    group_of_row = np.repeat(np.arange(n_groups, dtype=np.int32), fleet.members)
    row_sets = (np.cumsum(fleet.members, dtype=np.int64) - fleet.members)[group_of_row]
    written = new_records(WrittenRows, 1)
    written[0].assignments = len(group_of_row)
    any_followed = bool(fleet.followed.any())
    progress = new_records(GroupProgress, n_groups)
    set_field(progress, "consumers", sizes)
    set_field(progress, "events", events)
    set_field(progress, "topics", np.diff(fleet.topics.offsets))
    set_field(progress, "partitions", np.diff(fleet.partitions))
    state = BatchState(
        new_records(ClassicGroupState, n_groups),
        new_records(ClassicGroupMember, int(first_member[-1])),
        first_member,
        new_records(ModernGroup, n_groups),
        new_records(ModernMember, int(first_member[-1])),
        _modern_topics(fleet.topics, topics),
        new_records(AssignedPartition, int(fleet.partitions[-1])),
        new_records(AsyncConsumer, n_consumers),
        new_records(ModernAnswer, _MODERN_ANSWERS),
        new_records(Counter, 1),
        new_records(Write, int(first_member[-1])),
        new_records(Answer, 2 * largest + 16),
        new_records(Counter, 1),
        progress,
        new_records(Queue, n_groups),
        new_records(Place, int(first_place[-1])),
        new_records(Event, int(first_place[-1]) + n_groups),
        first_place,
        _topic_states(fleet.topics),
        new_records(PartitionState, int(fleet.partitions[-1])),
        _random_states(fleet.seeds),
        fleet.assignments.offsets.astype(np.int64),
        listed_in_groups(fleet, group_of_row, fleet.assignments),
        fleet.assignments.topics,
        fleet.assignments.partitions,
        # One element more than rows, so that there is an end even without any assignment.
        np.append(fleet.generations[group_of_row], NO_GENERATION),
        np.append(row_sets, NONE),
        np.append(np.arange(len(row_sets)) - row_sets, NONE),
        _subscriptions_at_first(fleet, group_of_row, row_sets),
        new_records(RebalanceRow, 8 * n_groups + int(events.sum()) + 64),
        new_records(TimelineRow, 16 * n_consumers * any_followed + TIMELINE_ROWS_PER_MEMBER * (2 * largest + 2)),
        written,
        of_settings,
    )
    set_field(state.modern_groups, "topics", np.diff(fleet.topics.offsets))
    return _with_spare_rows(_with_sorted_rows(state, fleet), fleet)


def _with_sorted_rows(state: BatchState, fleet: SimulatedFleet) -> BatchState:
    """Sort the partitions in the assignment rows of consumer-protocol groups, which are compared as sets."""
    is_modern = fleet.assignors[fleet.protocols] != NONE
    if not is_modern.any():
        return state
    row_of = np.repeat(np.arange(len(state.first_listed) - 1), np.diff(state.first_listed))
    group_of_row = np.repeat(np.arange(len(fleet.members)), fleet.members)
    numbers = np.where(is_modern[group_of_row[row_of]], state.listed, np.arange(len(state.listed)))
    order = np.lexsort((numbers, row_of))
    return state._replace(
        listed=state.listed[order],
        listed_topics=state.listed_topics[order],
        listed_partitions=state.listed_partitions[order],
    )


def _with_spare_rows(state: BatchState, fleet: SimulatedFleet) -> BatchState:
    """Double the number of assignment rows that fit, and add what one event of the largest group needs.

    Only the consumer protocol adds such rows between pauses.
    """
    if (fleet.assignors == NONE).all():
        return store_capacities(state)
    largest = _largest_capacity(fleet.partitions) + _largest_capacity(fleet.consumers)
    made = state.written[0].assignments
    listed = int(state.first_listed[made])
    rows_added, listed_added = made + ASSIGNMENT_ROWS_PER_EVENT + largest, 2 * ASSIGNMENT_ROWS_PER_EVENT * largest
    return store_capacities(_with_row_capacity(state, rows_added, listed + listed_added))


def _modern_topics(topics: GroupTopics, at_first: TopicArrays) -> Records[SubscribedTopic]:
    known = new_records(SubscribedTopic, len(topics.topics))
    partitions = at_first.partitions[topics.topics].astype(np.int64)
    set_field(known, "number", topics.topics.astype(np.int64))
    set_field(known, "first", topics.first_partition.astype(np.int64))
    set_field(known, "places", topics.partitions.astype(np.int64))
    set_field(known, "exists", (partitions >= 0).astype(np.int64))
    set_field(known, "partitions", np.maximum(partitions, 0))
    return known


def _topic_states(topics: GroupTopics) -> Records[TopicState]:
    states = new_records(TopicState, len(topics.topics))
    set_field(states, "topic", topics.topics.astype(np.int64))
    set_field(states, "first", topics.first_partition.astype(np.int64))
    set_field(states, "partitions", topics.partitions.astype(np.int64))
    return states


def _subscriptions_at_first(fleet: SimulatedFleet, group_of_row: Ints32, row_sets: Ints) -> Ints32:
    consumers = fleet.consumers[group_of_row] + np.arange(len(row_sets)) - row_sets
    subscriptions = field(fleet.of_consumers, "subscription")[consumers].astype(np.int32)
    return np.append(_kept_subscriptions(fleet.subscriptions, subscriptions, fleet.assignments), np.int32(NONE))


def _firsts(sizes: Ints | Ints32) -> Ints:
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])


def _random_states(seeds: Ints) -> Ints:
    """Return the random states of each group: for all that is drawn, for its member ids, and a scratch row."""
    bits = seeds.view(np.uint64)
    states = np.zeros((len(seeds), 3, 2), np.int64)
    states[:, :2, HIGH] = (bits >> np.uint64(32)).astype(np.int64)[:, None]
    states[:, :2, LOW] = (bits & np.uint64(0xFFFFFFFF)).astype(np.int64)[:, None]
    states[:, 1, LOW] ^= 0x5DEECE66
    return states


def make_room(state: BatchState, fleet: SimulatedFleet, active: Ints32, pauses: Ints32) -> BatchState:
    """Grow the arrays that some group has run out of."""
    if (pauses == Pause.ROOM_FOR_ROWS).any():
        state = _with_spare_rows(_with_spare_results(state, fleet), fleet)
    if (pauses == Pause.ROOM_FOR_MEMBERS).any():
        state = _with_more_members(state, active[pauses == Pause.ROOM_FOR_MEMBERS])
    if (pauses == Pause.ROOM_FOR_EVENTS).any():
        state = _with_more_events(state, active[pauses == Pause.ROOM_FOR_EVENTS])
    return store_capacities(state) if np.isin(pauses, _FOR_CAPACITY).any() else state


def _with_spare_results(state: BatchState, fleet: SimulatedFleet) -> BatchState:
    """Double the rebalances and timeline rows that fit, where one event of the largest group may need more."""
    written, largest = state.written[0], _largest_capacity(state.first_member) + _largest_capacity(fleet.consumers)
    if written.rebalances + REBALANCE_ROWS_PER_EVENT > len(state.rebalances):
        state = state._replace(rebalances=_doubled(state.rebalances, RebalanceRow))
    if written.timeline + TIMELINE_ROWS_PER_MEMBER * (largest + 2) > len(state.timeline):
        state = state._replace(timeline=_doubled(state.timeline, TimelineRow))
    return state


def _largest_capacity(firsts: Ints | Ints32) -> int:
    """Return how many rows the largest group has, or has room for."""
    return int(np.diff(firsts).max(initial=0))


def _doubled(records: Records[Record], of: type[Record]) -> Records[Record]:
    larger = new_records(of, 2 * len(records))
    larger[: len(records)] = records
    return larger


def _with_more_members(state: BatchState, groups: Ints32) -> BatchState:
    """Double the member capacity of some groups, and that of their pending writes."""
    before, sizes = state.first_member, np.diff(state.first_member)
    larger = _doubled_in(sizes, groups)
    first = _firsts(larger)
    writes = _moved(state.writes, new_records(Write, int(first[-1])), before, first, sizes)
    # A write is at its number modulo the capacity: in a doubled capacity at the same place or in the second half.
    writes = _moved(state.writes, writes, before[groups], first[groups] + sizes[groups], sizes[groups])
    answers = new_records(Answer, max(len(state.answers), 2 * int(larger.max()) + 16))
    return state._replace(
        members=_moved(state.members, new_records(ClassicGroupMember, int(first[-1])), before, first, sizes),
        modern_members=_moved(state.modern_members, new_records(ModernMember, int(first[-1])), before, first, sizes),
        first_member=first,
        writes=writes,
        answers=answers,
    )


def _with_more_events(state: BatchState, groups: Ints32) -> BatchState:
    """Double the event capacity of some groups."""
    before, sizes = state.first_place, np.diff(state.first_place)
    larger = _doubled_in(sizes, groups)
    first = _firsts(larger)
    places, events = new_records(Place, int(first[-1])), new_records(Event, int(first[-1]) + len(sizes))
    set_field(places, "event", np.arange(first[-1]) - np.repeat(first[:-1], larger))
    # A group has one event more than places.
    spare = np.arange(len(sizes))
    return state._replace(
        places=_moved(state.places, places, before, first, sizes),
        events=_moved(state.events, events, before[:-1] + spare, first[:-1] + spare, sizes),
        first_place=first,
    )


def _doubled_in(sizes: Ints, groups: Ints32) -> Ints:
    larger = sizes.copy()
    larger[groups] *= 2
    return larger


def _moved(records: Records[Record], to: Records[Record], before: Ints, first: Ints, sizes: Ints) -> Records[Record]:
    """Copy the first records of each group to other places, and return those."""
    count = len(sizes)
    np.asarray(to)[gather(first[:count], sizes)[1]] = np.asarray(records)[gather(before[:count], sizes)[1]]
    return to


@kernel_written_out
def one_simulation(state: BatchState, fleet: SimulatedFleet, broker: Broker, g: int) -> ConsumerGroupSimulation:
    """Return the state of one group."""
    base = Simulation(
        ClassicGroup(
            rows(state.groups)[g],
            rows(state.members, state.first_member[g]),
            rows(state.writes, state.first_member[g]),
            rows(state.answers),
            rows(state.answered),
            broker.config,
            broker.rules,
            broker.map_rule,
        ),
        rows(state.progress)[g],
        rows(state.queues)[g],
        rows(fleet.of_consumers, fleet.consumers[g]),
        rows(state.places, state.first_place[g]),
        rows(state.events, state.first_place[g] + g),
        rows(fleet.events, fleet.scenario[g]),
        rows(state.topics, fleet.topics.offsets[g]),
        rows(state.partitions, fleet.partitions[g]),
        rows(fleet.subscriptions.offsets),
        rows(fleet.subscriptions.topics),
        state.random[g],
        rows(fleet.id_hashes, fleet.consumers[g]),
        rows(state.first_listed),
        rows(state.listed),
        rows(state.row_sets),
        rows(state.row_members),
        rows(state.row_subscriptions),
        rows(fleet.remembered, fleet.first_protocol[g]),
        rows(state.rebalances),
        rows(state.timeline),
        rows(state.written)[0],
        rows(state.settings)[fleet.conditions[g]],
        g,
    )
    simulation = ConsumerGroupSimulation(
        reference(base),
        ConsumerGroup(
            rows(state.modern_groups)[g],
            rows(state.modern_members, state.first_member[g]),
            rows(state.modern_topics, fleet.topics.offsets[g]),
            rows(state.modern_partitions, fleet.partitions[g]),
            rows(fleet.subscriptions.offsets),
            rows(fleet.subscriptions.topics),
            rows(state.first_listed),
            rows(state.listed),
            rows(state.modern_answers),
            rows(state.modern_answered),
            broker.config,
            broker.consumer_groups,
        ),
        rows(state.clients, fleet.consumers[g]),
        rows(state.row_generations),
        rows(state.listed_topics),
        rows(state.listed_partitions),
    )
    return reference(simulation)


def store_decisions(
    state: BatchState, groups: Ints32, protocols: Ints32 | int, rows: Ints | Ints32 | int, failed: Flags | bool
) -> None:
    """Let groups go on that have paused for a decision; protocols have their numbers in the groups."""
    field(state.progress, "decided")[groups] = True
    field(state.progress, "decided_protocol")[groups] = protocols
    field(state.progress, "decided_row")[groups] = rows
    field(state.progress, "assignor_failed")[groups] = failed


def store_capacities(state: BatchState) -> BatchState:
    """Store the capacities of all arrays where the groups check them."""
    set_field(state.groups, "member_places", np.diff(state.first_member))
    set_field(state.groups, "write_places", np.diff(state.first_member))
    set_field(state.queues, "places", np.diff(state.first_place))
    written = state.written[0]
    written.rebalances_capacity, written.timeline_capacity = len(state.rebalances), len(state.timeline)
    by_row = (state.first_listed, state.row_generations, state.row_sets, state.row_members, state.row_subscriptions)
    written.assignments_capacity = min(len(numbers) for numbers in by_row) - 1
    written.listed_capacity = min(len(state.listed), len(state.listed_topics), len(state.listed_partitions))
    return state


@kernel
def _kept_subscriptions(lists: Lists, subscriptions: Ints32, made: Assignments) -> Ints32:
    """Return the subscription that each assignment row was made for; NONE if the row lists other topics too."""
    kept = subscriptions.copy()
    for row in range(len(subscriptions)):
        entry, end = lists.offsets[subscriptions[row]], lists.offsets[subscriptions[row] + 1]
        for k in range(made.offsets[row], made.offsets[row + 1]):
            if entry < end and lists.topics[entry] == made.topics[k]:
                continue
            entry = lists.offsets[subscriptions[row]]
            while entry < end and lists.topics[entry] != made.topics[k]:
                entry += 1
            if entry == end:
                kept[row] = NONE
                break
    return kept


class RowOrigins(NamedTuple):
    """The assignments and members that new assignment rows were made for."""

    groups: Ints32
    generations: Ints
    sets: Ints32
    """The first row of the same assignment, counted from the first new row."""
    numbers: Ints32
    """The members' numbers at their coordinator."""
    subscriptions: Ints32


def add_rows(state: BatchState, fleet: SimulatedFleet, origins: RowOrigins, made: Assignments) -> BatchState:
    """Add assignment rows, one per member."""
    made = made._replace(topics=fleet.base_topics[made.topics])
    rows = state.written[0].assignments
    end = int(state.first_listed[rows])
    new_rows, new_end = rows + len(origins.groups), end + len(made.topics)
    state = store_capacities(_with_row_capacity(state, len(origins.groups), len(made.topics)))
    state.first_listed[rows : new_rows + 1] = end + made.offsets
    state.row_generations[rows:new_rows] = origins.generations
    state.row_sets[rows:new_rows] = rows + origins.sets
    state.row_members[rows:new_rows] = origins.numbers
    state.row_subscriptions[rows:new_rows] = _kept_subscriptions(fleet.subscriptions, origins.subscriptions, made)
    state.row_sets[new_rows] = state.row_members[new_rows] = NONE
    state.listed[end:new_end] = listed_in_groups(fleet, origins.groups, made)
    state.listed_topics[end:new_end] = made.topics
    state.listed_partitions[end:new_end] = made.partitions
    state.written[0].assignments = new_rows
    return state


def _with_row_capacity(state: BatchState, more_rows: int, more_listed: int) -> BatchState:
    """Grow the arrays of assignment rows by a number of rows, and of partitions in them."""
    made = state.written[0].assignments
    rows, end = made + more_rows, int(state.first_listed[made]) + more_listed
    return state._replace(
        first_listed=_grown(state.first_listed, rows + 1),
        row_generations=_grown(state.row_generations, rows + 1),
        row_sets=_grown(state.row_sets, rows + 1),
        row_members=_grown(state.row_members, rows + 1),
        row_subscriptions=_grown(state.row_subscriptions, rows + 1),
        listed=_grown(state.listed, end),
        listed_topics=_grown(state.listed_topics, end),
        listed_partitions=_grown(state.listed_partitions, end),
    )


def _grown(numbers: np.ndarray, end: int) -> np.ndarray:
    """Return an array of at least this length, grown by half or more if it is too short."""
    if end <= len(numbers):
        return numbers
    longer = np.zeros(max(end, 3 * len(numbers) // 2), numbers.dtype)
    longer[: len(numbers)] = numbers
    return longer


@kernel
def listed_in_groups(fleet: SimulatedFleet, group_of_row: Ints32, made: Assignments) -> Ints32:
    """Return the numbers that the partitions of assignment rows have in their groups; NONE if a partition does not
    exist.
    """
    listed = np.full(len(made.topics), NONE, np.int32)
    topics = fleet.topics
    for row in range(len(group_of_row)):
        g = group_of_row[row]
        entry = topics.offsets[g]
        for k in range(made.offsets[row], made.offsets[row + 1]):
            if entry == topics.offsets[g + 1] or topics.topics[entry] != made.topics[k]:
                entry = topics.offsets[g]
                while entry < topics.offsets[g + 1] and topics.topics[entry] != made.topics[k]:
                    entry += 1
            if entry < topics.offsets[g + 1] and made.partitions[k] < topics.partitions[entry]:
                listed[k] = topics.first_partition[entry] + made.partitions[k]
    return listed


def set_field(records: Records[Record], name: str, values: Ints | int) -> None:
    """Set a field of all records."""
    cast(Any, records)[name] = values


def field(records: Records[Record], name: str) -> np.ndarray:
    """Return a field of all records."""
    return np.asarray(records)[name]
