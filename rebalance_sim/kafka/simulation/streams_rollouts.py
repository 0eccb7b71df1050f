"""Simulates streams groups (KIP-1071): threads of Kafka Streams beat, and the coordinator's rules answer.

An event happens to a process, with all its threads: each is a member. A thread sends a heartbeat every
``group.streams.heartbeat.interval.ms`` and, once it has followed an answer, at once: it revokes active tasks in its
next poll, takes what it gets, and reports what it has if that has changed. The group's becoming ready or not ready is
such a change, too (``StreamsMembershipManager``). A process that is closed lets its members leave, whatever
``internal.leave.group.on.close`` says. Its static members say that they will be back (4.4): they keep their tasks until
they are, or their sessions end. A task is unavailable while no member runs it as an active task.

Assumed: a task is available as soon as a member has it, so that restoring its state takes no time; processes that start
have no state on their disks; a process with state keeps its id when it restarts, as its state directory has it;
changelog topics that are not known exist, and do not grow.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rebalance_sim.kafka.coordinator.consumer.consumer_group import EpochReason
from rebalance_sim.kafka.coordinator.streams.streams_group import (
    ASSIGNMENT_DELAYED,
    LEAVE_EPOCH,
    NO_TASKS,
    STATIC_LEAVE_EPOCH,
    StreamsAnswer,
    StreamsConfig,
    StreamsGroup,
    StreamsGroupMember,
    StreamsHeartbeat,
    Tasks,
)
from rebalance_sim.kafka.coordinator.streams.topology import NOT_READY, Task, Topology
from rebalance_sim.kafka.simulation.group_events import GroupEvent
from rebalance_sim.kafka.simulation.heartbeat_groups import JOIN_EPOCH, HeartbeatSimulation, Process, RolloutOutcome
from rebalance_sim.kafka.simulation.model import Subject
from rebalance_sim.kafka.simulation.settings import MAX_POLL_INTERVAL_MS, SimulationSettings
from rebalance_sim.kafka.simulation.streams_targets import StreamsTargets
from rebalance_sim.releases import KafkaVersion

_DELAYED = NOT_READY | {ASSIGNMENT_DELAYED}


@dataclass(frozen=True)
class StreamsThread:
    """A thread of a process, and a member of the group."""

    name: str
    process: int
    """The number of its process, by which events name it."""
    process_id: str
    tasks: Tasks = NO_TASKS
    is_member: bool = True
    """Whether it is a member when the simulation begins."""
    instance_id: str | None = None
    """That of a static member, which exists since 4.4."""


@dataclass(frozen=True)
class StreamsSetUp:
    """A streams group, and what happens to it."""

    threads: Sequence[StreamsThread]
    """In the order in which they joined."""
    topology: Topology
    topics: Mapping[str, int]
    """The topics that exist, with their numbers of partitions."""
    events: Sequence[GroupEvent]
    """In the order in which they happen. An event that waits is the first of its stage, from whose end the others
    count their time."""
    version: KafkaVersion
    settings: SimulationSettings
    standby_replicas: int = 0
    seed: int = 0


@dataclass
class _Thread(Process):
    """A thread while it runs, and what it knows."""

    has: tuple[Tasks, bool] | None = None
    """Its tasks, and whether the group is ready; None if it is about to join."""
    wants: tuple[Tasks, bool] = (NO_TASKS, True)
    """The same of the last answer."""
    sent: tuple[Tasks, bool] | None = None
    """The same of its last report."""
    follows: bool = False
    """Whether it is about to follow an answer."""
    started_ms: int | None = None
    """When it last started; None if it has run from the beginning."""


def simulate_streams_group(set_up: StreamsSetUp) -> RolloutOutcome:
    """Simulate a group until nothing has changed for a while after its last event.

    The group begins stable, in epoch 1: its members have the target assignment that the coordinator computes from what
    they have.
    """
    return _Simulation(set_up).run()


class _Simulation(HeartbeatSimulation[StreamsHeartbeat, StreamsAnswer]):
    def __init__(self, set_up: StreamsSetUp) -> None:
        self._set_up, self._topics = set_up, dict(set_up.topics)
        settings = set_up.settings
        self._interval_ms = settings.group_streams_heartbeat_interval_ms
        self._session_ms = settings.group_streams_session_timeout_ms
        config = StreamsConfig(
            group_streams_session_timeout_ms=self._session_ms,
            group_streams_heartbeat_interval_ms=self._interval_ms,
            group_streams_num_standby_replicas=set_up.standby_replicas,
            group_streams_initial_rebalance_delay_ms=settings.group_streams_initial_rebalance_delay_ms,
            group_streams_assignment_interval_ms=settings.group_streams_assignment_interval_ms,
        )
        self._streams = StreamsGroup(config, set_up.version.streams_groups, StreamsTargets(set_up.version))
        self._threads = [_Thread() for _ in set_up.threads]
        self._overdue: set[str] = set()
        super().__init__(self._streams, self._threads, set_up.events, settings, set_up.seed)
        self._sharing.counts_returns = False

    def _begin(self) -> Mapping[str, frozenset[Task]]:
        members = {}
        for place, each in enumerate(self._set_up.threads):
            if each.is_member:
                self._by_member[each.name] = place
                member = StreamsGroupMember(each.process_id, instance_id=each.instance_id, assigned=each.tasks)
                members[each.name] = replace(member, rebalance_timeout_ms=MAX_POLL_INTERVAL_MS)
        self._streams.begin(members, self._set_up.topology, self._topics, 1)
        for name, member in self._streams.members.items():
            thread = self._threads[self._by_member[name]]
            thread.has = thread.wants = thread.sent = (member.assigned, True)
        return {name: member.assigned.active for name, member in self._streams.members.items()}

    def _places(self, consumer: int) -> Sequence[int]:
        return [place for place, each in enumerate(self._set_up.threads) if each.process == consumer]

    def _available(self) -> int:
        threads = zip(self._set_up.threads, self._threads, strict=True)
        missing = {each.process for each, thread in threads if not thread.is_available}
        return len({each.process for each in self._set_up.threads} - missing)

    def _subscribed(self) -> frozenset[str]:
        return frozenset(self._set_up.topology.subtopologies)

    def _grow(self, event: GroupEvent) -> None:
        parts = self._set_up.topology.subtopologies
        sources = {topic for part in parts.values() for topic in part.sources}
        before = self._set_up.topology.tasks(self._topics)
        for name in [event.topic] if event.topic is not None else sources:
            if name in self._topics:
                self._topics[name] = max(event.partitions or self._topics[name] + event.value, self._topics[name])
        for name, count in self._set_up.topology.tasks(self._topics).items():
            self._sharing.add([(name, p) for p in range(before[name], count)], self._now, is_tracked=True)
        self._streams.see_topics(self._topics)

    def _start(self, place: int) -> None:
        if not self._threads[place].runs:
            self._threads[place].started_ms = self._now
        super()._start(place)

    def _forget(self, place: int) -> None:
        thread = self._threads[place]
        thread.epoch, thread.has, thread.sent, thread.follows = JOIN_EPOCH, None, None, False

    def _request(self, place: int) -> StreamsHeartbeat:
        thread, own = self._threads[place], self._set_up.threads[place]
        if thread.has is None:
            joining = thread.member_id, JOIN_EPOCH, self._process_id(place), self._set_up.topology
            return StreamsHeartbeat(*joining, MAX_POLL_INTERVAL_MS, NO_TASKS, own.instance_id)
        owned = None if thread.has == thread.sent else thread.has[0]
        thread.sent = thread.has
        return StreamsHeartbeat(thread.member_id, thread.epoch, owned=owned, instance_id=own.instance_id)

    def _process_id(self, place: int) -> str:
        """Return the id of a thread's process: it is kept with the state (``StateDirectory.initializeProcessId``)."""
        process_id, started_ms = self._set_up.threads[place].process_id, self._threads[place].started_ms
        has_state = any(part.is_stateful for part in self._set_up.topology.subtopologies.values())
        return process_id if has_state or started_ms is None else f"{process_id}-{started_ms}"

    def _leaving(self, member_id: str) -> StreamsHeartbeat:
        instance_id = self._set_up.threads[self._by_member[member_id]].instance_id
        if instance_id is None:
            return StreamsHeartbeat(member_id, LEAVE_EPOCH)
        return StreamsHeartbeat(member_id, STATIC_LEAVE_EPOCH, instance_id=instance_id)

    def _answer(self, request: StreamsHeartbeat) -> StreamsAnswer:
        return self._streams.heartbeat(request, self._now)

    def _follow(self, place: int, answer: StreamsAnswer) -> None:
        thread = self._threads[place]
        tasks = thread.wants[0] if answer.assigned is None else answer.assigned
        thread.wants = tasks, _DELAYED.isdisjoint(answer.statuses)
        self._reconcile(place)

    def _reconcile(self, place: int) -> None:
        """Follow the last answer from the next poll on, unless the thread follows another one already."""
        thread = self._threads[place]
        if thread.follows or thread.has == thread.wants:
            return
        thread.follows, incarnation, wants = True, thread.incarnation, thread.wants

        def is_over() -> bool:
            return thread.incarnation != incarnation or not thread.follows

        def revoke() -> None:
            if is_over():
                return
            kept = thread.partitions & wants[0].active
            revoke_ms = 0
            if kept != thread.partitions:
                self._note(Subject.REVOKED, place, partitions=self._have(place, kept))
                revoke_ms = self._settings.revoke_ms
                self._changed_ms += revoke_ms
            self._at(self._now + revoke_ms, take)

        def take() -> None:
            if is_over():
                return
            thread.follows, thread.has = False, wants
            if wants[0].active != thread.partitions:
                self._assign(place, wants[0].active)
            self._beat(place)
            self._reconcile(place)
            self._rest()

        self._at(self._now + self._random.randint(0, self._settings.poll_interval_ms), revoke)

    def _have_all(self) -> bool:
        return self._streams.is_stable and all(
            self._threads[self._by_member[name]].partitions == member.assigned.active
            for name, member in self._streams.members.items()
        )

    def _watch(self) -> None:
        """Look earlier if a timer ends before those that are watched: to revoke tasks, or the first assignment's."""
        due_ms = self._streams.next_timer_ms()
        if self._watched_ms is None or (due_ms is not None and due_ms < self._watched_ms):
            self._look_at(due_ms)

    def _expire(self) -> None:
        due_ms = self._streams.next_timer_ms()
        if due_ms is None or due_ms > self._now:
            return
        self._overdue = {name for name in self._streams.members if self._streams.is_overdue(name, self._now)}
        super()._expire()

    def _eviction(self, member_id: str) -> EpochReason:
        return EpochReason.REBALANCE_TIMED_OUT if member_id in self._overdue else super()._eviction(member_id)
