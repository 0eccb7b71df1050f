"""A copy of __consumer_offsets that grows: it keeps every record that any night had, once."""

import random
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from rebalance_sim.engine.runs.files import LocalFiles
from rebalance_sim.errors import UserError
from rebalance_sim.sources.offsets_topic.copied_topic import COPIED_ON, append_new, has_copy
from tests.support.rows import given_rows

KAFKA_ROW = "key binary, value binary, partition int, offset long, timestamp timestamp"
AT = datetime(2026, 3, 1, tzinfo=UTC)
Position = tuple[int, int]


def topic(spark: SparkSession, positions: Sequence[Position]) -> DataFrame:
    rows = [(b"k", f"{number}:{offset}".encode(), number, offset, AT) for number, offset in positions]
    return given_rows(spark, rows, KAFKA_ROW)


def copied(spark: SparkSession, folder: Path) -> DataFrame | None:
    return spark.read.parquet(str(folder)) if folder.exists() else None


def night(spark: SparkSession, folder: Path, positions: Sequence[Position]) -> int:
    return append_new(topic(spark, positions), str(folder), copied(spark, folder))


def test_every_record_is_kept_once(spark: SparkSession, tmp_path: Path) -> None:
    """Between nights the topic grows, a partition is new, and compaction removes earlier records."""
    rng = random.Random(1)
    folder, ever, there = tmp_path / "copy", set[Position](), set[Position]()
    ends = {0: 0, 1: 0, 2: 0}
    for day, growing in enumerate(([0, 1], [1], [], [0, 1, 2])):
        last = {(number, end - 1) for number, end in ends.items() if end}
        there = last | {each for each in there if rng.random() < 0.6}
        for number in growing:
            there |= {(number, ends[number] + place) for place in range(rng.randint(1, 9))}
            ends[number] = 1 + max(offset for of, offset in there if of == number)
        assert night(spark, folder, rng.sample(sorted(there), len(there))) == len(there - ever), day
        ever |= there
        rows = spark.read.parquet(str(folder)).collect()
        assert sorted((row.partition, row.offset) for row in rows) == sorted(ever)
    assert all(row.value == f"{row.partition}:{row.offset}".encode() for row in rows)
    assert {row[COPIED_ON] for row in rows} == {datetime.now(UTC).date()}


def test_a_topic_without_records_leaves_no_files(spark: SparkSession, tmp_path: Path) -> None:
    nothing = topic(spark, [(0, 0)]).limit(0)
    assert append_new(nothing, f"{tmp_path}/copy", None) == 0
    assert not (tmp_path / "copy").exists()


def test_a_copy_begins_in_a_new_or_empty_folder(tmp_path: Path) -> None:
    """Hidden files, such as those of an interrupted copy, are no part of it."""
    files = LocalFiles()
    (tmp_path / "empty" / "_temporary").mkdir(parents=True)
    assert not has_copy(files, f"{tmp_path}/new")
    assert not has_copy(files, f"{tmp_path}/empty")
    (tmp_path / "empty" / f"{COPIED_ON}=2026-03-01").mkdir()
    assert has_copy(files, f"{tmp_path}/empty")
    (tmp_path / "empty" / "notes.txt").touch()
    with pytest.raises(
        UserError, match=r"has 'notes\.txt', which is not part of a copy; allowed: a new or empty folder"
    ):
        has_copy(files, f"{tmp_path}/empty")


@pytest.mark.parametrize(("now", "end"), [([(0, 3), (1, 4)], "4"), ([(0, 3)], "unknown")])
def test_the_copy_of_another_topic_does_not_grow(
    spark: SparkSession, tmp_path: Path, now: list[Position], end: str
) -> None:
    night(spark, tmp_path / "copy", [(0, 3), (1, 5)])
    with pytest.raises(
        UserError, match=f"has offset 5 of partition 1, but the last one of the topic is {end}: the copy"
    ):
        night(spark, tmp_path / "copy", now)
    assert spark.read.parquet(f"{tmp_path}/copy").count() == 2
