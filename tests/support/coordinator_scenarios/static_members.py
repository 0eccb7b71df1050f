"""Static members (KIP-345, since 2.3): replaced, fenced, kept at the deadline."""

from typing import Any

from tests.support.coordinator_scenarios.scenario import (
    COMPLETING,
    EMPTY,
    FENCED_INSTANCE_ID,
    GROUP_MAX_SIZE_REACHED,
    NONE,
    PREPARING,
    REBALANCE_IN_PROGRESS,
    SINCE_2_3,
    SINCE_3_9,
    STABLE,
    UNKNOWN_MEMBER_ID,
    UNKNOWN_SERVER_ERROR,
    Scenario,
    answer,
    group,
    parked,
)
from tests.support.coordinator_scenarios.steps import (
    FORMED_MS,
    RANGE_CHANGED,
    RANGE_THEN_ROUND_ROBIN,
    ROUND_ROBIN,
    commit,
    fail_store,
    finish_store,
    heartbeat,
    hold_store,
    join,
    join_for_id,
    joined,
    leave,
    load,
    stable,
    sync,
    syncs,
    tick,
    unload,
)

A: dict[str, Any] = {"instance_id": "a"}
B: dict[str, Any] = {"instance_id": "b"}
AB = {0: "a", 1: "b"}
SLOW: dict[str, Any] = {"rebalance_timeout_ms": 8000, "session_timeout_ms": 200_000}

JOINING = (
    Scenario(
        name="the first static member",
        mirrors=(
            "GroupCoordinatorTest.staticMemberJoinAsFirstMember",
            "GroupMetadataManagerTest.testStaticMemberJoinAsFirstMember",
        ),
        versions=SINCE_2_3,
        steps=(join(0, **A), tick(3000)),
        expected=(answer(0, at_ms=3000, member=0, generation=1, leader=0, instances={0: "a"}),),
    ),
    Scenario(
        name="a static member needs no id first",
        mirrors=("GroupMetadataManagerTest.testStaticMemberJoinAsFirstMember",),
        versions=SINCE_2_3,
        steps=(join_for_id(0, **A), tick(3000)),
        expected=(group(0, PREPARING, members=[0], pending=0), answer(0, at_ms=3000, generation=1)),
    ),
    Scenario(
        name="the leader learns of instance ids",
        mirrors=("GroupMetadataManagerTest.testStaticMemberJoinAsFirstMember",),
        versions=SINCE_2_3,
        steps=joined(3, AB),
        expected=(answer(0, members=[0, 1, 2], instances={0: "a", 1: "b", 2: None}), answer(1, members=[], leader=0)),
    ),
    Scenario(
        name="a known member with an unknown instance id",
        mirrors=(
            "GroupCoordinatorTest.staticMemberJoinWithUnknownInstanceIdAndKnownMemberId",
            "GroupMetadataManagerTest.testStaticMemberJoinWithUnknownInstanceIdAndKnownMemberId",
        ),
        versions=SINCE_2_3,
        steps=(*stable(1, {0: "a"}), join(7000, 0, **B), heartbeat(7000, 0, 1, **B), sync(7000, 0, 1, **B)),
        expected=(
            answer(-3, UNKNOWN_MEMBER_ID),
            answer(-2, NONE, versions=("2.3",)),
            answer(-2, UNKNOWN_MEMBER_ID, versions=SINCE_3_9),
            answer(-1, NONE, versions=("2.3",)),
            answer(-1, UNKNOWN_MEMBER_ID, versions=SINCE_3_9),
            group(-1, STABLE),
        ),
    ),
    Scenario(
        name="a static member may leave its instance id out",
        mirrors=("GroupCoordinator.validateCurrentMember",),
        versions=SINCE_2_3,
        steps=(*stable(2, AB), heartbeat(7000, 1, 1), join(7000, 1), commit(7000, 1, 1)),
        expected=(answer(-3), answer(-2, generation=1), answer(-1), group(-1, STABLE)),
    ),
    Scenario(
        name="static members fill a group",
        mirrors=(
            "GroupCoordinatorTest.testStaticMembersJoinGroupWithMaxSize",
            "GroupMetadataManagerTest.testStaticMembersJoinGroupWithMaxSize",
        ),
        versions=SINCE_2_3,
        config={"group_max_size": 2},
        steps=(join(0, **A), join(0, **B), join(1000, instance_id="c"), tick(6000)),
        expected=(answer(2, GROUP_MAX_SIZE_REACHED, at_ms=1000), answer(0, members=[0, 1])),
    ),
    Scenario(
        name="a full group does not even take a static member back without its id",
        mirrors=("GroupCoordinator.acceptJoiningMember",),
        versions=SINCE_2_3,
        config={"group_max_size": 2},
        steps=(*stable(2, AB), join(7000, **B)),
        expected=(answer(-1, GROUP_MAX_SIZE_REACHED), group(-1, STABLE, members=[0, 1])),
    ),
    Scenario(
        name="an instance id is forgotten with the member that had it before",
        mirrors=("GroupCoordinator.handleJoinGroup", "GroupCoordinator.removeMemberAndUpdateGroup"),
        versions=("2.3",),
        config={"group_max_size": 2},
        # The third has it when the second ends; it comes back, and is not known as a static member any more.
        steps=(*stable(2, AB), join(7000, **B), leave(8000, 0), join(9000, **B), tick(16_500), join(17_000, **B)),
        expected=(
            answer(-5, GROUP_MAX_SIZE_REACHED),
            answer(-3, at_ms=16_000, generation=2, member=2, members=[2]),
            group(-1, PREPARING, members=[2, 3]),
        ),
    ),
    Scenario(
        name="a static member whose instance id a full group has forgotten is found again after loading",
        mirrors=("GroupCoordinator.handleJoinGroup", "GroupMetadata.loadGroup"),
        versions=SINCE_2_3,
        config={"group_max_size": 2},
        steps=(*stable(2, AB), join(7000, **B), join(7000, 1, **B), unload(8000), load(8000), join(9000, 1, **B)),
        expected=(
            answer(-5, GROUP_MAX_SIZE_REACHED),
            answer(-4, UNKNOWN_MEMBER_ID, versions=("2.3",)),
            answer(-4, generation=1, versions=SINCE_3_9),
            answer(-1, generation=1, member=1),
        ),
    ),
)

KNOWN_IDS = (
    Scenario(
        name="a single static member rejoins with its id",
        mirrors=(
            "GroupCoordinatorTest.staticMemberRejoinWithKnownMemberId",
            "GroupMetadataManagerTest.testStaticMemberRejoinWithKnownMemberId",
        ),
        versions=SINCE_2_3,
        steps=(*joined(1, {0: "a"}), join(FORMED_MS, 0, **A)),
        expected=(answer(-1, member=0, generation=1, leader=0, members=[0]), group(-1, COMPLETING)),
    ),
    Scenario(
        name="the static leader rejoins with its id",
        mirrors=(
            "GroupCoordinatorTest.staticMemberRejoinWithLeaderIdAndKnownMemberId",
            "GroupMetadataManagerTest.testStaticMemberRejoinWithLeaderIdAndKnownMemberId",
        ),
        versions=SINCE_2_3,
        steps=(*stable(2, AB, **SLOW), join(7000, 0, **A, **SLOW), tick(15000)),
        expected=(
            group(-2, PREPARING, generation=1),
            answer(-2, at_ms=15000, generation=2, leader=0, members=[0, 1]),
            group(-1, COMPLETING, generation=2, members=[0, 1]),
        ),
    ),
    Scenario(
        name="an unchanged static follower rejoins with its id",
        mirrors=(
            "GroupCoordinatorTest.staticMemberRejoinAsFollowerWithKnownMemberIdAndNoProtocolChange",
            "GroupMetadataManagerTest.testStaticMemberRejoinAsFollowerWithKnownMemberIdAndNoProtocolChange",
        ),
        versions=SINCE_2_3,
        steps=(*stable(2, AB), join(7000, 1, **B)),
        expected=(answer(-1, at_ms=7000, member=1, generation=1, leader=0, members=[]), group(-1, STABLE)),
    ),
    Scenario(
        name="a changed static follower rejoins with its id",
        mirrors=(
            "GroupCoordinatorTest.staticMemberRejoinWithFollowerIdAndChangeOfProtocol",
            "GroupMetadataManagerTest.testStaticMemberRejoinWithFollowerIdAndChangeOfProtocol",
        ),
        versions=SINCE_2_3,
        steps=(*stable(2, AB), join(7000, 1, protocols=RANGE_CHANGED, **B), join(8000, 0, **A)),
        expected=(
            group(-2, PREPARING),
            answer(-1, at_ms=8000, generation=2, members=[0, 1], metadata={0: "one", 1: "two"}),
        ),
    ),
    Scenario(
        name="the leader begins a rebalance and a follower comes with other protocols",
        mirrors=(
            "GroupCoordinatorTest.staticMemberRejoinWithKnownLeaderIdToTriggerRebalanceAndFollowerWithChangeofProtocol",
            "GroupMetadataManagerTest"
            ".testStaticMemberRejoinWithKnownLeaderIdToTriggerRebalanceAndFollowerWithChangeOfProtocol",
        ),
        versions=SINCE_2_3,
        steps=(
            *stable(2, AB, protocols=RANGE_THEN_ROUND_ROBIN),
            join(7000, 0, protocols=RANGE_THEN_ROUND_ROBIN, **A),
            join(8000, protocols=ROUND_ROBIN, **B),
        ),
        expected=(
            answer(-2, at_ms=8000, generation=2, leader=0, protocol="roundrobin", members=[0, 2]),
            answer(-1, at_ms=8000, member=2, generation=2, leader=0),
            group(-1, COMPLETING, generation=2, members=[0, 2]),
        ),
    ),
)

FENCED = (
    Scenario(
        name="an unknown id with a known instance id",
        mirrors=(
            "GroupCoordinatorTest.staticMemberReJoinWithExplicitUnknownMemberId",
            "GroupMetadataManagerTest.testStaticMemberRejoinWithExplicitUnknownMemberId",
        ),
        versions=SINCE_2_3,
        steps=(*stable(1, {0: "a"}), join(7000, "unknown", **A)),
        expected=(answer(-1, FENCED_INSTANCE_ID), group(-1, STABLE, members=[0])),
    ),
    Scenario(
        name="a follower's instance id with the leader's id",
        mirrors=(
            "GroupCoordinatorTest.staticMemberRejoinAsFollowerWithMismatchedMemberId",
            "GroupMetadataManagerTest.testStaticMemberRejoinAsFollowerWithMismatchedInstanceId",
        ),
        versions=SINCE_2_3,
        steps=(*stable(2, AB), join(7000, 0, **B)),
        expected=(answer(-1, FENCED_INSTANCE_ID), group(-1, STABLE)),
    ),
    Scenario(
        name="the leader's instance id with a follower's id",
        mirrors=(
            "GroupCoordinatorTest.staticMemberRejoinAsLeaderWithMismatchedMemberId",
            "GroupMetadataManagerTest.testStaticMemberRejoinAsLeaderWithMismatchedInstanceId",
        ),
        versions=SINCE_2_3,
        steps=(*stable(2, AB), join(7000, 1, **A)),
        expected=(answer(-1, FENCED_INSTANCE_ID), group(-1, STABLE)),
    ),
    Scenario(
        name="a sync with another's instance id",
        mirrors=(
            "GroupCoordinatorTest.staticMemberSyncAsLeaderWithInvalidMemberId",
            "GroupMetadataManagerTest.testStaticMemberSyncAsLeaderWithInvalidMemberId",
        ),
        versions=SINCE_2_3,
        steps=(*joined(2, AB), sync(7000, "invalid", 1, {}, **A), sync(7000, 1, 1, **A), sync(7000, 0, 1, **A)),
        expected=(answer(-3, FENCED_INSTANCE_ID), answer(-2, FENCED_INSTANCE_ID), answer(-1), group(-1, STABLE)),
    ),
    Scenario(
        name="a heartbeat with another's instance id",
        mirrors=(
            "GroupCoordinatorTest.staticMemberHeartbeatLeaderWithInvalidMemberId",
            "GroupMetadataManagerTest.testStaticMemberHeartbeatLeaderWithInvalidMemberId",
        ),
        versions=SINCE_2_3,
        steps=(*stable(2, AB), heartbeat(7000, 0, 1, **A), heartbeat(7000, "invalid", 1, **A)),
        expected=(answer(-2, NONE), answer(-1, FENCED_INSTANCE_ID)),
    ),
    Scenario(
        name="a commit with another's instance id",
        mirrors=(
            "GroupCoordinatorTest.staticMemberCommitOffsetWithInvalidMemberId",
            "OffsetMetadataManagerTest.testGenericGroupOffsetCommitWithFencedInstanceId",
        ),
        versions=SINCE_2_3,
        steps=(*stable(2, AB), commit(7000, "invalid", 1, **A), commit(7000, 0, 1, **A)),
        expected=(answer(-2, FENCED_INSTANCE_ID), answer(-1, NONE)),
    ),
    Scenario(
        name="a commit with an unknown instance id",
        mirrors=("OffsetMetadataManagerTest.testGenericGroupOffsetCommitWithUnknownInstanceId",),
        versions=SINCE_2_3,
        steps=(*stable(1), commit(7000, 0, 1, **A)),
        expected=(answer(-1, NONE, versions=("2.3",)), answer(-1, UNKNOWN_MEMBER_ID, versions=SINCE_3_9)),
    ),
    Scenario(
        name="the old one's parked join",
        mirrors=(
            "GroupCoordinatorTest.staticMemberFenceDuplicateRejoinedFollower",
            "GroupMetadataManagerTest.testStaticMemberFenceDuplicateRejoinedFollower",
        ),
        versions=SINCE_2_3,
        steps=(*stable(3, AB), join(7000, 0, **A), join(7000, 1, **B), join(8000, **B), join(9000, 2)),
        expected=(
            answer(-3, FENCED_INSTANCE_ID, at_ms=8000, member=1),
            answer(-4, at_ms=9000, generation=2, members=[0, 2, 3]),
            answer(-2, at_ms=9000, member=3, generation=2, leader=0),
        ),
    ),
    Scenario(
        name="the old one's parked sync",
        mirrors=(
            "GroupCoordinatorTest.staticMemberFenceDuplicateSyncingFollowerAfterMemberIdChanged",
            "GroupMetadataManagerTest.testStaticMemberFenceDuplicateSyncingFollowerAfterMemberIdChanged",
        ),
        versions=SINCE_2_3,
        steps=(*joined(2, AB), sync(7000, 1, 1, **B), join(8000, **B)),
        expected=(answer(-2, FENCED_INSTANCE_ID, at_ms=8000),),
    ),
    Scenario(
        name="the old one's later requests",
        mirrors=(
            "GroupCoordinatorTest.staticMemberFenceDuplicateRejoiningFollowerAfterMemberIdChanged",
            "GroupMetadataManagerTest.testStaticMemberFenceDuplicateRejoiningFollowerAfterMemberIdChanged",
        ),
        versions=SINCE_2_3,
        steps=(*stable(2, AB), join(7000, **B), join(8000, 1, **B), heartbeat(8000, 1, 1, **B), heartbeat(8000, 1, 1)),
        expected=(
            answer(-4, member=2),
            answer(-3, FENCED_INSTANCE_ID),
            answer(-2, FENCED_INSTANCE_ID),
            answer(-1, UNKNOWN_MEMBER_ID),
        ),
    ),
)

REPLACED = (
    Scenario(
        name="a follower comes back without its id to a stable group",
        mirrors=(
            "GroupCoordinatorTest.staticMemberRejoinAsFollowerWithUnknownMemberId",
            "GroupMetadataManagerTest.testStaticMemberRejoinAsFollowerWithUnknownMemberId",
            "GroupMetadataManagerTest.testReplaceStaticMemberInStableStateNoError",
        ),
        versions=SINCE_2_3,
        steps=(*stable(2, AB), join(7000, **B), sync(7000, 2, 1, **B)),
        expected=(
            answer(-2, at_ms=7000, member=2, generation=1, protocol="range", leader=0, members=[]),
            answer(-1, assignment="for 1"),
            group(-1, STABLE, generation=1, members=[0, 2]),
        ),
    ),
    Scenario(
        name="the leader comes back without its id and is sent the old leader",
        mirrors=(
            "GroupCoordinatorTest.staticMemberRejoinWithLeaderIdAndUnknownMemberId",
            "GroupMetadataManagerTest.testStaticMemberRejoinWithLeaderIdAndUnknownMemberId",
        ),
        versions=SINCE_2_3,
        steps=(*stable(2, AB), join(7000, **A), sync(7000, 2, 1, {2: "new"}, **A)),
        expected=(
            answer(-2, at_ms=7000, member=2, generation=1, leader=0, members=[]),
            answer(-1, assignment="for 0"),
            group(-1, STABLE, generation=1, leader=2, members=[1, 2]),
        ),
    ),
    Scenario(
        name="a leader that can skip the assignment is sent that it leads",
        mirrors=(
            "GroupCoordinatorTest.staticMemberRejoinWithLeaderIdAndUnknownMemberId",
            "GroupMetadataManagerTest.testReplaceStaticMemberInStableStateSucceeds",
        ),
        versions=SINCE_3_9,
        steps=(*stable(2, AB), join(7000, supports_skipping_assignment=True, **A)),
        expected=(
            answer(-1, at_ms=7000, member=2, generation=1, leader=2, members=[1, 2], skip_assignment=True),
            group(-1, STABLE, leader=2),
        ),
    ),
    Scenario(
        name="a follower that could skip the assignment has none to skip",
        mirrors=("GroupMetadataManagerTest.testStaticMemberRejoinAsFollowerWithUnknownMemberId",),
        versions=SINCE_3_9,
        steps=(*stable(2, AB), join(7000, supports_skipping_assignment=True, **B)),
        expected=(answer(-1, member=2, leader=0, members=[], skip_assignment=False), group(-1, STABLE)),
    ),
    Scenario(
        name="a follower comes back with a changed subscription and the same vote",
        mirrors=(
            "GroupCoordinatorTest.staticMemberRejoinWithUnknownMemberIdAndChangeOfProtocolWhileSelectProtocolUnchanged",
            "GroupMetadataManagerTest"
            ".testStaticMemberRejoinWithUnknownMemberIdAndChangeOfProtocolWhileSelectProtocolUnchanged",
        ),
        versions=SINCE_2_3,
        steps=(*stable(2, AB), join(7000, protocols=RANGE_CHANGED, **B), join(8000, 0, **A), join(8000, 2, **B)),
        expected=(
            answer(-3, at_ms=7000, generation=1),
            group(-3, STABLE, generation=1),
            answer(-2, generation=2, metadata={0: "one", 2: "one"}),
        ),
    ),
    Scenario(
        name="a follower comes back with protocols that change the vote",
        mirrors=(
            "GroupCoordinatorTest.staticMemberRejoinWithUnknownMemberIdAndChangeOfProtocol",
            "GroupMetadataManagerTest"
            ".testStaticMemberRejoinWithUnknownMemberIdAndChangeOfProtocolWithSelectedProtocolChanged",
            "GroupMetadataManagerTest.testReplaceStaticMemberInStableStateWithUpdatedProtocolTriggersRebalance",
        ),
        versions=SINCE_2_3,
        steps=(
            *stable(2, AB, protocols=RANGE_THEN_ROUND_ROBIN),
            join(7000, protocols=ROUND_ROBIN, **B),
            join(8000, 0, protocols=RANGE_THEN_ROUND_ROBIN, **A),
        ),
        expected=(
            answer(-2, at_ms=7000, generation=1, protocol="range", versions=("2.3",)),
            group(-2, STABLE, versions=("2.3",)),
            group(-2, PREPARING, generation=1, versions=SINCE_3_9),
            answer(-2, at_ms=8000, generation=2, protocol="roundrobin", versions=SINCE_3_9),
        ),
    ),
    Scenario(
        name="the log refuses the new id",
        mirrors=(
            "GroupMetadataManagerTest"
            ".testStaticMemberRejoinWithUnknownMemberIdAndChangeOfProtocolWhileSelectProtocolUnchangedPersistenceFailure",
            "GroupMetadataManagerTest.testReplaceStaticMemberInStableStateErrors",
        ),
        versions=SINCE_3_9,
        steps=(
            *stable(2, AB),
            fail_store(7000, "MESSAGE_TOO_LARGE"),
            join(7000, **B),
            heartbeat(8000, 1, 1, **B),
            heartbeat(8000, 2, 1, **B),
        ),
        expected=(
            answer(-3, UNKNOWN_SERVER_ERROR, at_ms=7000, members=[]),
            group(-3, STABLE, generation=1, members=[0, 1]),
            answer(-2, NONE),
            answer(-1, FENCED_INSTANCE_ID),
        ),
    ),
    Scenario(
        name="a rebalance answers a return that the log refuses later",
        mirrors=("GroupMetadataManager.updateStaticMemberThenRebalanceOrCompleteJoin",),
        versions=SINCE_3_9,
        steps=(
            *(*stable(2, AB), hold_store(7000), join(7000, **B), join(8000, 0, **A)),
            *(join(9000, 2, protocols=RANGE_CHANGED, **B), fail_store(9000, "MESSAGE_TOO_LARGE"), finish_store(9000)),
        ),
        expected=(
            answer(-5, NONE, at_ms=8000, member=2, generation=2),
            parked(-3, versions=("3.9",)),
            answer(-3, UNKNOWN_SERVER_ERROR, at_ms=9000, versions=("4.3",)),
            group(-2, PREPARING, generation=2, members=[0, 2]),
            group(-1, PREPARING, generation=2, members=[0, 1]),
        ),
    ),
    Scenario(
        name="a return before the one before it is written",
        mirrors=(
            "GroupCoordinator.updateStaticMemberAndRebalance",
            "GroupMetadataManager.updateStaticMemberThenRebalanceOrCompleteJoin",
        ),
        versions=SINCE_3_9,
        steps=(*stable(2, AB), hold_store(7000), join(7000, **B), join(8000, **B), finish_store(9000)),
        expected=(
            answer(-3, FENCED_INSTANCE_ID, at_ms=8000),
            answer(-2, at_ms=9000, member=2, generation=1, versions=("3.9",)),
            answer(-2, at_ms=9000, member=3, generation=1, versions=("4.3",)),
            group(-1, STABLE, members=[0, 3]),
        ),
    ),
    Scenario(
        name="the log refuses two returns",
        mirrors=("GroupMetadataManager.updateStaticMemberThenRebalanceOrCompleteJoin",),
        versions=("4.3",),
        steps=(
            *(*stable(2, AB), hold_store(7000), join(7000, **B), join(8000, **B)),
            *(fail_store(9000, "MESSAGE_TOO_LARGE"), finish_store(9000)),
        ),
        expected=(
            answer(-4, FENCED_INSTANCE_ID, at_ms=8000),
            answer(-3, UNKNOWN_SERVER_ERROR, at_ms=9000),
            group(-1, STABLE, members=[0, 2]),
        ),
    ),
    Scenario(
        name="a follower comes back before the sync",
        mirrors=(
            "GroupCoordinatorTest.staticMemberFenceDuplicateSyncingFollowerAfterMemberIdChanged",
            "GroupMetadataManagerTest.testReplaceStaticMemberInCompletingRebalanceStateTriggersRebalance",
        ),
        versions=SINCE_2_3,
        steps=(*joined(2, AB), join(7000, **B), sync(8000, 0, 1, {0: "x", 1: "y"}, **A)),
        expected=(
            answer(-2, at_ms=7000, member=2, generation=1, leader=0, members=[], versions=("2.3",)),
            group(-1, STABLE, members=[0, 2], versions=("2.3",)),
            parked(-2, versions=SINCE_3_9),
            answer(-1, REBALANCE_IN_PROGRESS, versions=SINCE_3_9),
            group(-1, PREPARING, generation=1, members=[0, 2], versions=SINCE_3_9),
        ),
    ),
    Scenario(
        name="a follower comes back while the group prepares",
        mirrors=("GroupMetadataManagerTest.testJoinGroupReplaceStaticMember",),
        versions=SINCE_2_3,
        steps=(*stable(2, AB), join(7000, 0, **A), join(8000, **B)),
        expected=(
            answer(-2, at_ms=8000, generation=2, members=[0, 2], instances={0: "a", 2: "b"}),
            answer(-1, at_ms=8000, member=2, generation=2, leader=0),
        ),
    ),
    Scenario(
        name="a static member comes back in the first delay",
        mirrors=("GroupMetadataManagerTest.testJoinGroupReplaceStaticMember",),
        versions=SINCE_2_3,
        steps=(join(0, **A), join(1000, **A), tick(3000)),
        expected=(
            answer(0, FENCED_INSTANCE_ID, at_ms=1000, member=0),
            answer(1, at_ms=3000, member=1, generation=1, leader=1, members=[1]),
        ),
    ),
    Scenario(
        name="each return makes another id",
        mirrors=(
            "GroupCoordinatorTest.shouldGetDifferentStaticMemberIdAfterEachRejoin",
            "GroupMetadataManagerTest.testGetDifferentStaticMemberIdAfterEachRejoin",
        ),
        versions=SINCE_2_3,
        steps=(*stable(2, AB), join(7000, **A), join(7000, **A), join(7000, **A)),
        expected=(
            answer(-3, member=2, leader=0),
            answer(-2, member=3, leader=2),
            answer(-1, member=4, leader=3),
            group(-1, STABLE, generation=1, leader=4, members=[1, 4]),
        ),
    ),
    Scenario(
        name="a return sets the timeouts since 3.3",
        mirrors=("GroupCoordinatorTest.staticMemberRejoinWithUpdatedSessionAndRebalanceTimeoutsAndPersistChange",),
        versions=SINCE_2_3,
        steps=(
            *stable(2, AB),
            join(7000, session_timeout_ms=20000, **B),
            *(heartbeat(8000, 0, 1), heartbeat(8000, 2, 1)),
            *(heartbeat(17000, 0, 1), tick(18000), heartbeat(26000, 0, 1), tick(28000)),
        ),
        expected=(
            group(-3, PREPARING, members=[0], versions=("2.3",)),
            group(-3, STABLE, members=[0, 2], versions=SINCE_3_9),
            group(-1, PREPARING, members=[0]),
        ),
    ),
    Scenario(
        name="a return that the log refuses leaves the timeouts",
        mirrors=(
            "GroupCoordinatorTest.staticMemberRejoinWithUpdatedSessionAndRebalanceTimeoutsButCannotPersistChange",
        ),
        versions=SINCE_3_9,
        steps=(
            *stable(2, AB),
            fail_store(7000, "MESSAGE_TOO_LARGE"),
            join(7000, session_timeout_ms=20000, **B),
            *(heartbeat(8000, 0, 1), heartbeat(8000, 1, 1), heartbeat(17000, 0, 1), tick(18000)),
        ),
        expected=(
            answer(-5, UNKNOWN_SERVER_ERROR),
            group(-2, STABLE, members=[0, 1]),
            group(-1, PREPARING, members=[0]),
        ),
    ),
    Scenario(
        name="a return restarts the session",
        mirrors=("GroupCoordinator.updateStaticMemberAndRebalance",),
        versions=SINCE_2_3,
        steps=(*stable(2, AB), join(15000, **B), heartbeat(15000, 0, 1), heartbeat(24000, 0, 1), tick(25000)),
        expected=(group(-2, STABLE, members=[0, 2]), group(-1, PREPARING, members=[0])),
    ),
    Scenario(
        name="a static member replaced before it synced is still waited for by its old id",
        mirrors=("GroupMetadata.replaceStaticMember", "GroupCoordinator.onExpirePendingSync"),
        versions=SINCE_3_9,
        steps=(
            *joined(2, AB, **SLOW),
            *(sync(6000, 0, 1, {0: "all"}, **A), join(7000, **B, **SLOW), sync(7000, 2, 1, **B)),
            *(tick(13_999), tick(14_000)),
        ),
        expected=(
            answer(4, generation=1, member=2),
            answer(5),
            group(-2, STABLE, generation=1, members=[0, 2]),
            group(-1, PREPARING, generation=1, members=[0, 2]),
        ),
    ),
)

ABSENT = (
    Scenario(
        name="a static follower that does not rejoin stays in",
        mirrors=(
            "GroupCoordinatorTest.testStaticMemberFollowerFailToRejoinBeforeRebalanceTimeout",
            "GroupMetadataManagerTest.testStaticMemberFollowerFailToRejoinBeforeRebalanceTimeout",
        ),
        versions=SINCE_2_3,
        steps=(*stable(2, AB, **SLOW), join(7000, instance_id="c", **SLOW), join(8000, 0, **A, **SLOW), tick(15000)),
        expected=(
            answer(-2, at_ms=15000, generation=2, leader=0, members=[0, 1, 2]),
            answer(-3, at_ms=15000, generation=2, leader=0, members=[]),
            group(-1, COMPLETING, generation=2, members=[0, 1, 2]),
        ),
    ),
    Scenario(
        name="a static leader that does not rejoin leads no more",
        mirrors=(
            "GroupCoordinatorTest.testStaticMemberLeaderFailToRejoinBeforeRebalanceTimeout",
            "GroupMetadataManagerTest.testStaticMemberLeaderFailToRejoinBeforeRebalanceTimeout",
            "ClassicGroupTest.testElectNewJoinedLeader",
        ),
        versions=SINCE_2_3,
        steps=(*stable(2, AB, **SLOW), join(7000, instance_id="c", **SLOW), join(8000, 1, **B, **SLOW), tick(15000)),
        expected=(
            answer(-3, at_ms=15000, generation=2, leader={1, 2}),
            answer(-2, at_ms=15000, generation=2, leader={1, 2}),
            group(-1, COMPLETING, generation=2, leader={1, 2}, members=[0, 1, 2]),
        ),
    ),
    Scenario(
        name="an absent static member gets its assignment later",
        mirrors=("GroupCoordinatorTest.testStaticMemberFollowerFailToRejoinBeforeRebalanceTimeout",),
        versions=SINCE_2_3,
        steps=(
            *stable(2, AB, **SLOW),
            join(7000, 0, **A, **SLOW),
            tick(15000),
            sync(15000, 0, 2, {1: "kept for b"}, **A),
            join(16000, 1, **B, **SLOW),
            sync(16000, 1, 2, **B),
        ),
        expected=(
            answer(-2, at_ms=16000, generation=2, leader=0),
            answer(-1, assignment="kept for b"),
            group(-1, STABLE),
        ),
    ),
    Scenario(
        name="the join phase goes on while only absent static members are left",
        mirrors=(
            "GroupCoordinatorTest.testLeaderRejoinBeforeFinalRebalanceTimeoutWithLongSessionTimeout",
            "GroupMetadataManagerTest.testCompleteJoinPhaseNoMembersRejoinedExtendsJoinPhase",
        ),
        versions=SINCE_2_3,
        steps=(
            *(*stable(2, AB, **SLOW), join(7000, **SLOW), tick(15000), leave(16000, 1), tick(24000)),
            join(25000, **A, **SLOW),
        ),
        expected=(
            answer(5, at_ms=15000, member=2, generation=2, leader=2, members=[0, 1, 2]),
            group(-3, PREPARING, generation=2, members=[0, 2]),
            group(-2, PREPARING, generation=2, members=[0]),
            answer(-1, at_ms=25000, member=3, generation=3, leader=3, members=[3]),
            group(-1, COMPLETING, generation=3, members=[3]),
        ),
    ),
    Scenario(
        name="the join phase ends with the session of the last absent static member",
        mirrors=(
            "GroupCoordinatorTest.testLeaderFailToRejoinBeforeFinalRebalanceTimeoutWithLongSessionTimeout",
            "GroupMetadataManagerTest.testGroupStuckInRebalanceTimeoutDueToNonjoinedStaticMember",
        ),
        versions=SINCE_2_3,
        steps=(
            *(*stable(2, AB, **SLOW), join(7000, **SLOW), tick(15000), leave(16000, 1)),
            *(tick(214_999), tick(215_000)),
        ),
        expected=(
            group(-2, PREPARING, generation=2, members=[0]),
            group(-1, EMPTY, generation=3, members=[], leader=None),
        ),
    ),
    Scenario(
        name="a static member is lost with its session",
        mirrors=("GroupMetadataManagerTest.testHeartbeatExpirationShouldRemoveMember",),
        versions=SINCE_2_3,
        steps=(*stable(2, AB), heartbeat(10000, 0, 1, **A), tick(16000), join(17000, **B), join(18000, 0, **A)),
        expected=(
            group(-3, PREPARING, members=[0]),
            answer(-2, at_ms=18000, member=2, generation=2),
            answer(-1, members=[0, 2]),
        ),
    ),
    Scenario(
        name="an absent static member that never syncs is lost since 2.8.1",
        mirrors=("GroupCoordinatorTest.testRebalanceTimesOutWhenSyncRequestIsNotReceivedFromFollowers",),
        versions=SINCE_2_3,
        steps=(
            *stable(2, AB, **SLOW),
            join(7000, 0, **A, **SLOW),
            tick(15000),
            *syncs(15000, 2, [0], instances=AB),
            tick(23000),
        ),
        expected=(
            group(-1, STABLE, generation=2, members=[0, 1], versions=("2.3",)),
            group(-1, PREPARING, generation=2, members=[0], versions=SINCE_3_9),
        ),
    ),
)

SCENARIOS = (*JOINING, *KNOWN_IDS, *FENCED, *REPLACED, *ABSENT)
