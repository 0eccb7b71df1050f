"""Moves of the coordinator: what is lost and what is kept when the partition of the offsets topic moves."""

from tests.support.coordinator_scenarios.scenario import EMPTY, PREPARING, STABLE, answer, gone, group, parked, scenario
from tests.support.coordinator_scenarios.steps import (
    RANGE_CHANGED,
    RANGE_THEN_ROUND_ROBIN,
    ROUND_ROBIN,
    commit,
    fail_store,
    fetch,
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

LOST = (
    scenario("parked joins are answered at once")
    .mirrors("java.testClassicGroupOnUnloadedEmptyAndPreparingRebalance")
    .plays(join(0), join(0), unload(1000))
    .expects(
        answer(0, "NOT_COORDINATOR", at_ms=1000, member=0), answer(1, "NOT_COORDINATOR", at_ms=1000, member=1), gone(2)
    ),
    scenario("parked syncs are answered at once")
    .mirrors("java.testClassicGroupOnUnloadedCompletingRebalance")
    .plays(*joined(2), sync(7000, 1, 1), unload(8000))
    .expects(answer(-2, "NOT_COORDINATOR", at_ms=8000, assignment=""), gone(-1)),
    scenario("who does not have the partition is not the coordinator")
    .mirrors(
        "scala.testJoinGroupWrongCoordinator",
        "scala.testHeartbeatWrongCoordinator",
        "scala.testSyncGroupNotCoordinator",
        "scala.testLeaveGroupWrongCoordinator",
        "scala.testFetchOffsetNotCoordinatorForGroup",
    )
    .plays(*stable(1), unload(7000), join(7000, 0), sync(7000, 0, 1))
    .plays(heartbeat(7000, 0, 1), commit(7000, 0, 1), fetch(7000), leave(7000, 0))
    .expects(*(answer(step, "NOT_COORDINATOR") for step in range(-6, -1)), answer(-1, "NOT_COORDINATOR"), gone(-1)),
)

KEPT = (
    scenario("a stable group is stable again")
    .mirrors("java.testReplayGroupMetadataRecords")
    .plays(*stable(2), unload(7000), load(8000), heartbeat(8000, 1, 1), sync(8000, 1, 1), join(8000, 1))
    .expects(
        group(-4, STABLE, generation=1, leader=0, protocol="range", members=[0, 1]),
        answer(-3),
        answer(-2, assignment="for 1"),
        answer(-1, generation=1, leader=0),
    ),
    scenario("sessions start anew")
    .mirrors("java.testOnLoadedSchedulesClassicGroupMemberHeartbeats")
    .plays(*stable(1), unload(7000), load(30000), tick(39999), tick(40000))
    .expects(group(-3, STABLE), group(-2, STABLE), group(-1, EMPTY, generation=2)),
    scenario("a rebalance that was under way is forgotten")
    .mirrors("java.testReplayGroupMetadataRecords")
    .plays(*stable(1), join(7000), unload(8000), load(9000), heartbeat(9000, 0, 1), heartbeat(9000, 1, 1))
    .expects(
        answer(3, "NOT_COORDINATOR"),
        group(-3, STABLE, generation=1, members=[0]),
        answer(-2),
        answer(-1, "UNKNOWN_MEMBER_ID"),
    ),
    scenario("a group that never was stable is there in the Java coordinator only")
    .mirrors("java.testGenerateRecordsOnNewClassicGroup")
    .plays(*joined(1), unload(7000), load(8000), heartbeat(8000, 0, 1))
    .expects(
        gone(-2, until="3.9"), group(-2, EMPTY, generation=0, members=[], since="4.3"), answer(-1, "UNKNOWN_MEMBER_ID")
    ),
    scenario("a group whose first record fails is not there")
    .mirrors("java.testGenerateRecordsOnNewClassicGroupFailureTransformsError")
    .plays(fail_store(0, "NOT_ENOUGH_REPLICAS"), join(0), fail_store(1000, "NONE"), join(1000), tick(6000))
    .expects(
        answer(1, at_ms=6000, generation=1, members=[0, 1], until="3.9"),
        answer(1, "COORDINATOR_NOT_AVAILABLE", at_ms=0, since="4.3"),
        gone(1, since="4.3"),
        answer(3, at_ms=4000, generation=1, members=[1], since="4.3"),
    ),
    scenario("an empty group keeps its generation")
    .mirrors("java.testReplayGroupMetadataRecords")
    .plays(*stable(1), leave(7000, 0), unload(8000), load(9000), join(9000), tick(12000))
    .expects(group(-3, EMPTY, generation=2, members=[], leader=None), answer(-2, at_ms=12000, generation=3, leader=1)),
    scenario("pending ids are forgotten", since="2.3")
    .mirrors("java.testReplayGroupMetadataRecords")
    .plays(*stable(1), join_for_id(7000), unload(8000), load(9000), join(9000, 1))
    .expects(group(-2, STABLE, pending=0), answer(-1, "UNKNOWN_MEMBER_ID")),
    scenario("offsets are there again")
    .mirrors("OffsetMetadataManagerTest.testReplay")
    .plays(*stable(1), commit(7000, 0, 1), unload(8000), load(9000), fetch(9000), commit(9000, 0, 1, 6), fetch(9000))
    .expects(answer(-3, offsets={0: 5}), answer(-2), answer(-1, offsets={0: 6})),
    scenario("what a member said after the write began is not in the log")
    .mirrors("java.testReplayGroupMetadataRecords")
    .plays(*joined(2), hold_store(7000), *syncs(7000, 1, range(2)), join(7000, 1, protocols=RANGE_CHANGED))
    .plays(finish_store(8000), unload(8000), load(8000), join(9000, 1), join(9000, 1, protocols=RANGE_CHANGED))
    .expects(
        answer(-6, "NOT_COORDINATOR", at_ms=8000),
        group(-3, STABLE, generation=1, members=[0, 1]),
        answer(-2, generation=1, leader=0),
        parked(-1),
        group(-1, PREPARING),
    ),
    scenario("of each member's protocols only the chosen one is kept")
    .mirrors("java.testReplayGroupMetadataRecords")
    .plays(*stable(1, protocols=RANGE_THEN_ROUND_ROBIN), unload(7000))
    .plays(load(8000), join(8000, protocols=ROUND_ROBIN), join(9000, 0, protocols=RANGE_THEN_ROUND_ROBIN))
    .expects(answer(-2, "INCONSISTENT_GROUP_PROTOCOL"), answer(-1, generation=2, members=[0])),
)

SCENARIOS = (*LOST, *KEPT)
