"""What a simulation keeps of one group: its consumers, who has which partition, and what is told of the course."""

from enum import IntEnum
from typing import NamedTuple

from rebalance_sim.kafka.coordinator.classic_group import ClassicGroup
from rebalance_sim.kafka.records import Records
from rebalance_sim.kafka.simulation.event_queue import Event, Place, Queue
from rebalance_sim.kafka.simulation.settings import Settings
from rebalance_sim.kafka.strings import Flags, Ints, Ints32

ROWS, ROWS_ROOM, LISTED_ROOM = range(3)
"""Places in ``BatchState.rows``: how many rows of assignments there are, and what there is room for."""


class Happening(IntEnum):
    """Kinds of ``Event``."""

    SCENARIO = 0
    """The next event of the scenario."""
    REQUEST = 1
    """A request arrives at the coordinator: REQUEST plus its ``Kind``."""
    LOOKUP = 8
    """FindCoordinator arrives at some broker."""
    ANSWER = 16
    """An answer arrives at a consumer: ANSWER plus its ``Kind``."""
    FOUND = 24
    WAKE = 32
    """The application's thread goes on."""
    BEAT = 33
    """It is time for a heartbeat."""
    POLL_EXPIRED = 34
    """max.poll.interval.ms has passed since the last poll."""
    METADATA = 35
    """The leader's metadata are refreshed."""
    WRITE_ENDS = 36
    LOADED = 37
    """A coordinator that moved has read the group from the log."""
    START = 38
    """A process starts."""


class Step(IntEnum):
    """What the application's thread is at."""

    POLLING = 0
    """It has its partitions and polls, or works on what it got."""
    STARTING = 1
    LOOKING_UP = 2
    BACKING_OFF = 3
    COMMITTING = 4
    """Before it gives up partitions."""
    REVOKING = 5
    JOINING = 6
    ASSIGNING = 7
    """It leads, and runs the assignor."""
    SYNCING = 8
    CLOSING = 9
    """It commits before it leaves."""
    STOPPED = 10


class MemberState(IntEnum):
    """``AbstractCoordinator.MemberState``."""

    UNJOINED = 0
    PREPARING_REBALANCE = 1
    COMPLETING_REBALANCE = 2
    STABLE = 3


class Presence(IntEnum):
    """Whether a consumer counts as one of the group, so that what it subscribes to is missed where nobody has it."""

    AWAY = 0
    """It has not joined yet, or is gone."""
    RUNS = 1
    RETURNS = 2
    """It is down, and will be started again."""
    LOST = 3
    """It has ended without leaving, and the coordinator still takes it for a member."""


class ScenarioKind(IntEnum):
    """Events of a scenario, by the names that the events table has."""

    JOIN = 0
    LEAVE = 1
    CRASH = 2
    RESTART = 3
    STALL = 4
    SUBSCRIBE = 5
    PROTOCOLS = 6
    GROW = 7
    MOVE_COORDINATOR = 8
    FAIL_STORE = 9


class ScenarioEvent:
    """An event of a scenario."""

    at_ms: int
    kind: int
    consumer: int
    value: int
    """down_ms, for_ms, the subscription, the list of protocols, the number of partitions, or the error."""
    topic: int
    """Of GROW: the topic, and the topic as it is afterwards."""
    grown_topic: int
    first: int
    """Of GROW: where the topic's partitions begin among those of the group, and how many there were."""
    before: int
    protocols: int
    """Of PROTOCOLS: the bits of the list, and whether who offers it follows the eager protocol."""
    eager: bool
    assignor: int
    """Of PROTOCOLS: as ``Consumer.assignor``."""


class Consumer:
    """A consumer: what its process knows, and what its configuration says."""

    instance: int
    protocol_type: int
    protocols: int
    preferences: int
    next_preferences: int
    """What it offers from its next start on, and the bits of that."""
    next_protocols: int
    next_eager: bool
    next_assignor: int
    assignor: int
    """The coordinator's assignor that it wishes for, if it follows KIP-848; NONE: it follows the classic protocol."""
    subscription: int
    presence: int
    session_timeout_ms: int
    rebalance_timeout_ms: int
    """max.poll.interval.ms."""
    eager: bool
    turn: int
    """How often it has been started or stopped."""
    step: int
    wakes: int
    """How often it has begun to wait for something."""
    beats: int
    """How often heartbeats have begun."""
    heartbeating: bool
    coordinator_known: bool
    state: int
    member: int
    generation: int
    leads: bool
    rejoin_needed: bool
    needs_join_prepare: bool
    joined_subscription: int
    topics_known: int
    """Events of the scenario that its metadata show."""
    topics_assigned: int
    """Those that they showed when it last led and assigned (``assignmentSnapshot``)."""
    owned: int
    """The row of the assignments that it works on; NONE where it has nothing."""
    last_assignment: int
    """The row that it got last by a protocol that remembers, whether it still has it or not: what sticky tells."""
    given: int
    """The row that the answer to SyncGroup holds, or that the leader's assignor has made."""
    polled_ms: int
    busy_until_ms: int
    stops_for_ms: int
    """How long it will be stopped, after it has closed; NONE: for good."""
    failure: int
    """The error that ended it."""


class TopicState:
    """A topic of the group."""

    topic: int
    first: int
    """Its first partition, and how many it has in the end."""
    partitions: int
    unwanted: bool
    """Whether no consumer of the group subscribes to it."""
    mark: int


class PartitionState:
    """A partition of the topics of the group."""

    counted: bool
    """Whether somebody has had it, or it was added: it is missed when nobody has it."""
    unwanted: bool
    """Whether no consumer of the group subscribes to its topic: then it is not."""
    owners: int
    owner: int
    """The consumer that had it last, and the one before."""
    owner_before: int
    mark: int
    missed_ms: int
    """Since when it is missed, if it is."""
    paused: int
    """Milliseconds for which it was, up to the last time that somebody took it."""
    moved: int


class Course:
    """How the group fares."""

    consumers: int
    """How many consumers, events of the scenario, topics, and partitions of them there are."""
    events: int
    topics: int
    partitions: int

    up: bool
    """Whether there is a coordinator."""
    store_error: int
    next_event: int
    last_event_ms: int
    changed_ms: int
    """When the group last changed its state, or a consumer its partitions."""
    settled: bool
    """Whether it is stable and somebody has each partition."""
    settled_ms: int
    unowned: int
    """Partitions that nobody has."""
    counted_ms: int
    """Up to when ``paused`` is counted."""
    paused: int
    """Milliseconds, times partitions, that nobody had them."""
    rebalance: int
    """The row of the rebalance that goes on; NONE where there is none."""
    assignments: int
    """The first row of the assignments of the generation that has been elected."""
    revoking: int
    """The consumer that gives up what it subscribes to no more; NONE where there is none."""
    lost: int
    """Consumers that have ended and that the coordinator still takes for members."""
    writes: int
    """Writes that have been begun and have their end planned."""
    modern: bool
    """Whether it is a group of KIP-848 now."""
    loads: int
    """How often a coordinator has given the group up."""
    begun: int
    state: int
    """The group's state as it was last looked at."""
    completed: int
    revoked: int
    moved: int
    moved_back: int
    messages: int
    failed: int
    failure: int
    """The first error that ended a consumer, whose, when, and after which event of the scenario."""
    failed_consumer: int
    failed_ms: int
    failed_event: int
    followed: bool
    """Whether its timeline is told."""
    marks: int
    paused_before: int
    revoked_before: int
    moved_before: int
    evicted_before: int
    metadata_due: bool
    finished: bool
    quiet_ms: int


class Subject(IntEnum):
    """What a row of the timeline tells."""

    EVENT = 0
    STATE = 1
    REQUEST = 2
    ANSWER = 3
    STARTED = 4
    STOPPED = 5
    FAILED = 6
    REVOKED = 7
    LOST = 8
    ASSIGNED = 9
    POLL_EXPIRED = 10
    STORED = 11


class TimelineRow:
    """Something that happened."""

    group: int
    at_ms: int
    subject: int
    consumer: int
    member: int
    kind: int
    """Of a request, an answer or an event; the reason for a state."""
    error: int
    generation: int
    state: int
    """The group's state after it."""
    modern: bool
    """Whether that is a state of KIP-848."""
    partitions: int


class RebalanceRow:
    """A rebalance."""

    group: int
    from_ms: int
    joined_ms: int
    to_ms: int
    """When the group was stable; NONE if it did not come to that."""
    settled_ms: int
    reason: int
    member: int
    consumer: int
    generation: int
    protocol: int
    leader: int
    leading_consumer: int
    joined: int
    evicted: int
    revoked: int
    moved: int
    paused: int


class Simulation(NamedTuple):
    """One group with its consumers."""

    coordinator: ClassicGroup
    course: Course
    queue: Queue
    consumers: Records[Consumer]
    places: Records[Place]
    events: Records[Event]
    scenario: Records[ScenarioEvent]
    topics: Records[TopicState]
    """In ascending order."""
    partitions: Records[PartitionState]
    first_subscribed: Ints32
    """Subscription k names the topics ``first_subscribed[k]`` to ``first_subscribed[k + 1]`` of ``subscribed``."""
    subscribed: Ints32
    random: Ints
    """States of random numbers: a row for all that is drawn, one for the ids, and one to work with."""
    id_hashes: Ints
    """By consumer: ``hashCode`` of what the ids made up for it begin with."""
    first_listed: Ints
    """Row r of the assignments holds ``first_listed[r]`` to ``first_listed[r + 1]`` of ``listed``."""
    listed: Ints32
    row_sets: Ints
    """Of each row: the first one that was made with it, and the member it was made for. Behind the last one: NONE."""
    row_members: Ints
    row_subscriptions: Ints32
    """A subscription to which each row keeps, if it keeps to the one that it was made for; else NONE."""
    remembered: Flags
    """By protocol: whether consumers remember what they were assigned by it."""
    rebalances: Records[RebalanceRow]
    timeline: Records[TimelineRow]
    written: Ints
    """Rows of rebalances and of the timeline that are filled, and that there is room for."""
    settings: Settings
    group: int
    """Its number in the batch."""
