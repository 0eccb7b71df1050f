"""Conversations with the coordinator of classic groups, of Scala's releases and of Java's.

The log of the offsets topic is here: its writes end at once, or when a step says so. In 4.x, so is the runtime that
answers only when earlier writes have ended. A group must keep its generation or go on to a higher one.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from rebalance_sim.kafka.coordinator.classic.classic_group import (
    NEVER,
    NONE,
    Answer,
    AwaitedElection,
    RequestKind,
    State,
)
from rebalance_sim.kafka.coordinator.classic.log import forget_group, load, unload
from rebalance_sim.kafka.coordinator.classic.offsets import RetentionStart, expiry_ms, retention_ms, retention_start
from rebalance_sim.kafka.coordinator.classic.rebalance import end_write, expire_next, next_deadline
from rebalance_sim.kafka.coordinator.classic.requests import (
    allows_session_timeout,
    commit_offsets,
    finish_leave,
    heartbeat,
    join_group,
    leave_group,
    sync_group,
)
from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.coordinator.write_errors import commit_response_error
from rebalance_sim.kafka.wire.consumer_protocol import decode_subscription
from rebalance_sim.kafka.wire.readable import SchemaError
from rebalance_sim.releases import CoordinatorRules, kafka_version
from tests.support.conversations.player import MOST_WRITES, JsonObject, Player, in_order

__all__ = ["classic_group_answer", "in_order"]

Ended = Callable[[int], None]
"""Called with the error with which a write, or all writes before it, ended."""

_UNKNOWN = 1 << 20
"""A number that no member has."""
_REQUESTS = ("join", "sync", "heartbeat", "leave", "commit", "fetch")


def classic_group_answer(version: str, case: JsonObject, made: list[str] | None = None) -> JsonObject:
    """Play a case of the oracle's rule ``coordinator``; ``made`` are the ids that Kafka's coordinator generated."""
    return player_of(version, case, made or []).play()


def player_of(version: str, case: JsonObject, made: list[str]) -> "ScalaPlayer":
    """Return a coordinator of a release, before the first step of a case."""
    player = JavaPlayer if kafka_version(version).coordinator >= CoordinatorRules.JAVA else ScalaPlayer
    return player(version, case, made)


@dataclass
class _CommittedOffset:
    """What the coordinator knows of the committed offset of a partition."""

    offset: int = NONE
    """NONE if nothing is committed, as a fetch answers."""
    committed_ms: int = 0
    pending: int = 0
    """Commits whose write has not ended (up to 3.9; 4.x delays only the answer)."""
    expired: bool = False


class ScalaPlayer(Player):
    """Scala's coordinators: each write has a callback, and nothing else waits for it."""

    def __init__(self, version: str, case: JsonObject, made: list[str]) -> None:
        super().__init__(version, case, made, sum(step["request"] == "join" for step in case["steps"]) + 1)
        self.parked: dict[int, tuple[int, int]] = {}
        self.forgotten: dict[int, str] = {}
        self.held, self.loads, self.writes = False, 0, 0
        self.waiting: list[Ended] = []
        self.partitions = _partitions_of(self.steps)
        self.offsets = [_CommittedOffset() for _ in self.partitions]
        self.stored_offsets = self.copied(self.offsets)
        self.subscribed = set[str]()
        self.topics_known = False

    def play(self) -> JsonObject:
        played = super().play()
        return {**played, "left_out": self.left_out, "forgotten": self.forgotten, "parked": self.parked}

    def next_deadline(self) -> int:
        return int(next_deadline(self.classic))

    def expire(self) -> None:
        self.carry_out(None, lambda: expire_next(self.classic, self.next_deadline()))

    # ---- Steps

    def take(self, number: int, step: JsonObject) -> None:
        request = step["request"]
        if request in _REQUESTS:
            if self.up:
                getattr(self, f"_{request}")(number, step)
            else:
                self.refuse(number, step)
        elif request == "hold_store":
            self.held = step["held"]
        elif request == "finish_store":
            self.finish_writes(self.store_error)
        elif request == "unload" and self.up:
            self.unload()
        elif request == "load" and not self.up:
            self.load()
        elif request == "check_offsets" and self.up and self.group_row.exists:
            self.check_offsets()

    def refuse(self, number: int, step: JsonObject) -> None:
        """Answer as a broker that is not the group's coordinator."""
        self.answer_error(number, Errors.NOT_COORDINATOR, self.named(step.get("member", "")))

    def _join(self, number: int, step: JsonObject) -> None:
        request = self.join_request(number, step, self.next_id(step))
        self.carry_out(number, lambda: join_group(self.classic, request, self.now))
        del self.made[self.group_row.made :]

    def _sync(self, number: int, step: JsonObject) -> None:
        request = self.sync_request(number, step)
        self.carry_out(number, lambda: sync_group(self.classic, request, self.now))

    def _heartbeat(self, number: int, step: JsonObject) -> None:
        identity = self.number_of(step["member"]), self.instance(step), step["generation"]
        self.carry_out(number, lambda: heartbeat(self.classic, number, *identity, self.now))

    def _leave(self, number: int, step: JsonObject) -> None:
        self.carry_out(number, lambda: self._leave_all(number, step))

    def _leave_all(self, number: int, step: JsonObject) -> None:
        had_group = bool(self.group_row.exists)
        errors, last = [], None
        for leaver in step["members"]:
            member = self.number_of(leaver["member"])
            errors.append(leave_group(self.classic, number, member, self.instance(leaver), self.now))
            last = member if errors[-1] == Errors.NONE else last
            self.run()
        if last is not None:
            finish_leave(self.classic, last, self.now)
        if self.classic.rules <= CoordinatorRules.SCALA_2_3:
            self.answer(number, errors[0])
            return

        def answer(error: int) -> None:
            if error == Errors.NONE:
                self.answer_leave(number, errors)
            else:
                self.answer_error(number, error, "")

        self.reply(answer, waits=had_group)

    def _commit(self, number: int, step: JsonObject) -> None:
        identity = self.number_of(step["member"]), self.instance(step), step["generation"]
        error = commit_offsets(self.classic, *identity, self.now)
        if error != Errors.NONE:
            self.answer_commit(number, error)
            return
        for topic, partition, _ in step["offsets"]:
            self.offsets[self.place(topic, partition)].pending += 1
        self.write_commit(number, step)

    def write_commit(self, number: int, step: JsonObject) -> None:
        """Write offsets; they count when the write has ended."""
        committed_ms, loads = self.now, self.loads

        def ended(error: int) -> None:
            for topic, partition, offset in step["offsets"]:
                place = self.place(topic, partition)
                if self.up and self.loads == loads:
                    self.offsets[place].pending -= 1
                    if error == Errors.NONE:
                        self.offsets[place].offset, self.offsets[place].committed_ms = offset, committed_ms
                if error == Errors.NONE:
                    self.store_offset(place, offset, committed_ms)
            self.answer_commit(number, commit_response_error(error, self.classic.rules))

        self.append(ended, of_group=False)

    def store_offset(self, place: int, offset: int, committed_ms: int) -> None:
        """Write an offset to the log."""
        self.stored_offsets[place].offset = offset
        self.stored_offsets[place].committed_ms = committed_ms

    def _fetch(self, number: int, step: JsonObject) -> None:
        offsets = self.readable_offsets()
        found = [[*wanted, int(offsets[self.place(*wanted)].offset)] for wanted in step["topics"]]
        self.answer(number, Errors.NONE, offsets=found)

    @staticmethod
    def copied(offsets: list[_CommittedOffset]) -> list[_CommittedOffset]:
        """Return offsets as they are now."""
        return [replace(offset) for offset in offsets]

    def readable_offsets(self) -> list[_CommittedOffset]:
        """Return the offsets that a fetch sees."""
        return self.offsets

    def check_offsets(self) -> None:
        """Remove expired offsets; nothing waits for this write or depends on its success."""
        ends_group = self.mark_expired()
        has_tombstone = ends_group and self.group_row.generation > 0
        written = not has_tombstone or self.store_error == Errors.NONE
        if written:
            self.store_tombstones()
        self.remove_expired(ends_group, written)

    def mark_expired(self) -> bool:
        """Mark the offsets that have expired; return whether the group is deleted with them.

        ``cleanupExpiredOffsets``: an empty group without offsets becomes dead.
        """
        group, rules, is_left = self.group_row, self.classic.rules, False
        known = self.topics_known and group.protocol_type == self.types.of("consumer")
        also_rebalancing, has_type = self.version.rebalancing_offsets_expire, group.protocol_type != NONE
        for (topic, _), offset in zip(self.partitions, self.offsets, strict=True):
            is_subscribed = not known or topic in self.subscribed
            start = retention_start(rules, group.state, has_type, is_subscribed, also_rebalancing)
            counts_from_empty = start == RetentionStart.GROUP_EMPTY and group.state_since_ms != NEVER
            since_ms = group.state_since_ms if counts_from_empty else offset.committed_ms
            is_over = start != RetentionStart.NEVER and self.now >= expiry_ms(rules, since_ms, retention_ms(rules))
            offset.expired = offset.offset != NONE and offset.pending == 0 and is_over
            is_left |= not offset.expired and (offset.offset != NONE or offset.pending > 0)
        return bool(group.exists and group.state == State.EMPTY and not is_left)

    def remove_expired(self, ends_group: bool, written: bool) -> None:
        """Remove the marked offsets, and the group, with what is known of its topics."""
        self.offsets = [_CommittedOffset() if offset.expired else offset for offset in self.offsets]
        if ends_group:
            forget_group(self.classic)
            self.group_row.stored = self.group_row.stored and not written
            self.topics_known = False

    def store_tombstones(self) -> None:
        """Write tombstones for the expired offsets."""
        for stored, offset in zip(self.stored_offsets, self.offsets, strict=True):
            if offset.expired:
                stored.offset = NONE

    def unload(self) -> None:
        """Lose the group to another coordinator."""
        if self.group_row.state == State.STABLE and self.group_row.joining:
            self.left_out = "the JoinGroup of a replaced static member waits for a write that a broker would fail first"
        if self.group_row.exists:
            unload(self.classic)
            self.run()
        self.up = False
        self.loads += 1

    def load(self) -> None:
        """Load the group from the log."""
        self.up = True
        load(self.classic, self.now)
        self.offsets = self.copied(self.stored_offsets)
        if any(offset.offset != NONE for offset in self.offsets):
            self.group_row.exists = True
        self.keep_elected_protocols()
        self._note_topics()
        self.run()

    # ---- Names and numbers

    def number_of(self, given: int | str) -> int:
        if given == "":
            return NONE
        return given if isinstance(given, int) and given < self.group_row.made else _UNKNOWN

    def shown_joiner(self, number: int, member: int) -> int | str:
        return self.named(self.steps[number]["member"]) if member == _UNKNOWN else member

    def named(self, given: int | str) -> int | str:
        return given if isinstance(given, str) or given < self.group_row.made else "nobody"

    def place(self, topic: str, partition: int) -> int:
        """Return the number of a partition."""
        return self.partitions.index((topic, partition))

    def member_id(self, member: int) -> str:
        return self.made[member]

    # ---- The log and the runtime

    def carry_out(self, _number: int | None, operation: Callable[[], object]) -> None:
        """Let the coordinator do something, and what follows from it."""
        operation()
        self.run()

    def reply(self, answer: Ended, *, waits: bool) -> None:
        """Answer; in 4.x ``waits`` says whether the answer waits for all earlier writes."""
        answer(Errors.NONE)

    def run(self) -> None:
        """Hold elections, begin writes and collect answers until nothing is left to do."""
        generation = int(self.group_row.generation)
        while True:
            self.collect()
            self.note_parked()
            assert self.group_row.generation >= generation or not self.group_row.exists, "generation falls"
            generation = int(self.group_row.generation)
            if self.group_row.state == State.EMPTY and generation > 0:
                self._note_topics()
            if self.group_row.election != AwaitedElection.NOT_DUE:
                self.elect()
            elif not self.begin_write():
                return

    def begin_write(self) -> bool:
        """Hand over the next write that the group has begun, if there is one."""
        if self.writes == self.group_row.writes:
            return False
        self.writes += 1
        self.append(self.end_write, of_group=True)
        return True

    def append(self, ended: Ended, *, of_group: bool) -> None:
        """Append a write to the log: it ends now, or waits."""
        if self.held or self.waiting:
            self.waiting.append(ended)
        else:
            ended(self.store_error if of_group else Errors.NONE)

    def end_write(self, error: int) -> None:
        """End the oldest write of the group."""
        end_write(self.classic, int(error), self.now)
        self.run()

    def finish_writes(self, error: int) -> None:
        """End all writes that wait, in order."""
        waiting, self.waiting = self.waiting, []
        for ended in waiting:
            ended(error)

    def finish_election(self, winner: int) -> None:
        begins_generation = self.group_row.election == AwaitedElection.OF_GENERATION
        super().finish_election(winner)
        if begins_generation:
            self._note_topics()

    def _note_topics(self) -> None:
        """Read the members' subscriptions, as ``computeSubscribedTopics`` does."""
        protocol, subscribed = self.name(self.group_row.protocol), set[str]()
        self.topics_known = self.group_row.protocol_type == self.types.of("consumer")
        for m in self.members():
            [text] = [text for name, text in self.offered(m) if name == protocol]
            try:
                subscribed |= {*decode_subscription(text.encode()).topics}
            except SchemaError:
                self.topics_known = False
        self.subscribed = subscribed

    # ---- Answers

    def note_parked(self) -> None:
        """Note which requests are parked, and which ones the coordinator has forgotten."""
        parked: dict[int, tuple[int, int]] = {}
        for m in self.members():
            member = self.classic.members[m]
            waiting = [(int(member.join), int(RequestKind.JOIN)), (int(member.sync), int(RequestKind.SYNC))]
            parked |= {request: (m, kind) for request, kind in waiting if request != NONE}
        answered = {answer["step"] for answer in self.answers}
        for request, (m, kind) in self.parked.items():
            if request not in parked and request not in answered:
                stays = self.classic.members[m].known
                why = "repeated" if (m, kind) in parked.values() else "kept" if stays else "removed"
                self.forgotten[request] = why
        self.parked = parked

    def collect_one(self, answer: Answer) -> None:
        number, error = int(answer.request), int(answer.error)
        if answer.kind == RequestKind.HEARTBEAT:
            waits = error in (Errors.NONE, Errors.REBALANCE_IN_PROGRESS)
            self.reply(lambda refused: self.answer(number, refused or error), waits=waits)
            return
        if answer.kind == RequestKind.JOIN and error == Errors.GROUP_MAX_SIZE_REACHED:
            self._leave_out_namesakes(self.steps[number])
        super().collect_one(answer)

    def _leave_out_namesakes(self, step: JsonObject) -> None:
        member, instance = self.number_of(step["member"]), self.instance(step)
        has_stale_ids = CoordinatorRules.SCALA_2_3 <= self.classic.rules < CoordinatorRules.SCALA_2_8
        if not has_stale_ids or member in (NONE, _UNKNOWN):
            return
        if self.classic.members[member].instance not in (NONE, instance):
            self.left_out = "a member is turned away, and the instance id that it did not name has no member any more"


class JavaPlayer(ScalaPlayer):
    """4.x: ``CoordinatorRuntime`` around the coordinator.

    Every request and every timer is an operation. Its answer waits until all that was written before it has ended,
    except for joins and syncs, which have futures of their own: only an error of the write may come before them. A
    write that the log refuses takes back a group that the operation created.
    """

    def __init__(self, version: str, case: JsonObject, made: list[str]) -> None:
        super().__init__(version, case, made)
        self.replicated_offsets = self.copied(self.offsets)
        self.replies: list[Ended] = []

    def carry_out(self, number: int | None, operation: Callable[[], object]) -> None:
        """Run an operation; all its records, and a new group, are one write."""
        existed, writes = bool(self.group_row.exists), int(self.group_row.writes)
        self.replies = []
        operation()
        self.run()
        begun = int(self.group_row.writes) - writes
        is_new = bool(self.group_row.exists) and not existed
        self._write(number, begun=begun, is_new=is_new and begun == 0)

    def begin_write(self) -> bool:
        """Leave writes to the end of the operation."""
        return False

    def _write(self, number: int | None, *, begun: int, is_new: bool) -> None:
        replies = self.replies

        def ended(error: int) -> None:
            for _ in range(begun):
                self.end_write(error)
            if number is not None and self.steps[number]["request"] in ("join", "sync"):
                self._fail(number, error)
            for reply in replies:
                reply(error)

        if begun == 0 and not is_new:
            if self.waiting:
                self.waiting.append(ended)
            else:
                ended(Errors.NONE)
            return
        waits = self.held or bool(self.waiting)
        if not waits and self.store_error != Errors.NONE:
            if is_new:
                self._forget_group()
            ended(self.store_error)
            return
        for write in range(int(self.group_row.writes) - begun, int(self.group_row.writes)):
            self.classic.writes[write % MOST_WRITES].appended = waits
        if is_new:
            self.store_new_group()
        self.write_records(ended)

    def write_records(self, ended: Ended) -> None:
        """Write to the log: the write ends at once, or waits."""
        waits = self.held or bool(self.waiting)
        self.waiting.append(ended)
        if not waits:
            self.finish_writes(Errors.NONE)

    def finish_writes(self, error: int) -> None:
        """End all that waits; it is replicated even if the members are answered that it took too long."""
        self.replicated_offsets = self.copied(self.offsets)
        super().finish_writes(error)

    def _fail(self, number: int, error: int) -> None:
        """Answer a join or sync with an error, unless it has an answer."""
        if error != Errors.NONE and not self._is_answered(number):
            self.answer_error(number, commit_response_error(error, self.classic.rules), "")

    def _is_answered(self, number: int) -> bool:
        return any(answer["step"] == number for answer in self.answers)

    def _forget_group(self) -> None:
        if self.group_row.join_deadline != NEVER:
            self.left_out = "the timer of a group that was taken back goes on, and its successor may meet it"
        forget_group(self.classic)
        self.note_parked()

    def reply(self, answer: Ended, *, waits: bool) -> None:
        """Answer at the end of the operation; errors do not wait."""
        if waits:
            self.replies.append(lambda error: answer(commit_response_error(error, self.classic.rules)))
        else:
            answer(Errors.NONE)

    def refuse(self, number: int, step: JsonObject) -> None:
        """Answer as a broker that is not the group's coordinator; the session timeout is checked before."""
        timeout_ms = step.get("session_timeout_ms", 10_000)
        if step["request"] == "join" and not allows_session_timeout(self.classic.config, timeout_ms):
            self.answer_error(number, Errors.INVALID_SESSION_TIMEOUT, self.named(step["member"]))
        else:
            self.answer_error(number, Errors.NOT_COORDINATOR, "")

    def write_commit(self, number: int, step: JsonObject) -> None:
        """Write offsets; they count at once, but are answered, and seen by others, when the write has ended."""
        for topic, partition, offset in step["offsets"]:
            place = self.place(topic, partition)
            committed = self.offsets[place]
            committed.pending, committed.offset, committed.committed_ms = committed.pending - 1, offset, self.now
            self.store_offset(place, offset, self.now)
        self.write_records(lambda error: self.answer_commit(number, commit_response_error(error, self.classic.rules)))

    def readable_offsets(self) -> list[_CommittedOffset]:
        """Return what is replicated."""
        return self.replicated_offsets

    def check_offsets(self) -> None:
        """Write tombstones for expired offsets; if the log refuses them, nothing has changed."""
        ends_group = self.mark_expired()
        is_refused = ends_group and not self.held and not self.waiting and self.store_error != Errors.NONE
        if is_refused or not (ends_group or any(offset.expired for offset in self.offsets)):
            return
        self.store_tombstones()
        self.remove_expired(ends_group, True)
        self.write_records(lambda _: None)

    def unload(self) -> None:
        """Lose the group; what waits is answered first."""
        self.finish_writes(Errors.NOT_COORDINATOR)
        super().unload()

    def load(self) -> None:
        """Load the group; all that the log has is replicated."""
        super().load()
        self.replicated_offsets = self.copied(self.offsets)

    def answer(self, step: int, error: int, **fields: Any) -> None:
        """Answer a request; of a join or sync, the first completion of its future counts."""
        if not (self.steps[step]["request"] in ("join", "sync") and self._is_answered(step)):
            super().answer(step, error, **fields)


def _partitions_of(steps: list[JsonObject]) -> list[tuple[str, int]]:
    """Return all partitions that are committed or fetched."""
    named = (partition for step in steps for partition in (*step.get("offsets", ()), *step.get("topics", ())))
    return sorted({(topic, partition) for topic, partition, *_ in named})
