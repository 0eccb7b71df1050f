"""A share group (KIP-932) as its coordinator keeps it since Kafka 4.0 (``GroupMetadataManager.shareGroupHeartbeat``).

A share group is a consumer-protocol group with fewer rules. Its members revoke nothing before others get it: a member
exchanges what it has for the target assignment in its next heartbeat, and a partition may have several members. Since
4.1 the coordinator assigns only partitions whose share state is initialized, which it asks for when a heartbeat shows
that the group subscribes to new ones. ``ShareGroupRules`` has what the releases change.

In 4.1 share state of a topic that no member subscribes to any longer raises the epoch with every heartbeat: no target
ever has these partitions.

Not modelled: topics that are deleted, and a log that refuses records.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.releases import ShareGroupRules

JOIN_EPOCH, LEAVE_EPOCH = 0, -1
_FIRST_EPOCH_4_3 = 1

Partition = tuple[str, int]
"""Topic and partition."""
Partitions = frozenset[Partition]
_NOTHING: Partitions = frozenset()


class AssignorError(Exception):
    """The group's assignor fails, as ``SimpleAssignor`` may while partitions are not initialized."""


@dataclass(frozen=True)
class AssignmentRequest:
    """The input of the group's assignor."""

    subscriptions: Mapping[str, frozenset[str]]
    """By member, the topics that it subscribes to."""
    targets: Mapping[str, Partitions]
    """By member, the target assignment before; members that have joined since have none."""
    initialized: Partitions
    """Partitions that may be assigned."""
    heartbeat_of: str
    """The member whose heartbeat triggers the assignment."""


Assign = Callable[[AssignmentRequest], Mapping[str, Partitions]]
"""Returns the target of each member; raises AssignorError."""


@dataclass(frozen=True)
class ShareConfig:
    """Settings of the broker, by the names that it gives them (``GroupCoordinatorConfig``)."""

    group_share_session_timeout_ms: int = 45_000
    group_share_heartbeat_interval_ms: int = 5000
    group_share_max_size: int = 200
    group_share_assignment_interval_ms: int = 1000
    """Shortest time between two target assignments (4.3)."""


@dataclass(frozen=True)
class ShareHeartbeat:
    """A request of a member."""

    member_id: str
    epoch: int
    """0 to join, -1 to leave."""
    subscription: frozenset[str] | None = None
    """None if it has not changed."""


@dataclass(frozen=True)
class ShareAnswer:
    """The answer to a heartbeat."""

    error: Errors
    epoch: int = 0
    interval_ms: int = 0
    assigned: Partitions | None = None
    """What the member has from now on; None if that has not changed."""


@dataclass(frozen=True)
class ShareMember:
    """A member of the group."""

    epoch: int = 0
    previous_epoch: int = 0
    subscription: frozenset[str] = frozenset()
    assigned: Partitions = _NOTHING
    expires_ms: int = 0
    """When its session ends without a heartbeat."""


@dataclass
class ShareGroup:
    """A group and its rules. Times must not decrease.

    >>> def all_to_all(asked):
    ...     return dict.fromkeys(asked.subscriptions, asked.initialized)
    >>> group = ShareGroup(ShareConfig(), ShareGroupRules.ONLY_SUBSCRIBED, all_to_all)
    >>> group.see_topics({"jobs": 2})
    >>> group.heartbeat(ShareHeartbeat("a", 0, frozenset({"jobs"})), now_ms=0)
    ShareAnswer(error=<Errors.NONE: 0>, epoch=1, interval_ms=5000, assigned=frozenset())
    >>> answer = group.heartbeat(ShareHeartbeat("a", 1), now_ms=5000)
    >>> answer.epoch, sorted(answer.assigned)
    (2, [('jobs', 0), ('jobs', 1)])
    """

    config: ShareConfig
    rules: ShareGroupRules
    assign: Assign
    exists: bool = False
    epoch: int = 0
    target_epoch: int = 0
    members: dict[str, ShareMember] = field(default_factory=dict)
    targets: dict[str, Partitions] = field(default_factory=dict)
    initialized: dict[str, int] = field(default_factory=dict)
    """By topic, how many partitions have share state."""
    _topics: dict[str, int] = field(default_factory=dict)
    _names: frozenset[str] = frozenset()
    """The topics that members subscribe to."""
    _known: dict[str, int] = field(default_factory=dict)
    """The subscribed topics with which the epoch was last computed (the metadata hash)."""
    _assigned_ms: int | None = None
    _must_refresh: bool = True
    _initializing: dict[str, int] = field(default_factory=dict)
    _is_assigned: bool | None = None
    """Whether the target has all initialized partitions; None if that has to be computed again."""
    _no_expiry_before_ms: int = 0

    def __post_init__(self) -> None:
        if self._is_since(ShareGroupRules.ASSIGNMENT_INTERVAL):
            self.epoch = self.target_epoch = _FIRST_EPOCH_4_3

    @property
    def state(self) -> str:
        """The state as the coordinator reports it: a share group never waits for its members."""
        return "Stable" if self.members else "Empty"

    def begin(self, members: Mapping[str, ShareMember], topics: Mapping[str, int], epoch: int, now_ms: int) -> None:
        """Let the group be stable in an epoch: all members have the target that the assignor computes now.

        Share state is initialized for all partitions of subscribed topics. Raises AssignorError.
        """
        self._topics = dict(topics)
        self.exists, self.epoch, self.target_epoch = True, epoch, epoch
        self._must_refresh = False
        self._names = self._subscribed(members)
        self._known = {name: topics[name] for name in self._names if name in topics}
        self.initialized = dict(self._known) if self._is_since(ShareGroupRules.INITIALIZED) else {}
        if members:
            self.targets = dict.fromkeys(members, _NOTHING)
            self.targets = dict(self._new_targets(members, next(iter(members)), self._known))
        expires_ms = now_ms + self.config.group_share_session_timeout_ms
        self.members = {
            name: replace(member, epoch=epoch, assigned=self._given(member, self.targets[name]), expires_ms=expires_ms)
            for name, member in members.items()
        }

    def see_topics(self, topics: Mapping[str, int]) -> None:
        """Take note of the cluster's topics with their numbers of partitions."""
        changed = {name for name, count in topics.items() if self._topics.get(name) != count}
        self._topics = dict(topics)
        self._must_refresh |= not changed.isdisjoint(self._names)

    def heartbeat(self, request: ShareHeartbeat, now_ms: int) -> ShareAnswer:
        """Answer a heartbeat, after everything that is due before it."""
        self.advance(now_ms)
        error = self._error(request)
        if error is not Errors.NONE:
            return ShareAnswer(error)
        if request.epoch == LEAVE_EPOCH:
            self._remove(request.member_id)
            return ShareAnswer(Errors.NONE, LEAVE_EPOCH)
        try:
            return self._beat(request, now_ms)
        except AssignorError:
            return ShareAnswer(Errors.UNKNOWN_SERVER_ERROR)

    def advance(self, now_ms: int) -> None:
        """Initialize the partitions that were asked for, and remove members whose sessions have ended."""
        if self._initializing:
            self.initialized |= self._initializing
            self._initializing, self._is_assigned = {}, None
        if now_ms < self._no_expiry_before_ms:
            return
        for member_id in [name for name, member in self.members.items() if member.expires_ms <= now_ms]:
            self._remove(member_id)
        # Sessions only grow longer.
        self._no_expiry_before_ms = self.next_timer_ms() or 0

    def next_timer_ms(self) -> int | None:
        """Return when the next session ends; None without members."""
        return min((member.expires_ms for member in self.members.values()), default=None)

    def _is_since(self, rules: ShareGroupRules) -> bool:
        return self.rules >= rules

    def _error(self, request: ShareHeartbeat) -> Errors:
        """Return why a request is refused, if it is."""
        if request.epoch < LEAVE_EPOCH or (request.epoch == JOIN_EPOCH and not request.subscription):
            return Errors.INVALID_REQUEST
        if not self.exists and request.epoch != JOIN_EPOCH:
            return Errors.GROUP_ID_NOT_FOUND
        member = self.members.get(request.member_id)
        if member is None:
            is_full = len(self.members) >= self.config.group_share_max_size
            if is_full and request.epoch != LEAVE_EPOCH:
                return Errors.GROUP_MAX_SIZE_REACHED
            return Errors.NONE if request.epoch == JOIN_EPOCH else Errors.UNKNOWN_MEMBER_ID
        rejoins = request.epoch == JOIN_EPOCH and self._is_since(ShareGroupRules.ONLY_SUBSCRIBED)
        if rejoins or request.epoch in (LEAVE_EPOCH, member.epoch, member.previous_epoch):
            return Errors.NONE
        return Errors.FENCED_MEMBER_EPOCH

    def _beat(self, request: ShareHeartbeat, now_ms: int) -> ShareAnswer:
        """Answer a heartbeat that is accepted; nothing changes if the assignor fails."""
        before = self.members.get(request.member_id, ShareMember())
        asked = before.subscription if request.subscription is None else request.subscription
        raises = asked != before.subscription
        is_new = raises or request.member_id not in self.members
        member = replace(before, subscription=asked)
        updated = {**self.members, request.member_id: member} if is_new else self.members
        if not self._is_since(ShareGroupRules.ASSIGNMENT_INTERVAL) or self.target_epoch >= self.epoch:
            raises = raises or self._has_unassigned_partitions()
        epoch, known, subscribed = self.epoch, self._known, self._names
        is_refreshed = raises or self._must_refresh
        if is_refreshed:
            subscribed = self._subscribed(updated)
            known = {name: self._topics[name] for name in subscribed if name in self._topics}
            raises = raises or known != self._known
            epoch += raises
        if epoch > self.target_epoch and self._can_assign(now_ms):
            self.targets = dict(self._new_targets(updated, request.member_id, known))
            self.target_epoch, self._assigned_ms, self._is_assigned = epoch, now_ms, None
        self.exists, self.epoch, self._known = True, epoch, known
        self._must_refresh = self._must_refresh and not is_refreshed
        member = self._reconciled(member, self.targets.get(request.member_id, _NOTHING))
        expires_ms = now_ms + self.config.group_share_session_timeout_ms
        updated[request.member_id] = replace(member, expires_ms=expires_ms)
        self.members = updated
        if is_new:
            self._names, self._is_assigned = self._subscribed(updated), None
        self._initialize(subscribed)
        is_full = request.subscription is not None and self._is_since(ShareGroupRules.INITIALIZED)
        is_shown = is_full or request.epoch == JOIN_EPOCH or member.assigned != before.assigned
        interval_ms = self.config.group_share_heartbeat_interval_ms
        return ShareAnswer(Errors.NONE, member.epoch, interval_ms, member.assigned if is_shown else None)

    def _subscribed(self, members: Mapping[str, ShareMember]) -> frozenset[str]:
        return frozenset().union(*(member.subscription for member in members.values()))

    def _has_unassigned_partitions(self) -> bool:
        """Return whether the target lacks initialized partitions of subscribed topics, or has more than these.

        As in ``initializedAssignmentPending``, also after members have left. In 4.1 all topics count.
        """
        if not (self.members and self.initialized):
            return False
        if self._is_assigned is None:
            assigned, counted = frozenset().union(*self.targets.values()), self.initialized
            if self._is_since(ShareGroupRules.ONLY_SUBSCRIBED):
                counted = {name: count for name, count in counted.items() if name in self._names}
                assigned = frozenset(partition for partition in assigned if partition[0] in counted)
            self._is_assigned = assigned == _all_of(counted)
        return not self._is_assigned

    def _can_assign(self, now_ms: int) -> bool:
        if not self._is_since(ShareGroupRules.ASSIGNMENT_INTERVAL) or self._assigned_ms is None:
            return True
        return now_ms >= self._assigned_ms + self.config.group_share_assignment_interval_ms

    def _new_targets(
        self, members: Mapping[str, ShareMember], heartbeat_of: str, known: Mapping[str, int]
    ) -> Mapping[str, Partitions]:
        """Return the target assignment of these members; ``known`` are the subscribed topics with their partitions."""
        subscriptions = {name: member.subscription for name, member in members.items()}
        assignable = self.initialized if self._is_since(ShareGroupRules.INITIALIZED) else known
        return self.assign(AssignmentRequest(subscriptions, self.targets, _all_of(assignable), heartbeat_of))

    def _reconciled(self, member: ShareMember, target: Partitions) -> ShareMember:
        """Return a member with its target and the target's epoch, as in ``ShareGroupAssignmentBuilder``."""
        if member.epoch != self.target_epoch:
            assigned = self._given(member, target)
            return replace(member, epoch=self.target_epoch, previous_epoch=member.epoch, assigned=assigned)
        if self._is_since(ShareGroupRules.ONLY_SUBSCRIBED):
            return replace(member, assigned=self._given(member, target))
        return member

    def _given(self, member: ShareMember, target: Partitions) -> Partitions:
        """Return what a member gets of its target: since 4.2 nothing of topics that it does not subscribe to."""
        if not self._is_since(ShareGroupRules.ONLY_SUBSCRIBED):
            return target
        return frozenset(partition for partition in target if partition[0] in member.subscription)

    def _initialize(self, subscribed: frozenset[str]) -> None:
        """Ask for the share state of new partitions of subscribed topics."""
        if not self._is_since(ShareGroupRules.INITIALIZED):
            return
        self._initializing = {
            name: self._topics[name]
            for name in subscribed
            if name in self._topics and self.initialized.get(name, 0) < self._topics[name]
        }

    def _remove(self, member_id: str) -> None:
        """Remove a member that leaves, or whose session has ended, which raises the epoch."""
        del self.members[member_id]
        self.targets.pop(member_id, None)
        self._names, self._is_assigned = self._subscribed(self.members), None
        self._known = {name: self._topics[name] for name in self._names if name in self._topics}
        self.epoch += 1
        if not self.members and self._is_since(ShareGroupRules.EMPTY_GROUPS):
            self.target_epoch = self.epoch
            self._assigned_ms = None


def _all_of(topics: Mapping[str, int]) -> Partitions:
    """Return all partitions of topics with these numbers of partitions."""
    return frozenset((name, number) for name, count in topics.items() for number in range(count))
