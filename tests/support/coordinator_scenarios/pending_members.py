"""Members that have an id and have yet to join with it (KIP-394, since 2.2)."""

from functools import partial

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
from tests.support.coordinator_scenarios.steps import commit, heartbeat, join, join_for_id, leave, stable, sync, tick

_scenario = partial(scenario, since="2.3")

IDS = (
    _scenario("an id first, then the group")
    .mirrors("scala.testJoinGroupSecondJoinInconsistentProtocol")
    .plays(join_for_id(0), join(1000, 0), tick(4000))
    .expects(
        answer(0, "MEMBER_ID_REQUIRED", at_ms=0, member=0, members=[]),
        group(0, EMPTY, generation=0, members=[], pending=1),
        group(1, PREPARING, members=[0], pending=0),
        answer(1, at_ms=4000, member=0, generation=1, leader=0, members=[0]),
    ),
    _scenario("a pending member that names no protocol stays pending")
    .mirrors("both.testJoinGroupSecondJoinInconsistentProtocol")
    .plays(join_for_id(0), join(1000, 0, protocols=()), join(2000, 0), tick(5000))
    .expects(
        answer(1, "INCONSISTENT_GROUP_PROTOCOL", at_ms=1000),
        group(1, EMPTY, pending=1),
        answer(2, at_ms=5000, generation=1),
    ),
    _scenario("each first join makes an id")
    .mirrors("ClassicGroupTest.testRemovalFromPendingAfterMemberIsStable")
    .plays(join_for_id(0), join_for_id(0), join_for_id(0), join(1000, 1))
    .expects(
        answer(0, "MEMBER_ID_REQUIRED", member=0),
        answer(1, "MEMBER_ID_REQUIRED", member=1),
        answer(2, "MEMBER_ID_REQUIRED", member=2),
        group(2, EMPTY, pending=3),
        group(3, PREPARING, members=[1], pending=2, leader=1),
    ),
    _scenario("asking for an id does not disturb a stable group")
    .mirrors("scala.testSecondMemberPartiallyJoinAndTimeout")
    .plays(*stable(1), join_for_id(7000), heartbeat(8000, 0, 1))
    .expects(
        answer(-2, "MEMBER_ID_REQUIRED", member=1), answer(-1), group(-1, STABLE, generation=1, members=[0], pending=1)
    ),
    _scenario("an id that is not used runs out with the session timeout")
    .mirrors("both.testSecondMemberPartiallyJoinAndTimeout")
    .plays(*stable(1, session_timeout_ms=30000), join_for_id(7000), tick(16999), tick(17000), join(17000, 1))
    .expects(group(-3, STABLE, pending=1), group(-2, STABLE, members=[0], pending=0), answer(-1, "UNKNOWN_MEMBER_ID")),
    _scenario("a pending id is no member for other requests")
    .mirrors("scala.testHeartbeatUnknownConsumerExistingGroup")
    .plays(*stable(1), join_for_id(7000), heartbeat(7000, 1, 1), sync(7000, 1, 1), commit(7000, 1, 1))
    .expects(*answers(-3, -2, -1, error="UNKNOWN_MEMBER_ID"), group(-1, STABLE, pending=1)),
    _scenario("once joined the pending timer is over and another one runs")
    .mirrors("both.testNewMemberTimeoutCompletion")
    .plays(join_for_id(0, session_timeout_ms=305000), join(0, 0, session_timeout_ms=305000))
    .plays(tick(3000), sync(3000, 0, 1, {0: "x"}), tick(300100), tick(308000))
    .expects(
        answer(1, at_ms=3000, generation=1),
        answer(3, assignment="x"),
        group(4, STABLE, generation=1, members=[0]),
        group(5, EMPTY, generation=2, members=[]),
    ),
)

JOIN_PHASE = (
    _scenario("a join phase waits for the pending member, who joins")
    .mirrors("both.testJoinGroupCompletionWhenPendingMemberJoins")
    .plays(*stable(1), join_for_id(7000), join(7000, 0), join(8000, 1))
    .expects(
        group(-2, PREPARING, generation=1, members=[0], pending=1),
        answer(-2, at_ms=8000, generation=2, members=[0, 1]),
        answer(-1, at_ms=8000, member=1, generation=2, leader=0),
        group(-1, COMPLETING, generation=2, pending=0),
    ),
    _scenario("a join phase waits for the pending member, whose time runs out")
    .mirrors("both.testJoinGroupCompletionWhenPendingMemberTimesOut")
    .plays(*stable(1), join_for_id(7000), join(8000, 0), tick(17000))
    .expects(
        group(-2, PREPARING, generation=1),
        answer(-2, at_ms=17000, generation=2, members=[0]),
        group(-1, COMPLETING, generation=2, members=[0], pending=0),
    ),
    _scenario("a join phase waits for the pending member, who leaves")
    .mirrors("scala.testPendingMembersLeavesGroup", "java.testPendingMembersLeaveGroup")
    .plays(*stable(1), join_for_id(7000), join(8000, 0), leave(9000, 1))
    .expects(
        answer(-1, left=["NONE"]),
        answer(-2, at_ms=9000, generation=2, members=[0]),
        group(-1, COMPLETING, generation=2, pending=0),
    ),
    _scenario("a pending member does not hold the deadline")
    .mirrors("GroupMetadata.hasAllMembersJoined")
    .plays(*stable(1, rebalance_timeout_ms=7000), join_for_id(7000, session_timeout_ms=30000))
    .plays(join(8000, 0, rebalance_timeout_ms=7000), tick(15000), join(20000, 1))
    .expects(
        answer(-3, at_ms=15000, generation=2, members=[0]),
        group(-2, COMPLETING, generation=2, pending=1),
        parked(-1),
        group(-1, PREPARING, generation=2, members=[0, 1], pending=0),
    ),
    _scenario(
        "a pending time that runs out in the first delay ends it in the Java coordinator only",
        initial_rebalance_delay_ms=8000,
    )
    .mirrors("java.testHeartbeatExpirationShouldRemovePendingMember")
    .plays(join_for_id(0, session_timeout_ms=6000), join(0), tick(8000))
    .expects(answer(1, at_ms=8000, generation=1, until="3.9"), answer(1, at_ms=6000, generation=1, since="4.3")),
    _scenario("a pending member that leaves in the first delay does not end it")
    .mirrors("java.testCompleteJoinPhaseInEmptyStateSkipsRebalance")
    .plays(join_for_id(0), join(0), leave(1000, 0), tick(3000))
    .expects(answer(1, at_ms=3000, generation=1, members=[1]), group(2, PREPARING, pending=0)),
)

LEAVES = (
    _scenario("a pending member that leaves a stable group makes the Java coordinator rebalance")
    .mirrors("java.testPendingMemberBatchLeaveGroup")
    .plays(*stable(1), join_for_id(7000), leave(8000, 1))
    .expects(
        answer(-1, left=["NONE"]),
        group(-1, STABLE, pending=0, until="3.9"),
        group(-1, PREPARING, generation=1, members=[0], pending=0, since="4.3"),
    ),
    _scenario("a pending member that leaves an empty group")
    .mirrors("ClassicGroupTest.testRemovalFromPendingWhenMemberIsRemoved")
    .plays(join_for_id(0), leave(1000, 0), leave(1000, 0))
    .expects(
        answer(1, left=["NONE"]),
        answer(2, left=["UNKNOWN_MEMBER_ID"], since="3.9"),
        answer(2, "UNKNOWN_MEMBER_ID", until="2.3"),
        group(2, EMPTY, generation=0, pending=0),
    ),
    _scenario("a member and a pending one leave together", since="3.9")
    .mirrors("scala.testPendingMemberBatchLeaveGroup", "java.testJoinedMemberPendingMemberBatchLeaveGroup")
    .plays(*stable(1), join_for_id(7000), leave(8000, 0, 1))
    .expects(answer(-1, left=["NONE", "NONE"]), group(-1, EMPTY, generation=2, members=[], pending=0)),
    _scenario("a member, a pending one and a stranger leave together", since="3.9")
    .mirrors("java.testJoinedMemberPendingMemberBatchLeaveGroupWithUnknownMember")
    .plays(*stable(1), join_for_id(7000), leave(8000, 0, 1, "unknown"))
    .expects(answer(-1, left=["NONE", "NONE", "UNKNOWN_MEMBER_ID"]), group(-1, EMPTY, members=[], pending=0)),
)

MAX_SIZE = (
    _scenario("ids do not count as members of a full group", group_max_size=2)
    .mirrors("both.testDynamicMembersJoinGroupWithMaxSizeAndRequiredKnownMember")
    .plays(join_for_id(0), join_for_id(0), join_for_id(0), join(1000, 0), join(1000, 1), join(1000, 2), tick(7000))
    .expects(
        answer(2, "MEMBER_ID_REQUIRED"),
        answer(5, at_ms=7000, generation=1, until="2.3"),
        group(-1, COMPLETING, members=[0, 1, 2], until="2.3"),
        answer(5, "GROUP_MAX_SIZE_REACHED", at_ms=1000, since="3.9"),
        group(5, PREPARING, members=[0, 1], pending=0, since="3.9"),
        answer(3, at_ms=7000, members=[0, 1], since="3.9"),
    ),
    _scenario("a full stable group gives no id either", group_max_size=1)
    .mirrors("scala.testDynamicMembersJoinGroupWithMaxSizeAndRequiredKnownMember")
    .plays(*stable(1), join_for_id(7000), commit(8000, 0, 2))
    .expects(answer(-2, "GROUP_MAX_SIZE_REACHED"), answer(-1, "ILLEGAL_GENERATION"), group(-1, STABLE, pending=0)),
)

SCENARIOS = (*IDS, *JOIN_PHASE, *LEAVES, *MAX_SIZE)
