"""The group coordinator of Kafka 4.x: ``GroupMetadataManager``, ``OffsetMetadataManager``, ``GroupCoordinatorService``.

Each operation runs in ``CoordinatorRuntime``; timers are known by a key and start operations too.
"""

from collections.abc import Callable
from dataclasses import replace

from tests.naive.coordinator_group import COMPLETING, DEAD, EMPTY, PREPARING, STABLE, CoordinatedGroup, GroupMember
from tests.naive.coordinator_interface import MakeId
from tests.naive.coordinator_java_runtime import Result, Runtime, State, StateMachine
from tests.naive.coordinator_messages import (
    COORDINATOR_NOT_AVAILABLE,
    INCONSISTENT_GROUP_PROTOCOL,
    NONE,
    NOT_COORDINATOR,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
    UNKNOWN_SERVER_ERROR,
    CommitRequest,
    CommitResponse,
    FetchResponse,
    Identity,
    JoinRequest,
    JoinResponse,
    KafkaError,
    Leaver,
    LeaveResponse,
    Respond,
    SyncRequest,
    SyncResponse,
    once,
)
from tests.naive.coordinator_offsets import Offset, commit_response, expired_offsets, fetched
from tests.naive.coordinator_records import NEW_GROUP, GroupRecord, Record, loaded, record_of
from tests.naive.coordinator_requests import Coordinator
from tests.naive.coordinator_rules import NEW_MEMBER_JOIN_TIMEOUT_MS, Config
from tests.naive.coordinator_time import Task, Timer
from tests.naive.model import Partition

_CLIENT_ERRORS = {
    "UNKNOWN_TOPIC_OR_PARTITION": COORDINATOR_NOT_AVAILABLE,
    "NOT_ENOUGH_REPLICAS": COORDINATOR_NOT_AVAILABLE,
    "REQUEST_TIMED_OUT": COORDINATOR_NOT_AVAILABLE,
    "NOT_LEADER_OR_FOLLOWER": NOT_COORDINATOR,
    "KAFKA_STORAGE_ERROR": NOT_COORDINATOR,
    "MESSAGE_TOO_LARGE": UNKNOWN_SERVER_ERROR,
    "RECORD_LIST_TOO_LARGE": UNKNOWN_SERVER_ERROR,
    "INVALID_FETCH_SIZE": UNKNOWN_SERVER_ERROR,
}
"""What ``appendGroupMetadataErrorToResponseError`` and ``handleOperationException`` make of the log's errors."""
_NETWORK_EXCEPTION = {"NETWORK_EXCEPTION": "COORDINATOR_LOAD_IN_PROGRESS"}
"""Of ``handleOperationException`` alone."""

_JOIN = ("join", "")
_SYNC = ("sync", "")


def _client_error(error: str) -> str:
    return (_CLIENT_ERRORS | _NETWORK_EXCEPTION).get(error, error)


class JavaCoordinator(Coordinator, StateMachine):
    def __init__(self, version: str, config: Config, timer: Timer, make_id: MakeId) -> None:
        super().__init__(version, config, timer, make_id)
        self._runtime = Runtime(self)
        self._tasks: dict[tuple[str, str], Task] = {}
        self._result = Result()
        """Of the operation that runs."""

    # ---- operations

    def _operate(self, operation: Callable[[], object], complete: Callable[[str, object], None]) -> None:
        def run() -> Result:
            self._result = Result()
            self._result.response = operation()
            return self._result

        self._runtime.write(run, complete)

    def _schedule(self, key: tuple[str, str], delay_ms: int, operation: Callable[[], None]) -> None:
        """A timer; it takes the place of one of the same key."""
        self._cancel(key)

        def run() -> None:
            del self._tasks[key]
            self._operate(operation, lambda *_: None)

        self._tasks[key] = self.timer.add(delay_ms, run)

    def _cancel(self, key: tuple[str, str]) -> None:
        task = self._tasks.pop(key, None)
        if task is not None:
            task.cancelled = True

    def join(self, request: JoinRequest, respond: Respond[JoinResponse]) -> None:
        if self._is_out_of_bounds(request):
            respond(self._join_error("INVALID_SESSION_TIMEOUT", request.member_id))
            return
        answer = once(respond)

        def complete(error: str, _: object) -> None:
            if error != NONE:
                answer(self._join_error(_client_error(error)))

        self._operate(lambda: self._join_and_keep_group(request, answer), complete)

    def _join_and_keep_group(self, request: JoinRequest, respond: Respond[JoinResponse]) -> None:
        """A group that is new is written at once, so that it stays."""
        is_new_group = self.group is None
        self._join(request, respond)
        if is_new_group and self.group is not None and not self._result.records:

            def ended(error: str) -> None:
                if error != NONE:
                    respond(self._join_error(_CLIENT_ERRORS.get(error, error)))

            self._result = Result([Record(None, NEW_GROUP)], is_replayed=False, ended=ended)

    def sync(self, request: SyncRequest, respond: Respond[SyncResponse]) -> None:
        answer = once(respond)

        def complete(error: str, _: object) -> None:
            if error != NONE:
                answer(SyncResponse(_client_error(error)))

        self._operate(lambda: self._sync(request, answer), complete)

    def heartbeat(self, identity: Identity, respond: Respond[str]) -> None:
        def complete(error: str, response: object) -> None:
            respond(str(response) if error == NONE else _client_error(error))

        self._operate(lambda: self._heartbeat(identity), complete)

    def leave(self, leavers: list[Leaver], respond: Respond[LeaveResponse]) -> None:
        def complete(error: str, response: object) -> None:
            if isinstance(response, LeaveResponse) and error == NONE:
                respond(response)
            elif error == UNKNOWN_MEMBER_ID:
                respond(LeaveResponse(NONE, [(leaver.member_id, UNKNOWN_MEMBER_ID) for leaver in leavers]))
            else:
                respond(LeaveResponse(_client_error(error)))

        def operation() -> LeaveResponse:
            if self.group is None:
                raise KafkaError(UNKNOWN_MEMBER_ID)
            return self._leave(leavers)

        self._operate(operation, complete)

    def commit(self, request: CommitRequest, respond: Respond[CommitResponse]) -> None:
        def operation() -> None:
            self._validate_commit(request.identity)
            self._result.records += [
                Record(partition, Offset(offset, self.timer.now_ms)) for partition, offset in request.offsets.items()
            ]

        def complete(error: str, _: object) -> None:
            respond(commit_response(request.offsets, _client_error(error)))

        self._operate(operation, complete)

    def fetch(self, partitions: list[Partition]) -> FetchResponse:
        """Tells what is replicated."""
        if not self._runtime.is_active:
            return FetchResponse(NOT_COORDINATOR)
        _, offsets = self._runtime.replicated_state
        return fetched(partitions, offsets)

    def check_offsets(self) -> None:
        self._operate(self._expire_offsets, lambda *_: None)

    def _expire_offsets(self) -> None:
        """An empty group goes with its last offset."""
        group = self.group
        if group is None:
            return
        expired = expired_offsets(self.rules, group, self.offsets, self.timer.now_ms)
        self._result.records += [Record(partition, None) for partition in self.offsets if partition in expired]
        if group.state == EMPTY and len(expired) == len(self.offsets):
            self._result.records.append(Record(None, None))

    def fail_store(self, error: str) -> None:
        self._runtime.error = error

    def hold_store(self, held: bool) -> None:
        self._runtime.held = held

    def finish_store(self) -> None:
        self._runtime.finish()

    # ---- the join phase

    def _is_initial(self, group: CoordinatedGroup) -> bool:
        return group.previous_state == EMPTY

    def _replacement(self, member: GroupMember, member_id: str) -> GroupMember:
        return replace(member, member_id=member_id, answer_join=None, answer_sync=None, is_new=False)

    def _prepare_rebalance(self, group: CoordinatedGroup) -> None:
        if group.state == COMPLETING:
            self._reset_assignments(group, REBALANCE_IN_PROGRESS)
        group.pending_syncs.clear()
        self._cancel(_SYNC)
        is_initial = group.state == EMPTY
        group.move_to(PREPARING, self.timer.now_ms)
        if is_initial:
            delay_ms = self.config.initial_rebalance_delay_ms
            self._delay_join_phase(delay_ms, max(group.rebalance_timeout_ms() - delay_ms, 0))
        elif group.has_all_joined():
            self._complete_join_phase(group)
        else:
            self._await_joins(group)

    def _await_joins(self, group: CoordinatedGroup) -> None:
        self._schedule(_JOIN, group.rebalance_timeout_ms(), self._expire_join_phase)

    def _expire_join_phase(self) -> None:
        if self.group is not None:
            self._complete_join_phase(self.group)

    def _delay_join_phase(self, delay_ms: int, remaining_ms: int) -> None:
        self._schedule(_JOIN, delay_ms, lambda: self._complete_or_delay(delay_ms, remaining_ms))

    def _complete_or_delay(self, delay_ms: int, remaining_ms: int) -> None:
        group = self.group
        if group is None:
            return
        if group.new_member_added and remaining_ms != 0:
            group.new_member_added = False
            next_delay_ms = min(self.config.initial_rebalance_delay_ms, remaining_ms)
            self._delay_join_phase(next_delay_ms, max(remaining_ms - delay_ms, 0))
        else:
            self._complete_join_phase(group)

    def _look_at_join_phase(self, group: CoordinatedGroup) -> None:
        if group.state == PREPARING and not self._is_initial(group) and group.has_all_joined():
            self._complete_join_phase(group)

    def _complete_join_phase(self, group: CoordinatedGroup) -> None:
        self._cancel(_JOIN)
        for member in group.yet_to_rejoin():
            if not member.is_static:
                group.remove(member.member_id)
                self._cancel(("session", member.member_id))
        if group.state == DEAD:
            return
        if not group.maybe_elect_joined_leader() and group.members:
            self._await_joins(group)
            return
        group.start_next_generation(self.timer.now_ms, self.rules.knows_subscribed_topics)
        if group.state == EMPTY:
            self._store_group(group, {}, lambda _: None)
            return
        for member in group.all_members():
            leads = group.leader == member.member_id
            member.finish_join(group.join_response(member.member_id, leads))
            self._restart_session(group, member)
            member.is_new = False
            group.pending_syncs.add(member.member_id)
        generation = group.generation
        self._schedule(_SYNC, group.rebalance_timeout_ms(), lambda: self._expire_pending_syncs(generation))

    def _expire_pending_syncs(self, generation: int) -> None:
        group = self.group
        if group is None or group.generation != generation or group.state not in (COMPLETING, STABLE):
            return
        if group.pending_syncs:
            for member_id in list(group.pending_syncs):
                group.remove(member_id)
                self._cancel(("session", member_id))
            self._prepare_rebalance(group)

    def _synced(self, group: CoordinatedGroup, member_id: str) -> None:
        group.pending_syncs.discard(member_id)
        if not group.pending_syncs:
            self._cancel(_SYNC)

    def _validate_protocol(self, group: CoordinatedGroup, request: SyncRequest) -> None:
        """A group that has elected none yet contradicts nobody."""
        sent = (request.protocol_type, request.protocol)
        for said, known in zip(sent, (group.protocol_type, group.protocol), strict=True):
            if said is not None and known is not None and said != known:
                raise KafkaError(INCONSISTENT_GROUP_PROTOCOL)

    # ---- sessions

    def _restart_session(self, group: CoordinatedGroup, member: GroupMember) -> None:
        self._await_pending(group, member.member_id, member.session_timeout_ms)

    def _await_new_member(self, group: CoordinatedGroup, member: GroupMember) -> None:
        member.is_new = True
        self._await_pending(group, member.member_id, NEW_MEMBER_JOIN_TIMEOUT_MS)

    def _await_pending(self, group: CoordinatedGroup, member_id: str, session_timeout_ms: int) -> None:
        self._schedule(("session", member_id), session_timeout_ms, lambda: self._expire_session(member_id))

    def _expire_session(self, member_id: str) -> None:
        group = self.group
        if group is None or group.state == DEAD:
            return
        if member_id in group.pending:
            group.remove(member_id)
        elif member_id in group.members:
            member = group.members[member_id]
            if member.is_parked and not member.is_new:
                return
            member.finish_join(self._join_error(UNKNOWN_MEMBER_ID))
            group.remove(member_id)
            if group.state in (STABLE, COMPLETING):
                self._prepare_rebalance(group)
                return
        else:
            return
        # Unlike a leave, this ends an initial join phase too.
        if group.state == PREPARING and group.has_all_joined():
            self._complete_join_phase(group)

    # ---- LeaveGroup

    def _leave(self, leavers: list[Leaver]) -> LeaveResponse:
        response = super()._leave(leavers)
        if self.group is not None and any(error == NONE for _, error in response.members):
            if self.group.state in (STABLE, COMPLETING):
                self._prepare_rebalance(self.group)
            elif self.group.state == PREPARING:
                self._look_at_join_phase(self.group)
        return response

    def _forget_pending(self, group: CoordinatedGroup, member_id: str) -> None:
        group.remove(member_id)
        self._cancel(("session", member_id))

    def _remove_leaver(self, group: CoordinatedGroup, member: GroupMember) -> None:
        self._cancel(("session", member.member_id))
        member.finish_join(self._join_error(UNKNOWN_MEMBER_ID))
        group.remove(member.member_id)

    # ---- the log

    def _store_group(self, group: CoordinatedGroup, assignments: dict[str, str], ended: Respond[str]) -> None:
        """The object in memory is ahead of its record, which is therefore not replayed."""
        self._result.records.append(Record(None, record_of(group, assignments)))
        self._result.is_replayed = False
        self._result.ended = lambda error: ended(_CLIENT_ERRORS.get(error, error))

    def replay(self, record: Record) -> None:
        if record.partition is None:
            value = record.value
            self.group = loaded(self.version, value) if isinstance(value, GroupRecord) else None
        elif isinstance(record.value, Offset):
            self.group = self.group or CoordinatedGroup(self.version, self.timer.now_ms)
            self.offsets[record.partition] = record.value
        else:
            self.offsets.pop(record.partition, None)

    def snapshot(self) -> State:
        return self.group, dict(self.offsets)

    def revert(self, state: State) -> None:
        self.group, self.offsets = state[0], dict(state[1])

    def unload(self) -> None:
        for key in list(self._tasks):
            self._cancel(key)
        self._runtime.unload()
        group, self.group, self.offsets = self.group, None, {}
        if group is not None:
            group.move_to(DEAD, self.timer.now_ms)
            for member in group.all_members():
                member.finish_join(self._join_error(NOT_COORDINATOR, member.member_id))
                member.finish_sync(SyncResponse(NOT_COORDINATOR))
        # What an ended write has started meanwhile finds its group dead.
        for key in list(self._tasks):
            self._cancel(key)

    def load(self) -> None:
        if self._runtime.is_active:
            return
        self._runtime.load()
        if self.group is None:
            return
        for member in self.group.all_members():
            self._restart_session(self.group, member)
        if len(self.group.members) > self.config.group_max_size:
            self._prepare_rebalance(self.group)
