"""Findings about the lag of a group: how old it is, whether it grows, and what helps that group."""

from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from rebalance_sim import audit
from rebalance_sim.engine.audit.finding import Finding
from rebalance_sim.engine.audit.group import LAG_TREND, Group, TopicFacts
from rebalance_sim.engine.audit.lags import findings
from rebalance_sim.engine.audit.thresholds import Thresholds
from rebalance_sim.errors import UserError
from rebalance_sim.tables import MEMBERS, OFFSETS, TOPIC_LAG, TOPICS
from tests.engine.audit.test_audits import group_of
from tests.support.rows import table

HOUR_MS = 3_600_000


def partition(lag: int, arrived: int, done: int, number: int = 3) -> dict[str, Any]:
    """Return what is known of a partition of topic t since the earlier audit."""
    figures = {"lag": lag, "arrived": arrived, "done": done, "growth": arrived - done}
    return {"topic": "t", "partition": number, **figures}


def lagging(lag: int, committed_at_ms: int | None = None, **trend: Any) -> Group:
    """Return a group of two members whose partition t-3 has all its lag, ten hours after the earlier audit."""
    row = {"topic": "t", "lag_partitions": 1, "unknown_partitions": 0, "lag": lag, "max_partition_lag": lag}
    row |= {"max_lag_partition": 3, "max_lag_committed_at_ms": committed_at_ms, "negative_partitions": 0}
    others = {"furthest": None, "slowest": None, "growing": None, "growing_partitions": 0, "growing_records": None}
    topics = TopicFacts(latest_commit_ms={"c": 100 * HOUR_MS}, elapsed_ms=10 * HOUR_MS)
    rows: dict[str, dict[str, Any]] = {TOPIC_LAG.name: row, "balance": {"error": None, "members": 2, "partitions": 8}}
    rows |= {LAG_TREND: others | trend} if trend else {}
    return replace(group_of(**rows), topics=topics)


def of(group: Group) -> dict[str, Finding]:
    return {each.kind.name: each for each in findings(group, Thresholds())}


def growing(lag: int, arrived: int, done: int, total: int = 0) -> Group:
    row = partition(lag, arrived, done)
    count, records = (4, total) if total else (1, row["growth"])
    return lagging(lag, furthest=row, growing=row, growing_partitions=count, growing_records=records)


def without_members(group: Group, group_id: str = "g") -> Group:
    rows = {**group.rows, MEMBERS.name: [], "elections": [], "balance": [], OFFSETS.name: [{"partitions": 8}]}
    return replace(group, group_id=group_id, rows=rows)


def sink(group: Group) -> Group:
    members = [
        {**member, "client_id": f"connector-consumer-s-{n}"} for n, member in enumerate(group.rows[MEMBERS.name])
    ]
    return replace(group, rows={**group.rows, MEMBERS.name: members})


def test_lag_that_grows_has_its_rates_and_its_partition() -> None:
    found = of(growing(lag=9_000, arrived=80_000, done=75_000))["lag-grows"]
    assert found.description == (
        "the lag of t-3 grew by 5,000 records in 10 h, to 9,000: 8,000 records per hour arrived and 7,500 were "
        "committed"
    )
    assert found.figures["growth_per_hour"] == 500
    assert found.recommendation == (
        "Speed up the consumer of t-3, or look for a hot key: more members do not divide a partition."
    )


def test_lag_that_grows_in_several_partitions_is_divided_among_more_members() -> None:
    found = of(growing(lag=9_000, arrived=80_000, done=75_000, total=18_000))["lag-grows"]
    assert found.description.endswith("committed; the lag of 3 other partitions grew too")
    assert found.recommendation == "Add members, at most one for each partition, or speed up the consumers."


def test_members_without_a_commit_are_not_said_to_be_slow() -> None:
    """They may be stuck, or commit rarely: more members may not help."""
    group = growing(lag=9_000, arrived=5_000, done=0)
    consumers, of_sink = (of(each)["lag-grows"].recommendation or "" for each in (group, sink(group)))
    assert "commits less often than the audits run" in consumers
    assert of_sink == "See the log of the task that has t-3: a task that fails or retries commits nothing."


def test_a_sink_that_is_slow_gets_more_tasks() -> None:
    found = of(sink(growing(lag=9_000, arrived=80_000, done=75_000, total=18_000)))["lag-grows"]
    assert "tasks.max" in (found.recommendation or "")


@pytest.mark.parametrize(("done", "is_found"), [(0, False), (75_000, True)])
def test_a_group_without_members_is_slow_only_if_a_job_commits(done: int, is_found: bool) -> None:
    found = of(without_members(growing(lag=9_000, arrived=80_000, done=done), "flink-orders"))
    assert ("lag-grows" in found) == is_found
    if is_found:
        assert (found["lag-grows"].recommendation or "").startswith("See whether the job runs and keeps up")


def test_lag_is_large_in_time() -> None:
    """1,500 records of a topic with 100 an hour."""
    row = partition(lag=1_500, arrived=1_000, done=900)
    found = of(lagging(2_000, furthest=partition(2_000, 40_000, 40_000, number=1), slowest=row))["large-lag"]
    assert found.description == (
        "t-3 is 1,500 records behind, the first of which arrived more than 10 h ago; the group has 2,000 records of "
        "lag in 1 partition of 1 topic"
    )
    assert found.figures["behind_ms"] == 10 * HOUR_MS
    recent = partition(lag=1_500, arrived=20_000, done=20_000)
    assert "large-lag" not in of(lagging(1_500, furthest=recent, slowest=recent))


@pytest.mark.parametrize(
    ("arrived", "done", "age"),
    [
        (40_000, 40_000, "about 5.0 h ago"),
        (40_000, 50_000, "about 5.0 h ago; at the rates of the last 10 h, it catches up in 20 h"),
        (0, 5_000, "more than 10 h ago; at the rates of the last 10 h, it catches up in 40 h"),
        (40_000, 0, "about 5.0 h ago; nothing was committed there in the last 10 h"),
    ],
)
def test_large_lag_has_its_age_and_when_it_is_over(arrived: int, done: int, age: str) -> None:
    row = partition(20_000, arrived, done)
    found = of(lagging(20_000, furthest=row, slowest=row))["large-lag"]
    assert found.description.startswith(
        f"t-3 is 20,000 records behind, the first of which arrived {age}; the group has 20,000 records of lag"
    )


@pytest.mark.parametrize(
    ("committed_at_ms", "age"),
    [
        (97 * HOUR_MS, ", last committed 3.0 h before the latest commit of the cluster"),
        (100 * HOUR_MS - 30_000, ""),
        (None, ""),
    ],
)
def test_one_audit_shows_when_the_partition_was_last_committed(committed_at_ms: int | None, age: str) -> None:
    found = of(lagging(20_000, committed_at_ms))["large-lag"]
    assert found.description.startswith(f"t-3 is 20,000 records behind{age}; the group has")


@pytest.mark.scale
def test_an_audit_of_two_times_finds_what_grows(spark: SparkSession) -> None:
    names = ("group_id", "topic", "partition", "committed", "end")
    later, earlier = (
        table(spark, OFFSETS, [dict(zip(names, row, strict=True)) for row in rows])
        for rows in (
            [("slow", "t", 0, 5_000, 14_000), ("slow", "t", 1, 10_000, 10_000), ("fast", "t", 0, 14_000, 14_000)],
            [("slow", "t", 0, 0, 4_000), ("slow", "t", 1, 0, 0), ("fast", "t", 0, 0, 4_000)],
        )
    )
    rows = [
        {"group_id": group, "member_id": f"{group}-1", "protocols": ["range"], "subscription": ["t"]}
        for group in ("slow", "fast")
    ]
    members, topics = table(spark, MEMBERS, rows), table(spark, TOPICS, [{"topic": "t", "partitions": 2}])
    found = audit(members, topics, later, earlier_offsets=earlier, elapsed_ms=2 * HOUR_MS).findings
    grows = found.where("kind = 'lag-grows'").collect()
    assert [(row["group_id"], row["confidence"]) for row in grows] == [("slow", "certain")]
    assert grows[0]["description"].startswith("the lag of t-0 grew by 5,000 records in 2.0 h, to 9,000: 5,000 records")
    assert audit(members, topics, later).findings.where("kind = 'lag-grows'").isEmpty()


def test_earlier_offsets_need_the_time_between(spark: SparkSession) -> None:
    members, topics, offsets = (table(spark, of, []) for of in (MEMBERS, TOPICS, OFFSETS))
    with pytest.raises(UserError, match="earlier_offsets: needs offsets, and elapsed_ms above 0"):
        audit(members, topics, offsets, earlier_offsets=offsets)


@pytest.mark.scale
def test_a_topic_with_committed_offsets_exists(spark: SparkSession) -> None:
    """A dump of ``__consumer_offsets`` shows the topics of few groups."""
    rows = [
        {"group_id": group, "member_id": group, "protocols": ["range"], "subscription": [topic], "join_order": 0}
        for group, topic in (("shown", "t"), ("committed", "u"), ("typo", "v"))
    ]
    offsets = table(spark, OFFSETS, [{"group_id": "committed", "topic": "u", "partition": 0, "committed": 5}])
    topics = table(spark, TOPICS, [{"topic": "t", "partitions": 1}])
    found = audit(table(spark, MEMBERS, rows), topics, offsets).findings.where("kind = 'topic-not-found'")
    assert [row["group_id"] for row in found.collect()] == ["typo"]
