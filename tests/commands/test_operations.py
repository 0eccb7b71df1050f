"""How jobs run: their logs, their endings, and their plans."""

import json
import logging
import os
import signal
import subprocess
import sys
import time
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from rebalance_sim.cli import CHECK_FAILED, main
from rebalance_sim.commands.job_options import JOBS
from rebalance_sim.engine.runs.progress import progress, report_step
from rebalance_sim.errors import CheckError
from rebalance_sim.kafka.runtime.compiled_code import being_compiled, compiling
from tests.support.rows import member, members, topics

ROOT = Path(__file__).parents[2]
ORDERS = ROOT / "docs" / "examples" / "orders"
UNFINISHED = "an output without _run.json is not finished"


@pytest.fixture(scope="module")
def given(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("given")
    topics(spark, t=4).drop("racks").write.parquet(f"{folder}/topics")
    members(spark, member("a", ["range", "roundrobin"], ["t"]), member("b", ["range"], ["t"])).write.json(
        f"{folder}/members"
    )
    spark.read.parquet(f"{folder}/topics").write.json(f"{folder}/topics-json")
    return ["--topics", f"{folder}/topics-json", "--members", f"{folder}/members", "--format", "json"]


def logged(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.scale
def test_json_logs_have_one_object_per_line(
    given: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each line is an object; the summary goes to stdout instead."""
    given = ["elect", *given[2:], "--out", f"{tmp_path}/out", "--log-format", "json", "--log-level", "debug"]
    assert main(given) == 0
    printed = capsys.readouterr()
    lines = logged(printed.err)
    assert {(line["job"], line["level"]) for line in lines} == {("elect", "info"), ("elect", "debug")}
    found = [line["message"] for line in lines if line.get("table") == "elections"]
    assert found == ["writing elections", "1 row in elections"]
    assert lines[-1]["message"] == "finished"
    assert lines[-1]["rows"]["used"] == {"members": 2}
    assert all(line["time"].endswith("+00:00") and line["seconds"] >= 0 for line in lines)
    assert "elections: 1 group" in printed.out
    record = json.loads((tmp_path / "out" / "_run.json").read_text())
    assert record["options"]["log_level"] == "debug"
    assert not record["options"].keys() & {"job", "sources", "dry_run", "explain"}


def test_mistakes_are_logged_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["elect", "--members", "nowhere", "--out", "o", "--log-format", "json", "--log-level", "error"]) == 2
    (line,) = logged(capsys.readouterr().err)
    assert line["level"] == "error"
    assert line["message"].startswith("members: cannot read 'nowhere'")


def test_the_library_configures_no_logging() -> None:
    """Neither before nor after a job."""
    assert [type(handler) for handler in logging.getLogger("rebalance_sim").handlers] == [logging.NullHandler]
    main(["elect", "--members", "nowhere", "--out", "o"])
    assert [type(handler) for handler in logging.getLogger("rebalance_sim").handlers] == [logging.NullHandler]


PLANNED: dict[str, tuple[list[str], str]] = {
    "elect": ([], "elections rejects"),
    "assign": (
        ["--strategy", "range,sticky"],
        "assignments cooperative_rebalances balance elections comparison distributions changes rejects",
    ),
    "simulate": (
        ["--scenario", "rolling-restart", "--follow", "g"],
        "timeline rebalances owned_partitions costs bounces rejects",
    ),
    "partition": (
        ["--partitions-after", "9", "--compare", "java-3.3,sarama"],
        "record_partitions batches produce_requests partition_load key_findings topics_at_risk partition_load_after "
        "partition_growth moved_keys client_agreement conflicting_keys rejects",
    ),
    "audit": (
        [],
        "elections balance comparison costs advice migration_costs findings verdicts rejects report.html charts "
        "summary.md metrics.prom",
    ),
    "history": (
        ["--offsets-topic", str(ROOT / "docs" / "examples" / "history" / "consumer-offsets.parquet")],
        "generations generation_members episodes timings backtest score miss_topics miss_members miss_clusters "
        "prevention rejects",
    ),
    "fleet": (["--synthetic", str(ROOT / "conf" / "fleets" / "small.yaml")], "topics members rejects"),
}
"""Options of each job, and what it writes."""


def planned(job: str, given: list[str], tmp_path: Path) -> list[str]:
    inputs = {
        "elect": given[2:],
        "partition": ["--format", "json", f"--topics={ORDERS}/topics.json", f"--records={ORDERS}/records.json"],
        "fleet": [],
        "history": [],
    }
    return [job, *PLANNED[job][0], *inputs.get(job, given), "--out", f"{tmp_path}/out"]


@pytest.mark.scale
@pytest.mark.parametrize("job", PLANNED)
def test_a_dry_run_writes_nothing(
    job: str, given: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It lists the tables that would be written, and writes nothing."""
    assert main([*planned(job, given, tmp_path), "--dry-run"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    before, _, after = printed.out.partition(f"outputs in {tmp_path}/out (no finished run there)\n")
    assert before.startswith(f"dry run of {job}: nothing is written\ninputs\n")
    outputs = after.partition("options\n")[0].splitlines()
    assert [line.strip() for line in outputs if line.startswith("  ")] == [*PLANNED[job][1].split(), "_run.json"]
    assert not (tmp_path / "out").exists()


@pytest.mark.scale
def test_a_dry_run_prints_inputs_rules_steps_and_options(
    given: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "options.yaml"
    file.write_text("assign: {strategy: all, kafka-version: '2.3'}")
    arguments = ["assign", *given, "--out", f"{tmp_path}/out", "--config", str(file)]
    assert main([*arguments, "--dry-run"]) == 0
    printed = capsys.readouterr().out
    assert f"  topics: {given[1]} (json)\n      columns: " in printed
    assert "partitions bigint (as int)" in printed
    assert "      missing, defaults used: topic_id null, unavailable null, racks null, end_offsets null\n" in printed
    assert "  (columns checked; no rows read)\nrules: Kafka 2.3 (assignors: range, roundrobin, sticky)\n" in printed
    assert "steps\n  assigning partitions: range, roundrobin, sticky\n" in printed
    found = [line.split() for line in printed.partition("options\n")[2].splitlines()]
    assert ["strategy", "all", str(file)] in found
    assert ["format", "json", "option"] in found
    assert ["seed", "0", "default"] in found

    assert main([*arguments, "--strategy", "range"]) == 0
    capsys.readouterr()
    assert main([*arguments, "--dry-run"]) == 0
    assert f"outputs in {tmp_path}/out (replaces the finished run there)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("job", "more", "printed"),
    [
        ("assign", ["--topics", "nowhere"], "topics: cannot read 'nowhere': it does not exist"),
        ("assign", ["--members", f"{ORDERS}/topics.json"], "members: column 'group_id' is missing; available: "),
        ("assign", ["--out", " "], "--out: ' ' is not allowed"),
        ("assign", ["--output-format", "parket"], "--output-format: cannot write as parket: [DATA_SOURCE_NOT_FOUND]"),
        ("assign", ["--output-format", "csv"], "--output-format: cannot write as csv: "),
        ("simulate", ["--settings", "network=1"], "--settings: network: unknown key; did you mean 'network_ms'?"),
    ],
)
def test_a_dry_run_finds_mistakes(
    given: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], job: str, more: list[str], printed: str
) -> None:
    assert main([*planned(job, given, tmp_path), *more, "--dry-run"]) == 2
    assert printed in capsys.readouterr().err


@pytest.mark.scale
def test_a_dry_run_finds_unusable_steps_of_a_scenario(
    given: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text("steps: [{event: leave, at_ms: 1}, {event: laeve, at_ms: 1}]")
    arguments = ["simulate", *given, "--scenario", str(scenario), "--out", f"{tmp_path}/out", "--dry-run"]
    assert main(arguments) == 0
    assert main([*arguments, "--on-bad-input", "fail"]) == 2
    assert "scenario: line 1: event: 'laeve' is not known (did you mean 'leave'?)" in capsys.readouterr().err


@pytest.mark.scale
@pytest.mark.parametrize("job", ["elect", "partition"])
def test_explain_prints_the_plan_of_every_output(
    job: str, given: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*planned(job, given, tmp_path), "--explain"]) == 0
    printed = capsys.readouterr().out
    for name in PLANNED[job][1].split():
        assert f"# {name}\n== Physical Plan ==\n" in printed
    assert "# rows (staged for several outputs)\n== Physical Plan ==\n" in printed
    assert not (tmp_path / "out").exists()


def worker_ends(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    os._exit(1)


def disk_is_full(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    raise OSError(28, "No space left on device")


def a_job(monkeypatch: pytest.MonkeyPatch, work: Any) -> list[str]:
    """Add a job that does this work, and return its command line."""

    def run(spark: SparkSession, options: Namespace) -> None:
        work(spark)

    monkeypatch.setitem(JOBS, "own", JOBS["elect"]._replace(summary="do this work", examples=()))
    monkeypatch.setitem(sys.modules, "rebalance_sim.commands.own", SimpleNamespace(run=run))
    validation = SimpleNamespace(validate=lambda *_: None)
    monkeypatch.setitem(sys.modules, "rebalance_sim.commands.validation.own", validation)
    return ["own", "--members", "m", "--out", "o"]


@pytest.mark.scale
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    ("function", "printed"),
    [
        (worker_ends, "a Python worker of Spark died; most often the system killed it because memory was short"),
        (disk_is_full, "no space left on a disk that Spark writes to (the folder of --out, or spark.local.dir)"),
    ],
)
def test_failures_of_the_environment_take_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], function: Any, printed: str
) -> None:
    """They take one line; the traceback is logged at level debug."""
    call = a_job(monkeypatch, lambda spark: spark.range(1).mapInArrow(function, "id long").collect())
    assert main(call) == 1
    assert f"rebalance-sim own: {printed}; {UNFINISHED}\n" == capsys.readouterr().err
    assert main([*call, "--log-level", "debug", "--log-format", "json"]) == 1
    (line,) = logged(capsys.readouterr().err)
    assert line["message"] == f"{printed}; {UNFINISHED}"
    assert line["traceback"].startswith("Traceback")


def test_every_ending_has_its_exit_code(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fail(problem: BaseException) -> int:
        def work(spark: SparkSession) -> None:
            raise problem

        return main(a_job(monkeypatch, work))

    assert fail(CheckError("3 groups move")) == CHECK_FAILED
    assert capsys.readouterr().err == "rebalance-sim own: 3 groups move\n"
    assert fail(KeyError("x")) == 1
    printed = capsys.readouterr().err.splitlines()
    found = printed[:2]
    assert found == [f"rebalance-sim own: failed with KeyError; {UNFINISHED}", "Traceback (most recent call last):"]
    assert fail(KeyboardInterrupt()) == 130
    assert capsys.readouterr().err == f"rebalance-sim own: stopped by SIGINT; {UNFINISHED}\n"


def test_sigterm_stops_a_job(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The previous signal handler is restored afterwards."""
    usual = signal.getsignal(signal.SIGTERM)
    assert main(a_job(monkeypatch, lambda spark: signal.raise_signal(signal.SIGTERM))) == 143
    assert capsys.readouterr().err == f"rebalance-sim own: stopped by SIGTERM; {UNFINISHED}\n"
    assert signal.getsignal(signal.SIGTERM) is usual


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_a_job_whatever_its_handling_raises(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], number: signal.Signals
) -> None:
    """py4j cannot close a connection on which a command is being sent for the first time."""

    def work(spark: SparkSession) -> None:
        try:
            signal.raise_signal(number)
        except KeyboardInterrupt:
            raise Py4JError("Gateway must be connected to send cancel cmd.")  # noqa: B904 (as py4j does)

    assert main(a_job(monkeypatch, work)) == 128 + number
    assert capsys.readouterr().err == f"rebalance-sim own: stopped by {number.name}; {UNFINISHED}\n"


def slow(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    time.sleep(1)
    yield from batches


@pytest.mark.scale
def test_progress_is_logged_for_long_jobs(spark: SparkSession, caplog: pytest.LogCaptureFixture) -> None:
    """Jobs that run longer than the interval are logged; shorter ones are not."""
    with caplog.at_level(logging.INFO, "rebalance_sim"), progress(spark, seconds=0.4):
        spark.range(1).collect()
        assert caplog.records == []
        spark.range(0, 4, 1, 4).mapInArrow(slow, "id long").collect()
    printed = [vars(record)["fields"] for record in caplog.records]
    assert printed
    assert {fields["tasks"] for fields in printed} == {4}
    assert [fields["tasks_done"] for fields in printed] == sorted(fields["tasks_done"] for fields in printed)
    assert all("of 4 tasks done" in record.message for record in caplog.records)


@pytest.mark.parametrize("seconds", [0.1, 10.0])
def test_a_rule_that_any_process_compiles_is_logged(
    spark: SparkSession,
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    seconds: float,
) -> None:
    """At once, however rarely the tasks of Spark's jobs are logged; then the step again, which a bar shows."""
    monkeypatch.setattr("rebalance_sim.kafka.runtime.compiled_code.cache_folder", lambda: tmp_path)
    monkeypatch.setattr("rebalance_sim.engine.runs.progress.being_compiled", being_compiled)
    with caplog.at_level(logging.INFO, "rebalance_sim"), progress(spark, seconds):
        report_step("assigning")
        with compiling("rebalance_sim.kafka.assignors.one._assign"):
            time.sleep(0.8)
        time.sleep(0.8)
    rule = "compiling a rule, once on this machine: kafka.assignors.one._assign"
    assert [record.message for record in caplog.records] == ["assigning", rule, "assigning"]


@pytest.mark.setup
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stopped_job_leaves_no_record(tmp_path: Path, number: signal.Signals) -> None:
    """A job in its own process, stopped while it works."""
    fleet = ["fleet", "--synthetic", str(ROOT / "conf" / "fleets" / "default.yaml"), "--groups", "3000000"]
    command = [sys.executable, "-m", "rebalance_sim.cli", *fleet, "--out", f"{tmp_path}/out"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=ROOT) as job:
        assert job.stderr is not None
        for line in job.stderr:
            if "writing topics" in line:
                job.send_signal(number)
                break
        printed = job.stderr.read()
    assert job.returncode == 128 + number
    assert printed.endswith(f"rebalance-sim fleet: stopped by {number.name}; {UNFINISHED}\n")
    assert not (tmp_path / "out" / "_run.json").exists()
