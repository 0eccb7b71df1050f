"""What is different in the group coordinators of Kafka 2.3.1 and 1.0.2."""

from dataclasses import replace

from tests.naive.coordinator_group import DEAD, PREPARING, CoordinatedGroup, GroupMember
from tests.naive.coordinator_messages import JoinRequest, JoinResponse, Respond
from tests.naive.coordinator_purgatory import DelayedOperation
from tests.naive.coordinator_rules import NEW_MEMBER_JOIN_TIMEOUT_MS
from tests.naive.coordinator_scala import ScalaCoordinator


class ScalaCoordinatorOf23(ScalaCoordinator):
    """2.3: the limit of a group's size and static members are young."""

    def _watch_session(self, group: CoordinatedGroup, member: GroupMember, timeout_ms: int) -> None:
        """As in 1.0, sessions are told by the time of the last heartbeat (until 2.3.1).

        The heartbeat of a new member that is still parked leaves it without a deadline.
        """
        member_id = member.member_id
        deadline_ms = self.timer.now_ms + timeout_ms
        member.latest_heartbeat_ms = self.timer.now_ms
        self._sessions.check_and_complete(member_id)

        def keeps_alive() -> bool:
            current = group.members[member_id]
            if current.answer_join is not None:
                limit_ms = current.latest_heartbeat_ms + NEW_MEMBER_JOIN_TIMEOUT_MS
                return not current.is_new or limit_ms > deadline_ms
            limit_ms = current.latest_heartbeat_ms + current.session_timeout_ms
            return current.answer_sync is not None or limit_ms > deadline_ms

        def expire() -> None:
            if group.state != DEAD and member_id in group.members and not keeps_alive():
                self._lose_member(group, group.members[member_id])

        operation = DelayedOperation(
            timeout_ms,
            lambda: group.state == DEAD or (member_id in group.members and keeps_alive()),
            lambda: None,
            expire,
        )
        self._sessions.try_complete_else_watch(operation, member_id)

    def _load_group(self, group: CoordinatedGroup) -> None:
        """2.3.1 reads no time of the state, and takes an instance id that is null for one."""
        group.state_since_ms = None
        for member in group.all_members():
            member.is_static = True
        super()._load_group(group)

    def _accepts(self, group: CoordinatedGroup, request: JoinRequest) -> bool:
        """An oversized group sheds members that have not rejoined yet; pending ids are let in whatever its size."""
        if request.member_id == "":
            return len(group.members) < self.config.group_max_size
        is_oversized = len(group.members) > self.config.group_max_size
        is_known = request.member_id in group.members
        return not (is_oversized and is_known and group.members[request.member_id].answer_join is None)

    def _turn_away(self, group: CoordinatedGroup, request: JoinRequest) -> None:
        """It is the request's instance id that is forgotten, even if its member is another one."""
        instances = dict(group.static_members)
        group.remove(request.member_id)
        group.static_members = {name: member for name, member in instances.items() if name != request.instance_id}

    def _replace_static(
        self, group: CoordinatedGroup, request: JoinRequest, new_id: str, respond: Respond[JoinResponse]
    ) -> None:
        """Whatever it wants, it gets the current generation, and hears that the old id leads even if it was its own."""
        assert request.instance_id is not None
        leader = group.leader
        member = self._put_in_place(group, group.static_members[request.instance_id], new_id)
        self._update(group, member, request, respond)
        if group.state == PREPARING:
            self._look_at_join_phase(group)
        else:
            member.finish_join(replace(group.join_response(new_id, to_leader=False), leader=leader))


class ScalaCoordinatorOf10(ScalaCoordinator):
    """1.0: sessions are told by the time of the last heartbeat, and only of members that have joined."""

    def _accepts(self, group: CoordinatedGroup, request: JoinRequest) -> bool:
        return True

    def _await_new_member(self, group: CoordinatedGroup, member: GroupMember) -> None:
        """It waits without end."""

    def _watch_session(self, group: CoordinatedGroup, member: GroupMember, timeout_ms: int) -> None:
        """A second refresh in the same millisecond does not take the place of the first: the member is lost twice."""
        member.latest_heartbeat_ms = self.timer.now_ms
        deadline_ms = self.timer.now_ms + timeout_ms
        self._sessions.check_and_complete(member.member_id)

        def keeps_alive() -> bool:
            return member.is_parked or member.latest_heartbeat_ms + timeout_ms > deadline_ms

        def expire() -> None:
            if not keeps_alive():
                self._lose_member(group, member)

        operation = DelayedOperation(timeout_ms, lambda: keeps_alive() or member.is_leaving, lambda: None, expire)
        self._sessions.try_complete_else_watch(operation, member.member_id)

    def _remove_leaver(self, group: CoordinatedGroup, member: GroupMember) -> None:
        member.is_leaving = True
        self._sessions.check_and_complete(member.member_id)
        self._lose_member(group, member)

    def _lose_member(self, group: CoordinatedGroup, member: GroupMember) -> None:
        """A join that it has parked is never answered."""
        member.answer_join = None
        super()._lose_member(group, member)

    def _complete_join_phase(self, group: CoordinatedGroup) -> None:
        """There is no leader to depose; the sessions of those who are removed go on and are lost once more (1.0.2)."""
        for member in group.yet_to_rejoin():
            group.remove(member.member_id)
        if group.state != DEAD:
            self._start_next_generation(group)
