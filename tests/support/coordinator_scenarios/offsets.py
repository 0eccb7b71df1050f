"""Offsets: who may commit, what a fetch returns, when offsets expire."""

from tests.support.coordinator_scenarios.scenario import (
    ALL,
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
    gone,
    group,
)
from tests.support.coordinator_scenarios.steps import (
    STRANGER,
    check_offsets,
    commit,
    fetch,
    join,
    joined,
    leave,
    stable,
    sync,
    tick,
)

DAY = 86_400_000
WEEK = 7 * DAY

COMMITS = (
    Scenario(
        name="a member of a group that is not there commits",
        mirrors=(
            "GroupCoordinatorTest.testCommitOffsetFromUnknownGroup",
            "OffsetMetadataManagerTest.testOffsetCommitWithUnknownGroup",
        ),
        versions=ALL,
        steps=(commit(0, STRANGER, 1),),
        expected=(
            # The Java coordinator says GROUP_ID_NOT_FOUND to OffsetCommit of version 9 or later.
            answer(0, ILLEGAL_GENERATION),
            gone(0),
        ),
    ),
    Scenario(
        name="a commit without a generation makes a group",
        mirrors=(
            "GroupCoordinatorTest.testCommitOffsetWithDefaultGeneration",
            "OffsetMetadataManagerTest.testSimpleGroupOffsetCommit",
        ),
        versions=ALL,
        steps=(commit(0, "", -1), fetch(0)),
        expected=(
            answer(0, NONE),
            group(0, EMPTY, generation=0, members=[], leader=None, protocol=None),
            answer(1, offsets={0: 5}),
        ),
    ),
    Scenario(
        name="ids do not matter without a generation",
        mirrors=(
            "GroupCoordinatorTest.testManualCommitOffsetShouldNotValidateMemberIdAndInstanceId",
            "OffsetMetadataManagerTest.testSimpleGroupOffsetCommitWithInstanceId",
        ),
        versions=SINCE_2_3,
        steps=(
            commit(0, STRANGER, -1, 1, instance_id="a"),
            commit(0, STRANGER, -1, 2),
            commit(0, "", -1, 3, instance_id="a"),
            fetch(0),
        ),
        expected=(answer(0), answer(1), answer(2), answer(3, offsets={0: 3})),
    ),
    Scenario(
        name="a commit without a generation after all have left",
        mirrors=("GroupCoordinatorTest.testCommitOffsetsAfterGroupIsEmpty",),
        versions=ALL,
        steps=(*stable(1), leave(7000, 0), commit(8000, "", -1, 7), commit(8000, 0, 2), fetch(8000)),
        expected=(
            answer(-3, NONE),
            answer(-2, UNKNOWN_MEMBER_ID),
            answer(-1, offsets={0: 7}),
            group(-1, EMPTY, generation=2),
        ),
    ),
    Scenario(
        name="a commit without a generation to a living group",
        mirrors=("OffsetMetadataManagerTest.testGenericGroupOffsetCommitWithoutMemberIdAndGeneration",),
        versions=ALL,
        steps=(*stable(1), commit(7000, "", -1), commit(7000, 0, -1), commit(7000, STRANGER, -1), fetch(7000)),
        expected=(
            answer(-4, UNKNOWN_MEMBER_ID),
            answer(-3, ILLEGAL_GENERATION),
            answer(-2, UNKNOWN_MEMBER_ID),
            answer(-1, offsets={0: -1}),
        ),
    ),
    Scenario(
        name="a member commits and its group goes on",
        mirrors=("GroupCoordinatorTest.testFetchOffsets",),
        versions=ALL,
        steps=(*stable(1), commit(7000, 0, 1, 3), commit(7000, 0, 1, 4), join(8000, 0), sync(8000, 0, 2), fetch(9000)),
        expected=(answer(3), answer(4), answer(-1, offsets={0: 4}), group(-1, STABLE, generation=2)),
    ),
    Scenario(
        name="a stranger commits",
        mirrors=("OffsetMetadataManagerTest.testGenericGroupOffsetCommitWithUnknownMemberId",),
        versions=ALL,
        steps=(*stable(1), commit(7000, STRANGER, 1), commit(7000, STRANGER, 9), commit(7000, "", 1)),
        expected=(answer(-3, UNKNOWN_MEMBER_ID), answer(-2, UNKNOWN_MEMBER_ID), answer(-1, UNKNOWN_MEMBER_ID)),
    ),
    Scenario(
        name="a member commits with another generation",
        mirrors=("OffsetMetadataManagerTest.testGenericGroupOffsetCommitWithIllegalGeneration",),
        versions=ALL,
        steps=(*stable(1), commit(7000, 0, 0), commit(7000, 0, 2), fetch(7000)),
        expected=(answer(-3, ILLEGAL_GENERATION), answer(-2, ILLEGAL_GENERATION), answer(-1, offsets={0: -1})),
    ),
    Scenario(
        name="a member commits while the group prepares",
        mirrors=("ClassicGroupTest.testValidateOffsetCommit",),
        versions=ALL,
        steps=(*stable(1), join(7000), commit(8000, 0, 1), commit(8000, 0, 2), fetch(8000)),
        expected=(
            answer(-3, NONE),
            answer(-2, ILLEGAL_GENERATION),
            answer(-1, offsets={0: 5}),
            group(-1, PREPARING, generation=1),
        ),
    ),
    Scenario(
        name="a member commits before the sync",
        mirrors=(
            "GroupCoordinatorTest.testCommitOffsetInCompletingRebalance",
            "OffsetMetadataManagerTest.testGenericGroupOffsetCommitWhileInCompletingRebalanceState",
        ),
        versions=ALL,
        steps=(*joined(1), commit(7000, 0, 1), fetch(7000)),
        expected=(answer(-2, REBALANCE_IN_PROGRESS), answer(-1, offsets={0: -1})),
    ),
    Scenario(
        name="a stranger commits before the sync",
        mirrors=("GroupCoordinatorTest.testCommitOffsetInCompletingRebalanceFromUnknownMemberId",),
        versions=ALL,
        steps=(*joined(1), commit(7000, STRANGER, 1), commit(7000, "", -1)),
        expected=(
            answer(-2, REBALANCE_IN_PROGRESS, versions=UNTIL_2_3),
            answer(-1, REBALANCE_IN_PROGRESS, versions=UNTIL_2_3),
            answer(-2, UNKNOWN_MEMBER_ID, versions=SINCE_3_9),
            answer(-1, UNKNOWN_MEMBER_ID, versions=SINCE_3_9),
        ),
    ),
    Scenario(
        name="a member commits with another generation before the sync",
        mirrors=("GroupCoordinatorTest.testCommitOffsetInCompletingRebalanceFromIllegalGeneration",),
        versions=ALL,
        steps=(*joined(1), commit(7000, 0, 2), commit(7000, 0, -1)),
        expected=(
            answer(-2, REBALANCE_IN_PROGRESS, versions=UNTIL_2_3),
            answer(-1, REBALANCE_IN_PROGRESS, versions=UNTIL_2_3),
            answer(-2, ILLEGAL_GENERATION, versions=SINCE_3_9),
            answer(-1, ILLEGAL_GENERATION, versions=SINCE_3_9),
        ),
    ),
)

FETCHES = (
    Scenario(
        name="fetch from a group that is not there",
        mirrors=("OffsetMetadataManagerTest.testFetchOffsetsWithUnknownGroup",),
        versions=ALL,
        steps=(fetch(0, 0, 1),),
        expected=(answer(0, offsets={0: -1, 1: -1}), gone(0)),
    ),
    Scenario(
        name="fetch an offset that was never committed",
        mirrors=("GroupCoordinatorTest.testFetchOffsetForUnknownPartition",),
        versions=ALL,
        steps=(commit(0, "", -1), fetch(0, 0, 1)),
        expected=(answer(1, offsets={0: 5, 1: -1}),),
    ),
    Scenario(
        name="commit and fetch with an empty group",
        mirrors=("GroupCoordinatorTest.testCommitAndFetchOffsetsWithEmptyGroup",),
        versions=ALL,
        steps=(commit(0, "", -1, 1), commit(1000, "", -1, 9), fetch(1000), commit(2000, "", -1, 2), fetch(2000)),
        expected=(answer(2, offsets={0: 9}), answer(4, offsets={0: 2})),
    ),
    Scenario(
        name="a simple group becomes a group with members and keeps its offsets",
        mirrors=("GroupCoordinatorTest.testCommitOffsetWithDefaultGeneration",),
        versions=ALL,
        steps=(commit(0, "", -1), join(1000), tick(4000), commit(4000, "", -1), fetch(4000)),
        expected=(
            answer(1, at_ms=4000, generation=1),
            answer(-2, REBALANCE_IN_PROGRESS, versions=UNTIL_2_3),
            answer(-2, UNKNOWN_MEMBER_ID, versions=SINCE_3_9),
            answer(-1, offsets={0: 5}),
        ),
    ),
)

EXPIRY = (
    Scenario(
        name="an empty group without offsets is removed",
        mirrors=("GroupMetadataManagerTest.testClassicGroupMaybeDelete",),
        versions=ALL,
        steps=(*stable(1), leave(7000, 0), check_offsets(8000), join(9000, 0), join(9000), tick(12000)),
        expected=(gone(-4), answer(-3, UNKNOWN_MEMBER_ID), answer(-2, at_ms=12000, member=1, generation=1)),
    ),
    Scenario(
        name="a group with members is not removed",
        mirrors=("OffsetMetadataManagerTest.testCleanupExpiredOffsetsEmptyOffsetExpirationCondition",),
        versions=ALL,
        steps=(*stable(1), check_offsets(8000)),
        expected=(group(-1, STABLE, generation=1),),
    ),
    Scenario(
        name="a simple group's offsets expire after their commit",
        mirrors=("ClassicGroupTest.testOffsetExpirationCondition",),
        versions=ALL,
        steps=(
            commit(1000, "", -1),
            *(check_offsets(DAY + 1000), check_offsets(DAY + 1001)),
            *(check_offsets(WEEK + 999), check_offsets(WEEK + 1000), fetch(WEEK + 1000)),
        ),
        expected=(
            group(1, EMPTY),
            gone(2, versions=("1.0",)),
            group(3, EMPTY, versions=SINCE_2_3),
            gone(4),
            answer(5, offsets={0: -1}),
        ),
    ),
    Scenario(
        name="a group's offsets expire after it became empty",
        mirrors=(
            "ClassicGroupTest.testOffsetExpirationCondition",
            "OffsetMetadataManagerTest.testCleanupExpiredOffsets",
        ),
        versions=ALL,
        steps=(
            *(*stable(1), commit(7000, 0, 1), leave(9000, 0)),
            *(check_offsets(DAY + 7000), check_offsets(DAY + 7001)),
            *(check_offsets(WEEK + 8999), fetch(WEEK + 8999), check_offsets(WEEK + 9000)),
        ),
        expected=(
            group(-5, EMPTY, generation=2),
            gone(-4, versions=("1.0",)),
            answer(-2, offsets={0: 5}, versions=SINCE_2_3),
            gone(-1),
        ),
    ),
)

SCENARIOS = (*COMMITS, *FETCHES, *EXPIRY)
