"""A job on YARN, in client and in cluster mode, on a node that does not have the project, with its files in HDFS."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from rebalance_sim.cli import main
from rebalance_sim.engine.spark.java_runtime import java_home
from rebalance_sim.errors import UserError
from tests.support.interruptions import SECONDS, kill, start, tables
from tests.support.spark_settings import FOR_A_SHORT_LIFE
from tests.support.submitted_jobs import ROOT, submission
from tests.support.unavailable import Unavailable
from tests.support.yarn.cluster import JARS, YarnCluster

pytestmark = pytest.mark.spark_cluster

PAGE = (ROOT / "docs" / "clusters.md").read_text()
ARCHIVE = "dist/rebalance-sim-environment.tar.gz"
SETTINGS = FOR_A_SHORT_LIFE | {
    "spark.driver.memory": "1g",
    "spark.executor.memory": "512m",
    # Without this, Spark packs and uploads its 400 MB of jars for every job.
    "spark.yarn.jars": f"local:{JARS}/*",
    # In cluster mode YARN's driver otherwise announces the address of the machine's host name.
    "spark.yarn.appMasterEnv.SPARK_LOCAL_IP": "127.0.0.1",
    "spark.executorEnv.SPARK_LOCAL_IP": "127.0.0.1",
}


@pytest.fixture(scope="module")
def yarn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[YarnCluster]:
    try:
        with YarnCluster(tmp_path_factory.mktemp("yarn"), java_home()) as started:
            yield started
    except (Unavailable, UserError) as missing:
        pytest.skip(f"no YARN: {missing}")


@pytest.fixture(scope="module")
def local_rows(yarn: YarnCluster, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Write a fleet to HDFS, and return the assignments of local mode."""
    fleet, out = f"{yarn.file_system}/fleet", tmp_path_factory.mktemp("local")
    assert main(["fleet", "--synthetic", "small", "--groups", "100", "--out", fleet]) == 0
    assert main(["assign", "--topics", f"{fleet}/topics", "--members", f"{fleet}/members", "--out", str(out)]) == 0
    return tables(spark, out)


def options_of_the_page(mode: str) -> str:
    """Return the options of spark-submit that the page shows."""
    client = PAGE.partition("spark-submit --master yarn ")[2].partition("jobs/")[0].replace("\\\n", " ")
    if mode == "client":
        return client
    (further,) = re.findall(r"add `(--conf spark\.yarn\.appMasterEnv[^`]+)`", PAGE)
    return f"{client.replace('--deploy-mode client', '--deploy-mode cluster')} {further}"


@pytest.mark.parametrize("mode", ["client", "cluster"])
def test_assign_gives_the_rows_of_local_mode(
    mode: str, yarn: YarnCluster, archive: Path, local_rows: dict[str, Any], spark: SparkSession, tmp_path: Path
) -> None:
    submit = submission("yarn", SETTINGS)
    submit += shlex.split(options_of_the_page(mode).replace(ARCHIVE, str(archive)))
    job = ["jobs/assign.py", "--topics", "hdfs:///fleet/topics", "--members", "hdfs:///fleet/members"]
    variables = {"HADOOP_CONF_DIR": str(yarn.configuration), "PYSPARK_PYTHON": "./environment/bin/python"}
    log = tmp_path / "log"
    started = start([*submit, *job, "--out", f"hdfs:///{mode}"], log, **variables)
    try:
        # Beside other tests it may take minutes until YARN has copied the environment to its containers.
        ended = started.wait(2 * SECONDS)
    finally:
        kill(started)
    assert ended == 0, f"{log.read_text()[-3000:]}\n{yarn.container_logs()}"
    assert f"deploy-mode {mode}" in " ".join(submit)

    yarn.copy_to_local(spark, f"/{mode}", tmp_path / "out")
    assert tables(spark, tmp_path / "out") == local_rows
