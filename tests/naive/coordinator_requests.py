"""What a group coordinator answers, as far as Scala's and Java's agree.

``GroupCoordinator.scala`` (1.0.2, 2.3.1, 3.9.2) and ``GroupMetadataManager.java`` (4.3.1).
"""

from dataclasses import replace

from tests.naive.coordinator_group import (
    COMPLETING,
    EMPTY,
    PREPARING,
    STABLE,
    CoordinatedGroup,
    GroupMember,
)
from tests.naive.coordinator_interface import CoordinatorInterface
from tests.naive.coordinator_messages import (
    FENCED_INSTANCE_ID,
    ILLEGAL_GENERATION,
    INCONSISTENT_GROUP_PROTOCOL,
    NONE,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
    Identity,
    JoinRequest,
    JoinResponse,
    KafkaError,
    Leaver,
    LeaveResponse,
    Respond,
    SyncRequest,
    SyncResponse,
)


class Coordinator(CoordinatorInterface):
    """Checks of requests, and what members do; ``CoordinatorInterface`` names what is left to the subclasses."""

    # ---- JoinGroup

    def _is_out_of_bounds(self, request: JoinRequest) -> bool:
        bounds = (self.config.min_session_timeout_ms, self.config.max_session_timeout_ms)
        return not bounds[0] <= request.session_timeout_ms <= bounds[1]

    def _join_error(self, error: str, member_id: str = "") -> JoinResponse:
        return JoinResponse(error, member_id, self.rules.error_generation)

    def _join(self, request: JoinRequest, respond: Respond[JoinResponse]) -> None:
        is_unknown = request.member_id == ""
        if self.group is None and is_unknown:
            self.group = CoordinatedGroup(self.version, self.timer.now_ms)
        group = self.group
        if group is None:
            respond(self._join_error(UNKNOWN_MEMBER_ID, request.member_id))
        elif not self._accepts(group, request):
            self._turn_away(group, request)
            respond(self._join_error("GROUP_MAX_SIZE_REACHED"))
        elif not group.supports(request):
            respond(self._join_error(INCONSISTENT_GROUP_PROTOCOL, request.member_id))
        elif is_unknown:
            self._join_as_new(group, request, respond)
        else:
            self._join_as_known(group, request, respond)

    def _accepts(self, group: CoordinatedGroup, request: JoinRequest) -> bool:
        """Else the coordinator answers GROUP_MAX_SIZE_REACHED; the rules since 2.6."""
        if group.state == EMPTY:
            return True
        is_known = request.member_id in group.members
        if group.state == PREPARING:
            is_parked = is_known and group.members[request.member_id].answer_join is not None
            return is_parked or group.awaiting_join() < self.config.group_max_size
        return is_known or len(group.members) < self.config.group_max_size

    def _turn_away(self, group: CoordinatedGroup, request: JoinRequest) -> None:
        group.remove(request.member_id)

    def _join_as_new(self, group: CoordinatedGroup, request: JoinRequest, respond: Respond[JoinResponse]) -> None:
        member_id = self.make_id(request.client_id if request.instance_id is None else request.instance_id)
        if request.instance_id in group.static_members:
            self._replace_static(group, request, member_id, respond)
        elif request.instance_id is None and self.rules.pending_ids and request.requires_known_member_id:
            group.pending.add(member_id)
            self._await_pending(group, member_id, request.session_timeout_ms)
            respond(self._join_error("MEMBER_ID_REQUIRED", member_id))
        else:
            self._add_member(group, request, member_id, respond)

    def _join_as_known(self, group: CoordinatedGroup, request: JoinRequest, respond: Respond[JoinResponse]) -> None:
        if request.member_id in group.pending:
            if request.instance_id is not None:
                raise KafkaError
            self._add_member(group, request, request.member_id, respond)
            return
        try:
            group.validate(request.member_id, request.instance_id)
        except KafkaError as error:
            respond(self._join_error(error.error, request.member_id))
            return
        member = group.members[request.member_id]
        leads = group.leader == member.member_id
        changed = member.protocols != request.protocols
        if group.state == PREPARING or changed or (leads and group.state == STABLE):
            self._update(group, member, request, respond)
            self._rebalance_or_go_on(group)
        else:
            respond(group.join_response(member.member_id, to_leader=leads))

    def _add_member(
        self, group: CoordinatedGroup, request: JoinRequest, member_id: str, respond: Respond[JoinResponse]
    ) -> None:
        member = GroupMember(
            member_id,
            request.instance_id,
            request.protocol_type,
            request.protocols,
            request.session_timeout_ms,
            request.rebalance_timeout_ms,
            answer_join=respond,
        )
        if group.state == PREPARING and self._is_initial(group):
            group.new_member_added = True
        group.add(member)
        self._await_new_member(group, member)
        self._rebalance_or_go_on(group)

    def _update(
        self, group: CoordinatedGroup, member: GroupMember, request: JoinRequest, respond: Respond[JoinResponse]
    ) -> None:
        group.update(member, request.protocols, respond)
        if self.rules.updates_timeouts:
            member.session_timeout_ms = request.session_timeout_ms
            member.rebalance_timeout_ms = request.rebalance_timeout_ms

    def _rebalance_or_go_on(self, group: CoordinatedGroup) -> None:
        if group.can_rebalance():
            self._prepare_rebalance(group)
        else:
            self._look_at_join_phase(group)

    # ---- JoinGroup of a static member that is known

    def _replace_static(
        self, group: CoordinatedGroup, request: JoinRequest, new_id: str, respond: Respond[JoinResponse]
    ) -> None:
        """The rules since 2.6.1: no rebalance if the group is stable and elects the same protocol.

        A member that can be told so leads on without assigning (KIP-814); another is told that the old id leads.
        """
        assert request.instance_id is not None
        leader = group.leader
        old_id = group.static_members[request.instance_id]
        member = self._put_in_place(group, old_id, new_id)
        before = replace(member)
        self._update(group, member, request, respond)
        if group.state == COMPLETING:
            self._prepare_rebalance(group)
        elif group.state == PREPARING:
            self._look_at_join_phase(group)
        elif group.select_protocol() != group.protocol:
            self._rebalance_or_go_on(group)
        else:
            assignments = {other.member_id: other.assignment for other in group.all_members()}

            def ended(error: str) -> None:
                if error == NONE and request.supports_skipping_assignment:
                    leads = group.leader == new_id
                    member.finish_join(replace(group.join_response(new_id, leads), skip_assignment=leads))
                elif error == NONE:
                    member.finish_join(JoinResponse(NONE, new_id, group.generation, group.protocol, leader))
                else:
                    self._go_back(group, member, before)
                    self._put_in_place(group, new_id, old_id)
                    respond(JoinResponse(error, "", group.generation, group.protocol, leader))

            self._store_group(group, assignments, ended)

    def _put_in_place(self, group: CoordinatedGroup, old_id: str, new_id: str) -> GroupMember:
        if old_id not in group.members:
            raise KafkaError
        member = self._replacement(group.members[old_id], new_id)
        group.replace_static(old_id, member)
        self._restart_session(group, member)
        return member

    def _go_back(self, group: CoordinatedGroup, member: GroupMember, before: GroupMember) -> None:
        """The member's replacement could not be written: it wants again what it wanted before."""
        group.update(member, before.protocols, None)
        member.rebalance_timeout_ms = before.rebalance_timeout_ms
        member.session_timeout_ms = before.session_timeout_ms

    # ---- SyncGroup

    def _sync(self, request: SyncRequest, respond: Respond[SyncResponse]) -> None:
        identity = request.identity
        group = self._group_of(identity)
        group.validate_generation(identity)
        self._validate_protocol(group, request)
        if group.state == PREPARING:
            raise KafkaError(REBALANCE_IN_PROGRESS)
        member = group.members[identity.member_id]
        if group.state == COMPLETING:
            member.answer_sync = respond
            self._synced(group, member.member_id)
            if group.leader == member.member_id:
                self._store_assignments(group, request.assignments)
        else:
            self._synced(group, member.member_id)
            respond(SyncResponse(NONE, member.assignment))

    def _group_of(self, identity: Identity) -> CoordinatedGroup:
        """The group, if the member is in it."""
        if self.group is None:
            raise KafkaError(UNKNOWN_MEMBER_ID)
        self.group.validate(identity.member_id, identity.instance_id, self.rules.unknown_instance_id_is_error)
        return self.group

    def _validate_protocol(self, group: CoordinatedGroup, request: SyncRequest) -> None:
        """KIP-559: a member says what it believes was elected."""
        if not self.rules.checks_protocol_of_sync:
            return
        if request.protocol_type is not None and request.protocol_type != group.protocol_type:
            raise KafkaError(INCONSISTENT_GROUP_PROTOCOL)
        if request.protocol is not None and request.protocol != group.protocol:
            raise KafkaError(INCONSISTENT_GROUP_PROTOCOL)

    def _store_assignments(self, group: CoordinatedGroup, sent: dict[str, str]) -> None:
        assignments = dict.fromkeys(group.members, "") | sent
        generation = group.generation

        def ended(error: str) -> None:
            if group.state != COMPLETING or group.generation != generation:
                return
            if error != NONE:
                self._reset_assignments(group, error)
                self._rebalance_or_go_on(group)
                return
            for member in group.all_members():
                member.assignment = assignments.get(member.member_id, "")
            self._answer_syncs(group, NONE)
            group.move_to(STABLE, self.timer.now_ms)

        self._store_group(group, assignments, ended)

    def _reset_assignments(self, group: CoordinatedGroup, error: str) -> None:
        for member in group.all_members():
            member.assignment = ""
        self._answer_syncs(group, error)

    def _answer_syncs(self, group: CoordinatedGroup, error: str) -> None:
        for member in group.all_members():
            if member.finish_sync(SyncResponse(error, member.assignment)):
                self._restart_session(group, member)

    # ---- Heartbeat, LeaveGroup

    def _heartbeat(self, identity: Identity) -> str:
        group = self._group_of(identity)
        if group.state == COMPLETING and not self.rules.checks_generation_while_completing:
            return REBALANCE_IN_PROGRESS
        group.validate_generation(identity)
        if group.state == COMPLETING and not self.rules.heartbeats_while_completing:
            return REBALANCE_IN_PROGRESS
        self._restart_session(group, group.members[identity.member_id])
        return REBALANCE_IN_PROGRESS if group.state == PREPARING else NONE

    def _leave(self, leavers: list[Leaver]) -> LeaveResponse:
        return LeaveResponse(NONE, [(leaver.member_id, self._leave_one(leaver)) for leaver in leavers])

    def _leave_one(self, leaver: Leaver) -> str:
        group = self.group
        if group is None:
            return UNKNOWN_MEMBER_ID
        member_id = leaver.member_id
        if self.rules.batch_leave and member_id == "":
            static_id = group.static_members.get(leaver.instance_id) if leaver.instance_id is not None else None
            if static_id is None:
                return UNKNOWN_MEMBER_ID
            self._remove_leaver(group, group.members[static_id])
            return NONE
        if member_id in group.pending:
            self._forget_pending(group, member_id)
            return NONE
        try:
            group.validate(member_id, leaver.instance_id if self.rules.batch_leave else None)
        except KafkaError as error:
            return error.error
        self._remove_leaver(group, group.members[member_id])
        return NONE

    # ---- OffsetCommit

    def _validate_commit(self, identity: Identity) -> None:
        """Lets a commit pass, and makes a group of its own for one that comes from outside of groups."""
        if self.group is None:
            if identity.generation >= 0:
                raise KafkaError(ILLEGAL_GENERATION)
            self.group = CoordinatedGroup(self.version, self.timer.now_ms)
        group = self.group
        if self.rules.commit_checks_member_first:
            if self._is_simple_commit(group, identity):
                return
            if identity.generation < 0 and not identity.member_id and identity.instance_id is None:
                raise KafkaError(UNKNOWN_MEMBER_ID)
            self._group_of(identity)
            group.validate_generation(identity)
            if group.state == COMPLETING:
                raise KafkaError(REBALANCE_IN_PROGRESS)
        else:
            current = group.static_members.get(identity.instance_id) if identity.instance_id is not None else None
            if current is not None and current != identity.member_id:
                raise KafkaError(FENCED_INSTANCE_ID)
            if self._is_simple_commit(group, identity):
                return
            if group.state == COMPLETING:
                raise KafkaError(REBALANCE_IN_PROGRESS)
            self._group_of(identity)
            group.validate_generation(identity)
        self._restart_session(group, group.members[identity.member_id])

    @staticmethod
    def _is_simple_commit(group: CoordinatedGroup, identity: Identity) -> bool:
        return identity.generation < 0 and group.state == EMPTY
