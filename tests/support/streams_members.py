"""Heartbeats of members of streams groups as the arrays that the coordinator's rules take, and their outcome."""

from collections.abc import Iterable

import numpy as np

from rebalance_sim.kafka.coordinator.streams.current_assignment import (
    Role,
    Roles,
    StreamsMember,
    TargetOfMember,
    reconcile,
)
from rebalance_sim.kafka.runtime.strings import Ints32
from rebalance_sim.releases import KafkaVersion, StreamsRules
from tests.oracle.streams_reconciliation_cases import KINDS, PARTITIONS, SUBTOPOLOGIES
from tests.support.cases import JsonObject

_TASKS = [(s, p) for s in SUBTOPOLOGIES for p in range(PARTITIONS)]
_ROLES = dict(zip(KINDS, (Role.ACTIVE, Role.STANDBY, Role.WARMUP), strict=True))
_OWN_PROCESS = "p"


def reconciled(case: JsonObject, version: KafkaVersion) -> JsonObject:
    """Return what the rules of a release answer, in the form of the oracle's answers."""
    heartbeat: JsonObject = case["config"]
    assigned, pending = heartbeat["assigned"], heartbeat["pending"]
    member = StreamsMember(
        heartbeat["state"],
        heartbeat["epoch"],
        heartbeat["previous_epoch"],
        _roles(assigned),
        np.zeros(len(_TASKS), np.int32),
        _roles(pending),
    )
    for tasks in (pending, assigned):
        for task, (s, p) in enumerate(_TASKS):
            member.epochs[task] = tasks["active"].get(s, {}).get(str(p), member.epochs[task])
    owned = heartbeat["owned"]
    target = TargetOfMember(
        heartbeat["target_epoch"],
        _roles(heartbeat["target"]),
        _held(heartbeat["holders"]),
        owned is not None,
        _roles(owned or {}),
    )
    after, is_fenced = reconcile(member, target, int(version.streams_groups))
    if is_fenced:
        return {"error": "FencedMemberEpochException"}
    answer: JsonObject = {
        "state": after.state,
        "epoch": after.epoch,
        "previous_epoch": after.previous_epoch,
        "assigned": _written(after.assigned, after.epochs),
        "pending": _written(after.pending, after.epochs),
    }
    # In 4.1 active tasks have no epochs.
    return answer if version.streams > StreamsRules.TASK_PAIRS else _without_epochs(answer)


def answer_of(answer: JsonObject) -> JsonObject:
    """Return the fields of an answer that do not name the case and the release."""
    if "error" in answer:
        return {"error": answer["error"].split(":", maxsplit=1)[0]}
    return {name: value for name, value in answer.items() if name not in ("id", "kafka")}


def _without_epochs(answer: JsonObject) -> JsonObject:
    plain = {
        name: answer[name] | {"active": {s: list(map(int, epochs)) for s, epochs in answer[name]["active"].items()}}
        for name in ("assigned", "pending")
    }
    return answer | plain


def _roles(tasks: JsonObject) -> Roles:
    return _array(sum(_ROLES[kind] for kind in KINDS if _has(tasks.get(kind, {}).get(s, ()), p)) for s, p in _TASKS)


def _has(listed: Iterable[int | str], partition: int) -> bool:
    return partition in map(int, listed)


def _held(holders: JsonObject) -> Roles:
    roles = []
    for s, p in _TASKS:
        by = {kind: holders[kind].get(s, {}).get(str(p), ()) for kind in KINDS}
        held = sum(_ROLES[kind] for kind in KINDS if _OWN_PROCESS in by[kind])
        roles.append(held + (Role.ELSEWHERE if by["active"] and by["active"] != _OWN_PROCESS else 0))
    return _array(roles)


def _array(roles: Iterable[int]) -> Roles:
    return np.array(list(map(int, roles)), np.int8)


def _written(roles: Roles, epochs: Ints32) -> JsonObject:
    tasks: JsonObject = {kind: {} for kind in KINDS}
    for task, (s, p) in enumerate(_TASKS):
        for kind in KINDS:
            if not roles[task] & _ROLES[kind]:
                continue
            if kind == "active":
                tasks[kind].setdefault(s, {})[str(p)] = int(epochs[task])
            else:
                tasks[kind].setdefault(s, []).append(p)
    return tasks
