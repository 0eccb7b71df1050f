"""Runs that are killed or fail: their output does not look finished, and the next run writes all rows."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from rebalance_sim.cli import main
from rebalance_sim.engine.spark.session import SUBMITTED_DEFAULTS
from tests.support.interruptions import MANY_TASKS, RECORD, SECONDS, kill, start, tables, wait_for_the_middle
from tests.support.submitted_jobs import ROOT, submitted

pytestmark = pytest.mark.spark_cluster

LOCALLY = "local[2]"
FLEET = ["--synthetic", str(ROOT / "conf" / "fleets" / "small.yaml"), "--groups", "100"]


@pytest.fixture(scope="module")
def fleet(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a fleet, without interruption."""
    made = tmp_path_factory.mktemp("fleet")
    assert main(["fleet", *FLEET, "--out", str(made)]) == 0
    return made


@pytest.fixture(scope="module")
def options(spark: SparkSession, fleet: Path) -> list[str]:
    """Name tables with members in no order: Spark brings those of each group together, in many tasks."""
    members = f"{fleet}/members-in-no-order"
    spark.read.parquet(f"{fleet}/members").orderBy(F.reverse("member_id")).write.parquet(members)
    return ["--topics", f"{fleet}/topics", "--members", members]


@pytest.fixture(scope="module")
def undisturbed(
    spark: SparkSession, options: list[str], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, list[str]]:
    out = tmp_path_factory.mktemp("undisturbed")
    assert main(["assign", *options, "--out", str(out)]) == 0
    return tables(spark, out)


def kill_in_the_middle(job: list[str], out: Path, log: Path) -> None:
    started = start(submitted(LOCALLY, [*job, "--out", str(out)], MANY_TASKS), log)
    try:
        wait_for_the_middle(started, out, log)
    finally:
        kill(started)
    assert not (out / RECORD).exists()


def test_a_killed_driver_leaves_nothing_that_looks_finished(
    options: list[str], undisturbed: dict[str, list[str]], spark: SparkSession, tmp_path: Path
) -> None:
    """Kill a run into a new folder, then one over a finished run."""
    out, assign = tmp_path / "out", ["assign", *options]
    for _ in range(2):
        kill_in_the_middle(assign, out, tmp_path / "log")
        assert main([*assign, "--out", str(out)]) == 0
        assert tables(spark, out) == undisturbed
        assert {path.name for path in out.iterdir()} - {f".{RECORD}.crc"} == {*undisturbed, RECORD}


def test_tables_that_a_killed_driver_leaves_are_refused(
    fleet: Path, spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    kill_in_the_middle(["fleet", *FLEET], out, tmp_path / "log")
    elect = ["elect", "--members", f"{out}/members", "--out", f"{tmp_path}/elected"]
    assert main(elect) == 2
    assert f"members: '{out}/members' belongs to a run of fleet that has not finished" in capsys.readouterr().err
    assert main(["fleet", *FLEET, "--out", str(out)]) == 0
    assert tables(spark, out) == tables(spark, fleet)
    assert main(elect) == 0


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """Create a file system of this size in bytes."""
    folder.mkdir()
    if os.geteuid() != 0:
        pytest.skip("only root may mount a small disk")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], capture_output=True, text=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip(f"a small disk cannot be mounted here: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


def check_failure(job: list[str], log: Path, settings: dict[str, str]) -> None:
    """A full disk is reported in one line, without stack traces."""
    started = start(submitted(LOCALLY, job, settings | {"spark.log.level": SUBMITTED_DEFAULTS["spark.log.level"]}), log)
    try:
        assert started.wait(SECONDS) == 1
    finally:
        kill(started)
    printed = log.read_text()
    assert "no space left on a disk that Spark writes to" in printed
    assert "\tat " not in printed


def test_a_full_disk_for_outputs_is_reported(
    options: list[str], undisturbed: dict[str, list[str]], spark: SparkSession, tmp_path: Path
) -> None:
    enough = tmp_path / "enough"
    assert main(["assign", *options, "--out", str(enough)]) == 0
    half = sum(path.stat().st_size for path in enough.rglob("*")) // 2
    with small_disk(tmp_path / "disk", str(half)) as disk:
        out = disk / "out"
        job = ["assign", *options, "--out", str(out)]
        check_failure(job, tmp_path / "log", MANY_TASKS)
        assert out.exists()
        assert not (out / RECORD).exists()
        subprocess.run(["mount", "-o", "remount,size=64m", disk], check=True)
        assert main(job) == 0
        assert tables(spark, out) == undisturbed


def test_a_full_disk_for_shuffle_files_is_reported(
    options: list[str], undisturbed: dict[str, list[str]], spark: SparkSession, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    job = ["assign", *options, "--out", str(out)]
    assert main(job) == 0
    with small_disk(tmp_path / "disk", "64k") as disk:
        check_failure(job, tmp_path / "log", MANY_TASKS | {"spark.local.dir": str(disk)})
    assert not (out / RECORD).exists()
    assert main(job) == 0
    assert tables(spark, out) == undisturbed
