"""The generations read from all records of __consumer_offsets: by hand, from several dumps, printed, and malformed."""

import json
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from rebalance_sim.errors import UserError
from rebalance_sim.kafka.wire.consumer_protocol import TopicPartition
from rebalance_sim.kafka.wire.offsets_topic import GroupMetadata, RecordType, decode_key, decode_value
from rebalance_sim.sources.offsets_topic.dump import open_dump
from rebalance_sim.sources.offsets_topic.history import History, read_history, read_printed_history
from rebalance_sim.sources.offsets_topic.reading import Reading
from rebalance_sim.tables import EPISODES, GENERATION_MEMBERS, GENERATIONS
from tests.oracle.protocol_cases import spoilt
from tests.support.cases import golden
from tests.support.model import VERSIONS
from tests.support.offsets_records import (
    ORDERS,
    Written,
    commit,
    consumer,
    consumer_epoch,
    current,
    group,
    member,
    target,
    target_epoch,
    tombstone,
    topics_of_consumer_group,
)
from tests.support.rows import contents, given_rows

RECORDS = "key binary, value binary, partition int, offset long"
Record = tuple[bytes | None, bytes | None, int, int]
MUTATIONS = 5_000
T0, T1, T2 = (TopicPartition("t", number) for number in range(3))


def frame(spark: SparkSession, records: Sequence[Record]) -> DataFrame:
    return given_rows(spark, records, RECORDS)


def placed(written: Sequence[Written], partition: int = 0, first: int = 0) -> list[Record]:
    return [(key, value, partition, first + i) for i, (key, value) in enumerate(written)]


def classic(number: int, *members: bytes, group_id: str = "g", at_ms: int = 0) -> Written:
    """Return the record of a generation whose leader is the member ``a``."""
    has_any = len(members) > 0
    at = (number, at_ms or 1000 * number)
    return group(group_id, members, protocol="range" if has_any else None, leader="a" if has_any else None, at=at)


def of(name: str, *owned: TopicPartition, instance: str | None = None, **more: Any) -> bytes:
    return member(name, ("t",), owned, client=(instance, f"client-{name.rstrip('0123456789')}"), **more)


def shown(history: History) -> list[tuple[Any, ...]]:
    """Return group, generation, cause and evidence of all generations in their order."""
    rows = history.generations.select(
        "group_id", "recreated", "record_offset", "generation", "cause", "complete"
    ).collect()
    return [(row.group_id, row.generation, row.cause, row.complete) for row in sorted(rows)]


GROUP = [
    classic(1, of("a", T0, T1)),
    commit("t", 1, "g"),
    classic(2, of("a", T0), of("b1", T1)),
    classic(3, of("a", T0), of("b2", T1)),
    classic(4, of("a", T0), of("b2", T1, T2)),
    classic(5),
]
CAUSES = [
    ("g", 1, "first generation seen", True),
    ("g", 2, "member joined", True),
    ("g", 3, "member restarted", True),
    ("g", 4, "topic grew", True),
    ("g", 5, "group emptied", True),
]


def test_each_generation_of_a_classic_group(spark: SparkSession) -> None:
    history = read_history([frame(spark, placed(GROUP))])
    assert shown(history) == CAUSES
    assert history.records == {"offset commit": {"not needed": 1}, "group metadata": {"used": 5}}
    rows = {row.generation: row for row in history.generations.collect()}
    assert rows[3].asDict(recursive=True) == dict.fromkeys(GENERATIONS.names) | {
        "cluster": "default",
        "group_id": "g",
        "recreated": 0,
        "generation": 3,
        "completed_at_ms": 3000,
        "type": "classic",
        "protocol_type": "consumer",
        "since_last_ms": 1000,
        "rewritten": False,
        "protocol": "range",
        "leader_id": "a",
        "members": 2,
        "joined": 0,
        "left": 0,
        "replaced": 0,
        "restarted": 1,
        "changed_subscription": 0,
        "changed_library": 0,
        "joined_ids": [],
        "left_ids": [],
        "replaced_ids": [],
        "restarted_ids": ["b2"],
        "changed_subscription_ids": [],
        "changed_library_ids": [],
        "topics_grown": [],
        "assigned": 2,
        "moved": 0,
        "moved_back": 0,
        "skipped": 0,
        "complete": True,
        "cause": "member restarted",
        "cause_member": "client-b",
        "evidence": "member client-b rejoined with a new member id: restarted, or removed and back",
        "episode": 1,
        "commits_compared": 0,
        "rewound": 0,
        "rewound_records": 0,
        "downtime_partitions": 0,
        "downtime_reason": "no partition has a commit before and after the generation",
        "record_partition": 0,
        "record_offset": 3,
    }
    assert rows[4].topics_grown == [Row(topic="t", partitions_before=2, partitions=3)]
    (episode,) = history.episodes.collect()
    assert (episode.kind, episode.generations, episode.ended_at_ms, episode.members_after) == ("mixed", 5, 5000, 0)
    for name, table in (
        ("generations", GENERATIONS),
        ("generation_members", GENERATION_MEMBERS),
        ("episodes", EPISODES),
    ):
        assert getattr(history, name).columns == table.names


def test_members_as_the_leader_saw_them(spark: SparkSession) -> None:
    """Owned partitions are those that the member sent; the assignment is what it got."""
    written = [classic(7, of("a", T0, T1), of("b", sent=(TopicPartition("t", 2),)))]
    history = read_history([frame(spark, placed(written))])
    rows = {row.member_id: row for row in history.generation_members.collect()}
    b = rows["b"].asDict(recursive=True)
    assert (b["generation"], b["owned_generation"], b["owned"]) == (7, 1, [{"topic": "t", "partition": 2}])
    assert (b["assigned"], b["join_order"], b["protocol"], b["protocols"]) == ([], 2, "range", ["range"])
    assert (b["subscription"], b["rack"], b["user_data"]) == (["t"], "r1", bytearray(b"u"))
    assert rows["a"].asDict(recursive=True)["assigned"] == [T0._asdict(), T1._asdict()]
    assert (rows["a"].join_order, rows["a"].completed_at_ms, rows["a"].session_timeout_ms) == (0, 7000, 45_000)


@pytest.mark.scale
def test_a_replaced_static_member_rewrites_the_record(spark: SparkSession) -> None:
    written = [classic(1, of("a", T0), of("s1", T1, instance="s")), classic(1, of("a", T0), of("s2", T1, instance="s"))]
    history = read_history([frame(spark, placed(written))])
    first, second = sorted(history.generations.collect(), key=lambda row: row.record_offset)
    assert (first.rewritten, second.rewritten, second.cause, second.since_last_ms) == (
        False, True, "static member replaced", None
    )  # fmt: skip
    assert (second.replaced_ids, second.cause_member, second.moved) == (["s2"], "s", 0)
    assert sorted(row.member_id for row in history.generation_members.collect()) == ["a", "s1"]


def test_missing_offsets_show(spark: SparkSession) -> None:
    """Compaction removed generations 2 and 3; 5 never became stable: no record can be missing there."""
    a = of("a", T0)
    records = placed([classic(1, a)]) + placed([classic(4, a), commit("t", 1), classic(6, a, of("b"))], first=7)
    history = read_history([frame(spark, records)])
    assert shown(history) == [
        ("g", 1, "first generation seen", True),
        ("g", 4, "unknown", False),
        ("g", 6, "member joined", True),
    ]
    rows = {row.generation: row for row in history.generations.collect()}
    assert [rows[number].skipped for number in (1, 4, 6)] == [None, 2, 1]
    assert rows[4].incomplete_reason == (
        "offsets between 1 and 6 of partition 0 are missing: compacted, or markers of transactions"
    )
    assert rows[6].evidence == "member client-b joined; 1 generation before it never became stable"


@pytest.mark.scale
def test_the_order_of_records_in_a_dump_does_not_matter(spark: SparkSession) -> None:
    """Tasks read records in any order, and those of a block of offsets may be in several tasks."""
    written = [*GROUP, *(commit("t", number, "g") for number in range(200)), classic(6, of("a", T0))]
    records = placed(written) + placed(written, partition=1, first=300)
    del records[50:60], records[300]
    shuffled = random.Random(0).sample(records, len(records))
    histories = [
        read_history([frame(spark, given).repartition(tasks)]) for given, tasks in ((records, 1), (shuffled, 5))
    ]
    for name in ("generations", "generation_members", "episodes"):
        assert contents(getattr(histories[0], name)) == contents(getattr(histories[1], name)), name
    assert histories[0].records == histories[1].records
    incomplete = {row.incomplete_reason for row in histories[0].generations.collect()} - {None}
    found = {reason.split(" are missing")[0] for reason in incomplete}
    assert found == {"offsets between 50 and 59 of partition 0", "offsets between 403 and 403 of partition 1"}


def test_dumps_are_merged_by_position(spark: SparkSession) -> None:
    """A later dump continues an earlier one, from which compaction had not removed anything yet."""
    records = placed(GROUP)
    later = [*records[:1], *records[3:]]
    merged = read_history([frame(spark, records[:4]), frame(spark, later)])
    assert shown(merged) == CAUSES
    assert merged.records["group metadata"] == {"used": 5, "duplicate": 2}
    assert contents(merged.generations) == contents(read_history([frame(spark, records)]).generations)


@pytest.mark.scale
def test_dumps_that_disagree_are_rejected(spark: SparkSession) -> None:
    records = placed(GROUP)
    other = [*placed([classic(2, of("z"), group_id="other")], first=2), records[3]]
    history = read_history([frame(spark, records), frame(spark, other)])
    assert [(row.group_id, row.reason) for row in sorted(history.rejects.collect())] == [
        ("g", "dumps disagree about offset 2 of partition 0"),
        ("other", "dumps disagree about offset 2 of partition 0"),
    ]
    assert history.records["group metadata"] == {"used": 4, "duplicate": 1, "rejected": 2}
    assert [generation for _, generation, *_ in shown(history)] == [1, 3, 4, 5]


@pytest.mark.scale
def test_a_group_id_that_is_used_again(spark: SparkSession) -> None:
    """A deleted group begins anew, as one that changes its protocol does; a clock that runs backwards is no change."""
    deleted = tombstone(RecordType.GROUP_METADATA, "new")
    written = [
        classic(8, of("a"), group_id="new", at_ms=9_000),
        classic(9, of("a"), of("b"), group_id="new", at_ms=5_000),
        deleted,
        classic(1, of("a"), group_id="new"),
        deleted,
        consumer("m1", "range"),
        topics_of_consumer_group(),
        consumer_epoch(2),
        target("m1", {ORDERS: [0, 1, 2]}),
        target_epoch(2),
    ]
    history = read_history([frame(spark, placed(written))])
    rows = sorted(history.generations.collect(), key=lambda row: row.record_offset)
    assert [(row.recreated, row.type, row.generation, row.evidence) for row in rows] == [
        (0, "classic", 8, "the group is new"),
        (0, "classic", 9, "member client-b joined"),
        (1, "classic", 1, "the group was deleted before"),
        (2, "consumer", 2, "the group was deleted before"),
    ]
    assert [row.since_last_ms for row in rows] == [None] * 4


@pytest.mark.scale
def test_a_new_group_may_have_had_earlier_records(spark: SparkSession) -> None:
    """Compaction removed 41 generations of a deleted group on a broker of 4.3.1, and the record of its deletion."""
    records = [*placed([classic(1, of("z"), group_id="other")]), *placed([classic(1, of("a"))], first=5)]
    rows = read_history([frame(spark, records)]).generations.collect()
    assert {row.group_id: (row.complete, row.evidence) for row in rows} == {
        "other": (True, "the group is new"),
        "g": (False, "the group is new, or was deleted before: earlier records may be missing"),
    }


@pytest.mark.scale
def test_epochs_of_a_consumer_protocol_group(spark: SparkSession) -> None:
    """A member joins, another joins, and it leaves: the last epoch has no assignment yet."""
    gone = [
        tombstone(kind, "new", "m2")
        for kind in (
            RecordType.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT,
            RecordType.CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER,
            RecordType.CONSUMER_GROUP_MEMBER_METADATA,
        )
    ]
    written = [
        *(consumer("m1", "range"), topics_of_consumer_group(), consumer_epoch(1)),
        *(target("m1", {ORDERS: [0, 1, 2]}), target_epoch(1), current("m1", {ORDERS: [0, 1, 2]})),
        *(consumer("m2"), consumer_epoch(2)),
        *(target("m1", {ORDERS: [0, 1]}), target("m2", {ORDERS: [2]}), target_epoch(2)),
        *gone,
        consumer_epoch(3),
    ]
    history = read_history([frame(spark, placed(written))])
    rows = {row.generation: row for row in history.generations.collect()}
    found = [(rows[epoch].cause, rows[epoch].members, rows[epoch].assigned) for epoch in (1, 2, 3)]
    assert found == [("first generation seen", 1, 3), ("member joined", 2, 3), ("member left", 1, None)]
    assert (rows[2].moved, rows[2].type, rows[2].completed_at_ms) == (1, "consumer", None)
    members = {(row.generation, row.member_id): row for row in history.generation_members.collect()}
    assert members[2, "m1"].owned == [Row(topic="orders", partition=number) for number in range(3)]
    assert members[2, "m2"].assigned == [Row(topic="orders", partition=2)]
    seen = (members[2, "m2"].protocols, members[2, "m2"].protocols_assumed)
    assert seen == (["server-range"], "assignor of the group")
    assert members[3, "m1"].assigned is None


@pytest.mark.scale
def test_groups_and_times_are_selected(spark: SparkSession) -> None:
    records = placed([*GROUP, classic(3, of("a"), group_id="other")])
    history = read_history([frame(spark, records)], Reading(since_ms=2000, until_ms=3000), groups=["g"])
    assert shown(history) == CAUSES[1:3]
    assert history.records["group metadata"] == {"used": 5, "not needed": 1}


def test_malformed_records_and_members_are_rejected(spark: SparkSession) -> None:
    key, value = classic(2, of("a", T0))
    records = placed([classic(1, of("a", T0), of("b", subscription=b"\0\0\0")), (key, value and value[:20])])
    records += [(b"\0\2\0", None, 0, 2), (b"\0\x63", b"", 0, 3), (None, b"", 0, 4), (key, b"\0\x09", 0, 5)]
    records.append(records[3])
    history = read_history([frame(spark, records)])
    rejects = [(row.table, row.group_id, row.reason) for row in history.rejects.collect()]
    assert sorted(rejects, key=str) == [
        ("members", "g", "subscription: topics: 4 bytes expected at byte 2, 1 are left"),
        ("offsets_topic", "g", "group metadata value: protocol: 5 bytes expected at byte 18, 2 are left"),
        ("offsets_topic", "g", "group metadata value: version: 9 is unknown at byte 0"),
        ("offsets_topic", None, "group metadata key: group: 2 bytes expected at byte 2, 1 are left"),
        ("offsets_topic", None, "record key: null"),
        ("offsets_topic", None, "record key: type: 99 is unknown at byte 0"),
    ]
    found = history.records
    assert found == {"group metadata": {"used": 1, "rejected": 3}, "unreadable": {"rejected": 2, "duplicate": 1}}
    members = {row.member_id: row for row in history.generation_members.collect()}
    assert (members["b"].subscription, members["b"].assigned) == (None, None)


@pytest.mark.parametrize("column", ["key", "offset"])
def test_missing_columns_are_an_error(spark: SparkSession, column: str) -> None:
    with pytest.raises(UserError, match=f"column '{column}' is missing"):
        read_history([frame(spark, []).drop(column)])


# ---- Kafka's own records


def golden_records() -> list[Record]:
    """Return the records that four releases wrote, one after the other into three partitions by group."""
    answers = [answer for version in VERSIONS for answer in golden(f"offsets-topic-{version}")]
    written = [record for answer in answers for record in answer["records"]]
    keys = [bytes.fromhex(record["key"]) for record in written]
    values = [None if record["value"] is None else bytes.fromhex(record["value"]) for record in written]
    return [
        (key, value, len(decode_key(key).group_id) % 3, i)
        for i, (key, value) in enumerate(zip(keys, values, strict=True))
    ]


@pytest.mark.scale
def test_every_record_of_a_classic_group_is_a_generation(spark: SparkSession) -> None:
    """The result does not depend on the order and the partitions of the dump."""
    records = golden_records()
    decoded = [(decode_key(key), value) for key, value, *_ in records if key is not None]
    groups = [decode_value(key.type, value) for key, value in decoded if key.type.name == "GROUP_METADATA" and value]
    expected = Counter(each.generation for each in groups if isinstance(each, GroupMetadata))
    history = read_history([frame(spark, records)])
    found = history.generations.where("type = 'classic'").collect()
    assert Counter(row.generation for row in found) == expected
    assert expected.total() > 100
    random.Random(3).shuffle(records)
    again = read_history([frame(spark, records).repartition(5)])
    for name in ("generations", "generation_members", "episodes", "rejects"):
        assert contents(getattr(history, name)) == contents(getattr(again, name)), name


@pytest.mark.scale
def test_changed_records_are_used_or_rejected(spark: SparkSession) -> None:
    rng, records = random.Random(11), list[Record]()
    whole = golden_records()
    for i in range(MUTATIONS):
        key, value, _, _ = rng.choice(whole)
        assert key is not None
        records.append((spoilt(rng, key) if rng.random() < 0.3 else key, value and spoilt(rng, value), 0, i))
    history = read_history([frame(spark, records)])
    statuses: Counter[str] = Counter()
    for of_type in history.records.values():
        statuses.update(of_type)
    assert statuses.total() == MUTATIONS
    assert history.rejects.where("table = 'offsets_topic'").count() == statuses["rejected"] > 0
    json.dumps([row.asDict(recursive=True) for row in history.generations.collect()])


# ---- text


@pytest.mark.scale
@pytest.mark.parametrize("version", VERSIONS)
def test_printed_records(spark: SparkSession, tmp_path: Path, version: str) -> None:
    records = [record for answer in golden(f"offsets-topic-{version}") for record in answer["records"]]
    lines = [text for record in records for text in record["printed"][1:2] if text]
    (tmp_path / "groups.txt").write_text("".join(f"{line}\n" for line in [*lines, "nonsense"]))
    dump = open_dump(spark, str(tmp_path))
    assert dump.lines is not None
    history = read_printed_history(dump.lines)
    rows = history.generations.collect()
    assert 0 < len(rows) <= len(lines)
    assert {(row.complete, row.record_offset, row.recorded_at_ms) for row in rows} == {(None, None, None)}
    assert history.rejects.count() == history.records["unreadable"]["rejected"] == 1
