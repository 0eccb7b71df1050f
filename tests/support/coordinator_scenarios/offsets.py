"""Offsets: who may commit, what a fetch returns, when offsets expire."""

from tests.oracle.coordinator_cases import subscription
from tests.support.coordinator_scenarios.scenario import (
    COMPLETING,
    EMPTY,
    PREPARING,
    STABLE,
    answer,
    answers,
    gone,
    group,
    scenario,
)
from tests.support.coordinator_scenarios.steps import (
    STRANGER,
    check_offsets,
    commit,
    fetch,
    finish_store,
    hold_store,
    join,
    joined,
    leave,
    stable,
    sync,
    tick,
)

DAY = 86_400_000
WEEK = 7 * DAY
TO_U = (("range", subscription(["u"])),)

COMMITS = (
    scenario("a member of a group that is not there commits")
    # The Java coordinator says GROUP_ID_NOT_FOUND to OffsetCommit of version 9 or later.
    .mirrors("scala.testCommitOffsetFromUnknownGroup", "OffsetMetadataManagerTest.testOffsetCommitWithUnknownGroup")
    .plays(commit(0, STRANGER, 1))
    .expects(answer(0, "ILLEGAL_GENERATION"), gone(0)),
    scenario("a commit without a generation makes a group")
    .mirrors("scala.testCommitOffsetWithDefaultGeneration", "OffsetMetadataManagerTest.testSimpleGroupOffsetCommit")
    .plays(commit(0, "", -1), fetch(0))
    .expects(
        answer(0), group(0, EMPTY, generation=0, members=[], leader=None, protocol=None), answer(1, offsets={0: 5})
    ),
    scenario("ids do not matter without a generation", since="2.3")
    .mirrors(
        "scala.testManualCommitOffsetShouldNotValidateMemberIdAndInstanceId",
        "OffsetMetadataManagerTest.testSimpleGroupOffsetCommitWithInstanceId",
    )
    .plays(commit(0, STRANGER, -1, 1, instance_id="a"), commit(0, STRANGER, -1, 2))
    .plays(commit(0, "", -1, 3, instance_id="a"), fetch(0))
    .expects(answer(0), answer(1), answer(2), answer(3, offsets={0: 3})),
    scenario("a commit without a generation after all have left")
    .mirrors("scala.testCommitOffsetsAfterGroupIsEmpty")
    .plays(*stable(1), leave(7000, 0), commit(8000, "", -1, 7), commit(8000, 0, 2), fetch(8000))
    .expects(answer(-3), answer(-2, "UNKNOWN_MEMBER_ID"), answer(-1, offsets={0: 7}), group(-1, EMPTY, generation=2)),
    scenario("a commit without a generation to a living group")
    .mirrors("OffsetMetadataManagerTest.testGenericGroupOffsetCommitWithoutMemberIdAndGeneration")
    .plays(*stable(1), commit(7000, "", -1), commit(7000, 0, -1), commit(7000, STRANGER, -1), fetch(7000))
    .expects(
        *answers(-4, -2, error="UNKNOWN_MEMBER_ID"), answer(-3, "ILLEGAL_GENERATION"), answer(-1, offsets={0: -1})
    ),
    scenario("a member commits and its group goes on")
    .mirrors("scala.testFetchOffsets")
    .plays(*stable(1), commit(7000, 0, 1, 3), commit(7000, 0, 1, 4), join(8000, 0), sync(8000, 0, 2), fetch(9000))
    .expects(answer(3), answer(4), answer(-1, offsets={0: 4}), group(-1, STABLE, generation=2)),
    scenario("a stranger commits")
    .mirrors("OffsetMetadataManagerTest.testGenericGroupOffsetCommitWithUnknownMemberId")
    .plays(*stable(1), commit(7000, STRANGER, 1), commit(7000, STRANGER, 9), commit(7000, "", 1))
    .expects(answer(-3, "UNKNOWN_MEMBER_ID"), answer(-2, "UNKNOWN_MEMBER_ID"), answer(-1, "UNKNOWN_MEMBER_ID")),
    scenario("a member commits with another generation")
    .mirrors("OffsetMetadataManagerTest.testGenericGroupOffsetCommitWithIllegalGeneration")
    .plays(*stable(1), commit(7000, 0, 0), commit(7000, 0, 2), fetch(7000))
    .expects(answer(-3, "ILLEGAL_GENERATION"), answer(-2, "ILLEGAL_GENERATION"), answer(-1, offsets={0: -1})),
    scenario("a member commits while the group prepares")
    .mirrors("ClassicGroupTest.testValidateOffsetCommit")
    .plays(*stable(1), join(7000), commit(8000, 0, 1), commit(8000, 0, 2), fetch(8000))
    .expects(
        answer(-3), answer(-2, "ILLEGAL_GENERATION"), answer(-1, offsets={0: 5}), group(-1, PREPARING, generation=1)
    ),
    scenario("a member commits before the sync")
    .mirrors(
        "scala.testCommitOffsetInCompletingRebalance",
        "OffsetMetadataManagerTest.testGenericGroupOffsetCommitWhileInCompletingRebalanceState",
    )
    .plays(*joined(1), commit(7000, 0, 1), fetch(7000))
    .expects(answer(-2, "REBALANCE_IN_PROGRESS"), answer(-1, offsets={0: -1})),
    scenario("a stranger commits before the sync")
    .mirrors("scala.testCommitOffsetInCompletingRebalanceFromUnknownMemberId")
    .plays(*joined(1), commit(7000, STRANGER, 1), commit(7000, "", -1))
    .expects(
        *answers(-2, -1, error="REBALANCE_IN_PROGRESS", until="2.3"),
        *answers(-2, -1, error="UNKNOWN_MEMBER_ID", since="3.9"),
    ),
    scenario("a member commits with another generation before the sync")
    .mirrors("scala.testCommitOffsetInCompletingRebalanceFromIllegalGeneration")
    .plays(*joined(1), commit(7000, 0, 2), commit(7000, 0, -1))
    .expects(
        *answers(-2, -1, error="REBALANCE_IN_PROGRESS", until="2.3"),
        *answers(-2, -1, error="ILLEGAL_GENERATION", since="3.9"),
    ),
)

FETCHES = (
    scenario("fetch from a group that is not there")
    .mirrors("OffsetMetadataManagerTest.testFetchOffsetsWithUnknownGroup")
    .plays(fetch(0, 0, 1))
    .expects(answer(0, offsets={0: -1, 1: -1}), gone(0)),
    scenario("fetch an offset that was never committed")
    .mirrors("scala.testFetchOffsetForUnknownPartition")
    .plays(commit(0, "", -1), fetch(0, 0, 1))
    .expects(answer(1, offsets={0: 5, 1: -1})),
    scenario("commit and fetch with an empty group")
    .mirrors("scala.testCommitAndFetchOffsetsWithEmptyGroup")
    .plays(commit(0, "", -1, 1), commit(1000, "", -1, 9), fetch(1000), commit(2000, "", -1, 2), fetch(2000))
    .expects(answer(2, offsets={0: 9}), answer(4, offsets={0: 2})),
    scenario("a simple group becomes a group with members and keeps its offsets")
    .mirrors("scala.testCommitOffsetWithDefaultGeneration")
    .plays(commit(0, "", -1), join(1000), tick(4000), commit(4000, "", -1), fetch(4000))
    .expects(
        answer(1, at_ms=4000, generation=1),
        answer(-2, "REBALANCE_IN_PROGRESS", until="2.3"),
        answer(-2, "UNKNOWN_MEMBER_ID", since="3.9"),
        answer(-1, offsets={0: 5}),
    ),
)

EXPIRY = (
    scenario("an empty group without offsets is removed")
    .mirrors("java.testClassicGroupMaybeDelete")
    .plays(*stable(1), leave(7000, 0), check_offsets(8000), join(9000, 0), join(9000), tick(12000))
    .expects(gone(-4), answer(-3, "UNKNOWN_MEMBER_ID"), answer(-2, at_ms=12000, member=1, generation=1)),
    scenario("a group with members is not removed")
    .mirrors("OffsetMetadataManagerTest.testCleanupExpiredOffsetsEmptyOffsetExpirationCondition")
    .plays(*stable(1), check_offsets(8000))
    .expects(group(-1, STABLE, generation=1)),
    scenario("a simple group's offsets expire after their commit")
    .mirrors("ClassicGroupTest.testOffsetExpirationCondition")
    .plays(commit(1000, "", -1), check_offsets(DAY + 1000), check_offsets(DAY + 1001))
    .plays(check_offsets(WEEK + 999), check_offsets(WEEK + 1000), fetch(WEEK + 1000))
    .expects(group(1, EMPTY), gone(2, until="1.0"), group(3, EMPTY, since="2.3"), gone(4), answer(5, offsets={0: -1})),
    scenario("a group's offsets expire after it became empty")
    .mirrors("ClassicGroupTest.testOffsetExpirationCondition", "OffsetMetadataManagerTest.testCleanupExpiredOffsets")
    .plays(*stable(1), commit(7000, 0, 1), leave(9000, 0), check_offsets(DAY + 7000), check_offsets(DAY + 7001))
    .plays(check_offsets(WEEK + 8999), fetch(WEEK + 8999), check_offsets(WEEK + 9000))
    .expects(group(-5, EMPTY, generation=2), gone(-4, until="1.0"), answer(-2, offsets={0: 5}, since="2.3"), gone(-1)),
    scenario("a write of a removed group does not end in its successor")
    .mirrors("GroupMetadataManager.storeGroup")
    .plays(*joined(1), hold_store(7000), sync(7000, 0, 1, {0: "a"}), leave(8000, 0), check_offsets(8000))
    .plays(join(9000), tick(12_000), finish_store(12_000))
    .expects(gone(-4), group(-1, COMPLETING, generation=1)),
    scenario("a removed group's topics are not those of its successor", since="2.3")
    .mirrors("GroupMetadata.removeExpiredOffsets")
    .plays(*stable(1, protocols=TO_U), leave(7000, 0), check_offsets(8000), commit(9000, "", -1))
    .plays(join(WEEK + 9000, protocols=TO_U), check_offsets(WEEK + 9000), fetch(WEEK + 9000))
    .expects(gone(-5), group(-1, PREPARING, generation=0), answer(-1, offsets={0: 5})),
    scenario("only the topics of consumers are known", since="2.3")
    .mirrors("GroupMetadata.removeExpiredOffsets")
    .plays(*stable(1, protocols=TO_U), commit(7000, 0, 1), join(WEEK + 8000, protocol_type="connect"))
    .plays(check_offsets(WEEK + 8000), fetch(WEEK + 8000))
    .expects(group(-1, PREPARING, generation=2), answer(-1, offsets={0: 5})),
    scenario("offsets of a topic without subscribers expire in a stable group only", since="3.9")
    .mirrors("GroupMetadata.removeExpiredOffsets", "OffsetMetadataManagerTest.testCleanupExpiredOffsets")
    # The member's session ends; another one returns a week later.
    .plays(*stable(1, protocols=TO_U), commit(7000, 0, 1), join(WEEK + 8000, protocols=TO_U))
    .plays(check_offsets(WEEK + 8000), fetch(WEEK + 8000), check_offsets(WEEK + 11_000), fetch(WEEK + 11_000))
    .plays(sync(WEEK + 11_000, 1, 3), check_offsets(WEEK + 11_000), fetch(WEEK + 11_000))
    .expects(
        group(-7, PREPARING, generation=2),
        *answers(-6, -4, offsets={0: 5}),
        group(-5, COMPLETING, generation=3),
        group(-1, STABLE),
        answer(-1, offsets={0: -1}),
    ),
)

SCENARIOS = (*COMMITS, *FETCHES, *EXPIRY)
