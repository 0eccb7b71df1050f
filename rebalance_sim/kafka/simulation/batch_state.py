"""Where the simulation of a batch of groups stands, and the room that it takes.

All groups share arrays: what belongs to one is found by where it begins. Rows of assignments are added as they are
made.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np

from rebalance_sim.kafka.coordinator.classic_group import (
    NONE,
    Answer,
    ClassicGroup,
    Config,
    Counter,
    Group,
    Member,
    Write,
)
from rebalance_sim.kafka.coordinator.consumer_group import ConsumerConfig
from rebalance_sim.kafka.groups import NO_GENERATION, Assignments
from rebalance_sim.kafka.kernel import kernel, kernel_written_out
from rebalance_sim.kafka.partitioners.thread_local_random import HIGH, LOW
from rebalance_sim.kafka.records import Record, Records, new_records, rows
from rebalance_sim.kafka.simulation.classic_simulation import (
    ROWS_OF_REBALANCES,
    Pause,
    timeline_room,
)
from rebalance_sim.kafka.simulation.event_queue import Event, Place, Queue
from rebalance_sim.kafka.simulation.fleet import Fleet, GroupTopics, Lists
from rebalance_sim.kafka.simulation.model import (
    LISTED_ROOM,
    ROWS,
    ROWS_ROOM,
    Consumer,
    Course,
    PartitionState,
    RebalanceRow,
    Simulation,
    TimelineRow,
    TopicState,
)
from rebalance_sim.kafka.simulation.settings import Settings
from rebalance_sim.kafka.simulation.timeline import REBALANCES, REBALANCES_ROOM, TIMELINE, TIMELINE_ROOM
from rebalance_sim.kafka.strings import Ints, Ints32

_FOR_ROOM = (Pause.ROOM_FOR_MEMBERS, Pause.ROOM_FOR_EVENTS, Pause.ROOM_FOR_ROWS)
_SPARE_MEMBERS = 4
_SPARE_EVENTS = 24
_EVENTS_A_CONSUMER = 8
_WRITES = 8


class BatchState(NamedTuple):
    """Where the simulation of a batch stands."""

    groups: Records[Group]
    members: Records[Member]
    first_member: Ints
    writes: Records[Write]
    answers: Records[Answer]
    answered: Records[Counter]
    courses: Records[Course]
    queues: Records[Queue]
    places: Records[Place]
    events: Records[Event]
    first_place: Ints
    topics: Records[TopicState]
    partitions: Records[PartitionState]
    random: Ints
    first_listed: Ints
    listed: Ints32
    """Numbers of partitions in their group."""
    listed_topics: Ints32
    listed_partitions: Ints32
    row_generations: Ints
    row_sets: Ints
    row_members: Ints
    row_subscriptions: Ints32
    rows: Ints
    """How many rows of assignments there are, and how many rows, and partitions in them, the arrays have room for."""
    rebalances: Records[RebalanceRow]
    timeline: Records[TimelineRow]
    written: Ints
    settings: Records[Settings]


@dataclass
class Simulated:
    """What became of the groups."""

    courses: Records[Course]
    groups: Records[Group]
    queues: Records[Queue]
    rebalances: Records[RebalanceRow]
    timeline: Records[TimelineRow]
    first_listed: Ints
    """Row r of the assignments, which ``Consumer.owned`` names, is ``first_listed[r]`` to ``first_listed[r + 1]``."""
    listed: Ints32
    """Numbers of partitions in their group, NONE for one that no topic has."""
    listed_topics: Ints32
    listed_partitions: Ints32
    consumers: Records[Consumer]
    partitions: Records[PartitionState]
    assignor_failures: Ints32
    """By group: the number of the ``Failure`` of the assignor that ended the simulation."""
    rounds: int


def simulated_so_far(state: BatchState, fleet: Fleet, failures: Ints32, rounds: int) -> Simulated:
    """Tell how the groups stand."""
    return Simulated(
        state.courses,
        state.groups,
        state.queues,
        state.rebalances[: state.written[REBALANCES]],
        state.timeline[: state.written[TIMELINE]],
        state.first_listed,
        state.listed,
        state.listed_topics,
        state.listed_partitions,
        fleet.of_consumers,
        state.partitions,
        failures,
        rounds,
    )


class Broker(NamedTuple):
    """What brokers are configured with, and by which rules they go."""

    config: Config
    consumer_config: ConsumerConfig
    rules: int
    """A number of CoordinatorRules."""
    map_rule: int


def broker_of(settings: Settings, rules: int, map_rule: int) -> Broker:
    """Return what the settings of a simulation say of brokers."""
    config = Config(
        settings.group_initial_rebalance_delay_ms,
        settings.group_max_size,
        settings.group_min_session_timeout_ms,
        settings.group_max_session_timeout_ms,
    )
    consumer_config = ConsumerConfig(
        settings.group_consumer_session_timeout_ms,
        settings.group_consumer_heartbeat_interval_ms,
        settings.group_consumer_max_size,
        settings.group_consumer_assignment_interval_ms,
    )
    return Broker(config, consumer_config, rules, map_rule)


def new_state(fleet: Fleet, settings: Settings) -> BatchState:
    """Make room for the groups of a fleet."""
    n_groups, n_consumers = len(fleet.members), len(fleet.of_consumers)
    sizes = np.diff(fleet.consumers)
    starts = np.diff(fleet.scenario)
    first_member = _firsts(sizes + starts + _SPARE_MEMBERS)
    first_place = _firsts(_EVENTS_A_CONSUMER * sizes + starts + _SPARE_EVENTS)
    largest = int(sizes.max(initial=0) + starts.max(initial=0))
    of_settings = new_records(Settings, 1)
    for name, value in vars(settings).items():
        setattr(of_settings[0], name, value)
    group_of_row = np.repeat(np.arange(n_groups, dtype=np.int32), fleet.members)
    row_sets = (np.cumsum(fleet.members, dtype=np.int64) - fleet.members)[group_of_row]
    any_followed = bool(fleet.followed.any())
    return BatchState(
        new_records(Group, n_groups),
        new_records(Member, int(first_member[-1])),
        first_member,
        new_records(Write, n_groups * _WRITES),
        new_records(Answer, 2 * largest + 16),
        new_records(Counter, 1),
        new_records(Course, n_groups),
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
        # One more than there are rows, so that even where nobody has been given anything there is a last one.
        np.append(fleet.generations[group_of_row], NO_GENERATION),
        np.append(row_sets, NONE),
        np.append(np.arange(len(row_sets)) - row_sets, NONE),
        _subscriptions_at_first(fleet, group_of_row, row_sets),
        np.array([len(group_of_row), 0, 0]),
        new_records(RebalanceRow, 8 * n_groups + int(starts.sum()) + 64),
        new_records(TimelineRow, 16 * n_consumers + 1024 if any_followed else 64),
        np.zeros(4, np.int64),
        of_settings,
    )


def _topic_states(topics: GroupTopics) -> Records[TopicState]:
    states = new_records(TopicState, len(topics.topics))
    set_field(states, "topic", topics.topics.astype(np.int64))
    set_field(states, "first", topics.first_partition.astype(np.int64))
    set_field(states, "partitions", topics.partitions.astype(np.int64))
    return states


def _subscriptions_at_first(fleet: Fleet, group_of_row: Ints32, row_sets: Ints) -> Ints32:
    consumers = fleet.consumers[group_of_row] + np.arange(len(row_sets)) - row_sets
    subscriptions = field(fleet.of_consumers, "subscription")[consumers].astype(np.int32)
    return np.append(_kept_subscriptions(fleet.subscriptions, subscriptions, fleet.assignments), np.int32(NONE))


def _firsts(sizes: Ints32) -> Ints:
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])


def _random_states(seeds: Ints) -> Ints:
    """Make the states of each group's random numbers: for all that is drawn, for its ids, and one to work with."""
    bits = seeds.view(np.uint64)
    states = np.zeros((len(seeds), 3, 2), np.int64)
    states[:, :2, HIGH] = (bits >> np.uint64(32)).astype(np.int64)[:, None]
    states[:, :2, LOW] = (bits & np.uint64(0xFFFFFFFF)).astype(np.int64)[:, None]
    states[:, 1, LOW] ^= 0x5DEECE66
    return states


def make_room(state: BatchState, fleet: Fleet, active: Ints32, pauses: Ints32) -> BatchState:
    """Make room where some group has asked for it."""
    if (pauses == Pause.ROOM_FOR_ROWS).any():
        state = state._replace(
            rebalances=_doubled(state.rebalances, RebalanceRow), timeline=_doubled(state.timeline, TimelineRow)
        )
    if (pauses == Pause.ROOM_FOR_MEMBERS).any():
        state = _with_more_members(state, active[pauses == Pause.ROOM_FOR_MEMBERS])
    if (pauses == Pause.ROOM_FOR_EVENTS).any():
        state = _with_more_events(state, active[pauses == Pause.ROOM_FOR_EVENTS])
    return note_room(state) if np.isin(pauses, _FOR_ROOM).any() else state


def _doubled(records: Records[Record], of: type[Record]) -> Records[Record]:
    larger = new_records(of, 2 * len(records))
    larger[: len(records)] = records
    return larger


def _with_more_members(state: BatchState, groups: Ints32) -> BatchState:
    """Give some groups room for twice as many ids."""
    sizes = np.diff(state.first_member)
    larger = sizes.copy()
    larger[groups] *= 2
    first = _firsts(larger)
    members = new_records(Member, int(first[-1]))
    for g in range(len(sizes)):
        members[first[g] : first[g] + sizes[g]] = state.members[state.first_member[g] : state.first_member[g + 1]]
    answers = new_records(Answer, max(len(state.answers), 2 * int(larger.max()) + 16))
    return state._replace(members=members, first_member=first, answers=answers)


def _with_more_events(state: BatchState, groups: Ints32) -> BatchState:
    """Give some groups room for twice as many events."""
    sizes = np.diff(state.first_place)
    larger = sizes.copy()
    larger[groups] *= 2
    first = _firsts(larger)
    places, events = new_records(Place, int(first[-1])), new_records(Event, int(first[-1]) + len(sizes))
    for g in range(len(sizes)):
        old, new, size = state.first_place[g], first[g], sizes[g]
        places[new : new + size] = state.places[old : old + size]
        events[new + g : new + g + size] = state.events[old + g : old + g + size]
        for k in range(size, larger[g]):
            places[new + k].event = k
    return state._replace(places=places, events=events, first_place=first)


@kernel_written_out
def one_simulation(state: BatchState, fleet: Fleet, broker: Broker, g: int) -> Simulation:
    """One of the groups."""
    return Simulation(
        ClassicGroup(
            rows(state.groups)[g],
            rows(state.members[state.first_member[g] :]),
            rows(state.writes[g * _WRITES :]),
            rows(state.answers),
            rows(state.answered),
            broker.config,
            broker.rules,
            broker.map_rule,
        ),
        rows(state.courses)[g],
        rows(state.queues)[g],
        rows(fleet.of_consumers[fleet.consumers[g] :]),
        rows(state.places[state.first_place[g] :]),
        rows(state.events[state.first_place[g] + g :]),
        rows(fleet.events[fleet.scenario[g] :]),
        rows(state.topics[fleet.topics.offsets[g] :]),
        rows(state.partitions[fleet.partitions[g] :]),
        rows(fleet.subscriptions.offsets),
        rows(fleet.subscriptions.topics),
        state.random[g],
        rows(fleet.id_hashes[fleet.consumers[g] :]),
        rows(state.first_listed),
        rows(state.listed),
        rows(state.row_sets),
        rows(state.row_members),
        rows(state.row_subscriptions),
        rows(fleet.remembered),
        rows(state.rebalances),
        rows(state.timeline),
        rows(state.written),
        rows(state.settings)[0],
        g,
    )


def note_room(state: BatchState) -> BatchState:
    """Let the groups know what there is room for."""
    set_field(state.groups, "member_places", np.diff(state.first_member))
    set_field(state.groups, "write_places", _WRITES)
    set_field(state.queues, "places", np.diff(state.first_place))
    state.written[REBALANCES_ROOM], state.written[TIMELINE_ROOM] = len(state.rebalances), len(state.timeline)
    by_row = (
        state.first_listed,
        state.row_generations,
        state.row_sets,
        state.row_members,
        state.row_subscriptions,
    )
    state.rows[ROWS_ROOM] = min(len(numbers) for numbers in by_row) - 1
    state.rows[LISTED_ROOM] = min(len(state.listed), len(state.listed_topics), len(state.listed_partitions))
    return state


def with_rows_to_write(state: BatchState, fleet: Fleet, due: Ints32) -> BatchState:
    """Make room for what all groups that go on will write before any of them asks for room."""
    followed = due[fleet.followed[due]]
    sizes = field(state.groups, "members")[followed] + np.diff(fleet.consumers)[followed]
    rebalances, timeline = state.rebalances, state.timeline
    while state.written[REBALANCES] + ROWS_OF_REBALANCES * len(due) > len(rebalances):
        rebalances = _doubled(rebalances, RebalanceRow)
    while state.written[TIMELINE] + sum(timeline_room(size) for size in sizes.tolist()) > len(timeline):
        timeline = _doubled(timeline, TimelineRow)
    return note_room(state._replace(rebalances=rebalances, timeline=timeline))


@kernel
def _kept_subscriptions(lists: Lists, subscriptions: Ints32, made: Assignments) -> Ints32:
    """Return the subscriptions for which rows of assignments were made; NONE where a row does not keep to it."""
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


class OfRows(NamedTuple):
    """What is known of rows of assignments beside what they list."""

    groups: Ints32
    generations: Ints
    sets: Ints32
    """The first of the rows that were made together, counted from the first new one."""
    numbers: Ints32
    """Members."""
    subscriptions: Ints32


def with_rows(state: BatchState, fleet: Fleet, of_rows: OfRows, made: Assignments) -> BatchState:
    """Add rows of assignments, one a member."""
    made = made._replace(topics=fleet.base_topics[made.topics])
    rows, end = int(state.rows[ROWS]), int(state.first_listed[state.rows[ROWS]])
    new_rows, new_end = rows + len(of_rows.groups), end + len(made.topics)
    state = with_assignments(state, len(of_rows.groups), len(made.topics))
    state.first_listed[rows : new_rows + 1] = end + made.offsets
    state.row_generations[rows:new_rows] = of_rows.generations
    state.row_sets[rows:new_rows] = rows + of_rows.sets
    state.row_members[rows:new_rows] = of_rows.numbers
    state.row_subscriptions[rows:new_rows] = _kept_subscriptions(fleet.subscriptions, of_rows.subscriptions, made)
    state.row_sets[new_rows] = state.row_members[new_rows] = NONE
    state.listed[end:new_end] = listed_in_groups(fleet, of_rows.groups, made)
    state.listed_topics[end:new_end] = made.topics
    state.listed_partitions[end:new_end] = made.partitions
    state.rows[ROWS] = new_rows
    return state


def with_assignments(state: BatchState, more_rows: int, more_listed: int) -> BatchState:
    """Make room for so many rows of assignments more, and so many partitions in them."""
    rows = int(state.rows[ROWS]) + more_rows
    end = int(state.first_listed[state.rows[ROWS]]) + more_listed
    return state._replace(
        first_listed=_with_room(state.first_listed, rows + 1),
        row_generations=_with_room(state.row_generations, rows + 1),
        row_sets=_with_room(state.row_sets, rows + 1),
        row_members=_with_room(state.row_members, rows + 1),
        row_subscriptions=_with_room(state.row_subscriptions, rows + 1),
        listed=_with_room(state.listed, end),
        listed_topics=_with_room(state.listed_topics, end),
        listed_partitions=_with_room(state.listed_partitions, end),
    )


def _with_room(numbers: np.ndarray, end: int) -> np.ndarray:
    """Make an array longer, by half at least, if it is not long enough."""
    if end <= len(numbers):
        return numbers
    longer = np.zeros(max(end, 3 * len(numbers) // 2), numbers.dtype)
    longer[: len(numbers)] = numbers
    return longer


@kernel
def listed_in_groups(fleet: Fleet, group_of_row: Ints32, made: Assignments) -> Ints32:
    """Number the partitions in rows of assignments as they are numbered in their groups; NONE for one that is not."""
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
    """Set one field of all records."""
    cast(Any, records)[name] = values


def field(records: Records[Record], name: str) -> np.ndarray:
    """Return one field of all records."""
    return np.asarray(cast(Any, records)[name])
