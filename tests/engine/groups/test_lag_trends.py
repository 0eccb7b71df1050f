"""How the lag of partitions has changed between two times, against a reference implementation."""

import random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from rebalance_sim.engine.groups.lag_trends import lag_trends
from rebalance_sim.tables import OFFSETS
from tests.support.rows import table

LEAST, SHARE = 20, 0.1
Offsets = dict[tuple[str, str, int], tuple[int | None, int | None]]
"""By group, topic and partition: the committed offset and the log end offset."""
Trend = dict[str, Any]


def rows(offsets: Offsets) -> list[dict[str, Any]]:
    names = ("group_id", "topic", "partition", "committed", "end")
    return [dict(zip(names, (*key, *value), strict=True)) for key, value in offsets.items()]


def trends(spark: SparkSession, now: Offsets, before: Offsets) -> dict[str, Trend]:
    later, earlier = (table(spark, OFFSETS, rows(offsets)) for offsets in (now, before))
    found = lag_trends(later, earlier, LEAST, SHARE).collect()
    return {row["group_id"]: row.asDict(recursive=True) for row in found}


def expected(now: Offsets, before: Offsets) -> dict[str, Trend]:
    """Return the trends of all groups, partition by partition."""
    known: dict[str, list[Trend]] = {}
    for (group, topic, partition), (committed, end) in now.items():
        committed_before, end_before = before.get((group, topic, partition), (None, None))
        if committed is None or end is None or committed_before is None or end_before is None:
            continue
        if committed_before < 0 or committed < committed_before or end < end_before or end <= committed:
            continue
        figures = {"lag": end - committed, "arrived": end - end_before, "done": committed - committed_before}
        growth = figures["lag"] - max(end_before - committed_before, 0)
        known.setdefault(group, []).append({"topic": topic, "partition": partition, **figures, "growth": growth})
    found = {}
    for group, partitions in known.items():
        old = [each for each in partitions if each["lag"] >= LEAST]
        grown = [each for each in partitions if each["growth"] >= max(LEAST, SHARE * each["arrived"])]
        found[group] = {
            "cluster": "default",
            "group_id": group,
            "furthest": _first(partitions, lambda each: each["lag"]),
            "slowest": _first(old, lambda each: each["lag"] / each["arrived"] if each["arrived"] else float("inf")),
            "growing": _first(grown, lambda each: each["growth"]),
            "growing_partitions": len(grown),
            "growing_records": sum(each["growth"] for each in grown) if grown else None,
        }
    return found


def _first(partitions: list[Trend], by: Any) -> Trend | None:
    return min(partitions, key=lambda each: (-by(each), each["topic"], each["partition"]), default=None)


def test_random_offsets_have_the_trends_of_the_reference(spark: SparkSession) -> None:
    rng = random.Random(1)
    now: Offsets = {}
    before: Offsets = {}
    for group in range(300):
        for topic in "ab":
            for partition in range(rng.randint(1, 3)):
                key = (f"g{group}", topic, partition)
                committed, lag = rng.randint(-1, 5), rng.choice([0, 5, 20, 40, 60])
                end = max(committed, 0) + lag
                before[key] = (rng.choice([committed, committed, None]), end)
                arrived, done = rng.choice([0, 10, 100, 300, -1]), rng.choice([0, 10, 50, 100, 300, -3])
                now[key] = (max(committed, 0) + done, rng.choice([end + arrived, end + arrived, None]))
                if now[key][0] is not None and now[key][0] < 0:  # type: ignore[operator]
                    now[key] = (-1, now[key][1])
    now = {key: (value[0], None if value[1] is not None and value[1] < 0 else value[1]) for key, value in now.items()}
    found = expected(now, before)
    assert trends(spark, now, before) == found
    assert len({(each["slowest"] is None, each["growing"] is None) for each in found.values()}) == 3


@pytest.mark.parametrize(
    ("now", "is_known"),
    [((0, 500), True), ((400, 500), True), ((None, 500), False), ((-1, 500), False), ((0, None), False)],
)
def test_partitions_with_an_unknown_offset_have_no_trend(
    spark: SparkSession, now: tuple[int | None, int | None], is_known: bool
) -> None:
    key = ("g", "t", 0)
    assert bool(trends(spark, {key: now}, {key: (0, 400)})) == is_known


@pytest.mark.parametrize("now", [(0, 100), (100, 900)])
def test_partitions_that_went_back_have_no_trend(spark: SparkSession, now: tuple[int, int]) -> None:
    """The topic was created again, or the group was reset."""
    key = ("g", "t", 0)
    assert trends(spark, {key: now}, {key: (200, 400)}) == {}


def test_lag_within_the_share_of_a_rare_commit_does_not_grow(spark: SparkSession) -> None:
    """Records arrive evenly, all are consumed, and the last commit is a twentieth of the time ago; then a fifth."""
    key = ("g", "t", 0)
    within, outside = (trends(spark, {key: (done, 10_000)}, {key: (0, 0)})["g"] for done in (9_500, 8_000))
    assert within["growing"] is None
    assert outside["growing"]["growth"] == 2_000
