"""The kind of a group is known from what the coordinator says, or taken from ids and then never certain."""

import pytest

from rebalance_sim.kafka.group_kinds import SERVICES, WITHOUT_PREDICTION, GroupKind, GroupSigns, kind_of_group

CASES = [
    (GroupSigns("billing", ["consumer"], ["range"], ["billing-1"], 1), GroupKind.CONSUMERS, True),
    # A group whose id looks like another kind is one of consumers if the coordinator or its clients say so.
    (GroupSigns("connect-orders", ["consumer"], ["range"], ["billing-1"], 1), GroupKind.CONSUMERS, True),
    (GroupSigns("connect-cluster", ["connect"], ["sessioned"], ["connect-1"], 1), GroupKind.CONNECT, True),
    # The text of Kafka's tools has no protocol type.
    (GroupSigns("connect-cluster", [], ["sessioned"], ["connect-1", "connect-2"], 2), GroupKind.CONNECT, True),
    (GroupSigns("connect-cluster", [], ["compatible"], [], 2), GroupKind.CONNECT, True),
    (GroupSigns("eager", ["connect"], ["default"], [], 2), GroupKind.CONNECT, True),
    # A user's own assignor may be called default.
    (GroupSigns("eager", [], ["default"], ["worker"], 1), GroupKind.CONSUMERS, True),
    (GroupSigns("A-mm2", ["connect"], ["sessioned"], ["A->B"], 1), GroupKind.MIRROR_MAKER, True),
    (GroupSigns("connect-s3", [], ["range"], ["connector-consumer-s3-0", "connector-consumer-s3-1"], 2),
     GroupKind.CONNECT_SINK, False),
    (GroupSigns("connect-s3", [], ["range"], ["connector-consumer-s3-0", "mine"], 2), GroupKind.CONSUMERS, True),
    (GroupSigns("fraud", [], ["stream"], ["fraud-1"], 1), GroupKind.STREAMS, True),
    (GroupSigns("fraud", [], [], ["fraud-5d0e-StreamThread-1-consumer"], 1), GroupKind.STREAMS, False),
    (GroupSigns("_confluent-ksql-default_query_CTAS_A_3", [], ["stream"], ["x"], 1), GroupKind.KSQLDB, True),
    (GroupSigns("_confluent-ksql-default_query_CTAS_A_3"), GroupKind.KSQLDB, False),
    (GroupSigns("schema-registry", ["sr"], ["v0"], ["sr-1"], 1), GroupKind.SCHEMA_REGISTRY, True),
    (GroupSigns("queue", group_type="share"), GroupKind.SHARE, True),
    (GroupSigns("queue", ["share"]), GroupKind.SHARE, True),
    (GroupSigns("fraud", group_type="streams"), GroupKind.STREAMS_GROUP, True),
    (GroupSigns("empty", group_type="classic", has_offsets=False), GroupKind.OFFSETS_ONLY, True),
    (GroupSigns("locks", ["mine"], ["v1"], ["x"], 1), GroupKind.OTHER, True),
    (GroupSigns("console-consumer-77210", [], ["range"], ["console-consumer"], 1), GroupKind.CONSOLE, False),
    (GroupSigns("spark-kafka-source-3f0a-driver-0", [], ["range"], ["x"], 1), GroupKind.SPARK, False),
    (GroupSigns("flink-job"), GroupKind.FLINK, False),
    (GroupSigns("orders.Flink", never_had_members=True), GroupKind.FLINK, False),
    # Its name says Flink, but what never joins a group leaves no protocol type.
    (GroupSigns("flink-job", ["consumer"]), GroupKind.OFFSETS_ONLY, True),
    (GroupSigns("flink-job", has_offsets=False), GroupKind.OFFSETS_ONLY, True),
    (GroupSigns("flink-job", [], ["range"], ["flink-job-0"], 1), GroupKind.CONSUMERS, True),
    (GroupSigns("flinkster"), GroupKind.OFFSETS_ONLY, True),
    (GroupSigns("backfill", never_had_members=True), GroupKind.OFFSETS_ONLY, True),
    (GroupSigns("debug_kcat", [], ["range"], ["rdkafka", "rdkafka"], 2), GroupKind.KCAT, False),
    (GroupSigns("kafkacat", [], ["range"], ["rdkafka"], 1), GroupKind.KCAT, False),
    # librdkafka's client id alone is that of any client on it, and the name alone is only a name.
    (GroupSigns("billing", [], ["range"], ["rdkafka"], 1), GroupKind.CONSUMERS, True),
    (GroupSigns("kcat", [], ["range"], ["billing-1"], 1), GroupKind.CONSUMERS, True),
    (GroupSigns("kcat", [], ["range"], ["rdkafka"], 2), GroupKind.CONSUMERS, True),
    (GroupSigns("kcat"), GroupKind.OFFSETS_ONLY, True),
]  # fmt: skip


@pytest.mark.parametrize(("signs", "kind", "is_certain"), CASES)
def test_kinds(signs: GroupSigns, kind: GroupKind, is_certain: bool) -> None:
    found = kind_of_group(signs)
    assert (found.kind, found.is_certain) == (kind, is_certain)
    assert bool(found.evidence) == (kind is not GroupKind.CONSUMERS)


def test_every_kind_is_predicted_or_says_why_not() -> None:
    others = {GroupKind.CONSOLE, GroupKind.KCAT, GroupKind.FLINK, GroupKind.OFFSETS_ONLY, GroupKind.UNKNOWN}
    assert SERVICES.isdisjoint(WITHOUT_PREDICTION)
    assert SERVICES | WITHOUT_PREDICTION.keys() | others == set(GroupKind)
