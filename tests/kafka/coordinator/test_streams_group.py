"""Streams groups (KIP-1071): Kafka's answers to golden conversations, invariants, and examples."""

from itertools import pairwise

import pytest

from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.coordinator.streams.streams_group import (
    ASSIGNMENT_DELAYED,
    NO_TASKS,
    StreamsAnswer,
    StreamsConfig,
    StreamsGroup,
    StreamsHeartbeat,
    Tasks,
)
from rebalance_sim.kafka.coordinator.streams.topology import INCORRECTLY_PARTITIONED_TOPICS, Subtopology, Task, Topology
from rebalance_sim.kafka.simulation.streams_targets import StreamsTargets
from rebalance_sim.releases import kafka_version
from tests.oracle.oracle import STREAMS_GROUP_RELEASES
from tests.oracle.streams_group_cases import streams_group_cases
from tests.support.cases import golden_share
from tests.support.comparison import conversation_of, different
from tests.support.conversations.heartbeat_players import streams_group_answer

TOPOLOGY = Topology(0, {"0": Subtopology(("orders",), ("totals-changelog",), is_stateful=True)})
RELEASES = ("4.2.0", "4.3.0", "4.4.0")


@pytest.mark.parametrize("release", STREAMS_GROUP_RELEASES)
def test_golden_conversations_get_the_answers_of_each_release(release: str, seed: int) -> None:
    cases, answers = golden_share("cases-streams-groups", seed), golden_share(f"streams-groups-{release}", seed)
    ours = [streams_group_answer(case, release) for case in cases]
    assert different(cases, map(conversation_of, answers), ours) == []


@pytest.mark.parametrize("release", RELEASES)
def test_epochs_never_fall_and_tasks_run_once(release: str, seed: int) -> None:
    for case in streams_group_cases(seed, 20):
        groups = [group for group in streams_group_answer(case, release)["groups"] if group is not None]
        for before, after in pairwise(groups):
            assert before["group_epoch"] <= after["group_epoch"], case["id"]
            assert before["target_epoch"] <= after["target_epoch"] <= after["group_epoch"], case["id"]
        for group in groups:
            had = [(*member["assigned"], *member.get("pending_revocation", ())) for member in group["members"]]
            running = [tuple(task) for tasks in had for task in tasks if task[0].startswith("active")]
            assert len(running) == len(set(running)), case["id"]


def group(release: str, **settings: int) -> StreamsGroup:
    rules = kafka_version(release)
    made = StreamsGroup(StreamsConfig(**settings), rules.streams_groups, StreamsTargets(rules))
    made.see_topics({"orders": 2, "totals-changelog": 2})
    return made


def join(to: StreamsGroup, name: str, now_ms: int, instance_id: str | None = None) -> StreamsAnswer:
    request = StreamsHeartbeat(name, 0, f"p-{name}", TOPOLOGY, 8000, NO_TASKS, instance_id)
    return to.heartbeat(request, now_ms)


def active(answer: StreamsAnswer) -> list[Task] | None:
    return None if answer.assigned is None else sorted(answer.assigned.active)


@pytest.mark.parametrize("release", RELEASES)
def test_the_first_members_wait_for_the_initial_rebalance_delay(release: str) -> None:
    """A single member waits longer: nothing is computed before its second heartbeat."""
    both, alone = group(release), group(release)
    assert join(both, "a", 0).statuses == join(both, "b", 2000).statuses == (ASSIGNMENT_DELAYED,)
    both.advance(3000)
    assert (both.epoch, both.target_epoch, both.state) == (3, 3, "Reconciling")
    given = [active(both.heartbeat(StreamsHeartbeat(name, 1), 5000)) for name in "ab"]
    assert sorted(given, key=str) == [[("0", 0)], [("0", 1)]]
    join(alone, "a", 0)
    alone.advance(4999)
    assert (alone.epoch, alone.target_epoch, alone.state) == (2, 1 if release > "4.2.0" else 0, "Assigning")
    assert active(alone.heartbeat(StreamsHeartbeat("a", 1), 5000)) == [("0", 0), ("0", 1)]


@pytest.mark.parametrize("release", RELEASES)
def test_a_task_waits_until_its_holder_has_revoked_it_or_is_removed(release: str) -> None:
    for confirms in (True, False):
        pair = group(release, group_streams_initial_rebalance_delay_ms=0, group_streams_assignment_interval_ms=0)
        assert active(join(pair, "a", 0)) == [("0", 0), ("0", 1)]
        assert active(join(pair, "b", 100)) == []
        answer = pair.heartbeat(StreamsHeartbeat("a", 2), 200)
        assert (answer.epoch, active(answer)) == (2, [("0", 0)])
        assert active(pair.heartbeat(StreamsHeartbeat("b", 3), 300)) is None
        if confirms:
            owned = Tasks(frozenset({("0", 0)}))
            assert pair.heartbeat(StreamsHeartbeat("a", 2, owned=owned), 400).epoch == 3
            assert active(pair.heartbeat(StreamsHeartbeat("b", 3), 500)) == [("0", 1)]
        else:
            # The time to revoke is over, although the session is not.
            pair.advance(200 + 8000)
            assert sorted(pair.members) == ["b"]


def test_target_assignments_are_a_second_apart_since_4_3() -> None:
    answers = {}
    for release in RELEASES:
        pair = group(release, group_streams_initial_rebalance_delay_ms=0)
        join(pair, "a", 0)
        answers[release] = join(pair, "b", 999)
    assert (answers["4.2.0"].epoch, answers["4.2.0"].statuses) == (3, ())
    found = {(answers[release].epoch, answers[release].statuses) for release in RELEASES[1:]}
    assert found == {(2, (ASSIGNMENT_DELAYED,))}


def test_a_member_that_is_soon_back_gets_its_tasks_back_since_4_4() -> None:
    """Until the next target assignment, 4.3 gives it nothing."""
    tasks = {}
    for release in RELEASES:
        solo = group(release, group_streams_initial_rebalance_delay_ms=0, group_streams_assignment_interval_ms=15_000)
        join(solo, "b", 0)
        join(solo, "a", 15_000)
        solo.heartbeat(StreamsHeartbeat("b", 2, owned=Tasks(frozenset({("0", 0)}))), 15_100)
        assert active(solo.heartbeat(StreamsHeartbeat("a", 3), 15_200)) == [("0", 1)]
        solo.heartbeat(StreamsHeartbeat("a", -1), 15_300)
        tasks[release] = active(join(solo, "a", 15_400))
    assert tasks["4.3.0"] == []
    assert tasks["4.4.0"] == [("0", 1)]


def test_a_static_member_keeps_its_tasks_while_it_restarts_since_4_4() -> None:
    older = group("4.3.0")
    assert join(older, "a", 0, "i").error is Errors.INVALID_REQUEST
    newer = group("4.4.0", group_streams_initial_rebalance_delay_ms=0)
    join(newer, "a", 0, "i")
    assert newer.heartbeat(StreamsHeartbeat("a", -2, instance_id="i"), 100).epoch == -2
    assert (newer.epoch, newer.state) == (2, "Reconciling")
    # Its process is a new one, which raises the epoch; the task stays.
    answer = join(newer, "a2", 9000, "i")
    assert (answer.epoch, active(answer)) == (3, [("0", 0), ("0", 1)])
    assert newer.heartbeat(StreamsHeartbeat("a", 2, instance_id="i"), 9100).error is Errors.FENCED_INSTANCE_ID


@pytest.mark.parametrize("release", RELEASES)
def test_a_source_topic_that_grows_without_its_changelog_takes_all_tasks(release: str) -> None:
    grown = group(release, group_streams_initial_rebalance_delay_ms=0)
    join(grown, "a", 0)
    grown.see_topics({"orders": 3, "totals-changelog": 2})
    answer = grown.heartbeat(StreamsHeartbeat("a", 2, owned=NO_TASKS), 5000)
    assert (active(answer), answer.statuses, grown.state) == ([], (INCORRECTLY_PARTITIONED_TOPICS,), "NotReady")


@pytest.mark.parametrize("release", RELEASES)
def test_a_member_is_fenced_unless_the_answer_that_raised_its_epoch_may_be_lost(release: str) -> None:
    lost = group(release, group_streams_initial_rebalance_delay_ms=0)
    join(lost, "a", 0)
    join(lost, "b", 2000)
    lost.heartbeat(StreamsHeartbeat("a", 2, owned=Tasks(frozenset({("0", 0)}))), 2100)
    assert lost.heartbeat(StreamsHeartbeat("a", 2, owned=NO_TASKS), 2200).epoch == 3
    for request in (StreamsHeartbeat("a", 2), StreamsHeartbeat("a", 4, owned=NO_TASKS)):
        assert lost.heartbeat(request, 2300).error is Errors.FENCED_MEMBER_EPOCH
    assert lost.heartbeat(StreamsHeartbeat("c", 2), 2400).error is Errors.UNKNOWN_MEMBER_ID
