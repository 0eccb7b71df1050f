"""The job streams for classic applications: what it reads from __consumer_offsets, prints and writes."""

import json
from pathlib import Path
from uuid import UUID

import pytest
from pyspark.sql import SparkSession

from rebalance_sim.cli import main
from rebalance_sim.kafka.wire.streams_protocol import LATEST_OFFSET, TaskId
from tests.support.cluster.topic_reader import OFFSETS_RECORD
from tests.support.offsets_records import stored_member
from tests.support.streams_application_records import record_of, thread

pytestmark = pytest.mark.usefixtures("small_runs")

TASKS = [TaskId(0, partition) for partition in range(4)]
TOPOLOGY = {"group_id": "totals", "subtopology": "0", "topics": ["orders"], "stateful": True}


@pytest.fixture
def arguments(spark: SparkSession, tmp_path: Path) -> list[str]:
    """Two applications, of which one has a topology; the last record counts, and one member is malformed."""
    older = record_of("totals", [thread("a", 1, TASKS)], generation=1)
    newer = record_of("totals", [thread("a", 1, TASKS[:2], TASKS[2:]), thread("b", 2, TASKS[2:])], generation=2)
    unknown = record_of("unknown", [thread("a", 1), stored_member("b-1", (None, "b"), b"\0\1", b"")])
    records = [(*record, 0, offset) for offset, record in enumerate((older, newer, unknown))]
    spark.createDataFrame(records, OFFSETS_RECORD).write.parquet(f"{tmp_path}/dump")
    (tmp_path / "subtopologies.json").write_text(json.dumps(TOPOLOGY) + "\n")
    (tmp_path / "topics.json").write_text(json.dumps({"topic": "orders", "partitions": 4}) + "\n")
    topics = ["--topics", f"{tmp_path}/topics.json", "--subtopologies", f"{tmp_path}/subtopologies.json"]
    return ["streams", "--offsets-topic", f"{tmp_path}/dump", *topics, "--out", f"{tmp_path}/out"]


def test_a_process_leaves(
    spark: SparkSession, tmp_path: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Its tasks become active where they were standby tasks: no state is restored."""
    assert main([*arguments, "--leave", "b"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert printed.startswith("2 classic applications, 4 tasks; the state of 0 active tasks is restored")
    assert "1 group has no assignment, first unknown: no topology: give --subtopologies with" in printed
    assert "of classic applications are caught up with the stateful tasks that they have" in printed
    assert "joined in the order of their ids" not in printed
    tasks = spark.read.parquet(f"{tmp_path}/out/streams_tasks").orderBy("partition").collect()
    assert [(row["partition"], row["member_id"], row["role"], row["previous"]) for row in tasks] == [
        (0, "a-1", "active", "active"),
        (1, "a-1", "active", "active"),
        (2, "a-1", "active", "standby"),
        (3, "a-1", "active", "standby"),
    ]
    assert {row["process_id"] for row in tasks} == {str(UUID(int=1))}
    (reject,) = spark.read.parquet(f"{tmp_path}/out/rejects").collect()
    assert (reject["table"], reject["group_id"]) == ("streams_members", "unknown")


def test_a_process_joins(
    spark: SparkSession, tmp_path: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """A task moves to the process that has it as a standby task; elsewhere, state is restored before."""
    assert main([*arguments, "--join", "1", "--standby-replicas", "0", "--max-warmup-replicas", "1"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "a probing rebalance follows in 1 application" in printed
    assert "the process ids of new processes are the largest" in printed
    rows = spark.read.parquet(f"{tmp_path}/out/streams_balance").where("error IS NULL").collect()
    assert [(row["protocol"], row["members"], row["probing"], row["moved"]) for row in rows] == [
        ("classic", 3, True, 1)
    ]
    started = spark.read.parquet(f"{tmp_path}/out/streams_tasks").where("role = 'standby'").collect()
    assert [(row["process_id"], row["previous"]) for row in started] == [(str(UUID(int=2)), None)]


def test_an_application_that_waits_for_a_probing_rebalance(
    spark: SparkSession, tmp_path: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Task 0_1 was warming up on the second process, and has a fifth of its state: the rest takes 8 of 10 minutes."""
    a, b = dict.fromkeys(TASKS[:2], LATEST_OFFSET), dict.fromkeys(TASKS[2:], LATEST_OFFSET) | {TASKS[1]: 120_000}
    threads = [
        thread("a", 1, TASKS[:2], offset_sums=a, probing_at=1),
        thread("b", 2, TASKS[2:], TASKS[1:2], offset_sums=b),
    ]
    record = (*record_of("totals", [*threads, thread("c", 3)], generation=3), 0, 3)
    spark.createDataFrame([record], OFFSETS_RECORD).write.mode("overwrite").parquet(f"{tmp_path}/dump")
    (tmp_path / "subtopologies.json").write_text(json.dumps(TOPOLOGY | {"changelogs": ["sums"]}) + "\n")
    with (tmp_path / "topics.json").open("a") as file:
        file.write(json.dumps({"topic": "sums", "partitions": 4, "end_offsets": [600_000] * 4}) + "\n")
    assert main([*arguments, "--leave", "c", "--restore-rate", "1000"]) == 0
    assert "unless task_offsets says otherwise" in " ".join(capsys.readouterr().out.split())
    moves = spark.read.parquet(f"{tmp_path}/out/streams_moves").orderBy("partition").collect()
    found = [(row["partition"], row["records"], row["restored_ms"], row["moved_ms"]) for row in moves]
    assert found == [(1, 480_000, 480_000, 600_000), (2, 600_000, 600_000, 600_000)]


def test_a_topology_is_inferred_from_the_tasks_of_members(
    spark: SparkSession, tmp_path: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """A table of subtopologies takes its place, and so does a description."""
    at = arguments.index("--subtopologies")
    given, table = [*arguments[:at], *arguments[at + 2 :]], arguments[at : at + 2]
    text = "Topologies:\n  Sub-topology: 0\n    Source: s (topics: [orders])\n    Processor: p (stores: [sums])\n"
    (tmp_path / "totals.txt").write_text(text)
    printed = {}
    for name, more in (("", []), ("table", table), ("file", ["--topology", f"totals={tmp_path}/totals.txt"])):
        assert main([*given, *more, "--leave", "b"]) == 0
        printed[name] = " ".join(capsys.readouterr().out.split())
        rows = spark.read.parquet(f"{tmp_path}/out/streams_balance").where("error IS NULL").collect()
        assert [(row["group_id"], row["tasks"], row["restored"]) for row in rows] == [("totals", 4, 0)]
    assumed = "opology of 1 group (totals) is inferred from the tasks that members got in the last rebalance"
    assert {name for name, text in printed.items() if assumed in text} == {""}
    assert main(["fleet", *arguments[1:3], "--out", f"{tmp_path}/fleet"]) == 0
    assert assumed in " ".join(capsys.readouterr().out.split())
    (part,) = spark.read.parquet(f"{tmp_path}/fleet/subtopologies").collect()
    assert (part["group_id"], part["topics"], part["stateful"], part["inferred"]) == ("totals", ["orders"], True, True)


def test_the_description_of_a_topology(
    spark: SparkSession, tmp_path: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """It takes the place of the subtopologies table."""
    text = "Topologies:\n  Sub-topology: 0\n    Source: s (topics: [orders])\n    Processor: p (stores: [sums])\n"
    (tmp_path / "totals.txt").write_text(text)
    at = arguments.index("--subtopologies")
    given = [*arguments[:at], "--topology", f"totals={tmp_path}/totals.txt", *arguments[at + 2 :]]
    assert main([*given, "--leave", "b"]) == 0
    assert "every store in a description of a topology has a changelog" in " ".join(capsys.readouterr().out.split())
    rows = spark.read.parquet(f"{tmp_path}/out/streams_balance").where("error IS NULL").collect()
    assert [(row["group_id"], row["tasks"], row["moved"], row["restored"]) for row in rows] == [("totals", 4, 2, 0)]


def test_other_clients(tmp_path: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*arguments, "--client-version", "2.8"]) == 0
    assert "that of Kafka 2.8 is of version 9: give --client-version" in " ".join(capsys.readouterr().out.split())
