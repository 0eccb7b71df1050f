"""Conversations with the coordinator about share and streams groups: the rules, with the assignor of the release."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.coordinator.share.share_group import Partitions, ShareConfig, ShareGroup, ShareHeartbeat
from rebalance_sim.kafka.coordinator.streams.streams_group import (
    NO_TASKS,
    StreamsConfig,
    StreamsGroup,
    StreamsHeartbeat,
    Tasks,
)
from rebalance_sim.kafka.coordinator.streams.topology import Subtopology, Topology
from rebalance_sim.kafka.simulation.share_targets import ShareTargets
from rebalance_sim.kafka.simulation.streams_targets import StreamsTargets
from rebalance_sim.releases import ShareRules, kafka_version
from tests.support.batches import Batch
from tests.support.cases import JsonObject, uuid_halves
from tests.support.conversations.player import Remembered
from tests.support.model import Cluster, Group, Member

_ROLES = ("active ", "standby ")


def share_group_answer(case: JsonObject, version: str) -> JsonObject:
    """Play a case of ``share_group_cases``."""
    return _SharePlayer(case, version).play()


def streams_group_answer(case: JsonObject, version: str) -> JsonObject:
    """Play a case of ``streams_group_cases``."""
    return _StreamsPlayer(case, version).play()


class _Player(ABC):
    """A group whose members send heartbeats."""

    kind: str
    """The group's, as requests and settings are named."""
    nobody: str | None = None
    """The member in an error."""
    group: Any

    def __init__(self, case: JsonObject) -> None:
        self.case = case
        settings = case["config"].items()
        # What limits the size of all kinds of groups is called after groups of consumers.
        self.settings = {f"group_{self.kind}_{name.removeprefix('consumer_group_')}": value for name, value in settings}

    @abstractmethod
    def request(self, step: JsonObject, memory: Remembered) -> object:
        """Return the heartbeat of a step."""

    @abstractmethod
    def listed(self, assigned: Any) -> list[list[Any]]:
        """Return what is assigned as the oracle shows it."""

    def more_of_answer(self, answer: Any) -> JsonObject:
        """Return further fields of an answer."""
        return {}

    def more_of_member(self, member: Any) -> JsonObject:
        """Return further fields of a member."""
        return {"state": "STABLE"}

    def see_topics(self, counts: Mapping[str, int]) -> None:
        self.group.see_topics(counts)

    def play(self) -> JsonObject:
        remembered: dict[str, Remembered] = {}
        answers, groups = [], []
        for number, step in enumerate(self.case["steps"]):
            self.group.advance(step["at_ms"])
            if step["request"] == "topics":
                self.see_topics({name: count for name, _, count in step["image"]})
            elif step["request"] == f"{self.kind}_heartbeat":
                memory = remembered.setdefault(step["member"], Remembered())
                answer = self.group.heartbeat(self.request(step, memory), step["at_ms"])
                answers.append(
                    {
                        "step": number,
                        "at_ms": step["at_ms"],
                        "error": answer.error.name,
                        "member": step["member"] if answer.error is Errors.NONE else self.nobody,
                        "epoch": answer.epoch,
                        "interval_ms": answer.interval_ms,
                        "assigned": None if answer.assigned is None else self.listed(answer.assigned),
                    }
                    | self.more_of_answer(answer)
                )
                memory.answered(answer.error, answer.epoch, answers[-1]["assigned"])
            groups.append(self.shown() if self.group.exists else None)
        return {"id": self.case["id"], "answers": answers, "groups": groups}

    def shown(self) -> JsonObject:
        """Return the group as the oracle shows it."""
        members = [
            {
                "member": name,
                "epoch": member.epoch,
                "previous_epoch": member.previous_epoch,
                "assigned": self.listed(member.assigned),
            }
            | self.more_of_member(member)
            for name, member in sorted(self.group.members.items())
        ]
        group = self.group
        shown = {"state": group.state, "group_epoch": group.epoch, "target_epoch": group.target_epoch}
        return shown | {"members": members}


class _SharePlayer(_Player):
    kind = "share"

    def __init__(self, case: JsonObject, version: str) -> None:
        super().__init__(case)
        rules = kafka_version(version)
        self.targets = _share_targets(case["steps"], rules.share)
        self.group = ShareGroup(ShareConfig(**self.settings), rules.share_groups, self.targets)

    def see_topics(self, counts: Mapping[str, int]) -> None:
        self.targets.topics.partitions[:] = [counts.get(name, -1) for name in self.targets.numbers]
        super().see_topics(counts)

    def request(self, step: JsonObject, memory: Remembered) -> ShareHeartbeat:
        subscription = step.get("subscription")
        topics = None if subscription is None else frozenset(subscription)
        return ShareHeartbeat(step["member"], memory.named(step["member_epoch"]), topics)

    def listed(self, assigned: Partitions) -> list[list[Any]]:
        return [list(partition) for partition in sorted(assigned)]


def _share_targets(steps: Sequence[JsonObject], rules: ShareRules) -> ShareTargets:
    """Return the assignor of a group whose topics do not exist yet."""
    ids = {name: uuid_halves(topic_id) for step in steps for name, topic_id, _ in step.get("image", ())}
    subscribed = (name for step in steps for name in step.get("subscription") or ())
    names = tuple(dict.fromkeys((*ids, *subscribed)))
    topics = Batch([Group((Member("", names),), Cluster({}, ids=ids))]).topics
    return ShareTargets(topics, {name: number for number, name in enumerate(names)}, rules)


class _StreamsPlayer(_Player):
    kind = "streams"
    nobody = ""

    def __init__(self, case: JsonObject, version: str) -> None:
        super().__init__(case)
        rules = kafka_version(version)
        self.group = StreamsGroup(StreamsConfig(**self.settings), rules.streams_groups, StreamsTargets(rules))

    def request(self, step: JsonObject, memory: Remembered) -> StreamsHeartbeat:
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

    def listed(self, assigned: Tasks) -> list[list[Any]]:
        return sorted([role + name, p] for role, of in zip(_ROLES, assigned, strict=True) for name, p in of)

    def more_of_answer(self, answer: Any) -> JsonObject:
        return {"statuses": list(answer.statuses)}

    def more_of_member(self, member: Any) -> JsonObject:
        shown: JsonObject = {"state": member.state.name}
        if member.instance_id is not None:
            shown["instance_id"] = member.instance_id
        return shown | ({"pending_revocation": self.listed(member.pending)} if member.pending.all else {})


def _owned(memory: Remembered, stated: Any, epoch: int) -> Tasks | None:
    if stated is None:
        return None
    if isinstance(stated, str) and epoch == 0:
        return NO_TASKS
    listed = memory.assigned if isinstance(stated, str) else stated
    listed = listed[1:] if stated == "but_one" else listed
    return Tasks(*(frozenset((t[len(r) :], p) for t, p in listed if t.startswith(r)) for r in _ROLES))


def _topology(stated: JsonObject) -> Topology:
    parts = {
        name: Subtopology(tuple(part["sources"]), tuple(part["changelogs"]), bool(part["changelogs"]))
        for name, part in stated["subtopologies"].items()
    }
    return Topology(stated["epoch"], parts)
