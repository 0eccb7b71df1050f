"""Streams groups in ``__consumer_offsets``: records that Kafka's classes wrote, and malformed ones."""

from pyspark.sql import SparkSession

from rebalance_sim.kafka.wire.offsets_topic import RecordType, decode_key, decode_value
from rebalance_sim.kafka.wire.streams_records import StreamsGroupMemberMetadata, StreamsGroupTopology, TopicInfo
from rebalance_sim.sources.streams.stored_groups import read_streams_groups
from tests.support.cases import golden
from tests.support.cluster.topic_reader import OFFSETS_RECORD

_MEMBER = RecordType.STREAMS_GROUP_MEMBER_METADATA
Record = tuple[bytes, bytes | None, int, int]


def _records() -> list[Record]:
    """Return the records of all golden cases, one after the other."""
    written = [record for answer in golden("streams-records-4.3.0") for record in answer["records"]]
    return [
        (bytes.fromhex(of["key"]), None if of["value"] is None else bytes.fromhex(of["value"]), 0, offset)
        for offset, of in enumerate(written)
    ]


def test_the_last_record_of_each_key_counts(spark: SparkSession) -> None:
    records = _records()
    ended = next(record for record in records if decode_key(record[0]).type is _MEMBER)
    tombstone: Record = (ended[0], None, 0, len(records))
    members, subtopologies, rejects = read_streams_groups(
        spark.createDataFrame([*records, tombstone], OFFSETS_RECORD), "prod"
    )
    last = {key: value for key, value, *_ in [*records, tombstone]}
    values = [
        (decode_key(key), decode_value(decode_key(key).type, value)) for key, value in last.items() if value is not None
    ]
    assert rejects.isEmpty()
    stored = set(map(tuple, members.select("cluster", "group_id", "member_id", "instance_id").collect()))
    assert stored == {
        ("prod", key.group_id, key.member_id, value.instance_id)
        for key, value in values
        if isinstance(value, StreamsGroupMemberMetadata)
    }
    parts = [
        (key.group_id, part.subtopology_id, bool(part.state_changelog_topics), _names(part.state_changelog_topics))
        for key, value in values
        if isinstance(value, StreamsGroupTopology)
        for part in value.subtopologies
    ]
    rows = subtopologies.select("group_id", "subtopology", "stateful", "changelogs").collect()
    assert sorted(map(tuple, rows)) == sorted(parts)


def _names(topics: tuple[TopicInfo, ...]) -> list[str]:
    return [topic.name for topic in topics]


def test_a_malformed_record_is_rejected(spark: SparkSession) -> None:
    (record, *_) = (of for of in _records() if decode_key(of[0]).type is RecordType.STREAMS_GROUP_TOPOLOGY)
    spoilt: Record = (record[0], b"\0\0\0", 0, 0)
    members, subtopologies, rejects = read_streams_groups(spark.createDataFrame([spoilt], OFFSETS_RECORD), "default")
    assert members.isEmpty()
    assert subtopologies.isEmpty()
    (reject,) = rejects.collect()
    assert reject["group_id"] == decode_key(record[0]).group_id
    assert "epoch: 4 bytes expected at byte 2, 1 are left" in reject["reason"]
