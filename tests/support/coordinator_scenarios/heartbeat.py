"""Heartbeats: their answers, and the sessions that they keep."""

from tests.support.coordinator_scenarios.scenario import (
    ALL,
    COMPLETING,
    EMPTY,
    ILLEGAL_GENERATION,
    NONE,
    PREPARING,
    REBALANCE_IN_PROGRESS,
    SCALA,
    SINCE_2_3,
    SINCE_3_9,
    STABLE,
    UNKNOWN_MEMBER_ID,
    UNTIL_2_3,
    Scenario,
    answer,
    gone,
    group,
)
from tests.support.coordinator_scenarios.steps import (
    FORMED_MS,
    STRANGER,
    commit,
    heartbeat,
    join,
    joined,
    leave,
    stable,
    sync,
    tick,
)

ANSWERS = (
    Scenario(
        name="heartbeat to a group that is not there",
        mirrors=(
            "GroupCoordinatorTest.testHeartbeatUnknownGroup",
            "GroupMetadataManagerTest.testHeartbeatUnknownGroup",
        ),
        versions=ALL,
        steps=(heartbeat(0, STRANGER, -1),),
        expected=(answer(0, UNKNOWN_MEMBER_ID), gone(0)),
    ),
    Scenario(
        name="heartbeat of a stranger",
        mirrors=(
            "GroupCoordinatorTest.testHeartbeatUnknownConsumerExistingGroup",
            "GroupMetadataManagerTest.testHeartbeatUnknownMemberExistingGroup",
        ),
        versions=ALL,
        steps=(*stable(1), heartbeat(7000, STRANGER, 1)),
        expected=(answer(-1, UNKNOWN_MEMBER_ID),),
    ),
    Scenario(
        name="heartbeat to an empty group",
        mirrors=("GroupCoordinatorTest.testHeartbeatEmptyGroup", "GroupMetadataManagerTest.testHeartbeatEmptyGroup"),
        versions=ALL,
        steps=(*stable(1), leave(7000, 0), heartbeat(8000, 0, 2)),
        expected=(answer(-1, UNKNOWN_MEMBER_ID), group(-1, EMPTY, generation=2)),
    ),
    Scenario(
        name="heartbeat of another generation",
        mirrors=(
            "GroupCoordinatorTest.testHeartbeatIllegalGeneration",
            "GroupMetadataManagerTest.testHeartbeatIllegalGeneration",
        ),
        versions=ALL,
        steps=(*stable(1), heartbeat(7000, 0, 2), heartbeat(7000, 0, 0)),
        expected=(answer(-2, ILLEGAL_GENERATION), answer(-1, ILLEGAL_GENERATION)),
    ),
    Scenario(
        name="a valid heartbeat",
        mirrors=("GroupCoordinatorTest.testValidHeartbeat", "GroupMetadataManagerTest.testValidHeartbeat"),
        versions=ALL,
        steps=(*stable(1), heartbeat(7000, 0, 1)),
        expected=(answer(-1, NONE), group(-1, STABLE, generation=1)),
    ),
    Scenario(
        name="a heartbeat before the sync",
        mirrors=(
            "GroupCoordinatorTest.testHeartbeatRebalanceInProgress",
            "GroupMetadataManagerTest.testHeartbeatDuringCompletingRebalance",
        ),
        versions=ALL,
        steps=(*joined(1), heartbeat(7000, 0, 1)),
        expected=(
            answer(-1, REBALANCE_IN_PROGRESS, versions=UNTIL_2_3),
            answer(-1, NONE, versions=SINCE_3_9),
            group(-1, COMPLETING),
        ),
    ),
    Scenario(
        name="before the sync 1.0 does not look at the generation",
        mirrors=("GroupCoordinator.handleHeartbeat",),
        versions=ALL,
        steps=(*joined(1), heartbeat(7000, 0, 0)),
        expected=(
            answer(-1, REBALANCE_IN_PROGRESS, versions=("1.0",)),
            answer(-1, ILLEGAL_GENERATION, versions=SINCE_2_3),
        ),
    ),
    Scenario(
        name="a heartbeat is answered REBALANCE_IN_PROGRESS",
        mirrors=(
            "GroupCoordinatorTest.testHeartbeatDuringRebalanceCausesRebalanceInProgress",
            "GroupMetadataManagerTest.testHeartbeatDuringRebalanceCausesRebalanceInProgress",
            "GroupMetadataManagerTest.testHeartbeatDuringPreparingRebalance",
        ),
        versions=ALL,
        steps=(*stable(1), join(7000), heartbeat(8000, 0, 1), heartbeat(8000, 0, 2), heartbeat(8000, 1, 1)),
        expected=(
            answer(-3, REBALANCE_IN_PROGRESS),
            answer(-2, ILLEGAL_GENERATION),
            answer(-1, REBALANCE_IN_PROGRESS),
            group(-1, PREPARING, generation=1),
        ),
    ),
    Scenario(
        name="a heartbeat in the first delay",
        mirrors=("GroupMetadataManagerTest.testHeartbeatDuringPreparingRebalance",),
        versions=ALL,
        steps=(join(0), heartbeat(1000, 0, 0), tick(3000)),
        expected=(answer(1, REBALANCE_IN_PROGRESS), answer(0, at_ms=3000, generation=1)),
    ),
)

SESSIONS = (
    Scenario(
        name="a session ends",
        mirrors=(
            "GroupCoordinatorTest.testSessionTimeout",
            "GroupMetadataManagerTest.testClassicGroupMemberSessionTimeout",
        ),
        versions=ALL,
        steps=(*stable(1), tick(15999), tick(16000), heartbeat(16000, 0, 1)),
        expected=(
            group(-3, STABLE, members=[0]),
            group(-2, EMPTY, generation=2, members=[], leader=None, protocol=None),
            answer(-1, UNKNOWN_MEMBER_ID),
        ),
    ),
    Scenario(
        name="a heartbeat at the very end of the session is too late",
        mirrors=("GroupCoordinatorTest.testSessionTimeout",),
        versions=ALL,
        steps=(*stable(1), heartbeat(16000, 0, 1)),
        expected=(answer(-1, UNKNOWN_MEMBER_ID), group(-1, EMPTY, generation=2)),
    ),
    Scenario(
        name="heartbeats keep a session",
        mirrors=(
            "GroupCoordinatorTest.testHeartbeatMaintainsSession",
            "GroupMetadataManagerTest.testClassicGroupMemberHeartbeatMaintainsSession",
        ),
        versions=ALL,
        steps=(*stable(1), heartbeat(15999, 0, 1), heartbeat(25998, 0, 1), tick(35997), tick(35998)),
        expected=(answer(-4), answer(-3), group(-2, STABLE), group(-1, EMPTY, generation=2)),
    ),
    Scenario(
        name="a refused heartbeat keeps no session",
        mirrors=("GroupCoordinatorTest.testHeartbeatIllegalGeneration",),
        versions=ALL,
        steps=(*stable(1), heartbeat(15000, 0, 2), tick(16000)),
        expected=(answer(-2, ILLEGAL_GENERATION), group(-1, EMPTY)),
    ),
    Scenario(
        name="commits keep a session",
        mirrors=(
            "GroupCoordinatorTest.testCommitMaintainsSession",
            "OffsetMetadataManagerTest.testGenericGroupOffsetCommitMaintainsSession",
        ),
        versions=ALL,
        steps=(*stable(1), commit(15999, 0, 1), heartbeat(25998, 0, 1), tick(25999)),
        expected=(answer(-3), answer(-2), group(-1, STABLE)),
    ),
    Scenario(
        name="a sync of a stable group keeps a session in the Scala coordinator only",
        mirrors=("GroupCoordinator.doSyncGroup",),
        versions=ALL,
        steps=(*stable(1), sync(15000, 0, 1), tick(16000)),
        expected=(answer(-2), group(-1, STABLE, versions=SCALA), group(-1, EMPTY, versions=("4.3",))),
    ),
    Scenario(
        name="an unchanged follower's join keeps no session",
        mirrors=("GroupMetadataManagerTest.testJoinGroupExistingMemberDoesNotTriggerRebalanceInStableState",),
        versions=ALL,
        steps=(*stable(2), heartbeat(15000, 0, 1), join(15000, 1), tick(16000)),
        expected=(answer(-2, generation=1), group(-1, PREPARING, generation=1, members=[0])),
    ),
    Scenario(
        name="a heartbeat before the sync keeps the session since 2.6.1",
        mirrors=("GroupMetadataManagerTest.testHeartbeatDuringCompletingRebalance",),
        versions=ALL,
        steps=(*joined(2), heartbeat(15000, 0, 1), heartbeat(15000, 1, 1), tick(16000)),
        expected=(
            group(-1, EMPTY, generation=2, versions=UNTIL_2_3),
            group(-1, COMPLETING, generation=1, members=[0, 1], versions=SINCE_3_9),
        ),
    ),
    Scenario(
        name="heartbeats while the group prepares keep a session up to the deadline",
        mirrors=(
            "GroupCoordinatorTest.testSessionTimeoutDuringRebalance",
            "GroupMetadataManagerTest.testClassicGroupMemberSessionTimeoutDuringRebalance",
        ),
        versions=ALL,
        steps=(*stable(1), join(7000), heartbeat(15000, 0, 1), tick(24999), tick(25000)),
        expected=(
            answer(-3, REBALANCE_IN_PROGRESS),
            group(-2, PREPARING, members=[0, 1]),
            answer(3, at_ms=25000, member=1, generation=2, leader=1, members=[1]),
            group(-1, COMPLETING, generation=2, leader=1, members=[1]),
        ),
    ),
    Scenario(
        name="a sync restarts the session of those who waited for it",
        mirrors=("GroupCoordinator.propagateAssignment",),
        versions=ALL,
        steps=(*joined(2), sync(FORMED_MS, 1, 1), sync(15000, 0, 1), tick(24999), tick(25000)),
        expected=(answer(3, at_ms=15000), group(-2, STABLE, members=[0, 1]), group(-1, EMPTY, generation=2)),
    ),
    Scenario(
        name="the second of two sessions that end",
        mirrors=("GroupMetadataManagerTest.testHeartbeatExpirationShouldRemoveMember",),
        versions=ALL,
        steps=(*stable(2), heartbeat(9000, 1, 1), tick(16000), tick(19000)),
        expected=(
            group(-2, PREPARING, generation=1, members=[1], leader=1),
            group(-1, EMPTY, generation=2, members=[]),
        ),
    ),
)

SCENARIOS = (*ANSWERS, *SESSIONS)
