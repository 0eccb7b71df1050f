"""Airflow, in its own environment."""

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from rebalance_sim.engine.spark.java_runtime import java_home
from tests.support.processes import started
from tests.support.spark_settings import FOR_A_SHORT_LIFE, as_java_options, with_archive

ROOT = Path(__file__).parents[3]
AIRFLOW = str(ROOT / "build" / "airflow" / "bin" / "airflow")
DEADLINE_S = 900
LOCAL_SPARK = FOR_A_SHORT_LIFE | {"spark.sql.shuffle.partitions": "1", "spark.sql.adaptive.enabled": "false"}


@dataclass(frozen=True)
class Airflow:
    """An installation that loads this project's DAG, and runs its jobs in this project's environment."""

    home: Path
    environment: Mapping[str, str]

    def start(self, *command: str, log: Path) -> "subprocess.Popen[bytes]":
        """Start a command in the project's folder, with its output in a file."""
        log.unlink(missing_ok=True)
        return started(command, log, self.environment, folder=ROOT)

    def run(self, *command: str, exit_code: int = 0) -> str:
        """Run a command; return its output."""
        log = self.home / "command.log"
        process = self.start(*command, log=log)
        try:
            ended = process.wait(DEADLINE_S)
        finally:
            process.kill()
        printed = log.read_text()
        assert ended == exit_code, printed
        return printed

    def tasks(self, date: str) -> dict[str, tuple[str, int]]:
        """Return the state and the number of tries of every task in the run of a date."""
        asked = (
            "SELECT task_id, task_instance.state, try_number FROM task_instance JOIN dag_run USING (dag_id, run_id) "
            "WHERE date(logical_date) = ?"
        )
        database = sqlite3.connect(self.home / "airflow.db")
        try:
            return {task: (state, tries) for task, state, tries in database.execute(asked, [date])}
        finally:
            database.close()


@pytest.fixture(scope="module")
def airflow(tmp_path_factory: pytest.TempPathFactory) -> Airflow:
    """Install Airflow if necessary, with a new home that has no database yet."""
    if shutil.which("make") is None or not Path("/proc/self").exists():
        pytest.skip("make and /proc are needed")
    made = subprocess.run(
        ["make", "airflow", f"PYTHON={sys.executable}"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if made.returncode:
        pytest.skip(f"Airflow cannot be installed: {made.stderr.strip().splitlines()[-1]}")
    home = tmp_path_factory.mktemp("airflow")
    settings = {
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "conf" / "airflow"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__DEFAULT_TASK_RETRY_DELAY": "1",
        "AIRFLOW_CONN_SPARK_DEFAULT": '{"conn_type": "spark", "host": "local[1]"}',
        "JAVA_HOME": str(java_home()),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_SUBMIT_OPTS": as_java_options(with_archive(LOCAL_SPARK)),
    }
    return Airflow(home, os.environ | settings)
