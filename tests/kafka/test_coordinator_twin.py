"""The twin of the group coordinator gives Kafka's own answers to the committed conversations."""

import pytest

from tests.kafka.cases import JsonObject, golden
from tests.naive.coordinator import coordinator_answer
from tests.naive.model import VERSIONS

PROTOCOLS = [["range", ""]]


@pytest.mark.parametrize("version", VERSIONS)
def test_golden(version: str) -> None:
    cases = golden(f"cases-coordinator-{version}")
    for case, answer in zip(cases, golden(f"coordinator-{version}"), strict=True):
        expected = {name: answer[name] for name in ("id", "made", "answers", "groups")}
        assert coordinator_answer(version, {**case, "made": answer["made"]}) == expected


def _states(version: str, *steps: JsonObject, **config: int) -> list[str | None]:
    answer = coordinator_answer(version, {"id": "states", "config": config, "steps": list(steps)})
    return [group and group["state"] for group in answer["groups"]]


def _join(at_ms: int, **fields: object) -> JsonObject:
    return {"at_ms": at_ms, "request": "join", "member": "", "protocols": PROTOCOLS, **fields}


def _tick(at_ms: int) -> JsonObject:
    return {"at_ms": at_ms, "request": "tick"}


@pytest.mark.parametrize("version", VERSIONS)
def test_initial_rebalance_delay(version: str) -> None:
    """A second member within the delay lengthens it by as much."""
    completing = "AwaitingSync" if version == "1.0" else "CompletingRebalance"
    alone = _states(version, _join(0), _tick(2999), _tick(3000))
    assert alone == ["PreparingRebalance", "PreparingRebalance", completing]
    together = _states(version, _join(0), _join(2999), _tick(3000), _tick(5999), _tick(6000))
    assert together == ["PreparingRebalance"] * 4 + [completing]


@pytest.mark.parametrize(
    ("version", "state"),
    [("1.0", "Stable"), ("2.3", "Stable"), ("3.9", "PreparingRebalance"), ("4.3", "PreparingRebalance")],
)
def test_members_that_do_not_sync(version: str, state: str) -> None:
    """Since 2.8.1 heartbeats do not keep a member that sends no SyncGroup; in the first versions nobody looks."""
    steps: list[JsonObject] = [
        _join(0, rebalance_timeout_ms=6000),
        _join(0, rebalance_timeout_ms=6000),
        {"at_ms": 6000, "request": "sync", "member": 0, "generation": 1, "assignments": []},
        {"at_ms": 8000, "request": "heartbeat", "member": 0, "generation": 1},
        {"at_ms": 8000, "request": "heartbeat", "member": 1, "generation": 1},
        _tick(12_000),
    ]
    assert _states(version, *steps)[-2:] == ["Stable", state]


@pytest.mark.parametrize(
    ("version", "state"), [("2.3", "PreparingRebalance"), ("3.9", "PreparingRebalance"), ("4.3", "CompletingRebalance")]
)
def test_last_pending_id_ends_the_first_join_phase_in_java_only(version: str, state: str) -> None:
    """``removePendingMemberAndUpdateClassicGroup`` does not ask whether the join phase is the initial one."""
    pending = _join(0, requires_known_member_id=True, session_timeout_ms=6000)
    states = _states(version, pending, _join(1), _tick(6000), initial_rebalance_delay_ms=9000)
    assert states == ["Empty", "PreparingRebalance", state]
