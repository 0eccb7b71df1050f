"""SyncGroup: assignments, writes to the log, members that do not sync in time."""

from tests.support.coordinator_scenarios.scenario import (
    ALL,
    COMPLETING,
    COORDINATOR_NOT_AVAILABLE,
    EMPTY,
    ILLEGAL_GENERATION,
    INCONSISTENT_GROUP_PROTOCOL,
    NONE,
    NOT_COORDINATOR,
    PREPARING,
    REBALANCE_IN_PROGRESS,
    SCALA,
    SINCE_3_9,
    STABLE,
    UNKNOWN_MEMBER_ID,
    UNKNOWN_SERVER_ERROR,
    UNTIL_2_3,
    Scenario,
    answer,
    gone,
    group,
    parked,
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
    Scenario(
        name="sync with a group that is not there",
        mirrors=(
            "GroupCoordinatorTest.testSyncGroupFromUnknownGroup",
            "GroupMetadataManagerTest.testSyncGroupFromUnknownGroup",
        ),
        versions=ALL,
        steps=(sync(0, STRANGER, 1),),
        expected=(answer(0, UNKNOWN_MEMBER_ID), gone(0)),
    ),
    Scenario(
        name="sync of a stranger",
        mirrors=(
            "GroupCoordinatorTest.testSyncGroupFromUnknownMember",
            "GroupMetadataManagerTest.testSyncGroupFromUnknownMember",
        ),
        versions=ALL,
        steps=(*stable(1), sync(7000, STRANGER, 1)),
        expected=(answer(-1, UNKNOWN_MEMBER_ID), group(-1, STABLE)),
    ),
    Scenario(
        name="sync with another generation",
        mirrors=(
            "GroupCoordinatorTest.testSyncGroupFromIllegalGeneration",
            "GroupMetadataManagerTest.testSyncGroupFromIllegalGeneration",
        ),
        versions=ALL,
        steps=(*joined(1), sync(FORMED_MS, 0, 2, {0: "x"}), sync(FORMED_MS, 0, 0, {0: "x"})),
        expected=(answer(-2, ILLEGAL_GENERATION), answer(-1, ILLEGAL_GENERATION), group(-1, COMPLETING)),
    ),
    Scenario(
        name="sync while the group prepares a rebalance",
        mirrors=("GroupCoordinator.doSyncGroup",),
        versions=ALL,
        steps=(*stable(2), join(7000), sync(8000, 1, 1), sync(8000, 0, 1, {0: "x"})),
        expected=(
            answer(-2, REBALANCE_IN_PROGRESS),
            answer(-1, REBALANCE_IN_PROGRESS),
            group(-1, PREPARING, generation=1),
        ),
    ),
    Scenario(
        name="sync with another protocol type",
        mirrors=(
            "GroupCoordinatorTest.testSyncGroupReturnsAnErrorWhenProtocolTypeIsInconsistent",
            "GroupMetadataManagerTest.testSyncGroupReturnsAnErrorWhenProtocolTypeIsInconsistent",
        ),
        versions=SINCE_3_9,
        steps=(*joined(1), sync(FORMED_MS, 0, 1, {0: "x"}, protocol_type="connect")),
        expected=(answer(-1, INCONSISTENT_GROUP_PROTOCOL), group(-1, COMPLETING)),
    ),
    Scenario(
        name="sync with another protocol",
        mirrors=(
            "GroupCoordinatorTest.testSyncGroupReturnsAnErrorWhenProtocolNameIsInconsistent",
            "GroupMetadataManagerTest.testSyncGroupReturnsAnErrorWhenProtocolNameIsInconsistent",
        ),
        versions=SINCE_3_9,
        steps=(*joined(1), sync(FORMED_MS, 0, 1, {0: "x"}, protocol_type="consumer", protocol="sticky")),
        expected=(answer(-1, INCONSISTENT_GROUP_PROTOCOL), group(-1, COMPLETING)),
    ),
    Scenario(
        name="sync with the group's own protocol",
        mirrors=(
            "GroupCoordinatorTest.testSyncGroupSucceedWhenProtocolTypeAndNameAreConsistent",
            "GroupMetadataManagerTest.testSyncGroupSucceedWhenProtocolTypeAndNameAreConsistent",
        ),
        versions=SINCE_3_9,
        steps=(*joined(1), sync(FORMED_MS, 0, 1, {0: "x"}, protocol_type="consumer", protocol="range")),
        expected=(answer(-1, assignment="x"), group(-1, STABLE)),
    ),
    Scenario(
        name="sync without a protocol",
        mirrors=(
            "GroupCoordinatorTest.testSyncGroupSucceedWhenProtocolTypeAndNameAreNotProvided",
            "GroupMetadataManagerTest.testSyncGroupSucceedWhenProtocolTypeAndNameAreNotProvided",
        ),
        versions=ALL,
        steps=(*joined(1), sync(FORMED_MS, 0, 1, {0: "x"})),
        expected=(answer(-1, assignment="x"), group(-1, STABLE)),
    ),
)

ASSIGNMENTS = (
    Scenario(
        name="a member that the leader forgot gets an empty assignment",
        mirrors=(
            "GroupCoordinatorTest.testSyncGroupEmptyAssignment",
            "GroupMetadataManagerTest.testSyncGroupEmptyAssignment",
        ),
        versions=ALL,
        steps=(*joined(2), sync(FORMED_MS, 1, 1), sync(FORMED_MS, 0, 1, {})),
        expected=(answer(-2, assignment=""), answer(-1, assignment=""), group(-1, STABLE)),
    ),
    Scenario(
        name="followers who sync first wait for the leader",
        mirrors=(
            "GroupCoordinatorTest.testSyncGroupLeaderAfterFollower",
            "GroupMetadataManagerTest.testSyncGroupLeaderAfterFollower",
        ),
        versions=ALL,
        steps=(*joined(2), sync(7000, 1, 1), sync(8000, 0, 1, {0: "a", 1: "b"})),
        expected=(
            group(-2, COMPLETING),
            answer(-2, at_ms=8000, assignment="b"),
            answer(-1, at_ms=8000, assignment="a"),
            group(-1, STABLE, generation=1, leader=0),
        ),
    ),
    Scenario(
        name="a follower who syncs later is answered at once",
        mirrors=(
            "GroupCoordinatorTest.testSyncGroupFollowerAfterLeader",
            "GroupMetadataManagerTest.testSyncGroupFollowerAfterLeader",
        ),
        versions=ALL,
        steps=(*joined(2), sync(7000, 0, 1, {0: "a", 1: "b"}), sync(8000, 1, 1)),
        expected=(answer(-2, at_ms=7000, assignment="a"), answer(-1, at_ms=8000, assignment="b")),
    ),
    Scenario(
        name="what a leader sends to a stable group is ignored",
        mirrors=("GroupCoordinator.doSyncGroup",),
        versions=ALL,
        steps=(*stable(2), sync(7000, 0, 1, {0: "new", 1: "new"}), sync(7000, 1, 1, {1: "new"})),
        expected=(answer(-2, assignment="for 0"), answer(-1, assignment="for 1"), group(-1, STABLE)),
    ),
    Scenario(
        name="what a follower sends is ignored",
        mirrors=("GroupCoordinator.doSyncGroup",),
        versions=ALL,
        steps=(*joined(2), sync(7000, 1, 1, {0: "mine", 1: "mine"}), sync(7000, 0, 1, {0: "a", 1: "b"})),
        expected=(answer(-2, assignment="b"), answer(-1, assignment="a")),
    ),
    Scenario(
        name="who syncs twice is answered once",
        mirrors=("ClassicGroupTest.testNotCompleteSyncFuture",),
        versions=ALL,
        steps=(*joined(2), sync(7000, 1, 1), sync(7500, 1, 1), sync(8000, 0, 1, {1: "b"})),
        expected=(parked(-3), answer(-2, at_ms=8000, assignment="b"), answer(-1, assignment="")),
    ),
    Scenario(
        name="the leader is lost before it syncs",
        mirrors=(
            "GroupCoordinatorTest.testLeaderFailureInSyncGroup",
            "GroupMetadataManagerTest.testLeaderFailureInSyncGroup",
        ),
        versions=ALL,
        steps=(*joined(2), sync(7000, 1, 1), tick(16000), join(17000, 1)),
        expected=(
            answer(-3, REBALANCE_IN_PROGRESS, at_ms=16000),
            group(-2, PREPARING, generation=1, leader=1, members=[1]),
            answer(-1, at_ms=17000, generation=2, leader=1, members=[1]),
        ),
    ),
    Scenario(
        name="the leader leaves before it syncs",
        mirrors=("GroupCoordinatorTest.testLeaderFailureInSyncGroup",),
        versions=ALL,
        steps=(*joined(2), sync(7000, 1, 1), leave(8000, 0)),
        expected=(
            answer(-2, REBALANCE_IN_PROGRESS, at_ms=8000),
            group(-1, PREPARING, generation=1, leader=1, members=[1]),
        ),
    ),
)


def _log_answers(error: str, told: str, versions: tuple[str, ...]) -> Scenario:
    return Scenario(
        name=f"the log answers {error} to a leader's sync in {versions[0]}",
        mirrors=(
            "GroupMetadataManagerTest.testSyncGroupAsLeaderAppendFailureTransformsError",
            "GroupMetadataManagerTest.testJoinGroupAppendErrorConversion",
        ),
        versions=versions,
        steps=(*joined(2), sync(7000, 1, 1), fail_store(7000, error), sync(7000, 0, 1, {0: "a", 1: "b"})),
        expected=(
            answer(-3, told, at_ms=7000, assignment=""),
            answer(-1, told, at_ms=7000, assignment=""),
            group(-1, PREPARING, generation=1, members=[0, 1]),
        ),
    )


LOG = (
    _log_answers("UNKNOWN_TOPIC_OR_PARTITION", COORDINATOR_NOT_AVAILABLE, ALL),
    _log_answers("NOT_ENOUGH_REPLICAS", COORDINATOR_NOT_AVAILABLE, ALL),
    _log_answers("NOT_ENOUGH_REPLICAS_AFTER_APPEND", COORDINATOR_NOT_AVAILABLE, SCALA),
    _log_answers("NOT_ENOUGH_REPLICAS_AFTER_APPEND", "NOT_ENOUGH_REPLICAS_AFTER_APPEND", ("4.3",)),
    _log_answers("REQUEST_TIMED_OUT", REBALANCE_IN_PROGRESS, SCALA),
    _log_answers("REQUEST_TIMED_OUT", COORDINATOR_NOT_AVAILABLE, ("4.3",)),
    _log_answers("NOT_LEADER_FOR_PARTITION", NOT_COORDINATOR, UNTIL_2_3),
    _log_answers("NOT_LEADER_OR_FOLLOWER", NOT_COORDINATOR, SINCE_3_9),
    _log_answers("MESSAGE_TOO_LARGE", UNKNOWN_SERVER_ERROR, ALL),
    _log_answers("RECORD_LIST_TOO_LARGE", UNKNOWN_SERVER_ERROR, ALL),
    _log_answers("CORRUPT_MESSAGE", "CORRUPT_MESSAGE", ALL),
    Scenario(
        name="after a failed write the members join again",
        mirrors=("GroupMetadataManagerTest.testSyncGroupAsLeaderAppendFailureTransformsError",),
        versions=ALL,
        steps=(
            *joined(1),
            fail_store(7000, "NOT_ENOUGH_REPLICAS"),
            sync(7000, 0, 1, {0: "a"}),
            fail_store(8000, "NONE"),
            join(8000, 0),
            sync(8000, 0, 2, {0: "b"}),
        ),
        expected=(
            answer(3, COORDINATOR_NOT_AVAILABLE),
            answer(-2, at_ms=8000, generation=2),
            answer(-1, assignment="b"),
            group(-1, STABLE, generation=2),
        ),
    ),
    Scenario(
        name="no member is answered before the log",
        mirrors=("GroupMetadataManager.storeGroup",),
        versions=ALL,
        steps=(*joined(2), hold_store(7000), sync(7000, 0, 1, {1: "b"}), sync(8000, 1, 1), finish_store(9000)),
        expected=(
            group(-2, COMPLETING),
            answer(-3, at_ms=9000, assignment=""),
            answer(-2, at_ms=9000, assignment="b"),
            group(-1, STABLE),
        ),
    ),
    Scenario(
        name="a newcomer while the log writes makes its answer void",
        mirrors=("GroupCoordinator.doSyncGroup",),
        versions=ALL,
        steps=(
            *joined(1),
            hold_store(7000),
            sync(7000, 0, 1, {0: "a"}),
            join(8000),
            finish_store(9000),
            join(10000, 0),
        ),
        expected=(
            answer(3, REBALANCE_IN_PROGRESS, at_ms=8000, assignment=""),
            group(-2, PREPARING, generation=1, members=[0, 1]),
            answer(-1, at_ms=10000, generation=2, members=[0, 1]),
        ),
    ),
    Scenario(
        name="a write of an older generation is not the next one's",
        mirrors=("GroupCoordinator.doSyncGroup",),
        versions=ALL,
        steps=(
            *joined(1),
            hold_store(7000),
            sync(7000, 0, 1, {0: "old"}),
            join(8000, 0, protocols=RANGE_CHANGED),
            finish_store(9000),
            hold_store(9000, held=False),
            sync(9000, 0, 2, {0: "new"}),
        ),
        expected=(
            answer(3, REBALANCE_IN_PROGRESS, at_ms=8000),
            answer(4, at_ms=8000, generation=2),
            group(5, COMPLETING, generation=2),
            answer(-1, assignment="new"),
        ),
    ),
)

TOO_LATE = (
    Scenario(
        name="no member syncs",
        mirrors=(
            "GroupCoordinatorTest.testRebalanceTimesOutWhenSyncRequestIsNotReceived",
            "GroupMetadataManagerTest.testRebalanceTimesOutWhenSyncRequestIsNotReceived",
        ),
        versions=ALL,
        steps=(*joined(3, rebalance_timeout_ms=8000, session_timeout_ms=20000), tick(13999), tick(14000), tick(34000)),
        expected=(
            group(-3, COMPLETING, members=[0, 1, 2]),
            group(-2, COMPLETING, members=[0, 1, 2], versions=UNTIL_2_3),
            group(-2, EMPTY, generation=2, members=[], versions=SINCE_3_9),
            group(-1, EMPTY, generation=2, members=[]),
        ),
    ),
    Scenario(
        name="heartbeats do not stand in for a sync",
        mirrors=("GroupCoordinatorTest.testRebalanceTimesOutWhenSyncRequestIsNotReceived",),
        versions=SINCE_3_9,
        steps=(*joined(1, rebalance_timeout_ms=8000), heartbeat(10000, 0, 1), tick(11000), heartbeat(11000, 0, 1)),
        expected=(answer(-3, NONE), group(-2, EMPTY, generation=2), answer(-1, UNKNOWN_MEMBER_ID)),
    ),
    Scenario(
        name="followers sync, the leader does not",
        mirrors=(
            "GroupCoordinatorTest.testRebalanceTimesOutWhenSyncRequestIsNotReceivedFromLeaders",
            "GroupMetadataManagerTest.testRebalanceTimesOutWhenSyncRequestIsNotReceivedFromLeaders",
        ),
        versions=SINCE_3_9,
        steps=(*joined(2, rebalance_timeout_ms=8000, session_timeout_ms=20000), sync(FORMED_MS, 1, 1), tick(14000)),
        expected=(
            answer(-2, REBALANCE_IN_PROGRESS, at_ms=14000),
            group(-1, PREPARING, generation=1, leader=1, members=[1]),
        ),
    ),
    Scenario(
        name="the leader syncs, followers do not",
        mirrors=(
            "GroupCoordinatorTest.testRebalanceTimesOutWhenSyncRequestIsNotReceivedFromFollowers",
            "GroupMetadataManagerTest.testRebalanceTimesOutWhenSyncRequestIsNotReceivedFromFollowers",
        ),
        versions=SINCE_3_9,
        steps=(
            *joined(2, rebalance_timeout_ms=8000, session_timeout_ms=20000),
            sync(FORMED_MS, 0, 1, {0: "a"}),
            tick(13999),
            tick(14000),
        ),
        expected=(
            answer(-3, assignment="a"),
            group(-2, STABLE, members=[0, 1]),
            group(-1, PREPARING, generation=1, leader=0, members=[0]),
        ),
    ),
    Scenario(
        name="all sync in time",
        mirrors=(
            "GroupCoordinatorTest.testRebalanceDoesNotTimeOutWhenAllSyncAreReceived",
            "GroupMetadataManagerTest.testRebalanceDoesNotTimeOutWhenAllSyncAreReceived",
        ),
        versions=ALL,
        steps=(*joined(2, rebalance_timeout_ms=8000, session_timeout_ms=20000), *syncs(7000, 1, range(2)), tick(14000)),
        expected=(group(-1, STABLE, generation=1, members=[0, 1]),),
    ),
    Scenario(
        name="the time for syncs begins anew with each rebalance",
        mirrors=("ClassicGroupTest.testNewGenerationClearsPendingSyncMembers",),
        versions=SINCE_3_9,
        steps=(
            *joined(1, rebalance_timeout_ms=8000, session_timeout_ms=20000),
            join(9000, 0, protocols=RANGE_CHANGED, rebalance_timeout_ms=8000, session_timeout_ms=20000),
            tick(16999),
            tick(17000),
        ),
        expected=(
            answer(-3, at_ms=9000, generation=2),
            group(-2, COMPLETING, generation=2),
            group(-1, EMPTY, generation=3),
        ),
    ),
)

SCENARIOS = (*REFUSED, *ASSIGNMENTS, *LOG, *TOO_LATE)
