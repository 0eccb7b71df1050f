"""Groups that share tasks, in audits: read from __consumer_offsets, judged, and shown on the page."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rebalance_sim.cli import USER_ERROR, main
from tests.support.cluster.live_set_ups import OFFSETS_RECORD
from tests.support.connect_records import record_of, worker_member

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


def test_connectors_need_workers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    connectors = f"{EXAMPLES}/connect/connectors.json"
    for source in (["--kafka-tools", f"{EXAMPLES}/kafka-4.3.1"], ["--topics", connectors, "--members", connectors]):
        assert main(["audit", *source, "--connectors", connectors, "--out", f"{tmp_path}/out"]) == USER_ERROR
        assert (
            "--connectors: needs workers, which run them; give --workers, or --offsets-topic" in capsys.readouterr().err
        )
