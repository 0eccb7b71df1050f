"""Run jobs with ``spark-submit``, in separate processes."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from rebalance_sim.engine.spark.java_runtime import java_home
from tests.support.spark_settings import FOR_A_SHORT_LIFE, with_archive

ROOT = Path(__file__).parents[2]


def submitted(master: str, job: Sequence[str], settings: Mapping[str, str] = FOR_A_SHORT_LIFE) -> list[str]:
    """Return the command that submits a job with settings."""
    name, *options = job
    return [*submission(master, settings), f"jobs/{name}.py", *options]


def submission(master: str, settings: Mapping[str, str]) -> list[str]:
    """Return the start of a command that submits a job with settings, before further options and the job."""
    configured = [part for name, value in with_archive(settings).items() for part in ("--conf", f"{name}={value}")]
    return [f"{sys.prefix}/bin/spark-submit", "--master", master, *configured]


def environment() -> dict[str, str]:
    """Return the environment variables of a job in this project's folder."""
    return {
        "PYTHONPATH": str(ROOT),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "JAVA_HOME": str(java_home()),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
