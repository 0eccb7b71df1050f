"""Simulated share groups (KIP-932): invariants of random scenarios."""

import random
from collections.abc import Mapping

import pytest

from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.coordinator.share.share_group import AssignmentRequest, AssignorError, Partitions
from rebalance_sim.kafka.simulation.group_events import GroupEvent
from rebalance_sim.kafka.simulation.heartbeat_groups import RolloutOutcome
from rebalance_sim.kafka.simulation.model import ScenarioKind, Subject
from rebalance_sim.kafka.simulation.settings import SimulationSettings
from rebalance_sim.kafka.simulation.share_groups import ShareSetUp, SharingConsumer, simulate_share_group
from rebalance_sim.kafka.simulation.share_targets import ShareTargets
from rebalance_sim.releases import kafka_version
from tests.oracle.oracle import SHARE_GROUP_RELEASES
from tests.support.batches import Batch
from tests.support.model import Cluster, Group, Member

JOBS = frozenset({"jobs"})
RAISE_AGAIN = ("4.1.0", "4.2.0")
"""Releases that raise the epoch once more after a member has left."""
BEAT_MS, SESSION_MS = 5000, 45_000
SLACK_MS = 50
"""Longer than the messages and writes of one heartbeat take."""


def simulated(
    members: int,
    partitions: int,
    *events: GroupEvent,
    joining: int = 0,
    release: str = "4.3.0",
    assignor: type[ShareTargets] = ShareTargets,
    settings: SimulationSettings | None = None,
    seed: int = 1,
) -> RolloutOutcome:
    """Simulate a group of one topic."""
    version = kafka_version(release)
    names = [f"worker-{number}" for number in range(members)]
    group = Group(tuple(Member(name, ("jobs",)) for name in names), Cluster({"jobs": partitions}, {}, {"jobs": (1, 2)}))
    targets = assignor(Batch([group]).topics, {"jobs": 0}, version.share)
    consumers = [SharingConsumer(name, JOBS) for name in names]
    consumers += [SharingConsumer(f"new-{number}", JOBS, is_member=False) for number in range(joining)]
    happened = sorted(events, key=lambda event: event.at_ms)
    settings = settings or SimulationSettings()
    topics, rules = {"jobs": partitions}, version.share_groups
    return simulate_share_group(ShareSetUp(consumers, topics, targets, happened, rules, settings, 3, seed))


class FailsOnce(ShareTargets):
    """An assignor that fails after a member has left."""

    def __call__(self, asked: AssignmentRequest) -> Mapping[str, Partitions]:
        """Fail if one member is left."""
        if len(asked.subscriptions) == 1:
            raise AssignorError("PartitionAssignorException")
        return super().__call__(asked)


def happens(kind: ScenarioKind, consumer: int = 0, at_ms: int = 10_000, value: int = 0) -> GroupEvent:
    return GroupEvent(0, at_ms, kind, consumer, value)


@pytest.mark.parametrize("release", SHARE_GROUP_RELEASES)
def test_a_group_to_which_nothing_happens_stays_as_it_is(release: str) -> None:
    outcome = simulated(3, 7, release=release)
    assert (outcome.epochs, outcome.sharing.moved, outcome.sharing.unowned_ms(outcome.ended_ms)) == ([], 0, 0)
    assert outcome.is_stable
    each = 3 if release == "4.0.0" else 1
    owned = sorted(partition for owned in outcome.owned.values() for _, partition in owned)
    assert owned == sorted(each * [*range(7)])


@pytest.mark.parametrize("release", SHARE_GROUP_RELEASES)
def test_partitions_of_a_member_that_leaves_wait_for_the_heartbeats_of_the_others(release: str, seed: int) -> None:
    outcome = simulated(3, 7, happens(ScenarioKind.LEAVE), release=release, seed=seed)
    (row,) = outcome.epochs[:1] if release in RAISE_AGAIN else outcome.epochs
    assert (row.reason.name, row.epoch, row.consumer) == ("MEMBER_LEFT", 4, 0)
    assert outcome.is_stable
    times = [shares.unowned_ms for shares in outcome.sharing.partitions.values() if shares.unowned_ms]
    # In 4.0 the others have these partitions, too; in 4.1 a member may lose others to a third one.
    assert len(times) == outcome.sharing.moved or release == "4.1.0"
    assert max(times, default=0) <= 2 * BEAT_MS + SLACK_MS
    assert outcome.ended_ms >= 10_000 + SESSION_MS


def test_4_1_and_4_2_raise_the_epoch_again_after_a_member_has_left() -> None:
    """The target lacks partitions with share state until it is computed, which counts as a change there."""
    epochs = {
        release: [row.epoch for row in simulated(3, 7, happens(ScenarioKind.LEAVE), release=release).epochs]
        for release in SHARE_GROUP_RELEASES
    }
    assert epochs == {"4.0.0": [4], "4.1.0": [4, 5], "4.2.0": [4, 5], "4.3.0": [4], "4.4.0": [4]}


def test_in_4_1_a_topic_that_nobody_subscribes_to_any_longer_raises_the_epoch_with_every_heartbeat() -> None:
    """No target ever has its partitions with share state (KAFKA-19468)."""
    leaves = [GroupEvent(0, 10_000, ScenarioKind.SUBSCRIBE, consumer, names=()) for consumer in range(2)]
    epochs = {release: len(simulated(2, 3, *leaves, release=release).epochs) for release in ("4.0.0", "4.1.0", "4.2.0")}
    assert (epochs["4.0.0"], epochs["4.2.0"]) == (2, 2)
    assert epochs["4.1.0"] > 100


def test_a_crash_is_noticed_when_the_session_ends(seed: int) -> None:
    outcome = simulated(3, 7, happens(ScenarioKind.CRASH), seed=seed)
    (row,) = outcome.epochs
    assert (row.reason.name, row.evicted) == ("SESSION_EXPIRED", 1)
    assert 10_000 + SESSION_MS - BEAT_MS - SLACK_MS <= row.from_ms <= 10_000 + SESSION_MS + SLACK_MS


def test_settings_decide_how_often_members_beat_and_when_sessions_end(seed: int) -> None:
    settings = SimulationSettings(group_share_heartbeat_interval_ms=1000, group_share_session_timeout_ms=7000)
    outcome = simulated(3, 7, happens(ScenarioKind.CRASH), settings=settings, seed=seed)
    (row,) = outcome.epochs
    assert 10_000 + 7000 - 1000 - SLACK_MS <= row.from_ms <= 10_000 + 7000 + SLACK_MS
    assert row.to_ms is not None
    assert row.to_ms - row.from_ms <= 2 * 1000 + SLACK_MS
    beats = sum(step.subject is Subject.REQUEST for step in outcome.steps if step.at_ms < 10_000)
    assert 3 * 9 <= beats <= 3 * 11


def test_a_short_stall_changes_nothing_and_a_long_one_lets_the_consumer_leave_and_return() -> None:
    assert simulated(2, 2, happens(ScenarioKind.STALL, value=200_000)).epochs == []
    outcome = simulated(2, 2, happens(ScenarioKind.STALL, value=400_000))
    assert [row.reason.name for row in outcome.epochs] == ["MEMBER_LEFT", "NEW_MEMBER"]
    left, returned = outcome.epochs
    assert (left.from_ms // 1000, returned.from_ms // 1000) == (310, 411)


def test_a_consumer_whose_group_is_full_stops_with_the_error() -> None:
    """``group.share.max.size`` is 200: the coordinator refuses the next member, which does not try again."""
    outcome = simulated(200, 3, happens(ScenarioKind.JOIN, 200), joining=1)
    assert [(each.consumer, each.error) for each in outcome.failed] == [(200, Errors.GROUP_MAX_SIZE_REACHED)]
    assert outcome.is_stable
    assert (outcome.epochs, 200 in outcome.owned) == ([], False)


def test_a_member_whose_heartbeat_the_assignor_fails_stops_and_its_session_ends() -> None:
    outcome = simulated(2, 3, happens(ScenarioKind.LEAVE, 1), release="4.1.0", assignor=FailsOnce)
    assert [(each.consumer, each.error) for each in outcome.failed] == [(0, Errors.UNKNOWN_SERVER_ERROR)]
    assert outcome.evicted == 1


@pytest.mark.parametrize("release", SHARE_GROUP_RELEASES)
def test_random_scenarios_end_with_all_partitions_assigned(release: str, seed: int) -> None:
    rng = random.Random(f"{release} {seed}")
    kinds = (ScenarioKind.LEAVE, ScenarioKind.CRASH, ScenarioKind.RESTART, ScenarioKind.GROW)
    for number in range(15):
        members, partitions, joining = rng.randint(2, 8), rng.randint(1, 9), rng.randint(0, 2)
        events = [happens(ScenarioKind.JOIN, members + k, rng.randrange(90_000)) for k in range(joining)]
        for _ in range(rng.randint(0, 4)):
            kind = rng.choice(kinds)
            # The first consumer stays.
            consumer = rng.randrange(1, members)
            value = rng.randint(1, 3) if kind is ScenarioKind.GROW else rng.randint(0, 20_000)
            events.append(happens(kind, consumer, rng.randrange(90_000), value))
        outcome = simulated(members, partitions, *events, joining=joining, release=release, seed=number)
        assert outcome.is_stable, (number, events)
        total = max(number for _, number in outcome.sharing.partitions) + 1
        assert {p for owned in outcome.owned.values() for _, p in owned} == set(range(total))
        for partition, shares in outcome.sharing.partitions.items():
            assert shares.consumers == {place for place, owned in outcome.owned.items() if partition in owned}
            assert 0 <= shares.unowned_ms <= outcome.ended_ms
        assert sum(row.moved for row in outcome.epochs) == outcome.sharing.moved
        assert outcome.sharing.moved_back <= outcome.sharing.moved
        times = [step.at_ms for step in outcome.steps]
        assert times == sorted(times)
        evicted = sum(row.evicted for row in outcome.epochs)
        crashes = sum(event.kind is ScenarioKind.CRASH for event in events)
        assert evicted == outcome.evicted <= crashes
        answers = sum(step.subject is Subject.REQUEST for step in outcome.steps)
        assert outcome.messages == 2 * answers
