"""The jobs on a Spark cluster whose workers do not have the project; one worker is killed during the job."""

import shlex
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rebalance_sim.cli import main
from rebalance_sim.engine.spark.java_runtime import java_home
from rebalance_sim.errors import UserError
from rebalance_sim.kafka.runtime.compiled_code import NAME
from tests.support.cluster.spark_cluster import SparkCluster
from tests.support.interruptions import MANY_TASKS, SECONDS, kill, start, tables, wait_for_the_middle
from tests.support.submitted_jobs import ROOT, submission

pytestmark = pytest.mark.spark_cluster

PAGE = ROOT / "docs" / "clusters.md"
ARCHIVE = "dist/rebalance-sim-environment.tar.gz"
COMPILED = f"lib/rebalance_sim/__pycache__/{NAME}/"
ON_LOOPBACK = MANY_TASKS | {
    "spark.executor.memory": "512m",
    # Fail soon when the lost worker's shuffle files cannot be fetched.
    "spark.shuffle.io.maxRetries": "1",
    "spark.shuffle.io.retryWait": "1s",
    "spark.eventLog.enabled": "true",
    "spark.eventLog.rolling.enabled": "false",
    "spark.eventLog.compress": "false",
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    try:
        home = java_home()
    except UserError as missing:
        pytest.skip(str(missing))
    with SparkCluster(tmp_path_factory.mktemp("spark-cluster"), home) as started:
        yield started


@pytest.fixture(scope="module")
def jobs(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Write inputs; return the options of each job."""
    made = tmp_path_factory.mktemp("inputs")
    small = str(ROOT / "conf" / "fleets" / "small.yaml")
    assert main(["fleet", "--synthetic", small, "--groups", "100", "--out", f"{made}/fleet"]) == 0
    spark.sql("SELECT 'orders' topic, 12 partitions").write.parquet(f"{made}/topics")
    spark.range(4000).selectExpr(
        "'orders' topic",
        "if(id % 3 = 0, null, string(id % 50)) key",
        "id % 100 value_bytes",
        "string(id % 20) producer_id",
        "id seq",
        "element_at(array('java-3.3', 'librdkafka', 'java-2.4'), int(id % 3 + 1)) client",
    ).write.parquet(f"{made}/records")
    fleet = ["--topics", f"{made}/fleet/topics", "--members", f"{made}/fleet/members"]
    return {
        "assign": fleet,
        "partition": ["--topics", f"{made}/topics", "--records", f"{made}/records"],
        "simulate": [*fleet, "--scenario", "leave"],
    }


def compiled_in(archive: Path) -> dict[str, int]:
    with tarfile.open(archive) as packed:
        return {
            name: entry.size
            for entry in packed.getmembers()
            if entry.isfile() and (name := entry.name.removeprefix("./")).startswith(COMPILED)
        }


def test_workers_do_not_have_the_project(cluster: SparkCluster) -> None:
    """Otherwise the test would not use the archive."""
    command = [f"python{sys.version_info.major}.{sys.version_info.minor}", "-c", "import rebalance_sim"]
    done = subprocess.run(command, env=cluster.environment, cwd="/", capture_output=True, text=True, check=False)
    assert "No module named 'rebalance_sim'" in done.stderr


@pytest.mark.parametrize("job", ["assign", "partition", "simulate"])
def test_a_killed_worker_does_not_change_the_rows(
    job: str, jobs: dict[str, list[str]], cluster: SparkCluster, archive: Path, spark: SparkSession, tmp_path: Path
) -> None:
    """The command is that of docs/clusters.md; the rows are those of local mode."""
    options = PAGE.read_text().partition("spark-submit --master spark://HOST:7077 ")[2].partition("jobs/")[0]
    settings = ON_LOOPBACK | {"spark.eventLog.dir": tmp_path.as_uri()}
    submit = submission(cluster.url, settings)
    submit += shlex.split(options.replace("\\\n", " ").replace(ARCHIVE, str(archive)))
    out, log = tmp_path / "out", tmp_path / "log"
    before = set(cluster.executor_folders())
    started = start(
        [*submit, f"jobs/{job}.py", *jobs[job], "--out", str(out)], log, PYSPARK_PYTHON="./environment/bin/python"
    )
    try:
        wait_for_the_middle(started, out, log)
        cluster.kill_worker()
        assert started.wait(SECONDS) == 0, log.read_text()[-3000:]
    finally:
        kill(started)
        cluster.add_worker()
    assert "SparkListenerExecutorRemoved" in next(tmp_path.glob("app-*")).read_text()

    assert main([job, *jobs[job], "--out", f"{tmp_path}/local"]) == 0
    assert tables(spark, out) == tables(spark, tmp_path / "local")

    folders = set(cluster.executor_folders()) - before
    assert len(folders) >= 2
    for folder in folders:
        environment = folder / "environment"
        kept = [path for path in environment.glob(f"{COMPILED}**/*") if path.is_file()]
        assert {str(path.relative_to(environment)): path.stat().st_size for path in kept} == compiled_in(archive)
