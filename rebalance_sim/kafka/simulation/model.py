"""The state of one simulated group: its consumers, the owner of each partition, and the figures and rows to report."""

from enum import IntEnum
from typing import NamedTuple

from rebalance_sim.kafka.coordinator.classic.classic_group import ClassicGroup
from rebalance_sim.kafka.runtime.records import Records
from rebalance_sim.kafka.runtime.strings import Flags, Ints, Ints32
from rebalance_sim.kafka.simulation.event_queue import Event, Place, Queue
from rebalance_sim.kafka.simulation.settings import SimulationSettings


class EventKind(IntEnum):
    """Kinds of pending events."""

    SCENARIO = 0
    """The next event of the scenario."""
    REQUEST = 1
    """A request reaches the coordinator; the kind is REQUEST plus its ``RequestKind``."""
    LOOKUP = 8
    """A FindCoordinator request reaches a broker."""
    ANSWER = 16
    """A response reaches a consumer; the kind is ANSWER plus its ``RequestKind``."""
    COORDINATOR_FOUND = 24
    """The response to FindCoordinator reaches a consumer."""
    WAKE = 32
    """The wait of the application's thread ends."""
    HEARTBEAT_DUE = 33
    """The heartbeat timer of a consumer has expired."""
    POLL_EXPIRED = 34
    """max.poll.interval.ms has passed since the last poll."""
    METADATA_REFRESH = 35
    """metadata.max.age.ms has passed: the consumer sees new partitions."""
    WRITE_ENDS = 36
    """A write to __consumer_offsets is acknowledged, or fails."""
    LOADED = 37
    """The new coordinator has loaded the group from the log."""
    START = 38
    """A stopped process starts again."""
    AVAILABLE = 39
    """A pod has been ready for ``ready_ms``."""


class ConsumerStep(IntEnum):
    """The step that the application's thread of a consumer is in."""

    POLLING = 0
    """It is between two polls, or in one that has nothing to do for the group."""
    STARTING = 1
    """It has not polled yet."""
    LOOKING_UP = 2
    """It waits for the response to FindCoordinator."""
    BACKING_OFF = 3
    """It waits for retry.backoff.ms."""
    COMMITTING = 4
    """It waits for the auto-commit that precedes a revocation."""
    REVOKING = 5
    """It runs ``onPartitionsRevoked`` or ``onPartitionsLost``."""
    JOINING = 6
    ASSIGNING = 7
    """It is the leader, and runs the assignor."""
    SYNCING = 8
    CLOSING = 9
    """It waits for the auto-commit of ``close``."""
    STOPPED = 10
    """The process does not run."""


class MemberState(IntEnum):
    """``AbstractCoordinator.MemberState``."""

    UNJOINED = 0
    PREPARING_REBALANCE = 1
    COMPLETING_REBALANCE = 2
    STABLE = 3


class Presence(IntEnum):
    """Whether a consumer counts as part of the group, so that partitions of its topics are unowned while they have no
    owner.
    """

    AWAY = 0
    """It has not joined yet, or has left and will not return."""
    RUNS = 1
    RETURNS = 2
    """It is down and will start again."""
    LOST = 3
    """It ended without leaving, and the coordinator has not removed its member yet."""


class ScenarioKind(IntEnum):
    """Kinds of scenario events, as the events table names them."""

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
    NEXT_BOUNCE = 10
    """The bounce is over: all consumers are members again, and every partition has an owner."""
    PODS_AVAILABLE = 11
    """``value`` consumers of the rollout's new pods are available."""


class ScenarioEvent:
    """An event of the scenario that concerns this group."""

    at_ms: int
    delay_ms: int
    kind: int
    consumer: int
    value: int
    """down_ms, for_ms, the subscription, the list of protocols, the number of partitions, or the error."""
    topic: int
    grown_topic: int
    """For GROW: the topic, and the number of the topic in its grown state."""
    first: int
    before: int
    """For GROW: the topic's first partition among those of the group, and its previous partition count."""
    protocols: int
    eager: bool
    """For PROTOCOLS: the bits of the list, and whether a consumer that offers it uses the eager rebalance protocol."""
    assignor: int
    """For PROTOCOLS: like ``Consumer.assignor``."""
    reached_ms: int
    rebalances: int
    unowned_ms: int
    moved: int
    moved_back: int
    failed: int
    """For NEXT_BOUNCE: the end of the bounce, and the figures of ``GroupProgress`` then. The simulation sets them."""


class Consumer:
    """A consumer process and its configuration."""

    instance: int
    protocol_type: int
    protocols: int
    preferences: int
    next_preferences: int
    next_protocols: int
    """The list of protocols that the consumer offers from its next start on, and its bits."""
    next_eager: bool
    next_assignor: int
    assignor: int
    """The server-side assignor that the consumer prefers (``group.remote.assignor``); NONE: it uses the classic
    protocol."""
    subscription: int
    presence: int
    session_timeout_ms: int
    rebalance_timeout_ms: int
    """max.poll.interval.ms, which is also the rebalance timeout of the member."""
    start_ms: int
    """From the start of the process to its first poll."""
    revoke_ms: int
    """How long ``onPartitionsRevoked`` and ``onPartitionsLost`` take."""
    assignor_ms: int
    """How long the assignor takes if this consumer is the leader."""
    eager: bool
    incarnation: int
    """Counts starts and stops of the process: events of an earlier incarnation are void."""
    step: int
    """A ``ConsumerStep``."""
    waits: int
    """Counts the waits of the application's thread: the end of an earlier wait is void."""
    heartbeat_series: int
    """Counts the starts of the heartbeat timer: earlier timers are void."""
    heartbeating: bool
    """Whether the heartbeat thread is enabled (``AbstractCoordinator.HeartbeatThread.enable``)."""
    coordinator_known: bool
    state: int
    """A ``MemberState``."""
    member: int
    """The member's number at the coordinator; NONE without a member id."""
    generation: int
    """The generation or member epoch."""
    is_leader: bool
    rejoin_needed: bool
    """``AbstractCoordinator.rejoinNeeded``."""
    needs_join_prepare: bool
    """``AbstractCoordinator.needsJoinPrepare``."""
    joined_subscription: int
    """``ConsumerCoordinator.joinedSubscription``."""
    metadata_events: int
    """How many events of the scenario are reflected in its cluster metadata."""
    assigned_metadata_events: int
    """How many events were reflected in the metadata of its last assignment as leader
    (``ConsumerCoordinator.assignmentSnapshot``)."""
    owned: int
    """The assignment row of the partitions that it owns; NONE without partitions."""
    last_assignment: int
    """The row that an assignor with a memory last received, owned or not: the user data of ``StickyAssignor``."""
    assignor_output: int
    """The first assignment row that its own assignor has produced as leader, to be sent with SyncGroup."""
    last_poll_ms: int
    busy_until_ms: int
    """End of a stall: no poll before."""
    down_ms: int
    """How long it stays stopped after ``close``; NONE: forever."""
    failure: int
    """The error that ended it."""
    unready: bool
    """Whether it runs in a new pod of a rollout that is not ready yet."""
    available: bool
    """Whether it runs in a new pod of a rollout that is available."""


class TopicState:
    """A topic of the group."""

    topic: int
    first: int
    partitions: int
    """Its first partition among those of the group, and its final partition count."""
    unsubscribed: bool
    """Whether no consumer of the group subscribes to it."""
    mark: int
    """Scratch space: equals ``GroupProgress.marks`` if it is in the set being built."""


class PartitionState:
    """A partition of a topic of the group."""

    tracked: bool
    """Whether it has had an owner, or was added by growth; without that it never counts as unowned."""
    unsubscribed: bool
    """Whether no consumer of the group subscribes to its topic; then it does not count as unowned either."""
    owners: int
    """How many consumers work on it now."""
    owner: int
    owner_before: int
    """The last consumer that owned it, and the consumer that owned it before."""
    mark: int
    unowned_since_ms: int
    """Start of the current unowned time."""
    unowned_ms: int
    """Total unowned time, up to the last change of owner."""
    moved: int
    """How often it went to another consumer."""


class GroupProgress:
    """The progress of a group's simulation, and the figures that are reported."""

    consumers: int
    events: int
    topics: int
    partitions: int
    """Number of consumers, scenario events, topics, and partitions of these topics."""

    up: bool
    """Whether the group has a coordinator."""
    store_error: int
    """The error of writes to __consumer_offsets."""
    next_event: int
    waits: bool
    """Whether the next event happens only when its condition is met (``scenario_clock``)."""
    stage_ms: int
    """When the last wait ended: the events count their time from there."""
    awaits_pods: bool
    """Whether the next event that waits does so for pods."""
    available: int
    """Number of consumers whose new pods are available."""
    first_event_ms: int
    """Time of the first event; NEVER before."""
    last_event_ms: int
    changed_ms: int
    """When the group last changed its state, or a consumer its partitions."""
    stable: bool
    """Whether the group is stable and all of its partitions are owned."""
    all_owned_ms: int
    unowned_partitions: int
    """Number of partitions that are unowned now."""
    unowned_counted_to_ms: int
    """Until when ``unowned_ms`` is counted."""
    unowned_ms: int
    """Unowned time, summed over partitions."""
    rebalance: int
    """The row of the rebalance in progress; NONE without one."""
    assignments: int
    """The first assignment row of the elected generation."""
    decided: bool
    """Whether the batch has decided what the group paused for: the following three fields."""
    decided_protocol: int
    """The elected protocol, or that of the target assignment, by its number in the group."""
    decided_row: int
    """The first assignment row of the elected generation, or what the revoking consumer keeps."""
    assignor_failed: bool
    revoking: int
    """The cooperative consumer that revokes what it no longer subscribes to; NONE without one."""
    lost: int
    """Number of consumers with ``Presence.LOST``."""
    writes: int
    """Number of the coordinator's writes whose end is scheduled."""
    modern: bool
    """Whether the group is a consumer-protocol group now."""
    loads: int
    """Counts coordinator changes: writes and loads of an earlier coordinator are void."""
    begun: int
    """Number of rebalances that have begun."""
    state: int
    """The group's state when it was last compared (``timeline.record_rebalances``)."""
    completed: int
    """Number of rebalances that ended in a stable group."""
    revoked: int
    moved: int
    moved_back: int
    messages: int
    failed: int
    """Number of consumers that an error ended."""
    failure: int
    failed_consumer: int
    failed_ms: int
    failed_event: int
    """The first error that ended a consumer, the consumer, the time, and the last scenario event before it."""
    followed: bool
    """Whether its timeline is recorded."""
    uses_consumer_protocol: bool
    """Whether a consumer uses the consumer protocol at some time."""
    marks: int
    """Number of the last mark, see ``TopicState.mark``."""
    unowned_ms_before: int
    revoked_before: int
    moved_before: int
    evicted_before: int
    """The totals when the previous rebalance row was closed."""
    metadata_due: bool
    """Whether a consumer is still to see a growth."""
    finished: bool
    rests: bool
    """Whether nothing but heartbeats was to come when it ended, so that it would change only if a session expired."""
    quiet_ms: int
    """How long nothing may happen before the simulation ends."""


class Subject(IntEnum):
    """The subject of a row of the timeline."""

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
    """One event in the timeline of a group."""

    group: int
    at_ms: int
    subject: int
    consumer: int
    member: int
    kind: int
    """The kind of an event, a request or an answer; the reason for a state."""
    error: int
    generation: int
    state: int
    """The group's state after the event."""
    modern: bool
    """Whether that is a state of a consumer-protocol group."""
    partitions: int


class RebalanceRow:
    """A rebalance: from the first member that joins or leaves until all partitions are owned."""

    group: int
    modern: bool
    """Whether it is a new epoch of a consumer-protocol group, in which no member stops consuming (KIP-848)."""
    from_ms: int
    joined_ms: int
    to_ms: int
    """When the group became stable; NONE if it did not."""
    all_owned_ms: int
    reason: int
    member: int
    consumer: int
    generation: int
    protocol: int
    leader: int
    leading_consumer: int
    joined: int
    """Number of members of the new generation."""
    evicted: int
    revoked: int
    moved: int
    unowned_ms: int


class WrittenRows:
    """How many rows the groups of a batch have written together, and the capacity of the arrays."""

    assignments: int
    assignments_capacity: int
    listed_capacity: int
    """Capacity of the assignment rows in partitions."""
    rebalances: int
    rebalances_capacity: int
    timeline: int
    timeline_capacity: int


class Simulation(NamedTuple):
    """One group with its consumers."""

    coordinator: ClassicGroup
    progress: GroupProgress
    queue: Queue
    consumers: Records[Consumer]
    places: Records[Place]
    events: Records[Event]
    scenario: Records[ScenarioEvent]
    topics: Records[TopicState]
    """In ascending order."""
    partitions: Records[PartitionState]
    first_subscribed: Ints32
    """Subscription k lists the topics ``first_subscribed[k]`` to ``first_subscribed[k + 1]`` of ``subscribed``."""
    subscribed: Ints32
    random: Ints
    """States of random numbers: a row for all that is drawn, one for member ids, and a scratch row."""
    id_hashes: Ints
    """By consumer: ``hashCode`` of the prefix of its generated member ids."""
    first_listed: Ints
    """Assignment row r lists the partitions ``first_listed[r]`` to ``first_listed[r + 1]`` of ``listed``."""
    listed: Ints32
    row_sets: Ints
    """By assignment row: the first row of the same assignment, and the member that the row is for. Behind the last
    row: NONE."""
    row_members: Ints
    row_subscriptions: Ints32
    """By assignment row: the subscription it was made for if it lists topics of that alone, else NONE."""
    remembered: Flags
    """By protocol: whether the assignor remembers the last assignment of its member."""
    rebalances: Records[RebalanceRow]
    timeline: Records[TimelineRow]
    written: WrittenRows
    settings: SimulationSettings
    group: int
    """Its number in the batch."""
