"""What all players of conversations share: the clock, numbers for names, elections, and answers as the oracle has them.

A player is what surrounds a coordinator: it numbers what the rules take as numbers, ends the writes to the log, elects
protocols, and turns answers and groups into the oracle's JSON (tests/oracle/README.md). It checks that no request is
answered twice.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rebalance_sim.kafka.coordinator.broker_config import BrokerConfig
from rebalance_sim.kafka.coordinator.classic.classic_group import (
    EMPTY_ASSIGNMENT,
    NEVER,
    NONE,
    Answer,
    AwaitedElection,
    ClassicGroup,
    ClassicGroupMember,
    ClassicGroupState,
    Counter,
    JoinRequest,
    RequestKind,
    State,
    SyncRequest,
    Write,
    clear_group,
)
from rebalance_sim.kafka.coordinator.classic.rebalance import begin_generation
from rebalance_sim.kafka.coordinator.classic.requests import finish_replacement
from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.election import PreferenceLists, elect
from rebalance_sim.kafka.runtime.records import Records, new_records, rows
from rebalance_sim.kafka.runtime.strings import Strings, java_hash, java_hashes
from rebalance_sim.releases import CoordinatorRules, kafka_version
from tests.support.examples import COMPILED

JsonObject = dict[str, Any]

MOST_WRITES = 64
_STATES = {
    State.EMPTY: "Empty",
    State.PREPARING_REBALANCE: "PreparingRebalance",
    State.COMPLETING_REBALANCE: "CompletingRebalance",
    State.STABLE: "Stable",
    State.DEAD: "Dead",
}
_FENCED = (Errors.FENCED_MEMBER_EPOCH, Errors.UNKNOWN_MEMBER_ID)
_OLDER_NAMES = {"NOT_LEADER_FOR_PARTITION": "NOT_LEADER_OR_FOLLOWER"}
_EMPTY_FIELDS: dict[str, JsonObject] = {
    "sync": {"assignment": ""},
    "heartbeat": {},
    "leave": {"members": []},
    "fetch": {"offsets": []},
}


def in_order(answers: list[JsonObject]) -> list[JsonObject]:
    """Return the first answer to each request by time and step, and the members listed for a leader by number.

    The order of answers of the same millisecond, and of listed members, is that of the coordinator's map. Up to 3.3
    Kafka's coordinator gives a second answer if a rebalance has answered a static member whose write fails later; the
    client does not wait for it.
    """
    first = {answer["step"]: answer for answer in reversed(answers)}.values()
    listed = [
        {**answer, "members": sorted(answer["members"], key=_name)} if "leader" in answer else answer
        for answer in first
    ]
    return sorted(listed, key=lambda answer: (answer["at_ms"], answer["step"]))


def _name(listed: list[Any]) -> tuple[bool, Any]:
    """Return what sorts listed members: numbers come before the ids that clients made."""
    return isinstance(listed[0], str), listed[0]


@dataclass
class Numbers:
    """Numbers values in the order of their first use."""

    known: list[Any] = field(default_factory=list)

    def of(self, value: Any) -> int:
        """Return the number of a value; NONE for None."""
        if value is None:
            return NONE
        if value not in self.known:
            self.known.append(value)
        return self.known.index(value)


@dataclass
class Remembered:
    """What a member that sends heartbeats remembers of its answers."""

    epoch: int = 0
    epoch_before: int = 0
    assigned: list[list[Any]] = field(default_factory=list)

    def answered(self, error: Errors, epoch: int, assigned: list[list[Any]] | None = None) -> None:
        """Remember an answer; None if it has no assignment."""
        if error in _FENCED or epoch < 0:
            self.epoch_before, self.epoch, self.assigned = self.epoch, 0, []
        elif error is Errors.NONE:
            if epoch != self.epoch:
                self.epoch_before, self.epoch = self.epoch, epoch
            self.assigned = self.assigned if assigned is None else assigned

    def named(self, epoch: int | str) -> int:
        """Return the epoch that a step names."""
        known = {"next": self.epoch, "before": self.epoch_before, "ahead": self.epoch + 1}
        return known[epoch] if isinstance(epoch, str) else epoch


def new_record(of: type) -> tuple[Any, Any]:
    """Return a record as kernels take it, and as plain Python reads it about twenty times faster."""
    records: Records[Any] = new_records(of, 1)
    row = rows(records)[0]
    return (records[0] if COMPILED else row), row


class Player(ABC):
    """A group, its coordinator, and the clock."""

    def __init__(self, version: str, case: JsonObject, made: list[str], most_members: int) -> None:
        self.case, self.steps = case, case["steps"]
        self.given_ids, self.made = made, list[str]()
        self.types, self.protocols, self.instances = Numbers(), Numbers(), Numbers()
        self.preferences, self.metadata = Numbers(), Numbers()
        self.assignments: list[dict[int, Any]] = []
        self.answers: list[JsonObject] = []
        self.now, self.up = 0, True
        self.store_error = Errors.NONE
        self.left_out = ""
        self.version = rules = kafka_version(version)
        config, asked = BrokerConfig(), case.get("config") or {}
        # Early releases allow sessions of 5 minutes at most.
        is_early = rules.coordinator == CoordinatorRules.SCALA_1_0
        longest_ms = 300_000 if is_early else config.group_max_session_timeout_ms
        group, self.group_row = new_record(ClassicGroupState)
        self.classic = ClassicGroup(
            group,
            rows(new_records(ClassicGroupMember, most_members)),
            rows(new_records(Write, MOST_WRITES)),
            rows(new_records(Answer, 2 * most_members + 2)),
            rows(new_records(Counter, 1)),
            config._replace(
                group_initial_rebalance_delay_ms=asked.get("initial_rebalance_delay_ms", 3000),
                group_max_size=asked.get("group_max_size", config.group_max_size),
                group_min_session_timeout_ms=asked.get("min_session_timeout_ms", 6000),
                group_max_session_timeout_ms=asked.get("max_session_timeout_ms", longest_ms),
                group_consumer_max_size=asked.get("consumer_group_max_size", config.group_consumer_max_size),
                group_consumer_assignment_interval_ms=asked.get("assignment_interval_ms", 1000),
            ),
            int(rules.coordinator),
            int(rules.coordinator_map),
        )
        clear_group(self.classic.group)
        self.group_row.member_places, self.group_row.write_places = most_members, MOST_WRITES

    def play(self) -> JsonObject:
        """Take all steps, and let timers expire between them."""
        groups = []
        for number, step in enumerate(self.steps):
            while self.up and (due := self.next_deadline()) <= step["at_ms"]:
                self.now = max(self.now, due)
                self.expire()
            self.now = step["at_ms"]
            if step["request"] == "fail_store":
                self.store_error = Errors[str(_OLDER_NAMES.get(step["error"], step["error"]))]
            else:
                self.take(number, step)
            groups.append(self.group() if self.up else None)
        return {"id": self.case["id"], "answers": in_order(self.answers), "groups": groups}

    @abstractmethod
    def next_deadline(self) -> int:
        """Return a time before which no timer expires."""

    @abstractmethod
    def expire(self) -> None:
        """Let the next timer expire, if it is due."""

    @abstractmethod
    def take(self, number: int, step: JsonObject) -> None:
        """Take a step."""

    # ---- Requests

    @abstractmethod
    def number_of(self, given: int | str) -> int:
        """Return the number of a member as a step names it; NONE for the empty id."""

    def instance(self, step: JsonObject) -> int:
        """Return the number of the instance id in a step."""
        return self.instances.of(step.get("instance_id"))

    def next_id(self, step: JsonObject) -> str:
        """Return the id that the coordinator generates if this step needs one: the oracle's, or one of our own."""
        number = len(self.made)
        if number < len(self.given_ids):
            self.made.append(self.given_ids[number])
        else:
            self.made.append(f"{step.get('instance_id') or step.get('client_id', 'c')}-{number}")
        return self.made[number]

    def join_request(self, number: int, step: JsonObject, next_id: str) -> JoinRequest:
        """Return a JoinGroup."""
        names = tuple(name for name, _ in step["protocols"])
        return JoinRequest(
            number,
            self.number_of(step["member"]),
            self.instance(step),
            0,
            java_hash(Strings.of([next_id]), 0),
            self.types.of(step.get("protocol_type", "consumer") or None),
            sum(1 << self.protocols.of(name) for name in set(names)),
            self.preferences.of(names),
            self.metadata.of(tuple(text for _, text in step["protocols"])),
            step.get("session_timeout_ms", 10_000),
            step.get("rebalance_timeout_ms", 60_000),
            step.get("requires_known_member_id", False),
            step.get("supports_skipping_assignment", False),
        )

    def sync_request(self, number: int, step: JsonObject) -> SyncRequest:
        """Return a SyncGroup."""
        self.assignments.append({self.number_of(member): text for member, text in step.get("assignments", [])})
        return SyncRequest(
            number,
            self.number_of(step["member"]),
            self.instance(step),
            step["generation"],
            self.types.of(step.get("protocol_type")),
            self.protocols.of(step.get("protocol")),
            len(self.assignments) - 1,
        )

    def store_new_group(self) -> None:
        """Write an empty new group, since nothing else was written of it (``classicGroupJoinToClassicGroup``)."""
        group = self.group_row
        group.stored = True
        group.stored_generation, group.stored_state_since_ms = 0, NEVER
        group.stored_leader = group.stored_protocol = group.stored_protocol_type = NONE
        for m in range(group.made):
            self.classic.members[m].stored = False

    def keep_elected_protocols(self) -> None:
        """Forget all but the elected protocol of each member, as the log has no others."""
        elected = self.name(self.group_row.protocol)
        for m in self.members():
            [text] = [text for name, text in self.offered(m) if name == elected]
            self.classic.members[m].preferences = self.preferences.of((elected,))
            self.classic.members[m].metadata = self.metadata.of((text,))

    # ---- Members and their protocols

    def members(self) -> list[int]:
        """Return the numbers of the members of the classic group."""
        return [m for m in range(self.group_row.made) if self.classic.members[m].known]

    def in_order_of_joining(self) -> list[int]:
        """Return them in the order in which they were put into the coordinator's map."""
        return sorted(self.members(), key=lambda m: int(self.classic.members[m].entered))

    def offered(self, member: int) -> list[tuple[str, str]]:
        """Return the protocols of a member, with their metadata."""
        of = self.classic.members[member]
        return list(zip(self.preferences.known[of.preferences], self.metadata.known[of.metadata], strict=True))

    def name(self, protocol: int) -> str | None:
        """Return the name of a protocol."""
        return None if protocol == NONE else self.protocols.known[protocol]

    @abstractmethod
    def member_id(self, member: int) -> str:
        """Return the id of a member."""

    def elect(self) -> None:
        """Hold the election that the coordinator awaits, and go on."""
        members = self.in_order_of_joining()
        lists = [[self.protocols.of(name) for name, _ in self.offered(m)] for m in members]
        supported = [int(self.classic.members[m].protocols) for m in members]
        lists = [[p for p in each if of >> p & 1] for each, of in zip(lists, supported, strict=True)]
        offsets = np.cumsum([0, *map(len, lists)]).astype(np.int32)
        numbers = np.array([protocol for each in lists for protocol in each], np.int32)
        preferences = PreferenceLists(offsets, numbers, java_hashes(Strings.of(self.protocols.known)))
        groups = np.array([0, len(lists)], np.int32)
        ids = Strings.of([self.member_id(m) for m in members])
        types, offered = np.zeros(len(lists), np.int32), np.arange(len(lists), dtype=np.int32)
        elections = elect(groups, ids, types, offered, preferences, self.classic.map_rule)
        self.finish_election(int(elections.winner[0]))

    def finish_election(self, winner: int) -> None:
        """Give the coordinator the protocol that it awaits."""
        if self.group_row.election == AwaitedElection.OF_GENERATION:
            begin_generation(self.classic, winner, self.now)
        else:
            finish_replacement(self.classic, winner, self.now)

    # ---- Answers

    def collect(self) -> None:
        """Turn the coordinator's answers into the oracle's."""
        for k in range(self.classic.answered[0].value):
            self.collect_one(self.classic.answers[k])
        self.classic.answered[0].value = 0

    def collect_one(self, answer: Answer) -> None:
        """Turn one answer of the coordinator into the oracle's."""
        number, error = int(answer.request), int(answer.error)
        if answer.kind == RequestKind.SYNC:
            self.answer(number, error, assignment=self.assignment_of(answer))
        elif answer.kind == RequestKind.HEARTBEAT:
            self.answer(number, error)
        elif answer.kind == RequestKind.JOIN:
            self._answer_joined(number, answer)

    def assignment_of(self, answer: Answer) -> Any:
        """Return the assignment in an answer to SyncGroup."""
        if answer.assignment == EMPTY_ASSIGNMENT:
            return ""
        return self.assignments[answer.assignment].get(int(answer.assigned_as), "")

    def shown(self, member: int) -> int | str:
        """Return a member as the oracle names it: by the number of its generated id."""
        return member

    def shown_joiner(self, _number: int, member: int) -> int | str:
        """Return the member in the answer to a JoinGroup."""
        return self.shown(member)

    def named(self, given: int | str) -> int | str:
        """Return a member of a step as the oracle repeats it; an id that was not generated is "nobody"."""
        return given if isinstance(given, str) or given < len(self.made) else "nobody"

    def _answer_joined(self, number: int, answer: Answer) -> None:
        is_thrown = answer.error == Errors.UNKNOWN_SERVER_ERROR
        if is_thrown and answer.protocol == NONE and self.classic.rules < CoordinatorRules.JAVA:
            self.answer(number, answer.error)
            return
        self.answer_join(
            number,
            answer.error,
            member="" if answer.member == NONE or is_thrown else self.shown_joiner(number, int(answer.member)),
            generation=int(answer.generation),
            protocol=self.name(answer.protocol),
            leader=None if answer.leader == NONE else self.shown(int(answer.leader)),
            skip_assignment=bool(answer.skips_assignment),
            members=self._listed(self.name(answer.protocol)) if answer.lists_members else [],
        )

    def _listed(self, protocol: str | None) -> list[list[Any]]:
        """Return the members as a leader is sent them."""
        listed = []
        for m in self.members():
            instance = self.classic.members[m].instance
            [text] = [text for name, text in self.offered(m) if name == protocol]
            listed.append([self.shown(m), None if instance == NONE else self.instances.known[instance], text])
        return listed

    def answer_join(self, number: int, error: int, **fields: Any) -> None:
        """Answer a JoinGroup; fields that are not given are empty."""
        empty = {"member": "", "generation": NONE, "protocol": None, "leader": None, "members": []}
        if self.classic.rules >= CoordinatorRules.SCALA_3_2:
            empty["skip_assignment"] = False
        self.answer(number, error, **{name: fields.get(name, value) for name, value in empty.items()})

    def answer_error(self, number: int, error: int, member: int | str) -> None:
        """Answer a request of any kind with an error."""
        request = self.steps[number]["request"]
        if request == "join":
            generation = 0 if self.classic.rules == CoordinatorRules.SCALA_1_0 else NONE
            self.answer_join(number, error, member=member, generation=generation)
        elif request == "commit":
            self.answer_commit(number, error)
        elif request == "leave" and self.classic.rules <= CoordinatorRules.SCALA_2_3:
            self.answer(number, error)
        else:
            self.answer(number, error, **_EMPTY_FIELDS[request])

    def answer_commit(self, number: int, error: int) -> None:
        """Answer a commit: an error by partition."""
        name = Errors(error).name
        errors = [[topic, partition, name] for topic, partition, _ in self.steps[number]["offsets"]]
        self.answer(number, error, errors=errors)

    def answer_leave(self, number: int, errors: list[int]) -> None:
        """Answer a LeaveGroup: an error by member."""
        names = [self.named(member["member"]) for member in self.steps[number]["members"]]
        members = [[name, Errors(error).name] for name, error in zip(names, errors, strict=True)]
        self.answer(number, Errors.NONE, members=members)

    def answer(self, step: int, error: int, **fields: Any) -> None:
        """Answer a request, for the first time."""
        assert all(answer["step"] != step for answer in self.answers), f"step {step} is answered twice"
        self.answers.append({"step": step, "at_ms": self.now, "error": Errors(error).name, **fields})

    def group(self) -> JsonObject | None:
        """Return the group as the oracle shows it."""
        group = self.group_row
        if not group.exists:
            return None
        state = _STATES[State(group.state)]
        if self.classic.rules == CoordinatorRules.SCALA_1_0 and group.state == State.COMPLETING_REBALANCE:
            state = "AwaitingSync"
        members = [self.shown(m) for m in self.members()]
        return {
            "state": state,
            "generation": int(group.generation),
            "leader": None if group.leader == NONE else self.shown(int(group.leader)),
            "protocol": self.name(group.protocol),
            "members": sorted(members, key=lambda member: (isinstance(member, str), member)),
            "pending": int(group.pending),
        }
