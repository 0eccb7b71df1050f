"""Commits around generations: by hand, however tasks divide them, and compared with all commits one after the other."""

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import sqrt
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from rebalance_sim.kafka.wire.offsets_topic import GroupMetadata, OffsetCommit, decode_key, decode_value
from rebalance_sim.sources.offsets_topic import commits
from rebalance_sim.sources.offsets_topic.commits import spans_of
from rebalance_sim.sources.offsets_topic.history import read_history
from tests.sources.offsets_topic.test_history import classic, of
from tests.support.offsets_records import Written, commit, consumer, consumer_epoch, target_epoch
from tests.support.rows import given_rows

FIELDS = {
    "group": pa.binary(),
    "key": pa.binary(),
    "committed": pa.binary(),
    "needed": pa.bool_(),
    "partition": pa.int32(),
    "offset": pa.int64(),
    "recorded_at_ms": pa.int64(),
}
Row = dict[str, Any]


def committed(group: str, topic: str, offset: int, at_ms: int | None) -> Row:
    key = (group + topic).encode()
    return {"group": group.encode(), "key": key, "committed": offset.to_bytes(8), "needed": False, "at_ms": at_ms}


def of_members(group: str) -> Row:
    return {"group": group.encode(), "key": None, "committed": None, "needed": True, "at_ms": 0}


def batch(rows: Sequence[Row]) -> pa.RecordBatch:
    columns = {name: [row["at_ms" if name == "recorded_at_ms" else name] for row in rows] for name in FIELDS}
    return pa.RecordBatch.from_arrays(
        [pa.array(columns[name], kind) for name, kind in FIELDS.items()], names=list(FIELDS)
    )


def placed(rows: Sequence[Row], partition: int = 0) -> list[Row]:
    return [row | {"partition": partition, "offset": offset} for offset, row in enumerate(rows)]


def spans(*batches: Sequence[Row]) -> list[Row]:
    return [row for found in spans_of(map(batch, batches)) for row in found.to_pylist()]


def test_commits_between_records_of_members_are_one_span() -> None:
    rows = placed(
        [
            committed("g", "t", 5, 1_000),
            committed("g", "u", 7, 1_500),
            committed("g", "t", 6, 6_000),
            of_members("other"),
            committed("g", "t", 8, 12_000),
            of_members("g"),
            committed("g", "t", 4, 90_000),
            committed("g", "t", 9, 160_000),
        ]
    )
    found = spans(rows)
    assert [
        (row["key"], row["first"], row["last"], row["first_committed"], row["last_committed"]) for row in found
    ] == [(b"gt", 0, 4, 5, 8), (b"gt", 6, 7, 4, 9), (b"gu", 1, 1, 7, 7)]
    shown = [(row["intervals"], row["total_ms"], row["squares"], row["pauses"]) for row in found]
    assert shown == [(2, 11_000, 61_000_000, 0), (0, 0, 0, 1), (0, 0, 0, 0)]
    assert (found[0]["first_at_ms"], found[0]["last_at_ms"]) == (1_000, 12_000)


def test_a_missing_offset_ends_a_span() -> None:
    """Another task may have the record of a generation."""
    rows = placed([committed("g", "t", number, 1_000 * number) for number in range(6)])
    del rows[3]
    assert [(row["first"], row["last"]) for row in spans(rows)] == [(0, 2), (4, 5)]
    found = [(row["partition"], row["first"]) for row in spans(rows[:1] + placed(rows[1:3], partition=1))]
    assert found == [(0, 0), (1, 0)]


def test_unknown_times_are_no_intervals() -> None:
    found = spans(placed([committed("g", "t", number, at) for number, at in enumerate((None, 5, 9, None, 7, 6))]))
    assert [(row["first_at_ms"], row["last_at_ms"], row["intervals"], row["total_ms"]) for row in found] == [
        (None, 6, 1, 4)
    ]
    assert spans([]) == []


@given(st.integers(0, 2**32))
def test_however_records_are_divided_every_commit_counts_once(seed: int) -> None:
    """The intervals in spans, and between those without a record of members between them, are all that there are."""
    rng = random.Random(seed)
    rows = placed(
        [
            of_members(rng.choice("gh"))
            if rng.random() < 0.2
            else committed(rng.choice("gh"), rng.choice("tu"), rng.randrange(9), rng.randrange(200_000))
            for _ in range(rng.randrange(60))
        ]
    )
    cuts = sorted(rng.randrange(len(rows) + 1) for _ in range(rng.randrange(4)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(commits, "_AT_ONCE", rng.choice([1, 20]))
        found = spans(*(rows[begin:end] for begin, end in pairwise([0, *cuts, len(rows)])))
    by_key: defaultdict[bytes, list[Row]] = defaultdict(list)
    for span in sorted(found, key=lambda span: span["first"]):
        by_key[span["key"]].append(span)
    for key in {row["key"] for row in rows if row["key"]}:
        of_key = [row for row in rows if row["key"] == key]
        assert of_key[0]["offset"] == by_key[key][0]["first"]
        assert of_key[-1]["offset"] == by_key[key][-1]["last"]
        expected = sum(0 <= after["at_ms"] - before["at_ms"] <= 60_000 for before, after in pairwise(of_key))
        inside = sum(span["intervals"] for span in by_key[key])
        between = [after["first_at_ms"] - before["last_at_ms"] for before, after in pairwise(by_key[key])]
        assert inside + sum(0 <= gap <= 60_000 for gap in between) == expected
        generations = [row["offset"] for row in rows if row["needed"] and key.startswith(row["group"])]
        assert not any(span["first"] < at < span["last"] for span in by_key[key] for at in generations)


# ---- generations

RECORDS = "key binary, value binary, partition int, offset long, timestamp long"
SECOND = 1_000
Timed = tuple[Written, int]
"""A record and its timestamp."""
Placed = tuple[bytes, bytes | None, int, int, int | None]
A, B = of("a"), of("b")


def every_5_seconds(first_s: int, last_s: int, offset: int, topic: str = "t", group_id: str = "g") -> list[Timed]:
    return [
        (commit(topic, offset + place, group_id), SECOND * at_s)
        for place, at_s in enumerate(range(first_s, last_s + 1, 5))
    ]


STOPPED: list[Timed] = [
    (classic(1, A), 0),
    *every_5_seconds(1, 56, 100),
    # The last three records are read again, after 20 seconds.
    (classic(2, A, B), 60_000),
    *every_5_seconds(76, 131, 108),
    (classic(3, A), 135_000),
    *every_5_seconds(137, 142, 120),
]
"""Twelve commits in each of the first two generations."""


def in_log(timed: Sequence[Timed], partition: int = 0, step: int = 1) -> list[Placed]:
    return [(*record, partition, step * place, at_ms) for place, (record, at_ms) in enumerate(timed)]


def figures(spark: SparkSession, *dumps: Sequence[Placed], schema: str = RECORDS, tasks: int = 2) -> dict[Any, Any]:
    """Return what commits show of each generation, by group and number, and of each episode."""
    history = read_history([given_rows(spark, rows, schema).repartition(tasks) for rows in dumps])
    found: dict[Any, Any] = {
        (row.group_id, row.generation): tuple(row[name] for name in COLUMNS) for row in history.generations.collect()
    }
    sums = ("rewound", "rewound_records", "downtime_ms", "downtime_generations")
    return found | {row.group_id: tuple(row[name] for name in sums) for row in history.episodes.collect()}


COLUMNS = ("commits_compared", "rewound", "rewound_records", "downtime_ms", "downtime_partitions", "downtime_reason")
NOT_BEFORE = (0, 0, 0, None, 0, "no partition has a commit before and after the generation")


def test_offsets_that_go_back_and_partitions_without_commits(spark: SparkSession) -> None:
    """The usual interval is 5 seconds."""
    assert figures(spark, in_log(STOPPED)) == {
        ("g", 1): NOT_BEFORE,
        ("g", 2): (1, 1, 3, 15_000, 1, None),
        ("g", 3): (1, 0, 0, 1_000, 1, None),
        "g": (1, 3, 16_000, 2),
    }


@pytest.mark.scale
def test_two_dumps_are_one_log(spark: SparkSession) -> None:
    rows = in_log(STOPPED)
    assert figures(spark, rows[:30], rows[10:], tasks=3) == figures(spark, rows, tasks=1)


@pytest.mark.scale
def test_records_of_other_groups_do_not_matter(spark: SparkSession) -> None:
    """They are not read, but no offset is missing for that."""
    others = [(classic(1, A, group_id="h"), 0), *every_5_seconds(1, 600, 7, group_id="h")]
    rows = in_log([each for pair in zip(STOPPED, others, strict=False) for each in pair])
    alone = read_history([given_rows(spark, rows, RECORDS)], groups=["g"]).generations.collect()
    assert {row.group_id for row in alone} == {"g"}
    found = {row.generation: tuple(row[name] for name in COLUMNS) for row in alone}
    assert (found[2], found[3]) == ((1, 1, 3, 15_000, 1, None), (1, 0, 0, 1_000, 1, None))


@pytest.mark.scale
def test_what_commits_do_not_show_has_a_reason(spark: SparkSession) -> None:
    """Commits may be missing, irregular, too few, or of a consumer-protocol group."""
    irregular = [(record, at_ms + 4_000 * (place % 2)) for place, (record, at_ms) in enumerate(STOPPED)]
    few = [(classic(1, A), 0), (commit("t", 1, "g"), 1_000), (classic(2, A), 2_000), (commit("t", 2, "g"), 3_000)]
    too_irregular = "its partitions are committed too rarely or too irregularly, or clocks ran backwards"
    cases: dict[tuple[Any, ...], list[Placed]] = {
        (1, 0, 0, None, 0, too_irregular): in_log(few),
        (1, 1, 3, None, 0, too_irregular): in_log(irregular),
        (0, 0, 0, None, 0, "commits before or after the generation may be missing"): in_log(STOPPED, step=2),
        (1, 1, 3, None, 0, "the dump has no times of commits"): [(*row[:4], None) for row in in_log(STOPPED)],
    }
    for expected, rows in cases.items():
        assert figures(spark, rows)["g", 2] == expected
    without = [row for row in in_log(STOPPED) if row[0][:2] == b"\0\2"]
    assert figures(spark, without)["g", 2] == (None, None, None, None, None, "the dump has no commits")
    of_consumers = [consumer("m1"), consumer_epoch(1), target_epoch(1), commit("t", 1, "new")]
    found = figures(spark, in_log([(record, 0) for record in of_consumers]))
    assert found["new", 1] == (None, None, None, None, None, "an epoch begins before members revoke its partitions")
    assert found["new"] == (None, None, None, None)


@pytest.mark.scale
def test_a_rewritten_record_is_no_rebalance(spark: SparkSession) -> None:
    static = (of("a", instance="s"), of("a2", instance="s"))
    rows = [(classic(1, static[0]), 0), *every_5_seconds(1, 61, 1), (classic(1, static[1]), 62_000)]
    rows += [*every_5_seconds(66, 71, 14), (classic(2, static[1], B), 75_000), *every_5_seconds(79, 84, 16)]
    found = read_history([given_rows(spark, in_log(rows), RECORDS)]).generations.collect()
    by_place = {row.record_offset: tuple(row[name] for name in COLUMNS) for row in found}
    assert [by_place[place] for place in sorted(by_place)] == [NOT_BEFORE, (None,) * 6, (1, 0, 0, 3_000, 1, None)]


@pytest.mark.scale
def test_random_logs_are_compared_as_one_commit_after_the_other(spark: SparkSession) -> None:
    rng = random.Random(7)
    rows = [row for partition in range(8) for row in in_log([*random_log(rng, f"g{partition}")], partition)]
    for _ in range(40):
        rows.pop(rng.randrange(len(rows)))
    found = figures(spark, rng.sample(rows, len(rows)), tasks=4)
    expected = reference(rows)
    assert {key: found[key][:5] for key in expected} == expected
    assert sum(figure[1] for figure in expected.values()) > 5
    assert sum(figure[4] for figure in expected.values()) > 50


def random_log(rng: random.Random, group_id: str) -> Iterator[Timed]:
    at_ms, offsets, number = 0, dict.fromkeys("tuv", 50), 0
    every_ms, noise, is_regular = rng.choice([1_000, 5_000]), rng.choice([0.05, 0.9]), rng.random() < 0.7
    for place in range(rng.randrange(150, 300)):
        at_ms += round(every_ms / 3 * (1 + noise * (rng.random() - 0.5)))
        if rng.random() < 0.08:
            number += 1
            yield classic(number, A, group_id=group_id), at_ms
            at_ms += rng.randrange(20_000)
        topic = "tuv"[place % 3] if is_regular else rng.choice("tuv")
        offsets[topic] += rng.choice([-2, 1, 1, 5, 9])
        yield commit(topic, offsets[topic], group_id), at_ms


def reference(rows: Sequence[Placed]) -> dict[tuple[str, int], tuple[Any, ...]]:
    """Return what commits show, from one after the other."""
    offsets = {(partition, offset) for _, _, partition, offset, _ in rows}
    generation: dict[str, tuple[int, int]] = {}
    last: dict[bytes, tuple[int, int, int, tuple[int, int] | None]] = {}
    pairs: list[tuple[str, int, bytes, int, int, bool]] = []
    intervals: defaultdict[bytes, list[int]] = defaultdict(list)
    found: dict[tuple[str, int], list[Any]] = {}
    for key, value, partition, offset, at_ms in sorted(rows, key=lambda row: (row[2], row[3])):
        name, decoded = decode_key(key), decode_value(decode_key(key).type, value or b"")
        if isinstance(decoded, GroupMetadata):
            generation[name.group_id] = (decoded.generation, offset)
            found[name.group_id, decoded.generation] = [0, 0, 0, None, 0]
        elif isinstance(decoded, OffsetCommit) and at_ms is not None:
            now = generation.get(name.group_id)
            if key in last:
                before_offset, before_committed, before_ms, before = last[key]
                if before == now:
                    intervals[key].append(at_ms - before_ms)
                elif now is not None:
                    whole = all((partition, each) in offsets for each in range(before_offset, offset))
                    figure = (before_committed - decoded.offset, at_ms - before_ms, whole)
                    pairs.append((name.group_id, now[0], key, *figure))
            last[key] = (offset, decoded.offset, at_ms, now)
    for group_id, number, key, back, gap_ms, whole in pairs:
        if whole:
            of = found[group_id, number]
            of[0] += 1
            of[1] += back > 0
            of[2] += max(back, 0)
            usual_ms = usual(intervals[key])
            if usual_ms is not None:
                of[3] = (of[3] or 0) + int(max(gap_ms - usual_ms, 0))
                of[4] += 1
    return {key: tuple(of) for key, of in found.items()}


def usual(intervals: Sequence[int]) -> float | None:
    short = [each for each in intervals if each <= 60_000]
    if len(short) < 10 or len(intervals) - len(short) > 0.1 * len(short):
        return None
    mean = sum(short) / len(short)
    deviation = sqrt(max(sum(each * each for each in short) / len(short) - mean**2, 0))
    return mean + 2 * deviation if deviation <= 0.5 * mean else None
