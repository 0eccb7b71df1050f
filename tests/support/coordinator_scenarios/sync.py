"""SyncGroup: assignments, writes to the log, members that do not sync in time."""

from tests.support.coordinator_scenarios.scenario import (
    COMPLETING,
    EMPTY,
    PREPARING,
    STABLE,
    Error,
    Scenario,
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
    STRANGER,
    fail_store,
    finish_store,
    heartbeat,
    hold_store,
    join,
    joined,
    leave,
    stable,
    sync,
    syncs,
    tick,
)

REFUSED = (
    scenario("sync with a group that is not there")
    .mirrors("both.testSyncGroupFromUnknownGroup")
    .plays(sync(0, STRANGER, 1))
    .expects(answer(0, "UNKNOWN_MEMBER_ID"), gone(0)),
    scenario("sync of a stranger")
    .mirrors("both.testSyncGroupFromUnknownMember")
    .plays(*stable(1), sync(7000, STRANGER, 1))
    .expects(answer(-1, "UNKNOWN_MEMBER_ID"), group(-1, STABLE)),
    scenario("sync with another generation")
    .mirrors("both.testSyncGroupFromIllegalGeneration")
    .plays(*joined(1), sync(FORMED_MS, 0, 2, {0: "x"}), sync(FORMED_MS, 0, 0, {0: "x"}))
    .expects(answer(-2, "ILLEGAL_GENERATION"), answer(-1, "ILLEGAL_GENERATION"), group(-1, COMPLETING)),
    scenario("sync while the group prepares a rebalance")
    .mirrors("GroupCoordinator.doSyncGroup")
    .plays(*stable(2), join(7000), sync(8000, 1, 1), sync(8000, 0, 1, {0: "x"}))
    .expects(*answers(-2, -1, error="REBALANCE_IN_PROGRESS"), group(-1, PREPARING, generation=1)),
    scenario("sync with another protocol type", since="3.9")
    .mirrors("both.testSyncGroupReturnsAnErrorWhenProtocolTypeIsInconsistent")
    .plays(*joined(1), sync(FORMED_MS, 0, 1, {0: "x"}, protocol_type="connect"))
    .expects(answer(-1, "INCONSISTENT_GROUP_PROTOCOL"), group(-1, COMPLETING)),
    scenario("sync with another protocol", since="3.9")
    .mirrors("both.testSyncGroupReturnsAnErrorWhenProtocolNameIsInconsistent")
    .plays(*joined(1), sync(FORMED_MS, 0, 1, {0: "x"}, protocol_type="consumer", protocol="sticky"))
    .expects(answer(-1, "INCONSISTENT_GROUP_PROTOCOL"), group(-1, COMPLETING)),
    scenario("sync with the group's own protocol", since="3.9")
    .mirrors("both.testSyncGroupSucceedWhenProtocolTypeAndNameAreConsistent")
    .plays(*joined(1), sync(FORMED_MS, 0, 1, {0: "x"}, protocol_type="consumer", protocol="range"))
    .expects(answer(-1, assignment="x"), group(-1, STABLE)),
    scenario("sync without a protocol")
    .mirrors("both.testSyncGroupSucceedWhenProtocolTypeAndNameAreNotProvided")
    .plays(*joined(1), sync(FORMED_MS, 0, 1, {0: "x"}))
    .expects(answer(-1, assignment="x"), group(-1, STABLE)),
)

ASSIGNMENTS = (
    scenario("a member that the leader forgot gets an empty assignment")
    .mirrors("both.testSyncGroupEmptyAssignment")
    .plays(*joined(2), sync(FORMED_MS, 1, 1), sync(FORMED_MS, 0, 1, {}))
    .expects(answer(-2, assignment=""), answer(-1, assignment=""), group(-1, STABLE)),
    scenario("followers who sync first wait for the leader")
    .mirrors("both.testSyncGroupLeaderAfterFollower")
    .plays(*joined(2), sync(7000, 1, 1), sync(8000, 0, 1, {0: "a", 1: "b"}))
    .expects(
        group(-2, COMPLETING),
        answer(-2, at_ms=8000, assignment="b"),
        answer(-1, at_ms=8000, assignment="a"),
        group(-1, STABLE, generation=1, leader=0),
    ),
    scenario("a follower who syncs later is answered at once")
    .mirrors("both.testSyncGroupFollowerAfterLeader")
    .plays(*joined(2), sync(7000, 0, 1, {0: "a", 1: "b"}), sync(8000, 1, 1))
    .expects(answer(-2, at_ms=7000, assignment="a"), answer(-1, at_ms=8000, assignment="b")),
    scenario("what a leader sends to a stable group is ignored")
    .mirrors("GroupCoordinator.doSyncGroup")
    .plays(*stable(2), sync(7000, 0, 1, {0: "new", 1: "new"}), sync(7000, 1, 1, {1: "new"}))
    .expects(answer(-2, assignment="for 0"), answer(-1, assignment="for 1"), group(-1, STABLE)),
    scenario("what a follower sends is ignored")
    .mirrors("GroupCoordinator.doSyncGroup")
    .plays(*joined(2), sync(7000, 1, 1, {0: "mine", 1: "mine"}), sync(7000, 0, 1, {0: "a", 1: "b"}))
    .expects(answer(-2, assignment="b"), answer(-1, assignment="a")),
    scenario("who syncs twice is answered once")
    .mirrors("ClassicGroupTest.testNotCompleteSyncFuture")
    .plays(*joined(2), sync(7000, 1, 1), sync(7500, 1, 1), sync(8000, 0, 1, {1: "b"}))
    .expects(parked(-3), answer(-2, at_ms=8000, assignment="b"), answer(-1, assignment="")),
    scenario("the leader is lost before it syncs")
    .mirrors("both.testLeaderFailureInSyncGroup")
    .plays(*joined(2), sync(7000, 1, 1), tick(16000), join(17000, 1))
    .expects(
        answer(-3, "REBALANCE_IN_PROGRESS", at_ms=16000),
        group(-2, PREPARING, generation=1, leader=1, members=[1]),
        answer(-1, at_ms=17000, generation=2, leader=1, members=[1]),
    ),
    scenario("the leader leaves before it syncs")
    .mirrors("scala.testLeaderFailureInSyncGroup")
    .plays(*joined(2), sync(7000, 1, 1), leave(8000, 0))
    .expects(
        answer(-2, "REBALANCE_IN_PROGRESS", at_ms=8000), group(-1, PREPARING, generation=1, leader=1, members=[1])
    ),
)


def _log_answers(error: str, sent: Error, *, since: str = "1.0", until: str = "4.3") -> Scenario:
    return (
        scenario(f"the log answers {error} to a leader's sync in {since}", since=since, until=until)
        .mirrors("java.testSyncGroupAsLeaderAppendFailureTransformsError", "java.testJoinGroupAppendErrorConversion")
        .plays(*joined(2), sync(7000, 1, 1), fail_store(7000, error), sync(7000, 0, 1, {0: "a", 1: "b"}))
        .expects(
            *answers(-3, -1, error=sent, at_ms=7000, assignment=""), group(-1, PREPARING, generation=1, members=[0, 1])
        )
    )


LOG = (
    _log_answers("UNKNOWN_TOPIC_OR_PARTITION", "COORDINATOR_NOT_AVAILABLE"),
    _log_answers("NOT_ENOUGH_REPLICAS", "COORDINATOR_NOT_AVAILABLE"),
    _log_answers("NOT_ENOUGH_REPLICAS_AFTER_APPEND", "COORDINATOR_NOT_AVAILABLE", until="3.9"),
    _log_answers("NOT_ENOUGH_REPLICAS_AFTER_APPEND", "NOT_ENOUGH_REPLICAS_AFTER_APPEND", since="4.3"),
    _log_answers("REQUEST_TIMED_OUT", "REBALANCE_IN_PROGRESS", until="3.9"),
    _log_answers("REQUEST_TIMED_OUT", "COORDINATOR_NOT_AVAILABLE", since="4.3"),
    _log_answers("NOT_LEADER_FOR_PARTITION", "NOT_COORDINATOR", until="2.3"),
    _log_answers("NOT_LEADER_OR_FOLLOWER", "NOT_COORDINATOR", since="3.9"),
    _log_answers("MESSAGE_TOO_LARGE", "UNKNOWN_SERVER_ERROR"),
    _log_answers("RECORD_LIST_TOO_LARGE", "UNKNOWN_SERVER_ERROR"),
    _log_answers("CORRUPT_MESSAGE", "CORRUPT_MESSAGE"),
    scenario("after a failed write the members join again")
    .mirrors("java.testSyncGroupAsLeaderAppendFailureTransformsError")
    .plays(*joined(1), fail_store(7000, "NOT_ENOUGH_REPLICAS"), sync(7000, 0, 1, {0: "a"}))
    .plays(fail_store(8000, "NONE"), join(8000, 0), sync(8000, 0, 2, {0: "b"}))
    .expects(
        answer(3, "COORDINATOR_NOT_AVAILABLE"),
        answer(-2, at_ms=8000, generation=2),
        answer(-1, assignment="b"),
        group(-1, STABLE, generation=2),
    ),
    scenario("no member is answered before the log")
    .mirrors("GroupMetadataManager.storeGroup")
    .plays(*joined(2), hold_store(7000), sync(7000, 0, 1, {1: "b"}), sync(8000, 1, 1), finish_store(9000))
    .expects(
        group(-2, COMPLETING),
        answer(-3, at_ms=9000, assignment=""),
        answer(-2, at_ms=9000, assignment="b"),
        group(-1, STABLE),
    ),
    scenario("a newcomer while the log writes makes its answer void")
    .mirrors("GroupCoordinator.doSyncGroup")
    .plays(*joined(1), hold_store(7000), sync(7000, 0, 1, {0: "a"}), join(8000), finish_store(9000), join(10000, 0))
    .expects(
        answer(3, "REBALANCE_IN_PROGRESS", at_ms=8000, assignment=""),
        group(-2, PREPARING, generation=1, members=[0, 1]),
        answer(-1, at_ms=10000, generation=2, members=[0, 1]),
    ),
    scenario("a write of an older generation is not the next one's")
    .mirrors("GroupCoordinator.doSyncGroup")
    .plays(*joined(1), hold_store(7000), sync(7000, 0, 1, {0: "old"}), join(8000, 0, protocols=RANGE_CHANGED))
    .plays(finish_store(9000), hold_store(9000, held=False), sync(9000, 0, 2, {0: "new"}))
    .expects(
        answer(3, "REBALANCE_IN_PROGRESS", at_ms=8000),
        answer(4, at_ms=8000, generation=2),
        group(5, COMPLETING, generation=2),
        answer(-1, assignment="new"),
    ),
)

TOO_LATE = (
    scenario("no member syncs")
    .mirrors("both.testRebalanceTimesOutWhenSyncRequestIsNotReceived")
    .plays(*joined(3, rebalance_timeout_ms=8000, session_timeout_ms=20000), tick(13999), tick(14000), tick(34000))
    .expects(
        group(-3, COMPLETING, members=[0, 1, 2]),
        group(-2, COMPLETING, members=[0, 1, 2], until="2.3"),
        group(-2, EMPTY, generation=2, members=[], since="3.9"),
        group(-1, EMPTY, generation=2, members=[]),
    ),
    scenario("heartbeats do not stand in for a sync", since="3.9")
    .mirrors("scala.testRebalanceTimesOutWhenSyncRequestIsNotReceived")
    .plays(*joined(1, rebalance_timeout_ms=8000), heartbeat(10000, 0, 1), tick(11000), heartbeat(11000, 0, 1))
    .expects(answer(-3), group(-2, EMPTY, generation=2), answer(-1, "UNKNOWN_MEMBER_ID")),
    scenario("followers sync, the leader does not", since="3.9")
    .mirrors("both.testRebalanceTimesOutWhenSyncRequestIsNotReceivedFromLeaders")
    .plays(*joined(2, rebalance_timeout_ms=8000, session_timeout_ms=20000), sync(FORMED_MS, 1, 1), tick(14000))
    .expects(
        answer(-2, "REBALANCE_IN_PROGRESS", at_ms=14000), group(-1, PREPARING, generation=1, leader=1, members=[1])
    ),
    scenario("the leader syncs, followers do not", since="3.9")
    .mirrors("both.testRebalanceTimesOutWhenSyncRequestIsNotReceivedFromFollowers")
    .plays(*joined(2, rebalance_timeout_ms=8000, session_timeout_ms=20000))
    .plays(sync(FORMED_MS, 0, 1, {0: "a"}), tick(13999), tick(14000))
    .expects(
        answer(-3, assignment="a"),
        group(-2, STABLE, members=[0, 1]),
        group(-1, PREPARING, generation=1, leader=0, members=[0]),
    ),
    scenario("all sync in time")
    .mirrors("both.testRebalanceDoesNotTimeOutWhenAllSyncAreReceived")
    .plays(*joined(2, rebalance_timeout_ms=8000, session_timeout_ms=20000), *syncs(7000, 1, range(2)), tick(14000))
    .expects(group(-1, STABLE, generation=1, members=[0, 1])),
    scenario("the time for syncs begins anew with each rebalance", since="3.9")
    .mirrors("ClassicGroupTest.testNewGenerationClearsPendingSyncMembers")
    .plays(*joined(1, rebalance_timeout_ms=8000, session_timeout_ms=20000))
    .plays(join(9000, 0, protocols=RANGE_CHANGED, rebalance_timeout_ms=8000, session_timeout_ms=20000))
    .plays(tick(16999), tick(17000))
    .expects(answer(-3, at_ms=9000, generation=2), group(-2, COMPLETING, generation=2), group(-1, EMPTY, generation=3)),
)

SCENARIOS = (*REFUSED, *ASSIGNMENTS, *LOG, *TOO_LATE)
