"""Hadoop's HDFS and YARN with one node on 127.0.0.1, whose containers do not have the project."""

from __future__ import annotations

import re
import subprocess
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyspark
from pyspark.sql import SparkSession

from tests.support.maven import MavenProject, java_environment
from tests.support.processes import STOP_SECONDS, kill_unless_ended, path_with_python, started

START_SECONDS = 120
_FOLDER = Path(__file__).resolve().parent
JARS = Path(pyspark.__file__).parent / "jars"


def hadoop_version() -> str:
    """Return the release of the Hadoop client that PySpark brings."""
    (jar,) = JARS.glob("hadoop-client-api-*.jar")
    return re.sub(r"hadoop-client-api-(.+)\.jar", r"\1", jar.name)


class YarnCluster:
    """HDFS and YARN for as long as a ``with`` lasts; ``directory`` receives the log and the containers' folders.

    Raises ``Unavailable`` on a machine that cannot run it.
    """

    def __init__(self, directory: Path, java_home: Path) -> None:
        self.configuration = directory / "hadoop" / "conf"
        """``HADOOP_CONF_DIR`` of clients."""
        self._directory = directory
        self._java_home = java_home
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> YarnCluster:
        project = MavenProject(_FOLDER, _FOLDER / "pom.xml", "hadoop.version", hadoop_version())
        command = project.java_command("-Xmx512m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn")
        self._directory.mkdir(parents=True, exist_ok=True)
        self._process = started(
            [*command, "rebalancesim.yarn.Cluster", str(self.configuration.parent)],
            self.log,
            self._environment(),
            # Containers are written to `target` below this folder.
            folder=self._directory,
            stdin=subprocess.PIPE,
        )
        try:
            self._wait_until_ready(self._process)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    @property
    def log(self) -> Path:
        return self._directory / "yarn.log"

    @property
    def file_system(self) -> str:
        """Return the address of HDFS, which ``hdfs:///`` means in the cluster."""
        found = ElementTree.parse(self.configuration / "core-site.xml").findall("property")
        (address,) = (entry.findtext("value") for entry in found if entry.findtext("name") == "fs.defaultFS")
        assert address is not None
        return address

    def copy_to_local(self, spark: SparkSession, folder: str, target: Path) -> None:
        """Copy a folder of HDFS."""
        jvm: Any = spark.sparkContext._jvm
        source = jvm.org.apache.hadoop.fs.Path(f"{self.file_system}{folder}")
        source.getFileSystem(jvm.org.apache.hadoop.conf.Configuration()).copyToLocalFile(
            source, jvm.org.apache.hadoop.fs.Path(target.as_uri())
        )

    def container_logs(self) -> str:
        """Return the last lines of what drivers and executors printed."""
        logs = sorted(self._directory.glob("target/**/container_*/std*"))
        return "\n".join(f"{log.parent.name}/{log.name}:\n{log.read_text(errors='replace')[-3000:]}" for log in logs)

    def stop(self) -> None:
        """Stop the servers, which end with their input."""
        if self._process is None:
            return
        assert self._process.stdin is not None
        self._process.stdin.close()
        kill_unless_ended(self._process, STOP_SECONDS)
        self._process = None

    def _environment(self) -> dict[str, str]:
        """Return the environment that containers inherit: only this machine's own Python is shared with the tests."""
        kept = {name: value for name, value in java_environment().items() if name in ("LC_ALL", "TMPDIR")}
        return kept | {
            "PATH": path_with_python(self._directory),
            "HOME": str(self._directory),
            "JAVA_HOME": str(self._java_home),
            "SPARK_LOCAL_IP": "127.0.0.1",
        }

    def _wait_until_ready(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not self.configuration.exists():
            if process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"YARN does not start:\n{self.log.read_text(errors='replace')[-3000:]}")
            time.sleep(0.1)
