"""Groups with their consumers on a simulated clock: what always holds, and courses that can be told beforehand."""

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rebalance_sim.engine.simulated_groups import Happening
from rebalance_sim.kafka.coordinator.classic_group import Kind, Reason, State
from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.simulation.model import ScenarioKind, Subject
from rebalance_sim.kafka.simulation.settings import Settings
from tests.kafka.examples import COMPILED
from tests.kafka.random_histories import MIGRATING, TOPICS, random_histories, random_settings
from tests.kafka.simulated import History, Played, at, consumer, play
from tests.kafka.simulation_invariants import faults

VERSIONS = ("1.0", "2.3", "3.9", "4.3")
SETTINGS = 10 if COMPILED else 2
GROUPS = 250 if COMPILED else 2
"""Under each of the settings: with four versions and groups that know KIP-848 12,500 histories; 20 as plain Python."""


@pytest.mark.parametrize("version", [*VERSIONS, MIGRATING])
def test_invariants(version: str) -> None:
    """Of MIGRATING, consumers go to KIP-848, and back, at their restarts."""
    for seed in range(SETTINGS):
        rng = random.Random(f"{version} {seed}")
        settings = random_settings(rng)
        histories = random_histories(rng, version, GROUPS)
        found = faults(play(histories, TOPICS, "4.3" if version == MIGRATING else version, settings))
        assert found == [], settings


def pieces(played: Played, group: int) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]], dict[str, Any]]:
    """All that is told of a group, but for its number and for places in the batch."""

    def told(records: Any) -> list[tuple[int, ...]]:
        rows = np.asarray(records)
        names = [name for name in rows.dtype.names or () if name not in ("group", "protocol")]
        return [tuple(row) for row in rows[rows["group"] == group][names].tolist()]

    timeline = np.array(played.simulated.timeline)
    of_lists = np.isin(timeline["kind"], (ScenarioKind.SUBSCRIBE, ScenarioKind.PROTOCOLS))
    timeline["partitions"][(timeline["subject"] == Subject.EVENT) & of_lists] = 0
    course = np.asarray(played.simulated.courses)[group]
    figures = {name: course[name] for name in course.dtype.names if name not in ("assignments", "rebalance")}
    return told(timeline), told(played.simulated.rebalances), figures


@pytest.mark.parametrize("version", ["2.3", "4.3"])
def test_groups_do_not_disturb_each_other(version: str) -> None:
    """A group fares the same alone, among others, and among others in another order."""
    rng = random.Random(f"{version} alone")
    settings, histories = random_settings(rng), random_histories(rng, version, 40 if COMPILED else 3)
    together = play(histories, TOPICS, version, settings)
    backwards = play(histories[::-1], TOPICS, version, settings)
    for group, history in enumerate(histories):
        expected = pieces(play([history], TOPICS, version, settings), 0)
        assert pieces(together, group) == expected
        assert pieces(backwards, len(histories) - 1 - group) == expected
        assert together.owned(group) == backwards.owned(len(histories) - 1 - group)


# ---- Courses that can be told beforehand

EXACT = Settings(network_jitter_ms=0, retry_backoff_ms=0, poll_interval_ms=1)
"""A message takes 1 ms, a heartbeat is sent every 3,000 ms, a write takes 5 ms, an assignor 2 ms."""
COMMIT, ROUND_TRIP = 2, 2


def two_consumers(*events: Happening, settings: Settings = EXACT, version: str = "4.3", **more: Any) -> Played:
    """A joins at 0 and leads; B joins at 20,000. What A and B are beside that, ``more`` says."""
    joiners = [consumer(name, "t", **more | ({"instance_id": name} if more.get("static") else {})) for name in "AB"]
    history = History(joiners=joiners, happenings=[at(0, "join", 0), at(20_000, "join", 1), *events])
    return play([history], {"t": 4}, version, settings)


START = 1000
A_JOINED = START + ROUND_TRIP + ROUND_TRIP + 1
"""When A's second JoinGroup arrives, after the lookup of the coordinator and the answer with its id."""
B_JOINED = 20_000 + A_JOINED
A_BEATS = A_JOINED + 3000 + 1
"""A counts its heartbeats from the answer to JoinGroup, which comes after the initial delay."""
BOTH_BEAT = 22_012
"""Both do from the second generation's on."""
B_MOVES = 4 * (22_021 - 22_010)
"""What B's joining costs: A gives up all four partitions."""


def beat_after(at_ms: int) -> int:
    """When the first heartbeat after a time is sent."""
    return BOTH_BEAT + -(-(at_ms - BOTH_BEAT) // 3000) * 3000


def rejoined_at(told_ms: int) -> int:
    """When the last member's JoinGroup arrives after the group began to rebalance: it has to hear of it first."""
    return beat_after(told_ms) + ROUND_TRIP + COMMIT + 1


def told(played: Played) -> list[tuple[str, int, int, int]]:
    """Why each rebalance began, when, when all had joined, and when the group was stable."""
    return [(Reason(row.reason).name, row.from_ms, row.joined_ms, row.to_ms) for row in played.rebalances()]


JOINS = [("NEW_MEMBER", A_JOINED, A_JOINED + 3000, 4014), ("NEW_MEMBER", B_JOINED, 22_011, 22_020)]
"""Only an empty group waits ``group.initial.rebalance.delay.ms``."""


def test_joins() -> None:
    played = two_consumers()
    assert told(played) == JOINS
    assert JOINS[1][2] == A_BEATS + 6 * 3000 + ROUND_TRIP + COMMIT + 1
    course = played.course()
    assert (course.paused, course.revoked, course.moved, course.moved_back, course.failed) == (B_MOVES, 4, 2, 0, 0)
    assert [len(owned) for owned in played.owned().values()] == [2, 2]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_poll_wakes_the_thread_that_sends_heartbeats(version: str) -> None:
    """Where none comes, it looks every retry.backoff.ms."""
    seldom = replace(EXACT, retry_backoff_ms=900)
    crash = at(60_000, "crash", 1)
    on_time, polling = (two_consumers(crash, settings=each, version=version) for each in (EXACT, seldom))
    assert told(polling) == told(on_time)
    stalled = two_consumers(at(25_000, "stall", 1, 100_000), crash, settings=seldom, version=version)
    late = stalled.rebalances()[-1].from_ms - on_time.rebalances()[-1].from_ms
    assert -3000 < late < 3900
    assert late != 0


def test_a_consumer_of_kip_848_without_partitions_waits_in_a_poll() -> None:
    """It has nothing to work on between polls, and a poll looks every retry.backoff.ms."""
    joiner = consumer("A", "t", protocols=["server-uniform"])
    history = History(joiners=[joiner], happenings=[at(0, "join", 0)])
    settings = replace(EXACT, poll_interval_ms=1000, retry_backoff_ms=100)
    played = play([history], {"t": 4}, settings=settings)
    assert played.times(Subject.ASSIGNED, 0) == [START + 100]


@pytest.mark.parametrize("version", ["3.9", "4.3"])
def test_who_joins_in_the_initial_delay_prolongs_it(version: str) -> None:
    joiners = [consumer("A", "t"), consumer("B", "t")]
    history = History(joiners=joiners, happenings=[at(0, "join", 0), at(1000, "join", 1)])
    (row,) = play([history], {"t": 4}, version, EXACT).rebalances()
    assert (row.from_ms, row.joined_ms, row.joined) == (A_JOINED, A_JOINED + 2 * 3000, 2)


@pytest.mark.parametrize("session_ms", [10_000, 45_000])
def test_a_crash_is_noticed_after_the_session_timeout(session_ms: int) -> None:
    played = two_consumers(at(60_000, "crash", 1), session_timeout_ms=session_ms)
    noticed = beat_after(57_000) + 1 + session_ms
    joined = rejoined_at(noticed - 1)
    assert told(played) == [*JOINS, ("SESSION_EXPIRED", noticed, joined, joined + 9)]
    row = played.rebalances()[-1]
    assert (row.evicted, row.revoked, row.moved, row.joined) == (1, 4, 2, 1)
    assert row.paused == 2 * (joined + 10 - 60_000) + 2 * 11
    assert played.course().paused == B_MOVES + row.paused


@pytest.mark.parametrize("version", ["2.3", "3.9", "4.3"])
def test_a_static_member_is_back_within_its_session(version: str) -> None:
    """Nobody else notices; since 2.6.1 the coordinator writes the new id down before it answers."""
    played = two_consumers(at(60_000, "restart", 1, 5000), version=version, static=True, session_timeout_ms=45_000)
    calm = two_consumers(version=version, static=True, session_timeout_ms=45_000)
    assert told(played) == told(calm)
    stopped, started = 60_000 + COMMIT, 60_000 + COMMIT + 5000
    back = started + START + ROUND_TRIP + ROUND_TRIP + (0 if version == "2.3" else 5) + ROUND_TRIP
    assert played.times(Subject.STOPPED, 1) == [stopped]
    assert played.times(Subject.ASSIGNED, 1)[1:] == [back]
    assert (played.course().moved, played.owned()) == (calm.course().moved, calm.owned())
    assert played.course().paused == calm.course().paused + 2 * (back - stopped)


def test_a_static_member_is_back_too_late() -> None:
    played = two_consumers(at(60_000, "restart", 1, 50_000), static=True, session_timeout_ms=45_000)
    reasons = [row[0] for row in told(played)]
    assert reasons == ["NEW_MEMBER", "NEW_MEMBER", "SESSION_EXPIRED", "NEW_MEMBER"]
    # B's two partitions were A's before; they go back to A, and back to B.
    assert (played.simulated.groups[0].evicted, played.course().moved, played.course().moved_back) == (1, 6, 4)


def test_a_leave() -> None:
    played = two_consumers(at(60_000, "leave", 1))
    left = 60_000 + COMMIT + 1
    joined = rejoined_at(left)
    assert told(played) == [*JOINS, ("MEMBER_LEFT", left, joined, joined + 9)]
    row = played.rebalances()[-1]
    assert (row.evicted, row.revoked, row.moved) == (0, 4, 2)
    assert row.paused == 2 * (joined + 10 - (left - 1)) + 2 * 11
    assert [len(owned) for owned in played.owned().values()] == [4]


def test_a_message_that_takes_longer_than_max_poll_interval_loops() -> None:
    """Seven minutes against five: thrown out, back, and again."""
    stalls = [60_000, 490_000, 920_000]
    played = two_consumers(*[at(at_ms, "stall", 1, 420_000) for at_ms in stalls])
    thrown_out = [at_ms + 300_000 for at_ms in stalls]
    assert played.times(Subject.POLL_EXPIRED, 1) == thrown_out
    assert played.times(Subject.LOST, 1) == [at_ms + 420_000 for at_ms in stalls]
    assert [row[:2] for row in told(played)[2:]] == [
        event
        for at_ms in stalls
        for event in (("MEMBER_LEFT", at_ms + 300_001), ("NEW_MEMBER", at_ms + 420_000 + ROUND_TRIP + 1))
    ]
    assert (played.simulated.groups[0].evicted, played.course().failed, played.course().settled) == (0, 0, True)


def test_a_topic_that_grows_waits_for_metadata() -> None:
    grows = at(60_000, "grow", value=2, topic="t")
    at_once = two_consumers(grows, settings=replace(EXACT, metadata_max_age_ms=0))
    begun = 60_000 + COMMIT + 1
    joined = rejoined_at(begun)
    assert told(at_once)[2:] == [("MEMBER_CHANGED", begun, joined, joined + 9)]
    row = at_once.rebalances()[-1]
    assert row.paused == 2 * (joined + 10 - 60_000) + 2 * (joined + 10 - (begun - 1)) + 2 * 11
    assert [len(owned) for owned in at_once.owned().values()] == [3, 3]
    later = two_consumers(grows)
    waited = told(later)[2][1] - begun
    assert 0 < waited <= EXACT.metadata_max_age_ms
    assert later.course().paused > 2 * waited


def test_who_leads_after_a_topic_has_grown_finds_out_too() -> None:
    """The leader leaves before it sees the new partitions, and so does the next one a little later."""
    grows = at(60_000, "grow", value=2, topic="t")
    played = two_consumers(grows, at(60_001, "leave", 0))
    assert (len(played.owned()["B"]), played.course().settled) == (6, True)


def test_cooperative_moves_take_two_rebalances() -> None:
    """Only what moves is given up, after the first; A's two partitions stay where they are."""
    played = two_consumers(protocols=["cooperative-sticky"])
    again, joined = 22_021 + COMMIT + 1, 25_017
    assert told(played) == [*JOINS, ("MEMBER_CHANGED", again, joined, joined + 9)]
    assert joined == beat_after(again) + ROUND_TRIP + COMMIT + 1
    assert [(row.revoked, row.moved) for row in played.rebalances()] == [(0, 0), (0, 0), (2, 2)]
    assert played.course().paused == 2 * (joined + 10 - 22_021)
    assert played.times(Subject.REVOKED, 0) == []


def test_the_coordinator_moves() -> None:
    """Nobody rebalances: who is told so finds the new coordinator and goes on."""
    played = two_consumers(at(60_000, "move-coordinator", value=2000))
    assert told(played) == JOINS
    assert (played.course().paused, played.course().moved, played.course().settled) == (B_MOVES, 2, True)
    states = [row.state for row in played.timeline() if row.subject == Subject.STATE and row.at_ms >= 60_000]
    assert states == [State.DEAD, State.STABLE]


def test_the_coordinator_moves_twice() -> None:
    """The first move is over when the second one is."""
    moves = [at(60_000, "move-coordinator", value=3000), at(62_000, "move-coordinator", value=5000)]
    played = two_consumers(*moves)
    states = [row for row in played.timeline() if row.subject == Subject.STATE and row.at_ms >= 60_000]
    assert [(row.at_ms, row.state) for row in states] == [(60_000, State.DEAD), (67_000, State.STABLE)]
    assert told(played) == JOINS


def test_the_coordinator_moves_during_a_rebalance() -> None:
    """The generation that was not written down is lost, and all join again."""
    played = two_consumers(at(22_012, "move-coordinator", value=2000))
    assert [(row.generation, row.to_ms > 0) for row in played.rebalances()] == [
        (1, True),
        (2, False),
        (2, False),
        (3, True),
    ]
    assert [row[0] for row in told(played)[1:]] == ["NEW_MEMBER", "MEMBER_CHANGED", "NEW_MEMBER"]
    assert played.course().completed == 2
    assert [len(owned) for owned in played.owned().values()] == [2, 2]


def test_a_coordinator_that_has_moved_waits_for_who_is_in_the_log() -> None:
    """A has left, B and C are elected anew, but the coordinator moves before that is written down.

    The log has A still. B and C join again, with another generation than the log has them with, so that the group
    rebalances; it waits for A until its session ends.
    """
    joiners = [consumer(name, "t") for name in "ABC"]
    joins = [at(20_000 * place, "join", place) for place in range(3)]
    events = [*joins, at(60_000, "leave", 0), at(61_025, "move-coordinator", value=10)]
    played = play([History(joiners=joiners, happenings=events)], {"t": 6}, "4.3", EXACT)
    last = told(played)[3:]
    assert [row[0] for row in last] == ["MEMBER_LEFT", "MEMBER_CHANGED"]
    assert last[1][2] == 61_025 + 10 + 45_000
    assert played.simulated.groups[0].evicted == 1
    assert played.owned() == {"B": [("t", 0), ("t", 1), ("t", 2)], "C": [("t", 3), ("t", 4), ("t", 5)]}


def test_the_offsets_topic_fails() -> None:
    """Each rebalance ends in an error and begins anew, until the topic takes writes again."""
    failed, works = Errors.NOT_ENOUGH_REPLICAS, Errors.NONE
    events = [at(50_000, "fail-store", value=failed), at(60_000, "leave", 1), at(61_100, "fail-store", value=works)]
    rebalances = told(two_consumers(*events))
    joined = rejoined_at(60_000 + COMMIT + 1)
    assert rebalances[2] == ("MEMBER_LEFT", 60_000 + COMMIT + 1, joined, -1)
    assert rebalances[3][:2] == ("STORE_FAILED", joined + 9)
    assert {row[0] for row in rebalances[3:]} == {"STORE_FAILED"}
    assert [row[3] > 61_100 for row in rebalances[3:]] == [False] * (len(rebalances) - 4) + [True]
    commits = [row.error for row in two_consumers(*events).timeline() if row.kind == Kind.SYNC and row.error]
    assert set(commits) == {Errors.COORDINATOR_NOT_AVAILABLE}


@pytest.mark.parametrize("event", ["leave", "crash"])
def test_who_leaves_while_down_stays_down(event: str) -> None:
    played = two_consumers(at(60_000, "restart", 1, 30_000), at(70_000, event, 1))
    assert played.times(Subject.STARTED, 1) == [20_000]
    assert [len(owned) for owned in played.owned().values()] == [4]
    assert [row[0] for row in told(played)[2:]] == ["MEMBER_LEFT"]


def test_a_stall_that_begins_in_a_join_counts_from_its_end() -> None:
    joined = 22_021
    played = two_consumers(at(21_500, "stall", 1, 420_000))
    assert played.times(Subject.ASSIGNED, 1)[0] == joined
    assert played.times(Subject.POLL_EXPIRED, 1) == [joined + 300_000]
    assert played.times(Subject.LOST, 1) == [21_500 + 420_000]


def test_to_look_for_the_coordinator_is_no_poll() -> None:
    """The heartbeat thread finds it; the application is thrown out as if the coordinator had not moved."""
    played = two_consumers(at(60_000, "stall", 1, 420_000), at(100_000, "move-coordinator", value=2000))
    assert played.times(Subject.POLL_EXPIRED, 1) == [60_000 + 300_000]
    assert played.times(Subject.LOST, 1) == [60_000 + 420_000]
    assert [row[0] for row in told(played)[2:]] == ["MEMBER_LEFT", "NEW_MEMBER"]


def test_nobody_is_thrown_out_while_the_coordinator_is_not_known() -> None:
    played = two_consumers(at(60_000, "stall", 1, 420_000), at(358_000, "move-coordinator", value=4000))
    (expired,) = played.times(Subject.POLL_EXPIRED, 1)
    assert 362_000 <= expired <= 362_000 + 2 * ROUND_TRIP


# ---- What consumers subscribe to


def subscribers(*events: Happening, version: str = "4.3", **more: Any) -> Played:
    """A subscribes to t and leads, B to u; both run from the beginning."""
    members = [consumer("A", "t", **more), consumer("B", "u", **more)]
    joiners = [consumer("C", "u", **more)]
    return play([History(members, joiners, events)], {"t": 4, "u": 3}, version, EXACT)


def test_what_nobody_subscribes_to_is_not_missed() -> None:
    played = subscribers(at(60_000, "leave", 1))
    (row,) = played.rebalances()
    # The leader gives up its partitions for the rebalance; nothing else is missed.
    assert (row.paused, played.course().paused, played.course().settled) == (4 * 11, 4 * 11, True)


def test_it_is_missed_again_when_somebody_does() -> None:
    played = subscribers(at(60_000, "leave", 1), at(200_000, "join", 2))
    left, came = played.rebalances()
    has_it = played.times(Subject.ASSIGNED, 2)[0]
    assert (left.paused, came.paused) == (4 * 11, 4 * 11 + 3 * (has_it - 200_000))
    changed = subscribers(at(60_000, "leave", 1), at(200_000, "subscribe", 0, names=("t", "u")))
    _, came = changed.rebalances()
    has_it = changed.times(Subject.ASSIGNED, 0)[-1]
    assert came.paused == 3 * (has_it - 200_000) + 4 * (has_it - 200_000 - COMMIT)


def test_what_is_down_or_lost_is_missed() -> None:
    """Who is started again, and who has crashed until the coordinator has noticed."""
    calm = subscribers(at(60_000, "restart", 1, 5000))
    assert calm.rebalances()[-1].settled_ms > 65_000
    back = calm.times(Subject.ASSIGNED, 1)[0]
    assert calm.course().paused >= 3 * (back - 60_000 - COMMIT)
    crashed = subscribers(at(60_000, "crash", 1))
    (row,) = crashed.rebalances()
    assert crashed.course().paused == 3 * (row.from_ms - 60_000) + 4 * 11
    assert crashed.course().settled


def test_a_cooperative_consumer_gives_up_what_it_does_not_subscribe_to_before_it_joins() -> None:
    members = [consumer(name, "t", "u", protocols=["cooperative-sticky"]) for name in "AB"]
    subscribes = at(60_000, "subscribe", 0, names=("t",))
    played = play([History(members, happenings=[subscribes])], {"t": 4, "u": 2}, "4.3", EXACT)
    (revoked,) = [row for row in played.timeline() if row.subject == Subject.REVOKED]
    (request,) = [row for row in played.timeline() if (row.subject, row.kind) == (Subject.REQUEST, Kind.COMMIT)][:1]
    assert (revoked.at_ms, revoked.consumer, revoked.partitions) == (request.at_ms + COMMIT, 0, 1)
    assert request.at_ms == 60_000
    assert {topic for topic, _ in played.owned()["A"]} == {"t"}
    assert [partition for partition in played.owned()["B"] if partition[0] == "u"] == [("u", 0), ("u", 1)]
    # What was given up before the join can be given to B at once.
    assert played.rebalances()[0].moved == 1


@pytest.mark.parametrize("version", VERSIONS)
def test_an_assignment_of_what_is_not_subscribed_to_is_refused(version: str) -> None:
    """A wants something else after it has joined and before it has synced."""
    members = [consumer("A", "t", session_timeout_ms=10_000)]
    settings = replace(EXACT, store_ms=1000)
    changes = [at(60_000, "subscribe", 0, names=("t", "u")), at(60_500, "subscribe", 0, names=("u",))]
    played = play([History(members, happenings=changes)], {"t": 4, "u": 2}, version, settings)
    rows = [row.partitions for row in played.timeline() if row.subject == Subject.ASSIGNED]
    assert rows[1:] == ([6, 2] if version == "1.0" else [2])
    assert played.owned() == {"A": [("u", 0), ("u", 1)]}


@pytest.mark.parametrize("version", ["2.3", "3.9", "4.3"])
def test_a_static_member_comes_back_with_another_subscription(version: str) -> None:
    """It is given what it had: 2.3.1 does not expect that; later it joins again, and is heard since it has joined."""
    members = [consumer(name, "t", "u", instance_id=name, session_timeout_ms=45_000) for name in "AB"]
    events = [at(60_000, "restart", 1, 5000), at(62_000, "subscribe", 1, names=("u",))]
    played = play([History(members, happenings=events)], {"t": 4, "u": 2}, version, EXACT)
    if version == "2.3":
        assert played.failures() == {"B": "UNKNOWN_SERVER_ERROR"}
        return
    assert [row[0] for row in told(played)] == ["MEMBER_CHANGED"]
    assert {topic for topic, _ in played.owned()["B"]} == {"u"}
    assert played.course().settled


# ---- What the log says


@pytest.mark.parametrize("version", ["3.9", "4.3"])
def test_a_coordinator_that_has_moved_knows_of_the_elected_protocol_only(version: str) -> None:
    """Two would elect range now, had the log what they offer beside roundrobin."""
    offered = {"A": ["roundrobin", "range"], "B": ["range", "roundrobin"], "C": ["roundrobin", "range"]}
    members = [consumer(name, "t", protocols=names, instance_id=name) for name, names in offered.items()]
    comes_back = [at(0, "protocols", 0, names=("range", "roundrobin")), at(60_000, "restart", 0, 5000)]
    moves = at(30_000, "move-coordinator", value=1000)
    still = play([History(members, happenings=comes_back)], {"t": 4}, version, EXACT)
    assert [row[0] for row in told(still)] == ["STATIC_MEMBER_REPLACED"]
    assert told(play([History(members, happenings=[*comes_back, moves])], {"t": 4}, version, EXACT)) == []


@pytest.mark.parametrize("version", ["2.3", "3.9", "4.3"])
def test_a_coordinator_that_has_moved_knows_what_the_log_says_of_subscriptions(version: str) -> None:
    """B wants u as well, but the coordinator moves before that is written, and B is gone when the group elects."""
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
    played = play([History(members, happenings=events)], {"t": 2, "u": 2}, version, settings)
    assert played.owned() == {"A": [("t", 0), ("u", 0), ("u", 1)]}


OLD, BOTH, NEW = ("range",), ("cooperative-sticky", "range"), ("cooperative-sticky",)


def bounces(*offered: tuple[str, ...]) -> Played:
    """Three consumers are restarted, one after the other, once for each list of assignors that they are to offer."""
    members = [consumer(name, "t", protocols=OLD) for name in "ABC"]
    events = []
    for bounce, names in enumerate(offered):
        events += [at(200_000 * bounce, "protocols", place, names=names) for place in range(3)]
        events += [at(200_000 * bounce + 30_000 * (place + 1), "restart", place, 5000) for place in range(3)]
    return play([History(members, happenings=events)], {"t": 6}, "4.3", EXACT)


def test_a_change_of_the_assignor_in_one_bounce() -> None:
    """Who comes back finds others that know nothing of the new assignor; the last one finds nobody."""
    played = bounces(NEW)
    assert played.failures() == {"A": "INCONSISTENT_GROUP_PROTOCOL", "B": "INCONSISTENT_GROUP_PROTOCOL"}
    course = played.course()
    back = 30_000 + COMMIT + 5000 + START + ROUND_TRIP + ROUND_TRIP
    assert (course.failed, course.failed_consumer, course.failed_ms, course.failed_event) == (2, 0, back, 3)
    assert {name: len(owned) for name, owned in played.owned().items()} == {"C": 6}


def test_a_change_of_the_assignor_in_two_bounces() -> None:
    played = bounces(BOTH, NEW)
    assert (played.failures(), played.course().failed, played.course().settled) == ({}, 0, True)
    assert sorted(len(owned) for owned in played.owned().values()) == [2, 2, 2]
    protocols = [played.groups.protocol_names[row.protocol] for row in played.rebalances() if row.protocol >= 0]
    assert list(dict.fromkeys(protocols)) == ["range", "cooperative-sticky"]
    assert all(not of.eager for of in played.consumers())
