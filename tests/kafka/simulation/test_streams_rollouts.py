"""Simulated streams groups (KIP-1071): examples, and invariants of random scenarios."""

import random
from typing import Any

import pytest

from rebalance_sim.kafka.coordinator.streams.streams_group import Tasks
from rebalance_sim.kafka.coordinator.streams.topology import Subtopology, Topology
from rebalance_sim.kafka.simulation.group_events import GroupEvent
from rebalance_sim.kafka.simulation.heartbeat_groups import RolloutOutcome
from rebalance_sim.kafka.simulation.model import ScenarioKind, Subject
from rebalance_sim.kafka.simulation.settings import SimulationSettings
from rebalance_sim.kafka.simulation.sharing import Sharing
from rebalance_sim.kafka.simulation.streams_rollouts import StreamsSetUp, StreamsThread, simulate_streams_group
from rebalance_sim.releases import kafka_version

RELEASES = ("4.2.0", "4.3.0", "4.4.0")
TASKS = 6
BEAT_MS, SESSION_MS, DELAY_MS = 5000, 45_000, 3000
SLACK_MS = 150
"""Longer than the messages and writes of one heartbeat take, and the poll that follows."""
TOPOLOGY = Topology(
    0, {"0": Subtopology(("orders",)), "1": Subtopology(("totals",), ("totals-changelog",), is_stateful=True)}
)


def simulated(
    *events: GroupEvent,
    processes: int = 3,
    threads: int = 2,
    joining: int = 0,
    release: str = "4.3.0",
    seed: int = 1,
    static: bool = False,
    topology: Topology = TOPOLOGY,
    **settings: Any,
) -> RolloutOutcome:
    """Simulate a group of two subtopologies with six tasks each, and one standby of those with state."""
    listed = [
        StreamsThread(f"m{process}-{thread}", process, f"p{process}", is_member=process < processes,
                      instance_id=f"i{process}-{thread}" if static else None)
        for process in range(processes + joining)
        for thread in range(threads)
    ]  # fmt: skip
    topics = {"orders": TASKS, "totals": TASKS, "totals-changelog": TASKS}
    happened, version = sorted(events, key=lambda event: event.at_ms), kafka_version(release)
    set_up = StreamsSetUp(listed, topology, topics, happened, version, SimulationSettings(**settings), 1, seed)
    return simulate_streams_group(set_up)


def happens(kind: ScenarioKind, process: int = 0, at_ms: int = 10_000, **more: Any) -> GroupEvent:
    return GroupEvent(0, at_ms, kind, process, **more)


def running(outcome: RolloutOutcome) -> list[tuple[str, int]]:
    return sorted(task for tasks in outcome.owned.values() for task in tasks)


ALL_TASKS = [(name, p) for name in "01" for p in range(TASKS)]


@pytest.mark.parametrize("release", RELEASES)
def test_a_group_to_which_nothing_happens_stays_as_it_is(release: str) -> None:
    outcome = simulated(release=release)
    assert (outcome.epochs, outcome.sharing.moved, outcome.sharing.unowned_ms(outcome.ended_ms)) == ([], 0, 0)
    assert outcome.is_stable
    assert running(outcome) == ALL_TASKS


@pytest.mark.parametrize("release", RELEASES)
def test_tasks_of_a_process_that_leaves_wait_for_the_heartbeats_of_the_others(release: str, seed: int) -> None:
    outcome = simulated(happens(ScenarioKind.LEAVE), release=release, seed=seed)
    assert [(row.reason.name, row.epoch) for row in outcome.epochs] == [("MEMBER_LEFT", 2), ("MEMBER_LEFT", 3)]
    # The threads of a process leave at the same time, and either message may arrive first.
    assert {row.consumer for row in outcome.epochs} == {0, 1}
    assert outcome.is_stable
    assert outcome.sharing.moved >= TASKS * 2 / 3
    # A member whose heartbeat computes an earlier target may have to revoke tasks first.
    longest = max(shares.unowned_ms for shares in outcome.sharing.partitions.values())
    assert 0 < longest <= 3 * BEAT_MS + SLACK_MS
    assert running(outcome) == ALL_TASKS


@pytest.mark.parametrize("release", RELEASES)
def test_a_crash_is_noticed_when_the_sessions_end(release: str, seed: int) -> None:
    outcome = simulated(happens(ScenarioKind.CRASH), release=release, seed=seed)
    assert {row.reason.name for row in outcome.epochs} == {"SESSION_EXPIRED"}
    assert outcome.evicted == 2
    times = [shares.unowned_ms for shares in outcome.sharing.partitions.values() if shares.unowned_ms]
    assert SESSION_MS - BEAT_MS <= max(times) <= SESSION_MS + 3 * BEAT_MS + SLACK_MS
    assert running(outcome) == ALL_TASKS


def test_a_new_process_waits_until_others_have_revoked_its_tasks() -> None:
    outcome = simulated(happens(ScenarioKind.JOIN, 3), joining=1)
    assert [row.reason.name for row in outcome.epochs] == ["NEW_MEMBER"] * 2
    subjects = [(row.subject, row.consumer) for row in outcome.steps if row.at_ms > 0]
    assert subjects.index((Subject.ASSIGNED, 6)) > [subject for subject, _ in subjects].index(Subject.REVOKED)
    assert len(outcome.owned[6]) + len(outcome.owned[7]) == outcome.sharing.moved > 0
    assert outcome.is_stable


@pytest.mark.parametrize("release", RELEASES)
def test_a_rolling_restart_raises_the_epoch_twice_for_each_thread(release: str, seed: int) -> None:
    restarts = [happens(ScenarioKind.RESTART, p, 10_000 + 60_000 * p, value=5000) for p in range(3)]
    outcome = simulated(*restarts, release=release, seed=seed)
    assert len(outcome.epochs) == 12
    assert outcome.is_stable
    assert running(outcome) == ALL_TASKS


def test_static_members_that_restart_within_their_sessions_keep_their_tasks(seed: int) -> None:
    """A process without state has a new id, and raises the epoch once for each thread, but no task moves."""
    restarts = [happens(ScenarioKind.RESTART, p, 10_000 + 60_000 * p, value=5000) for p in range(3)]
    stateless = Topology(0, {name: Subtopology(part.sources) for name, part in TOPOLOGY.subtopologies.items()})
    for topology, epochs in ((TOPOLOGY, 0), (stateless, 6)):
        outcome = simulated(*restarts, release="4.4.0", seed=seed, static=True, topology=topology)
        assert (len(outcome.epochs), outcome.sharing.moved, outcome.is_stable) == (epochs, 0, True)
        times = {shares.unowned_ms for shares in outcome.sharing.partitions.values()}
        # Each is back after 5 s, polls for the first time a second later, and takes its tasks in the next poll.
        assert 6000 <= min(times) <= max(times) <= 6000 + 2 * SLACK_MS
        assert outcome.stable_since_ms > restarts[-1].at_ms + 6000
        assert running(outcome) == ALL_TASKS


def test_tasks_of_static_members_that_do_not_return_wait_until_their_sessions_end(seed: int) -> None:
    outcome = simulated(happens(ScenarioKind.LEAVE), release="4.4.0", seed=seed, static=True)
    assert {row.reason.name for row in outcome.epochs} == {"SESSION_EXPIRED"}
    times = [shares.unowned_ms for shares in outcome.sharing.partitions.values() if shares.unowned_ms]
    assert SESSION_MS - BEAT_MS <= max(times) <= SESSION_MS + 3 * BEAT_MS + SLACK_MS
    assert running(outcome) == ALL_TASKS


def test_the_first_process_of_an_empty_group_waits_for_the_initial_rebalance_delay() -> None:
    """It learns of its tasks in the first heartbeat after that."""
    events = [happens(ScenarioKind.RESTART, value=10_000)]
    for delay_ms, waits_ms in ((0, 0), (DELAY_MS, BEAT_MS)):
        settings: dict[str, Any] = {"group_streams_initial_rebalance_delay_ms": delay_ms}
        settings["group_streams_assignment_interval_ms"] = 0
        outcome = simulated(*events, processes=1, threads=1, **settings)
        (unowned_ms,) = {shares.unowned_ms for shares in outcome.sharing.partitions.values()}
        # It stops, is back after 10 s, and polls for the first time a second later.
        assert 11_000 + waits_ms <= unowned_ms <= 11_000 + waits_ms + 2 * SLACK_MS


def test_tasks_with_state_are_lost_when_their_topic_grows() -> None:
    """The changelog topic has too few partitions: no member gets a task until it has as many."""
    stateless = simulated(happens(ScenarioKind.GROW, topic="orders", value=2))
    assert (stateless.is_stable, len(running(stateless))) == (True, 2 * TASKS + 2)
    stateful = simulated(happens(ScenarioKind.GROW, topic="totals", value=2))
    assert (stateful.is_stable, running(stateful)) == (False, [])
    assert [row.reason.name for row in stateful.epochs] == ["TOPICS_CHANGED"]


def test_a_member_that_does_not_revoke_in_time_is_removed() -> None:
    """Its application takes longer than max.poll.interval.ms to close its tasks."""
    outcome = simulated(happens(ScenarioKind.JOIN, 3), joining=1, revoke_ms=310_000)
    assert "REBALANCE_TIMED_OUT" in {row.reason.name for row in outcome.epochs}


@pytest.mark.parametrize("release", RELEASES)
def test_in_random_scenarios_no_two_members_run_a_task(
    release: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    change = Sharing.change

    def checked(self: Sharing, *given: Any, **more: Any) -> None:
        change(self, *given, **more)
        assert all(len(shares.consumers) <= 1 for shares in self.partitions.values())

    monkeypatch.setattr(Sharing, "change", checked)
    rng = random.Random(seed)
    kinds = (ScenarioKind.LEAVE, ScenarioKind.CRASH, ScenarioKind.RESTART, ScenarioKind.JOIN)
    for number in range(20):
        events = [
            happens(rng.choice(kinds), rng.randrange(5), rng.randrange(10_000, 90_000), value=rng.randrange(20_000))
            for _ in range(rng.randint(1, 8))
        ]
        outcome = simulated(*events, joining=2, release=release, seed=seed + number)
        epochs = [row.epoch for row in outcome.epochs]
        assert epochs == sorted(set(epochs))
        if outcome.owned:
            assert outcome.is_stable, events
            assert running(outcome) == ALL_TASKS


def test_members_begin_with_what_they_have() -> None:
    had = Tasks(frozenset({("0", 3), ("1", 2)}))
    threads = [StreamsThread("a", 0, "p0", had), StreamsThread("b", 1, "p1")]
    topics = {"orders": TASKS, "totals": TASKS, "totals-changelog": TASKS}
    version = kafka_version("4.3.0")
    outcome = simulate_streams_group(StreamsSetUp(threads, TOPOLOGY, topics, [], version, SimulationSettings()))
    assert had.active <= outcome.owned[0]
