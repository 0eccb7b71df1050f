"""Start jobs in separate processes, kill them while they write, and read what they leave."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from pyspark.sql import SparkSession

from tests.support.processes import started
from tests.support.rows import contents
from tests.support.spark_settings import FOR_A_SHORT_LIFE
from tests.support.submitted_jobs import ROOT, environment

RECORD = "_run.json"
SECONDS = 300
MANY_TASKS = FOR_A_SHORT_LIFE | {
    "spark.sql.shuffle.partitions": "12",
    "spark.sql.adaptive.coalescePartitions.enabled": "false",
}
"""Many tasks, so that a job can be killed after some have written their rows and before others have."""
WRITTEN_BY_TASKS = ("_staging/tables/*/*.parquet", "**/_temporary/0/task_*")
"""What the tasks of an unfinished step leave: files of workers that write tables themselves, or of Spark's writers."""


def start(command: Sequence[str], log: Path, **variables: str) -> subprocess.Popen[bytes]:
    """Start a command in its own process group."""
    return started(command, log, os.environ | environment() | variables, folder=ROOT, own_group=True)


def wait_for_the_middle(job: subprocess.Popen[bytes], out: Path, log: Path) -> None:
    """Wait until one task has written its rows and others of the same step have not."""
    deadline = time.monotonic() + SECONDS
    while not _have_tasks_written(out):
        assert job.poll() is None, f"ended before a task had written rows:\n{log.read_text()[-3000:]}"
        assert time.monotonic() < deadline, f"no task wrote rows:\n{log.read_text()[-3000:]}"
        time.sleep(0.01)
    assert not (out / RECORD).exists()


def _have_tasks_written(out: Path) -> bool:
    # A folder may be removed while it is searched.
    with suppress(FileNotFoundError):
        return any(next(out.glob(files), None) for files in WRITTEN_BY_TASKS)
    return False


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and its process group."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def tables(spark: SparkSession, out: Path) -> dict[str, list[str]]:
    """Return the rows of all tables of a finished run."""
    names = json.loads((out / RECORD).read_text())["rows"]["out"]
    return {name: contents(spark.read.parquet(f"{out}/{name}")) for name in names}
