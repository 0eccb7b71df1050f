"""Leaving: one by one, and together (since 2.4)."""

from tests.support.coordinator_scenarios.scenario import (
    ALL,
    COMPLETING,
    EMPTY,
    FENCED_INSTANCE_ID,
    NONE,
    PREPARING,
    REBALANCE_IN_PROGRESS,
    SINCE_2_3,
    SINCE_3_9,
    STABLE,
    UNKNOWN_MEMBER_ID,
    Scenario,
    answer,
    gone,
    group,
    parked,
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
    Scenario(
        name="leave a group that is not there",
        mirrors=(
            "GroupCoordinatorTest.testLeaveGroupUnknownGroup",
            "GroupMetadataManagerTest.testLeaveGroupUnknownGroup",
        ),
        versions=ALL,
        steps=(leave(0, STRANGER),),
        expected=(answer(0, {NONE, UNKNOWN_MEMBER_ID}, left=[UNKNOWN_MEMBER_ID]), gone(0)),
    ),
    Scenario(
        name="a stranger leaves",
        mirrors=(
            "GroupCoordinatorTest.testLeaveGroupUnknownConsumerExistingGroup",
            "GroupMetadataManagerTest.testLeaveGroupUnknownMemberIdExistingGroup",
        ),
        versions=ALL,
        steps=(*stable(1), leave(7000, STRANGER)),
        expected=(
            answer(-1, {NONE, UNKNOWN_MEMBER_ID}, left=[UNKNOWN_MEMBER_ID]),
            group(-1, STABLE, generation=1, members=[0]),
        ),
    ),
    Scenario(
        name="the last member leaves",
        mirrors=("GroupCoordinatorTest.testValidLeaveGroup", "GroupMetadataManagerTest.testValidLeaveGroup"),
        versions=ALL,
        steps=(*stable(1), leave(7000, 0)),
        expected=(answer(-1, left=[NONE]), group(-1, EMPTY, generation=2, leader=None, protocol=None, members=[])),
    ),
    Scenario(
        name="a member that has left is unknown",
        mirrors=("GroupCoordinatorTest.testValidLeaveGroup",),
        versions=ALL,
        steps=(*stable(2), leave(7000, 1), leave(7000, 1), heartbeat(7000, 1, 1)),
        expected=(
            answer(-2, {NONE, UNKNOWN_MEMBER_ID}, left=[UNKNOWN_MEMBER_ID]),
            answer(-1, UNKNOWN_MEMBER_ID),
            group(-1, PREPARING, generation=1, members=[0]),
        ),
    ),
    Scenario(
        name="the leader leaves and the other member leads",
        mirrors=("GroupMetadata.remove",),
        versions=ALL,
        steps=(*stable(2), leave(7000, 0), join(8000, 1)),
        expected=(
            group(-2, PREPARING, generation=1, leader=1, members=[1]),
            answer(-1, at_ms=8000, generation=2, leader=1, members=[1]),
        ),
    ),
    Scenario(
        name="one of the others leads when the leader of three leaves",
        mirrors=("GroupMetadata.remove",),
        versions=ALL,
        steps=(*stable(3), leave(7000, 0), join(8000, 1), join(8000, 2)),
        expected=(
            answer(-2, at_ms=8000, generation=2, leader={1, 2}),
            answer(-1, at_ms=8000, generation=2, leader={1, 2}),
            group(-1, COMPLETING, members=[1, 2]),
        ),
    ),
    Scenario(
        name="the one whom the join phase waits for leaves",
        mirrors=("GroupCoordinator.removeMemberAndUpdateGroup",),
        versions=ALL,
        steps=(*stable(2), join(7000, 0), leave(8000, 1)),
        expected=(answer(-2, at_ms=8000, generation=2, members=[0]), group(-1, COMPLETING, generation=2, members=[0])),
    ),
    Scenario(
        name="a follower leaves before the sync",
        mirrors=("GroupCoordinator.removeMemberAndUpdateGroup",),
        versions=ALL,
        steps=(*joined(3), sync(7000, 2, 1), leave(8000, 1), join(9000, 0), join(9000, 2)),
        expected=(
            answer(4, REBALANCE_IN_PROGRESS, at_ms=8000),
            answer(-2, at_ms=9000, generation=2, members=[0, 2]),
            group(-1, COMPLETING, generation=2),
        ),
    ),
    Scenario(
        name="a member whose join waits leaves",
        mirrors=("GroupMetadataManagerTest.testValidLeaveGroup",),
        versions=ALL,
        steps=(*stable(2), join(7000, 0), leave(8000, 0)),
        expected=(
            answer(-2, UNKNOWN_MEMBER_ID, at_ms=8000, versions=SINCE_2_3),
            parked(-2, versions=("1.0",)),
            answer(-1, left=[NONE]),
            group(-1, PREPARING, generation=1, leader=1, members=[1]),
        ),
    ),
    Scenario(
        name="a member whose sync waits leaves",
        mirrors=("GroupCoordinator.removeMemberAndUpdateGroup",),
        versions=ALL,
        steps=(*joined(2), sync(7000, 1, 1), leave(8000, 1), tick(9000)),
        expected=(answer(-2, left=[NONE]), parked(-3), group(-1, PREPARING, members=[0])),
    ),
)

TOGETHER = (
    Scenario(
        name="all leave together",
        mirrors=("GroupCoordinatorTest.testStaticMembersValidBatchLeaveGroup",),
        versions=SINCE_3_9,
        steps=(*stable(2), leave(7000, 0, 1)),
        expected=(answer(-1, left=[NONE, NONE]), group(-1, EMPTY, generation=2, members=[])),
    ),
    Scenario(
        name="several members leave together, one of them named twice",
        mirrors=("GroupMetadataManagerTest.testJoinedMemberPendingMemberBatchLeaveGroupWithUnknownMember",),
        versions=SINCE_3_9,
        steps=(*stable(3), leave(7000, 1, STRANGER, 1, 2)),
        expected=(
            answer(-1, left=[NONE, UNKNOWN_MEMBER_ID, UNKNOWN_MEMBER_ID, NONE]),
            group(-1, PREPARING, generation=1, leader=0, members=[0]),
        ),
    ),
    Scenario(
        name="static members leave by their instance ids",
        mirrors=(
            "GroupCoordinatorTest.testStaticMembersValidBatchLeaveGroup",
            "GroupMetadataManagerTest.testStaticMembersValidBatchLeaveGroup",
        ),
        versions=SINCE_3_9,
        steps=(*stable(2, TWO), leave_static(7000, ("", "one"), ("", "two"))),
        expected=(answer(-1, left=[NONE, NONE]), group(-1, EMPTY, generation=2, members=[])),
    ),
    Scenario(
        name="a static member leaves by its instance id alone",
        mirrors=(
            "GroupCoordinatorTest.testLeaveGroupStaticMemberWithUnknownMemberId",
            "GroupMetadataManagerTest.testLeaveGroupStaticMemberWithUnknownMemberId",
        ),
        versions=SINCE_3_9,
        steps=(*stable(2, {1: "two"}), leave_static(7000, ("", "two"))),
        expected=(answer(-1, left=[NONE]), group(-1, PREPARING, members=[0])),
    ),
    Scenario(
        name="a static member leaves with both of its ids",
        mirrors=("GroupMetadataManagerTest.testStaticMembersValidBatchLeaveGroup",),
        versions=SINCE_3_9,
        steps=(*stable(2, TWO), leave_static(7000, (1, "two"))),
        expected=(answer(-1, left=[NONE]), group(-1, PREPARING, members=[0])),
    ),
    Scenario(
        name="static members of no group leave",
        mirrors=(
            "GroupCoordinatorTest.testStaticMembersUnknownGroupBatchLeaveGroup",
            "GroupMetadataManagerTest.testStaticMembersLeaveUnknownGroup",
        ),
        versions=SINCE_3_9,
        steps=(leave_static(0, ("", "one"), ("", "two")),),
        expected=(answer(0, left=[UNKNOWN_MEMBER_ID, UNKNOWN_MEMBER_ID]), gone(0)),
    ),
    Scenario(
        name="one of those who leave has another's instance id",
        mirrors=(
            "GroupCoordinatorTest.testStaticMembersFencedInstanceBatchLeaveGroup",
            "GroupMetadataManagerTest.testStaticMembersFencedInstanceBatchLeaveGroup",
            "GroupMetadataManagerTest.testLeaveGroupWithFencedInstanceId",
        ),
        versions=SINCE_3_9,
        steps=(*stable(2, TWO), leave_static(7000, ("", "one"), ("invalid", "two"))),
        expected=(answer(-1, left=[NONE, FENCED_INSTANCE_ID]), group(-1, PREPARING, leader=1, members=[1])),
    ),
    Scenario(
        name="one of those who leave has an unknown instance id",
        mirrors=(
            "GroupCoordinatorTest.testStaticMembersUnknownInstanceBatchLeaveGroup",
            "GroupMetadataManagerTest.testStaticMembersUnknownInstanceBatchLeaveGroup",
        ),
        versions=SINCE_3_9,
        steps=(*stable(2, TWO), leave_static(7000, ("", "three"), ("", "two"), (0, "three"))),
        expected=(
            answer(-1, left=[UNKNOWN_MEMBER_ID, NONE, UNKNOWN_MEMBER_ID]),
            group(-1, PREPARING, leader=0, members=[0]),
        ),
    ),
    Scenario(
        name="neither an id nor an instance id",
        mirrors=("GroupCoordinator.handleLeaveGroup",),
        versions=SINCE_3_9,
        steps=(*stable(1), leave_static(7000, ("", None))),
        expected=(answer(-1, left=[UNKNOWN_MEMBER_ID]), group(-1, STABLE)),
    ),
    Scenario(
        name="those whose joins wait leave together",
        mirrors=("GroupMetadataManagerTest.testStaticMembersValidBatchLeaveGroup",),
        versions=SINCE_3_9,
        steps=(*stable(3), join(7000, 0), join(7000, 1), leave(8000, 1, 2)),
        expected=(
            answer(-2, UNKNOWN_MEMBER_ID, at_ms=8000),
            answer(-3, at_ms=8000, generation=2, members=[0]),
            group(-1, COMPLETING, generation=2, members=[0]),
        ),
    ),
)

SCENARIOS = (*ONE_BY_ONE, *TOGETHER)
