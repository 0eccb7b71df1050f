"""Heartbeats, sessions and timeouts: the deadline of the join phase, the five minutes of new members, what changes."""

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
    FORMED_MS,
    RANGE_CHANGED,
    SLOW,
    STRANGER,
    commit,
    heartbeat,
    join,
    joined,
    leave,
    stable,
    sync,
    syncs,
    tick,
)

LONG = SLOW["session_timeout_ms"]
MINUTES_5 = 300_000

ANSWERS = (
    scenario("heartbeat to a group that is not there")
    .mirrors("both.testHeartbeatUnknownGroup")
    .plays(heartbeat(0, STRANGER, -1))
    .expects(answer(0, "UNKNOWN_MEMBER_ID"), gone(0)),
    scenario("heartbeat of a stranger")
    .mirrors("scala.testHeartbeatUnknownConsumerExistingGroup", "java.testHeartbeatUnknownMemberExistingGroup")
    .plays(*stable(1), heartbeat(7000, STRANGER, 1))
    .expects(answer(-1, "UNKNOWN_MEMBER_ID")),
    scenario("heartbeat to an empty group")
    .mirrors("both.testHeartbeatEmptyGroup")
    .plays(*stable(1), leave(7000, 0), heartbeat(8000, 0, 2))
    .expects(answer(-1, "UNKNOWN_MEMBER_ID"), group(-1, EMPTY, generation=2)),
    scenario("heartbeat of another generation")
    .mirrors("both.testHeartbeatIllegalGeneration")
    .plays(*stable(1), heartbeat(7000, 0, 2), heartbeat(7000, 0, 0))
    .expects(answer(-2, "ILLEGAL_GENERATION"), answer(-1, "ILLEGAL_GENERATION")),
    scenario("a valid heartbeat")
    .mirrors("both.testValidHeartbeat")
    .plays(*stable(1), heartbeat(7000, 0, 1))
    .expects(answer(-1), group(-1, STABLE, generation=1)),
    scenario("a heartbeat before the sync")
    .mirrors("scala.testHeartbeatRebalanceInProgress", "java.testHeartbeatDuringCompletingRebalance")
    .plays(*joined(1), heartbeat(7000, 0, 1))
    .expects(answer(-1, "REBALANCE_IN_PROGRESS", until="2.3"), answer(-1, since="3.9"), group(-1, COMPLETING)),
    scenario("before the sync 1.0 does not look at the generation")
    .mirrors("GroupCoordinator.handleHeartbeat")
    .plays(*joined(1), heartbeat(7000, 0, 0))
    .expects(answer(-1, "REBALANCE_IN_PROGRESS", until="1.0"), answer(-1, "ILLEGAL_GENERATION", since="2.3")),
    scenario("a heartbeat is answered REBALANCE_IN_PROGRESS")
    .mirrors("both.testHeartbeatDuringRebalanceCausesRebalanceInProgress", "java.testHeartbeatDuringPreparingRebalance")
    .plays(*stable(1), join(7000), heartbeat(8000, 0, 1), heartbeat(8000, 0, 2), heartbeat(8000, 1, 1))
    .expects(
        *answers(-3, -1, error="REBALANCE_IN_PROGRESS"),
        answer(-2, "ILLEGAL_GENERATION"),
        group(-1, PREPARING, generation=1),
    ),
    scenario("a heartbeat in the first delay")
    .mirrors("java.testHeartbeatDuringPreparingRebalance")
    .plays(join(0), heartbeat(1000, 0, 0), tick(3000))
    .expects(answer(1, "REBALANCE_IN_PROGRESS"), answer(0, at_ms=3000, generation=1)),
)

SESSIONS = (
    scenario("a session ends")
    .mirrors("scala.testSessionTimeout", "java.testClassicGroupMemberSessionTimeout")
    .plays(*stable(1), tick(15999), tick(16000), heartbeat(16000, 0, 1))
    .expects(
        group(-3, STABLE, members=[0]),
        group(-2, EMPTY, generation=2, members=[], leader=None, protocol=None),
        answer(-1, "UNKNOWN_MEMBER_ID"),
    ),
    scenario("a heartbeat at the very end of the session is too late")
    .mirrors("scala.testSessionTimeout")
    .plays(*stable(1), heartbeat(16000, 0, 1))
    .expects(answer(-1, "UNKNOWN_MEMBER_ID"), group(-1, EMPTY, generation=2)),
    scenario("heartbeats keep a session")
    .mirrors("scala.testHeartbeatMaintainsSession", "java.testClassicGroupMemberHeartbeatMaintainsSession")
    .plays(*stable(1), heartbeat(15999, 0, 1), heartbeat(25998, 0, 1), tick(35997), tick(35998))
    .expects(answer(-4), answer(-3), group(-2, STABLE), group(-1, EMPTY, generation=2)),
    scenario("a refused heartbeat keeps no session")
    .mirrors("scala.testHeartbeatIllegalGeneration")
    .plays(*stable(1), heartbeat(15000, 0, 2), tick(16000))
    .expects(answer(-2, "ILLEGAL_GENERATION"), group(-1, EMPTY)),
    scenario("commits keep a session")
    .mirrors(
        "scala.testCommitMaintainsSession", "OffsetMetadataManagerTest.testGenericGroupOffsetCommitMaintainsSession"
    )
    .plays(*stable(1), commit(15999, 0, 1), heartbeat(25998, 0, 1), tick(25999))
    .expects(answer(-3), answer(-2), group(-1, STABLE)),
    scenario("a sync of a stable group keeps a session in the Scala coordinator only")
    .mirrors("GroupCoordinator.doSyncGroup")
    .plays(*stable(1), sync(15000, 0, 1), tick(16000))
    .expects(answer(-2), group(-1, STABLE, until="3.9"), group(-1, EMPTY, since="4.3")),
    scenario("an unchanged follower's join keeps no session")
    .mirrors("java.testJoinGroupExistingMemberDoesNotTriggerRebalanceInStableState")
    .plays(*stable(2), heartbeat(15000, 0, 1), join(15000, 1), tick(16000))
    .expects(answer(-2, generation=1), group(-1, PREPARING, generation=1, members=[0])),
    scenario("a heartbeat before the sync keeps the session since 2.6.1")
    .mirrors("java.testHeartbeatDuringCompletingRebalance")
    .plays(*joined(2), heartbeat(15000, 0, 1), heartbeat(15000, 1, 1), tick(16000))
    .expects(
        group(-1, EMPTY, generation=2, until="2.3"), group(-1, COMPLETING, generation=1, members=[0, 1], since="3.9")
    ),
    scenario("heartbeats while the group prepares keep a session up to the deadline")
    .mirrors("scala.testSessionTimeoutDuringRebalance", "java.testClassicGroupMemberSessionTimeoutDuringRebalance")
    .plays(*stable(1), join(7000), heartbeat(15000, 0, 1), tick(24999), tick(25000))
    .expects(
        answer(-3, "REBALANCE_IN_PROGRESS"),
        group(-2, PREPARING, members=[0, 1]),
        answer(3, at_ms=25000, member=1, generation=2, leader=1, members=[1]),
        group(-1, COMPLETING, generation=2, leader=1, members=[1]),
    ),
    scenario("a sync restarts the session of those who waited for it")
    .mirrors("GroupCoordinator.propagateAssignment")
    .plays(*joined(2), sync(FORMED_MS, 1, 1), sync(15000, 0, 1), tick(24999), tick(25000))
    .expects(answer(3, at_ms=15000), group(-2, STABLE, members=[0, 1]), group(-1, EMPTY, generation=2)),
    scenario("the second of two sessions that end")
    .mirrors("java.testHeartbeatExpirationShouldRemoveMember")
    .plays(*stable(2), heartbeat(9000, 1, 1), tick(16000), tick(19000))
    .expects(group(-2, PREPARING, generation=1, members=[1], leader=1), group(-1, EMPTY, generation=2, members=[])),
)

DEADLINE = (
    scenario("a member that does not rejoin is out")
    .mirrors("both.testRebalanceCompletesBeforeMemberJoins")
    .plays(*stable(1, rebalance_timeout_ms=8000), join(7000, rebalance_timeout_ms=8000))
    .plays(heartbeat(10000, 0, 1), tick(15000), heartbeat(15000, 0, 1), join(15000, 0))
    .expects(
        answer(4, "REBALANCE_IN_PROGRESS"),
        answer(3, at_ms=15000, member=1, generation=2, leader=1, members=[1]),
        *answers(-2, -1, error="UNKNOWN_MEMBER_ID"),
        group(-1, COMPLETING, generation=2, members=[1]),
    ),
    scenario("those who wait are kept at the deadline")
    .mirrors("java.testCompleteJoinRemoveNotYetRejoinedDynamicMembers")
    .plays(*stable(3, **SLOW), join(7000, 0, **SLOW), join(8000, 1, **SLOW), tick(14999), tick(15000))
    .expects(
        group(-2, PREPARING, members=[0, 1, 2]),
        answer(-4, at_ms=15000, generation=2, members=[0, 1]),
        answer(-3, at_ms=15000, generation=2),
        group(-1, COMPLETING, generation=2, members=[0, 1]),
    ),
    scenario("the longest rebalance timeout counts")
    .mirrors("GroupMetadata.rebalanceTimeoutMs")
    .plays(join(0, rebalance_timeout_ms=10000, session_timeout_ms=LONG))
    .plays(join(0, rebalance_timeout_ms=20000, session_timeout_ms=LONG), tick(6000), *syncs(6000, 1, range(2)))
    .plays(join(7000, 0, rebalance_timeout_ms=10000, session_timeout_ms=LONG), tick(26999), tick(27000))
    .expects(
        group(-2, PREPARING), answer(-3, at_ms=27000, generation=2, members=[0]), group(-1, COMPLETING, members=[0])
    ),
    scenario("the deadline is fixed when the rebalance begins")
    .mirrors("GroupCoordinator.prepareRebalance")
    .plays(*stable(2, **SLOW), join(7000, 0, **SLOW))
    .plays(join(8000, rebalance_timeout_ms=100000, session_timeout_ms=LONG), tick(15000))
    .expects(answer(-3, at_ms=15000, generation=2, members=[0, 2]), answer(-2, at_ms=15000, member=2, generation=2)),
    scenario("no member rejoins")
    .mirrors("java.testClassicGroupMemberSessionTimeoutDuringRebalance")
    .plays(*stable(3, **SLOW), leave(7000, 2), tick(14999), tick(15000))
    .expects(group(-2, PREPARING, members=[0, 1]), group(-1, EMPTY, generation=2, members=[], leader=None)),
    scenario("a lost member ends the join phase")
    .mirrors("scala.testSessionTimeoutDuringRebalance")
    .plays(*stable(2), heartbeat(7000, 1, 1), join(7000, 0), tick(17000))
    .expects(
        answer(-2, at_ms=17000, generation=2, leader=0, members=[0]), group(-1, COMPLETING, generation=2, members=[0])
    ),
    scenario("1.0 loses a member twice that joined and synced in one instant")
    # The timer of the join's end is not stopped by a sync that moves its deadline by nothing, and in 1.0 a timer does
    # not ask whether its member is still there.
    .mirrors("GroupCoordinator.onExpireHeartbeat")
    .plays(*stable(2), join(7000, 0), tick(16000))
    .expects(
        answer(-2, at_ms=16000, generation=2, leader=0, members=[0]),
        group(-1, PREPARING, generation=2, members=[0], until="1.0"),
        group(-1, COMPLETING, generation=2, members=[0], since="2.3"),
    ),
    scenario("who waits has no session to lose")
    .mirrors("scala.testSessionTimeoutDuringRebalance")
    .plays(*stable(2), join(7000, 0), heartbeat(15000, 1, 1), heartbeat(24000, 1, 1), join(30000, 1))
    .expects(
        group(-2, PREPARING, members=[0, 1]),
        answer(-4, at_ms=30000, generation=2, members=[0, 1]),
        answer(-1, at_ms=30000, generation=2),
    ),
    scenario("the end of the join phase restarts sessions")
    .mirrors("GroupCoordinator.onCompleteJoin")
    .plays(*stable(2), join(14000, 0), join(15000, 1), sync(20000, 1, 2), tick(24999), tick(25000))
    .expects(
        group(-2, COMPLETING, generation=2, members=[0, 1]),
        answer(-3, "REBALANCE_IN_PROGRESS", at_ms=25000),
        group(-1, PREPARING, generation=2, members=[1]),
    ),
)

NEWCOMERS = (
    scenario("a newcomer waits five minutes at most since 2.1.1")
    .mirrors("both.testNewMemberJoinExpiration")
    .plays(*stable(1, rebalance_timeout_ms=600_000, session_timeout_ms=MINUTES_5))
    .plays(join(7000, rebalance_timeout_ms=600_000), heartbeat(100_000, 0, 1))
    .plays(tick(306_999), tick(307_000), join(307_000, 0))
    .expects(
        group(-3, PREPARING, members=[0, 1]),
        answer(3, "UNKNOWN_MEMBER_ID", at_ms=307_000, since="2.3"),
        group(-2, PREPARING, members=[0], since="2.3"),
        answer(-1, at_ms=307_000, generation=2, members=[0], since="2.3"),
        answer(-1, at_ms=307_000, generation=2, members=[0, 1], until="1.0"),
    ),
    scenario("the five minutes end with the join phase", since="2.3")
    .mirrors("scala.testNewMemberTimeoutCompletion")
    .plays(*stable(1, session_timeout_ms=305_000), tick(300_000), tick(310_999), tick(311_000))
    .expects(group(-3, STABLE), group(-2, STABLE, members=[0]), group(-1, EMPTY, generation=2)),
    scenario("a newcomer that does not sync is lost with its session")
    .mirrors("both.testNewMemberFailureAfterJoinGroupCompletion")
    .plays(*stable(1), join(7000), join(8000, 0), sync(8000, 0, 2), heartbeat(14000, 0, 2), tick(18000))
    .expects(
        answer(3, member=1, generation=2, leader=0),
        group(-2, STABLE, generation=2, members=[0, 1]),
        group(-1, PREPARING, generation=2, members=[0]),
    ),
    scenario("a newcomer that sends no heartbeats is lost with its session")
    .mirrors("scala.testNewMemberFailureAfterSyncGroupCompletion")
    .plays(*stable(1), join(7000), join(8000, 0), *syncs(8000, 2, range(2)))
    .plays(heartbeat(14000, 0, 2), tick(18000), heartbeat(18000, 0, 2))
    .expects(
        group(-3, STABLE, generation=2),
        group(-2, PREPARING, generation=2, members=[0]),
        answer(-1, "REBALANCE_IN_PROGRESS"),
    ),
)

CHANGED = (
    scenario("a rejoin sets the session timeout since 3.3")
    .mirrors("ClassicGroupTest.testUpdateMember")
    .plays(*stable(1), join(7000, 0, session_timeout_ms=20000), sync(7000, 0, 2), tick(17000), tick(27000))
    .expects(
        group(-2, EMPTY, generation=3, until="2.3"),
        group(-2, STABLE, generation=2, since="3.9"),
        group(-1, EMPTY, generation=3),
    ),
    scenario("a rejoin sets the rebalance timeout since 3.3")
    .mirrors("ClassicGroupTest.testUpdateMember")
    .plays(*stable(2, rebalance_timeout_ms=60000, session_timeout_ms=LONG))
    .plays(join(7000, 0, rebalance_timeout_ms=7000, session_timeout_ms=LONG))
    .plays(join(7000, 1, rebalance_timeout_ms=7000, session_timeout_ms=LONG), *syncs(7000, 2, range(2)))
    .plays(join(8000, 0, rebalance_timeout_ms=7000, session_timeout_ms=LONG), tick(15000), tick(68000))
    .expects(
        group(-2, PREPARING, generation=2, until="2.3"),
        group(-2, COMPLETING, generation=3, members=[0], since="3.9"),
        answer(-3, at_ms=68000, generation=3, until="2.3"),
        answer(-3, at_ms=15000, generation=3, since="3.9"),
    ),
    scenario("an unchanged follower's join sets nothing")
    .mirrors("java.testJoinGroupExistingMemberDoesNotTriggerRebalanceInStableState")
    .plays(*stable(2), join(7000, 1, session_timeout_ms=60000))
    .plays(heartbeat(8000, 0, 1), heartbeat(8000, 1, 1), heartbeat(17000, 0, 1), tick(18000))
    .expects(answer(-5), group(-1, PREPARING, members=[0])),
    scenario("a second rebalance at once after the first")
    .mirrors("scala.testGenerationIdIncrementsOnRebalance")
    .plays(*joined(2), join(7000, 1, protocols=RANGE_CHANGED), join(7000, 0))
    .plays(join(8000, 1), sync(8000, 0, 1), sync(8000, 0, 2))
    .expects(
        answer(-4, at_ms=7000, generation=2),
        group(-3, PREPARING, generation=2),
        parked(-3),
        answer(-2, "ILLEGAL_GENERATION"),
        answer(-1, "REBALANCE_IN_PROGRESS"),
    ),
)

SCENARIOS = (*ANSWERS, *SESSIONS, *DEADLINE, *NEWCOMERS, *CHANGED)
