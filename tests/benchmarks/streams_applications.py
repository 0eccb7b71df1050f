"""How long ``streams`` takes for ten times the classic applications of Kafka Streams, as a process of its own."""

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from tests.benchmarks.whole_commands import print_command

_PROCESSES, _SUBTOPOLOGIES, _PARTITIONS = 4, 4, 50
"""Of each application; every second subtopology is stateful."""
_TABLES = ("streams_members", "subtopologies", "topics")


def bench_applications(spark: SparkSession, folder: Path, applications: int) -> None:
    """Let a process join more and more applications that are balanced, and print tasks a second."""
    tasks = _SUBTOPOLOGIES * _PARTITIONS
    print(f"\napplications of Kafka Streams, {_PROCESSES} processes and {tasks} tasks each, which a process joins")
    for number in (applications // 100, applications // 10, applications):
        tables = folder / f"applications-{number}"
        if not (tables / "topics" / "_SUCCESS").exists():
            _write(spark, tables, number)
        named = [f"--{name.replace('_', '-')}={tables / name}" for name in _TABLES]
        command = ["streams", *named, "--join", "1", "--out", f"{folder}/applications-out"]
        print_command(command, f"{number:9,} applications", number * tasks, "tasks")


def _write(spark: SparkSession, folder: Path, applications: int) -> None:
    """Write the tables of a fleet: tasks are dealt out to the processes in turn."""
    groups = spark.range(applications).selectExpr("concat('app-', lpad(id, 6, '0')) AS group_id")
    _members(groups).write.mode("overwrite").parquet(str(folder / "streams_members"))
    topic = "concat(group_id, '-input-', part)"
    parts = groups.selectExpr("group_id", f"explode(sequence(0, {_SUBTOPOLOGIES - 1})) AS part")
    subtopologies = parts.selectExpr(
        "group_id", "CAST(part AS STRING) AS subtopology", f"array({topic}) AS topics", "part % 2 = 0 AS stateful"
    )
    subtopologies.write.mode("overwrite").parquet(str(folder / "subtopologies"))
    topics = parts.selectExpr(f"{topic} AS topic", f"{_PARTITIONS} AS partitions")
    topics.write.mode("overwrite").parquet(str(folder / "topics"))


def _members(groups: DataFrame) -> DataFrame:
    process = "concat('00000000-0000-4000-8000-', lpad(place + 1, 12, '0'))"
    tasks = f"sequence(0, {_SUBTOPOLOGIES * _PARTITIONS - 1})"
    own = f"filter({tasks}, task -> task % {_PROCESSES} = place)"
    named = f"struct(CAST(task DIV {_PARTITIONS} AS STRING) AS subtopology, task % {_PARTITIONS} AS partition)"
    return groups.selectExpr("group_id", f"explode(sequence(0, {_PROCESSES - 1})) AS place").selectExpr(
        "group_id",
        "concat('consumer-', place) AS member_id",
        f"{process} AS process_id",
        "CAST(place AS BIGINT) AS join_order",
        f"transform({own}, task -> {named}) AS active",
        "'classic' AS protocol",
    )
