"""The group coordinator up to Kafka 3.9: ``GroupCoordinator.scala`` and ``GroupMetadataManager.scala``.

Time passes in two purgatories, of sessions and of phases of rebalances.
"""

from dataclasses import replace

from tests.naive.coordinator_group import COMPLETING, DEAD, EMPTY, PREPARING, STABLE, CoordinatedGroup, GroupMember
from tests.naive.coordinator_interface import MakeId
from tests.naive.coordinator_messages import (
    COORDINATOR_NOT_AVAILABLE,
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
from tests.naive.coordinator_purgatory import DelayedOperation, Purgatory
from tests.naive.coordinator_records import GroupRecord, Record, loaded, record_of
from tests.naive.coordinator_requests import Coordinator
from tests.naive.coordinator_rules import NEW_MEMBER_JOIN_TIMEOUT_MS, Config
from tests.naive.coordinator_scala_log import OffsetsLog
from tests.naive.coordinator_time import Timer
from tests.naive.model import Partition

_CLIENT_ERRORS = {
    "UNKNOWN_TOPIC_OR_PARTITION": COORDINATOR_NOT_AVAILABLE,
    "NOT_ENOUGH_REPLICAS": COORDINATOR_NOT_AVAILABLE,
    "NOT_ENOUGH_REPLICAS_AFTER_APPEND": COORDINATOR_NOT_AVAILABLE,
    "NOT_LEADER_OR_FOLLOWER": NOT_COORDINATOR,
    "NOT_LEADER_FOR_PARTITION": NOT_COORDINATOR,
    "KAFKA_STORAGE_ERROR": NOT_COORDINATOR,
}
_TOO_LARGE = ("MESSAGE_TOO_LARGE", "RECORD_LIST_TOO_LARGE", "INVALID_FETCH_SIZE")
_GROUP_ERRORS = (
    _CLIENT_ERRORS | dict.fromkeys(_TOO_LARGE, UNKNOWN_SERVER_ERROR) | {"REQUEST_TIMED_OUT": REBALANCE_IN_PROGRESS}
)
"""What ``storeGroup`` makes of the log's errors."""
_COMMIT_ERRORS = _CLIENT_ERRORS | dict.fromkeys(_TOO_LARGE, "INVALID_COMMIT_OFFSET_SIZE")
"""What ``storeOffsets`` makes of them."""

_JOIN = "join"
_SYNC = "sync"


class ScalaCoordinator(Coordinator):
    """3.9."""

    def __init__(self, version: str, config: Config, timer: Timer, make_id: MakeId) -> None:
        super().__init__(version, config, timer, make_id)
        self.is_active = True
        self.log = OffsetsLog()
        self._pending_commits: dict[Partition, Offset] = {}
        self._sessions = Purgatory(timer)
        self._phases = Purgatory(timer)

    # ---- requests

    def join(self, request: JoinRequest, respond: Respond[JoinResponse]) -> None:
        if not self.is_active:
            respond(self._join_error(NOT_COORDINATOR, request.member_id))
        elif self._is_out_of_bounds(request):
            respond(self._join_error("INVALID_SESSION_TIMEOUT", request.member_id))
        else:
            self._join(request, once(respond) if self.rules.answers_by_future else respond)
            if self.group is not None and self.group.state == PREPARING:
                self._look_at_join_phase(self.group)

    def sync(self, request: SyncRequest, respond: Respond[SyncResponse]) -> None:
        try:
            self._check_active()
            self._sync(request, respond)
        except KafkaError as error:
            if error.error == UNKNOWN_SERVER_ERROR:
                raise  # Scala throws: no callback answers.
            respond(SyncResponse(error.error))

    def heartbeat(self, identity: Identity, respond: Respond[str]) -> None:
        try:
            self._check_active()
            respond(self._heartbeat(identity))
        except KafkaError as error:
            respond(error.error)

    def leave(self, leavers: list[Leaver], respond: Respond[LeaveResponse]) -> None:
        if not self.is_active:
            respond(LeaveResponse(NOT_COORDINATOR))
        elif self.rules.batch_leave:
            respond(self._leave(leavers))
        else:
            respond(LeaveResponse(self._leave_one(leavers[0])))

    def commit(self, request: CommitRequest, respond: Respond[CommitResponse]) -> None:
        try:
            self._check_active()
            self._validate_commit(request.identity)
        except KafkaError as error:
            respond(commit_response(request.offsets, error.error))
            return
        group = self.group
        assert group is not None
        offsets = {partition: Offset(offset, self.timer.now_ms) for partition, offset in request.offsets.items()}
        if not offsets:
            respond({})
            return
        self._pending_commits |= offsets

        def ended(error: str) -> None:
            if group.state != DEAD:
                self._end_commits(offsets, is_stored=error == NONE)
            respond(commit_response(request.offsets, _COMMIT_ERRORS.get(error, error)))

        self.log.append([Record(partition, offset) for partition, offset in offsets.items()], ended)

    def _end_commits(self, offsets: dict[Partition, Offset], is_stored: bool) -> None:
        """A later commit of the same partition stays pending."""
        for partition, offset in offsets.items():
            if is_stored and partition in self._pending_commits:
                self.offsets[partition] = offset
            if self._pending_commits.get(partition) == offset:
                del self._pending_commits[partition]

    def fetch(self, partitions: list[Partition]) -> FetchResponse:
        return fetched(partitions, self.offsets) if self.is_active else FetchResponse(NOT_COORDINATOR)

    def _check_active(self) -> None:
        if not self.is_active:
            raise KafkaError(NOT_COORDINATOR)

    def check_offsets(self) -> None:
        """An empty group goes with its last offset; the tombstones need no acknowledgement."""
        group = self.group
        if group is None:
            return
        expired = expired_offsets(self.rules, group, self.offsets, self.timer.now_ms) - set(self._pending_commits)
        for partition in expired:
            del self.offsets[partition]
        tombstones = [Record(partition, None) for partition in expired]
        if group.state == EMPTY and not self.offsets and not self._pending_commits:
            group.move_to(DEAD, self.timer.now_ms)
            self.group = None
            tombstones += [Record(None, None)] if group.generation > 0 else []
        self.log.append_unacknowledged(tombstones)

    def fail_store(self, error: str) -> None:
        self.log.error = error

    def hold_store(self, held: bool) -> None:
        self.log.held = held

    def finish_store(self) -> None:
        self.log.finish()

    # ---- who may join

    def _replacement(self, member: GroupMember, member_id: str) -> GroupMember:
        """The same object: what is parked is fenced, but a new member stays a new one."""
        member.member_id = member_id
        return member

    def _go_back(self, group: CoordinatedGroup, member: GroupMember, before: GroupMember) -> None:
        """The old protocols are read when they have been replaced already, so the new ones stay."""
        super()._go_back(group, member, replace(before, protocols=member.protocols))

    # ---- the join phase

    def _is_initial(self, group: CoordinatedGroup) -> bool:
        return group.generation == 0

    def _look_at_join_phase(self, group: CoordinatedGroup) -> None:
        self._phases.check_and_complete(_JOIN)

    def _prepare_rebalance(self, group: CoordinatedGroup) -> None:
        if group.state == COMPLETING:
            self._reset_assignments(group, REBALANCE_IN_PROGRESS)
        if self.rules.pending_syncs:
            group.pending_syncs.clear()
            self._phases.check_and_complete(_SYNC)
        is_initial = group.state == EMPTY
        group.move_to(PREPARING, self.timer.now_ms)
        if is_initial:
            delay_ms = self.config.initial_rebalance_delay_ms
            self._delay_join_phase(group, delay_ms, max(group.rebalance_timeout_ms() - delay_ms, 0))
        else:
            self._await_joins(group)

    def _await_joins(self, group: CoordinatedGroup) -> None:
        operation = DelayedOperation(
            group.rebalance_timeout_ms(), group.has_all_joined, lambda: self._complete_join_phase(group)
        )
        self._phases.try_complete_else_watch(operation, _JOIN)

    def _delay_join_phase(self, group: CoordinatedGroup, delay_ms: int, remaining_ms: int) -> None:
        """Nothing but time ends the first join phase."""

        def complete() -> None:
            if not group.new_member_added or remaining_ms == 0:
                self._complete_join_phase(group)
                return
            group.new_member_added = False
            next_delay_ms = min(self.config.initial_rebalance_delay_ms, remaining_ms)
            self._delay_join_phase(group, next_delay_ms, max(remaining_ms - delay_ms, 0))

        self._phases.try_complete_else_watch(DelayedOperation(delay_ms, lambda: False, complete), _JOIN)

    def _complete_join_phase(self, group: CoordinatedGroup) -> None:
        for member in group.yet_to_rejoin():
            if not member.is_static:
                self._remove(group, member.member_id)
        if group.state == DEAD:
            return
        if not group.maybe_elect_joined_leader() and group.members:
            self._await_joins(group)
            return
        self._start_next_generation(group)

    def _start_next_generation(self, group: CoordinatedGroup) -> None:
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
        if self.rules.pending_syncs:
            self._await_syncs(group)

    def _await_syncs(self, group: CoordinatedGroup) -> None:
        generation = group.generation

        def is_ready() -> bool:
            is_over = group.generation != generation or group.state not in (COMPLETING, STABLE)
            return is_over or not group.pending_syncs

        def expire() -> None:
            if not is_ready():
                for member_id in list(group.pending_syncs):
                    self._remove(group, member_id)
                self._prepare_rebalance(group)

        operation = DelayedOperation(group.rebalance_timeout_ms(), is_ready, lambda: None, expire)
        self._phases.try_complete_else_watch(operation, _SYNC)

    def _synced(self, group: CoordinatedGroup, member_id: str) -> None:
        group.pending_syncs.discard(member_id)
        self._phases.check_and_complete(_SYNC)
        if group.state == STABLE:
            self._restart_session(group, group.members[member_id])

    # ---- sessions

    def _restart_session(self, group: CoordinatedGroup, member: GroupMember) -> None:
        self._watch_session(group, member, member.session_timeout_ms)

    def _await_new_member(self, group: CoordinatedGroup, member: GroupMember) -> None:
        member.is_new = True
        self._watch_session(group, member, NEW_MEMBER_JOIN_TIMEOUT_MS)

    def _watch_session(self, group: CoordinatedGroup, member: GroupMember, timeout_ms: int) -> None:
        member_id = member.member_id
        member.heartbeat_satisfied = True
        self._sessions.check_and_complete(member_id)
        member.heartbeat_satisfied = False

        def is_ready() -> bool:
            is_gone = group.state == DEAD or member_id not in group.members
            return is_gone or self._is_alive(group.members[member_id])

        def expire() -> None:
            if not is_ready():
                self._lose_member(group, group.members[member_id])

        self._sessions.try_complete_else_watch(DelayedOperation(timeout_ms, is_ready, lambda: None, expire), member_id)

    @staticmethod
    def _is_alive(member: GroupMember) -> bool:
        """A parked member is, unless it is new."""
        return member.heartbeat_satisfied or (member.is_parked and not member.is_new)

    def _await_pending(self, group: CoordinatedGroup, member_id: str, session_timeout_ms: int) -> None:
        def is_ready() -> bool:
            return group.state == DEAD or member_id in group.members

        def expire() -> None:
            if group.state != DEAD:
                self._forget_pending(group, member_id)

        self._sessions.try_complete_else_watch(
            DelayedOperation(session_timeout_ms, is_ready, lambda: None, expire), member_id
        )

    # ---- members that go

    def _remove(self, group: CoordinatedGroup, member_id: str) -> None:
        """The id may be that of a static member that was replaced before its SyncGroup came."""
        group.remove(member_id)
        self._sessions.check_and_complete(member_id)

    def _lose_member(self, group: CoordinatedGroup, member: GroupMember) -> None:
        """Leavers go one by one: the first begins a rebalance, which the next may complete."""
        member.finish_join(self._join_error(UNKNOWN_MEMBER_ID))
        group.remove(member.member_id)
        if group.state in (STABLE, COMPLETING):
            self._prepare_rebalance(group)
        elif group.state == PREPARING:
            self._look_at_join_phase(group)

    def _forget_pending(self, group: CoordinatedGroup, member_id: str) -> None:
        group.remove(member_id)
        if group.state == PREPARING:
            self._look_at_join_phase(group)

    def _remove_leaver(self, group: CoordinatedGroup, member: GroupMember) -> None:
        self._lose_member(group, member)
        self._sessions.check_and_complete(member.member_id)

    # ---- the log

    def _store_group(self, group: CoordinatedGroup, assignments: dict[str, str], ended: Respond[str]) -> None:
        record = Record(None, record_of(group, assignments))
        self.log.append([record], lambda error: ended(_GROUP_ERRORS.get(error, error)))

    def unload(self) -> None:
        self.is_active = False
        group, self.group, self.offsets, self._pending_commits = self.group, None, {}, {}
        if group is None:
            return
        group.move_to(DEAD, self.timer.now_ms)
        for member in group.all_members():
            member.finish_join(self._join_error(NOT_COORDINATOR, member.member_id))
            member.finish_sync(SyncResponse(NOT_COORDINATOR))
            self._sessions.check_and_complete(member.member_id)
        self._phases.check_and_complete(_JOIN)
        self._phases.check_and_complete(_SYNC)

    def load(self) -> None:
        if self.is_active:
            return
        self.is_active = True
        stored: GroupRecord | None = None
        for record in self.log.records:
            if record.partition is None:
                stored = record.value if isinstance(record.value, GroupRecord) else None
            elif isinstance(record.value, Offset):
                self.offsets[record.partition] = record.value
            else:
                self.offsets.pop(record.partition, None)
        if stored is not None:
            self._load_group(loaded(self.version, stored, self.rules.knows_subscribed_topics))
        elif self.offsets:
            self.group = CoordinatedGroup(self.version, self.timer.now_ms)

    def _load_group(self, group: CoordinatedGroup) -> None:
        self.group = group
        if len(group.members) > self.config.group_max_size:
            self._prepare_rebalance(group)
        for member in group.all_members():
            self._restart_session(group, member)
