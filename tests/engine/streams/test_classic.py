"""Classic applications of Kafka Streams, assigned by the engine: as Kafka's leaders do, and what cannot be assigned."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from rebalance_sim.engine.streams.application import Application, Assigned, Member
from rebalance_sim.engine.streams.classic import assign_applications, obstacle
from rebalance_sim.engine.streams.restoration import RestoreSettings
from rebalance_sim.kafka.streams.leader import assign_groups
from rebalance_sim.kafka.wire.consumer_protocol import Subscription
from rebalance_sim.kafka.wire.streams_protocol import LATEST_OFFSET, SubscriptionInfo, decode_subscription_info
from rebalance_sim.releases import kafka_version
from tests.oracle.oracle import KAFKA_STREAMS_RELEASES
from tests.support.cases import golden
from tests.support.streams_applications import expected_of_leader, streams_group

JsonObject = dict[str, Any]
A, B = "00000000-0000-0000-0000-00000000000a", "00000000-0000-0000-0000-00000000000b"
ORDERS = [("0", partition) for partition in range(4)]


def application(members: Sequence[Member], stateful: bool = True, standby_replicas: int = 0) -> Application:
    return Application({}, members, {"0": (4, stateful)}, standby_replicas, members, {"0": {"orders": 4}}, True)


def assigned(group: Application, release: str = "3.9") -> Assigned:
    (answer,) = assign_applications([group], kafka_version(release), RestoreSettings())
    return answer


@pytest.mark.parametrize("release", KAFKA_STREAMS_RELEASES)
def test_tasks_are_those_that_leaders_of_kafka_send(release: str) -> None:
    """In the cases that tables can express, and in which no task has to be revoked first."""
    cases = golden(f"cases-kafka-streams-leader-{release}")
    answers = map(expected_of_leader, golden(f"kafka-streams-leader-{release}"))
    compared = 0
    for case, answer in zip(cases, answers, strict=True):
        group = _expressed(case["config"])
        if group is None or not _is_final(case["config"], release):
            continue
        settings = case["config"]["settings"]
        restoring = RestoreSettings(None, settings["max_warmup_replicas"], settings["acceptable_recovery_lag"])
        (ours,) = assign_applications([group], kafka_version(release), restoring)
        assert ours.error is None
        for member, active, standby in zip(group.members, ours.active, ours.standby, strict=True):
            theirs = answer["members"][member.member_id]
            assert sorted(f"{name}_{partition}" for name, partition in active) == sorted(set(theirs["active_tasks"]))
            assert sorted(f"{name}_{partition}" for name, partition in standby) == sorted(theirs["standby_tasks"])
        compared += 1
    assert compared


def test_tasks_wait_for_their_revocation_and_are_assigned_at_once_after_it() -> None:
    """Without state, so in one go: half of the tasks move to the process that has none."""
    members = [Member("a-1", A, ORDERS, (), 11), Member("b-1", B, (), (), 11)]
    answer = assigned(application(members, stateful=False))
    assert (answer.active, answer.probing) == ([ORDERS[::2], ORDERS[1::2]], False)


def test_state_is_restored_before_tasks_move() -> None:
    """Two tasks warm up on the new process: max.warmup.replicas."""
    group = application([Member("a-1", A, ORDERS, (), 11), Member("new-1", "new-process-1", (), ())])
    answer = assigned(group)
    assert (answer.active, answer.probing) == ([ORDERS, []], True)
    assert [len(tasks) for tasks in answer.standby] == [0, 2]


def test_a_standby_task_that_has_caught_up_becomes_active_after_its_revocation() -> None:
    """Task 3 moves at once. Task 1, which is to move too, is still warming up when the members join again."""
    members = [Member("a-1", A, ORDERS, (), 11), Member("b-1", B, (), ORDERS[2:], 11)]
    answer = assigned(application(members))
    assert (answer.active, answer.standby, answer.probing) == ([ORDERS[:3], ORDERS[3:]], [[], ORDERS[1:2]], True)


@pytest.mark.parametrize(
    ("group", "clients", "problem"),
    [
        (application([]), "3.9", "no members"),
        (replace(application([Member("a", A, (), ())]), subtopologies={}), "3.9", "no topology: give --subtopologies"),
        (application([Member("a", A, (), ())]), "2.5.1", "the rules of Kafka Streams 2.5.1 are unknown"),
        (application([Member("a", "p", (), ())]), "3.9", "process id 'p' of member a is not a UUID"),
        (application([Member("a", A, (), (), 9)]), "3.9", "the leader's user data is of version 9"),
        (application([Member("a", A, (), (), 11), Member("b", B, (), (), 7)]), "3.9", "member b is older than Kafka"),
        (application([Member("a", A, [("0", 4)], ())]), "3.9", "member a has task 0_4, which the topology does not"),
        (
            application([Member("a", A, (), ORDERS)], stateful=False),
            "3.9",
            "subtopology 0 is not stateful, but member a",
        ),
        (
            replace(application([Member("a", A, (), ())]), sources={"0": {"orders": 0}}),
            "3.9",
            "topic 'orders' of subtopology 0 is missing",
        ),
        (replace(application([Member("a", A, (), ())]), sources={"x": {"orders": 4}}), "3.9", "subtopology 'x' is not"),
        (replace(application([Member("a", A, (), ())]), sources={"0": {}}), "3.9", "subtopology 0 has no topics"),
        (application([Member("a", A, (), (), 11)]), "3.9", None),
    ],
)
def test_what_cannot_be_predicted(group: Application, clients: str, problem: str | None) -> None:
    found = obstacle(group, clients, kafka_version(clients).streams_protocol)
    assert found is None if problem is None else (found or "").startswith(problem)


def _is_final(config: JsonObject, release: str) -> bool:
    """Return whether no member has to join again at once; older user data does not show that."""
    (answer,) = assign_groups([streams_group(config)], kafka_version(release), probing_at=1)
    sent = [each.info for each in answer.members.values()]
    return bool(sent) and not any(info.error_code or info.next_rebalance_ms == 0 for info in sent)


def _expressed(config: JsonObject) -> Application | None:
    """Return the application of a case, if its settings and offsets are those that the engine assumes."""
    settings, group = config["settings"], streams_group(config)
    has_racks = settings["strategy"] != "none" or (settings["rack_aware_tags"] and settings["num_standby_replicas"])
    if config["assignor"] != "high-availability" or has_racks or group.end_offset_sums is None:
        return None
    ends = group.end_offset_sums
    sent = {member: decode_subscription_info(of.user_data or b"") for member, of in group.members.items()}
    if group.topology.missing_topics() or any(map(_sends_other_tasks, sent.values(), group.members.values())):
        return None
    sources = {
        str(part.number): {topic: group.topology.partitions[topic] for topic in part.sources}
        for part in group.topology.subtopologies
    }
    parts = {
        str(part.number): (max(sources[str(part.number)].values()), bool(part.changelogs))
        for part in group.topology.subtopologies
    }
    members = [_member(member, info, group.members[member].owned or (), sources) for member, info in sent.items()]
    sums = {(str(task.subtopology), task.partition): end for task, end in ends.items()}
    return Application({}, members, parts, settings["num_standby_replicas"], members, sources, True, sums)


def _member(
    member: str, info: SubscriptionInfo, owned: Sequence[tuple[str, int]], sources: dict[str, dict[str, int]]
) -> Member:
    of_topic = {topic: name for name, topics in sources.items() for topic in topics}
    active = sorted({(of_topic[topic], partition) for topic, partition in owned})
    standby = [(str(task.subtopology), task.partition) for task in info.offset_sums if info.offset_sums[task] >= 0]
    offsets = {(str(task.subtopology), task.partition): offset for task, offset in info.offset_sums.items()}
    return Member(member, str(info.process), active, standby, max(info.version, info.latest_supported_version), offsets)


def _sends_other_tasks(info: SubscriptionInfo, subscription: Subscription) -> bool:
    """Return whether a member sends that it runs tasks that it does not own, or no offsets of tasks that it has."""
    owned = {partition for _, partition in subscription.owned or ()}
    return any(
        offset < LATEST_OFFSET or (offset == LATEST_OFFSET and task.partition not in owned)
        for task, offset in info.offset_sums.items()
    )
