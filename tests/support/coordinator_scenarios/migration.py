"""Migrations of a group between the classic and the consumer protocol (Kafka 4.3)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tests.oracle.migration_cases import assignment, subscription_text
from tests.support.coordinator_scenarios.scenario import (
    COMPLETING,
    EMPTY,
    PREPARING,
    STABLE,
    Scenario,
    answer,
    answers,
    gone,
    group,
    scenario,
)
from tests.support.coordinator_scenarios.steps import Step, commit, heartbeat, join, leave, leave_static, sync, tick

ASSIGNING = "Assigning"
RECONCILING = "Reconciling"
TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAQ"
HALF = 3
"""Partitions of each of two members."""
SESSION_MS, REBALANCE_MS = 10_000, 20_000


def _topics(*counts: int) -> Step:
    ids = (TOPIC_ID, TOPIC_ID.replace("Q", "g"))
    image = [[name, topic_id, count] for name, topic_id, count in zip("tu", ids, counts, strict=False)]
    return {"at_ms": 0, "request": "topics", "image": image}


def _join(at_ms: int, member: int | str = "", *, owned: Sequence[int] | None = None, **fields: Any) -> Step:
    """A JoinGroup of a consumer; version 0 of a subscription has no owned partitions."""
    text = subscription_text(fields.pop("topics", ["t"]), None if owned is None else {"t": list(owned)})
    names = fields.pop("names", ("range",))
    return join(
        at_ms,
        member,
        protocols=[(name, text) for name in names],
        **{"session_timeout_ms": SESSION_MS, "rebalance_timeout_ms": REBALANCE_MS, **fields},
    )


def _new(at_ms: int, epoch: int | str, member: str = "m", **fields: Any) -> Step:
    """A heartbeat of a member of KIP-848."""
    return {"at_ms": at_ms, "request": "consumer_heartbeat", "member": member, "member_epoch": epoch, **fields}


def _enter(at_ms: int, member: str = "m", **fields: Any) -> Step:
    """Its first one."""
    return _new(
        at_ms, 0, member, **{"rebalance_timeout_ms": REBALANCE_MS, "subscription": ["t"], "owned": [], **fields}
    )


def _alone(**fields: Any) -> tuple[Step, ...]:
    """Member 0, alone in a stable classic group of generation 1, has all six partitions."""
    identity = {name: value for name, value in fields.items() if name == "instance_id"}
    return (
        _topics(2 * HALF),
        _join(0, **fields),
        sync(0, 0, 1, {0: assignment({"t": list(range(2 * HALF))})}, **identity),
    )


def _mixed(**fields: Any) -> tuple[Step, ...]:
    """The same, and m has joined at 100: the group is one of KIP-848, of epoch 2."""
    return (*_alone(**fields), _enter(100))


def _shared() -> tuple[Step, ...]:
    """Member 0 has half of the partitions by 300, m the others; all is well, in epoch 2."""
    return (*_mixed(), _join(200, 0, owned=range(HALF)), sync(200, 0, 2), _new(300, "next", owned="assigned"))


def _partitions(*numbers: int) -> list[list[Any]]:
    return [["t", p] for p in numbers]


def _scenario(name: str, **config: int) -> Scenario:
    at_once = {"initial_rebalance_delay_ms": 0, "assignment_interval_ms": 0}
    return replace(scenario(name, since="4.3"), config=at_once | config)


UPGRADE = (
    _scenario("a stable classic group takes in a member of KIP-848")
    .mirrors("java.testConsumerGroupHeartbeatWithStableClassicGroup")
    .plays(*_mixed())
    .expects(answer(-1, epoch=2, assigned=[]), group(-1, RECONCILING, group_epoch=2, target_epoch=2)),
    _scenario("a member that has joined must rejoin")
    .mirrors("java.testConsumerGroupHeartbeatWithPreparingRebalanceClassicGroup")
    .plays(*_alone(), _join(50), _enter(100))
    .expects(
        answer(3, "REBALANCE_IN_PROGRESS", at_ms=100, member=1, generation=-1),
        answer(-1, epoch=2, assigned=[]),
        group(-1, RECONCILING, group_epoch=2, target_epoch=2),
    ),
    _scenario("a member that waits for its assignment must rejoin")
    .mirrors("java.testConsumerGroupHeartbeatWithCompletingRebalanceClassicGroup")
    .plays(*_alone(), _join(50), _join(50, 0), sync(60, 1, 2), _enter(100))
    .expects(
        group(-2, COMPLETING, generation=2),
        answer(-2, "REBALANCE_IN_PROGRESS", at_ms=100, assignment=""),
        group(-1, RECONCILING, group_epoch=3, target_epoch=3),
    ),
    _scenario(
        "a group that has never elected a protocol cannot follow, and its members join again",
        initial_rebalance_delay_ms=3000,
    )
    .mirrors("ConsumerGroup.fromClassicGroup")
    .plays(_topics(6), _join(0), _enter(100))
    .expects(
        answer(1, "REBALANCE_IN_PROGRESS", at_ms=100),
        answer(-1, "UNKNOWN_SERVER_ERROR"),
        group(-1, PREPARING, generation=0, members=[0]),
    ),
    _scenario("an empty classic group gives way to a new one")
    .mirrors("java.testConsumerGroupHeartbeatWithEmptyClassicGroup")
    .plays(*_alone(), leave(50, 0), _enter(100))
    .expects(
        group(-2, EMPTY, generation=2),
        answer(-1, epoch=2, assigned=_partitions(*range(6))),
        group(-1, STABLE, group_epoch=2, target_epoch=2),
    ),
    _scenario("a group that is not one of consumers stays a classic one")
    .mirrors("java.testConsumerGroupHeartbeatWithNonEmptyClassicGroup")
    .plays(_topics(6), _join(0, protocol_type="connect"), _enter(100))
    .expects(answer(-1, "GROUP_ID_NOT_FOUND"), group(-1, COMPLETING, generation=1)),
    _scenario("a member that leaves, or is not new, does not convert the group")
    .mirrors("GroupMetadataManager.getOrMaybeCreateConsumerGroup")
    .plays(*_alone(), _new(100, 1), _new(100, -1))
    .expects(answer(-2, "GROUP_ID_NOT_FOUND"), answer(-1, "GROUP_ID_NOT_FOUND"), group(-1, STABLE, generation=1)),
    _scenario("a custom assignor's user data would be lost")
    .mirrors("java.testConsumerGroupHeartbeatWithCustomAssignorClassicGroup")
    .plays(_topics(6), _join(0), sync(0, 0, 1, {0: f"{assignment({'t': [0]})[:-1]}\1x"}), _enter(100))
    .expects(answer(-1, "GROUP_ID_NOT_FOUND"), group(-1, STABLE, generation=1)),
    _scenario("a group that is too large for KIP-848 stays a classic one", consumer_group_max_size=1)
    .mirrors("GroupMetadataManager.validateOnlineUpgrade")
    .plays(*_alone(), _join(50), _join(50, 0), _enter(100))
    .expects(answer(-1, "GROUP_ID_NOT_FOUND"), group(-1, COMPLETING, generation=2)),
    _scenario("a static member comes back by the other protocol to what it had")
    .mirrors(
        "java.testConsumerGroupHeartbeatToClassicGroupFromExistingStaticMember",
        "java.testConsumerGroupHeartbeatFromExistingClassicStaticMember",
    )
    .plays(*_alone(instance_id="i"), _enter(100, instance_id="i"))
    .expects(answer(-1, epoch=1, assigned=_partitions(*range(6))), group(-1, STABLE, group_epoch=1, target_epoch=1)),
)
JOIN = (
    _scenario("a member of the classic protocol joins a group of KIP-848 with an id that it has been given")
    .mirrors("java.testJoiningConsumerGroupWithNewDynamicMember")
    .plays(_topics(6), _enter(0), _join(100, requires_known_member_id=True))
    .plays(_join(110, 0), sync(120, 0, 3), heartbeat(130, 0, 3))
    .expects(
        answer(2, "MEMBER_ID_REQUIRED", member=0),
        answer(3, member=0, generation=3, protocol="range", leader=None, members=[]),
        group(3, RECONCILING, group_epoch=3, target_epoch=3),
        answer(4, assignment=[]),
        answer(5),
    ),
    _scenario("it has to support what the others of the classic protocol do")
    .mirrors("java.testJoiningConsumerGroupThrowsExceptionIfProtocolIsNotSupported")
    .plays(*_mixed(), _join(200, names=("roundrobin",)), _join(200, 0, names=("roundrobin",)))
    .expects(answer(-2, "INCONSISTENT_GROUP_PROTOCOL"), answer(-1, "INCONSISTENT_GROUP_PROTOCOL")),
    _scenario("there is no room for it", consumer_group_max_size=1)
    .mirrors("java.testJoiningConsumerGroupThrowsExceptionIfGroupOverMaxSize")
    .plays(_topics(6), _enter(0), _join(100))
    .expects(answer(-1, "GROUP_MAX_SIZE_REACHED")),
    _scenario("instance ids of no member, or of another one")
    .mirrors(
        "java.testStaticMemberJoiningConsumerGroupWithUnknownInstanceId",
        "java.testStaticMemberJoiningConsumerGroupWithUnmatchedMemberId",
        "java.testClassicGroupSyncToConsumerGroupWithFencedInstanceId",
        "java.testClassicGroupHeartbeatToConsumerWithFencedInstanceId",
    )
    .plays(*_mixed(instance_id="i"), _join(200, 0, instance_id="j"), _join(200, "other", instance_id="i"))
    .plays(sync(200, "other", 2, instance_id="i"), heartbeat(200, "other", 2, instance_id="i"))
    .expects(answer(-4, "UNKNOWN_MEMBER_ID"), *answers(-3, -2, -1, error="FENCED_INSTANCE_ID")),
    _scenario("a static member of the classic protocol is replaced by one")
    .mirrors("java.testJoiningConsumerGroupReplacingExistingStaticMember")
    .plays(*_mixed(instance_id="i"), _join(200, instance_id="i"), heartbeat(200, 0, 1, instance_id="i"))
    .expects(
        answer(-2, member=1, generation=2),
        answer(-1, "FENCED_INSTANCE_ID"),
        group(-1, RECONCILING, group_epoch=2, target_epoch=2),
    ),
    _scenario("who owns nothing any more gets its part at once")
    .mirrors("java.testReconciliationInJoiningConsumerGroupWithEagerProtocol")
    .plays(*_mixed(), heartbeat(200, 0, 1), _join(210, 0), sync(220, 0, 2), _new(230, "next", owned=[]))
    .expects(
        answer(-4, "REBALANCE_IN_PROGRESS"),
        answer(-3, generation=2),
        answer(-2, assignment=_partitions(0, 1, 2)),
        answer(-1, epoch=2, assigned=_partitions(3, 4, 5)),
        group(-1, STABLE, group_epoch=2, target_epoch=2),
    ),
    _scenario("who still owns what is another's has to give it up, and joins once more")
    .mirrors("java.testReconciliationInJoiningConsumerGroupWithCooperativeProtocol")
    .plays(*_mixed(), _join(210, 0, owned=range(6)), sync(220, 0, 1))
    .plays(heartbeat(230, 0, 1), _join(240, 0, owned=range(3)), sync(250, 0, 2))
    .expects(
        answer(-5, generation=1),
        *answers(-4, -1, assignment=_partitions(0, 1, 2)),
        answer(-3, "REBALANCE_IN_PROGRESS"),
        answer(-2, generation=2),
        group(-1, RECONCILING, group_epoch=2, target_epoch=2),
    ),
)
SYNC_AND_HEARTBEAT = (
    _scenario("SyncGroup of an unknown member, of the other protocol, or of an old epoch")
    .mirrors(
        "java.testClassicGroupSyncToConsumerGroupWithUnknownMemberId",
        "java.testClassicGroupSyncToConsumerGroupWithIllegalGeneration",
        "java.testClassicGroupSyncToConsumerGroupWithInconsistentGroupProtocol",
        "java.testClassicGroupSyncToConsumerGroupRebalanceInProgress",
    )
    .plays(*_mixed(), sync(200, "other", 1), sync(200, "m", 2), sync(200, 0, 2))
    .plays(sync(200, 0, 1, protocol_type="connect"), sync(200, 0, 1, protocol="roundrobin"), sync(200, 0, 1))
    .expects(
        *answers(-6, -5, error="UNKNOWN_MEMBER_ID"),
        answer(-4, "ILLEGAL_GENERATION"),
        *answers(-3, -2, error="INCONSISTENT_GROUP_PROTOCOL"),
        answer(-1, "REBALANCE_IN_PROGRESS"),
    ),
    _scenario("Heartbeat of an unknown member, of the other protocol, or of an old epoch")
    .mirrors(
        "java.testClassicGroupHeartbeatToConsumerWithUnknownMember",
        "java.testClassicGroupHeartbeatToConsumerWithMemberNotUsingClassicProtocol",
        "java.testClassicGroupHeartbeatToConsumerWithIllegalGenerationId",
        "java.testClassicGroupHeartbeatToConsumerGroupRebalanceInProgress",
    )
    .plays(*_mixed(), heartbeat(200, "other", 1), heartbeat(200, "m", 2), heartbeat(200, 0, 2), heartbeat(200, 0, 1))
    .expects(
        *answers(-4, -3, error="UNKNOWN_MEMBER_ID"),
        answer(-2, "ILLEGAL_GENERATION"),
        answer(-1, "REBALANCE_IN_PROGRESS"),
    ),
    _scenario("heartbeats keep the session of the member's own length")
    .mirrors("java.testClassicGroupHeartbeatToConsumerGroupMaintainsSession")
    .plays(*_shared(), heartbeat(200 + SESSION_MS - 1, 0, 2))
    .plays(_new(200 + SESSION_MS, "next"), heartbeat(200 + 2 * SESSION_MS - 2, 0, 2))
    .expects(answer(-3), answer(-1)),
    _scenario("commits of a generation that is over")
    .mirrors("ConsumerGroup.validateOffsetCommit")
    .plays(*_shared(), commit(400, 0, 2), commit(400, 0, 1), commit(400, 0, 0), commit(400, 0, 3))
    .expects(answer(-4), answer(-3), answer(-2, "ILLEGAL_GENERATION"), answer(-1, "ILLEGAL_GENERATION")),
)
TIMEOUTS = (
    _scenario("a member of the classic protocol of which nothing is heard is removed")
    .mirrors("java.testConsumerGroupMemberUsingClassicProtocolFencedWhenSessionTimeout")
    .plays(*_shared(), _new(200 + SESSION_MS - 1, "next"), tick(200 + SESSION_MS))
    .expects(group(-2, STABLE, group_epoch=2), group(-1, ASSIGNING, group_epoch=3)),
    _scenario("a member that must rejoin and does not is removed")
    .mirrors("java.testConsumerGroupMemberUsingClassicProtocolFencedWhenJoinTimeout")
    .plays(*_mixed(), heartbeat(200, 0, 1), heartbeat(9000, 0, 1))
    .plays(heartbeat(18_000, 0, 1), _new(18_000, "next"), tick(199 + REBALANCE_MS), tick(200 + REBALANCE_MS))
    .expects(group(-2, RECONCILING, group_epoch=2), group(-1, ASSIGNING, group_epoch=3)),
    _scenario("who does not send SyncGroup after it has joined is removed")
    .mirrors("GroupMetadataManager.scheduleConsumerGroupSyncTimeout")
    .plays(*_mixed(), _join(200, 0), heartbeat(9000, 0, 2), heartbeat(18_000, 0, 2), _new(18_000, "next"))
    .plays(tick(199 + REBALANCE_MS), tick(200 + REBALANCE_MS))
    .expects(answer(-4), group(-2, STABLE, group_epoch=2), group(-1, ASSIGNING, group_epoch=3)),
)
LEAVE = (
    _scenario("several leave at once, and the epoch goes up once")
    .mirrors(
        "java.testConsumerGroupMemberUsingClassicProtocolBatchLeaveGroup",
        "java.testClassicGroupLeaveToConsumerGroupWithoutValidLeaveGroupMember",
    )
    .plays(*_mixed(instance_id="i"), _join(200), leave(210, "nobody-has-this-id"))
    .plays(leave_static(220, ("", "i"), (1, None), ("nobody-has-this-id", None)))
    .expects(
        group(-2, RECONCILING, group_epoch=3),
        answer(-2, left=["UNKNOWN_MEMBER_ID"]),
        answer(-1, left=["NONE", "NONE", "UNKNOWN_MEMBER_ID"]),
        group(-1, ASSIGNING, group_epoch=4),
    ),
)
DOWNGRADE = (
    _scenario("the last member of KIP-848 leaves, and the others rebalance by the classic protocol")
    .mirrors("java.testLastConsumerProtocolMemberLeavingConsumerGroup")
    .plays(*_shared(), _new(400, -1), heartbeat(500, 0, 2), _join(600, 0))
    .expects(
        answer(-3, epoch=-1),
        group(-3, PREPARING, generation=2, leader=0, protocol="range", members=[0]),
        answer(-2, "REBALANCE_IN_PROGRESS"),
        answer(-1, generation=3, leader=0, members=[0]),
        group(-1, COMPLETING, generation=3),
    ),
    _scenario("nothing is heard of the last member of KIP-848")
    .mirrors("java.testLastConsumerProtocolMemberSessionTimeoutInConsumerGroup")
    .plays(*_shared(), *(heartbeat(200 + 9000 * k, 0, 2) for k in range(1, 6)), tick(45_299), tick(45_300))
    .expects(group(-2, STABLE, group_epoch=2), group(-1, PREPARING, generation=2, members=[0])),
    _scenario("the last consumer-protocol member does not revoke its partitions in time")
    .mirrors("java.testLastConsumerProtocolMemberRebalanceTimeoutInConsumerGroup")
    .plays(_topics(6), _enter(0), _join(100), sync(110, 0, 3), _new(200, "next"))
    .plays(*(heartbeat(200 + 9000 * k, 0, 3) for k in range(3)), tick(199 + REBALANCE_MS), tick(200 + REBALANCE_MS))
    .expects(group(-2, RECONCILING, group_epoch=3), group(-1, PREPARING, generation=3, members=[0])),
    _scenario("more members than a classic group may have", group_max_size=1)
    .mirrors("java.testNoConversionWhenSizeExceedsClassicMaxGroupSize")
    .plays(*_mixed(), _join(200), _new(300, -1))
    .expects(group(-1, ASSIGNING, group_epoch=4)),
    _scenario("a static member comes back by the classic protocol, and all is as before")
    .mirrors("java.testLastStaticConsumerProtocolMemberReplacedByClassicProtocolMember")
    .plays(*_alone(), _enter(100, instance_id="i"), _join(200, 0), sync(200, 0, 2))
    .plays(_new(300, "next", owned=[], instance_id="i"), _join(400, instance_id="i"))
    .plays(sync(500, 1, 2, instance_id="i"), heartbeat(500, 0, 2))
    .expects(
        answer(-3, member=1, generation=2),
        group(-3, STABLE, generation=2, leader=0, members=[0, 1]),
        answer(-2, assignment=_partitions(3, 4, 5)),
        answer(-1),
    ),
    _scenario("a static member comes back by the classic protocol with another subscription")
    .mirrors("java.testLastStaticConsumerProtocolMemberReplacedByClassicProtocolMemberWithChangedSubscription")
    .plays(_topics(6, 2), _join(0), sync(0, 0, 1, {0: assignment({"t": list(range(6))})}))
    .plays(_enter(100, instance_id="i"), _join(200, 0), sync(200, 0, 2))
    .plays(_join(400, instance_id="i", topics=["t", "u"]))
    .expects(answer(-1, member=1, generation=0), group(-1, PREPARING, generation=2, members=[0, 1])),
    _scenario("the last member of KIP-848 leaves alone")
    .mirrors("java.testLastClassicProtocolMemberLeavingConsumerGroup")
    .plays(*_mixed(), leave(200, 0), _new(300, -1), _join(400, 0), _join(500), tick(500))
    .expects(
        group(-5, ASSIGNING, group_epoch=3),
        group(-4, EMPTY, group_epoch=4),
        answer(-3, "UNKNOWN_MEMBER_ID"),
        gone(-3),
        answer(-2, member=1, generation=1, leader=1),
        group(-1, COMPLETING, generation=1),
    ),
    _scenario("a member of the classic protocol joins an empty group of KIP-848")
    .mirrors("java.testClassicGroupJoinWithEmptyConsumerGroup")
    .plays(_topics(6), _enter(0), _new(100, -1), _join(200), tick(200))
    .expects(
        group(-3, EMPTY, group_epoch=3),
        answer(-2, generation=1, leader=0),
        group(-1, COMPLETING, generation=1, members=[0]),
    ),
)

SCENARIOS: tuple[Scenario, ...] = (*UPGRADE, *JOIN, *SYNC_AND_HEARTBEAT, *TIMEOUTS, *LEAVE, *DOWNGRADE)
