"""Members that have an id and have yet to join with it (KIP-394, since 2.2)."""

from tests.support.coordinator_scenarios.scenario import (
    COMPLETING,
    EMPTY,
    GROUP_MAX_SIZE_REACHED,
    ILLEGAL_GENERATION,
    INCONSISTENT_GROUP_PROTOCOL,
    MEMBER_ID_REQUIRED,
    NONE,
    PREPARING,
    SINCE_2_3,
    SINCE_3_9,
    STABLE,
    UNKNOWN_MEMBER_ID,
    Scenario,
    answer,
    group,
    parked,
)
from tests.support.coordinator_scenarios.steps import commit, heartbeat, join, join_for_id, leave, stable, sync, tick

IDS = (
    Scenario(
        name="an id first, then the group",
        mirrors=("GroupCoordinatorTest.testJoinGroupSecondJoinInconsistentProtocol",),
        versions=SINCE_2_3,
        steps=(join_for_id(0), join(1000, 0), tick(4000)),
        expected=(
            answer(0, MEMBER_ID_REQUIRED, at_ms=0, member=0, members=[]),
            group(0, EMPTY, generation=0, members=[], pending=1),
            group(1, PREPARING, members=[0], pending=0),
            answer(1, at_ms=4000, member=0, generation=1, leader=0, members=[0]),
        ),
    ),
    Scenario(
        name="a pending member that names no protocol stays pending",
        mirrors=(
            "GroupCoordinatorTest.testJoinGroupSecondJoinInconsistentProtocol",
            "GroupMetadataManagerTest.testJoinGroupSecondJoinInconsistentProtocol",
        ),
        versions=SINCE_2_3,
        steps=(join_for_id(0), join(1000, 0, protocols=()), join(2000, 0), tick(5000)),
        expected=(
            answer(1, INCONSISTENT_GROUP_PROTOCOL, at_ms=1000),
            group(1, EMPTY, pending=1),
            answer(2, at_ms=5000, generation=1),
        ),
    ),
    Scenario(
        name="each first join makes an id",
        mirrors=("ClassicGroupTest.testRemovalFromPendingAfterMemberIsStable",),
        versions=SINCE_2_3,
        steps=(join_for_id(0), join_for_id(0), join_for_id(0), join(1000, 1)),
        expected=(
            answer(0, MEMBER_ID_REQUIRED, member=0),
            answer(1, MEMBER_ID_REQUIRED, member=1),
            answer(2, MEMBER_ID_REQUIRED, member=2),
            group(2, EMPTY, pending=3),
            group(3, PREPARING, members=[1], pending=2, leader=1),
        ),
    ),
    Scenario(
        name="asking for an id does not disturb a stable group",
        mirrors=("GroupCoordinatorTest.testSecondMemberPartiallyJoinAndTimeout",),
        versions=SINCE_2_3,
        steps=(*stable(1), join_for_id(7000), heartbeat(8000, 0, 1)),
        expected=(
            answer(-2, MEMBER_ID_REQUIRED, member=1),
            answer(-1, NONE),
            group(-1, STABLE, generation=1, members=[0], pending=1),
        ),
    ),
    Scenario(
        name="an id that is not used runs out with the session timeout",
        mirrors=(
            "GroupCoordinatorTest.testSecondMemberPartiallyJoinAndTimeout",
            "GroupMetadataManagerTest.testSecondMemberPartiallyJoinAndTimeout",
        ),
        versions=SINCE_2_3,
        steps=(*stable(1, session_timeout_ms=30000), join_for_id(7000), tick(16999), tick(17000), join(17000, 1)),
        expected=(
            group(-3, STABLE, pending=1),
            group(-2, STABLE, members=[0], pending=0),
            answer(-1, UNKNOWN_MEMBER_ID),
        ),
    ),
    Scenario(
        name="a pending id is no member for other requests",
        mirrors=("GroupCoordinatorTest.testHeartbeatUnknownConsumerExistingGroup",),
        versions=SINCE_2_3,
        steps=(*stable(1), join_for_id(7000), heartbeat(7000, 1, 1), sync(7000, 1, 1), commit(7000, 1, 1)),
        expected=(
            answer(-3, UNKNOWN_MEMBER_ID),
            answer(-2, UNKNOWN_MEMBER_ID),
            answer(-1, UNKNOWN_MEMBER_ID),
            group(-1, STABLE, pending=1),
        ),
    ),
    Scenario(
        name="once joined the pending timer is over and another one runs",
        mirrors=(
            "GroupCoordinatorTest.testNewMemberTimeoutCompletion",
            "GroupMetadataManagerTest.testNewMemberTimeoutCompletion",
        ),
        versions=SINCE_2_3,
        steps=(
            *(join_for_id(0, session_timeout_ms=305000), join(0, 0, session_timeout_ms=305000), tick(3000)),
            *(sync(3000, 0, 1, {0: "x"}), tick(300100), tick(308000)),
        ),
        expected=(
            answer(1, at_ms=3000, generation=1),
            answer(3, assignment="x"),
            group(4, STABLE, generation=1, members=[0]),
            group(5, EMPTY, generation=2, members=[]),
        ),
    ),
)

JOIN_PHASE = (
    Scenario(
        name="a join phase waits for the pending member, who joins",
        mirrors=(
            "GroupCoordinatorTest.testJoinGroupCompletionWhenPendingMemberJoins",
            "GroupMetadataManagerTest.testJoinGroupCompletionWhenPendingMemberJoins",
        ),
        versions=SINCE_2_3,
        steps=(*stable(1), join_for_id(7000), join(7000, 0), join(8000, 1)),
        expected=(
            group(-2, PREPARING, generation=1, members=[0], pending=1),
            answer(-2, at_ms=8000, generation=2, members=[0, 1]),
            answer(-1, at_ms=8000, member=1, generation=2, leader=0),
            group(-1, COMPLETING, generation=2, pending=0),
        ),
    ),
    Scenario(
        name="a join phase waits for the pending member, whose time runs out",
        mirrors=(
            "GroupCoordinatorTest.testJoinGroupCompletionWhenPendingMemberTimesOut",
            "GroupMetadataManagerTest.testJoinGroupCompletionWhenPendingMemberTimesOut",
        ),
        versions=SINCE_2_3,
        steps=(*stable(1), join_for_id(7000), join(8000, 0), tick(17000)),
        expected=(
            group(-2, PREPARING, generation=1),
            answer(-2, at_ms=17000, generation=2, members=[0]),
            group(-1, COMPLETING, generation=2, members=[0], pending=0),
        ),
    ),
    Scenario(
        name="a join phase waits for the pending member, who leaves",
        mirrors=(
            "GroupCoordinatorTest.testPendingMembersLeavesGroup",
            "GroupMetadataManagerTest.testPendingMembersLeaveGroup",
        ),
        versions=SINCE_2_3,
        steps=(*stable(1), join_for_id(7000), join(8000, 0), leave(9000, 1)),
        expected=(
            answer(-1, left=[NONE]),
            answer(-2, at_ms=9000, generation=2, members=[0]),
            group(-1, COMPLETING, generation=2, pending=0),
        ),
    ),
    Scenario(
        name="a pending member does not hold the deadline",
        mirrors=("GroupMetadata.hasAllMembersJoined",),
        versions=SINCE_2_3,
        steps=(
            *stable(1, rebalance_timeout_ms=7000),
            join_for_id(7000, session_timeout_ms=30000),
            join(8000, 0, rebalance_timeout_ms=7000),
            tick(15000),
            join(20000, 1),
        ),
        expected=(
            answer(-3, at_ms=15000, generation=2, members=[0]),
            group(-2, COMPLETING, generation=2, pending=1),
            parked(-1),
            group(-1, PREPARING, generation=2, members=[0, 1], pending=0),
        ),
    ),
    Scenario(
        name="a pending time that runs out in the first delay ends it in the Java coordinator only",
        mirrors=("GroupMetadataManagerTest.testHeartbeatExpirationShouldRemovePendingMember",),
        versions=SINCE_2_3,
        config={"initial_rebalance_delay_ms": 8000},
        steps=(join_for_id(0, session_timeout_ms=6000), join(0), tick(8000)),
        expected=(
            answer(1, at_ms=8000, generation=1, versions=("2.3", "3.9")),
            answer(1, at_ms=6000, generation=1, versions=("4.3",)),
        ),
    ),
    Scenario(
        name="a pending member that leaves in the first delay does not end it",
        mirrors=("GroupMetadataManagerTest.testCompleteJoinPhaseInEmptyStateSkipsRebalance",),
        versions=SINCE_2_3,
        steps=(join_for_id(0), join(0), leave(1000, 0), tick(3000)),
        expected=(answer(1, at_ms=3000, generation=1, members=[1]), group(2, PREPARING, pending=0)),
    ),
)

LEAVES = (
    Scenario(
        name="a pending member that leaves a stable group makes the Java coordinator rebalance",
        mirrors=("GroupMetadataManagerTest.testPendingMemberBatchLeaveGroup",),
        versions=SINCE_2_3,
        steps=(*stable(1), join_for_id(7000), leave(8000, 1)),
        expected=(
            answer(-1, left=[NONE]),
            group(-1, STABLE, pending=0, versions=("2.3", "3.9")),
            group(-1, PREPARING, generation=1, members=[0], pending=0, versions=("4.3",)),
        ),
    ),
    Scenario(
        name="a pending member that leaves an empty group",
        mirrors=("ClassicGroupTest.testRemovalFromPendingWhenMemberIsRemoved",),
        versions=SINCE_2_3,
        steps=(join_for_id(0), leave(1000, 0), leave(1000, 0)),
        expected=(
            answer(1, left=[NONE]),
            answer(2, left=[UNKNOWN_MEMBER_ID], versions=SINCE_3_9),
            answer(2, UNKNOWN_MEMBER_ID, versions=("2.3",)),
            group(2, EMPTY, generation=0, pending=0),
        ),
    ),
    Scenario(
        name="a member and a pending one leave together",
        mirrors=(
            "GroupCoordinatorTest.testPendingMemberBatchLeaveGroup",
            "GroupMetadataManagerTest.testJoinedMemberPendingMemberBatchLeaveGroup",
        ),
        versions=SINCE_3_9,
        steps=(*stable(1), join_for_id(7000), leave(8000, 0, 1)),
        expected=(answer(-1, left=[NONE, NONE]), group(-1, EMPTY, generation=2, members=[], pending=0)),
    ),
    Scenario(
        name="a member, a pending one and a stranger leave together",
        mirrors=("GroupMetadataManagerTest.testJoinedMemberPendingMemberBatchLeaveGroupWithUnknownMember",),
        versions=SINCE_3_9,
        steps=(*stable(1), join_for_id(7000), leave(8000, 0, 1, "unknown")),
        expected=(answer(-1, left=[NONE, NONE, UNKNOWN_MEMBER_ID]), group(-1, EMPTY, members=[], pending=0)),
    ),
)

MAX_SIZE = (
    Scenario(
        name="ids do not count as members of a full group",
        mirrors=(
            "GroupCoordinatorTest.testDynamicMembersJoinGroupWithMaxSizeAndRequiredKnownMember",
            "GroupMetadataManagerTest.testDynamicMembersJoinGroupWithMaxSizeAndRequiredKnownMember",
        ),
        versions=SINCE_2_3,
        config={"group_max_size": 2},
        steps=(
            *(join_for_id(0), join_for_id(0), join_for_id(0)),
            *(join(1000, 0), join(1000, 1), join(1000, 2)),
            tick(7000),
        ),
        expected=(
            answer(2, MEMBER_ID_REQUIRED),
            answer(5, at_ms=7000, generation=1, versions=("2.3",)),
            group(-1, COMPLETING, members=[0, 1, 2], versions=("2.3",)),
            answer(5, GROUP_MAX_SIZE_REACHED, at_ms=1000, versions=SINCE_3_9),
            group(5, PREPARING, members=[0, 1], pending=0, versions=SINCE_3_9),
            answer(3, at_ms=7000, members=[0, 1], versions=SINCE_3_9),
        ),
    ),
    Scenario(
        name="a full stable group gives no id either",
        mirrors=("GroupCoordinatorTest.testDynamicMembersJoinGroupWithMaxSizeAndRequiredKnownMember",),
        versions=SINCE_2_3,
        config={"group_max_size": 1},
        steps=(*stable(1), join_for_id(7000), commit(8000, 0, 2)),
        expected=(answer(-2, GROUP_MAX_SIZE_REACHED), answer(-1, ILLEGAL_GENERATION), group(-1, STABLE, pending=0)),
    ),
)

SCENARIOS = (*IDS, *JOIN_PHASE, *LEAVES, *MAX_SIZE)
