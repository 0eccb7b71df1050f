"""Conversations with the coordinator about a streams group: the rules, with the assignor of the release."""

from typing import Any

from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.coordinator.streams.streams_group import (
    NO_TASKS,
    StreamsAnswer,
    StreamsConfig,
    StreamsGroup,
    StreamsGroupMember,
    StreamsHeartbeat,
    Tasks,
)
from rebalance_sim.kafka.coordinator.streams.topology import Subtopology, Topology
from rebalance_sim.kafka.simulation.streams_targets import StreamsTargets
from rebalance_sim.releases import kafka_version
from tests.support.cases import JsonObject
from tests.support.conversations.player import Remembered

_SETTINGS = {
    "assignment_interval_ms": "group_streams_assignment_interval_ms",
    "initial_rebalance_delay_ms": "group_streams_initial_rebalance_delay_ms",
    "num_standby_replicas": "group_streams_num_standby_replicas",
    "consumer_group_max_size": "group_streams_max_size",
}
"""What a case's settings are called by brokers."""
_ROLES = ("active ", "standby ")


def _owned(memory: Remembered, stated: Any, epoch: int) -> Tasks | None:
    if stated is None:
        return None
    if isinstance(stated, str) and epoch == 0:
        return NO_TASKS
    listed = memory.assigned if isinstance(stated, str) else stated
    listed = listed[1:] if stated == "but_one" else listed
    return Tasks(*(frozenset((t[len(r) :], p) for t, p in listed if t.startswith(r)) for r in _ROLES))


def streams_group_answer(case: JsonObject, version: str) -> JsonObject:
    """Play a case of ``streams_group_cases``."""
    rules = kafka_version(version)
    config = StreamsConfig(**{_SETTINGS[name]: value for name, value in case["config"].items()})
    group = StreamsGroup(config, rules.streams_groups, StreamsTargets(rules))
    members: dict[str, Remembered] = {}
    answers, groups = [], []
    for number, step in enumerate(case["steps"]):
        group.advance(step["at_ms"])
        if step["request"] == "topics":
            group.see_topics({name: count for name, _, count in step["image"]})
        elif step["request"] == "streams_heartbeat":
            memory = members.setdefault(step["member"], Remembered())
            answer = group.heartbeat(_request(step, memory), step["at_ms"])
            answers.append(_shown_answer(number, step, answer))
            memory.answered(answer.error, answer.epoch, answers[-1]["assigned"])
        groups.append(_shown_group(group))
    return {"id": case["id"], "answers": answers, "groups": groups}


def _request(step: JsonObject, memory: Remembered) -> StreamsHeartbeat:
    epoch, offsets = memory.named(step["member_epoch"]), step.get("task_offsets")
    told = {} if step.get("only_joining") and epoch != 0 else step
    return StreamsHeartbeat(
        step["member"],
        epoch,
        told.get("process_id"),
        None if told.get("topology") is None else _topology(told["topology"]),
        told.get("rebalance_timeout_ms"),
        _owned(memory, step.get("owned"), epoch),
        step.get("instance_id"),
        None if offsets is None else {(subtopology, p): offset for subtopology, p, offset in offsets},
    )


def _topology(stated: JsonObject) -> Topology:
    parts = {
        name: Subtopology(tuple(part["sources"]), tuple(part["changelogs"]), bool(part["changelogs"]))
        for name, part in stated["subtopologies"].items()
    }
    return Topology(stated["epoch"], parts)


def _shown_answer(number: int, step: JsonObject, answer: StreamsAnswer) -> JsonObject:
    is_answered = answer.error is Errors.NONE
    return {
        "step": number,
        "at_ms": step["at_ms"],
        "error": answer.error.name,
        "member": step["member"] if is_answered else "",
        "epoch": answer.epoch,
        "interval_ms": answer.interval_ms,
        "assigned": None if answer.assigned is None else _listed(answer.assigned),
        "statuses": list(answer.statuses),
    }


def _shown_group(group: StreamsGroup) -> JsonObject | None:
    if not group.exists:
        return None
    return {
        "state": group.state,
        "group_epoch": group.epoch,
        "target_epoch": group.target_epoch,
        "members": [_shown_member(name, member) for name, member in sorted(group.members.items())],
    }


def _shown_member(name: str, member: StreamsGroupMember) -> JsonObject:
    shown: JsonObject = {"member": name}
    if member.instance_id is not None:
        shown["instance_id"] = member.instance_id
    shown |= {
        "epoch": member.epoch,
        "previous_epoch": member.previous_epoch,
        "state": member.state.name,
        "assigned": _listed(member.assigned),
    }
    return shown | ({"pending_revocation": _listed(member.pending)} if member.pending.all else {})


def _listed(tasks: Tasks) -> list[list[Any]]:
    return sorted([role + name, partition] for role, of in zip(_ROLES, tasks, strict=True) for name, partition in of)
