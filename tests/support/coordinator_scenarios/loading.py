"""Moves of the coordinator: what is lost and what is kept when the partition of the offsets topic moves."""

from tests.support.coordinator_scenarios.scenario import (
    ALL,
    COORDINATOR_NOT_AVAILABLE,
    EMPTY,
    INCONSISTENT_GROUP_PROTOCOL,
    NONE,
    NOT_COORDINATOR,
    PREPARING,
    SCALA,
    SINCE_2_3,
    STABLE,
    UNKNOWN_MEMBER_ID,
    Scenario,
    answer,
    gone,
    group,
    parked,
)
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
    Scenario(
        name="parked joins are answered at once",
        mirrors=("GroupMetadataManagerTest.testClassicGroupOnUnloadedEmptyAndPreparingRebalance",),
        versions=ALL,
        steps=(join(0), join(0), unload(1000)),
        expected=(
            answer(0, NOT_COORDINATOR, at_ms=1000, member=0),
            answer(1, NOT_COORDINATOR, at_ms=1000, member=1),
            gone(2),
        ),
    ),
    Scenario(
        name="parked syncs are answered at once",
        mirrors=("GroupMetadataManagerTest.testClassicGroupOnUnloadedCompletingRebalance",),
        versions=ALL,
        steps=(*joined(2), sync(7000, 1, 1), unload(8000)),
        expected=(answer(-2, NOT_COORDINATOR, at_ms=8000, assignment=""), gone(-1)),
    ),
    Scenario(
        name="who does not have the partition is not the coordinator",
        mirrors=(
            "GroupCoordinatorTest.testJoinGroupWrongCoordinator",
            "GroupCoordinatorTest.testHeartbeatWrongCoordinator",
            "GroupCoordinatorTest.testSyncGroupNotCoordinator",
            "GroupCoordinatorTest.testLeaveGroupWrongCoordinator",
            "GroupCoordinatorTest.testFetchOffsetNotCoordinatorForGroup",
        ),
        versions=ALL,
        steps=(
            *(*stable(1), unload(7000), join(7000, 0), sync(7000, 0, 1), heartbeat(7000, 0, 1)),
            *(commit(7000, 0, 1), fetch(7000), leave(7000, 0)),
        ),
        expected=(*(answer(step, NOT_COORDINATOR) for step in range(-6, -1)), answer(-1, NOT_COORDINATOR), gone(-1)),
    ),
)

KEPT = (
    Scenario(
        name="a stable group is stable again",
        mirrors=("GroupMetadataManagerTest.testReplayGroupMetadataRecords",),
        versions=ALL,
        steps=(*stable(2), unload(7000), load(8000), heartbeat(8000, 1, 1), sync(8000, 1, 1), join(8000, 1)),
        expected=(
            group(-4, STABLE, generation=1, leader=0, protocol="range", members=[0, 1]),
            answer(-3, NONE),
            answer(-2, assignment="for 1"),
            answer(-1, generation=1, leader=0),
        ),
    ),
    Scenario(
        name="sessions start anew",
        mirrors=("GroupMetadataManagerTest.testOnLoadedSchedulesClassicGroupMemberHeartbeats",),
        versions=ALL,
        steps=(*stable(1), unload(7000), load(30000), tick(39999), tick(40000)),
        expected=(group(-3, STABLE), group(-2, STABLE), group(-1, EMPTY, generation=2)),
    ),
    Scenario(
        name="a rebalance that was under way is forgotten",
        mirrors=("GroupMetadataManagerTest.testReplayGroupMetadataRecords",),
        versions=ALL,
        steps=(*stable(1), join(7000), unload(8000), load(9000), heartbeat(9000, 0, 1), heartbeat(9000, 1, 1)),
        expected=(
            answer(3, NOT_COORDINATOR),
            group(-3, STABLE, generation=1, members=[0]),
            answer(-2, NONE),
            answer(-1, UNKNOWN_MEMBER_ID),
        ),
    ),
    Scenario(
        name="a group that never was stable is there in the Java coordinator only",
        mirrors=("GroupMetadataManagerTest.testGenerateRecordsOnNewClassicGroup",),
        versions=ALL,
        steps=(*joined(1), unload(7000), load(8000), heartbeat(8000, 0, 1)),
        expected=(
            gone(-2, versions=SCALA),
            group(-2, EMPTY, generation=0, members=[], versions=("4.3",)),
            answer(-1, UNKNOWN_MEMBER_ID),
        ),
    ),
    Scenario(
        name="a group whose first record fails is not there",
        mirrors=("GroupMetadataManagerTest.testGenerateRecordsOnNewClassicGroupFailureTransformsError",),
        versions=ALL,
        steps=(fail_store(0, "NOT_ENOUGH_REPLICAS"), join(0), fail_store(1000, "NONE"), join(1000), tick(6000)),
        expected=(
            answer(1, at_ms=6000, generation=1, members=[0, 1], versions=SCALA),
            answer(1, COORDINATOR_NOT_AVAILABLE, at_ms=0, versions=("4.3",)),
            gone(1, versions=("4.3",)),
            answer(3, at_ms=4000, generation=1, members=[1], versions=("4.3",)),
        ),
    ),
    Scenario(
        name="an empty group keeps its generation",
        mirrors=("GroupMetadataManagerTest.testReplayGroupMetadataRecords",),
        versions=ALL,
        steps=(*stable(1), leave(7000, 0), unload(8000), load(9000), join(9000), tick(12000)),
        expected=(
            group(-3, EMPTY, generation=2, members=[], leader=None),
            answer(-2, at_ms=12000, generation=3, leader=1),
        ),
    ),
    Scenario(
        name="pending ids are forgotten",
        mirrors=("GroupMetadataManagerTest.testReplayGroupMetadataRecords",),
        versions=SINCE_2_3,
        steps=(*stable(1), join_for_id(7000), unload(8000), load(9000), join(9000, 1)),
        expected=(group(-2, STABLE, pending=0), answer(-1, UNKNOWN_MEMBER_ID)),
    ),
    Scenario(
        name="offsets are there again",
        mirrors=("OffsetMetadataManagerTest.testReplay",),
        versions=ALL,
        steps=(
            *stable(1),
            commit(7000, 0, 1),
            unload(8000),
            load(9000),
            fetch(9000),
            commit(9000, 0, 1, 6),
            fetch(9000),
        ),
        expected=(answer(-3, offsets={0: 5}), answer(-2), answer(-1, offsets={0: 6})),
    ),
    Scenario(
        name="what a member said after the write began is not in the log",
        mirrors=("GroupMetadataManagerTest.testReplayGroupMetadataRecords",),
        versions=ALL,
        steps=(
            *(*joined(2), hold_store(7000), *syncs(7000, 1, range(2)), join(7000, 1, protocols=RANGE_CHANGED)),
            *(finish_store(8000), unload(8000), load(8000), join(9000, 1), join(9000, 1, protocols=RANGE_CHANGED)),
        ),
        expected=(
            answer(-6, NOT_COORDINATOR, at_ms=8000),
            group(-3, STABLE, generation=1, members=[0, 1]),
            answer(-2, generation=1, leader=0),
            parked(-1),
            group(-1, PREPARING),
        ),
    ),
    Scenario(
        name="of each member's protocols only the chosen one is kept",
        mirrors=("GroupMetadataManagerTest.testReplayGroupMetadataRecords",),
        versions=ALL,
        steps=(
            *stable(1, protocols=RANGE_THEN_ROUND_ROBIN),
            *(unload(7000), load(8000)),
            join(8000, protocols=ROUND_ROBIN),
            join(9000, 0, protocols=RANGE_THEN_ROUND_ROBIN),
        ),
        expected=(answer(-2, INCONSISTENT_GROUP_PROTOCOL), answer(-1, generation=2, members=[0])),
    ),
)

SCENARIOS = (*LOST, *KEPT)
