"""Simulates share groups (KIP-932) on their own clock: consumers beat, and the coordinator's rules answer.

A consumer sends a heartbeat every ``group.share.heartbeat.interval.ms`` and, once it has other partitions, at once
(``AbstractMembershipManager``, state ACKNOWLEDGING). It leaves with a heartbeat, or its session ends. Nobody tells the
other members: each gets its new target in its next heartbeat. A partition is unavailable while no member has it.

Assumed: consumers process records in the background of all this; records that a crashed member has acquired are
delivered again only after ``group.share.record.lock.duration.ms``, which counts as no unavailability.
"""

import base64
import heapq
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from rebalance_sim.kafka.coordinator.consumer.consumer_group import EpochReason
from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.coordinator.share.share_group import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    Partition,
    Partitions,
    ShareAnswer,
    ShareConfig,
    ShareGroup,
    ShareHeartbeat,
    ShareMember,
)
from rebalance_sim.kafka.simulation.group_events import GroupEvent
from rebalance_sim.kafka.simulation.model import ScenarioKind, Subject
from rebalance_sim.kafka.simulation.settings import MAX_POLL_INTERVAL_MS, SimulationSettings
from rebalance_sim.kafka.simulation.share_targets import ShareTargets
from rebalance_sim.kafka.simulation.sharing import Sharing
from rebalance_sim.releases import ShareGroupRules

SIMULATED_EVENTS = frozenset(
    {
        *(ScenarioKind.JOIN, ScenarioKind.LEAVE, ScenarioKind.CRASH, ScenarioKind.RESTART, ScenarioKind.STALL),
        *(ScenarioKind.SUBSCRIBE, ScenarioKind.GROW, ScenarioKind.NEXT_BOUNCE, ScenarioKind.PODS_AVAILABLE),
    }
)
_WAITS = (ScenarioKind.NEXT_BOUNCE, ScenarioKind.PODS_AVAILABLE)
_NOTHING: Partitions = frozenset()
_UUID_BYTES = 16


@dataclass(frozen=True)
class SharingConsumer:
    """A consumer of the group."""

    name: str
    subscription: frozenset[str]
    owned: tuple[Partition, ...] = ()
    start_ms: int | None = None
    max_poll_interval_ms: int | None = None
    is_member: bool = True
    """Whether it is a member when the simulation begins."""


@dataclass(frozen=True)
class ShareSetUp:
    """A share group, and what happens to it."""

    consumers: Sequence[SharingConsumer]
    topics: dict[str, int]
    """The topics that exist, with their numbers of partitions."""
    targets: ShareTargets
    events: Sequence[GroupEvent]
    """In the order in which they happen. An event that waits is the first of its stage, from whose end the others
    count their time."""
    rules: ShareGroupRules
    settings: SimulationSettings
    epoch: int = 1
    """The epoch of the group when the simulation begins."""
    seed: int = 0


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
class ShareOutcome:
    """The result of a simulation."""

    sharing: Sharing
    epochs: list[EpochRow] = field(default_factory=list)
    steps: list[StepRow] = field(default_factory=list)
    owned: dict[int, Partitions] = field(default_factory=dict)
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
class _Process:
    """A consumer while it runs, and what it knows."""

    subscription: frozenset[str]
    member_id: str = ""
    runs: bool = False
    returns: bool = False
    is_lost: bool = False
    """Whether it ended without leaving, and the coordinator has not removed its member yet."""
    incarnation: int = 0
    epoch: int = JOIN_EPOCH
    owned: Partitions = _NOTHING
    beats: int = 0
    """Counts heartbeats: the timer of an earlier one is void."""
    sends_subscription: bool = True
    is_unready: bool = False
    """Whether it runs in a new pod of a rollout that is not ready yet."""
    is_available: bool = False


def simulate_share_group(set_up: ShareSetUp) -> ShareOutcome:
    """Simulate a group until nothing has changed for a while after its last event. Raises AssignorError.

    The group begins stable: its members have the target assignment that the coordinator computes from what they own.
    """
    return _Simulation(set_up).run()


class _Simulation:
    def __init__(self, set_up: ShareSetUp) -> None:
        self._set_up, self._settings = set_up, set_up.settings
        self._random = random.Random(set_up.seed)
        self._topics = dict(set_up.topics)
        self._config = ShareConfig(
            group_share_session_timeout_ms=set_up.settings.group_share_session_timeout_ms,
            group_share_heartbeat_interval_ms=set_up.settings.group_share_heartbeat_interval_ms,
        )
        self._group = ShareGroup(self._config, set_up.rules, set_up.targets)
        self._processes = [_Process(each.subscription) for each in set_up.consumers]
        self._by_member: dict[str, int] = {}
        self._queue: list[tuple[int, int, Callable[[], None]]] = []
        self._pushed = 0
        self._now = 0
        self._changed_ms = 0
        self._sharing = Sharing()
        self._outcome = ShareOutcome(self._sharing)
        self._totals_before = (0, 0, 0)
        self._watches = False
        self._stage = 0
        self._last_event_ms = 0
        self._awaited: GroupEvent | None = None
        self._awaits_pods = False

    def run(self) -> ShareOutcome:
        self._begin()
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

    def _begin_stage(self, stage: int) -> None:
        """Let the events of a stage count their time from now, and then the next one wait."""
        self._stage = stage
        events = [event for event in self._set_up.events if event.stage == stage and event.kind not in _WAITS]
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
        later = (event for event in self._set_up.events if event.kind in _WAITS and event.stage > self._stage)
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
            return sum(each.is_available for each in self._processes) >= event.value
        # A bounce is over when all consumers are back, and every partition has a member.
        is_back = all(not each.returns and (not each.runs or each.epoch > JOIN_EPOCH) for each in self._processes)
        return is_back and self._is_at_rest() and not self._sharing.unowned

    def _is_at_rest(self) -> bool:
        return all(row.to_ms is not None for row in self._outcome.epochs[-1:])

    def _end_ms(self) -> int:
        last_event_ms = self._last_event_ms
        if self._settings.duration_ms:
            return self._settings.duration_ms
        quiet_ms = self._config.group_share_session_timeout_ms + 2 * self._config.group_share_heartbeat_interval_ms
        until_ms = max(self._changed_ms, last_event_ms) + (self._settings.quiet_ms or quiet_ms)
        return min(until_ms, last_event_ms + self._settings.longest_ms)

    def _finished(self) -> ShareOutcome:
        self._now = max(self._now, self._settings.duration_ms or self._last_event_ms)
        outcome = self._outcome
        outcome.is_stable = self._is_at_rest() and not self._sharing.unowned
        outcome.awaited = self._awaited
        self._close_row()
        outcome.owned = {place: each.owned for place, each in enumerate(self._processes) if each.runs}
        outcome.ended_ms = self._now
        return outcome

    # ---- time and messages

    def _at(self, at_ms: int, action: Callable[[], None]) -> None:
        self._pushed += 1
        heapq.heappush(self._queue, (at_ms, self._pushed, action))

    def _latency_ms(self) -> int:
        return self._settings.network_ms + self._random.randint(0, self._settings.network_jitter_ms)

    def _note(self, subject: Subject, place: int | None, **columns: object) -> None:
        row = StepRow(self._now, subject, place, self._group.epoch, self._group.state, **columns)  # type: ignore[arg-type]
        self._outcome.steps.append(row)

    # ---- the beginning

    def _begin(self) -> None:
        """Let the members have the target assignment that follows from what they own."""
        members = {}
        for place, consumer in enumerate(self._set_up.consumers):
            if not consumer.is_member:
                continue
            process = self._processes[place]
            process.member_id, process.runs, process.sends_subscription = consumer.name, True, False
            process.epoch = self._set_up.epoch
            self._by_member[consumer.name] = place
            members[consumer.name] = ShareMember(process.epoch, process.epoch, consumer.subscription)
            self._set_up.targets.targets[consumer.name] = list(consumer.owned)
        self._group.begin(members, self._topics, self._set_up.epoch, 0)
        self._sharing.subscribed = self._subscribed()
        for name, member in self._group.members.items():
            place = self._by_member[name]
            self._processes[place].owned = member.assigned
            self._sharing.change(place, _NOTHING, member.assigned, 0, counts=False)
            self._note(Subject.ASSIGNED, place, partitions=len(member.assigned))
            first_ms = self._random.randrange(self._config.group_share_heartbeat_interval_ms)
            self._at(first_ms, self._beat_if_due(place, self._processes[place].beats))
        self._watch_sessions()

    def _subscribed(self) -> frozenset[str]:
        present = (each for each in self._processes if each.runs or each.returns or each.is_lost)
        return frozenset().union(*(each.subscription for each in present))

    # ---- events

    def _happen(self, event: GroupEvent) -> None:
        if self._outcome.first_event_ms is None:
            self._outcome.first_event_ms = self._now
        place = event.consumer if event.kind is not ScenarioKind.GROW else None
        is_valued = event.kind in (ScenarioKind.RESTART, ScenarioKind.STALL)
        self._note(Subject.EVENT, place, detail=_name_of(event), value=event.value if is_valued else None)
        match event.kind:
            case ScenarioKind.GROW:
                self._grow(event)
            case ScenarioKind.JOIN:
                self._start(event.consumer)
            case ScenarioKind.LEAVE:
                self._leave(event.consumer)
            case ScenarioKind.CRASH:
                self._crash(event.consumer)
            case ScenarioKind.RESTART:
                self._leave(event.consumer, returns=True)
                self._at(self._now + event.value, lambda: self._start(event.consumer))
            case ScenarioKind.STALL:
                self._stall(event.consumer, event.value)
            case ScenarioKind.SUBSCRIBE:
                process = self._processes[event.consumer]
                process.subscription, process.sends_subscription = frozenset(event.names), True
        self._sharing.subscribed = self._subscribed()
        self._sharing.settle(self._now)

    def _grow(self, event: GroupEvent) -> None:
        for name in [event.topic] if event.topic is not None else list(self._topics):
            before = self._topics.get(name)
            if before is None:
                continue
            after = max(event.partitions or before + event.value, before)
            self._topics[name] = after
            number = self._set_up.targets.numbers[name]
            self._set_up.targets.topics.partitions[number] = after
            self._sharing.add([(name, p) for p in range(before, after)], self._now, is_tracked=True)
        self._group.see_topics(self._topics)

    def _start(self, place: int) -> None:
        """Start a process, whose consumer polls for the first time after a while."""
        process, consumer = self._processes[place], self._set_up.consumers[place]
        if process.runs:
            return
        process.incarnation += 1
        process.runs, process.returns = True, False
        process.member_id = base64.urlsafe_b64encode(self._random.randbytes(_UUID_BYTES)).decode()[:22]
        process.epoch, process.sends_subscription = JOIN_EPOCH, True
        self._by_member[process.member_id] = place
        self._note(Subject.STARTED, place)
        if self._awaits_pods:
            process.is_unready = True
            if not self._settings.ready_when_assigned:
                self._become_ready(place)
        start_ms = self._settings.start_ms if consumer.start_ms is None else consumer.start_ms
        self._at(self._now + start_ms, self._beat_if_due(place, process.beats))

    def _become_ready(self, place: int) -> None:
        """Let the pod of a consumer be available once it has been ready for a while."""
        process = self._processes[place]
        process.is_unready, incarnation = False, process.incarnation

        def become_available() -> None:
            process.is_available = process.incarnation == incarnation

        self._at(self._now + self._settings.ready_ms, become_available)

    def _leave(self, place: int, *, returns: bool = False) -> None:
        """Close a consumer, which stops to fetch, and tells the coordinator."""
        process = self._processes[place]
        if not process.runs:
            return
        if process.epoch != JOIN_EPOCH:
            self._send(place, ShareHeartbeat(process.member_id, LEAVE_EPOCH))
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
        self._give(place, _NOTHING, Subject.LOST)
        self._note(Subject.STOPPED, place)

    def _stall(self, place: int, for_ms: int) -> None:
        """A consumer that does not poll beats on until max.poll.interval.ms has passed, and then leaves."""
        own = self._set_up.consumers[place].max_poll_interval_ms
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
        subscription = process.subscription if process.sends_subscription else None
        process.sends_subscription = False
        process.beats += 1
        self._send(place, ShareHeartbeat(process.member_id, process.epoch, subscription))
        timer = self._beat_if_due(place, process.beats)
        self._at(self._now + self._config.group_share_heartbeat_interval_ms, timer)

    def _send(self, place: int, request: ShareHeartbeat) -> None:
        incarnation = self._processes[place].incarnation
        self._at(self._now + self._latency_ms(), lambda: self._receive(place, incarnation, request))

    def _receive(self, place: int, incarnation: int, request: ShareHeartbeat) -> None:
        """Let the coordinator answer, once its records are written."""
        self._expire()
        self._outcome.messages += 2
        self._note(Subject.REQUEST, place, detail="HEARTBEAT")
        group, known = self._group, request.member_id in self._group.members
        before = (group.epoch, group.target_epoch, group.members.get(request.member_id))
        answer = group.heartbeat(request, self._now)
        after = group.members.get(request.member_id)
        is_written = (group.epoch, group.target_epoch) != before[:2] or not _same(before[2], after)
        if group.epoch != before[0]:
            self._raise_epoch(_reason(request, known), place)
        if group.target_epoch != before[1] and self._outcome.epochs:
            self._outcome.epochs[-1].assigned_ms = self._now
            self._outcome.epochs[-1].members = len(group.members)
        if after is None and before[2] is not None:
            self._processes[place].is_lost = False
        self._watch_sessions()
        self._rest()
        if request.epoch == LEAVE_EPOCH:
            return
        delay_ms = (self._settings.store_ms if is_written else 0) + self._latency_ms()
        self._at(self._now + delay_ms, lambda: self._take(place, incarnation, answer))

    def _take(self, place: int, incarnation: int, answer: ShareAnswer) -> None:
        """Let a consumer act on an answer."""
        process = self._processes[place]
        if process.incarnation != incarnation:
            return
        error = None if answer.error is Errors.NONE else answer.error.name
        self._note(Subject.ANSWER, place, detail="HEARTBEAT", error=error)
        if answer.error in (Errors.UNKNOWN_MEMBER_ID, Errors.FENCED_MEMBER_EPOCH):
            self._give(place, _NOTHING, Subject.LOST)
            process.epoch, process.sends_subscription = JOIN_EPOCH, True
            self._beat(place)
            return
        if answer.error is not Errors.NONE:
            self._fail(place, answer.error)
            return
        process.epoch = answer.epoch
        if answer.assigned is not None and answer.assigned != process.owned:
            self._give(place, answer.assigned, Subject.ASSIGNED)
            self._beat(place)
        self._rest()

    def _fail(self, place: int, error: Errors) -> None:
        """Stop a consumer without leaving: any other error is fatal to it (``AbstractHeartbeatRequestManager``)."""
        self._outcome.failed.append(FailedConsumer(place, error, self._now))
        self._note(Subject.FAILED, place, error=error.name)
        self._crash(place)
        self._sharing.subscribed = self._subscribed()
        self._sharing.settle(self._now)

    def _give(self, place: int, partitions: Partitions, subject: Subject) -> None:
        """Let a consumer have other partitions."""
        process = self._processes[place]
        lost = len(process.owned - partitions)
        if process.owned == partitions:
            return
        self._sharing.change(place, process.owned, partitions, self._now)
        process.owned = partitions
        self._changed_ms = self._now
        if subject is Subject.ASSIGNED:
            if lost:
                self._note(Subject.REVOKED, place, partitions=lost)
            self._note(Subject.ASSIGNED, place, partitions=len(partitions))
            if process.is_unready and partitions:
                self._become_ready(place)
        else:
            self._note(subject, place, partitions=lost)

    # ---- epochs

    def _watch_sessions(self) -> None:
        """Look for ended sessions when the first may end: heartbeats only make them longer."""
        expiry_ms = None if self._watches else self._group.next_expiry_ms()
        if expiry_ms is not None:
            self._watches = True
            self._at(max(expiry_ms, self._now), self._look)

    def _look(self) -> None:
        self._watches = False
        self._expire()
        self._watch_sessions()

    def _expire(self) -> None:
        """Remove members whose sessions have ended; each raises the epoch."""
        before = set(self._group.members)
        epoch = self._group.epoch
        self._group.advance(self._now)
        gone = sorted(before - set(self._group.members))
        for number, member_id in enumerate(gone, 1):
            place = self._by_member[member_id]
            self._processes[place].is_lost = False
            self._outcome.evicted += 1
            self._raise_epoch(EpochReason.SESSION_EXPIRED, place, epoch + number)
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
            return
        row, group = self._outcome.epochs[-1], self._group
        if row.to_ms is not None and row.all_owned_ms is not None and not self._sharing.unowned:
            return
        if self._sharing.unowned:
            row.all_owned_ms = None
        elif row.all_owned_ms is None:
            row.all_owned_ms = self._now
        places = [self._by_member[name] for name in group.members]
        has_all = all(self._processes[place].epoch == group.epoch for place in places)
        if row.to_ms is None and (not group.members or (group.target_epoch == group.epoch and has_all)):
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


def _reason(request: ShareHeartbeat, known: bool) -> EpochReason:
    """Return why a heartbeat raises the epoch."""
    if request.epoch == LEAVE_EPOCH:
        return EpochReason.MEMBER_LEFT
    if not known:
        return EpochReason.NEW_MEMBER
    return EpochReason.TOPICS_CHANGED if request.subscription is None else EpochReason.MEMBER_CHANGED


def _same(before: ShareMember | None, after: ShareMember | None) -> bool:
    """Return whether nothing that the coordinator stores of a member has changed."""
    if before is None or after is None:
        return before is after
    return (before.epoch, before.subscription, before.assigned) == (after.epoch, after.subscription, after.assigned)
