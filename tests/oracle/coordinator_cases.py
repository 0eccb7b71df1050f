"""
Random conversations with a group coordinator: joins, syncs, heartbeats, leaves, commits, time, a log that fails.

The generator keeps a rough idea of the group (which ids were made, who is parked, the generation), so that about half
of all requests are such as a well-behaved consumer would send next; the others are wrong in one way or another.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

from tests.oracle.conversation import Conversation
from tests.oracle.oracle import VERSIONS, JsonObject

_PROTOCOLS = ("range", "roundrobin", "sticky", "cooperative-sticky")
_INSTANCES = ("i0", "i1", "i2")
_TOPICS = ("t", "u")
_STORE_ERRORS = (
    "NOT_ENOUGH_REPLICAS",
    "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
    "UNKNOWN_TOPIC_OR_PARTITION",
    "REQUEST_TIMED_OUT",
    "NOT_LEADER_OR_FOLLOWER",
    "KAFKA_STORAGE_ERROR",
    "MESSAGE_TOO_LARGE",
    "RECORD_LIST_TOO_LARGE",
    "INVALID_FETCH_SIZE",
    "CORRUPT_MESSAGE",
)
_OLDER_NAMES = {"NOT_LEADER_OR_FOLLOWER": "NOT_LEADER_FOR_PARTITION"}
_HOUR_MS = 3_600_000
_LONGEST_GARBAGE = 5
"""Longer texts that are no subscription make Kafka's parser fail in another way than it expects."""


def coordinator_cases(version: str, seed: int, count: int) -> Iterator[JsonObject]:
    """Conversations with nothing in them that Kafka `version` does not know."""
    rng = random.Random(f"{version} {seed}")
    return (_Conversation(rng, version).case(f"k{version}-{seed}-{i}") for i in range(count))


def as_known_to(release: str, case: JsonObject) -> JsonObject:
    """Return a case for 3.9 as an earlier release since 2.4 knows it: without fields of later requests."""
    numbers = tuple(map(int, release.split(".")))
    later: dict[str, set[str]] = {"join": set(), "sync": set()}
    if numbers < (3, 2):
        later["join"] = {"supports_skipping_assignment"}
    if numbers < (2, 5):
        later["sync"] = {"protocol_type", "protocol"}
    older_names = _OLDER_NAMES if numbers < (2, 6) else {}
    steps = []
    for step in case["steps"]:
        known = {name: value for name, value in step.items() if name not in later.get(step["request"], ())}
        if "error" in known:
            known["error"] = older_names.get(known["error"], known["error"])
        steps.append(known)
    return {**case, "steps": steps}


def subscription(topics: list[str]) -> str:
    """The text whose bytes are a version 0 subscription to topics, with no user data."""
    names = "".join(f"\0{chr(len(topic))}{topic}" for topic in topics)
    return f"\0\0\0\0\0{chr(len(topics))}{names}\0\0\0\0"


@dataclass
class _Member:
    number: int
    instance_id: str | None
    protocols: list[list[str]]
    session_timeout_ms: int
    rebalance_timeout_ms: int
    seen_ms: int
    parked: bool = True
    synced: bool = False


@dataclass
class _Group:
    """What the generator believes of the group; it need not be right."""

    delay_ms: int
    phase: str = "Empty"
    generation: int = 0
    members: list[_Member] = field(default_factory=list)
    pending: list[_Member] = field(default_factory=list)
    gone: list[tuple[int, str | None]] = field(default_factory=list)
    leader: int | None = None
    ends_ms: int = 0
    remaining_ms: int = 0
    initial: bool = False
    came_later: bool = False

    def admit(self, member: _Member, now_ms: int) -> None:
        self.members.append(member)
        self.came_later = self.phase == "PreparingRebalance"
        if self.leader is None:
            self.leader = member.number
        self.prepare(now_ms)

    def prepare(self, now_ms: int) -> None:
        if self.phase == "PreparingRebalance":
            return
        self.initial = self.phase == "Empty"
        longest = self._longest_ms()
        self.remaining_ms = max(longest - self.delay_ms, 0)
        self.ends_ms = now_ms + (self.delay_ms if self.initial else longest)
        self.phase = "PreparingRebalance"

    def remove(self, member: _Member, now_ms: int) -> None:
        self.members.remove(member)
        self.gone.append((member.number, member.instance_id))
        if self.phase in ("CompletingRebalance", "Stable"):
            self.prepare(now_ms)

    def synced(self, member: _Member, now_ms: int, stored: bool) -> None:
        if self.phase not in ("CompletingRebalance", "Stable"):
            return
        member.synced = True
        member.seen_ms = now_ms
        if member.number == self.leader and stored:
            self.phase = "Stable"

    def settle(self, now_ms: int) -> None:
        """What time does to the group, one deadline after the other, and members who have all joined."""
        while True:
            everyone = all(member.parked for member in self.members) and not self.pending
            if self.phase == "PreparingRebalance" and not self.initial and everyone:
                self._complete(now_ms)
                continue
            deadlines = self._deadlines()
            at_ms, expire = min(deadlines, key=lambda deadline: deadline[0], default=(now_ms + 1, self._end_join))
            if at_ms > now_ms:
                return
            expire(at_ms)

    def _deadlines(self) -> list[tuple[int, Callable[[int], None]]]:
        deadlines: list[tuple[int, Callable[[int], None]]] = []
        if self.phase == "PreparingRebalance":
            deadlines.append((self.ends_ms, self._end_join))
        for member in self.members:
            if not member.parked:
                deadlines.append((member.seen_ms + member.session_timeout_ms, partial(self.remove, member)))
            if self.phase == "CompletingRebalance" and not member.synced:
                deadlines.append((self.ends_ms + self._longest_ms(), partial(self.remove, member)))
        for member in self.pending:
            deadlines.append((member.seen_ms + member.session_timeout_ms, partial(self._forget_pending, member)))
        return deadlines

    def _longest_ms(self) -> int:
        return max((member.rebalance_timeout_ms for member in self.members), default=0)

    def _forget_pending(self, member: _Member, _: int) -> None:
        self.pending.remove(member)
        self.gone.append((member.number, None))

    def _end_join(self, at_ms: int) -> None:
        if self.initial and self.came_later and self.remaining_ms > 0:
            self.came_later = False
            wait_ms = min(self.delay_ms, self.remaining_ms)
            self.remaining_ms -= wait_ms
            self.ends_ms = at_ms + max(wait_ms, 1)
            return
        self._complete(at_ms)

    def _complete(self, at_ms: int) -> None:
        for member in [m for m in self.members if not m.parked and m.instance_id is None]:
            self.remove(member, at_ms)
        for member in self.members:
            member.parked = member.synced = False
            member.seen_ms = at_ms
        self.generation += 1
        self.ends_ms = at_ms
        self.phase = "CompletingRebalance" if self.members else "Empty"
        if self.leader not in [member.number for member in self.members]:
            self.leader = self.members[0].number if self.members else None


class _Conversation(Conversation):
    def __init__(self, rng: random.Random, version: str) -> None:
        super().__init__(rng)
        age = VERSIONS.index(version)
        self._knows_static = self._knows_pending = self._knows_max_size = age >= VERSIONS.index("2.3")
        self._knows_batches = self._knows_protocol_of_sync = age >= VERSIONS.index("3.9")
        self._older_names = _OLDER_NAMES if age < VERSIONS.index("3.9") else {}
        self._group = _Group(delay_ms=rng.choice((3000, 3000, 0, 1000)))
        self._made = 0
        self._config: JsonObject = {}
        self._held = False
        self._check_is_due = False
        self._share_of_static = rng.choice((0.0, 0.0, 0.3, 0.8)) if self._knows_static else 0.0
        self._requires_known = self._knows_pending and rng.random() < 0.4
        self._skips = self._knows_batches and rng.random() < 0.5
        self._faulty = rng.choice((0.05, 0.2, 0.4))
        self._store_troubles = rng.choice((0.0, 0.0, 0.0, 0.05, 0.12))
        self._offers = rng.sample(_PROTOCOLS, rng.randint(1, 4))
        self._garbage = rng.random() < 0.5

    def case(self, case_id: str) -> JsonObject:
        self._configure()
        for _ in range(self._rng.choice((self._rng.randint(3, 12), self._rng.randint(12, 45)))):
            self._pass_time()
            self._act()
            self._group.settle(self._now_ms)
        return self._finished(case_id, self._config)

    def _configure(self) -> None:
        rng = self._rng
        if self._group.delay_ms != 3000:
            self._config["initial_rebalance_delay_ms"] = self._group.delay_ms
        self._most_members = 1000
        if self._knows_max_size and rng.random() < 0.12:
            self._most_members = self._config["group_max_size"] = rng.randint(1, 3)
        if rng.random() < 0.05:
            self._config |= {"min_session_timeout_ms": 8000, "max_session_timeout_ms": 20_000}

    # --- time

    def _pass_time(self) -> None:
        rng = self._rng
        group = self._group
        to_an_end = 45 if group.phase == "PreparingRebalance" and group.initial else 10
        kind = rng.choices(("none", "short", "to an end", "long", "days"), weights=(50, 35, to_an_end, 5, 1))[0]
        gap = 0
        match kind:
            case "short":
                gap = rng.choice((1, 2, rng.randint(1, 100), rng.randint(100, 2500)))
            case "to an end":
                gap = self._to_an_end() + rng.choice((-1, 0, 0, 1))
            case "long":
                gap = rng.choice((3000, 6000, 10_000, 60_000, rng.randint(1, 90_000), 300_000))
            case "days":
                self._commit()
                gap = rng.choice((25, 24 * 7, 24 * 8)) * _HOUR_MS
                self._check_is_due = True
        if gap <= 0:
            return
        if kind in ("long", "to an end") and group.phase == "Stable" and rng.random() < 0.6:
            self._heartbeats()
        self._now_ms += gap
        group.settle(self._now_ms)

    def _to_an_end(self) -> int:
        """The time that is left until a deadline of the group."""
        group = self._group
        ends = [member.seen_ms + member.session_timeout_ms for member in group.members + group.pending]
        if group.phase == "PreparingRebalance":
            ends += [group.ends_ms] * 3
        if group.phase == "CompletingRebalance":
            ends += [m.seen_ms + m.rebalance_timeout_ms for m in group.members]
        return max(self._rng.choice(ends) - self._now_ms, 0) if ends else self._rng.choice((1, 3000))

    # --- what happens next

    def _act(self) -> None:
        rng = self._rng
        if rng.random() < self._store_troubles:
            self._trouble_store()
        elif self._held and rng.random() < 0.3:
            self._finish_store()
        elif rng.random() < (0.4 if self._check_is_due else 0.02):
            self._check_offsets()
        elif rng.random() < 0.01:
            self._move_partition()
        elif rng.random() < self._faulty:
            rng.choice((self._wrong_join, self._wrong_sync, self._wrong_heartbeat, self._wrong_commit, self._leave))()
        else:
            self._next_of_phase()()

    def _next_of_phase(self) -> Callable[[], None]:
        match self._group.phase:
            case "Empty":
                choices = {
                    self._join_new: 80,
                    self._commit_simple: 8,
                    self._fetch: 4,
                    self._add_tick: 3,
                    self._wrong_join: 5,
                }
            case "PreparingRebalance":
                choices = {
                    self._rejoin: 60,
                    self._join_new: 18,
                    self._heartbeats: 8,
                    self._commit: 8,
                    self._leave: 6,
                    self._add_tick: 12,
                    self._fetch: 2,
                    self._sync_one: 2,
                }
            case "CompletingRebalance":
                choices = {
                    self._sync_all: 50,
                    self._sync_one: 25,
                    self._heartbeats: 8,
                    self._rejoin: 8,
                    self._join_new: 8,
                    self._commit: 8,
                    self._leave: 6,
                    self._add_tick: 7,
                }
            case _:
                choices = {
                    self._heartbeats: 24,
                    self._commit: 18,
                    self._fetch: 8,
                    self._sync_one: 8,
                    self._rejoin: 14,
                    self._join_new: 9,
                    self._replace: 14,
                    self._leave: 6,
                    self._add_tick: 4,
                }
        return self._rng.choices(list(choices), weights=list(choices.values()))[0]

    def _add_tick(self) -> None:
        self._add(request="tick")

    # --- joins

    def _protocols(self) -> list[list[str]]:
        rng = self._rng
        names = list(self._offers)
        if rng.random() < 0.5:
            rng.shuffle(names)
        if len(names) > 1 and rng.random() < 0.2:
            # The first one stays, so that all have one in common.
            names = [name for name in names if name == self._offers[0] or rng.random() < 0.6]
        return [[name, self._metadata()] for name in names]

    def _metadata(self) -> str:
        rng = self._rng
        if self._garbage:
            return "".join(rng.choices("abc", k=rng.randint(0, _LONGEST_GARBAGE)))
        return subscription(rng.choice((["t"], ["t"], ["u"], ["t", "u"], [])))

    def _new_member(self, instance_id: str | None) -> _Member:
        rng = self._rng
        return _Member(
            number=self._made,
            instance_id=instance_id,
            protocols=self._protocols(),
            session_timeout_ms=rng.choice((10_000, 10_000, 8000, 20_000, 45_000)),
            rebalance_timeout_ms=rng.choice((60_000, 60_000, 5000, 15_000, 300_000)),
            seen_ms=self._now_ms,
        )

    def _join_step(self, member: int | str, of: _Member, **others: object) -> None:
        rng = self._rng
        step: JsonObject = {"request": "join", "member": member, "protocols": of.protocols}
        if of.instance_id is not None:
            step["instance_id"] = of.instance_id
        if of.session_timeout_ms != 10_000:
            step["session_timeout_ms"] = of.session_timeout_ms
        if of.rebalance_timeout_ms != 60_000:
            step["rebalance_timeout_ms"] = of.rebalance_timeout_ms
        if self._requires_known:
            step["requires_known_member_id"] = True
        if self._skips and (self._requires_known or of.instance_id is not None):
            step["supports_skipping_assignment"] = True
        if rng.random() < 0.1:
            step["client_id"] = rng.choice(("other", "client-7"))
        self._add(**(step | others))

    def _join_new(self) -> None:
        rng = self._rng
        group = self._group
        if group.pending and rng.random() < 0.7:
            self._join_pending()
            return
        instance_id = rng.choice(_INSTANCES) if rng.random() < self._share_of_static else None
        member = self._new_member(instance_id)
        self._join_step("", member)
        if len([m for m in group.members if m.parked or group.phase != "PreparingRebalance"]) >= self._most_members:
            return
        self._made += 1
        if self._requires_known and instance_id is None:
            group.pending.append(member)
        elif not self._takes_over(member):
            group.admit(member, self._now_ms)

    def _join_pending(self) -> None:
        member = self._group.pending.pop(self._rng.randrange(len(self._group.pending)))
        self._join_step(member.number, member)
        member.seen_ms = self._now_ms
        self._group.admit(member, self._now_ms)

    def _takes_over(self, member: _Member) -> bool:
        """Whether the instance was there before; then its id is another one from now on."""
        for old in self._group.members:
            if old.instance_id is not None and old.instance_id == member.instance_id:
                self._group.gone.append((old.number, old.instance_id))
                if self._group.leader == old.number:
                    self._group.leader = member.number
                old.number = member.number
                old.seen_ms = self._now_ms
                old.parked = self._group.phase == "PreparingRebalance"
                return True
        return False

    def _replace(self) -> None:
        statics = [member for member in self._group.members if member.instance_id is not None]
        if not statics:
            self._heartbeats()
            return
        leaders = [member for member in statics if member.number == self._group.leader]
        old = self._rng.choice(leaders if leaders and self._rng.random() < 0.6 else statics)
        member = self._new_member(old.instance_id)
        if self._rng.random() < 0.7:
            member.protocols = old.protocols
        self._join_step("", member)
        self._made += 1
        self._takes_over(member)

    def _rejoin(self) -> None:
        group = self._group
        waiting = [member for member in group.members if not member.parked]
        if not waiting:
            self._join_new()
            return
        member = self._rng.choice(waiting)
        changed = self._rng.random() < 0.35
        if changed:
            member.protocols = self._protocols()
        self._join_step(member.number, member)
        is_answered = group.phase == "CompletingRebalance" or member.number != group.leader
        if group.phase != "PreparingRebalance" and not changed and is_answered:
            return
        member.parked = True
        group.prepare(self._now_ms)

    def _wrong_join(self) -> None:
        rng = self._rng
        member = self._new_member(rng.choice(_INSTANCES) if rng.random() < self._share_of_static else None)
        ids: list[int | str] = ["", "nobody-has-it", *self._known_numbers()]
        match rng.choice(("type", "protocols", "none", "session", "id", "id", "gone")):
            case "type":
                self._join_step(rng.choice(ids), member, protocol_type=rng.choice(("connect", "")))
            case "protocols":
                member.protocols = [["unheard-of", "m"]]
                self._join_step(rng.choice(ids), member)
            case "none":
                member.protocols = []
                self._join_step(rng.choice(ids), member)
            case "session":
                self._join_step(rng.choice(ids), member, session_timeout_ms=rng.choice((5999, 1, 1_800_001)))
            case "gone":
                number, instance_id = self._gone()
                member.instance_id = instance_id
                self._join_step(number, member)
            case _:
                self._join_step(rng.choice(ids[1:]), member)

    def _known_numbers(self) -> list[int]:
        return [member.number for member in self._group.members + self._group.pending]

    def _gone(self) -> tuple[int | str, str | None]:
        """An id that is gone, or that somebody else has."""
        rng = self._rng
        candidates: list[tuple[int | str, str | None]] = [*self._group.gone[-3:]]
        candidates += [(number, None) for number in range(self._made)]
        if self._knows_static:
            candidates += [(number, rng.choice(_INSTANCES)) for number in self._known_numbers()]
        return rng.choice(candidates) if candidates else ("gone", None)

    # --- the rest of a member's life

    def _identity(self, member: _Member) -> JsonObject:
        named: JsonObject = {"member": member.number}
        if member.instance_id is not None and self._rng.random() < 0.9:
            named["instance_id"] = member.instance_id
        return named

    def _sync_all(self) -> None:
        members = list(self._group.members)
        self._rng.shuffle(members)
        for member in members:
            self._sync(member)
            if self._rng.random() < 0.2:
                self._now_ms += self._rng.randint(0, 50)

    def _sync_one(self) -> None:
        candidates = [member for member in self._group.members if not member.synced] or self._group.members
        if not candidates:
            self._join_new()
            return
        self._sync(self._rng.choice(candidates))

    def _sync(self, member: _Member) -> None:
        group = self._group
        assignments: list[list[object]] = []
        if member.number == group.leader or self._rng.random() < 0.1:
            assignments = [
                [other.number, f"{other.number}@{group.generation}"]
                for other in group.members
                if self._rng.random() < 0.9
            ]
        step = {"request": "sync", **self._identity(member), "generation": group.generation, "assignments": assignments}
        if self._knows_protocol_of_sync and self._rng.random() < 0.15:
            step |= {"protocol_type": self._rng.choice(("consumer", "consumer", "connect"))}
        if self._knows_protocol_of_sync and self._rng.random() < 0.15:
            step |= {"protocol": self._rng.choice((*self._offers, "unheard-of"))}
        self._add(**step)
        group.synced(member, self._now_ms, not self._held)

    def _heartbeats(self) -> None:
        members = self._group.members
        if not members:
            self._join_new()
            return
        beating = members if self._rng.random() < 0.5 else [self._rng.choice(members)]
        for member in beating:
            self._add(request="heartbeat", **self._identity(member), generation=self._group.generation)
            member.seen_ms = self._now_ms

    def _leave(self) -> None:
        rng = self._rng
        group = self._group
        known = group.members + group.pending
        leavers: list[JsonObject] = []
        for _ in range(rng.choice((1, 1, 1, 2, 3)) if self._knows_batches else 1):
            if not known or rng.random() < 0.25:
                number, instance_id = self._gone()
                leavers.append(
                    {"member": rng.choice((number, number, "nobody-has-it", "")), "instance_id": instance_id}
                )
                continue
            member = rng.choice(known)
            leavers.append({"member": member.number, "instance_id": member.instance_id})
            if self._knows_batches and member.instance_id is not None and rng.random() < 0.5:
                leavers[-1]["member"] = ""
            self._forget(member)
            known = group.members + group.pending
        for leaver in leavers:
            if not self._knows_batches or leaver["instance_id"] is None:
                leaver.pop("instance_id")
        self._add(request="leave", members=leavers)

    def _forget(self, member: _Member) -> None:
        group = self._group
        if member in group.pending:
            group.pending.remove(member)
            return
        group.remove(member, self._now_ms)

    def _offsets(self) -> list[list[object]]:
        rng = self._rng
        partitions = {(rng.choice(_TOPICS), rng.randrange(2)) for _ in range(rng.choice((1, 1, 2, 3)))}
        return [[topic, partition, rng.randint(0, 99)] for topic, partition in sorted(partitions)]

    def _commit(self) -> None:
        members = self._group.members
        if not members:
            self._commit_simple()
            return
        member = self._rng.choice(members)
        generation = self._group.generation
        self._add(request="commit", **self._identity(member), generation=generation, offsets=self._offsets())
        member.seen_ms = self._now_ms

    def _commit_simple(self) -> None:
        self._add(request="commit", member="", generation=-1, offsets=self._offsets())

    def _fetch(self) -> None:
        rng = self._rng
        asked = {(rng.choice(_TOPICS), rng.randrange(2)) for _ in range(rng.choice((1, 2, 4)))}
        self._add(request="fetch", topics=[list(partition) for partition in sorted(asked)])

    # --- requests with something wrong

    def _wrong_identity(self) -> JsonObject:
        """Somebody unknown, somebody gone, a fenced or a pending one; or all is well and the generation is not."""
        rng = self._rng
        generation = self._group.generation
        known = self._group.members
        match rng.choice(("unknown", "gone", "pending", "generation", "generation")):
            case "generation" if known:
                others = (generation - 1, generation + 1, 0, -1)
                return self._identity(rng.choice(known)) | {"generation": rng.choice(others)}
            case "pending" if self._group.pending:
                return {"member": rng.choice(self._group.pending).number, "generation": rng.choice((generation, 0, -1))}
            case "gone":
                number, instance_id = self._gone()
                named: JsonObject = {"member": number, "generation": generation}
                return named | ({} if instance_id is None else {"instance_id": instance_id})
            case _:
                return {"member": rng.choice(("", "nobody-has-it")), "generation": rng.choice((generation, -1))}

    def _wrong_sync(self) -> None:
        self._add(request="sync", **self._wrong_identity(), assignments=[])

    def _wrong_heartbeat(self) -> None:
        self._add(request="heartbeat", **self._wrong_identity())

    def _wrong_commit(self) -> None:
        self._add(request="commit", **self._wrong_identity(), offsets=self._offsets())

    # --- the log and the broker

    def _check_offsets(self) -> None:
        """What was committed days ago is looked at in whatever state the group is by then, best in Stable."""
        if self._check_is_due and self._group.phase != "Stable" and self._rng.random() < 0.7:
            self._next_of_phase()()
            return
        self._check_is_due = False
        self._add(request="check_offsets")
        self._add(request="fetch", topics=[[topic, partition] for topic in _TOPICS for partition in range(2)])

    def _trouble_store(self) -> None:
        rng = self._rng
        if rng.random() < 0.5:
            self._held = True
            self._add(request="hold_store", held=True)
            return
        self._fail_store()
        self._next_of_phase()()
        if rng.random() < 0.7:
            self._add(request="fail_store", error="NONE")

    def _fail_store(self) -> None:
        error = self._rng.choice(_STORE_ERRORS)
        self._add(request="fail_store", error=self._older_names.get(error, error))

    def _finish_store(self) -> None:
        group = self._group
        fails = self._rng.random() < 0.4
        if fails:
            self._fail_store()
        if self._rng.random() < 0.7:
            self._held = False
            self._add(request="hold_store", held=False)
        self._add(request="finish_store")
        if fails:
            self._add(request="fail_store", error="NONE")
        if group.phase == "CompletingRebalance" and any(m.synced and m.number == group.leader for m in group.members):
            group.phase = "Stable"
            if fails:
                group.prepare(self._now_ms)

    def _move_partition(self) -> None:
        self._add(request="unload")
        if self._rng.random() < 0.3:
            self._heartbeats()
        self._add(request="load")
        for member in self._group.members:
            member.parked = False
            member.seen_ms = self._now_ms
        self._group.pending.clear()
        if self._group.phase != "Stable":
            self._group.phase, self._group.members = "Empty", []
