"""Simulates groups whose members only send heartbeats, on their own clock: share groups and streams groups.

A member sends a heartbeat in a fixed interval and, once it has followed an answer, at once. It leaves with a heartbeat,
or its session ends. The other members are not notified: each learns of its new target in its own next heartbeat.
"""

import base64
import heapq
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any, Generic, TypeVar

from rebalance_sim.kafka.coordinator.consumer.consumer_group import EpochReason
from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.coordinator.share.share_group import ShareAnswer, ShareGroup, ShareHeartbeat
from rebalance_sim.kafka.coordinator.streams.streams_group import StreamsAnswer, StreamsGroup, StreamsHeartbeat
from rebalance_sim.kafka.simulation.group_events import GroupEvent
from rebalance_sim.kafka.simulation.model import ScenarioKind, Subject
from rebalance_sim.kafka.simulation.settings import MAX_POLL_INTERVAL_MS, SimulationSettings
from rebalance_sim.kafka.simulation.sharing import Sharing

JOIN_EPOCH = 0
ROLLOUT_EVENTS = frozenset(
    {
        *(ScenarioKind.JOIN, ScenarioKind.LEAVE, ScenarioKind.CRASH, ScenarioKind.RESTART, ScenarioKind.STALL),
        *(ScenarioKind.GROW, ScenarioKind.NEXT_BOUNCE, ScenarioKind.PODS_AVAILABLE),
    }
)
"""Events that both kinds of groups can go through."""
_WAITS = (ScenarioKind.NEXT_BOUNCE, ScenarioKind.PODS_AVAILABLE)
_UUID_BYTES = 16

Partition = tuple[str, int]
"""Topic and partition, or subtopology and partition."""


@dataclass
class EpochRow:
    """An epoch of the group: until all members have its target assignment, or the next one begins."""

    reason: EpochReason
    consumer: int | None
    from_ms: int
    epoch: int
    assigned_ms: int | None = None
    """When its target assignment was computed."""
    to_ms: int | None = None
    all_owned_ms: int | None = None
    members: int = 0
    revoked: int = 0
    moved: int = 0
    evicted: int = 0
    unowned_ms: int = 0


@dataclass(frozen=True)
class StepRow:
    """A step of the timeline."""

    at_ms: int
    subject: Subject
    consumer: int | None
    epoch: int
    state: str
    detail: str | None = None
    error: str | None = None
    partitions: int | None = None
    value: int | None = None


@dataclass(frozen=True)
class FailedConsumer:
    """A consumer that stops with a fatal error."""

    consumer: int
    error: Errors
    at_ms: int


@dataclass
class RolloutOutcome:
    """The result of a simulation."""

    sharing: Sharing
    epochs: list[EpochRow] = field(default_factory=list)
    steps: list[StepRow] = field(default_factory=list)
    owned: dict[int, frozenset[Partition]] = field(default_factory=dict)
    """By consumer that runs at the end."""
    messages: int = 0
    evicted: int = 0
    failed: list[FailedConsumer] = field(default_factory=list)
    """The consumers that an error stops."""
    is_stable: bool = False
    awaited: GroupEvent | None = None
    """The event that the rollout never reaches."""
    first_event_ms: int | None = None
    stable_since_ms: int = 0
    ended_ms: int = 0


@dataclass
class Process:
    """A member while it runs, and what it knows."""

    start_ms: int | None = None
    max_poll_interval_ms: int | None = None
    member_id: str = ""
    runs: bool = False
    returns: bool = False
    is_lost: bool = False
    """Whether it ended without leaving, and the coordinator has not removed its member yet."""
    incarnation: int = 0
    epoch: int = JOIN_EPOCH
    partitions: frozenset[Partition] = frozenset()
    """What it processes."""
    beats: int = 0
    """Counts heartbeats: the timer of an earlier one is void."""
    is_unready: bool = False
    """Whether it runs in a new pod of a rollout that is not ready yet."""
    is_available: bool = False


Request = TypeVar("Request", bound=ShareHeartbeat | StreamsHeartbeat)
Answer = TypeVar("Answer", bound=ShareAnswer | StreamsAnswer)


class HeartbeatSimulation(ABC, Generic[Request, Answer]):
    """Simulates a group until nothing has changed for a while after its last event."""

    _interval_ms: int
    """The time between two heartbeats."""
    _session_ms: int
    """How long a member may send no heartbeat."""

    def __init__(
        self,
        group: ShareGroup | StreamsGroup,
        processes: Sequence[Process],
        events: Sequence[GroupEvent],
        settings: SimulationSettings,
        seed: int,
    ) -> None:
        self._group, self._processes = group, processes
        self._events, self._settings = events, settings
        self._random = random.Random(seed)
        self._by_member: dict[str, int] = {}
        self._queue: list[tuple[int, int, Callable[[], None]]] = []
        self._numbers = count()
        self._now = self._changed_ms = self._last_event_ms = self._stage = 0
        self._sharing = Sharing()
        self._outcome = RolloutOutcome(self._sharing)
        self._totals_before = (0, 0, 0)
        self._watched_ms: int | None = None
        self._awaited: GroupEvent | None = None
        self._awaits_pods = self._is_interrupted = False

    # ---- what kinds of groups do in different ways

    @abstractmethod
    def _begin(self) -> Mapping[str, frozenset[Partition]]:
        """Let the group be stable, and return what its members process."""

    def _places(self, consumer: int) -> Sequence[int]:
        """Return the members to which an event happens."""
        return [consumer]

    @abstractmethod
    def _subscribed(self) -> frozenset[str]:
        """Return the topics, or subtopologies, of which partitions without a member count as unavailable."""

    @abstractmethod
    def _grow(self, event: GroupEvent) -> None:
        """Let topics grow."""

    @abstractmethod
    def _forget(self, place: int) -> None:
        """Let a member join with its next heartbeat."""

    @abstractmethod
    def _request(self, place: int) -> Request:
        """Return the next heartbeat of a member."""

    @abstractmethod
    def _leaving(self, member_id: str) -> Request:
        """Return the heartbeat with which a member leaves."""

    @abstractmethod
    def _answer(self, request: Request) -> Answer:
        """Let the coordinator answer now."""

    @abstractmethod
    def _follow(self, place: int, answer: Answer) -> None:
        """Let a member do what an answer without an error asks for."""

    def _is_same(self, before: Any, after: Any) -> bool:
        """Return whether nothing that the coordinator stores of a member has changed."""
        return bool(before == after)

    @abstractmethod
    def _have_all(self) -> bool:
        """Return whether all members know and have what they get of the last target assignment."""

    def _reason(self, request: Request, known: bool) -> EpochReason:
        """Return why a heartbeat raises the epoch."""
        if request.epoch < JOIN_EPOCH:
            return EpochReason.MEMBER_LEFT
        return EpochReason.TOPICS_CHANGED if known else EpochReason.NEW_MEMBER

    def _available(self) -> int:
        """Return how many consumers of new pods are available, as events count consumers."""
        return sum(each.is_available for each in self._processes)

    def _eviction(self, member_id: str) -> EpochReason:
        """Return why the coordinator removes a member."""
        return EpochReason.SESSION_EXPIRED

    # ---- stages

    def run(self) -> RolloutOutcome:
        """Return the result."""
        self._run_members(self._begin())
        self._begin_stage(0)
        while self._queue:
            at_ms, _, action = self._queue[0]
            if at_ms > self._end_ms():
                break
            heapq.heappop(self._queue)
            self._now = at_ms
            action()
            self._end_wait()
        return self._finished()

    def _run_members(self, begins_with: Mapping[str, frozenset[Partition]]) -> None:
        """Let members go on with what they process, each with its next heartbeat at any time within an interval."""
        for name in begins_with:
            process = self._processes[self._by_member[name]]
            process.member_id, process.runs, process.epoch = name, True, self._group.epoch
        self._sharing.subscribed = self._subscribed()
        for name, partitions in begins_with.items():
            place = self._by_member[name]
            process = self._processes[place]
            process.partitions = partitions
            self._sharing.change(place, frozenset(), partitions, 0, counts=False)
            self._note(Subject.ASSIGNED, place, partitions=len(partitions))
            self._at(self._random.randrange(self._interval_ms), self._beat_if_due(place, process.beats))
        self._watch()

    def _begin_stage(self, stage: int) -> None:
        """Let the events of a stage count their time from now, and then the next one wait."""
        self._stage = stage
        events = [event for event in self._events if event.stage == stage and event.kind not in _WAITS]
        for event in events:
            self._at(self._now + event.at_ms + event.delay_ms, partial(self._happen, event))
            self._last_event_ms = max(self._last_event_ms, self._now + _end_of(event))
        self._awaited = None
        next_wait = self._next_wait()
        if next_wait is not None:
            self._awaits_pods = next_wait.kind is ScenarioKind.PODS_AVAILABLE
            at_ms = self._now + max((event.at_ms for event in events), default=0)
            self._last_event_ms = max(self._last_event_ms, at_ms)
            self._at(at_ms, partial(self._await, next_wait))

    def _next_wait(self) -> GroupEvent | None:
        """Return the event with which the next stage begins."""
        later = (event for event in self._events if event.kind in _WAITS and event.stage > self._stage)
        return min(later, key=lambda event: event.stage, default=None)

    def _await(self, event: GroupEvent) -> None:
        self._awaited = event

    def _end_wait(self) -> None:
        """Begin the next stage if what it waits for has happened."""
        while self._awaited is not None and self._is_reached(self._awaited):
            self._note(Subject.EVENT, None, detail=_name_of(self._awaited))
            self._begin_stage(self._awaited.stage)

    def _is_reached(self, event: GroupEvent) -> bool:
        if event.kind is ScenarioKind.PODS_AVAILABLE:
            return self._available() >= event.value
        # A bounce is over when all consumers are back, and every partition has a member.
        is_back = all(not each.returns and (not each.runs or each.epoch > JOIN_EPOCH) for each in self._processes)
        return is_back and self._is_at_rest() and not self._sharing.unowned

    def _is_at_rest(self) -> bool:
        return all(row.to_ms is not None for row in self._outcome.epochs[-1:])

    def _end_ms(self) -> int:
        last_event_ms = self._last_event_ms
        if self._settings.duration_ms:
            return self._settings.duration_ms
        quiet_ms = self._session_ms + 2 * self._interval_ms
        until_ms = max(self._changed_ms, last_event_ms) + (self._settings.quiet_ms or quiet_ms)
        return min(until_ms, last_event_ms + self._settings.longest_ms)

    def _finished(self) -> RolloutOutcome:
        self._now = max(self._now, self._settings.duration_ms or self._last_event_ms)
        outcome = self._outcome
        outcome.is_stable = self._is_at_rest() and not self._sharing.unowned
        outcome.awaited = self._awaited
        self._close_row()
        outcome.owned = {place: each.partitions for place, each in enumerate(self._processes) if each.runs}
        outcome.ended_ms = self._now
        return outcome

    # ---- time and messages

    def _at(self, at_ms: int, action: Callable[[], None]) -> None:
        heapq.heappush(self._queue, (at_ms, next(self._numbers), action))

    def _latency_ms(self) -> int:
        return self._settings.network_ms + self._random.randint(0, self._settings.network_jitter_ms)

    def _note(self, subject: Subject, place: int | None, **columns: object) -> None:
        row = StepRow(self._now, subject, place, self._group.epoch, self._group.state, **columns)  # type: ignore[arg-type]
        self._outcome.steps.append(row)

    # ---- events

    def _happen(self, event: GroupEvent) -> None:
        if self._outcome.first_event_ms is None:
            self._outcome.first_event_ms = self._now
        is_valued = event.kind in (ScenarioKind.RESTART, ScenarioKind.STALL)
        for place in [None] if event.kind is ScenarioKind.GROW else self._places(event.consumer):
            self._note(Subject.EVENT, place, detail=_name_of(event), value=event.value if is_valued else None)
            if place is None:
                self._grow(event)
            else:
                self._happen_to(place, event)
        self._sharing.subscribed = self._subscribed()
        self._sharing.settle(self._now)

    def _happen_to(self, place: int, event: GroupEvent) -> None:
        match event.kind:
            case ScenarioKind.JOIN:
                self._start(place)
            case ScenarioKind.LEAVE:
                self._leave(place)
            case ScenarioKind.CRASH:
                self._crash(place)
            case ScenarioKind.RESTART:
                self._leave(place, returns=True)
                self._at(self._now + event.value, lambda: self._start(place))
            case ScenarioKind.STALL:
                self._stall(place, event.value)

    def _start(self, place: int) -> None:
        """Start a process, whose consumer polls for the first time after a while."""
        process = self._processes[place]
        if process.runs:
            return
        process.incarnation += 1
        process.runs, process.returns = True, False
        process.member_id = base64.urlsafe_b64encode(self._random.randbytes(_UUID_BYTES)).decode()[:22]
        self._forget(place)
        self._by_member[process.member_id] = place
        self._note(Subject.STARTED, place)
        if self._awaits_pods:
            process.is_unready = True
            if not self._settings.ready_when_assigned:
                self._become_ready(place)
        start_ms = self._settings.start_ms if process.start_ms is None else process.start_ms
        self._at(self._now + start_ms, self._beat_if_due(place, process.beats))

    def _become_ready(self, place: int) -> None:
        """Let the pod of a consumer be available once it has been ready for a while."""
        process = self._processes[place]
        process.is_unready, incarnation = False, process.incarnation

        def become_available() -> None:
            process.is_available = process.incarnation == incarnation

        self._at(self._now + self._settings.ready_ms, become_available)

    def _leave(self, place: int, *, returns: bool = False) -> None:
        """Close a consumer, which stops fetching and leaves the group."""
        process = self._processes[place]
        if not process.runs:
            return
        if process.epoch != JOIN_EPOCH:
            self._send(place, self._leaving(process.member_id))
        self._stop(place, returns=returns)

    def _crash(self, place: int) -> None:
        process = self._processes[place]
        if process.runs:
            process.is_lost = process.member_id in self._group.members
            self._stop(place)

    def _stop(self, place: int, *, returns: bool = False) -> None:
        process = self._processes[place]
        process.runs, process.returns = False, returns
        process.is_unready = process.is_available = False
        process.incarnation += 1
        process.beats += 1
        self._lose(place)
        self._note(Subject.STOPPED, place)

    def _stall(self, place: int, for_ms: int) -> None:
        """A consumer that does not poll beats on until max.poll.interval.ms has passed, and then leaves."""
        own = self._processes[place].max_poll_interval_ms
        limit_ms = MAX_POLL_INTERVAL_MS if own is None else own
        if for_ms > limit_ms and self._processes[place].runs:
            self._at(self._now + limit_ms, lambda: self._leave(place, returns=True))
            self._at(self._now + for_ms, lambda: self._start(place))

    # ---- heartbeats

    def _beat_if_due(self, place: int, beats: int) -> Callable[[], None]:
        """Return what happens when a heartbeat timer ends; it is void if there has been another heartbeat."""

        def beat() -> None:
            process = self._processes[place]
            if process.runs and process.beats == beats:
                self._beat(place)

        return beat

    def _beat(self, place: int) -> None:
        process = self._processes[place]
        process.beats += 1
        self._send(place, self._request(place))
        self._at(self._now + self._interval_ms, self._beat_if_due(place, process.beats))

    def _send(self, place: int, request: Request) -> None:
        incarnation = self._processes[place].incarnation
        self._at(self._now + self._latency_ms(), lambda: self._receive(place, incarnation, request))

    def _receive(self, place: int, incarnation: int, request: Request) -> None:
        """Let the coordinator answer, once its records are written."""
        self._expire()
        self._outcome.messages += 2
        self._note(Subject.REQUEST, place, detail="HEARTBEAT")
        group, known = self._group, request.member_id in self._group.members
        before = (group.epoch, group.target_epoch, group.members.get(request.member_id))
        answer = self._answer(request)
        after = group.members.get(request.member_id)
        is_written = (group.epoch, group.target_epoch) != before[:2] or not self._is_same(before[2], after)
        if group.epoch != before[0]:
            self._raise_epoch(self._reason(request, known), place)
        if group.target_epoch != before[1]:
            self._note_target()
        if after is None and before[2] is not None:
            self._processes[place].is_lost = False
        self._watch()
        self._rest()
        if request.epoch < JOIN_EPOCH:
            return
        delay_ms = (self._settings.store_ms if is_written else 0) + self._latency_ms()
        self._at(self._now + delay_ms, lambda: self._take(place, incarnation, answer))

    def _take(self, place: int, incarnation: int, answer: Answer) -> None:
        """Let a consumer act on an answer."""
        process = self._processes[place]
        if process.incarnation != incarnation:
            return
        error = None if answer.error is Errors.NONE else answer.error.name
        self._note(Subject.ANSWER, place, detail="HEARTBEAT", error=error)
        if answer.error in (Errors.UNKNOWN_MEMBER_ID, Errors.FENCED_MEMBER_EPOCH):
            self._lose(place)
            self._forget(place)
            self._beat(place)
            return
        if answer.error is not Errors.NONE:
            self._fail(place, answer.error)
            return
        process.epoch = answer.epoch
        self._follow(place, answer)
        self._rest()

    def _fail(self, place: int, error: Errors) -> None:
        """Stop a consumer without leaving: any other error is fatal to it (``AbstractHeartbeatRequestManager``)."""
        self._outcome.failed.append(FailedConsumer(place, error, self._now))
        self._note(Subject.FAILED, place, error=error.name)
        self._crash(place)
        self._sharing.subscribed = self._subscribed()
        self._sharing.settle(self._now)

    def _lose(self, place: int) -> None:
        """Take everything from a member that stops or is fenced."""
        if self._processes[place].partitions:
            self._note(Subject.LOST, place, partitions=self._have(place, frozenset()))

    def _have(self, place: int, partitions: frozenset[Partition]) -> int:
        """Let a member process other partitions; return how many it has lost."""
        process = self._processes[place]
        lost = len(process.partitions - partitions)
        self._sharing.change(place, process.partitions, partitions, self._now)
        process.partitions = partitions
        self._changed_ms = self._now
        return lost

    def _assign(self, place: int, partitions: frozenset[Partition]) -> None:
        """Let a member process what it gets."""
        lost = self._have(place, partitions)
        if lost:
            self._note(Subject.REVOKED, place, partitions=lost)
        self._note(Subject.ASSIGNED, place, partitions=len(partitions))
        if self._processes[place].is_unready and partitions:
            self._become_ready(place)

    # ---- epochs

    def _watch(self) -> None:
        """Look for ended sessions when the first may end: heartbeats only make them longer."""
        if self._watched_ms is None:
            self._look_at(self._group.next_timer_ms())

    def _look_at(self, due_ms: int | None) -> None:
        if due_ms is not None:
            self._watched_ms = due_ms
            self._at(max(due_ms, self._now), self._look)

    def _look(self) -> None:
        self._watched_ms = None
        self._expire()
        self._watch()

    def _expire(self) -> None:
        """Remove members whose sessions have ended; each raises the epoch."""
        before = set(self._group.members)
        epoch, target_epoch = self._group.epoch, self._group.target_epoch
        self._group.advance(self._now)
        if self._group.target_epoch != target_epoch:
            self._note_target()
        gone = sorted(before - set(self._group.members))
        for number, member_id in enumerate(gone, 1):
            place = self._by_member[member_id]
            self._processes[place].is_lost = False
            self._outcome.evicted += 1
            self._raise_epoch(self._eviction(member_id), place, epoch + number)
            self._outcome.epochs[-1].evicted = 1
        if gone:
            self._sharing.subscribed = self._subscribed()
            self._sharing.settle(self._now)
            self._rest()

    def _raise_epoch(self, reason: EpochReason, place: int, epoch: int | None = None) -> None:
        self._close_row()
        row = EpochRow(reason, place, self._now, self._group.epoch if epoch is None else epoch)
        self._outcome.epochs.append(row)
        self._changed_ms = self._now
        self._note(Subject.STATE, place, detail=reason.name)

    def _note_target(self) -> None:
        """Note that the target assignment of the epoch has been computed."""
        if self._outcome.epochs:
            self._outcome.epochs[-1].assigned_ms = self._now
            self._outcome.epochs[-1].members = len(self._group.members)

    def _close_row(self) -> None:
        """Give the last epoch what has happened since it began."""
        sharing = self._sharing
        totals = (sharing.revoked, sharing.moved, sharing.unowned_ms(self._now))
        if self._outcome.epochs:
            row = self._outcome.epochs[-1]
            row.revoked, row.moved, row.unowned_ms = (a - b for a, b in zip(totals, self._totals_before, strict=True))
        self._totals_before = totals

    def _rest(self) -> None:
        """Note when all members have the target of the last epoch, and when no partition is without a member."""
        if not self._outcome.epochs:
            # Static members that are away and come back raise no epoch.
            if self._is_interrupted and not self._sharing.unowned:
                self._outcome.stable_since_ms = self._now
            self._is_interrupted = bool(self._sharing.unowned)
            return
        row, group = self._outcome.epochs[-1], self._group
        if row.to_ms is not None and row.all_owned_ms is not None and not self._sharing.unowned:
            return
        if self._sharing.unowned:
            row.all_owned_ms = None
        elif row.all_owned_ms is None:
            row.all_owned_ms = self._now
        has_target = not group.members or (group.target_epoch == group.epoch and self._have_all())
        if row.to_ms is None and has_target:
            row.to_ms = self._now
            self._note(Subject.STATE, None)
        if row.to_ms is not None and row.all_owned_ms is not None:
            self._outcome.stable_since_ms = max(row.to_ms, row.all_owned_ms)


def _name_of(event: GroupEvent) -> str:
    return event.kind.name.lower().replace("_", "-")


def _end_of(event: GroupEvent) -> int:
    """Return when an event has happened, with the return of a consumer that restarts or stalls."""
    is_away = event.kind in (ScenarioKind.RESTART, ScenarioKind.STALL)
    return event.at_ms + event.delay_ms + (event.value if is_away else 0)
