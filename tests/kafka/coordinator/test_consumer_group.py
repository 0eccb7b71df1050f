"""Consumer-protocol groups: Kafka's answers to golden conversations, invariants, and simulations."""

from itertools import pairwise
from typing import Any

import pytest

from rebalance_sim.kafka.coordinator.consumer.consumer_group import EpochReason
from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.simulation.group_events import GroupEvent
from rebalance_sim.kafka.simulation.model import Subject
from rebalance_sim.kafka.simulation.settings import SimulationSettings
from tests.oracle.consumer_group_cases import consumer_group_cases
from tests.oracle.oracle import CONSUMER_GROUP_RELEASES
from tests.support.cases import JsonObject, golden_sample, golden_share
from tests.support.comparison import conversation_of, different
from tests.support.conversations.mixed_player import group_answer, in_words, is_comparable
from tests.support.examples import COMPILED
from tests.support.simulated import History, Played, at, consumer, play

HEARTBEAT_MS = 5000
LONG = SimulationSettings(duration_ms=240_000)
"""Longer than a stable group is simulated after the last event."""


def test_golden_conversations_get_kafkas_answers() -> None:
    cases, answers = golden_sample("cases-consumer-group-4.3"), golden_sample("consumer-group-4.3")
    assert different(cases, map(conversation_of, answers), map(group_answer, cases)) == []


@pytest.mark.parametrize("release", CONSUMER_GROUP_RELEASES)
def test_golden_conversations_get_the_answers_of_each_release(release: str, seed: int) -> None:
    """They include groups that migrate."""
    cases, answers = golden_share("cases-consumer-groups", seed), golden_share(f"consumer-groups-{release}", seed)
    found = []
    for case, answer in zip(cases, answers, strict=True):
        if not is_comparable(case, release):
            continue
        ours = group_answer(case, answer["made"], release)
        if "left_out" not in ours and in_words(ours) != in_words(answer):
            found.append((case["id"], in_words(ours), in_words(answer)))
    assert found == []


@pytest.mark.parametrize(("release", "at_ms"), [("4.2.0", 500), ("4.3.0", 1000)])
def test_target_assignments_of_a_group_formed_at_time_0_are_a_second_apart(release: str, at_ms: int) -> None:
    """The simulated clock begins with 0, a time that Kafka takes for unknown and no broker's clock shows."""
    t = ["t", "AAAAAAAAAAAAAAAAAAAAAQ", 6]
    full = {"rebalance_timeout_ms": 60_000, "subscription": ["t"], "owned": []}
    steps = [{"at_ms": 0, "request": "topics", "image": [t]}, _heartbeat(0, "m", 0, **full)]
    steps += [_heartbeat(500, "n", 0, **full), _heartbeat(999, "n", "next"), _heartbeat(1000, "n", "next")]
    groups = group_answer({"id": "formed at 0", "steps": steps}, (), release)["groups"]
    targets = [group["target_epoch"] for group in groups[1:]]
    second = max(targets)
    assert steps[1 + targets.index(second)]["at_ms"] == at_ms


def test_epochs_never_fall(seed: int) -> None:
    for case in consumer_group_cases(seed, 80 if COMPILED else 40):
        groups = [group for group in group_answer(case)["groups"] if group is not None]
        for before, after in pairwise(groups):
            assert before["group_epoch"] <= after["group_epoch"], case["id"]
            assert before["target_epoch"] <= after["target_epoch"] <= after["group_epoch"], case["id"]
        for group in groups:
            assert all(member["epoch"] <= group["target_epoch"] for member in group["members"]), case["id"]


@pytest.mark.parametrize(
    ("assignor", "new_member", "kept"),
    [("uniform", "a", []), ("uniform", "o", [0, 1, 2]), ("range", "a", []), ("range", "o", [0, 1, 2])],
)
def test_a_new_member_without_a_subscription_does_not_count(assignor: str, new_member: str, kept: list[int]) -> None:
    """Of two members one leaves, and the new one triggers the assignment: Kafka takes the group for homogeneous.

    The topics are those of the first member: of a before m, or of m before o. The other half of m's topic is lost
    then: it is in the target of the new member. A topic to which no member subscribes makes no difference.
    """
    t, u = ["t", "AAAAAAAAAAAAAAAAAAAAAQ", 6], ["u", "AAAAAAAAAAAAAAAAAAAAAg", 6]
    full = {"rebalance_timeout_ms": 60_000, "subscription": ["t"], "owned": [], "server_assignor": assignor}
    steps = [
        {"at_ms": 0, "request": "topics", "image": [t]},
        _heartbeat(0, "m", 0, **full),
        _heartbeat(10, "n", 0, **full),
        _heartbeat(20, "m", "next", owned="assigned"),
        _heartbeat(30, "m", "next", owned="assigned"),
        {"at_ms": 40, "request": "topics", "image": [t, u]},
        _heartbeat(40, "n", -1),
        _heartbeat(50, new_member, 0, **full | {"subscription": []}),
        _heartbeat(60, "m", "next", owned="assigned"),
        _heartbeat(70, "m", "next", owned="assigned"),
    ]
    answer = group_answer({"id": "unsubscribed", "config": {"assignment_interval_ms": 0}, "steps": steps})
    assigned = {member["member"]: member["assigned"] for member in answer["groups"][-1]["members"]}
    assert assigned == {"m": [["t", p] for p in kept], new_member: []}


def test_the_first_assignor_wins_if_two_members_prefer_each() -> None:
    """Also if the last member to join is one of those that prefer the other one. Kafka 4.3 answers the same."""
    image = [["t", "AAAAAAAAAAAAAAAAAAAAAQ", 2], ["u", "AAAAAAAAAAAAAAAAAAAAAg", 2]]
    full = {"rebalance_timeout_ms": 60_000, "subscription": ["t", "u"], "owned": []}
    preferred = {"m": "uniform", "n": "uniform", "o": "range", "p": "range"}
    steps: list[JsonObject] = [{"at_ms": 0, "request": "topics", "image": image}]
    steps += [_heartbeat(10, member, 0, **full, server_assignor=name) for member, name in preferred.items()]
    steps += [_heartbeat(20 + k, "mnop"[k % 4], "next", owned="assigned") for k in range(16)]
    answer = group_answer({"id": "a tie", "config": {"assignment_interval_ms": 0}, "steps": steps})
    assigned = {member["member"]: member["assigned"] for member in answer["groups"][-1]["members"]}
    assert assigned == {"m": [["t", 0]], "n": [["u", 0]], "o": [["u", 1]], "p": [["t", 1]]}


def _heartbeat(at_ms: int, member: str, epoch: int | str, **fields: Any) -> JsonObject:
    return {"at_ms": at_ms, "request": "consumer_heartbeat", "member": member, "member_epoch": epoch, **fields}


# ---- Simulations


def simulated(
    members: int, partitions: int, *events: GroupEvent, settings: SimulationSettings = LONG, **columns: Any
) -> Played:
    """A group of identical consumers, and a further one that may join."""
    static = columns.pop("static", False)
    consumers = [
        consumer(f"c{m}", "t", protocols=["server-uniform"], instance_id=f"i{m}" if static else None, **columns)
        for m in range(members + 1)
    ]
    return play([History(consumers[:-1], consumers[-1:], events)], {"t": partitions}, settings=settings)


def test_an_undisturbed_group_only_sends_heartbeats() -> None:
    played = simulated(4, 12, settings=SimulationSettings(duration_ms=60_000))
    assert played.rebalances() == []
    assert played.simulated.groups[0].generation == 1
    assert played.progress().unowned_ms == 0
    # Four members, a heartbeat each every five seconds, and its answer.
    assert 4 * 2 * 11 <= played.progress().messages <= 4 * 2 * 13


def test_a_restart_makes_two_rebalances() -> None:
    played = simulated(4, 12, at(10_000, "restart", 1, 30_000))
    left, joined = played.rebalances()
    assert (left.reason, joined.reason) == (EpochReason.MEMBER_LEFT, EpochReason.NEW_MEMBER)
    assert (left.generation, joined.generation) == (2, 3)
    assert left.to_ms - left.from_ms <= 2 * HEARTBEAT_MS
    assert (left.joined, joined.joined) == (3, 4)
    assert played.progress().stable
    # The other members go on consuming: only the three revoked partitions are unowned.
    assert 0 < left.unowned_ms <= 3 * 2 * HEARTBEAT_MS


def test_a_crash_is_noticed_when_the_session_expires() -> None:
    played = simulated(3, 6, at(20_000, "crash", 0))
    (rebalance,) = played.rebalances()
    assert rebalance.reason == EpochReason.SESSION_EXPIRED
    assert 20_000 + 45_000 - HEARTBEAT_MS <= rebalance.from_ms <= 20_000 + 45_000
    assert played.simulated.groups[0].evicted == 1
    assert played.progress().stable


def test_a_static_member_comes_back_to_what_it_had() -> None:
    played = simulated(3, 6, at(20_000, "restart", 2, 10_000), static=True)
    assert played.rebalances() == []
    assert played.simulated.groups[0].generation == 1
    assert played.progress().moved == 0
    assert played.progress().stable
    assert played.progress().unowned_ms > 2 * 10_000


@pytest.mark.parametrize(("assignor", "group", "kept"), [("uniform", "g0", 0), ("range", "g0", 0), ("range", "g3", 3)])
def test_a_member_without_a_subscription_may_cost_the_others_theirs(assignor: str, group: str, kept: int) -> None:
    """It joins just after another has left; as before, the topics are those of the first member.

    For range that is the one with the lower id, which only the new member generates.
    """
    protocols = [f"server-{assignor}"]
    members = [consumer(name, "t", protocols=protocols) for name in ("c0", "c1")]
    events = at(20_000, "join", 2), at(20_000, "leave", 1)
    played = play([History(members, [consumer("c2", protocols=protocols)], events, group)], {"t": 6}, settings=LONG)
    assert played.owned() == {"c0": [("t", p) for p in range(kept)], "c2": []}
    assert not played.progress().stable


def test_a_static_member_that_crashed_cannot_come_back_at_once() -> None:
    played = simulated(3, 6, at(20_000, "crash", 1), at(25_000, "restart", 1, 0), static=True)
    assert played.failures() == {"c1": "UNRELEASED_INSTANCE_ID"}


def test_a_consumer_past_max_poll_interval_leaves_and_rejoins() -> None:
    played = simulated(3, 6, at(20_000, "stall", 1, 90_000), rebalance_timeout_ms=60_000)
    assert [row.consumer for row in played.timeline() if row.subject == Subject.POLL_EXPIRED] == [1]
    left, joined = played.rebalances()
    assert (left.reason, joined.reason) == (EpochReason.MEMBER_LEFT, EpochReason.NEW_MEMBER)
    assert 79_000 < left.from_ms < 80_100
    assert 110_000 <= joined.from_ms < 111_000
    assert played.progress().stable


def test_a_member_that_does_not_revoke_in_time_is_removed() -> None:
    """A new member waits for partitions of one that does not poll; the rebalance timeout ends that."""
    played = simulated(2, 6, at(20_000, "stall", 0, 100_000), at(21_000, "join", 2), rebalance_timeout_ms=60_000)
    assert EpochReason.NEW_MEMBER in [row.reason for row in played.rebalances()]
    assert played.progress().stable
    assert played.simulated.groups[0].member_count == 3


def test_growth_is_noticed_at_the_next_heartbeat() -> None:
    played = simulated(3, 6, at(30_000, "grow", value=3, topic="t"))
    (rebalance,) = played.rebalances()
    assert rebalance.reason == EpochReason.TOPICS_CHANGED
    assert 30_000 <= rebalance.from_ms <= 30_000 + HEARTBEAT_MS
    assert played.progress().stable
    assert played.progress().unowned_ms <= 3 * 2 * HEARTBEAT_MS


def test_a_move_of_the_coordinator_causes_no_rebalance() -> None:
    played = simulated(3, 6, at(30_000, "move-coordinator", value=20_000))
    assert played.rebalances() == []
    assert played.progress().unowned_ms == 0
    assert refused(played, Errors.NOT_COORDINATOR) != set()


def test_a_join_that_cannot_be_stored_is_retried() -> None:
    fails, works = Errors.NOT_ENOUGH_REPLICAS, Errors.NONE
    events = [at(20_000, "fail-store", value=fails), at(21_000, "join", 2), at(24_000, "fail-store", value=works)]
    played = simulated(2, 6, *events)
    assert refused(played, Errors.COORDINATOR_NOT_AVAILABLE) == {2}
    (rebalance,) = played.rebalances()
    assert rebalance.from_ms >= 24_000
    assert played.progress().stable


def refused(played: Played, error: Errors) -> set[int]:
    """Return the consumers that have been sent an error."""
    return {row.consumer for row in played.timeline() if (row.subject, row.error) == (Subject.ANSWER, error)}
