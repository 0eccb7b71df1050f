"""What leaders send to the members of small applications, and when they send nothing."""

from uuid import UUID

from rebalance_sim.kafka.streams.application_batch import AssignmentConfigs
from rebalance_sim.kafka.streams.leader import (
    INCOMPLETE_SOURCE_TOPIC_METADATA,
    SHUTDOWN_REQUESTED,
    GroupAnswer,
    StreamsGroup,
    assign_groups,
)
from rebalance_sim.kafka.streams.topology import Subtopology, Topology
from rebalance_sim.kafka.wire.consumer_protocol import Subscription, TopicPartition
from rebalance_sim.kafka.wire.streams_protocol import (
    LATEST_OFFSET,
    NO_REBALANCE,
    SubscriptionInfo,
    TaskId,
    encode_subscription_info,
)
from rebalance_sim.releases import kafka_version

A, B = UUID(int=1), UUID(int=2)
TOPOLOGY = Topology([Subtopology(0, ("orders",), ("changelog",))], {"orders": 2})
TASKS = [TaskId(0, 0), TaskId(0, 1)]
ORDERS = [TopicPartition("orders", 0), TopicPartition("orders", 1)]
OLD = SubscriptionInfo(11, A, 11, dict.fromkeys(TASKS, LATEST_OFFSET))
CAUGHT_UP = SubscriptionInfo(11, B, 11, dict.fromkeys(TASKS, 100))
PROBING_AT = 5_000


def subscription(info: SubscriptionInfo, *owned: TopicPartition) -> Subscription:
    return Subscription(("orders",), encode_subscription_info(info), owned)


def answer(members: dict[str, Subscription], topology: Topology = TOPOLOGY, release: str = "4.3") -> GroupAnswer:
    configs = AssignmentConfigs(acceptable_recovery_lag=10)
    group = StreamsGroup(members, A, topology, dict.fromkeys(TASKS, 100), configs)
    (found,) = assign_groups([group], kafka_version(release), PROBING_AT)
    return found


def test_a_task_waits_until_its_owner_has_revoked_it() -> None:
    found = answer({"a": subscription(OLD, *ORDERS), "b": subscription(CAUGHT_UP)}).members
    assert found["a"].partitions == (ORDERS[0],)
    assert found["a"].info.next_rebalance_ms == NO_REBALANCE
    assert found["b"].partitions == ()
    assert found["b"].info.next_rebalance_ms == 0
    # The state that it has is kept until then.
    assert found["b"].info.standby_tasks == {TASKS[1]: frozenset({ORDERS[1]})}


def test_a_thread_of_the_leaders_process_probes_for_restored_state() -> None:
    new = SubscriptionInfo(11, B, 11)
    found = answer({"a": subscription(OLD, *ORDERS), "b": subscription(new)}).members
    assert found["a"].partitions == tuple(ORDERS)
    assert found["a"].info.next_rebalance_ms == PROBING_AT
    assert found["b"].info.next_rebalance_ms == NO_REBALANCE


def test_all_members_shut_down_if_one_asks_for_it() -> None:
    asking = SubscriptionInfo(11, B, 11, error_code=SHUTDOWN_REQUESTED)
    found = answer({"a": subscription(OLD, *ORDERS), "b": subscription(asking)}).members
    assert {sent.info.error_code for sent in found.values()} == {SHUTDOWN_REQUESTED}


def test_a_missing_source_topic_is_an_error_of_all_members() -> None:
    found = answer({"a": subscription(OLD)}, Topology(TOPOLOGY.subtopologies, {})).members
    assert found["a"].info.error_code == INCOMPLETE_SOURCE_TOPIC_METADATA


def test_a_member_newer_than_the_leader_makes_the_answer_random() -> None:
    assert answer({"a": subscription(OLD)}, release="2.6").is_random


def test_malformed_user_data_ends_the_assignment_of_its_group_only() -> None:
    found = answer({"a": subscription(OLD), "b": Subscription(("orders",), b"\0\0\0")})
    assert found.failure == "subscription info: version: 4 bytes expected at byte 0, 3 are left"


def test_partitions_of_unknown_topics_end_the_assignment() -> None:
    found = answer({"a": subscription(OLD, TopicPartition("unknown", 0))})
    assert found.failure == "IllegalStateException"
