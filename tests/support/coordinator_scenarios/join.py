"""Joining: the initial delay, admission, rejoins, and the election of the protocol."""

from tests.support.coordinator_scenarios.scenario import (
    ALL,
    COMPLETING,
    EMPTY,
    GROUP_MAX_SIZE_REACHED,
    ILLEGAL_GENERATION,
    INCONSISTENT_GROUP_PROTOCOL,
    INVALID_SESSION_TIMEOUT,
    PREPARING,
    REBALANCE_IN_PROGRESS,
    SCALA,
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
    RANGE,
    RANGE_CHANGED,
    RANGE_THEN_ROUND_ROBIN,
    ROUND_ROBIN,
    ROUND_ROBIN_THEN_RANGE,
    STRANGER,
    heartbeat,
    join,
    joined,
    leave,
    stable,
    sync,
    syncs,
    tick,
)

FIRST_DELAY = (
    Scenario(
        name="the first member leads itself",
        mirrors=("GroupCoordinatorTest.testValidJoinGroup",),
        versions=ALL,
        steps=(join(0), tick(3000)),
        expected=(
            answer(0, at_ms=3000, member=0, generation=1, protocol="range", leader=0, members=[0]),
            group(0, PREPARING, generation=0, leader=0, protocol=None, members=[0]),
            group(1, COMPLETING, generation=1, leader=0, protocol="range"),
        ),
    ),
    Scenario(
        name="no member is answered before the delay is over",
        mirrors=(
            "GroupCoordinatorTest.shouldDelayInitialRebalanceByGroupInitialRebalanceDelayOnEmptyGroup",
            "GroupMetadataManagerTest.testDelayInitialRebalanceByGroupInitialRebalanceDelayOnEmptyGroup",
        ),
        versions=ALL,
        steps=(join(0), tick(2999)),
        expected=(parked(0), group(1, PREPARING, generation=0)),
    ),
    Scenario(
        name="no delay where it is set to 0",
        mirrors=("GroupMetadataManagerTest.testDelayInitialRebalanceByGroupInitialRebalanceDelayOnEmptyGroup",),
        versions=ALL,
        config={"initial_rebalance_delay_ms": 0},
        steps=(join(0), tick(0)),
        expected=(answer(0, at_ms=0, generation=1, leader=0), group(1, COMPLETING, generation=1)),
    ),
    Scenario(
        name="a newcomer makes the delay start again",
        mirrors=(
            "GroupCoordinatorTest.shouldResetRebalanceDelayWhenNewMemberJoinsGroupInInitialRebalance",
            "GroupMetadataManagerTest.testResetRebalanceDelayWhenNewMemberJoinsGroupDuringInitialRebalance",
        ),
        versions=ALL,
        steps=(join(0), join(2000), tick(3000), join(4000), tick(6000), tick(9000)),
        expected=(
            group(2, PREPARING, generation=0),
            group(4, PREPARING, members=[0, 1, 2]),
            answer(0, at_ms=9000, leader=0, members=[0, 1, 2]),
            answer(1, at_ms=9000, leader=0, members=[]),
            answer(3, at_ms=9000, member=2, generation=1, leader=0),
        ),
    ),
    Scenario(
        name="a delay without newcomers is the last one",
        mirrors=("GroupCoordinatorTest.shouldResetRebalanceDelayWhenNewMemberJoinsGroupInInitialRebalance",),
        versions=ALL,
        steps=(join(0), join(1000), tick(6000)),
        expected=(answer(0, at_ms=6000, generation=1), answer(1, at_ms=6000, generation=1)),
    ),
    Scenario(
        name="delays end with the first member's rebalance timeout",
        mirrors=(
            "GroupCoordinatorTest.shouldDelayRebalanceUptoRebalanceTimeout",
            "GroupMetadataManagerTest.testDelayRebalanceUptoRebalanceTimeout",
        ),
        versions=ALL,
        steps=(
            join(0, rebalance_timeout_ms=7000),
            join(1000, rebalance_timeout_ms=60000),
            join(4000, rebalance_timeout_ms=60000),
            join(6500, rebalance_timeout_ms=60000),
            tick(7000),
        ),
        expected=(
            group(3, PREPARING, generation=0),
            answer(0, at_ms=7000, members=[0, 1, 2, 3]),
            answer(3, at_ms=7000, member=3, leader=0),
        ),
    ),
    Scenario(
        name="a rebalance timeout below the delay allows no second one",
        mirrors=("GroupCoordinatorTest.shouldDelayRebalanceUptoRebalanceTimeout",),
        versions=ALL,
        steps=(join(0, rebalance_timeout_ms=2000), join(1000, rebalance_timeout_ms=2000), tick(3000)),
        expected=(answer(0, at_ms=3000, members=[0, 1]), answer(1, at_ms=3000)),
    ),
    Scenario(
        name="newcomers to an emptied group prolong its delay in the Java coordinator only",
        mirrors=("GroupMetadataManagerTest.testResetRebalanceDelayWhenNewMemberJoinsGroupDuringInitialRebalance",),
        versions=ALL,
        steps=(*stable(1), leave(7000, 0), join(8000), join(9000), tick(20000)),
        expected=(
            group(3, EMPTY, generation=2, leader=None, protocol=None, members=[]),
            answer(4, at_ms=11000, versions=SCALA, generation=3, leader=1),
            answer(5, at_ms=11000, versions=SCALA, generation=3),
            answer(4, at_ms=14000, versions=("4.3",), generation=3, leader=1),
            answer(5, at_ms=14000, versions=("4.3",), generation=3),
        ),
    ),
    Scenario(
        name="a leave in the first delay ends it in no version",
        mirrors=("GroupMetadataManagerTest.testCompleteJoinPhaseInEmptyStateSkipsRebalance",),
        versions=ALL,
        steps=(join(0), join(0), leave(1000, 1), tick(6000)),
        expected=(
            group(2, PREPARING, members=[0]),
            answer(0, at_ms=6000, members=[0]),
            answer(1, UNKNOWN_MEMBER_ID, at_ms=1000, versions=SINCE_2_3),
            parked(1, versions=("1.0",)),
        ),
    ),
    Scenario(
        name="a group whose first members all leave goes through the delay to Empty",
        mirrors=("GroupMetadataManagerTest.testCompleteJoinPhaseInEmptyStateSkipsRebalance",),
        versions=ALL,
        steps=(join(0), leave(1000, 0), tick(3000)),
        expected=(
            group(1, PREPARING, generation=0, members=[], leader=None),
            group(2, EMPTY, generation=1, members=[], leader=None, protocol=None),
        ),
    ),
)

REFUSED = (
    Scenario(
        name="an id for a group that is not there",
        mirrors=("GroupCoordinatorTest.testJoinGroupUnknownConsumerNewGroup",),
        versions=ALL,
        steps=(join(0, STRANGER),),
        expected=(answer(0, UNKNOWN_MEMBER_ID, member=STRANGER), gone(0)),
    ),
    Scenario(
        name="an id that the group does not have",
        mirrors=(
            "GroupCoordinatorTest.testJoinGroupUnknownConsumerExistingGroup",
            "GroupMetadataManagerTest.testJoinGroupUnknownConsumerExistingGroup",
        ),
        versions=ALL,
        steps=(*joined(1), join(6000, STRANGER)),
        expected=(answer(-1, UNKNOWN_MEMBER_ID), group(-1, COMPLETING, generation=1, members=[0])),
    ),
    Scenario(
        name="the id of a member that has left",
        mirrors=("GroupMetadataManagerTest.testJoinGroupExistingMemberInEmptyState",),
        versions=ALL,
        steps=(*stable(1), leave(7000, 0), join(8000, 0)),
        expected=(answer(-1, UNKNOWN_MEMBER_ID), group(-1, EMPTY, generation=2)),
    ),
    Scenario(
        name="a session timeout that is too short",
        mirrors=("GroupCoordinatorTest.testJoinGroupSessionTimeoutTooSmall",),
        versions=ALL,
        steps=(join(0, session_timeout_ms=5999), join(0, session_timeout_ms=6000)),
        expected=(answer(0, INVALID_SESSION_TIMEOUT), gone(0), parked(1), group(1, PREPARING)),
    ),
    Scenario(
        name="a session timeout that is too long",
        mirrors=("GroupCoordinatorTest.testJoinGroupSessionTimeoutTooLarge",),
        versions=ALL,
        steps=(join(0, session_timeout_ms=1_800_001), join(0, session_timeout_ms=300_001)),
        expected=(
            answer(0, INVALID_SESSION_TIMEOUT),
            gone(0),
            answer(1, INVALID_SESSION_TIMEOUT, versions=("1.0",)),
            parked(1, versions=SINCE_2_3),
        ),
    ),
    Scenario(
        name="another protocol type",
        mirrors=(
            "GroupCoordinatorTest.testJoinGroupInconsistentProtocolType",
            "GroupMetadataManagerTest.testClassicGroupJoinInconsistentProtocolType",
        ),
        versions=ALL,
        steps=(*joined(1), join(6000, protocol_type="connect")),
        expected=(answer(-1, INCONSISTENT_GROUP_PROTOCOL, members=[]), group(-1, COMPLETING, members=[0])),
    ),
    Scenario(
        name="no protocol type leaves an empty group behind",
        mirrors=(
            "GroupCoordinatorTest.testJoinGroupWithEmptyProtocolType",
            "GroupMetadataManagerTest.testJoinGroupWithEmptyProtocolType",
        ),
        versions=ALL,
        steps=(join(0, protocol_type=""),),
        expected=(answer(0, INCONSISTENT_GROUP_PROTOCOL), group(0, EMPTY, generation=0, members=[])),
    ),
    Scenario(
        name="no protocols leave an empty group behind",
        mirrors=(
            "GroupCoordinatorTest.testJoinGroupWithEmptyGroupProtocol",
            "GroupMetadataManagerTest.testJoinGroupWithEmptyGroupProtocol",
        ),
        versions=ALL,
        steps=(join(0, protocols=()),),
        expected=(answer(0, INCONSISTENT_GROUP_PROTOCOL), group(0, EMPTY, generation=0, members=[])),
    ),
    Scenario(
        name="no protocol that the others know",
        mirrors=(
            "GroupCoordinatorTest.testJoinGroupInconsistentGroupProtocol",
            "GroupMetadataManagerTest.testJoinGroupInconsistentGroupProtocol",
        ),
        versions=ALL,
        steps=(join(0), join(1000, protocols=ROUND_ROBIN), tick(3000)),
        expected=(
            answer(1, INCONSISTENT_GROUP_PROTOCOL, at_ms=1000),
            answer(0, at_ms=3000, members=[0], protocol="range"),
        ),
    ),
    Scenario(
        name="the only member cannot change to a protocol that it did not name",
        mirrors=("ClassicGroupTest.testSupportsProtocols",),
        versions=ALL,
        steps=(*stable(1), join(7000, 0, protocols=ROUND_ROBIN)),
        expected=(answer(-1, INCONSISTENT_GROUP_PROTOCOL), group(-1, STABLE, generation=1, protocol="range")),
    ),
)

REJOINS = (
    Scenario(
        name="an unchanged follower changes nothing",
        mirrors=(
            "GroupCoordinatorTest.testJoinGroupFromUnchangedFollowerDoesNotRebalance",
            "GroupMetadataManagerTest.testJoinGroupFromUnchangedFollowerDoesNotRebalance",
        ),
        versions=ALL,
        steps=(*stable(2), join(7000, 1)),
        expected=(
            answer(-1, at_ms=7000, member=1, generation=1, protocol="range", leader=0, members=[]),
            group(-1, STABLE, generation=1),
        ),
    ),
    Scenario(
        name="an unchanged leader begins a rebalance",
        mirrors=(
            "GroupCoordinatorTest.testJoinGroupFromUnchangedLeaderShouldRebalance",
            "GroupMetadataManagerTest.testJoinGroupFromUnchangedLeaderShouldRebalance",
        ),
        versions=ALL,
        steps=(*stable(1), join(7000, 0)),
        expected=(
            answer(-1, at_ms=7000, member=0, generation=2, leader=0, members=[0]),
            group(-1, COMPLETING, generation=2),
        ),
    ),
    Scenario(
        name="the leader of two waits for the follower",
        mirrors=("GroupMetadataManagerTest.testJoinGroupAsExistingLeaderTriggersRebalanceInStableState",),
        versions=ALL,
        steps=(*stable(2), join(7000, 0), heartbeat(8000, 1, 1), join(8000, 1)),
        expected=(
            group(-3, PREPARING, generation=1),
            answer(-2, REBALANCE_IN_PROGRESS),
            answer(-3, at_ms=8000, generation=2, leader=0, members=[0, 1]),
            answer(-1, at_ms=8000, generation=2, leader=0, members=[]),
        ),
    ),
    Scenario(
        name="a follower's new subscription begins a rebalance and reaches the leader",
        mirrors=(
            "GroupMetadataManagerTest.testJoinGroupAsExistingMemberWithUpdatedMetadataTriggersRebalanceInStableState",
        ),
        versions=ALL,
        steps=(*stable(2), join(7000, 1, protocols=RANGE_CHANGED), join(8000, 0)),
        expected=(
            group(-2, PREPARING, generation=1),
            answer(-2, at_ms=8000, generation=2, members=[]),
            answer(-1, at_ms=8000, members=[0, 1], metadata={0: "one", 1: "two"}),
        ),
    ),
    Scenario(
        name="an unchanged follower of a stable group keeps its assignment",
        mirrors=("GroupMetadataManagerTest.testJoinGroupExistingMemberDoesNotTriggerRebalanceInStableState",),
        versions=ALL,
        steps=(*stable(2), join(7000, 1), sync(7000, 1, 1)),
        expected=(answer(-2, generation=1), answer(-1, assignment="for 1"), group(-1, STABLE)),
    ),
    Scenario(
        name="before the sync an unchanged member gets its answer once more",
        mirrors=("GroupCoordinator.doCurrentMemberJoinGroup",),
        versions=ALL,
        steps=(*joined(2), join(7000, 0), join(7000, 1)),
        expected=(
            answer(-2, at_ms=7000, generation=1, leader=0, members=[0, 1]),
            answer(-1, at_ms=7000, generation=1, leader=0, members=[]),
            group(-1, COMPLETING, generation=1),
        ),
    ),
    Scenario(
        name="before the sync a changed member begins a rebalance",
        mirrors=("GroupMetadataManagerTest.testJoinGroupExistingMemberUpdatedMetadataTriggersRebalance",),
        versions=ALL,
        steps=(*joined(2), sync(6000, 1, 1), join(7000, 0, protocols=RANGE_CHANGED), join(8000, 1)),
        expected=(
            answer(3, REBALANCE_IN_PROGRESS, at_ms=7000),
            group(4, PREPARING, generation=1),
            answer(4, at_ms=8000, generation=2, members=[0, 1]),
        ),
    ),
    Scenario(
        name="a newcomer before the sync sends those who wait for it back",
        mirrors=("GroupCoordinatorTest.testGenerationIdIncrementsOnRebalance",),
        versions=ALL,
        steps=(*joined(2), sync(6000, 1, 1), join(7000), join(8000, 0), join(8000, 1)),
        expected=(
            answer(3, REBALANCE_IN_PROGRESS, at_ms=7000),
            answer(4, at_ms=8000, member=2, generation=2, members=[]),
            answer(5, at_ms=8000, generation=2, members=[0, 1, 2]),
            group(-1, COMPLETING, generation=2),
        ),
    ),
    Scenario(
        name="each rebalance is a generation",
        mirrors=(
            "GroupCoordinatorTest.testGenerationIdIncrementsOnRebalance",
            "GroupMetadataManagerTest.testGenerationIdIncrementsOnRebalance",
        ),
        versions=ALL,
        steps=(*stable(1), join(7000, 0), sync(7000, 0, 2, {0: "x"}), join(8000, 0), sync(8000, 0, 2)),
        expected=(
            answer(3, generation=2),
            answer(4, assignment="x"),
            answer(5, generation=3),
            answer(6, ILLEGAL_GENERATION),
        ),
    ),
    Scenario(
        name="a member that joins twice is answered once",
        mirrors=("GroupCoordinator.updateMemberAndRebalance",),
        versions=ALL,
        steps=(*stable(2), join(7000, 1, protocols=RANGE_CHANGED), join(7500, 1), join(8000, 0)),
        expected=(
            parked(-3),
            answer(-2, at_ms=8000, generation=2),
            answer(-1, at_ms=8000, metadata={0: "one", 1: "one"}),
        ),
    ),
    Scenario(
        name="a rebalance takes the old members and a newcomer in",
        mirrors=("GroupMetadataManagerTest.testRebalanceDoesNotTimeOutWhenAllSyncAreReceived",),
        versions=ALL,
        steps=(*stable(2), join(7000), join(8000, 0), join(9000, 1), *syncs(9000, 2, range(3))),
        expected=(
            answer(5, at_ms=9000, member=2, generation=2, leader=0),
            answer(6, at_ms=9000, members=[0, 1, 2]),
            answer(8, assignment="for 1"),
            answer(9, assignment="for 2"),
            answer(10, assignment="for 0"),
            group(-1, STABLE, generation=2, leader=0, members=[0, 1, 2]),
        ),
    ),
)

PROTOCOLS = (
    Scenario(
        name="the first protocol of most members wins",
        mirrors=("ClassicGroupTest.testSelectProtocol",),
        versions=ALL,
        steps=(
            join(0, protocols=RANGE_THEN_ROUND_ROBIN),
            join(0, protocols=ROUND_ROBIN_THEN_RANGE),
            join(0, protocols=ROUND_ROBIN_THEN_RANGE),
            tick(6000),
        ),
        expected=(answer(0, protocol="roundrobin"), answer(1, protocol="roundrobin"), group(-1, COMPLETING)),
    ),
    Scenario(
        name="votes for what others do not know do not count",
        mirrors=("ClassicGroupTest.testSelectProtocolChoosesCompatibleProtocol",),
        versions=ALL,
        steps=(
            join(0, protocols=RANGE_THEN_ROUND_ROBIN),
            join(0, protocols=RANGE_THEN_ROUND_ROBIN),
            join(0, protocols=(("own", "x"), *ROUND_ROBIN)),
            tick(6000),
        ),
        expected=(
            answer(0, protocol="roundrobin", metadata={0: "one", 1: "one", 2: "one"}),
            group(-1, COMPLETING, protocol="roundrobin"),
        ),
    ),
    Scenario(
        name="a rejoin changes the vote",
        mirrors=("ClassicGroupTest.testUpdateMember",),
        versions=ALL,
        steps=(
            *stable(1, protocols=RANGE_THEN_ROUND_ROBIN),
            join(7000, 0, protocols=ROUND_ROBIN),
            join(8000, protocols=RANGE),
        ),
        expected=(answer(-2, generation=2, protocol="roundrobin"), answer(-1, INCONSISTENT_GROUP_PROTOCOL)),
    ),
    Scenario(
        name="the metadata is that of the chosen protocol",
        mirrors=("ClassicGroupTest.testInitNextGeneration",),
        versions=ALL,
        steps=(
            join(0, protocols=(("range", "r-0"), ("roundrobin", "rr-0"))),
            join(0, protocols=(("roundrobin", "rr-1"),)),
            tick(6000),
        ),
        expected=(answer(0, protocol="roundrobin", metadata={0: "rr-0", 1: "rr-1"}),),
    ),
)

MAX_SIZE = (
    Scenario(
        name="one joiner too many",
        mirrors=(
            "GroupCoordinatorTest.testJoinGroupShouldReceiveErrorIfGroupOverMaxSize",
            "GroupCoordinatorTest.testDynamicMembersJoinGroupWithMaxSize",
            "GroupMetadataManagerTest.testDynamicMembersJoinGroupWithMaxSizeAndNotRequiredKnownMember",
        ),
        versions=SINCE_2_3,
        config={"group_max_size": 2},
        steps=(join(0), join(0), join(1000), tick(6000)),
        expected=(
            answer(2, GROUP_MAX_SIZE_REACHED, at_ms=1000, members=[]),
            answer(0, at_ms=6000, members=[0, 1]),
            group(2, PREPARING, members=[0, 1]),
        ),
    ),
    Scenario(
        name="a full stable group admits no member and stays stable",
        mirrors=(
            "GroupCoordinatorTest.testDynamicMembersJoinGroupWithMaxSize",
            "GroupMetadataManagerTest.testJoinGroupShouldReceiveErrorIfGroupOverMaxSize",
        ),
        versions=SINCE_2_3,
        config={"group_max_size": 2},
        steps=(*stable(2), join(7000), join(8000, 1)),
        expected=(answer(-2, GROUP_MAX_SIZE_REACHED), answer(-1, generation=1), group(-1, STABLE, members=[0, 1])),
    ),
    Scenario(
        name="a place is free again after a leave",
        mirrors=("GroupCoordinator.acceptJoiningMember",),
        versions=SINCE_2_3,
        config={"group_max_size": 2},
        steps=(*stable(2), leave(7000, 1), join(8000), join(9000, 0), tick(9000)),
        expected=(answer(-3, at_ms=9000, member=2, generation=2), group(-1, COMPLETING, members=[0, 2])),
    ),
    Scenario(
        name="those who wait may join again in a full group",
        mirrors=(
            "GroupCoordinatorTest.testDynamicMembersCanReJoinGroupWithMaxSizeWhileRebalancing",
            "GroupMetadataManagerTest.testDynamicMembersCanRejoinGroupWithMaxSizeWhileRebalancing",
        ),
        versions=SINCE_2_3,
        config={"group_max_size": 2},
        steps=(join(0), join(0), join(1000, 0), join(1000, 1), join(2000), tick(6000)),
        expected=(
            parked(0),
            parked(1),
            answer(2, at_ms=6000, members=[0, 1]),
            answer(3, at_ms=6000),
            answer(4, GROUP_MAX_SIZE_REACHED, at_ms=2000),
        ),
    ),
    Scenario(
        name="a newcomer may take the place of a member that has yet to rejoin",
        mirrors=(
            "GroupCoordinatorTest.testLastJoiningMembersAreKickedOutWhenReJoiningGroupWithMaxSize",
            "GroupMetadataManagerTest.testLastJoiningMembersAreKickedOutWhenRejoiningGroupWithMaxSize",
        ),
        versions=SINCE_2_3,
        config={"group_max_size": 2},
        steps=(*stable(2), join(7000, 0), join(8000), join(9000, 1), tick(67000)),
        expected=(
            answer(-3, GROUP_MAX_SIZE_REACHED, at_ms=8000, versions=("2.3",)),
            answer(-2, at_ms=9000, generation=2, versions=("2.3",)),
            group(-2, COMPLETING, members=[0, 1], versions=("2.3",)),
            answer(-2, GROUP_MAX_SIZE_REACHED, at_ms=9000, versions=SINCE_3_9),
            answer(-3, at_ms=9000, member=2, generation=2, versions=("3.9",)),
            group(-2, COMPLETING, generation=2, members=[0, 2], versions=("3.9",)),
            # Java's classicGroupJoinToClassicGroup does not look whether all have joined after it has refused one.
            group(-2, PREPARING, generation=1, members=[0, 2], versions=("4.3",)),
            answer(-3, at_ms=67000, member=2, generation=2, versions=("4.3",)),
        ),
    ),
)

SCENARIOS = (*FIRST_DELAY, *REFUSED, *REJOINS, *PROTOCOLS, *MAX_SIZE)
