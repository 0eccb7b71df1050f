"""Joining: the initial delay, admission, rejoins, and the election of the protocol."""

from tests.support.coordinator_scenarios.scenario import (
    COMPLETING,
    EMPTY,
    PREPARING,
    STABLE,
    answer,
    gone,
    group,
    parked,
    scenario,
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
    scenario("the first member leads itself")
    .mirrors("scala.testValidJoinGroup")
    .plays(join(0), tick(3000))
    .expects(
        answer(0, at_ms=3000, member=0, generation=1, protocol="range", leader=0, members=[0]),
        group(0, PREPARING, generation=0, leader=0, protocol=None, members=[0]),
        group(1, COMPLETING, generation=1, leader=0, protocol="range"),
    ),
    scenario("no member is answered before the delay is over")
    .mirrors(
        "scala.shouldDelayInitialRebalanceByGroupInitialRebalanceDelayOnEmptyGroup",
        "java.testDelayInitialRebalanceByGroupInitialRebalanceDelayOnEmptyGroup",
    )
    .plays(join(0), tick(2999))
    .expects(parked(0), group(1, PREPARING, generation=0)),
    scenario("no delay where it is set to 0", initial_rebalance_delay_ms=0)
    .mirrors("java.testDelayInitialRebalanceByGroupInitialRebalanceDelayOnEmptyGroup")
    .plays(join(0), tick(0))
    .expects(answer(0, at_ms=0, generation=1, leader=0), group(1, COMPLETING, generation=1)),
    scenario("a newcomer makes the delay start again")
    .mirrors(
        "scala.shouldResetRebalanceDelayWhenNewMemberJoinsGroupInInitialRebalance",
        "java.testResetRebalanceDelayWhenNewMemberJoinsGroupDuringInitialRebalance",
    )
    .plays(join(0), join(2000), tick(3000), join(4000), tick(6000), tick(9000))
    .expects(
        group(2, PREPARING, generation=0),
        group(4, PREPARING, members=[0, 1, 2]),
        answer(0, at_ms=9000, leader=0, members=[0, 1, 2]),
        answer(1, at_ms=9000, leader=0, members=[]),
        answer(3, at_ms=9000, member=2, generation=1, leader=0),
    ),
    scenario("a delay without newcomers is the last one")
    .mirrors("scala.shouldResetRebalanceDelayWhenNewMemberJoinsGroupInInitialRebalance")
    .plays(join(0), join(1000), tick(6000))
    .expects(answer(0, at_ms=6000, generation=1), answer(1, at_ms=6000, generation=1)),
    scenario("delays end with the first member's rebalance timeout")
    .mirrors("scala.shouldDelayRebalanceUptoRebalanceTimeout", "java.testDelayRebalanceUptoRebalanceTimeout")
    .plays(join(0, rebalance_timeout_ms=7000), join(1000, rebalance_timeout_ms=60000))
    .plays(join(4000, rebalance_timeout_ms=60000), join(6500, rebalance_timeout_ms=60000), tick(7000))
    .expects(
        group(3, PREPARING, generation=0),
        answer(0, at_ms=7000, members=[0, 1, 2, 3]),
        answer(3, at_ms=7000, member=3, leader=0),
    ),
    scenario("a rebalance timeout below the delay allows no second one")
    .mirrors("scala.shouldDelayRebalanceUptoRebalanceTimeout")
    .plays(join(0, rebalance_timeout_ms=2000), join(1000, rebalance_timeout_ms=2000), tick(3000))
    .expects(answer(0, at_ms=3000, members=[0, 1]), answer(1, at_ms=3000)),
    scenario("newcomers to an emptied group prolong its delay in the Java coordinator only")
    .mirrors("java.testResetRebalanceDelayWhenNewMemberJoinsGroupDuringInitialRebalance")
    .plays(*stable(1), leave(7000, 0), join(8000), join(9000), tick(20000))
    .expects(
        group(3, EMPTY, generation=2, leader=None, protocol=None, members=[]),
        answer(4, at_ms=11000, until="3.9", generation=3, leader=1),
        answer(5, at_ms=11000, until="3.9", generation=3),
        answer(4, at_ms=14000, since="4.3", generation=3, leader=1),
        answer(5, at_ms=14000, since="4.3", generation=3),
    ),
    scenario("a leave in the first delay ends it in no version")
    .mirrors("java.testCompleteJoinPhaseInEmptyStateSkipsRebalance")
    .plays(join(0), join(0), leave(1000, 1), tick(6000))
    .expects(
        group(2, PREPARING, members=[0]),
        answer(0, at_ms=6000, members=[0]),
        answer(1, "UNKNOWN_MEMBER_ID", at_ms=1000, since="2.3"),
        parked(1, until="1.0"),
    ),
    scenario("a group whose first members all leave goes through the delay to Empty")
    .mirrors("java.testCompleteJoinPhaseInEmptyStateSkipsRebalance")
    .plays(join(0), leave(1000, 0), tick(3000))
    .expects(
        group(1, PREPARING, generation=0, members=[], leader=None),
        group(2, EMPTY, generation=1, members=[], leader=None, protocol=None),
    ),
)

REFUSED = (
    scenario("an id for a group that is not there")
    .mirrors("scala.testJoinGroupUnknownConsumerNewGroup")
    .plays(join(0, STRANGER))
    .expects(answer(0, "UNKNOWN_MEMBER_ID", member=STRANGER), gone(0)),
    scenario("an id that the group does not have")
    .mirrors("both.testJoinGroupUnknownConsumerExistingGroup")
    .plays(*joined(1), join(6000, STRANGER))
    .expects(answer(-1, "UNKNOWN_MEMBER_ID"), group(-1, COMPLETING, generation=1, members=[0])),
    scenario("the id of a member that has left")
    .mirrors("java.testJoinGroupExistingMemberInEmptyState")
    .plays(*stable(1), leave(7000, 0), join(8000, 0))
    .expects(answer(-1, "UNKNOWN_MEMBER_ID"), group(-1, EMPTY, generation=2)),
    scenario("a session timeout that is too short")
    .mirrors("scala.testJoinGroupSessionTimeoutTooSmall")
    .plays(join(0, session_timeout_ms=5999), join(0, session_timeout_ms=6000))
    .expects(answer(0, "INVALID_SESSION_TIMEOUT"), gone(0), parked(1), group(1, PREPARING)),
    scenario("a session timeout that is too long")
    .mirrors("scala.testJoinGroupSessionTimeoutTooLarge")
    .plays(join(0, session_timeout_ms=1_800_001), join(0, session_timeout_ms=300_001))
    .expects(
        answer(0, "INVALID_SESSION_TIMEOUT"),
        gone(0),
        answer(1, "INVALID_SESSION_TIMEOUT", until="1.0"),
        parked(1, since="2.3"),
    ),
    scenario("another protocol type")
    .mirrors("scala.testJoinGroupInconsistentProtocolType", "java.testClassicGroupJoinInconsistentProtocolType")
    .plays(*joined(1), join(6000, protocol_type="connect"))
    .expects(answer(-1, "INCONSISTENT_GROUP_PROTOCOL", members=[]), group(-1, COMPLETING, members=[0])),
    scenario("no protocol type leaves an empty group behind")
    .mirrors("both.testJoinGroupWithEmptyProtocolType")
    .plays(join(0, protocol_type=""))
    .expects(answer(0, "INCONSISTENT_GROUP_PROTOCOL"), group(0, EMPTY, generation=0, members=[])),
    scenario("no protocols leave an empty group behind")
    .mirrors("both.testJoinGroupWithEmptyGroupProtocol")
    .plays(join(0, protocols=()))
    .expects(answer(0, "INCONSISTENT_GROUP_PROTOCOL"), group(0, EMPTY, generation=0, members=[])),
    scenario("no protocol that the others know")
    .mirrors("both.testJoinGroupInconsistentGroupProtocol")
    .plays(join(0), join(1000, protocols=ROUND_ROBIN), tick(3000))
    .expects(
        answer(1, "INCONSISTENT_GROUP_PROTOCOL", at_ms=1000), answer(0, at_ms=3000, members=[0], protocol="range")
    ),
    scenario("the only member cannot change to a protocol that it did not name")
    .mirrors("ClassicGroupTest.testSupportsProtocols")
    .plays(*stable(1), join(7000, 0, protocols=ROUND_ROBIN))
    .expects(answer(-1, "INCONSISTENT_GROUP_PROTOCOL"), group(-1, STABLE, generation=1, protocol="range")),
)

REJOINS = (
    scenario("an unchanged follower changes nothing")
    .mirrors("both.testJoinGroupFromUnchangedFollowerDoesNotRebalance")
    .plays(*stable(2), join(7000, 1))
    .expects(
        answer(-1, at_ms=7000, member=1, generation=1, protocol="range", leader=0, members=[]),
        group(-1, STABLE, generation=1),
    ),
    scenario("an unchanged leader begins a rebalance")
    .mirrors("both.testJoinGroupFromUnchangedLeaderShouldRebalance")
    .plays(*stable(1), join(7000, 0))
    .expects(
        answer(-1, at_ms=7000, member=0, generation=2, leader=0, members=[0]), group(-1, COMPLETING, generation=2)
    ),
    scenario("the leader of two waits for the follower")
    .mirrors("java.testJoinGroupAsExistingLeaderTriggersRebalanceInStableState")
    .plays(*stable(2), join(7000, 0), heartbeat(8000, 1, 1), join(8000, 1))
    .expects(
        group(-3, PREPARING, generation=1),
        answer(-2, "REBALANCE_IN_PROGRESS"),
        answer(-3, at_ms=8000, generation=2, leader=0, members=[0, 1]),
        answer(-1, at_ms=8000, generation=2, leader=0, members=[]),
    ),
    scenario("a follower's new subscription begins a rebalance and reaches the leader")
    .mirrors("java.testJoinGroupAsExistingMemberWithUpdatedMetadataTriggersRebalanceInStableState")
    .plays(*stable(2), join(7000, 1, protocols=RANGE_CHANGED), join(8000, 0))
    .expects(
        group(-2, PREPARING, generation=1),
        answer(-2, at_ms=8000, generation=2, members=[]),
        answer(-1, at_ms=8000, members=[0, 1], metadata={0: "one", 1: "two"}),
    ),
    scenario("a follower's protocols in another order begin a rebalance")
    .mirrors("ClassicGroupMember.matches")
    .plays(*stable(2, protocols=RANGE_THEN_ROUND_ROBIN), join(7000, 1, protocols=ROUND_ROBIN_THEN_RANGE))
    .plays(join(8000, 0, protocols=RANGE_THEN_ROUND_ROBIN))
    .expects(
        group(-2, PREPARING, generation=1),
        answer(-2, at_ms=8000, generation=2, members=[]),
        answer(-1, at_ms=8000, generation=2, leader=0, members=[0, 1]),
    ),
    scenario("an unchanged follower of a stable group keeps its assignment")
    .mirrors("java.testJoinGroupExistingMemberDoesNotTriggerRebalanceInStableState")
    .plays(*stable(2), join(7000, 1), sync(7000, 1, 1))
    .expects(answer(-2, generation=1), answer(-1, assignment="for 1"), group(-1, STABLE)),
    scenario("before the sync an unchanged member gets its answer once more")
    .mirrors("GroupCoordinator.doCurrentMemberJoinGroup")
    .plays(*joined(2), join(7000, 0), join(7000, 1))
    .expects(
        answer(-2, at_ms=7000, generation=1, leader=0, members=[0, 1]),
        answer(-1, at_ms=7000, generation=1, leader=0, members=[]),
        group(-1, COMPLETING, generation=1),
    ),
    scenario("before the sync a changed member begins a rebalance")
    .mirrors("java.testJoinGroupExistingMemberUpdatedMetadataTriggersRebalance")
    .plays(*joined(2), sync(6000, 1, 1), join(7000, 0, protocols=RANGE_CHANGED), join(8000, 1))
    .expects(
        answer(3, "REBALANCE_IN_PROGRESS", at_ms=7000),
        group(4, PREPARING, generation=1),
        answer(4, at_ms=8000, generation=2, members=[0, 1]),
    ),
    scenario("a newcomer before the sync sends those who wait for it back")
    .mirrors("scala.testGenerationIdIncrementsOnRebalance")
    .plays(*joined(2), sync(6000, 1, 1), join(7000), join(8000, 0), join(8000, 1))
    .expects(
        answer(3, "REBALANCE_IN_PROGRESS", at_ms=7000),
        answer(4, at_ms=8000, member=2, generation=2, members=[]),
        answer(5, at_ms=8000, generation=2, members=[0, 1, 2]),
        group(-1, COMPLETING, generation=2),
    ),
    scenario("each rebalance is a generation")
    .mirrors("both.testGenerationIdIncrementsOnRebalance")
    .plays(*stable(1), join(7000, 0), sync(7000, 0, 2, {0: "x"}), join(8000, 0), sync(8000, 0, 2))
    .expects(
        answer(3, generation=2), answer(4, assignment="x"), answer(5, generation=3), answer(6, "ILLEGAL_GENERATION")
    ),
    scenario("a member that joins twice is answered once")
    .mirrors("GroupCoordinator.updateMemberAndRebalance")
    .plays(*stable(2), join(7000, 1, protocols=RANGE_CHANGED), join(7500, 1), join(8000, 0))
    .expects(parked(-3), answer(-2, at_ms=8000, generation=2), answer(-1, at_ms=8000, metadata={0: "one", 1: "one"})),
    scenario("a rebalance takes the old members and a newcomer in")
    .mirrors("java.testRebalanceDoesNotTimeOutWhenAllSyncAreReceived")
    .plays(*stable(2), join(7000), join(8000, 0), join(9000, 1), *syncs(9000, 2, range(3)))
    .expects(
        answer(5, at_ms=9000, member=2, generation=2, leader=0),
        answer(6, at_ms=9000, members=[0, 1, 2]),
        answer(8, assignment="for 1"),
        answer(9, assignment="for 2"),
        answer(10, assignment="for 0"),
        group(-1, STABLE, generation=2, leader=0, members=[0, 1, 2]),
    ),
)

PROTOCOLS = (
    scenario("the first protocol of most members wins")
    .mirrors("ClassicGroupTest.testSelectProtocol")
    .plays(join(0, protocols=RANGE_THEN_ROUND_ROBIN), join(0, protocols=ROUND_ROBIN_THEN_RANGE))
    .plays(join(0, protocols=ROUND_ROBIN_THEN_RANGE), tick(6000))
    .expects(answer(0, protocol="roundrobin"), answer(1, protocol="roundrobin"), group(-1, COMPLETING)),
    scenario("votes for what others do not know do not count")
    .mirrors("ClassicGroupTest.testSelectProtocolChoosesCompatibleProtocol")
    .plays(join(0, protocols=RANGE_THEN_ROUND_ROBIN), join(0, protocols=RANGE_THEN_ROUND_ROBIN))
    .plays(join(0, protocols=(("own", "x"), *ROUND_ROBIN)), tick(6000))
    .expects(
        answer(0, protocol="roundrobin", metadata={0: "one", 1: "one", 2: "one"}),
        group(-1, COMPLETING, protocol="roundrobin"),
    ),
    scenario("a rejoin changes the vote")
    .mirrors("ClassicGroupTest.testUpdateMember")
    .plays(*stable(1, protocols=RANGE_THEN_ROUND_ROBIN))
    .plays(join(7000, 0, protocols=ROUND_ROBIN), join(8000, protocols=RANGE))
    .expects(answer(-2, generation=2, protocol="roundrobin"), answer(-1, "INCONSISTENT_GROUP_PROTOCOL")),
    scenario("the metadata is that of the chosen protocol")
    .mirrors("ClassicGroupTest.testInitNextGeneration")
    .plays(join(0, protocols=(("range", "r-0"), ("roundrobin", "rr-0"))))
    .plays(join(0, protocols=(("roundrobin", "rr-1"),)), tick(6000))
    .expects(answer(0, protocol="roundrobin", metadata={0: "rr-0", 1: "rr-1"})),
)

MAX_SIZE = (
    scenario("one joiner too many", since="2.3", group_max_size=2)
    .mirrors(
        "scala.testJoinGroupShouldReceiveErrorIfGroupOverMaxSize",
        "scala.testDynamicMembersJoinGroupWithMaxSize",
        "java.testDynamicMembersJoinGroupWithMaxSizeAndNotRequiredKnownMember",
    )
    .plays(join(0), join(0), join(1000), tick(6000))
    .expects(
        answer(2, "GROUP_MAX_SIZE_REACHED", at_ms=1000, members=[]),
        answer(0, at_ms=6000, members=[0, 1]),
        group(2, PREPARING, members=[0, 1]),
    ),
    scenario("a full stable group admits no member and stays stable", since="2.3", group_max_size=2)
    .mirrors("scala.testDynamicMembersJoinGroupWithMaxSize", "java.testJoinGroupShouldReceiveErrorIfGroupOverMaxSize")
    .plays(*stable(2), join(7000), join(8000, 1))
    .expects(answer(-2, "GROUP_MAX_SIZE_REACHED"), answer(-1, generation=1), group(-1, STABLE, members=[0, 1])),
    scenario("a place is free again after a leave", since="2.3", group_max_size=2)
    .mirrors("GroupCoordinator.acceptJoiningMember")
    .plays(*stable(2), leave(7000, 1), join(8000), join(9000, 0), tick(9000))
    .expects(answer(-3, at_ms=9000, member=2, generation=2), group(-1, COMPLETING, members=[0, 2])),
    scenario("those who wait may join again in a full group", since="2.3", group_max_size=2)
    .mirrors(
        "scala.testDynamicMembersCanReJoinGroupWithMaxSizeWhileRebalancing",
        "java.testDynamicMembersCanRejoinGroupWithMaxSizeWhileRebalancing",
    )
    .plays(join(0), join(0), join(1000, 0), join(1000, 1), join(2000), tick(6000))
    .expects(
        parked(0),
        parked(1),
        answer(2, at_ms=6000, members=[0, 1]),
        answer(3, at_ms=6000),
        answer(4, "GROUP_MAX_SIZE_REACHED", at_ms=2000),
    ),
    scenario("a newcomer may take the place of a member that has yet to rejoin", since="2.3", group_max_size=2)
    .mirrors(
        "scala.testLastJoiningMembersAreKickedOutWhenReJoiningGroupWithMaxSize",
        "java.testLastJoiningMembersAreKickedOutWhenRejoiningGroupWithMaxSize",
    )
    .plays(*stable(2), join(7000, 0), join(8000), join(9000, 1), tick(67000))
    .expects(
        answer(-3, "GROUP_MAX_SIZE_REACHED", at_ms=8000, until="2.3"),
        answer(-2, at_ms=9000, generation=2, until="2.3"),
        group(-2, COMPLETING, members=[0, 1], until="2.3"),
        answer(-2, "GROUP_MAX_SIZE_REACHED", at_ms=9000, since="3.9"),
        answer(-3, at_ms=9000, member=2, generation=2, since="3.9", until="3.9"),
        group(-2, COMPLETING, generation=2, members=[0, 2], since="3.9", until="3.9"),
        # Java's classicGroupJoinToClassicGroup does not look whether all have joined after it has refused one.
        group(-2, PREPARING, generation=1, members=[0, 2], since="4.3"),
        answer(-3, at_ms=67000, member=2, generation=2, since="4.3"),
    ),
)

SCENARIOS = (*FIRST_DELAY, *REFUSED, *REJOINS, *PROTOCOLS, *MAX_SIZE)
