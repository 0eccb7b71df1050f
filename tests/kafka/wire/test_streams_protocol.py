"""User data of Kafka Streams: Kafka's own bytes, round trips and malformed bytes."""

from uuid import UUID

import pytest

from rebalance_sim.kafka.wire.consumer_protocol import TopicPartition
from rebalance_sim.kafka.wire.readable import SchemaError
from rebalance_sim.kafka.wire.streams_protocol import (
    LATEST_OFFSET,
    NEWEST_STREAMS_VERSION,
    UNKNOWN_OFFSET_SUM,
    AssignmentInfo,
    Host,
    SubscriptionInfo,
    TaskId,
    decode_assignment_info,
    decode_subscription_info,
    encode_assignment_info,
    encode_subscription_info,
)
from tests.oracle.kafka_streams_wire_cases import newest_version
from tests.oracle.oracle import KAFKA_STREAMS_RELEASES
from tests.support.cases import golden
from tests.support.streams_wire import info_of, read, read_by_kafka, written

PROCESS = UUID("12345678-1234-4234-8234-123456789abc")


@pytest.mark.parametrize("release", KAFKA_STREAMS_RELEASES)
def test_kafkas_bytes_are_read_as_kafka_reads_them(release: str) -> None:
    cases, answers = golden(f"cases-kafka-streams-read-{release}"), golden(f"kafka-streams-read-{release}")
    ours = [read(case, newest_version(release)) for case in cases]
    assert ours == list(map(read_by_kafka, answers))
    assert None in ours


@pytest.mark.parametrize("release", KAFKA_STREAMS_RELEASES)
def test_subscriptions_are_written_as_kafka_writes_them(release: str) -> None:
    """Since version 7; tasks of earlier versions are in the order of a hash set."""
    pairs = zip(golden(f"cases-kafka-streams-write-{release}"), golden(f"kafka-streams-write-{release}"), strict=True)
    compared = [
        (written(case).hex(), answer["bytes"])
        for case, answer in pairs
        if case["rule"].endswith("subscription") and case["config"]["version"] >= 7
    ]
    assert [pair for pair in compared if pair[0] != pair[1]] == []
    assert compared


def test_written_fields_are_read_again() -> None:
    cases = golden("cases-kafka-streams-write-4.3.1")
    infos = [(info_of(case["rule"], case["config"]), written(case)) for case in cases]
    newest = [(info, data) for info, data in infos if info.version == NEWEST_STREAMS_VERSION]
    assert [
        info
        for info, data in newest
        if info != (decode_subscription_info if isinstance(info, SubscriptionInfo) else decode_assignment_info)(data)
    ] == []
    assert newest


def test_old_versions_have_no_offsets() -> None:
    sums = {TaskId(0, 1): LATEST_OFFSET, TaskId(0, 2): 5}
    data = encode_subscription_info(SubscriptionInfo(6, PROCESS, 6, sums))
    assert decode_subscription_info(data).offset_sums == {TaskId(0, 1): LATEST_OFFSET, TaskId(0, 2): UNKNOWN_OFFSET_SUM}


def test_a_newer_version_is_not_read_further() -> None:
    """A leader of 2.6 answers it with a version that both support (version probing)."""
    data = encode_subscription_info(SubscriptionInfo(11, PROCESS, 11, {TaskId(0, 1): 5}))
    assert decode_subscription_info(data, newest=8) == SubscriptionInfo(11, UUID(int=0), 11)


def test_partitions_of_hosts_are_numbered_by_a_dictionary() -> None:
    parts = frozenset({TopicPartition("orders", 0), TopicPartition("orders", 7)})
    info = AssignmentInfo(11, 11, partitions_by_host={Host("a", 1): parts, Host("b", 2): parts})
    data = encode_assignment_info(info)
    assert data.count(b"orders") == 1
    assert decode_assignment_info(data) == info


@pytest.mark.parametrize("version", [0, -1, 12])
def test_other_versions_are_not_written(version: int) -> None:
    with pytest.raises(SchemaError, match="not supported"):
        encode_subscription_info(SubscriptionInfo(version, PROCESS))
    with pytest.raises(SchemaError, match="not supported"):
        encode_assignment_info(AssignmentInfo(version))


def test_named_topologies_need_version_10() -> None:
    info = AssignmentInfo(9, 9, active_tasks=(TaskId(0, 1, "name"),))
    with pytest.raises(SchemaError, match="task name__0_1: named topologies need version 10"):
        encode_assignment_info(info)
