"""Plays a case of ``tests.oracle.migration_cases`` on the rules for groups that go from one protocol to the other.

Beside what ``ConsumerGroupPlayer`` does, the player makes up ids as the coordinator did, holds elections, and reads and
writes the subscriptions and assignments of consumers of the classic protocol.
"""

import base64
import uuid
from typing import Any

import numpy as np

from rebalance_sim.kafka.consumer_protocol import decode_assignment, decode_subscription
from rebalance_sim.kafka.coordinator.classic_group import (
    EMPTY_ASSIGNMENT,
    NEVER,
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
from rebalance_sim.kafka.coordinator.consumer_group import NOTHING, Heartbeat
from rebalance_sim.kafka.coordinator.consumer_heartbeat import form_error
from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.coordinator.migration import (
    UNREADABLE,
    MixedGroup,
    finish_downgrade,
    is_consumer_group,
    may_upgrade,
    new_member_number,
    tell_classic_member,
)
from rebalance_sim.kafka.coordinator.mixed_requests import (
    CURRENT,
    Offer,
    commit_error_of_any,
    consumer_heartbeat_of_any,
    expire_next_mixed,
    finish_leave_any_group,
    finish_target_of_any,
    heartbeat_any_group,
    join_any_group,
    leave_any_group,
    load_mixed,
    next_mixed_deadline,
    sync_any_group,
    unload_mixed,
)
from rebalance_sim.kafka.coordinator.offsets import commit_response_error
from rebalance_sim.kafka.coordinator.rebalance import begin_generation, end_write
from rebalance_sim.kafka.coordinator.requests import finish_replacement
from rebalance_sim.kafka.election import PreferenceLists, elect
from rebalance_sim.kafka.hash_order import java_order, java_table_size, timeline_slot
from rebalance_sim.kafka.readable import SchemaError
from rebalance_sim.kafka.records import new_records, rows
from rebalance_sim.kafka.strings import Strings, java_hash, java_hashes
from rebalance_sim.versions import kafka_version
from tests.kafka.consumer_group_player import ASSIGNORS, MOST_PARTITIONS, ConsumerGroupPlayer
from tests.kafka.coordinator_conversation import in_order

JsonObject = dict[str, Any]

_NOBODY = "nobody"
_NO_BYTES = b"\xff\xff\xff\xff"
_MOST_MEMBERS = 64
_MOST_WRITES = 64
_CLASSIC_STATES = {
    State.EMPTY: "Empty",
    State.PREPARING_REBALANCE: "PreparingRebalance",
    State.COMPLETING_REBALANCE: "CompletingRebalance",
    State.STABLE: "Stable",
    State.DEAD: "Dead",
}
_CONSUMER = "consumer"


def mixed_group_answer(case: JsonObject, made: list[str]) -> JsonObject:
    """What the rules answer to a case; ``made`` are the ids that Kafka's coordinator made up."""
    return MixedGroupPlayer(case, made).play()


def in_words(answer: JsonObject) -> JsonObject:
    """An answer as it is compared: assignments as partitions, answers by time and step.

    Which topic comes first in an assignment, and the bytes that are no text, do not matter.
    """
    told = [
        {**one, "assignment": _read_assignment(one["assignment"])} if "assignment" in one else one
        for one in answer["answers"]
    ]
    return {"id": answer["id"], "answers": in_order(told), "groups": answer["groups"]}


def _read_assignment(text: Any) -> Any:
    """The partitions in an assignment; that there are no user data is told by bytes that are no text."""
    if not isinstance(text, str) or text == "":
        return text
    try:
        decoded = decode_assignment(text.encode("ascii", errors="replace").replace(b"????", _NO_BYTES))
    except SchemaError:
        return text
    return sorted([topic, partition] for topic, partition in decoded.partitions)


class MixedGroupPlayer(ConsumerGroupPlayer):
    """A group, its coordinator, and those who ask it by either protocol."""

    def __init__(self, case: JsonObject, made: list[str]) -> None:
        super().__init__(case)
        self.given_ids, self.made = made, list[str]()
        self.types, self.protocols = [_CONSUMER], list[str]()
        self.preferences: list[tuple[str, ...]] = []
        self.metadata: list[tuple[str, ...]] = []
        self.assignments: list[dict[int, Any]] = []
        self.put: list[str] = []
        self.left_out = ""
        config = case.get("config") or {}
        self.m = MixedGroup(
            ClassicGroup(
                new_records(Group, 1)[0],
                rows(new_records(Member, _MOST_MEMBERS)),
                rows(new_records(Write, _MOST_WRITES)),
                rows(new_records(Answer, 2 * _MOST_MEMBERS)),
                rows(new_records(Counter, 1)),
                Config(
                    config.get("initial_rebalance_delay_ms", 3000),
                    config.get("group_max_size", 2**31 - 1),
                    config.get("min_session_timeout_ms", 6000),
                    config.get("max_session_timeout_ms", 1_800_000),
                ),
                int(kafka_version("4.3").coordinator),
                int(kafka_version("4.3").coordinator_map),
            ),
            self.c,
            0,
            0,
        )
        self.classic = self.m.classic
        clear_group(self.classic.group)
        self.classic.group.member_places, self.classic.group.write_places = _MOST_MEMBERS, _MOST_WRITES

    def _subscribed(self, step: JsonObject) -> list[str]:
        topics = list(super()._subscribed(step))
        for _, text in step.get("protocols", ()):
            try:
                topics += decode_subscription(text.encode()).topics
            except SchemaError:
                continue
        return topics

    def play(self) -> JsonObject:
        groups = []
        for number, step in enumerate(self.case["steps"]):
            while self.up and next_mixed_deadline(self.m) <= step["at_ms"]:
                self.now = max(self.now, min(int(next_mixed_deadline(self.m)), step["at_ms"]))
                expire_next_mixed(self.m, int(self.store_error), self.now)
                self._settle()
            self.now = step["at_ms"]
            self._carry_out(number, step)
            groups.append(self._group())
        told = {"id": self.case["id"], "answers": in_order(self.answers), "groups": groups}
        return told | ({"left_out": self.left_out} if self.left_out else {})

    # ---- Steps

    def _carry_out(self, number: int, step: JsonObject) -> None:
        request = step["request"]
        if request in ("join", "sync", "heartbeat", "leave") and not self.up:
            self._refuse(number, step)
            return
        match request:
            case "join":
                self._join(number, step)
            case "sync":
                self._sync(number, step)
            case "heartbeat":
                identity = self._asker(step), self._instance(step), step["generation"]
                heartbeat_any_group(self.m, number, *identity, self.now)
            case "leave":
                self._leave(number, step)
            case "unload":
                if self.up:
                    unload_mixed(self.m)
                    self._settle()
                self.up = False
            case "load":
                if not self.up:
                    self._load()
                self.up = True
            case _:
                super()._carry_out(number, step)
        self._settle()

    def _refuse(self, number: int, step: JsonObject) -> None:
        nothing: dict[str, JsonObject] = {"sync": {"assignment": ""}, "leave": {"members": []}, "heartbeat": {}}
        if step["request"] == "join":
            self._tell_join(number, Errors.NOT_COORDINATOR, "")
        else:
            self._tell(number, Errors.NOT_COORDINATOR, **nothing[step["request"]])

    def _load(self) -> None:
        """Get the group back; of what the members of a classic group support, only the elected protocol is known."""
        load_mixed(self.m, self.now)
        for m in range(self.classic.group.made):
            of = self.classic.members[m]
            if of.known:
                elected = self.protocols[self.classic.group.protocol]
                text = self.metadata[of.metadata][self.preferences[of.preferences].index(elected)]
                of.preferences = _number_of(self.preferences, (elected,))
                of.metadata = _number_of(self.metadata, (text,))

    def _join(self, number: int, step: JsonObject) -> None:
        to_consumer_group = is_consumer_group(self.m) and self.c.group.members > 0
        member = self._asker(step)
        made = int(self.classic.group.made)
        names = tuple(name for name, _ in step["protocols"])
        texts = tuple(text for _, text in step["protocols"])
        next_id = self._next_id(step, to_consumer_group) if step["member"] == "" else ""
        request = JoinRequest(
            number,
            member,
            self._instance(step),
            0,
            java_hash(Strings.of([next_id]), 0),
            _number_of(self.types, step.get("protocol_type", _CONSUMER)),
            sum(1 << _number_of(self.protocols, name) for name in set(names)),
            _number_of(self.preferences, names),
            _number_of(self.metadata, texts),
            step.get("session_timeout_ms", 10_000),
            step.get("rebalance_timeout_ms", 60_000),
            step.get("requires_known_member_id", False),
            step.get("supports_skipping_assignment", False),
        )
        self._note_map(False)
        existed, writes = bool(self.classic.group.exists), int(self.classic.group.writes)
        join_any_group(self.m, request, self._offer(names, texts), int(self.store_error), self.now)
        if self.classic.group.made > made:
            self.names.append(next_id)
        else:
            del self.made[self.made.index(next_id) if next_id else len(self.made) :]
        self._bring_target()
        self._settle()
        is_new = self.classic.group.exists and not existed and not to_consumer_group
        if is_new and self.classic.group.writes == writes:
            self._store_new_group()

    def _store_new_group(self) -> None:
        """Write an empty group, since nothing else was written of it (``classicGroupJoinToClassicGroup``)."""
        if self.store_error != Errors.NONE:
            self.left_out = "a group that is new is refused by the log"
        group = self.classic.group
        group.stored = True
        group.stored_generation, group.stored_state_since_ms = 0, NEVER
        group.stored_leader = group.stored_protocol = group.stored_protocol_type = NONE
        for m in range(group.made):
            self.classic.members[m].stored = False

    def _next_id(self, step: JsonObject, to_consumer_group: bool) -> str:
        """The id that is made up if this step needs one.

        Kafka's own UUIDs do not begin with a dash: then another one is made.
        """
        while True:
            number = len(self.made)
            if number >= len(self.given_ids):
                self.made.append(f"{step.get('instance_id') or step.get('client_id', 'c')}-{number}")
                return self.made[number]
            self.made.append(self.given_ids[number])
            if not to_consumer_group or not _bare(self.made[number]).startswith("-"):
                return self.made[number]

    def _offer(self, names: tuple[str, ...], texts: tuple[str, ...]) -> Offer:
        protocol = _number_of(self.protocols, names[0]) if names else NONE
        try:
            told = decode_subscription(texts[0].encode()) if texts else None
        except SchemaError:
            return Offer(UNREADABLE, NOTHING, protocol)
        if told is None:
            return Offer(UNREADABLE, NOTHING, protocol)
        owned = [self._partition(topic, p) for topic, p in told.owned or ()]
        return Offer(self._subscription(list(told.topics)), self._row(owned) if owned else NOTHING, protocol)

    def _sync(self, number: int, step: JsonObject) -> None:
        given = {self._resolve(member): text for member, text in step.get("assignments", [])}
        self.assignments.append(given)
        named = step.get("protocol_type"), step.get("protocol")
        sync_any_group(
            self.m,
            number,
            self._asker(step),
            self._instance(step),
            step["generation"],
            NONE if named[0] is None else _number_of(self.types, named[0]),
            NONE if named[1] is None else _number_of(self.protocols, named[1]),
            len(self.assignments) - 1,
            self.now,
        )

    def _leave(self, number: int, step: JsonObject) -> None:
        writes = int(self.classic.group.writes)
        errors, last = [], None
        for leaver in step["members"]:
            member = self._asker(leaver)
            errors.append(leave_any_group(self.m, number, member, self._instance(leaver), self.now))
            last = member if errors[-1] == Errors.NONE else last
        refused: int = Errors.NONE
        if last is not None:
            refused = finish_leave_any_group(self.m, last, int(self.store_error), self.now)
        if self.classic.group.writes > writes:
            refused = commit_response_error(int(self.store_error), self.classic.rules)
        if refused != Errors.NONE:
            self._tell(number, Errors(refused), members=[])
            return
        told = [self._told(member["member"]) for member in step["members"]]
        members = [[member, Errors(error).name] for member, error in zip(told, errors, strict=True)]
        self._tell(number, Errors.NONE, members=members)

    def _heartbeat(self, number: int, step: JsonObject) -> None:
        request = self._consumer_request(number, step)
        if not self.up:
            error = Errors(form_error(self.c, request))
            self._tell_heartbeat(number, step, Errors.NOT_COORDINATOR if error == Errors.NONE else error)
            return
        upgrades = bool(may_upgrade(self.m, request))
        self._note_map(upgrades)
        if upgrades:
            self._tell_members()
        consumer_heartbeat_of_any(self.m, request, int(self.store_error), self.now)
        self._bring_target()
        answer = self.c.answers[0]
        assert self.c.answered[0].value == 1
        self.c.answered[0].value = 0
        assert answer.request == number
        self._tell_heartbeat(number, step, Errors(answer.error), answer)

    def _consumer_request(self, number: int, step: JsonObject) -> Heartbeat:
        assignor = step.get("server_assignor")
        return Heartbeat(
            number,
            self._resolve(step["member"]),
            self._epoch(step),
            self._instance(step),
            0,
            java_hash(Strings.of([step["member"]]), 0),
            step.get("rebalance_timeout_ms", NONE),
            self._subscription(step.get("subscription")),
            NONE if assignor is None else ASSIGNORS.index(assignor),
            self._owned(step),
        )

    def _commit(self, number: int, step: JsonObject) -> None:
        topic, p, _ = step["offsets"][0]
        by_epoch = "member_epoch" in step
        generation = self._epoch(step) if by_epoch else step["generation"]
        error: int = Errors.NOT_COORDINATOR
        if self.up:
            identity = self._asker(step), self._instance(step), generation
            error = commit_error_of_any(self.m, *identity, self._partition(topic, p), by_epoch, self.now)
        self._tell(number, Errors(error), errors=[[topic, p, Errors(error).name]])

    # ---- What surrounds the coordinator

    def _settle(self) -> None:
        """Hold elections, end writes, tell what is answered."""
        group = self.classic.group
        while True:
            self._collect()
            if group.election != Election.NOT_DUE:
                self._elect()
            elif group.writes_ended < group.writes:
                end_write(self.classic, int(self.store_error), self.now)
            else:
                break

    def _elect(self) -> None:
        known = [m for m in range(self.classic.group.made) if self.classic.members[m].known]
        members = sorted(known, key=lambda m: int(self.classic.members[m].entered))
        lists = [self._protocols_of(m) for m in members]
        offsets = np.cumsum([0, *map(len, lists)]).astype(np.int32)
        numbers = np.array([_number_of(self.protocols, name) for names in lists for name in names], np.int32)
        hashes = java_hashes(Strings.of(self.protocols))
        ids = Strings.of([self.names[m] for m in members])
        types = np.zeros(len(lists), np.int32)
        groups = np.array([0, len(lists)], np.int32)
        winner = int(
            elect(groups, ids, types, PreferenceLists(offsets, numbers, hashes), self.classic.map_rule).winner[0]
        )
        if self.classic.group.election == Election.OF_GENERATION:
            begin_generation(self.classic, winner, self.now)
        elif self.classic.group.election == Election.OF_REPLACEMENT:
            finish_replacement(self.classic, winner, self.now)
        else:
            self.assignments.append({m: self._target_text(m) for m in members})
            finish_downgrade(self.m, winner, len(self.assignments) - 1, self.now)

    def _target_text(self, member: int) -> list[list[Any]]:
        known = [p for p in self._targets(member) if self.c.topics[p // MOST_PARTITIONS].exists]
        return sorted(self._name(p) for p in known)

    def _protocols_of(self, member: int) -> tuple[str, ...]:
        of = self.classic.members[member]
        return tuple(
            name for name in self.preferences[of.preferences] if of.protocols >> self.protocols.index(name) & 1
        )

    def _tell_members(self) -> None:
        """Say what the members of a classic group have sent, and been assigned."""
        for m in range(self.classic.group.made):
            of = self.classic.members[m]
            if of.known:
                offer = self._offer(self.preferences[of.preferences], self.metadata[of.metadata])
                given = self._given(int(of.assignment), int(of.assigned_as))
                tell_classic_member(self.m, m, offer.subscription, offer.protocol, given)

    def _given(self, assignment: int, assigned_as: int) -> int:
        given: Any = "" if assignment == EMPTY_ASSIGNMENT else self.assignments[assignment].get(assigned_as, "")
        if isinstance(given, str) and given != "":
            try:
                decoded = decode_assignment(given.encode())
            except SchemaError:
                return UNREADABLE
            if decoded.user_data:
                return UNREADABLE
            given = list(decoded.partitions)
        return self._row([self._partition(topic, p) for topic, p in given]) if given else NOTHING

    # ---- Targets

    def _note_map(self, upgrades: bool) -> None:
        """Note the order of the coordinator's map of members, as a new target assignment will find it.

        Who asks is put into it only later. A group that is being converted is in a map of its own, into which each
        member is put once, in the order of the map that it was in.
        """
        if is_consumer_group(self.m):
            known = [m for m in range(self.c.group.made) if self.c.members[m].known]
            names = [self.names[m] for m in sorted(known, key=lambda m: int(self.c.members[m].entered))]
            self.put = _timeline_order(names, int(self.c.group.largest) + 1)
        elif upgrades:
            group = self.classic.group
            known = [m for m in range(group.made) if self.classic.members[m].known]
            names = [self.names[m] for m in sorted(known, key=lambda m: int(self.classic.members[m].entered))]
            hashes = java_hashes(Strings.of(names or [""]))
            size = java_table_size(max(int(group.largest), 1))
            order = java_order(hashes, np.arange(len(names), dtype=np.int32), size)
            self.put = _timeline_order([names[k] for k in order], len(names))
        else:
            self.put = []

    def _map_order(self) -> list[str]:
        return list(self.put)

    def _bring_target(self) -> None:
        if self.c.group.target_due:
            self._assign()
            finish_target_of_any(self.m, self.now)

    # ---- Names and numbers

    def _resolve(self, given: int | str) -> int:
        """The kernels' number of a member as a step names it; NONE for the empty id."""
        if given == "":
            return NONE
        name = given if isinstance(given, str) else self.made[given] if given < len(self.made) else _NOBODY
        if name not in self.names:
            number = int(new_member_number(self.m))
            assert number == len(self.names)
            self.names.append(name)
            self.classic.members[number].hash = java_hash(Strings.of([name]), 0)
        return self.names.index(name)

    def _asker(self, step: JsonObject) -> int:
        return self._resolve(step["member"])

    def _instance(self, step: JsonObject) -> int:
        given = step.get("instance_id")
        return NONE if given is None else _number_of(self.instances, given)

    def _told(self, given: int | str) -> int | str:
        return given if isinstance(given, str) or given < len(self.made) else _NOBODY

    def _shown(self, member: int) -> int | str:
        """A member as the oracle names it."""
        name = self.names[member]
        return self.made.index(name) if name in self.made else name

    # ---- Answers

    def _collect(self) -> None:
        for k in range(self.classic.answered[0].value):
            self._collect_one(self.classic.answers[k])
        self.classic.answered[0].value = 0

    def _collect_one(self, answer: Answer) -> None:
        number, error = int(answer.request), Errors(answer.error)
        if answer.kind == Kind.SYNC:
            self._tell(number, error, assignment=self._assignment_of(answer))
        elif answer.kind == Kind.HEARTBEAT:
            self._tell(number, error)
        elif answer.kind == Kind.JOIN:
            self._tell_joined(number, answer)

    def _assignment_of(self, answer: Answer) -> Any:
        if answer.assignment == EMPTY_ASSIGNMENT:
            return ""
        if answer.assignment == CURRENT:
            return self._listed(int(answer.member), False)
        given = self.assignments[answer.assignment].get(int(answer.assigned_as), "")
        return _read_assignment(given)

    def _tell_joined(self, number: int, answer: Answer) -> None:
        is_thrown = answer.error == Errors.UNKNOWN_SERVER_ERROR
        member: int | str = "" if answer.member == NONE or is_thrown else self._shown(int(answer.member))
        self._tell_join(
            number,
            Errors(answer.error),
            member,
            int(answer.generation),
            None if answer.protocol == NONE else self.protocols[answer.protocol],
            None if answer.leader == NONE else self._shown(int(answer.leader)),
            bool(answer.skips_assignment),
            self._members_told(int(answer.protocol)) if answer.lists_members else [],
        )

    def _tell_join(
        self,
        number: int,
        error: Errors,
        member: int | str,
        generation: int = NONE,
        protocol: str | None = None,
        leader: int | str | None = None,
        skips: bool = False,
        members: list[list[Any]] | None = None,
    ) -> None:
        fields = {"member": member, "generation": generation, "protocol": protocol, "leader": leader}
        self._tell(number, error, **fields, skip_assignment=skips, members=members or [])

    def _members_told(self, protocol: int) -> list[list[Any]]:
        told = []
        for m in range(self.classic.group.made):
            of = self.classic.members[m]
            if of.known:
                instance = None if of.instance == NONE else self.instances[of.instance]
                names, texts = self.preferences[of.preferences], self.metadata[of.metadata]
                told.append([self._shown(m), instance, texts[names.index(self.protocols[protocol])]])
        return told

    def _tell(self, step: int, error: Errors, **more: Any) -> None:
        assert all(answer["step"] != step for answer in self.answers), f"step {step} is answered twice"
        super()._tell(step, error, **more)

    # ---- What is told

    def _more(self, number: int) -> JsonObject:
        told: JsonObject = {"member": self._shown(number)}
        return told | ({"classic": True} if self.c.members[number].classic else {})

    def _group(self) -> JsonObject | None:
        if is_consumer_group(self.m):
            return super()._group()
        group = self.classic.group
        if not group.exists or not self.up:
            return None
        members = [m for m in range(group.made) if self.classic.members[m].known]
        return {
            "state": _CLASSIC_STATES[State(group.state)],
            "generation": int(group.generation),
            "leader": None if group.leader == NONE else self._shown(int(group.leader)),
            "protocol": None if group.protocol == NONE else self.protocols[group.protocol],
            "members": sorted((self._shown(m) for m in members), key=lambda member: (isinstance(member, str), member)),
            "pending": int(group.pending),
        }


def _timeline_order(names: list[str], counted: int) -> list[str]:
    """The order of a map of the coordinator that grew to so many (``hash_order.timeline_order``)."""
    bits = 1
    while 3 * counted > 4 << bits:
        bits += 1
    hashes = java_hashes(Strings.of(names or [""]))
    order = sorted(range(len(names)), key=lambda k: (int(timeline_slot(int(hashes[k]), bits)), -k))
    return [names[k] for k in order]


def _number_of(known: list[Any], value: Any) -> int:
    """The number of a value among those that have come so far."""
    if value not in known:
        known.append(value)
    return known.index(value)


def _bare(made: str) -> str:
    """The UUID at the end of an id, as Kafka's own class writes it."""
    try:
        of = uuid.UUID(made[-36:])
    except ValueError:
        return made
    return base64.urlsafe_b64encode(of.bytes).decode().rstrip("=")
