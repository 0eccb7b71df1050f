"""Simulates share groups (KIP-932): consumers beat, and the coordinator's rules answer.

A consumer sends a heartbeat every ``group.share.heartbeat.interval.ms`` and, once it has other partitions, at once
(``AbstractMembershipManager``, state ACKNOWLEDGING). A partition is unavailable while no member has it.

Assumed: consumers process records in the background of all this; records that a crashed member has acquired are
delivered again only after ``group.share.record.lock.duration.ms``, which counts as no unavailability.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rebalance_sim.kafka.coordinator.consumer.consumer_group import EpochReason
from rebalance_sim.kafka.coordinator.share.share_group import (
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
from rebalance_sim.kafka.simulation.heartbeat_groups import (
    JOIN_EPOCH,
    ROLLOUT_EVENTS,
    HeartbeatSimulation,
    Process,
    RolloutOutcome,
)
from rebalance_sim.kafka.simulation.model import ScenarioKind
from rebalance_sim.kafka.simulation.settings import SimulationSettings
from rebalance_sim.kafka.simulation.share_targets import ShareTargets
from rebalance_sim.releases import ShareGroupRules

SIMULATED_EVENTS = ROLLOUT_EVENTS | {ScenarioKind.SUBSCRIBE}


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
class _Consumer(Process):
    """A consumer while it runs, and what it knows."""

    subscription: frozenset[str] = frozenset()
    sends_subscription: bool = True


def simulate_share_group(set_up: ShareSetUp) -> RolloutOutcome:
    """Simulate a group until nothing has changed for a while after its last event. Raises AssignorError.

    The group begins stable: its members have the target assignment that the coordinator computes from what they own.
    """
    return _Simulation(set_up).run()


class _Simulation(HeartbeatSimulation[ShareHeartbeat, ShareAnswer]):
    def __init__(self, set_up: ShareSetUp) -> None:
        self._set_up = set_up
        self._topics = dict(set_up.topics)
        self._interval_ms = set_up.settings.group_share_heartbeat_interval_ms
        self._session_ms = set_up.settings.group_share_session_timeout_ms
        self._shares = ShareGroup(ShareConfig(self._session_ms, self._interval_ms), set_up.rules, set_up.targets)
        self._consumers = [
            _Consumer(each.start_ms, each.max_poll_interval_ms, subscription=each.subscription)
            for each in set_up.consumers
        ]
        super().__init__(self._shares, self._consumers, set_up.events, set_up.settings, set_up.seed)

    def _begin(self) -> Mapping[str, Partitions]:
        """Let the members have the target assignment that follows from what they own."""
        members = {}
        for place, consumer in enumerate(self._set_up.consumers):
            if not consumer.is_member:
                continue
            self._consumers[place].sends_subscription = False
            self._by_member[consumer.name] = place
            epoch = self._set_up.epoch
            members[consumer.name] = ShareMember(epoch, epoch, consumer.subscription)
            self._set_up.targets.targets[consumer.name] = list(consumer.owned)
        self._shares.begin(members, self._topics, self._set_up.epoch, 0)
        return {name: member.assigned for name, member in self._shares.members.items()}

    def _subscribed(self) -> frozenset[str]:
        present = (each for each in self._consumers if each.runs or each.returns or each.is_lost)
        return frozenset().union(*(each.subscription for each in present))

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
        self._shares.see_topics(self._topics)

    def _happen_to(self, place: int, event: GroupEvent) -> None:
        if event.kind is not ScenarioKind.SUBSCRIBE:
            super()._happen_to(place, event)
            return
        consumer = self._consumers[place]
        consumer.subscription, consumer.sends_subscription = frozenset(event.names), True

    def _forget(self, place: int) -> None:
        consumer = self._consumers[place]
        consumer.epoch, consumer.sends_subscription = JOIN_EPOCH, True

    def _request(self, place: int) -> ShareHeartbeat:
        consumer = self._consumers[place]
        subscription = consumer.subscription if consumer.sends_subscription else None
        consumer.sends_subscription = False
        return ShareHeartbeat(consumer.member_id, consumer.epoch, subscription)

    def _leaving(self, member_id: str) -> ShareHeartbeat:
        return ShareHeartbeat(member_id, LEAVE_EPOCH)

    def _answer(self, request: ShareHeartbeat) -> ShareAnswer:
        return self._shares.heartbeat(request, self._now)

    def _follow(self, place: int, answer: ShareAnswer) -> None:
        if answer.assigned is not None and answer.assigned != self._processes[place].partitions:
            self._assign(place, answer.assigned)
            self._beat(place)

    def _is_same(self, before: ShareMember | None, after: ShareMember | None) -> bool:
        if before is None or after is None:
            return before is after
        return (before.epoch, before.subscription, before.assigned) == (after.epoch, after.subscription, after.assigned)

    def _have_all(self) -> bool:
        places = [self._by_member[name] for name in self._shares.members]
        return all(self._processes[place].epoch == self._shares.epoch for place in places)

    def _reason(self, request: ShareHeartbeat, known: bool) -> EpochReason:
        changes = known and request.subscription is not None
        return EpochReason.MEMBER_CHANGED if changes else super()._reason(request, known)
