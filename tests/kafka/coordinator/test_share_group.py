"""Share groups (KIP-932): Kafka's answers to golden conversations, and invariants."""

from itertools import pairwise

import pytest

from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.coordinator.share.share_group import (
    AssignmentRequest,
    AssignorError,
    Partitions,
    ShareConfig,
    ShareGroup,
    ShareHeartbeat,
)
from rebalance_sim.releases import ShareGroupRules
from tests.oracle.oracle import SHARE_GROUP_RELEASES
from tests.oracle.share_group_cases import share_group_cases
from tests.support.cases import golden_share
from tests.support.comparison import conversation_of, different
from tests.support.conversations.heartbeat_players import share_group_answer

JOBS = frozenset({"jobs"})


@pytest.mark.parametrize("release", SHARE_GROUP_RELEASES)
def test_golden_conversations_get_the_answers_of_each_release(release: str, seed: int) -> None:
    cases, answers = golden_share("cases-share-groups", seed), golden_share(f"share-groups-{release}", seed)
    ours = [share_group_answer(case, release) for case in cases]
    assert different(cases, map(conversation_of, answers), ours) == []


@pytest.mark.parametrize("release", SHARE_GROUP_RELEASES)
def test_epochs_never_fall(release: str, seed: int) -> None:
    for case in share_group_cases(seed, 20):
        groups = [group for group in share_group_answer(case, release)["groups"] if group is not None]
        for before, after in pairwise(groups):
            assert before["group_epoch"] <= after["group_epoch"], case["id"]
            assert before["target_epoch"] <= after["target_epoch"] <= after["group_epoch"], case["id"]
        for group in groups:
            assert all(member["epoch"] <= group["target_epoch"] for member in group["members"]), case["id"]


def test_nothing_changes_if_the_assignor_fails() -> None:
    def assign(asked: AssignmentRequest) -> dict[str, Partitions]:
        if len(asked.subscriptions) > 1:
            raise AssignorError("NoSuchElementException")
        return dict.fromkeys(asked.subscriptions, asked.initialized)

    group = ShareGroup(ShareConfig(), ShareGroupRules.ONLY_SUBSCRIBED, assign)
    group.see_topics({"jobs": 1})
    group.heartbeat(ShareHeartbeat("a", 0, JOBS), 0)
    answer = group.heartbeat(ShareHeartbeat("a", 1), 10)
    assert answer.assigned == frozenset({("jobs", 0)})
    assert group.heartbeat(ShareHeartbeat("b", 0, JOBS), 20).error is Errors.UNKNOWN_SERVER_ERROR
    assert (group.epoch, group.target_epoch, list(group.members)) == (2, 2, ["a"])


def test_a_member_whose_session_ends_leaves_its_partitions_to_the_next_heartbeat() -> None:
    """They are without a member until another one beats, which the coordinator does not tell to hurry."""

    def assign(asked: AssignmentRequest) -> dict[str, Partitions]:
        names = sorted(asked.subscriptions)
        return {name: frozenset(p for p in asked.initialized if p[1] % len(names) == k) for k, name in enumerate(names)}

    group = ShareGroup(ShareConfig(), ShareGroupRules.EMPTY_GROUPS, assign)
    group.see_topics({"jobs": 2})
    for at_ms in range(0, 10_000, 5000):
        for name in ("a", "b"):
            member = group.members.get(name)
            subscription = None if member else JOBS
            group.heartbeat(ShareHeartbeat(name, member.epoch if member else 0, subscription), at_ms)
    group.heartbeat(ShareHeartbeat("a", group.members["a"].epoch), 10_000)
    assert {name: len(member.assigned) for name, member in group.members.items()} == {"a": 1, "b": 1}
    epoch = group.epoch
    assert group.next_timer_ms() == 50_000
    for at_ms in range(15_000, 50_000, 5000):
        assert group.heartbeat(ShareHeartbeat("a", group.members["a"].epoch), at_ms).assigned is None
    group.advance(50_000)
    assert (list(group.members), group.epoch, len(group.members["a"].assigned)) == (["a"], epoch + 1, 1)
    answer = group.heartbeat(ShareHeartbeat("a", group.members["a"].epoch), 50_001)
    assert answer.assigned == frozenset({("jobs", 0), ("jobs", 1)})
