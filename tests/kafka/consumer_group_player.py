"""Plays a case of ``tests.oracle.consumer_group_cases`` on the rules for groups of KIP-848.

The player does what stands around a coordinator: it numbers what the rules want as numbers, remembers what consumers
were answered, runs the assignors when a target assignment is due, and tells what comes of it as the oracle does.
"""

import base64
import struct
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from rebalance_sim.kafka.assignors import server_range
from rebalance_sim.kafka.assignors.server_uniform import assign_in_order
from rebalance_sim.kafka.coordinator.classic_group import NONE, Counter
from rebalance_sim.kafka.coordinator.consumer_group import (
    JOIN_EPOCH,
    NOTHING,
    UNSUPPORTED,
    AssignedPartition,
    ConsumerConfig,
    ConsumerGroup,
    ConsumerGroupState,
    Heartbeat,
    ModernAnswer,
    ModernGroup,
    ModernMember,
    ModernMemberState,
    SubscribedTopic,
    clear_consumer_group,
)
from rebalance_sim.kafka.coordinator.consumer_heartbeat import (
    begin_target,
    consumer_commit_error,
    consumer_heartbeat,
    expire_next_consumer,
    finish_target,
    form_error,
    give_target,
    load_consumer_group,
    next_consumer_deadline,
    preferred_assignor,
    see_topic,
)
from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.groups import NO_GENERATION, NO_RACK, Assignments, Groups, Topics
from rebalance_sim.kafka.hash_order import java_order, java_table_size, timeline_order
from rebalance_sim.kafka.records import new_records, rows
from rebalance_sim.kafka.strings import Ints32, Strings, java_hash, java_hashes
from rebalance_sim.versions import kafka_version

JsonObject = dict[str, Any]

ASSIGNORS = ("uniform", "range")
"""The first one is the default."""
_MOST_MEMBERS = 64
MOST_PARTITIONS = 48
"""Of a topic."""
_MOST_ROWS = 4096
_NO_ID = "A" * 22
_FENCED = ("FENCED_MEMBER_EPOCH", "UNKNOWN_MEMBER_ID")
_STATES = {
    ConsumerGroupState.EMPTY: "Empty",
    ConsumerGroupState.ASSIGNING: "Assigning",
    ConsumerGroupState.RECONCILING: "Reconciling",
    ConsumerGroupState.STABLE: "Stable",
    ConsumerGroupState.DEAD: "Dead",
}


def consumer_group_answer(case: JsonObject) -> JsonObject:
    """What the rules answer to a case."""
    return ConsumerGroupPlayer(case).play()


def _uuid(text: str) -> tuple[int, int]:
    high, low = struct.unpack(">qq", base64.urlsafe_b64decode(text + "=="))
    return high, low


@dataclass
class _Remembered:
    """What a consumer remembers of the answers to it."""

    epoch: int = 0
    epoch_before: int = 0
    assigned: list[list[Any]] = field(default_factory=list)


class _MemberMap:
    """The order of the coordinator's map of members, which never shrinks."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.largest = 0

    def put(self, name: str) -> None:
        """Put a member in, behind the others."""
        self.names.append(name)
        self.largest = max(self.largest, len(self.names))

    def order(self) -> list[str]:
        """The members as the map gives them."""
        hashes = java_hashes(Strings.of(self.names + ["?"] * (self.largest - len(self.names))))
        order = timeline_order(hashes, np.arange(self.largest, dtype=np.int32))
        return [self.names[k] for k in order if k < len(self.names)]


class ConsumerGroupPlayer:
    """A group, its coordinator, and those who ask it."""

    def __init__(self, case: JsonObject) -> None:
        self.case = case
        self.now = 0
        self.up, self.store_error = True, Errors.NONE
        self.names: list[str] = []
        self.instances: list[str] = []
        self.subscriptions: list[frozenset[str]] = []
        self.remembered: dict[str, _Remembered] = {}
        self.member_map = _MemberMap()
        self.answers: list[JsonObject] = []
        self.topic_names: list[str] = []
        self.topic_ids: dict[str, str] = {}
        for step in case["steps"]:
            for name, topic_id, _ in step.get("image", ()):
                self.topic_ids[name] = topic_id
                self._register(name)
            for name in self._subscribed(step):
                self._register(name)
        config = case.get("config", {})
        self.first_subscribed = np.zeros(_MOST_ROWS, np.int32)
        self.subscribed = np.zeros(_MOST_ROWS, np.int32)
        self.first_listed = np.zeros(_MOST_ROWS, np.int64)
        self.listed = np.zeros(16 * _MOST_ROWS, np.int32)
        self.listed_rows = 0
        self.c = ConsumerGroup(
            new_records(ModernGroup, 1)[0],
            rows(new_records(ModernMember, _MOST_MEMBERS)),
            rows(new_records(SubscribedTopic, len(self.topic_names))),
            rows(new_records(AssignedPartition, len(self.topic_names) * MOST_PARTITIONS)),
            rows(self.first_subscribed),
            rows(self.subscribed),
            rows(self.first_listed),
            rows(self.listed),
            rows(new_records(ModernAnswer, 4)),
            rows(new_records(Counter, 1)),
            ConsumerConfig(
                group_consumer_max_size=config.get("consumer_group_max_size", 2**31 - 1),
                group_consumer_assignment_interval_ms=config.get("assignment_interval_ms", 1000),
            ),
        )
        clear_consumer_group(self.c.group)
        self.c.group.topics = len(self.topic_names)
        for k in range(len(self.topic_names)):
            topic = self.c.topics[k]
            topic.number, topic.first, topic.places = k, k * MOST_PARTITIONS, MOST_PARTITIONS
            for p in range(topic.first, topic.first + topic.places):
                partition = self.c.partitions[p]
                partition.topic, partition.owner, partition.target = k, NONE, NONE

    def _subscribed(self, step: JsonObject) -> list[str]:
        """The topics that a step names as a subscription."""
        return step.get("subscription") or []

    def _register(self, name: str) -> None:
        if name not in self.topic_names:
            self.topic_names.append(name)

    def play(self) -> JsonObject:
        """All steps, one after the other."""
        groups = []
        for number, step in enumerate(self.case["steps"]):
            while self.up and next_consumer_deadline(self.c) <= step["at_ms"]:
                self.now = max(self.now, min(int(next_consumer_deadline(self.c)), step["at_ms"]))
                if not expire_next_consumer(self.c, int(self.store_error), step["at_ms"]):
                    break
                self._follow_members()
            self.now = step["at_ms"]
            self._carry_out(number, step)
            self._follow_members()
            groups.append(self._group())
        return {"id": self.case["id"], "answers": self.answers, "groups": groups}

    # ---- Steps

    def _carry_out(self, number: int, step: JsonObject) -> None:
        match step["request"]:
            case "topics":
                self._see_topics(step["image"])
            case "fail_store":
                self.store_error = Errors[step["error"]]
            case "unload":
                self.up = False
            case "load":
                load_consumer_group(self.c, self.now)
                self.up = True
            case "commit":
                self._commit(number, step)
            case "consumer_heartbeat":
                self._heartbeat(number, step)

    def _see_topics(self, image: list[list[Any]]) -> None:
        counts = {name: count for name, _, count in image}
        for k, name in enumerate(self.topic_names):
            see_topic(self.c, k, name in counts, counts.get(name, 0))

    def _memory(self, step: JsonObject) -> _Remembered:
        return self.remembered.setdefault(step["member"], _Remembered())

    def _epoch(self, step: JsonObject) -> int:
        memory = self._memory(step)
        told = step["member_epoch"]
        named = {"next": memory.epoch, "before": memory.epoch_before, "ahead": memory.epoch + 1}
        return int(named.get(told, told) if isinstance(told, str) else told)

    def _owned(self, step: JsonObject) -> int:
        told = step.get("owned")
        if told is None:
            return NONE
        if isinstance(told, str):
            assigned = self._memory(step).assigned if self._epoch(step) != JOIN_EPOCH else []
            told = assigned[1:] if told == "but_one" else assigned
        return self._row([self._partition(topic, p) for topic, p in told]) if told else NOTHING

    def _row(self, partitions: list[int]) -> int:
        row, start = self.listed_rows, self.first_listed[self.listed_rows]
        self.listed[start : start + len(partitions)] = partitions
        self.first_listed[row + 1] = start + len(partitions)
        self.listed_rows += 1
        return row

    def _partition(self, topic: str, p: int) -> int:
        if topic not in self.topic_names or p >= MOST_PARTITIONS:
            return NONE
        return self.topic_names.index(topic) * MOST_PARTITIONS + p

    def _name(self, p: int) -> list[Any]:
        return [self.topic_names[p // MOST_PARTITIONS], p % MOST_PARTITIONS]

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

    def _number(self, name: str) -> int:
        if name not in self.names:
            self.names.append(name)
        return self.names.index(name)

    def _heartbeat(self, number: int, step: JsonObject) -> None:
        assignor, instance = step.get("server_assignor"), step.get("instance_id")
        if instance is not None and instance not in self.instances:
            self.instances.append(instance)
        request = Heartbeat(
            number,
            self._number(step["member"]),
            self._epoch(step),
            NONE if instance is None else self.instances.index(instance),
            0,
            java_hash(Strings.of([step["member"]]), 0),
            step.get("rebalance_timeout_ms", NONE),
            self._subscription(step.get("subscription")),
            NONE if assignor is None else ASSIGNORS.index(assignor) if assignor in ASSIGNORS else UNSUPPORTED,
            self._owned(step),
        )
        if not self.up:
            error = Errors(form_error(self.c, request))
            self._tell_heartbeat(number, step, Errors.NOT_COORDINATOR if error == Errors.NONE else error)
            return
        consumer_heartbeat(self.c, request, int(self.store_error), self.now)
        if self.c.group.target_due:
            self._assign()
            finish_target(self.c, self.now)
        answer = self.c.answers[0]
        assert self.c.answered[0].value == 1
        self.c.answered[0].value = 0
        assert answer.request == number
        self._tell_heartbeat(number, step, Errors(answer.error), answer)

    def _tell_heartbeat(self, number: int, step: JsonObject, error: Errors, answer: ModernAnswer | None = None) -> None:
        member, epoch, interval, assigned = None, 0, 0, None
        if answer is not None and error == Errors.NONE:
            member, epoch = self.names[answer.member], int(answer.epoch)
            if epoch >= 0:
                interval = self.c.config.group_consumer_heartbeat_interval_ms
            if answer.has_assignment:
                assigned = self._listed(int(answer.member), False)
        memory = self._memory(step)
        if error.name in _FENCED or epoch < 0:
            memory.epoch_before, memory.epoch, memory.assigned = memory.epoch, 0, []
        elif error == Errors.NONE:
            if epoch != memory.epoch:
                memory.epoch_before = memory.epoch
            memory.epoch = epoch
            memory.assigned = memory.assigned if assigned is None else assigned
        self._tell(number, error, member=member, epoch=epoch, interval_ms=interval, assigned=assigned)

    def _commit(self, number: int, step: JsonObject) -> None:
        topic, p, _ = step["offsets"][0]
        if self.up:
            member, partition = self._number(step["member"]), self._partition(topic, p)
            error = Errors(consumer_commit_error(self.c, member, self._epoch(step), partition))
        else:
            error = Errors.NOT_COORDINATOR
        self._tell(number, error, errors=[[topic, p, error.name]])

    def _tell(self, step: int, error: Errors, **more: Any) -> None:
        self.answers.append({"step": step, "at_ms": self.now, "error": error.name, **more})

    # ---- Target assignments

    def _follow_members(self) -> None:
        known = [name for k, name in enumerate(self.names) if k < self.c.group.made and self.c.members[k].known]
        self.member_map.names = [name for name in self.member_map.names if name in known]
        for name in known:
            if name not in self.member_map.names:
                self.member_map.put(name)

    def _map_order(self) -> list[str]:
        """The members in the order of the coordinator's map, before who asks is put into it."""
        return self.member_map.order() if self.member_map.names else []

    def _in_order(self) -> list[str]:
        """The members in the order in which the assignor is given them (``TargetAssignmentBuilder``)."""
        put = self._map_order()
        asking = self.names[self.c.group.asking]
        if asking not in put:
            put.append(asking)
        hashes = java_hashes(Strings.of(put))
        order = java_order(hashes, np.arange(len(put), dtype=np.int32), java_table_size(len(put)))
        return [put[k] for k in order if self.c.members[self.names.index(put[k])].known]

    def _assign(self) -> None:
        members = self._in_order()
        numbers = [self.names.index(name) for name in members]
        groups, topics = self._groups(members, numbers), self._topics()
        order: Ints32 = np.arange(len(members), dtype=np.int32)
        wished = preferred_assignor(self.c)
        if ASSIGNORS[max(wished, 0)] == "uniform":
            made = assign_in_order(groups, topics, order, True).assignments
        else:
            made = server_range.assign(groups, topics, kafka_version("4.3")).assignments
        begin_target(self.c)
        for k, number in enumerate(numbers):
            low, high = made.offsets[k], made.offsets[k + 1]
            pairs = zip(made.topics[low:high], made.partitions[low:high], strict=True)
            give_target(self.c, number, self._row([int(t) * MOST_PARTITIONS + int(p) for t, p in pairs]))

    def _groups(self, members: list[str], numbers: list[int]) -> Groups:
        ids = Strings.of(members)
        instances = [int(self.c.members[m].instance) for m in numbers]
        subscribed = [sorted(self.subscriptions[self.c.members[m].subscription]) for m in numbers]
        owned = [self._targets(m) for m in numbers]
        sort_ids = [name if i == NONE else self.instances[i] for name, i in zip(members, instances, strict=True)]
        return Groups(
            np.array([0, len(members)], np.int32),
            ids,
            java_hashes(ids),
            np.array([int(instance == NONE) for instance in instances], np.int64),
            Strings.of(sort_ids),
            np.full(len(members), NO_RACK, np.int32),
            np.cumsum([0, *map(len, subscribed)]).astype(np.int32),
            np.array([self.topic_names.index(name) for names in subscribed for name in names], np.int32),
            Assignments(
                np.cumsum([0, *map(len, owned)]).astype(np.int32),
                np.array([p // MOST_PARTITIONS for listed in owned for p in listed], np.int32),
                np.array([p % MOST_PARTITIONS for listed in owned for p in listed], np.int32),
            ),
            np.full(len(members), NO_GENERATION, np.int64),
        )

    def _topics(self) -> Topics:
        names = Strings.of(self.topic_names)
        ids = [_uuid(self.topic_ids.get(name, _NO_ID)) for name in self.topic_names]
        counts = [self.c.topics[k].partitions if self.c.topics[k].exists else -1 for k in range(len(self.topic_names))]
        return Topics(
            np.array(counts, np.int32),
            java_hashes(names),
            np.argsort(np.argsort(self.topic_names)),
            np.zeros(len(counts) + 1, np.int32),
            np.zeros(1, np.int32),
            np.zeros(0, np.int32),
            np.array(ids, np.int64),
        )

    def _targets(self, member: int) -> list[int]:
        return [int(p) for p in np.flatnonzero(self._column("target") == member)]

    # ---- What is told

    def _listed(self, member: int, pending: bool) -> list[list[Any]]:
        owned = np.flatnonzero(self._column("owner") == member)
        chosen = owned[self._column("pending_revocation")[owned] == pending]
        return sorted(self._name(int(p)) for p in chosen)

    def _column(self, name: str) -> np.ndarray:
        return np.asarray(cast(Any, self.c.partitions)[name])

    def _group(self) -> JsonObject | None:
        group = self.c.group
        if not group.exists or not self.up:
            return None
        members = [m for m in range(group.made) if self.c.members[m].known]
        return {
            "state": _STATES[ConsumerGroupState(group.state)],
            "group_epoch": int(group.epoch),
            "target_epoch": int(group.target_epoch),
            "members": [self._member(m) for m in sorted(members, key=lambda m: self.names[m])],
        }

    def _member(self, number: int) -> JsonObject:
        member = self.c.members[number]
        told: JsonObject = {"member": self.names[number]}
        if member.instance != NONE:
            told["instance_id"] = self.instances[member.instance]
        told |= {
            "epoch": int(member.epoch),
            "previous_epoch": int(member.previous_epoch),
            "state": ModernMemberState(member.state).name,
            "assigned": self._listed(number, False),
        }
        pending = self._listed(number, True)
        return told | ({"pending_revocation": pending} if pending else {}) | self._more(number)

    def _more(self, number: int) -> JsonObject:
        """What is told of a member beside."""
        return {}
