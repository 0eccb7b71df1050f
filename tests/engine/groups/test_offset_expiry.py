"""Which committed offsets expire, and when."""

import pytest
from pyspark.sql import SparkSession

from rebalance_sim import UserError, expiring_offsets
from rebalance_sim.tables import OFFSETS
from tests.support.rows import member, members, table

DAY_MS = 24 * 3_600_000


def offset(
    group_id: str, topic: str, committed_at_ms: int | None, expires_at_ms: int | None = None
) -> dict[str, object]:
    times = {"committed_at_ms": committed_at_ms, "expires_at_ms": expires_at_ms}
    return {"group_id": group_id, "topic": topic, "partition": 0, "committed": 5} | times


ROWS = [
    offset("g", "t", 100),
    offset("g", "left", 200),
    offset("g", "explicit", 200, 5000),
    offset("empty", "t", 100),
    offset("empty", "u", 300),
    offset("empty", "explicit", 100, 6000),
    offset("unknown", "t", None),
    offset("connect", "left", 100),
    offset("new", "t", 100),
    offset("new", "u", 100),
    offset("g", "none", 100) | {"committed": -1},
]
MEMBERS = [
    member("a", ["range"], ["t"]),
    member("b", ["sessioned"], ["t"], group_id="connect", protocol_type="connect"),
    member("c", ["server-uniform"], ["t"], group_id="new"),
]
OF_USED_TOPICS = {("g", "t"): 100, ("connect", "left"): 100, ("new", "t"): 100, ("g", "left"): 200, ("new", "u"): 100}


def found(spark: SparkSession, version: str, retention_minutes: int | None = None) -> dict[tuple[str, str], int | None]:
    transformation = expiring_offsets(table(spark, OFFSETS, ROWS), version, retention_minutes)
    rows = members(spark, *MEMBERS).transform(transformation).collect()
    return {(row.group_id, row.topic): row.expires_at_ms for row in rows}


def test_an_offset_expires_unless_a_member_subscribes_to_its_topic(spark: SparkSession) -> None:
    """Since 2.4 (KIP-496); an empty group counts from its latest commit, an explicit time wins."""
    assert found(spark, "4.3") == {
        ("g", "left"): 200 + 7 * DAY_MS,
        ("g", "explicit"): 5000,
        ("new", "u"): 100 + 7 * DAY_MS,
        ("empty", "t"): 300 + 7 * DAY_MS,
        ("empty", "u"): 300 + 7 * DAY_MS,
        ("empty", "explicit"): 6000,
        ("unknown", "t"): None,
    }


def test_a_group_with_members_keeps_all_its_offsets_from_2_1_to_2_3(spark: SparkSession) -> None:
    assert {group_id for group_id, _ in found(spark, "2.3")} == {"empty", "unknown"}


def test_every_commit_expires_by_itself_up_to_2_0(spark: SparkSession) -> None:
    """After a day, and only past the last millisecond."""
    expected = {name: at_ms + DAY_MS + 1 for name, at_ms in OF_USED_TOPICS.items()}
    explicit = {("g", "explicit"): 5001, ("empty", "explicit"): 6001}
    empty = {("empty", "t"): 101 + DAY_MS, ("empty", "u"): 301 + DAY_MS, ("unknown", "t"): None}
    assert found(spark, "1.0") == expected | explicit | empty


def test_the_retention_of_the_broker_counts(spark: SparkSession) -> None:
    assert found(spark, "3.9", retention_minutes=1)["empty", "t"] == 300 + 60_000


def test_a_retention_must_be_positive(spark: SparkSession) -> None:
    with pytest.raises(UserError, match="retention_minutes is 0; it must be at least 1"):
        expiring_offsets(table(spark, OFFSETS, ROWS), retention_minutes=0)
