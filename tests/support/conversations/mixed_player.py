"""Conversations with the coordinator of 4.x: consumer-protocol groups (KIP-848), and groups that migrate.

The player remembers what consumers were answered, runs the server's assignors when a target assignment is due, and
reads and writes the subscriptions and assignments of classic consumers.
"""

import base64
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rebalance_sim.kafka.assignors.server import server_range
from rebalance_sim.kafka.assignors.server.subscription_type import subscribed_as_first
from rebalance_sim.kafka.assignors.server.uniform import assign_in_order
from rebalance_sim.kafka.coordinator.classic.classic_group import (
    EMPTY_ASSIGNMENT,
    NONE,
    Answer,
    AwaitedElection,
    Counter,
)
from rebalance_sim.kafka.coordinator.classic.rebalance import end_write
from rebalance_sim.kafka.coordinator.consumer.consumer_group import (
    JOIN_EPOCH,
    NOTHING,
    UNSUPPORTED,
    AssignedPartition,
    ConsumerGroup,
    ConsumerGroupState,
    Heartbeat,
    ModernAnswer,
    ModernGroup,
    ModernMember,
    ModernMemberState,
    SubscribedTopic,
    clear_consumer_group,
    group_rules,
)
from rebalance_sim.kafka.coordinator.consumer.heartbeat import form_error, preferred_assignor, see_topic
from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.coordinator.group_conversion import (
    UNREADABLE,
    MixedGroup,
    describe_classic_member,
    finish_downgrade,
    is_consumer_group,
    may_upgrade,
    new_member_number,
)
from rebalance_sim.kafka.coordinator.mixed_requests import (
    CURRENT,
    Offer,
    commit_offsets_any_group,
    expire_next_mixed,
    finish_leave_any_group,
    finish_target_any_group,
    heartbeat_any_group,
    heartbeat_by_epoch,
    join_any_group,
    leave_any_group,
    load_mixed,
    next_mixed_deadline,
    sync_any_group,
    unload_mixed,
)
from rebalance_sim.kafka.coordinator.write_errors import commit_response_error
from rebalance_sim.kafka.runtime.hash_order import java_order, java_table_size, timeline_slot
from rebalance_sim.kafka.runtime.records import new_records, rows
from rebalance_sim.kafka.runtime.strings import Ints32, Strings, java_hash, java_hashes
from rebalance_sim.kafka.wire.consumer_protocol import decode_assignment, decode_subscription
from rebalance_sim.kafka.wire.readable import SchemaError
from rebalance_sim.releases import SERVER_ASSIGNORS, kafka_version
from tests.support.batches import Batch
from tests.support.cases import uuid_halves
from tests.support.conversations.player import JsonObject, Player, Remembered, in_order, new_record
from tests.support.model import Cluster, Group, Member, Partition

ASSIGNORS = [name.removeprefix("server-") for name in SERVER_ASSIGNORS]
_MOST_MEMBERS = 64
_MOST_PARTITIONS = 48
"""Of a topic."""
_MOST_ROWS = 4096
_NO_BYTES = b"\xff\xff\xff\xff"


def is_comparable(case: JsonObject, release: str) -> bool:
    """Return whether the rules and the player follow all that a release does in a case.

    For classic members that join a consumer-protocol group, 4.4 draws further UUIDs. It raises the epoch if a member
    changes the group's preferred assignor, which is not simulated (docs/limits.md).
    """
    draws = any(step["request"] == "join" for step in case["steps"])
    prefers = any("server_assignor" in step for step in case["steps"])
    return release != "4.4.0" or not (draws or prefers)


def group_answer(case: JsonObject, made: Sequence[str] = (), version: str = "4.3") -> JsonObject:
    """Play a case of ``consumer_group_cases`` or ``migration_cases``; ``made`` are the ids that Kafka generated."""
    return MixedGroupPlayer(version, case, list(made)).play()


def in_words(answer: JsonObject) -> JsonObject:
    """Return an answer as it is compared: assignments as partitions, answers by time and step.

    The order of topics in an assignment, and bytes that are not text, do not matter.
    """
    answers = [
        {**one, "assignment": _read_assignment(one["assignment"])} if "assignment" in one else one
        for one in answer["answers"]
    ]
    return {"id": answer["id"], "answers": in_order(answers), "groups": answer["groups"]}


def _read_assignment(text: Any) -> Any:
    """Return the partitions in an assignment; bytes that are not text say that it has no user data."""
    if not isinstance(text, str) or text == "":
        return text
    try:
        decoded = decode_assignment(text.encode("ascii", errors="replace").replace(b"????", _NO_BYTES))
    except SchemaError:
        return text
    return sorted([topic, partition] for topic, partition in decoded.partitions)


class MixedGroupPlayer(Player):
    """A group whose members use either protocol."""

    def __init__(self, version: str, case: JsonObject, made: list[str]) -> None:
        super().__init__(version, case, made, _MOST_MEMBERS)
        self.version = kafka_version(version)
        self.checks_form_first = not version.startswith("4.0")
        self.types.of("consumer")
        self.names: list[str] = []
        self.subscriptions: list[frozenset[str]] = []
        self.remembered: dict[str, Remembered] = {}
        self.map_order: list[str] = []
        self.topic_names: list[str] = []
        self.topic_ids: dict[str, str] = {}
        for step in self.steps:
            for name, topic_id, _ in step.get("image", ()):
                self.topic_ids[name] = topic_id
                self._register(name)
            for name in _subscribed(step):
                self._register(name)
        self.first_subscribed = np.zeros(_MOST_ROWS, np.int32)
        self.subscribed = np.zeros(_MOST_ROWS, np.int32)
        self.first_listed = np.zeros(_MOST_ROWS, np.int64)
        self.listed = np.zeros(16 * _MOST_ROWS, np.int32)
        self.listed_rows = 0
        group, self.modern_row = new_record(ModernGroup)
        self.modern = ConsumerGroup(
            group,
            rows(new_records(ModernMember, _MOST_MEMBERS)),
            rows(new_records(SubscribedTopic, len(self.topic_names))),
            rows(new_records(AssignedPartition, len(self.topic_names) * _MOST_PARTITIONS)),
            rows(self.first_subscribed),
            rows(self.subscribed),
            rows(self.first_listed),
            rows(self.listed),
            rows(new_records(ModernAnswer, 4)),
            rows(new_records(Counter, 1)),
            self.classic.config,
            group_rules(self.version),
        )
        clear_consumer_group(self.modern)
        self.modern_row.topics = len(self.topic_names)
        for k in range(len(self.topic_names)):
            topic = self.modern.topics[k]
            topic.number, topic.first, topic.places = k, k * _MOST_PARTITIONS, _MOST_PARTITIONS
            for p in range(topic.first, topic.first + topic.places):
                partition = self.modern.partitions[p]
                partition.topic, partition.owner, partition.target = k, NONE, NONE
        self.mixed = MixedGroup(self.classic, self.modern, 0, 0)

    def _register(self, name: str) -> None:
        if name not in self.topic_names:
            self.topic_names.append(name)

    def play(self) -> JsonObject:
        played = super().play()
        return played | ({"left_out": self.left_out} if self.left_out else {})

    def next_deadline(self) -> int:
        return int(next_mixed_deadline(self.mixed))

    def expire(self) -> None:
        expire_next_mixed(self.mixed, int(self.store_error), self.now)
        self._run()

    # ---- Steps

    def take(self, number: int, step: JsonObject) -> None:
        request = step["request"]
        if request in ("join", "sync", "heartbeat", "leave", "commit") and not self.up:
            self.answer_error(number, Errors.NOT_COORDINATOR, "")
            return
        match request:
            case "topics":
                self._see_topics(step["image"])
            case "join":
                self._join(number, step)
            case "sync":
                sync_any_group(self.mixed, self.sync_request(number, step), self.now)
            case "heartbeat":
                identity = self.number_of(step["member"]), self.instance(step), step["generation"]
                heartbeat_any_group(self.mixed, number, *identity, self.now)
            case "consumer_heartbeat":
                self._consumer_heartbeat(number, step)
            case "leave":
                self._leave(number, step)
            case "commit":
                self._commit(number, step)
            case "unload":
                if self.up:
                    unload_mixed(self.mixed)
                    self._run()
                self.up = False
            case "load":
                if not self.up:
                    load_mixed(self.mixed, self.now)
                    self.keep_elected_protocols()
                self.up = True
        self._run()

    def _see_topics(self, image: list[list[Any]]) -> None:
        counts = {name: count for name, _, count in image}
        for k, name in enumerate(self.topic_names):
            see_topic(self.modern, k, name in counts, counts.get(name, 0))

    def _memory(self, step: JsonObject) -> Remembered:
        return self.remembered.setdefault(step["member"], Remembered())

    def _epoch(self, step: JsonObject) -> int:
        return self._memory(step).named(step["member_epoch"])

    def _owned(self, step: JsonObject) -> int:
        owned = step.get("owned")
        if owned is None:
            return NONE
        if isinstance(owned, str):
            assigned = self._memory(step).assigned if self._epoch(step) != JOIN_EPOCH else []
            owned = assigned[1:] if owned == "but_one" else assigned
        return self._row([self._partition(topic, p) for topic, p in owned]) if owned else NOTHING

    def _row(self, partitions: list[int]) -> int:
        row, start = self.listed_rows, self.first_listed[self.listed_rows]
        self.listed[start : start + len(partitions)] = partitions
        self.first_listed[row + 1] = start + len(partitions)
        self.listed_rows += 1
        return row

    def _partition(self, topic: str, p: int) -> int:
        if topic not in self.topic_names or p >= _MOST_PARTITIONS:
            return NONE
        return self.topic_names.index(topic) * _MOST_PARTITIONS + p

    def _name(self, p: int) -> list[Any]:
        return [self.topic_names[p // _MOST_PARTITIONS], p % _MOST_PARTITIONS]

    def _subscription(self, names: list[str] | None) -> int:
        if names is None:
            return NONE
        topics = frozenset(names)
        if topics not in self.subscriptions:
            k, start = len(self.subscriptions), self.first_subscribed[len(self.subscriptions)]
            self.subscriptions.append(topics)
            numbers = sorted(self.topic_names.index(name) for name in topics)
            self.subscribed[start : start + len(numbers)] = numbers
            self.first_subscribed[k + 1] = start + len(numbers)
        return self.subscriptions.index(topics)

    def _join(self, number: int, step: JsonObject) -> None:
        to_consumer_group = bool(is_consumer_group(self.mixed)) and self.modern_row.member_count > 0
        self.number_of(step["member"])
        count = int(self.group_row.made)
        next_id = self._next_uuid(step, to_consumer_group) if step["member"] == "" else ""
        request = self.join_request(number, step, next_id)
        self._note_map(False)
        existed, writes = bool(self.group_row.exists), int(self.group_row.writes)
        names, texts = self.preferences.known[request.preferences], self.metadata.known[request.metadata]
        join_any_group(self.mixed, request, self._offer(names, texts), int(self.store_error), self.now)
        if self.group_row.made > count:
            self.names.append(next_id)
        else:
            del self.made[self.made.index(next_id) if next_id else len(self.made) :]
        self._bring_target()
        self._run()
        is_new = self.group_row.exists and not existed and not to_consumer_group
        if is_new and self.group_row.writes == writes:
            if self.store_error != Errors.NONE:
                self.left_out = "a group that is new is refused by the log"
            self.store_new_group()

    def _next_uuid(self, step: JsonObject, to_consumer_group: bool) -> str:
        """Return the next generated id: Kafka's own class skips UUIDs that begin with a dash."""
        while True:
            is_given = len(self.made) < len(self.given_ids)
            made = self.next_id(step)
            if not is_given or not to_consumer_group or not _bare(made).startswith("-"):
                return made

    def _offer(self, names: Sequence[str], texts: Sequence[str]) -> Offer:
        protocol = self.protocols.of(names[0]) if names else NONE
        try:
            subscription = decode_subscription(texts[0].encode()) if texts else None
        except SchemaError:
            subscription = None
        if subscription is None:
            return Offer(UNREADABLE, NOTHING, protocol)
        owned = [self._partition(topic, p) for topic, p in subscription.owned or ()]
        return Offer(self._subscription(list(subscription.topics)), self._row(owned) if owned else NOTHING, protocol)

    def _leave(self, number: int, step: JsonObject) -> None:
        writes = int(self.group_row.writes)
        errors, last = [], None
        for leaver in step["members"]:
            member = self.number_of(leaver["member"])
            errors.append(leave_any_group(self.mixed, number, member, self.instance(leaver), self.now))
            last = member if errors[-1] == Errors.NONE else last
        refused: int = Errors.NONE
        if last is not None:
            refused = finish_leave_any_group(self.mixed, last, int(self.store_error), self.now)
        if self.group_row.writes > writes:
            refused = commit_response_error(int(self.store_error), self.classic.rules)
        if refused != Errors.NONE:
            self.answer_error(number, refused, "")
        else:
            self.answer_leave(number, errors)

    def _consumer_heartbeat(self, number: int, step: JsonObject) -> None:
        request = self._heartbeat_request(number, step)
        if not self.up:
            # Since 4.1 the form is checked before the group is looked up.
            error = Errors(form_error(self.modern, request)) if self.checks_form_first else Errors.NONE
            self._answer_heartbeat(number, step, Errors.NOT_COORDINATOR if error == Errors.NONE else error)
            return
        upgrades = bool(may_upgrade(self.mixed, request))
        self._note_map(upgrades)
        if upgrades:
            self._describe_members()
        heartbeat_by_epoch(self.mixed, request, int(self.store_error), self.now)
        self._bring_target()
        answer = self.modern.answers[0]
        assert self.modern.answered[0].value == 1
        self.modern.answered[0].value = 0
        assert answer.request == number
        self._answer_heartbeat(number, step, Errors(answer.error), answer)

    def _heartbeat_request(self, number: int, step: JsonObject) -> Heartbeat:
        assignor = step.get("server_assignor")
        return Heartbeat(
            number,
            self.number_of(step["member"]),
            self._epoch(step),
            self.instance(step),
            0,
            java_hash(Strings.of([step["member"]]), 0),
            step.get("rebalance_timeout_ms", NONE),
            self._subscription(step.get("subscription")),
            NONE if assignor is None else ASSIGNORS.index(assignor) if assignor in ASSIGNORS else UNSUPPORTED,
            self._owned(step),
        )

    def _answer_heartbeat(
        self, number: int, step: JsonObject, error: Errors, answer: ModernAnswer | None = None
    ) -> None:
        member, epoch, interval, assigned = None, 0, 0, None
        if answer is not None and error == Errors.NONE:
            member, epoch = self.names[answer.member], int(answer.epoch)
            if epoch >= 0:
                interval = self.modern.config.group_consumer_heartbeat_interval_ms
            if answer.has_assignment:
                assigned = self._listed_partitions(int(answer.member), False)
        self._memory(step).answered(error, epoch, assigned)
        self.answer(number, error, member=member, epoch=epoch, interval_ms=interval, assigned=assigned)

    def _commit(self, number: int, step: JsonObject) -> None:
        topic, p, _ = step["offsets"][0]
        by_epoch = "member_epoch" in step
        generation = self._epoch(step) if by_epoch else step["generation"]
        identity = self.number_of(step["member"]), self.instance(step), generation
        partition = self._partition(topic, p)
        self.answer_commit(number, commit_offsets_any_group(self.mixed, *identity, partition, by_epoch, self.now))

    # ---- Elections and writes

    def _run(self) -> None:
        """Hold elections, end writes and collect answers until nothing is left to do."""
        group = self.group_row
        while True:
            self.collect()
            if group.election != AwaitedElection.NOT_DUE:
                self.elect()
            elif group.writes_ended < group.writes:
                end_write(self.classic, int(self.store_error), self.now)
            else:
                break

    def finish_election(self, winner: int) -> None:
        if self.group_row.election != AwaitedElection.OF_DOWNGRADE:
            super().finish_election(winner)
            return
        self.assignments.append({m: self._target_text(m) for m in self.members()})
        finish_downgrade(self.mixed, winner, len(self.assignments) - 1, self.now)

    def _target_text(self, member: int) -> list[list[Any]]:
        known = [p for p in self._targets(member) if self.modern.topics[p // _MOST_PARTITIONS].exists]
        return sorted(self._name(p) for p in known)

    def _describe_members(self) -> None:
        """Decode what the members of a classic group sent, and were assigned."""
        for m in self.members():
            of = self.classic.members[m]
            offer = self._offer(self.preferences.known[of.preferences], self.metadata.known[of.metadata])
            given = self._given(int(of.assignment), int(of.assigned_as))
            describe_classic_member(self.mixed, m, offer.subscription, offer.protocol, given)

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

    # ---- Target assignments

    def _note_map(self, upgrades: bool) -> None:
        """Note the order of the coordinator's map of members, as a new target assignment will find it.

        The sender of the request is put into it only later. A group that is being converted is in a map of its own,
        into which each member is put once, in the order of the map that it was in.
        """
        if is_consumer_group(self.mixed):
            known = [m for m in range(self.modern_row.made) if self.modern.members[m].known]
            names = [self.names[m] for m in sorted(known, key=lambda m: int(self.modern.members[m].entered))]
            self.map_order = _timeline_order(names, int(self.modern_row.largest) + 1)
        elif upgrades:
            names = [self.names[m] for m in self.in_order_of_joining()]
            hashes = java_hashes(Strings.of(names or [""]))
            size = java_table_size(max(int(self.group_row.largest), 1))
            order = java_order(hashes, np.arange(len(names), dtype=np.int32), size)
            self.map_order = _timeline_order([names[k] for k in order], len(names))
        else:
            self.map_order = []

    def _bring_target(self) -> None:
        if self.modern_row.target_due:
            self._assign()
            finish_target_any_group(self.mixed, self.now)

    def _in_order(self) -> list[str]:
        """Return the members in the order in which the assignor is given them (``TargetAssignmentBuilder``)."""
        put = list(self.map_order)
        asking = self.names[self.modern_row.asking]
        if asking not in put:
            put.append(asking)
        hashes = java_hashes(Strings.of(put))
        order = java_order(hashes, np.arange(len(put), dtype=np.int32), java_table_size(len(put)))
        return [put[k] for k in order if self.modern.members[self.names.index(put[k])].known]

    def _assign(self) -> None:
        numbers = {name: self.names.index(name) for name in self._in_order()}
        batch = Batch([self._as_assigned(numbers)])
        groups, topics = batch.arrays, batch.topics
        order: Ints32 = np.arange(len(numbers), dtype=np.int32)
        is_uniform = ASSIGNORS[max(preferred_assignor(self.modern), 0)] == "uniform"
        in_turn = order if is_uniform else server_range.range_order(groups, order)
        groups = subscribed_as_first(groups, in_turn, np.array([self.modern_row.homogeneous]))
        if is_uniform:
            made = assign_in_order(groups, topics, order, self.version.server_uniform).assignments
        else:
            made = server_range.assign(groups, topics, self.version).assignments
        for partition in self.modern.partitions:
            partition.computed_target = NONE
        [given] = batch.lists(made)
        for name, partitions in given.items():
            for topic, number in partitions:
                self.modern.partitions[self._partition(topic, number)].computed_target = numbers[name]

    def _as_assigned(self, numbers: Mapping[str, int]) -> Group:
        """Return the group as the assignor sees it; members own their targets."""
        members = []
        for name, number in numbers.items():
            of = self.modern.members[number]
            instance = None if of.instance == NONE else self.instances.known[of.instance]
            owned = tuple(Partition(*self._name(p)) for p in self._targets(number))
            members.append(Member(name, tuple(sorted(self.subscriptions[of.subscription])), instance, None, owned))
        ids = {name: uuid_halves(topic_id) for name, topic_id in self.topic_ids.items()}
        known = zip(self.topic_names, self.modern.topics, strict=False)
        counts = {name: int(topic.partitions) for name, topic in known if topic.exists}
        return Group(tuple(members), Cluster(counts, {}, ids))

    def _targets(self, member: int) -> list[int]:
        return [int(p) for p in np.flatnonzero(self._column("target") == member)]

    # ---- Names and numbers

    def number_of(self, given: int | str) -> int:
        if given == "":
            return NONE
        name = (
            given if isinstance(given, str) else str(self.named(given)) if given >= len(self.made) else self.made[given]
        )
        if name not in self.names:
            number = int(new_member_number(self.mixed))
            assert number == len(self.names)
            self.names.append(name)
            self.classic.members[number].hash = java_hash(Strings.of([name]), 0)
        return self.names.index(name)

    def member_id(self, member: int) -> str:
        return self.names[member]

    def shown(self, member: int) -> int | str:
        name = self.names[member]
        return self.made.index(name) if name in self.made else name

    # ---- Answers

    def assignment_of(self, answer: Answer) -> Any:
        if answer.assignment == CURRENT:
            return self._listed_partitions(int(answer.member), False)
        return _read_assignment(super().assignment_of(answer))

    def _listed_partitions(self, member: int, pending: bool) -> list[list[Any]]:
        owned = np.flatnonzero(self._column("owner") == member)
        chosen = owned[self._column("pending_revocation")[owned] == pending]
        return sorted(self._name(int(p)) for p in chosen)

    def _column(self, name: str) -> np.ndarray:
        return np.asarray(self.modern.partitions)[name]

    def group(self) -> JsonObject | None:
        if not is_consumer_group(self.mixed):
            return super().group()
        group = self.modern_row
        members = [m for m in range(group.made) if self.modern.members[m].known]
        return {
            "state": ConsumerGroupState(group.state).name.capitalize(),
            "group_epoch": int(group.epoch),
            "target_epoch": int(group.target_epoch),
            "members": [self._member(m) for m in sorted(members, key=lambda m: self.names[m])],
        }

    def _member(self, number: int) -> JsonObject:
        member = self.modern.members[number]
        shown: JsonObject = {
            "member": self.shown(number),
            "epoch": int(member.epoch),
            "previous_epoch": int(member.previous_epoch),
            "state": ModernMemberState(member.state).name,
            "assigned": self._listed_partitions(number, False),
        }
        if member.instance != NONE:
            shown["instance_id"] = self.instances.known[member.instance]
        if pending := self._listed_partitions(number, True):
            shown["pending_revocation"] = pending
        if member.classic:
            shown["classic"] = True
        return shown


def _subscribed(step: JsonObject) -> list[str]:
    """Return the topics that a step subscribes to."""
    topics = list(step.get("subscription") or [])
    for _, text in step.get("protocols", ()):
        try:
            topics += decode_subscription(text.encode()).topics
        except SchemaError:
            continue
    return topics


def _timeline_order(names: list[str], counted: int) -> list[str]:
    """Return the order of a coordinator map that grew to this size (``hash_order.timeline_order``)."""
    bits = 1
    while 3 * counted > 4 << bits:
        bits += 1
    hashes = java_hashes(Strings.of(names or [""]))
    order = sorted(range(len(names)), key=lambda k: (int(timeline_slot(int(hashes[k]), bits)), -k))
    return [names[k] for k in order]


def _bare(made: str) -> str:
    """Return the UUID at the end of an id as Kafka's own class writes it."""
    try:
        of = uuid.UUID(made[-36:])
    except ValueError:
        return made
    return base64.urlsafe_b64encode(of.bytes).decode().rstrip("=")
