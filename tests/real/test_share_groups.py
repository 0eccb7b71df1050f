"""A share group (KIP-932) of a real broker: read from __consumer_offsets, and predicted when a member joins."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import SparkSession

from rebalance_sim.api.groups import assign
from rebalance_sim.kafka.wire.offsets_topic import (
    RecordType,
    ShareGroupTargetAssignmentMember,
    decode_key,
    decode_value,
)
from rebalance_sim.sources.offsets_topic.fleet import read_offsets_topic
from rebalance_sim.tables import TOPICS
from tests.real.conftest import VERSIONS, running
from tests.support.cluster.broker import Broker
from tests.support.cluster.capture import until
from tests.support.cluster.live_set_ups import OFFSETS_RECORD, share_a_bucket
from tests.support.cluster.programs import console_consumer
from tests.support.cluster.topic_reader import read_topic
from tests.support.rows import table

pytestmark = pytest.mark.cluster

GROUP, TOPIC, PARTITIONS = "workers", "jobs", 7
Records = list[tuple[bytes | None, bytes | None, int, int]]
Targets = dict[str, frozenset[int]]


class Moment(NamedTuple):
    """The records of the coordinator at one time, and the target assignments in them."""

    records: Records
    targets: Targets


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    # The coordinator assigns partitions whose share state is initialized, and one broker holds the topic of that state.
    of_state = dict.fromkeys(("replication.factor", "min.isr"), "1")
    settings = {f"share.coordinator.state.topic.{name}": value for name, value in of_state.items()}
    with running(VERSIONS[0], tmp_path_factory.mktemp("share"), settings=settings) as started:
        admin = AdminClient({"bootstrap.servers": started.bootstrap_servers, "log_level": 0})
        admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result()
        yield started


def targets_in(records: Records) -> Targets:
    """Return the target of each member, by the last record of its key."""
    last: dict[bytes, bytes | None] = {key: value for key, value, *_ in records if key is not None}
    targets: Targets = {}
    for key, value in last.items():
        name = decode_key(key)
        if name.type is RecordType.SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER and value is not None:
            target = decode_value(name.type, value)
            assert isinstance(target, ShareGroupTargetAssignmentMember)
            assert name.member_id is not None
            targets[name.member_id] = frozenset(p for _, numbers in target.partitions for p in numbers)
    return targets


def settled(broker: Broker, members: int) -> Moment:
    """Wait until the group has this many members, which have all partitions, and return what is stored."""
    seen: list[Moment] = []

    def has_settled() -> bool:
        messages = read_topic(broker.bootstrap_servers, "__consumer_offsets")
        records: Records = [(each.key(), each.value(), each.partition(), each.offset()) for each in messages]
        seen.append(Moment(records, targets_in(records)))
        targets = seen[-1].targets
        has_all = len(targets) == members and frozenset().union(*targets.values()) == frozenset(range(PARTITIONS))
        return has_all and len(seen) > 1 and seen[-2].targets == targets

    until(f"the share group has {members} members", has_settled)
    return seen[-1]


def predicted(spark: SparkSession, broker: Broker, moment: Moment, joining: Mapping[str, object]) -> Targets:
    """Return the target that is predicted if a member joins the group that the records show."""
    topic_id = broker.tools("kafka-topics", "--describe", "--topic", TOPIC).split("TopicId: ")[1].split()[0]
    topics = table(spark, TOPICS, [{"topic": TOPIC, "partitions": PARTITIONS, "topic_id": topic_id}])
    read = read_offsets_topic(spark.createDataFrame(moment.records, OFFSETS_RECORD), topics=topics)
    assert read.rejects.isEmpty()
    members = read.members.where(f"group_id = '{GROUP}'")
    rows = [row.asDict() for row in members.collect()]
    assert {row["member_id"]: frozenset(p["partition"] for p in row["owned"]) for row in rows} == moment.targets
    with_newcomer = spark.createDataFrame([*rows, rows[0] | {"owned": [], **joining}], members.schema)
    found = with_newcomer.transform(assign("elected", topics, broker.version)).collect()
    return {row["member_id"]: frozenset(p["partition"] for p in row["partitions"]) for row in found}


def test_the_target_is_as_predicted_when_a_member_joins(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    """Three members have seven partitions; then a fourth joins, then a fifth."""
    with ExitStack() as stack:

        def start(number: int) -> None:
            options = ("--topic", TOPIC, "--group", GROUP)
            consumer = console_consumer(broker, "kafka-console-share-consumer", options, tmp_path / f"{number}.log")
            stack.enter_context(consumer)

        for number in range(3):
            start(number)
        before = settled(broker, 3)
        for count in (4, 5):
            start(count)
            after = settled(broker, count)
            (newcomer,) = after.targets.keys() - before.targets.keys()
            if share_a_bucket(after.targets):
                pytest.skip("the random ids of two members share a bucket, where the join order matters")
            assert predicted(spark, broker, before, {"member_id": newcomer}) == after.targets
            before = after
