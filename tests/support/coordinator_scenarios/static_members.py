"""Static members (KIP-345, since 2.3): replaced, fenced, kept at the deadline."""

from functools import partial
from typing import Any

from tests.support.coordinator_scenarios.scenario import (
    COMPLETING,
    EMPTY,
    PREPARING,
    STABLE,
    answer,
    answers,
    group,
    parked,
    scenario,
)
from tests.support.coordinator_scenarios.steps import (
    FORMED_MS,
    RANGE_CHANGED,
    RANGE_THEN_ROUND_ROBIN,
    ROUND_ROBIN,
    SLOW,
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

_scenario = partial(scenario, since="2.3")

A: dict[str, Any] = {"instance_id": "a"}
B: dict[str, Any] = {"instance_id": "b"}
AB = {0: "a", 1: "b"}

JOINING = (
    _scenario("the first static member")
    .mirrors("static.JoinAsFirstMember")
    .plays(join(0, **A), tick(3000))
    .expects(answer(0, at_ms=3000, member=0, generation=1, leader=0, instances={0: "a"})),
    _scenario("a static member needs no id first")
    .mirrors("java.testStaticMemberJoinAsFirstMember")
    .plays(join_for_id(0, **A), tick(3000))
    .expects(group(0, PREPARING, members=[0], pending=0), answer(0, at_ms=3000, generation=1)),
    _scenario("the leader learns of instance ids")
    .mirrors("java.testStaticMemberJoinAsFirstMember")
    .plays(*joined(3, AB))
    .expects(answer(0, members=[0, 1, 2], instances={0: "a", 1: "b", 2: None}), answer(1, members=[], leader=0)),
    _scenario("a known member with an unknown instance id")
    .mirrors("static.JoinWithUnknownInstanceIdAndKnownMemberId")
    .plays(*stable(1, {0: "a"}), join(7000, 0, **B), heartbeat(7000, 0, 1, **B), sync(7000, 0, 1, **B))
    .expects(
        answer(-3, "UNKNOWN_MEMBER_ID"),
        *answers(-2, -1, until="2.3"),
        *answers(-2, -1, error="UNKNOWN_MEMBER_ID", since="3.9"),
        group(-1, STABLE),
    ),
    _scenario("a static member may leave its instance id out")
    .mirrors("GroupCoordinator.validateCurrentMember")
    .plays(*stable(2, AB), heartbeat(7000, 1, 1), join(7000, 1), commit(7000, 1, 1))
    .expects(answer(-3), answer(-2, generation=1), answer(-1), group(-1, STABLE)),
    _scenario("static members fill a group", group_max_size=2)
    .mirrors("both.testStaticMembersJoinGroupWithMaxSize")
    .plays(join(0, **A), join(0, **B), join(1000, instance_id="c"), tick(6000))
    .expects(answer(2, "GROUP_MAX_SIZE_REACHED", at_ms=1000), answer(0, members=[0, 1])),
    _scenario("a full group does not even take a static member back without its id", group_max_size=2)
    .mirrors("GroupCoordinator.acceptJoiningMember")
    .plays(*stable(2, AB), join(7000, **B))
    .expects(answer(-1, "GROUP_MAX_SIZE_REACHED"), group(-1, STABLE, members=[0, 1])),
    _scenario("an instance id is forgotten with the member that had it before", until="2.3", group_max_size=2)
    .mirrors("GroupCoordinator.handleJoinGroup", "GroupCoordinator.removeMemberAndUpdateGroup")
    # The third has it when the second ends; it comes back, and is not known as a static member any more.
    .plays(*stable(2, AB), join(7000, **B), leave(8000, 0), join(9000, **B), tick(16_500), join(17_000, **B))
    .expects(
        answer(-5, "GROUP_MAX_SIZE_REACHED"),
        answer(-3, at_ms=16_000, generation=2, member=2, members=[2]),
        group(-1, PREPARING, members=[2, 3]),
    ),
    _scenario(
        "a static member whose instance id a full group has forgotten is found again after loading", group_max_size=2
    )
    .mirrors("GroupCoordinator.handleJoinGroup", "GroupMetadata.loadGroup")
    .plays(*stable(2, AB), join(7000, **B), join(7000, 1, **B), unload(8000), load(8000), join(9000, 1, **B))
    .expects(
        answer(-5, "GROUP_MAX_SIZE_REACHED"),
        answer(-4, "UNKNOWN_MEMBER_ID", until="2.3"),
        answer(-4, generation=1, since="3.9"),
        answer(-1, generation=1, member=1),
    ),
)

KNOWN_IDS = (
    _scenario("a single static member rejoins with its id")
    .mirrors("static.RejoinWithKnownMemberId")
    .plays(*joined(1, {0: "a"}), join(FORMED_MS, 0, **A))
    .expects(answer(-1, member=0, generation=1, leader=0, members=[0]), group(-1, COMPLETING)),
    _scenario("the static leader rejoins with its id")
    .mirrors("static.RejoinWithLeaderIdAndKnownMemberId")
    .plays(*stable(2, AB, **SLOW), join(7000, 0, **A, **SLOW), tick(15000))
    .expects(
        group(-2, PREPARING, generation=1),
        answer(-2, at_ms=15000, generation=2, leader=0, members=[0, 1]),
        group(-1, COMPLETING, generation=2, members=[0, 1]),
    ),
    _scenario("an unchanged static follower rejoins with its id")
    .mirrors("static.RejoinAsFollowerWithKnownMemberIdAndNoProtocolChange")
    .plays(*stable(2, AB), join(7000, 1, **B))
    .expects(answer(-1, at_ms=7000, member=1, generation=1, leader=0, members=[]), group(-1, STABLE)),
    _scenario("a changed static follower rejoins with its id")
    .mirrors("static.RejoinWithFollowerIdAndChangeOfProtocol")
    .plays(*stable(2, AB), join(7000, 1, protocols=RANGE_CHANGED, **B), join(8000, 0, **A))
    .expects(group(-2, PREPARING), answer(-1, at_ms=8000, generation=2, members=[0, 1], metadata={0: "one", 1: "two"})),
    _scenario("the leader begins a rebalance and a follower comes with other protocols")
    .mirrors(
        "scala.staticMemberRejoinWithKnownLeaderIdToTriggerRebalanceAndFollowerWithChangeofProtocol",
        "java.testStaticMemberRejoinWithKnownLeaderIdToTriggerRebalanceAndFollowerWithChangeOfProtocol",
    )
    .plays(*stable(2, AB, protocols=RANGE_THEN_ROUND_ROBIN))
    .plays(join(7000, 0, protocols=RANGE_THEN_ROUND_ROBIN, **A), join(8000, protocols=ROUND_ROBIN, **B))
    .expects(
        answer(-2, at_ms=8000, generation=2, leader=0, protocol="roundrobin", members=[0, 2]),
        answer(-1, at_ms=8000, member=2, generation=2, leader=0),
        group(-1, COMPLETING, generation=2, members=[0, 2]),
    ),
)

FENCED = (
    _scenario("an unknown id with a known instance id")
    .mirrors(
        "scala.staticMemberReJoinWithExplicitUnknownMemberId", "java.testStaticMemberRejoinWithExplicitUnknownMemberId"
    )
    .plays(*stable(1, {0: "a"}), join(7000, "unknown", **A))
    .expects(answer(-1, "FENCED_INSTANCE_ID"), group(-1, STABLE, members=[0])),
    _scenario("a follower's instance id with the leader's id")
    .mirrors(
        "scala.staticMemberRejoinAsFollowerWithMismatchedMemberId",
        "java.testStaticMemberRejoinAsFollowerWithMismatchedInstanceId",
    )
    .plays(*stable(2, AB), join(7000, 0, **B))
    .expects(answer(-1, "FENCED_INSTANCE_ID"), group(-1, STABLE)),
    _scenario("the leader's instance id with a follower's id")
    .mirrors(
        "scala.staticMemberRejoinAsLeaderWithMismatchedMemberId",
        "java.testStaticMemberRejoinAsLeaderWithMismatchedInstanceId",
    )
    .plays(*stable(2, AB), join(7000, 1, **A))
    .expects(answer(-1, "FENCED_INSTANCE_ID"), group(-1, STABLE)),
    _scenario("a sync with another's instance id")
    .mirrors("static.SyncAsLeaderWithInvalidMemberId")
    .plays(*joined(2, AB), sync(7000, "invalid", 1, {}, **A), sync(7000, 1, 1, **A), sync(7000, 0, 1, **A))
    .expects(answer(-3, "FENCED_INSTANCE_ID"), answer(-2, "FENCED_INSTANCE_ID"), answer(-1), group(-1, STABLE)),
    _scenario("a heartbeat with another's instance id")
    .mirrors("static.HeartbeatLeaderWithInvalidMemberId")
    .plays(*stable(2, AB), heartbeat(7000, 0, 1, **A), heartbeat(7000, "invalid", 1, **A))
    .expects(answer(-2), answer(-1, "FENCED_INSTANCE_ID")),
    _scenario("a commit with another's instance id")
    .mirrors(
        "scala.staticMemberCommitOffsetWithInvalidMemberId",
        "OffsetMetadataManagerTest.testGenericGroupOffsetCommitWithFencedInstanceId",
    )
    .plays(*stable(2, AB), commit(7000, "invalid", 1, **A), commit(7000, 0, 1, **A))
    .expects(answer(-2, "FENCED_INSTANCE_ID"), answer(-1)),
    _scenario("a commit with an unknown instance id")
    .mirrors("OffsetMetadataManagerTest.testGenericGroupOffsetCommitWithUnknownInstanceId")
    .plays(*stable(1), commit(7000, 0, 1, **A))
    .expects(answer(-1, until="2.3"), answer(-1, "UNKNOWN_MEMBER_ID", since="3.9")),
    _scenario("the old one's parked join")
    .mirrors("static.FenceDuplicateRejoinedFollower")
    .plays(*stable(3, AB), join(7000, 0, **A), join(7000, 1, **B), join(8000, **B), join(9000, 2))
    .expects(
        answer(-3, "FENCED_INSTANCE_ID", at_ms=8000, member=1),
        answer(-4, at_ms=9000, generation=2, members=[0, 2, 3]),
        answer(-2, at_ms=9000, member=3, generation=2, leader=0),
    ),
    _scenario("the old one's parked sync")
    .mirrors("static.FenceDuplicateSyncingFollowerAfterMemberIdChanged")
    .plays(*joined(2, AB), sync(7000, 1, 1, **B), join(8000, **B))
    .expects(answer(-2, "FENCED_INSTANCE_ID", at_ms=8000)),
    _scenario("the old one's later requests")
    .mirrors("static.FenceDuplicateRejoiningFollowerAfterMemberIdChanged")
    .plays(*stable(2, AB), join(7000, **B), join(8000, 1, **B), heartbeat(8000, 1, 1, **B), heartbeat(8000, 1, 1))
    .expects(answer(-4, member=2), *answers(-3, -2, error="FENCED_INSTANCE_ID"), answer(-1, "UNKNOWN_MEMBER_ID")),
)

REPLACED = (
    _scenario("a follower comes back without its id to a stable group")
    .mirrors("static.RejoinAsFollowerWithUnknownMemberId", "java.testReplaceStaticMemberInStableStateNoError")
    .plays(*stable(2, AB), join(7000, **B), sync(7000, 2, 1, **B))
    .expects(
        answer(-2, at_ms=7000, member=2, generation=1, protocol="range", leader=0, members=[]),
        answer(-1, assignment="for 1"),
        group(-1, STABLE, generation=1, members=[0, 2]),
    ),
    _scenario("the leader comes back without its id and is sent the old leader")
    .mirrors("static.RejoinWithLeaderIdAndUnknownMemberId")
    .plays(*stable(2, AB), join(7000, **A), sync(7000, 2, 1, {2: "new"}, **A))
    .expects(
        answer(-2, at_ms=7000, member=2, generation=1, leader=0, members=[]),
        answer(-1, assignment="for 0"),
        group(-1, STABLE, generation=1, leader=2, members=[1, 2]),
    ),
    _scenario("a leader that can skip the assignment is sent that it leads", since="3.9")
    .mirrors(
        "scala.staticMemberRejoinWithLeaderIdAndUnknownMemberId", "java.testReplaceStaticMemberInStableStateSucceeds"
    )
    .plays(*stable(2, AB), join(7000, supports_skipping_assignment=True, **A))
    .expects(
        answer(-1, at_ms=7000, member=2, generation=1, leader=2, members=[1, 2], skip_assignment=True),
        group(-1, STABLE, leader=2),
    ),
    _scenario("a follower that could skip the assignment has none to skip", since="3.9")
    .mirrors("java.testStaticMemberRejoinAsFollowerWithUnknownMemberId")
    .plays(*stable(2, AB), join(7000, supports_skipping_assignment=True, **B))
    .expects(answer(-1, member=2, leader=0, members=[], skip_assignment=False), group(-1, STABLE)),
    _scenario("a follower comes back with a changed subscription and the same vote")
    .mirrors("static.RejoinWithUnknownMemberIdAndChangeOfProtocolWhileSelectProtocolUnchanged")
    .plays(*stable(2, AB), join(7000, protocols=RANGE_CHANGED, **B), join(8000, 0, **A), join(8000, 2, **B))
    .expects(
        answer(-3, at_ms=7000, generation=1),
        group(-3, STABLE, generation=1),
        answer(-2, generation=2, metadata={0: "one", 2: "one"}),
    ),
    _scenario("a follower comes back with protocols that change the vote")
    .mirrors(
        "scala.staticMemberRejoinWithUnknownMemberIdAndChangeOfProtocol",
        "java.testStaticMemberRejoinWithUnknownMemberIdAndChangeOfProtocolWithSelectedProtocolChanged",
        "java.testReplaceStaticMemberInStableStateWithUpdatedProtocolTriggersRebalance",
    )
    .plays(*stable(2, AB, protocols=RANGE_THEN_ROUND_ROBIN), join(7000, protocols=ROUND_ROBIN, **B))
    .plays(join(8000, 0, protocols=RANGE_THEN_ROUND_ROBIN, **A))
    .expects(
        answer(-2, at_ms=7000, generation=1, protocol="range", until="2.3"),
        group(-2, STABLE, until="2.3"),
        group(-2, PREPARING, generation=1, since="3.9"),
        answer(-2, at_ms=8000, generation=2, protocol="roundrobin", since="3.9"),
    ),
    _scenario("the log refuses the new id", since="3.9")
    .mirrors(
        "java.testStaticMemberRejoinWithUnknownMemberIdAndChangeOfProtocolWhileSelectProtocolUnchangedPersistenceFailure",
        "java.testReplaceStaticMemberInStableStateErrors",
    )
    .plays(*stable(2, AB), fail_store(7000, "MESSAGE_TOO_LARGE"), join(7000, **B))
    .plays(heartbeat(8000, 1, 1, **B), heartbeat(8000, 2, 1, **B))
    .expects(
        answer(-3, "UNKNOWN_SERVER_ERROR", at_ms=7000, members=[]),
        group(-3, STABLE, generation=1, members=[0, 1]),
        answer(-2),
        answer(-1, "FENCED_INSTANCE_ID"),
    ),
    _scenario("a rebalance answers a return that the log refuses later", since="3.9")
    .mirrors("GroupMetadataManager.updateStaticMemberThenRebalanceOrCompleteJoin")
    .plays(*stable(2, AB), hold_store(7000), join(7000, **B), join(8000, 0, **A))
    .plays(join(9000, 2, protocols=RANGE_CHANGED, **B), fail_store(9000, "MESSAGE_TOO_LARGE"), finish_store(9000))
    .expects(
        answer(-5, at_ms=8000, member=2, generation=2),
        parked(-3, until="3.9"),
        answer(-3, "UNKNOWN_SERVER_ERROR", at_ms=9000, since="4.3"),
        group(-2, PREPARING, generation=2, members=[0, 2]),
        group(-1, PREPARING, generation=2, members=[0, 1]),
    ),
    _scenario("a return before the one before it is written", since="3.9")
    .mirrors(
        "GroupCoordinator.updateStaticMemberAndRebalance",
        "GroupMetadataManager.updateStaticMemberThenRebalanceOrCompleteJoin",
    )
    .plays(*stable(2, AB), hold_store(7000), join(7000, **B), join(8000, **B), finish_store(9000))
    .expects(
        answer(-3, "FENCED_INSTANCE_ID", at_ms=8000),
        answer(-2, at_ms=9000, member=2, generation=1, until="3.9"),
        answer(-2, at_ms=9000, member=3, generation=1, since="4.3"),
        group(-1, STABLE, members=[0, 3]),
    ),
    _scenario("the log refuses two returns", since="4.3")
    .mirrors("GroupMetadataManager.updateStaticMemberThenRebalanceOrCompleteJoin")
    .plays(*stable(2, AB), hold_store(7000), join(7000, **B), join(8000, **B))
    .plays(fail_store(9000, "MESSAGE_TOO_LARGE"), finish_store(9000))
    .expects(
        answer(-4, "FENCED_INSTANCE_ID", at_ms=8000),
        answer(-3, "UNKNOWN_SERVER_ERROR", at_ms=9000),
        group(-1, STABLE, members=[0, 2]),
    ),
    _scenario("a follower comes back before the sync")
    .mirrors(
        "scala.staticMemberFenceDuplicateSyncingFollowerAfterMemberIdChanged",
        "java.testReplaceStaticMemberInCompletingRebalanceStateTriggersRebalance",
    )
    .plays(*joined(2, AB), join(7000, **B), sync(8000, 0, 1, {0: "x", 1: "y"}, **A))
    .expects(
        answer(-2, at_ms=7000, member=2, generation=1, leader=0, members=[], until="2.3"),
        group(-1, STABLE, members=[0, 2], until="2.3"),
        parked(-2, since="3.9"),
        answer(-1, "REBALANCE_IN_PROGRESS", since="3.9"),
        group(-1, PREPARING, generation=1, members=[0, 2], since="3.9"),
    ),
    _scenario("a follower comes back while the group prepares")
    .mirrors("java.testJoinGroupReplaceStaticMember")
    .plays(*stable(2, AB), join(7000, 0, **A), join(8000, **B))
    .expects(
        answer(-2, at_ms=8000, generation=2, members=[0, 2], instances={0: "a", 2: "b"}),
        answer(-1, at_ms=8000, member=2, generation=2, leader=0),
    ),
    _scenario("a static member comes back in the first delay")
    .mirrors("java.testJoinGroupReplaceStaticMember")
    .plays(join(0, **A), join(1000, **A), tick(3000))
    .expects(
        answer(0, "FENCED_INSTANCE_ID", at_ms=1000, member=0),
        answer(1, at_ms=3000, member=1, generation=1, leader=1, members=[1]),
    ),
    _scenario("each return makes another id")
    .mirrors(
        "scala.shouldGetDifferentStaticMemberIdAfterEachRejoin", "java.testGetDifferentStaticMemberIdAfterEachRejoin"
    )
    .plays(*stable(2, AB), join(7000, **A), join(7000, **A), join(7000, **A))
    .expects(
        answer(-3, member=2, leader=0),
        answer(-2, member=3, leader=2),
        answer(-1, member=4, leader=3),
        group(-1, STABLE, generation=1, leader=4, members=[1, 4]),
    ),
    _scenario("a return sets the timeouts since 3.3")
    .mirrors("scala.staticMemberRejoinWithUpdatedSessionAndRebalanceTimeoutsAndPersistChange")
    .plays(*stable(2, AB), join(7000, session_timeout_ms=20000, **B), heartbeat(8000, 0, 1), heartbeat(8000, 2, 1))
    .plays(heartbeat(17000, 0, 1), tick(18000), heartbeat(26000, 0, 1), tick(28000))
    .expects(
        group(-3, PREPARING, members=[0], until="2.3"),
        group(-3, STABLE, members=[0, 2], since="3.9"),
        group(-1, PREPARING, members=[0]),
    ),
    _scenario("a return that the log refuses leaves the timeouts", since="3.9")
    .mirrors("scala.staticMemberRejoinWithUpdatedSessionAndRebalanceTimeoutsButCannotPersistChange")
    .plays(*stable(2, AB), fail_store(7000, "MESSAGE_TOO_LARGE"), join(7000, session_timeout_ms=20000, **B))
    .plays(heartbeat(8000, 0, 1), heartbeat(8000, 1, 1), heartbeat(17000, 0, 1), tick(18000))
    .expects(answer(-5, "UNKNOWN_SERVER_ERROR"), group(-2, STABLE, members=[0, 1]), group(-1, PREPARING, members=[0])),
    _scenario("a return restarts the session")
    .mirrors("GroupCoordinator.updateStaticMemberAndRebalance")
    .plays(*stable(2, AB), join(15000, **B), heartbeat(15000, 0, 1), heartbeat(24000, 0, 1), tick(25000))
    .expects(group(-2, STABLE, members=[0, 2]), group(-1, PREPARING, members=[0])),
    _scenario("a static member replaced before it synced is still waited for by its old id", since="3.9")
    .mirrors("GroupMetadata.replaceStaticMember", "GroupCoordinator.onExpirePendingSync")
    .plays(*joined(2, AB, **SLOW), sync(6000, 0, 1, {0: "all"}, **A))
    .plays(join(7000, **B, **SLOW), sync(7000, 2, 1, **B), tick(13_999), tick(14_000))
    .expects(
        answer(4, generation=1, member=2),
        answer(5),
        group(-2, STABLE, generation=1, members=[0, 2]),
        group(-1, PREPARING, generation=1, members=[0, 2]),
    ),
)

ABSENT = (
    _scenario("a static follower that does not rejoin stays in")
    .mirrors("both.testStaticMemberFollowerFailToRejoinBeforeRebalanceTimeout")
    .plays(*stable(2, AB, **SLOW), join(7000, instance_id="c", **SLOW), join(8000, 0, **A, **SLOW), tick(15000))
    .expects(
        answer(-2, at_ms=15000, generation=2, leader=0, members=[0, 1, 2]),
        answer(-3, at_ms=15000, generation=2, leader=0, members=[]),
        group(-1, COMPLETING, generation=2, members=[0, 1, 2]),
    ),
    _scenario("a static leader that does not rejoin leads no more")
    .mirrors(
        "both.testStaticMemberLeaderFailToRejoinBeforeRebalanceTimeout", "ClassicGroupTest.testElectNewJoinedLeader"
    )
    .plays(*stable(2, AB, **SLOW), join(7000, instance_id="c", **SLOW), join(8000, 1, **B, **SLOW), tick(15000))
    .expects(
        *answers(-3, -2, at_ms=15000, generation=2, leader={1, 2}),
        group(-1, COMPLETING, generation=2, leader={1, 2}, members=[0, 1, 2]),
    ),
    _scenario("an absent static member gets its assignment later")
    .mirrors("scala.testStaticMemberFollowerFailToRejoinBeforeRebalanceTimeout")
    .plays(*stable(2, AB, **SLOW), join(7000, 0, **A, **SLOW), tick(15000))
    .plays(sync(15000, 0, 2, {1: "kept for b"}, **A), join(16000, 1, **B, **SLOW), sync(16000, 1, 2, **B))
    .expects(answer(-2, at_ms=16000, generation=2, leader=0), answer(-1, assignment="kept for b"), group(-1, STABLE)),
    _scenario("the join phase goes on while only absent static members are left")
    .mirrors(
        "scala.testLeaderRejoinBeforeFinalRebalanceTimeoutWithLongSessionTimeout",
        "java.testCompleteJoinPhaseNoMembersRejoinedExtendsJoinPhase",
    )
    .plays(*stable(2, AB, **SLOW), join(7000, **SLOW), tick(15000))
    .plays(leave(16000, 1), tick(24000), join(25000, **A, **SLOW))
    .expects(
        answer(5, at_ms=15000, member=2, generation=2, leader=2, members=[0, 1, 2]),
        group(-3, PREPARING, generation=2, members=[0, 2]),
        group(-2, PREPARING, generation=2, members=[0]),
        answer(-1, at_ms=25000, member=3, generation=3, leader=3, members=[3]),
        group(-1, COMPLETING, generation=3, members=[3]),
    ),
    _scenario("the join phase ends with the session of the last absent static member")
    .mirrors(
        "scala.testLeaderFailToRejoinBeforeFinalRebalanceTimeoutWithLongSessionTimeout",
        "java.testGroupStuckInRebalanceTimeoutDueToNonjoinedStaticMember",
    )
    .plays(*stable(2, AB, **SLOW), join(7000, **SLOW), tick(15000), leave(16000, 1), tick(214_999), tick(215_000))
    .expects(group(-2, PREPARING, generation=2, members=[0]), group(-1, EMPTY, generation=3, members=[], leader=None)),
    _scenario("a static member is lost with its session")
    .mirrors("java.testHeartbeatExpirationShouldRemoveMember")
    .plays(*stable(2, AB), heartbeat(10000, 0, 1, **A), tick(16000), join(17000, **B), join(18000, 0, **A))
    .expects(
        group(-3, PREPARING, members=[0]), answer(-2, at_ms=18000, member=2, generation=2), answer(-1, members=[0, 2])
    ),
    _scenario("an absent static member that never syncs is lost since 2.8.1")
    .mirrors("scala.testRebalanceTimesOutWhenSyncRequestIsNotReceivedFromFollowers")
    .plays(*stable(2, AB, **SLOW), join(7000, 0, **A, **SLOW))
    .plays(tick(15000), *syncs(15000, 2, [0], instances=AB), tick(23000))
    .expects(
        group(-1, STABLE, generation=2, members=[0, 1], until="2.3"),
        group(-1, PREPARING, generation=2, members=[0], since="3.9"),
    ),
)

SCENARIOS = (*JOINING, *KNOWN_IDS, *FENCED, *REPLACED, *ABSENT)
