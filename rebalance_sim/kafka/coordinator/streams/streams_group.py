"""A streams group (KIP-1071) as its coordinator keeps it since 4.2 (``GroupMetadataManager.streamsGroupHeartbeat``).

A member that joins, leaves or changes raises the group's epoch, and so do topics that change. The next heartbeat, or
the end of the initial rebalance delay, computes the target assignment of the epoch. A member moves to its target in its
own heartbeats: ``current_assignment`` has the rules. ``StreamsGroupRules`` has what the releases change.

The coordinator configures the topology of a group in memory, and forgets what the heartbeat configured that creates the
group. So the initial rebalance delay of a group ends without a target assignment unless a second heartbeat has come.

Since 4.4 members reconcile with a copy of the target assignment (``refinedAssignment``), which is kept for an epoch: a
member that leaves and comes back before the next target assignment gets its tasks back. A heartbeat of a fenced static
member takes the copy of the member that replaced it along.

Not modelled: warm-up tasks, which no release up to 4.4 assigns, regular expressions in topologies, repartition topics
that the coordinator is to create (they count as sources that exist), racks, client tags, endpoints, the shutdown of an
application, topics that are deleted, and a log that refuses records.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.coordinator.streams import current_assignment
from rebalance_sim.kafka.coordinator.streams.current_assignment import Role, Roles, StreamsMemberState
from rebalance_sim.kafka.coordinator.streams.topology import ConfiguredTopology, Task, Topology
from rebalance_sim.releases import StreamsGroupRules

JOIN_EPOCH, LEAVE_EPOCH, STATIC_LEAVE_EPOCH = 0, -1, -2
ASSIGNMENT_DELAYED, STALE_TOPOLOGY = "ASSIGNMENT_DELAYED", "STALE_TOPOLOGY"
"""What an answer says of the group, or the member, beside what is wrong with the topology."""
_FIRST_EPOCH = 1
_NO_VALIDATED_EPOCH = -1
_NEVER_MS = 2**62


class Tasks(NamedTuple):
    """Tasks of a member."""

    active: frozenset[Task] = frozenset()
    standby: frozenset[Task] = frozenset()

    @property
    def all(self) -> frozenset[Task]:
        """The tasks in any role."""
        return self.active | self.standby


NO_TASKS = Tasks()
_NOTHING_REFINED: tuple[int, Mapping[str, Tasks]] = (-1, MappingProxyType({}))


@dataclass(frozen=True)
class StreamsConfig:
    """Settings of the broker, by the names that it gives them (``GroupCoordinatorConfig``)."""

    group_streams_session_timeout_ms: int = 45_000
    group_streams_heartbeat_interval_ms: int = 5000
    group_streams_max_size: int = 2**31 - 1
    group_streams_num_standby_replicas: int = 0
    group_streams_initial_rebalance_delay_ms: int = 3000
    group_streams_assignment_interval_ms: int = 1000
    """Shortest time between two target assignments (4.3)."""


@dataclass(frozen=True)
class StreamsHeartbeat:
    """A request of a member."""

    member_id: str
    epoch: int
    """0 to join, -1 to leave, -2 to leave as a static member that will be back (4.4)."""
    process_id: str | None = None
    """None if it has not changed, as the others."""
    topology: Topology | None = None
    rebalance_timeout_ms: int | None = None
    owned: Tasks | None = None
    instance_id: str | None = None
    offsets: Mapping[Task, int] | None = None
    """Tasks with state on the member's disk, and their offsets (4.4)."""


@dataclass(frozen=True)
class StreamsAnswer:
    """The answer to a heartbeat."""

    error: Errors
    epoch: int = 0
    interval_ms: int = 0
    assigned: Tasks | None = None
    """What the member has from now on; None if that has not changed."""
    statuses: tuple[str, ...] = ()


@dataclass(frozen=True)
class StreamsGroupMember:
    """A member of the group."""

    process_id: str = ""
    topology_epoch: int = -1
    rebalance_timeout_ms: int = -1
    instance_id: str | None = None
    state: StreamsMemberState = StreamsMemberState.STABLE
    epoch: int = JOIN_EPOCH
    previous_epoch: int = JOIN_EPOCH
    assigned: Tasks = NO_TASKS
    pending: Tasks = NO_TASKS
    """Tasks that it was asked to revoke."""

    def is_reconciled(self, target_epoch: int) -> bool:
        """Return whether it has all of a target assignment."""
        return self.state is StreamsMemberState.STABLE and self.epoch == target_epoch


@dataclass(frozen=True)
class AssignmentRequest:
    """The input of the group's assignor."""

    members: Mapping[str, StreamsGroupMember]
    targets: Mapping[str, Tasks]
    """By member, the target assignment before; members that have joined since have none."""
    offsets: Mapping[str, Mapping[Task, int]]
    """By member, the offsets that it reported last."""
    topology: Topology
    tasks: Mapping[str, int]
    standby_replicas: int


Assign = Callable[[AssignmentRequest], Mapping[str, Tasks]]
"""Returns the target of each member. The topology is ready."""


class _Refused(Exception):  # noqa: N818 - an answer
    """A request is answered with an error."""

    def __init__(self, error: Errors) -> None:
        super().__init__(error.name)
        self.error = error


@dataclass
class _Change:
    """What a heartbeat is about to change."""

    request: StreamsHeartbeat
    now_ms: int
    before: StreamsGroupMember
    """The member as it was, or as its predecessor with the same instance id was."""
    member: StreamsGroupMember
    replaced: str | None
    """The static member that it replaces."""
    topology: Topology
    statuses: list[str]
    raises: bool = False
    """Whether the heartbeat raises the epoch."""
    only_refines: bool = False
    """Whether it does so because the member does not have its target, though the group is stable (4.4)."""


@dataclass
class StreamsGroup:
    """A group and its rules. Times must not decrease.

    >>> from rebalance_sim.kafka.coordinator.streams.topology import Subtopology
    >>> def all_to_all(asked):
    ...     tasks = frozenset((name, p) for name, count in asked.tasks.items() for p in range(count))
    ...     return dict.fromkeys(asked.members, Tasks(tasks))
    >>> config = StreamsConfig(group_streams_initial_rebalance_delay_ms=0)
    >>> group = StreamsGroup(config, StreamsGroupRules.KIP_1071, all_to_all)
    >>> group.see_topics({"orders": 2})
    >>> topology = Topology(0, {"0": Subtopology(("orders",))})
    >>> answer = group.heartbeat(StreamsHeartbeat("m", 0, "p", topology, 60_000, NO_TASKS), now_ms=0)
    >>> answer.epoch, sorted(answer.assigned.active), group.state
    (2, [('0', 0), ('0', 1)], 'Stable')
    """

    config: StreamsConfig
    rules: StreamsGroupRules
    assign: Assign
    exists: bool = False
    epoch: int = _FIRST_EPOCH
    target_epoch: int = 0
    members: dict[str, StreamsGroupMember] = field(default_factory=dict)
    targets: Mapping[str, Tasks] = field(default_factory=dict)
    topology: Topology | None = None
    delay_ends_ms: int | None = None
    """When the initial rebalance delay ends, if it runs."""
    _static: dict[str, str] = field(default_factory=dict)
    """By instance id, the member."""
    _active: dict[Task, str] = field(default_factory=dict)
    """By task, the process that runs it (``currentActiveTaskToProcessId``)."""
    _standby: dict[Task, set[str]] = field(default_factory=dict)
    _offsets: dict[str, Mapping[Task, int]] = field(default_factory=dict)
    _topics: dict[str, int] = field(default_factory=dict)
    _known: dict[str, int] = field(default_factory=dict)
    """The topics of the topology with which the epoch was last computed (the metadata hash)."""
    _configured: ConfiguredTopology | None = None
    _validated: int = _NO_VALIDATED_EPOCH
    """The epoch of the topology that was ready when the epoch was last raised."""
    _assigned_ms: int | None = None
    _refined: tuple[int, Mapping[str, Tasks]] = _NOTHING_REFINED
    """A target epoch, and by member what it is to have."""
    _is_stable: bool | None = None
    """Whether all members have what they get of the target assignment; None if that has to be computed again."""
    _quiet_until_ms: int = _NEVER_MS
    """No timer ends before."""
    _sessions: dict[str, int] = field(default_factory=dict)
    """By member, when its session ends without a heartbeat."""
    _revocations: dict[str, tuple[int, int]] = field(default_factory=dict)
    """By member, when it must have revoked its tasks, and the epoch that it must have left by then."""

    def __post_init__(self) -> None:
        if self._is_since(StreamsGroupRules.ASSIGNMENT_INTERVAL):
            self.target_epoch = _FIRST_EPOCH

    @property
    def state(self) -> str:
        """The state as the coordinator reports it."""
        if not self.members:
            return "Empty"
        if self.topology is None or self.topology.epoch != self._validated:
            return "NotReady"
        if self.epoch > self.target_epoch:
            return "Assigning"
        return "Stable" if self.is_stable else "Reconciling"

    @property
    def is_stable(self) -> bool:
        """Whether all members have what they get of the target assignment."""
        if self._is_stable is None:
            self._is_stable = all(member.is_reconciled(self.target_epoch) for member in self.members.values())
        return self._is_stable

    def begin(
        self, members: Mapping[str, StreamsGroupMember], topology: Topology, topics: Mapping[str, int], epoch: int
    ) -> None:
        """Let the group be stable in an epoch: all members have the target that the assignor computes now."""
        self._topics, self.topology = dict(topics), topology
        self._known = self._topics_of(topology)
        self._configured = topology.configured(self._topics)
        self._validated = topology.epoch if self._configured.is_ready else _NO_VALIDATED_EPOCH
        self.exists, self.epoch, self.target_epoch = True, epoch, epoch
        targets = {name: member.assigned for name, member in members.items()}
        self.targets = self._new_targets(members, targets, topology, self._configured)
        for name, member in members.items():
            stable = replace(member, epoch=epoch, previous_epoch=epoch, topology_epoch=topology.epoch)
            self._put(name, replace(stable, assigned=self.targets[name]))
            self._begin_session(name, 0)

    def see_topics(self, topics: Mapping[str, int]) -> None:
        """Take note of the cluster's topics with their numbers of partitions."""
        self._topics = dict(topics)

    def heartbeat(self, request: StreamsHeartbeat, now_ms: int) -> StreamsAnswer:
        """Answer a heartbeat, after everything that is due before it."""
        self.advance(now_ms)
        try:
            self._check_form(request)
            return self._leave(request) if request.epoch < JOIN_EPOCH else self._beat(request, now_ms)
        except _Refused as refused:
            return StreamsAnswer(refused.error)

    def _is_since(self, rules: StreamsGroupRules) -> bool:
        return self.rules >= rules

    # ---- timers

    def advance(self, now_ms: int) -> None:
        """Let timers end: sessions, revocations, and the initial rebalance delay."""
        while self._quiet_until_ms <= now_ms:
            due_ms = self._first_timer_ms()
            if due_ms > now_ms:
                self._quiet_until_ms = due_ms
                return
            if self.delay_ends_ms == due_ms:
                self._end_delay(due_ms)
            for name in [name for name, ends_ms in self._sessions.items() if ends_ms == due_ms]:
                del self._sessions[name]
                if name in self.members:
                    self._remove(name)
            for name in [name for name, (ends_ms, _) in self._revocations.items() if ends_ms == due_ms]:
                _, epoch = self._revocations.pop(name)
                if name in self.members and self.members[name].epoch == epoch:
                    self._remove(name)

    def next_timer_ms(self) -> int | None:
        """Return a time before which no timer ends; None without timers."""
        return None if self._quiet_until_ms == _NEVER_MS else self._quiet_until_ms

    def _first_timer_ms(self) -> int:
        times = (*self._sessions.values(), *(ends_ms for ends_ms, _ in self._revocations.values()))
        return min(times if self.delay_ends_ms is None else (*times, self.delay_ends_ms), default=_NEVER_MS)

    def _begin_session(self, name: str, now_ms: int) -> None:
        self._sessions[name] = now_ms + self.config.group_streams_session_timeout_ms
        self._quiet_until_ms = min(self._quiet_until_ms, self._sessions[name])

    def is_overdue(self, name: str, now_ms: int) -> bool:
        """Return whether a member must have revoked its tasks by now, though its session goes on."""
        ends_ms, epoch = self._revocations.get(name, (now_ms + 1, JOIN_EPOCH))
        return ends_ms <= now_ms < self._sessions[name] and self.members[name].epoch == epoch

    def _end_delay(self, now_ms: int) -> None:
        """Compute the first target assignment, if a topology is configured (``computeDelayedTargetAssignment``)."""
        self.delay_ends_ms = None
        if self.members and self.topology and self._configured and self._can_assign(now_ms):
            self.targets = self._new_targets(self.members, self.targets, self.topology, self._configured)
            self.target_epoch, self._assigned_ms, self._is_stable = self.epoch, now_ms, None

    # ---- requests that are refused

    def _check_form(self, request: StreamsHeartbeat) -> None:
        """Refuse requests that no group accepts (``throwIfStreamsGroupHeartbeatRequestIsInvalid``)."""
        is_static = request.instance_id is not None
        if not self._is_since(StreamsGroupRules.ROLE_CHANGES) and (is_static or request.offsets is not None):
            raise _Refused(Errors.INVALID_REQUEST)
        if request.epoch == JOIN_EPOCH:
            is_complete = request.topology is not None and request.rebalance_timeout_ms is not None
            is_invalid = not is_complete or request.owned != NO_TASKS
        else:
            is_invalid = request.topology is not None or request.epoch < STATIC_LEAVE_EPOCH
            is_invalid |= request.epoch == STATIC_LEAVE_EPOCH and not is_static
        if is_invalid:
            raise _Refused(Errors.INVALID_REQUEST)

    def _check_size(self, request: StreamsHeartbeat) -> None:
        """Refuse to let a member join a full group; before 4.4 also one that is in it."""
        if len(self.members) < self.config.group_streams_max_size or request.instance_id in self._static:
            return
        if not self._is_since(StreamsGroupRules.ROLE_CHANGES) or request.member_id not in self.members:
            raise _Refused(Errors.GROUP_MAX_SIZE_REACHED)

    def _check_epoch(self, request: StreamsHeartbeat, member: StreamsGroupMember) -> None:
        """Fence a member with another epoch, unless the answer that raised it may have been lost."""
        if request.epoch == member.epoch:
            return
        owned = request.owned
        is_behind = request.epoch < member.epoch and request.epoch == member.previous_epoch
        if not is_behind or owned is None or not _is_contained(owned, member.assigned):
            raise _Refused(Errors.FENCED_MEMBER_EPOCH)

    def _member(self, request: StreamsHeartbeat) -> StreamsGroupMember:
        """Return the member that sends a request, if it is not to join."""
        known = request.member_id if request.instance_id is None else self._static.get(request.instance_id)
        if known not in self.members:
            raise _Refused(Errors.UNKNOWN_MEMBER_ID)
        if known != request.member_id:
            raise _Refused(Errors.FENCED_INSTANCE_ID)
        return self.members[known]

    # ---- leaving

    def _leave(self, request: StreamsHeartbeat) -> StreamsAnswer:
        if not self.exists:
            raise _Refused(Errors.GROUP_ID_NOT_FOUND)
        member = self._member(request)
        if request.epoch == STATIC_LEAVE_EPOCH and request.instance_id is not None:
            # It keeps its tasks until it is back or its session ends.
            self._put(request.member_id, replace(member, epoch=STATIC_LEAVE_EPOCH, pending=NO_TASKS))
        else:
            self._remove(request.member_id)
        return StreamsAnswer(Errors.NONE, request.epoch)

    def _remove(self, name: str) -> None:
        """Remove a member that leaves, or whose session or time to revoke has ended, which raises the epoch."""
        self._forget(name)
        self._sessions.pop(name, None)
        self._revocations.pop(name, None)
        self.epoch += 1
        if not self.members and self._is_since(StreamsGroupRules.ROLE_CHANGES):
            self.target_epoch, self._assigned_ms = self.epoch, None

    def _forget(self, name: str) -> None:
        member = self.members.pop(name)
        self._release(member)
        self._static = {instance: each for instance, each in self._static.items() if each != name}
        self.targets = {each: tasks for each, tasks in self.targets.items() if each != name}
        self._offsets.pop(name, None)
        self._is_stable = None

    # ---- heartbeats

    def _beat(self, request: StreamsHeartbeat, now_ms: int) -> StreamsAnswer:
        """Answer a heartbeat that is accepted; if it is not, nothing changes but what is in memory only."""
        change = self._change(request, now_ms)
        configured = self._configure(change)
        self._check_tasks(request, configured)
        if request.offsets is not None:
            self._offsets[request.member_id] = request.offsets
        self._refine_if_stable(change)
        epoch = self.epoch + change.raises
        if not self.members and self.delay_ends_ms is None and self.config.group_streams_initial_rebalance_delay_ms:
            self.delay_ends_ms = now_ms + self.config.group_streams_initial_rebalance_delay_ms
            self._quiet_until_ms = min(self._quiet_until_ms, self.delay_ends_ms)
        target_epoch, targets = self._target(change, epoch, configured)
        target = self._refined_targets(target_epoch, targets).get(request.member_id, NO_TASKS)
        after = self._reconciled(change.member, target_epoch, target, request.owned)
        self._store(change, after)
        self.topology, self.epoch = change.topology, epoch
        if change.raises:
            self._validated = change.topology.epoch if configured.is_ready else _NO_VALIDATED_EPOCH
            self._known = self._topics_of(change.topology)
        if target_epoch > self.target_epoch and self.delay_ends_ms is None:
            self.targets, self.target_epoch, self._is_stable = targets, target_epoch, None
        self._begin_session(request.member_id, now_ms)
        if not self.exists:
            # What is in memory only belongs to a group that the records of this heartbeat replace.
            self.exists, self._configured, self._refined, self._offsets = True, None, _NOTHING_REFINED, {}
        if configured.obstacle is not None:
            change.statuses.append(configured.obstacle)
        is_shown = request.epoch == JOIN_EPOCH or after.assigned != change.before.assigned
        assigned = after.assigned if is_shown else None
        interval_ms = self.config.group_streams_heartbeat_interval_ms
        return StreamsAnswer(Errors.NONE, after.epoch, interval_ms, assigned, tuple(change.statuses))

    def _change(self, request: StreamsHeartbeat, now_ms: int) -> _Change:
        """Return what a heartbeat changes of its member and the topology."""
        joins = request.epoch == JOIN_EPOCH
        if joins:
            self._check_size(request)
        elif not self.exists:
            raise _Refused(Errors.GROUP_ID_NOT_FOUND)
        replaced = self._take_along_refined(request)
        before = self._joining(request) if joins else self._member(request)
        if not joins:
            self._check_epoch(request, before)
        sent = request.topology
        member = replace(
            before,
            process_id=before.process_id if request.process_id is None else request.process_id,
            topology_epoch=before.topology_epoch if sent is None else sent.epoch,
            rebalance_timeout_ms=before.rebalance_timeout_ms
            if request.rebalance_timeout_ms is None
            else request.rebalance_timeout_ms,
            instance_id=before.instance_id if request.instance_id is None else request.instance_id,
        )
        statuses = [STALE_TOPOLOGY] if self.topology and member.topology_epoch < self.topology.epoch else []
        change = _Change(request, now_ms, before, member, replaced, self._topology(sent), statuses)
        matters = request.instance_id is None or _differs_in_tasks(before, member)
        change.raises = member != before and matters
        return change

    def _take_along_refined(self, request: StreamsHeartbeat) -> str | None:
        """Return the static member whose instance id another member uses, and take its tasks along, accepted or not."""
        if request.instance_id is None:
            return None
        known = self._static.get(request.instance_id)
        if known is None:
            return None
        epoch, refined = self._refined
        if known != request.member_id and known in refined:
            others = {name: tasks for name, tasks in refined.items() if name != known}
            self._refined = epoch, {**others, request.member_id: refined[known]}
        return known if request.epoch == JOIN_EPOCH else None

    def _joining(self, request: StreamsHeartbeat) -> StreamsGroupMember:
        """Return the member that joins, as it is before its heartbeat: a static member replaces its predecessor."""
        known = None if request.instance_id is None else self._static.get(request.instance_id)
        if known is None:
            return self.members.get(request.member_id, StreamsGroupMember())
        member = self.members[known]
        if member.epoch != STATIC_LEAVE_EPOCH:
            raise _Refused(Errors.UNRELEASED_INSTANCE_ID)
        return replace(member, epoch=JOIN_EPOCH, previous_epoch=JOIN_EPOCH)

    def _topology(self, sent: Topology | None) -> Topology:
        """Return the topology of the group after a heartbeat (``maybeUpdateTopology``)."""
        if self.topology is None and sent is not None:
            return sent
        if self.topology is None:
            raise _Refused(Errors.UNKNOWN_SERVER_ERROR)
        if sent is not None and sent.epoch >= self.topology.epoch and sent != self.topology:
            raise _Refused(Errors.INVALID_REQUEST)
        return self.topology

    def _topics_of(self, topology: Topology) -> dict[str, int]:
        return {name: self._topics[name] for name in topology.topics if name in self._topics}

    def _configure(self, change: _Change) -> ConfiguredTopology:
        """Return the topology on the topics of the cluster; the epoch rises if these have changed."""
        has_changed = self._topics_of(change.topology) != self._known
        change.raises |= has_changed
        if self._configured is None or has_changed:
            self._configured = change.topology.configured(self._topics)
        return self._configured

    def _check_tasks(self, request: StreamsHeartbeat, configured: ConfiguredTopology) -> None:
        """Refuse tasks that do not exist."""
        owned = request.owned if configured.is_ready else None
        if owned is not None and not all(configured.has(task) for task in owned.all):
            raise _Refused(Errors.INVALID_REQUEST)

    # ---- the target assignment

    def _refine_if_stable(self, change: _Change) -> None:
        """Raise the epoch if the group is stable, but the member does not have its target (4.4)."""
        if change.raises or not self._is_since(StreamsGroupRules.ROLE_CHANGES) or self.state != "Stable":
            return
        target = self.targets.get(change.request.member_id, NO_TASKS)
        change.raises = change.only_refines = target != change.member.assigned
        self._refined = self.target_epoch + change.raises, self.targets

    def _target(self, change: _Change, epoch: int, configured: ConfiguredTopology) -> tuple[int, Mapping[str, Tasks]]:
        """Return the epoch of the target assignment, and the target of each member."""
        if self.delay_ends_ms is not None:
            change.statuses.append(ASSIGNMENT_DELAYED)
            return max(_FIRST_EPOCH, self.target_epoch), {}
        targets = self.targets
        if change.replaced is not None and change.replaced in targets:
            others = {name: tasks for name, tasks in targets.items() if name != change.replaced}
            targets = {**others, change.request.member_id: targets[change.replaced]}
        if self.target_epoch >= epoch:
            return self.target_epoch, targets
        if change.only_refines and self.target_epoch >= self.epoch:
            return epoch, targets
        if not self._can_assign(change.now_ms):
            change.statuses.append(ASSIGNMENT_DELAYED)
            return self.target_epoch, targets
        self._assigned_ms = change.now_ms
        members = {name: member for name, member in self.members.items() if name != change.replaced}
        members[change.request.member_id] = change.member
        return epoch, self._new_targets(members, targets, change.topology, configured)

    def _can_assign(self, now_ms: int) -> bool:
        if not self._is_since(StreamsGroupRules.ASSIGNMENT_INTERVAL) or self._assigned_ms is None:
            return True
        return now_ms >= self._assigned_ms + self.config.group_streams_assignment_interval_ms

    def _new_targets(
        self,
        members: Mapping[str, StreamsGroupMember],
        targets: Mapping[str, Tasks],
        topology: Topology,
        configured: ConfiguredTopology,
    ) -> dict[str, Tasks]:
        """Return the target assignment of these members: no tasks if the topology is not ready."""
        if not (members and configured.is_ready):
            return dict.fromkeys(members, NO_TASKS)
        standbys = self.config.group_streams_num_standby_replicas
        asked = AssignmentRequest(members, targets, self._offsets, topology, configured.tasks, standbys)
        return dict(self.assign(asked))

    def _refined_targets(self, target_epoch: int, targets: Mapping[str, Tasks]) -> Mapping[str, Tasks]:
        """Return what members are to have: since 4.4, what was kept of this epoch."""
        if not self._is_since(StreamsGroupRules.ROLE_CHANGES):
            return targets
        if self._refined[0] != target_epoch:
            self._refined = target_epoch, targets
        return self._refined[1]

    # ---- members

    def _reconciled(
        self, member: StreamsGroupMember, target_epoch: int, target: Tasks, owned: Tasks | None
    ) -> StreamsGroupMember:
        """Return a member one step closer to its target."""
        if member.is_reconciled(target_epoch):
            return member
        tasks = sorted(member.assigned.all | member.pending.all | target.all)
        assigned, pending = _roles(tasks, member.assigned), _roles(tasks, member.pending)
        no_epochs = np.zeros(len(tasks), np.int32)
        before = current_assignment.StreamsMember(
            int(member.state), member.epoch, member.previous_epoch, assigned, no_epochs, pending
        )
        reported = _roles(tasks, NO_TASKS if owned is None else owned)
        compared = current_assignment.TargetOfMember(
            target_epoch, _roles(tasks, target), self._held(tasks, member.process_id), owned is not None, reported
        )
        after, _ = current_assignment.reconcile(before, compared, int(self.rules))
        return replace(
            member,
            state=StreamsMemberState(after.state),
            epoch=int(after.epoch),
            previous_epoch=int(after.previous_epoch),
            assigned=_tasks(tasks, after.assigned),
            pending=_tasks(tasks, after.pending),
        )

    def _held(self, tasks: Collection[Task], process_id: str) -> Roles:
        """Return the roles in which members of a process hold tasks, and whether another process runs them."""
        roles = []
        for task in tasks:
            runs = self._active.get(task)
            held = 0 if runs is None else Role.ACTIVE if runs == process_id else Role.ELSEWHERE
            roles.append(held | (Role.STANDBY if process_id in self._standby.get(task, ()) else 0))
        return np.array(roles, np.int8)

    def _store(self, change: _Change, after: StreamsGroupMember) -> None:
        """Apply the records of a heartbeat, and begin or end the time to revoke tasks."""
        name = change.request.member_id
        if change.replaced is not None:
            target = self.targets.get(change.replaced, NO_TASKS)
            self._forget(change.replaced)
            self._put(name, change.before)
            self.targets = {**self.targets, name: target}
        if change.member != change.before:
            self._put(name, change.member)
        if after == change.member:
            return
        self._put(name, after)
        if after.state is StreamsMemberState.UNREVOKED_TASKS:
            ends_ms = change.now_ms + after.rebalance_timeout_ms
            self._revocations[name] = ends_ms, after.epoch
            self._quiet_until_ms = min(self._quiet_until_ms, ends_ms)
        else:
            self._revocations.pop(name, None)

    def _put(self, name: str, member: StreamsGroupMember) -> None:
        """Store a member, and note which process has which task (``StreamsGroup.updateMember``)."""
        before = self.members.get(name)
        if before is not None:
            self._release(before)
            if before.instance_id is not None:
                self._static.pop(before.instance_id, None)
        if member.instance_id is not None:
            self._static[member.instance_id] = name
        self.members[name], self._is_stable = member, None
        for tasks in (member.assigned, member.pending):
            self._active.update(dict.fromkeys(tasks.active, member.process_id))
            for task in tasks.standby:
                self._standby.setdefault(task, set()).add(member.process_id)

    def _release(self, member: StreamsGroupMember) -> None:
        for tasks in (member.assigned, member.pending):
            for task in tasks.active:
                self._active.pop(task, None)
            for task in tasks.standby:
                self._standby.get(task, set()).discard(member.process_id)


def _is_contained(owned: Tasks, assigned: Tasks) -> bool:
    return owned.active <= assigned.active and owned.standby <= assigned.standby


def _differs_in_tasks(before: StreamsGroupMember, after: StreamsGroupMember) -> bool:
    """Return whether a static member has changed so that its tasks may (``hasEpochRelevantMemberConfigChanged``)."""
    return (before.topology_epoch, before.process_id) != (after.topology_epoch, after.process_id)


def _roles(tasks: Collection[Task], had: Tasks) -> Roles:
    roles = [Role.ACTIVE * (task in had.active) + Role.STANDBY * (task in had.standby) for task in tasks]
    return np.array(roles, np.int8)


def _tasks(tasks: Collection[Task], roles: Roles) -> Tasks:
    listed = list(zip(tasks, roles.tolist(), strict=True))
    active, standby = (frozenset(task for task, of_task in listed if of_task & role) for role in _ROLES)
    return Tasks(active, standby)


_ROLES = (int(Role.ACTIVE), int(Role.STANDBY))
