"""Conversations with a group coordinator: what it answers to each step of a case, and what becomes of its group.

A case is about one group; ``tests/oracle/README.md`` describes cases and answers.
"""

from dataclasses import replace
from typing import Any

from tests.naive.coordinator_java import JavaCoordinator
from tests.naive.coordinator_messages import (
    CommitRequest,
    CommitResponse,
    FetchResponse,
    Identity,
    JoinRequest,
    JoinResponse,
    KafkaError,
    Leaver,
    LeaveResponse,
    SyncRequest,
    SyncResponse,
)
from tests.naive.coordinator_requests import Coordinator
from tests.naive.coordinator_rules import RULES, Config
from tests.naive.coordinator_scala import ScalaCoordinator
from tests.naive.coordinator_scala_before_2_4 import ScalaCoordinatorOf10, ScalaCoordinatorOf23
from tests.naive.coordinator_time import Timer
from tests.naive.model import Partition

JsonObject = dict[str, Any]

_COORDINATORS: dict[str, type[Coordinator]] = {
    "1.0": ScalaCoordinatorOf10,
    "2.3": ScalaCoordinatorOf23,
    "3.9": ScalaCoordinator,
    "4.3": JavaCoordinator,
}
_NOBODY = "nobody"
"""What a number stands for that has no id yet."""


def coordinator_answer(version: str, case: JsonObject) -> JsonObject:
    conversation = _Conversation(version, case)
    for index, step in enumerate(case["steps"]):
        conversation.carry_out(index, step)
    return {
        "id": case["id"],
        "made": conversation.ids.made,
        "answers": conversation.answers,
        "groups": conversation.groups,
    }


class _MemberIds:
    """Member ids by number; a case that was answered before tells them, else they are made of numbers."""

    def __init__(self, given: list[str]) -> None:
        self.made: list[str] = []
        self._given = given

    def make(self, prefix: str) -> str:
        number = len(self.made)
        self.made.append(self._given[number] if number < len(self._given) else f"{prefix}-{number}")
        return self.made[-1]

    def id_of(self, name: int | str) -> str:
        if isinstance(name, str):
            return name
        return self.made[name] if name < len(self.made) else _NOBODY

    def name_of(self, member_id: str) -> int | str:
        return self.made.index(member_id) if member_id in self.made else member_id


class _Conversation:
    def __init__(self, version: str, case: JsonObject) -> None:
        config = replace(
            Config(max_session_timeout_ms=RULES[version].max_session_timeout_ms), **(case.get("config") or {})
        )
        self.version = version
        self.rules = RULES[version]
        self.ids = _MemberIds(case.get("made", []))
        self.answers: list[JsonObject] = []
        self.groups: list[JsonObject | None] = []
        self._timer = Timer()
        self._coordinator = _COORDINATORS[version](version, config, self._timer, self.ids.make)

    def carry_out(self, index: int, step: JsonObject) -> None:
        self._timer.move_to(step["at_ms"])
        before = len(self.answers)
        try:
            getattr(self, f"_{step['request']}")(index, step)
        except KafkaError as error:
            # Nobody expected it, so the broker answers with nothing else.
            self._note(index, error.error)
        if self.rules.answers_by_future:
            self.answers[before:] = sorted(self.answers[before:], key=lambda answer: answer["step"] == index)
        self.groups.append(self._group())

    # ---- steps

    def _join(self, index: int, step: JsonObject) -> None:
        request = JoinRequest(
            self.ids.id_of(step["member"]),
            step.get("instance_id"),
            step.get("client_id", "c"),
            step.get("protocol_type", "consumer"),
            tuple((name, metadata) for name, metadata in step["protocols"]),
            step.get("session_timeout_ms", 10_000),
            step.get("rebalance_timeout_ms", 60_000),
            step.get("requires_known_member_id", False),
            step.get("supports_skipping_assignment", False),
        )

        def respond(response: JoinResponse) -> None:
            answer = self._note(index, response.error)
            answer["member"] = self.ids.name_of(response.member_id)
            answer["generation"] = response.generation
            answer["protocol"] = response.protocol
            answer["leader"] = None if response.leader is None else self.ids.name_of(response.leader)
            if self.rules.tells_skipped_assignment:
                answer["skip_assignment"] = response.skip_assignment
            answer["members"] = [
                [self.ids.name_of(member.member_id), member.instance_id, member.metadata] for member in response.members
            ]

        self._coordinator.join(request, respond)

    def _sync(self, index: int, step: JsonObject) -> None:
        assignments = {self.ids.id_of(name): assignment for name, assignment in step.get("assignments", [])}
        request = SyncRequest(self._identity(step), step.get("protocol_type"), step.get("protocol"), assignments)

        def respond(response: SyncResponse) -> None:
            self._note(index, response.error)["assignment"] = response.assignment

        self._coordinator.sync(request, respond)

    def _heartbeat(self, index: int, step: JsonObject) -> None:
        def respond(error: str) -> None:
            self._note(index, error)

        self._coordinator.heartbeat(self._identity(step), respond)

    def _leave(self, index: int, step: JsonObject) -> None:
        def respond(response: LeaveResponse) -> None:
            answer = self._note(index, response.error)
            if self.rules.batch_leave:
                answer["members"] = [[self.ids.name_of(member_id), error] for member_id, error in response.members]

        leavers = [Leaver(self.ids.id_of(member["member"]), member.get("instance_id")) for member in step["members"]]
        self._coordinator.leave(leavers, respond)

    def _commit(self, index: int, step: JsonObject) -> None:
        offsets = {Partition(topic, number): offset for topic, number, offset in step["offsets"]}

        def respond(response: CommitResponse) -> None:
            first_error = next(iter(response.values()), "NONE")
            self._note(index, first_error)["errors"] = [[*partition, error] for partition, error in response.items()]

        self._coordinator.commit(CommitRequest(self._identity(step), offsets), respond)

    def _fetch(self, index: int, step: JsonObject) -> None:
        partitions = [Partition(topic, number) for topic, number in step["topics"]]
        response: FetchResponse = self._coordinator.fetch(partitions)
        answer = self._note(index, response.error)
        answer["offsets"] = [[*partition, offset] for partition, offset in response.offsets.items()]

    def _tick(self, _index: int, _step: JsonObject) -> None:
        """The clock has been moved."""

    def _fail_store(self, _index: int, step: JsonObject) -> None:
        self._coordinator.fail_store(step["error"])

    def _hold_store(self, _index: int, step: JsonObject) -> None:
        self._coordinator.hold_store(step["held"])

    def _finish_store(self, _index: int, _step: JsonObject) -> None:
        self._coordinator.finish_store()

    def _check_offsets(self, _index: int, _step: JsonObject) -> None:
        self._coordinator.check_offsets()

    def _unload(self, _index: int, _step: JsonObject) -> None:
        self._coordinator.unload()

    def _load(self, _index: int, _step: JsonObject) -> None:
        self._coordinator.load()

    def _identity(self, step: JsonObject) -> Identity:
        return Identity(self.ids.id_of(step["member"]), step.get("instance_id"), step["generation"])

    # ---- what is noted down

    def _note(self, index: int, error: str) -> JsonObject:
        answer = {"step": index, "at_ms": self._timer.now_ms, "error": error}
        self.answers.append(answer)
        return answer

    def _group(self) -> JsonObject | None:
        group = self._coordinator.group
        if group is None:
            return None
        return {
            "state": self.rules.completing_state if group.state == "CompletingRebalance" else group.state,
            "generation": group.generation,
            "leader": None if group.leader is None else self.ids.name_of(group.leader),
            "protocol": group.protocol,
            "members": sorted(self.ids.made.index(member_id) for member_id in group.members),
            "pending": len(group.pending),
        }
