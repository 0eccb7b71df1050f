"""The reconciliation of members of streams groups: the answers of the released coordinators, and examples."""

import pytest

from rebalance_sim.kafka.coordinator.streams.current_assignment import StreamsMemberState
from rebalance_sim.releases import StreamsGroupRules, kafka_version
from tests.oracle.oracle import STREAMS_RELEASES
from tests.support.cases import JsonObject, golden, golden_sample
from tests.support.streams_members import answer_of, reconciled


@pytest.mark.parametrize("release", STREAMS_RELEASES)
def test_every_heartbeat_is_answered_as_by_kafka(release: str) -> None:
    cases = golden_sample("cases-streams-members")
    theirs = [answer_of(answer) for answer in golden_sample(f"streams-members-{release}")]
    ours = [reconciled(case, kafka_version(release)) for case in cases]
    assert [trio for trio in zip(cases, theirs, ours, strict=True) if trio[1] != trio[2]] == []


def test_every_rule_has_answers() -> None:
    assert {kafka_version(release).streams_groups for release in STREAMS_RELEASES} == set(StreamsGroupRules)
    given = {release: list(map(answer_of, golden(f"streams-members-{release}"))) for release in STREAMS_RELEASES}
    assert given["4.2.1"] == given["4.2.2"] == given["4.3.1"] != given["4.4.0"]
    states = {answer.get("state") for answer in given["4.4.0"]}
    assert states == {None, *map(int, StreamsMemberState)} - {int(StreamsMemberState.UNKNOWN)}


def heartbeat(assigned: JsonObject, target: JsonObject, holders: JsonObject) -> JsonObject:
    """Return the heartbeat of a stable member that reports nothing, with task 0 of subtopology 0."""
    none: JsonObject = {"active": {}, "standby": {}, "warmup": {}}
    return {
        "config": {"state": 1, "epoch": 1, "previous_epoch": 0, "assigned": none | assigned, "pending": none,
                   "target_epoch": 2, "target": none | target, "holders": none | holders, "owned": None}
    }  # fmt: skip


def test_a_standby_task_becomes_active_in_one_step_since_4_4() -> None:
    """Before, the member first gives up the standby task, and its state."""
    promoted = heartbeat({"standby": {"0": [0]}}, {"active": {"0": [0]}}, {"standby": {"0": {"0": ["p"]}}})
    before, since = (reconciled(promoted, kafka_version(release)) for release in ("4.3.1", "4.4.0"))
    assert (before["state"], before["epoch"], before["pending"]["standby"]) == (2, 1, {"0": [0]})
    assert (since["state"], since["epoch"]) == (1, 2)
    assert since["assigned"] == {"active": {"0": {"0": 2}}, "standby": {}, "warmup": {}}


@pytest.mark.parametrize("release", ["4.1.0", "4.3.1", "4.4.0"])
def test_an_active_task_waits_for_its_holder(release: str) -> None:
    waiting = heartbeat({}, {"active": {"0": [0]}}, {"active": {"0": {"0": "q"}}})
    after = reconciled(waiting, kafka_version(release))
    assert (after["state"], after["epoch"], after["assigned"]["active"]) == (3, 2, {})
