"""Timeouts: the deadline of the join phase, the five minutes of new members, timeouts that change."""

from tests.support.coordinator_scenarios.scenario import (
    ALL,
    COMPLETING,
    EMPTY,
    ILLEGAL_GENERATION,
    NONE,
    PREPARING,
    REBALANCE_IN_PROGRESS,
    SINCE_2_3,
    SINCE_3_9,
    STABLE,
    UNKNOWN_MEMBER_ID,
    UNTIL_2_3,
    Scenario,
    answer,
    group,
    parked,
)
from tests.support.coordinator_scenarios.steps import (
    RANGE_CHANGED,
    heartbeat,
    join,
    joined,
    leave,
    stable,
    sync,
    syncs,
    tick,
)

LONG = 200_000
MINUTES_5 = 300_000

DEADLINE = (
    Scenario(
        name="a member that does not rejoin is out",
        mirrors=(
            "GroupCoordinatorTest.testRebalanceCompletesBeforeMemberJoins",
            "GroupMetadataManagerTest.testRebalanceCompletesBeforeMemberJoins",
        ),
        versions=ALL,
        steps=(
            *stable(1, rebalance_timeout_ms=8000),
            join(7000, rebalance_timeout_ms=8000),
            heartbeat(10000, 0, 1),
            tick(15000),
            heartbeat(15000, 0, 1),
            join(15000, 0),
        ),
        expected=(
            answer(4, REBALANCE_IN_PROGRESS),
            answer(3, at_ms=15000, member=1, generation=2, leader=1, members=[1]),
            answer(-2, UNKNOWN_MEMBER_ID),
            answer(-1, UNKNOWN_MEMBER_ID),
            group(-1, COMPLETING, generation=2, members=[1]),
        ),
    ),
    Scenario(
        name="those who wait are kept at the deadline",
        mirrors=("GroupMetadataManagerTest.testCompleteJoinRemoveNotYetRejoinedDynamicMembers",),
        versions=ALL,
        steps=(
            *stable(3, rebalance_timeout_ms=8000, session_timeout_ms=LONG),
            join(7000, 0, rebalance_timeout_ms=8000, session_timeout_ms=LONG),
            join(8000, 1, rebalance_timeout_ms=8000, session_timeout_ms=LONG),
            tick(14999),
            tick(15000),
        ),
        expected=(
            group(-2, PREPARING, members=[0, 1, 2]),
            answer(-4, at_ms=15000, generation=2, members=[0, 1]),
            answer(-3, at_ms=15000, generation=2),
            group(-1, COMPLETING, generation=2, members=[0, 1]),
        ),
    ),
    Scenario(
        name="the longest rebalance timeout counts",
        mirrors=("GroupMetadata.rebalanceTimeoutMs",),
        versions=ALL,
        steps=(
            join(0, rebalance_timeout_ms=10000, session_timeout_ms=LONG),
            join(0, rebalance_timeout_ms=20000, session_timeout_ms=LONG),
            tick(6000),
            *syncs(6000, 1, range(2)),
            join(7000, 0, rebalance_timeout_ms=10000, session_timeout_ms=LONG),
            tick(26999),
            tick(27000),
        ),
        expected=(
            group(-2, PREPARING),
            answer(-3, at_ms=27000, generation=2, members=[0]),
            group(-1, COMPLETING, members=[0]),
        ),
    ),
    Scenario(
        name="the deadline is fixed when the rebalance begins",
        mirrors=("GroupCoordinator.prepareRebalance",),
        versions=ALL,
        steps=(
            *stable(2, rebalance_timeout_ms=8000, session_timeout_ms=LONG),
            join(7000, 0, rebalance_timeout_ms=8000, session_timeout_ms=LONG),
            join(8000, rebalance_timeout_ms=100000, session_timeout_ms=LONG),
            tick(15000),
        ),
        expected=(
            answer(-3, at_ms=15000, generation=2, members=[0, 2]),
            answer(-2, at_ms=15000, member=2, generation=2),
        ),
    ),
    Scenario(
        name="no member rejoins",
        mirrors=("GroupMetadataManagerTest.testClassicGroupMemberSessionTimeoutDuringRebalance",),
        versions=ALL,
        steps=(
            *stable(3, rebalance_timeout_ms=8000, session_timeout_ms=LONG),
            leave(7000, 2),
            tick(14999),
            tick(15000),
        ),
        expected=(group(-2, PREPARING, members=[0, 1]), group(-1, EMPTY, generation=2, members=[], leader=None)),
    ),
    Scenario(
        name="a lost member ends the join phase",
        mirrors=("GroupCoordinatorTest.testSessionTimeoutDuringRebalance",),
        versions=ALL,
        steps=(*stable(2), heartbeat(7000, 1, 1), join(7000, 0), tick(17000)),
        expected=(
            answer(-2, at_ms=17000, generation=2, leader=0, members=[0]),
            group(-1, COMPLETING, generation=2, members=[0]),
        ),
    ),
    Scenario(
        name="1.0 loses a member twice that joined and synced in one instant",
        # The timer of the join's end is not stopped by a sync that moves its deadline by nothing, and in 1.0 a timer
        # does not ask whether its member is still there.
        mirrors=("GroupCoordinator.onExpireHeartbeat",),
        versions=ALL,
        steps=(*stable(2), join(7000, 0), tick(16000)),
        expected=(
            answer(-2, at_ms=16000, generation=2, leader=0, members=[0]),
            group(-1, PREPARING, generation=2, members=[0], versions=("1.0",)),
            group(-1, COMPLETING, generation=2, members=[0], versions=SINCE_2_3),
        ),
    ),
    Scenario(
        name="who waits has no session to lose",
        mirrors=("GroupCoordinatorTest.testSessionTimeoutDuringRebalance",),
        versions=ALL,
        steps=(*stable(2), join(7000, 0), heartbeat(15000, 1, 1), heartbeat(24000, 1, 1), join(30000, 1)),
        expected=(
            group(-2, PREPARING, members=[0, 1]),
            answer(-4, at_ms=30000, generation=2, members=[0, 1]),
            answer(-1, at_ms=30000, generation=2),
        ),
    ),
    Scenario(
        name="the end of the join phase restarts sessions",
        mirrors=("GroupCoordinator.onCompleteJoin",),
        versions=ALL,
        steps=(*stable(2), join(14000, 0), join(15000, 1), sync(20000, 1, 2), tick(24999), tick(25000)),
        expected=(
            group(-2, COMPLETING, generation=2, members=[0, 1]),
            answer(-3, REBALANCE_IN_PROGRESS, at_ms=25000),
            group(-1, PREPARING, generation=2, members=[1]),
        ),
    ),
)

NEWCOMERS = (
    Scenario(
        name="a newcomer waits five minutes at most since 2.1.1",
        mirrors=(
            "GroupCoordinatorTest.testNewMemberJoinExpiration",
            "GroupMetadataManagerTest.testNewMemberJoinExpiration",
        ),
        versions=ALL,
        steps=(
            *stable(1, rebalance_timeout_ms=600_000, session_timeout_ms=MINUTES_5),
            join(7000, rebalance_timeout_ms=600_000),
            heartbeat(100_000, 0, 1),
            tick(306_999),
            tick(307_000),
            join(307_000, 0),
        ),
        expected=(
            group(-3, PREPARING, members=[0, 1]),
            answer(3, UNKNOWN_MEMBER_ID, at_ms=307_000, versions=SINCE_2_3),
            group(-2, PREPARING, members=[0], versions=SINCE_2_3),
            answer(-1, at_ms=307_000, generation=2, members=[0], versions=SINCE_2_3),
            answer(-1, at_ms=307_000, generation=2, members=[0, 1], versions=("1.0",)),
        ),
    ),
    Scenario(
        name="the five minutes end with the join phase",
        mirrors=("GroupCoordinatorTest.testNewMemberTimeoutCompletion",),
        versions=SINCE_2_3,
        steps=(*stable(1, session_timeout_ms=305_000), tick(300_000), tick(310_999), tick(311_000)),
        expected=(group(-3, STABLE), group(-2, STABLE, members=[0]), group(-1, EMPTY, generation=2)),
    ),
    Scenario(
        name="a newcomer that does not sync is lost with its session",
        mirrors=(
            "GroupCoordinatorTest.testNewMemberFailureAfterJoinGroupCompletion",
            "GroupMetadataManagerTest.testNewMemberFailureAfterJoinGroupCompletion",
        ),
        versions=ALL,
        steps=(*stable(1), join(7000), join(8000, 0), sync(8000, 0, 2), heartbeat(14000, 0, 2), tick(18000)),
        expected=(
            answer(3, member=1, generation=2, leader=0),
            group(-2, STABLE, generation=2, members=[0, 1]),
            group(-1, PREPARING, generation=2, members=[0]),
        ),
    ),
    Scenario(
        name="a newcomer that sends no heartbeats is lost with its session",
        mirrors=("GroupCoordinatorTest.testNewMemberFailureAfterSyncGroupCompletion",),
        versions=ALL,
        steps=(
            *stable(1),
            join(7000),
            join(8000, 0),
            *syncs(8000, 2, range(2)),
            heartbeat(14000, 0, 2),
            tick(18000),
            heartbeat(18000, 0, 2),
        ),
        expected=(
            group(-3, STABLE, generation=2),
            group(-2, PREPARING, generation=2, members=[0]),
            answer(-1, REBALANCE_IN_PROGRESS),
        ),
    ),
)

CHANGED = (
    Scenario(
        name="a rejoin sets the session timeout since 3.3",
        mirrors=("ClassicGroupTest.testUpdateMember",),
        versions=ALL,
        steps=(*stable(1), join(7000, 0, session_timeout_ms=20000), sync(7000, 0, 2), tick(17000), tick(27000)),
        expected=(
            group(-2, EMPTY, generation=3, versions=UNTIL_2_3),
            group(-2, STABLE, generation=2, versions=SINCE_3_9),
            group(-1, EMPTY, generation=3),
        ),
    ),
    Scenario(
        name="a rejoin sets the rebalance timeout since 3.3",
        mirrors=("ClassicGroupTest.testUpdateMember",),
        versions=ALL,
        steps=(
            *stable(2, rebalance_timeout_ms=60000, session_timeout_ms=LONG),
            join(7000, 0, rebalance_timeout_ms=7000, session_timeout_ms=LONG),
            join(7000, 1, rebalance_timeout_ms=7000, session_timeout_ms=LONG),
            *syncs(7000, 2, range(2)),
            join(8000, 0, rebalance_timeout_ms=7000, session_timeout_ms=LONG),
            tick(15000),
            tick(68000),
        ),
        expected=(
            group(-2, PREPARING, generation=2, versions=UNTIL_2_3),
            group(-2, COMPLETING, generation=3, members=[0], versions=SINCE_3_9),
            answer(-3, at_ms=68000, generation=3, versions=UNTIL_2_3),
            answer(-3, at_ms=15000, generation=3, versions=SINCE_3_9),
        ),
    ),
    Scenario(
        name="an unchanged follower's join sets nothing",
        mirrors=("GroupMetadataManagerTest.testJoinGroupExistingMemberDoesNotTriggerRebalanceInStableState",),
        versions=ALL,
        steps=(
            *stable(2),
            join(7000, 1, session_timeout_ms=60000),
            heartbeat(8000, 0, 1),
            heartbeat(8000, 1, 1),
            heartbeat(17000, 0, 1),
            tick(18000),
        ),
        expected=(answer(-5, NONE), group(-1, PREPARING, members=[0])),
    ),
    Scenario(
        name="a second rebalance at once after the first",
        mirrors=("GroupCoordinatorTest.testGenerationIdIncrementsOnRebalance",),
        versions=ALL,
        steps=(
            *joined(2),
            join(7000, 1, protocols=RANGE_CHANGED),
            join(7000, 0),
            join(8000, 1),
            sync(8000, 0, 1),
            sync(8000, 0, 2),
        ),
        expected=(
            answer(-4, at_ms=7000, generation=2),
            group(-3, PREPARING, generation=2),
            parked(-3),
            answer(-2, ILLEGAL_GENERATION),
            answer(-1, REBALANCE_IN_PROGRESS),
        ),
    ),
)

SCENARIOS = (*DEADLINE, *NEWCOMERS, *CHANGED)
