"""Conversations with the coordinator's kernels, of 4.x."""

from collections.abc import Callable
from typing import Any

from rebalance_sim.kafka.coordinator.classic_group import NEVER, NONE
from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.coordinator.offsets import commit_response_error, end_commit, remove_expired
from rebalance_sim.kafka.records import rows
from tests.kafka.coordinator_conversation import MOST_WRITES, Ended, JsonObject, Player


class JavaPlayer(Player):
    """4.x: ``CoordinatorRuntime`` around the coordinator.

    Whatever is asked, and every timer, is an operation. Its answer waits until all that was written before it has
    ended, but for joins and syncs, which have futures of their own: only an error of the write may come before them. A
    write that the log refuses takes back a group that the operation has made.
    """

    def __init__(self, version: str, case: JsonObject, made: list[str]) -> None:
        super().__init__(version, case, made)
        self.replicated_offsets = self.copied(self.offsets)
        self.replies: list[Callable[[int], None]] = []

    def carry_out(self, number: int | None, operation: Callable[[], object]) -> None:
        """Let the coordinator do something; what it writes is one write, with a new group in it if there is one."""
        existed, writes = bool(self.c.group.exists), int(self.c.group.writes)
        self.replies = []
        operation()
        self.settle()
        begun = int(self.c.group.writes) - writes
        is_new = bool(self.c.group.exists) and not existed
        self._write(number, begun=begun, is_new=is_new and begun == 0)

    def begin_write(self) -> bool:
        """Writes are handed over at the end of an operation."""
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
            self._after_writes(ended)
            return
        waits = self.held or bool(self.waiting)
        if not waits and self.store_error != Errors.NONE:
            if is_new:
                self._forget_group()
            ended(self.store_error)
            return
        for write in range(int(self.c.group.writes) - begun, int(self.c.group.writes)):
            self.c.writes[write % MOST_WRITES].appended = waits
        if is_new:
            self._store_new_group()
        self.write_records(ended)

    def write_records(self, ended: Ended) -> None:
        """Let the log have something; it ends at once or waits."""
        waits = self.held or bool(self.waiting)
        self.waiting.append(ended)
        if not waits:
            self.finish_writes(Errors.NONE)

    def _after_writes(self, ended: Ended) -> None:
        if self.waiting:
            self.waiting.append(ended)
        else:
            ended(Errors.NONE)

    def finish_writes(self, error: int) -> None:
        """End all that waits; it is replicated, even if who waits is told that it took too long."""
        self.replicated_offsets = self.copied(self.offsets)
        super().finish_writes(error)

    def _fail(self, number: int, error: int) -> None:
        """Tell who joins or syncs of an error, if there is nothing else that they were told."""
        if error != Errors.NONE and not self._is_answered(number):
            self.tell_error(number, commit_response_error(error, self.c.rules), "")

    def _is_answered(self, number: int) -> bool:
        return any(answer["step"] == number for answer in self.answers)

    def _forget_group(self) -> None:
        if self.c.group.join_deadline != NEVER:
            self.left_out = "the timer of a group that was taken back goes on, and its successor may meet it"
        remove_expired(self.c, rows(self.offsets), 0, True, False)
        self.note_parked()

    def _store_new_group(self) -> None:
        group = self.c.group
        group.stored = True
        group.stored_generation, group.stored_state_since_ms = 0, NEVER
        group.stored_leader = group.stored_protocol = group.stored_protocol_type = NONE
        for m in range(group.made):
            self.c.members[m].stored = False

    def reply(self, tell: Ended, *, waits: bool) -> None:
        """Answer at the end of the operation that goes on; errors do not wait."""
        if waits:
            self.replies.append(lambda error: tell(commit_response_error(error, self.c.rules)))
        else:
            tell(Errors.NONE)

    def refuse(self, number: int, step: JsonObject) -> None:
        """Answer as a broker that does not coordinate the group; a session's bounds are looked at before."""
        shortest, longest = self.c.config.group_min_session_timeout_ms, self.c.config.group_max_session_timeout_ms
        if step["request"] == "join" and not shortest <= step.get("session_timeout_ms", 10_000) <= longest:
            self.tell_error(number, Errors.INVALID_SESSION_TIMEOUT, self.told(step["member"]))
        else:
            self.tell_error(number, Errors.NOT_COORDINATOR, "")

    def write_commit(self, number: int, step: JsonObject) -> None:
        """Write offsets; they count at once, but are answered, and seen by others, when the write has ended."""
        for topic, partition, offset in step["offsets"]:
            end_commit(self.offsets[self.place(topic, partition)], offset, self.now, Errors.NONE)
            self.store_offset(self.place(topic, partition), offset, self.now)
        self.write_records(lambda error: self.tell_committed(number, commit_response_error(error, self.c.rules)))

    def readable_offsets(self) -> Any:
        """A fetch sees what is replicated."""
        return self.replicated_offsets

    def check_offsets(self) -> None:
        """Write what has expired; if the log refuses it, all is as before."""
        ends_group = self.mark_expired()
        is_refused = ends_group and not self.held and not self.waiting and self.store_error != Errors.NONE
        if is_refused or not (ends_group or any(self.offsets[k].expired for k in range(len(self.partitions)))):
            return
        if ends_group and self.c.group.writes > self.c.group.writes_ended:
            self.left_out = "a write of a group that is deleted goes on, and would end in its successor"
        self.store_tombstones()
        remove_expired(self.c, rows(self.offsets), len(self.partitions), ends_group, True)
        self.write_records(lambda _: None)

    def unload(self) -> None:
        """Lose the group; what waits is answered first."""
        self.finish_writes(Errors.NOT_COORDINATOR)
        super().unload()

    def load(self) -> None:
        """Get the group back; all that the log has is replicated."""
        super().load()
        self.replicated_offsets = self.copied(self.offsets)

    def tell(self, step: int, error: int, **more: Any) -> None:
        """Answer a request; what completes a future first counts."""
        if not (self.steps[step]["request"] in ("join", "sync") and self._is_answered(step)):
            super().tell(step, error, **more)
