"""Conversations with the coordinator about a share group: the rules, with the assignor of the release."""

from collections.abc import Mapping
from typing import Any

from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.coordinator.share.share_group import (
    AssignmentRequest,
    AssignorError,
    Partitions,
    ShareAnswer,
    ShareConfig,
    ShareGroup,
    ShareHeartbeat,
)
from rebalance_sim.releases import kafka_version
from tests.support.cases import JsonObject
from tests.support.share_groups import SharePlayer

_FENCED = (Errors.FENCED_MEMBER_EPOCH, Errors.UNKNOWN_MEMBER_ID)


class _Assignor:
    """The assignor of a group over time: the order of a member's target decides ties of the next."""

    def __init__(self, version: str) -> None:
        self._rules = kafka_version(version).share
        self._steps: list[JsonObject] = []
        self._player = SharePlayer({"steps": self._steps})
        self.topics: dict[str, tuple[str, int]] = {}
        """By name, ids and numbers of partitions."""

    def __call__(self, asked: AssignmentRequest) -> Mapping[str, Partitions]:
        topics: JsonObject = {
            name: {
                "id": topic_id,
                "partitions": count,
                "assignable": [p for topic, p in asked.initialized if topic == name],
            }
            for name, (topic_id, count) in self.topics.items()
        }
        for name in asked.subscriptions:
            # Since 4.3 members may join while no target assignment is due.
            if name != asked.heartbeat_of:
                self._player.join(name)
            if name not in asked.targets:
                self._player.forget(name)
        members = {name: sorted(subscribed) for name, subscribed in asked.subscriptions.items()}
        self._steps.append({"topics": topics, "members": members, "heartbeat": asked.heartbeat_of})
        SharePlayer.play_all([self._player], len(self._steps) - 1, self._rules)
        answer = self._player.answers.pop()
        if "error" in answer:
            raise AssignorError(answer["error"])
        return {
            name: frozenset((topic, number) for topic, numbers in given.items() for number in numbers)
            for name, given in answer.items()
        }


class Remembered:
    """What a member remembers of its answers."""

    def __init__(self) -> None:
        self.epoch = self.epoch_before = 0

    def answered(self, error: Errors, epoch: int) -> None:
        if error in _FENCED or epoch < 0:
            self.epoch_before, self.epoch = self.epoch, 0
        elif error is Errors.NONE and epoch != self.epoch:
            self.epoch_before, self.epoch = self.epoch, epoch

    def named(self, epoch: int | str) -> int:
        known = {"next": self.epoch, "before": self.epoch_before, "ahead": self.epoch + 1}
        return known[epoch] if isinstance(epoch, str) else epoch


def share_group_answer(case: JsonObject, version: str) -> JsonObject:
    """Play a case of ``share_group_cases``."""
    config = case["config"]
    settings: dict[str, int] = {}
    if "assignment_interval_ms" in config:
        settings["group_share_assignment_interval_ms"] = config["assignment_interval_ms"]
    if "consumer_group_max_size" in config:
        settings["group_share_max_size"] = config["consumer_group_max_size"]
    assign = _Assignor(version)
    group = ShareGroup(ShareConfig(**settings), kafka_version(version).share_groups, assign)
    remembered: dict[str, Remembered] = {}
    answers, groups = [], []
    for number, step in enumerate(case["steps"]):
        group.advance(step["at_ms"])
        if step["request"] == "topics":
            assign.topics = {name: (topic_id, count) for name, topic_id, count in step["image"]}
            group.see_topics({name: count for name, _, count in step["image"]})
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
