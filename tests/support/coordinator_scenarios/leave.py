"""Leaving: one by one, and together (since 2.4)."""

from tests.support.coordinator_scenarios.scenario import (
    COMPLETING,
    EMPTY,
    PREPARING,
    STABLE,
    answer,
    answers,
    gone,
    group,
    parked,
    scenario,
)
from tests.support.coordinator_scenarios.steps import (
    STRANGER,
    heartbeat,
    join,
    joined,
    leave,
    leave_static,
    stable,
    sync,
    tick,
)

TWO = {0: "one", 1: "two"}

ONE_BY_ONE = (
    scenario("leave a group that is not there")
    .mirrors("both.testLeaveGroupUnknownGroup")
    .plays(leave(0, STRANGER))
    .expects(answer(0, {"NONE", "UNKNOWN_MEMBER_ID"}, left=["UNKNOWN_MEMBER_ID"]), gone(0)),
    scenario("a stranger leaves")
    .mirrors("scala.testLeaveGroupUnknownConsumerExistingGroup", "java.testLeaveGroupUnknownMemberIdExistingGroup")
    .plays(*stable(1), leave(7000, STRANGER))
    .expects(
        answer(-1, {"NONE", "UNKNOWN_MEMBER_ID"}, left=["UNKNOWN_MEMBER_ID"]),
        group(-1, STABLE, generation=1, members=[0]),
    ),
    scenario("the last member leaves")
    .mirrors("both.testValidLeaveGroup")
    .plays(*stable(1), leave(7000, 0))
    .expects(answer(-1, left=["NONE"]), group(-1, EMPTY, generation=2, leader=None, protocol=None, members=[])),
    scenario("a member that has left is unknown")
    .mirrors("scala.testValidLeaveGroup")
    .plays(*stable(2), leave(7000, 1), leave(7000, 1), heartbeat(7000, 1, 1))
    .expects(
        answer(-2, {"NONE", "UNKNOWN_MEMBER_ID"}, left=["UNKNOWN_MEMBER_ID"]),
        answer(-1, "UNKNOWN_MEMBER_ID"),
        group(-1, PREPARING, generation=1, members=[0]),
    ),
    scenario("the leader leaves and the other member leads")
    .mirrors("GroupMetadata.remove")
    .plays(*stable(2), leave(7000, 0), join(8000, 1))
    .expects(
        group(-2, PREPARING, generation=1, leader=1, members=[1]),
        answer(-1, at_ms=8000, generation=2, leader=1, members=[1]),
    ),
    scenario("one of the others leads when the leader of three leaves")
    .mirrors("GroupMetadata.remove")
    .plays(*stable(3), leave(7000, 0), join(8000, 1), join(8000, 2))
    .expects(*answers(-2, -1, at_ms=8000, generation=2, leader={1, 2}), group(-1, COMPLETING, members=[1, 2])),
    scenario("the one whom the join phase waits for leaves")
    .mirrors("GroupCoordinator.removeMemberAndUpdateGroup")
    .plays(*stable(2), join(7000, 0), leave(8000, 1))
    .expects(answer(-2, at_ms=8000, generation=2, members=[0]), group(-1, COMPLETING, generation=2, members=[0])),
    scenario("a follower leaves before the sync")
    .mirrors("GroupCoordinator.removeMemberAndUpdateGroup")
    .plays(*joined(3), sync(7000, 2, 1), leave(8000, 1), join(9000, 0), join(9000, 2))
    .expects(
        answer(4, "REBALANCE_IN_PROGRESS", at_ms=8000),
        answer(-2, at_ms=9000, generation=2, members=[0, 2]),
        group(-1, COMPLETING, generation=2),
    ),
    scenario("a member whose join waits leaves")
    .mirrors("java.testValidLeaveGroup")
    .plays(*stable(2), join(7000, 0), leave(8000, 0))
    .expects(
        answer(-2, "UNKNOWN_MEMBER_ID", at_ms=8000, since="2.3"),
        parked(-2, until="1.0"),
        answer(-1, left=["NONE"]),
        group(-1, PREPARING, generation=1, leader=1, members=[1]),
    ),
    scenario("a member whose sync waits leaves")
    .mirrors("GroupCoordinator.removeMemberAndUpdateGroup")
    .plays(*joined(2), sync(7000, 1, 1), leave(8000, 1), tick(9000))
    .expects(answer(-2, left=["NONE"]), parked(-3), group(-1, PREPARING, members=[0])),
)

TOGETHER = (
    scenario("all leave together", since="3.9")
    .mirrors("scala.testStaticMembersValidBatchLeaveGroup")
    .plays(*stable(2), leave(7000, 0, 1))
    .expects(answer(-1, left=["NONE", "NONE"]), group(-1, EMPTY, generation=2, members=[])),
    scenario("several members leave together, one of them named twice", since="3.9")
    .mirrors("java.testJoinedMemberPendingMemberBatchLeaveGroupWithUnknownMember")
    .plays(*stable(3), leave(7000, 1, STRANGER, 1, 2))
    .expects(
        answer(-1, left=["NONE", "UNKNOWN_MEMBER_ID", "UNKNOWN_MEMBER_ID", "NONE"]),
        group(-1, PREPARING, generation=1, leader=0, members=[0]),
    ),
    scenario("static members leave by their instance ids", since="3.9")
    .mirrors("both.testStaticMembersValidBatchLeaveGroup")
    .plays(*stable(2, TWO), leave_static(7000, ("", "one"), ("", "two")))
    .expects(answer(-1, left=["NONE", "NONE"]), group(-1, EMPTY, generation=2, members=[])),
    scenario("a static member leaves by its instance id alone", since="3.9")
    .mirrors("both.testLeaveGroupStaticMemberWithUnknownMemberId")
    .plays(*stable(2, {1: "two"}), leave_static(7000, ("", "two")))
    .expects(answer(-1, left=["NONE"]), group(-1, PREPARING, members=[0])),
    scenario("a static member leaves with both of its ids", since="3.9")
    .mirrors("java.testStaticMembersValidBatchLeaveGroup")
    .plays(*stable(2, TWO), leave_static(7000, (1, "two")))
    .expects(answer(-1, left=["NONE"]), group(-1, PREPARING, members=[0])),
    scenario("static members of no group leave", since="3.9")
    .mirrors("scala.testStaticMembersUnknownGroupBatchLeaveGroup", "java.testStaticMembersLeaveUnknownGroup")
    .plays(leave_static(0, ("", "one"), ("", "two")))
    .expects(answer(0, left=["UNKNOWN_MEMBER_ID", "UNKNOWN_MEMBER_ID"]), gone(0)),
    scenario("one of those who leave has another's instance id", since="3.9")
    .mirrors("both.testStaticMembersFencedInstanceBatchLeaveGroup", "java.testLeaveGroupWithFencedInstanceId")
    .plays(*stable(2, TWO), leave_static(7000, ("", "one"), ("invalid", "two")))
    .expects(answer(-1, left=["NONE", "FENCED_INSTANCE_ID"]), group(-1, PREPARING, leader=1, members=[1])),
    scenario("one of those who leave has an unknown instance id", since="3.9")
    .mirrors("both.testStaticMembersUnknownInstanceBatchLeaveGroup")
    .plays(*stable(2, TWO), leave_static(7000, ("", "three"), ("", "two"), (0, "three")))
    .expects(
        answer(-1, left=["UNKNOWN_MEMBER_ID", "NONE", "UNKNOWN_MEMBER_ID"]), group(-1, PREPARING, leader=0, members=[0])
    ),
    scenario("neither an id nor an instance id", since="3.9")
    .mirrors("GroupCoordinator.handleLeaveGroup")
    .plays(*stable(1), leave_static(7000, ("", None)))
    .expects(answer(-1, left=["UNKNOWN_MEMBER_ID"]), group(-1, STABLE)),
    scenario("those whose joins wait leave together", since="3.9")
    .mirrors("java.testStaticMembersValidBatchLeaveGroup")
    .plays(*stable(3), join(7000, 0), join(7000, 1), leave(8000, 1, 2))
    .expects(
        answer(-2, "UNKNOWN_MEMBER_ID", at_ms=8000),
        answer(-3, at_ms=8000, generation=2, members=[0]),
        group(-1, COMPLETING, generation=2, members=[0]),
    ),
)

SCENARIOS = (*ONE_BY_ONE, *TOGETHER)
