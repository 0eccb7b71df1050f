"""Share groups over time: the coordinator's maps and records between two target assignments."""

from collections.abc import Sequence

import numpy as np

from rebalance_sim.kafka.assignors.server.simple import assign_in_order
from rebalance_sim.kafka.assignors.server.specification import specification_order
from rebalance_sim.releases import ShareRules
from tests.support.arrays import in_map_order
from tests.support.batches import ERRORS, Batch
from tests.support.cases import Answer, JsonObject, group_of, uuid_halves
from tests.support.java import java_hash, java_key, signed
from tests.support.model import Cluster, Group, Member, Partition

_GOLDEN_RATIO = -7046029254386353131
"""The multiplier of ``BaseHashTable.findSlot``."""


class TimelineMap:
    """A coordinator's map of members (``TimelineHashMap``), which never shrinks."""

    def __init__(self) -> None:
        self._slots: list[list[str]] = [[], []]

    def keys(self) -> list[str]:
        """Return the keys in order of iteration."""
        return [key for slot in self._slots for key in reversed(slot)]

    def put(self, key: str) -> None:
        keys = [each for slot in self._slots for each in slot]
        if (len(keys) + 1) * 0.75 > len(self._slots):
            self._slots = [[] for _ in range(2 * len(self._slots))]
            for each in keys:
                self._slot(each).append(each)
        if key not in self._slot(key):
            self._slot(key).append(key)

    def remove(self, key: str) -> None:
        self._slot(key).remove(key)

    def _slot(self, key: str) -> list[str]:
        bits = len(self._slots).bit_length() - 1
        return self._slots[(signed(java_hash(key)) * _GOLDEN_RATIO & (1 << 64) - 1) >> (64 - bits)]


Target = dict[str, list[Partition]]


class SharePlayer:
    """Plays a case of ``cases-share``: what one step answers is the target before the next."""

    def __init__(self, case: JsonObject) -> None:
        self._steps: list[JsonObject] = case["steps"]
        self._members = TimelineMap()
        self._targets: dict[str, list[tuple[str, int]]] = {}
        """By member: topic ids, or the names of topics without one, and partitions, in the order of its record."""
        self.answers: list[JsonObject] = []

    def goes_on(self, step: int) -> bool:
        """Return whether there is a step, and no step before has failed."""
        return step < len(self._steps) and not any("error" in answer for answer in self.answers)

    @staticmethod
    def play_all(players: Sequence["SharePlayer"], step: int, rules: ShareRules) -> None:
        """Take a step of many cases."""
        batch = Batch([player._group(step) for player in players])
        order = np.arange(len(batch.arrays.member_racks), dtype=np.int32)
        uninitialized = batch.by_groups([player._uninitialized(step) for player in players])
        outcome = assign_in_order(batch.arrays, batch.topics, order, uninitialized, rules)
        for player, lists, error in zip(players, batch.lists(outcome.assignments), outcome.errors, strict=True):
            player._answer(step, {"error": ERRORS[error]} if error else lists)

    def _group(self, step: int) -> Group:
        """Return the group as the assignor sees it: members in the order of a HashMap filled from the coordinator's."""
        now = self._steps[step]
        subscriptions: dict[str, list[str]] = dict(now["members"])
        if step == 0:
            ids = {name: topic["id"] for name, topic in now["topics"].items()}
            for member_id in subscriptions:
                self._members.put(member_id)
            for member_id, target in now.get("previous", {}).items():
                self._targets[member_id] = [(ids.get(t, t), p) for t, listed in target.items() for p in listed]
        for gone in set(self._members.keys()) - subscriptions.keys():
            self._members.remove(gone)
        joined = self._members.keys()
        new = [now["heartbeat"]] if now["heartbeat"] not in joined else []
        names = {topic["id"]: name for name, topic in now["topics"].items()}
        ids = {name: uuid_halves(topic["id"]) for name, topic in now["topics"].items()}
        members = [
            Member(
                member_id,
                tuple(subscriptions[member_id]),
                owned=tuple(Partition(names.get(t, t), p) for t, p in self._targets.get(member_id, ())),
            )
            for member_id in in_map_order([*joined, *new])
        ]
        gone_ids = {p.topic: uuid_halves(p.topic) for m in members for p in m.owned if p.topic not in now["topics"]}
        return Group(
            tuple(members),
            Cluster({name: topic["partitions"] for name, topic in now["topics"].items()}, {}, ids | gone_ids),
        )

    def _uninitialized(self, step: int) -> list[Partition]:
        """Return the partitions that cannot be assigned yet."""
        return [
            Partition(name, number)
            for name, topic in self._steps[step]["topics"].items()
            for number in range(topic["partitions"])
            if "assignable" in topic and number not in topic["assignable"]
        ]

    def _answer(self, step: int, given: Target | JsonObject) -> None:
        """Note a target, and apply its records: of members whose partitions have changed."""
        if "error" in given:
            self.answers.append(dict(given))
            return
        topics = self._steps[step]["topics"]
        answer: JsonObject = {}
        for member_id, partitions in given.items():
            target = [(topics[p.topic]["id"] if p.topic in topics else p.topic, p.number) for p in partitions]
            if set(target) != set(self._targets.get(member_id, ())):
                self._targets[member_id] = target
            answer[member_id] = {}
            for partition in sorted(partitions):
                answer[member_id].setdefault(partition.topic, []).append(partition.number)
        self._targets = {member_id: self._targets.get(member_id, []) for member_id in given}
        self._members.put(self._steps[step]["heartbeat"])
        self.answers.append(answer)


def share_answers(cases: Sequence[JsonObject], rules: ShareRules) -> list[Answer]:
    """Return the answers of the rules to cases in which all members have joined; lists are sorted."""
    batch = Batch([group_of(case) for case in cases])
    closed = batch.by_groups([[Partition(*pair) for pair in case["unavailable"]] for case in cases])
    order = specification_order(batch.arrays)
    outcome = assign_in_order(batch.arrays, batch.topics, order, closed, rules)
    given_by_group = batch.lists(outcome.assignments)
    lists = [{m: sorted(given, key=_in_javas_order) for m, given in group.items()} for group in given_by_group]
    return [ERRORS[error] if error else given for given, error in zip(lists, outcome.errors, strict=True)]


def _in_javas_order(partition: Partition) -> tuple[bytes, int]:
    return java_key(partition.topic), partition.number
