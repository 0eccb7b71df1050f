"""The tables read from __consumer_offsets: from records by hand, from Kafka's own in any order, and malformed ones."""

import gzip
import json
import random
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from rebalance_sim.api import predict
from rebalance_sim.cli import USER_ERROR, main
from rebalance_sim.errors import UserError
from rebalance_sim.kafka.wire.consumer_protocol import TopicPartition, decode_assignment, decode_subscription
from rebalance_sim.kafka.wire.offsets_topic import GroupMetadata, OffsetCommit, RecordType, decode_key, decode_value
from rebalance_sim.sources.offsets_topic.dump import read_where
from rebalance_sim.sources.offsets_topic.fleet import OffsetsTopic, read_offsets_topic
from rebalance_sim.tables import MEMBERS, TOPICS
from tests.oracle.protocol_cases import spoilt
from tests.support.cases import JsonObject, golden
from tests.support.model import VERSIONS
from tests.support.offsets_records import (
    CLICKS,
    GONE,
    ORDERS,
    Written,
    commit,
    commit_tombstone,
    consumer,
    consumer_group,
    current,
    group,
    member,
    regular_expression,
    tombstone,
    topics_of_consumer_group,
)
from tests.support.rows import given_rows

RECORDS = "key binary, value binary, partition int, offset long"
Record = tuple[bytes | None, bytes | None, int, int]
CLASSIC_PROTOCOLS = ("cooperative-sticky", "range")
MUTATIONS = 10_000


def frame(spark: SparkSession, records: list[Record]) -> DataFrame:
    return given_rows(spark, records, RECORDS)


WRITTEN = [
    commit("orders", 1),
    commit("orders", 2, version=1),
    commit("gone", 3),
    commit_tombstone("gone"),
    commit("clicks", 4, "alone", version=4),
    group("classic", [member("a", ("orders",)), member("b", ("orders", "clicks"), (TopicPartition("orders", 0),))]),
    group("broken", [member("a", subscription=b"\0\0\0"), member("b")]),
    group("short", [member("k", subscription=bytes.fromhex("00010000000100027437ffffffff"))], leader="k"),
    group("empty", [], protocol=None, leader=None),
    group("workers", [member("w")], "connect", "sessioned", "w"),
    tombstone(RecordType.GROUP_METADATA, "dead"),
    consumer_group(),
    topics_of_consumer_group(),
    consumer("m1", "range", "cl.*"),
    consumer("m2", classic=CLASSIC_PROTOCOLS),
    consumer("m3"),
    current("m1", {CLICKS: [1, 0], ORDERS: [2]}),
    current("m2", {GONE: [5], ORDERS: [0, 1]}),
    regular_expression("cl.*", "clicks"),
    (tombstone(RecordType.SHARE_GROUP_METADATA, "shared")[0], b"\0\0"),
    tombstone(RecordType.SHARE_GROUP_METADATA, "deleted"),
    (tombstone(RecordType.STREAMS_GROUP_METADATA, "totals")[0], b"\0\0"),
]
BROKEN: list[Record] = [(None, b"", 3, 0), (b"\0\1\0", b"", 3, 1), (b"\0\x63", None, 3, 2), (None, None, 3, 3)]


def one_after_the_other(written: Sequence[Written]) -> list[Record]:
    return [(key, value, 0, i) for i, (key, value) in enumerate(written)]


def by_hand() -> list[Record]:
    return one_after_the_other(WRITTEN) + BROKEN


def rows(table: DataFrame, *names: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in table.select(*names).collect()), key=repr)


def pairs(partitions: list[Row] | None) -> list[tuple[Any, ...]] | None:
    return None if partitions is None else [tuple(each) for each in partitions]


@pytest.fixture(scope="module")
def read(spark: SparkSession) -> OffsetsTopic:
    return read_offsets_topic(frame(spark, by_hand()), cluster="c1")


@pytest.mark.scale
def test_offsets_of_records_by_hand(read: OffsetsTopic) -> None:
    assert rows(read.offsets, *read.offsets.columns) == [
        ("c1", "alone", "clicks", 0, 4, None, "m", 5, None),
        ("c1", "classic", "orders", 0, 2, None, "m", 5, 9),
    ]


@pytest.mark.scale
def test_classic_members_of_records_by_hand(read: OffsetsTopic) -> None:
    members = {(row.group_id, row.member_id): row for row in read.members.where("group_id != 'new'").collect()}
    assert sorted(members) == [
        *(("broken", "a"), ("broken", "b"), ("classic", "a"), ("classic", "b"), ("short", "k"), ("workers", "w"))
    ]
    leader = members["classic", "b"]
    assert leader.asDict() == dict.fromkeys(MEMBERS.names) | {
        "cluster": "c1",
        "group_id": "classic",
        "member_id": "b",
        "instance_id": "i",
        "client_id": "c",
        "host": "/h",
        "rack": "r1",
        "protocol_type": "consumer",
        "protocols": ["range"],
        "subscription": ["clicks", "orders"],
        "owned": [Row(topic="orders", partition=0)],
        "generation": 4,
        "user_data": bytearray(b"u"),
        "join_order": 0,
        "session_timeout_ms": 45_000,
        "rebalance_timeout_ms": 300_000,
        "client_library": "java;franz-go",
        "client_evidence": "subscription bytes",
        "generation_at_ms": 1,
        "protocols_assumed": "elected protocol",
    }
    short = members["short", "k"]
    assert (short.subscription, short.owned, short.client_library) == (["t7"], [], "kafka-go")
    found = (short.protocols, short.protocols_assumed)
    assert found == (["range", "roundrobin"], "library default, consistent with the elected protocol")
    assert (members["classic", "a"].join_order, members["classic", "a"].owned) == (1, [])
    worker = members["workers", "w"]
    shown = (worker.protocol_type, worker.protocols, worker.subscription, worker.owned)
    assert shown == ("connect", ["sessioned"], [], None)


@pytest.mark.scale
def test_members_of_consumer_protocol_groups(read: OffsetsTopic) -> None:
    members = {row.member_id: row for row in read.members.where("group_id = 'new'").collect()}
    assert {name: (row.protocols, row.generation, row.session_timeout_ms) for name, row in members.items()} == {
        "m1": (["server-range"], 7, None),
        "m2": (["cooperative-sticky", "range"], 7, 45_000),
        "m3": (["server-range"], None, None),
    }
    found = {name: row.protocols_assumed for name, row in members.items()}
    assert found == {"m1": None, "m2": None, "m3": "assignor of the group"}
    assert {name: row.subscribed_regex for name, row in members.items()} == {"m1": "cl.*", "m2": None, "m3": None}
    assert {name: (row.subscription, pairs(row.owned)) for name, row in members.items()} == {
        "m1": (["clicks", "orders"], [("clicks", 0), ("clicks", 1), ("orders", 2)]),
        "m2": (["orders"], [("orders", 0), ("orders", 1)]),
        "m3": (["orders"], None),
    }


@pytest.mark.scale
@pytest.mark.parametrize(
    ("preferences", "expected"),
    [
        ([None, None], "server-uniform"),
        ([None, None, "range"], "server-range"),
        ([None, "range", "uniform"], "server-uniform"),
        ([None, "range", "uniform", "range"], "server-range"),
    ],
)
def test_members_without_a_preferred_assignor_have_that_of_most_others(
    spark: SparkSession, preferences: list[str | None], expected: str
) -> None:
    written = [consumer(f"m{n}", preferred) for n, preferred in enumerate(preferences)]
    written.append(consumer("classic", classic=CLASSIC_PROTOCOLS))
    read = read_offsets_topic(frame(spark, one_after_the_other(written)))
    protocols = {row.member_id: row.protocols for row in read.members.collect()}
    assert protocols == {
        "classic": ["cooperative-sticky", "range"],
        **{f"m{n}": [f"server-{preferred}" if preferred else expected] for n, preferred in enumerate(preferences)},
    }


@pytest.mark.scale
def test_topics_and_rejects_of_records_by_hand(read: OffsetsTopic) -> None:
    assert rows(read.topics, "cluster", "topic", "partitions", "topic_id") == [("c1", "orders", 3, ORDERS)]
    rejects = {(row.table, row.group_id, row.reason): json.loads(row.row) for row in read.rejects.collect()}
    no_name = f"topic id {GONE} has no name; --topics with a topic_id gives it one"
    cut_off = "subscription: topics: 4 bytes expected at byte 2, 1 are left"
    first, second, third = (
        {"partition": 3, "offset": offset, "key": key, "value": value}
        for offset, key, value in ((1, "000100", ""), (2, "0063", None), (3, None, None))
    )
    assert rejects == {
        ("assigned_partitions", "new", no_name): {"member_id": "m2", "topic_id": GONE, "partitions": [5]},
        ("members", "broken", cut_off): {"member_id": "a", "client_id": "c", "host": "/h"},
        ("offsets_topic", None, "offset commit key: group: 2 bytes expected at byte 2, 1 are left"): first,
        ("offsets_topic", None, "record key: type: 99 is unknown at byte 0"): second,
        ("offsets_topic", None, "record key: null"): third,
    }
    assert read.rejects.count() == 6


@pytest.mark.scale
def test_every_record_is_counted_by_type_and_status(read: OffsetsTopic) -> None:
    assert read.records == {
        "unreadable": {"rejected": 4},
        "offset commit": {"superseded": 2, "tombstone": 1, "used": 2},
        "group metadata": {"tombstone": 1, "used": 5},
        "consumer group metadata": {"used": 1},
        "consumer group partition metadata": {"used": 1},
        "consumer group member metadata": {"used": 3},
        "consumer group current member assignment": {"used": 2},
        "consumer group regular expression": {"used": 1},
        "share group metadata": {"other group": 1, "tombstone": 1},
        "streams group metadata": {"other group": 1},
    }
    assert sum(sum(of_type.values()) for of_type in read.records.values()) == len(by_hand())


@pytest.mark.scale
def test_groups_of_other_types_are_listed(read: OffsetsTopic) -> None:
    found = rows(read.listed_groups, "cluster", "group_id", "type", "members")
    assert found == [("c1", "shared", "share", None), ("c1", "totals", "streams", None)]


@pytest.mark.scale
def test_every_assumption_is_listed(read: OffsetsTopic) -> None:
    assert read.assumptions == [
        "the protocols of 1 member in 1 group are unknown; kafka-go's default, range, roundrobin, is used",
        "the protocols of 5 members in 3 groups are unknown; the protocol that their group elected is used",
        "server assignor is not set for 1 member in 1 group; the one that most members of the group prefer is used, "
        "or uniform",
        "regular expressions of 1 member in 1 group are replaced with the topics that the coordinator last found to "
        "match, if any",
        "subscription and owned partitions are unknown for 1 member in 1 group: their protocol type is not consumer",
        "join order is unknown for 5 members in 4 groups, except for the leader. Predicted tie-breaks may differ",
        "2 groups (alone, empty) without members: nothing is predicted for them",
        "2 groups (shared, totals) of type share or streams: no assignment is predicted for them",
        "no topics table is given: the only topics are those stored by consumer-protocol groups before Kafka 4.1",
        "log end offsets are unknown: the topic does not contain them",
    ]


@pytest.mark.scale
def test_given_topics_and_protocols_replace_assumptions(spark: SparkSession) -> None:
    topics = given_rows(spark, [("gone", 9, GONE)], "topic string, partitions int, topic_id string")
    read = read_offsets_topic(frame(spark, by_hand()), topics=topics, protocols=["sticky", "range"])
    offered = {row.protocol_type: row.protocols for row in read.members.where("group_id != 'new'").collect()}
    assert offered == {"consumer": ["sticky", "range"], "connect": ["sessioned"]}
    assert read.rejects.where("table = 'assigned_partitions'").count() == 0
    (owned,) = read.members.where("member_id = 'm2'").select("owned").collect()
    assert pairs(owned[0]) == [("gone", 5), ("orders", 0), ("orders", 1)]
    assert rows(read.topics, "topic", "partitions") == [("gone", 9)]
    assert read.topics.columns == TOPICS.names


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("key binary, value binary, partition int", "column 'offset' is missing"),
        ("key string, value binary, partition int, offset long", "column 'key' is string, expected binary"),
    ],
)
def test_missing_columns_and_other_types_are_an_error(spark: SparkSession, schema: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        read_offsets_topic(given_rows(spark, [], schema))


# ---- Kafka's own records


def as_bytes(record: JsonObject) -> tuple[bytes, bytes | None]:
    return bytes.fromhex(record["key"]), None if record["value"] is None else bytes.fromhex(record["value"])


def golden_records() -> list[Record]:
    """Return the records that four releases wrote, one after the other into three partitions."""
    answers = [answer for version in VERSIONS for answer in golden(f"offsets-topic-{version}")]
    written = [record for answer in answers for record in answer["records"]]
    return [(*as_bytes(record), i % 3, i // 3) for i, record in enumerate(written)]


def printed_records(version: str) -> list[Record]:
    """Return the output of the first two formatters of a release, in the order of writing."""
    records = [record for answer in golden(f"offsets-topic-{version}") for record in answer["records"]]
    # A formatter of 3.9 throws for some groups that real consumers cannot produce.
    return [(*as_bytes(record), 0, i) for i, record in enumerate(records) if any(record["printed"][:2])]


def reference(records: list[Record]) -> tuple[dict[Any, Any], dict[Any, Any], Counter[tuple[str, str]]]:
    """Return committed offsets, classic members and records by type, from a loop over a dictionary."""
    last: dict[Any, tuple[Any, bytes | None]] = {}
    counts: Counter[tuple[str, str]] = Counter()
    for key, value, _, _ in sorted(records, key=lambda record: record[2:]):
        assert key is not None
        name = decode_key(key)
        kind = max(name.type, RecordType.OFFSET_COMMIT)
        identity = (kind, name.group_id, name.topic, name.partition, name.member_id, name.regular_expression)
        counts[kind.name.lower().replace("_", " "), "superseded"] += identity in last
        last[identity] = (name, value)
    offsets, members = {}, {}
    for (kind, group_id, topic, partition, *_), (_, value) in last.items():
        status = "used" if kind.is_of_consumers else "other group"
        counts[kind.name.lower().replace("_", " "), "tombstone" if value is None else status] += 1
        decoded = decode_value(kind, value) if value is not None and status == "used" else None
        if isinstance(decoded, OffsetCommit):
            offsets[group_id, topic, partition] = (decoded.offset, decoded.metadata, decoded.expire_timestamp_ms)
        if isinstance(decoded, GroupMetadata):
            for place, each in enumerate(decoded.members):
                subscription = decode_subscription(each.subscription or b"")
                owned = decode_assignment(each.assignment).partitions if each.assignment else ()
                is_consumer = decoded.protocol_type == "consumer"
                members[group_id, each.member_id] = (
                    list(subscription.topics) if is_consumer else [],
                    [tuple(each) for each in owned] if is_consumer else None,
                    0 if each.member_id == decoded.leader else 1 + place,
                    each.group_instance_id,
                )
    return offsets, members, +counts


def as_reference(read: OffsetsTopic) -> tuple[dict[Any, Any], dict[Any, Any], Counter[tuple[str, str]]]:
    offsets = {
        (row.group_id, row.topic, row.partition): (row.committed, row.metadata, row.expires_at_ms)
        for row in read.offsets.collect()
    }
    classic = read.members.where(~F.element_at("protocols", 1).startswith("server-") & F.col("join_order").isNotNull())
    members = {
        (row.group_id, row.member_id): (row.subscription, pairs(row.owned), row.join_order, row.instance_id)
        for row in classic.collect()
    }
    counts = {(kind, status): n for kind, of_type in read.records.items() for status, n in of_type.items()}
    return offsets, members, Counter(counts)


@pytest.mark.scale
@pytest.mark.parametrize(("layout", "seed"), [(1, 0), (7, 2)])
def test_the_last_record_of_a_key_counts(spark: SparkSession, layout: int, seed: int) -> None:
    records = golden_records()
    expected = reference(records)
    random.Random(seed).shuffle(records)
    read = read_offsets_topic(frame(spark, records).repartition(layout))
    offsets, members, counts = as_reference(read)
    assert (offsets, members, counts) == expected
    assert len(offsets) > 100
    assert len(members) > 10
    assert read.rejects.where("table != 'assigned_partitions'").count() == 0


@pytest.mark.scale
def test_changed_records_are_used_or_rejected(spark: SparkSession) -> None:
    rng = random.Random(10)
    whole = golden_records()
    records: list[Record] = []
    for i in range(MUTATIONS):
        key, value, _, _ = rng.choice(whole)
        assert key is not None
        key = spoilt(rng, key) if rng.random() < 0.5 else key
        records.append((key, value and spoilt(rng, value), 0, i))
    read = read_offsets_topic(frame(spark, records).repartition(3))
    statuses: Counter[str] = Counter()
    for of_type in read.records.values():
        statuses.update(of_type)
    assert statuses.total() == MUTATIONS
    by_table = Counter(row.table for row in read.rejects.collect())
    assert by_table["offsets_topic"] == statuses["rejected"] > MUTATIONS / 20
    assert read.members.where("subscription IS NULL").count() == by_table["members"] > 0
    assert read.offsets.count() > MUTATIONS / 200
    json.dumps([row.asDict(recursive=True) for row in read.members.drop("user_data").collect()])


# ---- dumps


def printed(version: str, *formatters: int) -> Iterator[str]:
    for answer in golden(f"offsets-topic-{version}"):
        for record in answer["records"]:
            yield from (record["printed"][formatter] or "" for formatter in formatters)


@pytest.mark.scale
def test_a_dump_of_3_8_as_text(spark: SparkSession, tmp_path: Path) -> None:
    """The offsets are those of the bytes; members lack the fields that the formatter does not print."""
    (tmp_path / "offsets.txt").write_text("".join(printed("3.9", 0)))
    (tmp_path / "groups.txt.gz").write_bytes(gzip.compress("".join(printed("3.9", 1)).encode()))
    read = read_where(spark, str(tmp_path))
    offsets, members, _ = reference(printed_records("3.9"))
    assert as_reference(read)[0] == offsets
    topics = read.offsets.groupBy("group_id").agg(F.sort_array(F.collect_set("topic")).alias("topics"))
    used = {row.group_id: row.topics for row in topics.collect()}
    found = read.members.collect()
    assert {(row.group_id, row.member_id) for row in found} == members.keys()
    assert all(row.subscription == used.get(row.group_id, []) for row in found if row.protocol_type == "consumer")
    assert {(row.owned, row.join_order) for row in found} == {(None, None)}
    assert read.rejects.count() == 0
    assert any("do not print" in sentence for sentence in read.assumptions)


@pytest.mark.scale
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_a_dump_of_4_3_as_json(spark: SparkSession, tmp_path: Path, suffix: str) -> None:
    """Objects on one line, as Kafka prints them, give the same tables as the bytes."""
    for number, name in enumerate(("offsets", "groups")):
        text = "".join(printed("4.3", number)).encode()
        (tmp_path / f"{name}.json{suffix}").write_bytes(gzip.compress(text) if suffix else text)
    read = read_where(spark, str(tmp_path))
    assert as_reference(read) == reference(printed_records("4.3"))


GENERATIONS = [(1, 0), (2, 1_000_000), (7, 2_000_000), (9, 4_000_000)]
"""Those of a group, with their times: the first is more than an hour before the last."""
OF_GENERATIONS = ("generation", "generation_at_ms", "earlier_generation", "earlier_generation_at_ms")


KEPT: list[tuple[tuple[int, ...], tuple[int | None, int | None]]] = [
    ((0, 1, 2, 3), (2, 1_000_000)),
    ((0, 3), (None, None)),
    ((2, 3), (7, 2_000_000)),
    ((3,), (None, None)),
]
"""Which of them the records of a group have, and the earlier one that is read."""


@pytest.mark.scale
def test_earlier_generations_of_a_group_are_read_as_far_as_they_are_kept(spark: SparkSession, tmp_path: Path) -> None:
    """From records, of which compaction may have removed some, and from what Kafka's formatter prints."""
    members = [member("a", ("orders",)), member("b", ("orders",))]
    named = {f"kept {kept}": (kept, earlier) for kept, earlier in KEPT}
    records = [group(name, members, at=GENERATIONS[number]) for name, (kept, _) in named.items() for number in kept]
    expected = sorted((name, 9, 4_000_000, *earlier) for name, (_, earlier) in named.items() for _ in members)
    found = read_offsets_topic(frame(spark, one_after_the_other(records)))
    assert rows(found.members, "group_id", *OF_GENERATIONS) == expected
    lines = [as_printed(key, value) for key, value in records if value is not None]
    (tmp_path / "groups.txt").write_text("".join(f"{line}\n" for line in lines))
    assert rows(read_where(spark, str(tmp_path)).members, "group_id", *OF_GENERATIONS) == expected


def as_printed(key: bytes, value: bytes) -> str:
    """Return a classic group as the formatter of 4.x prints it."""
    decoded = decode_value(RecordType.GROUP_METADATA, value)
    assert isinstance(decoded, GroupMetadata)
    members = [
        {
            "memberId": each.member_id,
            "groupInstanceId": each.group_instance_id,
            "clientId": each.client_id,
            "clientHost": each.client_host,
            "rebalanceTimeout": each.rebalance_timeout_ms,
            "sessionTimeout": each.session_timeout_ms,
            "subscription": b64encode(each.subscription or b"").decode(),
            "assignment": b64encode(each.assignment or b"").decode(),
        }
        for each in decoded.members
    ]
    data = {"protocolType": decoded.protocol_type, "generation": decoded.generation, "protocol": decoded.protocol}
    data |= {"leader": decoded.leader, "currentStateTimestamp": decoded.state_timestamp_ms, "members": members}
    printed_key = {"type": 2, "data": {"group": decode_key(key).group_id}}
    return json.dumps({"key": printed_key, "value": {"version": 3, "data": data}}, separators=(",", ":"))


@pytest.mark.scale
def test_the_last_line_of_a_key_counts_across_splits_of_a_file(spark: SparkSession, tmp_path: Path) -> None:
    lines = [
        f"[g,t,{i % 50}]::OffsetAndMetadata(offset={i}, leaderEpoch=Optional.empty, metadata=, commitTimestamp=1, "
        "expireTimestamp=None)\n"
        for i in range(5000)
    ]
    (tmp_path / "dump.txt").write_text("".join(lines))
    spark.conf.set("spark.sql.files.maxPartitionBytes", 10_000)
    try:
        read = read_where(spark, str(tmp_path / "dump.txt"))
        assert sorted(row.committed for row in read.offsets.collect()) == list(range(4950, 5000))
    finally:
        spark.conf.unset("spark.sql.files.maxPartitionBytes")
    assert read.records == {"offset commit": {"used": 50, "superseded": 4950}}


def test_a_path_that_is_not_a_dump_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot read the dump"):
        read_where(spark, str(tmp_path / "missing"))
    with pytest.raises(UserError, match="contains no files"):
        read_where(spark, str(tmp_path))
    (tmp_path / "wide.txt").write_bytes("[g,t,0]::NULL\n".encode("utf-16"))
    with pytest.raises(UserError, match="is UTF-16"):
        read_where(spark, str(tmp_path))


@pytest.mark.scale
def test_lines_that_are_not_records_are_rejected(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "dump.txt").write_text("[g,t,0]::NULL\nProcessed a total of 1 messages\n\nnonsense\n")
    read = read_where(spark, str(tmp_path))
    assert read.records == {"unreadable": {"rejected": 2}, "offset commit": {"tombstone": 1}}
    found = sorted(json.loads(row.row)["text"] for row in read.rejects.collect())
    assert found == ["Processed a total of 1 messages", "nonsense"]


@pytest.mark.scale
def test_a_group_with_a_member_that_cannot_be_read_is_marked(read: OffsetsTopic) -> None:
    """It is not predicted as if it were complete."""
    broken = read.members.where("group_id = 'broken'")
    shown = rows(broken, "member_id", "protocols", "subscription", "generation")
    assert shown == [("a", ["range"], None, 4), ("b", ["range"], [], 4)]
    found = predict(broken, read.topics)
    assert rows(found.assignments, "member_id", "rejected_members") == [("b", 1)]
    assert rows(found.balance, "rejected_members") == [(1,)]
    assert rows(found.rejects, "table", "group_id", "reason") == [("members", "broken", "subscription is null")]


# ---- the job


@pytest.mark.scale
def test_the_job_writes_its_tables(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame(spark, by_hand()).write.parquet(f"{tmp_path}/dump")
    given_rows(spark, [("gone", 9, GONE)], "topic string, partitions int, topic_id string").write.json(
        f"{tmp_path}/topics.json"
    )
    arguments = ["fleet", "--offsets-topic", f"{tmp_path}/dump", "--out", f"{tmp_path}/out"]
    assert main([*arguments, "--topics", f"{tmp_path}/topics.json"]) == 0
    record = json.loads((tmp_path / "out/_run.json").read_text())
    of_streams, none = {"streams_members": 1, "subtopologies": 0}, {"streams_members": 0, "subtopologies": 0}
    assert record["rows"]["in"] == of_streams | {"offsets_topic": 26, "members": 9, "workers": 1}
    assert record["rows"]["used"] == {**none, "offsets_topic": 22, "members": 8, "workers": 0}
    assert record["rows"]["rejected"] == of_streams | {"offsets_topic": 4, "members": 1, "workers": 1}
    tables = {"topics": 1, "members": 9, "offsets": 2, "listed_groups": 2, "workers": 0, "rejects": 7}
    assert record["rows"]["out"] == tables | none
    assert record["rows"]["records"]["offset commit"] == {"tombstone": 1, "used": 2, "superseded": 2}
    printed = capsys.readouterr().out
    assert "wrote 1 topic, 9 members, 2 offsets, 2 listed groups" in printed
    assert "26 rows of offsets_topic, 9 members; 7 rows rejected" in printed

    assert main([*arguments, "--on-bad-input", "fail"]) == USER_ERROR
    assert "rejected rows: 8" in capsys.readouterr().err
    assert not (tmp_path / "out/_run.json").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--offsets-topic", "dump", "--command-config", "x"], "--command-config: only allowed with"),
        (["--synthetic", "x", "--topics", "y"], "--topics: only allowed with --offsets-topic"),
        (["--offsets-topic", "/no/such/dump"], "cannot read the dump '/no/such/dump'"),
    ],
)
def test_wrong_options_are_an_error(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    assert main(["fleet", *options, "--out", f"{tmp_path}/out"]) == USER_ERROR
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


# ---- scale


@pytest.mark.scale
def test_a_dump_of_a_million_commits_and_fifty_thousand_groups(spark: SparkSession, tmp_path: Path) -> None:
    """Each key has two records; the second counts."""
    groups, commits, members = 50_000, 1_000_000, 3
    number = F.format_string("%08x", "id")
    key, value = commit("orders", 0, "group-00000000")
    assert value is not None
    name, partition = key.index(b"group-") + len("group-"), len(key) - 4
    of_key = F.concat(
        F.lit(key[:name]),
        F.format_string("%08x", F.col("id") % groups).cast("binary"),
        F.lit(key[name + 8 : partition]),
        F.unhex(F.format_string("%08x", F.floor(F.col("id") / groups))),
    )
    of_value = F.concat(F.lit(value[:2]), F.unhex(F.lpad(F.hex("offset"), 16, "0")), F.lit(value[10:]))
    rounds = [
        spark.range(commits).select(F.lit(0).alias("partition"), (F.col("id") + n * commits).alias("offset"), "id")
        for n in (0, 1)
    ]
    offsets = rounds[0].union(rounds[1]).select(of_key.alias("key"), of_value.alias("value"), "partition", "offset")

    members_of_group = [member(f"m{i}", ("orders",), (TopicPartition("orders", i),)) for i in range(members)]
    group_key, group_value = group("group-00000000", members_of_group, leader="m0")
    of_group = F.concat(F.lit(group_key[:-8]), number.cast("binary"))
    classic = spark.range(groups).select(
        of_group.alias("key"),
        F.lit(group_value).alias("value"),
        F.lit(1).alias("partition"),
        F.col("id").alias("offset"),
    )
    offsets.union(classic).write.parquet(f"{tmp_path}/dump")

    assert main(["fleet", "--offsets-topic", f"{tmp_path}/dump", "--out", f"{tmp_path}/out"]) == 0
    rows = json.loads((tmp_path / "out/_run.json").read_text())["rows"]
    assert rows["out"] == {
        "topics": 0, "members": groups * members, "offsets": commits, "listed_groups": 0, "rejects": 0
    }  # fmt: skip
    found = rows["records"]
    assert found == {"offset commit": {"used": commits, "superseded": commits}, "group metadata": {"used": groups}}
    written = spark.read.parquet(f"{tmp_path}/out/offsets")
    assert written.agg(F.min("committed"), F.max("committed")).first() == (commits, 2 * commits - 1)
    assert written.select("group_id", "partition").distinct().count() == commits
