"""Topologies that are inferred from what members sent, and from what leaders of Kafka's released classes answered."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import pytest

from rebalance_sim.kafka.streams.inferred_topology import RebalancedMember, inferred_subtopologies
from rebalance_sim.kafka.wire.consumer_protocol import TopicPartition
from rebalance_sim.kafka.wire.readable import SchemaError
from rebalance_sim.kafka.wire.streams_protocol import (
    LATEST_OFFSET,
    AssignmentInfo,
    SubscriptionInfo,
    TaskId,
    decode_subscription_info,
)
from tests.oracle.oracle import KAFKA_STREAMS_RELEASES
from tests.support.cases import golden

FIRST, SECOND, READ = TaskId(0, 0), TaskId(0, 1), TaskId(1, 0)
ORDERS = [TopicPartition("orders", 0), TopicPartition("orders", 1)]
TOTALS = TopicPartition("app-totals-repartition", 0)
TOPICS = ("app-totals-repartition", "orders")


def member(partitions: list[TopicPartition], tasks: list[TaskId], *copies: TaskId, **more: Any) -> RebalancedMember:
    """Return a member; ``state`` are tasks of which its process had state."""
    sent = SubscriptionInfo(11, UUID(int=1), 11, dict.fromkeys(more.get("state", ()), LATEST_OFFSET))
    received = AssignmentInfo(11, 11, tuple(tasks), dict.fromkeys(copies, frozenset()))
    return RebalancedMember(more.get("topics", TOPICS), sent, partitions, received)


def test_members_tell_the_topics_and_the_state_of_subtopologies() -> None:
    """Tasks are in the order of the sorted partitions, whatever the order of these in the bytes."""
    one = member([*ORDERS, TOTALS], [READ, FIRST, SECOND], state=[READ])
    two = member([], [], READ)
    found = list(map(tuple, inferred_subtopologies([one, two])))
    assert found == [(0, ("orders",), False, 1), (1, ("app-totals-repartition",), True, 1)]


def test_state_that_nobody_has_reported_yet_is_not_known() -> None:
    (first, second) = inferred_subtopologies([member([*ORDERS, TOTALS], [READ, FIRST, SECOND])])
    assert (first.is_stateful, second.is_stateful, second.standby_replicas) == (False, False, 0)


@pytest.mark.parametrize(
    "members", [[member(ORDERS, [FIRST, SECOND])], [member([*ORDERS, TOTALS], [READ, FIRST])], [member([], [])], []]
)
def test_a_topology_is_not_inferred_in_part(members: list[RebalancedMember]) -> None:
    """Such as while a task is given up for another member, or as a leader has sent no tasks."""
    assert inferred_subtopologies(members) == []


@pytest.mark.parametrize("release", KAFKA_STREAMS_RELEASES)
def test_what_is_inferred_of_kafkas_answers_is_the_topology(release: str) -> None:
    cases = golden(f"cases-kafka-streams-leader-{release}")
    inferred = 0
    for case, answer in zip(cases, golden(f"kafka-streams-leader-{release}"), strict=True):
        try:
            members = [_rebalanced(of, answer.get("members", {}).get(of["id"])) for of in case["config"]["members"]]
        except SchemaError:
            continue
        found = inferred_subtopologies(members)
        sources = {int(text): tuple(sorted(of["sources"])) for text, of in case["config"]["subtopologies"].items()}
        assert not found or {part.number: part.sources for part in found} == sources
        inferred += bool(found)
    assert inferred > len(cases) // 4


def _rebalanced(sent: Mapping[str, Any], received: Mapping[str, Any] | None) -> RebalancedMember:
    info = decode_subscription_info(bytes.fromhex(sent["user_data"]))
    if received is None:
        return RebalancedMember(sent["topics"], info, (), AssignmentInfo(1))
    tasks = tuple(map(_task, received["active_tasks"]))
    copies = {_task(text): frozenset[TopicPartition]() for text in received["standby_tasks"]}
    partitions = [TopicPartition(*pair) for pair in received["partitions"]]
    return RebalancedMember(sent["topics"], info, partitions, AssignmentInfo(11, 11, tasks, copies))


def _task(text: str) -> TaskId:
    subtopology, partition = map(int, text.split("_"))
    return TaskId(subtopology, partition)
