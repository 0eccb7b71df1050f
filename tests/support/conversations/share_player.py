"""Conversations with the coordinator about a share group: the rules, with the assignor of the release."""

from collections.abc import Sequence
from typing import Any

from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.coordinator.share.share_group import (
    Partitions,
    ShareAnswer,
    ShareConfig,
    ShareGroup,
    ShareHeartbeat,
)
from rebalance_sim.kafka.simulation.share_targets import ShareTargets
from rebalance_sim.releases import ShareRules, kafka_version
from tests.support.batches import Batch
from tests.support.cases import JsonObject, uuid_halves
from tests.support.conversations.player import Remembered
from tests.support.model import Cluster, Group, Member


def _targets(steps: Sequence[JsonObject], rules: ShareRules) -> ShareTargets:
    """Return the assignor of a group whose topics do not exist yet."""
    ids = {name: uuid_halves(topic_id) for step in steps for name, topic_id, _ in step.get("image", ())}
    subscribed = (name for step in steps for name in step.get("subscription") or ())
    names = tuple(dict.fromkeys((*ids, *subscribed)))
    topics = Batch([Group((Member("", names),), Cluster({}, ids=ids))]).topics
    return ShareTargets(topics, {name: number for number, name in enumerate(names)}, rules)


def share_group_answer(case: JsonObject, version: str) -> JsonObject:
    """Play a case of ``share_group_cases``."""
    config = case["config"]
    settings: dict[str, int] = {}
    if "assignment_interval_ms" in config:
        settings["group_share_assignment_interval_ms"] = config["assignment_interval_ms"]
    if "consumer_group_max_size" in config:
        settings["group_share_max_size"] = config["consumer_group_max_size"]
    assign = _targets(case["steps"], kafka_version(version).share)
    group = ShareGroup(ShareConfig(**settings), kafka_version(version).share_groups, assign)
    remembered: dict[str, Remembered] = {}
    answers, groups = [], []
    for number, step in enumerate(case["steps"]):
        group.advance(step["at_ms"])
        if step["request"] == "topics":
            counts = {name: count for name, _, count in step["image"]}
            assign.topics.partitions[:] = [counts.get(name, -1) for name in assign.numbers]
            group.see_topics(counts)
        elif step["request"] == "share_heartbeat":
            memory = remembered.setdefault(step["member"], Remembered())
            subscription = step.get("subscription")
            request = ShareHeartbeat(
                step["member"],
                memory.named(step["member_epoch"]),
                None if subscription is None else frozenset(subscription),
            )
            answer = group.heartbeat(request, step["at_ms"])
            memory.answered(answer.error, answer.epoch)
            answers.append(_shown_answer(number, step, answer))
        groups.append(_shown_group(group))
    return {"id": case["id"], "answers": answers, "groups": groups}


def _shown_answer(number: int, step: JsonObject, answer: ShareAnswer) -> JsonObject:
    is_answered = answer.error is Errors.NONE
    return {
        "step": number,
        "at_ms": step["at_ms"],
        "error": answer.error.name,
        "member": step["member"] if is_answered else None,
        "epoch": answer.epoch,
        "interval_ms": answer.interval_ms,
        "assigned": None if answer.assigned is None else _listed(answer.assigned),
    }


def _shown_group(group: ShareGroup) -> JsonObject | None:
    if not group.exists:
        return None
    return {
        "state": group.state,
        "group_epoch": group.epoch,
        "target_epoch": group.target_epoch,
        "members": [
            {
                "member": name,
                "epoch": member.epoch,
                "previous_epoch": member.previous_epoch,
                "state": "STABLE",
                "assigned": _listed(member.assigned),
            }
            for name, member in sorted(group.members.items())
        ],
    }


def _listed(partitions: Partitions) -> list[list[Any]]:
    return [list(partition) for partition in sorted(partitions)]
