"""How long ``history`` takes for ten times the records, and how much a day adds to a copy of the topic."""

import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from rebalance_sim.kafka.wire.consumer_protocol import Subscription, TopicPartition, encode_subscription
from rebalance_sim.sources.offsets_topic.copied_topic import append_new
from tests.benchmarks.whole_commands import print_command
from tests.support.offsets_records import group, member

_GENERATIONS, _COMMITS = 50, 20
"""Of each group: generations, and commits after each of them."""
_PARTITIONS = 50
_TOPIC_PARTITIONS, _SUBSCRIPTION = 6, encode_subscription(Subscription(("orders",)))
"""Of the topic that all groups read: a multiple of two and of three, the numbers of members."""
_START_MS, _RESTART_MS, _AWAY_MS = 1_750_000_000_000, 1_200_000, 30_000
"""The time of the first record, from one restart of a member to the next, and for how long it is away."""
_COPIED_GROUPS, _COPIED_COMMITS = 1_000, 4_320
"""A day of groups that commit every 20 seconds; ten generations of each."""
_KIBIBYTE = 1024


def bench_history(spark: SparkSession, folder: Path, groups: int) -> None:
    """Read, explain, predict and simulate again the history of more and more groups, as a process of its own."""
    print(f"\nhistory of groups with {_GENERATIONS} generations of 3 members, {_COMMITS} commits after each")
    for number in (groups // 100, groups // 10, groups):
        dump = folder / f"history-{number}"
        if not (dump / "_SUCCESS").exists():
            topic(spark, number, _GENERATIONS, _COMMITS).write.mode("overwrite").parquet(str(dump))
        records = number * _GENERATIONS * (_COMMITS + 1)
        command = ["history", "--offsets-topic", str(dump), "--out", f"{folder}/history-out"]
        print_command(command, f"{number:9,} groups", records, "records")


def bench_copy(spark: SparkSession, folder: Path) -> None:
    """Copy a day of the topic."""
    records = topic(spark, _COPIED_GROUPS, 10, _COPIED_COMMITS // 10)
    copy = folder / f"history-copy-{time.time_ns()}"
    number = append_new(records, str(copy), None)
    size = sum(file.stat().st_size for file in copy.rglob("*.parquet"))
    print(
        f"\na day of {_COPIED_GROUPS:,} groups that commit a partition every 20 s: {number:,} records, "
        f"{size / _KIBIBYTE**2:,.1f} MiB in the copy, {size / number:.1f} bytes each"
    )


def topic(spark: SparkSession, groups: int, generations: int, commits: int) -> DataFrame:
    """Return the records of a topic in which all groups take turns; a member is away in every second generation."""
    each = groups // _PARTITIONS
    rounds = generations * (commits + 1)
    placed = spark.range(0, _PARTITIONS * each * rounds, 1, _PARTITIONS).selectExpr(
        f"CAST(id DIV {each * rounds} AS INT) AS partition",
        f"id % {each * rounds} AS offset",
        f"CAST(id DIV {each * rounds} * {each} + id % {each} AS INT) AS number",
        f"id % {each * rounds} DIV {each} AS round",
    )
    # A generation ends when the member leaves or is back; the commits are evenly spaced in between.
    generation, lasts_ms = f"round DIV {commits + 1}", (_RESTART_MS - _AWAY_MS, _AWAY_MS)
    is_away = f"{generation} % 2 = 1"
    began_ms = f"{generation} DIV 2 * {_RESTART_MS} + IF({is_away}, {lasts_ms[0]}, 0)"
    since_ms = f"round % {commits + 1} * IF({is_away}, {lasts_ms[1]}, {lasts_ms[0]}) DIV {commits + 1}"
    at_ms = f"{_START_MS} + {began_ms} + {since_ms}"
    timed = placed.selectExpr("*", f"{at_ms} AS at_ms").withColumn("timestamp", F.expr("timestamp_millis(at_ms)"))
    is_generation = F.col("round") % (commits + 1) == 0
    columns = ("key", "value", "partition", "offset", "timestamp")
    committed = timed.where(~is_generation).selectExpr(*_commit(), *columns[2:])
    numbered = timed.where(is_generation).withColumn("generation", (F.col("round") / (commits + 1)).cast("int") + 1)
    schema = "key binary, value binary, partition int, offset long, timestamp timestamp"
    return committed.union(numbered.mapInArrow(_generations, schema))


def _commit() -> tuple[str, str]:
    """Return the key and the value of a commit as expressions."""
    name = "concat('000D', hex(concat('group-', lpad(number, 7, '0'))))"
    key = f"unhex(concat('0001', {name}, '0006', hex('orders'), '00000000'))"
    offset, at = (f"lpad(hex({value}), 16, '0')" for value in ("round", "at_ms"))
    return f"{key} AS key", f"unhex(concat('0003', {offset}, '00000000', '0000', {at})) AS value"


def _generations(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        places = zip(*(batch.column(name).to_pylist() for name in ("number", "generation", "at_ms")), strict=True)
        written = [_generation(*place) for place in places]
        keys, values = ([record[side] for record in written] for side in (0, 1))
        yield pa.RecordBatch.from_arrays(
            [
                *(pa.array(keys, pa.binary()), pa.array(values, pa.binary())),
                *(batch.column(name) for name in ("partition", "offset", "timestamp")),
            ],
            names=["key", "value", "partition", "offset", "timestamp"],
        )


def _generation(number: int, generation: int, at_ms: int) -> tuple[bytes, bytes | None]:
    name = f"group-{number:07}"
    ids = [f"{name}-a", f"{name}-b", *([f"{name}-c-{generation}"] if generation % 2 else [])]
    each_has = _TOPIC_PARTITIONS // len(ids)
    members = [
        member(
            each,
            # As RangeAssignor answers; without a rack, so that a prediction needs no more than the records have.
            owned=tuple(TopicPartition("orders", place * each_has + nth) for nth in range(each_has)),
            subscription=_SUBSCRIPTION,
            client=(None, each[:15]),
        )
        for place, each in enumerate(ids)
    ]
    return group(name, members, leader=ids[0], at=(generation, at_ms))
