"""Consumer-protocol groups: Kafka's answers to golden conversations, invariants, and simulations."""

from itertools import pairwise

import pytest

from rebalance_sim.kafka.coordinator.consumer.group import EpochReason
from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.simulation.model import ScenarioKind, Subject
from rebalance_sim.kafka.simulation.settings import Settings
from tests.oracle.consumer_group_cases import consumer_group_cases
from tests.support.cases import JsonObject, golden
from tests.support.consumer_fleets import Scripted, SmallGroup
from tests.support.conversations.mixed_player import group_answer
from tests.support.examples import some

_CASES = 300
_SPREAD_MS = 5000
"""The interval of heartbeats."""
_LONG = Settings(duration_ms=240_000)
"""Longer than a stable group is simulated after the last event."""


def test_golden_conversations_get_kafkas_answers() -> None:
    cases, answers = golden("cases-consumer-group-4.3"), golden("consumer-group-4.3")
    assert len(cases) == _CASES
    different = []
    for case, answer in some([*zip(cases, answers, strict=True)]):
        theirs = {name: answer[name] for name in ("id", "answers", "groups")}
        ours = group_answer(case)
        if ours != theirs:
            different.append((case["id"], ours, theirs))
    assert different == []


# ---- Invariants


@pytest.mark.parametrize("seed", [1, 2])
def test_no_partition_has_two_members(seed: int) -> None:
    for case in consumer_group_cases(seed, 40):
        for group in group_answer(case)["groups"]:
            held = [tuple(partition) for member in _members(group) for partition in _held(member)]
            assert len(held) == len(set(held)), case["id"]


@pytest.mark.parametrize("seed", [3, 4])
def test_epochs_never_fall(seed: int) -> None:
    for case in consumer_group_cases(seed, 40):
        groups = [group for group in group_answer(case)["groups"] if group is not None]
        for before, after in pairwise(groups):
            assert before["group_epoch"] <= after["group_epoch"], case["id"]
            assert before["target_epoch"] <= after["target_epoch"] <= after["group_epoch"], case["id"]
        for group in groups:
            assert all(member["epoch"] <= group["target_epoch"] for member in group["members"]), case["id"]


def _members(group: JsonObject | None) -> list[JsonObject]:
    return [] if group is None else group["members"]


def _held(member: JsonObject) -> list[list[object]]:
    return [*member["assigned"], *member.get("pending_revocation", [])]


# ---- Simulations


def test_an_undisturbed_group_only_sends_heartbeats() -> None:
    course = SmallGroup(4, 12, [], settings=Settings(duration_ms=60_000)).simulate()
    assert course.group.rebalances == 0
    assert course.progress.unowned_ms == 0
    assert course.group.generation == 7
    # Four members, a heartbeat each every five seconds, and its answer.
    assert 4 * 2 * 11 <= course.progress.messages <= 4 * 2 * 13


def test_a_restart_makes_two_rebalances() -> None:
    course = SmallGroup(4, 12, [Scripted(10_000, ScenarioKind.RESTART, 1, 30_000)]).simulate()
    left, joined = course.rebalances
    assert (left.reason, joined.reason) == (EpochReason.MEMBER_LEFT, EpochReason.NEW_MEMBER)
    assert (left.generation, joined.generation) == (8, 9)
    assert left.to_ms - left.from_ms <= 2 * _SPREAD_MS
    assert (left.joined, joined.joined) == (3, 4)
    assert course.progress.stable
    # The other members go on consuming: only the three revoked partitions are unowned.
    assert 0 < left.unowned_ms <= 3 * 2 * _SPREAD_MS


def test_a_crash_is_noticed_when_the_session_expires() -> None:
    course = SmallGroup(3, 6, [Scripted(20_000, ScenarioKind.CRASH, 0)]).simulate()
    (rebalance,) = course.rebalances
    assert rebalance.reason == EpochReason.SESSION_EXPIRED
    assert 20_000 + 45_000 - _SPREAD_MS <= rebalance.from_ms <= 20_000 + 45_000
    assert course.group.evicted == 1
    assert course.progress.stable


def test_a_static_member_comes_back_to_what_it_had() -> None:
    course = SmallGroup(3, 6, [Scripted(20_000, ScenarioKind.RESTART, 2, 10_000)], static=True).simulate()
    assert course.rebalances == []
    assert course.group.generation == 7
    assert course.progress.moved == 0
    assert course.progress.stable
    assert course.progress.unowned_ms > 2 * 10_000


def test_a_static_member_that_crashed_cannot_come_back_at_once() -> None:
    events = [Scripted(20_000, ScenarioKind.CRASH, 1), Scripted(25_000, ScenarioKind.RESTART, 1, 0)]
    course = SmallGroup(3, 6, events, static=True).simulate()
    assert course.progress.failure == Errors.UNRELEASED_INSTANCE_ID
    assert course.progress.failed_consumer == 1


def test_a_consumer_past_max_poll_interval_leaves_and_rejoins() -> None:
    events = [Scripted(20_000, ScenarioKind.STALL, 1, 90_000)]
    course = SmallGroup(3, 6, events, max_poll_interval_ms=60_000, settings=_LONG).simulate()
    assert [row.consumer for row in course.timeline(Subject.POLL_EXPIRED)] == [1]
    left, joined = course.rebalances
    assert (left.reason, joined.reason) == (EpochReason.MEMBER_LEFT, EpochReason.NEW_MEMBER)
    assert 79_000 < left.from_ms < 80_100
    assert 110_000 <= joined.from_ms < 111_000
    assert course.progress.stable


def test_a_member_that_does_not_revoke_in_time_is_removed() -> None:
    """A new member waits for partitions of one that does not poll; the rebalance timeout ends that."""
    events = [Scripted(20_000, ScenarioKind.STALL, 0, 100_000), Scripted(21_000, ScenarioKind.JOIN, 2)]
    course = SmallGroup(2, 6, events, more=1, max_poll_interval_ms=60_000, settings=_LONG).simulate()
    assert EpochReason.NEW_MEMBER in [row.reason for row in course.rebalances]
    assert course.progress.stable
    assert course.group.member_count == 3


def test_growth_is_noticed_at_the_next_heartbeat() -> None:
    events = [Scripted(30_000, ScenarioKind.GROW, 0, 9)]
    course = SmallGroup(3, 6, events, grown=9).simulate()
    (rebalance,) = course.rebalances
    assert rebalance.reason == EpochReason.TOPICS_CHANGED
    assert 30_000 <= rebalance.from_ms <= 30_000 + _SPREAD_MS
    assert course.progress.stable
    assert course.progress.unowned_ms <= 3 * 2 * _SPREAD_MS


def test_a_move_of_the_coordinator_causes_no_rebalance() -> None:
    course = SmallGroup(3, 6, [Scripted(30_000, ScenarioKind.MOVE_COORDINATOR, 0, 20_000)]).simulate()
    assert course.rebalances == []
    assert course.progress.unowned_ms == 0
    assert course.timeline(Subject.ANSWER, Errors.NOT_COORDINATOR) != []


def test_a_join_that_cannot_be_stored_is_retried() -> None:
    events = [
        Scripted(20_000, ScenarioKind.FAIL_STORE, 0, Errors.NOT_ENOUGH_REPLICAS),
        Scripted(21_000, ScenarioKind.JOIN, 2),
        Scripted(24_000, ScenarioKind.FAIL_STORE, 0, Errors.NONE),
    ]
    course = SmallGroup(2, 6, events, more=1).simulate()
    refused = course.timeline(Subject.ANSWER, Errors.COORDINATOR_NOT_AVAILABLE)
    assert {row.consumer for row in refused} == {2}
    (rebalance,) = course.rebalances
    assert rebalance.from_ms >= 24_000
    assert course.progress.stable


@pytest.mark.parametrize("strategy", ["server-uniform", "server-range"])
def test_groups_do_not_affect_each_other(strategy: str) -> None:
    events = [Scripted(10_000 + 20_000 * m, ScenarioKind.RESTART, m, 5000) for m in range(3)]
    alone = SmallGroup(3, 7, events, strategy=strategy).simulate()
    among = SmallGroup(3, 7, events, strategy=strategy).simulate(groups=3)
    for name in ("unowned_ms", "moved", "moved_back", "messages", "completed", "all_owned_ms"):
        assert getattr(alone.progress, name) == getattr(among.progress, name), name
