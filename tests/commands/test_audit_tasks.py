"""Groups that share tasks, in audits: read from __consumer_offsets, judged, and shown on the page."""

import html
import json
import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from rebalance_sim.cli import USER_ERROR, main
from rebalance_sim.kafka.wire.streams_protocol import TaskId
from tests.support.cluster.topic_reader import OFFSETS_RECORD
from tests.support.connect_records import record_of, worker_member
from tests.support.streams_application_records import record_of as application_of
from tests.support.streams_application_records import thread

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


@pytest.mark.scale
def test_an_audit_of_the_offsets_topic_judges_its_connect_clusters(
    spark: SparkSession, small_runs: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tasks 0 and 2 run, so that there is a task 1; the workers of the other cluster run nothing at all."""
    gap = record_of("gap", [worker_member("a", told=[("c", -1), ("c", 0)]), worker_member("b", told=[("c", 2)])])
    idle = record_of("idle", [worker_member("a"), worker_member("b")])
    records = [(*record, 0, offset) for offset, record in enumerate((gap, idle))]
    spark.createDataFrame(records, OFFSETS_RECORD).write.parquet(f"{tmp_path}/dump")
    arguments = ["audit", "--offsets-topic", f"{tmp_path}/dump", "--out", f"{tmp_path}/out"]
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    assert "gap: 1 of 4 connectors and tasks run on no worker: c-1 (assumed)" in printed
    verdicts = {row["group_id"]: row for row in spark.read.parquet(f"{tmp_path}/out/verdicts").collect()}
    assert (verdicts["gap"]["kind"], verdicts["idle"]["kind"]) == ("tasks-not-running", "more-members-than-tasks")
    page = (tmp_path / "out/report.html").read_text()
    assert page.count("Workers, and what each runs") == 1
    assert "configured connectors are those that run" in page

    assert main(["audit", "--fleet", f"{tmp_path}/out/fleet", "--out", f"{tmp_path}/again"]) == 0
    assert "gap: 1 of 4 connectors and tasks run on no worker: c-1 (assumed)" in capsys.readouterr().out


@pytest.mark.scale
def test_an_audit_of_the_offsets_topic_judges_its_classic_applications(
    spark: SparkSession, small_runs: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Their topologies are in no topic: without them, only what threads have now is judged."""
    tasks = [TaskId(0, partition) for partition in range(4)]
    record = application_of("totals", [thread("a", 1, tasks), thread("b", 2)])
    spark.createDataFrame([(*record, 0, 0)], OFFSETS_RECORD).write.parquet(f"{tmp_path}/dump")
    topology = {"group_id": "totals", "subtopology": "0", "topics": ["orders"], "stateful": True}
    for name, row in (("topics", {"topic": "orders", "partitions": 4}), ("subtopologies", topology)):
        (tmp_path / f"{name}.json").write_text(json.dumps(row) + "\n")
    arguments = ["audit", "--offsets-topic", f"{tmp_path}/dump", "--topics", f"{tmp_path}/topics.json"]
    assert main([*arguments, "--out", f"{tmp_path}/without"]) == 0
    assert "totals: 0 to 4 active tasks per thread, 2 if they were spread evenly" in capsys.readouterr().out
    kinds = [row["kind"] for row in spark.read.parquet(f"{tmp_path}/without/findings").collect()]
    assert sorted(set(kinds) & {"other-kind-of-group", "no-standby-replicas"}) == ["other-kind-of-group"]

    given = ["--subtopologies", f"{tmp_path}/subtopologies.json", "--out", f"{tmp_path}/with"]
    assert main([*arguments, *given]) == 0
    printed = capsys.readouterr().out
    assert "4 stateful tasks restore state from changelog topics on other processes: no task has a standby" in printed
    assert "-> Set num.standby.replicas=1 in all processes" in printed
    page = (tmp_path / "with/report.html").read_text()
    assert "Processes and threads" in page

    described = "Sub-topology: 0\nSource: s (topics: [orders])\nProcessor: p (stores: [sums])\n"
    (tmp_path / "topology.txt").write_text(described)
    given = ["--topology", f"totals={tmp_path}/topology.txt", "--out", f"{tmp_path}/described"]
    assert main([*arguments, *given]) == 0
    assert "4 stateful tasks restore state" in capsys.readouterr().out
    same, found = (
        sorted(map(str, spark.read.parquet(f"{tmp_path}/{name}/findings").collect())) for name in ("with", "described")
    )
    assert found == same
    assert "very store in a description of a topology" in (tmp_path / "described/report.html").read_text()


@pytest.mark.scale
def test_an_audit_of_printed_streams_groups_needs_their_topology(
    spark: SparkSession, small_runs: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without it, only what threads have now is judged; standby replicas are those that tasks have."""
    arguments = ["audit", "--kafka-tools", f"{EXAMPLES}/streams-4.3.1", "--out", f"{tmp_path}/out"]
    assert main(arguments) == 0
    notes = spark.read.parquet(f"{tmp_path}/out/findings").where("kind = 'other-kind-of-group'")
    (note,) = notes.where("group_id = 'totals'").collect()
    assert "no assignment is predicted: no topology: give --subtopologies" in note["description"]
    capsys.readouterr()
    assert main([*arguments, "--topology", f"totals={EXAMPLES}/streams-4.3.1.topology.txt"]) == 0
    findings = {row["kind"]: row for row in spark.read.parquet(f"{tmp_path}/out/findings").collect()}
    assert "no-standby-replicas" not in findings
    assert findings["stop-of-process"]["group_id"] == "totals"
    balance = spark.read.parquet(f"{tmp_path}/out/streams_balance").collect()
    assert [(row["tasks"], row["standby_replicas"], row["moved"], row["error"]) for row in balance] == [(8, 1, 0, None)]
    page = (tmp_path / "out/report.html").read_text()
    assert "standby replicas (num.standby.replicas) of 1 group (totals) is unknown" in page


@pytest.mark.scale
def test_the_page_shows_the_rollouts_of_streams_groups(
    spark: SparkSession, small_runs: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One of two processes, which has a warning, and one of a thread, with and without the initial delay.

    A page that is made of the finished audit shows the same.
    """
    several = [("m-1", "p-1", (0, 1)), ("m-2", "p-2", (2, 3))]
    rows = [
        {"group_id": group, "member_id": f"{group}-{name}", "process_id": process}
        | {"active": [{"subtopology": "0", "partition": partition} for partition in partitions]}
        for group, members in (("pair", several), ("alone", [("m", "p", (0, 1, 2, 3))]))
        for name, process, partitions in members
    ]
    part = {"subtopology": "0", "topics": ["orders"], "stateful": True}
    tables: dict[str, list[dict[str, Any]]] = {
        "topics": [{"topic": "orders", "partitions": 4}],
        "members": [{"group_id": "c", "member_id": "c", "protocols": ["range"], "subscription": ["orders"]}],
        "streams-members": rows,
        "subtopologies": [{"group_id": group} | part for group in ("pair", "alone")],
    }
    arguments = ["audit", "--out", f"{tmp_path}/out"]
    for name, of in tables.items():
        (tmp_path / f"{name}.json").write_text("".join(f"{json.dumps(row)}\n" for row in of))
        arguments += [f"--{name}", f"{tmp_path}/{name}.json"]
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    assert re.search(r"alone: rolling restart: each task is without a thread for [\d.]+ s on average", printed)
    assert "-> Set streams.initial.rebalance.delay.ms=0 for the group (kafka-configs.sh)." in printed
    pages = [tmp_path / folder / "report.html" for folder in ("out", "page")]
    page = re.sub(r"<[^>]*>", " ", pages[0].read_text())
    notes = re.findall(r"As it is: (\d+) epochs, downtime per task [\d.]+ s, (\d+) task moves", page)
    assert len(notes) == 2
    assert "streams.initial.rebalance.delay.ms=0 would help most" in page
    assert "No other settings are tried." in page
    assert "Step by step" in page
    assert "time in which no thread has a task, mean" in page
    assert "less downtime of tasks" in page
    assert f"rebalance-sim streams --streams-members {tmp_path}/streams-members.json" in html.unescape(page)
    assert "restoring its state takes no time" in page
    assert main(["report", "--runs", f"{tmp_path}/out", "--out", f"{tmp_path}/page"]) == 0
    drawn = [re.findall(r'<table class="lanes".*?</table>', path.read_text(), re.DOTALL) for path in pages]
    assert len(drawn[0]) == 3
    assert drawn[0] == drawn[1]


def test_topologies_need_members(small_runs: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Members of the group, even if there are others."""
    topology = f"{EXAMPLES}/streams-4.3.1.topology.txt"
    for source, group, message in (
        ("kafka-4.3.1", "totals", "--topology: needs members, which have their tasks: give --streams-members, or a"),
        ("streams-4.3.1", "total", "--topology: group 'total' does not exist; similar: 'totals'"),
    ):
        arguments = ["audit", "--kafka-tools", f"{EXAMPLES}/{source}", "--topology", f"{group}={topology}"]
        assert main([*arguments, "--out", f"{tmp_path}/{source}"]) == USER_ERROR
        assert message in capsys.readouterr().err


def test_a_table_beside_described_topologies_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["audit", "--kafka-tools", f"{EXAMPLES}/streams-4.3.1", "--topology", "a=b", "--subtopologies", "c"]
    assert main([*arguments, "--out", f"{tmp_path}/out"]) == USER_ERROR
    assert "--subtopologies and --topology: give one of them" in capsys.readouterr().err


def test_connectors_need_workers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    connectors = f"{EXAMPLES}/connect/connectors.json"
    for source in (["--kafka-tools", f"{EXAMPLES}/kafka-4.3.1"], ["--topics", connectors, "--members", connectors]):
        assert main(["audit", *source, "--connectors", connectors, "--out", f"{tmp_path}/out"]) == USER_ERROR
        assert (
            "--connectors: needs workers, which run them; give --workers, or --offsets-topic" in capsys.readouterr().err
        )
