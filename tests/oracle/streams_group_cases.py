"""
Random conversations with the coordinator about a streams group (KIP-1071).

Members choose their ids, of which no two share a bucket of a hash map, and so do processes. They follow what they were
answered ("next", "assigned") or do not. Topics appear and grow, with their changelogs or without.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass

from tests.oracle.conversation import HeartbeatConversation, conversations
from tests.oracle.oracle import JsonObject

_SOURCES = ("orders", "payments", "clicks")
_CHANGELOGS = ("totals-changelog", "joins-changelog")
_NAMES = (*_SOURCES, *_CHANGELOGS)
_MOST_IDS = 10
"""More would share buckets: the ids are a letter and a digit."""


@dataclass
class _Member:
    name: str
    process: str
    instance_id: str | None = None


class _Conversation(HeartbeatConversation[_Member]):
    _SECONDS_MS = (999, 1000, 1000, 1001, 2999, 3000, 3001)
    _SETTINGS: Mapping[str, tuple[int | None, ...]] = {
        "assignment_interval_ms": (None, None, 0, 3000, 15_000),
        "initial_rebalance_delay_ms": (None, None, 0, 0, 7000),
        "num_standby_replicas": (None, None, 1, 1, 2),
    }
    _LONGEST = 50

    def __init__(self, rng: random.Random) -> None:
        super().__init__(rng, _NAMES)
        self._topology = self._new_topology(rng.choice((0, 0, 0, 1)))
        self._partitions = {name: rng.randint(1, 6) for name in _SOURCES[: rng.choice((3, 3, 3, 3, 2))]}
        if rng.random() < 0.95:
            self._grow_changelogs()
        self._faulty = rng.choice((0.0, 0.03, 0.1, 0.25))
        self._static = rng.choice((0.0, 0.0, 0.0, 0.0, 0.6))
        self._most_members = rng.choice((2, 3, 5, 8))
        self._processes = [f"p{i}" for i in range(rng.randint(1, self._most_members))]
        self._reports = rng.choice((0.0, 0.0, 0.0, 0.3))

    def _new_topology(self, epoch: int) -> JsonObject:
        rng = self._rng
        parts = {}
        changelogs = list(_CHANGELOGS)
        for number in range(rng.choice((1, 2, 2, 3))):
            sources = sorted(rng.sample(_SOURCES, rng.choice((1, 1, 2))))
            has_state = bool(changelogs) and rng.random() < 0.6
            parts[str(number)] = {"sources": sources, "changelogs": [changelogs.pop()] if has_state else []}
        return {"epoch": epoch, "subtopologies": parts}

    def _grow_changelogs(self) -> None:
        """Give changelogs as many partitions as their subtopologies have tasks, unless they have more."""
        for part in self._topology["subtopologies"].values():
            for name in part["changelogs"]:
                tasks = max(self._partitions.get(source, 1) for source in part["sources"])
                self._partitions[name] = max(tasks, self._partitions.get(name, 0))

    def _act(self) -> None:
        rng = self._rng
        if not self._members:
            self._start()
        elif rng.random() < self._faulty:
            rng.choice((self._wrong_epoch, self._wrong_form, self._stranger, self._rejoin, self._other_topology))()
        else:
            weights = {
                self._start: 14 if len(self._members) < self._most_members else 2,
                self._beat: 20,
                self._beat_all: 30,
                self._silent: 8,
                self._stop: 8,
                self._forget: 2,
                self._restart: 6,
                self._change_member: 3,
                self._change_topics: 5,
                self._tick: 2,
            }
            self._do_one_of(weights)

    def _change_topics(self) -> None:
        rng = self._rng
        new = [name for name in _SOURCES if name not in self._partitions]
        if new and rng.random() < 0.6:
            self._partitions[rng.choice(new)] = rng.randint(1, 6)
        else:
            self._partitions[rng.choice(list(self._partitions))] += rng.randint(0, 3)
        if rng.random() < 0.7:
            self._grow_changelogs()
        self._add_topics()

    def _heartbeat(self, member: _Member, epoch: int | str, **fields: object) -> None:
        if member.instance_id is not None:
            fields["instance_id"] = member.instance_id
        if self._rng.random() < self._reports and epoch != -1:
            fields["task_offsets"] = self._offsets()
        self._add(request="streams_heartbeat", member=member.name, member_epoch=epoch, **fields)

    def _offsets(self) -> list[list[object]]:
        rng = self._rng
        tasks = [(name, p) for name in self._topology["subtopologies"] for p in range(6)]
        return [[*task, rng.randint(0, 1000)] for task in rng.sample(tasks, rng.randint(0, len(tasks)))]

    def _join(self, member: _Member, **fields: object) -> None:
        self._heartbeat(member, 0, **(self._told(member) | {"owned": []} | fields))

    def _told(self, member: _Member) -> JsonObject:
        """Return what a member says of itself when it joins."""
        return {
            "process_id": member.process,
            "rebalance_timeout_ms": self._rng.choice((2000, 8000, 60_000, 300_000)),
            "topology": self._topology,
        }

    def _next(self, member: _Member, **fields: object) -> None:
        """Send the next heartbeat of a member, which joins again if it has been fenced."""
        self._heartbeat(member, "next", only_joining=True, **self._told(member), **fields)

    def _start(self) -> None:
        rng = self._rng
        if self._gone and (rng.random() < 0.2 or self._started == _MOST_IDS):
            member = self._gone.pop(rng.randrange(len(self._gone)))
        elif self._started < _MOST_IDS:
            instance = f"i{rng.randint(0, 3)}" if rng.random() < self._static else None
            member = _Member(f"m{self._started}", rng.choice(self._processes), instance)
            self._started += 1
        else:
            return self._beat()
        self._join(member)
        self._members.append(member)
        return None

    def _beat(self) -> None:
        self._next(self._any(), owned="assigned")

    def _beat_all(self) -> None:
        for member in self._members:
            if self._rng.random() < 0.4:
                self._now_ms += self._rng.randint(0, 400)
            self._next(member, owned="assigned")

    def _silent(self) -> None:
        """A heartbeat that does not say what the member owns."""
        self._next(self._any())

    def _stop(self) -> None:
        member = self._lose()
        is_back = member.instance_id is not None and self._rng.random() < 0.7
        self._heartbeat(member, -2 if is_back else -1)

    def _restart(self) -> None:
        """A process stops and is back under another member id, or the same one."""
        rng, member = self._rng, self._any()
        self._heartbeat(member, -1 if member.instance_id is None else -2)
        self._pass_time()
        self._members.remove(member)
        if self._started < _MOST_IDS and rng.random() < 0.7:
            self._gone.append(member)
            process = member.process if rng.random() < 0.8 else rng.choice(self._processes)
            member = _Member(f"m{self._started}", process, member.instance_id)
            self._started += 1
        self._join(member)
        self._members.append(member)

    def _change_member(self) -> None:
        """A member changes what only a new one does in practice."""
        rng, member = self._rng, self._any()
        if rng.random() < 0.5:
            member.process = rng.choice(self._processes)
            self._heartbeat(member, "next", owned="assigned", process_id=member.process)
        else:
            self._heartbeat(member, "next", rebalance_timeout_ms=rng.choice((1000, 8000)))

    # --- what members do not do

    def _wrong_epoch(self) -> None:
        owned: JsonObject = self._rng.choice(({}, {"owned": "assigned"}, {"owned": "but_one"}))
        self._heartbeat(self._any(), self._rng.choice(("before", "before", "ahead", self._rng.randint(1, 8))), **owned)

    def _wrong_form(self) -> None:
        member, wrong = self._any(), [["active 0", self._rng.randint(0, 9)]]
        forms: tuple[tuple[int | str, JsonObject], ...] = (
            (0, {"process_id": "p0", "rebalance_timeout_ms": 8000}),
            (0, {"process_id": "p0", "topology": self._topology}),
            (0, {"process_id": "p0", "topology": self._topology, "rebalance_timeout_ms": 8000, "owned": wrong}),
            ("next", {"topology": self._topology}),
            ("next", {"owned": wrong}),
            ("next", {"owned": "but_one"}),
            (-3, {}),
            (-2, {}),
        )
        epoch, fields = self._rng.choice(forms)
        self._heartbeat(member, epoch, **fields)

    def _stranger(self) -> None:
        rng = self._rng
        stranger = rng.choice((*self._gone, _Member("nobody", "p0"), _Member("nobody", "p0", f"i{rng.randint(0, 3)}")))
        self._heartbeat(stranger, rng.choice((1, -1, -2, 3)), owned=[])

    def _rejoin(self) -> None:
        """A member that is known joins again, as after a restart with the same id."""
        self._join(self._any())

    def _other_topology(self) -> None:
        other = self._topology | {"epoch": self._rng.randint(0, 2)}
        if self._rng.random() < 0.3:
            other = self._new_topology(other["epoch"])
        self._join(self._any(), topology=other)


streams_group_cases = conversations("streams-group", _Conversation)
"""Conversations for Kafka 4.2 and later."""
