"""Conversations with the coordinator's kernels, of the versions with Scala's coordinator.

What surrounds the coordinator is here: the log of the offsets topic, whose writes end at once or when they are told,
and in 4.x the runtime that answers only when earlier writes have ended. Every answer is checked to be the first of its
request, every group to keep its generation or go on to another.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rebalance_sim.kafka.consumer_protocol import decode_subscription
from rebalance_sim.kafka.coordinator.classic_group import (
    EMPTY_ASSIGNMENT,
    NONE,
    Answer,
    ClassicGroup,
    Config,
    Counter,
    Election,
    Group,
    JoinRequest,
    Kind,
    Member,
    State,
    Write,
    clear_group,
)
from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.coordinator.log import load, unload
from rebalance_sim.kafka.coordinator.offsets import (
    Offset,
    Topic,
    begin_commit,
    commit_response_error,
    end_commit,
    mark_expired,
    remove_expired,
)
from rebalance_sim.kafka.coordinator.rebalance import begin_generation, end_write
from rebalance_sim.kafka.coordinator.requests import (
    commit_error,
    finish_leave,
    finish_replacement,
    heartbeat,
    join_group,
    leave_group,
    sync_group,
)
from rebalance_sim.kafka.coordinator.timers import expire_next, next_deadline
from rebalance_sim.kafka.election import PreferenceLists, elect
from rebalance_sim.kafka.readable import SchemaError
from rebalance_sim.kafka.records import new_records, rows
from rebalance_sim.kafka.strings import Strings, java_hash, java_hashes
from rebalance_sim.versions import CoordinatorRules, kafka_version

JsonObject = dict[str, Any]
Ended = Callable[[int], None]
"""Is told the error with which a write, or all that came before, has ended."""

_STATES = {
    State.EMPTY: "Empty",
    State.PREPARING_REBALANCE: "PreparingRebalance",
    State.COMPLETING_REBALANCE: "CompletingRebalance",
    State.STABLE: "Stable",
    State.DEAD: "Dead",
}
_OLDER_NAMES = {"NOT_LEADER_FOR_PARTITION": "NOT_LEADER_OR_FOLLOWER"}
_NOBODY = 1 << 20
"""A number that no member has."""
MOST_WRITES = 64
_REQUESTS = ("join", "sync", "heartbeat", "leave", "commit", "fetch")
_NOTHING_TOLD: dict[str, JsonObject] = {
    "sync": {"assignment": ""},
    "heartbeat": {},
    "leave": {"members": []},
    "fetch": {"offsets": []},
}
_THROWN = Errors.UNKNOWN_SERVER_ERROR


def in_order(answers: list[JsonObject]) -> list[JsonObject]:
    """Answers by time and step, and the members that a leader is told of by number.

    In which order those of the same millisecond are given, and members listed, is that of the coordinator's map.
    """
    told = [{**answer, "members": sorted(answer["members"])} if "leader" in answer else answer for answer in answers]
    return sorted(told, key=lambda answer: (answer["at_ms"], answer["step"]))


@dataclass
class _Numbers:
    """Numbers for whatever comes, in the order in which it comes."""

    known: list[Any] = field(default_factory=list)

    def of(self, value: Any) -> int:
        """The number of a value; NONE for None."""
        if value is None:
            return NONE
        if value not in self.known:
            self.known.append(value)
        return self.known.index(value)


class Player:
    """Scala's coordinators: each write is told its end, and nothing else waits for it."""

    def __init__(self, version: str, case: JsonObject, made: list[str]) -> None:
        self.case, self.steps = case, case["steps"]
        self.given_ids, self.made = made, list[str]()
        self.protocols, self.types, self.instances = _Numbers(), _Numbers(), _Numbers()
        self.preferences, self.metadata, self.topics = _Numbers(), _Numbers(), _Numbers()
        self.assignments: list[dict[int, str]] = []
        self.answers: list[JsonObject] = []
        self.parked: dict[int, tuple[int, int]] = {}
        self.forgotten: dict[int, str] = {}
        self.now, self.up, self.loads = 0, True, 0
        self.held, self.store_error = False, Errors.NONE
        self.waiting: list[Ended] = []
        self.writes = 0
        self.left_out = ""
        rules = kafka_version(version)
        longest = 300_000 if rules.coordinator == CoordinatorRules.SCALA_1_0 else 1_800_000
        config = case.get("config") or {}
        members = sum(step["request"] == "join" for step in self.steps) + 1
        self.c = ClassicGroup(
            new_records(Group, 1)[0],
            rows(new_records(Member, members)),
            rows(new_records(Write, MOST_WRITES)),
            rows(new_records(Answer, 2 * members + 2)),
            rows(new_records(Counter, 1)),
            Config(
                config.get("initial_rebalance_delay_ms", 3000),
                config.get("group_max_size", 2**31 - 1),
                config.get("min_session_timeout_ms", 6000),
                config.get("max_session_timeout_ms", longest),
            ),
            int(rules.coordinator),
            int(rules.coordinator_map),
        )
        clear_group(self.c.group)
        self.c.group.member_places, self.c.group.write_places = members, MOST_WRITES
        self.partitions = _partitions_of(self.steps)
        self.offsets = new_records(Offset, max(len(self.partitions), 1))
        for k, (topic, _) in enumerate(self.partitions):
            self.offsets[k].topic, self.offsets[k].offset = self.topics.of(topic), NONE
        self.stored_offsets = self.copied(self.offsets)
        self.subscribed = new_records(Topic, max(len(self.topics.known), 1))
        self.topics_known = False

    def play(self) -> JsonObject:
        """All steps, one after the other."""
        groups = []
        for number, step in enumerate(self.steps):
            while self.up and next_deadline(self.c) <= step["at_ms"]:
                deadline = int(next_deadline(self.c))
                self.now = max(self.now, deadline)
                self.carry_out(None, self._expire)
            self.now = step["at_ms"]
            self._step(number, step)
            groups.append(self._group())
        return {
            "id": self.case["id"],
            "answers": in_order(self.answers),
            "groups": groups,
            "left_out": self.left_out,
            "forgotten": self.forgotten,
            "parked": self.parked,
        }

    def _expire(self) -> None:
        expire_next(self.c, next_deadline(self.c))

    # ---- Steps

    def _step(self, number: int, step: JsonObject) -> None:
        request = step["request"]
        if request in _REQUESTS:
            if self.up:
                getattr(self, f"_{request}")(number, step)
            else:
                self.refuse(number, step)
        elif request == "fail_store":
            self.store_error = Errors[str(_OLDER_NAMES.get(step["error"], step["error"]))]
        elif request == "hold_store":
            self.held = step["held"]
        elif request == "finish_store":
            self.finish_writes(self.store_error)
        elif request == "unload" and self.up:
            self.unload()
        elif request == "load" and not self.up:
            self.load()
        elif request == "check_offsets" and self.up and self.c.group.exists:
            self.check_offsets()

    def refuse(self, number: int, step: JsonObject) -> None:
        """Answer as a broker that does not coordinate the group."""
        self.tell_error(number, Errors.NOT_COORDINATOR, self.told(step.get("member", "")))

    def _join(self, number: int, step: JsonObject) -> None:
        self.carry_out(number, lambda: join_group(self.c, self._join_request(number, step), self.now))

    def _join_request(self, number: int, step: JsonObject) -> JoinRequest:
        names = tuple(name for name, _ in step["protocols"])
        return JoinRequest(
            number,
            self._member(step),
            self._instance(step),
            0,
            java_hash(Strings.of([self._next_id(step)]), 0),
            self.types.of(step.get("protocol_type", "consumer") or None),
            sum(1 << self.protocols.of(name) for name in set(names)),
            self.preferences.of(names),
            self.metadata.of(tuple(text for _, text in step["protocols"])),
            step.get("session_timeout_ms", 10_000),
            step.get("rebalance_timeout_ms", 60_000),
            step.get("requires_known_member_id", False),
            step.get("supports_skipping_assignment", False),
        )

    def _next_id(self, step: JsonObject) -> str:
        """The id that is made up if this step needs one."""
        number = int(self.c.group.made)
        del self.made[number:]
        if number < len(self.given_ids):
            self.made.append(self.given_ids[number])
        else:
            self.made.append(f"{step.get('instance_id') or step.get('client_id', 'c')}-{number}")
        return self.made[number]

    def _sync(self, number: int, step: JsonObject) -> None:
        self.assignments.append(dict(step.get("assignments", [])))
        assignment = len(self.assignments) - 1
        named = self.types.of(step.get("protocol_type")), self.protocols.of(step.get("protocol"))
        identity = self._member(step), self._instance(step), step["generation"]
        self.carry_out(number, lambda: sync_group(self.c, number, *identity, *named, assignment, self.now))

    def _heartbeat(self, number: int, step: JsonObject) -> None:
        identity = self._member(step), self._instance(step), step["generation"]
        self.carry_out(number, lambda: heartbeat(self.c, number, *identity, self.now))

    def _leave(self, number: int, step: JsonObject) -> None:
        self.carry_out(number, lambda: self._leave_all(number, step))

    def _leave_all(self, number: int, step: JsonObject) -> None:
        had_group = bool(self.c.group.exists)
        errors, last = [], None
        for leaver in step["members"]:
            member = self._member(leaver)
            errors.append(leave_group(self.c, number, member, self._instance(leaver), self.now))
            last = member if errors[-1] == Errors.NONE else last
            self.settle()
        if last is not None:
            finish_leave(self.c, last, self.now)
        if self.c.rules <= CoordinatorRules.SCALA_2_3:
            self.tell(number, errors[0])
            return
        told = [self.told(member["member"]) for member in step["members"]]
        members = [[member, Errors(error).name] for member, error in zip(told, errors, strict=True)]

        def tell(error: int) -> None:
            self.tell(number, error, members=members if error == Errors.NONE else [])

        self.reply(tell, waits=had_group)

    def _commit(self, number: int, step: JsonObject) -> None:
        error = commit_error(self.c, self._member(step), self._instance(step), step["generation"], self.now)
        if error != Errors.NONE:
            self.tell_committed(number, error)
            return
        for topic, partition, _ in step["offsets"]:
            begin_commit(self.offsets[self.place(topic, partition)])
        self.write_commit(number, step)

    def write_commit(self, number: int, step: JsonObject) -> None:
        """Write offsets; they count when the write has ended."""
        committed_ms, loads = self.now, self.loads

        def ended(error: int) -> None:
            for topic, partition, offset in step["offsets"]:
                place = self.place(topic, partition)
                if self.up and self.loads == loads:
                    end_commit(self.offsets[place], offset, committed_ms, error)
                if error == Errors.NONE:
                    self.store_offset(place, offset, committed_ms)
            self.tell_committed(number, commit_response_error(error, self.c.rules))

        self.append(ended, of_group=False)

    def store_offset(self, place: int, offset: int, committed_ms: int) -> None:
        """Let the log have an offset."""
        self.stored_offsets[place].offset = offset
        self.stored_offsets[place].committed_ms = committed_ms

    def tell_committed(self, number: int, error: int) -> None:
        """Answer a commit: an error by partition."""
        name = Errors(error).name
        errors = [[topic, partition, name] for topic, partition, _ in self.steps[number]["offsets"]]
        self.tell(number, error, errors=errors)

    def _fetch(self, number: int, step: JsonObject) -> None:
        offsets = self.readable_offsets()
        found = [[*wanted, int(offsets[self.place(*wanted)].offset)] for wanted in step["topics"]]
        self.tell(number, Errors.NONE, offsets=found)

    @staticmethod
    def copied(offsets: Any) -> Any:
        """Offsets as they are now."""
        return offsets.copy()

    def readable_offsets(self) -> Any:
        """The offsets that a fetch sees."""
        return self.offsets

    def check_offsets(self) -> None:
        """Remove what has expired; nobody waits for the end of this write, nor hears of its failure."""
        ends_group = self.mark_expired()
        has_tombstone = ends_group and self.c.group.generation > 0
        written = not has_tombstone or self.store_error == Errors.NONE
        if written:
            self.store_tombstones()
        remove_expired(self.c, rows(self.offsets), len(self.partitions), ends_group, written)

    def mark_expired(self) -> bool:
        """Mark the offsets that have expired; tell whether the group goes with them."""
        return bool(
            mark_expired(
                self.c, rows(self.offsets), len(self.partitions), rows(self.subscribed), self.topics_known, self.now
            )
        )

    def store_tombstones(self) -> None:
        """Let the log have none of the offsets that have expired."""
        for k in range(len(self.partitions)):
            if self.offsets[k].expired:
                self.stored_offsets[k].offset = NONE

    def unload(self) -> None:
        """Lose the group."""
        if self.c.group.exists:
            unload(self.c)
            self.settle()
        self.up = False
        self.loads += 1

    def load(self) -> None:
        """Get the group as the log holds it."""
        self.up = True
        load(self.c, self.now)
        self.offsets = self.copied(self.stored_offsets)
        if any(self.offsets[k].offset != NONE for k in range(len(self.partitions))):
            self.c.group.exists = True
        for m in self._members():
            # Only what is elected is known of what it supports.
            member = self.c.members[m]
            [text] = [text for name, text in self._offered(m) if name == self._name(self.c.group.protocol)]
            member.preferences = self.preferences.of((self._name(self.c.group.protocol),))
            member.metadata = self.metadata.of((text,))
        self._note_topics()
        self.settle()

    # ---- Names and numbers

    def _member(self, step: JsonObject) -> int:
        given = step["member"]
        if given == "":
            return NONE
        return given if isinstance(given, int) and given < self.c.group.made else _NOBODY

    def told(self, given: int | str) -> int | str:
        """A member as answers name it: a number that has not been made up is nobody's."""
        return given if isinstance(given, str) or given < self.c.group.made else "nobody"

    def _instance(self, step: JsonObject) -> int:
        return self.instances.of(step.get("instance_id"))

    def _name(self, protocol: int) -> str | None:
        return None if protocol == NONE else self.protocols.known[protocol]

    def place(self, topic: str, partition: int) -> int:
        """The number of a partition."""
        return self.partitions.index((topic, partition))

    def _members(self) -> list[int]:
        return [m for m in range(self.c.group.made) if self.c.members[m].known]

    def _in_order_of_joining(self) -> list[int]:
        return sorted(self._members(), key=lambda m: int(self.c.members[m].entered))

    def _offered(self, member: int) -> list[tuple[str, str]]:
        """The protocols of a member, with their metadata."""
        of = self.c.members[member]
        return list(zip(self.preferences.known[of.preferences], self.metadata.known[of.metadata], strict=True))

    # ---- What follows

    def carry_out(self, _number: int | None, operation: Callable[[], object]) -> None:
        """Let the coordinator do something, and what follows."""
        operation()
        self.settle()

    def reply(self, tell: Ended, *, waits: bool) -> None:
        """Answer; in 4.x ``waits`` says whether that comes after all that was written before."""
        tell(Errors.NONE)

    def settle(self) -> None:
        """Hold elections, begin writes and collect answers until nothing is left to do."""
        generation = int(self.c.group.generation)
        while True:
            self._collect()
            assert self.c.group.generation >= generation or not self.c.group.exists, "the generation falls"
            generation = int(self.c.group.generation)
            if self.c.group.election != Election.NOT_DUE:
                self._elect()
            elif not self.begin_write():
                return

    def begin_write(self) -> bool:
        """Hand over the next write that the group has begun, if there is one."""
        if self.writes == self.c.group.writes:
            return False
        self.writes += 1
        self.append(self.end_write, of_group=True)
        return True

    def append(self, ended: Ended, *, of_group: bool) -> None:
        if self.held or self.waiting:
            self.waiting.append(ended)
        else:
            ended(self.store_error if of_group else Errors.NONE)

    def end_write(self, error: int) -> None:
        """End the oldest write of the group."""
        end_write(self.c, int(error), self.now)
        self.settle()

    def finish_writes(self, error: int) -> None:
        """End all that waits, in order."""
        waiting, self.waiting = self.waiting, []
        for ended in waiting:
            ended(error)

    def _elect(self) -> None:
        members = self._in_order_of_joining()
        lists = [[name for name, _ in self._offered(m)] for m in members]
        offsets = np.cumsum([0, *map(len, lists)]).astype(np.int32)
        numbers = np.array([self.protocols.of(name) for names in lists for name in names], np.int32)
        hashes = java_hashes(Strings.of(self.protocols.known))
        groups = np.array([0, len(lists)], np.int32)
        ids = Strings.of([self.made[m] for m in members])
        types = np.zeros(len(lists), np.int32)
        elections = elect(groups, ids, types, PreferenceLists(offsets, numbers, hashes), self.c.map_rule)
        winner = int(elections.winner[0])
        if self.c.group.election == Election.OF_GENERATION:
            begin_generation(self.c, winner, self.now)
            self._note_topics()
        else:
            finish_replacement(self.c, winner, self.now)

    def _note_topics(self) -> None:
        """Read what the members subscribe, as ``computeSubscribedTopics`` does."""
        protocol, subscribed = self._name(self.c.group.protocol), set()
        self.topics_known = self.c.group.protocol_type == self.types.of("consumer")
        for m in self._members():
            [text] = [text for name, text in self._offered(m) if name == protocol]
            try:
                subscribed |= {*decode_subscription(text.encode()).topics}
            except SchemaError:
                self.topics_known = False
        for number, topic in enumerate(self.topics.known):
            self.subscribed[number].subscribed = topic in subscribed

    # ---- Answers

    def _collect(self) -> None:
        for k in range(self.c.answered[0].value):
            self.collect_one(self.c.answers[k])
        self.c.answered[0].value = 0
        self.note_parked()

    def note_parked(self) -> None:
        """Note who waits, and whom the coordinator has forgotten."""
        parked: dict[int, tuple[int, int]] = {}
        for m in self._members():
            member = self.c.members[m]
            waiting = [(int(member.join), int(Kind.JOIN)), (int(member.sync), int(Kind.SYNC))]
            parked |= {request: (m, kind) for request, kind in waiting if request != NONE}
        answered = {answer["step"] for answer in self.answers}
        for request, (m, kind) in self.parked.items():
            if request not in parked and request not in answered:
                why = "repeated" if (m, kind) in parked.values() else "kept" if self.c.members[m].known else "removed"
                self.forgotten[request] = why
        self.parked = parked

    def collect_one(self, answer: Answer) -> None:
        """Put an answer into the words of the oracle."""
        number = int(answer.request)
        if answer.kind == Kind.SYNC:
            text = ""
            if answer.assignment != EMPTY_ASSIGNMENT:
                text = self.assignments[answer.assignment].get(int(answer.assigned_as), "")
            self.tell(number, answer.error, assignment=text)
        elif answer.kind == Kind.HEARTBEAT:
            told = int(answer.error)
            waits = told in (Errors.NONE, Errors.REBALANCE_IN_PROGRESS)
            self.reply(lambda error: self.tell(number, error or told), waits=waits)
        elif answer.kind == Kind.JOIN:
            self._tell_joined(number, answer)

    def _tell_joined(self, number: int, answer: Answer) -> None:
        if answer.error == _THROWN and answer.protocol == NONE and self.c.rules < CoordinatorRules.JAVA:
            self.tell(number, answer.error)
            return
        self._leave_out_namesakes(number, answer)
        told = "" if answer.member == NONE or answer.error == _THROWN else int(answer.member)
        self.tell_join(
            number,
            answer.error,
            member=self.told(self.steps[number]["member"]) if answer.member == _NOBODY else told,
            generation=int(answer.generation),
            protocol=self._name(answer.protocol),
            leader=None if answer.leader == NONE else int(answer.leader),
            skips=bool(answer.skips_assignment),
            members=self._listed(self._name(answer.protocol)) if answer.lists_members else [],
        )

    def _leave_out_namesakes(self, number: int, answer: Answer) -> None:
        member, instance = self._member(self.steps[number]), self._instance(self.steps[number])
        if answer.error != Errors.GROUP_MAX_SIZE_REACHED or self.c.rules != CoordinatorRules.SCALA_2_3:
            return
        if member not in (NONE, _NOBODY) and self.c.members[member].instance not in (NONE, instance):
            self.left_out = "a member is turned away, and its instance id, which it did not name, stays with nobody"

    def _listed(self, protocol: str | None) -> list[list[Any]]:
        """The members as a leader is told of them, by number."""
        listed = []
        for m in self._members():
            instance = self.c.members[m].instance
            [text] = [text for name, text in self._offered(m) if name == protocol]
            listed.append([m, None if instance == NONE else self.instances.known[instance], text])
        return listed

    def tell_join(
        self,
        number: int,
        error: int,
        *,
        member: int | str = "",
        generation: int = NONE,
        protocol: str | None = None,
        leader: int | None = None,
        skips: bool = False,
        members: list[list[Any]] | None = None,
    ) -> None:
        """Answer a JoinGroup."""
        fields = {"member": member, "generation": generation, "protocol": protocol, "leader": leader}
        if self.c.rules >= CoordinatorRules.SCALA_3_9:
            fields["skip_assignment"] = skips
        self.tell(number, error, **fields, members=members or [])

    def tell_error(self, number: int, error: int, member: int | str) -> None:
        """Answer a request of any kind with an error."""
        request = self.steps[number]["request"]
        if request == "join":
            generation = 0 if self.c.rules == CoordinatorRules.SCALA_1_0 else NONE
            self.tell_join(number, error, member=member, generation=generation)
        elif request == "commit":
            self.tell_committed(number, error)
        elif request == "leave" and self.c.rules <= CoordinatorRules.SCALA_2_3:
            self.tell(number, error)
        else:
            self.tell(number, error, **_NOTHING_TOLD[request])

    def tell(self, step: int, error: int, **more: Any) -> None:
        """Answer a request, for the first time."""
        assert all(answer["step"] != step for answer in self.answers), f"step {step} is answered twice"
        self.answers.append({"step": step, "at_ms": self.now, "error": Errors(error).name, **more})

    def _group(self) -> JsonObject | None:
        group = self.c.group
        if not group.exists or not self.up:
            return None
        state = _STATES[State(group.state)]
        if self.c.rules == CoordinatorRules.SCALA_1_0 and group.state == State.COMPLETING_REBALANCE:
            state = "AwaitingSync"
        return {
            "state": state,
            "generation": int(group.generation),
            "leader": None if group.leader == NONE else int(group.leader),
            "protocol": self._name(group.protocol),
            "members": self._members(),
            "pending": int(group.pending),
        }


def _partitions_of(steps: list[JsonObject]) -> list[tuple[str, int]]:
    """All partitions that are committed or fetched."""
    named = (partition for step in steps for partition in (*step.get("offsets", ()), *step.get("topics", ())))
    return sorted({(topic, partition) for topic, partition, *_ in named})
