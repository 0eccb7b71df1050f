"""Simulated share groups (KIP-932): invariants of random scenarios."""

import random

import pytest

from rebalance_sim.kafka.simulation.group_events import GroupEvent
from rebalance_sim.kafka.simulation.model import ScenarioKind, Subject
from rebalance_sim.kafka.simulation.settings import SimulationSettings
from rebalance_sim.kafka.simulation.share_groups import ShareOutcome, ShareSetUp, SharingConsumer, simulate_share_group
from rebalance_sim.kafka.simulation.share_targets import ShareTargets
from rebalance_sim.releases import kafka_version
from tests.oracle.oracle import SHARE_GROUP_RELEASES
from tests.support.batches import Batch
from tests.support.model import Cluster, Group, Member

JOBS = frozenset({"jobs"})
BEAT_MS, SESSION_MS = 5000, 45_000
SLACK_MS = 50
"""Longer than the messages and writes of one heartbeat take."""


def simulated(
    members: int, partitions: int, *events: GroupEvent, joining: int = 0, release: str = "4.3.0", seed: int = 1
) -> ShareOutcome:
    """Simulate a group of one topic."""
    version = kafka_version(release)
    names = [f"worker-{number}" for number in range(members)]
    group = Group(tuple(Member(name, ("jobs",)) for name in names), Cluster({"jobs": partitions}, {}, {"jobs": (1, 2)}))
    targets = ShareTargets(Batch([group]).topics, {"jobs": 0}, version.share)
    consumers = [SharingConsumer(name, JOBS) for name in names]
    consumers += [SharingConsumer(f"new-{number}", JOBS, is_member=False) for number in range(joining)]
    happened = sorted(events, key=lambda event: event.at_ms)
    settings = SimulationSettings()
    return simulate_share_group(
        ShareSetUp(
            consumers, {"jobs": partitions}, targets, happened, version.consumer_groups, settings, epoch=3, seed=seed
        )
    )


def happens(kind: ScenarioKind, consumer: int = 0, at_ms: int = 10_000, value: int = 0) -> GroupEvent:
    return GroupEvent(0, at_ms, kind, consumer, value)


@pytest.mark.parametrize("release", SHARE_GROUP_RELEASES)
def test_a_group_to_which_nothing_happens_stays_as_it_is(release: str) -> None:
    outcome = simulated(3, 7, release=release)
    assert (outcome.epochs, outcome.sharing.moved, outcome.sharing.unowned_ms(outcome.ended_ms)) == ([], 0, 0)
    assert outcome.is_stable
    assert sorted(partition for owned in outcome.owned.values() for _, partition in owned) == list(range(7))


@pytest.mark.parametrize("release", SHARE_GROUP_RELEASES)
def test_partitions_of_a_member_that_leaves_wait_for_the_heartbeats_of_the_others(release: str, seed: int) -> None:
    outcome = simulated(3, 7, happens(ScenarioKind.LEAVE), release=release, seed=seed)
    (row,) = outcome.epochs if release != "4.2.0" else outcome.epochs[:1]
    assert (row.reason.name, row.epoch, row.consumer) == ("MEMBER_LEFT", 4, 0)
    assert outcome.is_stable
    times = [shares.unowned_ms for shares in outcome.sharing.partitions.values() if shares.unowned_ms]
    assert len(times) == outcome.sharing.moved
    assert max(times) <= 2 * BEAT_MS + SLACK_MS
    assert outcome.ended_ms >= 10_000 + SESSION_MS


def test_4_2_raises_the_epoch_again_after_a_member_has_left() -> None:
    """Its target lacks partitions with share state until it is computed, which counts as a change there."""
    epochs = {
        release: [row.epoch for row in simulated(3, 7, happens(ScenarioKind.LEAVE), release=release).epochs]
        for release in SHARE_GROUP_RELEASES
    }
    assert epochs == {"4.2.0": [4, 5], "4.3.0": [4], "4.4.0": [4]}


def test_a_crash_is_noticed_when_the_session_ends(seed: int) -> None:
    outcome = simulated(3, 7, happens(ScenarioKind.CRASH), seed=seed)
    (row,) = outcome.epochs
    assert (row.reason.name, row.evicted) == ("SESSION_EXPIRED", 1)
    assert 10_000 + SESSION_MS - BEAT_MS - SLACK_MS <= row.from_ms <= 10_000 + SESSION_MS + SLACK_MS


def test_a_short_stall_changes_nothing_and_a_long_one_lets_the_consumer_leave_and_return() -> None:
    assert simulated(2, 2, happens(ScenarioKind.STALL, value=200_000)).epochs == []
    outcome = simulated(2, 2, happens(ScenarioKind.STALL, value=400_000))
    assert [row.reason.name for row in outcome.epochs] == ["MEMBER_LEFT", "NEW_MEMBER"]
    left, returned = outcome.epochs
    assert (left.from_ms // 1000, returned.from_ms // 1000) == (310, 411)


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
