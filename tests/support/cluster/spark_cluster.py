"""A Spark standalone cluster on 127.0.0.1, whose workers do not have the project, from PySpark's package."""

from __future__ import annotations

import re
import subprocess
import time
from pathlib import Path

import pyspark

from tests.support.interruptions import kill
from tests.support.processes import path_with_python, started
from tests.support.spark_settings import WITHOUT_C2

HOST = "127.0.0.1"
SPARK_HOME = Path(pyspark.__file__).parent
START_SECONDS = 90
_DEPLOY = "org.apache.spark.deploy"


class SparkCluster:
    """A standalone cluster for as long as a ``with`` lasts; ``directory`` receives logs and the executors' folders."""

    def __init__(self, directory: Path, java_home: Path, workers: int = 2) -> None:
        self.directory = directory
        self.url = ""
        self._java_home = java_home
        self._started = 0
        self._number_of_workers = workers
        self._master: subprocess.Popen[bytes] | None = None
        self._workers: list[subprocess.Popen[bytes]] = []

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment of master and workers; they share only this machine's own Python with the tests."""
        return {
            "PATH": path_with_python(self.directory),
            "HOME": str(self.directory),
            "JAVA_HOME": str(self._java_home),
            "SPARK_HOME": str(SPARK_HOME),
            "SPARK_LOCAL_IP": HOST,
            "SPARK_WORKER_DIR": str(self.directory / "work"),
            "SPARK_LOCAL_DIRS": str(self.directory / "local"),
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": WITHOUT_C2,
        }

    def __enter__(self) -> SparkCluster:
        try:
            self._master = self._start("master", f"{_DEPLOY}.master.Master", ["--port", "0"])
            self.url = self._wait_for_line("master", rf"Starting Spark master at (spark://{HOST}:\d+)", self._master)
            for _ in range(self._number_of_workers):
                self.add_worker()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def add_worker(self) -> None:
        """Start a worker with one core, and wait until it is registered."""
        self._started += 1
        name = f"worker-{self._started}"
        worker = self._start(name, f"{_DEPLOY}.worker.Worker", ["--cores", "1", "--memory", "1g", self.url])
        self._workers.append(worker)
        self._wait_for_line(name, "(Successfully registered) with master", worker)

    def kill_worker(self) -> None:
        """Kill a worker and its executor, which are one process group, with SIGKILL."""
        kill(self._workers.pop(0))

    def executor_folders(self) -> list[Path]:
        """Return the working directories of executors."""
        return [path for path in self.directory.glob("work/app-*/*") if path.is_dir()]

    def stop(self) -> None:
        """Stop all processes."""
        for process in [*self._workers, *([self._master] if self._master else [])]:
            kill(process)
        self._workers, self._master = [], None

    def _start(self, name: str, main: str, arguments: list[str]) -> subprocess.Popen[bytes]:
        self.directory.mkdir(parents=True, exist_ok=True)
        command = [f"{SPARK_HOME}/bin/spark-class", main, "--host", HOST, "--webui-port", "0", *arguments]
        return started(command, self._log(name), self.environment, folder=self.directory, own_group=True)

    def _wait_for_line(self, name: str, pattern: str, process: subprocess.Popen[bytes]) -> str:
        """Wait for a line of a log, and return its first group."""
        deadline = time.monotonic() + START_SECONDS
        while True:
            log = self._log(name).read_text(errors="replace")
            found = re.search(pattern, log)
            if found:
                return found[1]
            if process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"{name} does not start:\n{log[-2000:]}")
            time.sleep(0.1)

    def _log(self, name: str) -> Path:
        return self.directory / f"{name}.log"
