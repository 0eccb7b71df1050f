"""Simulated groups: invariants of random histories, and exact timelines that follow from Kafka's rules."""

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rebalance_sim.kafka.coordinator.classic.classic_group import Reason, RequestKind, State
from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.simulation.batch_state import BatchResult, field
from rebalance_sim.kafka.simulation.group_events import GroupEvent
from rebalance_sim.kafka.simulation.model import ScenarioKind, Subject
from rebalance_sim.kafka.simulation.prepared import Conditions, PreparedGroups
from rebalance_sim.kafka.simulation.run import Run, simulate_to_end
from rebalance_sim.kafka.simulation.scenario import Overrides, Scenario
from rebalance_sim.kafka.simulation.settings import SimulationSettings
from tests.support.examples import COMPILED
from tests.support.random_histories import MIGRATING, TOPICS, random_histories, random_settings
from tests.support.simulated import History, Played, at, consumer, play
from tests.support.simulation_invariants import faults

VERSIONS = ("1.0", "2.3", "3.9", "4.3")
SETTINGS = 10 if COMPILED else 2
GROUPS = 100 if COMPILED else 2
"""Per settings: 5,000 histories for four versions and groups that migrate to the consumer protocol; 20 as plain
Python."""


def played_by(version: str, histories: list[History], settings: SimulationSettings) -> Played:
    return play(histories, TOPICS, "4.3" if version == MIGRATING else version, settings)


@pytest.mark.parametrize("version", [*VERSIONS, MIGRATING])
def test_invariants(version: str) -> None:
    """With MIGRATING, consumers change to the consumer protocol and back when they restart.

    The histories are always the same: of 10,000 others about one ends with a fault that is not explained yet.
    """
    for seed in range(SETTINGS):
        rng = random.Random(f"{version} {seed}")
        settings = random_settings(rng)
        histories = random_histories(rng, version, GROUPS)
        found = faults(played_by(version, histories, settings))
        assert found == [], settings


def results_of(
    simulated: BatchResult, group: int
) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]], dict[str, Any]]:
    """Return all results of a group, without its number and without positions in the batch."""

    def rows_of(records: Any) -> list[tuple[int, ...]]:
        rows = np.asarray(records)
        names = [name for name in rows.dtype.names or () if name != "group"]
        return [tuple(row) for row in rows[rows["group"] == group][names].tolist()]

    timeline = np.array(simulated.timeline)
    of_lists = np.isin(timeline["kind"], (ScenarioKind.SUBSCRIBE, ScenarioKind.PROTOCOLS))
    timeline["partitions"][(timeline["subject"] == Subject.EVENT) & of_lists] = 0
    progress = np.asarray(simulated.progress)[group]
    in_batch = ("assignments", "rebalance", "decided_row")
    figures = {name: progress[name] for name in progress.dtype.names if name not in in_batch}
    return rows_of(timeline), rows_of(simulated.rebalances), figures


@pytest.mark.parametrize("version", ["2.3", "4.3", MIGRATING])
def test_groups_do_not_disturb_each_other(version: str, seed: int) -> None:
    """A group has the same results alone, in a batch, and in a batch of another order."""
    rng = random.Random(f"{version} alone {seed}")
    settings, histories = random_settings(rng), random_histories(rng, version, 40 if COMPILED else 3)
    together = played_by(version, histories, settings)
    backwards = played_by(version, histories[::-1], settings)
    for group, history in enumerate(histories):
        expected = results_of(played_by(version, [history], settings).simulated, 0)
        assert results_of(together.simulated, group) == expected
        assert results_of(backwards.simulated, len(histories) - 1 - group) == expected
        assert together.owned(group) == backwards.owned(len(histories) - 1 - group)


@pytest.mark.parametrize("version", ["2.3", "4.3", MIGRATING])
def test_conditions_do_not_disturb_each_other(version: str, seed: int) -> None:
    """A group has the same results under each condition, whether it is simulated under others beside it or not."""
    rng = random.Random(f"{version} beside {seed}")
    settings, histories = random_settings(rng), random_histories(rng, version, 40 if COMPILED else 2)
    prepared = played_by(version, histories, settings).prepared
    usual, slower = Scenario("", settings=settings), replace(settings, revoke_ms=700, network_ms=20)
    longer = replace(settings, group_initial_rebalance_delay_ms=settings.group_initial_rebalance_delay_ms + 7000)
    tried: list[tuple[Scenario, str | None]] = [
        (usual, None),
        (replace(usual, consumers=Overrides(static=True)), None),
        (replace(usual, settings=slower), None),
        (replace(usual, settings=slower), "sticky"),
        (replace(usual, settings=longer), None),
    ]
    assignors, followed = prepared.conditions.assignors, np.ones(len(histories), np.bool_)
    runs = [
        Run(
            PreparedGroups(prepared.groups, Conditions(scenario, assignors, strategy)),
            np.arange(len(histories)) + number,
            followed,
        )
        for number, (scenario, strategy) in enumerate(tried)
    ]
    for run, beside in zip(runs, simulate_to_end(runs), strict=True):
        (alone,) = simulate_to_end([run])
        assert beside.errors == alone.errors
        for group in range(len(histories)):
            assert results_of(beside.simulated, group) == results_of(alone.simulated, group)


FIGURES_OF_COSTS = (
    *("first_event_ms", "changed_ms", "all_owned_ms", "unowned_ms", "revoked", "moved", "moved_back", "completed"),
    *("failed", "stable", "finished"),
)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_group_whose_sessions_last_is_the_same_with_longer_ones(version: str, seed: int) -> None:
    """The simulation is longer, but nothing happens in the rest of it."""
    rng = random.Random(f"{version} sessions {seed}")
    settings, histories = random_settings(rng), random_histories(rng, version, 60 if COMPILED else 4)
    longer = {"session_timeout_ms": 120_000}
    lasting = [
        replace(each, members=[row | longer for row in each.members], joiners=[row | longer for row in each.joiners])
        for each in histories
    ]
    usual, longest = played_by(version, histories, settings), played_by(version, lasting, settings)
    unchanged = (field(usual.simulated.groups, "sessions_expired") == 0) & field(usual.simulated.progress, "rests")

    def costs(played: Played, group: int) -> tuple[Any, ...]:
        timeline, rows, figures = results_of(played.simulated, group)
        return timeline, rows, [figures[name] for name in FIGURES_OF_COSTS]

    same = np.array([costs(usual, group) == costs(longest, group) for group in range(len(histories))])
    assert same[unchanged].all()
    assert not COMPILED or (unchanged.any() and not same.all())


@pytest.mark.parametrize("version", [*VERSIONS, MIGRATING])
def test_a_group_without_an_initial_delay_is_the_same_under_another(version: str, seed: int) -> None:
    """So the settings that an audit tries need not be simulated again for it."""
    rng = random.Random(f"{version} delay {seed}")
    settings, histories = random_settings(rng), random_histories(rng, version, 60 if COMPILED else 4)
    longer = replace(settings, group_initial_rebalance_delay_ms=settings.group_initial_rebalance_delay_ms + 7000)
    usual, delayed = (played_by(version, histories, each) for each in (settings, longer))
    never = field(usual.simulated.groups, "initial_delays") == 0
    both = (usual.simulated, delayed.simulated)
    same = np.array([results_of(both[0], group) == results_of(both[1], group) for group in range(len(histories))])
    assert same[never].all()
    assert not COMPILED or (never.any() and not same.all())


# ---- Exact timelines

EXACT = SimulationSettings(network_jitter_ms=0, retry_backoff_ms=0, poll_interval_ms=1)
"""A message takes 1 ms, a heartbeat is sent every 3,000 ms, a write takes 5 ms, an assignor 2 ms."""
COMMIT, ROUND_TRIP = 2, 2


def two_consumers(
    *events: GroupEvent, settings: SimulationSettings = EXACT, version: str = "4.3", **more: Any
) -> Played:
    """A joins at 0 and becomes the leader; B joins at 20,000. ``more`` are further columns of both."""
    joiners = [consumer(name, "t", **more | ({"instance_id": name} if more.get("static") else {})) for name in "AB"]
    history = History(joiners=joiners, events=[at(0, "join", 0), at(20_000, "join", 1), *events])
    return play([history], {"t": 4}, version, settings)


START = 1000
A_JOINED = START + ROUND_TRIP + ROUND_TRIP + 1
"""Arrival of A's second JoinGroup, after the lookup of the coordinator and the response with its member id."""
B_JOINED = 20_000 + A_JOINED
A_HEARTBEATS = A_JOINED + 3000 + 1
"""A counts its heartbeats from the JoinGroup response, which the initial delay defers."""
BOTH_HEARTBEAT = 22_012
"""Both count theirs from the JoinGroup response of the second generation."""
B_MOVES = 4 * (22_021 - 22_010)
"""Unowned time of B's join: A revokes all four partitions."""


def heartbeat_after(at_ms: int) -> int:
    """When the first heartbeat at or after a time is sent."""
    return BOTH_HEARTBEAT + -(-(at_ms - BOTH_HEARTBEAT) // 3000) * 3000


def rejoined_at(noticed_ms: int) -> int:
    """Arrival of the last JoinGroup of a rebalance: a member learns of it with its next heartbeat."""
    return heartbeat_after(noticed_ms) + ROUND_TRIP + COMMIT + 1


def rebalances_of(played: Played) -> list[tuple[str, int, int, int]]:
    """The reason of each rebalance, when it began, when all members had joined, and when the group was stable."""
    return [(Reason(row.reason).name, row.from_ms, row.joined_ms, row.to_ms) for row in played.rebalances()]


JOINS = [("NEW_MEMBER", A_JOINED, A_JOINED + 3000, 4014), ("NEW_MEMBER", B_JOINED, 22_011, 22_020)]
"""Only an empty group waits for ``group.initial.rebalance.delay.ms``."""


def test_a_join_revokes_all_partitions_of_an_eager_member() -> None:
    played = two_consumers()
    assert rebalances_of(played) == JOINS
    assert JOINS[1][2] == A_HEARTBEATS + 6 * 3000 + ROUND_TRIP + COMMIT + 1
    progress = played.progress()
    found = (progress.unowned_ms, progress.revoked, progress.moved, progress.moved_back, progress.failed)
    assert found == (B_MOVES, 4, 2, 0, 0)
    assert [len(owned) for owned in played.owned().values()] == [2, 2]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_poll_wakes_the_heartbeat_thread(version: str) -> None:
    """Without a poll, the heartbeat thread checks every retry.backoff.ms."""
    seldom = replace(EXACT, retry_backoff_ms=900)
    crash = at(60_000, "crash", 1)
    on_time, polling = (two_consumers(crash, settings=each, version=version) for each in (EXACT, seldom))
    assert rebalances_of(polling) == rebalances_of(on_time)
    stalled = two_consumers(at(25_000, "stall", 1, 100_000), crash, settings=seldom, version=version)
    late = stalled.rebalances()[-1].from_ms - on_time.rebalances()[-1].from_ms
    assert -3000 < late < 3900
    assert late != 0


def test_an_async_consumer_without_partitions_waits_in_a_poll() -> None:
    """Without records to process it waits in ``poll``, which checks for events every retry.backoff.ms."""
    joiner = consumer("A", "t", protocols=["server-uniform"])
    history = History(joiners=[joiner], events=[at(0, "join", 0)])
    settings = replace(EXACT, poll_interval_ms=1000, retry_backoff_ms=100)
    played = play([history], {"t": 4}, settings=settings)
    assert played.times(Subject.ASSIGNED, 0) == [START + 100]


@pytest.mark.parametrize("version", ["3.9", "4.3"])
def test_a_join_during_the_initial_delay_extends_it(version: str) -> None:
    joiners = [consumer("A", "t"), consumer("B", "t")]
    history = History(joiners=joiners, events=[at(0, "join", 0), at(1000, "join", 1)])
    (row,) = play([history], {"t": 4}, version, EXACT).rebalances()
    assert (row.from_ms, row.joined_ms, row.joined) == (A_JOINED, A_JOINED + 2 * 3000, 2)


@pytest.mark.parametrize("session_ms", [10_000, 45_000])
def test_a_crash_is_noticed_after_the_session_timeout(session_ms: int) -> None:
    played = two_consumers(at(60_000, "crash", 1), session_timeout_ms=session_ms)
    noticed = heartbeat_after(57_000) + 1 + session_ms
    joined = rejoined_at(noticed - 1)
    assert rebalances_of(played) == [*JOINS, ("SESSION_EXPIRED", noticed, joined, joined + 9)]
    row = played.rebalances()[-1]
    assert (row.evicted, row.revoked, row.moved, row.joined) == (1, 4, 2, 1)
    assert row.unowned_ms == 2 * (joined + 10 - 60_000) + 2 * 11
    assert played.progress().unowned_ms == B_MOVES + row.unowned_ms


@pytest.mark.parametrize("version", ["2.3", "3.9", "4.3"])
def test_a_static_member_returns_within_its_session_without_a_rebalance(version: str) -> None:
    """The other member does not rebalance. Since 2.6.1 the new member id is written to the log before the response."""
    played = two_consumers(at(60_000, "restart", 1, 5000), version=version, static=True, session_timeout_ms=45_000)
    calm = two_consumers(version=version, static=True, session_timeout_ms=45_000)
    assert rebalances_of(played) == rebalances_of(calm)
    stopped, started = 60_000 + COMMIT, 60_000 + COMMIT + 5000
    back = started + START + ROUND_TRIP + ROUND_TRIP + (0 if version == "2.3" else 5) + ROUND_TRIP
    assert played.times(Subject.STOPPED, 1) == [stopped]
    assert played.times(Subject.ASSIGNED, 1)[1:] == [back]
    assert (played.progress().moved, played.owned()) == (calm.progress().moved, calm.owned())
    assert played.progress().unowned_ms == calm.progress().unowned_ms + 2 * (back - stopped)


def test_many_static_members_return_at_once() -> None:
    """The coordinator writes all their new member ids to the log at the same time."""
    members = [consumer(f"m-{i}", "t", instance_id=f"i-{i}", owned=[{"topic": "t", "partition": i}]) for i in range(40)]
    restarts = [at(60_000, "restart", place, 5000) for place in range(40)]
    played = play([History(members, events=restarts)], {"t": 40}, "4.3")
    assert rebalances_of(played) == []
    returned = [played.times(Subject.ASSIGNED, place)[-1] for place in range(40)]
    assert 65_000 < min(returned) <= max(returned) < 66_100


def test_a_static_member_that_returns_after_its_session_causes_two_rebalances() -> None:
    played = two_consumers(at(60_000, "restart", 1, 50_000), static=True, session_timeout_ms=45_000)
    reasons = [row[0] for row in rebalances_of(played)]
    assert reasons == ["NEW_MEMBER", "NEW_MEMBER", "SESSION_EXPIRED", "NEW_MEMBER"]
    # B's two partitions were A's before; they move back to A, and back to B.
    assert (played.simulated.groups[0].evicted, played.progress().moved, played.progress().moved_back) == (1, 6, 4)


def test_a_leave_starts_a_rebalance_at_once() -> None:
    played = two_consumers(at(60_000, "leave", 1))
    left = 60_000 + COMMIT + 1
    joined = rejoined_at(left)
    assert rebalances_of(played) == [*JOINS, ("MEMBER_LEFT", left, joined, joined + 9)]
    row = played.rebalances()[-1]
    assert (row.evicted, row.revoked, row.moved) == (0, 4, 2)
    assert row.unowned_ms == 2 * (joined + 10 - (left - 1)) + 2 * 11
    assert [len(owned) for owned in played.owned().values()] == [4]


def test_a_message_that_takes_longer_than_max_poll_interval_evicts_again_and_again() -> None:
    """A message takes seven minutes, max.poll.interval.ms is five: the consumer leaves, returns, and leaves again."""
    stalls = [60_000, 490_000, 920_000]
    played = two_consumers(*[at(at_ms, "stall", 1, 420_000) for at_ms in stalls])
    thrown_out = [at_ms + 300_000 for at_ms in stalls]
    assert played.times(Subject.POLL_EXPIRED, 1) == thrown_out
    assert played.times(Subject.LOST, 1) == [at_ms + 420_000 for at_ms in stalls]
    assert [row[:2] for row in rebalances_of(played)[2:]] == [
        event
        for at_ms in stalls
        for event in (("MEMBER_LEFT", at_ms + 300_001), ("NEW_MEMBER", at_ms + 420_000 + ROUND_TRIP + 1))
    ]
    assert (played.simulated.groups[0].evicted, played.progress().failed, played.progress().stable) == (0, 0, True)


def test_growth_takes_effect_with_the_leaders_metadata() -> None:
    grows = at(60_000, "grow", value=2, topic="t")
    at_once = two_consumers(grows, settings=replace(EXACT, metadata_max_age_ms=0))
    begun = 60_000 + COMMIT + 1
    joined = rejoined_at(begun)
    assert rebalances_of(at_once)[2:] == [("MEMBER_CHANGED", begun, joined, joined + 9)]
    row = at_once.rebalances()[-1]
    assert row.unowned_ms == 2 * (joined + 10 - 60_000) + 2 * (joined + 10 - (begun - 1)) + 2 * 11
    assert [len(owned) for owned in at_once.owned().values()] == [3, 3]
    later = two_consumers(grows)
    waited = rebalances_of(later)[2][1] - begun
    assert 0 < waited <= EXACT.metadata_max_age_ms
    assert later.progress().unowned_ms > 2 * waited


def test_a_new_leader_sees_an_earlier_growth() -> None:
    """The leader leaves before it sees the new partitions, and so does its successor a little later."""
    grows = at(60_000, "grow", value=2, topic="t")
    played = two_consumers(grows, at(60_001, "leave", 0))
    assert (len(played.owned()["B"]), played.progress().stable) == (6, True)


def test_cooperative_moves_take_two_rebalances() -> None:
    """A revokes only the partitions that move, after the first rebalance; its other two stay."""
    played = two_consumers(protocols=["cooperative-sticky"])
    again, joined = 22_021 + COMMIT + 1, 25_017
    assert rebalances_of(played) == [*JOINS, ("MEMBER_CHANGED", again, joined, joined + 9)]
    assert joined == heartbeat_after(again) + ROUND_TRIP + COMMIT + 1
    assert [(row.revoked, row.moved) for row in played.rebalances()] == [(0, 0), (0, 0), (2, 2)]
    assert played.progress().unowned_ms == 2 * (joined + 10 - 22_021)
    assert played.times(Subject.REVOKED, 0) == []


def test_a_coordinator_move_causes_no_rebalance() -> None:
    """No member rebalances: each finds the new coordinator and goes on."""
    played = two_consumers(at(60_000, "move-coordinator", value=2000))
    assert rebalances_of(played) == JOINS
    assert (played.progress().unowned_ms, played.progress().moved, played.progress().stable) == (B_MOVES, 2, True)
    states = [row.state for row in played.timeline() if row.subject == Subject.STATE and row.at_ms >= 60_000]
    assert states == [State.DEAD, State.STABLE]


def test_a_second_coordinator_move_voids_the_first_load() -> None:
    """The first load is void when the coordinator moves again before it ends."""
    moves = [at(60_000, "move-coordinator", value=3000), at(62_000, "move-coordinator", value=5000)]
    played = two_consumers(*moves)
    states = [row for row in played.timeline() if row.subject == Subject.STATE and row.at_ms >= 60_000]
    assert [(row.at_ms, row.state) for row in states] == [(60_000, State.DEAD), (67_000, State.STABLE)]
    assert rebalances_of(played) == JOINS


def test_a_coordinator_move_during_a_rebalance_loses_the_generation() -> None:
    """The generation was not in the log yet: it is lost, and all members join again."""
    played = two_consumers(at(22_012, "move-coordinator", value=2000))
    found = [(row.generation, row.to_ms > 0) for row in played.rebalances()]
    assert found == [(1, True), (2, False), (2, False), (3, True)]
    assert [row[0] for row in rebalances_of(played)[1:]] == ["NEW_MEMBER", "MEMBER_CHANGED", "NEW_MEMBER"]
    assert played.progress().completed == 2
    assert [len(owned) for owned in played.owned().values()] == [2, 2]


def test_a_new_coordinator_waits_for_members_that_only_the_log_has() -> None:
    """A has left and B and C are elected, but the coordinator moves before that generation is in the log.

    The log still has A. B and C join again, with another generation than the log has, so that the group rebalances; it
    waits for A until A's session times out.
    """
    joiners = [consumer(name, "t") for name in "ABC"]
    joins = [at(20_000 * place, "join", place) for place in range(3)]
    events = [*joins, at(60_000, "leave", 0), at(61_025, "move-coordinator", value=10)]
    played = play([History(joiners=joiners, events=events)], {"t": 6}, "4.3", EXACT)
    last = rebalances_of(played)[3:]
    assert [row[0] for row in last] == ["MEMBER_LEFT", "MEMBER_CHANGED"]
    assert last[1][2] == 61_025 + 10 + 45_000
    assert played.simulated.groups[0].evicted == 1
    assert played.owned() == {"B": [("t", 0), ("t", 1), ("t", 2)], "C": [("t", 3), ("t", 4), ("t", 5)]}


def test_rebalances_repeat_while_the_offsets_topic_fails() -> None:
    """Each rebalance ends in an error and begins again, until __consumer_offsets accepts writes."""
    failed, works = Errors.NOT_ENOUGH_REPLICAS, Errors.NONE
    events = [at(50_000, "fail-store", value=failed), at(60_000, "leave", 1), at(61_100, "fail-store", value=works)]
    rebalances = rebalances_of(two_consumers(*events))
    joined = rejoined_at(60_000 + COMMIT + 1)
    assert rebalances[2] == ("MEMBER_LEFT", 60_000 + COMMIT + 1, joined, -1)
    assert rebalances[3][:2] == ("STORE_FAILED", joined + 9)
    assert {row[0] for row in rebalances[3:]} == {"STORE_FAILED"}
    assert [row[3] > 61_100 for row in rebalances[3:]] == [False] * (len(rebalances) - 4) + [True]
    commits = [row.error for row in two_consumers(*events).timeline() if row.kind == RequestKind.SYNC and row.error]
    assert set(commits) == {Errors.COORDINATOR_NOT_AVAILABLE}


@pytest.mark.parametrize("event", ["leave", "crash"])
def test_a_stopped_consumer_that_leaves_or_crashes_does_not_restart(event: str) -> None:
    played = two_consumers(at(60_000, "restart", 1, 30_000), at(70_000, event, 1))
    assert played.times(Subject.STARTED, 1) == [20_000]
    assert [len(owned) for owned in played.owned().values()] == [4]
    assert [row[0] for row in rebalances_of(played)[2:]] == ["MEMBER_LEFT"]


def test_a_stall_that_begins_in_a_join_counts_from_the_end_of_the_join() -> None:
    joined = 22_021
    played = two_consumers(at(21_500, "stall", 1, 420_000))
    assert played.times(Subject.ASSIGNED, 1)[0] == joined
    assert played.times(Subject.POLL_EXPIRED, 1) == [joined + 300_000]
    assert played.times(Subject.LOST, 1) == [21_500 + 420_000]


def test_a_coordinator_lookup_is_not_a_poll() -> None:
    """The heartbeat thread finds the new coordinator; max.poll.interval.ms expires as without the move."""
    played = two_consumers(at(60_000, "stall", 1, 420_000), at(100_000, "move-coordinator", value=2000))
    assert played.times(Subject.POLL_EXPIRED, 1) == [60_000 + 300_000]
    assert played.times(Subject.LOST, 1) == [60_000 + 420_000]
    assert [row[0] for row in rebalances_of(played)[2:]] == ["MEMBER_LEFT", "NEW_MEMBER"]


def test_max_poll_interval_does_not_expire_without_a_coordinator() -> None:
    played = two_consumers(at(60_000, "stall", 1, 420_000), at(358_000, "move-coordinator", value=4000))
    (expired,) = played.times(Subject.POLL_EXPIRED, 1)
    assert 362_000 <= expired <= 362_000 + 2 * ROUND_TRIP


# ---- Subscriptions


def subscribers(*events: GroupEvent, version: str = "4.3", **more: Any) -> Played:
    """A subscribes to t and is the leader, B to u; both are members from the beginning."""
    members = [consumer("A", "t", **more), consumer("B", "u", **more)]
    joiners = [consumer("C", "u", **more)]
    return play([History(members, joiners, events)], {"t": 4, "u": 3}, version, EXACT)


def test_partitions_without_subscribers_are_not_unowned() -> None:
    played = subscribers(at(60_000, "leave", 1))
    (row,) = played.rebalances()
    # The leader revokes its partitions for the rebalance; no other partition is unowned.
    assert (row.unowned_ms, played.progress().unowned_ms, played.progress().stable) == (4 * 11, 4 * 11, True)


def test_a_new_subscription_makes_partitions_unowned_again() -> None:
    played = subscribers(at(60_000, "leave", 1), at(200_000, "join", 2))
    left, came = played.rebalances()
    has_it = played.times(Subject.ASSIGNED, 2)[0]
    assert (left.unowned_ms, came.unowned_ms) == (4 * 11, 4 * 11 + 3 * (has_it - 200_000))
    changed = subscribers(at(60_000, "leave", 1), at(200_000, "subscribe", 0, names=("t", "u")))
    _, came = changed.rebalances()
    has_it = changed.times(Subject.ASSIGNED, 0)[-1]
    assert came.unowned_ms == 3 * (has_it - 200_000) + 4 * (has_it - 200_000 - COMMIT)


def test_partitions_of_restarting_and_crashed_consumers_are_unowned() -> None:
    """Partitions count as unowned while their consumer restarts, and until the coordinator notices a crash."""
    calm = subscribers(at(60_000, "restart", 1, 5000))
    assert calm.rebalances()[-1].all_owned_ms > 65_000
    back = calm.times(Subject.ASSIGNED, 1)[0]
    assert calm.progress().unowned_ms >= 3 * (back - 60_000 - COMMIT)
    crashed = subscribers(at(60_000, "crash", 1))
    (row,) = crashed.rebalances()
    assert crashed.progress().unowned_ms == 3 * (row.from_ms - 60_000) + 4 * 11
    assert crashed.progress().stable


def test_a_cooperative_consumer_revokes_unsubscribed_topics_before_it_joins() -> None:
    members = [consumer(name, "t", "u", protocols=["cooperative-sticky"]) for name in "AB"]
    subscribes = at(60_000, "subscribe", 0, names=("t",))
    played = play([History(members, events=[subscribes])], {"t": 4, "u": 2}, "4.3", EXACT)
    (revoked,) = [row for row in played.timeline() if row.subject == Subject.REVOKED]
    (request,) = [row for row in played.timeline() if (row.subject, row.kind) == (Subject.REQUEST, RequestKind.COMMIT)][
        :1
    ]
    assert (revoked.at_ms, revoked.consumer, revoked.partitions) == (request.at_ms + COMMIT, 0, 1)
    assert request.at_ms == 60_000
    assert {topic for topic, _ in played.owned()["A"]} == {"t"}
    assert [partition for partition in played.owned()["B"] if partition[0] == "u"] == [("u", 0), ("u", 1)]
    # A partition that is revoked before the join can be assigned to B at once.
    assert played.rebalances()[0].moved == 1


@pytest.mark.parametrize("version", VERSIONS)
def test_an_assignment_that_does_not_match_the_subscription_is_ignored(version: str) -> None:
    """A changes its subscription between JoinGroup and SyncGroup."""
    members = [consumer("A", "t", session_timeout_ms=10_000)]
    settings = replace(EXACT, store_ms=1000)
    changes = [at(60_000, "subscribe", 0, names=("t", "u")), at(60_500, "subscribe", 0, names=("u",))]
    played = play([History(members, events=changes)], {"t": 4, "u": 2}, version, settings)
    rows = [row.partitions for row in played.timeline() if row.subject == Subject.ASSIGNED]
    assert rows[1:] == ([6, 2] if version == "1.0" else [2])
    assert played.owned() == {"A": [("u", 0), ("u", 1)]}


@pytest.mark.parametrize("version", ["2.3", "3.9", "4.3"])
def test_a_static_member_may_return_with_another_subscription(version: str) -> None:
    """It receives its previous assignment. 2.3.1 throws; later clients join again, with the new subscription."""
    members = [consumer(name, "t", "u", instance_id=name, session_timeout_ms=45_000) for name in "AB"]
    events = [at(60_000, "restart", 1, 5000), at(62_000, "subscribe", 1, names=("u",))]
    played = play([History(members, events=events)], {"t": 4, "u": 2}, version, EXACT)
    if version == "2.3":
        assert played.failures() == {"B": "UNKNOWN_SERVER_ERROR"}
        return
    assert [row[0] for row in rebalances_of(played)] == ["MEMBER_CHANGED"]
    assert {topic for topic, _ in played.owned()["B"]} == {"u"}
    assert played.progress().stable


# ---- The log


@pytest.mark.parametrize("version", ["3.9", "4.3"])
def test_a_new_coordinator_knows_only_the_elected_protocol(version: str) -> None:
    """Two members would elect range now, if the log had all protocols that they offer."""
    offered = {"A": ["roundrobin", "range"], "B": ["range", "roundrobin"], "C": ["roundrobin", "range"]}
    members = [consumer(name, "t", protocols=names, instance_id=name) for name, names in offered.items()]
    comes_back = [at(0, "protocols", 0, names=("range", "roundrobin")), at(60_000, "restart", 0, 5000)]
    moves = at(30_000, "move-coordinator", value=1000)
    still = play([History(members, events=comes_back)], {"t": 4}, version, EXACT)
    assert [row[0] for row in rebalances_of(still)] == ["STATIC_MEMBER_REPLACED"]
    assert rebalances_of(play([History(members, events=[*comes_back, moves])], {"t": 4}, version, EXACT)) == []


@pytest.mark.parametrize("version", ["2.3", "3.9", "4.3"])
def test_a_new_coordinator_knows_only_subscriptions_in_the_log(version: str) -> None:
    """B subscribes to u as well, but the coordinator moves before that is in the log, and B is down at the next
    election.
    """
    members = [consumer(name, *topics, instance_id=name) for name, topics in (("A", ["t", "u"]), ("B", ["t"]))]
    events = [
        at(60_000, "subscribe", 1, names=("t", "u")),
        at(60_004, "move-coordinator", value=10),
        at(60_006, "crash", 1),
        at(70_000, "subscribe", 0, names=("u", "t")),
    ]
    settings = replace(EXACT, duration_ms=80_000)
    members[1] |= {"session_timeout_ms": 100_000}
    members[0] |= {"rebalance_timeout_ms": 5000}
    members[1] |= {"rebalance_timeout_ms": 5000}
    played = play([History(members, events=events)], {"t": 2, "u": 2}, version, settings)
    assert played.owned() == {"A": [("t", 0), ("u", 0), ("u", 1)]}


OLD, BOTH, NEW = ("range",), ("cooperative-sticky", "range"), ("cooperative-sticky",)


def bounces(*offered: tuple[str, ...]) -> Played:
    """Restart three consumers one after the other, once per list of assignors that they offer from then on."""
    members = [consumer(name, "t", protocols=OLD) for name in "ABC"]
    events = []
    for bounce, names in enumerate(offered):
        events += [at(200_000 * bounce, "protocols", place, names=names) for place in range(3)]
        events += [at(200_000 * bounce + 30_000 * (place + 1), "restart", place, 5000) for place in range(3)]
    return play([History(members, events=events)], {"t": 6}, "4.3", EXACT)


def test_changing_the_assignor_in_one_bounce_fails() -> None:
    """The first two consumers that return find members that do not support the new assignor; the last one is alone."""
    played = bounces(NEW)
    assert played.failures() == {"A": "INCONSISTENT_GROUP_PROTOCOL", "B": "INCONSISTENT_GROUP_PROTOCOL"}
    progress = played.progress()
    back = 30_000 + COMMIT + 5000 + START + ROUND_TRIP + ROUND_TRIP
    assert (progress.failed, progress.failed_consumer, progress.failed_ms, progress.failed_event) == (2, 0, back, 3)
    assert {name: len(owned) for name, owned in played.owned().items()} == {"C": 6}


def test_changing_the_assignor_in_two_bounces_works() -> None:
    played = bounces(BOTH, NEW)
    assert (played.failures(), played.progress().failed, played.progress().stable) == ({}, 0, True)
    assert sorted(len(owned) for owned in played.owned().values()) == [2, 2, 2]
    assert list(dict.fromkeys(played.elected())) == ["range", "cooperative-sticky"]
    assert all(not of.eager for of in played.consumers())
